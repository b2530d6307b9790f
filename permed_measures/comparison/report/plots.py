"""Plots as inline SVG: no library, no network; colours come from the page's style sheet."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from ir_measures import Measure

from permed_measures.comparison import Change, Comparison
from permed_measures.comparison.report import words

_LABEL = 150
_WIDTH = 560
_RIGHT = 14
_ROW = 26
_TOP = 8
_AXIS = 26
_LONGEST = 20
_TICKS = 3
"""So many at least: two do not show where between them a value stands."""
COLOURS = 8


@dataclass(frozen=True)
class _Scale:
    """Where numbers stand on a line of pixels."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Return some round numbers within the range."""
        rough = (self.high - self.low) / 4
        power = 10.0 ** math.floor(math.log10(rough))
        found: list[float] = []
        for step in (power * factor for factor in (10, 5, 2, 1)):
            first = math.ceil(self.low / step - 1e-9)
            found = [place * step for place in range(first, math.floor(self.high / step + 1e-9) + 1)]
            if len(found) >= _TICKS:
                break
        return found


def _scale(values: Sequence[float], start: float, end: float) -> _Scale:
    low, high = min(values), max(values)
    room = (high - low) * 0.06 or max(abs(high) * 0.1, 0.05)
    return _Scale(low - room, high + room, start, end)


def _decimals(span: float) -> int:
    return max(0, min(6, 2 - math.floor(math.log10(span)) - 1))


def _tick(value: float, decimals: int) -> str:
    shown = f"{value:.{decimals}f}"
    return shown.removeprefix("-") if float(shown) == 0 else shown


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"


def _svg(width: float, height: float, parts: Sequence[str], label: str) -> str:
    inside = "".join(parts)
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" role="img" '
        f'aria-label="{escape(label)}">{inside}</svg>'
    )


def _axis(scale: _Scale, bottom: float, written: Callable[[float, int], str] = _tick) -> list[str]:
    parts = []
    decimals = _decimals(scale.high - scale.low)
    for value in scale.ticks():
        x = scale(value)
        parts.append(f'<line class="grid" x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{bottom:.1f}"/>')
        parts.append(f'<text class="tick" x="{x:.1f}" y="{bottom + 16:.1f}">{written(value, decimals)}</text>')
    return parts


def _dot_row(scale: _Scale, row: int, name: str, value: float | None, ends: tuple[float, float] | None) -> list[str]:
    """Draw one run: its name, its interval as a line, its value as a dot."""
    y = _TOP + _ROW * row + _ROW / 2
    shown = f"{escape(_short(name))}<title>{escape(name)}</title>"
    parts = [f'<text class="name" x="{_LABEL - 10}" y="{y + 4:.1f}">{shown}</text>']
    if ends is not None:
        low, high = scale(ends[0]), scale(ends[1])
        parts.append(f'<line class="interval" x1="{low:.1f}" y1="{y:.1f}" x2="{high:.1f}" y2="{y:.1f}"/>')
        parts += [
            f'<line class="interval" x1="{x:.1f}" y1="{y - 5:.1f}" x2="{x:.1f}" y2="{y + 5:.1f}"/>' for x in (low, high)
        ]
    if value is not None:
        parts.append(f'<circle cx="{scale(value):.1f}" cy="{y:.1f}" r="5"/>')
    return parts


def means_plot(comparison: Comparison, measure: Measure) -> str:
    """Draw the mean of every run with its interval."""
    means = {name: comparison.whole.means[name, measure] for name in comparison.names}
    known = [value for mean in means.values() for value in (mean.value, *(mean.interval or ())) if value is not None]
    scale = _scale(known or [0.0, 1.0], _LABEL, _WIDTH - _RIGHT)
    bottom = _TOP + _ROW * len(means)
    parts = _axis(scale, bottom)
    for row, (name, mean) in enumerate(means.items()):
        said = f"{name}: {words.number(mean.value)}"
        if mean.interval is not None:
            said += f", {words.number(mean.interval[0])} to {words.number(mean.interval[1])}"
        drawn = _dot_row(scale, row, name, mean.value, mean.interval)
        parts += [f'<g class="run{row % COLOURS}"><title>{escape(said)}</title>', *drawn, "</g>"]
    return _svg(_WIDTH, bottom + _AXIS, parts, f"means by {comparison.labels[measure]} with intervals")


