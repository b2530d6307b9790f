"""Learning-to-rank samples as files, frames and lists of dicts hold them: one record per candidate.

A source becomes a :class:`Table` of columns, so that a million records are checked a column at a time; the one record
that is wrong is looked for only when there is one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from permed_measures.errors import InputError, ParamError, did_you_mean, require
from permed_measures.files.csv_table import csv_rows
from permed_measures.files.json_text import STRICT, as_id, first_repeated, json_lines, loads
from permed_measures.files.parquet import FILE, connected, plain_path, quoted
from permed_measures.files.parquet import fits as is_parquet
from permed_measures.files.source import Source
from permed_measures.numbers import canonical

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

GROUP = ("trace_id", "node_id")
CANDIDATE = ("tool", "candidate_id")
LABEL, SCORE, QUERY, FEATURES = "label", "score", "query", "features"
_NUMBERED = re.compile(r"f(0|[1-9]\d*)")
_NUMBERS = {int, float}
_MANY = 8
_SHAPES = "a path, a list of dicts, or a pandas or polars frame"


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
    msg = f"samples: {type(source).__name__} is not a shape we know; give {_SHAPES}"
    raise InputError(msg)


def read_table(path: str | PathLike[str], format: str | None = None) -> Table:  # noqa: A002  (the natural word)
    """Read a file of samples; the format is found by suffix and content when it is not given."""
    if format is not None and format not in FORMATS:
        raise ParamError(f"unknown format {format!r}.{did_you_mean(format, FORMATS)}")
    source = Source(path)
    return replace(FORMATS[format or _detect(source)](source), path=source.path)


def _detect(source: Source) -> str:
    if is_parquet(source.head()):
        return "parquet"
    by_suffix = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".csv": "csv", ".tsv": "csv"}
    start = source.head().lstrip()
    if source.suffix == ".json" and not start.startswith(b"["):
        # many people call JSON Lines .json: {"samples": […]} is one object, lines are several
        return "json" if re.match(rb'\{\s*"samples"\s*:', start) else "jsonl"
    if source.suffix in by_suffix:
        return by_suffix[source.suffix]
    if start[:1] in (b"{", b"["):
        return "jsonl" if start.startswith(b"{") else "json"
    found = "the format cannot be told from name and content" if start else "the file is empty"
    raise source.error(f"{found}; samples are read from {', '.join(FORMATS)} files")


def _of_frame(frame: Any) -> Table:  # noqa: ANN401  (pandas' or polars')
    names = {str(name): name for name in frame.columns}
    if len(names) < len(frame.columns):
        texts = list(map(str, frame.columns))
        again = next(name for name in texts if texts.count(name) > 1)
        msg = f"the column {again!r} occurs twice in the frame; name every column once"
        raise InputError(msg)
    length = len(frame)

    def column(name: str) -> list[Any]:
        return _plain(frame[names[name]].to_list()) if name in names else [None] * length

    return Table(list(names), length, column)


def _of_records(records: list[Any], fault: Callable[[int, str], InputError] = _in_row) -> Table:
    wrong = next((row for row, record in enumerate(records) if not isinstance(record, Mapping)), None)
    if wrong is not None:
        raise fault(wrong, f"{type(records[wrong]).__name__}: a sample is an object with {', '.join(GROUP)}, …")
    names = list(map(str, records[0])) if records else []
    return Table(names, len(records), lambda name: [record.get(name) for record in records], fault)


def _read_jsonl(source: Source) -> Table:
    found = list(json_lines(source, lambda record: record))
    return _of_records([record for _, record in found], lambda row, message: source.error(message, found[row][0]))


def _read_json(source: Source) -> Table:
    """Read one JSON list of samples, item by item, so that an error can name the line where the item starts."""
    text = source.text()
    start = re.match(r'\s*(?:\{\s*"samples"\s*:\s*)?\[', text)
    if start is None:
        msg = 'a JSON file of samples is a list of objects, or {"samples": [object, …]}'
        raise source.error(msg, 1)
    records: list[Any] = []
    places: list[int] = []
    try:
        end = _take_items(text, start.end(), records, places)
    except (ValueError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else _line(text, places[-1])
        raise source.error(_reason(error), line) from None
    try:
        loads(text[: start.end()] + text[end:])  # what stands around the items
    except ValueError as error:
        raise source.error(f"after the list of samples: {error}", _line(text, _skip(text, end + 1))) from None
    return _of_records(records, lambda row, message: source.error(message, _line(text, places[row])))


def _reason(error: ValueError | RecursionError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON ({error.msg}, column {error.colno})"
    return "JSON nested too deeply" if isinstance(error, RecursionError) else str(error)


def _take_items(text: str, place: int, records: list[Any], places: list[int]) -> int:
    """Read the items of a JSON list that is open already; return where its end stands."""
    decode = STRICT.raw_decode
    place = _skip(text, place)
    if text[place : place + 1] == "]":
        return place
    while True:
        places.append(place)
        record, place = decode(text, place)
        records.append(record)
        place = _skip(text, place)
        if text[place : place + 1] == "]":
            return place
        if text[place : place + 1] != ",":
            message = "expecting ',' or ']'"
            raise json.JSONDecodeError(message, text, place)
        place = _skip(text, place + 1)


def _skip(text: str, place: int) -> int:
    return re.compile(r"[ \t\r\n]*").match(text, place).end()  # type: ignore[union-attr]  # an empty match is one, too


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _read_csv(source: Source) -> Table:
    names, found = csv_rows(source)
    again = first_repeated(names)
    if again is not None:
        raise source.error(f"the column {again!r} occurs twice in the header", 1)
    rows = list(found)

    def column(name: str) -> list[Any]:
        if name not in names:
            return [None] * len(rows)
        at = names.index(name)
        return [row[at] or None for _, row in rows]  # an empty field is an absent value

    return Table(names, len(rows), column, lambda row, message: source.error(message, rows[row][0]), is_text=True)


def _read_parquet(source: Source) -> Table:
    if not is_parquet(source.head()):
        msg = "not a parquet file"
        raise source.error(msg)
    duckdb = require("duckdb", extra="cli")

    def select(what: str) -> list[Any]:
        try:
            with plain_path(source.path) as path, connected(duckdb) as connection:
                return connection.execute(f"{what} FROM {FILE}", [path]).fetchall()  # type: ignore[no-any-return]  # DuckDB's rows
        except duckdb.Error as error:
            raise source.error(f"not readable as parquet: {str(error).splitlines()[0]}") from error

    names = [row[0] for row in select("DESCRIBE SELECT *")]
    length = select("SELECT count(*)")[0][0]

    def column(name: str) -> list[Any]:
        return [value for (value,) in select(f"SELECT {quoted(name)}")] if name in names else [None] * length

    return Table(names, length, column, lambda row, message: source.error(f"row {row + 1}: {message}"))


FORMATS: dict[str, Callable[[Source], Table]] = {
    "jsonl": _read_jsonl,
    "json": _read_json,
    "csv": _read_csv,
    "parquet": _read_parquet,
}


def _plain(values: list[Any]) -> list[Any]:
    """Pandas' missing values are NaN or NA: make them None."""
    return [None if _is_missing(value) else value for value in values]


