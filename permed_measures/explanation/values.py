"""Every convention of a family on one run, each with the mean that a tool with this convention prints.

And the walk from one convention to another, one toggle at a time: what each convention is worth on this run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from permed_measures.errors import ParamError
from permed_measures.evaluate.conventions import (
    AXES,
    FAMILIES,
    Convention,
    base_of,
    in_words,
    phrase,
    thresholds_of,
    weights_of,
)
from permed_measures.evaluate.conventions.query_values import QueryValues, only_counts
from permed_measures.explanation.result import Moved, Step, Waterfall
from permed_measures.measures.ndcg import LARGEST

if TYPE_CHECKING:
    from permed_measures.evaluate.conventions.orders import Bools, Floats

_ORDER_AXES = ("duplicates", "precision", "ties", "unjudged")
_MEAN_AXES = ("queries", "empty", "rounding")
_ANY_GAIN = math.ulp(0.0)  # as a threshold: any grade above 0
_MOST_CHANGED = 5
_DEFINING = ("gain", "ideal", "weights", "denominator", "levels", "cutoff", "recall")
"""The axes that belong to a measure."""
_SAME = 1e-12  # room for the order of additions


class Values(QueryValues):
    """The values of all conventions that a name can have, on one run, at one cut-off."""

    def mean(self, convention: Convention) -> float:
        """Return the number that a tool with this convention prints; NaN where there is none."""
        return mean_of(*self.counted(convention))

    def counted(self, convention: Convention) -> tuple[Floats, Bools]:
        """Return the value of every query as it goes into the mean, and which queries do."""
        return self._after(convention, self.by_query(convention))

    def _after(self, convention: Convention, values: Floats) -> tuple[Floats, Bools]:
        if convention.empty == "one":
            values = np.where(self.is_empty(convention), 1.0, values)
        if convention.rounding is not None:
            values = np.round(values, convention.rounding)
        return values, self.query_set(convention)

    def query_set(self, convention: Convention) -> Bools:
        """Return which queries the mean runs over."""
        lists = self.lists
        mask: Bools = {"qrels": lists.in_qrels, "run": lists.in_run, "both": lists.in_qrels & lists.in_run}[
            convention.queries
        ]
        return mask & ~self.is_empty(convention) if convention.empty == "left out" else mask

    def is_empty(self, convention: Convention) -> Bools:
        """Return the queries that have nothing relevant: judged, or in the list where only the list is looked at."""
        graded = "gain" in FAMILIES[convention.family].axes and convention.gain != "binary"
        threshold = _ANY_GAIN if graded else convention.threshold
        of_list = convention.ideal in ("returned", "top") or convention.denominator.startswith("returned")
        count = self.num_returned(convention.duplicates, threshold) if of_list else self.num_rel(threshold)
        empty: Bools = count == 0
        return empty

    def family(self, family: str, recall: float | None = None) -> Iterator[tuple[Convention, float]]:
        """Yield every convention of a family with its mean; axes that change nothing on this run are left out."""
        shared = self.open_axes()
        for definition in self.definitions(family, recall):
            for changed in product(*(shared[axis] for axis in _ORDER_AXES)):
                convention = definition._replace(**dict(zip(_ORDER_AXES, changed, strict=True)))
                if convention.unjudged == "after" and only_counts(convention):
                    continue
                values = self.by_query(convention)
                for last in product(*(shared[axis] for axis in _MEAN_AXES)):
                    asked = convention._replace(**dict(zip(_MEAN_AXES, last, strict=True)))
                    value = mean_of(*self._after(asked, values))
                    if value == value:
                        yield asked, value

    def definitions(self, family: str, recall: float | None = None) -> list[Convention]:
        """Return the readings of a name that differ in what is computed."""
        lists = self.lists
        base = base_of(family, lists.cutoff if recall is None else recall)
        thresholds = thresholds_of(lists.distinct_grades)
        choices: dict[str, list[Any]] = {"threshold": thresholds}
        if family == "iprec":
            choices["levels"] = list(AXES["levels"].choices)
        elif family in ("ndcg", "dcg"):
            gains = [("linear", 1), ("exponential", 1), *(("binary", threshold) for threshold in thresholds)]
            if max(lists.distinct_grades, default=0) > LARGEST:
                del gains[1]
            ideals = [ideal for ideal in AXES["ideal"].choices if lists.cutoff or ideal not in ("uncut", "top", "full")]
            return [
                base._replace(gain=gain, threshold=t, ideal=ideal, discount=discount)
                for (gain, t), ideal in product(gains, ideals if family == "ndcg" else [base.ideal])
                if ideal != "full" or gain == "binary"
                for discount in AXES["discount"].choices
                if discount == base.discount or ideal in ("judged", "returned")
            ]
        else:
            choices["weights"] = weights_of(lists.distinct_grades) if family == "map" else [None]
            choices["denominator"] = [how for how in FAMILIES[family].denominators if how != "k" or lists.cutoff]
        made = [base._replace(**dict(zip(choices, chosen, strict=True))) for chosen in product(*choices.values())]
        # without weights the best sum is min(R, k)
        return [one for one in made if one.weights is not None or one.denominator != "ideal"]

    def open_axes(self) -> dict[str, tuple[Any, ...]]:
        """Return the choices of every shared axis that can change a value on this run."""
        closed = self.closed_axes()
        found = {axis: tuple(AXES[axis].choices)[: 1 if axis in closed else None] for axis in _ORDER_AXES + _MEAN_AXES}
        if self.lists.is_listed_in_order:
            found["ties"] = tuple(ties for ties in found["ties"] if ties != "listed")
        elif "ties" in closed:
            found["ties"] = ("trec_eval", "listed")
        return found

    def closed_axes(self) -> dict[str, str]:
        """Return the shared axes that change nothing on this run, each with the reason."""
        lists = self.lists
        # taking unjudged documents out brings what is below the cut-off into the top k
        reach = None if lists.unjudged else lists.cutoff
        where = "of a list" if reach is None else "of the top k"
        nothing_relevant = self.num_rel(max(thresholds_of(lists.distinct_grades))) == 0
        reasons = {
            "duplicates": (lists.duplicates, "no document is returned twice"),
            "precision": (
                lists.near_ties,
                "no two scores of a list are equal as 32-bit and different as 64-bit floats",
            ),
            "ties": (lists.tied(32, reach)[0], f"no document {where} has the score of another one"),
            "unjudged": (lists.unjudged, "every returned document is judged"),
            "queries": ((lists.in_qrels != lists.in_run).any(), "qrels and run have the same queries"),
            "empty": (nothing_relevant.any(), "every query has a relevant document"),
        }
        return {axis: reason for axis, (is_open, reason) in reasons.items() if not is_open}


def mean_of(values: Floats, mask: Bools) -> float:
    """Return the mean over some queries; NaN where there is none."""
    chosen = values if mask.all() else values[mask]
    return float(chosen.mean()) if len(chosen) else math.nan


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


def _shares(before: Floats, counted_before: Bools, later: Floats, counted_later: Bools) -> Floats:
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
