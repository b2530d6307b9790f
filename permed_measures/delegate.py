"""Standard measures, computed by pytrec_eval on *our* order, so that a tie is never broken twice.

pytrec_eval needs no real documents: it is given the document at rank r under the name "r" with the score -r, and
judgements for the names where judged documents stand. A :class:`Ranking` is enough for that.
"""

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from itertools import accumulate, chain, repeat
from operator import contains, itemgetter
from typing import Any

from ir_measures import Measure

from permed_measures.errors import HostError, InputError, ParamError
from permed_measures.measures import declared, parse
from permed_measures.measures.arrays import within
from permed_measures.measures.base import Call, RankingMeasure, StandardMeasure
from permed_measures.ranking import Columns, Ranking, Rankings, compiled_part

_BATCH = 512  # queries at once: pytrec_eval keeps their lists whole
_LENGTHS = 64
_NOTHING = {"none": 0}
_EXACT_FLOAT32 = 2**24
_BYTES = range(256)
MAX_GRADE = 10_000
"""trec_eval keeps an array as long as the highest grade; grades above this one are kept away from it."""


def delegates(measure: Measure) -> bool:
    """Whether pytrec_eval computes this measure for us."""
    known = None if isinstance(measure, RankingMeasure) else declared(measure)
    return isinstance(known, StandardMeasure) or (known is not None and known.asked is not None)


def _calls(measures: Iterable[Measure]) -> list[tuple[RankingMeasure, Call]]:
    """Return what is declared of delegated measures, and what pytrec_eval is asked for each."""
    known = [found for found in map(declared, measures) if found is not None]
    return [(found, call) for found in known if (call := found.asked) is not None]


@lru_cache(maxsize=1024)
def exact_measure(name: str) -> Measure | None:
    """Return the measure that has, over columns, every bit of what pytrec_eval answers under a name; None: no such."""
    try:
        measure = parse(name)
        ((known, call),) = _calls([measure])
    except (ParamError, ValueError):
        return None
    return measure if type(known).exact is not None and call.name == name and not call.cut else None


def deepest(measure: Measure) -> int | None:
    """Return the rank below which a delegated measure does not look; None when it looks at the whole list."""
    ((known, call),) = _calls([measure])
    return None if known.arguments.get("judged_only") else call.depth


_Known = tuple[tuple[float, ...], tuple[float, ...], int]
"""What pytrec_eval gets to know of a ranking: ranks, the grades there and then those of other documents, the length."""


class _Invocation:
    """One RelevanceEvaluator: pytrec_eval takes one relevance level, one beta and one fine recall level at a time."""

    def __init__(self, rel: float, gains: dict[float, float] | None, *, judged_only: bool) -> None:
        self.rel = rel
        self.gains = gains
        self.judged_only = judged_only
        self.calls: dict[int, Call] = {}

    def columns(self, rankings: Rankings) -> list[list[float]]:
        """Return the values of each call, one for each ranking."""
        calls = self.calls.values()
        depths = [call.depth for call in calls]
        self._depth = None if None in depths else max(d for d in depths if d is not None)
        self._zero = all(call.zero_without_hits for call in calls)
        names = [call.answer or call.name for call in calls]
        none = dict.fromkeys(names, 0.0)
        places: dict[_Known, int] = {}  # those that look alike to pytrec_eval are asked once
        order = [-1] * len(rankings)
        for query, seen in self._known(rankings):
            order[query] = places.setdefault(seen, len(places))
        distinct = _picked(names, [*self._ask(list(places)), none])
        return [list(map(column.__getitem__, order)) for column in distinct]

    def _level(self) -> int:
        return min(max(1, math.ceil(self.rel)), MAX_GRADE + 1)  # no grade there is higher

    def _known(self, rankings: Rankings) -> Iterator[tuple[int, _Known]]:
        """Yield the number of each ranking of which a value may be other than 0, and what matters of it."""
        exact_length = any(call.counts_returned for call in self.calls.values())
        needs_missed = any(call.needs_missed for call in self.calls.values())
        depth = self._depth
        for query, num_ret, ranks, grades in self._rows(rankings):
            length = num_ret
            if not exact_length:  # unjudged documents at the end change no such value: few lengths, each made once
                length = 1 << (int(ranks[-1] if ranks else 1) - 1).bit_length()
            length = length if depth is None or length < depth else depth
            yield query, (tuple(ranks), tuple(grades if needs_missed else grades[: len(ranks)]), length)

    def _rows(self, rankings: Rankings) -> Iterator[tuple[int, int, list[float], list[float]]]:
        """Yield number, length, ranks within the depth, and the grades of these and then of all others."""
        needs_missed = any(call.needs_missed for call in self.calls.values())
        if rankings.columns is not None and self.gains is None and not self.judged_only:
            columns = rankings.columns if needs_missed or not self._zero else within(rankings.columns, self._depth)
            yield from _sliced(columns, self._depth, zero=self._zero)
            return
        for query, view in enumerate(rankings.views):
            ranking = view if self.gains is None else view.mapped(self.gains)
            if self.judged_only:  # before anything is cut: a judged document moves up when unjudged ones are taken out
                ranking = ranking.judged_only()
            ranks: list[float] = [rank for rank, _ in ranking.hits(self._depth)]
            if ranks or (ranking.num_ret and not self._zero):
                missed = ranking.missed if needs_missed else ()
                yield query, ranking.num_ret, ranks, [*(grade for _, grade in ranking.ranked), *missed]

    def _ask(self, known: Sequence[_Known]) -> Iterator[dict[str, float]]:
        calls = self.calls.values()
        grades: set[float] = set().union(*(grades for _, grades, _ in known))
        threshold = any(call.threshold for call in calls) or not fit(grades)
        made = {grade: binary(grade, self.rel) if threshold else int(grade) for grade in grades}
        level = 1 if threshold else self._level()
        names = sorted({call.name for call in calls})
        return _answers(known, made, lambda qrels: _evaluator(qrels, names, level))


