"""Qrels and a run as arrays, and the order of every list under every tie rule: ranked once per rule.

Only judged documents get a rank. An :class:`Order` holds them by query and rank, with the tie group each one stands in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from permed_measures.errors import InputError
from permed_measures.inputs import QrelsLike, RunLike, as_qrels, as_run
from permed_measures.ranking import check_ids

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

ANY_ORDER = ("expected", "best", "worst")
"""Tie rules that speak about all orders of a tie group, not about one."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Returned documents of judged queries, one row each, in the order of the run."""

    query: Ints
    score: Floats
    grade: Floats
    """NaN where the document is not judged."""
    doc_ids: list[str]

    def kept(self, keep: Bools) -> Rows:
        """Return some of the rows."""
        doc_ids = [doc_id for doc_id, wanted in zip(self.doc_ids, keep.tolist(), strict=True) if wanted]
        return Rows(self.query[keep], self.score[keep], self.grade[keep], doc_ids)


@dataclass(frozen=True, eq=False)
class Order:
    """The judged documents of all lists by query and rank."""

    key: int
    """The same for two orders in which every document has the same rank and the same tie group."""
    query: Ints
    rank: Ints
    grade: Floats
    start: Ints
    """How many documents stand before the tie group."""
    size: Ints
    """How many documents the tie group has."""
    length: Ints
    """How many documents each query returned."""
    ties: str
    """'expected', 'best' or 'worst' where values speak about all orders; else empty: ranks say everything."""
    straddling: dict[int, Straddle]
    """Queries whose cut goes through a tie group: which documents are in the top k is open there."""


@dataclass(frozen=True, eq=False)
class Straddle:
    """The tie groups of one query down to the cut-off, as lists of grades (NaN: unjudged)."""

    above: list[list[float]]
    last: list[float]
    """The group that the cut-off goes through."""
    room: int
    """How many of its documents are in the top k."""


class Lists:
    """Qrels and run, read once."""

    def __init__(self, qrels: QrelsLike, run: RunLike, cutoff: int | None) -> None:
        self.cutoff = cutoff
        self.qrels = as_qrels(qrels)
        returned = _as_lists(run)
        self.query_ids = [*self.qrels, *(query_id for query_id in returned if query_id not in self.qrels)]
        if not self.query_ids:
            msg = "no query to explain: qrels and run are empty"
            raise InputError(msg)
        number = len(self.query_ids)
        self.in_qrels = np.arange(number) < len(self.qrels)
        self.in_run = np.array([query_id in returned for query_id in self.query_ids], dtype=bool)
        sizes = [len(judged) for judged in self.qrels.values()]
        self.judged_query: Ints = np.repeat(np.arange(len(self.qrels)), sizes)
        grades = [grade for judged in self.qrels.values() for grade in judged.values()]
        self.judged_grade: Floats = np.array(grades, dtype=np.float64)
        self.distinct_grades = sorted(set(grades))
        self.rows = self._rows(returned)
        self.forget()
        self._treated: dict[tuple[str, bool], Rows] = {("first", True): self.rows}

    def at(self, cutoff: int | None) -> Lists:
        """Return the same input with another cut-off; nothing is read again."""
        other = copy(self)
        other.cutoff = cutoff
        other.forget()
        return other

    def forget(self) -> None:
        """Drop the orders: they belong to a cut-off."""
        self._orders: dict[Any, Order] = {}
        self._keys: dict[bytes, int] = {}

    @property
    def number(self) -> int:
        """How many queries there are, in the qrels or in the run."""
        return len(self.query_ids)

    def _rows(self, returned: Mapping[str, Any]) -> Rows:
        doc_ids: list[str] = []
        scores: list[Floats] = []
        sizes: list[int] = []
        places: list[int] = []
        grades: list[float] = []
        self.duplicates = 0
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
            sizes.append(len(ids))
        grade = np.full(len(doc_ids), np.nan)
        grade[places] = grades
        query: Ints = np.repeat(np.arange(len(sizes)), sizes)
        self.all_rows = Rows(query, np.concatenate([*scores, np.empty(0)]), grade, doc_ids)
        if not self.duplicates:
            return self.all_rows
        return self.all_rows.kept(_first_ones(self.all_rows))

    def treated(self, duplicates: str, *, unjudged: bool) -> Rows:
        """Return the rows after duplicates are dealt with, with or without unjudged documents."""
        key = (duplicates if self.duplicates else "first", unjudged)
        if key not in self._treated:
            rows = self._treated.get((key[0], True)) or self._without_duplicates(key[0])
            self._treated[key[0], True] = rows
            if not unjudged:
                self._treated[key] = rows.kept(~np.isnan(rows.grade))
        return self._treated[key]

    def _without_duplicates(self, duplicates: str) -> Rows:
        rows = self.all_rows
        if duplicates == "each":
            return rows
        if duplicates == "last":
            pairs = zip(rows.query.tolist(), rows.doc_ids, strict=True)
            last = {pair: place for place, pair in enumerate(pairs)}  # a later one replaces an earlier one
            keep = np.zeros(len(rows.doc_ids), dtype=bool)
            keep[list(last.values())] = True
            return rows.kept(keep)
        # held: the later places stay, as documents that nobody judged
        grade = np.where(_first_ones(rows), rows.grade, np.nan)
        return Rows(rows.query, rows.score, grade, rows.doc_ids)

    @cached_property
    def near_ties(self) -> bool:
        """Whether two different scores of a list are the same 32-bit float."""
        whole, single = _Sorted(self.rows, 64), _Sorted(self.rows, 32)
        return bool((whole.size != single.size).any() or (whole.order != single.order).any())

    @cached_property
    def is_listed_in_order(self) -> bool:
        """Whether the run lists its documents by score, descending."""
        rows = self.rows
        same = rows.query[1:] == rows.query[:-1]
        return not bool((same & (rows.score[1:] > rows.score[:-1])).any())

    @cached_property
    def unjudged(self) -> int:
        """How many returned documents are not judged, or have a negative grade."""
        return int(np.isnan(self.rows.grade).sum())

    def tied(self, precision: int, depth: int | None) -> tuple[int, int, int]:
        """Return how many documents of the top tie with another one, how many there are, and queries with a tie."""
        ordered = _Sorted(self.rows, precision)
        top = np.ones(len(ordered.place), dtype=bool) if depth is None else ordered.place < depth
        tied = top & (ordered.size > 1)
        return int(tied.sum()), int(top.sum()), len(np.unique(ordered.query[tied]))

    def order(self, *, ties: str, precision: int, unjudged: str, duplicates: str) -> Order:
        """Rank all lists by one rule; two rules that rank alike share one Order."""
        if self.cutoff is None and unjudged == "after":
            unjudged = "removed"  # nothing is cut
        asked = (ties, precision, unjudged, duplicates)
        if asked not in self._orders:
            rows = self.treated(duplicates, unjudged=unjudged != "removed")
            found = _Sorted(rows, precision).arranged(ties, self.cutoff, after=unjudged == "after")
            self._orders[asked] = self._shared(found)
        return self._orders[asked]

    def _shared(self, found: dict[str, Any]) -> Order:
        length = np.bincount(found.pop("list_query"), minlength=self.number)
        names = ("query", "rank", "grade", "start", "size")
        parts = [found[name].tobytes() for name in (names if found["ties"] else names[:3])]
        signature = b"|".join([*parts, length.tobytes(), found["ties"].encode()])
        key = self._keys.setdefault(signature, len(self._keys))
        return Order(key=key, length=length, **found)


