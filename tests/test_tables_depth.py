"""DuckDB may drop what is below the depth before it orders lists, to save time: the ranks are the same."""

from __future__ import annotations

import random
from contextlib import nullcontext, suppress

import pytest

duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed: pip install 'permed-measures[tables]'")
pl = pytest.importorskip("polars", reason="Polars is not installed: pip install 'permed-measures[tables]'")
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


def ranked(rows, depth):
    from permed_measures.tables.best_lists import BestLists, best_lists
    from permed_measures.tables.engines import kept, rank_run

    connection = duckdb.connect()
    connection.execute("SET memory_limit = '1GB'")
    connection.execute("CREATE TABLE run (query VARCHAR, doc VARCHAR, score DOUBLE)")
    connection.executemany("INSERT INTO run VALUES (?, ?, ?)", rows)
    run = nw.from_native(connection.table("run"))
    parts = best_lists(run, depth)
    with kept(*(part.lists for part in parts)) if parts else nullcontext() as lists:
        narrowed = run if lists is None else BestLists(lists).within_reach(run, depth)
        ((left,),) = narrowed.select(nw.len()).to_native().fetchall()
        relation = nw.to_native(rank_run(narrowed, depth, narrowed=lists is not None))
        return sorted(relation.fetchall()), left < len(rows), len(parts)


def by_hand(run, depth):
    for query, scores in run.items():
        best = sorted(scores, key=lambda doc: (scores[doc], doc), reverse=True)[:depth]
        yield from ((query, doc, float(rank)) for rank, doc in enumerate(best, 1))


