"""The only order of documents, and the only tie rule, of this package.

A measure never sees a run. It sees a :class:`Ranking`: the ranks of the judged documents in one query's list, which
documents are judged at all, and how long the list is. :func:`rank` makes one from scores, :func:`rank_list` from a list
that is already in order.
"""

import os
import struct
import sys
from array import array
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from heapq import nlargest
from importlib import import_module
from itertools import islice, pairwise
from math import isnan
from operator import gt
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from permed_measures.errors import InputError
from permed_measures.numbers import as_float, real

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Scores = NDArray[np.float32] | NDArray[np.float64]

Order = Literal["float32", "float64"]
ORDERS: tuple[Order, ...] = ("float32", "float64")
"""How precisely scores are compared: as trec_eval 9.0.8 and pytrec_eval do, or as trec_eval 10.0 does."""

Ties = Literal["trec", "input", "expected", "best", "worst", "error"]
TIES: tuple[Ties, ...] = ("trec", "input", "expected", "best", "worst", "error")
"""What becomes of equal scores: by id as trec_eval does, as they came, the value over all orders, or an error."""

Grades = Mapping[str, float]
Bounds = tuple[int | None, int | None]
"""The depth below which ranks are left out, and the depth down to which documents are counted; None is no bound."""

_LARGE = 100_000
_LONG = 256
"""Of a longer list, only what can be in the top is looked at: reading 1,000 ids costs as much as ranking them."""
_FEW_JUDGED = 64

COLUMNS: Any = None
"""The compiled part, ``_columns.c``; None where it was not compiled, or where PERMED_MEASURES_PLAIN=1 forbids it."""
if not os.environ.get("PERMED_MEASURES_PLAIN"):
    with suppress(ImportError):
        COLUMNS = import_module("permed_measures._columns")


def compiled() -> bool:
    """Whether the compiled part is in use; without it every value is the same, and takes longer.

    Returns a bool; raises no Error.

    >>> compiled() in (True, False)
    True
    """
    return COLUMNS is not None


def compiled_part() -> Any:  # noqa: ANN401  (a module of C)
    """Return the compiled part; None where it is not in use."""
    return COLUMNS


def numpy_is_worth_it(rows: int) -> bool:
    """Whether numpy is loaded, or so much is to be done that loading it takes less time than doing without."""
    return "numpy" in sys.modules or rows >= _LARGE


