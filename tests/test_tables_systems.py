"""Several systems in one table, or several tables: the values are those of evaluate() on each of them."""

from __future__ import annotations

import json
import random
from urllib.parse import unquote

import narwhals as nw
import polars as pl
import pyarrow as pa
import pytest

from compat.tables import duckdb_relations
from permed_measures import InputError, ParamError, evaluate, evaluate_tables, table_means
from permed_measures.cli import main as run_tool
from permed_measures.tables import evaluate_systems
from permed_measures.tables.sessions import opened

MEASURES = "GWAP@10 nDCG@5 P@1 AP ListNDCG@3 RR Rprec RBP"
QRELS = {"query_id": pl.String, "doc_id": pl.String, "relevance": pl.Float64, "language": pl.String}
RUN = {"team.system": pl.String, "query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}


def made(seed: int = 0):
    """Return qrels and three runs: ties, queries that a run lacks, queries that nobody judged, unjudged documents."""
    draw = random.Random(seed)
    queries, docs = [f"{c}_{t}" for c in range(12) for t in range(3)], [f"d{n}" for n in range(30)]
    qrels = {q: {d: draw.choice([0, 0, 1, 2]) for d in draw.sample(docs, 8)} for q in queries}
    runs = {}
    for name in ("a", "B", "ü"):
        asked = [*draw.sample(queries, 30), f"x_{name}"]
        runs[name] = {q: {d: draw.choice([1.0, 0.5, 0.25, 1 + 1e-9]) for d in draw.sample(docs, 15)} for q in asked}
    return qrels, runs


def language(query: str) -> str:
    return "de" if query.endswith("1") else "en"


def qrels_frame(qrels):
    rows = [(q, d, float(g), language(q)) for q, judged in qrels.items() for d, g in judged.items()]
    return pl.DataFrame(rows, schema=QRELS, orient="row")


def run_frame(runs):
    rows = [(name, q, d, s) for name, run in runs.items() for q, docs in run.items() for d, s in docs.items()]
    return pl.DataFrame(rows, schema=RUN, orient="row")


def ibis_tables(*frames: pa.Table):
    import ibis

    return [ibis.memtable(frame) for frame in frames]


ENGINES = {
    "polars": lambda *frames: [frame.lazy() for frame in frames],
    "pandas": lambda *frames: [frame.to_pandas() for frame in frames],
    "arrow": lambda *frames: [frame.to_arrow() for frame in frames],
    "duckdb": lambda *frames: duckdb_relations(*(frame.to_arrow() for frame in frames)),
    "ibis": lambda *frames: ibis_tables(*(frame.to_arrow() for frame in frames)),
}
engines = pytest.mark.parametrize("engine", ENGINES)


def found(native, system="team.system"):
    rows = nw.from_native(native).lazy().collect().rows(named=True)
    return {(row.pop(system), row.pop("query_id")): row for row in rows}


def wanted(qrels, runs, queries="qrels"):
    values = {}
    for name, run in runs.items():
        for query, measure, value in evaluate(qrels, run, MEASURES, queries=queries).values:
            values.setdefault((name, query), {})[str(measure)] = pytest.approx(value, abs=1e-12)
    return values


@engines
@pytest.mark.parametrize("queries", ["qrels", "run", "both"])
def test_a_column_tells_systems_apart(engine, queries):
    qrels, runs = made()
    judged, returned = ENGINES[engine](qrels_frame(qrels), run_frame(runs))
    values = evaluate_tables(judged, returned, MEASURES, system="team.system", queries=queries)
    assert found(values) == wanted(qrels, runs, queries)
    assert found(evaluate_tables(judged, returned, MEASURES, system="team.system", queries=queries, check_input=False))


@engines
def test_several_tables_are_several_systems(engine):
    qrels, runs = made(1)
    frames = [run_frame({name: run}) for name, run in runs.items()]
    judged, *tables = ENGINES[engine](qrels_frame(qrels), *frames)
    values = evaluate_tables(judged, dict(zip(runs, tables, strict=True)), MEASURES)
    assert found(values, "system") == wanted(qrels, runs)


@engines
def test_segments_travel_along(engine):
    qrels, runs = made(2)
    judged, returned = ENGINES[engine](qrels_frame(qrels), run_frame(runs))
    values = evaluate_tables(judged, returned, "P@1", system="team.system", segments=["language"])
    assert {(query, row["language"]) for (_, query), row in found(values).items()} == {(q, language(q)) for q in qrels}
    means = nw.from_native(table_means(values, by=["team.system", "language"])).lazy().collect().rows()
    by_hand = {}
    for (system, query), row in wanted(qrels, runs).items():
        by_hand.setdefault((system, language(query)), []).append(row["P@1"].expected)
    assert {(s, of): mean for s, of, mean in means} == {
        key: pytest.approx(sum(values) / len(values), abs=1e-12) for key, values in by_hand.items()
    }


@engines
def test_the_same_document_in_two_systems_is_no_duplicate_but_in_one_it_is(engine):
    qrels, runs = {"q": {"a": 1}}, {"x": {"q": {"a": 1.0}}, "y": {"q": {"b": 2.0, "a": 1.0}}}
    twice = pl.concat([run_frame(runs), run_frame({"y": {"q": {"a": 3.0}}})])
    judged, returned, again = ENGINES[engine](qrels_frame(qrels), run_frame(runs), twice)
    by = {"system": "team.system"}
    assert {key: row["RR"] for key, row in found(evaluate_tables(judged, returned, "RR", **by)).items()} == {
        ("x", "q"): 1.0,
        ("y", "q"): 0.5,
    }
    with pytest.raises(InputError, match=r"run: 1 duplicates .system 'y', query 'q', document 'a'"):
        evaluate_tables(judged, again, "RR", **by)
    kept = found(evaluate_tables(judged, again, "RR", duplicates="max", segments=["language"], **by))
    assert {key: row["RR"] for key, row in kept.items()} == {("x", "q"): 1.0, ("y", "q"): 1.0}


def test_what_is_wrong_with_systems_and_segments_is_said():
    qrels, runs = made()
    judged, returned = qrels_frame(qrels), run_frame(runs)
    with pytest.raises(ParamError, match=r"run: the table has no column 'sys'; it has team.system, query_id"):
        evaluate_tables(judged, returned, "RR", system="sys")
    with pytest.raises(ParamError, match="qrels: the table has no column 'day'"):
        evaluate_tables(judged, returned, "RR", system="team.system", segments=["day"])
    two = pl.concat([judged, pl.DataFrame([("0_0", "z", 1.0, "fr")], schema=QRELS, orient="row")])
    with pytest.raises(InputError, match="query '0_0' has two values of 'language', 'en' and 'fr'"):
        evaluate_tables(two, returned, "RR", system="team.system", segments=["language"])
    nobody = pl.concat([returned, pl.DataFrame([(None, "0_0", "z", 1.0)], schema=RUN, orient="row")])
    with pytest.raises(InputError, match=r"1 empty ids .system None, query '0_0'"):
        evaluate_tables(judged, nobody, "RR", system="team.system")
    other = pl.concat([returned, pl.DataFrame([("", "nobody judged it", "z", 1.0)], schema=RUN, orient="row")])
    with pytest.raises(InputError, match=r"1 empty ids .system ''"):
        evaluate_tables(judged, other, "RR", system="team.system")


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize("by_query", [True, False])
def test_evaluations_have_the_notes_of_evaluate(tmp_path, engine, by_query):
    qrels, runs = made(3)
    runs["lost"] = {"x": {"d1": 1.0}}
    qrels_frame(qrels).write_parquet(tmp_path / "qrels.parquet")
    run_frame(runs).write_parquet(tmp_path / "runs.parquet")
    with opened(engine) as session:
        systems, segments, _ = evaluate_systems(
            *(session, str(tmp_path / "qrels.parquet"), str(tmp_path / "runs.parquet"), MEASURES),
            system="team.system",
            segments=["language"],
            by_query=by_query,
        )
        signatures = {name: evaluation.signatures for name, evaluation in systems.items()}  # from the engine
    assert list(systems) == sorted(runs)
    for name, run in runs.items():
        alone = evaluate(qrels, run, MEASURES)
        assert systems[name].notes == alone.notes
        assert systems[name].means == {m: pytest.approx(mean, abs=1e-12) for m, mean in alone.means.items()}
        assert signatures[name] == alone.signatures
    assert segments == ({"language": {q: language(q) for q in qrels}} if by_query else {})


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_a_run_without_rows_is_an_error(tmp_path, engine):
    qrels, runs = made()
    paths = {name: str(tmp_path / f"{name}.parquet") for name in ("qrels", "a", "none")}
    qrels_frame(qrels).write_parquet(paths["qrels"])
    run_frame({"a": runs["a"]}).write_parquet(paths["a"])
    run_frame({}).write_parquet(paths["none"])
    with opened(engine) as session, pytest.raises(InputError, match=r"none.parquet: the run has no rows"):
        evaluate_systems(session, paths.pop("qrels"), paths, "RR", several=True)


def tool(*arguments):
    with pytest.raises(SystemExit) as end:
        run_tool(list(map(str, arguments)))
    return end.value.code


@pytest.fixture
def files(tmp_path):
    qrels, runs = made(4)
    qrels_frame(qrels).write_parquet(tmp_path / "qrels.parquet")
    (tmp_path / "all").mkdir()
    run_frame(runs).write_parquet(tmp_path / "all" / "runs.parquet")
    for name, run in runs.items():
        run_frame({name: run}).write_parquet(tmp_path / f"{name}.parquet")
    return tmp_path


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_eval_writes_what_all_systems_reached(files, capsys, engine):
    qrels, runs = made(4)
    asked = ("-m", MEASURES, "--engine", engine, "--format", "json")
    folder = files / "new" / "values"
    written = ("--system", "team.system", "--segment", "language", "--write", folder)
    assert tool("eval", files / "qrels.parquet", files / "all", *asked, *written) == 0
    shown = json.loads(capsys.readouterr().out)["runs"]
    for name, run in runs.items():
        assert shown[name]["metrics"] == {
            str(m): pytest.approx(mean, abs=1e-12) for m, mean in evaluate(qrels, run, MEASURES).means.items()
        }
    assert sorted(unquote(path.name) for path in folder.iterdir()) == sorted(f"team.system={name}" for name in runs)
    values = found(pl.read_parquet(folder / "*" / "*.parquet", hive_partitioning=True))
    assert {row.pop("language") for row in values.values()} == {"de", "en"}
    assert values == wanted(qrels, runs)
    assert [path.name for path in folder.parent.iterdir()] == ["values"]
    assert tool("eval", files / "qrels.parquet", files / "all", *asked, *written) == 2
    assert "something is there already" in capsys.readouterr().err


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_eval_evaluates_several_runs_in_one_pass(files, capsys, engine):
    qrels, runs = made(4)
    paths = [files / f"{name}.parquet" for name in runs]
    options = ("-m", "RR", "--engine", engine, "--format", "json", "--write", files / "values")
    assert tool("eval", files / "qrels.parquet", *paths, *options) == 0
    told = capsys.readouterr()
    shown = {name: found["metrics"]["RR"] for name, found in json.loads(told.out)["runs"].items()}
    alone = {name: evaluate(qrels, run, "RR") for name, run in runs.items()}
    assert shown == {name: pytest.approx(one["RR"], abs=1e-12) for name, one in alone.items()}
    assert told.err.splitlines() == [f"note: {name}: {note}" for name, one in alone.items() for note in one.notes]
    values = found(pl.read_parquet(files / "values" / "*" / "*.parquet", hive_partitioning=True), "system")
    assert {key: row["RR"] for key, row in values.items()} == {
        (name, query): value for name, one in alone.items() for query, _, value in one.values
    }


def test_nothing_is_left_of_what_could_not_be_written_whole(files, capsys, monkeypatch):
    with opened("polars") as session:
        kind = type(session)
    whole = kind.write

    def cut(self, table, folder, by):
        whole(self, table, folder, by)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kind, "write", cut)
    before = sorted(files.iterdir())
    options = ("--engine", "polars", "--write", files / "values")
    assert tool("eval", files / "qrels.parquet", files / "a.parquet", *options) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert sorted(files.iterdir()) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("a.parquet", "--engine", "duckdb", "--segment", "language"), "--segment is for what --write FOLDER writes"),
        (("a.parquet", "B.parquet", "--system", "team.system"), "--system takes one RUN"),
        (("a.parquet", "--write", "s3://bucket/values"), "an address; a folder is written here"),
        (("a.parquet", "--write", "qrels.parquet"), "something is there already"),
    ],
)
def test_what_eval_cannot_do_with_systems_is_said(files, capsys, monkeypatch, options, message):
    monkeypatch.chdir(files)
    assert tool("eval", "qrels.parquet", *options) == 2
    assert message in capsys.readouterr().err
