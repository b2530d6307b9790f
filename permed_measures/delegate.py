"""Standard measures, computed by pytrec_eval on *our* order, so that a tie is never broken twice.

pytrec_eval needs no real documents: it is given the document at rank r under the name "r" with the score -r, and
judgements for the names where judged documents stand. A :class:`Ranking` is enough for that.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from importlib import import_module
from itertools import compress
from typing import Any

from ir_measures import Measure

from permed_measures.errors import HostError, InputError
from permed_measures.measures import declared
from permed_measures.measures.base import Call, RankingMeasure, StandardMeasure
from permed_measures.ranking import Ranking

_BATCH = 4096
_NOTHING = {"none": 0}
_EXACT_FLOAT32 = 2**24
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


def zero_without_hits(measures: Iterable[Measure]) -> bool:
    """Whether all these measures are 0 where nothing judged was returned."""
    return all(call.zero_without_hits for _, call in _calls(measures))


def deepest(measure: Measure) -> int | None:
    """Return the rank below which a delegated measure does not look; None when it looks at the whole list."""
    ((known, call),) = _calls([measure])
    return None if known.arguments.get("judged_only") else call.depth


class _Invocation:
    """One RelevanceEvaluator: pytrec_eval takes one relevance level, one beta and one fine recall level at a time."""

    def __init__(self, rel: float, gains: dict[float, float] | None, *, judged_only: bool) -> None:
        self.rel = rel
        self.gains = gains
        self.judged_only = judged_only
        self.calls: dict[int, Call] = {}

    def evaluate(self, rankings: Sequence[Ranking]) -> Iterator[dict[str, float]]:
        """Yield pytrec_eval's answer for each ranking; an empty one where all its values are 0."""
        calls = self.calls.values()
        if self.gains is not None:
            rankings = [ranking.mapped(self.gains) for ranking in rankings]
        if self.judged_only:  # before anything is cut: a judged document moves up when unjudged ones are taken out
            rankings = [ranking.judged_only() for ranking in rankings]
        depths = [call.depth for call in calls]
        depth = None if None in depths else max(d for d in depths if d is not None)
        zero = all(call.zero_without_hits for call in calls)
        asked = [bool(ranking.hits(depth)) or not zero for ranking in rankings]
        answers = self._ask(list(compress(rankings, asked)), depth)
        return (next(answers) if ask else {} for ask in asked)

    def _ask(self, rankings: Sequence[Ranking], depth: int | None) -> Iterator[dict[str, float]]:
        calls = self.calls.values()
        exact_length = any(call.counts_returned for call in calls)
        needs_missed = any(call.needs_missed for call in calls)
        judgements = [_named(ranking, depth, needs_missed=needs_missed) for ranking in rankings]
        grades = {grade for judged in judgements for grade in judged.values()}
        threshold = any(call.threshold for call in calls) or not fit(grades)
        if threshold:
            judgements = [{name: binary(grade, self.rel) for name, grade in j.items()} for j in judgements]
        # pytrec_eval leaves out a query without judgements, and crashes on one whose judgements are all negative
        none_negative = min(grades, default=0) >= 0
        qrels = {
            str(number): judged if judged and (none_negative or max(judged.values()) >= 0) else {**judged, **_NOTHING}
            for number, judged in enumerate(judgements)
        }
        run = {
            str(number): _numbered(_length(ranking, depth, exact_length=exact_length))
            for number, ranking in enumerate(rankings)
        }
        level = 1 if threshold else min(max(1, math.ceil(self.rel)), MAX_GRADE + 1)  # no grade here is higher
        names = sorted({call.name for call in calls})
        answers = _evaluator(qrels, names, level).evaluate(run) if run else {}
        return (answers[query_id] for query_id in qrels)


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
    msg = (
        f"pytrec_eval.RelevanceEvaluator was replaced by {in_place!r}, and pytrec_eval's own class is gone; use "
        "permed_measures.install_pytrec_eval(), or import permed_measures.RelevanceEvaluator before you replace it"
    )
    raise HostError(msg)


