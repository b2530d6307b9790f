"""GitHub's markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable

from permed_measures.render.document import Block, Cell, Document, Lines, Table


def markdown_text(line: str) -> str:
    r"""Return a line that markdown shows as it is, within a table too.

    >>> print(markdown_text("a|b <i> list_map"))
    a\|b \<i> list\_map
    """
    return " ".join(re.sub(r"([\\`*_|<\[\]])", r"\\\1", line).split())


def table_markdown(table: Table) -> str:
    """Return the table; the best values are bold."""
    rule = ["---:" if right else ":---" for right in table.right()]
    rows = [list(map(markdown_text, table.heads)), rule, *[list(map(_cell, row)) for row in table.cells()]]
    title = [f"**{markdown_text(table.title)}**", ""] if table.title else []
    below = ["", *(f"- {markdown_text(line)}" for line in table.below)] if table.below else []
    return "\n".join([*title, *map(_row, rows), *below])


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(cell: Cell) -> str:
    shown = markdown_text(str(cell.value))
    return (f"**{shown}**" if cell.best else shown) + (r"\*" if cell.marked else "")


def markdown(document: Document) -> str:
    """Return the document; plots are for pages."""
    blocks = [f"## {markdown_text(document.title)}"] if document.title else []
    if document.summary:
        blocks.append(markdown_text(document.summary))
    for section in document.sections:
        inside = [] if section.only_page else [part for part in map(_block, section.blocks) if part]
        if inside and section.title:
            blocks.append(f"**{markdown_text(section.title)}**")
        blocks += inside
    return "\n\n".join(blocks) + "\n"


def _block(block: Block) -> str:
    if isinstance(block, Table):
        return table_markdown(block)
    mark = block.mark.removeprefix("- ") if isinstance(block, Lines) else ""
    return "\n".join(f"- {mark}{markdown_text(line)}" for line in block.lines) if isinstance(block, Lines) else ""
