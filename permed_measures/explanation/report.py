"""An Explanation as text and as markdown. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import NamedTuple

from permed_measures.errors import visible
from permed_measures.explanation.conventions import AXES, FAMILIES, SHARED, short
from permed_measures.explanation.search import Combination, Explanation, Ties
from permed_measures.explanation.waterfall import Moved, Waterfall
from permed_measures.render.markup import markdown_text

WIDTH = 118


class Table(NamedTuple):
    """A table before it has a format; the first columns are numbers, the others texts."""

    heads: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    numbers: int


def number(value: float | None, decimals: int = 6) -> str:
    """Write a value."""
    return "not counted" if value is None else f"{value:.{decimals}f}"


def signed(value: float, decimals: int = 6) -> str:
    """Write a change; none is 0."""
    shown = f"{value:+.{decimals}f}"
    return shown[1:] if float(shown) == 0 else shown


def asked(combination: Combination) -> str:
    """Return the call of evaluate() that gives the value; empty where none does."""
    if combination.measure is None:
        return ""
    options = "".join(f", {name}={value!r}" for name, value in combination.options.items())
    return f"evaluate(qrels, run, {combination.measure!r}{options})"


def headline(explanation: Explanation) -> str:
    """Say the question and the answer in one sentence."""
    about = abouts(explanation)
    if explanation.waterfall is not None:
        walk = explanation.waterfall
        first, last = (f"{number(value)} ({name})" for value, name in zip(walk.values, walk.names, strict=True))
        return f"From {first} to {last}: {signed(walk.values[1] - walk.values[0])}"
    counted = f"{explanation.conventions:,} conventions with {len(explanation.combinations):,} different values"
    if explanation.value is None:
        return f"What {about} can mean on this run: {counted}"
    shown = f"{explanation.value:.{explanation.decimals}f}"
    if not explanation.matches:
        return f"{about} = {shown}: none of {counted} gives it"
    readings = "1 reading" if len(explanation.matches) == 1 else f"{len(explanation.matches)} readings"
    return f"{about} = {shown}: {readings}, of {counted}"


def abouts(explanation: Explanation) -> str:
    """Name what it is about; many names at once are not listed."""
    names = [short(*about) for about in explanation.about]
    few = 3
    return ", ".join(names) if len(names) <= few else "a measure"


def definitions(explanation: Explanation) -> Table:
    """Lay out the readings that differ in what is computed, the plainest first."""
    rows = []
    for combination in explanation.combinations:
        convention = combination.convention
        changed = {axis for axis, _ in convention.deviations()}
        if changed <= set(FAMILIES[convention.family].axes):
            rows.append(_row(combination, explanation))
    return Table(("value", "change", "convention", "measure", "used by"), rows, 2)


def shared(explanation: Explanation) -> Table:
    """Lay out what all measures share, one toggle at a time from the plainest reading."""
    rows = []
    for combination in explanation.combinations:
        changed = [axis for axis, _ in combination.convention.deviations()]
        if len(changed) == 1 and changed[0] in SHARED:
            rows.append(_row(combination, explanation))
    return Table(("value", "change", "convention", "measure", "used by"), rows, 2)


def every(explanation: Explanation) -> Table:
    """Lay out all values."""
    rows = [_row(combination, explanation) for combination in explanation.combinations]
    return Table(("value", "change", "convention", "measure", "used by"), rows, 2)


def _row(combination: Combination, explanation: Explanation) -> tuple[str, ...]:
    convention = combination.convention
    base = next(
        c.value
        for c in explanation.combinations
        if (c.convention.family, c.convention.at) == (convention.family, convention.at)
    )
    options = "".join(f", {name}={value!r}" for name, value in combination.options.items())
    measure = "" if combination.measure is None else f"{combination.measure}{options}"
    return (
        number(combination.value),
        signed(combination.value - base),
        combination.words,
        measure,
        used_by(combination),
    )


def used_by(combination: Combination) -> str:
    """Name the tools and papers."""
    return "; ".join(tool.label(combination.convention.at) for tool in combination.tools)


def steps(walk: Waterfall) -> Table:
    """Lay out the walk."""
    rows = [(number(walk.values[0]), "", walk.names[0], "")]
    rows += [
        (number(step.after), signed(step.change), f"{AXES[step.axis].about}: {step.words}", _changed(step.changed))
        for step in walk.steps
    ]
    rows.append((number(walk.values[1]), signed(walk.values[1] - walk.values[0]), f"{walk.names[1]}, in all", ""))
    return Table(("value", "change", "convention", "queries changed"), rows, 2)


def _changed(count: int) -> str:
    return "1 query" if count == 1 else f"{count:,} queries"


def moved(queries: Sequence[Moved]) -> Table:
    """Lay out the queries that changed most."""
    rows = [(number(q.before), number(q.after), signed(q.share), visible(q.query_id)) for q in queries]
    return Table(("before", "after", "adds to the mean", "query"), rows, 3)


def tie_lines(ties: Ties) -> list[str]:
    """Say what equal scores leave open."""
    where = "the returned documents" if ties.convention.cutoff is None else f"the top {ties.convention.cutoff}"
    bits = f"{ties.convention.precision}-bit"
    if not ties.tied:
        return [f"Ties: no document of {where} shares its {bits} score with another one."]
    queries = "1 query" if ties.queries == 1 else f"{ties.queries:,} queries"
    counted = f"{ties.tied:,} of {ties.documents:,} documents, {queries}"
    lines = [f"Ties: {ties.share:.1%} of {where} ({counted}) share their {bits} score with another one."]
    if ties.best == ties.best:
        lines.append(
            f"By the order of ties alone the value {number(ties.value)} could be {number(ties.worst)} to "
            f"{number(ties.best)}, on average {number(ties.expected)} (exact, over all orders)."
        )
    else:
        lines.append("The best and the worst value over all orders cannot be given exactly here, so none is given.")
    return lines


def spread_line(explanation: Explanation) -> str:
    """Say how far the readings of a name are apart."""
    low, high = explanation.spread
    return f"Spread: {number(low.value)} ({low.words}) to {number(high.value)} ({high.words})."


def closed_lines(explanation: Explanation) -> list[str]:
    """Say what cannot be the reason."""
    return [f"{AXES[axis].about}: changes nothing here, {why}" for axis, why in explanation.closed.items()]


def sources(combinations: Sequence[Combination]) -> list[str]:
    """Say where the tools' conventions were read, and how they were checked."""
    lines: dict[str, None] = {}
    for combination in combinations:
        for tool in combination.tools:
            entry = tool.to_dict(combination.convention.at)
            remark = f"; {entry['remark']}" if "remark" in entry else ""
            label = tool.label(combination.convention.at)
            lines[f"{label}: {entry['source']} (checked: {entry['checked']}){remark}"] = None
    return list(lines)


