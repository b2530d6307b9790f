"""to_sql(): the text runs where its dialect does, and gives the same values."""

from __future__ import annotations

import math

import duckdb
import pytest

from permed_measures import HostError, ParamError, evaluate, to_sql
from permed_measures.tables.dialects import DIALECTS, RUN
from permed_measures.tables.sql import PARTS
from tests.table_cases import measures, together

pytest.importorskip("ibis")


def rows_of(grid):
    return [(query_id, doc_id, float(value)) for query_id, group in grid.items() for doc_id, value in group.items()]


def filled(connection, qrels, run):
    connection.execute("CREATE TABLE judged (topic TEXT, doc_id TEXT, relevance DOUBLE)")
    connection.execute("CREATE TABLE run (query_id TEXT, doc_id TEXT, score DOUBLE)")
    for name, grid in (("judged", qrels), ("run", run)):
        if grid:
            connection.executemany(f"INSERT INTO {name} VALUES (?, ?, ?)", rows_of(grid))  # noqa: S608  (two names)
    return connection


def test_duckdb_runs_it_for_every_measure():
    qrels, run = together()
    asked = measures()
    sql = to_sql(asked, dialect="duckdb", qrels="judged", qrels_columns=("topic", "doc_id", "relevance"))
    answer = filled(duckdb.connect(), qrels, run).execute(sql)
    names = [column[0] for column in answer.description]
    found = {row[0]: dict(zip(names[1:], row[1:], strict=True)) for row in answer.fetchall()}
    expected = evaluate(qrels, run, asked).columns
    assert found.keys() == qrels.keys()
    for measure, column in expected.items():
        for query_id, value in column.items():
            assert found[query_id][str(measure)] == pytest.approx(value, abs=1e-12, rel=0), (measure, query_id)


def test_the_check_finds_what_makes_values_wrong():
    qrels, run = {"q": {"a": 1, "b": math.inf}}, {"q": {"a": 1.0, "b": math.nan, "": 2.0}}
    connection = filled(duckdb.connect(), qrels, run)
    connection.execute("INSERT INTO run VALUES ('q', 'a', 0.5)")
    sql = to_sql(part="check", dialect="duckdb", qrels="judged", qrels_columns=("topic", "doc_id", "relevance"))
    in_qrels, in_run = sql.split(";")
    scale = to_sql("GWAP P@1", part="check", qrels="judged", qrels_columns=("topic", "doc_id", "relevance")).split(";")
    assert connection.execute(scale[1]).fetchall() == [("q", "b", math.inf)]  # above max_rel
    assert [row[:3] for row in connection.execute(in_qrels).fetchall()] == [("q", "b", 1)]
    assert sorted(row[:3] for row in connection.execute(in_run).fetchall()) == [
        ("q", "", 1),
        ("q", "a", 2),
        ("q", "b", 1),
    ]


def test_the_check_knows_the_lowest_relevant_grade():
    asked = {"part": "check", "qrels": "judged", "qrels_columns": ("topic", "doc_id", "relevance")}
    connection = filled(duckdb.connect(), {"q": {"a": 1, "b": 2, "c": 3}}, {"q": {"a": 1.0}})
    for lowest, wrong in ((1, ["a", "c"]), (2, ["c"])):
        sql = to_sql("GWAP(weights={2: 1.0})", min_relevance=lowest, **asked).split(";")[1]
        assert sorted(row[1] for row in connection.execute(sql).fetchall()) == wrong
    with pytest.raises(ParamError, match="min_relevance=-5 is not allowed"):
        to_sql("P@1", min_relevance=-5, **asked)
    with pytest.raises(ParamError, match="Bpref has no expression for tables"):
        to_sql("Bpref", **asked)


@pytest.mark.parametrize("scores", [(1.0, math.nan, 2.0), (1.0, math.nan), (math.nan,)], ids=str)
def test_the_check_finds_nan_in_parquet(tmp_path, scores):
    path = str(tmp_path / "run.parquet")
    connection = filled(duckdb.connect(), {}, {"q": dict(zip("abc", scores, strict=False))})
    connection.table("run").write_parquet(path)
    connection.execute(f"DROP TABLE run; CREATE VIEW run AS FROM '{path}'")
    found = connection.execute(to_sql(part="check").split(";")[1]).fetchall()
    assert [row[:2] for row in found] == [("q", "b" if len(scores) > 1 else "a")]


def test_names_cannot_end_the_comment(tmp_path):
    (tmp_path / "own.toml").write_text('[[measures]]\nmeasure = "P@1"\nname = "a\\nb"\n')
    sql = to_sql(profile=tmp_path / "own.toml")
    assert next(line for line in sql.splitlines() if not line.startswith("--")).startswith("WITH")


@pytest.mark.parametrize("dialect", ["bigquery", "snowflake", "databricks", "spark", "postgres", "trino", "clickhouse"])
def test_warehouses(dialect):
    sql = to_sql(profile="llm-judged", dialect=dialect, qrels="lake.eval.qrels", part="means")
    assert sql.startswith("-- precision@5 precision@10")
    for quote in ('"', "`"):
        sql = sql.replace(quote, "")
    assert "lake.eval.qrels" in sql
    assert ("has no 32-bit numbers" in sql) == (dialect in ("bigquery", "snowflake"))
    assert ("has its name in capitals there" in sql) == (dialect == "snowflake")


@pytest.mark.full
def test_every_dialect_that_is_listed_is_written_and_read_by_its_parser():
    import sqlglot

    for dialect in DIALECTS:
        for part in PARTS:
            for statement in to_sql("GWAP@10 nDCG(dcg='exp-log2')", dialect=dialect, part=part).split(";\n\n"):
                parsed = sqlglot.parse_one(statement, read="postgres" if dialect == "datafusion" else dialect)
                assert parsed.key == "select", (dialect, part)


def test_no_other_dialect_of_ibis_is_written():
    from importlib.metadata import entry_points

    others = {point.name for point in entry_points(group="ibis.backends")} - {"polars", "pyspark", *DIALECTS}
    assert others
    for dialect in others:
        with pytest.raises(HostError, match=f"Ibis cannot write this for {dialect}"):
            to_sql("nDCG@10 AP", dialect=dialect)


def test_only_what_was_never_run_says_so():
    for dialect, how in DIALECTS.items():
        assert ("Nobody has run this" in to_sql("P@1", dialect=dialect)) == (how != RUN)


def test_wrong_requests_say_what_is_allowed():
    with pytest.raises(ParamError, match=r"Did you mean postgres\?"):
        to_sql("P@1", dialect="postgress")
    with pytest.raises(ParamError, match="give three different names"):
        to_sql("P@1", run_columns=("id", "id", "score"))
    with pytest.raises(ParamError, match="part='mean' is not allowed"):
        to_sql("P@1", part="mean")
    with pytest.raises(HostError, match="Ibis cannot write this for sqlite"):
        to_sql("P@1", dialect="sqlite")