def _written(names: Sequence[str], known: Collection[str]) -> set[str] | None:
    """Return names as trec_eval's command line has them, P.5,10 for P_5 and P_10; None where one is not known."""
    parameters: dict[str, list[str]] = {}
    for name in names:
        stem, _, parameter = (name, "", "") if name in known else name.rpartition("_")
        if stem not in known or (stem != name and re.fullmatch(r"[0-9]+(\.[0-9]+)?", parameter) is None):
            return None
        parameters.setdefault(stem, []).extend([parameter] if parameter else [])
    return {f"{stem}.{','.join(sorted(given))}" if given else stem for stem, given in parameters.items()}


def delegate(measures: Sequence[Measure], rankings: Sequence[Ranking]) -> list[list[float]]:
    """Return the values of delegated measures: one list per measure, one value per ranking.

    >>> from ir_measures import AP, P
    >>> delegate([P@2, AP], [Ranking([(1, 1), (3, 2)], judged=[1, 2, 1], num_ret=3)])   # AP: (1 + 2/3) / 3
    [[0.5], [0.5555555555555555]]
    """
    columns: list[list[float]] = [[] for _ in measures]
    invocations: dict[Any, _Invocation] = {}
    by_kernel = []
    for index, (known, call) in enumerate(_calls(measures)):
        given = known.arguments
        gains = given.get("gains")
        if call.graded and not _fits(rankings, gains):
            by_kernel.append((index, known))
            continue
        rel = 1 if call.graded else given.get("rel") or 1
        judged_only = bool(given.get("judged_only"))
        alone = call.name if call.answer else None
        key = (rel, judged_only, call.cut, alone, call.threshold, repr(gains))
        invocations.setdefault(key, _Invocation(rel, gains, judged_only=judged_only)).calls[index] = call
    for index, ours in by_kernel:
        columns[index] = [ours.value(ranking) for ranking in rankings]
    for start in range(0, len(rankings), _BATCH):
        batch = rankings[start : start + _BATCH]
        for invocation in invocations.values():
            for answer in invocation.evaluate(batch):
                for index, call in invocation.calls.items():
                    columns[index].append(answer[call.answer or call.name] if answer else 0.0)
    return columns


def _fits(rankings: Sequence[Ranking], gains: dict[float, float] | None) -> bool:
    """Whether pytrec_eval can take all grades, or the gains they stand for, as they are."""
    grades: set[float] = set().union(*[ranking.judged for ranking in rankings])
    return fit(grades if gains is None else {gains.get(grade, grade) for grade in grades})


def fit(grades: set[Any]) -> bool:
    """Whether pytrec_eval can take all these grades as they are."""
    return all(type(grade) is int and abs(grade) <= MAX_GRADE for grade in grades)


def binary(grade: float, rel: float) -> int:
    """Return 1 for a relevant grade, else 0 or less."""
    if grade >= rel:
        return 1
    # trec_eval treats a negative judgement unlike 0 (bpref, infAP), so it stays negative
    return 0 if grade >= 0 else max(math.floor(grade), -MAX_GRADE)


def _named(ranking: Ranking, depth: int | None, *, needs_missed: bool) -> dict[str, Any]:
    """Judgements for documents that are named by their rank."""
    hits = ranking.ranked if needs_missed else ranking.hits(depth)
    named: dict[str, Any] = {_name(rank): grade for rank, grade in hits}
    if needs_missed:
        for number, grade in enumerate(ranking.missed):
            named[_missed_name(number)] = grade
    return named


@lru_cache(maxsize=1 << 16)
def _name(rank: int) -> str:
    return str(rank)


@lru_cache(maxsize=1 << 16)
def _missed_name(number: int) -> str:
    return f"missed {number}"


def _length(ranking: Ranking, depth: int | None, *, exact_length: bool) -> int:
    """How many documents pytrec_eval is given: all of the list, or as far as something judged can stand."""
    length = ranking.num_ret
    if not exact_length:
        last = ranking.ranked[-1][0] if ranking.ranked else 1
        # trailing unjudged documents change no such value: few distinct lengths, each made once
        length = 1 << (last - 1).bit_length()
    return length if depth is None else min(length, depth)


@lru_cache(maxsize=64)
def _numbered(length: int) -> dict[str, float]:
    if length > _EXACT_FLOAT32:
        msg = f"a list of {length:,} documents: pytrec_eval orders at most {_EXACT_FLOAT32:,} exactly; cut the run"
        raise InputError(msg)
    return {str(place): float(-place) for place in range(1, length + 1)}
