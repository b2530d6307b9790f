"""One corpus of what engines read differently, on every engine that can be had here.

PostgreSQL is started by these tests, with a database that orders ids by their bytes and one that orders them as English
does. ClickHouse (chdb) and DataFusion are run where they are installed, as .ci/full does; Spark has a file of its own.
"""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

import narwhals as nw
import pytest

from compat.tables import TABLES, columns
from permed_measures import InputError, evaluate, evaluate_tables, inspect_tables, table_means, to_sql
from permed_measures.ranking import ORDERS
from tests.table_cases import HAZARD_MEASURES, hazards

QRELS, RUN = ("query_id", "doc_id", "relevance"), ("query_id", "doc_id", "score")
DATABASES = {"bytes": "LOCALE 'C'", "english": "LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C'"}
orders = pytest.mark.parametrize("order", ORDERS)


def assert_right(found, order):
    qrels, run = hazards()
    expected = evaluate(qrels, run, HAZARD_MEASURES, order=order).columns
    assert found.keys() == qrels.keys()
    for measure, column in expected.items():
        for query_id, value in column.items():
            assert found[query_id][str(measure)] == pytest.approx(value, abs=1e-12, rel=0), (measure, query_id)


def by_query(native):
    return {row.pop("query_id"): row for row in nw.from_native(native).lazy().collect().rows(named=True)}


def test_the_corpus_has_what_engines_read_differently():
    qrels, run = hazards()
    scores = {repr(score) for docs in run.values() for score in docs.values()}
    assert {"0.0", "-0.0", "1e+300", "1e-46", "inf", "-inf", "1.0", "1.000000000001"} <= scores
    docs = set().union(*run.values())
    assert any(doc != doc.lower() and doc.lower() in docs for doc in docs)
    assert any(len(doc) != len(doc.encode()) for doc in docs)
    values = [evaluate(qrels, run, HAZARD_MEASURES, order=order).columns for order in ORDERS]
    assert values[0] != values[1]


@orders
@pytest.mark.parametrize("engine", TABLES)
def test_engines_in_this_process(engine, order):
    assert_right(
        by_query(
            evaluate_tables(*TABLES[engine](QRELS, hazards()[0], RUN, hazards()[1]), HAZARD_MEASURES, order=order)
        ),
        order,
    )


