"""compare and gate on tables of an engine: what evaluate() and a comparison in memory give, to 1e-12."""

from __future__ import annotations

import json

import polars as pl
import pytest

from permed_measures import InputError, ParamError, compare, gate
from permed_measures.comparison import Comparison
from tests.test_tables_systems import ENGINES, language, made, qrels_frame, run_frame, tool

MEASURES = "nDCG@10 RR P@3 AP"
engines = pytest.mark.parametrize("engine", ["duckdb", "polars", "ibis"])


def close(found):
    """Return what is found with every number to 1e-12."""
    if isinstance(found, dict):
        return {key: close(value) for key, value in found.items()}
    if isinstance(found, (list, tuple)):
        return [close(value) for value in found]
    return pytest.approx(found, abs=1e-12, rel=1e-12) if isinstance(found, float) else found


def told(comparison):
    """Return all but the unjudged shares of ranks: documents that nobody judged do not leave an engine."""
    return {name: part for name, part in json.loads(comparison.to_json()).items() if name != "unjudged_by_rank"}


def tables(engine, qrels, runs):
    judged, *returned = ENGINES[engine](qrels_frame(qrels), *(run_frame({name: run}) for name, run in runs.items()))
    return judged, dict(zip(runs, returned, strict=True))


def both(engine, seed, **options):
    qrels, runs = made(seed)
    judged, returned = tables(engine, qrels, runs)
    first, *others = runs
    in_memory = options.pop("in_memory", {})
    here = compare(
        qrels, runs[first], {n: runs[n] for n in others}, MEASURES, baseline_name=first, **{**options, **in_memory}
    )
    there = compare(judged, returned[first], {n: returned[n] for n in others}, MEASURES, baseline_name=first, **options)
    return here, there


@engines
@pytest.mark.parametrize("seed", range(3))
def test_a_comparison_in_an_engine_is_that_in_memory(engine, seed):
    here, there = both(engine, seed, cluster="conversation", all_pairs=True, margin=0.05, groups="turn")
    assert told(there) == close(told(here))
    assert there.notes == here.notes
    assert there.whole.p_imp["B"].pairs > 0
    assert there.whole.changes.keys() == here.whole.changes.keys()


@engines
@pytest.mark.parametrize("queries", ["run", "both"])
def test_so_it_is_over_other_queries(engine, queries):
    here, there = both(engine, 5, queries=queries, p_imp_cutoff=4, order="float64", min_relevance=2)
    assert told(there) == close(told(here))
    assert there.notes == here.notes


@engines
def test_groups_and_clusters_may_be_columns_of_the_qrels(engine):
    by_language = {query: language(query) for query in made(0)[0]}
    here, there = both(engine, 6, groups="language", in_memory={"groups": by_language})
    assert there.grouped_by == "language"
    assert told(there)["groups"] == close(told(here)["groups"])
    here, there = both(engine, 6, cluster="language", in_memory={"cluster": by_language})
    assert told(there) == close(told(here))


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_repeats_and_saved_values_go_along(engine, tmp_path):
    qrels, runs = made(7)
    judged, returned = tables(engine, qrels, runs)
    here = compare(qrels, runs["a"], {"llm": [runs["B"], runs["ü"]]}, "RR", p_imp=False)
    there = compare(judged, returned["a"], {"llm": [returned["B"], returned["ü"]]}, "RR", p_imp=False)
    assert told(there) == close(told(here))
    there.save(tmp_path / "saved")
    assert told(Comparison.load(tmp_path / "saved")) == close(told(here))
    with pytest.raises(InputError, match="run 'B' is a dict, and the qrels are a table of an engine"):
        compare(judged, returned["a"], {"B": runs["B"]}, "RR")


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_runs_that_cannot_be_compared_are_refused(engine):
    qrels = {f"q{n}": {"a": 1} for n in range(4)}
    first, second = ({q: {"a": 1.0} for q in queries} for queries in (("q0", "q1"), ("q2", "q3")))
    judged, returned = tables(engine, qrels, {"one": first, "two": second, "none": {"x": {"a": 1.0}}})
    with pytest.raises(InputError, match="run 'two' shares no query with 'one'"):
        compare(judged, returned["one"], {"two": returned["two"]}, "RR", baseline_name="one")
    with pytest.raises(InputError, match="run 'none': no query is in both the qrels and the run"):
        compare(judged, returned["one"], {"none": returned["none"]}, "RR", baseline_name="one")


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_duplicates_are_dealt_with_as_asked(engine):
    qrels, runs = made(8)
    again = {q: {d: s - 1 for d, s in docs.items()} for q, docs in runs["B"].items()}
    frames = run_frame({"a": runs["a"]}), pl.concat([run_frame({"B": runs["B"]}), run_frame({"B": again})])
    judged, base, new = ENGINES[engine](qrels_frame(qrels), *frames)
    with pytest.raises(InputError, match="duplicates"):
        compare(judged, base, {"B": new}, "RR")
    there = compare(judged, base, {"B": new}, "RR", table_options={"duplicates": "max"})
    assert told(there) == close(told(compare(qrels, runs["a"], {"B": runs["B"]}, "RR")))


CONDITIONS = ["nDCG@10>=0.1", "RR>=0.9"]


