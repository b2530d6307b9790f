"""From numbers per query to what may be said of all queries: one formula, sign flips, t quantiles, bounds of a drop.

Plain Python, sums exactly rounded: the order of queries changes nothing, and an interval needs neither numpy nor scipy.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal, TypeAlias

from permed_measures.inference.student import t_quantile, t_tail
from permed_measures.numbers import SAME as SAME

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"
Interval = tuple[float, float]

EXACT_UNITS = 20  # up to this many units the exact sign-flip test decides, above it the t
FEWEST_CLUSTERS = 6  # with fewer clusters no test can show anything at 5%: the smallest p is 2^(1 - G)
FEWEST_DETECTABLE, POWER = 15, 0.8
_FEW_DIFFERENCES, _HOLDS_K = 10, 2
_NORMAL = NormalDist()
_CELLS = 2_000_000  # drawn sign flips go through about this many cells at a time: 16 MB
_MOST_DRAWS, _FEWEST_DRAWS, _MOST_SIGNS = 99_999, 9_999, 2 * 10**8


@dataclass(frozen=True)
class Span:
    """The range of values, or of differences; not closed where its ends are only those that were seen."""

    low: float
    high: float
    closed: bool = True

    @property
    def of_differences(self) -> "Span":
        """The range of the differences of two such values."""
        return Span(self.low - self.high, self.high - self.low, self.closed)


VALUE = Span(0.0, 1.0)
DIFFERENCE = Span(-1.0, 1.0)


@dataclass(frozen=True)
class Units:
    """The independent units of one column of values or differences: their sums, and their sizes in queries."""

    sums: Sequence[float]
    sizes: Sequence[int] | None = None  # None: every unit is one query
    whole: bool = False  # whether every value is a whole number: 0/1 values, or their differences

    def __len__(self) -> int:
        return len(self.sums)

    @property
    def queries(self) -> int:
        """How many queries they have together."""
        return len(self.sums) if self.sizes is None else sum(self.sizes)

    @property
    def nonzero(self) -> list[float]:
        """The sums that are not 0."""
        return [total for total in self.sums if abs(total) > SAME]

    @property
    def means(self) -> list[float]:
        """The mean of each unit."""
        return list(self.sums) if self.sizes is None else [s / n for s, n in zip(self.sums, self.sizes, strict=True)]


def units(values: Mapping[str, float] | Iterable[float], cluster_of: Callable[[str], str] | None = None) -> Units:
    """Make units of values, {query: value} where ``cluster_of`` says which cluster each query is of; the order is kept.

    >>> units({"1_1": 0.5, "1_2": 0.25, "2_1": 1.0}, lambda query: query[0])
    Units(sums=[0.75, 1.0], sizes=[2, 1], whole=False)
    """
    if cluster_of is None or not isinstance(values, Mapping):
        column = [float(value) for value in (values.values() if isinstance(values, Mapping) else values)]
        return Units(column, whole=all(value.is_integer() for value in column))
    members: dict[str, list[float]] = {}
    for query_id, value in values.items():
        members.setdefault(cluster_of(query_id), []).append(value)
    sums = [math.fsum(inside) for inside in members.values()]
    sizes = [len(inside) for inside in members.values()]
    return Units(sums, sizes, all(float(value).is_integer() for value in values.values()))


@dataclass(frozen=True)
class Estimate:
    """A mean with its variance: D, V and the degrees of freedom of the formula."""

    mean: float
    variance: float
    freedom: float
    span: Span | None = None  # what bounds are clipped to

    @property
    def error(self) -> float:
        """The standard error."""
        return math.sqrt(self.variance)

    def bound(self, share: float) -> float:
        """Return the one-sided bound below which the mean lies with this share: 0.05 for a lower, 0.95 for an upper."""
        found = self.mean if not self.variance else self.mean + t_quantile(share, self.freedom) * self.error
        return found if self.span is None else min(max(found, self.span.low), self.span.high)

    def interval(self, alpha: float = 0.05) -> Interval:
        """Return the two-sided interval of level 1 - alpha."""
        return self.bound(alpha / 2), self.bound(1 - alpha / 2)

    def tail(self, value: float) -> float:
        """Return the one-sided p-value of "the mean is at most this value"."""
        if not self.variance:
            return 0.0 if self.mean > value else 1.0
        return t_tail((self.mean - value) / self.error, self.freedom)


Extra = Sequence[tuple[float, float]]
"""Variances that are added, such as those of repeated runs, each with its degrees of freedom."""


def added(parts: Extra) -> tuple[float, float]:
    """Add variances; return the sum with its degrees of freedom, by Welch and Satterthwaite.

    >>> added([(0.25, 10), (0.25, 10)])
    (0.5, 20.0)
    """
    variance = math.fsum(part for part, _ in parts)
    below = math.fsum(part**2 / freedom for part, freedom in parts if part)
    return variance, variance**2 / below if below else max(freedom for _, freedom in parts)


def estimate(sample: Units, k: int = 0, span: Span = DIFFERENCE, *, extra: Extra = ()) -> Estimate | None:
    """Return mean and variance by the formula; None with fewer than two units.

    ``k`` units at each end of the span, of mean size, are added first; ``extra`` is added to the variance, such as that
    of repeated runs, which are few: so are the degrees of freedom then. Without clusters and k this is the paired t.

    >>> round(estimate(units([1.0] * 10), 1, VALUE).interval()[0], 4)   # not of width 0
    0.7333
    """
    num = len(sample)
    if num < 2:  # noqa: PLR2004  (one unit has no spread)
        return None
    total, grown = sample.queries, num + 2 * k
    size = total / num
    sums = [*sample.sums, *[size * span.low] * k, *[size * span.high] * k]
    everything = total + 2 * k * size
    mean = math.fsum(sums) / everything
    if sample.sizes is None:
        variance = math.fsum([(value - mean) ** 2 for value in sums]) / (grown * (grown - 1))
        freedom = grown - 1.0
    else:
        sizes = [*sample.sizes, *[size] * (2 * k)]
        apart = [((s - n * mean) / (everything - n)) ** 2 for s, n in zip(sums, sizes, strict=True)]
        variance = (grown - 1) / grown * math.fsum(apart)
        freedom = everything**2 / math.fsum([n * n for n in sizes]) - 1
    if extra:
        variance, freedom = added([(variance, freedom), *extra])
    return Estimate(mean, variance, freedom, span if k and span.closed else None)


def widening(differences: Units) -> int:
    """Return the k of a difference's interval: 1 for 0/1 values or fewer than 10 units that differ, else 0."""
    return int(differences.whole or len(differences.nonzero) < _FEW_DIFFERENCES)


