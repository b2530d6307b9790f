"""How serving figures are written where people read them."""

from __future__ import annotations

import math

from permed_measures.render.words import NONE
from permed_measures.serving.latency import Latency

STYLE = """
.legend span { display: inline-block; margin-right: 14px; font-weight: 600; font-size: 13px; }
svg .curve { fill: none; stroke: currentColor; stroke-width: 2; }
svg .bar { fill: currentColor; opacity: .75; }
svg .level { stroke: var(--ink); stroke-width: 1; stroke-dasharray: 4 3; }
svg text.level-name { font-size: 11px; text-anchor: start; }
svg text.end { text-anchor: end; }
"""


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
