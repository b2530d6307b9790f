"""permed-measures gate, from files to exit codes: gate.toml, baselines, JUnit, summaries, annotations."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from permed_measures.cli.demo import example

pytest.importorskip("click", reason="the shell tool needs it")

ROOT = Path(__file__).resolve().parents[1]
BASE = ("gate", "qrels.jsonl", "profile_query.jsonl", "P@1>=0.5")


@pytest.fixture
def folder(tmp_path):
    for name, text in example().items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def tool(folder, monkeypatch, shell):
    """Run the tool in the folder of the example; return exit code, output and errors."""
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(folder)

    return shell


def write_trec(path, lists):
    rows = [f"{q} Q0 {doc} {rank} {-rank} r\n" for q, docs in lists.items() for rank, doc in enumerate(docs, 1)]
    path.write_text("".join(rows))


@pytest.fixture
def builds(tmp_path):
    """Qrels of 200 queries, a run that is right, one that is wrong for every tenth, one for every second query."""
    (tmp_path / "qrels.txt").write_text("".join(f"{q} 0 a 1\n" for q in range(200)))
    for name, every in (("good", 1000), ("tenth", 10), ("half", 2)):
        lists = {str(q): ["b"] if q % every == every - 1 else ["a"] for q in range(200)}
        write_trec(tmp_path / f"{name}.run", lists)
    return tmp_path


def test_exit_codes_table_and_junit(tool, tmp_path):
    (tmp_path / "serving.json").write_text('{"p95_ms": 310}')
    report = tmp_path / "gate.xml"
    code, out, _ = tool(*BASE, "--serving", "serving.json", "p95_ms<=500", "--junit", str(report))
    assert code == 0
    assert out.splitlines()[3].split()[:5] == ["holds", "p95_ms", "<=", "500", "310.0000"]
    assert 'failures="0"' in report.read_text()
    code, out, _ = tool(*BASE, "P@1>=0.999", "--junit", str(report))
    assert (code, "FAILS" in out) == (1, True)
    assert 'failures="1"' in report.read_text()
    code, out, _ = tool(*BASE, "--baseline", "retrieved.jsonl", "--max-drop", "0.01")
    assert (code, "P@1 drop <= 0.01" in out) == (0, True)


@pytest.mark.usefixtures("builds")
def test_a_drop_ends_with_0_1_or_3(tool):
    for run, margin, code in (
        ("good", "0.05", 0),  # identical
        ("tenth", "0.2", 0),  # 0.1, bounded below 0.2
        ("tenth", "0.1", 3),  # as large as the margin: shown, undecided
        ("half", "0.2", 1),  # 0.5
    ):
        arguments = ("gate", "qrels.txt", f"{run}.run", "--baseline", "good.run", "--max-drop", f"Success@1={margin}")
        assert tool(*arguments)[0] == code, (run, margin)
        assert tool(*arguments, "--undecided", "warn")[0] == (0 if code == 3 else code)


def test_every_format(tool):
    arguments = (*BASE, "P@1 <= 0.1", "--format")
    code, out, _ = tool(*arguments, "json")
    found = json.loads(out)
    first, second = found["checks"]
    assert (code, found["run"], found["verdict"], found["exit_code"]) == (1, "profile_query", "fails", 1)
    assert (first["name"], first["operator"], first["wanted"], first["verdict"]) == ("P@1", ">=", 0.5, "holds")
    assert {**first, "what": second["what"], "operator": "<=", "wanted": 0.1} == {
        **second,
        "verdict": "holds",
        "why": "",
        "exit_code": 0,
    }
    assert any("unjudged" in note for note in found["notes"])
    _, out, _ = tool(*arguments, "jsonl")
    assert [json.loads(line) for line in out.splitlines()] == [first, second]
    _, out, _ = tool(*arguments, "csv")
    rows = [line.split(",") for line in out.splitlines()]
    assert rows[0][:5] == ["verdict", "what", "kind", "segment", "value"]
    assert rows[1][:5] == ["holds", "P@1 >= 0.5", "value", "", repr(first["value"])]
    assert rows[2][:2] == ["fails", "P@1 <= 0.1"]
    _, out, _ = tool(*arguments, "markdown")
    assert any(line.startswith(rf"| FAILS | P@1 \<= 0.1 | {first['value']:.4f} |") for line in out.splitlines())
    assert r"- profile\_query: 2 checks, 1 holds, 1 FAILS (exit code 1)" in out.splitlines()
    assert r"FAILS & P@1 \textless{}= 0.1 &" in tool(*arguments, "latex")[1]
    assert tool(*arguments[:-1])[1] == tool(*arguments, "table")[1]
    code, out, _ = tool(*BASE)
    assert (code, out.splitlines()[-1]) == (0, "profile_query: 1 check, it holds (exit code 0)")


def test_output_into_a_file_keeps_the_exit_code(tool, tmp_path):
    code, out, err = tool(*BASE, "P@1>=0.999", "-o", "gate.json")
    assert (code, out, err) == (1, "", "profile_query: 2 checks, 1 holds, 1 FAILS (exit code 1)\n")
    assert json.loads((tmp_path / "gate.json").read_text())["exit_code"] == 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (("P@1",), "is not a condition"),
        (("P@1>0", "--serving", "absent.json"), "absent.json"),
        (("P@1>0", "--baseline", "retrieved.jsonl"), "needs a margin"),
        (("P@1>0", "--baseline", "retrieved.jsonl", "--max-drop", "x"), "--max-drop 'x'"),
        (("P@1>0", "--test", "t"), "--test is no option any more"),
        (("P@1>0", "--seed", "3"), "--seed is no option any more"),
        (("P@1>0", "--no-such-option"), "No such option"),
        (("P@1>0", "-o", "gate.doc"), "the suffix '.doc'"),
        (("P@1>0", "--baseline", "absent", "--max-drop", "0.1"), "gate --accept"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_what_is_wrong_is_exit_code_2_and_an_error_in_junit(tool, tmp_path, wrong, message):
    old = tmp_path / "gate.xml"
    old.write_text('<testsuites failures="0"/>')
    (tmp_path / "gate.txt").write_text("all hold")
    code, out, err = tool("gate", "qrels.jsonl", "retrieved.jsonl", "--junit", str(old), "-o", "gate.txt", *wrong)
    assert (code, out) == (2, "")
    assert message in err
    error = ET.fromstring(old.read_text()).find("testsuite/testcase/error")  # noqa: S314  (our own output)
    assert message in error.get("message")
    if not {"--no-such-option", "-o"} & set(wrong):
        assert not (tmp_path / "gate.txt").exists()


def test_a_fault_leaves_no_old_junit(tool, tmp_path, monkeypatch):
    def fail(*_, **__):
        msg = "by chance"
        raise ZeroDivisionError(msg)

    monkeypatch.setattr("permed_measures.cli.gate.gate", fail)
    (tmp_path / "gate.xml").write_text('<testsuites failures="0"/>')
    assert tool(*BASE, "--junit", "gate.xml")[0] == 4
    assert "ZeroDivisionError: by chance" in (tmp_path / "gate.xml").read_text()


def test_a_gate_file_is_found_here_and_above(tool, builds, monkeypatch):
    code, _, err = tool("gate")
    assert (code, "--init QRELS RUN" in err) == (2, True)
    (builds / "gate.toml").write_text(
        """
        qrels = "qrels.txt"
        run = "tenth.run"
        conditions = ["Success@1 >= 0.8", "p95_ms <= 500"]
        baseline = "good.run"
        serving = "serving.json"
        segments = "groups.tsv"
        undecided = "warn"
        [max_drop]
        "Success@1" = 0.2
        """
    )
    (builds / "serving.json").write_text('{"p95_ms": 310}')
    (builds / "groups.tsv").write_text("".join(f"{q}\t{'odd' if q % 2 else 'even'}\n" for q in range(200)))
    (builds / "deep" / "er").mkdir(parents=True)
    for where in (builds, builds / "deep" / "er"):
        monkeypatch.chdir(where)
        code, out, _ = tool("gate", "--format", "json")
        found = json.loads(out)
        whats = [check["what"] for check in found["checks"]]
        assert "Success@1 drop <= 0.2 [odd]" in whats
        assert (code, found["verdict"], "p95_ms <= 500" in whats) == (0, "undecided", True)
    assert tool("gate", "--undecided", "fail")[0] == 3  # the command line has the last word
    assert tool("gate", "--config", str(builds / "gate.toml"), "--max-drop", "0.5")[0] == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("qrels = 3", "qrels = 3 is not allowed; give a text"),
        ('conditions = "P@1>0"', "give a list of texts"),
        ("max_drop = true", "give a number"),
        ("hard_drop = '1'", "give a number"),
        ("max_drop = {RR = 'x'}", r"a table \[max_drop\]"),
        ("confident = 1", "give true or false"),
        ("maxdrop = 1", "no key 'maxdrop'. Did you mean max_drop"),
        ("qrels", "not TOML"),
        ("", "qrels and run are not given in"),
    ],
)
def test_what_a_gate_file_may_not_say(tool, builds, text, message):
    (builds / "gate.toml").write_text(text)
    code, _, err = tool("gate")
    assert code == 2
    assert re.search(message, err)


def test_init_writes_a_file_that_holds_and_says_what_can_be_decided(tool, builds):
    code, out, _ = tool("gate", "--init", "qrels.txt", "good.run")
    # differences taken to spread by 0.2: V = (200 · 0.04 + 4) / (204 · 203), times t.95 + t.80 of 203 degrees
    margin = (1.6524 + 0.8433) * ((200 * 0.04 + 4) / (204 * 203)) ** 0.5
    assert code == 0
    assert f"nDCG@10: 200 queries decide margins from {margin:.4f} on" in out
    text = (builds / "gate.toml").read_text()
    assert "conditions = [" in text
    assert f'"nDCG@10" = {-(-margin * 100 // 1) / 100:g}' in text
    assert tool("gate", "--init", "qrels.txt", "good.run")[0] == 2  # it is there
    code, _, err = tool("gate")
    assert (code, "gate --accept" in err) == (2, True)
    assert tool("gate", "--accept")[0] == 0
    code, out, _ = tool("gate")
    assert (code, "4 checks, all hold" in out) == (0, True)
    for line in [line for line in text.splitlines() if line.startswith(("# hard", "# max_drop"))]:
        text = text.replace(line, line.removeprefix("# "))
    (builds / "gate.toml").write_text(text)
    code, out, _ = tool("gate")
    assert (code, "6 checks, all hold" in out) == (0, True)


def test_power_of_clusters_whose_spread_is_assumed(tool):
    # 240 queries of 60 conversations, whose turns go together: 60 values of 0.2 or -0.2, and four of 1 or -1 (k = 2)
    code, out, _ = tool("gate", *BASE[1:3], "P@1>=0.5", "--power", "--cluster", "conversation", "--format", "json")
    found = json.loads(out)
    (one,) = found["measures"]
    error = ((60 * 0.2**2 + 4 * 1**2) / (64 * 63)) ** 0.5
    assert (code, one["units"], one["smallest_margin"]) == (0, 60, pytest.approx((1.669 + 0.847) * error, abs=1e-3))
    shown = {row["fails"] for row in found["chances"]}
    assert any(0.05 < fails < 0.95 for fails in shown), shown


@pytest.mark.usefixtures("builds")
def test_power_shows_what_can_be_caught(tool):
    arguments = ("gate", "qrels.txt", "tenth.run", "--baseline", "good.run", "--max-drop", "Success@1=0.1", "--power")
    code, out, _ = tool(*arguments, "Success@1>=0", "--format", "json")
    found = json.loads(out)
    chances = {row["true drop"]: row for row in found["chances"]}
    assert (code, found["measures"][0]["queries"]) == (0, 200)
    assert chances[0.1]["fails"] == pytest.approx(0.05, abs=0.02)  # at the margin
    assert chances[0.1]["holds"] < 0.05
    assert chances[0.5]["fails"] > 0.999
    assert all(sum(row[name] for name in list(row)[3:]) == pytest.approx(1) for row in found["chances"])


def test_accepted_values_are_a_baseline_without_the_run(tool, builds):
    where = ("--baseline", "base.jsonl", "--max-drop", "Success@1=0.2")
    assert tool("gate", "qrels.txt", "good.run", "Success@1>=0", *where, "--accept")[0] == 0
    (builds / "good.run").rename(builds / "gone.run")
    direct = tool("gate", "qrels.txt", "tenth.run", "--baseline", "gone.run", *where[2:], "--format", "jsonl")
    saved = tool("gate", "qrels.txt", "tenth.run", *where, "--format", "jsonl")
    assert direct == saved
    code, out, _ = tool("gate", "qrels.txt", "gone.run", *where)
    assert (code, "the rankings are identical down to rank 1" in out) == (0, True)
    code, _, err = tool("gate", "qrels.txt", "gone.run", "--baseline", "tenth.run", "--accept", "P@1>0")
    assert (code, "overwrite a run" in err) == (2, True)


def test_several_runs_of_one_system(tool, builds):
    margin, runs = ("--max-drop", "Success@1=0.2"), "llm=good.run,tenth.run"
    where = ("--baseline", "base.jsonl", *margin)
    assert "Success@1 0.9500" in tool("gate", "qrels.txt", runs, "Success@1>=0", *where, "--accept")[1]
    direct = tool("gate", "qrels.txt", "half.run", "--baseline", runs, *margin, "--format", "jsonl")
    saved = tool("gate", "qrels.txt", "half.run", *where, "--format", "jsonl")
    assert direct == saved
    check = json.loads(saved[1])
    assert check["baseline"] == pytest.approx(0.95)
    spread = {"runs": 2, "deviation": pytest.approx(0.1 / 2**0.5), "low": pytest.approx(0.9), "high": 1.0}
    assert check["repeats"] == {"baseline": spread}
    (builds / "gate.toml").write_text(
        'qrels = "qrels.txt"\nrun = ["tenth.run", "good.run"]\nbaseline = "base.jsonl"\n'
        'conditions = ["Success@1 >= 0.95"]\nmax_drop = 0.01\n'
    )
    code, out, _ = tool("gate")
    assert (code, "the rankings are identical down to rank 1" in out) == (0, True)
    assert "run: the mean of 2 runs, Success@1 from 0.9000 to 1.0000" in out
    assert tool("gate", "--power")[0] == 0
    assert tool("gate", "--init", "qrels.txt", runs, "-o", "new.toml")[0] == 0
    assert 'run = ["good.run", "tenth.run"]' in (builds / "new.toml").read_text()
    code, _, err = tool("gate", "qrels.txt", "llm=good.run,nowhere.run", "P@1>=0")
    assert (code, "nowhere.run" in err) == (2, True)
    code, _, err = tool("gate", "qrels.txt", "good.run", "P@1>=0", "--baseline", "old=good.run,nowhere.run", *margin)
    assert (code, "nowhere.run" in err) == (2, True)
    code, _, err = tool("gate", "qrels.txt", runs, "P@1>=0", "--baseline", runs, "--accept")
    assert (code, "--accept needs to know where" in err) == (2, True)
    code, _, err = tool("gate", "qrels.txt", str(builds), "P@1>=0")
    assert (code, str(builds) in err) == (2, True)


def test_accepted_drops_do_not_add_up_without_end(tool, builds):
    write_trec(builds / "fifth.run", {str(q): ["b"] if q % 5 == 4 else ["a"] for q in range(200)})
    options = ("--baseline", "base.jsonl", "--max-drop", "Success@1=0.2", "--max-drop-since-anchor", "0.15")

    def step(run, *more):
        return tool("gate", "qrels.txt", f"{run}.run", "Success@1>=0", *options, *more)

    assert step("good", "--accept")[0] == 0
    assert step("tenth")[0] == 0
    code, out, _ = step("tenth", "--accept")
    assert (code, "the anchor stays at 1.0000, above the 0.9000 of this run" in out) == (0, True)
    # from the accepted 0.9 to 0.8 is within the margin, from the anchor's 1.0 it is not
    code, out, _ = step("fifth", "--format", "json")
    checks = {check["what"]: check for check in json.loads(out)["checks"]}
    assert checks["Success@1 drop <= 0.2"]["verdict"] == "holds"
    since = checks["Success@1 drop since anchor <= 0.15"]
    assert (code, since["verdict"], since["baseline"], since["drop"]) == (1, "fails", 1.0, pytest.approx(0.2))
    assert step("fifth", "--accept")[0] == 0
    assert step("fifth")[0] == 1  # accepting does not help
    # a measure that is new has an anchor of its own, the others keep theirs
    code, out, _ = tool("gate", "qrels.txt", "fifth.run", "Success@1>=0", "RR>=0", "--accept", *options[:2])
    assert "RR: the anchor starts anew" in out
    assert "Success@1: the anchor stays at 1.0000" in out
    assert step("good", "--accept")[0] == 0
    assert step("good")[0] == 0


def test_a_baseline_of_other_conditions_is_refused_with_what_changed(tool, builds):
    options = ("--baseline", "base.jsonl", "--max-drop", "0.2")
    assert tool("gate", "qrels.txt", "good.run", "RR>0", *options[:2], "--accept")[0] == 0
    for arguments, message in (
        (("qrels.txt", "good.run", "AP>0"), "the baseline has no AP; it has RR"),
        (("qrels.txt", "good.run", "RR>0", "--order", "float64"), "order: float32 → float64"),
        (("qrels.txt", "good.run", "RR>0", "--queries", "both"), "queries: qrels → both"),
        (("qrels.txt", "good.run", "RR>0", "--min-relevance", "2"), "the baseline has no RR(rel=2); it has RR"),
    ):
        code, _, err = tool("gate", *arguments, *options)
        assert (code, message in err) == (2, True), err
        assert "accept the run anew" in err
    lines = (builds / "qrels.txt").read_text().splitlines()
    (builds / "more.txt").write_text("\n".join(["0 0 z 1", *lines[:-1], "new 0 a 1"]) + "\n")
    code, _, err = tool("gate", "more.txt", "good.run", "RR>0", *options)
    assert code == 2
    assert "judgements: 200 → 201" in err
    for said in ("1 query new ('new')", "1 query gone ('199')", "1 query judged otherwise ('0')"):
        assert said in err
    text = (builds / "base.jsonl").read_text()
    (builds / "base.jsonl").write_text(text.replace("|version:1", "|version:0"))
    code, _, err = tool("gate", "qrels.txt", "good.run", "RR>0", *options)
    assert (code, "version: 0 → 1" in err) == (2, True)
    code, out, _ = tool("gate", "more.txt", "good.run", "RR>0", *options[:2], "--accept")
    assert (code, "the anchor starts anew" in out) == (0, True)


def test_the_summary_and_annotations_of_github(tool, builds, monkeypatch):
    step = builds / "step.md"
    step.write_text("before\n")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(step))
    arguments = ("gate", "qrels.txt", "half.run", "--baseline", "good.run", "--max-drop", "Success@1=0.2")
    code, out, err = tool(*arguments, "--summary", "comment.md", "--format", "json")
    assert (code, json.loads(out)["exit_code"]) == (1, 1)
    assert re.search(r"^::error title=Success@1 drop <= 0\.2%3A fails::the drop is above the margin", err, re.MULTILINE)
    comment = (builds / "comment.md").read_text()
    assert comment.startswith("<!-- permed-measures gate -->\n**❌ The gate fails**")
    assert "| Success@1 | 0 | 100 | 100 |" in comment
    assert step.read_text() == f"before\n{comment}\n"
    assert "fell most" not in comment  # ids are private unless asked for
    (builds / "texts.tsv").write_text("1\thow to | sleep\n")
    tool(*arguments, "--summary", "comment.md", "--show-queries", "2", "--query-texts", "texts.tsv")
    assert r"| Success@1 | 1 | how to \| sleep | 1.0000 | 0.0000 |" in (builds / "comment.md").read_text()
    (builds / "few.run").write_text((builds / "half.run").read_text().partition("\n10 Q0")[0] + "\n")
    few = ("gate", "qrels.txt", "few.run", "Success@1>=0", "--summary", "comment.md")
    assert "190 queries missing from the run, counted as 0 ('10', " in tool(*few)[1]
    assert "190 queries missing from the run, counted as 0\n" in (builds / "comment.md").read_text()
    code, _, err = tool("gate", "absent.txt", "half.run", "P@1>0", "--summary", "comment.md")
    assert (code, "::error title=the gate could not be checked::absent.txt" in err) == (2, True)
    assert "could not be checked" in (builds / "comment.md").read_text()
    _, _, err = tool("gate", "qrels.txt", "half.run", "P@1>=0.1")
    assert "::" not in err


@pytest.mark.usefixtures("builds")
def test_it_is_warned_before_anything_is_computed(tool):
    arguments = ("gate", "qrels.txt", "tenth.run", "--baseline", "good.run", "--max-drop", "Success@1=0.01")
    _, _, err = tool(*arguments)
    assert err.startswith("WARNING: 200 queries cannot show that a drop is below 0.01, whatever the run returns")
    assert "327 are needed" in err
    same = (
        "gate",
        "qrels.txt",
        "tenth.run",
        "--baseline",
        "good.run",
        "--max-drop",
        "Success@1=0.1",
        "--undecided",
        "warn",
    )
    code, _, err = tool(*same, "--format", "json")
    assert (code, "WARNING: Success@1 drop <= 0.1 is undecided" in err) == (0, True)


def test_help_has_the_two_commonest_examples_first(tool):
    code, out, _ = tool("gate", "--help")
    assert code == 0
    first = [line.strip() for line in out.splitlines() if line.strip().startswith("permed-measures gate")][:2]
    assert first[0] == "permed-measures gate qrels.txt run.trec 'nDCG@10>=0.85' 'P@5>=0.8'"
    assert first[1].startswith("permed-measures gate  ")
    assert not re.search(r"--test|--seed", out)


def test_a_gate_draws_nothing_and_needs_no_scipy(builds):
    code = (
        "import sys; sys.modules['scipy'] = None; from permed_measures.cli import main\n"
        "try: main(['gate', 'qrels.txt', 'tenth.run', '--baseline', 'good.run', '--max-drop', 'RR=0.2'])\n"
        "except SystemExit as end: assert end.code == 0, end.code"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=builds, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "it holds" in done.stdout


SCHEMA = json.loads((ROOT / "docs" / "schemas" / "gate.json").read_text(encoding="utf-8"))


@pytest.mark.usefixtures("builds")
def test_the_json_is_what_its_schema_says(tool):
    jsonschema = pytest.importorskip("jsonschema", reason="it validates")
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    validator = jsonschema.Draft202012Validator(SCHEMA)
    margins = ("--max-drop", "Success@1=0.2", "--max-drop-since-anchor", "0.3", "--hard-drop", "0.4")
    base = ("gate", "qrels.txt", "good.run", "Success@1>0", "--baseline", "base.jsonl")
    assert tool(*base, "--accept")[0] == 0
    for run in ("good", "tenth", "half"):
        for more in ((), ("--segments", "(.)$", "--cluster", "^(.)"), ("--confident", "--undecided", "fail")):
            arguments = ("gate", "qrels.txt", f"{run}.run", "Success@1>=0.9", "RR<=0.9", *base[4:], *margins, *more)
            code, out, _ = tool(*arguments, "--format", "json")
            found = json.loads(out)
            validator.validate(found)
            assert found["exit_code"] == code
            assert {check["kind"] for check in found["checks"]} == {"value", "drop", "drop since anchor"}
    wrong = {**found, "verdict": "passes"}
    assert not validator.is_valid(wrong)


def test_the_schema_has_every_field_and_the_number_of_the_code(tool):
    from permed_measures.gating.result import SCHEMA as NUMBER

    found = json.loads(tool(*BASE, "--format", "json")[1])
    assert list(found) == list(SCHEMA["properties"]) == SCHEMA["required"]
    assert list(found["checks"][0]) == list(SCHEMA["$defs"]["check"]["properties"])
    assert SCHEMA["properties"]["schema"]["const"] == NUMBER == found["schema"]


def test_every_key_of_a_gate_file_is_documented_and_an_option(tool):
    from permed_measures.gating.settings import KEYS

    table = (
        (ROOT / "docs" / "gating.md").read_text(encoding="utf-8").partition("| key | value |")[2].partition("\n\n")[0]
    )
    assert set(KEYS) <= set(re.findall(r"`([a-z_]+)`", table))
    shown = tool("gate", "--help")[1]
    for key in set(KEYS) - {"qrels", "run", "conditions"}:
        assert f"--{key.replace('_', '-')}" in shown, key
