"""Paired statistics: what the differences of two runs, query by query, allow one to say.

Every function takes the differences of one comparison, or a matrix with one column per comparison, and returns plain
numbers; None stands for what is not defined, such as anything but the mean with one query.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from permed_measures.errors import require

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Interval = tuple[float, float]

SAME = 1e-9
"""Two values that differ by less are a tie: the same sum taken in another order differs in its last digits."""

POWER = 0.8
_NORMAL = NormalDist()
_CELLS = 2_000_000
"""Resampling goes through about this many cells at a time: 16 MB."""
_EXACT_SIGNS = 16
_EXACT_RANKS = 50
_PERMUTATIONS = 100_000
_FEWEST_PERMUTATIONS = 10_000
_MOST_SIGNS = 10**9


def bootstrap_intervals(columns: Floats, *, alpha: float, resamples: int, seed: int) -> list[Interval | None]:
    """Return the BCa bootstrap interval of each column's mean (Efron 1987); the rows, queries, are drawn together.

    The draws are those of ``scipy.stats.bootstrap`` with ``numpy.random.default_rng(seed)``.
    """
    num_rows = len(columns)
    if num_rows < 2:  # noqa: PLR2004  (one query has no spread)
        return [None] * columns.shape[1]
    drawn = np.concatenate(list(_drawn_means(columns, resamples, seed)))
    return [_bca(column, means, alpha) for column, means in zip(columns.T, drawn.T, strict=True)]


def _drawn_means(columns: Floats, resamples: int, seed: int) -> Iterator[Floats]:
    num_rows = len(columns)
    generator = np.random.default_rng(seed)
    at_once = max(1, _CELLS // num_rows)
    for start in range(0, resamples, at_once):
        size = min(at_once, resamples - start)
        rows = generator.integers(0, num_rows, (size, num_rows))
        rows += np.arange(size)[:, None] * num_rows
        times = np.bincount(rows.ravel(), minlength=size * num_rows).reshape(size, num_rows)
        yield times.astype(np.float64) @ columns / num_rows  # floats: numpy multiplies matrices of ints slowly


def _bca(column: Floats, drawn: Floats, alpha: float) -> Interval:
    mean = float(column.mean())
    centred = column - mean
    if np.abs(centred).max() < SAME:
        return mean, mean
    below = (np.count_nonzero(drawn < mean - SAME) + np.count_nonzero(drawn <= mean + SAME)) / 2 / len(drawn)
    shares = [alpha / 2, 1 - alpha / 2]
    if 0 < below < 1:
        bias = _NORMAL.inv_cdf(below)
        acceleration = float((centred**3).sum() / (6 * (centred**2).sum() ** 1.5))
        moved = [bias + _NORMAL.inv_cdf(share) for share in shares]
        shares = [_NORMAL.cdf(bias + shift / (1 - acceleration * shift)) for shift in moved]
    low, high = np.quantile(drawn, shares).tolist()
    return low, high


def t_test(differences: Floats) -> float | None:
    """Return the two-sided p-value of the paired t-test."""
    num = len(differences)
    if num < 2:  # noqa: PLR2004  (one query has no spread)
        return None
    mean = float(differences.mean())
    deviation = float(differences.std(ddof=1))
    if abs(mean) < SAME and deviation < SAME:
        return 1.0
    if deviation < SAME:  # the same difference everywhere: t is infinite
        return 0.0
    special = require("scipy.special", extra="cli")
    return min(1.0, 2 * float(special.stdtr(num - 1, -abs(mean) / (deviation / math.sqrt(num)))))


def wilcoxon(differences: Floats) -> float | None:
    """Return the two-sided p-value of Wilcoxon's signed-rank test, queries without a difference left out.

    Exact, ties included, for up to 50 differences; above that the normal approximation, corrected for ties.
    """
    if len(differences) < 2:  # noqa: PLR2004  (one query has no spread)
        return None
    kept = differences[differences != 0]
    num = len(kept)
    if not num:
        return 1.0
    ranks, ties = _mean_ranks(np.abs(kept))
    positive = float(ranks[kept > 0].sum())
    lesser = min(positive, float(ranks.sum()) - positive)
    if num <= _EXACT_RANKS:
        # twice the ranks are whole numbers: their sums are counted, one difference after the other
        doubled = np.rint(2 * ranks).astype(int)
        ways = np.zeros(int(doubled.sum()) + 1)
        ways[0] = 1
        for rank in doubled:
            ways[rank:] += ways[:-rank].copy()
        tail = float(ways[: round(2 * lesser) + 1].sum()) / 2.0**num
        return min(1.0, 2 * tail)
    expected = num * (num + 1) / 4
    variance = num * (num + 1) * (2 * num + 1) / 24 - float((ties**3 - ties).sum()) / 48
    # erfc keeps its digits far out, where 1 + erf has lost them
    return math.erfc(abs(positive - expected) / math.sqrt(variance) / math.sqrt(2))


def _mean_ranks(values: Floats) -> tuple[Floats, Floats]:
    """Return the rank of each value, ties sharing the mean of theirs, and how many values share each rank."""
    rounded = np.round(values / SAME) * SAME
    _, places, counts = np.unique(rounded, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    mean_ranks = last - (counts - 1) / 2
    return mean_ranks[places.ravel()], counts.astype(float)


def randomization_tests(columns: Floats, *, seed: int) -> list[float | None]:
    """Return the two-sided p-value of each column when the signs of its differences are drawn at random.

    Exact, over all signs, for up to 16 differences that are not zero; else 100,000 draws (10,000 at least, where there
    are very many queries), counting the observed signs as one of them (Phipson and Smyth 2010).
    """
    if len(columns) < 2:  # noqa: PLR2004  (one query has no spread)
        return [None] * columns.shape[1]
    results: list[float | None] = [_exact_signs(column) for column in columns.T]
    many = [place for place, result in enumerate(results) if result is None]
    if many:
        for place, p_value in zip(many, _drawn_signs(columns[:, many], seed), strict=True):
            results[place] = p_value
    return results


def _exact_signs(column: Floats) -> float | None:
    kept = column[column != 0]
    if len(kept) > _EXACT_SIGNS:
        return None
    if not len(kept):
        return 1.0
    sums = kept[:1]  # the first sign stays: the other half of all sums are these with the sign turned
    for difference in kept[1:]:
        sums = np.concatenate([sums + difference, sums - difference])
    return float(np.count_nonzero(np.abs(sums) >= abs(float(kept.sum())) - SAME) / len(sums))


def _drawn_signs(columns: Floats, seed: int) -> list[float]:
    num_rows = len(columns)
    permutations = min(_PERMUTATIONS, max(_FEWEST_PERMUTATIONS, _MOST_SIGNS // num_rows))
    generator = np.random.default_rng(seed)
    totals = columns.sum(axis=0)
    bound = np.abs(totals) - SAME
    as_far = np.zeros(columns.shape[1], dtype=int)
    at_once = max(1, _CELLS // num_rows)
    for start in range(0, permutations, at_once):
        size = min(at_once, permutations - start)
        bits = np.unpackbits(generator.bit_generator.random_raw(-(-size * num_rows // 64)).view(np.uint8))
        kept = bits[: size * num_rows].reshape(size, num_rows).astype(np.float64)
        as_far += np.count_nonzero(np.abs(2 * (kept @ columns) - totals) >= bound, axis=0)
    return [(1 + int(count)) / (1 + permutations) for count in as_far]


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust p-values so that the chance of any false finding among them stays below the level (Holm 1979).

    >>> holm([0.01, 0.04, 0.03, None])      # 3 · 0.01, 2 · 0.03, and 0.04, which may not be below the one before
    [0.03, 0.06, 0.06, None]
    """
    known = _ascending(p_values)
    adjusted = list(p_values)
    highest = 0.0
    for position, place in enumerate(known):
        highest = max(highest, min(1.0, (len(known) - position) * _number(p_values[place])))
        adjusted[place] = highest
    return adjusted


