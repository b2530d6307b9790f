"""permed-measures samples, as the shell runs it."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("click", reason="click is an extra")

from click.testing import CliRunner

from permed_measures.cli import main
from permed_measures.cli.samples import command

# right candidates at rank 1 (by 0.9 > 0.1) and rank 2 (by 0.6 < 0.7), with weights 1, 0
ROWS = [
    {"trace_id": "t1", "node_id": 1, "query": "q", "tool": "a", "features": [0.9, 0.3], "label": 1},
    {"trace_id": "t1", "node_id": 1, "query": "q", "tool": "b", "features": [0.1, 0.4], "label": 0},
    {"trace_id": "t2", "node_id": 1, "query": "q", "tool": "a", "features": [0.7, 0.2], "label": 0},
    {"trace_id": "t2", "node_id": 1, "query": "q", "tool": "b", "features": [0.6, 0.5], "label": 1},
]


@pytest.fixture
def file(tmp_path):
    return written(tmp_path / "s.jsonl", ROWS)


def written(path, rows):
    path.write_text("".join(json.dumps(record) + "\n" for record in rows), encoding="utf-8")
    return str(path)


def run(*arguments):
    result = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def failed(capsys, *arguments):
    with pytest.raises(SystemExit) as caught:
        main(["samples", *arguments])
    assert caught.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    return err


def test_text(file):
    out = run(file, "--weights", "1,0")
    lines = [line.split() for line in out.splitlines()]
    assert ["top1_accuracy", "0.5000", "Success@1"] in lines
    assert ["mrr", "0.7500", "RR"] in lines
    assert ["num_queries", "2", "groups"] in lines
    assert "not usable yet" in out
    assert "adjust the weights" in out
    assert "warning" not in out


def test_json(file):
    shown = json.loads(run(file, "--weights", "1 0", "-m", "nDCG@3 P@1", "--format", "json"))
    assert shown["metrics"]["P@1"] == 0.5
    assert shown["metrics"]["num_queries"] == 2
    assert shown["weights"] == {"f0": 1.0, "f1": 0.0}
    assert [look["feature"] for look in shown["leaks"]] == ["f0", "f1"]
    assert shown["warnings"] == []


def test_markdown(file):
    out = run(file, "--weights", "1,0", "--format", "markdown")
    assert "| mrr | 0.7500 | RR |" in out
    assert "| f0 | 1 |" in out


def test_leaks_are_a_warning(tmp_path):
    few = [{**record, "features": [0.9 if record["label"] else 0.3, 0.5]} for record in ROWS]
    rows = [{**record, "node_id": node} for node in range(10) for record in few]
    out = run(written(tmp_path / "s.jsonl", rows), "--weights", "1,1")
    assert "warning: f0 may know the label: alone it ranks 100.0% of 20 groups perfectly" in out
    assert "f1 may" not in out
    shown = json.loads(run(str(tmp_path / "s.jsonl"), "--weights", "1,1", "--format", "json"))
    assert len(shown["warnings"]) == 1
    file, train = written(tmp_path / "few.jsonl", few), str(tmp_path / "s.jsonl")
    alone, trained = run(file, "--weights", "1,1"), run(file, "--train", train)
    assert "note: f0: 2 groups cannot tell whether it knows the label" in alone
    assert "warning" not in alone
    assert "warning: training file: f0 may know the label" in trained


def test_features_are_aligned_by_name_with_the_training_file(tmp_path):
    """The first feature is right, the second wrong; the training file has them the other way round."""
    names = ("rel", "hist")
    rows = [{**record, "features": dict(zip(names, (record["label"], 0.5), strict=True))} for record in ROWS]
    turned = [{**record, "features": dict(reversed(record["features"].items()))} for record in rows]
    file, train = written(tmp_path / "s.jsonl", rows), written(tmp_path / "t.jsonl", turned)
    shown = json.loads(run(file, "--train", train, "--format", "json"))
    assert shown["metrics"]["top1_accuracy"] == 1.0
    assert list(shown["weights"]) == ["hist", "rel"]
    assert shown["weights"]["rel"] > 0.1
    assert shown["weights"]["hist"] == pytest.approx(0, abs=1e-12)  # of no use


def test_groups_that_were_trained_on_under_other_ids(tmp_path, file):
    copies = [{**record, "trace_id": f"{record['trace_id']} again"} for record in reversed(ROWS[:2])]
    other = {**ROWS[3], "trace_id": "new", "features": [0.6, 0.55]}
    train = written(tmp_path / "train.jsonl", [*copies, other, {**other, "tool": "x", "label": 0}])
    out = run(file, "--train", train)
    assert "note: 1 of 2 groups occur in the training data under other ids, with the same features and labels" in out
    assert "other ids" not in run(file, "--train", file)


@pytest.mark.parametrize("solver", ["sgd", "lbfgs"])
def test_train(tmp_path, file, solver):
    if solver == "lbfgs":
        pytest.importorskip("scipy", reason="scipy is an extra")
    others = [{**record, "trace_id": f"{record['trace_id']}-train"} for record in ROWS]
    train = written(tmp_path / "train.jsonl", others)
    shown = json.loads(run(file, "--train", train, "--solver", solver, "--epochs", "50", "--format", "json"))
    assert shown["training"]["groups"] == 2
    assert shown["training"]["loss"][0] > shown["training"]["loss"][-1]
    assert not any("were trained on" in note for note in shown["notes"])
    again = json.loads(run(file, "--train", file, "--solver", solver, "--format", "json"))
    assert any("2 of 2 groups were trained on" in note for note in again["notes"])


def test_details(tmp_path, file):
    path = tmp_path / "details.jsonl"
    run(file, "--weights", "1,0", "--details", str(path))
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [record["rank"] for record in records] == [1, 2]
    assert [record["predicted_candidate"] for record in records] == ["a", "a"]


def test_details_are_written_whole_or_not_at_all(tmp_path, file, capsys):
    path = tmp_path / "details.jsonl"
    path.write_text("before")
    failed(capsys, file, "--weights", "1", "--details", str(path))
    assert path.read_text() == "before"
    err = failed(capsys, file, "--weights", "1,0", "--details", str(tmp_path / "no" / "details.jsonl"))
    assert "cannot write there" in err
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["details.jsonl", "s.jsonl"]


def test_scores_of_the_file(tmp_path):
    rows = [{"q": record["trace_id"], "doc": record["tool"], "label": record["label"], "score": 1} for record in ROWS]
    out = run(written(tmp_path / "s.jsonl", rows), "--group", "q", "--candidate", "doc")
    assert "tie rule" in out


def test_named_feature_columns(tmp_path):
    (tmp_path / "s.csv").write_text("trace_id,node_id,tool,label,rel,hist\nt,1,a,1,0.5,0.1\nt,1,b,0,0.25,0.3\n")
    shown = json.loads(run(str(tmp_path / "s.csv"), "--features", "rel,hist", "--weights", "1,0", "--format", "json"))
    assert (shown["metrics"]["mrr"], shown["weights"]) == (1.0, {"rel": 1.0, "hist": 0.0})


def test_what_is_wrong_is_said_in_one_line(tmp_path, file, capsys):
    assert "1 weights for 2 features" in failed(capsys, file, "--weights", "1")
    assert "separated by commas" in failed(capsys, file, "--weights", "1,x")
    assert "separated by commas" in failed(capsys, file, "--weights", "1_0,0")
    assert "give --weights, or --train" in failed(capsys, file)
    assert "not both" in failed(capsys, file, "--weights", "1,0", "--train", file)
    assert "cannot be read" in failed(capsys, str(tmp_path / "none.jsonl"))
    assert "learning_rate=-1.0 is not allowed" in failed(capsys, file, "--train", file, "--learning-rate", "-1")
    assert "min_relevance" in failed(capsys, file, "--weights", "1,0", "--min-relevance", "0")
    other = written(tmp_path / "other.jsonl", [{**record, "features": [1, 2, 3]} for record in ROWS])
    assert "do not match those of the training file: missing 'f2'" in failed(capsys, file, "--train", other)
    bad = written(tmp_path / "bad.jsonl", [*ROWS, {"trace_id": "t"}])
    assert "bad.jsonl:5: no 'node_id'" in failed(capsys, bad, "--weights", "1,0")
