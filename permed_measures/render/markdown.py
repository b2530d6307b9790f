"""GitHub's markdown."""

import re
from collections.abc import Iterable

from permed_measures.errors import visible
from permed_measures.render.document import Block, Cell, Document, Lines, Section, Table


def one_line(text: str) -> str:
    """Return a text in one line, with control characters written out."""
    return visible(" ".join(re.split(r"[ \t\n]+", text)).strip(" "))


def markdown_text(line: str) -> str:
    r"""Return a line that markdown shows as it is, within a table too.

    >>> print(markdown_text("a|b <i> list_map"))
    a\|b \<i> list\_map
    """
    return re.sub(r"([\\`*_|<\[\]])", r"\\\1", one_line(line))


def table_markdown(table: Table) -> str:
    """Return the table; the best values are bold."""
    rule = ["---:" if right else "---" for right in table.right()]
    rows = [list(map(markdown_text, table.heads)), rule, *[list(map(_cell, row)) for row in table.cells()]]
    title = [f"**{markdown_text(table.title)}**", ""] if table.title else []
    below = ["", _listed(table.below)] if table.below else []
    return "\n".join([*title, *(f"| {' | '.join(row)} |" for row in rows), *below])


def _cell(cell: Cell) -> str:
    shown = markdown_text(cell.shown)
    raised = ("*" if cell.marked else "") + cell.letters
    raised = f"<sup>{markdown_text(raised)}</sup>" if cell.letters else markdown_text(raised)
    return (f"**{shown}**" if cell.best else shown) + raised


def _listed(lines: Iterable[str], mark: str = "") -> str:
    return "\n".join(f"- {mark}{markdown_text(line)}" for line in lines)


def markdown(document: Document) -> str:
    """Return the document; plots are for pages."""
    head = [f"## {markdown_text(document.title)}" if document.title else "", markdown_text(document.summary)]
    blocks = [block for section in document.shown("text") for block in _blocks(section)]
    return "\n\n".join(filter(None, [*head, *blocks])) + "\n"


def _blocks(section: Section) -> list[str]:
    inside = [*filter(None, map(_block, section.blocks))]
    return [f"**{markdown_text(section.heading)}**", *inside] if inside and section.heading else inside


def _block(block: Block) -> str:
    if isinstance(block, Table):
        return table_markdown(block)
    return _listed(block.lines, block.mark.removeprefix("- ")) if isinstance(block, Lines) else ""
