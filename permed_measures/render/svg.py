"""Plots as SVG: one scale, one axis; colours come from the page's style sheet."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from permed_measures.render.text import terminal_width
from permed_measures.render.words import number

COLOURS = 8  # how many runs have a colour of their own: the classes run0 to run7
_TICKS = 3  # so many at least: two do not show where between them a value is


@dataclass(frozen=True)
class Scale:
    """Where numbers are on a line of pixels."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    @classmethod
    def around(cls, values: Sequence[float], start: float, end: float, *, floor: float = -math.inf) -> "Scale":
        """Return a scale with some room around the values, but none below the floor."""
        low, high = min(values), max(values)
        room = (high - low) * 0.06 or max(abs(high) * 0.1, 0.05)
        return cls(max(low - room, floor), high + room, start, end)

    def __call__(self, value: float) -> float:
        """Return the place of a number."""
        if self.is_log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Return some round numbers within the range."""
        if self.is_log:
            decades = math.log10(self.high / self.low)
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            steps = (1, 2, 5) if decades < _TICKS else (1,)
            marks = [step * 10.0**power for power in powers for step in steps]
            return [mark for mark in marks if self.low <= mark <= self.high]
        power = 10.0 ** math.floor(math.log10((self.high - self.low) / 4))
        found: list[float] = []
        for step in (power * factor for factor in (10, 5, 2, 1)):
            first = math.ceil(self.low / step - 1e-9)
            found = [place * step for place in range(first, math.floor(self.high / step + 1e-9) + 1)]
            if len(found) >= _TICKS:
                break
        return found

    @property
    def decimals(self) -> int:
        """How many decimals tell two ticks apart."""
        return max(0, min(6, 1 - math.floor(math.log10(self.high - self.low))))


def axis(
    scale: Scale, top: float, bottom: float, written: Callable[[float, int], str] = number, *, grid: bool = True
) -> list[str]:
    """Draw the horizontal axis: a line and a number at every tick."""
    parts = []
    for value in scale.ticks():
        x = scale(value)
        if grid:
            parts.append(f'<line class="grid" x1="{x:.1f}" y1="{top:g}" x2="{x:.1f}" y2="{bottom:.1f}"/>')
        shown = f"{value:g}" if scale.is_log else written(value, scale.decimals)
        parts.append(f'<text class="tick" x="{x:.1f}" y="{bottom + 16:.1f}">{shown}</text>')
    return parts


def row_name(text: str, x: float, y: float, longest: int) -> str:
    """Write the name of a row, cut where it is long, and whole in its tooltip."""
    shown = text
    while terminal_width(shown) > longest:
        shown = shown.removesuffix("…")[:-1] + "…"
    whole = "" if shown == text else f"<title>{escape(text)}</title>"
    return f'<text class="name" x="{x:g}" y="{y + 4:.1f}">{escape(shown)}{whole}</text>'


def picture(width: float, height: float, parts: Sequence[str], label: str, *, kind: str = "") -> str:
    """Return the whole plot; ``label`` describes it to those who cannot see it."""
    of_kind = f'class="{kind}" ' if kind else ""
    return (
        f'<svg {of_kind}viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" role="img" '
        f'aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )
