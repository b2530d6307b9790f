"""Intervals of percentiles, shares, rates and means of independent calls, and of the difference between two samples.

A percentile has the exact interval of order statistics (no distribution is supposed), a share Wilson's, a rate that of
the Poisson score, a mean the t interval. The interval of a difference is made of the two: MOVER (Zou and Donner 2008,
https://doi.org/10.1002/sim.3095). ``benchmarks/serving.py`` simulates how often each covers the truth.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

from permed_measures.inference import estimate, units

if TYPE_CHECKING:
    from permed_measures.inference import Floats

LEVEL = 0.95
RESAMPLES = 10_000
_Z = NormalDist().inv_cdf((1 + LEVEL) / 2)
_WINDOW = 10  # standard deviations around its mean beyond which a binomial count is never


class Estimated(NamedTuple):
    """A figure with its 95% interval; an end that cannot be told is infinite."""

    value: float
    low: float
    high: float

    def minus(self, other: "Estimated") -> "Estimated":
        """Return the difference of two independent figures.

        >>> Estimated(5.0, 2.0, 8.0).minus(Estimated(1.0, -3.0, 5.0))   # 4 ± √(3² + 4²)
        Estimated(value=4.0, low=-1.0, high=9.0)
        """
        change = self.value - other.value
        low = change - math.hypot(self.value - self.low, other.high - other.value)
        return Estimated(change, low, change + math.hypot(self.high - self.value, other.value - other.low))


def of_percentile(ordered: Sequence[float], percent: float, known: int | None = None) -> Estimated | None:
    """Return a percentile of values in order, the first ``known`` of which are; the others are at least so large.

    An upper end beyond what is known is infinite.

    >>> of_percentile(range(1, 101), 50)       # ranks 40 and 61: 96.5% of all samples
    Estimated(value=50.5, low=40.0, high=61.0)
    """
    if not len(ordered):
        return None
    place = (len(ordered) - 1) * percent / 100
    below = int(place)
    above = float(ordered[min(below + 1, len(ordered) - 1)])
    value = float(ordered[below]) + (place - below) * (above - float(ordered[below]))
    low, high = _ranks(len(ordered), percent / 100)
    top = float(ordered[high - 1]) if high <= (len(ordered) if known is None else known) else math.inf
    return Estimated(value, float(ordered[low - 1]) if low else 0.0, top)


def _ranks(count: int, share: float) -> tuple[int, int]:
    """Return the ranks between which a percentile lies: how many of ``count`` samples are below it is binomial."""
    spread = _WINDOW * math.sqrt(count * share * (1 - share)) + _WINDOW
    first, last = max(0, int(count * share - spread)), min(count, int(count * share + spread) + 1)
    chances = [0.0]  # logarithms, from the first on
    for below in range(first, last):
        chances.append(chances[-1] + math.log((count - below) / (below + 1) * share / (1 - share)))
    top, reached, low, high = max(chances), 0.0, first, last + 1
    weights = [math.exp(chance - top) for chance in chances]
    whole, tail = math.fsum(weights), (1 - LEVEL) / 2
    for below, weight in enumerate(weights, first):
        reached += weight / whole
        if reached <= tail:
            low = below + 1
        if reached >= 1 - tail:
            high = below + 1
            break
    return low, high


def of_share(count: int, total: int) -> Estimated | None:
    """Return a share of independent calls, by Wilson's score.

    >>> [round(number, 4) for number in of_share(0, 100)]       # z² / (n + z²) at the upper end
    [0.0, 0.0, 0.037]
    """
    if not total:
        return None
    share, room = count / total, _Z**2 / total
    middle = (share + room / 2) / (1 + room)
    half = math.sqrt(room * (share * (1 - share) + room / 4)) / (1 + room)
    return Estimated(share, max(0.0, middle - half), min(1.0, middle + half))


def of_rate(count: int, seconds: float | None) -> Estimated | None:
    """Return how many a second, by the score of the Poisson distribution.

    >>> [round(number, 3) for number in of_rate(0, 10.0)]       # z² / 10 at the upper end
    [0.0, 0.0, 0.384]
    """
    if not seconds:
        return None
    middle, half = count + _Z**2 / 2, _Z * math.sqrt(count + _Z**2 / 4)
    return Estimated(count / seconds, max(0.0, middle - half) / seconds, (middle + half) / seconds)


def of_mean(values: Sequence[float], factor: float = 1.0) -> Estimated | None:
    """Return a mean, times a factor, with its t interval."""
    found = estimate(units(values))
    if found is None:
        return None
    low, high = found.interval(1 - LEVEL)
    return Estimated(found.mean * factor, low * factor, high * factor)


def percentile_interval(
    samples: "Floats", percent: float, *, seed: int = 0, resamples: int = RESAMPLES, level: float = LEVEL
) -> tuple[float, float] | None:
    """Return the bootstrap interval of a percentile; None for fewer than two samples.

    A resample is never drawn whole. The k-th smallest of n uniform draws follows Beta(k, n - k + 1), and given it the
    next one is the smallest of the n - k draws above it; the percentile needs these two only. That is the very
    distribution of the bootstrap, at a cost that does not grow with n.
    """
    import numpy as np  # noqa: PLC0415  (only for drawing)

    count = len(samples)
    if count < 2:  # noqa: PLR2004  (one sample tells nothing about its spread)
        return None
    generator = np.random.default_rng(seed)
    place = (count - 1) * percent / 100
    below = min(int(place), count - 2)
    lower = generator.beta(below + 1, count - below, size=resamples)
    upper = lower + (1 - lower) * generator.beta(1, count - below - 1, size=resamples)
    ordered = np.sort(samples)
    low_samples, high_samples = (ordered[np.minimum((u * count).astype(np.int64), count - 1)] for u in (lower, upper))
    values = low_samples + (place - below) * (high_samples - low_samples)
    tail = (1 - level) / 2 * 100
    low, high = np.percentile(values, [tail, 100 - tail])
    return float(low), float(high)