def _first_ones(rows: Rows) -> Bools:
    """Of each document of a query the row with the highest score, the first one where scores are equal."""
    best: dict[tuple[int, str], int] = {}
    scores = rows.score.tolist()
    for place, pair in enumerate(zip(rows.query.tolist(), rows.doc_ids, strict=True)):
        if pair not in best or scores[place] > scores[best[pair]]:
            best[pair] = place
    keep = np.zeros(len(rows.doc_ids), dtype=bool)
    keep[list(best.values())] = True
    return keep


class _Sorted:
    """Rows by query and score, with their tie groups."""

    def __init__(self, rows: Rows, precision: int) -> None:
        self.rows = rows
        score = rows.score
        if precision == 32:  # noqa: PLR2004  (bits)
            with np.errstate(over="ignore"):  # 1e300 is infinite as a 32-bit float, in trec_eval too
                score = score.astype(np.float32).astype(np.float64)
        self.order: Ints = np.lexsort((np.arange(len(score)), -score, rows.query))
        self.query: Ints = rows.query[self.order]
        number = len(score)
        new_query = np.ones(number, dtype=bool)
        new_query[1:] = self.query[1:] != self.query[:-1]
        self.query_start: Ints = _spread(np.flatnonzero(new_query), number)
        ordered = score[self.order]
        new_group = new_query.copy()
        new_group[1:] |= ordered[1:] != ordered[:-1]
        starts = np.flatnonzero(new_group)
        self.group_start: Ints = _spread(starts, number)
        self.size: Ints = np.repeat(np.diff(np.append(starts, number)), np.diff(np.append(starts, number)))
        self.place: Ints = np.arange(number) - self.query_start
        """How many documents stand before, in this order."""

    def arranged(self, ties: str, cutoff: int | None, *, after: bool) -> dict[str, Any]:
        """Return the parts of an Order."""
        order, query = self.order, self.query
        start, size = self.group_start - self.query_start, self.size
        if ties == "listed":
            order, query = np.arange(len(self.rows.query)), self.rows.query
            size = np.ones_like(self.size)
            start = self.place
        else:
            order = self._broken(ties)
        grade = self.rows.grade[order]
        reach = len(grade) if cutoff is None else cutoff
        open_orders = ties in ANY_ORDER and bool((~np.isnan(grade) & (size > 1) & (start < reach)).any())
        straddling = {}
        if open_orders and cutoff is not None:
            straddling = self._straddling(start, grade, cutoff)
        rank = self.place + 1
        hit = ~np.isnan(grade)
        list_query = query
        if after:
            hit &= rank <= reach
            list_query = query[hit]
        query, rank, start, size = (part[hit] for part in (query, rank, start, size))
        grade = grade[hit]
        if after:
            rank, start, size = _closed_up(query, start)
        return {
            "list_query": list_query,
            "query": query,
            "rank": rank,
            "grade": grade,
            "start": start,
            "size": size,
            "ties": ties if open_orders else "",
            "straddling": straddling,
        }

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
        order[tied] = rows[np.lexsort((key, self.group_start[tied]))]
        return order

    def _straddling(self, start: Ints, grade: Floats, cutoff: int) -> dict[int, Straddle]:
        across = (start < cutoff) & (start + self.size > cutoff) & ~np.isnan(grade)
        found = {}
        for query in np.unique(self.query[across]).tolist():
            first, end = np.searchsorted(self.query, [query, query + 1]).tolist()
            places = slice(first, first + int(np.searchsorted(start[first:end], cutoff)))
            groups = _runs(start[places].tolist(), grade[places].tolist())
            room = cutoff - sum(len(group) for group in groups[:-1])
            found[query] = Straddle(groups[:-1], groups[-1], room)
        return found


