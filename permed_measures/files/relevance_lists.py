"""Relevance lists, grades by rank without documents: ``{query_id: [1, 0, 1]}`` as JSON, JSON Lines, CSV or parquet."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from permed_measures.errors import InputError
from permed_measures.files.json_text import as_id, kind, loads
from permed_measures.files.jsonl_rows import keys_of
from permed_measures.files.numbers import grade_of
from permed_measures.files.records import Records
from permed_measures.files.rows import GRADE_COLUMNS, QUERY_COLUMNS
from permed_measures.files.source import Source
from permed_measures.numbers import canonical

_GRADES = (*GRADE_COLUMNS, "relevances", "labels", "grades")
_RANK = "rank"
_FORMS = (
    'JSON {"q": [1, 0, 1]}, JSON Lines {"query_id": "q", "relevance": [1, 0, 1]}, or rows of query_id, rank, relevance'
)


def read(source: Source) -> dict[str, list[int | float]]:
    """Return {query_id: [grade, …]}, the grades in the order of the ranks."""
    start = source.head().lstrip()
    if start[:1] not in (b"{", b"[") or any(name in keys_of(start) for name in QUERY_COLUMNS):
        return _of_records(source)
    try:
        content = loads(source.text())
        of_records = isinstance(content, list) and content and all(isinstance(part, dict) for part in content)
        return _of_records(source) if of_records else checked(content)
    except ValueError as error:
        if isinstance(error, InputError) and error.path is not None:
            raise
        raise source.error(str(error), getattr(error, "line", None)) from None


def checked(lists: Any) -> dict[str, list[int | float]]:  # noqa: ANN401  (checked here)
    """Return lists in memory: a dict of them by query, or one after the other, which are the queries 1, 2, …."""
    if hasattr(lists, "tolist"):  # of numpy
        lists = lists.tolist()
    if not isinstance(lists, (Mapping, Sequence)) or isinstance(lists, (str, bytes)):
        raise InputError(f"relevance lists are {_FORMS}; this is a {kind(lists)}")
    named: Iterable[tuple[Any, Any]] = lists.items() if isinstance(lists, Mapping) else enumerate(lists, 1)
    found = {}
    for name, grades in named:
        try:
            found[as_id(name, "query id")] = _grades(grades)
        except ValueError as error:  # noqa: PERF203  (the message names the query)
            raise InputError(f"query {name!r}: {error}") from None
    if len(found) != len(lists):
        raise InputError("two queries have one id, once as a number and once as a text")
    return found


def _grades(grades: Any) -> list[int | float]:  # noqa: ANN401  (checked here)
    listed = grades.tolist() if hasattr(grades, "tolist") else grades
    if not isinstance(listed, Sequence) or isinstance(listed, (str, bytes)):
        msg = f"a {kind(listed)}, a relevance list is grades by rank: [1, 0, 1]"
        raise ValueError(msg)  # noqa: TRY004  (callers add the query, or the place, to a ValueError)
    return [_grade(grade, rank) for rank, grade in enumerate(listed, 1)]


def _grade(grade: Any, rank: int) -> int | float:  # noqa: ANN401  (checked here)
    try:
        return grade_of(grade) if isinstance(grade, str) else canonical(+grade)
    except (ValueError, TypeError, OverflowError):
        raise ValueError(f"rank {rank}: the grade {grade!r} is not a finite number") from None


def _of_records(source: Source) -> dict[str, list[int | float]]:
    """Read a list a record, or a grade a record: by rank then, or in the order of the rows where they have none."""
    records = Records(source)
    whole: dict[str, list[int | float]] = {}
    single: dict[str, list[tuple[Any, int | float]]] = {}
    for place, record in records:
        try:
            query_id, grades = _parts(record)
            is_list = isinstance(grades, list)
            again = query_id in whole or (is_list and query_id in single)
            if is_list:
                whole[query_id] = _grades(grades)
            else:
                rows = single.setdefault(query_id, [])
                rows.append((record.get(_RANK), _grade(grades, len(rows) + 1)))
        except ValueError as error:
            raise records.error(str(error), place) from None
        if again:
            raise records.error(f"query {query_id!r} occurs before; a query has one list", place)
    return whole | {query_id: _in_order(source, query_id, rows) for query_id, rows in single.items()}


def _parts(record: Mapping[str, Any]) -> tuple[str, Any]:
    picked = []
    for names in (QUERY_COLUMNS, _GRADES):
        name = next((name for name in names if name in record), None)
        if name is None:
            told = ", ".join(map(repr, record)) or "nothing"
            raise ValueError(f"no {' nor '.join(map(repr, names))}; there is {told}: a relevance list is {_FORMS}")
        picked.append(record[name])
    return as_id(picked[0], "query id"), picked[1]


def _in_order(source: Source, query_id: str, rows: list[tuple[Any, int | float]]) -> list[int | float]:
    """Return grades by rank; ranks count from 1, or from 0, without a gap, or nobody knows what is there."""
    if all(rank is None for rank, _ in rows):
        return [grade for _, grade in rows]
    try:
        ranks = [grade_of(rank) if isinstance(rank, str) else canonical(rank) for rank, _ in rows]
    except (ValueError, TypeError):
        ranks = []
    low = min(ranks, default=-1)
    if low not in (0, 1) or sorted(ranks) != list(range(int(low), int(low) + len(ranks))):
        written = ", ".join(str(rank) for rank, _ in rows[:5])
        raise source.error(f"query {query_id!r}: ranks are 1, 2, 3, … without a gap; here they start {written}")
    by_rank = dict(zip(ranks, (grade for _, grade in rows), strict=True))
    return [by_rank[rank] for rank in sorted(by_rank)]
