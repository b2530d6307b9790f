"""The report as plain text, markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from permed_measures.comparison import Comparison, Table
from permed_measures.comparison.report import words
from permed_measures.errors import visible
from permed_measures.render.markup import latex_text, markdown_row, markdown_text, terminal_width


@dataclass(frozen=True)
class Cell:
    """A text, whether it is the best of its column, and whether it carries the mark of a supported difference."""

    text: str
    best: bool = False
    marked: bool = False


@dataclass(frozen=True)
class Grid:
    """A table before it has a format: texts stand left, numbers right."""

    title: str
    heads: list[str]
    left: int
    """How many of the first columns are texts."""
    rows: list[list[Cell]] = field(default_factory=list)


def means_grid(comparison: Comparison) -> Grid:
    """Lay out runs by measures: the table of a paper."""
    described = bool(comparison.descriptions)
    heads = ["run", *(["description"] if described else []), *comparison.labels.values()]
    heads.append(words.p_imp_name(comparison))
    title = f"{words.queries(comparison.whole.queries)}, baseline {comparison.baseline}"
    grid = Grid(title, heads, left=2 if described else 1)
    for name in comparison.names:
        row = [Cell(name)]
        if described:
            row.append(Cell(comparison.descriptions.get(name, "")))
        row += _mean_cells(comparison, comparison.whole, name)
        improvement = comparison.whole.p_imp.get(name)
        row.append(Cell(words.number(None if improvement is None else improvement.value)))
        grid.rows.append(row)
    return grid


def _mean_cells(comparison: Comparison, table: Table, name: str) -> list[Cell]:
    cells = []
    for measure in comparison.measures:
        change = table.changes.get((name, measure))
        best = name in table.best(measure) and len(table.best(measure)) < len(comparison.names)
        marked = change is not None and change.significant
        cells.append(Cell(words.number(table.means[name, measure].value), best, marked))
    return cells


def changes_grid(comparison: Comparison) -> Grid:
    """Lay out every change with its interval and tests."""
    heads = ["measure", "run", "change", "gain", f"{words.level(comparison)} interval"]
    heads += [f"p {name}" for name in words.SHORT_TEST_NAMES.values()]
    decides = f"p {words.SHORT_TEST_NAMES[comparison.test]}"  # without a correction it stands there already
    if comparison.correction in words.SHORT_CORRECTION_NAMES:
        decides += f", {words.SHORT_CORRECTION_NAMES[comparison.correction]}"
        heads.append(decides)
    heads += ["win/tie/loss", "d", "detectable"]
    grid = Grid(f"changes against {comparison.baseline}", heads, left=2)
    for measure, label in comparison.labels.items():
        for run in comparison.runs:
            change = comparison.whole.changes[run, measure]
            cells = [label, run, words.signed(change.difference), words.percent(change.relative)]
            cells.append(words.interval(change.interval))
            cells += [words.p_value(change.p_values[test]) for test in words.TEST_NAMES]
            if decides == heads[len(cells)]:
                cells.append(words.p_value(change.p_adjusted))
            cells += [words.win_tie_loss(change), words.signed(change.effect_size, decimals=2)]
            cells.append(words.number(change.detectable))
            marks = {decides: change.significant}
            row = [Cell(cell, marked=marks.get(head, False)) for head, cell in zip(heads, cells, strict=True)]
            grid.rows.append(row)
    return grid


def groups_grid(comparison: Comparison) -> Grid:
    """Lay out the means of every group, marked where a change is supported."""
    heads = [comparison.grouped_by or "", "run", "queries", *comparison.labels.values(), words.p_imp_name(comparison)]
    grid = Grid(f"by {comparison.grouped_by}", heads, left=2)
    for table in comparison.groups:
        for name in comparison.names:
            first = name == comparison.baseline
            row = [Cell((table.group or "") if first else ""), Cell(name), Cell(str(table.queries) if first else "")]
            row += _mean_cells(comparison, table, name)
            improvement = table.p_imp.get(name)
            row.append(Cell(words.number(None if improvement is None else improvement.value)))
            grid.rows.append(row)
    return grid


def _grids(comparison: Comparison, brief: bool) -> list[Grid]:  # noqa: FBT001  (passed through by position)
    grids = [means_grid(comparison)]
    if not brief:
        grids.append(changes_grid(comparison))
    if comparison.groups:
        grids.append(groups_grid(comparison))
    return grids


def _conclusions(comparison: Comparison) -> list[str]:
    return [
        f"{label}: {words.conclusion(comparison, run, measure)}"
        for measure, label in comparison.labels.items()
        for run in comparison.runs
    ]


def text(comparison: Comparison, brief: bool) -> str:  # noqa: FBT001  (one signature for all formats)
    """Return aligned plain text."""
    blocks = [_text_grid(grid) for grid in _grids(comparison, brief)]
    below = words.method(comparison)
    under = [below[:1] if brief else below, words.definitions(comparison)]
    if not brief:
        under.append(["What can be concluded", *[f"- {line}" for line in _conclusions(comparison)]])
    if comparison.notes:
        under.append([f"note: {note}" for note in comparison.notes])
    blocks += ["\n".join(map(visible, lines)) for lines in under]
    return "\n\n".join(blocks) + "\n"


def _text_grid(grid: Grid) -> str:
    marked = [any(row[place].marked for row in grid.rows) for place in range(len(grid.heads))]
    texts = [
        [
            visible(cell.text) + ("*" if cell.marked else " " if marks else "")
            for cell, marks in zip(row, marked, strict=True)
        ]
        for row in grid.rows
    ]
    heads = [visible(head) + (" " if marks else "") for head, marks in zip(grid.heads, marked, strict=True)]
    widths = [max(map(terminal_width, column)) for column in zip(heads, *texts, strict=True)]
    lines = [visible(grid.title), ""]
    for row in (heads, ["-" * width for width in widths], *texts):
        cells = [_padded(cell, widths[place], place < grid.left) for place, cell in enumerate(row)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _padded(line: str, width: int, left: bool) -> str:  # noqa: FBT001  (one place, one meaning)
    spaces = " " * (width - terminal_width(line))
    return line + spaces if left else spaces + line


def markdown(comparison: Comparison, brief: bool) -> str:  # noqa: FBT001  (one signature for all formats)
    """Return GitHub's markdown."""
    blocks = []
    for grid in _grids(comparison, brief):
        blocks += [f"**{markdown_text(grid.title)}**", _markdown_grid(grid)]
    below = words.method(comparison)
    below = below[:1] if brief else below
    blocks.append("\n".join(f"- {markdown_text(line)}" for line in [*below, *words.definitions(comparison)]))
    if not brief:
        blocks += ["**What can be concluded**", "\n".join(f"- {markdown_text(c)}" for c in _conclusions(comparison))]
    if comparison.notes:
        blocks.append("\n".join(f"- note: {markdown_text(note)}" for note in comparison.notes))
    return "\n\n".join(blocks) + "\n"


