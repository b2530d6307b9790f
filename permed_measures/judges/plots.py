"""The plots of judges: which grades meet which, and three intervals of each mean."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Protocol

from permed_measures.judges.scales import range_of, ranges
from permed_measures.render import plots
from permed_measures.render.document import Figure
from permed_measures.render.plots import Dot
from permed_measures.render.svg import picture, row_name

STYLE = """
svg .heat { fill: var(--accent); }
svg text.cell { text-anchor: middle; font-size: 12px; }
svg text.axis { text-anchor: middle; fill: var(--soft); font-size: 12px; }
"""
_CELL, _LEFT, _TOP = 64, 120, 40


class Ends(Protocol):
    """A value with its interval."""

    @property
    def value(self) -> float: ...  # noqa: D102  (what its name says)
    @property
    def low(self) -> float | None: ...  # noqa: D102  (what its name says)
    @property
    def high(self) -> float | None: ...  # noqa: D102  (what its name says)


def heat_map(confusion: Mapping[tuple[float, float], int], judge: str) -> Figure:
    """Draw how the judge graded what people gave one grade: each row is shaded by its shares."""
    columns = ranges([given for _, given in confusion])
    rows = ranges([given for given, _ in confusion])
    counts = dict.fromkeys(((row, column) for row in rows for column in columns), 0)
    for (people, given), documents in confusion.items():
        counts[range_of(people, rows), range_of(given, columns)] += documents
    width, height = _LEFT + _CELL * len(columns) + 10, _TOP + 34 * len(rows) + 10
    parts = [f'<text class="axis" x="{_LEFT + _CELL * len(columns) / 2:g}" y="14">{escape(judge)}</text>']
    for place, column in enumerate(columns):
        parts.append(f'<text class="axis" x="{_LEFT + _CELL * (place + 0.5):g}" y="{_TOP - 8}">{escape(column)}</text>')
    for line, row in enumerate(rows):
        y = _TOP + 34 * line
        parts.append(row_name(f"people {row}", _LEFT - 10, y + 17, 24))
        total = sum(counts[row, column] for column in columns) or 1
        for place, column in enumerate(columns):
            number = counts[row, column]
            x = _LEFT + _CELL * place
            said = escape(f"people {row}, {judge} {column}: {number:,} documents, {number / total:.0%} of the row")
            parts.append(
                f'<rect class="heat" x="{x}" y="{y}" width="{_CELL - 2}" height="32" '
                f'fill-opacity="{0.04 + 0.6 * number / total:.3f}"><title>{said}</title></rect>'
                f'<text class="cell" x="{x + _CELL / 2 - 1:g}" y="{y + 21}">{number:,}</text>'
            )
    return Figure(picture(width, height, parts, f"grades of people against {judge}"))


def interval_plot(rows: Sequence[tuple[str, Sequence[Ends]]]) -> Figure:
    """Draw the judge's, people's and the corrected interval of each measure below one another."""
    who = ("judge alone", "people alone", "corrected")
    dots = [
        Dot(f"{name}, {said}", e.value, None if e.low is None or e.high is None else (e.low, e.high))
        for name, three in rows
        for said, e in zip(who, three, strict=True)
    ]
    return Figure(plots.dots(dots, "the three estimates of each mean with their intervals", cycle=len(who)))
