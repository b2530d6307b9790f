"""The commands compare and demo, from files to exit codes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from permed_measures.cli.demo import FILES, example

pytest.importorskip("click", reason="the shell tool needs it")
pytest.importorskip("scipy", reason="the paired t-test needs it")

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("demo")
    for name, text in example().items():
        (made / name).write_text(text)
    return made


@pytest.fixture
def tool(folder, monkeypatch, shell):
    """Run the tool in the folder of the example; return exit code, output and errors."""
    monkeypatch.chdir(folder)

    return shell


RUNS = ("qrels.jsonl", "retrieved.jsonl", "profile_query.jsonl", "query_only.jsonl")


def test_the_table_of_three_methods_by_one_command(tool):
    names = ("--name", "Retrieved", "--name", "Profile+Query", "--name", "Query-only")
    code, out, _ = tool("compare", *RUNS, *names, "--format", "markdown", "--brief")
    rows = [line.split(" | ")[0] for line in out.splitlines() if line.startswith("|")]
    assert code == 0
    assert rows == ["| run", "| ---", "| Retrieved", "| Profile+Query", "| Query-only"]
    assert "| run | NDCG@10 | MAP@10 | P@1 | P-imp@10 |" in out


def test_the_table_of_ablations_has_descriptions(tool):
    code, out, _ = tool("compare", *RUNS, "--describe", "descriptions.tsv", "--format", "markdown", "--brief")
    assert code == 0
    assert "| query\\_only | reranked with the query alone | " in out


def test_means_are_those_that_ir_measures_prints(tool, folder):
    import ir_measures
    from ir_measures import AP, P

    grades = [json.loads(line) for line in (folder / "qrels.jsonl").read_text().splitlines()]
    qrels = {row["query_id"]: row["relevant_texts"] for row in grades}
    lines = [json.loads(line) for line in (folder / "query_only.jsonl").read_text().splitlines()]
    run = {row["query_id"]: {r["text_id"]: -float(n) for n, r in enumerate(row["ranked_results"])} for row in lines}
    theirs = ir_measures.pytrec_eval.calc_aggregate([AP @ 10, P @ 1], qrels, run)
    code, out, _ = tool("compare", *RUNS, "-m", "AP@10 P@1", "--format", "json")
    means = {(m["run"], m["measure"]): m["mean"] for m in json.loads(out)["all"]["means"]}
    assert code == 0
    assert means["query_only", "AP@10"] == pytest.approx(theirs[AP @ 10], abs=1e-9)
    assert means["query_only", "P@1"] == pytest.approx(theirs[P @ 1], abs=1e-9)


def test_published_figures_through_the_tool(tool, shared):
    files = [str(shared / "trec-covid-r1" / name) for name in ("qrels.txt", "irc_entrez.run.gz", "irc_pubmed.run.gz")]
    code, out, _ = tool("compare", *files, "-m", "AP nDCG@10 P@5 Bpref", "--format", "json")
    content = json.loads(out)
    means = {(m["run"], m["measure"]): round(m["mean"], 4) for m in content["all"]["means"]}
    assert code == 0
    # NIST's figures, shared/data/README.md
    assert [means["irc_entrez", name] for name in ("AP", "nDCG@10", "P@5", "Bpref")] == [0.0988, 0.2533, 0.3667, 0.3054]
    assert [means["irc_pubmed", name] for name in ("AP", "nDCG@10", "P@5", "Bpref")] == [0.1080, 0.2538, 0.4067, 0.3025]


def test_output_html_and_groups(tool, tmp_path):
    out_file, page = tmp_path / "by turn.csv", tmp_path / "report.html"
    options = (
        "--group",
        "turn",
        "--format",
        "csv",
        "-o",
        str(out_file),
        "--html",
        str(page),
        "--test",
        "randomization",
    )
    code, out, err = tool("compare", *RUNS, *options)
    assert (code, out, err) == (0, "", "")
    assert {line.partition(",")[0] for line in out_file.read_text().splitlines()[1:]} == {"", "1", "2", "3", "4"}
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["by turn.csv", "report.html"]


def test_units_margin_and_all_pairs_from_the_shell(tool):
    options = ("--cluster", "conversation", "--margin", "0.05", "--all-pairs", "--no-p-imp", "--format", "json")
    code, out, _ = tool("compare", *RUNS, *options)
    found = json.loads(out)
    assert (code, found["unit"], found["margin"], found["all"]["units"]) == (0, "conversation", 0.05, 60)
    assert [pairs["measure"] for pairs in found["all_pairs"]] == ["NDCG@10", "MAP@10", "P@1"]
    assert found["all"]["p_imp"] == []
    assert tool("compare", *RUNS, "--cluster", "(")[0] == 2
    assert "No such option" in tool("compare", *RUNS, "--resamples", "10")[2]


def test_plan_from_the_shell(tool):
    code, out, _ = tool("plan", *RUNS[:3], "-m", "P@1", "--difference", "0.05", "--queries", "500", "--format", "json")
    (found,) = json.loads(out)["measures"]
    assert (code, found["name"], found["queries"]) == (0, "P@1", 240)
    assert found["shows"] < 0.05 < found["needed"]
    code, out, _ = tool("plan", "--sd", "0.2", "--difference", "0.05")
    assert (code, "130 queries" in out) == (0, True)
    code, _, err = tool("plan", "qrels.jsonl")
    assert (code, "a plan needs qrels, a baseline and a run" in err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("compare", "qrels.jsonl", "retrieved.jsonl", "absent.jsonl"), "absent.jsonl"),
        (("compare", *RUNS, "-m", "nDGC@10"), "Did you mean"),
        (("compare", *RUNS, "--describe", "qrels.jsonl"), "qrels.jsonl"),
        (("compare", "qrels.jsonl", "retrieved.jsonl", "retrieved.jsonl"), "two runs are called"),
        (("compare", *RUNS, *["--name=x"] * 5), "5 names for 3 runs"),
        (("compare", *RUNS, "-o", "absent/report.txt"), "cannot write there"),
        (("compare", "qrels.jsonl", "retrieved.jsonl"), "needs a baseline and a run"),
        (("gate", "qrels.jsonl", "retrieved.jsonl", "P@1"), "is not a condition"),
        (("gate", "qrels.jsonl", "retrieved.jsonl"), "nothing to check"),
        (("gate", "qrels.jsonl", "retrieved.jsonl", "P@1>0", "--serving", "absent.json"), "absent.json"),
        (("gate", "absent.jsonl", "retrieved.jsonl", "P@1>0"), "absent.jsonl"),
    ],
)
def test_wrong_input_is_one_message_and_exit_code_2(tool, arguments, message):
    code, _, err = tool(*arguments)
    assert code == 2
    assert message in err
    assert "Traceback" not in err


def test_formats_can_be_named(tool, tmp_path):
    (tmp_path / "q").write_text('{"1": {"a": 1, "b": 0}, "2": {"a": 1}}')
    for name, first in (("r", "b"), ("s", "a")):
        last = "ab".replace(first, "")
        lines = [{"query_id": "1", "results": [first, last]}, {"query_id": "2", "results": [first, last]}]
        (tmp_path / name).write_text("\n".join(json.dumps(line) for line in lines))
    q, r, s = (str(tmp_path / name) for name in "qrs")
    formats = ("--qrels-format", "json", "--run-format", "jsonl")
    code, out, _ = tool("compare", q, r, s, *formats, "-m", "RR", "--format", "json")
    means = {mean["run"]: mean["mean"] for mean in json.loads(out)["all"]["means"]}
    assert (code, means) == (0, {"r": 1 / 2, "s": 1.0})
    code, out, _ = tool("gate", q, s, "RR==1", "--baseline", r, "--max-drop", "0.5", *formats)
    assert (code, "RR == 1" in out) == (0, True)
    code, out, _ = tool("explain", q, r, *formats, "--value", "0.5", "--about", "mrr", "--format", "json")
    assert (code, json.loads(out)["matches"][0]["value"]) == (0, 0.5)
    for command in (("compare", q, r, s), ("gate", q, r, "RR==1"), ("explain", q, r, "--value", "1", "--about", "mrr")):
        for wrong in (("--qrels-format", "parquet"), ("--run-format", "beir")):
            code, out, err = tool(*command, *wrong)
            assert (code, out) == (2, "")
            assert "not readable as parquet" in err or "BEIR's is" in err


def test_runs_of_one_name_in_several_folders_keep_the_folder(tool, folder):
    for name in ("old", "new"):
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "run.jsonl").write_text((folder / "retrieved.jsonl").read_text())
    code, out, _ = tool("compare", "qrels.jsonl", "old/run.jsonl", "new/run.jsonl", "--brief")
    assert code == 0
    assert "new/run" in out


def test_demo_writes_compares_and_repeats(tool, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = tool("demo", str(tmp_path / "an example"))
    assert code == 0
    assert sorted(path.name for path in (tmp_path / "an example").iterdir()) == sorted([*FILES, "report.html"])
    line = next(line for line in out.splitlines() if "permed-measures compare" in line)
    import shlex

    code, again, _ = tool(*shlex.split(line)[1:])
    assert code == 0
    assert again in out
    assert tool("demo", str(tmp_path / "an example"))[0] == 0


def test_demo_overwrites_nothing_of_yours(tool, tmp_path):
    (tmp_path / "qrels.jsonl").write_text("mine\n")
    code, _, err = tool("demo", str(tmp_path))
    assert code == 2
    assert "is there already" in err
    assert [path.name for path in tmp_path.iterdir()] == ["qrels.jsonl"]


def test_every_help_has_examples_with_their_lines_kept(tool):
    from permed_measures.cli import command_files

    for name in command_files():
        code, out, _ = tool(name, "--help")
        assert code == 0
        examples = re.search(r"^  Examples?:\n(    .*\n)+", out, re.MULTILINE)
        assert examples, name
        assert f"\n    permed-measures {name}" in examples[0]


def test_importing_compare_loads_no_scipy():
    code = "import permed_measures.comparison.report.page, sys; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
