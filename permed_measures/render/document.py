"""What a result says before it has a format: tables, lines and plots, in sections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

NONE = "–"  # noqa: RUF001  (an en dash: nothing to show)


@dataclass(frozen=True)
class Cell:
    """A value that stands out: the best of its column, or one with the mark of a shown difference."""

    value: str | float | None
    best: bool = False
    marked: bool = False


Value = str | float | Cell | None


@dataclass(frozen=True)
class Table:
    """Heads and rows; numbers are rounded where people read them and whole where programs do."""

    heads: Sequence[str]
    rows: Sequence[Sequence[Value]]
    title: str = ""
    left: int | None = None
    """How many of the first columns are texts; when not given, those without a number."""
    below: Sequence[str] = ()
    """Lines that people read below the table."""
    places: int = 4
    name: str = ""
    """Its id in a page."""

    def cells(self) -> list[list[Cell]]:
        """Return every cell as a text that people read."""
        return [[self._shown(value if isinstance(value, Cell) else Cell(value)) for value in row] for row in self.rows]

    def _shown(self, cell: Cell) -> Cell:
        if cell.value is None:
            return Cell(NONE, cell.best, cell.marked)
        shown = f"{cell.value:.{self.places}f}" if isinstance(cell.value, float) else str(cell.value)
        return Cell(shown, cell.best, cell.marked)

    def right(self) -> list[bool]:
        """Tell of each column whether it is aligned right, as numbers are."""
        if self.left is not None:
            return [place >= self.left for place in range(len(self.heads))]
        return [any(isinstance(plain(row[place]), (int, float)) for row in self.rows) for place in range(len(self.heads))]

    def records(self) -> list[dict[str, str | float | None]]:
        """Return one dict per row, every number whole."""
        return [dict(zip(self.heads, map(plain, row), strict=True)) for row in self.rows]


def plain(value: Value) -> str | float | None:
    """Return what a cell holds."""
    return value.value if isinstance(value, Cell) else value


@dataclass(frozen=True)
class Lines:
    """Sentences, one below the other; ``mark`` comes before each where there is plain text only."""

    lines: Sequence[str]
    mark: str = ""


@dataclass(frozen=True)
class Figure:
    """An SVG plot, for pages only."""

    svg: str
    caption: str = ""
    legend: str = ""
    """HTML below the plot."""


@dataclass(frozen=True)
class Html:
    """Something that only a page can show."""

    inside: str


Block = Table | Lines | Figure | Html


@dataclass(frozen=True)
class Section:
    """Some blocks under a heading; ``name`` is its id in a page, ``only_page`` leaves it out everywhere else."""

    title: str
    blocks: Sequence[Block]
    name: str = ""
    only_page: bool = False


@dataclass(frozen=True)
class Document:
    """A whole report."""

    title: str
    summary: str
    sections: Sequence[Section]
    style: str = ""
    scripts: Sequence[str] = field(default=())

    @property
    def tables(self) -> list[Table]:
        """All tables, in order."""
        return [block for section in self.sections for block in section.blocks if isinstance(block, Table)]
