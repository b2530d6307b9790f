"""The only order of documents, and the only tie rule, of this package.

A measure never sees a run. It sees a :class:`Ranking`: where the judged documents of one query stand in its list, which
documents are judged at all, and how long the list is. :func:`rank` makes one from scores, :func:`rank_list` from a list
that is already in order.
"""

from __future__ import annotations

import os
import struct
from array import array
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from itertools import islice, pairwise
from math import isnan
from operator import gt
from typing import TYPE_CHECKING, Any, Literal

from permed_measures.errors import InputError
from permed_measures.numbers import as_float, real

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Scores = NDArray[np.float32] | NDArray[np.float64]

Order = Literal["float32", "float64"]
ORDERS: tuple[Order, ...] = ("float32", "float64")
"""How precisely scores are compared: as trec_eval 9.0.8 and pytrec_eval do, or as trec_eval 10.0 does."""

Grades = Mapping[str, float]

COLUMNS: Any = None
"""The compiled part, ``_columns.c``; None where it was not compiled, or where PERMED_MEASURES_PLAIN=1 forbids it."""
if not os.environ.get("PERMED_MEASURES_PLAIN"):
    with suppress(ImportError):
        COLUMNS = import_module("permed_measures._columns")


def compiled() -> bool:
    """Whether the compiled part is in use; without it every value is the same, and takes longer."""
    return COLUMNS is not None


_SHORT = 64
"""Up to this length a list is ranked without numpy, whose calls take longer than the work. A command that only meets
such lists never imports it, and starts twice as fast."""

_ALWAYS_CHECKED = 256
"""Up to this length all ids of a list are checked; of a longer one those that can matter to a value. Reading 1,000 ids
costs as much as ranking them."""


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
        ascending: Scores | array[float] | None = None,
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
        missed = list(self.judged)
        for _, grade in self.ranked:
            missed.remove(grade)
        return missed

    def num_rel(self, rel: float) -> int:
        """How many judged documents are relevant."""
        return sum([grade >= rel for grade in self.judged])

    def judged_only(self) -> Ranking:
        """Return the same ranking without the unjudged documents, and without those of a negative grade.

        A negative grade says that a document was looked for and not judged: ``trec_eval -J`` takes it out as well.
        """
        kept = [grade for _, grade in self.ranked if grade >= 0]
        renumbered = list(enumerate(kept, 1))
        return Ranking(renumbered, judged=self.judged, num_ret=len(renumbered))

    def mapped(self, gains: Mapping[float, float]) -> Ranking:
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
    10.0 does. Only judged documents get a rank: 1 + the number of documents before them. With a ``depth``, those below
    it may be left without one, which saves most of the work.

    >>> rank({"a": 1.0, "b": 3.0, "c": 1.0}, {"a": 1, "c": 2, "z": 1}).ranked   # c before a: the greater id
    [(2, 2), (3, 1)]
    >>> near_tie = {"a": 1.00000003, "b": 1.0}
    >>> rank(near_tie, {"a": 1}).ranked, rank(near_tie, {"a": 1}, order="float64").ranked
    ([(2, 1)], [(1, 1)])
    """
    num_ret = len(scores)
    if num_ret <= _SHORT:
        return _rank_short(scores, grades, query_id, order)
    import numpy as np  # noqa: PLC0415  (short lists do without)

    if num_ret <= _ALWAYS_CHECKED or "" in scores:
        check_ids(scores, query_id)
    keys: Scores = _as_float32(scores, query_id)
    top = None if depth is None or depth >= num_ret else _top(scores, keys, depth)
    if top is not None:
        check_ids(top, query_id)
        known = not grades.keys().isdisjoint(top)
        ranked = [(place, grades[doc_id]) for place, doc_id in enumerate(top, 1) if doc_id in grades] if known else []
        return Ranking(ranked, judged=grades.values(), num_ret=num_ret)
    ascending = np.sort(keys)
    if num_ret and ascending[-1] != ascending[-1]:  # numpy sorts NaN to the end
        raise InputError(_nan_message(scores, query_id))
    check_ids(scores, query_id)
    exact = doubles = None
    if (ascending[1:] == ascending[:-1]).any():  # elsewhere both orders are one
        doubles = _as_float64(scores.values())
        exact = np.sort(doubles)
        if order == "float64":
            keys, ascending = doubles, exact
    returned = {doc_id: scores[doc_id] for doc_id in grades if doc_id in scores}
    if not returned:
        return Ranking([], judged=grades.values(), num_ret=num_ret, ascending=exact)
    judged_scores: Scores = _as_float64(returned.values()) if keys is doubles else _as_float32(returned, query_id)
    not_above = ascending.searchsorted(judged_scores, "right")
    ranks = (num_ret + 1 - not_above).tolist()
    equal = not_above - ascending.searchsorted(judged_scores, "left")
    if equal.max() > 1:
        before = _places_among_ties(scores, keys, set(judged_scores[equal > 1].tolist()))
        ranks = [place + before.get(doc_id, 0) for place, doc_id in zip(ranks, returned, strict=True)]
    ranked = sorted(zip(ranks, [grades[doc_id] for doc_id in returned], strict=True))
    return Ranking(ranked, judged=grades.values(), num_ret=num_ret, ascending=exact)


def _rank_short(scores: Mapping[str, float], grades: Grades, query_id: str, order: Order) -> Ranking:
    """Rank a list that is sorted faster than it is given to numpy."""
    check_ids(scores, query_id)
    try:
        keys = array("f", scores.values()).tolist()
    except (TypeError, OverflowError, ValueError):
        keys = _as_float32(scores, query_id).tolist()
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
    ranked = [(place, grades[doc_id]) for place, doc_id in enumerate(in_order, 1) if doc_id in grades]
    return Ranking(ranked, judged=grades.values(), num_ret=len(keys), ascending=ascending)


def _top(scores: Mapping[str, float], single: Scores, depth: int) -> list[str] | None:
    """Return the first documents in order; None where a tie or NaN needs a closer look."""
    import numpy as np  # noqa: PLC0415  (short lists do without)

    if np.count_nonzero(single[1:] <= single[:-1]) == len(single) - 1:  # in order already, as most are; NaN is never <=
        first = single[: depth + 1].tolist()
        return list(islice(scores, depth)) if len(set(first)) == len(first) else None
    places = np.argpartition(single, len(single) - depth - 1)[-depth - 1 :]
    places = places[np.argsort(single[places])[::-1]]
    first = single[places].tolist()
    if len(set(first)) != len(first) or isnan(first[0]):  # numpy puts NaN on top
        return None
    doc_ids = list(scores)
    return [doc_ids[place] for place in places[:depth].tolist()]


def ranked(
    tops: Iterable[tuple[str, int, Sequence[str], Sequence[float]]], qrels: Mapping[str, Grades], depth: int
) -> Iterator[tuple[str, Ranking]]:
    """Rank the first documents of each query; of scores there is one more than asked: the last one may be tied."""
    for query_id, num_ret, top, scores in tops:
        grades = qrels.get(query_id, {})
        places = [(place, grades[doc_id]) for place, doc_id in enumerate(top[:depth], 1) if doc_id in grades]
        ascending = array("d", reversed(scores)) if len(set(array("f", scores))) != len(scores) else None
        yield query_id, Ranking(places, judged=grades.values(), num_ret=num_ret, ascending=ascending, top=top[:depth])


def rank_list(doc_ids: Sequence[str], grades: Grades, *, query_id: str = "") -> Ranking:
    """Take the order of the list as it is: a list has no scores to tie.

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
        msg = f"query {query_id!r}: document {again!r} stands twice in the list; a document is returned once"
        raise InputError(msg)
    ranked = sorted((places[doc_id], grade) for doc_id, grade in grades.items() if doc_id in places)
    return Ranking(ranked, judged=grades.values(), num_ret=len(places))