def benjamini_hochberg(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust p-values so that the expected share of false findings stays below the level (1995).

    >>> benjamini_hochberg([0.01, 0.04, 0.03, None])    # 3/1 · 0.01, 3/3 · 0.04, and at most that of the next
    [0.03, 0.04, 0.04, None]
    """
    known = _ascending(p_values)
    adjusted = list(p_values)
    lowest = 1.0
    for position in range(len(known), 0, -1):
        place = known[position - 1]
        lowest = min(lowest, len(known) * _number(p_values[place]) / position)
        adjusted[place] = lowest
    return adjusted


def _ascending(p_values: Sequence[float | None]) -> list[int]:
    known = [place for place, p_value in enumerate(p_values) if p_value is not None]
    return sorted(known, key=lambda place: _number(p_values[place]))


def _number(value: float | None) -> float:
    return 0.0 if value is None else value


def effect_size(differences: Floats) -> float | None:
    """Return Cohen's d of paired samples: the mean difference in units of its standard deviation."""
    if len(differences) < 2:  # noqa: PLR2004  (one query has no spread)
        return None
    mean = float(differences.mean())
    deviation = float(differences.std(ddof=1))
    if deviation < SAME:
        return 0.0 if abs(mean) < SAME else None
    return mean / deviation


def detectable_difference(differences: Floats, *, alpha: float) -> float | None:
    """Return the smallest difference that a paired t-test on this many queries finds four times out of five.

    (t(1 - alpha/2) + t(0.8)) · s / √n, with the spread s of these differences; None where there is none.
    """
    num = len(differences)
    if num < 2:  # noqa: PLR2004  (one query has no spread)
        return None
    deviation = float(differences.std(ddof=1))
    if deviation < SAME:
        return None
    quantile: Any = require("scipy.special", extra="cli").stdtrit
    return float(quantile(num - 1, 1 - alpha / 2) + quantile(num - 1, POWER)) * deviation / math.sqrt(num)
