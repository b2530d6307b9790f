"""Which convention produced a number: the question in its three forms, and the search."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from permed_measures.errors import ParamError, check_whole
from permed_measures.evaluate import Plan
from permed_measures.evaluate.conventions import FAMILIES, About, Convention, base_of, parse_about, short
from permed_measures.evaluate.conventions.names import convention_of, measure_of
from permed_measures.evaluate.conventions.orders import JudgedRun
from permed_measures.explanation.result import Combination, Explanation, Ties
from permed_measures.explanation.tools import Tool, find, tools_of
from permed_measures.explanation.values import Values, walk
from permed_measures.inputs import QrelsLike, RunLike
from permed_measures.measures import parse
from permed_measures.measures.ndcg import LARGEST

_SAME = 12  # decimals to which two values are one value: room for the order of additions

_PERCENT = 100.0
_USUAL = (10, None, 5, 3, 1, 20, 100)  # the cut-offs at which a value without a name is searched
_ELSEWHERE = (1, 3, 5, 10, 20, 50, 100, 1000, None)
_LEVELS = tuple(tenth / 10 for tenth in range(11))
_MOST_NEAREST = 5
_ROUNDING_ROOM = 1e-9
"""Of a unit of the last decimal: a value printed from its 64-bit form may sit on the edge of a half."""


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
    Returns an Explanation. Raises ParamError for a tool, name or measure that is not known.

    >>> qrels, run = {"q": {"a": 2, "b": 1, "c": 0, "d": 1, "e": 2}}, {"q": ["b", "x", "a", "c", "d"]}
    >>> found = explain(qrels, run, value=0.3667, about="map@10")        # (1/1·0.5 + 2/3·1.0 + 3/5·0.5) / 4
    >>> found.matches[0].measure, found.matches[0].words
    ('GWAP@10', 'average precision at 10, a relevant document counts grade/2, divided by all judged relevant documents')
    """
    if (a is None) != (b is None):
        raise ParamError("give both a and b: a walk has two ends")
    if a is not None and value is not None:
        raise ParamError("give either a value, or a and b")
    search = Search(JudgedRun(qrels, run, None))
    abouts = [parse_about(word) for word in (about.split() if isinstance(about, str) else about or ())]
    if a is not None and b is not None:
        return search.walked(a, b, abouts, decimals)
    if value is not None:
        return search.searched(value, abouts, decimals)
    if not abouts:
        raise ParamError(f"say what it is about, such as about='map@10'; families: {', '.join(FAMILIES)}")
    return search.explanation(abouts, ())


