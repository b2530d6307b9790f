"""DuckDB may drop what is below the depth before it orders lists, to save time: the ranks are the same."""

from __future__ import annotations

import random
import threading
from contextlib import nullcontext

import pytest

from permed_measures.errors import InputError

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


def differs(table, *, plain, value="score"):
    """Return how many rows and lists there are where no two rows are the same, all with ids and a number; else None."""
    from permed_measures.ranking import compiled_part
    from permed_measures.tables.hashes import all_differ
    from permed_measures.tables.listed import listed

    if plain:
        found = all_differ(table.unknown_rows, value)
        return found and (found.rows, found.num_lists)
    if compiled_part() is None:
        pytest.skip("the compiled part is not there")
    with listed(table.rows, 3, value) as found:
        return found and (found.num_rows, found.num_lists)


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize("rows", [1000, 20_000])
@pytest.mark.parametrize("plain", [False, True], ids=["as installed", "without the compiled part"])
def test_a_repeated_document_is_found_wherever_it_is(engine, rows, plain):
    from permed_measures.tables.inputs import as_table
    from permed_measures.tables.sessions import opened

    pytest.importorskip(engine)
    columns = {"query_id": [f"q{n % 7}" for n in range(rows)], "doc_id": [f"d{n}" for n in range(rows)]}
    numbers = [float(n % 97) for n in range(rows)]

    def table(session, ids, scores):
        if engine == "polars":
            return as_table(session.native.LazyFrame({**ids, "score": scores}), "run")
        unnested = (
            "SELECT unnest(?::VARCHAR[]) AS query_id, unnest(?::VARCHAR[]) AS doc_id, unnest(?::DOUBLE[]) AS score"
        )
        session.native.execute(f"CREATE OR REPLACE TABLE t AS {unnested}", [*ids.values(), scores])
        return as_table(session.native.table("t"), "run")

    with opened(engine) as session:
        assert differs(table(session, columns, numbers), plain=plain)
        for at in (0, rows // 2, rows - 8):
            again = [*columns["doc_id"][:at], columns["doc_id"][at + 7], *columns["doc_id"][at + 1 :]]
            assert not differs(table(session, {**columns, "doc_id": again}, numbers), plain=plain)
            for name in columns:
                for nothing in (None, ""):
                    empty = {**columns, name: [*columns[name][:at], nothing, *columns[name][at + 1 :]]}
                    assert not differs(table(session, empty, numbers), plain=plain)
            for score in (None, float("nan")):
                wrong = [*numbers[:at], score, *numbers[at + 1 :]]
                assert not differs(table(session, columns, wrong), plain=plain)


@pytest.mark.parametrize("plain", [False, True], ids=["as installed", "without the compiled part"])
def test_grades_that_are_no_numbers_and_pairs_the_other_way_round(plain):
    """Where documents are queries too, the hashes of (a, b) and (b, a) must differ; a grade must be finite."""
    from permed_measures.tables.inputs import as_table

    pairs = [(f"d{a}", f"d{b}") for a in range(30) for b in range(30)]
    columns = {"query_id": [query for query, _ in pairs], "doc_id": [doc for _, doc in pairs]}
    connections = []

    def in_duckdb(rows):
        kinds = ("VARCHAR", "VARCHAR", "DOUBLE")
        unnested = ", ".join(f"unnest(?::{kind}[]) AS {name}" for name, kind in zip(rows, kinds, strict=True))
        connection = duckdb.connect()
        connection.execute(f"CREATE TABLE t AS SELECT {unnested}", list(rows.values()))
        connections.append(connection)  # DuckDB before 2.0 would close it
        return connection.table("t")

    for make in (pl.LazyFrame, in_duckdb):
        for grade, fine in ((1.0, True), (float("nan"), False), (float("inf"), False), (None, False)):
            qrels = make({**columns, "relevance": [*[0.0] * (len(pairs) - 1), grade]})
            found = differs(as_table(qrels, "qrels"), plain=plain, value="grade")
            assert (found is not None) == fine
            assert not fine or found[0] == len(pairs)
            assert not fine or found[1] in (None, pytest.approx(30, rel=0.01))


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


@pytest.mark.parametrize("engine", ["duckdb", "polars", "polars without batches"])
@pytest.mark.parametrize("plain", [False, True], ids=["as installed", "without the compiled part"])
def test_the_best_of_lists_tell_the_same_facts_as_all_rows(engine, run, plain, monkeypatch):
    from permed_measures.tables.files import table_of
    from permed_measures.tables.inputs import as_table
    from permed_measures.tables.inspection import inspected
    from permed_measures.tables.sessions import opened

    engine, *without = engine.split(maxsplit=1)
    if without:
        monkeypatch.delattr(pl.LazyFrame, "collect_batches", raising=False)
    if plain:
        monkeypatch.setattr("permed_measures.tables.listed.compiled_part", lambda: None)
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


def filled(run):
    connection = duckdb.connect()
    connection.execute("CREATE TABLE run (query_id VARCHAR, doc_id VARCHAR, score DOUBLE)")
    rows = [(query, doc, score) for query, scores in run.items() for doc, score in scores.items()]
    connection.executemany("INSERT INTO run VALUES (?, ?, ?)", rows)
    connection.execute("CREATE TABLE qrels AS SELECT query_id, doc_id, 1 AS relevance FROM run")
    return connection


def left_behind(connection):
    names = "SELECT table_name FROM duckdb_tables() UNION ALL SELECT view_name FROM duckdb_views() WHERE NOT internal"
    return [name for (name,) in connection.execute(names).fetchall() if name not in ("run", "qrels")]


@pytest.mark.parametrize("setting", ["python_enable_replacements", "enable_external_access"])
def test_duckdb_that_may_not_look_for_names_in_python(run, setting):
    """The fast way sends it tables by name; there is another one, and a transaction goes on."""
    from permed_measures.tables import evaluate_tables

    connection = filled(run)
    connection.execute(f"SET {setting} = false")
    connection.execute("BEGIN")
    found = evaluate_tables(connection.table("qrels"), connection.table("run"), "P@5")
    assert {value for _, value in found.fetchall()} == {1.0}
    connection.execute("COMMIT")
    with pytest.raises(InputError, match="duplicates"):
        evaluate_tables(connection.table("qrels").union(connection.table("qrels")), connection.table("run"), "P@5")
    assert left_behind(connection) == []


def test_duckdb_without_a_limit_of_memory(run):
    from permed_measures.tables import evaluate_tables

    connection = filled(run)
    connection.execute("SET memory_limit = '-1'")
    found = evaluate_tables(connection.table("qrels"), connection.table("run"), "P@5")
    assert {value for _, value in found.fetchall()} == {1.0}


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, InterruptedError("INTERRUPT Error")])
def test_what_ends_the_pass_over_the_run_leaves_a_connection_that_works(run, error, monkeypatch):
    """DuckDB 2.0 answers nothing while a stream is open."""
    from permed_measures.ranking import compiled_part
    from permed_measures.tables import evaluate_tables, inspect_tables

    part = compiled_part()
    if part is None:
        pytest.skip("the compiled part is not there")

    class Ended:
        """The compiled part, which ends in the middle of the run; the qrels come first."""

        passes = 0
        arrow_stream = staticmethod(part.arrow_stream)

        def best_lists(self, streams, *more):
            def then_ended():
                yield from streams
                raise error

            self.passes += 1
            return part.best_lists(streams if self.passes == 1 else then_ended(), *more)

    connection = filled(run)
    ended = Ended()
    monkeypatch.setattr("permed_measures.tables.listed.compiled_part", lambda: ended)
    expected = duckdb.InterruptException if isinstance(error, InterruptedError) else error
    with pytest.raises(expected):
        inspect_tables(connection.table("qrels"), connection.table("run"))
    assert left_behind(connection) == []
    monkeypatch.undo()
    found = evaluate_tables(connection.table("qrels"), connection.table("run"), "P@5")
    assert {value for _, value in found.fetchall()} == {1.0}


def test_an_interrupted_query_is_not_asked_again(run):
    """Whatever else fails is: whoever asks the engine in another way gets its error."""
    from permed_measures.ranking import compiled_part

    if compiled_part() is None:
        pytest.skip("the compiled part is not there")
    connection = filled(run)
    rows = connection.sql(
        "SELECT query_id, doc_id || a.i || '-' || b.i AS doc_id, score FROM run, range(3000) a(i), range(100) b(i)"
    )
    interrupt = threading.Timer(0.2, connection.interrupt)
    interrupt.start()
    try:
        with pytest.raises((InterruptedError, duckdb.InterruptException)):
            compiled_part().best_lists([rows.__arrow_c_stream__()], 1, 0, False, 2**60)
    finally:
        interrupt.join()
    assert connection.execute("SELECT 1").fetchall() == [(1,)]


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
