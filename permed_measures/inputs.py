"""Qrels and runs in every shape people have them, checked once: dicts, lists, frames, named tuples."""

import math
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain, repeat
from operator import contains, countOf, methodcaller
from os import PathLike
from typing import Any, Protocol, SupportsFloat

from permed_measures import files
from permed_measures.errors import InputError, ParamError
from permed_measures.files.in_memory import checked_query_id, grouped, in_memory_rows
from permed_measures.files.rows import (
    KEEP_ONE,
    Duplicates,
    Judgements,
    SubtopicQrels,
    Subtopics,
    is_smaller_better,
    kept_of,
    refuse_several,
)
from permed_measures.measures import arrays
from permed_measures.numbers import canonical
from permed_measures.ranking import (
    Bounds,
    Columns,
    Counts,
    Grades,
    Order,
    Ranking,
    Rankings,
    check_ids,
    compiled_part,
    numpy_is_worth_it,
    rank,
    rank_list,
)

Qrels = dict[str, Mapping[str, float]]


class _Checked(Qrels):
    """Qrels that were checked: those who hold them for many runs need not check them for each."""

    subtopics: Subtopics | None = None
    digests: Mapping[str, Any] | None = None
    """Of every query's judgements, once somebody has asked for them: see signature.py."""

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


def as_qrels(
    source: Any,  # noqa: ANN401  (one of the shapes below)
    *,
    subtopics: bool = False,
    columns: Sequence[str] | None = None,
    duplicates: Duplicates = "error",
) -> Qrels:
    """Return {query_id: {doc_id: grade}} with built-in numbers as grades.

    A document that is judged for several subtopics is an InputError, except with ``subtopics``, or where ``duplicates``
    says which of its grades counts.

    >>> as_qrels({"q": {"a": 2.0, "b": 7.5}, "r": ["c"]})    # a bare list of ids means grade 1
    {'q': {'a': 2, 'b': 7.5}, 'r': {'c': 1}}
    """
    several = kept_of(duplicates) is not None
    if isinstance(source, _Checked):
        if not subtopics and source.subtopics is not None:
            if several:
                return _Checked(source)
            refuse_several(source.subtopics)
        return source
    if isinstance(source, (str, PathLike)):
        read = files.read_qrels(source, columns=columns, duplicates=duplicates)
        return as_qrels(read, subtopics=subtopics, duplicates=getattr(source, "duplicates", duplicates))
    _check_rows(source, "qrels", columns)
    if isinstance(source, Mapping):
        grades = _plain_grades(source) if type(source) is dict else None
        if grades is not None:
            return _Checked(source, grades)
        pairs = (
            (checked_query_id(query, "qrels"), _grades(query, judged, several)) for query, judged in source.items()
        )
        checked = _Checked(pairs)
        if isinstance(source, SubtopicQrels):
            checked.subtopics = {
                query_id: {pair: _grade(query_id, pair[0], grade) for pair, grade in judged.items()}
                for query_id, judged in source.subtopics.items()
            }
        return as_qrels(checked, subtopics=subtopics, duplicates=duplicates)
    rows = source.to_dict() if _is_ranx(source) else _judged_rows(source, columns, duplicates)
    return as_qrels(rows, subtopics=subtopics, duplicates=duplicates)


def _plain_grades(qrels: dict[Any, Any]) -> set[float] | None:
    """Return the grades of qrels that are dicts of dicts with ids and whole grades, as they are; None in doubt."""
    part = compiled_part()
    if part is not None:
        found: set[float] | None = part.plain_qrels(qrels)
        return found
    if not set(map(type, qrels)) <= {str} or not set(map(type, qrels.values())) <= {dict} or "" in qrels:
        return None
    values = list(chain.from_iterable(map(dict.values, qrels.values())))
    try:
        "".join(chain.from_iterable(qrels.values()))  # the fastest way to see that all of them are strings
    except TypeError:
        return None
    if any(map(contains, qrels.values(), repeat(""))) or countOf(map(type, values), int) != len(values):
        return None
    grades = set(values)
    return grades if max(map(abs, grades), default=0) < _FAR else None