def as_target(value: float | str, decimals: int | None, *, unbounded: bool = False) -> tuple[float, int, list[str]]:
    """Return the value as a share, its decimals, and a note where it was read as a percentage.

    What is asked about a measure that may be above 1 is a percentage only where it is written as one.

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
    check_whole("decimals", places, 0)
    if text.endswith("%") or (number > 1 and not unbounded):
        return number / _PERCENT, places + 2, [f"{text} is read as a percentage: {number / _PERCENT:.{places + 2}f}"]
    return number, places, []


class Search:
    """All families on one run, each computed once."""

    def __init__(self, lists: JudgedRun) -> None:
        self.lists = lists
        self._values: dict[int | None, Values] = {}
        self._families: dict[About, tuple[list[Combination], int]] = {}

    def values(self, cutoff: int | None) -> Values:
        """Return the values at a cut-off."""
        if cutoff not in self._values:
            self._values[cutoff] = Values(self.lists.at(cutoff))
        return self._values[cutoff]

    def searched(self, value: float | str, abouts: list[About], decimals: int | None) -> Explanation:
        """Say which conventions give a value; of no name in particular, those of the usual ones."""
        target, places, notes = as_target(
            value, decimals, unbounded=any(FAMILIES[name].unbounded for name, _ in abouts)
        )
        if not abouts:
            families = [family for family in FAMILIES.values() if not family.by_recall and not family.unbounded]
            abouts = [(family.name, at) for at in _USUAL for family in families if family.takes(at)]
        matches, nearest = self.found(abouts, target, places)
        if not matches and notes and not str(value).strip().endswith("%"):  # above 1, so it may be no share at all
            gains: list[About] = [("dcg", cutoff) for name, cutoff in abouts if name == "ndcg"]
            if gains and self.found(gains, *as_target(value, decimals, unbounded=True)[:2])[0]:
                return self.searched(value, gains, decimals)
        return self.explanation(
            abouts,
            [match.convention for match in matches[:1]],
            value=target,
            decimals=places,
            matches=matches,
            nearest=() if matches else nearest,
            elsewhere=() if matches else self._elsewhere(abouts, target, places),
            notes=notes,
        )

    def walked(self, a: float | str, b: float | str, abouts: list[About], decimals: int | None) -> Explanation:
        """Walk from one end to the other."""
        (start, first, notes), (end, last, more) = (
            self._end(name, given, abouts, decimals) for name, given in (("a", a), ("b", b))
        )
        steps = walk(self.values, start, end, names=(first, last))
        wanted = list(dict.fromkeys((start.about, end.about)))
        return self.explanation(wanted, [start, end], waterfall=steps, notes=[*notes, *more])

    def _end(
        self, name: str, end: float | str, abouts: list[About], decimals: int | None
    ) -> tuple[Convention, str, list[str]]:
        """Return the convention that an end of a walk means, its label, and what to note of it."""
        text = str(end).strip()
        if not isinstance(end, str) or re.fullmatch(r"[0-9.]+%?", text):
            if not abouts:
                raise ParamError(f"{name}={end!r} is a value: say what it is about, such as about='map@10'")
            target, places, notes = as_target(end, decimals)
            matches, (close, *_) = self.found(abouts, target, places)
            if not matches:
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
        convention = convention_of(measure, self.lists.distinct_grades)
        Plan([measure]).check_grades(self.lists.qrels)
        return convention, text, []

    def family(self, about: About) -> tuple[list[Combination], int]:
        """Return every value of a family with its plainest convention, by that, and how many conventions there are."""
        if about not in self._families:
            base = base_of(*about)
            values = self.values(base.cutoff)
            given: dict[float, list[tuple[Convention, float]]] = {}
            for found in values.family(base.family, base.recall):
                given.setdefault(round(found[1], _SAME), []).append(found)
            count = sum(map(len, given.values()))
            users: dict[float, list[Tool]] = {}
            for tool in tools_of(*about):
                convention = tool.convention(base.at)
                mean = values.mean(convention)
                if mean == mean:
                    key = round(mean, _SAME)
                    users.setdefault(key, []).append(tool)
                    given.setdefault(key, [(convention, mean)])
            combinations = [
                self._combination(
                    min((c for c, _ in group), key=lambda c: c.plainness),
                    group[0][1],
                    len(group) - 1,
                    users.get(key, ()),
                )
                for key, group in given.items()
            ]
            self._families[about] = sorted(combinations, key=lambda c: c.convention.plainness), count
        return self._families[about]

    def _combination(
        self, convention: Convention, value: float, others: int = 0, tools: Sequence[Tool] = ()
    ) -> Combination:
        measure = measure_of(convention, self.lists.distinct_grades)
        return Combination(convention, value, measure, tuple(tools), others)

    def found(
        self, abouts: Sequence[About], target: float, decimals: int
    ) -> tuple[tuple[Combination, ...], tuple[Combination, ...]]:
        """Return what gives the value, and what comes nearest."""
        every = [combination for about in abouts for combination in self.family(about)[0]]
        met = [(combination, _meets(combination.value, target, decimals)) for combination in every]
        found = [replace(combination, truncated=how == "truncated") for combination, how in met if how]
        unit = 10.0**-decimals
        # what only rounds the values of queries is hardly another value
        plain = [combination for combination in every if combination.convention.rounding is None]
        by_distance = sorted(plain, key=lambda c: (abs(c.value - target) // unit, c.convention.plainness))
        return _minimal(found), tuple(by_distance[:_MOST_NEAREST])

    def _elsewhere(self, abouts: Sequence[About], target: float, decimals: int) -> tuple[Combination, ...]:
        """Look at other cut-offs and other names, without the conventions that all measures share."""
        asked = dict(abouts)
        cutoffs = dict.fromkeys([*(at for name, at in abouts if not FAMILIES[name].by_recall), *_ELSEWHERE])
        found = []
        for name in dict.fromkeys([*asked, *FAMILIES]):
            family = FAMILIES[name]
            levels = _LEVELS if name in asked else ()
            for at in levels if family.by_recall else filter(family.takes, cutoffs):
                if (name, at) not in abouts:
                    base = base_of(name, at)
                    values = self.values(base.cutoff)
                    means = [(c, values.mean(c)) for c in values.definitions(name, base.recall)]
                    met = [(c, mean) for c, mean in means if _meets(mean, target, decimals) == "rounded"]
                    found += [self._combination(c, mean) for c, mean in met]
        return _minimal(found)

    def explanation(
        self,
        abouts: Sequence[About],
        said: Sequence[Convention],
        *,
        notes: Sequence[str] = (),
        **found: Any,  # noqa: ANN401  (fields of Explanation)
    ) -> Explanation:
        """Put together what all forms of the question share."""
        families = [self.family(about) for about in abouts]
        speaking = said or [base_of(*about) for about in abouts[:1]]
        # an axis that is open at one cut-off is open
        closed = [self.values(base_of(*about).cutoff).closed_axes() for about in abouts]
        return Explanation(
            about=tuple(abouts),
            combinations=tuple(combination for combinations, _ in families for combination in combinations),
            conventions=sum(count for _, count in families),
            closed={axis: why for axis, why in closed[0].items() if all(axis in other for other in closed)},
            ties=tuple(dict.fromkeys(self._ties(convention) for convention in speaking)),
            notes=tuple(dict.fromkeys([*notes, *self._notes(abouts)])),
            **found,
        )

    def _ties(self, convention: Convention) -> Ties:
        values = self.values(convention.cutoff)
        tied = values.lists.tied(convention.precision, convention.cutoff)
        means = [values.mean(convention._replace(ties=ties)) for ties in ("expected", "best", "worst")]
        return Ties(*tied, convention, values.mean(convention), *means)

    def _notes(self, abouts: Sequence[About]) -> list[str]:
        lists = self.lists
        counts = {
            "queries missing from the run": int((~lists.in_run).sum()),
            "queries only in the run": int((~lists.in_qrels).sum()),
            "documents returned twice": lists.duplicates,
        }
        notes = [f"{what}: {count}" for what, count in counts.items() if count]
        if "ndcg" in dict(abouts) and max(lists.distinct_grades, default=0) > LARGEST:
            notes.append("the gain 2^grade - 1 is left out: a grade is too high for it")
        return notes


def _meets(value: float, target: float, decimals: int) -> str:
    """Say how a value becomes the target at these decimals: 'rounded', 'truncated', or '' where it does not."""
    unit = 10.0**-decimals
    if abs(value - target) <= unit * (0.5 + _ROUNDING_ROOM) + 1e-15:
        return "rounded"
    return "truncated" if 0 <= value - target + unit * _ROUNDING_ROOM < unit else ""


def _minimal(found: Sequence[Combination]) -> tuple[Combination, ...]:
    """Leave out what only adds conventions to a plainer one that gives the value too; its tools move there."""
    kept: list[Combination] = []
    for combination in sorted(found, key=lambda c: (c.truncated, c.convention.plainness)):
        about, deviations = combination.convention.about, combination.convention.deviations()
        for place, plainer in enumerate(kept):
            if plainer.convention.about == about and plainer.convention.deviations() <= deviations:
                tools = tuple(dict.fromkeys([*plainer.tools, *combination.tools]))
                kept[place] = replace(plainer, tools=tools, others=plainer.others + combination.others + 1)
                break
        else:
            kept.append(combination)
    return tuple(kept)
