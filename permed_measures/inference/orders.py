"""Do two columns of numbers order the same systems alike: Kendall's tau, and tau_AP, which looks at the top."""

import math
from collections.abc import Sequence

_FEWEST = 2


def kendall_tau(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Return Kendall's tau-b, which allows for ties; None where one column has no order at all."""
    from scipy.stats import kendalltau  # noqa: PLC0415  (for those who ask)

    found = float(kendalltau(one, other).statistic) if len(one) >= _FEWEST else math.nan
    return None if math.isnan(found) else found


def tau_ap(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Return tau_AP (Yilmaz et al. 2008), the mean of both directions; ties as Urbano and Marrero (2017, tau_AP,b).

    From 1, the same order, to -1, the reversed one; errors at the top weigh most. None where one column has no order.

    >>> tau_ap([0.9, 0.8, 0.7], [0.8, 0.9, 0.7])   # the top two exchanged: 2/2 · (0/1 + 2/2) - 1, in both directions
    0.0
    """
    found = [tau_ap_of(*pair) for pair in ((one, other), (other, one))]
    return None if None in found else math.fsum(value for value in found if value is not None) / len(found)


def tau_ap_of(true: Sequence[float], found: Sequence[float]) -> float | None:
    """Return tau_AP of an order that was found, where the other one is the true one.

    Of each system below the top, which share of those found above it is truly above it; systems that are tied with it
    count neither way, and those tied for the first place have none above them.
    """
    shares = []
    for own, place in zip(true, found, strict=True):
        above = [other for other, theirs in zip(true, found, strict=True) if theirs > place]
        if above:
            shares.append(sum(other > own for other in above) / len(above))
    return 2 * math.fsum(shares) / len(shares) - 1 if shares else None
