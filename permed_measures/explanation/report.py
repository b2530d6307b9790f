"""What people read of an Explanation. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Literal

from permed_measures.evaluate.conventions import AXES, FAMILIES, SHARED, in_words, short
from permed_measures.explanation.plots import STYLE, dots, waterfall
from permed_measures.render.document import Block, Cell, Document, Html, Lines, Section, Table, Value
from permed_measures.render.words import counted, number, queries, signed

if TYPE_CHECKING:
    from permed_measures.explanation.result import Combination, Explanation, Ties
    from permed_measures.explanation.waterfall import Moved, Waterfall

_FEW = 3
"""More names than so many are not listed."""


def document(explanation: Explanation, *, all_values: bool) -> Document:
    """Return the question and its answer; ``all_values`` adds every value of the family to what is no page."""
    is_open = explanation.value is None and explanation.waterfall is None
    names = [short(*about) for about in explanation.about]
    about = ", ".join(names) if len(names) <= _FEW else "a measure"
    every, low, high = explanation.combinations, *explanation.spread
    sections = [*_matches(explanation), *([] if explanation.waterfall is None else _walk(explanation.waterfall))]
    family: list[Block] = [dots(explanation), *_family(explanation)]
    sections.append(Section(f"What {about} can mean", family, "values", on="all" if is_open else "page"))
    if all_values:
        sections.append(Section("All values", [_values(explanation, every)], on="text"))
    closed = [f"{AXES[axis].about}: changes nothing here, {why}" for axis, why in explanation.closed.items()]
    sections += _listed("Ties", [line for ties in explanation.ties for line in _tie_lines(ties)], "ties")
    sections += _listed("Notes", [*explanation.notes, *closed], "notes")
    sections += _listed("Sources of the tools' conventions", _sources(every), "sources", "page")
    sections += _listed("Sources", _sources(every if is_open else explanation.matches), "", "text")
    spread = f"Spread: {number(low.value, 6)} ({low.words}) to {number(high.value, 6)} ({high.words})."
    return Document(_headline(explanation, about), spread, sections, style=STYLE)


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
    yield Section(f"From {walk.names[0]} to {walk.names[1]}", [waterfall(walk), steps], "walk")
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
