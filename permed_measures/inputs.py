"""Qrels and runs in every shape people have them, checked once: dicts, lists, frames, named tuples."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from operator import methodcaller
from os import PathLike
from typing import Any, Protocol, SupportsFloat

from permed_measures.errors import InputError
from permed_measures.files.rows import (
    DOC_COLUMNS,
    GRADE_COLUMNS,
    QUERY_COLUMNS,
    SCORE_COLUMNS,
    SUBTOPIC_COLUMNS,
    Judgements,
    SubtopicQrels,
    Subtopics,
    refuse_several,
)
from permed_measures.measures import arrays
from permed_measures.numbers import canonical
from permed_measures.ranking import (
    Order,
    Ranking,
    Rankings,
    check_ids,
    compiled_columns,
    compiled_part,
    numpy_is_worth_it,
    rank,
    rank_list,
)

Qrels = dict[str, Mapping[str, float]]


class _Checked(Qrels):
    """Qrels that were checked: those who hold them for many runs need not check them for each."""

    subtopics: Subtopics | None = None

    def __init__(self, qrels: Any = (), grades: set[float] | None = None) -> None:  # noqa: ANN401  (a dict, or pairs)
        super().__init__(qrels)
        self._grades = grades

    @property
    def grades(self) -> set[float]:
        """Every grade that occurs."""
        if self._grades is None:
            self._grades = set().union(*map(methodcaller("values"), self.values()))
        return self._grades


Run = Mapping[str, Mapping[str, float] | Sequence[str]]
Returned = Run | Mapping[str, Ranking]
"""A run, or what there is to know of it for a given set of measures."""


class Frame(Protocol):
    """A pandas or polars frame; its columns are known by their usual names, such as query_id, doc_id and score."""

    @property
    def columns(self) -> Any:  # noqa: ANN401  (a list, or an Index of pandas)
        """The names of the columns."""

    def __getitem__(self, name: Any, /) -> Any: ...  # noqa: ANN401  (a column by its name)


_Rows = Frame | Iterable[tuple[Any, ...]] | str | PathLike[str]
QrelsLike = Mapping[str, Mapping[str, SupportsFloat] | Sequence[str] | AbstractSet[str]] | _Rows
"""Judgements: {query_id: {doc_id: grade}} or {query_id: relevant ids}, a frame, ir_measures' named tuples, a path."""
RunLike = Mapping[str, Mapping[str, SupportsFloat] | Sequence[str] | Ranking] | _Rows
"""What was returned: {query_id: {doc_id: score}} or {query_id: ids in order}, a frame, named tuples, a path."""


_INT = {int}
_FAR = 2**1023
"""A sum of grades beyond it holds one that may be too large to compute with."""
_SHAPES = (
    "a dict of dicts {query_id: {doc_id: number}}, a pandas or polars frame, named tuples as of ir_measures, or a path"
)


def as_qrels(source: Any, *, subtopics: bool = False) -> Qrels:  # noqa: ANN401  (one of the shapes below)
    """Return {query_id: {doc_id: grade}} with built-in numbers as grades.

    A document that is judged for several subtopics is an InputError, except with ``subtopics``.

    >>> as_qrels({"q": {"a": 2.0, "b": 7.5}, "r": ["c"]})    # a bare list of ids means grade 1
    {'q': {'a': 2, 'b': 7.5}, 'r': {'c': 1}}
    """
    if isinstance(source, _Checked):
        if not subtopics and source.subtopics is not None:
            refuse_several(source.subtopics)
        return source
    if isinstance(source, (str, PathLike)):
        from permed_measures.files import read_qrels  # noqa: PLC0415  (for those who read files)

        return as_qrels(read_qrels(source), subtopics=subtopics)
    if isinstance(source, Mapping):
        grades = _plain_grades(source) if type(source) is dict else None
        if grades is not None:
            return _Checked(source, grades)
        pairs = ((_query_id(query_id, "qrels"), _grades(query_id, judged)) for query_id, judged in source.items())
        checked = _Checked(pairs)
        if isinstance(source, SubtopicQrels):
            checked.subtopics = {
                query_id: {pair: _grade(query_id, pair[0], grade) for pair, grade in judged.items()}
                for query_id, judged in source.subtopics.items()
            }
        return as_qrels(checked, subtopics=subtopics)
    if _is_ranx(source):
        return as_qrels(source.to_dict())
    return as_qrels(_judged_rows(source), subtopics=subtopics)


def _plain_grades(qrels: dict[Any, Any]) -> set[float] | None:
    """Return the grades of qrels that are dicts of dicts with ids and whole grades, as they are; None in doubt."""
    part = compiled_part()
    if part is not None:
        found: set[float] | None = part.plain_qrels(qrels)
        return found
    if not set(map(type, qrels)) <= {str} or not set(map(type, qrels.values())) <= {dict} or "" in qrels:
        return None
    doc_ids = list(chain.from_iterable(qrels.values()))
    values = list(chain.from_iterable(map(dict.values, qrels.values())))
    if not set(map(type, doc_ids)) <= {str} or not all(doc_ids) or not set(map(type, values)) <= _INT:
        return None
    grades = set(values)
    return grades if max(map(abs, grades), default=0) < _FAR else None


