"""What people read shows control characters; what programs read holds them as they are."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from permed_measures.errors import visible

pytest.importorskip("click", reason="the commands need it")

ATTACK = "q\x1b]0;owned\x07\x1b[31m\x9b2J\u202e"
"""Sets the title of a terminal, rings, colours, clears, and turns the direction of writing."""
RUN_NAME = "run\x1b[31m\u202e"
HIDDEN = "\x1b\x07\x9b\u202e\r"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}


@pytest.fixture
def tool(tmp_path, monkeypatch, shell):
    """Run the tool in a folder with qrels, two runs and a log under names that attack."""
    monkeypatch.chdir(tmp_path)
    Path("qrels.txt").write_text(f"{ATTACK} 0 a 1\nq2 0 a 1\nq3 0 b 1\n")
    for name, rank in ((RUN_NAME, 1), ("other", 2)):
        Path(f"{name}.run").write_text(f"{ATTACK} Q0 a 1 2.0 t\nq2 Q0 a {rank} {3 - rank} t\nq2 Q0 b 2 1.5 t\n")
    Path("log\x1b[2J.jsonl").write_text('{"start": 1, "duration_ms": 2, "error": "E\\u001b: x"}\n{"duration_ms": 3}\n')

    return shell


FOR_PEOPLE = {
    "eval": ("eval", "qrels.txt", f"{RUN_NAME}.run", "-m", "P@1 RR", "-q"),
    "two": ("eval", "qrels.txt", f"{RUN_NAME}.run", "other.run", "-m", "P@1"),
    "markdown": ("eval", "qrels.txt", f"{RUN_NAME}.run", "-m", "P@1", "-q", "--format", "markdown"),
    "latex": ("eval", "qrels.txt", f"{RUN_NAME}.run", "-m", "P@1", "-q", "--format", "latex"),
    "compare": ("compare", "qrels.txt", "other.run", f"{RUN_NAME}.run", "-m", "P@1"),
    "compare markdown": ("compare", "qrels.txt", "other.run", f"{RUN_NAME}.run", "-m", "P@1", "--format", "markdown"),
    "gate": ("gate", "qrels.txt", f"{RUN_NAME}.run", "P@1>=0"),
    "explain": ("explain", "qrels.txt", f"{RUN_NAME}.run", "--a", "P@5", "--b", "P@1"),
    "serving": ("serving", "log\x1b[2J.jsonl"),
    "verify": ("verify", "qrels.txt", f"{RUN_NAME}.run", "-m", "P@1"),
    "convert": ("convert", f"{RUN_NAME}.run", "out.csv"),
    "absent": ("eval", "qrels.txt", "absent\x1b[2J.run"),
    "no suffix": ("eval", "qrels.txt", "other.run", "-o", "x.\x1b[2J"),
    "a folder": ("convert", "folder\x1b[2J", "out.csv"),
    "no format": ("eval", "qrels.txt", "other.run", "--format", "\x1b[2J"),
}


@pytest.mark.parametrize("name", FOR_PEOPLE)
def test_people_see_control_characters_written_out(tool, name):
    if name.startswith("compare"):
        pytest.importorskip("scipy", reason="the paired t-test needs it")
    Path("folder\x1b[2J").mkdir()
    _, out, err = tool(*FOR_PEOPLE[name])
    assert not set(HIDDEN) & set(out + err)
    shown = out + err
    if name not in ("gate", "latex", "verify"):  # LaTeX has its own backslash; the others name no query and no run
        assert "\\x1b" in shown.replace("\\\\", "\\")


def test_programs_get_ids_as_they_are(tool):
    arguments = ("eval", "qrels.txt", f"{RUN_NAME}.run", "-m", "P@1", "-q", "--format")
    _, out, _ = tool(*arguments, "csv")
    assert [row[0] for row in csv.reader(io.StringIO(out))][1] == ATTACK
    _, out, _ = tool(*arguments, "json")
    assert ATTACK in json.loads(out)["queries"]
    _, out, _ = tool(*arguments, "jsonl")
    assert json.loads(out.splitlines()[0])["query_id"] == ATTACK
    command = [sys.executable, "-m", "permed_measures", *arguments, "csv"]
    piped = subprocess.run(command, capture_output=True, check=True, env=ENVIRONMENT).stdout.decode()
    assert piped.splitlines()[1].startswith(ATTACK)
    code, out, _ = tool("convert", f"{RUN_NAME}.run", "-", "--to", "csv")
    assert (code, out.splitlines()[1]) == (0, f"{ATTACK},a,2.0")


def test_columns_stay_in_line(tool):
    _, out, _ = tool("eval", "qrels.txt", f"{RUN_NAME}.run", "-m", "P@1", "-q")
    lines = out.splitlines()
    assert lines[0].endswith(" queries")
    assert len({len(line) for line in lines[2:5]}) == 1
    assert lines[4].startswith(visible(ATTACK))


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes on Linux")
@pytest.mark.usefixtures("tool")
def test_a_file_name_that_is_not_utf_8_is_shown():
    os.rename(b"other.run", b"\xff.run")  # noqa: PTH104  (pathlib takes no bytes)
    command = [sys.executable, "-m", "permed_measures", "eval", "qrels.txt", b"\xff.run", "-m", "P@1"]
    for form in ("table", "csv", "json"):
        done = subprocess.run([*command, "--format", form], capture_output=True, check=False, env=ENVIRONMENT)
        assert done.returncode == 0, done.stderr
        assert "\\udcff" in done.stdout.decode() or form == "json"


REPORTS = {".txt", ".md", ".tex", ".csv", ".json", ".jsonl", ".html"}
KNOWN = {
    "eval": (("eval", "qrels.txt", "other.run"), REPORTS),
    "compare": (("compare", "qrels.txt", "other.run", f"{RUN_NAME}.run", "-m", "P@1"), REPORTS),
    "explain": (("explain", "qrels.txt", "other.run", "--value", "0.5", "--about", "map@5"), REPORTS),
    "serving": (("serving", "log\x1b[2J.jsonl"), REPORTS),
    "sql": (("sql", "-m", "GWAP@10"), {".sql", ".txt"}),
}


@pytest.mark.parametrize("name", KNOWN)
def test_the_suffix_of_an_output_file_tells_its_format_or_is_refused(tool, name):
    if name == "compare":
        pytest.importorskip("scipy", reason="the paired t-test needs it")
    if name == "sql":
        pytest.importorskip("ibis", reason="SQL is made with it")
    arguments, suffixes = KNOWN[name]
    for suffix in (".xlsx", ".csv.gz", ".docx"):
        code, out, err = tool(*arguments, "-o", f"t{suffix}")
        assert (code, out) == (2, "")
        assert not Path(f"t{suffix}").exists()
        listed = err.partition("can be written here: ")[2].partition(";")[0]
        assert set(listed.split(", ")) == suffixes
    for suffix in (*suffixes, ""):
        assert tool(*arguments, "-o", f"t{suffix}")[0] == 0
        written = Path(f"t{suffix}").read_text()
        assert written.startswith("<!DOCTYPE html>") == (suffix == ".html")
        assert written.startswith(("{", "[")) == (suffix in (".json", ".jsonl"))
    if name in ("eval", "compare"):  # --format is stronger than the suffix
        assert tool(*arguments, "-o", "t.xlsx", "--format", "csv")[0] == 0
