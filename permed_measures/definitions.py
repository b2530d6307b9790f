"""What a measure says of itself, in plain words."""

from __future__ import annotations

import inspect
import re

from ir_measures import Measure

from permed_measures.delegate import delegates
from permed_measures.measures import own
from permed_measures.measures.base import RankingMeasure

_STANDARD = {
    "P": "Relevant documents in the top k, divided by k, also where fewer were returned",
    "R": "Relevant documents in the top k, divided by all relevant ones",
    "AP": "The precisions at the ranks of the relevant documents, summed, divided by the number of all relevant ones",
    "RR": "1 / rank of the first relevant document",
    "Rprec": "Precision at rank R, the number of all relevant documents",
    "Success": "1 if a relevant document is in the top k, else 0",
    "Bpref": "How seldom judged non-relevant documents stand before relevant ones; unjudged documents do not count",
    "infAP": "Average precision, estimated where only a sample of the pool is judged (grade -1: in the pool, unjudged)",
    "IPrec": "The highest precision at any rank where the recall is at least the one given, as trec_eval up to 9.0.8 "
    "rounds it; IPrecNearest rounds as 10.0 does",
    "SetP": "Relevant documents returned, divided by all returned",
    "SetR": "Relevant documents returned, divided by all relevant ones",
    "SetF": "The harmonic mean of SetP and SetR, weighted: (1 + beta) P R / (beta P + R), where beta is not squared",
    "SetAP": "SetP times SetR",
    "NumRet": "How many documents were returned; with rel, how many relevant ones",
    "NumRel": "How many documents are relevant",
    "NumQ": "How many queries there are",
}
"""What pytrec_eval computes, by ir_measures' names: what ir_measures says of AP is also true of AP within the list."""

_GAINS = {"log2": "the gain is the grade (linear)", "exp-log2": "the gain is 2^grade - 1 (exponential)"}

_ADDED = {
    "SetF": r"""

.. math:: \frac{(1 + \beta) P R}{\beta P + R}

P is SetP and R is SetR; as in trec_eval, beta is not squared, so that the F_2 of most books is SetF(beta=4.0)."""
}
"""What ir_measures does not say of its measures, and matters to their values."""

_EMPHASIS = re.compile(r"\*(\w(?:[^*]*\w)?)\*")


def plain(text: str) -> str:
    """Return a docstring's text without the marks of its markup.

    >>> plain("divided by those *in the top k*, as ``SetP * SetR`` is")
    'divided by those in the top k, as SetP * SetR is'
    """
    return _EMPHASIS.sub(r"\1", text.replace("`", ""))


def description(measure: Measure) -> str:
    """Return the docstring of a measure, or of ours that computes it."""
    return (inspect.getdoc(type(own(measure) or measure)) or "").strip() + _ADDED.get(measure.NAME, "")


def definition(measure: Measure) -> str:
    """Say in a sentence what a measure is: ours for pytrec_eval's measures, else the first of its docstring.

    Where there is a choice of gain, it is named.

    >>> from ir_measures import AP, ERR
    >>> definition(AP @ 10).partition(",")[2]
    ' summed, divided by the number of all relevant ones'
    >>> definition(ERR @ 10)
    'The Expected Reciprocal Rank (ERR)'
    """
    if own(measure) is None and delegates(measure):
        return _STANDARD[measure.NAME]
    words = plain(" ".join(description(measure).partition("\n\n")[0].split()))
    sentence = re.split(r"(?<=\w\w[.)])\s", words, maxsplit=1)[0].strip().rstrip(".")
    ours = own(measure)
    return sentence if ours is None or "dcg" not in ours.SUPPORTED_PARAMS else f"{sentence}; {_gain(ours)}"


def _gain(measure: RankingMeasure) -> str:
    return _GAINS[measure["dcg"]] + ("" if measure.arguments.get("gains") is None else ", after gains is applied to it")


def formula(measure: Measure) -> str | None:
    """Return the formula in a measure's docstring, as LaTeX writes it; None where there is none."""
    found = re.search(r"^\.\. math::(.+?)(?:\n\s*\n|\Z)", description(measure), re.DOTALL | re.MULTILINE)
    return None if found is None else " ".join(found[1].split())
