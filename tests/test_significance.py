"""The paired statistics against scipy's, and against arithmetic."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from permed_measures.comparison.significance import benjamini_hochberg, effect_size, holm, wilcoxon, within_reach

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


@pytest.mark.parametrize("name", [name for name in SAMPLES if name.startswith("smooth")])
def test_wilcoxon_is_scipys_without_ties(name):
    d = SAMPLES[name]
    assert wilcoxon(d)[0] == approx(stats.wilcoxon(d).pvalue, rel=1e-9)


@pytest.mark.parametrize("num", [80, 400])
def test_wilcoxon_is_scipys_approximation_with_many_ties(num):
    d = SAMPLES[f"ties and zeros {num}"]
    assert wilcoxon(d)[0] == approx(stats.wilcoxon(d, zero_method="wilcox", method="approx").pvalue, rel=1e-9)


@pytest.mark.parametrize("num", [2, 5, 12])
def test_wilcoxon_with_ties_is_exact(num):
    d = SAMPLES[f"ties and zeros {num}"]
    kept = d[d != 0]
    ranks = stats.rankdata(np.abs(np.round(kept, 6)))
    middle = ranks.sum() / 2
    seen = abs(ranks[kept > 0].sum() - middle)
    sums = [sum(r for r, sign in zip(ranks, signs, strict=True) if sign) for signs in _signs(len(kept))]
    assert wilcoxon(d)[0] == approx(sum(abs(s - middle) >= seen - 1e-9 for s in sums) / len(sums))


def _signs(num):
    return list(itertools.product((False, True), repeat=num))


def test_wilcoxon_of_five_gains():
    # of the 2^5 signs only all plus and all minus are as far out: 2/32
    assert wilcoxon([0.1, 0.2, 0.3, 0.4, 0.5]) == (2 / 32, 1)
    assert wilcoxon([-0.1, -0.2, -0.3, -0.4, -0.5]) == (2 / 32, -1)


def test_corrections_are_scipys_and_arithmetic():
    p_values = [0.01, 0.02, 0.03, 0.5]
    assert benjamini_hochberg(p_values) == approx(stats.false_discovery_control(p_values))
    assert holm(p_values) == approx([4 * 0.01, 3 * 0.02, 2 * 0.03, 0.5])
    assert holm([0.5, 0.9, 0.8]) == [1.0, 1.0, 1.0]
    assert holm([None, 0.03]) == [None, 0.03]
    assert benjamini_hochberg([None, None]) == [None, None]


def test_benjamini_hochberg_is_rounded_as_by_r():
    # R: p.adjust(c(0.01, 0.05, 0.02, 0.03, 0.04), "BH") is 0.05 for all, exactly
    assert benjamini_hochberg([0.01, 0.05, 0.02, 0.03, 0.04]) == [0.05] * 5


def test_what_cannot_reach_the_level_leaves_the_count():
    assert within_reach([0.5] * 20, 0.05) == [False] * 20
    # with all three counted the level is 0.0167, which 0.03 cannot reach; then two are left, at 0.025
    assert within_reach([0.03, 0.001, None], 0.05) == [False, True, True]
    assert within_reach([0.03], 0.05) == [True]


def test_effect_size_by_hand():
    d = [0.1, 0.3, 0.2, 0.4]
    deviation = math.sqrt((0.15**2 + 0.05**2 + 0.05**2 + 0.15**2) / 3)
    assert effect_size(d) == approx(0.25 / deviation)
    assert (effect_size([0.0] * 7), effect_size([0.25] * 7), effect_size([0.3])) == (0.0, None, None)


def test_no_difference_at_all_and_one_query():
    assert wilcoxon([0.0] * 7) == (1.0, 0)
    assert wilcoxon([0.25] * 7) == (2 / 2**7, 1)
    assert wilcoxon([0.3]) is None
