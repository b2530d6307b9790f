"""How the shell tool ends: never with 1 for a crash, and never with 0 when output is missing."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
from io import TextIOWrapper
from pathlib import Path

import pytest

from permed_measures import ParamError, parse
from permed_measures.files.source import Source

pytest.importorskip("click", reason="the commands need it")

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
QRELS, RUN = "q1 0 a 1\nq1 0 b 2\n", "q1 Q0 a 1 2.0 t\nq1 Q0 b 2 1.0 t\n"
LONG = "9" * 400
"""A whole number that no float can hold."""


@pytest.fixture
def tool(tmp_path, monkeypatch, shell):
    """Run the tool in a folder with qrels.txt and a.run; return exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    Path("qrels.txt").write_text(QRELS)
    Path("a.run").write_text(RUN)

    return shell


def broken(error):
    def fail(*_, **__):
        raise error

    return fail


GATE = ("gate", "qrels.txt", "a.run", "P@1>=0.1")


@pytest.mark.parametrize("arguments", [("eval", "qrels.txt", "a.run"), ("qrels.txt", "a.run", "P@1"), GATE])
def test_a_fault_of_ours_is_exit_code_4_with_what_to_report(tool, monkeypatch, arguments):
    monkeypatch.setattr(Source, "__init__", broken(ZeroDivisionError("by \x1b[2J")))
    code, out, err = tool(*arguments)
    assert (code, out) == (4, "")
    assert "Traceback" in err
    assert "ZeroDivisionError: by \\x1b[2J" in err
    assert "fault of permed-measures. Please report it" in err
    assert "\n  command: " in err
    assert "\n  version: permed-measures " in err


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("can't start new thread"),
        ImportError("x.so: failed to map segment from shared object"),
        OSError(12, "Cannot allocate memory"),
    ],
)
def test_memory_and_threads_at_an_end_are_exit_code_2(tool, monkeypatch, error):
    monkeypatch.setattr("permed_measures.cli.gate.gate", broken(error))
    code, out, err = tool(*GATE)
    assert (code, out) == (2, "")
    assert "Traceback" not in err
    assert "memory" in err


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux'")
@pytest.mark.usefixtures("tool")
def test_too_little_memory_is_no_gate_that_does_not_hold():
    start = "import os, resource, sys; resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]),) * 2); "
    start += "os.execv(sys.executable, [sys.executable, '-m', 'permed_measures', *sys.argv[2:]])"
    for megabytes in (100, 200, 300, 450, 600):
        command = [sys.executable, "-c", start, str(megabytes << 20), *GATE]
        done = subprocess.run(command, capture_output=True, check=False, env=ENVIRONMENT)
        assert done.returncode not in (1, 4), done.stderr


def test_ctrl_c_while_the_package_is_imported_is_exit_code_130(tmp_path):
    (tmp_path / "ir_measures.py").write_text(
        "import os, signal, time\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "os.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)\n"
    )
    environment = {**ENVIRONMENT, "PYTHONPATH": os.pathsep.join((str(tmp_path), str(ROOT)))}
    script = tmp_path / "permed-measures"
    script.write_text("from permed_measures.__main__ import main\nmain()\n")
    for start in (["-m", "permed_measures"], [str(script)]):
        command = [sys.executable, *start, "eval", "x", "y"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=60)
        assert (done.returncode, done.stderr.strip()) == (130, "permed-measures: interrupted")
    command = [sys.executable, "-c", "import permed_measures"]  # what others import keeps Python's own way
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=60)
    assert done.returncode == -signal.SIGINT
    assert "Traceback" in done.stderr


def test_an_import_that_fails_is_no_gate_that_does_not_hold(tmp_path):
    (tmp_path / "ir_measures.py").write_text("raise RuntimeError('broken')\n")
    environment = {**ENVIRONMENT, "PYTHONPATH": os.pathsep.join((str(tmp_path), str(ROOT)))}
    command = [sys.executable, "-m", "permed_measures", *GATE]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 4
    assert "RuntimeError: broken" in done.stderr