def distinct_grades(qrels: Qrels) -> set[float]:
    """Return every grade that occurs in the qrels."""
    return (qrels if isinstance(qrels, _Checked) else _Checked(qrels)).grades


def subtopics_of(qrels: Qrels) -> Subtopics | None:
    """Return {query_id: {(doc_id, subtopic): grade}}; None where the qrels tell no subtopics apart."""
    return qrels.subtopics if isinstance(qrels, _Checked) else None


def as_run(source: Any, *, columns: Sequence[str] | None = None, duplicates: Duplicates = "error") -> Run:  # noqa: ANN401  (one of the shapes below)
    """Return {query_id: {doc_id: score}}, or {query_id: [doc_id, …]} where the list order is the ranking.

    Scores and document ids are checked by :func:`ranking_of`, query by query.
    """
    if isinstance(source, (str, PathLike)):
        return files.read_run(source, columns=columns, duplicates=duplicates)
    _check_rows(source, "run", columns, ": turn distances round yourself")
    several = kept_of(duplicates) is not None
    if isinstance(source, Mapping):
        plain = set(map(type, source)) <= {str} and "" not in source and set(map(type, source.values())) <= {dict}
        for query_id, returned in () if plain else source.items():
            checked_query_id(query_id, "run")
            if type(returned) is not dict and not isinstance(returned, Mapping) and not _is_list(returned):
                raise InputError(
                    f"run, query {query_id!r}: {type(returned).__name__} is neither a dict of scores nor a list of "
                    "document ids"
                )
        checked: Run = source
        if not plain and several:
            checked = {query: _once(docs, query) if _is_list(docs) else docs for query, docs in source.items()}
        return checked
    if _is_ranx(source):
        return as_run(source.to_dict())
    return grouped(in_memory_rows(source, "run", columns), duplicates, smaller=is_smaller_better(columns))


def _check_rows(source: Any, what: str, columns: Sequence[str] | None, advice: str = "") -> None:  # noqa: ANN401  (one of the shapes above)
    if columns is not None and (isinstance(source, Mapping) or _is_ranx(source)):
        raise ParamError(f"{what}_columns={columns!r} names columns of rows, and a dict has none{advice}")


def _once(doc_ids: Sequence[str], query_id: str) -> list[str]:
    """Return a list without what it repeats: the first place of a document is its highest one too."""
    try:
        return list(dict.fromkeys(doc_ids))
    except TypeError:  # an id that cannot be looked up is no string
        check_ids(doc_ids, query_id)
        raise


def read_qrels(
    source: QrelsLike,
    format: str | None = None,  # noqa: A002  (the natural word)
    *,
    columns: Sequence[str] | None = None,
    duplicates: Duplicates = "error",
) -> dict[str, dict[str, float]]:
    """Read judgements from a file, or from any shape in memory; every function takes what comes back.

    The format of a file is found by content and suffix when it is not given. ``columns`` names those of query, document
    and grade where they are not the usual ones; ``duplicates`` says what a second row of one query and document means:
    an ``'error'``, or that the ``'first'``, or the ``'max'``, counts.
    Returns {query: {document: grade}} of ``source``; raises InputError with file and line.

    >>> read_qrels([{"topic": 7, "page": "a", "label": 2}], columns=("topic", "page", "label"))
    {'7': {'a': 2}}
    """
    if isinstance(source, (str, PathLike)):
        return files.read_qrels(source, format, columns=columns, duplicates=duplicates)
    return {
        query_id: dict(judged) for query_id, judged in as_qrels(source, columns=columns, duplicates=duplicates).items()
    }