def _spread(starts: Ints, number: int) -> Ints:
    """Return for each place the start of the stretch it is in."""
    spread: Ints = np.repeat(starts, np.diff(np.append(starts, number)))
    return spread


def _runs(keys: list[int], values: list[float]) -> list[list[float]]:
    groups: list[list[float]] = [[values[0]]]
    for (before, key), value in zip(pairwise(keys), values[1:], strict=True):
        if key == before:
            groups[-1].append(value)
        else:
            groups.append([value])
    return groups


def _closed_up(query: Ints, start: Ints) -> tuple[Ints, Ints, Ints]:
    """Give new ranks to what is left of each list; documents of one tie group stay one."""
    number = len(query)
    new_query = np.ones(number, dtype=bool)
    new_query[1:] = query[1:] != query[:-1]
    new_group = new_query.copy()
    new_group[1:] |= start[1:] != start[:-1]
    query_start = _spread(np.flatnonzero(new_query), number)
    starts = np.flatnonzero(new_group)
    sizes = np.diff(np.append(starts, number))
    place = np.arange(number)
    return place - query_start + 1, _spread(starts, number) - query_start, np.repeat(sizes, sizes)


def _as_lists(run: RunLike) -> Mapping[str, Any]:
    if isinstance(run, (str, PathLike)):
        try:
            return as_run(run)
        except InputError:
            repeated = dict(_trec_rows(run))
            if not repeated:
                raise
            return repeated
    return as_run(run)


def _trec_rows(path: str | PathLike[str]) -> Iterator[tuple[str, list[tuple[str, float]]]]:
    """Yield the lists of a TREC run in which a document stands twice; nothing when the file is something else."""
    from permed_measures.files.source import Source  # noqa: PLC0415  (only for such a file)

    found: dict[str, list[tuple[str, float]]] = {}
    try:
        text = b"\n".join(block for _, block in Source(path).blocks()).decode()
        for line in text.splitlines():
            fields = line.split()
            if fields:
                query_id, _, doc_id, _, score, _ = fields
                found.setdefault(query_id, []).append((doc_id, float(score)))
    except ValueError:
        return
    if any(len({doc_id for doc_id, _ in rows}) < len(rows) for rows in found.values()):
        yield from found.items()


def _checked(query_id: str, returned: Any) -> tuple[list[str], Floats]:  # noqa: ANN401  (a list of some shape)
    """Return ids and scores; a list that is in order gets falling scores."""
    if isinstance(returned, Mapping):
        return _scored(query_id, list(returned), list(returned.values()))
    if returned and all(isinstance(row, tuple) for row in returned):
        return _scored(query_id, [row[0] for row in returned], [row[1] for row in returned])
    ids = list(returned)
    check_ids(ids, query_id)
    return ids, np.arange(len(ids), 0, -1, dtype=np.float64)


def _scored(query_id: str, ids: list[str], scores: Sequence[Any]) -> tuple[list[str], Floats]:
    check_ids(ids, query_id)
    for doc_id, score in zip(ids, scores, strict=True):
        if isinstance(score, (str, bytes)) or not hasattr(score, "__float__") or score != score:
            what = "NaN" if score != score else f"{score!r}, a {type(score).__name__}"
            msg = f"query {query_id!r}, document {doc_id!r}: the score is {what}; a score is a number"
            raise InputError(msg)
    return ids, np.array([float(score) for score in scores], dtype=np.float64)