def distinct_grades(qrels: Qrels) -> set[float]:
    """Return every grade that occurs in the qrels."""
    return (qrels if isinstance(qrels, _Checked) else _Checked(qrels)).grades


def subtopics_of(qrels: Qrels) -> Subtopics | None:
    """Return {query_id: {(doc_id, subtopic): grade}}; None where the qrels tell no subtopics apart."""
    return qrels.subtopics if isinstance(qrels, _Checked) else None


def as_run(source: Any) -> Run:  # noqa: ANN401  (one of the shapes below)
    """Return {query_id: {doc_id: score}}, or {query_id: [doc_id, …]} where the list order is the ranking.

    Scores and document ids are checked by :func:`ranking_of`, query by query.
    """
    if isinstance(source, (str, PathLike)):
        from permed_measures.files import read_run  # noqa: PLC0415  (readers are for those who read files)

        return read_run(source)
    if isinstance(source, Mapping):
        plain = set(map(type, source)) <= {str} and "" not in source and set(map(type, source.values())) <= {dict}
        for query_id, returned in () if plain else source.items():
            _query_id(query_id, "run")
            if type(returned) is not dict and not isinstance(returned, Mapping) and not _is_list(returned):
                msg = (
                    f"run, query {query_id!r}: {type(returned).__name__} is neither a dict of scores nor a list of "
                    "document ids"
                )
                raise InputError(msg)
        checked: Run = source
        return checked
    if _is_ranx(source):
        return as_run(source.to_dict())
    return _grouped(_rows(source, "run", SCORE_COLUMNS), "run")


def _judged_rows(source: Any) -> Mapping[str, Any]:  # noqa: ANN401  (one of the shapes above)
    judgements = Judgements()
    for number, (query_id, doc_id, grade, subtopic) in enumerate(_rows(source, "qrels", GRADE_COLUMNS), 1):
        if not judgements.add(query_id, doc_id, subtopic, grade):
            msg = f"qrels, row {number}: query {query_id!r}, document {doc_id!r} occurs before; keep one row"
            raise InputError(msg)
    return judgements.qrels()


def ranking_of(
    query_id: str,
    returned: Mapping[str, float] | Sequence[str] | Ranking,
    grades: Mapping[str, float],
    depth: int | None = None,
    order: Order = "float32",
) -> Ranking:
    """Rank one query's documents: by score, or in the order of the list; those below ``depth`` may be left out."""
    if type(returned) is dict or isinstance(returned, Mapping):  # the first half is the fast one
        return rank(returned, grades, depth=depth, query_id=query_id, order=order)
    if isinstance(returned, Ranking):  # of a large file: ranked as it was read
        return returned
    return rank_list(returned, grades, query_id=query_id)


def rankings_of(  # noqa: PLR0913  (what is ranked, and how far down)
    qrels: Qrels,
    run: Returned,
    query_ids: list[str],
    *,
    depth: int | None = None,
    cutoff: int | None = None,
    order: Order = "float32",
) -> Rankings:
    """Rank the documents of many queries, those below ``depth`` left out; counts are those of the top ``cutoff``."""
    lists: dict[str, Any] = run if type(run) is dict else dict(run)
    filled = compiled_columns(qrels, lists, query_ids, (depth, cutoff), order)
    if filled is None and set(map(type, lists.values())) == {dict}:
        documents = sum(map(len, lists.values()))
        whole = depth is None or documents <= 4 * depth * len(lists)  # elsewhere the top of each list is soon found
        if whole and numpy_is_worth_it(documents):
            filled = arrays.fill(qrels, lists, query_ids, (depth, cutoff), order)
    if filled is not None:
        return filled
    views = []
    for query_id in query_ids:
        returned = lists.get(query_id)
        grades = qrels.get(query_id, {})
        nothing = Ranking([], judged=grades.values(), num_ret=0)
        views.append(ranking_of(query_id, returned, grades, depth, order) if returned else nothing)
    return Rankings.of(views, cutoff)


def _query_id(query_id: Any, what: str) -> str:  # noqa: ANN401  (checked here)
    if not isinstance(query_id, str):
        msg = f"{what}: the query id {query_id!r} is a {type(query_id).__name__}; ids are strings, try str(id)"
        raise InputError(msg)
    if not query_id:
        msg = f"{what}: an empty query id"
        raise InputError(msg)
    return query_id


