"""Grades and scores as text files write them."""

from __future__ import annotations

import math

from permed_measures.measures.base import canonical


def grade_of(text: str | bytes) -> int | float:
    """Read a grade, a finite number: whole ones become int. ValueError tells what is wrong.

    >>> grade_of(b"2"), grade_of("2.0"), grade_of("7.5")
    (2, 2, 7.5)
    """
    written = text.encode() if isinstance(text, str) else text  # bytes: the digits of ASCII only
    try:
        return int(written)
    except ValueError:
        pass
    try:
        return canonical(float(written))
    except ValueError:
        msg = f"the grade {_shown(written)} is not a finite number"
        raise ValueError(msg) from None


def score_of(text: str | bytes) -> float:
    """Read a score, a number or infinity, but not NaN. ValueError tells what is wrong.

    >>> score_of("1e3"), score_of(b"-inf")
    (1000.0, -inf)
    """
    written = text.encode() if isinstance(text, str) else text  # bytes: the digits of ASCII only
    try:
        score = float(written)
    except ValueError:
        msg = f"the score {_shown(written)} is not a number"
        raise ValueError(msg) from None
    if math.isnan(score):
        msg = "the score is NaN; a ranking needs a number for every document"
        raise ValueError(msg)
    return score


def _shown(text: bytes) -> str:
    return repr(text.decode(errors="replace"))
