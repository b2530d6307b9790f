"""Rows as people hold them in memory: frames (pandas, polars, Arrow, Hugging Face, trectools), named tuples, dicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from permed_measures.errors import InputError, ParamError
from permed_measures.files.rows import SMALLER, SUBTOPIC_COLUMNS, VALUE_COLUMNS, pick, subtopic_column
from permed_measures.ranking import check_ids

_SHAPES = (
    "a dict of dicts {query_id: {doc_id: number}}, a frame of pandas or polars, named tuples as of ir_measures, dicts, "
    "or a path"
)


def in_memory_rows(source: Any, what: str, columns: Sequence[str] | None) -> Iterator[tuple[str, str, Any, str]]:  # noqa: ANN401
    """Yield query, document, number and subtopic."""
    if hasattr(source, "collect") and hasattr(source, "collect_schema"):  # a polars LazyFrame
        source = source.collect()
    if type(source).__module__.startswith("trectools"):
        source = getattr(source, f"{what}_data", source)
    if hasattr(source, "column_names") or hasattr(source, "columns"):  # Arrow and Hugging Face, or pandas and polars
        return _frame_rows(source, what, columns)
    if isinstance(source, Iterable) and not isinstance(source, (str, bytes)) and getattr(source, "ndim", 1) != 0:
        return _tuple_rows(source, what, columns)
    msg = f"{what}: {type(source).__name__} is not a shape we know; give {_SHAPES}"
    raise InputError(msg)


def _picked(names: Sequence[str], what: str, columns: Sequence[str] | None, row: int = 0) -> tuple[str, str, str]:
    try:
        return pick(names, what, columns, "row" if row else "frame")
    except ParamError:
        raise
    except ValueError as error:
        raise InputError(f"{what}, row {row}: {error}" if row else f"{what}: {error}") from None


def _column(frame: Any, name: str) -> list[Any]:  # noqa: ANN401  (of one of these shapes)
    column = frame[name]
    listed = getattr(column, "to_list", None) or getattr(column, "to_pylist", None)
    return list(column) if listed is None else listed()


def _frame_rows(frame: Any, what: str, columns: Sequence[str] | None) -> Iterator[tuple[str, str, Any, str]]:  # noqa: ANN401
    names = list(getattr(frame, "column_names", None) or frame.columns)
    query, doc, number = _picked(names, what, columns)
    query_ids = _ids(_column(frame, query), query, what)
    doc_ids = _ids(_column(frame, doc), doc, what)
    subtopic = subtopic_column(names, what)
    subtopics = [""] * len(query_ids) if subtopic is None else _ids(_column(frame, subtopic), subtopic, what)
    return zip(query_ids, doc_ids, _column(frame, number), subtopics, strict=True)


def _ids(column: list[Any], name: str, what: str) -> list[str]:
    kinds = set(map(type, column))
    if kinds <= {str}:
        return column
    if kinds <= {int}:
        return list(map(str, column))
    ids = []
    for number, value in enumerate(column, 1):
        if isinstance(value, str):
            ids.append(value)
        elif hasattr(value, "__index__") and not isinstance(value, bool):
            ids.append(str(int(value)))
        else:
            msg = (
                f"{what}, row {number}: the {name} {value!r} is a {type(value).__name__}; ids are strings or whole "
                "numbers, none may be missing"
            )
            raise InputError(msg)
    return ids


def _tuple_rows(rows: Iterable[Any], what: str, columns: Sequence[str] | None) -> Iterator[tuple[str, str, Any, str]]:
    """Yield rows that are named tuples, as of ir_measures, or dicts."""
    fields = columns or ("query_id", "doc_id", VALUE_COLUMNS[what][0])
    for number, row in enumerate(rows, 1):
        place = f"{what}, row {number}"
        if isinstance(row, Mapping):
            names = _picked(list(row), what, columns, number)
            subtopic = subtopic_column(list(row), what)
            query_id, doc_id = (_ids([row[name]], name, place)[0] for name in names[:2])
            yield query_id, doc_id, row[names[2]], "" if subtopic is None else str(row[subtopic])
            continue
        try:
            query_id, doc_id, value = (getattr(row, field.removeprefix(SMALLER)) for field in fields)
        except AttributeError:
            msg = f"{place}: {row!r} has no fields {', '.join(fields)}; give {_SHAPES}"
            raise InputError(msg) from None
        check_ids({doc_id: None}, str(query_id))
        yield (
            checked_query_id(query_id, place),
            doc_id,
            value,
            str(next((getattr(row, n) for n in SUBTOPIC_COLUMNS if hasattr(row, n)), "")),
        )


def checked_query_id(query_id: Any, what: str) -> str:  # noqa: ANN401  (checked here)
    """Return a query id; what is none is an InputError."""
    if not isinstance(query_id, str):
        msg = f"{what}: the query id {query_id!r} is a {type(query_id).__name__}; ids are strings, try str(id)"
        raise InputError(msg)
    if not query_id:
        msg = f"{what}: an empty query id"
        raise InputError(msg)
    return query_id