@pytest.mark.parametrize(
    ("depth", "bytes_each", "parts"),
    [(DEPTH, 128, 1), (DEPTH, 2**24, 5), (LENGTH, 128, 0), (DEPTH, 2**30, 0)],
    ids=["enough memory", "enough for a part", "lists as long as the depth", "more queries than memory"],
)
def test_ranks_are_those_of_the_whole_order(run, depth, bytes_each, parts, monkeypatch):
    """20 lists, 6 scores of each, 2**24 bytes: 1,920 MiB, in parts of at most 1 GB / 2, which is 476.8 MiB: 5."""
    monkeypatch.setattr("permed_measures.tables.best_lists._SCORE_BYTES", bytes_each)
    rows = [(query, doc, score) for query, scores in run.items() for doc, score in scores.items()]
    assert ranked(rows, depth) == (sorted(by_hand(run, depth)), parts > 0, parts)


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_what_32_bits_round_together_is_within_reach(engine):
    """Every pair of neighbours is one 32-bit float; the lower one has the greater id, so it comes first."""
    from permed_measures import evaluate
    from permed_measures.tables import evaluate_files
    from permed_measures.tables.sessions import opened

    pytest.importorskip(engine)
    pairs = [
        (1 + 2**-30, 1.0),
        (1e300, 1e299),
        (-1e299, -1e300),
        (2**-160, 2**-170),
        (-1.0, -1 - 2**-30),
        (16777217, 16777216),
    ]
    pairs += [
        (float("inf"), 1e39),
        (-1e39, float("-inf")),
        (-(2**-170), -(2**-160)),
        (0.0, -0.0),
        (3.4028235e38, 3.40282346e38),
    ]
    run = {
        f"q{n}": {"a": high, "b": low} | {f"A{i}": float("-inf") for i in range(9)}
        for n, (high, low) in enumerate(pairs)
    }
    qrels = {query: {"b": 1} for query in run}
    here = evaluate(qrels, run, "P@1")
    with opened(engine) as session:
        there = evaluate_files(session, qrels, run, "P@1", by_query=True)
    assert there.columns == here.columns
    assert sum(there.columns[next(iter(there.labels))].values()) == len(pairs)
    assert there.notes == here.notes


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize("rows", [1000, 20_000])
@pytest.mark.parametrize("plain", [False, True], ids=["as installed", "without the compiled part"])
def test_a_repeated_document_is_found_wherever_it_is(engine, rows, plain, monkeypatch):
    from permed_measures.tables.hashes import all_differ
    from permed_measures.tables.inputs import as_table
    from permed_measures.tables.sessions import opened

    pytest.importorskip(engine)
    if plain:
        monkeypatch.setattr("permed_measures.tables.hashes.compiled_part", lambda: None)
    columns = {"query_id": [f"q{n % 7}" for n in range(rows)], "doc_id": [f"d{n}" for n in range(rows)]}
    numbers = [float(n % 97) for n in range(rows)]

    def table(session, ids, scores):
        if engine == "polars":
            return session.native.LazyFrame({**ids, "score": scores})
        unnested = (
            "SELECT unnest(?::VARCHAR[]) AS query_id, unnest(?::VARCHAR[]) AS doc_id, unnest(?::DOUBLE[]) AS score"
        )
        session.native.execute(f"CREATE OR REPLACE TABLE t AS {unnested}", [*ids.values(), scores])
        return session.native.table("t")

    with opened(engine) as session:
        assert all_differ(as_table(table(session, columns, numbers), "run").unknown_rows)
        for at in (0, rows // 2, rows - 8):
            again = {
                **columns,
                "doc_id": [*columns["doc_id"][:at], columns["doc_id"][at + 7], *columns["doc_id"][at + 1 :]],
            }
            assert not all_differ(as_table(table(session, again, numbers), "run").unknown_rows)
            for doc in (None, ""):
                empty = {**columns, "doc_id": [*columns["doc_id"][:at], doc, *columns["doc_id"][at + 1 :]]}
                assert not all_differ(as_table(table(session, empty, numbers), "run").unknown_rows)
            for score in (None, float("nan")):
                wrong = [*numbers[:at], score, *numbers[at + 1 :]]
                assert not all_differ(as_table(table(session, columns, wrong), "run").unknown_rows)


@pytest.mark.parametrize("plain", [False, True], ids=["as installed", "without the compiled part"])
def test_grades_that_are_no_numbers_and_pairs_the_other_way_round(plain, monkeypatch):
    """Where documents are queries too, the hashes of (a, b) and (b, a) must differ; a grade must be finite."""
    from permed_measures.tables.hashes import all_differ
    from permed_measures.tables.inputs import as_table

    if plain:
        monkeypatch.setattr("permed_measures.tables.hashes.compiled_part", lambda: None)
    pairs = [(f"d{a}", f"d{b}") for a in range(30) for b in range(30)]
    columns = {"query_id": [query for query, _ in pairs], "doc_id": [doc for _, doc in pairs]}

    def in_duckdb(rows):
        kinds = ("VARCHAR", "VARCHAR", "DOUBLE")
        unnested = ", ".join(f"unnest(?::{kind}[]) AS {name}" for name, kind in zip(rows, kinds, strict=True))
        connection = duckdb.connect()
        connection.execute(f"CREATE TABLE t AS SELECT {unnested}", list(rows.values()))
        return connection.table("t")

    for make in (pl.LazyFrame, in_duckdb):
        for grade, fine in ((1.0, True), (float("nan"), False), (float("inf"), False), (None, False)):
            qrels = make({**columns, "relevance": [*[0.0] * (len(pairs) - 1), grade]})
            found = all_differ(as_table(qrels, "qrels").unknown_rows, "grade")
            assert (found is not None) == fine
            assert not fine or found.rows == len(pairs)
            assert not fine or found.lists in (None, pytest.approx(30, rel=0.01))


@pytest.mark.parametrize("number", [0, 1, 2, 5000])
def test_equal_numbers_are_found_wherever_they_are(number):
    from permed_measures.ranking import compiled_part

    if compiled_part() is None:
        pytest.skip("the compiled part is not there")
    rng = random.Random(20261118)
    some = list({0, 2**64 - 1, *(rng.getrandbits(64) for _ in range(number))})[:number]

    def found(numbers, *, pieces=1, kind=pl.UInt64):
        step = len(numbers) // pieces + 1
        parts = [numbers[at : at + step] for at in range(0, len(numbers) or 1, step)]
        table = pl.concat([pl.DataFrame({"hash": part}, schema={"hash": kind}) for part in parts], rechunk=False)
        return compiled_part().all_differ(table.__arrow_c_stream__(), 4)

    first_bits = len({one >> 60 for one in some})
    assert found(some) == found(some, pieces=7) == (number, first_bits)
    assert found([one // 2 for one in some], kind=pl.Int64) is None  # not hashes
    assert found([*some, None]) is found([None, *some]) is None
    for again in some[:: max(1, number // 20)] + [0] * (0 in some):
        place = rng.randrange(number + 1)
        assert found([*some[:place], again, *some[place:]], pieces=rng.randint(1, 9)) is None


def test_a_stream_is_read_once_and_nothing_else_is_read_at_all():
    from permed_measures.ranking import compiled_part

    if compiled_part() is None:
        pytest.skip("the compiled part is not there")
    all_differ = compiled_part().all_differ
    stream = pl.DataFrame({"hash": [3, 5]}, schema={"hash": pl.UInt64}).slice(1).__arrow_c_stream__()
    assert all_differ(stream, 8) == (1, 1)
    assert all_differ(stream, 8) in (None, (0, 0))  # nothing is left
    for other in (None, b"hash", object(), pl.DataFrame({"a": [1], "b": [2]}).__arrow_c_stream__()):
        assert all_differ(other, 8) is None
    late = "CASE WHEN i = 99999 THEN error('no') ELSE hash(i) END::UBIGINT AS hash"
    failing = duckdb.sql(f"SELECT {late} FROM range(100000) numbers(i)")  # noqa: S608  (ours)
    with suppress(duckdb.Error):  # which DuckDB before 2.0 raises itself, when it is asked for a stream
        assert all_differ(failing.__arrow_c_stream__(), 8) is None


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize(("score", "found"), [("'nan'::DOUBLE", "1 NaN scores"), ("NULL", "1 missing numbers")])
def test_a_score_that_is_no_number_is_found_among_the_best(engine, score, found, tmp_path):
    """Parquet's statistics leave NaN out."""
    from permed_measures.errors import InputError
    from permed_measures.tables import evaluate_files
    from permed_measures.tables.sessions import opened

    pytest.importorskip(engine)
    for place in (0, 50, 98):
        path = tmp_path / f"{place}.parquet"
        scores = f"CASE WHEN n = {place} THEN {score} ELSE n::DOUBLE END AS score"
        asked = f"SELECT 'q' AS query_id, 'd' || (n + 1) AS doc_id, {scores} FROM range(99) numbers(n)"  # noqa: S608  (ours)
        duckdb.sql(asked).write_parquet(str(path))
        with opened(engine) as session, pytest.raises(InputError, match=found):
            evaluate_files(session, {"q": {"d1": 1}}, str(path), "P@5")


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_the_best_of_lists_tell_the_same_facts_as_all_rows(engine, run):
    from permed_measures.tables.files import table_of
    from permed_measures.tables.inputs import as_table
    from permed_measures.tables.inspection import inspected
    from permed_measures.tables.sessions import opened

    pytest.importorskip(engine)
    run["q3"] = {"d1": 1.0, "d2": 2.0}
    for judged in (("q1", "q3", "missing"), tuple(run)):  # a part of the run's queries, or all
        with opened(engine) as session:
            qrels = as_table(table_of(session, {query: {"d1": 1} for query in judged}, "relevance"), "qrels")
            returned = as_table(table_of(session, run, "score"), "run")
            found = []
            for best in (False, True):
                with inspected(qrels, returned, DEPTH, best=best) as inside:
                    assert (inside.best is not None) == best
                    found.append(inside.facts)
        known = {query: len(run.get(query, ())) for query in judged}
        for facts in found:
            assert (facts.run_rows, facts.looked_at) == (
                sum(known.values()),
                sum(min(n, DEPTH) for n in known.values()),
            )
            assert (facts.missing, facts.only_run) == (list(known.values()).count(0), len(set(run) - set(judged)))
            assert (facts.lists, facts.faults) == (len(run), ())


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_all_rows_without_a_query_are_counted(engine, run):
    from permed_measures.errors import InputError
    from permed_measures.tables.inputs import as_table
    from permed_measures.tables.inspection import check, inspected
    from permed_measures.tables.sessions import opened

    pytest.importorskip(engine)
    with opened(engine) as session:
        tables = [session.table({**run, "": {f"d{n}": float(n) for n in range(LENGTH)}}, "score")]
        tables.insert(0, session.table({query: {"d1": 1.0} for query in run}, "relevance"))
        qrels, returned = (as_table(one, what) for one, what in zip(tables, ("qrels", "run"), strict=True))
        for best in (False, True):
            with (
                inspected(qrels, returned, DEPTH, best=best) as inside,
                pytest.raises(InputError, match=f"run: {LENGTH} empty ids"),
            ):
                check(inside.facts)


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize("cutoff", [999_998, 999_999, 1_000_000, 2**32, 9 * 10**18])
def test_a_cut_off_may_be_larger_than_what_engines_count(engine, cutoff):
    from permed_measures.tables import evaluate_files
    from permed_measures.tables.sessions import opened

    pytest.importorskip(engine)
    with opened(engine) as session:
        found = evaluate_files(session, {"q": {"a": 1}}, {"q": {"a": 1.0, "b": 2.0}}, f"AP@{cutoff}")
    assert list(found.means.values()) == [1 / 2]
