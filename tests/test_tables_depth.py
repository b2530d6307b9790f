"""DuckDB may drop what is below the depth before it orders lists, to save time: the ranks are the same."""

from __future__ import annotations

import random

import pytest

duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed: pip install 'permed-measures[tables]'")
nw = pytest.importorskip("narwhals", reason="Narwhals is not installed: pip install 'permed-measures[tables]'")

QUERIES, LENGTH, DEPTH = 20, 30, 5


@pytest.fixture
def run():
    """Return lists of few different scores: most documents at the depth tie with one below it."""
    rng = random.Random(20261116)
    return {
        f"q{number}": {f"d{doc}": float(rng.randrange(6)) for doc in rng.sample(range(1000), LENGTH)}
        for number in range(QUERIES)
    }


def ranked(run, counted):
    from permed_measures.tables.engines import rank_run

    connection = duckdb.connect()
    connection.execute("SET memory_limit = '1GB'")
    connection.execute("CREATE TABLE run (query VARCHAR, doc VARCHAR, score FLOAT)")
    rows = [(query, doc, score) for query, scores in run.items() for doc, score in scores.items()]
    connection.executemany("INSERT INTO run VALUES (?, ?, ?)", rows)
    relation = nw.to_native(rank_run(nw.from_native(connection.table("run")), DEPTH, counted))
    return sorted(relation.fetchall()), "best.least" in relation.sql_query()


def by_hand(run):
    for query, scores in run.items():
        best = sorted(scores, key=lambda doc: (scores[doc], doc), reverse=True)[:DEPTH]
        yield from ((query, doc, float(rank)) for rank, doc in enumerate(best, 1))


@pytest.mark.parametrize(
    ("counted", "drops"),
    [
        ((QUERIES * LENGTH, QUERIES), True),
        (None, False),
        ((10**12, 10**9), False),
        ((QUERIES * DEPTH, QUERIES), False),
    ],
    ids=["enough memory", "not counted", "more queries than memory", "lists as long as the depth"],
)
def test_ranks_are_those_of_the_whole_order(run, counted, drops):
    assert ranked(run, counted) == (sorted(by_hand(run)), drops)
