"""The conventions a measure's name leaves open: one family per name, its axes and their choices: conventions.json.

A :class:`Convention` says everything that is needed to get one number. The axes are in the order in which a waterfall
toggles them: first what is evaluated, then what is computed, last what is printed.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

from permed_measures.errors import ParamError, did_you_mean

About = tuple[str, int | float | None]
"""A family, and the cut-off or the recall level that its name is followed by."""


class Convention(NamedTuple):
    """One way to read a name such as "MAP@10"; the defaults are trec_eval 9.0.8's, over the queries of the qrels."""

    family: str
    cutoff: int | None = None
    recall: float | None = None
    queries: str = "qrels"
    duplicates: str = "first"
    precision: int = 32
    ties: str = "trec_eval"
    unjudged: str = "kept"
    threshold: float = 1
    gain: str = "linear"
    discount: str = "log2"
    ideal: str = "judged"
    weights: float | None = None
    denominator: str = "relevant"
    levels: str = "up"
    empty: str = "zero"
    rounding: int | None = None

    @property
    def at(self) -> int | float | None:
        """What follows the name: the cut-off, or the recall level where the family has that."""
        return self.recall if FAMILIES[self.family].by_recall else self.cutoff

    @property
    def about(self) -> About:
        """The family and what follows its name."""
        return self.family, self.at

    def deviations(self) -> frozenset[tuple[str, Any]]:
        """Return what differs from the base of the family."""
        both = zip(self._fields, self, base_of(*self.about), strict=True)
        return frozenset((axis, choice) for axis, choice, plain in both if choice != plain)

    @property
    def cost(self) -> float:
        """How far the convention is from the plainest reading of the name: the sum over what it changes."""
        return self.plainness[0]

    @property
    def plainness(self) -> tuple[float, int, str]:
        """What conventions are sorted by: the cost, how much it changes, and one order for the rest."""
        changed = self.deviations()
        return sum(AXES[axis].choices.get(choice, _OTHER).cost for axis, choice in changed), len(changed), repr(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the choices on the axes of the family, by name."""
        family = FAMILIES[self.family]
        axes = ("family", "recall" if family.by_recall else "cutoff", *family.axes, *SHARED)
        return {axis: getattr(self, axis) for axis in axes}


class Choice(NamedTuple):
    """One choice on an axis: how it is said, and how unusual it is."""

    words: str
    cost: float = 0.0


_OTHER = Choice("", 1.0)
"""A choice that depends on the data: a threshold or a weight."""


class Axis(NamedTuple):
    """One thing that a name leaves open."""

    about: str
    choices: Mapping[Any, Choice]
    """Those that do not depend on the data; thresholds and weights are added from the grades."""
    other: str = ""
    """How any other number is said."""


SHARED = ("queries", "duplicates", "precision", "ties", "unjudged", "empty", "rounding")


@dataclass(frozen=True)
class Family:
    """One name, and the axes on which its readings differ beside the shared ones."""

    name: str
    label: str
    aliases: Sequence[str]
    axes: Sequence[str] = ("threshold",)
    denominators: Sequence[str] = ("relevant",)
    """The first one is the base."""
    needs_cutoff: bool = False
    by_recall: bool = False
    """The name is followed by a recall level, not by a cut-off."""
    unbounded: bool = False
    """Its values may be above 1."""

    def takes(self, at: float | None) -> bool:
        """Whether the name may be followed by this cut-off."""
        return at is not None or not self.needs_cutoff


_DATA: dict[str, dict[str, Any]] = json.loads(
    (files("permed_measures.evaluate.conventions") / "conventions.json").read_text(encoding="utf-8")
)
AXES: dict[str, Axis] = {
    name: Axis(**{**axis, "choices": {choice: Choice(words, cost) for choice, cost, words in axis["choices"]}})
    for name, axis in _DATA["axes"].items()
}
FAMILIES: dict[str, Family] = {name: Family(name, **family) for name, family in _DATA["families"].items()}
_MOST_THRESHOLDS = 10


@lru_cache(maxsize=1 << 10, typed=True)
def base_of(family: str, at: float | None) -> Convention:
    """Return the plainest reading of a name and its cut-off, or its recall level."""
    if FAMILIES[family].by_recall:
        return Convention(family, recall=at)
    return Convention(family, None if at is None else int(at), denominator=FAMILIES[family].denominators[0])


def thresholds_of(grades: list[float]) -> list[float]:
    """Return the thresholds that are tried: 1, and each grade above it; whole ones only when there are many.

    Of several between the same two grades, which mean the same, the first one is.

    >>> thresholds_of([0, 1, 2]), thresholds_of([0, 0.5, 3]), thresholds_of([0])
    ([1, 2], [1, 0.5], [1])
    """
    positive = sorted({grade for grade in grades if grade > 0})
    small, above = [grade for grade in positive if grade < 1], [grade for grade in positive if grade > 1]
    if len(above) >= _MOST_THRESHOLDS:
        step = max(1, -(-int(above[-1]) // _MOST_THRESHOLDS))
        above = list(range(1 + step, int(above[-1]) + 1, step))
    by_first = {next((grade for grade in positive if grade >= t), None): t for t in [*above[::-1], *small[:1], 1]}
    return [t for t in [1, *small[:1], *above] if t in by_first.values()]


def weights_of(grades: list[float]) -> list[float | None]:
    """Return the scales that are tried: none, PerMed's 2 where the grades fit, the highest grade.

    >>> weights_of([0, 1, 2]), weights_of([0, 1]), weights_of([3.5, 1]), weights_of([0])
    ([None, 2], [None, 2], [None, 3.5], [None, 2])
    """
    permed = 2
    return [None, max([permed, *grades])]


def phrase(axis: str, value: Any) -> str:  # noqa: ANN401  (a choice of any axis)
    """Say one choice."""
    if axis == "family":
        return FAMILIES[value].label
    known = AXES[axis].choices.get(value)
    return AXES[axis].other.format(value) if known is None else known.words


def in_words(convention: Convention) -> str:
    """Say a convention: the definition whole, of the rest only what is not usual.

    >>> in_words(Convention("map", 10, denominator="retrieved"))
    'average precision at 10, divided by the relevant documents in the top k'
    """
    family, (name, at) = FAMILIES[convention.family], convention.about
    base = base_of(name, at)
    said = {axis for axis in SHARED if getattr(convention, axis) != getattr(base, axis)}.union(family.axes)
    said -= {axis for axis in ("weights", "discount") if getattr(convention, axis) == getattr(base, axis)}
    if convention.gain != "binary" and ("gain" in family.axes or convention.threshold == base.threshold):
        said.discard("threshold")
    level = "" if at is None else f" at recall {at:g}" if family.by_recall else f" at {at}"
    parts = [phrase(axis, getattr(convention, axis)) for axis in (*family.axes, *SHARED) if axis in said]
    return ", ".join([family.label + level, *parts])


def short(family: str, at: float | None) -> str:
    """Return "map@10", "map", or "iprec@0.6"."""
    return family if at is None else f"{family}@{at:g}"


def parse_about(text: str) -> About:
    """Return the family and the cut-off or recall level that a name speaks about, in any of the usual spellings.

    >>> parse_about("MAP@10"), parse_about("ndcg_cut_10"), parse_about("recall"), parse_about("P_5")
    (('map', 10), ('ndcg', 10), ('recall', None), ('precision', 5))
    >>> parse_about("IPrec@0.6"), parse_about("iprec_at_recall_0.60")
    (('iprec', 0.6), ('iprec', 0.6))
    """
    found = re.fullmatch(r"\s*([A-Za-z][A-Za-z_]*?)(?:[@._-](?:at_)?(\d+|\d*\.\d+))?\s*", text)
    names = {alias: family for family in FAMILIES.values() for alias in (family.name, *family.aliases)}
    family = None if found is None else names.get(found[1].lower())
    if found is None or family is None:
        raise ParamError(f"about={text!r}: no family of that name.{did_you_mean(text, names)}")
    name, level = family.name, found[2]
    if family.by_recall:
        if level is None or not 0 <= float(level) <= 1:
            raise ParamError(f"about={text!r}: {name} needs a recall level from 0 to 1, such as {name}@0.5")
        return name, float(level)
    if level is None and family.takes(None):
        return name, None
    if len(level or "") > 9:  # noqa: PLR2004  (numpy counts in 64 bits)
        raise ParamError(f"about={text!r:.40}: a cut-off has at most 9 digits")
    if level is None or not level.isdigit() or int(level) == 0:
        raise ParamError(f"about={text!r}: {name} needs a cut-off, a whole number of at least 1, such as {name}@10")
    return name, int(level)
