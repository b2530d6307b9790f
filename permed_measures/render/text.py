"""Plain text for a terminal: aligned tables without frames, so that a line can be read by other tools."""

import unicodedata
from collections.abc import Iterator, Sequence
from textwrap import wrap

from permed_measures.errors import visible
from permed_measures.render.document import Block, Cell, Document, Lines, Section, Table

_WIDTH = 118  # of a table whose texts flow
_NUMBER = 20  # so much room at least is beside the first texts


def terminal_width(line: str) -> int:
    """Return how many columns a text takes: East Asian wide characters take two, combining ones none.

    >>> terminal_width("P@1"), terminal_width("检索")
    (3, 4)
    """
    if line.isascii():
        return len(line)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in line
    )


def table_text(table: Table) -> str:
    """Align the columns; what is marked has a star."""
    cells = table.cells()
    widest = [max(len(_ending(row[place])) for row in cells) if cells else 0 for place in range(len(table.heads))]
    lines = [[visible(head) + " " * room for head, room in zip(table.heads, widest, strict=True)]]
    lines += [
        [visible(cell.shown) + _ending(cell).ljust(room) for cell, room in zip(row, widest, strict=True)]
        for row in cells
    ]
    laid_out = _flowing(lines, table.right()) if table.flow else _split(lines, table.right())
    title = [visible(table.title), ""] if table.title else []
    below = [""] if table.below else []
    for line in map(visible, table.below):
        below += wrap(line, _WIDTH, subsequent_indent="  ", break_long_words=False) if len(line) > _WIDTH else [line]
    return "\n".join([*title, *laid_out, *below])


def _ending(cell: Cell) -> str:
    """Return what is after the number: a space, letters, and the star."""
    return (f" {cell.letters}" if cell.letters else "") + ("*" if cell.marked else "")


def _split(lines: list[list[str]], right: Sequence[bool]) -> Iterator[str]:
    """Align the columns; those that do not fit beside the others come below, after the first texts again."""
    texts = next((place for place, is_right in enumerate(right) if is_right), len(right))
    widths = [max(map(terminal_width, column)) + 2 for column in zip(*lines, strict=True)]
    if texts < len(right) and sum(widths[:texts]) > _WIDTH - _NUMBER:  # no number has room beside such texts
        lines = list(_broken(lines, texts, (_WIDTH - _NUMBER) // texts - 2))
        widths = [max(map(terminal_width, column)) + 2 for column in zip(*lines, strict=True)]
    parts: list[list[int]] = [[]]
    for place in range(texts, len(right)):
        if parts[-1] and sum(widths[known] for known in (*range(texts), *parts[-1], place)) > _WIDTH + 2:
            parts.append([])
        parts[-1].append(place)
    for number, part in enumerate(parts):
        places = [*range(texts), *part]
        yield from [""] * (number > 0)
        yield from _aligned([[line[place] for place in places] for line in lines], [right[place] for place in places])


def _broken(lines: list[list[str]], texts: int, longest: int) -> Iterator[list[str]]:
    """Break the first texts of each row into several lines."""
    for line in lines:
        cells = [wrap(cell, longest if cell.isascii() else longest // 2) or [""] for cell in line[:texts]]
        for number in range(max(map(len, cells))):
            first = [cell[number] if number < len(cell) else "" for cell in cells]
            yield [*first, *(line[texts:] if number == 0 else [""] * (len(line) - texts))]


def _aligned(lines: list[list[str]], right: Sequence[bool]) -> Iterator[str]:
    widths = [max(map(terminal_width, column)) for column in zip(*lines, strict=True)]
    for line in (lines[0], ["-" * width for width in widths], *lines[1:]):
        cells = []
        for cell, width, is_right in zip(line, widths, right, strict=True):
            spaces = " " * (width - terminal_width(cell))
            cells.append(spaces + cell if is_right else cell + spaces)
        yield "  ".join(cells).rstrip()


def _flowing(lines: list[list[str]], right: Sequence[bool]) -> Iterator[str]:
    """Lay out the numbers, and beside them the texts; empty columns are left out."""
    used = [place for place in range(len(right)) if any(line[place] for line in lines[1:])]
    numbers, texts = ([place for place in used if right[place] == wanted] for wanted in (True, False))
    widths = {place: max(len(line[place]) for line in lines) for place in numbers}
    room = _WIDTH - sum(widths.values()) - 2 * len(numbers)
    for line in lines:
        shown = "".join(f"{line[place]:>{widths[place]}}  " for place in numbers)
        said = [line[place] for place in texts if line[place]]
        joined = " · ".join(said)
        whole = [joined] if len(joined) <= room else said
        for count, part in enumerate(piece for item in whole for piece in wrap(item, room)):
            yield f"{shown if count == 0 else ' ' * len(shown)}{part}"


def text(document: Document) -> str:
    """Return the document; plots are for pages."""
    head = "\n".join([visible(document.title), *wrap(visible(document.summary), _WIDTH)]).strip("\n")
    blocks = [head, *(block for section in document.shown("text") for block in _blocks(section))]
    return "\n\n".join(filter(None, blocks)) + "\n"


def _blocks(section: Section) -> list[str]:
    inside = [(block, shown) for block in section.blocks if (shown := _block(block))]
    if inside and section.heading:
        space = "\n" if isinstance(inside[0][0], Table) else ""
        return [f"{visible(section.heading)}\n{space}{inside[0][1]}", *(shown for _, shown in inside[1:])]
    return [shown for _, shown in inside]


def _block(block: Block) -> str:
    if isinstance(block, Table):
        return table_text(block)
    if not isinstance(block, Lines):
        return ""
    lines = [block.mark + visible(line) for line in block.lines]
    if block.flow:
        lines = [part for line in lines for part in wrap(line, _WIDTH, subsequent_indent=" " * len(block.mark))]
    return "\n".join(lines)
