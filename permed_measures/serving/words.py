"""How serving figures are written where people read them."""

from __future__ import annotations

import math

from permed_measures.render.words import NONE
from permed_measures.serving.latency import Latency


def milliseconds(value: float | None) -> str:
    """Write about four digits."""
    if value is None or math.isnan(value):
        return NONE
    size = abs(value)
    decimals = 0 if size >= 1000 else 1 if size >= 100 else 2 if size >= 1 else 4  # noqa: PLR2004  (about four digits)
    return f"{value:,.{decimals}f}"


def least(latency: Latency, name: str) -> str:
    """Write a statistic of latency; one that touches censored calls is at least so large."""
    return "≥ " * (name in latency.bounds) + milliseconds(getattr(latency, name))