def mean_estimate(values: Units, span: Span = VALUE, *, extra: Extra = ()) -> Estimate | None:
    """Return what the interval of a mean is made of."""
    return estimate(values, 1, span, extra=extra)


def difference_estimate(differences: Units, span: Span = DIFFERENCE, *, extra: Extra = ()) -> Estimate | None:
    """Return what the interval of a difference is made of."""
    return estimate(differences, widening(differences), span, extra=extra)


def equivalent(differences: Units, margin: float, span: Span = DIFFERENCE, *, extra: Extra = ()) -> bool:
    """Whether the 90% interval (k = 2) lies within the margin on both sides."""
    found = estimate(differences, _HOLDS_K, span, extra=extra)
    return found is not None and -margin < found.bound(0.05) and found.bound(0.95) < margin


def macro(estimates: Sequence[Estimate]) -> Estimate:
    """Return the mean over data sets: the variances added, degrees of freedom by Welch and Satterthwaite."""
    num = len(estimates)
    mean = math.fsum(found.mean for found in estimates) / num
    return Estimate(mean, *added([(found.variance / num**2, found.freedom) for found in estimates]), estimates[0].span)


def mean_p(differences: Units, found: Estimate | None = None) -> float | None:
    """Return the two-sided p-value of the formula's t; where all differences are one number, that of sign flips.

    ``found`` is their estimate, where it is known already.
    """
    found = found or estimate(differences)
    if found is None:
        return None
    if is_constant(differences, found):
        return sign_flip_p(differences)
    return min(1.0, 2 * t_tail(abs(found.mean) / found.error, found.freedom))


