"""What kind of number a measure is: a mean or not, a share or not, and its range, by which intervals are widened."""

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import ir_measures
from ir_measures import Measure

from permed_measures.measures import declared
from permed_measures.numbers import SAME

if TYPE_CHECKING:
    from permed_measures.inference import Span


def span_of(measure: Measure, columns: Iterable[Mapping[str, float]]) -> "Span":
    """Return the range of a measure: as it declares it, else from 0 to 1, else the values seen."""
    from permed_measures.inference import Span  # noqa: PLC0415  (for intervals)

    known = declared(measure)
    low, high = (0.0, 1.0) if known is None else known.RANGE
    seen = [
        value for column in columns for value in (min(column.values(), default=0.0), max(column.values(), default=0.0))
    ]
    if math.isfinite(low) and math.isfinite(high) and low - SAME <= min(seen) and max(seen) <= high + SAME:
        return Span(low, high)
    return Span(min(seen), max(*seen, min(seen) + 1.0), closed=False)


def is_share(measure: Measure) -> bool:
    """Whether a measure's values are from 0 to 1, as it declares, so that they can be shown in percent."""
    known = declared(measure)
    return known is not None and known.RANGE == (0.0, 1.0)


def is_mean(measure: Measure) -> bool:
    """Whether a measure's value over queries is the mean of theirs."""
    return type(measure.aggregator()) is ir_measures.MeanAgg