def server_programs():
    found = [shutil.which("initdb"), *sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin/initdb")))]
    return next((Path(path).parent for path in found if path), None)


needs_postgres = [
    pytest.mark.full,
    pytest.mark.skipif(server_programs() is None, reason="PostgreSQL is not on this machine (Debian: postgresql)"),
    pytest.mark.skipif(find_spec("psycopg") is None, reason="psycopg is not installed: pip install 'psycopg[binary]'"),
]


@pytest.fixture(scope="module")
def server():
    """Yield the folder of a socket to a PostgreSQL of our own; it does not run for root."""
    account = pwd.getpwnam("postgres") if os.getuid() == 0 else pwd.getpwuid(os.getuid())
    with tempfile.TemporaryDirectory(prefix="pg") as name:  # short: a socket's path is at most 107 bytes long
        folder = Path(name)
        os.chown(folder, account.pw_uid, account.pw_gid)

        def run(program, *arguments):
            command = [str(server_programs() / program), "-D", str(folder / "data"), *arguments]
            environment = {"PATH": os.environ["PATH"], "LC_ALL": "C"}
            done = subprocess.run(
                command, user=account.pw_uid, group=account.pw_gid, cwd=folder, env=environment, check=False,
                timeout=120, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            )  # fmt: skip
            assert done.returncode == 0, done.stdout

        run("initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
        run("pg_ctl", "-w", "-l", str(folder / "log"), "-o", options, "start")
        try:
            yield folder
        finally:
            run("pg_ctl", "-w", "-m", "immediate", "stop")


@pytest.fixture(scope="module", params=DATABASES)
def postgres(server, request):
    """Yield a connection of Ibis to a database that holds the corpus."""
    import ibis
    import psycopg

    with psycopg.connect(host=str(server), user="postgres", dbname="postgres", autocommit=True) as connection:
        connection.execute(
            f"CREATE DATABASE {request.param} TEMPLATE template0 ENCODING 'UTF8' {DATABASES[request.param]}"
        )
    connection = ibis.postgres.connect(host=str(server), user="postgres", database=request.param)
    for name, names, grid in (("qrels", QRELS, hazards()[0]), ("run", RUN, hazards()[1])):
        fill(connection, name, names[2], list(zip(*columns(names, grid).values(), strict=True)))
    ordered = [row[0] for row in answer(connection, "SELECT * FROM (VALUES ('a'), ('B')) AS v(id) ORDER BY id")[1]]
    assert ordered == (["B", "a"] if request.param == "bytes" else ["a", "B"])
    yield connection
    connection.disconnect()


def fill(connection, name, number, rows, kind="double precision"):
    with connection.con.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS {name}")
        cursor.execute(f"CREATE TABLE {name} (query_id text, doc_id text, {number} {kind})")
        cursor.executemany(f"INSERT INTO {name} VALUES (%s, %s, %s)", rows)  # noqa: S608  (our own names)
    connection.con.commit()


def answer(connection, sql):
    with connection.con.cursor() as cursor:
        cursor.execute(sql)
        return [column[0] for column in cursor.description], cursor.fetchall()


def statements(text):
    return [statement for statement in text.split(";\n\n") if statement]


class TestPostgreSQL:
    pytestmark = needs_postgres

    @orders
    def test_values_through_ibis(self, postgres, order):
        found = evaluate_tables(postgres.table("qrels"), postgres.table("run"), HAZARD_MEASURES, order=order)
        assert_right(by_query(found), order)

    @orders
    def test_values_of_the_sql(self, postgres, order):
        names, rows = answer(postgres, to_sql(HAZARD_MEASURES, dialect="postgres", order=order))
        assert_right({row[0]: dict(zip(names, row, strict=True)) for row in rows}, order)

    def test_means_and_facts(self, postgres):
        tables = postgres.table("qrels"), postgres.table("run")
        qrels, run = hazards()
        expected = {
            str(m): pytest.approx(mean, abs=1e-12) for m, mean in evaluate(qrels, run, HAZARD_MEASURES).means.items()
        }
        (means,) = nw.from_native(table_means(evaluate_tables(*tables, HAZARD_MEASURES))).collect().rows(named=True)
        assert means == expected
        names, (row,) = answer(postgres, to_sql(HAZARD_MEASURES, dialect="postgres", part="means"))
        assert dict(zip(names, row, strict=True)) == expected
        facts = inspect_tables(*tables)
        assert (facts.judged_queries, facts.run_rows, facts.faults) == (len(qrels), sum(map(len, run.values())), ())

    def test_the_check_is_silent_where_nothing_is_wrong_and_names_what_is(self, postgres):
        for statement in statements(to_sql("GWAP P@1", dialect="postgres", part="check")):
            assert answer(postgres, statement)[1] == []
        fill(postgres, "judged", "relevance", [("q", "a", True), ("q", "A", False)], "boolean")
        wrong = [("q", "a", 1.0), ("q", "A", 2.0), ("q", "a", 3.0), ("q", "b", float("nan")), ("q", "c", None)]
        fill(postgres, "faulty", "score", wrong)
        qrels, run = postgres.table("judged"), postgres.table("faulty")
        with pytest.raises(
            InputError, match=r"1 missing numbers(.|\n)*1 NaN scores(.|\n)*1 duplicates \(query 'q', document 'a'\)"
        ):
            evaluate_tables(qrels, run, "P@1")
        found = answer(postgres, statements(to_sql(dialect="postgres", part="check", run="faulty"))[1])[1]
        assert sorted(row[1] for row in found) == ["a", "b", "c"]
        fill(postgres, "faulty", "score", wrong[:4])
        kept = evaluate_tables(
            qrels, postgres.table("faulty"), "RR P@2", duplicates="max", nan_scores="drop", queries="both"
        )
        assert by_query(kept) == {"q": {"RR": 1.0, "P@2": 1 / 2}}  # a's 3 is above A's 2


def arrow():
    import pyarrow as pa

    return [pa.table(columns(names, grid)) for names, grid in zip((QRELS, RUN), hazards(), strict=True)]


if find_spec("datafusion"):

    @orders
    def test_datafusion_runs_the_sql(order):
        import datafusion

        context = datafusion.SessionContext()
        for name, table in zip(("qrels", "run"), arrow(), strict=True):
            context.from_arrow(table, name=name)
        found = context.sql(to_sql(HAZARD_MEASURES, dialect="datafusion", order=order)).to_pylist()
        assert_right({row["query_id"]: row for row in found}, order)
        for statement in statements(to_sql("GWAP", dialect="datafusion", part="check")):
            assert context.sql(statement).to_pylist() == []


if find_spec("chdb"):

    @orders
    def test_clickhouse_runs_the_sql(tmp_path, order):
        import pyarrow.parquet
        from chdb.session import Session

        session = Session()
        for name, number, table in zip(("qrels", "run"), ("relevance", "score"), arrow(), strict=True):
            path = tmp_path / f"{name}.parquet"
            pyarrow.parquet.write_table(table, path)
            session.query(f"CREATE TABLE {name} (query_id String, doc_id String, {number} Float64) ENGINE = Memory")
            session.query(f"INSERT INTO {name} SELECT * FROM file('{path}')")  # noqa: S608  (our own names)
        found = str(session.query(to_sql(HAZARD_MEASURES, dialect="clickhouse", order=order), "JSONEachRow"))
        assert_right({row["query_id"]: row for row in map(json.loads, found.splitlines())}, order)
        for statement in statements(to_sql("GWAP", dialect="clickhouse", part="check")):
            assert str(session.query(statement, "JSONEachRow")) == ""
        session.close()
