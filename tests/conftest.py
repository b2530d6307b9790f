"""What the tests share: where the reference data is, and data generators."""

from __future__ import annotations

import os
from pathlib import Path
from typing import ClassVar

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from ir_measures.measures import registry

from permed_measures.measures import DEFINED
from permed_measures.measures.base import CUTOFF, HostName, RankingMeasure, define

FULL = bool(os.environ.get("PERMED_FULL"))
"""Whether all generated examples are tried, as .ci/run has it on one version of Python, or a quarter of them."""


def few(number):
    """Return how many of these are enough when time is short."""
    return number if FULL else max(10, number // 4)


def examples(number):
    """Try so many generated examples, or fewer when time is short."""
    return settings(max_examples=few(number))


@pytest.fixture
def forgotten():
    """Forget the measures that a test defines: here, and in ir_measures."""
    known = [(names, dict(names)) for names in (DEFINED, registry)]
    yield
    for names, before in known:
        names.clear()
        names.update(before)


@pytest.fixture
def first_grade(forgotten):  # noqa: ARG001  (what is defined here is forgotten afterwards)
    """Define a measure that the package does not have."""

    class _FirstGrade(RankingMeasure):
        """The grade of the first document. >>> 1  # a worked example."""

        NAME = "FirstGrade"
        PRETTY_NAME = "First grade"
        HOST_NAMES = (HostName("first_grade", "First grade"),)
        SUPPORTED_PARAMS: ClassVar = {"cutoff": CUTOFF}
        kernel = staticmethod(lambda ranking, *, cutoff: float(dict(ranking.hits(cutoff)).get(1, 0)))

    define(_FirstGrade)


@pytest.fixture
def shell(capsys):
    """Run the shell tool in this process; return exit code, output and errors."""
    pytest.importorskip("click", reason="the shell tool needs it")
    from permed_measures.cli import main

    def run(*arguments):
        with pytest.raises(SystemExit) as end:
            main(list(arguments))
        captured = capsys.readouterr()
        return end.value.code or 0, captured.out, captured.err

    return run


settings.register_profile(
    "ours", max_examples=few(100), deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ours")

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared():
    if not SHARED.is_dir():
        pytest.skip(f"the reference data is not at {SHARED}")
    return SHARED


def read_trec(path, value_field, fields):
    """Read a TREC file in the plainest way, without our readers."""
    import gzip

    opener = gzip.open if path.suffix == ".gz" else open
    table = {}
    with opener(path, "rt") as lines:
        for line in lines:
            words = line.split()
            assert len(words) == fields
            table.setdefault(words[0], {})[words[2]] = float(words[value_field])
    return table


@pytest.fixture(scope="session")
def covid(shared):
    folder = shared / "trec-covid-r1"
    grades = read_trec(folder / "qrels.txt", 3, 4)
    qrels = {query_id: {doc_id: int(g) for doc_id, g in judged.items()} for query_id, judged in grades.items()}
    runs = {name: read_trec(folder / f"{name}.run.gz", 4, 6) for name in ("irc_entrez", "irc_pubmed")}
    return qrels, runs


ids = st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=4)
grades = st.one_of(st.integers(-2, 4), st.floats(0, 10, allow_nan=False))
# few distinct scores make ties; neighbours below 32-bit precision make near-ties
scores = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, 1.0 + 1e-9, 1.0 - 1e-9, 2.0, float("inf"), float("-inf"), 1e300]),
    st.floats(allow_nan=False, width=64),
)


@st.composite
def queries(draw, judged=grades, max_docs=12):
    """One query: the grades of its judged documents, the scores of those returned."""
    pool = draw(st.lists(ids, min_size=1, max_size=max_docs, unique=True))
    rels = {doc_id: draw(judged) for doc_id in draw(st.lists(st.sampled_from(pool), unique=True))}
    returned = {doc_id: draw(scores) for doc_id in draw(st.lists(st.sampled_from(pool), unique=True))}
    return rels, returned
