"""Which convention produced a number: the search, and what it found."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from permed_measures.errors import ParamError
from permed_measures.evaluate import Plan
from permed_measures.explanation.conventions import (
    AXES,
    FAMILIES,
    Convention,
    base_of,
    in_words,
    parse_about,
    short,
)
from permed_measures.explanation.names import convention_of, measure_of, options_of
from permed_measures.explanation.orders import JudgedRun
from permed_measures.explanation.tools import Tool, find, tools_of
from permed_measures.explanation.values import Values
from permed_measures.explanation.waterfall import Waterfall, walk
from permed_measures.inputs import QrelsLike, RunLike
from permed_measures.measures import parse
from permed_measures.measures.ndcg import LARGEST
from permed_measures.render.document import Document, Table
from permed_measures.render.result import Result

About = tuple[str, int | float | None]
"""A family, and the cut-off or the recall level that its name is followed by."""

_SAME = 12
"""Decimals to which two values are one value: room for the order of additions."""

_PERCENT = 100.0
_ELSEWHERE = (1, 3, 5, 10, 20, 50, 100, 1000, None)
_LEVELS = tuple(tenth / 10 for tenth in range(11))
_MOST_NEAREST = 5
_ROUNDING_ROOM = 1e-9
"""Of a unit of the last decimal: a value printed from its 64-bit form may sit on the edge of a half."""


@dataclass(frozen=True)
class Combination:
    """One value, and the conventions that give it: the simplest one said, the others counted."""

    convention: Convention
    value: float
    measure: str | None
    """The measure of ours or of ir_measures that computes exactly this with ``evaluate(…, **options)``."""
    tools: tuple[Tool, ...] = ()
    others: int = 0
    """How many other conventions give the value too."""
    truncated: bool = False
    """The value is met by cutting decimals off, not by rounding."""

    @property
    def words(self) -> str:
        """The convention, said."""
        return in_words(self.convention)

    @property
    def options(self) -> dict[str, Any]:
        """What ``evaluate()`` needs beside the measure."""
        return options_of(self.convention)

    @property
    def used_by(self) -> str:
        """The tools and papers that use it."""
        return "; ".join(tool.label(self.convention.at) for tool in self.tools)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        return {
            "value": self.value,
            "words": self.words,
            "measure": self.measure,
            "options": self.options if self.measure else {},
            "convention": self.convention.to_dict(),
            "tools": [tool.to_dict(self.convention.at) for tool in self.tools],
            "others": self.others,
            "truncated": self.truncated,
        }


@dataclass(frozen=True)
class Ties:
    """What equal scores leave open."""

    tied: int
    documents: int
    queries: int
    convention: Convention
    value: float
    expected: float
    best: float
    worst: float

    @property
    def share(self) -> float:
        """The share of tied documents among those of the top k."""
        return self.tied / self.documents if self.documents else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return all of it for JSON; the values are those of the convention named."""
        names = ("tied", "documents", "queries", "value", "expected", "best", "worst")
        numbers = {name: _number(getattr(self, name)) for name in names}
        return {"share": self.share, **numbers, "words": in_words(self.convention)}


