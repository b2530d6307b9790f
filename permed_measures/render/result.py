"""The formats of every result, made of its document, its record and its table."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, cast, get_args

from permed_measures.errors import ParamError, did_you_mean, require

if TYPE_CHECKING:
    from permed_measures.render.document import Document, Table
    from permed_measures.render.figure import Panel, Picture
    from permed_measures.render.layout import Layout

Format = Literal["text", "markdown", "latex", "csv", "json", "jsonl", "html"]
"""The names of the formats, in Python and in every command."""
FORMATS: tuple[Format, ...] = get_args(Format)
PLOTS = ("means", "differences", "wins", "cutoffs")  # what figures show
_FOR_PROGRAMS = ("csv", "json", "jsonl")
_LINES = 20  # the longest that a result's repr is


def written(document: Document, form: Format, *, table: Table | None = None, layout: Layout | None = None) -> str:
    """Return a document in one of FORMATS; those for programs hold ``table``, else the document's first table."""
    if layout is not None:
        document = layout.of(document)
    if form not in FORMATS:
        raise ParamError(f"unknown report format {form!r}.{did_you_mean(form, FORMATS)}")
    if form in _FOR_PROGRAMS:
        writer = getattr(import_module("permed_measures.render.records"), f"table_{form}")
        return str(writer(table or document.tables[0]))
    return str(getattr(import_module(f"permed_measures.render.{form}"), form)(document))


def in_sentences(layout: Layout | None, form: Format) -> AbstractContextManager[None]:
    """Let the sentences of a document that is made meanwhile follow the layout, where people read it."""
    if layout is None or form in _FOR_PROGRAMS:
        return nullcontext()
    from permed_measures.render.words import shown_as  # noqa: PLC0415  (for those who ask)

    return shown_as(layout.places, percent=layout.percent)


def _one_type(column: list[str | float | None]) -> list[str | float | None]:
    """Return a column in which whole numbers are floats where others are: frames have one type per column."""
    mixed = any(isinstance(value, float) for value in column)
    return [float(value) if mixed and type(value) is int else value for value in column]


def flat_name(name: str) -> str:
    """Return a name that every tracker of experiments takes; letters of any language are.

    >>> flat_name("NDCG@10"), flat_name("nDCG(dcg='exp-log2')@10"), flat_name("P@5 >= 0.8"), flat_name("方法")
    ('NDCG_at_10', 'nDCG_dcg_exp-log2_at_10', 'P_at_5_ge_0.8', '方法')
    """
    for sign, word in (("@", "_at_"), (">=", "_ge_"), ("<=", "_le_"), ("==", "_eq_"), (">", "_gt_"), ("<", "_lt_")):
        name = name.replace(sign, word)
    return re.sub(r"_{2,}", "_", re.sub(r"[^\w.-]+", "_", name)).strip("_")


def flat_names(names: Iterable[str]) -> dict[str, str]:
    """Return a name for trackers of each; those that would be alike, or nothing, are numbered.

    >>> flat_names(["a b", "a+b", "+"])
    {'a b': 'a_b', 'a+b': 'a_b_2', '+': '_3'}
    """
    found: dict[str, str] = {}
    for place, name in enumerate(names, 1):
        short = flat_name(name)
        found[name] = f"{short}_{place}" if not short or short in found.values() else short
    return found


MethodT = TypeVar("MethodT", bound=Callable[..., Any])


def made_by(module: str, method: MethodT, function: str = "") -> MethodT:
    """Return a method of a result that a function of another module makes, which is imported when it is called."""

    @wraps(method, updated=())  # not that it is abstract
    def make(self: Result, *args: Any) -> Any:  # noqa: ANN401  (those of the method)
        return getattr(import_module(f"permed_measures.{module}"), function or method.__name__)(self, *args)

    return cast("MethodT", make)