class Ranking:
    """One query's judged documents with their ranks.

    ``ranked`` holds (rank, grade) of the judged documents that were returned, by rank; ``judged`` the grades of all
    judged documents, returned or not; ``num_ret`` how many documents were returned, judged or not.

    >>> ranking = Ranking([(1, 1), (3, 2)], judged=[1, 2, 2], num_ret=5)
    >>> ranking.hits(2)
    [(1, 1)]
    >>> ranking.num_rel(1), ranking.num_rel(2)
    (3, 2)
    >>> ranking.missed
    [2]
    """

    __slots__ = ("_grades", "_top", "ascending", "judged", "num_ret", "ranked")

    def __init__(
        self,
        ranked: list[tuple[int, float]],
        *,
        judged: Collection[float],
        num_ret: int,
        ascending: "Scores | array[float] | None" = None,
        top: Sequence[str] | bytes = (),
    ) -> None:
        """``ascending`` holds the scores as 64-bit floats, of the top at least, where two are equal in 32 bits.

        ``top`` holds the ids of the first documents, where they are kept; as bytes, with a space between any two.
        """
        self.ranked = ranked
        self.judged = judged
        self.num_ret = num_ret
        self._grades: list[float] | None = None
        self.ascending = ascending
        self._top = top

    def keep(self, top: Sequence[str]) -> None:
        """Keep the ids of the first documents."""
        self._top = top

    @property
    def top(self) -> Sequence[str]:
        """The ids of the first documents, in order, as far as they were kept."""
        return self._top.decode().split(" ") if isinstance(self._top, bytes) else self._top

    def hits(self, cutoff: int | None) -> list[tuple[int, float]]:
        """(rank, grade) of every judged document at ranks up to ``cutoff``; None means the whole list."""
        ranked = self.ranked
        if cutoff is None or not ranked or ranked[-1][0] <= cutoff:
            return ranked
        return ranked[: bisect_right(ranked, (cutoff, float("inf")))]

    @property
    def grades(self) -> list[float]:
        """The grades of all judged documents, the highest first."""
        if self._grades is None:
            self._grades = sorted(self.judged, reverse=True)
        return self._grades

    @property
    def missed(self) -> list[float]:
        """The grades of the judged documents that have no rank here."""
        if len(self.judged) <= _FEW_JUDGED:  # without counting: a third of the time
            rest = list(self.judged)
            for _, grade in self.ranked:
                rest.remove(grade)
            return sorted(rest)
        left: dict[float, int] = {}
        for grade in self.judged:
            left[grade] = left.get(grade, 0) + 1
        for _, grade in self.ranked:
            left[grade] -= 1
        return [grade for grade, number in left.items() for _ in range(number)]

    def num_rel(self, rel: float) -> int:
        """How many judged documents are relevant."""
        return sum([grade >= rel for grade in self.judged])

    def judged_only(self) -> "Ranking":
        """Return the same ranking without the unjudged documents, and without those of a negative grade.

        A negative grade says that a document was looked for and not judged: ``trec_eval -J`` takes it out as well.
        """
        kept = [grade for _, grade in self.ranked if grade >= 0]
        renumbered = list(enumerate(kept, 1))
        return Ranking(renumbered, judged=self.judged, num_ret=len(renumbered))

    def mapped(self, gains: Mapping[float, float]) -> "Ranking":
        """Return the same ranking with other grades; one that ``gains`` does not name stays."""
        ranked = [(rank, gains.get(grade, grade)) for rank, grade in self.ranked]
        judged = [gains.get(grade, grade) for grade in self.judged]
        return Ranking(ranked, judged=judged, num_ret=self.num_ret, ascending=self.ascending)

    def tied(self, cutoff: int | None, order: Order = "float32") -> int:
        """How many of the top documents share their score, compared so precisely, with another document of the list."""
        ascending = self.ascending
        if ascending is None:
            return 0
        depth = len(ascending) if cutoff is None else min(cutoff, len(ascending))
        top = array("f" if order == "float32" else "d", ascending[-depth - 1 :].tolist()[::-1])
        if len(set(top)) == len(top):
            return 0
        above = [False, *(a == b for a, b in pairwise(top))]
        return sum(up or down for up, down in zip(above[:depth], [*above[1:], False], strict=False))


class Counts(NamedTuple):
    """What notes tell of the documents in the top of all lists."""

    returned: int = 0
    judged: int = 0
    tied: int = 0
    """Those that share their score, as a 32-bit float, with another document of the list."""
    tied_exactly: int = 0


class Columns(NamedTuple):
    """The rankings of many queries: what a Ranking is to a kernel, this is to an expression.

    The first three have a whole number for each query. The others have a float for each judged document, query by
    query: first those that have a rank, by rank, then the others, whose rank is infinite.
    """

    num_ret: Any
    num_hits: Any
    num_judged: Any
    ranks: Any
    grades: Any
    places: Any
    """Places in the order of descending grades."""


class Rankings:
    """The rankings of many queries, one by one and, where they were made so, as columns."""

    def __init__(self, counts: Counts, columns: Columns | None = None, views: Sequence[Ranking] = ()) -> None:
        self.counts = counts
        self.columns = columns
        self._views = views

    @classmethod
    def of(cls, views: "Sequence[Ranking]", cutoff: int | None) -> "Rankings":
        """Put rankings together."""
        returned = sum(view.num_ret if cutoff is None else min(view.num_ret, cutoff) for view in views)
        judged = sum(len(view.hits(cutoff)) for view in views)
        tied = [view for view in views if view.ascending is not None]
        ties = [sum(view.tied(cutoff, order) for view in tied) for order in ORDERS]
        return cls(Counts(returned, judged, *ties), None, views)

    def __len__(self) -> int:
        return len(self._views if self.columns is None else self.columns.num_ret)

    @property
    def num_judged(self) -> int:
        """How many judged documents there are."""
        return sum(len(view.judged) for view in self._views) if self.columns is None else len(self.columns.grades)

    @property
    def views(self) -> Sequence[Ranking]:
        """Every query's Ranking; of a query that returns nothing, one of no documents."""
        if self.columns is not None and not self._views:
            num_ret, num_hits, num_judged, ranks, floats, _ = (column.tolist() for column in self.columns)
            grades = [int(grade) if grade.is_integer() else grade for grade in floats]
            self._views, first = [], 0
            for returned, hits, judged in zip(num_ret, num_hits, num_judged, strict=True):
                ranked = list(zip(map(int, ranks[first : first + hits]), grades[first : first + hits], strict=True))
                self._views.append(Ranking(ranked, judged=grades[first : first + judged], num_ret=returned))
                first += judged
        return self._views

    def grades(self) -> set[float]:
        """Every grade that occurs."""
        if self.columns is not None:
            return set(self.columns.grades.tolist())
        return set().union(*(view.judged for view in self._views))