def _is_missing(value: Any) -> bool:  # noqa: ANN401  (that is the question)
    return type(value).__name__ in {"NAType", "NaTType"} or (isinstance(value, float) and value != value)


def ids_of(table: Table, name: str) -> list[str | int]:
    """Return a column of ids: strings, or whole numbers, none of them absent."""
    column = _needed(table, name)
    kinds = set(map(type, column))
    if (kinds <= {str} and _sound(column)) or (kinds == {int} and max(map(abs, column)) < 2**63):
        return column
    return [_checked(table, row, value, partial(_id, name=name)) for row, value in enumerate(column)]


def _id(value: Any, name: str) -> str | int:  # noqa: ANN401  (checked here)
    if hasattr(value, "__index__") and not isinstance(value, (bool, np.bool_)):
        str(int(value))  # ValueError beyond 4,300 digits
        return int(value)
    return as_id(value, name)


def _sound(column: list[str]) -> bool:
    try:
        "".join(column).encode()
    except UnicodeEncodeError:
        return False
    return "" not in column


def candidates_of(table: Table, name: str | None) -> list[str]:
    """Return the candidates: ``tool`` or ``candidate_id``, whichever a record has."""
    if name is not None:
        return list(map(str, ids_of(table, name)))
    tools, others = (table.column(known) for known in CANDIDATE)
    known = " or ".join(CANDIDATE)
    either = [other if tool is None else tool for tool, other in zip(tools, others, strict=True)]
    return list(map(str, ids_of(replace(table, column=lambda _: either), known)))


