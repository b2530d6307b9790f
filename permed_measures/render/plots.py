"""The plots that results share, made of plain numbers: dots with intervals, sorted steps, counts, curves."""

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import NamedTuple

from permed_measures.render.svg import COLOURS, Scale, axis, picture, row_name
from permed_measures.render.text import terminal_width
from permed_measures.render.words import counted, number, signed

WIDTH = 440  # of a plot in a page: on a telephone its letters can still be read
_RIGHT, _ROW, _TOP, _AXIS = 20, 26, 8, 26
_LETTER = 8  # pixels of a name's character, about
_LEGEND, _TALL = 18, 190
_MARKS = ("M-4-4H4V4H-4Z", "M0-5L5 4H-5Z", "M0 5L5-4H-5Z", "M0-6L6 0L0 6L-6 0Z", "M-5-5L5 5M-5 5L5-5", "M-6 0H6M0-6V6")
"""After the circle: curves are told apart without colours too."""


class Dot(NamedTuple):
    """A row, or a point of a curve at k: a value and its interval."""

    name: str
    value: float | None
    ends: tuple[float, float] | None = None
    limit: float | None = None  # where a mark is drawn: what it may not be beyond
    kind: str = ""  # the class of its colour, where that is not by its place

    def said(self, write: Callable[[float | None], str]) -> str:
        """Return it in words."""
        return f"{self.name}: {write(self.value)}" + (
            f", {write(self.ends[0])} to {write(self.ends[1])}" if self.ends else ""
        )


def _label(names: Sequence[str], width: float) -> float:
    """Return the room of the names, the gap to the plot included."""
    return min(_LETTER * max(map(terminal_width, names), default=0) + 16, 0.4 * width)


def dots(  # noqa: PLR0913  (how rows are told apart, all with defaults)
    rows: Sequence[Dot],
    label: str,
    *,
    width: float = WIDTH,
    changes: bool = False,
    cycle: int = COLOURS,
    said: str = "",
) -> str:
    """Draw a row for each name: its interval as a line, its value as a dot; of changes, also where there is none.

    Colours come again after ``cycle`` rows; ``said`` is below the names.
    """
    known = [value for row in rows for value in (row.value, row.limit, *(row.ends or ())) if value is not None]
    left = _label([*(row.name for row in rows), said], width)
    scale = Scale.around([*([0.0] if changes else []), *known] or [0.0, 1.0], left, width - _RIGHT)
    bottom = _TOP + _ROW * len(rows)
    parts = axis(scale, _TOP, bottom, signed) if changes else axis(scale, _TOP, bottom)
    parts += [f'<text class="tick end" x="{left - 22:g}" y="{bottom + 16}">{said}</text>'] if said else []
    if changes:
        zero = scale(0.0)
        parts.append(f'<line class="zero" x1="{zero:.1f}" y1="{_TOP}" x2="{zero:.1f}" y2="{bottom}"/>')
    for place, row in enumerate(rows):
        colour = (place + changes) % cycle  # the first is the baseline's, which is not among the changes
        kind = row.kind or f"run{colour}"
        parts.append(row_name(row.name, left - 10, _TOP + _ROW * (place + 0.5), int((left - 10) / _LETTER)))
        parts.append(f'<g class="{kind}"><title>{escape(row.said(signed if changes else number))}</title>')
        parts += [*_dot_row(scale, place, row), "</g>"]
    return picture(width, bottom + _AXIS, parts, label)


def _dot_row(scale: Scale, place: int, row: Dot) -> list[str]:
    y = _TOP + _ROW * place + _ROW / 2
    parts = []
    if row.ends is not None:
        low, high = map(scale, row.ends)
        ends = f"M{low:.1f} {y - 5:.1f}v10M{high:.1f} {y - 5:.1f}v10"
        parts.append(f'<path class="interval" d="M{low:.1f} {y:.1f}H{high:.1f}{ends}"/>')
    if row.limit is not None:
        x, top = scale(row.limit), y - _ROW / 2 + 1
        parts.append(f'<line class="level" x1="{x:.1f}" y1="{top:.1f}" x2="{x:.1f}" y2="{top + _ROW - 2:.1f}"/>')
    if row.value is not None:
        parts.append(f'<circle cx="{scale(row.value):.1f}" cy="{y:.1f}" r="5"/>')
    return parts


