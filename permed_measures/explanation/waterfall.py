"""From one convention to another, one toggle at a time: what each convention is worth on this run."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from permed_measures.errors import ParamError
from permed_measures.evaluate.conventions import AXES, FAMILIES, Convention, base_of, in_words, phrase
from permed_measures.explanation.values import Values, mean_of

if TYPE_CHECKING:
    from permed_measures.evaluate.conventions.orders import Bools, Floats

_MOST_CHANGED = 5
_DEFINING = ("gain", "ideal", "weights", "denominator", "levels", "cutoff", "recall")
"""The axes that belong to a measure."""
_SAME = 1e-12  # room for the order of additions


class Moved(NamedTuple):
    """One query before and after; None where it does not count."""

    query_id: str
    before: float | None
    after: float | None
    share: float  # what it adds to the change of the mean


@dataclass(frozen=True)
class Step:
    """One toggle."""

    axis: str
    words: str
    before: float
    after: float
    moved: tuple[Moved, ...]  # the queries that changed most
    changed: int  # how many queries changed

    @property
    def change(self) -> float:
        """What the toggle adds to the mean."""
        return self.after - self.before

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "axis": self.axis,
            "words": self.words,
            "before": self.before,
            "after": self.after,
            "change": self.change,
            "changed_queries": self.changed,
            "queries": [moved._asdict() for moved in self.moved],
        }


@dataclass(frozen=True)
class Waterfall:
    """The walk from A to B."""

    names: tuple[str, str]
    start: Convention
    end: Convention
    steps: tuple[Step, ...]
    values: tuple[float, float]
    moved: tuple[Moved, ...]  # the queries that changed most from A to B

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "a": {"name": self.names[0], "value": self.values[0], "words": in_words(self.start)},
            "b": {"name": self.names[1], "value": self.values[1], "words": in_words(self.end)},
            "steps": [step.to_dict() for step in self.steps],
            "queries": [moved._asdict() for moved in self.moved],
        }


def walk(
    values_at: Callable[[int | None], Values], start: Convention, end: Convention, *, names: tuple[str, str]
) -> Waterfall:
    """Toggle one axis after the other, in the order of AXES, from the start to the end.

    Where the measure changes, what only the first one has goes to the plainest choice of the second one in that step.
    """
    steps = []
    here = start
    for axis in AXES:
        after = _toggled(here, end, axis)
        if after == here:
            continue
        words = f"{phrase(axis, getattr(here, axis))} → {phrase(axis, getattr(after, axis))}"
        steps.append(Step(axis, words, *_change(values_at, here, after)))
        if math.isnan(steps[-1].after):
            raise ParamError(f"no walk: the value of {in_words(after)} cannot be given exactly on this run")
        here = after
    before, last, moved, _ = _change(values_at, start, end)
    return Waterfall(names, start, end, tuple(steps), (before, last), moved)


def _toggled(here: Convention, end: Convention, axis: str) -> Convention:
    if axis == "family" and here.family != end.family:
        family = FAMILIES[end.family]
        base = base_of(end.family, end.recall if family.by_recall else here.cutoff)
        own = {name: getattr(base, name) for name in _DEFINING}
        if not family.takes(here.cutoff):
            own["cutoff"] = end.cutoff
        return here._replace(family=end.family, **own)
    return here._replace(**{axis: getattr(end, axis)})


def _change(
    values_at: Callable[[int | None], Values], here: Convention, after: Convention
) -> tuple[float, float, tuple[Moved, ...], int]:
    """Return both means, the queries that change the mean most, and how many changed at all."""
    both = [values_at(convention.cutoff).counted(convention) for convention in (here, after)]
    (before, counted_before), (later, counted_later) = both
    change = _shares(before, counted_before, later, counted_later)
    differs = (counted_before != counted_later) | (counted_before & (np.abs(later - before) > _SAME))
    places = sorted(np.flatnonzero(differs).tolist(), key=lambda place: (-abs(change[place]), place))
    query_ids = values_at(here.cutoff).lists.query_ids
    moved = []
    for place in places[:_MOST_CHANGED]:
        ends = [float(values[place]) if counted[place] else None for values, counted in both]
        moved.append(Moved(query_ids[place], ends[0], ends[1], float(change[place])))
    return mean_of(*both[0]), mean_of(*both[1]), tuple(moved), len(places)


def _shares(before: "Floats", counted_before: "Bools", later: "Floats", counted_later: "Bools") -> "Floats":
    """Return what each query adds to the change of the mean; together they add up to it.

    A query that counts on both sides adds its own change, one that leaves or joins its distance from the mean of those.
    """
    both = counted_before & counted_later
    number = max(int(both.sum()), 1)
    mean_before = float(before[both].sum()) / number
    mean_later = float(later[both].sum()) / number
    shares: Floats = np.where(both, (later - before) / number, 0.0)
    leaving, joining = counted_before & ~both, counted_later & ~both
    shares[leaving] = (mean_before - before[leaving]) / counted_before.sum()
    shares[joining] = (later[joining] - mean_later) / counted_later.sum()
    return shares