def text(explanation: Explanation, *, all_values: bool = False) -> str:
    """Return the report as plain text."""
    return "\n".join(map(visible, _text_lines(explanation, all_values=all_values))).rstrip() + "\n"


def _text_lines(explanation: Explanation, *, all_values: bool) -> Iterator[str]:
    yield headline(explanation)
    yield ""
    if explanation.waterfall is not None:
        yield from _text_table(steps(explanation.waterfall))
        if explanation.waterfall.moved:
            yield "The queries that changed most:"
            yield from _text_table(moved(explanation.waterfall.moved))
    elif explanation.value is not None:
        yield from _text_matches(explanation)
    else:
        yield from _text_table(definitions(explanation))
        if shared(explanation).rows:
            yield "What all measures share, one at a time:"
            yield from _text_table(shared(explanation))
    if all_values:
        yield "All values:"
        yield from _text_table(every(explanation))
    yield from wrap(spread_line(explanation), WIDTH)
    for ties in explanation.ties:
        for line in tie_lines(ties):
            yield from wrap(line, WIDTH)
    yield from (f"note: {line}" for line in (*explanation.notes, *closed_lines(explanation)))
    shown = _shown(explanation)
    if sources(shown):
        yield "Sources:"
        for line in sources(shown):
            yield from wrap(line, WIDTH, initial_indent="  ", subsequent_indent="    ")