def is_constant(differences: Units, found: Estimate) -> bool:
    """Whether the spread is nothing but rounding."""
    return found.error <= SAME * max(map(abs, differences.means))


def smallest_sign_flip_p(differences: Units) -> float:
    """Return what a sign-flip test could at best have found with this many units that differ: 2^(1 - G)."""
    return min(1.0, 2.0 ** (1 - len(differences.nonzero)))


def sign_flip_p(differences: Units) -> float | None:
    """Return the exact two-sided p-value over all signs of the units, whole clusters flipping; None above 20 units.

    A unit without a difference does not count among the 20. Constant differences have an exact p at any number.

    >>> sign_flip_p(units([1.0, 1.0])), sign_flip_p(units([0.5] * 6)) == 2 / 2**6
    (0.5, True)
    """
    kept = differences.nonzero
    if not kept or min(kept) > 0 or max(kept) < 0:  # of one sign: only all + and all - come as far
        return smallest_sign_flip_p(differences)
    if len(kept) > EXACT_UNITS:
        return None
    kept.sort()
    halves = []
    for half in (kept[1::2], kept[2::2]):
        sums = [0.0]
        for value in half:
            sums = [*(total + value for total in sums), *(total - value for total in sums)]
        halves.append(sorted(sums))
    first, second = halves
    bound = abs(math.fsum(kept)) - SAME
    # the first sign stays +: the other half of all sums are these with the sign turned
    far = sum(
        len(second) - bisect_left(second, bound - kept[0] - total) + bisect_right(second, -bound - kept[0] - total)
        for total in first
    )
    return min(1.0, far / (len(first) * len(second)))


def drawn_sign_flip_p(columns: "Floats", seed: int) -> list[float]:
    """Return the two-sided p-value of each column of units when their signs are drawn, the same for all columns.

    99,999 draws (9,999 at least, where there are very many units), the observed signs counting as one of them (Phipson
    and Smyth 2010).
    """
    import numpy as np  # noqa: PLC0415  (only for drawing)

    num, times = len(columns), draws(len(columns))
    totals = columns.sum(axis=0)
    bound = np.abs(totals) - SAME
    far = np.zeros(columns.shape[1], dtype=int)
    for kept in sign_draws(num, times, seed):
        far += np.count_nonzero(np.abs(2 * (kept @ columns) - totals) >= bound, axis=0)
    return [(1 + int(count)) / (1 + times) for count in far]