def rank(
    scores: Mapping[str, float],
    grades: Grades,
    *,
    depth: int | None = None,
    query_id: str = "",
    order: Order = "float32",
) -> Ranking:
    """Order documents by score as a 32-bit float, descending, ties by document id, descending.

    That is the order of trec_eval 9.0.8; with ``order='float64'`` scores are compared as 64-bit floats, as trec_eval
    10.0 does. Only judged documents get a rank: 1 + the number of documents before them; with a ``depth``, those down
    to it.
    ``grades`` are the judgements, ``query_id`` is for messages. Returns a Ranking; raises InputError for a NaN score.

    >>> rank({"a": 1.0, "b": 3.0, "c": 1.0}, {"a": 1, "c": 2, "z": 1}).ranked   # c before a: the greater id
    [(2, 2), (3, 1)]
    >>> near_tie = {"a": 1.00000003, "b": 1.0}
    >>> rank(near_tie, {"a": 1}).ranked, rank(near_tie, {"a": 1}, order="float64").ranked
    ([(2, 1)], [(1, 1)])
    """
    num_ret = len(scores)
    if depth is not None and num_ret > max(_LONG, 4 * depth) and "" not in scores and numpy_is_worth_it(num_ret):
        scores = _top(scores, depth)
    check_ids(scores, query_id)
    keys = _singles(scores, query_id)
    in_order: Iterable[str] = scores
    ascending = None
    if not all(map(gt, keys, keys[1:])):  # as they come, most lists are in order; NaN is never greater
        if any(map(isnan, keys)):
            raise InputError(_nan_message(scores, query_id))
        if len(set(keys)) != len(keys):  # elsewhere both orders are one
            doubles = list(map(as_float, scores.values()))
            ascending = array("d", sorted(doubles))
            keys = doubles if order == "float64" else keys
        in_order = [doc_id for _, doc_id in sorted(zip(keys, scores, strict=True), reverse=True)]
    elif keys and isnan(keys[0]):
        raise InputError(_nan_message(scores, query_id))
    ranked = [(place, grades[doc_id]) for place, doc_id in enumerate(islice(in_order, depth), 1) if doc_id in grades]
    return Ranking(ranked, judged=grades.values(), num_ret=num_ret, ascending=ascending)


def _top(scores: Mapping[str, float], depth: int) -> Mapping[str, float]:
    """Return the first documents of a long list, one more than the depth and all that tie with it; in doubt all."""
    import numpy as np  # noqa: PLC0415  (small runs do without)

    try:
        # the fastest strict conversion: numpy's own would read text
        keys = np.frombuffer(struct.pack(f"{len(scores)}f", *scores.values()), np.float32)
    except (struct.error, TypeError, ValueError, ArithmeticError):
        return scores
    if (keys[1:] <= keys[:-1]).all():  # in order already, as most are
        return {doc_id: scores[doc_id] for doc_id in islice(scores, int(np.count_nonzero(keys >= keys[depth])))}
    if np.isnan(keys).any():
        return scores
    lowest = np.partition(keys, len(keys) - depth - 1)[len(keys) - depth - 1]
    doc_ids = list(scores)
    return {doc_ids[place]: scores[doc_ids[place]] for place in np.flatnonzero(keys >= lowest).tolist()}