def order(scores: Mapping[str, float], depth: int | None = None, *, by: Order = "float32") -> list[str]:
    """Return the documents, or the first ``depth`` of them, in the order of :func:`rank`."""
    import numpy as np  # noqa: PLC0415  (short lists do without)

    keys: Scores = _as_float32(scores, "")
    if depth is not None and depth < len(keys):
        top = _top(scores, keys, depth)
        if top is not None:
            return top
    if by == "float64":
        keys = _as_float64(scores.values())
    if depth is not None and depth < len(keys):
        lowest = np.partition(keys, len(keys) - depth)[-depth]
        kept = [pair for pair in zip(keys.tolist(), scores, strict=True) if pair[0] >= lowest]
        return [doc_id for _, doc_id in sorted(kept, reverse=True)[:depth]]
    return [doc_id for _, doc_id in sorted(zip(keys.tolist(), scores, strict=True), reverse=True)]


def _places_among_ties(scores: Mapping[str, float], keys: Scores, tied: set[float]) -> dict[str, int]:
    """How many documents of the same score come before each tied document."""
    groups: dict[float, list[str]] = {score: [] for score in tied}
    for doc_id, score in zip(scores, keys.tolist(), strict=True):
        if score in groups:
            groups[score].append(doc_id)
    # code point order is UTF-8 byte order, which is what trec_eval's strcmp compares
    return {doc_id: place for group in groups.values() for place, doc_id in enumerate(sorted(group, reverse=True))}


def _as_float32(scores: Mapping[str, float], query_id: str) -> NDArray[np.float32]:
    import numpy as np  # noqa: PLC0415  (short lists do without)

    # struct is the fastest strict conversion: 14 µs for 1,000 floats; numpy.fromiter takes 21 µs and reads "0.5"
    with suppress(struct.error, OverflowError, TypeError, ValueError):
        packed: NDArray[np.float32] = np.ndarray(len(scores), np.float32, _packer(len(scores))(*scores.values()))
        return packed
    converted = [_score(score, doc_id, query_id) for doc_id, score in scores.items()]
    with np.errstate(over="ignore"):  # 1e300 is infinite as a 32-bit float, in trec_eval 9.0.8 too
        return np.array(converted, dtype=np.float64).astype(np.float32)


def _as_float64(values: Collection[float]) -> NDArray[np.float64]:
    """Return scores that :func:`_as_float32` has found to be numbers."""
    import numpy as np  # noqa: PLC0415  (short lists do without)

    return np.fromiter(map(as_float, values), np.float64, len(values))


@lru_cache(maxsize=1024)
def _packer(length: int) -> Callable[..., bytes]:
    return struct.Struct(f"{length}f").pack


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
        msg = f"query {query_id!r}: an empty document id"
        raise InputError(msg)


def _nan_message(scores: Mapping[str, float], query_id: str) -> str:
    doc_id = next(doc_id for doc_id, score in scores.items() if isnan(real(score)))
    return f"query {query_id!r}, document {doc_id!r}: the score is NaN; a ranking needs a number for every document"