def gated(qrels, run, **options):
    result = gate(qrels, run, CONDITIONS, max_drop=0.05, run_name="new", **options)
    return [json.loads(result.to_json()), list(result.notes), list(result.warnings)]


@engines
def test_a_gate_in_an_engine_is_that_in_memory(engine):
    qrels, runs = made(9)
    judged, returned = tables(engine, qrels, runs)
    for options in ({"cluster": "conversation"}, {"segments": "turn", "confident": True}, {"queries": "both"}):
        here = gated(qrels, runs["a"], baseline=runs["B"], **options)
        assert gated(judged, returned["a"], baseline=returned["B"], **options) == close(here)
    by_language = {query: language(query) for query in qrels}
    here = gated(qrels, [runs["a"], runs["B"]], baseline=runs["ü"], segments=by_language)
    there = gated(judged, [returned["a"], returned["B"]], baseline=returned["ü"], segments="language")
    assert there == close(here)


@engines
def test_identical_rankings_are_found_in_an_engine(engine):
    qrels, runs = made(10)
    moved = {q: {d: s * 3 for d, s in docs.items()} for q, docs in runs["a"].items()}
    judged, returned = tables(engine, qrels, {"a": runs["a"], "moved": moved})
    checks = gated(judged, returned["moved"], baseline=returned["a"])[0]["checks"]
    drops = {check["name"]: check["why"] for check in checks if check["kind"] == "drop"}
    assert drops == {"nDCG@10": "the rankings are identical down to rank 10", "RR": "the rankings are identical"}


def test_nobody_corrects_means_in_an_engine():
    qrels, runs = made()
    judged, returned = tables("polars", qrels, {"a": runs["a"]})
    with pytest.raises(ParamError, match="human: means are corrected in memory"):
        gate(judged, returned["a"], ["RR>=0.1"], human=qrels)


@pytest.fixture
def files(tmp_path):
    """Return a folder of qrels, of runs in several files each, and of the same as single files."""
    qrels, runs = made(11)
    qrels_frame(qrels).write_parquet(tmp_path / "qrels.parquet")
    for name in ("a", "B"):
        (tmp_path / "runs" / name).mkdir(parents=True)
        frame = run_frame({name: runs[name]})
        frame.write_parquet(tmp_path / f"{name}.parquet")
        frame[:200].write_parquet(tmp_path / "runs" / name / "1.parquet")
        frame[200:].write_parquet(tmp_path / "runs" / name / "2.parquet")
    return tmp_path


@pytest.mark.parametrize("engine", [(), ("--engine", "polars"), ("--memory-limit", "200MB")], ids=str)
def test_compare_takes_what_eval_takes(files, capsys, monkeypatch, engine):
    monkeypatch.chdir(files)
    asked = ("-m", MEASURES, "--cluster", "conversation", "--format", "json")
    assert tool("compare", "qrels.parquet", "a.parquet", "B.parquet", *asked) == 0
    here = json.loads(capsys.readouterr().out) | {"unjudged_by_rank": {}}  # as in told()
    assert tool("compare", "qrels.parquet", "runs/a/*.parquet", "runs/B", *asked, *engine) == 0
    assert json.loads(capsys.readouterr().out) == close(here)
    assert tool("compare", "qrels.parquet", "runs/a", "runs/B", "-m", "RR", "--group", "language", *engine) == 0
    assert "language" in capsys.readouterr().out


@pytest.mark.parametrize("engine", [(), ("--engine", "polars")], ids=str)
def test_gate_takes_what_eval_takes(files, capsys, monkeypatch, engine):
    monkeypatch.chdir(files)
    drop = ("RR>=0.01", "--max-drop", "0.5", "--format", "json")
    codes, found = [], []
    for run, baseline, more in (("a.parquet", "B.parquet", ()), ("runs/a", "runs/B/*.parquet", engine)):
        codes.append(tool("gate", "qrels.parquet", run, *drop, "--baseline", baseline, *more))
        found.append(json.loads(capsys.readouterr().out)["checks"])
    assert codes == [0, 0]
    assert found[1] == close(found[0])
    for run, more in (("a.parquet", ()), ("runs/a", engine)):  # what one accepts is the other's baseline
        assert tool("gate", "qrels.parquet", run, "RR>=0.01", "--baseline", "accepted", "--accept", *more) == 0
        capsys.readouterr()
        for again, others in (("a.parquet", ()), ("runs/a", engine)):
            assert tool("gate", "qrels.parquet", again, *drop, "--baseline", "accepted", *others) == 0
            checks = json.loads(capsys.readouterr().out)["checks"]
            assert [check["why"] for check in checks if check["kind"] == "drop"] == ["the rankings are identical"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("compare", "qrels.parquet", "runs/a", "runs/none"), "runs/none"),
        (
            ("compare", "qrels.parquet", "runs/a", "runs/B", "--human", "qrels.parquet"),
            "--human corrects means in memory",
        ),
        (("compare", "qrels.parquet", "a.parquet", "runs/B", "--master", "local[2]"), "--master is for --engine spark"),
        (
            ("gate", "qrels.parquet", "runs/a", "RR>=0", "--baseline", "old/*.parquet", "--max-drop", "1"),
            "no file matches",
        ),
    ],
)
def test_what_cannot_be_read_is_said(files, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(files)
    assert tool(*arguments) == 2
    assert message in capsys.readouterr().err