def test_a_reranker_module_that_ends_the_process_is_exit_code_2(tool, monkeypatch):
    monkeypatch.syspath_prepend(".")
    Path("ends.py").write_text("import sys; sys.exit(1)\n")
    code, _, err = tool("bench-reranker", "ends:x", "--queries", "q", "--candidates", "c", "--qrels", "qrels.txt")
    assert code == 2
    assert "the module 'ends' cannot be imported: SystemExit" in err


LONG_NUMBERS = {
    "run.json": ('{"q1": {"a": 1,\n "b": %s}}', "run.json:2: query 'q1': document 'b': the score 999"),
    "neg.json": ('{"q1": {"a": 1,\n "b": -%s}}', "neg.json:2: query 'q1': document 'b': the score -999"),
    "run.jsonl": ('{"query_id": "q1", "results": [{"text_id": "a", "score": %s}]}', "run.jsonl:1: document 'a'"),
    "rows.jsonl": ('{"query_id": "q1", "doc_id": "a", "score": %s}', "rows.jsonl:1: document 'a'"),
}
LONG_GRADES = {
    "qrels.json": ('{"q1": {"a": 1,\n "b": %s}}', "qrels.json:2: query 'q1': document 'b': the grade 999"),
    "qrels.jsonl": ('{"query_id": "q1", "relevant_texts": {"a": %s}}', "qrels.jsonl:1: document 'a'"),
    "rows.jsonl": ('{"query_id": "q1", "doc_id": "a", "relevance": %s}', "rows.jsonl:1: document 'a'"),
    "qrels.csv": ("query_id,doc_id,relevance\nq1,a,%s\n", "qrels.csv:2: "),
    "long.txt": ("q1 0 a %s\n", "long.txt:1: "),
}


@pytest.mark.parametrize("name", LONG_NUMBERS)
def test_a_score_of_400_digits_in_json_is_named(tool, name):
    written, place = LONG_NUMBERS[name]
    Path(name).write_text(written % LONG)
    for command in (
        ("eval", "qrels.txt", name),
        ("convert", name, "out.trec", "--what", "run"),
        ("qrels.txt", name, "P@1"),
    ):
        code, _, err = tool(*command)
        assert code == 2
        assert place in err


@pytest.mark.parametrize("name", LONG_GRADES)
def test_a_grade_of_400_digits_is_named(tool, name):
    written, place = LONG_GRADES[name]
    Path(name).write_text(written % LONG)
    code, _, err = tool("eval", name, "a.run", "-m", "nDCG@5 GWAP(max_rel=2)@5 P@1")
    assert code == 2
    assert place in err


def test_a_number_that_python_does_not_read_is_named(tool):
    Path("run.json").write_text('{"q1":\n {"a": 1,\n "b": ' + "9" * 5000 + "}}")
    code, _, err = tool("eval", "qrels.txt", "run.json")
    assert code == 2
    assert "run.json:3: " in err


FIELDS = ("duration_ms", "start", "tokens", "candidates", "startTimeUnixNano", "endTimeUnixNano")


@pytest.mark.parametrize("digits", [LONG, "9" * 30])
@pytest.mark.parametrize("field", FIELDS)
def test_a_number_of_many_digits_in_a_log_is_named(tool, field, digits):
    record = {"startTimeUnixNano": 1, "endTimeUnixNano": 2} if "Nano" in field else {"start": 1, "duration_ms": 2}
    Path("log.jsonl").write_text(json.dumps({**record, field: int(digits)}))
    code, _, err = tool("serving", "log.jsonl")
    if code == 0:  # a number of 30 digits is long, and yet one
        assert field in ("duration_ms", "tokens")
        assert len(digits) == 30
    else:
        assert code == 2
        assert "log.jsonl:1: " in err


def test_a_serving_figure_of_400_digits_is_named(tool):
    Path("serving.json").write_text(json.dumps({"p95_ms": int(LONG)}))
    code, _, err = tool("gate", "qrels.txt", "a.run", "p95_ms<=500", "--serving", "serving.json")
    assert code == 2
    assert "'p95_ms'" in err


