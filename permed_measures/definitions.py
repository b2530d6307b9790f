"""What a measure says of itself, in plain words."""

from __future__ import annotations

import inspect
import re

from ir_measures import Measure

from permed_measures.measures import own

_EMPHASIS = re.compile(r"\*(\w(?:[^*]*\w)?)\*")


def plain(text: str) -> str:
    """Return a docstring's text without the marks of its markup.

    >>> plain("divided by those *in the top k*, as ``SetP * SetR`` is")
    'divided by those in the top k, as SetP * SetR is'
    """
    return _EMPHASIS.sub(r"\1", text.replace("`", ""))


def description(measure: Measure) -> str:
    """Return the docstring of a measure, or of ours that computes it."""
    return (inspect.getdoc(type(own(measure) or measure)) or "").strip()


def definition(measure: Measure) -> str:
    """Return the first sentence of a measure's docstring."""
    words = plain(" ".join(description(measure).partition("\n\n")[0].split()))
    return re.split(r"(?<=\w\w[.)])\s", words, maxsplit=1)[0].strip().rstrip(".")


def formula(measure: Measure) -> str | None:
    """Return the formula in a measure's docstring, as LaTeX writes it; None where there is none."""
    found = re.search(r"^\.\. math::(.+?)(?:\n\s*\n|\Z)", description(measure), re.DOTALL | re.MULTILINE)
    return None if found is None else " ".join(found[1].split())