def differences_plot(comparison: Comparison, measure: Measure) -> str:
    """Draw the difference of every run to the baseline with its interval, and the line where there is none."""
    changes = {run: comparison.whole.changes[run, measure] for run in comparison.runs}
    known = [v for change in changes.values() for v in (change.difference, *(change.interval or ())) if v is not None]
    scale = _scale([0.0, *known], _LABEL, _WIDTH - _RIGHT)
    bottom = _TOP + _ROW * len(changes)
    zero = scale(0.0)
    parts = [
        *_axis(scale, bottom, words.signed),
        f'<line class="zero" x1="{zero:.1f}" y1="{_TOP}" x2="{zero:.1f}" y2="{bottom}"/>',
    ]
    for row, (name, change) in enumerate(changes.items()):
        said = f"{name}: {words.signed(change.difference)}, {words.interval(change.interval)}"
        drawn = _dot_row(scale, row, name, change.difference, change.interval)
        parts += [f'<g class="run{(row + 1) % COLOURS}"><title>{escape(said)}</title>', *drawn, "</g>"]
    return _svg(_WIDTH, bottom + _AXIS, parts, f"differences by {comparison.labels[measure]} with intervals")


def sorted_differences_plot(comparison: Comparison, run: str, measure: Measure, width: int) -> str:
    """Draw the differences of all queries, the largest gain first: one step per query, at most one per half pixel."""
    height, left = 130, 56
    differences = sorted(comparison.difference(run, measure).values(), reverse=True)
    if not differences:
        return ""
    largest = max(abs(differences[0]), abs(differences[-1])) or 1.0
    scale = _Scale(-largest, largest, height - 8.0, 8.0)
    zero = scale(0.0)
    decimals = _decimals(2 * largest) + 1  # its ends are no round numbers
    parts = []
    for value in (largest, 0.0, -largest):
        y = scale(value)
        parts.append(f'<line class="grid" x1="{left}" y1="{y:.1f}" x2="{width}" y2="{y:.1f}"/>')
        parts.append(f'<text class="side" x="{left - 6}" y="{y + 4:.1f}">{words.signed(value, decimals)}</text>')
    most = 2 * (width - left)
    shown = differences
    if len(differences) > most:
        shown = [differences[place * len(differences) // most] for place in range(most)]
    for kind, wanted in (("win", 1), ("loss", -1)):
        path = _steps([value if value * wanted > 0 else 0.0 for value in shown], scale, left, width)
        if path:
            parts.append(f'<path class="{kind}" d="{path}"/>')
    parts.append(f'<line class="zero" x1="{left}" y1="{zero:.1f}" x2="{width}" y2="{zero:.1f}"/>')
    return _svg(width, height, parts, f"differences of all queries by {comparison.labels[measure]}, sorted")


def _steps(values: Sequence[float], scale: _Scale, start: float, end: float) -> str:
    """Outline neighbouring bars as one path."""
    wide = (end - start) / len(values)
    zero = scale(0.0)
    used = [place for place, value in enumerate(values) if value]
    if not used:
        return ""
    first, last = used[0], used[-1] + 1
    points = [f"V{scale(values[place]):.2f}H{start + (place + 1) * wide:.2f}" for place in range(first, last)]
    return "".join([f"M{start + first * wide:.2f} {zero:.1f}", *points, f"V{zero:.1f}Z"])


def win_tie_loss_bar(change: Change, width: int) -> str:
    """Draw wins, ties and losses as one bar."""
    height = 22
    if not change.queries:
        return ""
    parts, x = [], 0.0
    for kind, count in (("win", change.wins), ("tie", change.ties), ("loss", change.losses)):
        wide = width * count / change.queries
        if not count:
            continue
        parts.append(f'<rect class="{kind}" x="{x:.1f}" y="0" width="{wide:.1f}" height="{height}"/>')
        if wide > 9 * len(str(count)) + 4:
            parts.append(f'<text class="on-{kind}" x="{x + wide / 2:.1f}" y="15">{count}</text>')
        x += wide
    return _svg(width, height, parts, f"wins/ties/losses: {words.win_tie_loss(change)}")