@dataclass(frozen=True, repr=False)
class Explanation(Result):
    """What :func:`explain` returns."""

    about: tuple[About, ...]
    combinations: tuple[Combination, ...]
    """Every value of the families, each with its simplest convention; by cost, the plainest first."""
    conventions: int
    """How many conventions were computed."""
    closed: dict[str, str]
    """Axes that change nothing on this run, and why."""
    ties: tuple[Ties, ...]
    value: float | None = None
    decimals: int | None = None
    matches: tuple[Combination, ...] = ()
    """Those that give the value at the stated decimals; none of them adds a convention to another one."""
    nearest: tuple[Combination, ...] = ()
    """Where nothing matches: the nearest values."""
    elsewhere: tuple[Combination, ...] = ()
    """Where nothing matches: plain conventions of other cut-offs and other names that do."""
    waterfall: Waterfall | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def spread(self) -> tuple[Combination, Combination]:
        """The lowest and the highest value that the name can mean."""
        by_value = sorted(self.combinations, key=lambda combination: combination.value)
        return by_value[0], by_value[-1]

    def to_dict(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        low, high = self.spread
        found: dict[str, Any] = {
            "about": [short(*about) for about in self.about],
            "conventions": self.conventions,
            "values": len(self.combinations),
            "spread": {"lowest": low.to_dict(), "highest": high.to_dict()},
            "ties": [ties.to_dict() for ties in self.ties],
            "closed": {axis: {"about": AXES[axis].about, "why": why} for axis, why in self.closed.items()},
            "notes": list(self.notes),
        }
        if self.value is not None:
            found |= {
                "value": self.value,
                "decimals": self.decimals,
                "matches": [match.to_dict() for match in self.matches],
                "nearest": [near.to_dict() for near in self.nearest],
                "elsewhere": [match.to_dict() for match in self.elsewhere],
            }
        if self.waterfall is not None:
            found["waterfall"] = self.waterfall.to_dict()
        found["combinations"] = [combination.to_dict() for combination in self.combinations]
        return found

    def as_table(self) -> Table:
        """Return every value with its convention."""
        heads = ["value", "convention", "measure", "used by", "others"]
        return Table(heads, [[c.value, c.words, c.measure, c.used_by, c.others] for c in self.combinations])

    def document(self, *, all_values: bool = False) -> Document:
        """Return the question and its answer; ``all_values`` adds every value of the family."""
        from permed_measures.explanation.report import document  # noqa: PLC0415  (reports are for those who print)

        return document(self, all_values=all_values)


def explain(  # noqa: PLR0913  (the question, in any of its three forms)
    qrels: QrelsLike,
    run: RunLike,
    *,
    value: float | str | None = None,
    about: str | Iterable[str] | None = None,
    decimals: int | None = None,
    a: float | str | None = None,
    b: float | str | None = None,
) -> Explanation:
    """Say which conventions give a value, how two values differ, or what a name can mean.

    ``explain(qrels, run, value=0.5357, about="map@10")`` computes every convention that "MAP@10" is used for and names
    those that give the value at its decimals (``decimals``; those written, when not given), the plainest first.
    Without ``about`` all families are searched at the usual cut-offs.

    ``explain(qrels, run, a="trec_eval:map_cut_10", b="sklearn:ndcg@10")`` walks from A to B, one convention at a time,
    in the order of ``permed_measures.explanation.AXES``. A and B are "tool:name", a measure, or a value.

    ``explain(qrels, run, about="map@10")`` gives the whole family.

    >>> qrels, run = {"q": {"a": 2, "b": 1, "c": 0, "d": 1, "e": 2}}, {"q": ["b", "x", "a", "c", "d"]}
    >>> found = explain(qrels, run, value=0.3667, about="map@10")        # (1/1·0.5 + 2/3·1.0 + 3/5·0.5) / 4
    >>> found.matches[0].measure, found.matches[0].words
    ('GWAP@10', 'average precision at 10, a relevant document counts grade/2, divided by all judged relevant documents')
    """
    if (a is None) != (b is None):
        msg = "give both a and b: a walk has two ends"
        raise ParamError(msg)
    if a is not None and value is not None:
        msg = "give either a value, or a and b"
        raise ParamError(msg)
    space = _Space(JudgedRun(qrels, run, None))
    if a is not None and b is not None:
        return _walked(space, a, b, _abouts(about), decimals)
    if value is None:
        abouts = _abouts(about)
        if not abouts:
            msg = f"say what it is about, such as about='map@10'; families: {', '.join(FAMILIES)}"
            raise ParamError(msg)
        return space.explanation(abouts, ())
    return _searched(space, value, _abouts(about), decimals)


def _abouts(about: str | Iterable[str] | None) -> list[About]:
    if about is None:
        return []
    words = about.split() if isinstance(about, str) else list(about)
    return [parse_about(word) for word in words]


def _searched(space: _Space, value: float | str, abouts: list[About], decimals: int | None) -> Explanation:
    target, places, notes = as_target(value, decimals)
    if not abouts:
        abouts = space.usual()
    matches, nearest = space.search(abouts, target, places)
    elsewhere = () if matches else space.plain_matches(abouts, target, places)
    return space.explanation(
        abouts,
        [match.convention for match in matches[:1]],
        value=target,
        decimals=places,
        matches=matches,
        nearest=() if matches else nearest,
        elsewhere=elsewhere,
        notes=notes,
    )


def _walked(space: _Space, a: float | str, b: float | str, abouts: list[About], decimals: int | None) -> Explanation:
    ends: list[Convention] = []
    names: list[str] = []
    notes: list[str] = []
    for name, end in (("a", a), ("b", b)):
        convention, label, said = _end(space, name, end, abouts, decimals)
        ends.append(convention)
        names.append(label)
        notes += said
    steps = walk(space.values, ends[0], ends[1], names=(names[0], names[1]))
    wanted = list(dict.fromkeys((end.family, end.at) for end in ends))
    return space.explanation(wanted, ends, waterfall=steps, notes=notes)


def _end(
    space: _Space, name: str, end: float | str, abouts: list[About], decimals: int | None
) -> tuple[Convention, str, list[str]]:
    """Return the convention that an end of a walk stands for."""
    text = str(end).strip()
    if not isinstance(end, str) or re.fullmatch(r"[0-9.]+%?", text):
        if not abouts:
            raise ParamError(f"{name}={end!r} is a value: say what it is about, such as about='map@10'")
        target, places, notes = as_target(end, decimals)
        matches, nearest = space.search(abouts, target, places)
        if not matches:
            close = nearest[0]
            said = ", ".join(short(*about) for about in abouts)
            raise ParamError(
                f"{name}: no convention of {said} gives {target:.{places}f}; the nearest is {close.value:.6f} "
                f"({close.words})"
            )
        return matches[0].convention, f"{target:.{places}f}", notes
    if re.match(r"[^(:]+:", text):
        tool, at = find(text)
        return tool.convention(at), tool.label(at), [f"{tool.label(at)}: {tool.source}"]
    measure = parse(text)
    convention = convention_of(measure, space.lists.distinct_grades)
    Plan([measure]).check_grades(space.lists.qrels)
    return convention, text, []


def as_target(value: float | str, decimals: int | None) -> tuple[float, int, list[str]]:
    """Return the value as a share, its decimals, and a note where it was read as a percentage.

    >>> as_target("0.2530", None), as_target(0.253, None)[:2], as_target(53.57, None)[:2]
    ((0.253, 4, []), (0.253, 3), (0.5357, 4))
    """
    text = (value if isinstance(value, str) else repr(float(value))).strip()
    digits = text.removesuffix("%").strip()
    try:
        number = float(digits)
    except ValueError:
        raise ParamError(f"value={value!r} is not a number") from None
    if not math.isfinite(number) or number < 0:
        raise ParamError(f"value={value!r} is not allowed; give a number from 0 to 1, or a percentage")
    written = 17 if "e" in digits.lower() else len(digits.partition(".")[2])
    places = written if decimals is None else decimals
    if isinstance(places, bool) or not isinstance(places, int) or places < 0:
        raise ParamError(f"decimals={decimals!r} is not allowed; give an int >= 0")
    if text.endswith("%") or number > 1:
        return number / _PERCENT, places + 2, [f"{text} is read as a percentage: {number / _PERCENT:.{places + 2}f}"]
    return number, places, []


class _Space:
    """All families on one run, each computed once."""

    def __init__(self, lists: JudgedRun) -> None:
        self.lists = lists
        self._values: dict[int | None, Values] = {}
        self._families: dict[About, list[Combination]] = {}
        self._counts: dict[About, int] = {}

    def values(self, cutoff: int | None) -> Values:
        """Return the values at a cut-off."""
        if cutoff not in self._values:
            self._values[cutoff] = Values(self.lists.at(cutoff))
        return self._values[cutoff]

    def usual(self) -> list[About]:
        """Return the families that have a cut-off at the usual ones, for a value without a name."""
        return [
            (name, cutoff)
            for cutoff in (10, None, 5, 3, 1, 20, 100)
            for name, family in FAMILIES.items()
            if not family.by_recall and (cutoff is not None or not family.needs_cutoff)
        ]

    def family(self, about: About) -> list[Combination]:
        """Return every value of a family, with the conventions that give it; the plainest first."""
        if about not in self._families:
            base = base_of(*about)
            values = self.values(base.cutoff)
            groups: dict[float, list[Convention]] = {}
            exact: dict[float, float] = {}
            count = 0
            for convention, value in values.family(base.family, base.recall):
                key = round(value, _SAME)
                groups.setdefault(key, []).append(convention)
                exact.setdefault(key, value)
                count += 1
            by_value: dict[float, list[Tool]] = {}
            for tool in tools_of(*about):
                convention = tool.convention(base.at)
                mean = values.mean(convention)
                if mean == mean:
                    key = round(mean, _SAME)
                    by_value.setdefault(key, []).append(tool)
                    groups.setdefault(key, [convention])
                    exact.setdefault(key, mean)
            found = [
                self._combination(min(group, key=_cost), exact[key], len(group) - 1, by_value.get(key, ()))
                for key, group in groups.items()
            ]
            self._families[about] = sorted(found, key=lambda combination: _cost(combination.convention))
            self._counts[about] = count
        return self._families[about]

    def _combination(
        self, convention: Convention, value: float, others: int = 0, tools: Sequence[Tool] = ()
    ) -> Combination:
        measure = measure_of(convention, self.lists.distinct_grades)
        return Combination(convention, value, measure, tuple(tools), others)

    def search(
        self, abouts: Sequence[About], target: float, decimals: int
    ) -> tuple[tuple[Combination, ...], tuple[Combination, ...]]:
        """Return what gives the value, and what comes nearest."""
        every = [combination for about in abouts for combination in self.family(about)]
        met = [(combination, _meets(combination.value, target, decimals)) for combination in every]
        found = [
            Combination(c.convention, c.value, c.measure, c.tools, c.others, truncated=how == "truncated")
            for c, how in met
            if how
        ]
        unit = 10.0**-decimals
        # what only rounds the values of queries is hardly another value
        plain = [combination for combination in every if combination.convention.rounding is None]
        by_distance = sorted(plain, key=lambda c: (abs(c.value - target) // unit, _cost(c.convention)))
        return tuple(_minimal(found)), tuple(by_distance[:_MOST_NEAREST])

    def plain_matches(self, abouts: Sequence[About], target: float, decimals: int) -> tuple[Combination, ...]:
        """Look at other cut-offs and other names, without the conventions that all measures share."""
        found = []
        for about in _others(abouts):
            base = base_of(*about)
            values = self.values(base.cutoff)
            means = [(c, values.mean(c)) for c in values.definitions(base.family, base.recall)]
            found += [self._combination(c, mean) for c, mean in means if _meets(mean, target, decimals) == "rounded"]
        return tuple(_minimal(sorted(found, key=lambda c: _cost(c.convention))))

    def explanation(
        self,
        abouts: Sequence[About],
        said: Sequence[Convention],
        **found: Any,  # noqa: ANN401  (fields of Explanation)
    ) -> Explanation:
        """Put together what all forms of the question share."""
        combinations = [combination for about in abouts for combination in self.family(about)]
        speaking = said or [base_of(*about) for about in abouts[:1]]
        # an axis that is open at one cut-off is open
        closed = [self.values(base_of(*about).cutoff).closed_axes() for about in abouts]
        notes = [*found.pop("notes", ()), *self._notes(abouts)]
        return Explanation(
            about=tuple(abouts),
            combinations=tuple(combinations),
            conventions=sum(self._counts[about] for about in abouts),
            closed={axis: why for axis, why in closed[0].items() if all(axis in other for other in closed)},
            ties=tuple(dict.fromkeys(self._ties(convention) for convention in speaking)),
            notes=tuple(dict.fromkeys(notes)),
            **found,
        )

    def _ties(self, convention: Convention) -> Ties:
        values = self.values(convention.cutoff)
        tied, documents, queries = values.lists.tied(convention.precision, convention.cutoff)
        means = {ties: values.mean(convention._replace(ties=ties)) for ties in ("expected", "best", "worst")}
        return Ties(tied, documents, queries, convention, values.mean(convention), **means)

    def _notes(self, abouts: Sequence[About]) -> list[str]:
        lists = self.lists
        notes = []
        missing, extra = int((lists.in_qrels & ~lists.in_run).sum()), int((~lists.in_qrels).sum())
        if missing:
            notes.append(f"queries missing from the run: {missing}")
        if extra:
            notes.append(f"queries only in the run: {extra}")
        if lists.duplicates:
            notes.append(f"documents returned twice: {lists.duplicates}")
        if any(family == "ndcg" for family, _ in abouts) and max(lists.distinct_grades, default=0) > LARGEST:
            notes.append("the gain 2^grade - 1 is left out: a grade is too high for it")
        return notes


def _others(abouts: Sequence[About]) -> list[About]:
    """Return other names at the usual cut-offs, and other recall levels where one was asked for."""
    names = dict.fromkeys([*(family for family, _ in abouts), *FAMILIES])
    cutoffs = dict.fromkeys([*(at for family, at in abouts if not FAMILIES[family].by_recall), *_ELSEWHERE])
    asked = {family for family, _ in abouts}
    found: list[About] = []
    for name, family in ((name, FAMILIES[name]) for name in names):
        if family.by_recall:
            found += [(name, level) for level in _LEVELS if name in asked]
        else:
            found += [(name, cutoff) for cutoff in cutoffs if cutoff is not None or not family.needs_cutoff]
    return [about for about in found if about not in abouts]


def _number(value: Any) -> Any:  # noqa: ANN401  (a number of any type)
    return None if value != value else value


def _cost(convention: Convention) -> tuple[float, int, str]:
    return convention.cost, len(convention.deviations()), repr(convention)


def _meets(value: float, target: float, decimals: int) -> str:
    """Say how a value becomes the target at these decimals: 'rounded', 'truncated', or '' where it does not."""
    unit = 10.0**-decimals
    if abs(value - target) <= unit * (0.5 + _ROUNDING_ROOM) + 1e-15:
        return "rounded"
    return "truncated" if 0 <= value - target + unit * _ROUNDING_ROOM < unit else ""


def _minimal(found: Sequence[Combination]) -> list[Combination]:
    """Leave out what only adds conventions to a plainer one that gives the value too; its tools move there."""
    kept: list[Combination] = []
    for combination in sorted(found, key=lambda c: (c.truncated, _cost(c.convention))):
        about = (combination.convention.family, combination.convention.at)
        deviations = combination.convention.deviations()
        for place, plainer in enumerate(kept):
            if (plainer.convention.family, plainer.convention.at) != about:
                continue
            if plainer.convention.deviations() <= deviations:
                tools = tuple(dict.fromkeys([*plainer.tools, *combination.tools]))
                others = plainer.others + combination.others + 1
                kept[place] = Combination(
                    plainer.convention, plainer.value, plainer.measure, tools, others, plainer.truncated
                )
                break
        else:
            kept.append(combination)
    return kept
