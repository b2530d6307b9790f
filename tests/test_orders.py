"""Kendall's tau and tau_AP: published values, and what must hold of both."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from permed_measures.inference.orders import kendall_tau, tau_ap, tau_ap_of

# README.md of julian-urbano/ircor, the package of Urbano and Marrero
X = [0.06, 0.2, 0.27, 0.37, 0.57, 0.63, 0.66, 0.9, 0.91, 0.94]
Y = [0.37, 0.06, 0.2, 0.27, 0.57, 0.66, 0.63, 0.91, 0.9, 0.94]
TIED_X, TIED_Y = ([round(value * 5) / 5 for value in column] for column in (X, Y))


def test_published_values_without_ties():
    assert kendall_tau(X, Y) == pytest.approx(0.7777778, abs=1e-7)
    assert tau_ap_of(X, Y) == pytest.approx(0.7491182, abs=1e-7)
    assert tau_ap(X, Y) == pytest.approx((tau_ap_of(X, Y) + tau_ap_of(Y, X)) / 2)


def test_published_values_with_ties():
    assert kendall_tau(TIED_X, TIED_Y) == pytest.approx(0.75, abs=1e-7)
    assert tau_ap(TIED_X, TIED_Y) == pytest.approx(0.6269841, abs=1e-7)


def test_by_hand():
    # found c, a, b, d; truly a, b, c, d: a has none of 1 right, b 1 of 2, d 3 of 3
    assert tau_ap_of([4, 3, 2, 1], [3, 2, 4, 1]) == pytest.approx(2 / 3 * (0 / 1 + 1 / 2 + 3 / 3) - 1)


@pytest.mark.parametrize("correlation", [kendall_tau, tau_ap])
def test_no_order_has_no_correlation(correlation):
    assert correlation([0.5], [0.5]) is None
    assert correlation([0.5, 0.5], [0.1, 0.2]) is None
    assert correlation([], []) is None


@pytest.mark.parametrize("correlation", [kendall_tau, tau_ap])
@given(columns=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2))
def test_both_are_symmetric_and_in_range(correlation, columns):
    one, other = zip(*columns, strict=True)
    found = correlation(one, other)
    assert found == pytest.approx(correlation(other, one), abs=1e-12)
    assert found is None or -1 - 1e-12 <= found <= 1 + 1e-12
    if len(set(one)) == len(one):
        assert correlation(one, one) == pytest.approx(1)
        assert correlation(one, [-value for value in one]) == pytest.approx(-1)