def draws(num: int) -> int:
    """Return how often signs are drawn for this many units."""
    return min(_MOST_DRAWS, max(_FEWEST_DRAWS, _MOST_SIGNS // max(1, num)))


def sign_draws(num: int, times: int, seed: int) -> "Iterable[Floats]":
    """Yield drawn signs, a row of 1 (kept) and 0 (turned) per draw, some rows at a time."""
    import numpy as np  # noqa: PLC0415  (as above)

    generator = np.random.default_rng(seed)
    at_once = max(1, _CELLS // max(1, num))
    for start in range(0, times, at_once):
        size = min(at_once, times - start)
        bits = np.unpackbits(generator.bit_generator.random_raw(-(-size * num // 64)).view(np.uint8))
        yield bits[: size * num].reshape(size, num).astype(np.float64)


def one_sided_few(differences: Units) -> bool:
    """Whether 2% to 10% of fewer than 200 units carry most of the spread, all of one sign: no bound is safe then."""
    means = differences.means
    if not FEWEST_DETECTABLE <= len(means) < 200:  # noqa: PLR2004  (from there on the bounds hold)
        return False
    squares = math.fsum(value * value for value in means)
    large = [value for value in means if value * value > 4 * squares / len(means)]  # twice the root mean square
    sides = {value > 0 for value in large}
    return len(sides) == 1 and 10 * len(large) <= len(means) and 2 * math.fsum(v * v for v in large) > squares


def detectable(error: float, num: float, alpha: float, comparisons: int = 1) -> float | None:
    """Return the smallest true difference found four times out of five at the level that decides; None below 15 units.

    ``error`` is the standard error of the difference, ``num`` the number of units (with clusters the degrees of freedom
    plus one), ``alpha / comparisons`` the level: the first step of Holm.
    """
    if num < FEWEST_DETECTABLE or not error:
        return None
    return _needed_errors(num, alpha / comparisons) * error * math.sqrt((num - 1) / (num - 3))


@lru_cache(maxsize=4096)
def _needed_errors(num: float, level: float) -> float:
    """Solve mean_u[Φ(c - qu) + Φ(-c - qu)] = 0.8 for c; u are quantiles of √(χ²/df), by Wilson and Hilferty."""
    free, steps = num - 1, 64
    third = 2 / (9 * free)
    normals = [_NORMAL.inv_cdf((step + 0.5) / steps) for step in range(steps)]
    spreads = [max(0.0, 1 - third + z * math.sqrt(third)) ** 1.5 for z in normals]
    critical = t_quantile(1 - level / 2, free)

    def power(errors: float) -> float:
        found = (_NORMAL.cdf(errors - critical * u) + _NORMAL.cdf(-errors - critical * u) for u in spreads)
        return math.fsum(found) / steps

    low, high = 0.0, 2 * critical + 4
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if power(middle) < POWER else (low, middle)
    return high


def units_needed(deviation: float, difference: float, alpha: float, comparisons: int = 1) -> int:
    """Return the fewest independent queries that find a difference four times out of five, 15 at least."""

    def enough(num: int) -> bool:
        found = detectable(deviation / math.sqrt(num), num, alpha, comparisons)
        return found is None or found <= difference

    return fewest(enough, FEWEST_DETECTABLE)


def fewest(enough: Callable[[int], bool], least: int) -> int:
    """Return the lowest number, from ``least`` on, that is enough, as all above it are."""
    low, high = least - 1, least
    while not enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


@dataclass(frozen=True)
class Drop:
    """How far the mean of a run is below a baseline's, against the drop that is allowed."""

    drop: float
    upper: float | None  # one-sided 95% bound with k = 2: below the allowed drop, it holds
    lower: float | None  # one-sided 95% bound by the shown interval's rule
    p: float | None
    """Of "the drop is at most the allowed one", by the shown interval's rule; to be corrected over checks."""
    smallest_margin: float | None  # the smallest margin that these queries can decide: (t.95 + t.80)·√V at k = 2


def drop(differences: Units, allowed: float, span: Span = DIFFERENCE, alpha: float = 0.05, extra: Extra = ()) -> Drop:
    """Bound a drop: ``differences`` are run minus baseline."""
    turned = Units([-value for value in differences.sums], differences.sizes, differences.whole)
    seen = math.fsum(turned.sums) / turned.queries if len(turned) else math.nan
    wide = estimate(turned, _HOLDS_K, span, extra=extra)
    shown = difference_estimate(turned, span, extra=extra)
    if wide is None or shown is None:
        return Drop(seen, None, None, None, None)
    margin = (t_quantile(1 - alpha, wide.freedom) + t_quantile(POWER, wide.freedom)) * wide.error
    return Drop(seen, wide.bound(1 - alpha), shown.bound(alpha), shown.tail(allowed), margin)


def drop_verdict(
    upper: float | None, allowed: float, p_adjusted: float | None, alpha: float = 0.05
) -> Literal["holds", "fails", "undecided"]:
    """Decide a drop by its upper bound, and by its p-value corrected over all checks."""
    if upper is not None and upper < allowed:
        return "holds"
    return "fails" if p_adjusted is not None and p_adjusted < alpha else "undecided"


def fewest_units(allowed: float, alpha: float = 0.05) -> int:
    """Return how many queries it takes for a drop to be bounded at all below what is allowed: about 3.3 / allowed.

    >>> [fewest_units(allowed) for allowed in (0.1, 0.05)]
    [31, 64]
    """
    num = max(2, int(2 / allowed))
    while t_quantile(1 - alpha, num + 3.0) * 2 / math.sqrt((num + 4) * (num + 3)) >= allowed:
        num += 1
    return num
