"""Qrels and a run as arrays, and the order of every list under every tie rule: ranked once per rule.

Only judged documents get a rank. An :class:`Order` holds them by query and rank, with the tie group of each one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from permed_measures.errors import InputError
from permed_measures.files.judged import JudgedLists, places, stretches
from permed_measures.files.large import judged_lists
from permed_measures.files.numbers import score_of
from permed_measures.files.source import Source
from permed_measures.inputs import QrelsLike, RunLike, as_qrels, as_run
from permed_measures.numbers import as_float
from permed_measures.ranking import check_ids

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

ANY_ORDER = ("expected", "best", "worst")
"""Tie rules that speak about all orders of a tie group, not about one."""


@dataclass(frozen=True, eq=False)
class Rest:
    """What ranks depend on in unjudged documents that share their score with no judged one: where they are not."""

    above: Ints
    """How many of them have a higher score than each row."""
    listed: Ints
    """How many documents of the list, of any kind, come before each row in the run."""
    lengths: Ints
    """How many documents each query returned."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Returned documents of judged queries, one row each, in the order of the run."""

    query: Ints
    score: Floats
    grade: Floats
    """NaN where the document is not judged."""
    doc_ids: list[str]
    rest: Rest | None = None
    """Where only some rows of a large run are held: what is to know of the others."""

    def kept(self, keep: Bools) -> Rows:
        """Return some of the rows."""
        doc_ids = [doc_id for doc_id, wanted in zip(self.doc_ids, keep.tolist(), strict=True) if wanted]
        return Rows(self.query[keep], self.score[keep], self.grade[keep], doc_ids)

    def chosen(self, *, last: bool) -> Bools:
        """Mark one row of each document: the last, or that of the highest score, the first of these."""
        by_score = np.arange(len(self.score))[::-1] if last else np.argsort(-self.score, kind="stable")
        pairs = list(zip(self.query.tolist(), self.doc_ids, strict=True))
        places = {pairs[place]: place for place in by_score[::-1].tolist()}  # a later one replaces an earlier one
        keep = np.zeros(len(pairs), dtype=bool)
        keep[list(places.values())] = True
        return keep


@dataclass(frozen=True, eq=False)
class Straddle:
    """The tie groups of one query down to the cut-off, as lists of grades (NaN: unjudged)."""

    above: list[list[float]]
    last: list[float]
    """The group that the cut-off goes through."""
    room: int
    """How many of its documents are in the top k."""


@dataclass(frozen=True, eq=False)
class Order:
    """The judged documents of all lists by query and rank."""

    query: Ints
    rank: Ints
    grade: Floats
    start: Ints
    """How many documents come before the tie group."""
    size: Ints
    """How many documents the tie group has."""
    length: Ints
    """How many documents each query returned."""
    ties: str
    """'expected', 'best' or 'worst' where values speak about all orders; else empty: ranks say everything."""
    straddling: dict[int, Straddle]
    """Queries whose cut goes through a tie group: which documents are in the top k is open there."""
    after: bool
    """Whether unjudged documents were removed after the cut."""

    def signature(self) -> bytes:
        """Return the same for two orders in which every document has the same rank and the same tie group."""
        groups = [self.start, self.size] if self.ties else []
        parts = [part.tobytes() for part in (self.query, self.rank, self.grade, self.length, *groups)]
        return b"|".join([*parts, self.ties.encode()])