class Result(ABC):
    """What every result has beside its own numbers; a subclass says what its document and its record are."""

    @abstractmethod
    def document(self) -> Document:
        """Return what people read, before it has a format."""

    @abstractmethod
    def record(self) -> dict[str, Any]:
        """Return all of it for JSON."""

    def page(self) -> Document:
        """Return the document of the HTML page, which may hold more."""
        found = self.document()
        return found if found.title else found._replace(title=type(self).__name__)

    def notebook(self) -> Document:
        """Return the document that a notebook shows: the page, unless that is too much of it."""
        return self.page()

    def panels(self, plot: str) -> Sequence[Panel]:
        """Return the parts of one of its plots; a ParamError tells which there are."""
        raise ParamError(f"{type(self).__name__} has no plot {plot!r}; comparisons and evaluations have plots")

    def figure(
        self, plot: str = "means", *, measure: str | None = None, run: str | None = None, columns: int = 1
    ) -> Picture:
        """Return a plot as a file of its own, as wide as one or both columns of a paper: see ``save``.

        ``plot`` is 'means' (with intervals), 'differences' (query by query), 'wins' (ties and losses) or 'cutoffs' (a
        measure against k); ``measure`` and ``run`` leave the others out.
        """
        from permed_measures.render.figure import chosen, standalone  # noqa: PLC0415  (for those who draw)

        return standalone(chosen(self.panels(plot), measure, run), columns)

    MAY_BE_NAN: ClassVar[bool] = False  # whether a number of its JSON may be
    FLAT: ClassVar[tuple[str, ...]] = ()
    """The columns of :meth:`as_table` that name a row for trackers; when not given, all that have texts."""

    def flat(self) -> dict[str, float]:
        """Return the numbers of :meth:`as_table` by the texts of their row, and their column."""
        found: dict[str, float] = {}
        records = self.as_table().records()
        texts = [
            [value for head, value in row.items() if isinstance(value, str) and value and head in (self.FLAT or row)]
            for row in records
        ]
        short = flat_names(dict.fromkeys(text for row in texts for text in row))
        for number, (record, row) in enumerate(zip(records, texts, strict=True), 1):
            start = "/".join(short[text] for text in row)
            for head, value in record.items():
                if isinstance(value, (int, float)) and not isinstance(value, bool):
                    name = f"{start}/{flat_name(head)}" if start else flat_name(head)
                    found[f"{name}_{number}" if name in found else name] = value
        return found

    def to_dict(self, *, flat: bool = False) -> dict[str, Any]:
        """Return all of it for JSON; ``flat`` are numbers by name, as MLflow, W&B and TensorBoard take them.

        Their names have letters, digits and ``_-./ `` only: NDCG@10 is NDCG_at_10.
        """
        return dict(self.flat()) if flat else self.record()

    def as_table(self) -> Table:
        """Return the rows of :meth:`to_dataframe`, CSV and JSON Lines."""
        return self.document().tables[0]

    def render(self, form: Format = "text", *, layout: Layout | None = None, **asked: bool) -> str:
        """Return the report as 'text', 'markdown', 'latex', 'csv', 'json', 'jsonl' or 'html'.

        ``asked`` is for text, markdown and LaTeX: what the result's ``document`` takes.
        """
        if form == "json":
            return self.to_json() + "\n"
        with in_sentences(layout, form):
            document = self.page() if form == "html" else self.document(**asked)
        return written(document, form, table=self.as_table() if form in _FOR_PROGRAMS else None, layout=layout)

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return :meth:`to_dict` as JSON text."""
        from permed_measures.render.records import as_json  # noqa: PLC0415  (for those who ask)

        return as_json(self.to_dict(), indent, allow_nan=self.MAY_BE_NAN)

    def to_dataframe(self, kind: Literal["pandas", "polars"] = "pandas") -> Any:  # noqa: ANN401  (a pandas or polars frame)
        """Return the values as a pandas frame, or a polars one with ``kind='polars'``."""
        if kind not in ("pandas", "polars"):
            raise ParamError(f"to_dataframe: kind={kind!r} is not allowed; give 'pandas' or 'polars'")
        frames = require(kind, extra="frames")
        table = self.as_table()
        records = table.records()
        return frames.DataFrame({head: _one_type([record[head] for record in records]) for head in table.heads})

    def to_markdown(self) -> str:
        """Return GitHub's markdown."""
        return self.render("markdown")

    def to_latex(
        self,
        *,
        caption: str = "",
        label: str = "",
        places: int | None = None,
        percent: bool = False,
        headings: Mapping[str, str] | None = None,
    ) -> str:
        """Return tables with booktabs' rules, which fit into the page; caption and label are the first one's."""
        from permed_measures.render.layout import Layout  # noqa: PLC0415  (for those who ask)

        return self.render(
            "latex", layout=Layout(caption, label, places, percent, {} if headings is None else headings)
        )

    def to_html(self) -> str:
        """Return one page that needs nothing else."""
        return self.render("html")

    def _repr_html_(self) -> str:
        from permed_measures.render.html import fragment  # noqa: PLC0415  (for notebooks)

        return fragment(self.notebook())

    def __str__(self) -> str:
        return self.render().rstrip("\n")

    def __repr__(self) -> str:
        lines = str(self).splitlines()
        if len(lines) <= _LINES:
            return "\n".join(lines)
        return "\n".join([*lines[: _LINES - 1], f"… and {len(lines) - _LINES + 1} lines more: print() shows them"])