def _shown(explanation: Explanation) -> Sequence[Combination]:
    if explanation.value is not None:
        return explanation.matches
    return [] if explanation.waterfall is not None else explanation.combinations


def _text_matches(explanation: Explanation) -> Iterator[str]:
    for place, match in enumerate(explanation.matches, 1):
        yield from _text_match(f"{place}.", match)
    if explanation.nearest:
        yield "Nearest:"
        for near in explanation.nearest:
            yield from _text_match("-", near)
    if explanation.elsewhere:
        yield "Under another name or cut-off:"
        for other in explanation.elsewhere:
            yield from _text_match("-", other)


def _text_match(mark: str, match: Combination) -> Iterator[str]:
    cut = ", cut off, not rounded" if match.truncated else ""
    lines = [f"{number(match.value)}{cut}  {match.words}", asked(match)]
    if match.tools:
        lines.append(f"used by: {used_by(match)}")
    if match.others:
        lines.append(f"{match.others:,} other conventions give the same number here")
    for place, line in enumerate(filter(None, lines)):
        first = f"{mark:<3}" if place == 0 else "   "
        yield from wrap(line, WIDTH, initial_indent=first, subsequent_indent="     ")
    yield ""


def _text_table(table: Table) -> Iterator[str]:
    """Lay out columns; the last texts of a row stand below its first one, where they would be too wide beside it."""
    used = [place for place in range(len(table.heads)) if any(row[place] for row in table.rows)]
    numbers = [place for place in used if place < table.numbers]
    widths = {place: max(len(row[place]) for row in [table.heads, *table.rows]) for place in numbers}
    left = sum(widths.values()) + 2 * len(numbers)
    texts = [place for place in used if place >= table.numbers]
    heads = "  ".join(f"{table.heads[place]:>{widths[place]}}" for place in numbers)
    yield f"{heads}  {' · '.join(table.heads[place] for place in texts)}"
    for row in table.rows:
        shown = "  ".join(f"{row[place]:>{widths[place]}}" for place in numbers)
        said = [row[place] for place in texts if row[place]]
        joined = " · ".join(said)
        whole = [joined] if left + len(joined) <= WIDTH else said
        for count, part in enumerate(piece for item in whole for piece in wrap(item, WIDTH - left)):
            yield f"{shown if count == 0 else '':<{left - 2}}  {part}"
    yield ""


def markdown(explanation: Explanation) -> str:
    """Return the report with markdown tables."""
    blocks = [f"**{markdown_text(headline(explanation))}**"]
    if explanation.waterfall is not None:
        blocks.append(_markdown_table(steps(explanation.waterfall)))
        if explanation.waterfall.moved:
            blocks += ["The queries that changed most:", _markdown_table(moved(explanation.waterfall.moved))]
    elif explanation.value is not None:
        heads = ("value", "convention", "measure", "used by")
        for title, found in (
            ("", explanation.matches),
            ("Nearest:", explanation.nearest),
            ("Under another name or cut-off:", explanation.elsewhere),
        ):
            if found:
                rows = [(number(c.value), c.words, asked(c), used_by(c)) for c in found]
                blocks += [*filter(None, [title]), _markdown_table(Table(heads, rows, 1))]
    else:
        blocks.append(_markdown_table(definitions(explanation)))
        if shared(explanation).rows:
            blocks += ["What all measures share, one at a time:", _markdown_table(shared(explanation))]
    blocks.append(markdown_text(spread_line(explanation)))
    blocks += [markdown_text(" ".join(tie_lines(ties))) for ties in explanation.ties]
    lines = [*explanation.notes, *closed_lines(explanation), *sources(_shown(explanation))]
    if lines:
        blocks.append("\n".join(f"- {markdown_text(line)}" for line in lines))
    return "\n\n".join(blocks) + "\n"


def _markdown_table(table: Table) -> str:
    marks = ["---:" if place < table.numbers else ":---" for place in range(len(table.heads))]
    rows = [table.heads, tuple(marks), *(tuple(markdown_text(cell) for cell in row) for row in table.rows)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)
