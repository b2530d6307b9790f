"""A type checker finds a user's typos: closed choices, shapes of input, and parameters of measures are declared."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

RIGHT = """
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
from ir_measures import AP, Measure, Qrel, ScoredDoc

from permed_measures import GWAP, Coverage, ListNDCG, compare, evaluate, evaluate_tables, explain, gate, verify
from permed_measures.inputs import QrelsLike, RunLike

QRELS = {"q": {"a": 2, "b": 1}}
RUN = {"q": {"b": 0.9, "a": 0.8}}
MEASURES: list[Measure] = [GWAP(max_rel=3, norm="ideal") @ 10, GWAP @ 10, Coverage(cutoff=5), ListNDCG(dcg="log2"), AP]


def mean(qrels: QrelsLike, run: RunLike) -> float:
    return evaluate(qrels, run, MEASURES, queries="run", order="float64")[GWAP @ 10]


mean(QRELS, RUN)
mean({"q": ["a"]}, {"q": ["a", "b"]})
mean({"q": {"a"}}, "run.trec")
mean(pd.DataFrame(), pl.DataFrame())
mean([Qrel("q", "a", 1, "0")], iter([ScoredDoc("q", "a", 1.0)]))
compare(QRELS, RUN, {"b": RUN}, "P@1", queries="both", test="wilcoxon", correction="bh").render("markdown")
gate(QRELS, RUN, ["P@1>=0.5"], baseline=RUN, max_drop={"P@1": 0.1}, segments="turn", undecided="fail").held
explain(QRELS, RUN, about="map@10").to_markdown()
verify(QRELS, "run.trec", "GWAP@10").to_markdown()
evaluate_tables(pl.LazyFrame(), pl.LazyFrame(), "P@1", duplicates="max", nan_scores="drop")
"""

WRONG = """
from permed_measures import GWAP, ListNDCG, compare, evaluate, evaluate_tables, gate

QRELS = {"q": {"a": 2, "b": 1}}
RUN = {"q": {"b": 0.9, "a": 0.8}}

evaluate(QRELS, RUN, "P@1", queries="qrel")
compare(QRELS, RUN, {"b": RUN}, "P@1", test="ttest")
compare(QRELS, RUN, {"b": RUN}, "P@1", correction="bonferroni")
gate(QRELS, RUN, ["P@1>=0.5"], queries="runs")
evaluate_tables(QRELS, RUN, "P@1", duplicates="last")
evaluate_tables(QRELS, RUN, "P@1", nan_scores="ignore")
evaluate(QRELS, RUN, "P@1", order="float16")
GWAP(max_rell=3)
GWAP(norm="ideel")
ListNDCG(dcg="exp")
GWAP @ "10"
evaluate(3, RUN, "P@1")
evaluate(QRELS, {"q": {"a": "0.5"}}, "P@1")
"""


FIRST_TYPO = 'evaluate(QRELS, RUN, "P@1", queries="qrel")'


def said_by_mypy(folder, script):
    pytest.importorskip("mypy", reason="mypy is not installed")
    (folder / "script.py").write_text(script, encoding="utf-8")
    # this copy of the package; what mypy says of a library that is installed, it does not tell
    environment = {**os.environ, "MYPYPATH": str(ROOT)}
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--no-error-summary", "script.py"]
    checked = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert not checked.stderr
    return [line for line in checked.stdout.splitlines() if line.startswith("script.py")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where both are checked, so that the second finds what mypy learnt of the libraries."""
    return tmp_path_factory.mktemp("script")


@pytest.mark.full
def test_a_right_script_passes(folder):
    assert said_by_mypy(folder, RIGHT) == []


@pytest.mark.full
def test_every_typo_is_found(folder):
    places = [re.match(r"script\.py:(\d+): error: ", said) for said in said_by_mypy(folder, WRONG)]
    lines = WRONG.splitlines()
    found = sorted({int(place[1]) for place in places if place})
    assert [lines[number - 1] for number in found] == lines[lines.index(FIRST_TYPO) :]