def _picked(names: Sequence[str], answers: Iterable[Mapping[str, float]]) -> list[list[float]]:
    """Return the answers under each name."""
    rows = map(itemgetter(*names), answers)
    return [list(rows)] if len(names) == 1 else list(map(list, zip(*rows, strict=True)))


def _sliced(columns: Columns, depth: int | None, *, zero: bool) -> Iterator[tuple[int, int, list[float], list[float]]]:
    """Yield number, length, ranks and grades of each query, with ``zero`` of those only that have a rank."""
    num_ret, num_hits, num_judged, ranks, grades, _ = (column.tolist() for column in columns)
    starts = accumulate(num_judged, initial=0)
    for query, (returned, hits, judged, first) in enumerate(zip(num_ret, num_hits, num_judged, starts, strict=False)):
        if hits and (depth is None or ranks[first] <= depth):
            last = first + hits if depth is None else bisect_right(ranks, depth, first, first + hits)
            yield query, returned, ranks[first:last], grades[first : first + judged]
        elif returned and not zero:
            yield query, returned, [], grades[first : first + judged]


def _answers(
    known: Sequence[_Known], made: Mapping[float, int], evaluator: Callable[[Any], Any]
) -> Iterator[dict[str, float]]:
    for start in range(0, len(known), _BATCH):
        batch = known[start : start + _BATCH]
        judgements = [dict(zip(_names(one), map(made.__getitem__, one[1]), strict=True)) for one in batch]
        # pytrec_eval leaves out a query without judgements, and crashes on one whose judgements are all negative
        qrels = {
            str(number): judged if max(judged.values(), default=-1) >= 0 else {**judged, **_NOTHING}
            for number, judged in enumerate(judgements)
        }
        run = {str(number): _numbered(length) for number, (_, _, length) in enumerate(batch)}
        answers = evaluator(qrels).evaluate(run)
        yield from (answers[query_id] for query_id in qrels)


def _evaluator(qrels: dict[str, dict[str, int]], names: Sequence[str], level: int) -> Any:  # noqa: ANN401  (untyped)
    """Make pytrec_eval's evaluator.

    Of its C part, where that is of the shape we know: the Python part imports numpy, for means that we do not ask for,
    and that takes longer than to evaluate a small run.
    """
    try:
        extension = import_module("pytrec_eval_ext")
        written = _written(names, extension.supported_measures)
        if written is not None:
            return extension.RelevanceEvaluator(query_relevance=qrels, measures=written, relevance_level=level)
    except (ImportError, AttributeError, TypeError):
        pass
    return own_evaluator()(qrels, names, relevance_level=level)


def own_evaluator() -> Any:  # noqa: ANN401  (pytrec_eval's class, untyped)
    """Return the class that pytrec_eval defines, also while another one, such as ours, is in its place."""
    in_place = import_module("pytrec_eval").RelevanceEvaluator
    for found in import_module("pytrec_eval_ext").RelevanceEvaluator.__subclasses__():
        if (found.__module__, found.__qualname__) == ("pytrec_eval", "RelevanceEvaluator"):
            return found
    raise HostError(
        f"pytrec_eval.RelevanceEvaluator was replaced by {in_place!r}, and pytrec_eval's own class is gone; use "
        "permed_measures.install_pytrec_eval(), or import permed_measures.RelevanceEvaluator before you replace it"
    )


def _written(names: Sequence[str], known: Collection[str]) -> set[str] | None:
    """Return names as trec_eval's command line has them, P.5,10 for P_5 and P_10; None where one is not known."""
    parameters: dict[str, list[str]] = {}
    for name in names:
        stem, _, parameter = (name, "", "") if name in known else name.rpartition("_")
        if stem not in known or (stem != name and re.fullmatch(r"[0-9]+(\.[0-9]+)?", parameter) is None):
            return None
        parameters.setdefault(stem, []).extend([parameter] if parameter else [])
    return {f"{stem}.{','.join(sorted(given))}" if given else stem for stem, given in parameters.items()}


