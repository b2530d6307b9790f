"""action.yml: its steps, run in a shell as GitHub runs them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml", reason="action.yml is YAML")

ROOT = Path(__file__).resolve().parents[1]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = {step.get("name", step.get("uses")): step for step in ACTION["runs"]["steps"]}

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a shell runs the steps")


@pytest.fixture
def step(tmp_path):
    """Run one step by its name as ``shell: bash`` does; return the exit code, the output, and the step's own output."""
    (tmp_path / "qrels.txt").write_text("q 0 a 1\n")
    (tmp_path / "a.run").write_text("q Q0 b 1 2 r\nq Q0 a 2 1 r\n")
    (tmp_path / "bin").mkdir()

    def program(name, text):
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "bin" / name).chmod(0o755)

    program("permed-measures", f'exec "{sys.executable}" -m permed_measures "$@"')
    program("gh", 'echo "$@" >> gh.txt; case "$*" in *paginate*) cat ids.txt;; esac')

    def run(name, path=None, **inputs):
        values = {f"inputs.{key}": spec["default"] for key, spec in ACTION["inputs"].items()}
        values |= {f"inputs.{key.replace('_', '-')}": value for key, value in inputs.items()}
        values |= {"github.action_path": str(ROOT), "github.event.pull_request.number": "7"}
        given = {key: _filled(text, values) for key, text in STEPS[name].get("env", {}).items()}
        outside = {"GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": "them/theirs", "PYTHONPATH": str(ROOT)}
        places = {"GITHUB_OUTPUT": "output.txt", "GITHUB_STEP_SUMMARY": "summary.md", "RUNNER_TEMP": "."}
        environment = {**os.environ, **outside, **{k: str(tmp_path / v) for k, v in places.items()}, **given}
        environment["PATH"] = f"{path or tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
        script = tmp_path / "step.sh"
        script.write_text(STEPS[name]["run"])
        shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
        done = subprocess.run(shell, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    return run


def _filled(text, values):
    return re.sub(r"\$\{\{ *(.*?) *\}\}", lambda found: values[found[1]], str(text))


def test_inputs_reach_scripts_by_the_environment_only():
    for step_ in ACTION["runs"]["steps"]:
        assert "${{" not in step_.get("run", "")  # what a pull request says is never part of a script
    assert {"config", "python-version"} <= set(ACTION["inputs"])


@pytest.mark.parametrize(
    ("condition", "code", "said"),
    [
        ("RR >= 0.5", 0, "it holds"),
        ("RR >= 0.6", 1, "::error title=RR >= 0.6%3A fails::off by 0.1"),
        ("RX > 0", 2, "RX"),
    ],
)
def test_the_gate_keeps_its_exit_code_and_writes_everything(step, tmp_path, condition, code, said):
    (tmp_path / "gate.toml").write_text(f'qrels = "qrels.txt"\nrun = "a.run"\nconditions = ["{condition}"]\n')
    found, output = step("Gate")
    assert (found, said in output) == (code, True), output
    assert (tmp_path / "output.txt").read_text() == f"exit-code={code}\n"
    comment = (tmp_path / "gate-comment.md").read_text()
    assert comment.startswith("<!-- permed-measures gate -->\n")
    assert (tmp_path / "summary.md").read_text() == comment + "\n"
    assert (tmp_path / "gate.xml").read_text().count("<testcase") == 1
    if code == 2:
        assert "<error " in (tmp_path / "gate.xml").read_text()


def test_the_file_and_the_junit_file_are_inputs(step, tmp_path):
    (tmp_path / "deep folder").mkdir()
    (tmp_path / "deep folder" / "my gate.toml").write_text(
        'qrels = "../qrels.txt"\nrun = "../a.run"\nconditions = ["RR>0"]\n'
    )
    assert step("Gate", config="deep folder/my gate.toml", junit="other.xml")[0] == 0
    assert (tmp_path / "other.xml").exists()


@pytest.mark.parametrize(
    ("ids", "call"),
    [("", "POST repos/them/theirs/issues/7"), ("11\n12\n", "PATCH repos/them/theirs/issues/comments/11")],
)
def test_the_comment_is_written_once_and_then_replaced(step, tmp_path, ids, call):
    (tmp_path / "ids.txt").write_text(ids)
    assert step("Comment")[0] == 0
    asked, wrote = (tmp_path / "gh.txt").read_text().splitlines()
    assert asked.startswith("api --paginate repos/them/theirs/issues/7/comments --jq")
    assert wrote.startswith(f"api --method {call}")
    assert wrote.endswith(f"-F body=@{tmp_path}/gate-comment.md")


@pytest.mark.full
def test_the_step_installs_what_the_gate_needs(step, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", str(tmp_path / "venv")], check=True)
    code, output = step("Install", path=tmp_path / "venv" / "bin")
    assert code == 0, output
    assert (tmp_path / "venv" / "bin" / "permed-measures").exists()
