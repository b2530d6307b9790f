"""Agreement of two judges in one number, from counts of pairs of grades: kappas, Krippendorff's alpha, over-rating.

All of it is computed for many weightings of the same pairs at once, which is how intervals are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

NAMES = {
    "exact_agreement": "exact agreement",
    "over_rating": "mean over-rating",
    "kappa": "Cohen's kappa",
    "weighted_kappa": "kappa, quadratic weights",
    "alpha_ordinal": "Krippendorff's alpha, ordinal",
    "alpha_interval": "Krippendorff's alpha, interval",
}
"""Each coefficient in words."""
_CELLS = 2_000_000
"""Draws are computed through about this many cells at a time: 16 MB a table."""


def coefficients(counts: Floats, first: Floats, second: Floats) -> dict[str, Floats]:
    """Return each coefficient for every row of counts; column c counts the pairs with the grades first[c], second[c].

    Not a number where nothing could disagree: both judges gave one and the same grade throughout.
    """
    grades, place = np.unique(np.concatenate([first, second]), return_inverse=True)
    of_first, of_second = np.split(place.ravel(), 2)
    total = counts.sum(axis=1)
    by_first, by_second = (counts @ _ones(np.arange(len(first)), place, len(grades)) for place in (of_first, of_second))
    pooled = by_first + by_second
    with np.errstate(divide="ignore", invalid="ignore"):
        exact = counts @ (first == second) / total
        by_chance = (by_first * by_second).sum(axis=1) / total**2
        apart = counts @ (first - second) ** 2 / total
        mean_1, mean_2 = counts @ first / total, counts @ second / total
        expected = counts @ (first**2 + second**2) / total - 2 * mean_1 * mean_2
        ranks = pooled.cumsum(axis=1) - pooled / 2
        rank_apart = (counts * (ranks[:, of_first] - ranks[:, of_second]) ** 2).sum(axis=1) / total
        return {
            "exact_agreement": exact,
            "over_rating": mean_2 - mean_1,
            "kappa": _above_chance(1 - exact, 1 - by_chance),
            "weighted_kappa": _above_chance(apart, expected),
            "alpha_ordinal": _above_chance(rank_apart, _squares(pooled, ranks)),
            "alpha_interval": _above_chance(apart, _squares(pooled, np.broadcast_to(grades, pooled.shape))),
        }


def _above_chance(found: Floats, expected: Floats) -> Floats:
    """Return 1 - found / expected; undefined where nothing is expected, but for rounding."""
    return np.where(expected > 1e-12, 1 - found / expected, np.nan)  # noqa: PLR2004  (a sum's last digits)


def _squares(pooled: Floats, values: Floats) -> Floats:
    """Return the mean squared difference of two grades drawn from all that either judge gave.

    Krippendorff's ordinal distance is that of the mean ranks of two grades among all grades given.
    """
    total = pooled.sum(axis=1)
    centred = values - ((pooled * values).sum(axis=1) / total)[:, None]
    found: Floats = 2 * (pooled * centred**2).sum(axis=1) / (total - 1)
    return found


def _ones(rows: Any, columns: Any, width: int) -> Any:  # noqa: ANN401  (index arrays; a sparse array of counts)
    return csr_array((np.ones(len(rows)), (rows, columns)), shape=(int(rows.max()) + 1, width))


class Counts:
    """How often each pair of grades occurs in each unit (a query, or a cluster)."""

    def __init__(self, units: Sequence[str], first: Sequence[float], second: Sequence[float]) -> None:
        grades, cell = np.unique(np.array([first, second], dtype=float), axis=1, return_inverse=True)
        self.first, self.second = grades
        self.names, unit = np.unique(np.array(units, dtype=object).astype(str), return_inverse=True)
        self.by_unit = _ones(unit.ravel(), cell.ravel(), grades.shape[1])

    def coefficients(self) -> dict[str, float | None]:
        """Return each coefficient over all units; None where it is undefined."""
        found = coefficients(self.by_unit.sum(axis=0)[None, :], self.first, self.second)
        return {name: None if np.isnan(values[0]) else float(values[0]) for name, values in found.items()}

    def drawn(self, *, draws: int, seed: int, shares: Sequence[float]) -> dict[str, list[float | None]]:
        """Return quantiles of each coefficient when units are drawn again and again; None with fewer than two."""
        num = len(self.names)
        if num < 2:  # noqa: PLR2004  (one unit has no spread)
            return {name: [None for _ in shares] for name in NAMES}
        generator = np.random.default_rng(seed)
        found: list[dict[str, Floats]] = []
        at_once = max(1, min(draws, _CELLS // max(num, len(self.first))))
        for start in range(0, draws, at_once):
            size = min(at_once, draws - start)
            times = generator.multinomial(num, np.full(num, 1 / num), size=size).astype(float)
            found.append(coefficients(times @ self.by_unit, self.first, self.second))
        return {name: _quantiles(np.concatenate([some[name] for some in found]), shares) for name in NAMES}


def _quantiles(values: Floats, shares: Sequence[float]) -> list[float | None]:
    if np.isnan(values).any() or values.min() == values.max():  # nothing could disagree, or nothing ever did
        return [None for _ in shares]
    return [float(value) for value in np.quantile(values, shares)]
