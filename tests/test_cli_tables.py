"""``permed-measures eval`` in an engine, and ``permed-measures sql``."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from importlib.util import find_spec

import duckdb
import narwhals as nw
import polars as pl
import pytest

from compat.corpora import CORPORA
from permed_measures import InputError, ParamError, evaluate, evaluate_tables
from permed_measures.cli import main as run_tool
from permed_measures.tables import evaluate_files
from permed_measures.tables.sessions import bytes_of, opened
from tests.conftest import few

MEASURES = "GWAP@10 nDCG@5 P@1 AP ListNDCG@3"


def main(arguments):
    with pytest.raises(SystemExit) as end:
        run_tool(arguments)
    return end.value.code


def table_of(grid, value):
    rows = [(query, doc, float(number)) for query, group in grid.items() for doc, number in group.items()]
    return pl.DataFrame(rows, schema=["query_id", "doc_id", value], orient="row")


@pytest.fixture(scope="module")
def corpus():
    return CORPORA["ties"]


@pytest.fixture
def files(tmp_path, corpus):
    table_of(corpus.qrels, "relevance").write_parquet(tmp_path / "qrels.parquet")
    table_of(corpus.run, "score").write_parquet(tmp_path / "run.parquet")
    return tmp_path


def means(capsys, *arguments):
    assert main(["eval", *map(str, arguments), "-m", MEASURES, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)["metrics"]


def expected(corpus):
    return {
        str(measure): pytest.approx(mean, abs=1e-12)
        for measure, mean in evaluate(corpus.qrels, corpus.run, MEASURES).means.items()
    }


@pytest.mark.parametrize(
    "options", [(), ("--engine", "duckdb", "--memory-limit", "200MB"), ("--engine", "polars")], ids=str
)
def test_parquet_in_an_engine(files, corpus, capsys, options):
    assert means(capsys, files / "qrels.parquet", files / "run.parquet", *options) == expected(corpus)


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_columns_can_be_named(tmp_path, corpus, capsys, engine):
    qrels, run = tmp_path / "qrels.parquet", tmp_path / "run.parquet"
    table_of(corpus.qrels, "gain").rename({"query_id": "question", "doc_id": "p.id"}).write_parquet(qrels)
    table_of(corpus.run, "logit").rename({"query_id": "question", "doc_id": "p.id"}).write_parquet(run)
    assert main(["eval", str(qrels), str(run), "--engine", engine]) == 2
    assert f"{qrels}: the table has no column 'query_id'" in capsys.readouterr().err
    named = ("--qrels-columns", "question,p.id,gain", "--run-columns", "question, p.id, logit")
    assert means(capsys, qrels, run, "--engine", engine, *named) == expected(corpus)


def test_columns_are_three_and_of_tables(files, tmp_path, capsys):
    given = ["eval", str(files / "qrels.parquet"), str(files / "run.parquet")]
    assert main([*given, "--run-columns", "query_id,doc_id"]) == 2
    assert "'query_id,doc_id': give three names with commas between them" in capsys.readouterr().err
    text = tmp_path / "run.txt"
    text.write_text("q Q0 d 1 0.5 tag\n")
    assert main(["eval", given[1], str(text), "--run-columns", "a,b,c"]) == 2
    assert "no 'a', which the columns of the run were said to have; there is" in capsys.readouterr().err


def test_a_parquet_file_is_read_as_other_files_are_and_more_goes_to_duckdb(files, corpus, capsys, monkeypatch):
    asked = []
    real = opened

    def spy(engine, **options):
        asked.append(engine)
        return real(engine, **options)

    monkeypatch.setattr("permed_measures.cli.eval.opened", spy)
    qrels, run = files / "qrels.parquet", files / "run.parquet"
    assert means(capsys, qrels, run) == expected(corpus)
    assert asked == []
    for more in ([files / "r*.parquet"], [run, "--memory-limit", "200MB"], [run, "--duplicates", "max"]):
        assert means(capsys, qrels, *more) == expected(corpus)
    assert asked == ["duckdb"] * 3


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_folders_partitions_and_patterns(files, corpus, capsys, engine):
    rows = table_of(corpus.run, "score")
    for place, part in enumerate((rows[: len(rows) // 2], rows[len(rows) // 2 :])):
        folder = files / "runs" / f"day={place}"
        folder.mkdir(parents=True)
        part.write_parquet(folder / "part-0 [1].parquet")  # a name that is a pattern itself
    (files / "runs" / "_temporary").mkdir()
    (files / "runs" / "_temporary" / "half.parquet").write_bytes(b"PAR1 half written")
    for run in (files / "runs", files / "runs" / "day=*" / "*.parquet", files / "runs" / "**" / "*.parquet"):
        assert means(capsys, files / "qrels.parquet", run, "--engine", engine) == expected(corpus)


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_other_formats_in_an_engine(files, corpus, capsys, engine):
    (files / "qrels.json").write_text(json.dumps(corpus.qrels))
    (files / "run.json").write_text(json.dumps(corpus.run))
    assert means(capsys, files / "qrels.json", files / "run.json", "--engine", engine) == expected(corpus)
    assert means(capsys, files / "qrels.json", files / "run.parquet", "--engine", engine) == expected(corpus)


def test_a_list_in_order_has_no_scores_to_compare(files, capsys):
    (files / "qrels.json").write_text('{"q": {"a": 1}}')
    (files / "run.json").write_text('{"q": ["z", "a"]}')  # by id alone, z would still be first; by id ascending, a
    assert (
        main(
            [
                "eval",
                str(files / "qrels.json"),
                str(files / "run.json"),
                "--engine",
                "polars",
                "-m",
                "RR",
                "--format",
                "json",
            ]
        )
        == 0
    )
    assert json.loads(capsys.readouterr().out)["metrics"] == {"RR": 0.5}


def test_values_of_single_queries(files, corpus, capsys):
    arguments = ["eval", str(files / "qrels.parquet"), str(files / "run.parquet"), "-m", "AP", "-q", "--format", "csv"]
    assert main(arguments) == 0
    found = {row["query"]: float(row["AP"]) for row in csv.DictReader(io.StringIO(capsys.readouterr().out))}
    result = evaluate(corpus.qrels, corpus.run, "AP")
    (column,) = result.columns.values()
    assert found == {**{q: pytest.approx(v, abs=1e-12) for q, v in column.items()}, "all": pytest.approx(result["AP"])}


def test_notes_are_those_of_evaluate(files, capsys):
    qrels = {"p": {"a": 1, "b": 0}, "q": {"a": 0}, "r": {"c": 2}}
    run = {"p": {"a": 2.0, "x": 1.0, "y": 0.5, "z": 0.5}, "q": {"b": 1.0, "a": 1.00000003}, "s": {"z": 1.0, "y": 1.0}}
    table_of(qrels, "relevance").write_parquet(files / "qrels.parquet")
    table_of(run, "score").write_parquet(files / "run.parquet")
    for options in ([], ["--queries", "run"], ["--min-relevance", "2"], ["--order", "float64"], ["--queries", "both"]):
        arguments = ["eval", str(files / "qrels.parquet"), str(files / "run.parquet"), "-m", "P@2 RR", *options]
        assert main(arguments) == 0
        told = capsys.readouterr().err.splitlines()
        plain = evaluate(
            qrels,
            run,
            "P@2 RR",
            **{
                key[2:].replace("-", "_"): float(v) if v == "2" else v
                for key, v in zip(options[::2], options[1::2], strict=True)
            },
        )
        assert told == [f"note: {note}" for note in plain.notes]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("qrels.parquet", "absent/*.parquet"), "absent/*.parquet: no file matches"),
        (("qrels.parquet", "empty"), "empty: the folder holds no .parquet file"),
        (("qrels.parquet", "broken.parquet"), "broken.parquet: not readable as parquet"),
        (("qrels.parquet", "broken.parquet", "--engine", "duckdb"), "broken.parquet: duckdb cannot evaluate it"),
        (("qrels.parquet", "broken.parquet", "--engine", "polars"), "broken.parquet: polars cannot evaluate it"),
        (("broken.parquet", "run.parquet", "--engine", "duckdb"), ": broken.parquet: duckdb cannot evaluate it"),
        (("broken.parquet", "run.parquet", "--engine", "polars"), ": broken.parquet: polars cannot evaluate it"),
        (("qrels.parquet", "run.parquet", "--memory-limit", "99999999999TB"), "is more memory than can be addressed"),
        (("three.json", "run.parquet", "--engine", "duckdb"), "three.json: query 'q', document 'a': grade 3 is above"),
        (("qrels.json", "run.parquet", "--queries", "both", "--engine", "polars"), "run.parquet: no query to evaluate"),
        (
            ("qrels.parquet", "twice.parquet", "--engine", "duckdb"),
            "twice.parquet: 1 duplicates (query 'q', document 'a'); keep one row each",
        ),
        (("qrels.parquet", "run.parquet", "--engine", "polars", "--memory-limit", "1GB"), "Polars has no memory limit"),
        (("qrels.parquet", "run.parquet", "--memory-limit", "lots"), "'lots' is not a size"),
        (("qrels.parquet", "run.parquet", "--master", "local"), "--master is for --engine spark"),
        (("qrels.json", "run.json", "--memory-limit", "1GB"), "--memory-limit is for runs in an engine"),
        (("qrels.parquet", "empty", "-m", "Bpref"), "Bpref has no expression for tables"),
    ],
)
def test_what_is_wrong_is_said(files, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(files)
    (files / "empty").mkdir()
    (files / "broken.parquet").write_bytes((files / "run.parquet").read_bytes()[:-20])
    table_of({"q": {"a": 1}}, "relevance").write_parquet(files / "judged.parquet")
    query = next(iter(CORPORA["ties"].qrels))
    pl.DataFrame({"query_id": [query] * 2, "doc_id": ["a", "a"], "score": [1.0, 2.0]}).write_parquet(
        files / "twice.parquet"
    )
    (files / "qrels.json").write_text('{"q": {"a": 1}}')
    (files / "run.json").write_text('{"q": {"a": 1.0}}')
    (files / "three.json").write_text('{"q": {"a": 3}}')
    if "Bpref" in arguments:
        (files / "empty" / "run.parquet").write_bytes((files / "run.parquet").read_bytes())
    assert main(["eval", *arguments]) == 2
    assert (message if "three" in message else message.replace("'q'", repr(query))) in capsys.readouterr().err


@pytest.mark.parametrize("scores", [(2.0, math.nan, 1.0), (2.0, math.nan)], ids=str)
@pytest.mark.parametrize("writer", ["polars", "pyarrow"])
@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_nan_is_found_in_files_whose_statistics_leave_it_out(files, capsys, writer, engine, scores):
    """As the format wants them to: DuckDB believes them, and takes isnan() for false."""
    table_of({"q": {"b": 1, "a": 0}}, "relevance").write_parquet(files / "qrels.parquet")
    run = pl.DataFrame({"query_id": ["q"] * len(scores), "doc_id": list("bac")[: len(scores)], "score": scores})
    if writer == "polars":
        run.write_parquet(files / "run.parquet")
    else:
        pytest.importorskip("pyarrow.parquet").write_table(run.to_arrow(), files / "run.parquet")
    arguments = ["eval", str(files / "qrels.parquet"), str(files / "run.parquet"), "-m", "RR", "--engine", engine]
    assert main(arguments) == 2
    assert "run.parquet: 1 NaN scores (query 'q', document 'a'); engines disagree" in capsys.readouterr().err
    with opened(engine) as session:
        judged, returned = (session.read(str(files / name)) for name in ("qrels.parquet", "run.parquet"))
        for choice in ("drop", "last"):
            values = evaluate_tables(judged, returned, "RR", nan_scores=choice)
            assert nw.from_native(values).lazy().collect().rows() == [("q", 1.0)]


def test_a_row_without_a_query_is_an_error_even_where_nobody_judged_it(files, capsys):
    table_of({"q": {"a": 1}}, "relevance").write_parquet(files / "qrels.parquet")
    rows = {"query_id": ["q", None, ""], "doc_id": ["a", "b", "c"], "score": [1.0, 2.0, 3.0]}
    pl.DataFrame(rows).write_parquet(files / "run.parquet")
    arguments = ["eval", str(files / "qrels.parquet"), str(files / "run.parquet"), "-m", "P@1", "--queries", "run"]
    assert main([*arguments, "--engine", "duckdb"]) == 2
    assert "run.parquet: 2 empty ids" in capsys.readouterr().err
    assert main(arguments) == 2
    assert "run.parquet: row 2: an empty id (query None, document 'b')" in capsys.readouterr().err


def test_no_query_to_evaluate_is_an_error(files, capsys):
    table_of({"q": {"a": 1}}, "relevance").write_parquet(files / "qrels.parquet")
    table_of({"p": {"a": 1.0}}, "score").write_parquet(files / "run.parquet")
    for options in (["--engine", "duckdb"], ["--engine", "duckdb", "-q"]):
        arguments = ["eval", str(files / "qrels.parquet"), str(files / "run.parquet"), "-m", "P@1", "--queries", "both"]
        assert main([*arguments, *options]) == 2
        assert "no query to evaluate: the qrels hold 1 queries, 1 of them are not in the run" in capsys.readouterr().err


def test_the_qrels_are_named_where_they_are_at_fault(files, capsys):
    table_of({"q": {"a": 3}}, "relevance").write_parquet(files / "qrels.parquet")
    table_of({"q": {"a": 1.0}}, "score").write_parquet(files / "run.parquet")
    assert main(["eval", str(files / "qrels.parquet"), str(files / "run.parquet"), "--engine", "duckdb"]) == 2
    told = capsys.readouterr().err
    assert "qrels.parquet: query 'q', document 'a': grade 3 is above max_rel=2" in told
    assert "in the shell write -m 'GWAP(max_rel=3)@10'" in told


def test_spark_writes_folders_called_parquet(files, capsys):
    """Its files are within, each once; what starts with _ or . is not data."""
    table_of({"q": {"a": 1}}, "relevance").write_parquet(files / "qrels.parquet")
    folder = files / "runs" / "bm25.parquet"
    folder.mkdir(parents=True)
    table_of({"q": {"b": 2.0, "a": 1.0}}, "score").write_parquet(folder / "part-0.parquet")
    (folder / "_SUCCESS").write_bytes(b"")
    for run in ("runs", "runs/*", "runs/bm25.parquet/*"):
        for engine in ("duckdb", "polars"):
            arguments = ["eval", str(files / "qrels.parquet"), str(files / run), "-m", "RR", "--format", "json"]
            assert main([*arguments, "--engine", engine]) == 0
            assert json.loads(capsys.readouterr().out)["metrics"] == {"RR": 0.5}


def test_all_of_this_folder(files, capsys, monkeypatch):
    """The pattern finds the folder itself, too."""
    (files / "runs").mkdir()
    table_of({"q": {"a": 1}}, "relevance").write_parquet(files / "qrels.parquet")
    table_of({"q": {"a": 1.0}}, "score").write_parquet(files / "runs" / "a.parquet")
    monkeypatch.chdir(files / "runs")
    assert main(["eval", str(files / "qrels.parquet"), "./**", "-m", "RR", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"] == {"RR": 1.0}


def folders_for_queries(folder):
    """Write a run of the queries 01 and 1, each a folder: 01 has a first, 1 has it second."""
    table_of({"01": {"a": 1}, "1": {"a": 1}}, "relevance").write_parquet(folder / "qrels.parquet")
    for query, docs in {"01": ["a", "b"], "1": ["b", "a"]}.items():
        (folder / "runs" / f"query_id={query}").mkdir(parents=True)
        rows = pl.DataFrame({"doc_id": docs, "score": [2.0, 1.0]})
        rows.write_parquet(folder / "runs" / f"query_id={query}" / "x.parquet")
    return {
        "runs": {"01": 1.0, "1": 0.5},
        "runs/query_id=*": {"01": 1.0, "1": 0.5},
        "runs/*/*.parquet": {"01": 1.0, "1": 0.5},
        "runs/query_id=01": {"01": 1.0, "1": 0.0},
        "runs/query_id=1/x.parquet": {"01": 0.0, "1": 0.5},
    }


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_a_query_that_a_folder_is_named_for_is_text(files, engine):
    with opened(engine) as session:
        for run, column in folders_for_queries(files).items():
            found = evaluate_files(session, str(files / "qrels.parquet"), str(files / run), "RR", by_query=True)
            assert list(found.columns.values()) == [column], run


def test_a_file_may_have_its_query_from_a_folder(files, capsys):
    expected = folders_for_queries(files)["runs/query_id=1/x.parquet"]
    run = str(files / "runs/query_id=1/x.parquet")
    assert main(["eval", str(files / "qrels.parquet"), run, "-m", "RR", "-q", "--format", "csv"]) == 0
    rows = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert {row["query"]: float(row["RR"]) for row in rows} == {**expected, "all": 0.25}


def test_truth_is_a_grade(files, capsys):
    qrels = pl.DataFrame({"query_id": ["q"] * 2, "doc_id": ["a", "b"], "relevance": [False, True]})
    qrels.write_parquet(files / "qrels.parquet")
    table_of({"q": {"a": 2.0, "b": 1.0}}, "score").write_parquet(files / "run.parquet")
    for options in ([], ["--engine", "duckdb"], ["--engine", "polars"]):
        arguments = ["eval", str(files / "qrels.parquet"), str(files / "run.parquet"), "-m", "RR", "--format", "json"]
        assert main([*arguments, *options]) == 0
        assert json.loads(capsys.readouterr().out)["metrics"] == {"RR": 0.5}


@pytest.mark.parametrize("options", [[], ["--engine", "polars"], ["-m", "Bpref"]], ids=str)
def test_a_folder_does_not_replace_the_column_of_a_file(files, capsys, options):
    """Without the folder, b is below a; with its score for both, b would be first. Bpref is for the plain reader."""
    folder = files / "score=7" / "day=1"
    folder.mkdir(parents=True)
    table_of({"q": {"a": 1, "b": 0}}, "relevance").write_parquet(files / "qrels.parquet")
    table_of({"q": {"a": 2.0, "b": 1.0}}, "score").write_parquet(folder.parent / "run.parquet")
    table_of({"q": {"a": 2.0, "b": 1.0}}, "score").write_parquet(folder / "run.parquet")
    arguments = ["eval", str(files / "qrels.parquet"), "-m", "RR", "--format", "json", *options]
    assert main([*arguments, str(folder.parent / "run.parquet")]) == 0
    assert set(json.loads(capsys.readouterr().out)["metrics"].values()) == {1.0}
    if "-m" not in options:  # the day is a column, the score cannot be two
        assert main([*arguments, str(folder)]) == 2
        assert "a folder is named score=…, and the files have a column 'score' too" in capsys.readouterr().err


def test_files_of_one_table_may_have_other_types_and_more_columns(files, capsys):
    """In a later file 0.6 is not rounded because the first one has whole numbers."""
    (files / "runs").mkdir()
    table_of({"q": {"a": 1}}, "relevance").write_parquet(files / "qrels.parquet")
    pl.DataFrame({"query_id": ["q"], "doc_id": ["a"], "score": [1]}).write_parquet(files / "runs" / "1.parquet")
    second = pl.DataFrame({"score": [0.6], "day": [1], "doc_id": ["z"], "query_id": ["q"]})
    second.write_parquet(files / "runs" / "2.parquet")
    arguments = ["eval", str(files / "qrels.parquet"), str(files / "runs"), "-m", "RR", "--format", "json"]
    assert main(arguments) == 0
    assert json.loads(capsys.readouterr().out)["metrics"] == {"RR": 1.0}
    assert main([*arguments, "--engine", "polars"]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"] == {"RR": 1.0}


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_damaged_files_are_errors(files, corpus, engine):
    """Whatever byte is wrong, an engine raises an error that we know, or finds nothing wrong."""
    whole = (files / "run.parquet").read_bytes()
    path = files / "damaged.parquet"
    said = []
    with opened(engine) as session:
        for place in range(4, len(whole), max(1, len(whole) // few(150))):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x5A]) + whole[place + 1 :])
            try:
                evaluate_files(session, corpus.qrels, str(path), "RR")
            except InputError as error:
                said.append(str(error))
    assert len(said) > few(150) / 15
    assert all("damaged" in text for text in said)


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize("damage", ["page", "short", "empty"])
def test_a_damaged_file_among_many_is_named(files, capsys, engine, damage):
    """The number of an engine would be an error without a place, or of two places."""
    (files / "runs").mkdir()
    rows = [(f"q{place // 50}", f"d{place}", place * 0.37) for place in range(2000)]
    frame = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
    for part in range(8):
        frame[part::8].write_parquet(files / "runs" / f"{part}.parquet", compression="zstd")
    bad = files / "runs" / "5.parquet"
    whole = bad.read_bytes()
    bad.write_bytes({"page": whole[:40] + bytes(200) + whole[240:], "short": whole[:-20], "empty": b""}[damage])
    table_of({"q1": {"d55": 1}}, "relevance").write_parquet(files / "qrels.parquet")
    assert main(["eval", str(files / "qrels.parquet"), str(files / "runs"), "-m", "RR", "--engine", engine]) == 2
    said = capsys.readouterr().err
    assert f"{bad}: {engine} cannot evaluate it: " in said
    assert said.count("\n") == 1


@pytest.mark.full
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_what_was_spilled_is_removed_when_the_process_is_told_to_end(tmp_path, sent):
    (tmp_path / "spill").mkdir()
    columns = "'q' || i % 40000 AS query_id, 'document ' || hash(i) AS doc_id, hash(i, 1) / 1e9 AS score"
    duckdb.sql(f"SELECT {columns} FROM range(4000000) t(i)").write_parquet(str(tmp_path / "run.parquet"))  # noqa: S608  (ours)
    table_of({"q1": {"d": 1}}, "relevance").write_parquet(tmp_path / "qrels.parquet")
    command = [
        sys.executable,
        "-m",
        "permed_measures",
        "eval",
        "qrels.parquet",
        "run.parquet",
        "-m",
        "AP",
        "--queries",
        "run",
    ]
    environment = {
        **os.environ,
        "TMPDIR": str(tmp_path / "spill"),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    with subprocess.Popen(
        [*command, "--memory-limit", "80MB"], cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        while process.poll() is None and not any(file.stat().st_size for file in (tmp_path / "spill").glob("*/*")):
            time.sleep(0.02)
        process.send_signal(sent)
        said = process.communicate(timeout=60)[1]
    assert (process.returncode, said.strip()) == (130, "permed-measures: interrupted")
    assert list((tmp_path / "spill").iterdir()) == []


def test_the_format_of_a_folder_may_be_named(files, corpus, capsys):
    (files / "runs").mkdir()
    shutil.copy(files / "run.parquet", files / "runs" / "run.parquet")
    options = ("--run-format", "parquet", "--qrels-format", "parquet")
    assert means(capsys, files / "qrels.parquet", files / "runs", *options) == expected(corpus)
    (files / "run.txt").write_text("q Q0 d 1 0.5 tag\n")
    assert main(["eval", str(files / "qrels.parquet"), str(files / "run.txt"), "--run-format", "parquet"]) == 2
    assert "run.txt: not readable as parquet" in capsys.readouterr().err


def test_no_name_is_no_folder(files, capsys, monkeypatch):
    monkeypatch.chdir(files)  # where parquet lies
    assert main(["eval", "qrels.parquet", "", "-m", "RR"]) == 2
    assert "the name of a file is empty: is a variable of the shell not set?" in capsys.readouterr().err


def test_names_of_a_profile_are_free(files, capsys):
    (files / "own.toml").write_text(
        '[[measures]]\nmeasure = "RR"\nname = "hits"\n[[measures]]\nmeasure = "P@1"\nname = "query_id"\n'
    )
    table_of({"q": {"a": 1}}, "relevance").write_parquet(files / "qrels.parquet")
    table_of({"q": {"b": 2.0, "a": 1.0}}, "score").write_parquet(files / "run.parquet")
    arguments = ["eval", str(files / "qrels.parquet"), str(files / "run.parquet"), "--profile", str(files / "own.toml")]
    assert main([*arguments, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"] == {"hits": 0.5, "query_id": 0.0}


def test_duplicates_do_not_count_as_unjudged(files, capsys):
    table_of({"q": {"a": 1, "b": 0}}, "relevance").write_parquet(files / "qrels.parquet")
    rows = {"query_id": ["q"] * 3, "doc_id": ["a", "b", "a"], "score": [1.0, 2.0, 3.0]}
    pl.DataFrame(rows).write_parquet(files / "run.parquet")
    arguments = ["eval", str(files / "qrels.parquet"), str(files / "run.parquet"), "-m", "RR", "--duplicates", "max"]
    assert main(arguments) == 0
    assert capsys.readouterr().err == ""


def test_nan_scores_are_left_out_or_last(files, capsys):
    table_of({"q": {"a": 1, "b": 0}}, "relevance").write_parquet(files / "qrels.parquet")
    rows = {"query_id": ["q"] * 2, "doc_id": ["a", "b"], "score": [float("nan"), 2.0]}
    pl.DataFrame(rows).write_parquet(files / "run.parquet")
    arguments = ["eval", str(files / "qrels.parquet"), str(files / "run.parquet"), "-m", "RR", "--format", "json"]
    assert main([*arguments, "--nan-scores", "error"]) == 2
    assert "1 NaN scores (query 'q', document 'a')" in capsys.readouterr().err
    assert main(arguments) == 2
    told = "row 1: query 'q', document 'a': the score is nan; in the shell --nan-scores drop or last decides otherwise"
    assert told in capsys.readouterr().err
    for choice, value in (("drop", 0.0), ("last", 0.5)):
        assert main([*arguments, "--nan-scores", choice]) == 0
        out, err = capsys.readouterr()
        assert json.loads(out)["metrics"] == {"RR": value}
        assert err == ""  # what was left out is not unjudged


def test_duplicates_keep_the_highest(files, capsys):
    table_of({"q": {"a": 1}}, "relevance").write_parquet(files / "qrels.parquet")
    rows = {"query_id": ["q"] * 3, "doc_id": ["a", "b", "a"], "score": [1.0, 2.0, 3.0]}
    pl.DataFrame(rows).write_parquet(files / "run.parquet")
    arguments = ["eval", str(files / "qrels.parquet"), str(files / "run.parquet"), "-m", "RR", "--format", "json"]
    assert main([*arguments, "--duplicates", "max"]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"] == {"RR": 1.0}


def test_sizes():
    assert (bytes_of("500MB"), bytes_of("1.5 GiB"), bytes_of("2g"), bytes_of("1024")) == (
        500 * 10**6,
        3 * 2**29,
        2 * 10**9,
        1024,
    )
    for wrong in ("", "GB", "-1GB", "0MB", "1PBs", "5iB"):
        with pytest.raises(ParamError, match="is not a size"):
            bytes_of(wrong)


def test_sql_is_printed_and_runs(tmp_path, capsys, corpus):
    assert main(["sql", "-m", MEASURES, "--run", "answers", "--run-columns", "q,d,points"]) == 0
    sql = capsys.readouterr().out
    connection = duckdb.connect()
    connection.register("judged", table_of(corpus.qrels, "relevance").to_arrow())
    connection.register("scored", table_of(corpus.run, "score").to_arrow())
    connection.execute("CREATE TABLE qrels AS SELECT * FROM judged")
    connection.execute("CREATE TABLE answers AS SELECT query_id AS q, doc_id AS d, score AS points FROM scored")
    answer = connection.execute(sql)
    names = [column[0] for column in answer.description]
    assert dict(zip(names, answer.fetchall()[0], strict=True)) == expected(corpus)
    assert main(["sql", "--part", "check", "-o", str(tmp_path / "check.sql")]) == 0
    assert (tmp_path / "check.sql").read_text().count("SELECT") >= 2
    assert main(["sql", "--dialect", "nothing"]) == 2
    assert main(["sql", "--run-columns", "a,b"]) == 2


IN_SPARK = """
import json, sys
from permed_measures import InputError
from permed_measures.tables import evaluate_files
from permed_measures.tables.sessions import opened