class JudgedRun:
    """Qrels and run, read once."""

    def __init__(self, qrels: QrelsLike, run: RunLike, cutoff: int | None) -> None:
        self.cutoff = cutoff
        self.qrels = as_qrels(qrels)
        if isinstance(run, (str, PathLike)):
            run = Source.of(run)  # a pipe can be read but once
        large = judged_lists(run, self.qrels) if isinstance(run, Source) else None
        returned = _as_lists(run) if large is None else large.lengths
        self.query_ids = [*self.qrels, *(query_id for query_id in returned if query_id not in self.qrels)]
        if not self.query_ids:
            raise InputError("no query to explain: qrels and run are empty")
        self.number = len(self.query_ids)
        self.in_qrels = np.arange(self.number) < len(self.qrels)
        self.in_run = np.array([query_id in returned for query_id in self.query_ids], dtype=bool)
        sizes = [len(judged) for judged in self.qrels.values()]
        self.judged_query: Ints = np.repeat(np.arange(len(self.qrels)), sizes)
        grades = [grade for judged in self.qrels.values() for grade in judged.values()]
        self.judged_grade: Floats = np.array(grades, dtype=np.float64)
        self.distinct_grades = sorted(set(grades))
        self.duplicates = 0
        self.all_rows = self._read(returned) if large is None else self._kept_of(large)
        self._large = large
        self._treated: dict[tuple[str, bool], Rows] = {}
        self._sorted: dict[tuple[str, bool, int], _SortedRows] = {}
        self._orders: dict[tuple[Any, ...], Order] = {}

    def at(self, cutoff: int | None) -> JudgedRun:
        """Return the same input with another cut-off; nothing is read again."""
        other = copy(self)
        other.cutoff = cutoff
        return other

    def _read(self, returned: Mapping[str, Any]) -> Rows:
        doc_ids: list[str] = []
        scores: list[Floats] = []
        places: list[int] = []
        grades: list[float] = []
        for query_id, judged in self.qrels.items():
            ids, values = _checked(query_id, returned.get(query_id, ()))
            start = len(doc_ids)
            place_of = dict(zip(ids, range(start, start + len(ids)), strict=True))
            if len(place_of) < len(ids):
                self.duplicates += len(ids) - len(place_of)
                hits = [(start + place, judged[doc_id]) for place, doc_id in enumerate(ids) if doc_id in judged]
            else:
                hits = [(place_of[doc_id], grade) for doc_id, grade in judged.items() if doc_id in place_of]
            places += [place for place, _ in hits]
            # as an unjudged document: it gains nothing, and trec_eval -J takes it out of the list
            grades += [grade if grade >= 0 else np.nan for _, grade in hits]
            doc_ids += ids
            scores.append(values)
        grade = np.full(len(doc_ids), np.nan)
        grade[places] = grades
        query: Ints = np.repeat(np.arange(len(scores)), [len(values) for values in scores])
        return Rows(query, np.concatenate([*scores, np.empty(0)]), grade, doc_ids)

    def _kept_of(self, large: JudgedLists) -> Rows:
        query, listed, higher = (np.array(column, dtype=np.int64) for column in large.places)
        by_query = np.argsort(query, kind="stable")
        query, listed, higher = query[by_query], listed[by_query], higher[by_query]
        score = np.array(large.score)[by_query]
        doc_ids = [large.doc_ids[row] for row in by_query.tolist()]
        grades = list(self.qrels.values())
        found = [grades[number].get(doc_id, -1.0) for number, doc_id in zip(query.tolist(), doc_ids, strict=True)]
        grade = np.array(found, dtype=np.float64)
        rows = Rows(query, score, np.where(grade >= 0, grade, np.nan), doc_ids)
        kept = _SortedRows(rows, 32)
        above = np.empty_like(higher)
        above[kept.order] = higher[kept.order] - kept.start
        lengths = np.array([large.lengths.get(query_id, 0) for query_id in self.qrels], dtype=np.int64)
        return replace(rows, rest=Rest(above, listed, np.pad(lengths, (0, self.number - len(lengths)))))

    @property
    def lengths(self) -> Ints:
        """How many documents each judged query returned."""
        rest, query = self.all_rows.rest, self.rows.query
        return np.bincount(query, minlength=self.number) if rest is None else rest.lengths

    @property
    def rows(self) -> Rows:
        """The rows of evaluate(): of a document returned twice the better one."""
        return self.treated("first", unjudged=True)

    def treated(self, duplicates: str, *, unjudged: bool) -> Rows:
        """Return the rows after duplicates are dealt with, with or without unjudged documents."""
        key = (duplicates if self.duplicates else "each", unjudged)
        if key not in self._treated:
            rows = self.all_rows if unjudged else self.treated(duplicates, unjudged=True)
            if not unjudged:
                rows = rows.kept(~np.isnan(rows.grade))
            elif key[0] == "held":  # the later places stay, as documents that nobody judged
                grade = np.where(rows.chosen(last=False), rows.grade, np.nan)
                rows = Rows(rows.query, rows.score, grade, rows.doc_ids)
            elif key[0] != "each":
                rows = rows.kept(rows.chosen(last=key[0] == "last"))
            self._treated[key] = rows
        return self._treated[key]

    def sorted_rows(self, precision: int, duplicates: str = "first", *, unjudged: bool = True) -> _SortedRows:
        """Return the treated rows by score."""
        key = (duplicates if self.duplicates else "each", unjudged, precision)
        if key not in self._sorted:
            self._sorted[key] = _SortedRows(self.treated(duplicates, unjudged=unjudged), precision)
        return self._sorted[key]

    @cached_property
    def near_ties(self) -> bool:
        """Whether two different scores of a list are the same 32-bit float."""
        whole, single = (self._tie_groups(precision) for precision in (64, 32))
        return any(a.tolist() != b.tolist() for a, b in zip(whole, single, strict=True))

    @cached_property
    def is_listed_in_order(self) -> bool:
        """Whether the run lists its documents by score, descending."""
        if self._large is not None:
            return self._large.in_order
        rows = self.rows
        same = rows.query[1:] == rows.query[:-1]
        return not bool((same & (rows.score[1:] > rows.score[:-1])).any())

    @cached_property
    def unjudged(self) -> int:
        """How many returned documents are not judged, or have a negative grade."""
        return int(self.lengths.sum()) - int((~np.isnan(self.rows.grade)).sum())

    def tied(self, precision: int, depth: int | None) -> tuple[int, int, int]:
        """Return how many documents of the top tie with another one, how many there are, and queries with a tie."""
        query, start, size = self._tie_groups(precision)
        depth = self.longest if depth is None else depth
        tied = np.clip(depth - start, 0, size)
        return int(tied.sum()), int(np.minimum(self.lengths, depth).sum()), len(np.unique(query[tied > 0]))

    def _tie_groups(self, precision: int) -> tuple[Ints, Ints, Ints]:
        """Return the query of each group of several documents, how many come before it, and how many it has."""
        if self._large is not None:
            query, start, size = (np.array(column, dtype=np.int64) for column in self._large.ties[precision])
            return query, start, size
        rows = self.sorted_rows(precision)
        first = (rows.place == rows.start) & (rows.size > 1)
        return rows.query[first], rows.start[first], rows.size[first]

    @cached_property
    def longest(self) -> int:
        """The length of the longest list, with documents that are returned twice."""
        rest, query = self.all_rows.rest, self.all_rows.query
        return int((np.bincount(query, minlength=1) if rest is None else rest.lengths).max(initial=1))

    def order(self, *, ties: str, precision: int, unjudged: str, duplicates: str) -> Order:
        """Rank all lists by one rule; two rules that rank alike share one Order."""
        if self.cutoff is None and unjudged == "after":
            unjudged = "removed"  # nothing is cut
        asked = (self.cutoff, ties, precision, unjudged, duplicates)
        if asked not in self._orders:
            rows = self.sorted_rows(precision, duplicates, unjudged=unjudged != "removed")
            found = rows.ordered(ties, self.cutoff, self.number, after=unjudged == "after")
            # what was taken out after the cut leaves no trace in the ranks, and was a choice where the cut is open
            shared = asked if found.after and found.straddling else (self.cutoff, found.signature())
            self._orders[asked] = self._orders.setdefault(shared, found)
        return self._orders[asked]