def _grades(query_id: str, judged: Any) -> Mapping[str, float]:  # noqa: ANN401  (checked here)
    if type(judged) is not dict and not isinstance(judged, Mapping):  # the first half is the fast one
        if not _is_list(judged) and not isinstance(judged, AbstractSet):
            msg = (
                f"qrels, query {query_id!r}: {type(judged).__name__} is neither a dict of grades nor a list of "
                "relevant document ids"
            )
            raise InputError(msg)
        check_ids(judged, query_id)
        if len(set(judged)) != len(judged):
            msg = f"qrels, query {query_id!r}: a document stands twice in the list of relevant documents"
            raise InputError(msg)
        judged = dict.fromkeys(judged, 1)
    check_ids(judged, query_id)
    if set(map(type, judged.values())) <= _INT and -_FAR < sum(judged.values()) < _FAR:
        whole: Mapping[str, float] = judged
        return whole
    return {doc_id: _grade(query_id, doc_id, grade) for doc_id, grade in judged.items()}


def _grade(query_id: str, doc_id: str, grade: Any) -> int | float:  # noqa: ANN401  (checked here)
    try:
        return canonical(int(grade) if isinstance(grade, bool) else grade)
    except (ValueError, TypeError, OverflowError):
        found = f"the grade {grade!r} is a {type(grade).__name__}"
        if isinstance(grade, int):
            found = "the grade is above 1.8e308" if grade > 0 else "the grade is below -1.8e308"
        elif isinstance(grade, float):
            found = f"the grade is {'NaN' if math.isnan(grade) else grade}"
        msg = f"query {query_id!r}, document {doc_id!r}: {found}; a grade is a finite number"
        raise InputError(msg) from None


def _is_list(value: Any) -> bool:  # noqa: ANN401  (that is the question)
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _is_ranx(source: Any) -> bool:  # noqa: ANN401  (that is the question)
    return type(source).__module__.partition(".")[0] == "ranx" and hasattr(source, "to_dict")


def _grouped(rows: Iterable[tuple[str, str, Any, str]], what: str) -> dict[str, dict[str, Any]]:
    grouped: dict[str, dict[str, Any]] = {}
    for number, (query_id, doc_id, value, _) in enumerate(rows, 1):
        group = grouped.setdefault(query_id, {})
        if doc_id in group:
            msg = f"{what}, row {number}: query {query_id!r}, document {doc_id!r} occurs before; keep one row"
            raise InputError(msg)
        group[doc_id] = value
    return grouped


def _rows(source: Any, what: str, value_columns: tuple[str, ...]) -> Iterator[tuple[str, str, Any, str]]:  # noqa: ANN401
    """Yield query, document, number and subtopic."""
    if hasattr(source, "collect") and hasattr(source, "collect_schema"):  # a polars LazyFrame
        source = source.collect()
    if hasattr(source, "columns") and hasattr(source, "__getitem__"):
        return _frame_rows(source, what, value_columns)
    if isinstance(source, Iterable) and not isinstance(source, (str, bytes)) and getattr(source, "ndim", 1) != 0:
        return _tuple_rows(source, what, value_columns)
    msg = f"{what}: {type(source).__name__} is not a shape we know; give {_SHAPES}"
    raise InputError(msg)


def _frame_rows(frame: Any, what: str, value_columns: tuple[str, ...]) -> Iterator[tuple[str, str, Any, str]]:  # noqa: ANN401
    columns = list(frame.columns)
    picked = []
    for wanted in (QUERY_COLUMNS, DOC_COLUMNS, value_columns):
        name = next((name for name in wanted if name in columns), None)
        if name is None:
            msg = f"{what}: the frame has no column {wanted[0]!r} (nor {', '.join(wanted[1:])}); it has {columns}"
            raise InputError(msg)
        picked.append(name)
    query_ids = _ids(frame[picked[0]].to_list(), picked[0], what)
    doc_ids = _ids(frame[picked[1]].to_list(), picked[1], what)
    subtopic = next((name for name in SUBTOPIC_COLUMNS if name in columns), None) if what == "qrels" else None
    subtopics = [""] * len(query_ids) if subtopic is None else _ids(frame[subtopic].to_list(), subtopic, what)
    return zip(query_ids, doc_ids, frame[picked[2]].to_list(), subtopics, strict=True)


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


def _tuple_rows(rows: Iterable[Any], what: str, value_columns: tuple[str, ...]) -> Iterator[tuple[str, str, Any, str]]:
    fields = ("query_id", "doc_id", value_columns[0])
    for number, row in enumerate(rows, 1):
        try:
            query_id, doc_id, value = (getattr(row, field) for field in fields)
        except AttributeError:
            msg = f"{what}, row {number}: {row!r} has no fields {', '.join(fields)}; give {_SHAPES}"
            raise InputError(msg) from None
        check_ids({doc_id: None}, str(query_id))
        subtopic = next((getattr(row, name) for name in SUBTOPIC_COLUMNS if hasattr(row, name)), "")
        yield _query_id(query_id, f"{what}, row {number}"), doc_id, value, str(subtopic)
