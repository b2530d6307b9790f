"""Numbers as people write them, in one canonical form."""

import math
import operator
from typing import Any

from permed_measures.errors import ParamError

SAME = 1e-9  # two values that differ by less are a tie: the same sum taken in another order differs in its last digits


def canonical(number: Any) -> int | float:  # noqa: ANN401  (any real number, numpy's included)
    """Return a built-in int for a whole number, else a built-in float, so that 2, 2.0 and np.int64(2) are one value."""
    if isinstance(number, bool):
        raise ValueError(number)  # noqa: TRY004  (as of anything else that is no number)
    try:
        as_float = real(number)
        return operator.index(number)
    except TypeError:
        pass
    except OverflowError:
        raise ValueError(number) from None
    if not math.isfinite(as_float):
        raise ValueError(number)
    return int(as_float) if as_float.is_integer() else as_float


def within_floats(number: Any) -> int | float:  # noqa: ANN401  (any real number)
    """Return the canonical number; one that no float can hold is a ValueError too: engines and C have no other."""
    found = canonical(number)
    try:
        float(found)
    except OverflowError:
        raise ValueError(number) from None
    return found


def lowest_relevant(grade: Any, name: str) -> int | float:  # noqa: ANN401  (checked here)
    """Return the lowest grade that is relevant, or raise ParamError; ``name`` is what the caller calls it.

    >>> lowest_relevant(2.0, "rel")
    2
    """
    try:
        number = within_floats(grade)
    except ValueError:
        number = 0
    if number <= 0:
        raise ParamError(f"{name}={grade!r} is not allowed; give a number > 0: an unjudged document has grade 0")
    return number


def as_float(score: Any) -> float:  # noqa: ANN401  (any real number)
    """Return a score as a float; an int beyond 1.8e308 is infinite."""
    try:
        return real(score)
    except OverflowError:  # an int beyond 1.8e308
        return float("inf") if score > 0 else float("-inf")


def real(number: Any) -> float:  # noqa: ANN401  (checked here)
    """Return a real number of any type; ValueError where it is none, OverflowError where it is too large.

    >>> from fractions import Fraction
    >>> real(Fraction(1, 4)), real(2)
    (0.25, 2.0)
    """
    is_complex = getattr(getattr(number, "dtype", None), "kind", "") == "c"
    if isinstance(number, (str, bytes)) or is_complex or getattr(number, "ndim", 0):
        raise ValueError(number)
    try:
        return float(number)
    except TypeError:
        raise ValueError(number) from None