class _SortedRows:
    """Rows by query and score, with their tie groups."""

    def __init__(self, rows: Rows, precision: int) -> None:
        self.rows = rows
        score = rows.score
        if precision == 32:  # noqa: PLR2004  (bits)
            with np.errstate(over="ignore"):  # 1e300 is infinite as a 32-bit float, in trec_eval too
                score = score.astype(np.float32).astype(np.float64)
        self.order: Ints = np.lexsort((-score, rows.query))
        self.query: Ints = rows.query[self.order]
        self.place, self.start, self.size = places(self.query, score[self.order])
        if rows.rest is not None:
            self.place, self.start = (part + rows.rest.above[self.order] for part in (self.place, self.start))

    def ordered(self, ties: str, cutoff: int | None, number: int, *, after: bool) -> Order:
        """Return the order of all lists under one tie rule."""
        query, place, start, size, rest = self.query, self.place, self.start, self.size, self.rows.rest
        if ties == "listed":
            place = place if rest is None else rest.listed
            grade, start, size = self.rows.grade, place, np.ones_like(size)
        else:
            grade = self.rows.grade[self._broken(ties)]
        hit = ~np.isnan(grade)
        reach = np.inf if cutoff is None else cutoff
        is_open = ties in ANY_ORDER and bool((hit & (size > 1) & (start < reach)).any())
        straddling = self._straddling(grade, cutoff) if is_open and cutoff is not None else {}
        if after:
            hit &= place < reach
        counted = np.bincount(query[hit] if after else query, minlength=number)
        length = counted if after or rest is None else rest.lengths
        query, place, start, size = (part[hit] for part in (query, place, start, size))
        if after:  # what is left of each list closes up; documents of one tie group stay one
            place, start, size = places(query, start)
        ties = ties if is_open else ""
        return Order(query, place + 1, grade[hit], start, size, length, ties, straddling, after)

    def _broken(self, ties: str) -> Ints:
        """Return the order with every tie broken."""
        tied = np.flatnonzero(self.size > 1)
        if ties in ("input", "expected") or not len(tied):
            return self.order
        rows = self.order[tied]
        if ties in ("best", "worst"):
            gain = np.nan_to_num(np.maximum(self.rows.grade[rows], 0.0), nan=0.0)
            key = -gain if ties == "best" else gain
        elif ties == "reverse":
            key = -rows.astype(np.float64)
        else:
            doc_ids = [self.rows.doc_ids[row] for row in rows.tolist()]
            # code point order is UTF-8 byte order, which is what trec_eval's strcmp compares
            place = {doc_id: number for number, doc_id in enumerate(sorted(set(doc_ids)))}
            key = np.array([place[doc_id] for doc_id in doc_ids], dtype=np.float64)
            key = key if ties == "ascending" else -key
        order: Ints = self.order.copy()
        order[tied] = rows[np.lexsort((key, self.start[tied], self.query[tied]))]
        return order

    def _straddling(self, grade: Floats, cutoff: int) -> dict[int, Straddle]:
        across = (self.start < cutoff) & (self.start + self.size > cutoff) & ~np.isnan(grade)
        found = {}
        for query in np.unique(self.query[across]).tolist():
            first, end = np.searchsorted(self.query, [query, query + 1]).tolist()
            start = self.start[first:end]
            start = start[start < cutoff]
            groups: list[list[float]] = []
            for part in np.split(np.arange(first, first + len(start)), stretches(start)[1:]):
                missing = int(self.start[part[0]]) - sum(map(len, groups))
                groups += [[np.nan] * missing] * (missing > 0) + [grade[part].tolist()]
            found[query] = Straddle(groups[:-1], groups[-1], cutoff - int(start[-1]))
        return found


