"""An Explanation as one HTML page with its plots: no network, no library, one file to send."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from permed_measures.explanation import report
from permed_measures.explanation.conventions import AXES, in_words
from permed_measures.explanation.report import Table
from permed_measures.explanation.search import Combination, Explanation
from permed_measures.explanation.waterfall import Waterfall
from permed_measures.render.markup import html_lines, html_page, html_section

_WIDTH = 1100
_LABEL = 430
_RIGHT = 84
_ROW = 30
_TOP = 8
_AXIS = 26
_LONGEST = 62
_STYLE = """
svg text.name { text-anchor: end; }
svg text.value { text-anchor: start; }
svg .level { fill: var(--run0); }
svg .link { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 3 3; }
svg circle.tool { fill: var(--accent); }
svg circle.other { fill: var(--tie); }
.answer { font-size: 17px; overflow-wrap: anywhere; }
.answer code { font-size: 14px; }
td code { font-size: 13px; overflow-wrap: anywhere; }
"""


def page(explanation: Explanation) -> str:
    """Return the whole page."""
    title = report.headline(explanation)
    sections = []
    if explanation.waterfall is not None:
        sections += _walk_sections(explanation.waterfall)
    elif explanation.value is not None:
        sections += _match_sections(explanation)
    sections.append(html_section("values", f"What {report.abouts(explanation)} can mean", _values(explanation)))
    ties = [line for ties in explanation.ties for line in report.tie_lines(ties)]
    sections.append(html_section("ties", "Ties", html_lines(ties)))
    notes = [*explanation.notes, *report.closed_lines(explanation)]
    if notes:
        sections.append(html_section("notes", "Notes", html_lines(notes)))
    named = [c for c in explanation.combinations if c.tools]
    if named:
        sections.append(html_section("sources", "Sources of the tools' conventions", html_lines(report.sources(named))))
    return html_page(title, escape(report.spread_line(explanation)), sections, style=_STYLE)


def _table(table: Table, name: str) -> str:
    def cell(tag: str, place: int, inside: str) -> str:
        left = "" if place < table.numbers else ' class="left"'
        scope = ' scope="col"' if tag == "th" else ""
        return f"<{tag}{scope}{left}>{inside}</{tag}>"

    heads = "".join(cell("th", place, escape(head)) for place, head in enumerate(table.heads))
    rows = [
        "<tr>" + "".join(cell("td", place, escape(text)) for place, text in enumerate(row)) + "</tr>"
        for row in table.rows
    ]
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(name)}"><table>'
        f"<thead><tr>{heads}</tr></thead><tbody>\n" + "\n".join(rows) + "\n</tbody></table></div>"
    )


def _match_sections(explanation: Explanation) -> list[str]:
    sections = []
    for name, title, found in (
        ("matches", "Readings that give the value", explanation.matches),
        ("nearest", "The nearest values", explanation.nearest),
        ("elsewhere", "Under another name or cut-off", explanation.elsewhere),
    ):
        if found:
            sections.append(html_section(name, title, "".join(map(_match, found))))
    return sections


def _match(match: Combination) -> str:
    parts = [f'<p class="answer"><b>{report.number(match.value)}</b> {escape(match.words)}']
    if match.measure is not None:
        parts.append(f"<br><code>{escape(report.asked(match))}</code>")
    if match.tools:
        parts.append(f"<br>used by: {escape(report.used_by(match))}")
    return "".join(parts) + "</p>"


def _walk_sections(walk: Waterfall) -> list[str]:
    sections = [
        html_section(
            "walk", f"From {walk.names[0]} to {walk.names[1]}", _waterfall(walk) + _table(report.steps(walk), "steps")
        )
    ]
    if walk.moved:
        inside = _table(report.moved(walk.moved), "queries from A to B")
        for step in walk.steps:
            if step.moved and step.change:
                title = f"<h3>{escape(AXES[step.axis].about)}: {escape(step.words)}</h3>"
                inside += title + _table(report.moved(step.moved), step.axis)
        sections.append(html_section("queries", "The queries that changed most", inside))
    ends = [f"{name}: {in_words(end)}" for name, end in zip(walk.names, (walk.start, walk.end), strict=True)]
    sections.append(html_section("ends", "What the two are", html_lines(ends)))
    return sections


def _values(explanation: Explanation) -> str:
    inside = _dots(explanation)
    inside += _table(report.definitions(explanation), "definitions")
    if report.shared(explanation).rows:
        inside += "<h3>What all measures share, one at a time</h3>" + _table(report.shared(explanation), "shared")
    return inside


class _Scale:
    """Where values stand on a line of pixels."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        low, high = min(values), max(values)
        room = (high - low) * 0.05 or 0.05
        self.low, self.high = max(low - room, 0.0), high + room
        self.start, self.end = start, end

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Return some round values within the range."""
        rough = (self.high - self.low) / 6
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
        return [place * step for place in range(math.ceil(self.low / step), math.floor(self.high / step) + 1)]


def _axis(scale: _Scale, bottom: float) -> list[str]:
    parts = []
    for value in scale.ticks():
        x = scale(value)
        parts.append(f'<line class="grid" x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{bottom:.1f}"/>')
        parts.append(f'<text class="tick" x="{x:.1f}" y="{bottom + 16:.1f}">{value:.4g}</text>')
    return parts


def _svg(height: float, parts: Sequence[str], label: str) -> str:
    return (
        f'<figure><svg viewBox="0 0 {_WIDTH} {height:g}" width="{_WIDTH}" height="{height:g}" role="img" '
        f'aria-label="{escape(label)}">{"".join(parts)}</svg></figure>'
    )


def _name(text: str, y: float) -> str:
    shown = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return f'<text class="name" x="{_LABEL - 10}" y="{y + 4:.1f}">{escape(shown)}<title>{escape(text)}</title></text>'


def _waterfall(walk: Waterfall) -> str:
    """Draw A, each toggle as a bar from where the last one ended, and B."""
    bars: list[tuple[str, str, float, float, str]] = [
        ("level", walk.names[0], 0.0, walk.values[0], report.number(walk.values[0]))
    ]
    for step in walk.steps:
        kind = "win" if step.change > 0 else "loss" if step.change < 0 else "tie"
        bars.append((kind, step.words.partition(" → ")[2], step.before, step.after, report.signed(step.change)))
    bars.append(("level", walk.names[1], 0.0, walk.values[1], report.number(walk.values[1])))
    scale = _Scale([0.0, *(value for _, _, *ends, _ in bars for value in ends)], _LABEL, _WIDTH - _RIGHT)
    bottom = _TOP + _ROW * len(bars)
    parts = _axis(scale, bottom)
    for row, (kind, name, before, after, shown) in enumerate(bars):
        y = _TOP + _ROW * row
        left, right = sorted((scale(before), scale(after)))
        parts.append(_name(name, y + _ROW / 2))
        wide = max(right - left, 1.5)
        parts.append(
            f'<rect class="{kind}" x="{left:.1f}" y="{y + 5}" width="{wide:.1f}" height="{_ROW - 10}">'
            f"<title>{escape(f'{name}: {report.number(before)} to {report.number(after)}')}</title></rect>"
        )
        parts.append(f'<text class="value" x="{right + 6:.1f}" y="{y + _ROW / 2 + 4:.1f}">{shown}</text>')
        if row + 1 < len(bars):
            x = scale(after)
            parts.append(f'<line class="link" x1="{x:.1f}" y1="{y + _ROW - 5}" x2="{x:.1f}" y2="{y + _ROW + 5}"/>')
    return _svg(bottom + _AXIS, parts, f"waterfall from {walk.names[0]} to {walk.names[1]}")


def _dots(explanation: Explanation) -> str:
    """Draw every value of the family as a dot, one row per definition; those that a tool uses stand out."""
    rows: dict[str, list[Combination]] = {}
    for combination in explanation.combinations:
        convention = combination.convention
        plain = convention._replace(
            queries="qrels",
            duplicates="first",
            precision=32,
            ties="trec_eval",
            unjudged="kept",
            empty="zero",
            rounding=None,
        )
        rows.setdefault(in_words(plain), []).append(combination)
    scale = _Scale([combination.value for combination in explanation.combinations], _LABEL, _WIDTH - _RIGHT)
    bottom = _TOP + _ROW * len(rows)
    parts = _axis(scale, bottom)
    for row, (name, combinations) in enumerate(rows.items()):
        y = _TOP + _ROW * row + _ROW / 2
        parts.append(_name(name.partition(", ")[2] or name, y))
        for combination in sorted(combinations, key=lambda c: bool(c.tools)):
            kind, size = ("tool", 5) if combination.tools else ("other", 3)
            said = f"{report.number(combination.value)}: {combination.words}"
            said += f" ({report.used_by(combination)})" if combination.tools else ""
            parts.append(
                f'<circle class="{kind}" cx="{scale(combination.value):.1f}" cy="{y:.1f}" r="{size}">'
                f"<title>{escape(said)}</title></circle>"
            )
        if explanation.value is not None and row == len(rows) - 1:
            x = scale(min(max(explanation.value, scale.low), scale.high))
            parts.append(f'<line class="zero" x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{bottom}"/>')
    return _svg(bottom + _AXIS, parts, "every value of the family")
