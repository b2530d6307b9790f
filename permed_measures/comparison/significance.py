"""What comparisons alone need: Wilcoxon's signed ranks, the size of an effect, corrections for many comparisons."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING

from permed_measures.inference import EXACT_UNITS, SAME, Units, mean_p, sign_flip_p

if TYPE_CHECKING:
    from permed_measures.inference import Floats

_EXACT_RANKS = 50


def deciding_p(sample: Units) -> float | None:
    """Return the p-value of the deciding test: exact sign flips up to 20 units, above that the t of the formula."""
    return sign_flip_p(sample) if len(sample) <= EXACT_UNITS else mean_p(sample)


def wilcoxon(differences: Sequence[float]) -> tuple[float, int] | None:
    """Return the two-sided p-value of Wilcoxon's signed-rank test and the sign of its rank sum; None for one unit.

    Units without a difference are left out. Exact, ties included, for up to 50 differences; above that the normal
    approximation, corrected for ties.
    """
    import numpy as np  # noqa: PLC0415  (comparisons are imported without it)

    if len(differences) < 2:  # noqa: PLR2004  (one unit has no spread)
        return None
    given = np.asarray(differences, dtype=float)
    kept = given[np.abs(given) > SAME]
    num = len(kept)
    if not num:
        return 1.0, 0
    ranks, ties = _mean_ranks(np.abs(kept))
    positive = float(ranks[kept > 0].sum())
    total = float(ranks.sum())
    sign = (2 * positive > total) - (2 * positive < total)
    if num <= _EXACT_RANKS:
        # twice the ranks are whole numbers: their sums are counted, one difference after the other
        doubled = np.rint(2 * ranks).astype(int)
        ways = np.zeros(int(doubled.sum()) + 1)
        ways[0] = 1
        for rank in doubled:
            ways[rank:] += ways[:-rank].copy()
        tail = float(ways[: round(2 * min(positive, total - positive)) + 1].sum()) / 2.0**num
        return min(1.0, 2 * tail), sign
    variance = num * (num + 1) * (2 * num + 1) / 24 - float((ties**3 - ties).sum()) / 48
    # erfc keeps its digits far out, where 1 + erf has lost them
    return math.erfc(abs(positive - num * (num + 1) / 4) / math.sqrt(variance) / math.sqrt(2)), sign


def _mean_ranks(values: "Floats") -> "tuple[Floats, Floats]":
    """Return the rank of each value, ties sharing the mean of theirs, and how many values share each rank."""
    import numpy as np  # noqa: PLC0415  (as above)

    rounded = np.round(values / SAME) * SAME
    _, places, counts = np.unique(rounded, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    mean_ranks = last - (counts - 1) / 2
    return mean_ranks[places.ravel()], counts.astype(float)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust p-values so that the chance of any false finding among them stays below the level (Holm 1979).

    >>> holm([0.01, 0.04, 0.03, None])      # 3 · 0.01, 2 · 0.03, and 0.04, which may not be below the one before
    [0.03, 0.06, 0.06, None]
    """
    adjusted = list(p_values)
    known = _ascending(p_values)
    highest = 0.0
    for position, (p_value, place) in enumerate(known):
        highest = max(highest, min(1.0, (len(known) - position) * p_value))
        adjusted[place] = highest
    return adjusted


def benjamini_hochberg(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust p-values so that the expected share of false findings stays below the level (1995), rounded as R does.

    >>> benjamini_hochberg([0.01, 0.04, 0.03, None])    # 3/1 · 0.01, 3/3 · 0.04, and at most that of the next
    [0.03, 0.04, 0.04, None]
    """
    adjusted = list(p_values)
    known = _ascending(p_values)
    lowest = 1.0
    for position in range(len(known), 0, -1):
        p_value, place = known[position - 1]
        lowest = min(lowest, len(known) / position * p_value)
        adjusted[place] = lowest
    return adjusted


def _ascending(p_values: Sequence[float | None]) -> list[tuple[float, int]]:
    return sorted((p_value, place) for place, p_value in enumerate(p_values) if p_value is not None)


def within_reach(smallest: Sequence[float | None], alpha: float) -> list[bool]:
    """Tell which tests stay in the count: one that cannot reach alpha / K, with K such tests left, leaves it (Tarone).

    ``smallest`` has the smallest p that each test could have found; None where there is no such bound.

    >>> within_reach([0.5, 0.5, 2**-9, None], 0.05)
    [False, False, True, True]
    """
    known = [0.0 if bound is None else bound for bound in smallest]
    ascending = sorted(known)
    count = 1
    while bisect_left(ascending, alpha / count) > count:
        count += 1
    return [bound < alpha / count for bound in known]


def effect_size(differences: Sequence[float]) -> float | None:
    """Return Cohen's d of paired samples: the mean difference in units of its standard deviation."""
    deviation = standard_deviation(differences)
    if deviation is None:
        return None
    mean = math.fsum(differences) / len(differences)
    if deviation <= SAME * max(map(abs, differences)):
        return 0.0 if abs(mean) < SAME else None
    return mean / deviation


def standard_deviation(values: Sequence[float]) -> float | None:
    """Return the standard deviation of a sample; None of one value."""
    num = len(values)
    if num < 2:  # noqa: PLR2004  (one value has no spread)
        return None
    mean = math.fsum(values) / num
    return math.sqrt(math.fsum([(value - mean) ** 2 for value in values]) / (num - 1))
