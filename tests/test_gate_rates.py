"""What a gate's verdicts are worth: a small, seeded version of benchmarks/gates.py."""

from __future__ import annotations

import importlib.util
from functools import partial
from pathlib import Path

import pytest

np = pytest.importorskip("numpy")

PATH = Path(__file__).resolve().parents[1] / "benchmarks" / "gates.py"
spec = importlib.util.spec_from_file_location("gates", PATH)
gates = importlib.util.module_from_spec(spec)
spec.loader.exec_module(gates)

TIMES = 400


def room(rate):
    """Three standard errors of a rate."""
    return 3 * (rate * (1 - rate) / TIMES) ** 0.5


@pytest.mark.parametrize("kind", gates.KINDS)
@pytest.mark.parametrize("num", [5, 30, 200])
def test_a_drop_as_large_as_the_margin_is_undecided(kind, num):
    draw = gates.KINDS[kind]
    margin = gates.true_drop(draw, np.random.default_rng(1), 0.05)
    fails, holds, _ = gates.rates(partial(draw, np.random.default_rng(2), num, 0.05), margin, TIMES)
    assert fails <= 0.07 + room(0.07)
    assert holds <= 0.07 + room(0.07)


@pytest.mark.parametrize("kind", gates.KINDS)
@pytest.mark.parametrize("clusters", gates.CLUSTERS)
def test_builds_without_a_difference_pass(kind, clusters):
    draw, parts, rng = gates.KINDS[kind], gates.CLUSTERS[clusters](100), np.random.default_rng(3)
    margin = gates.decidable(draw, rng, parts, 0.3)
    same = partial(gates.clustered, draw, rng, parts, 0.0, 0.3)
    fails, holds, unsure = gates.rates(same, margin, TIMES, None if clusters == "none" else parts)
    assert fails <= 0.05
    assert unsure <= 0.06 + room(0.06)
    assert holds >= 0.8 - room(0.8)
    worse = partial(gates.clustered, draw, rng, parts, 0.1, 0.3)
    assert gates.rates(worse, margin, TIMES, None if clusters == "none" else parts)[1] < holds


def test_a_drop_as_large_as_the_margin_is_undecided_with_several_runs_too():
    for what, fails, holds, _, most in gates.repeated(100, cases=[(2, 50, 0.02), (3, 200, 0.02)]):
        assert max(fails, holds) <= most + 3 * (most * (1 - most) / 100) ** 0.5, what


def test_ten_queries_from_1_to_070():
    assert gates.verdict(np.ones(10), np.array([0.0] * 3 + [1.0] * 7), 0.05) == ("undecided", 3)
