"""The plugin of pytest: fixture, marker, report and properties, alone and with workers."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

pytest_plugins = "pytester"

ROOT = Path(__file__).resolve().parents[1]
PLUGIN = "permed_measures.gating.pytest_plugin"
QRELS = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d3 1\n"
WORKERS = pytest.param(("-n", "2"), id="workers")


@pytest.fixture
def run(pytester, monkeypatch):
    """Run pytest on tests in a folder with qrels.txt; return its result."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.makefile(".txt", qrels=QRELS)
    known = any(entry.value == PLUGIN for entry in entry_points(group="pytest11"))

    def tested(source, *options):
        pytester.makepyfile(source)
        return pytester.runpytest_subprocess(*(() if known else ("-p", PLUGIN)), "-p", "no:cacheprovider", *options)

    return tested


def test_the_entry_point_is_declared():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.search(rf'\[project\.entry-points\.pytest11\]\npermed-measures = "{PLUGIN}"', text)


def test_the_import_is_light():
    code = f"import sys, {PLUGIN}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"numpy", "scipy", "pandas", "polars", "duckdb", "click", "rich", "narwhals"}
    assert not heavy & {name.partition(".")[0] for name in loaded}


@pytest.mark.parametrize("options", [(), WORKERS])
def test_the_lines_of_the_manual(run, pytester, options):
    page = (ROOT / "docs" / "start" / "rag.md").read_text(encoding="utf-8")
    (source,) = re.findall(r"^`test_search.py`:\n\n```py\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    (qrels,) = re.findall(r"^`qrels.txt`:\n\n```text\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert len([line for line in source.splitlines() if line.strip()]) <= 5
    # of q1 the relevant document is at rank 1, of q2 here at rank 2: nDCG (1 + 1/log2(3)) / 2 = 0.815, RR 3/4
    source = source.replace('"q2": ["d9", "d3"]', '"q2": ["d3", "d9"]')
    (pytester.path / "qrels.txt").write_text(qrels)
    result = run(source, "--strict-markers", "-W", "error", "--ranking-report", "report.json", *options)
    result.assert_outcomes(passed=1)
    report = json.loads((pytester.path / "report.json").read_text())
    (gate,) = report["gates"]
    assert (report["schema"], gate["test"], gate["verdict"]) == (
        1,
        "test_the_lines_of_the_manual.py::test_search",
        "holds",
    )
    assert [check["value"] for check in gate["checks"]] == [pytest.approx((1 + 0.6309297535714575) / 2), 0.75]


@pytest.mark.parametrize("options", [(), WORKERS])
def test_what_fails_shows_the_table_and_is_reported(run, pytester, options):
    source = """
        import pytest
        QRELS = {f"q{n}": {"a": 1} for n in range(10)}
        GOOD = {query: ["a"] for query in QRELS}

        def test_good(ranking_gate):
            assert ranking_gate(QRELS, GOOD, "P@1 >= 0.9", "RR >= 0.9").held

        def test_bad(ranking_gate):
            ranking_gate(QRELS, {"q1": ["a"]}, "P@1 >= 0.9")

        @pytest.mark.ranking_gate(max_drop={"Success@1": 0.05})
        def test_undecided(ranking_gate):
            after = {q: ["b"] if n < 3 else ["a"] for n, q in enumerate(QRELS)}
            ranking_gate(QRELS, after, baseline=GOOD)

        def test_passes_undecided(ranking_gate):
            after = {q: ["b", "a"] if n % 2 else ["a", "b"] for n, q in enumerate(QRELS)}
            before = {q: ["a", "b"] if n % 2 else ["b", "a"] for n, q in enumerate(QRELS)}
            ranking_gate(QRELS, after, baseline=before, max_drop={"P@1": 0.05})

        def test_wrong(ranking_gate):
            ranking_gate(QRELS, GOOD)
    """
    (pytester.path / "report.md").write_text("old")
    result = run(source, "--ranking-report", "report.md", "--junit-xml", "junit.xml", *options)
    result.assert_outcomes(passed=2, failed=3, warnings=1)
    text = result.stdout.str()
    assert re.search(r"AssertionError: the ranking gate fails\nE +verdict +check +value", text)
    assert re.search(r"E +FAILS +P@1 >= 0\.9 +0\.1000", text)
    assert "the ranking gate could not tell" in text
    assert "RankingGateWarning: P@1 drop <= 0.05 is undecided" in text
    assert "nothing to check" in text
    report = (pytester.path / "report.md").read_text().splitlines()
    assert [line.split(" | ")[1] for line in report[2:]] == ["fails", "holds", "holds", "undecided", "undecided"]
    cases = ET.fromstring((pytester.path / "junit.xml").read_text()).iter("testcase")  # noqa: S314  (pytest's)
    properties = {case.get("name"): {p.get("name"): p.get("value") for p in case.iter("property")} for case in cases}
    assert properties["test_bad"] == {"P@1": "0.1", "ranking_gate": "fails"}
    assert properties["test_undecided"] == {"Success@1 drop": "0.3", "ranking_gate": "undecided"}
    assert properties["test_wrong"] == {}


@pytest.mark.parametrize("options", [(), WORKERS])
def test_a_test_of_every_query(run, options):
    source = """
        import pytest

        @pytest.mark.ranking_gate("RR >= 0.4", qrels="qrels.txt", by_query=True)
        def test_query(ranking_gate, query_id):
            returned = {"q1": ["d1", "d2"], "q2": ["d1", "x", "d3"]}
            ranking_gate(run=returned)
    """
    result = run(source, "-v", *options)
    result.assert_outcomes(passed=1, failed=1)  # q1 has 1, q2 has 1/3
    assert re.search(r"PASSED.*test_query\[q1\]|test_query\[q1\].*PASSED", result.stdout.str())
    wrong = run("import pytest\n@pytest.mark.ranking_gate(by_query=True)\ndef test_query(ranking_gate): pass")
    assert "by_query needs qrels= in the marker, and a parameter query_id" in wrong.stdout.str() + wrong.stderr.str()


def test_a_gate_file_beside_the_test(run, pytester):
    pytester.makefile(".toml", gate='qrels = "qrels.txt"\nrun = "a.json"\nconditions = ["RR >= 0.7"]\n')
    (pytester.path / "a.json").write_text('{"q1": {"d1": 2.0}, "q2": {"x": 2.0, "d3": 1.0}}')
    source = """
        def test_file(ranking_gate):
            assert ranking_gate().checks[0].value == 0.75

        def test_another_run(ranking_gate):
            assert ranking_gate(run={"q1": ["d1"], "q2": ["d3"]}).checks[0].value == 1.0
    """
    run(source).assert_outcomes(passed=2)
