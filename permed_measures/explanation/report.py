"""What people read of an Explanation. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from permed_measures.explanation.conventions import AXES, FAMILIES, SHARED, in_words, short
from permed_measures.explanation.plots import STYLE, dots, waterfall
from permed_measures.render.document import Block, Cell, Document, Html, Lines, Section, Table, Value
from permed_measures.render.words import counted, number, queries, signed

if TYPE_CHECKING:
    from permed_measures.explanation.search import Combination, Explanation, Ties
    from permed_measures.explanation.waterfall import Moved, Waterfall


def document(explanation: Explanation, *, all_values: bool) -> Document:
    """Return the question and its answer; ``all_values`` adds every value of the family to what is no page."""
    is_open = explanation.value is None and explanation.waterfall is None
    shown: Sequence[Combination] = explanation.combinations if is_open else explanation.matches
    sections = _matches(explanation)
    if explanation.waterfall is not None:
        sections += _walk(explanation.waterfall)
    family: list[Block] = [dots(explanation), *_family(explanation)]
    title = f"What {_abouts(explanation)} can mean"
    sections.append(Section(title, family, "values", on="all" if is_open else "page"))
    if all_values:
        sections.append(Section("All values", [_values(explanation, explanation.combinations)], on="text"))
    notes = [f"{AXES[axis].about}: changes nothing here, {why}" for axis, why in explanation.closed.items()]
    for name, title, lines in (
        ("ties", "Ties", [line for ties in explanation.ties for line in _tie_lines(ties)]),
        ("notes", "Notes", [*explanation.notes, *notes]),
    ):
        if lines:
            sections.append(Section(title, [Lines(lines, "- ", flow=True)], name))
    lists = [Lines(lines, "- ", flow=True) for lines in map(_sources, (explanation.combinations, shown))]
    if lists[0].lines:
        sections.append(Section("Sources of the tools' conventions", lists[:1], "sources", on="page"))
    if lists[1].lines:
        sections.append(Section("Sources", lists[1:], on="text"))
    return Document(_headline(explanation), _spread(explanation), sections, style=STYLE)


def _asked(combination: Combination) -> str:
    """Return the call of evaluate() that gives the value; empty where none does."""
    if combination.measure is None:
        return ""
    options = "".join(f", {name}={value!r}" for name, value in combination.options.items())
    return f"evaluate(qrels, run, {combination.measure!r}{options})"


def _headline(explanation: Explanation) -> str:
    """Say the question and the answer in one sentence."""
    about = _abouts(explanation)
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


def _abouts(explanation: Explanation) -> str:
    """Name what it is about; many names at once are not listed."""
    names = [short(*about) for about in explanation.about]
    few = 3
    return ", ".join(names) if len(names) <= few else "a measure"


def _spread(explanation: Explanation) -> str:
    low, high = explanation.spread
    return f"Spread: {number(low.value, 6)} ({low.words}) to {number(high.value, 6)} ({high.words})."


def _matches(explanation: Explanation) -> list[Section]:
    sections = []
    for name, title, found in (
        ("matches", "Readings that give the value", explanation.matches),
        ("nearest", "The nearest values", explanation.nearest),
        ("elsewhere", "Under another name or cut-off", explanation.elsewhere),
    ):
        rows: list[list[Value]] = [[c.value, _said(c), _asked(c), c.used_by] for c in found]
        table = Table(["value", "convention", "measure", "used by"], rows, places=6, flow=True)
        sections += [Section(title, [table], name)] if found else []
    return sections


def _said(match: Combination) -> str:
    cut = ", cut off, not rounded" if match.truncated else ""
    others = f" ({match.others:,} other conventions give the same number here)" if match.others else ""
    return match.words + cut + others


def _family(explanation: Explanation) -> list[Table]:
    """Lay out the readings that differ in what is computed, then what all measures share, one toggle at a time."""
    plain, shared = [], []
    for combination in explanation.combinations:
        changed = [axis for axis, _ in combination.convention.deviations()]
        if set(changed) <= set(FAMILIES[combination.convention.family].axes):
            plain.append(combination)
        if len(changed) == 1 and changed[0] in SHARED:
            shared.append(combination)
    tables = [_values(explanation, plain)]
    if shared:
        tables.append(_values(explanation, shared, "What all measures share, one at a time"))
    return tables


def _values(explanation: Explanation, combinations: Sequence[Combination], title: str = "") -> Table:
    bases: dict[object, float] = {}
    for combination in explanation.combinations:
        bases.setdefault((combination.convention.family, combination.convention.at), combination.value)
    rows: list[list[Value]] = []
    for c in combinations:
        change = c.value - bases[c.convention.family, c.convention.at]
        options = "".join(f", {name}={value!r}" for name, value in c.options.items())
        measure = "" if c.measure is None else f"{c.measure}{options}"
        rows.append([c.value, Cell(change, signed(change, 6)), c.words, measure, c.used_by])
    heads = ["value", "change", "convention", "measure", "used by"]
    return Table(heads, rows, title, places=6, flow=True)


def _walk(walk: Waterfall) -> list[Section]:
    sections = [Section(f"From {walk.names[0]} to {walk.names[1]}", [waterfall(walk), _steps(walk)], "walk")]
    if walk.moved:
        sections.append(Section("The queries that changed most", [_moved(walk.moved)], "queries"))
        by_step: list[Block] = []
        for step in walk.steps:
            if step.moved and step.change:
                by_step += [Html(f"<h3>{escape(AXES[step.axis].about)}: {escape(step.words)}</h3>"), _moved(step.moved)]
        sections.append(Section("", by_step, on="page"))
    ends = [f"{name}: {in_words(end)}" for name, end in zip(walk.names, (walk.start, walk.end), strict=True)]
    return [*sections, Section("What the two are", [Lines(ends)], "ends", on="page")]


def _steps(walk: Waterfall) -> Table:
    rows: list[list[Value]] = [[walk.values[0], "", walk.names[0], ""]]
    rows += [
        [s.after, Cell(s.change, signed(s.change, 6)), f"{AXES[s.axis].about}: {s.words}", queries(s.changed)]
        for s in walk.steps
    ]
    change = walk.values[1] - walk.values[0]
    rows.append([walk.values[1], Cell(change, signed(change, 6)), f"{walk.names[1]}, in all", ""])
    return Table(["value", "change", "convention", "queries changed"], rows, places=6, flow=True)


def _moved(moved: Sequence[Moved]) -> Table:
    rows: list[list[Value]] = []
    for query in moved:
        ends = [Cell(value, "" if value is not None else "not counted") for value in (query.before, query.after)]
        rows.append([*ends, Cell(query.share, signed(query.share, 6)), query.query_id])
    return Table(["before", "after", "adds to the mean", "query"], rows, places=6, flow=True)


def _tie_lines(ties: Ties) -> list[str]:
    """Say what equal scores leave open."""
    where = "the returned documents" if ties.convention.cutoff is None else f"the top {ties.convention.cutoff}"
    bits = f"{ties.convention.precision}-bit"
    if not ties.tied:
        return [f"no document of {where} shares its {bits} score with another one."]
    counted = f"{ties.tied:,} of {ties.documents:,} documents, {queries(ties.queries)}"
    lines = [f"{ties.share:.1%} of {where} ({counted}) share their {bits} score with another one."]
    if ties.best == ties.best:
        lines.append(
            f"by the order of ties alone the value {number(ties.value, 6)} could be {number(ties.worst, 6)} to "
            f"{number(ties.best, 6)}, on average {number(ties.expected, 6)} (exact, over all orders)."
        )
    else:
        lines.append("the best and the worst value over all orders cannot be given exactly here, so none is given.")
    return lines


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
