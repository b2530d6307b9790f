"""Student's t without scipy: tails and quantiles, any positive degrees of freedom."""

import math
from functools import lru_cache
from statistics import NormalDist

_NORMAL = NormalDist()


def t_tail(value: float, freedom: float) -> float:
    """Return the chance that Student's t exceeds a value.

    >>> round(t_tail(1.0, 1), 12)
    0.25
    """
    if math.isinf(freedom):
        return math.erfc(value / math.sqrt(2)) / 2
    square = value * value
    if not square:
        return 0.5
    x, rest = freedom / (freedom + square), square / (freedom + square)
    a, b = freedom / 2, 0.5
    # x^a (1-x)^b / B(a, b), each logarithm taken where it keeps its digits
    log_x = math.log1p(-rest) if rest < b else math.log(x)
    front = math.exp(a * log_x + b * math.log(rest) + _log_beta_turned(a))
    if rest > (b + 1) / (a + b + 2):
        half = front * _continued(a, b, x) / a / 2
    else:
        half = 0.5 - front * _continued(b, a, rest) / b / 2
    return half if value > 0 else 1 - half


def _log_beta_turned(a: float) -> float:
    """Return log Γ(a + ½) / (Γ(a) Γ(½)); for large a a series, where the difference of logs loses digits."""
    if a < 30:  # noqa: PLR2004  (the series has 15 digits from there)
        return math.lgamma(a + 0.5) - math.lgamma(a) - math.log(math.pi) / 2
    series = 1 / (8 * a) - 1 / (192 * a**3) + 1 / (640 * a**5) - 17 / (14336 * a**7)
    return 0.5 * math.log(a) - series - math.log(math.pi) / 2


def _continued(a: float, b: float, x: float) -> float:
    """Return the continued fraction of the incomplete beta function, by Lentz's method (DLMF 8.17.22)."""
    tiny = 1e-300
    c, d = 1.0, 1 / ((1 - (a + b) * x / (a + 1)) or tiny)
    found = d
    for m in range(1, 100_000):
        before = found
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / ((1 + step * d) or tiny)
            c = (1 + step / c) or tiny
            found *= c * d
        if abs(found - before) <= 1e-16 * abs(found):
            break
    return found


@lru_cache(maxsize=4096)
def t_quantile(share: float, freedom: float) -> float:
    """Return the value below which Student's t lies with this share; any positive degrees of freedom.

    >>> round(t_quantile(0.975, 11), 4), round(t_quantile(0.975, float("inf")), 4)
    (2.201, 1.96)
    """
    if share < 0.5:  # noqa: PLR2004  (it is symmetric)
        return -t_quantile(1 - share, freedom)
    if share == 0.5:  # noqa: PLR2004
        return 0.0
    if math.isinf(freedom):
        return _NORMAL.inv_cdf(share)
    low, high = 0.0, 1.0
    while t_tail(high, freedom) > 1 - share:
        low, high = high, 2 * high
        if high > 1e150:  # noqa: PLR2004  (next to no degrees of freedom: nothing is bounded)
            return math.inf
    found = (low + high) / 2
    for _ in range(100):  # Newton's steps; by halves where one leaves the bounds
        over = t_tail(found, freedom) - (1 - share)
        low, high = (found, high) if over > 0 else (low, found)
        log_density = _log_beta_turned(freedom / 2) - (freedom + 1) / 2 * math.log1p(found * found / freedom)
        following = found + over * math.sqrt(freedom) / math.exp(log_density)
        following = following if low < following < high else (low + high) / 2
        if abs(following - found) <= 1e-14 * found:
            break
        found = following
    return following