def _markdown_grid(grid: Grid) -> str:
    lines = [[markdown_text(head) for head in grid.heads]]
    lines.append([":---" if place < grid.left else "---:" for place in range(len(grid.heads))])
    for row in grid.rows:
        cells = []
        for cell in row:
            shown = markdown_text(cell.text)
            cells.append((f"**{shown}**" if cell.best else shown) + (r"\*" if cell.marked else ""))
        lines.append(cells)
    return "\n".join(map(markdown_row, lines))


def latex(comparison: Comparison, brief: bool) -> str:  # noqa: FBT001  (one signature for all formats)
    """Return tables with booktabs' rules; the best value is bold."""
    below = [*words.method(comparison)[:1], *words.definitions(comparison)]
    tables = [_latex_grid(grid, below if not place else []) for place, grid in enumerate(_grids(comparison, brief))]
    return "% \\usepackage{booktabs}\n" + "\n".join(tables)


def _latex_grid(grid: Grid, below: Sequence[str]) -> str:
    lines = [r"\begin{table}", r"\centering", rf"\caption{{{latex_text(grid.title)}}}"]
    lines.append(rf"\begin{{tabular}}{{{'l' * grid.left}{'r' * (len(grid.heads) - grid.left)}}}")
    lines.append(r"\toprule")
    lines.append(" & ".join(map(latex_text, grid.heads)) + r" \\")
    lines.append(r"\midrule")
    for row in grid.rows:
        cells = []
        for cell in row:
            shown = latex_text(cell.text)
            cells.append((rf"\textbf{{{shown}}}" if cell.best else shown) + ("$^{*}$" if cell.marked else ""))
        lines.append(" & ".join(cells) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    if below:
        notes = r" \\".join(f"\n{latex_text(line)}" for line in below)
        lines.append(rf"\par\smallskip\footnotesize\raggedright{notes}")
    lines.append(r"\end{table}")
    return "\n".join(lines) + "\n"
