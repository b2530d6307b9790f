"""Plots as inline SVG: no library, no network; colours come from the page's style sheet."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ir_measures import Measure

from permed_measures.comparison import Change, Comparison
from permed_measures.comparison.report import words
from permed_measures.render.svg import COLOURS, Scale, axis, picture, row_name
from permed_measures.render.words import number, signed

_LABEL = 150
_WIDTH = 560
_RIGHT = 14
_ROW = 26
_TOP = 8
_AXIS = 26
_LONGEST = 20


def _dot_row(scale: Scale, row: int, name: str, value: float | None, ends: tuple[float, float] | None) -> list[str]:
    """Draw one run: its name, its interval as a line, its value as a dot."""
    y = _TOP + _ROW * row + _ROW / 2
    parts = [row_name(name, _LABEL - 10, y, _LONGEST)]
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
    scale = Scale.around(known or [0.0, 1.0], _LABEL, _WIDTH - _RIGHT)
    bottom = _TOP + _ROW * len(means)
    parts = axis(scale, _TOP, bottom)
    for row, (name, mean) in enumerate(means.items()):
        said = f"{name}: {number(mean.value)}"
        if mean.interval is not None:
            said += f", {number(mean.interval[0])} to {number(mean.interval[1])}"
        drawn = _dot_row(scale, row, name, mean.value, mean.interval)
        parts += [f'<g class="run{row % COLOURS}"><title>{escape(said)}</title>', *drawn, "</g>"]
    return picture(_WIDTH, bottom + _AXIS, parts, f"means by {comparison.labels[measure]} with intervals")


def differences_plot(comparison: Comparison, measure: Measure) -> str:
    """Draw the difference of every run to the baseline with its interval, and the line where there is none."""
    changes = {run: comparison.whole.changes[run, measure] for run in comparison.runs}
    known = [v for change in changes.values() for v in (change.difference, *(change.interval or ())) if v is not None]
    scale = Scale.around([0.0, *known], _LABEL, _WIDTH - _RIGHT)
    bottom = _TOP + _ROW * len(changes)
    zero = scale(0.0)
    parts = [
        *axis(scale, _TOP, bottom, signed),
        f'<line class="zero" x1="{zero:.1f}" y1="{_TOP}" x2="{zero:.1f}" y2="{bottom}"/>',
    ]
    for row, (name, change) in enumerate(changes.items()):
        said = f"{name}: {signed(change.difference)}, {words.interval(change.interval)}"
        drawn = _dot_row(scale, row, name, change.difference, change.interval)
        parts += [f'<g class="run{(row + 1) % COLOURS}"><title>{escape(said)}</title>', *drawn, "</g>"]
    return picture(_WIDTH, bottom + _AXIS, parts, f"differences by {comparison.labels[measure]} with intervals")


def sorted_differences_plot(comparison: Comparison, run: str, measure: Measure, width: int) -> str:
    """Draw the differences of all queries, the largest gain first: one step per query, at most one per half pixel."""
    height, left = 130, 56
    differences = sorted(comparison.difference(run, measure).values(), reverse=True)
    if not differences:
        return ""
    largest = max(abs(differences[0]), abs(differences[-1])) or 1.0
    scale = Scale(-largest, largest, height - 8.0, 8.0)
    zero = scale(0.0)
    decimals = scale.decimals + 1  # its ends are no round numbers
    parts = []
    for value in (largest, 0.0, -largest):
        y = scale(value)
        parts.append(f'<line class="grid" x1="{left}" y1="{y:.1f}" x2="{width}" y2="{y:.1f}"/>')
        parts.append(f'<text class="side" x="{left - 6}" y="{y + 4:.1f}">{signed(value, decimals)}</text>')
    most = 2 * (width - left)
    shown = differences
    if len(differences) > most:
        shown = [differences[place * len(differences) // most] for place in range(most)]
    for kind, wanted in (("win", 1), ("loss", -1)):
        path = _steps([value if value * wanted > 0 else 0.0 for value in shown], scale, left, width)
        if path:
            parts.append(f'<path class="{kind}" d="{path}"/>')
    parts.append(f'<line class="zero" x1="{left}" y1="{zero:.1f}" x2="{width}" y2="{zero:.1f}"/>')
    return picture(width, height, parts, f"differences of all queries by {comparison.labels[measure]}, sorted")


def _steps(values: Sequence[float], scale: Scale, start: float, end: float) -> str:
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
    return picture(width, height, parts, f"wins/ties/losses: {words.win_tie_loss(change)}")
