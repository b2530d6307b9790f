"""What people read of an Explanation, and its plots. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Literal

from permed_measures.evaluate.conventions import AXES, FAMILIES, SHARED, base_of, in_words, short
from permed_measures.render.document import Block, Cell, Document, Figure, Html, Lines, Section, Table, Value
from permed_measures.render.svg import Scale, axis, picture, row_name
from permed_measures.render.words import counted, number, queries, signed

if TYPE_CHECKING:
    from permed_measures.explanation.result import Combination, Explanation, Moved, Ties, Waterfall

_FEW = 3  # more names than so many are not listed
_WIDTH, _LEFT, _RIGHT = 760, 12, 84
_NAME = 18  # the height of a name, which has its own line: names are long, and their ends tell them apart
_ROW, _TOP, _AXIS, _LONGEST = 24 + _NAME, 8, 26, 110
_STYLE = """
svg text.name { text-anchor: start; }
svg text.value { text-anchor: start; }
svg .level { fill: var(--run0); }
svg .link { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 3 3; }
svg circle.tool { fill: var(--accent); }
svg circle.other { fill: var(--tie); }
"""


def document(explanation: Explanation, *, all_values: bool) -> Document:
    """Return the question and its answer; ``all_values`` adds every value of the family to what is no page."""
    is_open = explanation.value is None and explanation.waterfall is None
    names = [short(*about) for about in explanation.about]
    about = ", ".join(names) if len(names) <= _FEW else "a measure"
    every, low, high = explanation.combinations, *explanation.spread
    sections = [*_matches(explanation), *([] if explanation.waterfall is None else _walk(explanation.waterfall))]
    family: list[Block] = [_dots(explanation), *_family(explanation)]
    sections.append(Section(f"What {about} can mean", family, "values", on="all" if is_open else "page"))
    if all_values:
        sections.append(Section("All values", [_values(explanation, every)], on="text"))
    closed = [f"{AXES[axis].about}: changes nothing here, {why}" for axis, why in explanation.closed.items()]
    sections += _listed("Ties", [line for ties in explanation.ties for line in _tie_lines(ties)], "ties")
    sections += _listed("Notes", [*explanation.notes, *closed], "notes")
    sections += _listed("Sources of the tools' conventions", _sources(every), "sources", "page")
    sections += _listed("Sources", _sources(every if is_open else explanation.matches), "", "text")
    spread = f"Spread: {number(low.value, 6)} ({low.words}) to {number(high.value, 6)} ({high.words})."
    return Document(_headline(explanation, about), spread, sections, style=_STYLE)


def _listed(title: str, lines: Sequence[str], name: str, on: Literal["all", "page", "text"] = "all") -> list[Section]:
    return [Section(title, [Lines(lines, "- ", flow=True)], name, on)] if lines else []


def _headline(explanation: Explanation, about: str) -> str:
    """Say the question and the answer in one sentence."""
    if explanation.waterfall is not None:
        walk = explanation.waterfall
        first, last = (f"{number(value, 6)} ({name})" for value, name in zip(walk.values, walk.names, strict=True))
        return f"From {first} to {last}: {signed(walk.values[1] - walk.values[0], 6)}"
    tried = f"{explanation.conventions:,} conventions with {len(explanation.combinations):,} different values"
    if explanation.value is None:
        return f"What {about} can mean on this run: {tried}"
    shown = f"{explanation.value:.{explanation.decimals}f}"
    if not explanation.matches:
        return f"{about} = {shown}: none of {tried} gives it"
    return f"{about} = {shown}: {counted(len(explanation.matches), 'reading')}, of {tried}"


def _matches(explanation: Explanation) -> Iterator[Section]:
    for name, title, found in (
        ("matches", "Readings that give the value", explanation.matches),
        ("nearest", "The nearest values", explanation.nearest),
        ("elsewhere", "Under another name or cut-off", explanation.elsewhere),
    ):
        rows: list[list[Value]] = []
        for c in found:
            cut = ", cut off, not rounded" if c.truncated else ""
            others = f" ({c.others:,} other conventions give the same number here)" if c.others else ""
            call = "" if c.measure is None else f"evaluate(qrels, run, {c.measure!r}{_options(c)})"
            rows.append([c.value, c.words + cut + others, call, c.used_by])
        if rows:
            heads = ["value", "convention", "measure", "used by"]
            yield Section(title, [Table(heads, rows, places=6, flow=True)], name)


def _options(combination: Combination) -> str:
    """Return what evaluate() needs beside the measure, as it is written."""
    return "".join(f", {name}={value!r}" for name, value in combination.options.items())


def _family(explanation: Explanation) -> list[Table]:
    """Lay out the readings that differ in what is computed, then what all measures share, one toggle at a time."""
    plain, shared = [], []
    for combination in explanation.combinations:
        changed = {axis for axis, _ in combination.convention.deviations()}
        if changed.issubset(FAMILIES[combination.convention.family].axes):
            plain.append(combination)
        if len(changed) == 1 and changed.issubset(SHARED):
            shared.append(combination)
    tables = [_values(explanation, plain)]
    return [*tables, _values(explanation, shared, "What all measures share, one at a time")] if shared else tables


def _values(explanation: Explanation, combinations: Sequence[Combination], title: str = "") -> Table:
    bases = {c.convention.about: c.value for c in reversed(explanation.combinations)}
    rows: list[list[Value]] = []
    for c in combinations:
        measure = "" if c.measure is None else c.measure + _options(c)
        rows.append([c.value, _signed(c.value - bases[c.convention.about]), c.words, measure, c.used_by])
    heads = ["value", "change", "convention", "measure", "used by"]
    return Table(heads, rows, title, places=6, flow=True)


def _signed(change: float) -> Cell:
    return Cell(change, signed(change, 6))


def _walk(walk: Waterfall) -> Iterator[Section]:
    rows: list[list[Value]] = [[walk.values[0], "", walk.names[0], ""]]
    rows += [[s.after, _signed(s.change), f"{AXES[s.axis].about}: {s.words}", queries(s.changed)] for s in walk.steps]
    rows.append([walk.values[1], _signed(walk.values[1] - walk.values[0]), f"{walk.names[1]}, in all", ""])
    steps = Table(["value", "change", "convention", "queries changed"], rows, places=6, flow=True)
    yield Section(f"From {walk.names[0]} to {walk.names[1]}", [_waterfall(walk), steps], "walk")
    if walk.moved:
        yield Section("The queries that changed most", [_moved(walk.moved)], "queries")
        by_step: list[Block] = []
        for step in walk.steps:
            if step.moved and step.change:
                by_step += [Html(f"<h3>{escape(AXES[step.axis].about)}: {escape(step.words)}</h3>"), _moved(step.moved)]
        yield Section("", by_step, on="page")
    ends = [f"{name}: {in_words(end)}" for name, end in zip(walk.names, (walk.start, walk.end), strict=True)]
    yield Section("What the two are", [Lines(ends)], "ends", on="page")


def _moved(moved: Sequence[Moved]) -> Table:
    rows: list[list[Value]] = []
    for query in moved:
        ends = [Cell(value, "" if value is not None else "not counted") for value in (query.before, query.after)]
        rows.append([*ends, _signed(query.share), query.query_id])
    return Table(["before", "after", "adds to the mean", "query"], rows, places=6, flow=True)


def _tie_lines(ties: Ties) -> list[str]:
    """Say what equal scores leave open."""
    where = "the returned documents" if ties.convention.cutoff is None else f"the top {ties.convention.cutoff}"
    bits = f"{ties.convention.precision}-bit"
    if not ties.tied:
        return [f"no document of {where} shares its {bits} score with another one."]
    counted = f"{ties.tied:,} of {ties.documents:,} documents, {queries(ties.queries)}"
    share = f"{ties.share:.1%} of {where} ({counted}) share their {bits} score with another one."
    if ties.best != ties.best:
        return [share, "the best and the worst value over all orders cannot be given exactly here, so none is given."]
    value, worst, best, mean = (number(one, 6) for one in (ties.value, ties.worst, ties.best, ties.expected))
    could = f"by the order of ties alone the value {value} could be {worst} to {best}"
    return [share, f"{could}, on average {mean} (exact, over all orders)."]


def _sources(combinations: Sequence[Combination]) -> list[str]:
    """Say where the tools' conventions were read, and how they were checked."""
    lines: dict[str, None] = {}
    for combination in combinations:
        for tool in combination.tools:
            entry = tool.to_dict(combination.convention.at)
            remark = f"; {entry['remark']}" if "remark" in entry else ""
            label = tool.label(combination.convention.at)
            lines[f"{label}: {entry['source']} (checked: {entry['checked']}){remark}"] = None
    return list(lines)


def _waterfall(walk: Waterfall) -> Figure:
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


def _dots(explanation: Explanation) -> Figure:
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