def sorted_steps(differences: Sequence[float], label: str, width: float) -> str:
    """Draw differences, the largest gain first: one step per query, at most one per half pixel."""
    height, left = 130, 56
    ordered = sorted(differences, reverse=True)
    if not ordered:
        return ""
    largest = max(abs(ordered[0]), abs(ordered[-1])) or 1.0
    scale = Scale(-largest, largest, height - 8.0, 8.0)
    zero = scale(0.0)
    decimals = scale.decimals + 1  # its ends are no round numbers
    parts = []
    for value in (largest, 0.0, -largest):
        y = scale(value)
        parts.append(f'<line class="grid" x1="{left}" y1="{y:.1f}" x2="{width}" y2="{y:.1f}"/>')
        parts.append(f'<text class="side" x="{left - 6}" y="{y + 4:.1f}">{signed(value, decimals)}</text>')
    most = int(2 * (width - left))
    shown = ordered
    if len(ordered) > most:
        shown = [ordered[place * len(ordered) // most] for place in range(most)]
    for kind, wanted in (("win", 1), ("loss", -1)):
        path = _steps([value if value * wanted > 0 else 0.0 for value in shown], scale, left, width)
        if path:
            parts.append(f'<path class="{kind}" d="{path}"/>')
    parts.append(f'<line class="zero" x1="{left}" y1="{zero:.1f}" x2="{width}" y2="{zero:.1f}"/>')
    said = counted(len(ordered), "query", "queries")  # losses are at the other end
    parts.append(f'<text class="level-name" x="{left + 4}" y="{height - 13}">{said}</text>')
    return picture(width, height, parts, label)


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


def wins_bars(counts: Mapping[str, Sequence[int]], width: float) -> str:
    """Draw wins, ties and losses of each name as a bar."""
    gap, height, left = 6, 22, _label(list(counts), width) if any(counts) else 0.0
    parts = []
    for place, (name, numbers) in enumerate(counts.items()):
        x, y, total = left, place * (height + gap), sum(numbers) or 1
        parts += [row_name(name, left - 10, y + height / 2, int((left - 10) / _LETTER))] if name else []
        for kind, count in zip(("win", "tie", "loss"), numbers, strict=True):
            wide = (width - left) * count / total
            if count:
                parts.append(f'<rect class="{kind}" x="{x:.1f}" y="{y}" width="{wide:.1f}" height="{height}"/>')
            if wide > 9 * len(str(count)) + 4:
                parts.append(f'<text class="on-{kind}" x="{x + wide / 2:.1f}" y="{y + 15}">{count}</text>')
            x += wide
    said = "; ".join(f"{name} {'/'.join(map(str, numbers))}".strip() for name, numbers in counts.items())
    return picture(width, len(counts) * (height + gap) - gap, parts, f"wins/ties/losses: {said}")


def curves(
    lines: Mapping[str, Mapping[float, Dot]], label: str, across: str, width: float = WIDTH, *, is_log: bool = False
) -> str:
    """Draw one curve for each name over numbers above 0, with its intervals as a band and a mark at every number."""
    ticks = sorted({x for line in lines.values() for x in line})
    known = [
        v for line in lines.values() for dot in line.values() for v in (dot.value, *(dot.ends or ())) if v is not None
    ]
    left, top = 46.0, 14.0 + _LEGEND * len(lines)
    bottom = top + _TALL
    over = Scale(
        ticks[0], max(ticks[-1], ticks[0] * 1.01), left + 8, width - 4 * len(f"{ticks[-1]:g}") - 6, is_log=True
    )
    up = Scale.around(known or [0.0, 1.0], bottom, top)
    up = Scale(min(known), max(*known, 1.01 * min(known)), bottom, top, is_log=True) if is_log else up
    parts = [
        part
        for tick in up.ticks()
        for part in _level(up(tick), f"{tick:g}" if is_log else number(tick, up.decimals), left, width)
    ]
    free = -99.0
    for tick in ticks:
        if over(tick) - free > _LETTER * len(f"{tick:g}") + 4:
            parts.append(f'<text class="tick" x="{over(tick):.1f}" y="{bottom + 16:.1f}">{tick:g}</text>')
            free = over(tick)
    parts.append(f'<text class="tick" x="{(left + width) / 2:.1f}" y="{bottom + 32:.1f}">{escape(across)}</text>')
    for place, (name, line) in enumerate(lines.items()):
        y = 8 + _LEGEND * place + 6
        longest = int((width - left - 24) / _LETTER)
        parts.append(
            f'{_named(name, left + 18, y, longest)}<g class="run{place % COLOURS}">{_mark(place, left + 6, y)}'
        )
        parts += [*_curve(line, over, up, place), "</g>"]
    return picture(width, bottom + 38, parts, label)


def _named(name: str, x: float, y: float, longest: int) -> str:
    return row_name(name, x, y, longest).replace('class="name"', 'class="level-name"')


def _level(y: float, shown: str, left: float, right: float) -> list[str]:
    line = f'<line class="grid" x1="{left:g}" y1="{y:.1f}" x2="{right:g}" y2="{y:.1f}"/>'
    return [line, f'<text class="side" x="{left - 6:g}" y="{y + 4:.1f}">{shown}</text>']


def _curve(line: Mapping[float, Dot], over: Scale, up: Scale, place: int) -> list[str]:
    points = [(over(x), dot) for x, dot in sorted(line.items()) if dot.value is not None]
    ends = [(x, dot.ends) for x, dot in points if dot.ends is not None]
    band = [f"{x:.1f},{up(low):.1f}" for x, (low, _) in ends] + [
        f"{x:.1f},{up(high):.1f}" for x, (_, high) in ends[::-1]
    ]
    path = " ".join(f"{x:.1f},{up(dot.value or 0.0):.1f}" for x, dot in points)
    marks = [
        f"<g><title>{escape(dot.said(number))}</title>{_mark(place, x, up(dot.value or 0.0))}</g>" for x, dot in points
    ]
    return [f'<polygon class="band" points="{" ".join(band)}"/>', f'<polyline class="curve" points="{path}"/>', *marks]


def _mark(place: int, x: float, y: float) -> str:
    if place % COLOURS == 0 or place % COLOURS > len(_MARKS):
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{4 if place % COLOURS == 0 else 2}"/>'
    return f'<path class="mark" transform="translate({x:.1f} {y:.1f})" d="{_MARKS[place % COLOURS - 1]}"/>'
