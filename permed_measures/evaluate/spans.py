"""The range of a measure's values, for intervals that are widened by its ends."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from ir_measures import Measure

from permed_measures.inference import SAME, Span
from permed_measures.measures import declared


def span_of(measure: Measure, columns: Iterable[Mapping[str, float]]) -> Span:
    """Return the range of a measure: as it declares it, else from 0 to 1, else the values seen."""
    known = declared(measure)
    low, high = (0.0, 1.0) if known is None else known.RANGE
    seen = [
        value for column in columns for value in (min(column.values(), default=0.0), max(column.values(), default=0.0))
    ]
    if math.isfinite(low) and math.isfinite(high) and low - SAME <= min(seen) and max(seen) <= high + SAME:
        return Span(low, high)
    return Span(min(seen), max(*seen, min(seen) + 1.0), closed=False)
