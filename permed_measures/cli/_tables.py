"""A plain table in every format the tool prints: text, markdown, LaTeX, CSV, JSON, JSON Lines.

Numbers are rounded where people read them and whole where programs do.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from permed_measures.errors import ParamError, visible

PLACES = 4


class Table(NamedTuple):
    """Heads, rows of texts and numbers, and lines that stand below the table where people read it."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str | float]]
    below: Sequence[str] = ()
    places: int = PLACES

    def cells(self) -> list[list[str]]:
        """Return the rows with rounded numbers."""
        return [[cell if isinstance(cell, str) else f"{cell:.{self.places}f}" for cell in row] for row in self.rows]

    def numeric(self) -> list[bool]:
        """Tell of each column whether it holds numbers, which stand right."""
        return [any(not isinstance(row[place], str) for row in self.rows) for place in range(len(self.heads))]

    def records(self) -> list[dict[str, str | float]]:
        """Return one dict per row."""
        return [dict(zip(self.heads, row, strict=True)) for row in self.rows]


def text(table: Table) -> str:
    """Align columns; no frame, so that a line can be read by other tools."""
    lines = [[*map(visible, line)] for line in (table.heads, *table.cells())]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    right = table.numeric()
    padded = [
        "  ".join(
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    ]
    return "\n".join([*padded, *(["", *map(visible, table.below)] if table.below else [])]) + "\n"


def markdown(table: Table) -> str:
    """Return a GitHub table."""
    from permed_measures.render.markup import markdown_row, markdown_text  # noqa: PLC0415  (most calls print a table)

    rows = [markdown_row(map(markdown_text, line)) for line in (table.heads, *table.cells())]
    rows.insert(1, markdown_row("---:" if right else "---" for right in table.numeric()))
    below = [f"- {markdown_text(line)}" for line in table.below]
    return "\n".join([*rows, *(["", *below] if below else [])]) + "\n"


def latex(table: Table) -> str:
    """Return a tabular with booktabs' rules."""
    from permed_measures.render.markup import latex_text  # noqa: PLC0415  (most calls print a table)

    columns = "".join("r" if right else "l" for right in table.numeric())
    rows = [" & ".join(map(latex_text, line)) + r" \\" for line in (list(table.heads), *table.cells())]
    body = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", rows[0], r"\midrule", *rows[1:], r"\bottomrule"]
    return "\n".join([*body, r"\end{tabular}", *[f"% {visible(line)}" for line in table.below]]) + "\n"


def csv(table: Table) -> str:
    """Return CSV with whole numbers."""
    import csv as writer  # noqa: PLC0415  (most calls print a table)
    import io  # noqa: PLC0415  (likewise)

    lines = io.StringIO(newline="")
    rows = writer.writer(lines, lineterminator="\n")
    rows.writerow(table.heads)
    rows.writerows([[cell if isinstance(cell, str) else repr(cell) for cell in row] for row in table.rows])
    return lines.getvalue()


def jsonl(table: Table) -> str:
    """Return one JSON object per row."""
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in table.records())


FORMATS: Mapping[str, Callable[[Table], str]] = {
    "table": text,
    "markdown": markdown,
    "latex": latex,
    "csv": csv,
    "json": lambda table: json.dumps(table.records(), indent=2, ensure_ascii=False) + "\n",
    "jsonl": jsonl,
}
"""How a table is printed, by the name of the format."""

_SUFFIXES = {"table": ".txt", "text": ".txt", "markdown": ".md", "latex": ".tex"}
"""Where the suffix of an output file is not the name of its format."""


def form_for(output: str | None, asked: str | None, forms: Sequence[str], *, option: str = "--format") -> str:
    """Return the format of a report: the one asked for, else that of the file's suffix, else the first.

    >>> form_for("report.md", None, ["text", "markdown"]), form_for("report", None, ["text", "markdown"])
    ('markdown', 'text')
    """
    suffix = Path(output or "").suffix.lower()
    if asked is not None or not suffix:
        return asked or forms[0]
    known = {_SUFFIXES.get(form, f".{form}"): form for form in forms}
    if suffix not in known:
        choose = f"; or say with {option} what it is to hold" if option else ""
        msg = (
            f"-o {output}: the suffix {suffix!r} is none of those that can be written here: {', '.join(known)}; use "
            f"one of these, or a name without a suffix, which gets {forms[0]}{choose}"
        )
        raise ParamError(msg)
    return known[suffix]
