"""What a measure says of itself, in a sentence."""

from __future__ import annotations

import inspect
import re

from ir_measures import Measure

from permed_measures.measures import own


def definition(measure: Measure) -> str:
    """Return the first sentence of a measure's docstring."""
    ours = own(measure)
    described = inspect.getdoc(type(measure if ours is None else ours)) or ""
    words = " ".join(described.strip().partition("\n\n")[0].split()).replace("`", "")
    return re.split(r"(?<=\w\w[.)])\s", words, maxsplit=1)[0].strip().rstrip(".")