def _needed(table: Table, name: str) -> list[Any]:
    column = table.column(name)
    row = next((row for row, value in enumerate(column) if value is None), None)
    if row is not None:
        raise table.fault(row, f"no {name!r}; the fields are {_named(table)}")
    return column


def _named(table: Table) -> str:
    return ", ".join(map(repr, table.names)) or "none"


def _checked(table: Table, row: int, value: Any, check: Callable[[Any], Any]) -> Any:  # noqa: ANN401  (whatever check makes)
    try:
        return check(value)
    except (ValueError, TypeError, OverflowError) as error:
        raise table.fault(row, str(error)) from None


def labels_of(table: Table) -> Floats:
    """Return the labels, finite numbers."""
    column = _needed(table, LABEL)
    if set(map(type, column)) != {int}:
        check = partial(_label, is_text=table.is_text)
        column = [_checked(table, row, value, check) for row, value in enumerate(column)]
    return _as_floats(table, column)


def _label(value: Any, *, is_text: bool) -> float:  # noqa: ANN401  (checked here)
    if isinstance(value, (bool, np.bool_)):
        return float(value)
    try:
        return float(canonical(_read(value, LABEL) if is_text else value))
    except (ValueError, TypeError, OverflowError):
        pass
    msg = f"the label {_short(value)} is not a finite number"
    raise ValueError(msg)


def scores_of(table: Table) -> Floats | None:
    """Return the scores, or None where no record has one."""
    column = table.column(SCORE)
    if all(value is None for value in column):
        return None
    column = _needed(table, SCORE)
    if not set(map(type, column)) <= _NUMBERS:
        check = partial(_number, what="score", is_text=table.is_text)
        column = [_checked(table, row, value, check) for row, value in enumerate(column)]
    scores = _as_floats(table, column)
    if np.isnan(scores).any():
        raise table.fault(int(np.isnan(scores).argmax()), "the score is NaN; a ranking needs a number for every sample")
    return scores


def _as_floats(table: Table, column: list[Any]) -> Floats:
    try:
        return np.array(column, dtype=np.float64)
    except OverflowError:  # an int beyond 1.8e308: say where
        return np.array([_checked(table, row, value, float) for row, value in enumerate(column)])


def _number(value: Any, *, what: str, is_text: bool) -> float:  # noqa: ANN401  (checked here)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str) and is_text:
        return _read(value, what)
    if isinstance(value, str) or not hasattr(value, "__float__"):
        msg = f"the {what} {_short(value)} is not a number"
        raise ValueError(msg)
    return float(value)


def _read(text: str, what: str) -> float:
    if "_" not in text:  # Python reads 1_000 as a number; no other tool does
        try:
            return float(text.encode())  # bytes: the digits of ASCII only
        except ValueError:
            pass
    msg = f"the {what} {_short(text)} is not a number"
    raise ValueError(msg)


def features_of(table: Table, names: Sequence[str] | None) -> tuple[Floats | None, tuple[str, ...]]:
    """Return the features of every sample, one row each, and their names; None where there are none.

    They stand in the fields ``names``, else in one field ``features`` (a list, an object, or JSON text of either), else
    in fields f0, f1, ….
    """
    if names is not None:
        return _from_columns(table, list(names)), tuple(names)
    column = table.column(FEATURES)
    if any(value is not None for value in column):
        return _from_lists(table, _needed(table, FEATURES))
    numbered = sorted(int(found[1]) for found in map(_NUMBERED.fullmatch, table.names) if found)
    if not numbered:
        return None, ()
    if numbered != list(range(len(numbered))):
        gap = next(number for number, found in enumerate(numbered) if number != found)
        raise table.fault(0, f"features stand in columns f0, f1, …: f{gap} is not there, f{numbered[-1]} is")
    known = [f"f{number}" for number in numbered]
    return _from_columns(table, known), tuple(known)


