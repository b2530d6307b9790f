"""The one formula, its widening, sign flips and the bounds of a drop, by arithmetic; compat/ has scipy's."""

from __future__ import annotations

import math
import random
import subprocess
import sys

import pytest

from permed_measures import inference
from permed_measures.gating.checks import queries_for_margin
from permed_measures.inference import DIFFERENCE, VALUE, Span, Units, drop_verdict, units

approx = pytest.approx


def test_no_interval_has_width_0():
    low, high = inference.mean_estimate(units([1.0] * 10)).interval()
    # ten ones, a 0 and a 1: mean 11/12, variance (11/12 · 1/12) / 11, t(.975, 11) = 2.201
    assert (low, high) == (approx(11 / 12 - 2.2009852 * math.sqrt(11 / 144 / 11)), 1.0)
    half = 2.5705818 * math.sqrt(2 / 6 / 5)  # four zeros, a -1 and a 1; t(.975, 5) = 2.571
    assert inference.difference_estimate(units([0.0] * 4)).interval() == (approx(-half), approx(half))


def test_one_unit_has_no_interval_and_two_have():
    assert inference.estimate(units([0.5])) is None
    assert inference.estimate(units({"1_1": 0.2, "1_2": 0.4}, lambda _: "1")) is None
    assert inference.estimate(units([0.0, 1.0])).interval() == (
        approx(0.5 - 12.7062047 / 2),
        approx(0.5 + 12.7062047 / 2),
    )


def test_clusters_of_one_query_are_no_clusters():
    values = {str(number): random.Random(number).random() - 0.4 for number in range(30)}
    apart, alone = inference.estimate(units(values, str), 1), inference.estimate(units(values), 1)
    assert (apart.mean, apart.variance, apart.freedom) == approx((alone.mean, alone.variance, alone.freedom))


def test_the_order_of_queries_changes_no_digit():
    values = [random.Random(number).random() for number in range(1000)]
    turned = random.Random(0).sample(values, 1000)
    assert inference.estimate(units(values), 2) == inference.estimate(units(turned), 2)


def test_a_constant_difference_has_the_sign_flip_p():
    assert inference.mean_p(units([1.0, 1.0])) == 0.5
    assert inference.mean_p(units([0.1] * 30)) == 2**-29
    sums, sizes = [0.1 * size for size in (1, 2, 3, 4, 5, 6, 7)], [1, 2, 3, 4, 5, 6, 7]
    assert inference.mean_p(Units(sums, sizes)) == 2**-6


def test_differences_are_widened_where_they_are_0_and_1_or_few():
    assert inference.widening(units([1.0, 0.0, -1.0] * 40)) == 1
    assert inference.widening(units([0.5] * 9 + [0.0] * 91)) == 1
    assert inference.widening(units([0.5] * 10 + [0.0] * 90)) == 0


def test_bounds_stay_in_the_range_and_open_ranges_do_not_clip():
    few = units([1.0, 1.0, 0.0])
    assert inference.estimate(few, 1, VALUE).interval()[1] == 1.0
    assert inference.estimate(few, 1, Span(0.0, 1.0, closed=False)).interval()[1] > 1.0


def test_a_drop_holds_fails_or_is_undecided():
    none = inference.drop(units([0.0] * 200), 0.05)
    assert drop_verdict(none.upper, 0.05, none.p) == "holds"
    clear = inference.drop(units([-0.5, -0.1] * 50), 0.05)
    assert clear.drop == approx(0.3)
    assert drop_verdict(clear.upper, 0.05, clear.p) == "fails"
    assert drop_verdict(clear.upper, 0.05, 0.2) == "undecided"
    few = inference.drop(units([-1.0] * 3 + [0.0] * 7), 0.3)
    assert drop_verdict(few.upper, 0.3, few.p) == "undecided"
    assert drop_verdict(inference.drop(units([-1.0]), 0.3).upper, 0.3, None) == "undecided"


@pytest.mark.parametrize("allowed", [0.1, 0.05, 0.02, 0.01])
def test_below_the_fewest_units_nothing_can_hold(allowed):
    enough = inference.fewest_units(allowed)
    assert enough == {0.1: 31, 0.05: 64, 0.02: 162, 0.01: 327}[allowed]
    assert drop_verdict(inference.drop(units([0.0] * enough), allowed).upper, allowed, 1.0) == "holds"
    assert drop_verdict(inference.drop(units([0.0] * (enough - 1)), allowed).upper, allowed, 1.0) == "undecided"


def test_queries_needed_turn_detectable_round():
    num = inference.units_needed(0.2, 0.02, 0.05, 6)
    assert inference.detectable(0.2 / math.sqrt(num), num, 0.05, 6) <= 0.02
    assert inference.detectable(0.2 / math.sqrt(num - 1), num - 1, 0.05, 6) > 0.02
    assert inference.detectable(0.1, 14, 0.05) is None
    assert queries_for_margin(0.2, 0.05) == math.ceil(((1.6448536 + 0.8416212) * 4) ** 2)


def test_equivalent_needs_the_interval_within_the_margin():
    close = units([0.01, -0.01] * 500)
    assert inference.equivalent(close, 0.01)
    assert not inference.equivalent(close, 0.001)
    assert not inference.equivalent(units([0.0] * 5), 0.1)  # too few to say so
    assert not inference.equivalent(units([0.0]), 0.1)


def test_rare_large_losses_are_seen():
    assert inference.one_sided_few(units([0.02] * 46 + [-0.8] * 4))
    assert not inference.one_sided_few(units([0.02] * 46 + [-0.8, -0.8, 0.8, 0.8]))
    assert not inference.one_sided_few(units([0.02] * 460 + [-0.8] * 40))


def test_the_macro_mean_adds_variances():
    first, second = (inference.estimate(units(values), 1) for values in ([0.1, 0.3, 0.2], [0.5, 0.4, -0.2, 0.1]))
    both = inference.macro([first, second])
    assert both.mean == approx((first.mean + second.mean) / 2)
    assert both.variance == approx((first.variance + second.variance) / 4)
    assert min(first.freedom, second.freedom) <= both.freedom <= first.freedom + second.freedom
    assert both.span == DIFFERENCE


def test_an_interval_needs_neither_numpy_nor_scipy():
    code = (
        "import sys; from permed_measures.inference import mean_estimate, units, sign_flip_p; "
        "mean_estimate(units([0.5, 1.0])).interval(); sign_flip_p(units([0.5, 1.0])); "
        "sys.exit('numpy' in sys.modules or 'scipy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
