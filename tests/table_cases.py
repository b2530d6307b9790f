"""What every engine is asked in the tests of tables: all cases of compat, on its made-up corpora put together."""

from __future__ import annotations

import random

from ir_measures import Measure

from compat.agreement import cases_on
from compat.corpora import CORPORA
from compat.corpora.corpus import Grid
from permed_measures.tables import known_measures

PARTS = ("worked", "graded", "ties", "near_ties", "extreme", "unjudged", "negative", "short", "missing", "unicode")


def together() -> tuple[Grid, Grid]:
    """Return the corpora as one, their names before the query ids."""
    qrels: Grid = {}
    run: Grid = {}
    for part in PARTS:
        corpus = CORPORA[part]
        qrels |= {f"{part} {query_id}": judged for query_id, judged in corpus.qrels.items() if judged}
        run |= {f"{part} {query_id}": returned for query_id, returned in corpus.run.items()}
    return qrels, run


def measures() -> list[Measure]:
    """Return every measure and parameter choice that tables can compute."""
    known = known_measures()
    return [case.measure for case in cases_on("graded") if case.measure.NAME in known]


def hazards(seed: int = 20261117, queries: int = 60) -> tuple[Grid, Grid]:
    """Return made-up queries with all that engines have read differently, within one list: the same for every engine.

    Ties, near-ties, both zeros, scores beyond 32 bits at either end, ids that languages and cases order otherwise.
    """
    chance = random.Random(seed)
    words = (
        "a",
        "A",
        "b",
        "B",
        "ä",
        "Ä",
        "z",
        "Z",
        "é",
        "e\u0301",
        "ß",
        "ss",
        "Ω",
        "文献",
        "\uff5e",
        "😀",
        "_",
        "-",
        " ",
    )
    pool = [f"{first}{second}{number}" for first in words for second in ("", "x", "X") for number in ("", "1", "10")]
    scores = (
        0.0,
        -0.0,
        1.0,
        1.0 + 1e-12,
        1.0 - 1e-12,
        0.1,
        0.1 + 1e-9,
        1e300,
        -1e300,
        3.4028236e38,
        1e38,
        1e-46,
        -1e-46,
    )
    scores += (1e-45, 1e-320, -1e-320, 5e-324, float("inf"), float("-inf"), 16777216.0, 16777217.0, 1e-38, 2.0**-150)
    qrels: Grid = {}
    run: Grid = {}
    for number in range(queries):
        query_id = f"{chance.choice(words)}{chance.choice('qQ')}{number // 2}"
        judged = chance.sample(pool, chance.randint(1, 30))
        qrels[query_id] = {doc_id: chance.choice((-1, 0, 0, 1, 1, 2)) for doc_id in judged}
        found = dict.fromkeys([*chance.sample(judged, len(judged) * 2 // 3), *chance.sample(pool, 30)])
        run[query_id] = {doc_id: chance.choice(scores) for doc_id in found}
    return qrels, run


HAZARD_MEASURES = (
    "GWAP@10 GWAP(norm='ideal') nDCG nDCG@10 nDCG(dcg='exp-log2')@5 ListNDCG(dcg='exp-log2')@3 ListAP AP AP@10 "
    "AP(rel=2) RR RR@3 P@1 P@10 R@5 Rprec Success@1 Coverage@3 SetR RBP BinG RelativeP@5"
)
