"""Grades and scores as files write them."""

from __future__ import annotations

import math

from permed_measures.measures.base import canonical


def grade_of(text: str | bytes) -> int | float:
    """Read a grade, a finite number: whole ones become int. ValueError tells what is wrong.

    >>> grade_of(b"2"), grade_of("2.0"), grade_of("7.5")
    (2, 2, 7.5)
    """
    try:
        return int(_plain(text))
    except ValueError:
        pass
    try:
        return canonical(float(_plain(text)))
    except ValueError:
        msg = f"the grade {_shown(text)} is not a finite number"
        raise ValueError(msg) from None


def score_of(text: str | bytes) -> float:
    """Read a score, a number or infinity, but not NaN. ValueError tells what is wrong.

    >>> score_of("1e3"), score_of(b"-inf")
    (1000.0, -inf)
    """
    try:
        score = float(_plain(text))
    except ValueError:
        msg = f"the score {_shown(text)} is not a number"
        raise ValueError(msg) from None
    if math.isnan(score):
        msg = "the score is NaN; a ranking needs a number for every document"
        raise ValueError(msg)
    return score


def _plain(text: str | bytes) -> str | bytes:
    # Python reads 1_000 as a number; no other tool does
    if ("_" in text) if isinstance(text, str) else (b"_" in text):
        raise ValueError(text)
    return text


def _shown(text: str | bytes) -> str:
    return repr(text.decode(errors="replace") if isinstance(text, bytes) else text)
