"""Samples from whatever holds them, files, frames or lists of dicts: ids, labels, features and scores.

A million records are checked a column at a time; the one record that is wrong is looked for only when there is one.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from permed_measures.errors import InputError, ParamError, did_you_mean
from permed_measures.files import json_text
from permed_measures.files.csv_table import csv_rows
from permed_measures.files.json_text import as_id, first_repeated, short
from permed_measures.files.parquet import fits as is_parquet
from permed_measures.files.records import Records
from permed_measures.files.source import Source
from permed_measures.ltr.groups import Floats, Group, Ints, Samples, as_codes, joined, unlike
from permed_measures.numbers import real
from permed_measures.render.words import counted

GROUP = ("trace_id", "node_id")
_CANDIDATE = ("tool", "candidate_id")
_NUMBERED = re.compile(r"f(0|[1-9]\d*)")
_NUMBERS = {int, float}
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
        if not set(map(type, column)) <= ({int} if finite else _NUMBERS):
            number = partial(_as_number, what=what or name, is_text=self.is_text, finite=finite)
            column = [self.checked(row, number, value) for row, value in enumerate(column)]
        return self.floats(column)

    def floats(self, column: list[Any]) -> "Floats":
        """Return numbers as floats."""
        try:
            return np.array(column, dtype=np.float64)
        except OverflowError:  # an int beyond 1.8e308: say where
            return np.array([self.checked(row, float, value) for row, value in enumerate(column)])


def as_samples(
    source: Any,  # noqa: ANN401  (one of the shapes below)
    *,
    group: str | Sequence[str] = GROUP,
    candidate: str | None = None,
    features: Sequence[str] | None = None,
) -> Samples:
    """Return samples from a path, a list of dicts, or a pandas or polars frame, checked.

    ``group`` names the fields that tell groups apart, ``candidate`` the candidate's (by default ``tool`` or
    ``candidate_id``), ``features`` the fields that are features (by default the list ``features``, else f0, f1, …).
    A sample has features, or a ``score``, or both.
    """
    if isinstance(source, Samples):
        return source
    return _samples(_table_of(source), group, candidate, features)


def read_samples(
    path: str | PathLike[str],
    *,
    format: str | None = None,  # noqa: A002  (the natural word)
    group: str | Sequence[str] = GROUP,
    candidate: str | None = None,
    features: Sequence[str] | None = None,
) -> Samples:
    """Read samples from a JSONL, JSON, CSV or parquet file; the arguments are those of :func:`as_samples`."""
    return _samples(_read_table(path, format), group, candidate, features)


def _samples(
    table: Table, group: str | Sequence[str], candidate: str | None, features: Sequence[str] | None
) -> Samples:
    fields = [group] if isinstance(group, str) else list(group)
    if features is not None and len(set(features)) < len(features):
        raise ParamError(f"features={list(features)} is not allowed; name every feature once")
    if not fields:
        raise ParamError("group=() is not allowed; name the fields that tell groups apart, such as 'trace_id,node_id'")
    if not table.length:
        raise InputError("no samples", path=table.path)
    keys = {name: _ids(table, name) for name in fields}
    candidates = _candidates(table, candidate)
    labels = table.numbers("label", finite=True)
    matrix, names = _features(table, features)
    scores = None if all(value is None for value in table.column("score")) else table.numbers("score")
    if scores is not None and np.isnan(scores).any():
        raise table.fault(int(np.isnan(scores).argmax()), "the score is NaN; a ranking needs a number for every sample")
    if matrix is None and scores is None:
        raise table.fault(0, "neither features ('features', or f0, f1, …) nor a 'score'; a sample has one of them")
    codes = as_codes(zip(*(map(str, key) for key in keys.values()), strict=True))
    pairs = list(zip(codes.tolist(), candidates, strict=True))
    again = first_repeated(pairs)
    if again is not None:
        row = pairs.index(again, pairs.index(again) + 1)
        raise table.fault(row, f"the candidate {candidates[row]!r} occurs in its group twice")
    groups, notes = _groups(table, keys, codes)
    return Samples(groups, codes, candidates, labels, matrix, names, scores, notes)


def _groups(table: Table, keys: dict[str, list[str | int]], codes: "Ints") -> tuple[list[Group], list[str]]:
    queries = table.column("query")
    shown = []
    for name, key in zip(GROUP, [*keys.values(), None, None], strict=False):
        column = keys[name] if name in keys else table.column(name)
        # a key of other names takes the place of the document's trace_id and node_id
        is_free = name not in keys and key is not None and all(value is None for value in column)
        shown.append(key if is_free and key is not None else column)
    groups = [
        Group(
            query_id=joined([str(key[row]) for key in keys.values()]),
            trace_id=shown[0][row],
            node_id=shown[1][row],
            query=None if queries[row] is None else str(queries[row]),
        )
        for row in np.unique(codes, return_index=True)[1].tolist()
    ]
    first_query = dict(zip(codes[::-1].tolist(), reversed(queries), strict=True))
    mixed = {code for code, query in zip(codes.tolist(), queries, strict=True) if query != first_query[code]}
    note = f"{counted(len(mixed), 'group')} whose samples have different queries; the first is shown"
    return groups, [note] if mixed else []


def _ids(table: Table, name: str) -> list[str | int]:
    """Return a column of ids: strings, or whole numbers, none of them absent."""
    column = table.needed(name)
    kinds = set(map(type, column))
    if (kinds <= {str} and _sound(column)) or (kinds == {int} and max(map(abs, column)) < 2**63):
        return column
    return [table.checked(row, _id, value, name) for row, value in enumerate(column)]


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


def _candidates(table: Table, name: str | None) -> list[str]:
    """Return the candidates: ``tool`` or ``candidate_id``, whichever a record has."""
    if name is None:
        name, columns = " or ".join(_CANDIDATE), [table.column(known) for known in _CANDIDATE]
        either = [other if tool is None else tool for tool, other in zip(*columns, strict=True)]
        table = replace(table, column=lambda _: either)
    return list(map(str, _ids(table, name)))


def _features(table: Table, names: Sequence[str] | None) -> "tuple[Floats | None, tuple[str, ...]]":
    """Return the features of every sample, one row each, and their names; None where there are none.

    They are in the fields ``names``, else in one field ``features`` (a list, an object, or JSON text of either), else
    in fields f0, f1, ….
    """
    if names is None and any(value is not None for value in table.column("features")):
        matrix, names = _from_lists(table, table.needed("features"))
    else:
        if names is None:
            numbered = sorted(int(found[1]) for found in map(_NUMBERED.fullmatch, table.names) if found)
            if not numbered:
                return None, ()
            gap = next((number for number, found in enumerate(numbered) if number != found), None)
            if gap is not None:
                raise table.fault(0, f"features are in columns f0, f1, …: f{gap} is not there, f{numbered[-1]} is")
            names = [f"f{number}" for number in numbered]
        columns = [table.numbers(name, f"feature {name}") for name in names]
        matrix = np.column_stack(columns) if columns else np.empty((table.length, 0))
    wrong = ~np.isfinite(matrix)
    if wrong.any():
        row, at = divmod(int(wrong.argmax()), matrix.shape[1])
        raise table.fault(row, f"feature {names[at]} is {matrix[row, at]}; a feature is a finite number")
    return matrix, tuple(names)


def _from_lists(table: Table, column: list[Any]) -> "tuple[Floats, tuple[str, ...]]":
    names = None
    if set(map(type, column)) != {list}:
        column = [table.checked(row, json_text.loads, v) if isinstance(v, str) else v for row, v in enumerate(column)]
        names = tuple(map(str, column[0])) if isinstance(column[0], Mapping) else None
        column = [table.checked(row, _as_list, value, names) for row, value in enumerate(column)]
    width = len(column[0])
    for row, values in enumerate(column):
        if len(values) != width:
            raise table.fault(row, f"{len(values)} features, the samples before have {width}")
    if not set(map(type, chain.from_iterable(column))) <= _NUMBERS:
        column = [[table.checked(row, _as_number, v, "feature") for v in values] for row, values in enumerate(column)]
    columns = [table.floats([values[at] for values in column]) for at in range(width)]
    matrix = np.column_stack(columns) if columns else np.empty((table.length, 0))
    return matrix, names or tuple(f"f{at}" for at in range(width))


def _as_list(value: Any, names: tuple[str, ...] | None) -> list[Any]:  # noqa: ANN401  (checked here)
    if isinstance(value, Mapping) and names is not None:
        by_name = value if value.keys() == set(names) else {str(name): number for name, number in value.items()}
        if by_name.keys() != set(names):
            raise ValueError(f"the features do not match those of the first sample: {unlike(by_name, names)}")
        return [by_name[name] for name in names]
    if hasattr(value, "tolist"):  # numpy, which is what pandas makes of parquet's lists
        value = value.tolist()
    if names is None and isinstance(value, (list, tuple)):
        return list(value)
    wanted = "a list of numbers" if names is None else "named, as those of the first sample are"
    raise ValueError(f"the features {short(value)} are a {type(value).__name__}, not {wanted}")


def _table_of(source: Any) -> Table:  # noqa: ANN401  (one of the shapes below)
    """Return the columns of a file, a frame or an iterable of dicts."""
    if isinstance(source, (str, PathLike)):
        return _read_table(source)
    if hasattr(source, "collect") and hasattr(source, "collect_schema"):  # a polars LazyFrame
        source = source.collect()
    if hasattr(source, "columns") and hasattr(source, "__getitem__"):
        return _of_frame(source)
    if isinstance(source, Iterable) and not isinstance(source, (bytes, Mapping)):
        return _of_records(list(source))
    raise InputError(f"samples: {type(source).__name__} is not a shape we know; give {_SHAPES}")


def _read_table(path: str | PathLike[str], format: str | None = None) -> Table:  # noqa: A002  (the natural word)
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
    again = first_repeated(texts)
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
    inside = next((value for key, _, value in json_text.parts(text) if key == "samples"), 0)
    return [place for _, place, _ in json_text.parts(text, inside)]


def _has_repeated(text: str, place: int) -> bool:
    try:
        json_text.STRICT.raw_decode(text, place)
    except json_text.RepeatedKeyError:
        return True
    return False


def _csv_records(source: Source) -> Iterator[tuple[int, Any]]:
    names, rows = csv_rows(source)
    again = first_repeated(names)
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


def _as_number(value: Any, what: str, *, is_text: bool = False, finite: bool = False) -> float:  # noqa: ANN401  (checked here)
    """Return a number; text is one in CSV only, in digits of ASCII."""
    try:  # Python reads 1_000 as a number; no other tool does
        is_read = is_text and isinstance(value, str) and "_" not in value
        number = float(value.encode()) if is_read else real(value)
        if not finite or np.isfinite(number):
            return number
    except ValueError:
        pass
    raise ValueError(f"the {what} {short(value)} is not a {'finite ' if finite else ''}number")