def _as_lists(run: RunLike) -> Mapping[str, Any]:
    try:
        return as_run(run)
    except InputError:
        repeated = _with_repeated(run) if isinstance(run, (str, PathLike)) else {}
        if not repeated:
            raise
        return repeated


def _with_repeated(path: str | PathLike[str]) -> dict[str, list[tuple[str, float]]]:
    """Return the lists of a TREC run that returns a document twice; none where something else is wrong."""
    found: dict[str, list[tuple[str, float]]] = {}
    try:
        for _, line in Source.of(path).lines():
            query_id, _, doc_id, _, score, _ = line.split()
            found.setdefault(query_id, []).append((doc_id, score_of(score)))
    except ValueError:
        return {}
    is_repeated = any(len({doc_id for doc_id, _ in rows}) < len(rows) for rows in found.values())
    return found if is_repeated else {}


def _checked(query_id: str, returned: Any) -> tuple[list[str], Floats]:  # noqa: ANN401  (a list of some shape)
    """Return ids and scores; a list that is in order gets falling scores."""
    if isinstance(returned, Mapping):
        return _scored(query_id, list(returned), list(returned.values()))
    if returned and all(isinstance(row, tuple) for row in returned):
        return _scored(query_id, [row[0] for row in returned], [row[1] for row in returned])
    return _scored(query_id, list(returned), [float(place) for place in range(len(returned), 0, -1)])


def _scored(query_id: str, ids: list[str], scores: Sequence[Any]) -> tuple[list[str], Floats]:
    check_ids(ids, query_id)
    plain = set(map(type, scores)) <= {float}
    values = np.array(scores if plain else [_number(score) for score in scores], dtype=np.float64)
    if np.isnan(values).any():
        place = int(np.isnan(values).argmax())
        what = "NaN" if scores[place] != scores[place] else f"{scores[place]!r}, a {type(scores[place]).__name__}"
        raise InputError(f"query {query_id!r}, document {ids[place]!r}: the score is {what}; a score is a number")
    return ids, values


def _number(score: Any) -> float:  # noqa: ANN401  (checked by the caller)
    try:
        return as_float(score)
    except ValueError:
        return np.nan
