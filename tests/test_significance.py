"""The paired statistics against scipy's, and against arithmetic."""

from __future__ import annotations

import itertools
import math
import sys

import numpy as np
import pytest

from permed_measures.comparison.significance import (
    benjamini_hochberg,
    bootstrap_intervals,
    detectable_difference,
    effect_size,
    holm,
    randomization_tests,
    t_test,
    wilcoxon,
)
from permed_measures.errors import HostError

approx = pytest.approx
stats = pytest.importorskip("scipy.stats", reason="scipy is what these are checked against")

SAMPLES = {
    f"{kind} {num}": draw(np.random.default_rng(num), num)
    for num in (2, 5, 12, 30, 80, 400)
    for kind, draw in {
        "smooth": lambda generator, num: generator.normal(0.05, 0.2, num),
        "ties and zeros": lambda generator, num: generator.integers(-3, 5, num) / 10,
    }.items()
}


@pytest.mark.parametrize("name", SAMPLES)
def test_t_test_is_scipys(name):
    d = SAMPLES[name]
    assert t_test(d) == approx(stats.ttest_rel(d + 0.3, np.full(len(d), 0.3)).pvalue, rel=1e-9)


@pytest.mark.parametrize("name", [name for name in SAMPLES if name.startswith("smooth")])
def test_wilcoxon_is_scipys_without_ties(name):
    d = SAMPLES[name]
    assert wilcoxon(d) == approx(stats.wilcoxon(d).pvalue, rel=1e-9)


@pytest.mark.parametrize("num", [80, 400])
def test_wilcoxon_is_scipys_approximation_with_many_ties(num):
    d = SAMPLES[f"ties and zeros {num}"]
    assert wilcoxon(d) == approx(stats.wilcoxon(d, zero_method="wilcox", method="approx").pvalue, rel=1e-9)


@pytest.mark.parametrize("num", [2, 5, 12])
def test_wilcoxon_with_ties_is_exact(num):
    d = SAMPLES[f"ties and zeros {num}"]
    kept = d[d != 0]
    ranks = stats.rankdata(np.abs(np.round(kept, 6)))
    middle = ranks.sum() / 2
    seen = abs(ranks[kept > 0].sum() - middle)
    sums = [sum(r for r, sign in zip(ranks, signs, strict=True) if sign) for signs in _signs(len(kept))]
    assert wilcoxon(d) == approx(sum(abs(s - middle) >= seen - 1e-9 for s in sums) / len(sums))


def _signs(num):
    return list(itertools.product((False, True), repeat=num))


def test_wilcoxon_of_five_gains():
    # of the 2^5 signs only all plus and all minus are as far out: 2/32
    assert wilcoxon(np.array([0.1, 0.2, 0.3, 0.4, 0.5])) == 2 / 32


def test_randomization_of_three_by_hand():
    # sums of ±1 ±2 ±4: |1 + 2 - 4| = 1; every one of the 8 sums is 1 or more; |1 + 2 + 4| = 7 is reached by 2 of 8
    assert randomization_tests(np.array([[1.0, 1.0], [2.0, 2.0], [-4.0, 4.0]]), seed=0) == [1.0, 2 / 8]


@pytest.mark.parametrize("num", [5, 12])
@pytest.mark.parametrize("kind", ["smooth", "ties and zeros"])
def test_randomization_is_scipys_permutation_test_where_exact(kind, num):
    d = SAMPLES[f"{kind} {num}"]
    theirs = stats.permutation_test((d,), np.mean, permutation_type="samples", n_resamples=np.inf, vectorized=True)
    assert randomization_tests(d[:, None], seed=0) == [approx(theirs.pvalue, abs=1e-12)]


def test_randomization_by_draws_is_near_the_exact_value():
    d = SAMPLES["smooth 30"][:17]
    sums = np.array([0.0])
    for difference in d:
        sums = np.concatenate([sums + difference, sums - difference])
    exact = np.count_nonzero(np.abs(sums) >= abs(d.sum()) - 1e-12) / len(sums)
    (drawn,) = randomization_tests(d[:, None], seed=1)
    error = math.sqrt(exact * (1 - exact) / 100_000)
    assert drawn != exact
    assert drawn == approx(exact, abs=4 * error)


def test_randomization_is_never_zero_and_repeats_with_its_seed():
    d = np.full((60, 1), 0.5) + np.linspace(0, 0.1, 60)[:, None]
    assert randomization_tests(d, seed=3) == [1 / 100_001]
    smooth = SAMPLES["smooth 80"][:, None]
    assert randomization_tests(smooth, seed=3) == randomization_tests(smooth, seed=3)
    assert randomization_tests(smooth, seed=3) != randomization_tests(smooth, seed=4)


