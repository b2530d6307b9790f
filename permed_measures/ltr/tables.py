"""Tables of learning-to-rank samples: the columns of files, frames and lists of dicts, one record per candidate.

A million records are checked a column at a time; the one record that is wrong is looked for only when there is one.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from permed_measures.errors import InputError, ParamError, did_you_mean
from permed_measures.files import json_text
from permed_measures.files.csv_table import csv_rows
from permed_measures.files.parquet import fits as is_parquet
from permed_measures.files.records import Records
from permed_measures.files.source import Source
from permed_measures.ltr.groups import Floats
from permed_measures.numbers import real

NUMBERS = {int, float}
"""Types that numpy takes as they are."""
_SHAPES = "a path, a list of dicts, or a pandas or polars frame"
_SUFFIXES = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".csv": "csv", ".tsv": "csv"}


def _in_row(row: int, message: str) -> InputError:
    return InputError(f"row {row + 1}: {message}")


@dataclass(frozen=True)
class Table:
    """Columns of one source; a value that is absent is None, as JSON's null and SQL's NULL are."""

    names: list[str]
    length: int
    column: Callable[[str], list[Any]]
    """The column of a name; all None where there is no such column."""
    fault: Callable[[int, str], InputError] = _in_row
    """Makes the error for one row: it names file and line where the row came from a file."""
    is_text: bool = False
    """Numbers are still text, as in CSV."""
    path: Path | None = None

    def needed(self, name: str) -> list[Any]:
        """Return a column without absent values."""
        column = self.column(name)
        absent = next((row for row, value in enumerate(column) if value is None), None)
        if absent is not None:
            names = ", ".join(map(repr, self.names)) or "none"
            raise self.fault(absent, f"no {name!r}; the fields are {names}")
        return column

    def checked(self, row: int, check: Callable[..., Any], *values: Any) -> Any:  # noqa: ANN401  (what check takes and makes)
        """Return what ``check`` makes of a value of a row."""
        try:
            return check(*values)
        except (ValueError, TypeError, OverflowError) as error:
            raise self.fault(row, str(error)) from None

    def numbers(self, name: str, what: str = "", *, finite: bool = False) -> "Floats":
        """Return a column of numbers."""
        column = self.needed(name)
        if not set(map(type, column)) <= ({int} if finite else NUMBERS):
            number = partial(as_number, what=what or name, is_text=self.is_text, finite=finite)
            column = [self.checked(row, number, value) for row, value in enumerate(column)]
        return self.floats(column)

    def floats(self, column: list[Any]) -> "Floats":
        """Return numbers as floats."""
        try:
            return np.array(column, dtype=np.float64)
        except OverflowError:  # an int beyond 1.8e308: say where
            return np.array([self.checked(row, float, value) for row, value in enumerate(column)])


def table_of(source: Any) -> Table:  # noqa: ANN401  (one of the shapes below)
    """Return the columns of a file, a frame or an iterable of dicts."""
    if isinstance(source, (str, PathLike)):
        return read_table(source)
    if hasattr(source, "collect") and hasattr(source, "collect_schema"):  # a polars LazyFrame
        source = source.collect()
    if hasattr(source, "columns") and hasattr(source, "__getitem__"):
        return _of_frame(source)
    if isinstance(source, Iterable) and not isinstance(source, (bytes, Mapping)):
        return _of_records(list(source))
    raise InputError(f"samples: {type(source).__name__} is not a shape we know; give {_SHAPES}")


def read_table(path: str | PathLike[str], format: str | None = None) -> Table:  # noqa: A002  (the natural word)
    """Read a file of samples; the format is found by suffix and content when it is not given."""
    if format is not None and format not in _STREAMS:
        raise ParamError(f"unknown format {format!r}.{did_you_mean(format, _STREAMS)}")
    source = Source(path)
    form = format or _detect(source)
    found = list(_STREAMS[form](source))

    def fault(row: int, message: str) -> InputError:
        if form == "parquet":
            return source.error(f"row {row + 1}: {message}")
        text = source.text() if form == "json" else ""
        return source.error(message, json_text.line_at(text, _places(text)[row]) if text else found[row][0])

    return replace(_of_records([record for _, record in found], fault), path=source.path, is_text=form == "csv")


def _detect(source: Source) -> str:
    start = source.head().lstrip()
    if is_parquet(start):
        return "parquet"
    if source.suffix == ".json" and not start.startswith(b"["):
        # many people call JSON Lines .json: {"samples": […]} is one object, lines are several
        return "json" if re.match(rb'\{\s*"samples"\s*:', start) else "jsonl"
    if source.suffix in _SUFFIXES:
        return _SUFFIXES[source.suffix]
    if start[:1] in (b"{", b"["):
        return "jsonl" if start.startswith(b"{") else "json"
    found = "the format cannot be told from name and content" if start else "the file is empty"
    raise source.error(f"{found}; samples are read from {', '.join(_STREAMS)} files")


def _of_frame(frame: Any) -> Table:  # noqa: ANN401  (pandas' or polars')
    texts = list(map(str, frame.columns))
    again = json_text.first_repeated(texts)
    if again is not None:
        raise InputError(f"the column {again!r} occurs twice in the frame; name every column once")
    names = dict(zip(texts, frame.columns, strict=True))
    absent = [None] * len(frame)
    return Table(texts, len(frame), lambda name: _plain(frame[names[name]].to_list()) if name in names else absent)


def _plain(values: list[Any]) -> list[Any]:
    """Pandas' missing values are NaN or NA: make them None."""
    missing = ("NAType", "NaTType")
    return [None if type(v).__name__ in missing or (isinstance(v, float) and v != v) else v for v in values]