REPEATED = [
    '{"q1":\n {"a": 1,\n "a": 2}',
    '{"q1":\n {"a": 1,\n "a": 2}} x',
    '{"q1":\n {"a": 1,\n "a": 2}, ',
    '{"q1":\n {"a": 1,\n "a": 2}, 5',
    '{"q1":\n {"a": 1,\n "a": 2}, "q2": ' + "[" * 100_000,
    '{"q1":\n {"a": 1,\n "a": 2}, "q2": ' + "9" * 5000 + "}",
]


@pytest.mark.parametrize("text", REPEATED, ids=range(len(REPEATED)))
def test_a_repeated_key_in_a_broken_json_file_is_a_message(tool, text):
    Path("run.json").write_text(text)
    code, _, err = tool("eval", "qrels.txt", "run.json")
    assert code == 2
    assert err.startswith("permed-measures: run.json:")
    assert "the key 'a' occurs twice" in err or "not JSON" in err


def test_a_measure_is_read_without_warnings(tool):
    words = ("P@5in", "P@5inch", "P(rel=5if)@5", "nDCG(gains={1: 2or})@5", "GWAP@1.is")
    for word in words:
        with pytest.raises(ParamError):
            parse(word)
    code = (
        "import permed_measures as p, sys\nfor word in sys.argv[1:]:\n  try: p.parse(word)\n  except p.ParamError: pass"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, check=True, env=ENVIRONMENT)
    assert done.stderr == b""
    code, out, _ = tool("eval", "qrels.txt", "a.run", "-m", "nDCG(dcg='exp-log2')@5")
    assert code == 0
    assert "exp-log2" in out


MANY = 4000
"""Queries: their values are more than a write that is cut short takes."""


def test_the_streams_of_a_caller_stay_open_and_as_they_were(tool, tmp_path, monkeypatch):
    with (tmp_path / "out.txt").open("wb", buffering=0) as raw:
        stream = TextIOWrapper(raw, "ascii", write_through=True)  # as pytest's and -u's: no buffer below
        monkeypatch.setattr(sys, "stdout", stream)
        assert tool("eval", "qrels.txt", "a.run", "-m", "P@1")[0] == 0
        assert sys.stdout is stream
        assert stream.errors == "strict"
        gc.collect()
        stream.write("still open\n")
    assert (tmp_path / "out.txt").read_text().splitlines()[4:] == ["a    1.0000", "still open"]


UNBUFFERED = {**ENVIRONMENT, "PYTHONUNBUFFERED": "1"}
WRITING = {
    "eval": ("eval", "many.txt", "a.run", "-m", "P@1", "-q", "--format", "csv"),
    "eval -o -": ("eval", "many.txt", "a.run", "-m", "P@1", "-q", "--format", "csv", "-o", "-"),
    "eval -o /dev/stdout": ("eval", "many.txt", "a.run", "-m", "P@1", "-q", "--format", "csv", "-o", "/dev/stdout"),
    "ir_measures": ("many.txt", "a.run", "P@1", "-q"),
    "convert": ("convert", "many.txt", "-", "--to", "csv"),
    "verify": ("verify", "many.txt", "a.run", "-m", "NumRel", "--format", "json"),
    "help": ("eval", "--help"),
}


@pytest.mark.skipif(sys.platform != "linux", reason="limits of a file's size are POSIX, /dev/stdout is Linux'")
@pytest.mark.parametrize("name", WRITING)
@pytest.mark.usefixtures("tool")
def test_every_byte_is_written_or_the_exit_code_is_2(name):
    Path("many.txt").write_text("".join(f"q{n} 0 a 1\n" for n in range(MANY)))
    # a file that may not grow is a disk that is full: the write that reaches the limit is cut short, the next one fails
    start = "import os, resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
    start += "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2); "
    start += "os.execv(sys.executable, [sys.executable, '-m', 'permed_measures', *sys.argv[2:]])"

    def written(limit):
        with Path("out").open("wb") as out:
            command = [sys.executable, "-c", start, str(limit), *WRITING[name]]
            done = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, check=False, env=UNBUFFERED)
        return done.returncode, done.stderr

    code, _ = written(1 << 30)
    assert code == 0
    code, err = written(len(Path("out").read_bytes()) - 1)
    assert code == 2
    assert b"cannot write the output: File too large" in err