@pytest.mark.parametrize("num", [12, 30, 400])  # with 5 many draws equal the mean, which scipy sees only bit by bit
def test_intervals_are_scipys_bca(num):
    _check_bca(SAMPLES[f"smooth {num}"])


@pytest.mark.parametrize("num", [4, 5, 6, 8])
def test_small_intervals_are_scipys_bca_where_means_are_exact(num):
    """Multiples of num/8 have means without rounding: there scipy sees every draw that equals the mean."""
    for seed in range(4):
        _check_bca(np.random.default_rng(seed).integers(-8, 9, num) / 8 * num)


def _check_bca(d):
    generator = {"rng" if "rng" in _parameters(stats.bootstrap) else "random_state": np.random.default_rng(5)}
    theirs = stats.bootstrap((d,), np.mean, method="BCa", n_resamples=4000, **generator).confidence_interval
    ((low, high),) = bootstrap_intervals(d[:, None], alpha=0.05, resamples=4000, seed=5)
    assert (low, high) == (approx(theirs.low, abs=1e-9), approx(theirs.high, abs=1e-9))


def _parameters(function):
    import inspect

    return inspect.signature(function).parameters


def test_columns_share_draws_and_chunks_change_nothing(monkeypatch):
    both = np.column_stack([SAMPLES["smooth 80"], SAMPLES["ties and zeros 80"]])
    alone = [bootstrap_intervals(both[:, [place]], alpha=0.1, resamples=500, seed=0)[0] for place in (0, 1)]
    together = bootstrap_intervals(both, alpha=0.1, resamples=500, seed=0)
    monkeypatch.setattr("permed_measures.comparison.significance._CELLS", 1000)
    in_pieces = bootstrap_intervals(both, alpha=0.1, resamples=500, seed=0)
    for first, second, third in zip(alone, together, in_pieces, strict=True):
        assert first == approx(second)
        assert first == approx(third)


def test_corrections_are_scipys_and_arithmetic():
    p_values = [0.01, 0.02, 0.03, 0.5]
    assert benjamini_hochberg(p_values) == approx(stats.false_discovery_control(p_values))
    assert holm(p_values) == approx([4 * 0.01, 3 * 0.02, 2 * 0.03, 0.5])
    assert holm([0.5, 0.9, 0.8]) == [1.0, 1.0, 1.0]
    assert holm([None, 0.03]) == [None, 0.03]
    assert benjamini_hochberg([None, None]) == [None, None]


def test_effect_size_and_detectable_difference_by_hand():
    d = np.array([0.1, 0.3, 0.2, 0.4])
    deviation = math.sqrt((0.15**2 + 0.05**2 + 0.05**2 + 0.15**2) / 3)
    assert effect_size(d) == approx(0.25 / deviation)
    # Student's t with 3 degrees of freedom: 3.1824463 at 0.975, 0.9784723 at 0.8 (printed tables)
    assert detectable_difference(d, alpha=0.05) == approx((3.1824463 + 0.9784723) * deviation / 2, rel=1e-6)


def test_the_detectable_difference_is_found_four_times_out_of_five():
    spread = np.linspace(-1, 1, 40)
    detectable = detectable_difference(spread, alpha=0.05)
    noncentral = detectable / (spread.std(ddof=1) / math.sqrt(40))
    critical = stats.t.ppf(0.975, 39)
    power = stats.nct.sf(critical, 39, noncentral) + stats.nct.cdf(-critical, 39, noncentral)
    assert power == approx(0.8, abs=0.01)


def test_no_difference_at_all():
    zeros = np.zeros(7)
    assert (t_test(zeros), wilcoxon(zeros), randomization_tests(zeros[:, None], seed=0)) == (1.0, 1.0, [1.0])
    assert bootstrap_intervals(zeros[:, None], alpha=0.05, resamples=100, seed=0) == [(0.0, 0.0)]
    assert (effect_size(zeros), detectable_difference(zeros, alpha=0.05)) == (0.0, None)


def test_the_same_difference_everywhere():
    same = np.full(7, 0.25)
    assert t_test(same) == 0.0
    assert wilcoxon(same) == 2 / 2**7
    assert bootstrap_intervals(same[:, None], alpha=0.05, resamples=100, seed=0) == [(0.25, 0.25)]
    assert (effect_size(same), detectable_difference(same, alpha=0.05)) == (None, None)


def test_one_query_defines_nothing():
    one = np.array([0.3])
    assert (t_test(one), wilcoxon(one), effect_size(one), detectable_difference(one, alpha=0.05)) == (None,) * 4
    assert randomization_tests(one[:, None], seed=0) == [None]
    assert bootstrap_intervals(one[:, None], alpha=0.05, resamples=100, seed=0) == [None]


def test_without_scipy_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    with pytest.raises(HostError, match=r"permed-measures\[cli\]"):
        t_test(np.array([0.1, 0.3]))
