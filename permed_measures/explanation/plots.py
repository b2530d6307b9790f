"""The plots of an explanation: the walk from one value to another, and every value of a family."""

from html import escape
from typing import TYPE_CHECKING

from permed_measures.evaluate.conventions import SHARED, base_of, in_words
from permed_measures.render.document import Figure
from permed_measures.render.svg import Scale, axis, picture, row_name
from permed_measures.render.words import number, signed

if TYPE_CHECKING:
    from permed_measures.explanation.result import Combination, Explanation
    from permed_measures.explanation.waterfall import Waterfall

_WIDTH, _LEFT, _RIGHT = 760, 12, 84
_NAME = 18
"""The height of a name, which has its own line: names are long, and their ends tell them apart."""
_ROW, _TOP, _AXIS, _LONGEST = 24 + _NAME, 8, 26, 110
STYLE = """
svg text.name { text-anchor: start; }
svg text.value { text-anchor: start; }
svg .level { fill: var(--run0); }
svg .link { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 3 3; }
svg circle.tool { fill: var(--accent); }
svg circle.other { fill: var(--tie); }
"""


def waterfall(walk: "Waterfall") -> Figure:
    """Draw A, each toggle as a bar from where the last one ended, and B."""
    bars: list[tuple[str, str, float, float, str]] = [
        ("level", walk.names[0], 0.0, walk.values[0], number(walk.values[0], 6))
    ]
    for step in walk.steps:
        kind = "win" if step.change > 0 else "loss" if step.change < 0 else "tie"
        bars.append((kind, step.words.partition(" → ")[2], step.before, step.after, signed(step.change, 6)))
    bars.append(("level", walk.names[1], 0.0, walk.values[1], number(walk.values[1], 6)))
    scale = Scale.around(
        [0.0, *(value for _, _, *ends, _ in bars for value in ends)], _LEFT, _WIDTH - _RIGHT, floor=0.0
    )
    bottom = _TOP + _ROW * len(bars)
    parts = axis(scale, _TOP, bottom)
    for row, (kind, name, before, after, shown) in enumerate(bars):
        y = _TOP + _ROW * row + _NAME
        left, right = sorted((scale(before), scale(after)))
        parts.append(row_name(name, _LEFT, y - _NAME / 2, _LONGEST))
        wide = max(right - left, 1.5)
        parts.append(
            f'<rect class="{kind}" x="{left:.1f}" y="{y + 2}" width="{wide:.1f}" height="18">'
            f"<title>{escape(f'{name}: {number(before, 6)} to {number(after, 6)}')}</title></rect>"
        )
        parts.append(f'<text class="value" x="{right + 6:.1f}" y="{y + 15:.1f}">{shown}</text>')
        if row + 1 < len(bars):
            x = scale(after)
            parts.append(f'<line class="link" x1="{x:.1f}" y1="{y + 20}" x2="{x:.1f}" y2="{y + _ROW + 2}"/>')
    label = f"waterfall from {walk.names[0]} to {walk.names[1]}"
    return Figure(picture(_WIDTH, bottom + _AXIS, parts, label, kind="large"))


def dots(explanation: "Explanation") -> Figure:
    """Draw every value of the family as a dot, one row per definition; those that a tool uses are larger."""
    rows: dict[str, list[Combination]] = {}
    for combination in explanation.combinations:
        convention = combination.convention
        base = base_of(*convention.about)
        plain = convention._replace(**{axis: getattr(base, axis) for axis in SHARED})
        rows.setdefault(in_words(plain), []).append(combination)
    scale = Scale.around([c.value for c in explanation.combinations], _LEFT, _WIDTH - _RIGHT, floor=0.0)
    bottom = _TOP + _ROW * len(rows)
    parts = axis(scale, _TOP, bottom)
    for row, (name, combinations) in enumerate(rows.items()):
        y = _TOP + _ROW * row + _NAME + 11
        parts.append(row_name(name.partition(", ")[2] or name, _LEFT, y - 20, _LONGEST))
        apart: dict[object, Combination] = {}  # of those at one place that no tool uses, the plainest is drawn
        for combination in combinations:
            apart.setdefault((round(scale(combination.value)), combination.used_by), combination)
        for combination in sorted(apart.values(), key=lambda c: bool(c.tools)):
            kind, size = ("tool", 5) if combination.tools else ("other", 3)
            said = f"{number(combination.value, 6)}: {combination.words}"
            said += f" ({combination.used_by})" if combination.tools else ""
            parts.append(
                f'<circle class="{kind}" cx="{scale(combination.value):.1f}" cy="{y:.1f}" r="{size}">'
                f"<title>{escape(said)}</title></circle>"
            )
        if explanation.value is not None and row == len(rows) - 1:
            x = scale(min(max(explanation.value, scale.low), scale.high))
            parts.append(f'<line class="zero" x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{bottom}"/>')
    below = "large: what a tool or a paper computes; small: other conventions"
    below += "" if explanation.value is None else "; the line: the value that was asked for"
    return Figure(picture(_WIDTH, bottom + _AXIS, parts, "every value of the family", kind="large"), "", below)
