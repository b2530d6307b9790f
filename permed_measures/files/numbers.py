"""Grades and scores as text files write them."""

import math

from permed_measures.numbers import canonical


def grade_of(text: str | bytes) -> int | float:
    """Read a grade, a finite number: whole ones become int. ValueError tells what is wrong.

    >>> grade_of(b"2"), grade_of("2.0"), grade_of("7.5")
    (2, 2, 7.5)
    """
    written = _plain(text)
    try:
        return canonical(int(written))
    except ValueError:
        pass
    try:
        return canonical(float(written))
    except ValueError:
        raise ValueError(f"the grade {_shown(text)} is not a finite number") from None


def score_of(text: str | bytes) -> float:
    """Read a score, a number or infinity, but not NaN. ValueError tells what is wrong.

    >>> score_of("1e3"), score_of(b"-inf")
    (1000.0, -inf)
    """
    written = _plain(text)
    try:
        score = float(written)
    except ValueError:
        raise ValueError(f"the score {_shown(text)} is not a number") from None
    if math.isnan(score):
        raise ValueError("the score is NaN; a ranking needs a number for every document")
    return score


def _plain(text: str | bytes) -> bytes:
    """Return what may be a number: digits of ASCII only; no underscores: 1_0 is 10 to Python, 1 to trec_eval."""
    written = text.encode() if isinstance(text, str) else text
    return b"" if b"_" in written else written


def _shown(text: str | bytes) -> str:
    return repr(text if isinstance(text, str) else text.decode(errors="replace"))