found = {}
with opened("spark", master="local[2]") as session:
    for run in sys.argv[2:]:
        try:
            (found[run],) = evaluate_files(session, sys.argv[1], run, "RR", by_query=True).columns.values()
        except InputError as error:
            found[run] = str(error)
print(json.dumps(found))
"""


@pytest.mark.full
@pytest.mark.skipif(
    find_spec("pyspark") is None, reason="pyspark is not installed: pip install 'permed-measures[spark]'"
)
@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java 17, which is not on this machine")
def test_folders_and_broken_files_in_spark(files, monkeypatch):
    monkeypatch.chdir(files)
    wanted = folders_for_queries(files)
    (files / "score=7").mkdir()
    table_of({"1": {"b": 2.0, "a": 1.0}}, "score").write_parquet("score=7/run.parquet")
    wanted["score=7/run.parquet"] = {"01": 0.0, "1": 0.5}
    whole = (files / "run.parquet").read_bytes()
    (files / "short.parquet").write_bytes(whole[:-20])
    (files / "damaged.parquet").write_bytes(whole[:4] + bytes(byte ^ 0x5A for byte in whole[4:40]) + whole[40:])
    command = [sys.executable, "-c", IN_SPARK, "qrels.parquet", *wanted, "short.parquet", "damaged.parquet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.pop("short.parquet").startswith("short.parquet: spark cannot evaluate it: ")
    damaged = found.pop("damaged.parquet")
    assert damaged.startswith("damaged.parquet: spark cannot evaluate it: ")
    assert "\n" not in damaged
    assert found == wanted


@pytest.mark.full
@pytest.mark.skipif(
    find_spec("pyspark") is None, reason="pyspark is not installed: pip install 'permed-measures[spark]'"
)
@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java 17, which is not on this machine")
def test_parquet_in_spark(files, corpus):
    command = [sys.executable, "-m", "permed_measures", "eval", files / "qrels.parquet", files / "run.parquet"]
    options = ["-m", MEASURES, "--format", "json", "--engine", "spark", "--master", "local[2]", "--memory-limit", "1GB"]
    done = subprocess.run([*map(str, command), *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["metrics"] == expected(corpus)
    assert not math.isnan(sum(json.loads(done.stdout)["metrics"].values()))
