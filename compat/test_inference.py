"""What inference computes by hand against scipy, and sign flips against the list of all signs."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import special, stats

from permed_measures import inference
from permed_measures.inference.student import t_quantile, t_tail

approx = pytest.approx
FREEDOM = (0.5, 1, 1.5, 2, 3, 7, 11, 29.3, 59, 60, 61, 130, 999, 3439, 99_999)


@pytest.mark.parametrize("freedom", FREEDOM)
def test_student_is_scipys(freedom):
    for value in (0.01, 0.3, 1, 1.96, 2.5, 5, 12, 30):
        assert t_tail(value, freedom) == approx(special.stdtr(freedom, -value), rel=1e-11, abs=1e-300)
        assert t_tail(-value, freedom) == approx(special.stdtr(freedom, value), rel=1e-11)
    for share in (0.001, 0.2, 0.5001, 0.6, 0.8, 0.9, 0.95, 0.975, 0.995, 0.9999, 1 - 1e-7):
        assert t_quantile(share, freedom) == approx(special.stdtrit(freedom, share), rel=1e-8)


@pytest.mark.parametrize("num", [2, 5, 12, 30, 400])
def test_without_clusters_the_formula_is_the_paired_t(num):
    before, after = np.random.default_rng(num).random((2, num))
    theirs = stats.ttest_rel(after, before)
    sample = inference.units(after - before)
    assert inference.mean_p(sample) == approx(theirs.pvalue, rel=1e-10)
    found = inference.estimate(sample)
    assert found.interval(0.1) == approx(tuple(theirs.confidence_interval(0.9)), rel=1e-10)
    assert found.tail(0.1) == approx(stats.ttest_1samp(after - before, 0.1, alternative="greater").pvalue, rel=1e-10)


def test_with_clusters_the_variance_is_the_jackknifes():
    generator = np.random.default_rng(1)
    clusters = [generator.normal(size=size) for size in (1, 4, 9, 2, 30, 3)]
    sample = inference.Units([float(c.sum()) for c in clusters], [len(c) for c in clusters])
    left_out = [np.concatenate(clusters[:place] + clusters[place + 1 :]).mean() for place in range(len(clusters))]
    mean = np.concatenate(clusters).mean()
    found = inference.estimate(sample)
    # (G-1)/G · Σ (mean without c - mean)²: e_c / (N - n_c) is that difference
    assert found.mean == approx(mean)
    assert found.variance == approx(5 / 6 * sum((value - mean) ** 2 for value in left_out))
    assert found.freedom == approx(49**2 / (1 + 16 + 81 + 4 + 900 + 9) - 1)


@pytest.mark.parametrize("num", [1, 2, 3, 7, 10, 14])
def test_sign_flips_are_the_list_of_all_signs(num):
    generator = np.random.default_rng(num)
    for values in (generator.normal(0.2, 1, num), generator.integers(-2, 4, num) / 10):
        far = [abs(sum(s * v for s, v in zip(signs, values, strict=True))) for signs in _signs(num)]
        expected = sum(total >= abs(values.sum()) - 1e-9 for total in far) / 2**num
        assert inference.sign_flip_p(inference.units(values)) == approx(expected, rel=1e-12)


def _signs(num):
    return itertools.product((1, -1), repeat=num)


def test_whole_clusters_flip():
    clusters = [[0.3, 0.1], [0.2], [-0.1, 0.4, 0.2], [0.1, -0.3]]
    values = {f"{c}_{turn}": value for c, inside in enumerate(clusters) for turn, value in enumerate(inside)}
    sums = [sum(inside) for inside in clusters]
    far = [abs(sum(s * v for s, v in zip(signs, sums, strict=True))) for signs in _signs(4)]
    expected = sum(total >= abs(sum(sums)) - 1e-9 for total in far) / 16
    assert inference.sign_flip_p(inference.units(values, lambda query: query[0])) == expected


def test_drawn_signs_are_near_the_exact_ones():
    columns = np.random.default_rng(3).normal(0.2, 1, (18, 4))
    exact = [inference.sign_flip_p(inference.units(column)) for column in columns.T]
    assert inference.drawn_sign_flip_p(columns, 0) == approx(exact, abs=0.008)  # five standard errors of 99,999 draws


@pytest.mark.parametrize(("num", "comparisons"), [*itertools.product((15, 20, 50, 130, 1000), (1, 6, 30))])
def test_detectable_has_its_power_by_the_noncentral_t(num, comparisons):
    found = inference.detectable(1.0, num, 0.05, comparisons)
    errors = found / math.sqrt((num - 1) / (num - 3))  # the allowance for a spread that was estimated
    critical = stats.t.ppf(1 - 0.025 / comparisons, num - 1)
    away = stats.nct(num - 1, errors)
    assert away.sf(critical) + away.cdf(-critical) == approx(0.8, abs=0.001)  # quantiles of χ² by Wilson and Hilferty