def _of_records(records: list[Any], fault: Callable[[int, str], InputError] = _in_row) -> Table:
    wrong = next((row for row, record in enumerate(records) if not isinstance(record, Mapping)), None)
    if wrong is not None:
        raise fault(wrong, f"{type(records[wrong]).__name__}: a sample is an object with trace_id, node_id, …")
    names = list(map(str, records[0])) if records else []
    return Table(names, len(records), lambda name: [record.get(name) for record in records], fault)


def _json_items(source: Source) -> Iterator[tuple[int, Any]]:
    text = source.text()
    try:
        found = json_text.loads(text)
    except json_text.JSONSyntaxError as error:
        raise source.error(str(error), error.line) from None
    except json_text.RepeatedKeyError as error:
        wrong = next((place for place in _places(text) if _has_repeated(text, place)), 0)
        raise source.error(str(error), json_text.line_at(text, wrong)) from None
    found = found.get("samples") if isinstance(found, dict) else found
    if not isinstance(found, list):
        raise source.error('a JSON file of samples is a list of objects, or {"samples": [object, …]}', 1)
    return enumerate(found)


def _places(text: str) -> list[int]:
    return list(
        json_text.items(text, next((value for key, _, value in json_text.members(text) if key == "samples"), 0))
    )


def _has_repeated(text: str, place: int) -> bool:
    try:
        json_text.STRICT.raw_decode(text, place)
    except json_text.RepeatedKeyError:
        return True
    return False


def _csv_records(source: Source) -> Iterator[tuple[int, Any]]:
    names, rows = csv_rows(source)
    again = json_text.first_repeated(names)
    if again is not None:
        raise source.error(f"the column {again!r} occurs twice in the header", 1)
    for line, row in rows:
        yield line, {name: cell or None for name, cell in zip(names, row, strict=True)}  # an empty field is absent


def _parquet_records(source: Source) -> Iterator[tuple[int, Any]]:
    if not is_parquet(source.head()):
        raise source.error("not a parquet file")
    return iter(Records(source, "parquet"))


_STREAMS: dict[str, Callable[[Source], Iterator[tuple[int, Any]]]] = {
    "jsonl": lambda source: json_text.json_lines(source, lambda record: record),
    "json": _json_items,
    "csv": _csv_records,
    "parquet": _parquet_records,
}
"""The records of a file, each with the line it starts in."""


def as_number(value: Any, what: str, *, is_text: bool = False, finite: bool = False) -> float:  # noqa: ANN401  (checked here)
    """Return a number; text is one in CSV only, in digits of ASCII."""
    try:  # Python reads 1_000 as a number; no other tool does
        is_read = is_text and isinstance(value, str) and "_" not in value
        number = float(value.encode()) if is_read else real(value)
        if not finite or np.isfinite(number):
            return number
    except ValueError:
        pass
    raise ValueError(f"the {what} {short(value)} is not a {'finite ' if finite else ''}number")


def short(value: Any) -> str:  # noqa: ANN401  (anything)
    """Return a value as a message shows it."""
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"  # noqa: PLR2004  (fits in one line of a message)