def rank_list(doc_ids: Sequence[str], grades: Grades, *, query_id: str = "") -> Ranking:
    """Take the order of the list as it is: a list has no scores to tie.

    ``doc_ids`` come best first, ``grades`` and ``query_id`` are those of :func:`rank`. Returns a Ranking; raises
    InputError.

    >>> rank_list(["b", "x", "a"], {"a": 2, "b": 1}).ranked
    [(1, 1), (3, 2)]
    """
    try:
        places = {doc_id: place for place, doc_id in enumerate(doc_ids, 1)}
    except TypeError:  # an id that cannot be looked up is no string
        places = {}
        check_ids(doc_ids, query_id)
    check_ids(places, query_id)
    if len(places) != len(doc_ids):
        seen: set[str] = set()
        again = next(doc_id for doc_id in doc_ids if doc_id in seen or seen.add(doc_id))  # type: ignore[func-returns-value]  # set.add returns None
        msg = f"query {query_id!r}: document {again!r} occurs twice in the list; a document is returned once"
        raise InputError(msg)
    ranked = sorted((places[doc_id], grade) for doc_id, grade in grades.items() if doc_id in places)
    return Ranking(ranked, judged=grades.values(), num_ret=len(places))


def order(scores: Mapping[str, float], depth: int | None = None, *, by: Order = "float32") -> list[str]:
    """Return the documents, or the first ``depth`` of them, in the order of :func:`rank`."""
    keys = _singles(scores, "")
    if all(map(gt, keys, keys[1:])):
        return list(islice(scores, depth))
    if by == "float64":
        keys = list(map(as_float, scores.values()))
    pairs = zip(keys, scores, strict=True)
    return [doc_id for _, doc_id in (sorted(pairs, reverse=True) if depth is None else nlargest(depth, pairs))]


def by_score(scores: Mapping[str, float], *, by: Order = "float32") -> list[list[str]]:
    """Return the documents by score, descending; those that tie are together, in the order in which they came.

    >>> by_score({"a": 1.0, "b": 3.0, "c": 1.0})
    [['b'], ['a', 'c']]
    """
    keys = _singles(scores, "") if by == "float32" else list(map(as_float, scores.values()))
    groups: dict[float, list[str]] = {}
    for key, doc_id in zip(keys, scores, strict=True):
        groups.setdefault(key, []).append(doc_id)
    return [groups[key] for key in sorted(groups, reverse=True)]


def _singles(scores: Mapping[str, float], query_id: str) -> list[float]:
    """Return scores as 32-bit floats; 1e300 is infinite there, in trec_eval 9.0.8 too."""
    try:
        return array("f", scores.values()).tolist()
    except (TypeError, OverflowError, ValueError):
        return array("f", [_score(score, doc_id, query_id) for doc_id, score in scores.items()]).tolist()


def _score(score: Any, doc_id: str, query_id: str) -> float:  # noqa: ANN401  (checked here)
    try:
        return as_float(score)
    except ValueError:
        found = f"the score {score!r} is a {type(score).__name__}; a score is a number"
        raise InputError(f"query {query_id!r}, document {doc_id!r}: {found}") from None


def check_ids(doc_ids: Collection[Any], query_id: str) -> None:
    """Raise InputError unless every document id is a string, and none is empty."""
    try:
        "".join(doc_ids)  # the fastest way to see that all of them are strings
    except TypeError:
        wrong = next(doc_id for doc_id in doc_ids if not isinstance(doc_id, str))
        msg = f"query {query_id!r}: the document id {wrong!r} is a {type(wrong).__name__}; ids are strings, try str(id)"
        raise InputError(msg) from None
    if "" in doc_ids:
        raise InputError(f"query {query_id!r}: an empty document id")


def checked_score(score: Any, doc_id: str, query_id: str) -> float:  # noqa: ANN401  (checked here)
    """Return a score as a float; what is no number, or NaN, is an InputError."""
    number = _score(score, doc_id, query_id)
    if isnan(number):
        raise InputError(_nan_message({doc_id: number}, query_id))
    return number


def _nan_message(scores: Mapping[str, float], query_id: str) -> str:
    doc_id = next(doc_id for doc_id, score in scores.items() if isnan(real(score)))
    return f"query {query_id!r}, document {doc_id!r}: the score is NaN; a ranking needs a number for every document"