def _from_columns(table: Table, names: list[str]) -> Floats:
    columns = []
    for name in names:
        column = _needed(table, name)
        if not set(map(type, column)) <= _NUMBERS:
            check = partial(_number, what=f"feature {name}", is_text=table.is_text)
            column = [_checked(table, row, value, check) for row, value in enumerate(column)]
        columns.append(_as_floats(table, column))
    matrix = np.column_stack(columns) if columns else np.empty((table.length, 0))
    return _finite(table, matrix, names)


def _from_lists(table: Table, column: list[Any]) -> tuple[Floats, tuple[str, ...]]:
    names = None
    if set(map(type, column)) != {list}:
        column = [_checked(table, row, value, _from_json) for row, value in enumerate(column)]
        names = tuple(map(str, column[0])) if isinstance(column[0], Mapping) else None
        as_list = partial(_as_list, names=names)
        column = [_checked(table, row, value, as_list) for row, value in enumerate(column)]
    width = len(column[0])
    for row, values in enumerate(column):
        if len(values) != width:
            raise table.fault(row, f"{len(values)} features, the samples before have {width}")
    if not set(map(type, chain.from_iterable(column))) <= _NUMBERS:
        number = partial(_number, what="feature", is_text=False)
        column = [[_checked(table, row, value, number) for value in values] for row, values in enumerate(column)]
    names = names or tuple(f"f{at}" for at in range(width))
    flat = np.empty((table.length, width))
    for at in range(width):
        flat[:, at] = _as_floats(table, [values[at] for values in column])
    return _finite(table, flat, names), names


def _from_json(value: Any) -> Any:  # noqa: ANN401  (a list is what it should hold)
    return loads(value) if isinstance(value, str) else value


def _as_list(value: Any, names: tuple[str, ...] | None) -> list[Any]:  # noqa: ANN401  (checked here)
    if isinstance(value, Mapping) and names is not None:
        by_name = value if value.keys() == set(names) else {str(name): number for name, number in value.items()}
        if by_name.keys() != set(names):
            msg = f"the features do not match those of the first sample: {unlike(by_name, names)}"
            raise ValueError(msg)
        return [by_name[name] for name in names]
    if hasattr(value, "tolist"):  # numpy, which is what pandas makes of parquet's lists
        value = value.tolist()
    if names is None and isinstance(value, (list, tuple)):
        return list(value)
    wanted = "a list of numbers" if names is None else "named, as those of the first sample are"
    msg = f"the features {_short(value)} are a {type(value).__name__}, not {wanted}"
    raise ValueError(msg)


def unlike(names: Iterable[str], wanted: Iterable[str]) -> str:
    """Say which names are missing and which are unexpected.

    >>> unlike(["a", "c"], ["a", "b"])
    "missing 'b'; unexpected 'c'"
    """
    found, known = list(names), list(wanted)
    parts = {
        "missing": [name for name in known if name not in found],
        "unexpected": [name for name in found if name not in known],
    }
    return "; ".join(f"{word} {listed(those)}" for word, those in parts.items() if those)


def listed(names: Sequence[str]) -> str:
    """Return names for a message, the first of them where there are many."""
    more = f", … ({len(names)} in all)" if len(names) > _MANY else ""
    return ", ".join(map(repr, names[:_MANY])) + more


def _finite(table: Table, matrix: Floats, names: Sequence[str]) -> Floats:
    wrong = ~np.isfinite(matrix)
    if wrong.any():
        row, at = divmod(int(wrong.argmax()), matrix.shape[1])
        raise table.fault(row, f"feature {names[at]} is {matrix[row, at]}; a feature is a finite number")
    return matrix


def _short(value: Any) -> str:  # noqa: ANN401  (anything)
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"  # noqa: PLR2004  (fits in one line of a message)