def read_run(
    source: RunLike,
    format: str | None = None,  # noqa: A002  (the natural word)
    *,
    columns: Sequence[str] | None = None,
    duplicates: Duplicates = "error",
) -> dict[str, Any]:
    """Read a run from a file, or from any shape in memory; the options are those of :func:`read_qrels`.

    A minus before the third column, as in ``'-distance'``, says that smaller is better.
    ``format`` and ``columns`` too. Returns {query: {document: score}}, or lists, of ``source``; raises InputError with
    file and line.

    >>> read_run({"q": ["a", "b", "a"]}, duplicates="first")
    {'q': ['a', 'b']}
    """
    if isinstance(source, (str, PathLike)):
        return files.read_run(source, format, columns=columns, duplicates=duplicates)
    return dict(as_run(source, columns=columns, duplicates=duplicates))


def _judged_rows(source: Any, columns: Sequence[str] | None, duplicates: Duplicates) -> Mapping[str, Any]:  # noqa: ANN401  (one of the shapes above)
    judgements = Judgements(duplicates)
    for number, (query_id, doc_id, given, subtopic) in enumerate(in_memory_rows(source, "qrels", columns), 1):
        # elsewhere as_qrels checks it
        grade = given if kept_of(duplicates) is None else _grade(query_id, doc_id, given)
        if not judgements.add(query_id, doc_id, subtopic, grade):
            raise InputError(f"qrels, row {number}: query {query_id!r}, document {doc_id!r} occurs before; {KEEP_ONE}")
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


def compiled_columns(
    qrels: Mapping[str, Grades],
    run: dict[str, Any],
    query_ids: list[str],
    bounds: Bounds,
    order: Order = "float32",
) -> Rankings | None:
    """Rank all queries at once in the compiled part; None where there is none, or in doubt: rank() settles it."""
    filled = _filled(qrels, run, query_ids, bounds, order)
    return None if filled is None else filled[0]


def joined(qrels: object, run: object, bounds: Bounds, order: Order = "float32") -> tuple[Qrels, Rankings] | None:
    """Check qrels and run, and rank the judged queries, in one pass of the compiled part; None as above."""
    filled = _filled(qrels, run, None, bounds, order)
    return None if filled is None else (_Checked(qrels, filled[1]), filled[0])


def _filled(
    qrels: object, run: object, query_ids: list[str] | None, bounds: Bounds, order: Order
) -> tuple[Rankings, set[float] | None] | None:
    part = compiled_part()
    if part is None:
        return None
    depth, cutoff = (-1 if bound is None else bound for bound in bounds)
    filled = part.columns(qrels, run, query_ids, depth, cutoff, order == "float64")
    if filled is None:
        return None
    whole, floats = filled[:3], filled[3:6]
    columns = Columns(*(memoryview(c).cast("q") for c in whole), *(memoryview(c).cast("d") for c in floats))
    return Rankings(Counts(*filled[6:10]), columns), filled[10]


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
        if returned:
            views.append(ranking_of(query_id, returned, grades, depth, order))
        else:
            views.append(Ranking([], judged=grades.values(), num_ret=0))
    return Rankings.of(views, cutoff)


def _grades(query_id: str, judged: Any, several: bool) -> Mapping[str, float]:  # noqa: ANN401, FBT001  (checked here; internal)
    if type(judged) is not dict and not isinstance(judged, Mapping):  # the first half is the fast one
        if not _is_list(judged) and not isinstance(judged, AbstractSet):
            raise InputError(
                f"qrels, query {query_id!r}: {type(judged).__name__} is neither a dict of grades nor a list of "
                "relevant document ids"
            )
        check_ids(judged, query_id)
        if not several and len(set(judged)) != len(judged):
            raise InputError(f"qrels, query {query_id!r}: a document occurs twice in the list of relevant documents")
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
        raise InputError(f"query {query_id!r}, document {doc_id!r}: {found}; a grade is a finite number") from None


def _is_list(value: Any) -> bool:  # noqa: ANN401  (that is the question)
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _is_ranx(source: Any) -> bool:  # noqa: ANN401  (that is the question)
    return type(source).__module__.partition(".")[0] == "ranx" and hasattr(source, "to_dict")
