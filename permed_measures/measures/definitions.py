"""What a measure says of itself, in plain words."""

from __future__ import annotations

import inspect
import re

from ir_measures import Measure

from permed_measures.measures.base import RankingMeasure, declared

_GAINS = {"log2": "the gain is the grade (linear)", "exp-log2": "the gain is 2^grade - 1 (exponential)"}

_EMPHASIS = re.compile(r"\*(\w(?:[^*]*\w)?)\*")


def plain(text: str) -> str:
    """Return a docstring's text without the marks of its markup.

    >>> plain("divided by those *in the top k*, as ``SetP * SetR`` is")
    'divided by those in the top k, as SetP * SetR is'
    """
    return _EMPHASIS.sub(r"\1", text.replace("`", ""))


def description(measure: Measure) -> str:
    """Return the docstring of a measure, in this package where it is declared here."""
    return (inspect.getdoc(type(declared(measure) or measure)) or "").strip()


def definition(measure: Measure) -> str:
    """Say in a sentence what a measure is: the first of its docstring.

    Where there is a choice of gain, it is named.

    >>> from ir_measures import AP, ERR
    >>> definition(AP @ 10).partition(",")[2]
    ' summed, divided by the number of all relevant ones'
    >>> definition(ERR @ 10)
    'The Expected Reciprocal Rank (ERR)'
    """
    words = plain(" ".join(description(measure).partition("\n\n")[0].split()))
    known = declared(measure)
    if known is None:
        return re.split(r"(?<=\w\w[.)])\s", words, maxsplit=1)[0].strip().rstrip(".")
    return words.rstrip(".") + (f"; {_gain(known)}" if "dcg" in known.SUPPORTED_PARAMS else "")


def _gain(measure: RankingMeasure) -> str:
    return _GAINS[measure["dcg"]] + ("" if measure.arguments.get("gains") is None else ", after gains is applied to it")


def formula(measure: Measure) -> str | None:
    """Return the formula in a measure's docstring, as LaTeX writes it; None where there is none."""
    found = re.search(r"^\.\. math::(.+?)(?:\n\s*\n|\Z)", description(measure), re.DOTALL | re.MULTILINE)
    return None if found is None else " ".join(found[1].split())