def handed(dicts: Any, highest: int = -1) -> bool:  # noqa: ANN401  (that is the question)
    """Whether pytrec_eval may see dicts as they are: scores, or grades up to ``highest``, of ids that C can hold.

    It ends the process on some that it may not see, and confuses documents of others.
    """
    part = compiled_part()
    if part is not None:
        return bool(part.handed(dicts, highest))
    if not isinstance(dicts, dict) or set(map(type, dicts.values())) != {dict} or not all(dicts.values()):
        return False
    try:
        text = "".join(chain(dicts, chain.from_iterable(dicts.values())))
        if not text.isascii():
            text.encode()
        numbers = list(chain.from_iterable(map(dict.values, dicts.values())))
        total = sum(numbers)
    except (TypeError, ValueError, ArithmeticError):
        return False
    odd = "\0" in text or any(map(contains, [dicts, *dicts.values()], repeat("")))
    if odd or type(total) is not (float if highest < 0 else int):  # whole numbers of another type make another sum
        return False
    if highest < 0:
        return set(map(type, numbers)) == {float} and not math.isnan(total)  # two infinities make one, too
    grades = _BYTES if highest >= _BYTES[-1] and _are_bytes(numbers) else set(numbers)
    negative = min(grades) < 0 and min(map(max, map(dict.values, dicts.values()))) < 0
    return max(map(abs, grades)) <= highest and not negative


def _are_bytes(numbers: Iterable[int]) -> bool:
    """Whether all are from 0 to 255, as most grades are: that is seen sooner than which they are."""
    try:
        bytes(numbers)
    except ValueError:
        return False
    return True


def delegate(
    measures: Sequence[Measure],
    rankings: Rankings | Sequence[Ranking],
) -> list[list[float]]:
    """Return the values of delegated measures: one list per measure, one value per ranking; 0 of an empty one.

    >>> from ir_measures import AP, P
    >>> delegate([P@2, AP], [Ranking([(1, 1), (3, 2)], judged=[1, 2, 1], num_ret=3)])   # AP: (1 + 2/3) / 3
    [[0.5], [0.5555555555555555]]
    """
    known = rankings if isinstance(rankings, Rankings) else Rankings.of(rankings, None)
    columns: dict[int, list[float]] = {}
    invocations: dict[Any, _Invocation] = {}
    grades: set[float] | None = None
    for index, (declared_, call) in enumerate(_calls(measures)):
        asked = declared_.arguments
        gains = asked.get("gains")
        if call.graded:
            grades = known.grades() if grades is None else grades
            if not fit(grades if gains is None else {gains.get(grade, grade) for grade in grades}):
                columns[index] = [declared_.value(view) if view.num_ret else 0.0 for view in known.views]
                continue
        rel = 1 if call.graded else asked.get("rel") or 1
        judged_only = bool(asked.get("judged_only"))
        key = (rel, judged_only, call.cut, call.name if call.answer else None, call.threshold, repr(gains))
        invocations.setdefault(key, _Invocation(rel, gains, judged_only=judged_only)).calls[index] = call
    for invocation in invocations.values():
        columns.update(zip(invocation.calls, invocation.columns(known), strict=True))
    return [columns[index] for index in range(len(measures))]


def fit(grades: set[Any]) -> bool:
    """Whether pytrec_eval can take all these grades as they are."""
    return all(isinstance(grade, (int, float)) and grade == int(grade) and abs(grade) <= MAX_GRADE for grade in grades)


def binary(grade: float, rel: float) -> int:
    """Return 1 for a relevant grade, else 0 or less."""
    if grade >= rel:
        return 1
    # trec_eval treats a negative judgement unlike 0 (bpref, infAP), so it stays negative
    return 0 if grade >= 0 else max(math.floor(grade), -MAX_GRADE)


class _Ranks(dict[float, str]):
    """The name of the document at each rank, made once."""

    def __missing__(self, rank: float) -> str:
        return self.setdefault(rank, str(int(rank)))


_RANKS = _Ranks()


@lru_cache(maxsize=256)
def _missed_names(number: int) -> tuple[str, ...]:
    return tuple(f"missed {place}" for place in range(number))


def _names(known: _Known) -> Iterator[str]:
    """Name documents by their rank, and those that have none."""
    ranks, grades, _ = known
    return chain(map(_RANKS.__getitem__, ranks), _missed_names(len(grades) - len(ranks)))


@lru_cache(maxsize=_LENGTHS)
def _numbered(length: int) -> dict[str, float]:
    if length > _EXACT_FLOAT32:
        msg = f"a list of {length:,} documents: pytrec_eval orders at most {_EXACT_FLOAT32:,} exactly; cut the run"
        raise InputError(msg)
    return {str(place): float(-place) for place in range(1, length + 1)}
