"""Plain text for a terminal: aligned tables without frames, so that a line can be read by other tools."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from permed_measures.render.document import Block, Document, Lines, Table


def terminal_width(line: str) -> int:
    """Return how many columns a text takes: East Asian wide characters take two, combining ones none.

    >>> terminal_width("P@1"), terminal_width("检索")
    (3, 4)
    """
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in line
    )


def table_text(table: Table) -> str:
    """Align the columns; what is marked has a star."""
    cells = table.cells()
    marked = [any(row[place].marked for row in cells) for place in range(len(table.heads))]
    lines = [[head + " " * marks for head, marks in zip(table.heads, marked, strict=True)]]
    for row in cells:
        lines.append([f"{c.value}{'*' if c.marked else ' ' * marks}" for c, marks in zip(row, marked, strict=True)])
    widths = [max(map(terminal_width, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    title = [table.title, ""] if table.title else []
    below = ["", *table.below] if table.below else []
    return "\n".join([*title, *(_aligned(line, widths, table.right()) for line in lines), *below])


def _aligned(line: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    cells = []
    for cell, width, is_right in zip(line, widths, right, strict=True):
        spaces = " " * (width - terminal_width(cell))
        cells.append(spaces + cell if is_right else cell + spaces)
    return "  ".join(cells).rstrip()


def text(document: Document) -> str:
    """Return the document; plots are for pages."""
    blocks = [part for part in (f"{document.title}\n{document.summary}".strip(),) if part]
    for section in document.sections:
        inside = [] if section.only_page else [part for part in map(_block, section.blocks) if part]
        if inside:
            blocks.append("\n".join([section.title, *inside[:1]]) if section.title else inside[0])
            blocks += inside[1:]
    return "\n\n".join(blocks) + "\n"


def _block(block: Block) -> str:
    if isinstance(block, Table):
        return table_text(block)
    return "\n".join(f"{block.mark}{line}" for line in block.lines) if isinstance(block, Lines) else ""
