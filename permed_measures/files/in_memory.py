"""Rows as people hold them in memory: frames (pandas, polars, Arrow, Hugging Face, trectools), named tuples, dicts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from permed_measures.errors import InputError, ParamError
from permed_measures.files.rows import (
    KEEP_ONE,
    SMALLER,
    SUBTOPIC_COLUMNS,
    VALUE_COLUMNS,
    Duplicates,
    kept_of,
    pick,
    subtopic_column,
)
from permed_measures.ranking import check_ids, checked_score

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
    raise InputError(f"{what}: {type(source).__name__} is not a shape we know; give {_SHAPES}")


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
    query_ids = ids_of(_column(frame, query), query, what)
    doc_ids = ids_of(_column(frame, doc), doc, what)
    subtopic = subtopic_column(names, what)
    subtopics = [""] * len(query_ids) if subtopic is None else ids_of(_column(frame, subtopic), subtopic, what)
    return zip(query_ids, doc_ids, _column(frame, number), subtopics, strict=True)


def ids_of(column: list[Any], name: str, what: str) -> list[str]:
    """Return the ids of a column as strings; what is neither a string nor a whole number is an InputError."""
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
            raise InputError(
                f"{what}, row {number}: the {name} {value!r} is a {type(value).__name__}; ids are strings or whole "
                "numbers, none may be missing"
            )
    return ids


def _tuple_rows(rows: Iterable[Any], what: str, columns: Sequence[str] | None) -> Iterator[tuple[str, str, Any, str]]:
    """Yield rows that are named tuples, as of ir_measures, or dicts."""
    fields = columns or ("query_id", "doc_id", VALUE_COLUMNS[what][0])
    for number, row in enumerate(rows, 1):
        place = f"{what}, row {number}"
        if isinstance(row, Mapping):
            names = _picked(list(row), what, columns, number)
            subtopic = subtopic_column(list(row), what)
            query_id, doc_id = (ids_of([row[name]], name, place)[0] for name in names[:2])
            yield query_id, doc_id, row[names[2]], "" if subtopic is None else str(row[subtopic])
            continue
        try:
            query_id, doc_id, value = (getattr(row, field.removeprefix(SMALLER)) for field in fields)
        except AttributeError:
            raise InputError(f"{place}: {row!r} has no fields {', '.join(fields)}; give {_SHAPES}") from None
        check_ids({doc_id: None}, str(query_id))
        of = str(next((getattr(row, name) for name in SUBTOPIC_COLUMNS if hasattr(row, name)), ""))
        yield checked_query_id(query_id, place), doc_id, value, of


def checked_query_id(query_id: Any, what: str) -> str:  # noqa: ANN401  (checked here)
    """Return a query id; what is none is an InputError."""
    if not isinstance(query_id, str):
        msg = f"{what}: the query id {query_id!r} is a {type(query_id).__name__}; ids are strings, try str(id)"
        raise InputError(msg)
    if not query_id:
        raise InputError(f"{what}: an empty query id")
    return query_id


def grouped(
    rows: Iterable[tuple[str, str, Any, str]], duplicates: Duplicates, *, smaller: bool
) -> dict[str, dict[str, Any]]:
    """Return {query_id: {doc_id: score}} of the rows of a run; scores are checked where they are looked at."""
    groups: dict[str, dict[str, Any]] = {}
    keep = kept_of(duplicates)
    for number, (query_id, doc_id, given, _) in enumerate(rows, 1):
        group = groups.setdefault(query_id, {})
        if doc_id in group and keep is None:
            raise InputError(f"run, row {number}: query {query_id!r}, document {doc_id!r} occurs before; {KEEP_ONE}")
        # elsewhere it is checked when it is ranked
        value = given if keep is None and not smaller else checked_score(given, doc_id, query_id)
        value = -value if smaller else value
        group[doc_id] = value if keep is None else keep(group.get(doc_id, value), value)
    return groups


def run_from_arrays(  # noqa: PLR0913  (one of the numbers is given)
    query_ids: Sequence[Any],
    ids: Any,  # noqa: ANN401  (an array, or lists)
    *,
    scores: Any = None,  # noqa: ANN401  (as above)
    distances: Any = None,  # noqa: ANN401  (as above)
    doc_ids: Sequence[str] | None = None,
    duplicates: Duplicates = "error",
) -> dict[str, dict[str, float]]:
    """Make a run of what a vector index answers, a row of ids and one of numbers for each query.

    Say what the numbers are: ``scores``, of which the larger is the better (inner product, cosine), or ``distances``,
    of which the smaller is (L2). An id of -1 is none, as in FAISS. ``doc_ids`` names documents that are known by place.
    ``query_ids`` has a query for each row; ``duplicates`` is that of evaluate. Returns a run; raises InputError.

    >>> run_from_arrays(["q"], [[2, 0, -1]], distances=[[0.5, 0.75, 9.0]], doc_ids=["a", "b", "c"])
    {'q': {'c': -0.5, 'a': -0.75}}
    """
    if (scores is None) == (distances is None):
        msg = "say what the numbers are: scores= (larger is better: cosine) or distances= (smaller is better: L2)"
        raise ParamError(msg)
    names = ids_of(_listed(query_ids), "query id", "run")
    found, numbers = (list(map(_listed, _listed(part))) for part in (ids, distances if scores is None else scores))
    if [len(names), *map(len, found)] != [len(found), *map(len, numbers)] or len(set(names)) != len(names):
        raise InputError(
            f"run: {len(names)} queries, {len(set(names))} of them different, {len(found)} rows of ids and "
            f"{len(numbers)} of numbers; each query has one of each, as long as each other"
        )
    lists = {query: zip(*pair, strict=True) for query, *pair in zip(names, found, numbers, strict=True)}
    rows = ((q, _document(place, doc_ids, q), n, "") for q, pairs in lists.items() for place, n in pairs if place != -1)
    return {query_id: {} for query_id in names} | grouped(rows, duplicates, smaller=scores is None)


def _listed(values: Any) -> list[Any]:  # noqa: ANN401  (an array, or a list)
    if not isinstance(values, Iterable) or isinstance(values, (str, bytes)):
        msg = f"run: {values!r} is a {type(values).__name__}; give a row of ids and one of numbers for each query"
        raise InputError(msg)
    return list(values.tolist() if hasattr(values, "tolist") else values)


def _document(place: Any, doc_ids: Sequence[str] | None, query_id: str) -> str:  # noqa: ANN401  (checked here)
    if doc_ids is None:
        return ids_of([place], "document id", f"run, query {query_id!r}")[0]
    if not hasattr(place, "__index__") or not 0 <= place < len(doc_ids):
        raise InputError(f"run, query {query_id!r}: {place!r} is no place among the {len(doc_ids):,} doc_ids")
    return ids_of([doc_ids[place]], "document id", "doc_ids")[0]
