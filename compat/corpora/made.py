"""Corpora that are made up, each one for a situation that implementations read differently."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from compat.corpora.corpus import Corpus, Grid

_IDS = tuple(f"d{number}" for number in range(200))
_SCORES = 10_000


def _distinct(chance: random.Random, count: int) -> list[float]:
    """Scores that differ from each other as 32-bit floats too."""
    return [number / 64 for number in chance.sample(range(_SCORES), count)]


def _make(  # noqa: PLR0913  (what a corpus varies, all but two with defaults)
    seed: int,
    grades: Sequence[float],
    *,
    queries: int = 16,
    judged: tuple[int, int] = (1, 40),
    returned: tuple[int, int] = (1, 130),
    scores: Callable[[random.Random, int], Sequence[float]] = _distinct,
    pool: Sequence[str] = _IDS,
    query_id: str = "{}",
) -> tuple[Grid, Grid]:
    chance = random.Random(seed)
    qrels: Grid = {}
    run: Grid = {}
    for number in range(1, queries + 1):
        name = query_id.format(number)
        known = chance.sample(pool, min(len(pool), chance.randint(*judged)))
        qrels[name] = {doc_id: chance.choice(grades) for doc_id in known}
        # judged documents are likelier to be returned, or nothing would be found
        wanted = list(dict.fromkeys([*chance.sample(known, len(known) * 3 // 4), *chance.sample(pool, len(pool))]))
        found = wanted[: chance.randint(*returned)]
        chance.shuffle(found)
        of_query = dict(zip(found, scores(chance, len(found)), strict=True))
        if number % 2:  # half of the lists in order, as systems write them
            of_query = dict(sorted(of_query.items(), key=lambda item: -item[1]))
        run[name] = of_query
    return qrels, run


def _few_scores(chance: random.Random, count: int) -> list[float]:
    return [chance.choice((0.0, 0.25, 0.5, 0.75, 1.0)) for _ in range(count)]


def _near_scores(chance: random.Random, count: int) -> list[float]:
    """Pairwise different as 64-bit floats; many of them equal as 32-bit floats."""
    return [1.0 + chance.choice((0, 1, 2)) + number * 1e-12 for number in chance.sample(range(_SCORES), count)]


def _extreme_scores(chance: random.Random, count: int) -> list[float]:
    infinite = (float("inf"), float("-inf"), 1e300, -1e300, 3.5e38)  # as 32-bit floats
    usual = (*infinite, 3.3e38, 1e-60, -1e-60, 0.0, -0.0, 1e-40, 16777216.0, 16777217.0)
    return [chance.choice(usual) for _ in range(count)]


def _with_gaps(qrels: Grid, run: Grid) -> tuple[Grid, Grid]:
    """Take every third query out of the run, and add some that nobody judged."""
    kept = {query_id: scores for place, (query_id, scores) in enumerate(run.items()) if place % 3}
    return qrels, {"not judged 1": {"d1": 1.0}, **kept, "not judged 2": {"d1": 2.0, "d2": 1.0}}


def _with_empties(qrels: Grid, run: Grid) -> tuple[Grid, Grid]:
    """Empty every third list; leave every fourth query without a relevant document, one without any judgement."""
    grades = {
        query_id: {doc_id: 0 if place % 4 == 1 else grade for doc_id, grade in judged.items()}
        for place, (query_id, judged) in enumerate(qrels.items())
    }
    lists = {query_id: {} if place % 3 == 0 else scores for place, (query_id, scores) in enumerate(run.items())}
    return grades, lists


# bytes, UTF-16 units and letters sort differently here: U+FF5E stands before U+1F600 in UTF-8, after it in UTF-16
_UNICODE = tuple(
    f"{word}{number:02}"
    for number in range(9)
    for word in ("a", "B", "ä", "Ω", "文献", "\uff5e", "😀", "e\u0301", "é", "٣", "z", "\ufffd")
)


def _corpus(name: str, about: str, made: tuple[Grid, Grid], **options: Any) -> Corpus:
    return Corpus(name, about, *made, **options)


_FLOATS = (0, 0.5, 1, 1.5, 2.25, 3, 4.75, 6.5, 7.3, 8, 9.1, 10)

MADE = (
    Corpus(
        "worked",
        "the worked example of the definitions",
        {"q": {"a": 2, "b": 1, "c": 0, "d": 1, "e": 2}},
        {"q": {"b": 5.0, "x": 4.0, "a": 3.0, "c": 2.0, "d": 1.0}},
    ),
    _corpus("plain", "binary grades, no ties", _make(1, (0, 1))),
    _corpus("graded", "grades 0, 1, 2, no ties", _make(2, (0, 0, 1, 2))),
    _corpus("ten_grades", "whole grades 0 to 10", _make(3, tuple(range(11)))),
    _corpus("float_grades", "grades 0 to 10, many of them not whole", _make(4, _FLOATS)),
    _corpus("ties", "five scores for all documents", _make(5, (0, 1, 2), scores=_few_scores)),
    _corpus("near_ties", "scores that differ below 32-bit precision", _make(6, (0, 1, 2), scores=_near_scores)),
    _corpus("extreme", "infinite, huge and tiny scores, and -0.0", _make(7, (0, 1, 2), scores=_extreme_scores)),
    _corpus("unjudged", "most returned documents are unjudged", _make(8, (0, 1, 2), judged=(1, 5))),
    _corpus("negative", "grades -2 to 2", _make(9, (-2, -1, 0, 1, 2))),
    _corpus("all_negative", "queries whose grades are all negative", _make(16, (-2, -1), queries=4)),
    _corpus("short", "lists of one to four documents", _make(10, (0, 1, 2), returned=(1, 4))),
    _corpus("empty", "empty lists, queries without a relevant document", _with_empties(*_make(11, (0, 1, 2)))),
    _corpus("missing", "queries only in the qrels, queries only in the run", _with_gaps(*_make(12, (0, 1, 2)))),
    _corpus(
        "unicode",
        "ids in several scripts, with ties",
        _make(13, (0, 1, 2), scores=_few_scores, pool=_UNICODE, query_id="查询-{}"),
    ),
    _corpus("one_query", "a single query", _make(14, (0, 1, 2), queries=1, judged=(20, 20), returned=(50, 50))),
    _corpus(
        "medcorpus_size",
        "3,440 queries of 10 documents, grades 0, 1, 2",
        _make(15, (0, 0, 1, 2), queries=3440, judged=(1, 12), returned=(10, 10), query_id="{}_1"),
        large=True,
    ),
)
