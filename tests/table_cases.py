"""What every engine is asked in the tests of tables: all cases of compat, on its made-up corpora put together."""

from __future__ import annotations

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
