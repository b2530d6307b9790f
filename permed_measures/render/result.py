"""The formats of every result, made of its document, its record and its table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, get_args

from permed_measures.errors import ParamError, did_you_mean, require

if TYPE_CHECKING:
    from permed_measures.render.document import Document, Table

Format = Literal["text", "markdown", "latex", "csv", "json", "jsonl", "html"]
"""The names of the formats, in Python and in every command."""
FORMATS: tuple[Format, ...] = get_args(Format)
_FOR_PROGRAMS = ("csv", "json", "jsonl")
_LINES = 20
"""The longest that a result's repr is."""


def written(document: Document, form: Format, *, table: Table | None = None) -> str:
    """Return a document in one of FORMATS; those for programs hold ``table``, else the document's first table."""
    if form not in FORMATS:
        raise ParamError(f"unknown report format {form!r}.{did_you_mean(form, FORMATS)}")
    if form in _FOR_PROGRAMS:
        writer = getattr(import_module("permed_measures.render.records"), f"table_{form}")
        return str(writer(table or document.tables[0]))
    return str(getattr(import_module(f"permed_measures.render.{form}"), form)(document))


def _one_type(column: list[str | float | None]) -> list[str | float | None]:
    """Return a column in which whole numbers are floats where others are: frames have one type per column."""
    mixed = any(isinstance(value, float) for value in column)
    return [float(value) if mixed and type(value) is int else value for value in column]


class Result(ABC):
    """What every result has beside its own numbers; a subclass says what its document and its record are."""

    @abstractmethod
    def document(self) -> Document:
        """Return what people read, before it has a format."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return all of it for JSON."""

    def page(self) -> Document:
        """Return the document of the HTML page, which may hold more."""
        return self.document()

    def as_table(self) -> Table:
        """Return the rows of :meth:`to_dataframe`, CSV and JSON Lines."""
        return self.document().tables[0]

    def render(self, form: Format = "text") -> str:
        """Return the report as 'text', 'markdown', 'latex', 'csv', 'json', 'jsonl' or 'html'."""
        if form == "json":
            return self.to_json() + "\n"
        document = self.page() if form == "html" else self.document()
        return written(document, form, table=self.as_table() if form in _FOR_PROGRAMS else None)

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return :meth:`to_dict` as JSON text."""
        from permed_measures.render.records import as_json  # noqa: PLC0415  (for those who ask)

        return as_json(self.to_dict(), indent)

    def to_dataframe(self, kind: Literal["pandas", "polars"] = "pandas") -> Any:  # noqa: ANN401  (a pandas or polars frame)
        """Return the values as a pandas frame, or a polars one with ``kind='polars'``."""
        if kind not in ("pandas", "polars"):
            msg = f"to_dataframe: kind={kind!r} is not allowed; give 'pandas' or 'polars'"
            raise ParamError(msg)
        frames = require(kind, extra="frames")
        table = self.as_table()
        records = table.records()
        return frames.DataFrame({head: _one_type([record[head] for record in records]) for head in table.heads})

    def to_markdown(self) -> str:
        """Return GitHub's markdown."""
        return self.render("markdown")

    def to_latex(self) -> str:
        """Return tables with booktabs' rules."""
        return self.render("latex")

    def to_html(self) -> str:
        """Return one page that needs nothing else."""
        return self.render("html")

    def _repr_html_(self) -> str:
        from permed_measures.render.html import fragment  # noqa: PLC0415  (for notebooks)

        return fragment(self.document())

    def __str__(self) -> str:
        return self.render().rstrip("\n")

    def __repr__(self) -> str:
        lines = str(self).splitlines()
        if len(lines) <= _LINES:
            return "\n".join(lines)
        return "\n".join([*lines[: _LINES - 1], f"… and {len(lines) - _LINES + 1} lines more: print() shows them"])
