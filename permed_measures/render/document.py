"""What a result says before it has a format: tables, lines and plots, in sections."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

from permed_measures.render.words import NONE, number, signed


class Cell(NamedTuple):
    """A value that people see in words of its own, as the best of its column, or with the mark of a difference."""

    value: str | float | None
    shown: str = ""
    best: bool = False
    marked: bool = False
    second: bool = False
    letters: str = ""  # those of the systems that it is not separable from
    sign: bool = False  # whether it is a difference, shown with its sign
    share: bool = False  # whether it can be shown in percent
    ends: tuple[float, float] | None = None  # an interval, shown in place of the value


Value = str | float | Cell | None


class Table(NamedTuple):
    """Heads and rows; numbers are rounded where people read them and whole where programs do."""

    heads: Sequence[str]
    rows: Sequence[Sequence[Value]]
    title: str = ""
    left: int | None = None  # how many of the first columns are texts; when not given, those without a number
    below: Sequence[str] = ()  # lines that people read below the table
    places: int = 4
    name: str = ""  # its id in a page
    flow: bool = False  # in plain text, texts are beside the numbers where there is room, else below one another
    percent: bool = False
    label: str = ""  # its name for LaTeX's references

    def cells(self) -> list[list[Cell]]:
        """Return every cell as people read it."""
        return [[self._shown(value if isinstance(value, Cell) else Cell(value)) for value in row] for row in self.rows]

    def _shown(self, cell: Cell) -> Cell:
        if cell.ends is not None:
            return cell._replace(shown=" to ".join(self._number(end, cell) for end in cell.ends))
        if cell.shown:
            return cell
        shown = NONE if cell.value is None else str(cell.value)
        return cell._replace(shown=self._number(cell.value, cell) if isinstance(cell.value, float) else shown)

    def _number(self, value: float, cell: Cell) -> str:
        value *= 100 if self.percent and cell.share else 1
        return (signed if cell.sign else number)(value, self.places)

    def right(self) -> list[bool]:
        """Tell of each column whether it is aligned right, as numbers are."""
        columns = range(len(self.heads))
        if self.left is not None:
            return [place >= self.left for place in columns]
        return [any(isinstance(plain(row[place]), (int, float)) for row in self.rows) for place in columns]

    def filled(self, kept: int) -> "Table":
        """Return the table without the columns that would be empty, the first ``kept`` aside."""
        columns = [*zip(*self.rows, strict=True)] or [()] * len(self.heads)
        filled = [any(plain(value) not in (None, "") for value in column) for column in columns]
        places = [place for place in range(len(self.heads)) if place < kept or filled[place]]
        rows = [[row[place] for place in places] for row in self.rows]
        return self._replace(heads=[self.heads[place] for place in places], rows=rows)

    def records(self) -> list[dict[str, str | float | None]]:
        """Return one dict per row, every number whole."""
        return [dict(zip(self.heads, map(plain, row), strict=True)) for row in self.rows]


def interval_cell(ends: tuple[float, float] | None, *, sign: bool = False, share: bool = False) -> Cell:
    """Return an interval, or that there is none."""
    return Cell(None if ends is None else f"{ends[0]} to {ends[1]}", ends=ends, sign=sign, share=share)


def plain(value: Value) -> str | float | None:
    """Return what a cell holds."""
    return value.value if isinstance(value, Cell) else value


class Lines(NamedTuple):
    """Sentences, one below the other; ``mark`` comes before each where there is plain text only."""

    lines: Sequence[str]
    mark: str = ""
    flow: bool = False  # in plain text, long ones are broken


class Figure(NamedTuple):
    """An SVG plot, for pages only; ``below`` is a sentence, ``legend`` is HTML."""

    svg: str
    caption: str = ""
    below: str = ""
    legend: str = ""


class Html(NamedTuple):
    """Something that only a page can show."""

    inside: str


Block = Table | Lines | Figure | Html


class Section(NamedTuple):
    """Some blocks under a heading: the title, else that of the first table; ``name`` is its id in a page."""

    title: str
    blocks: Sequence[Block]
    name: str = ""
    on: Literal["all", "page", "text"] = "all"  # where it is shown: 'text' is every format but the page
    folded: bool = False  # in a page it opens when it is clicked on

    @property
    def heading(self) -> str:
        """What is above it, where the first table does not say it itself."""
        first = self.blocks[0] if self.blocks else None
        return "" if isinstance(first, Table) and first.title else self.title


class Document(NamedTuple):
    """A whole report."""

    title: str
    summary: str
    sections: Sequence[Section]
    style: str = ""
    scripts: Sequence[str] = ()
    texts: Mapping[str, str] = MappingProxyType({})  # what the scripts of a page read, by id

    def shown(self, on: Literal["page", "text"]) -> list[Section]:
        """Return the sections of a page, or of all other formats."""
        return [section for section in self.sections if section.on in ("all", on)]

    @property
    def tables(self) -> list[Table]:
        """The tables that every format has."""
        return [block for section in self.shown("text") for block in section.blocks if isinstance(block, Table)]


def of_table(table: Table) -> Document:
    """Return a document that is one table."""
    return Document("", "", [Section("", [table])])
