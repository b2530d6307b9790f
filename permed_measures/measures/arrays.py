"""Measures over columns in memory: numpy ranks all queries at once, and computes expressions over all of them.

What a RankingTable is to an engine, :class:`ArrayTable` is to numpy. Both know the same words, so that a measure's
expression is written once; here it is computed as it is written.
"""

import struct
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property, lru_cache
from itertools import chain, compress, pairwise, repeat
from math import inf, log, log2, nan
from operator import contains
from typing import TYPE_CHECKING, Any

from permed_measures.errors import Lazy
from permed_measures.ranking import Bounds, Columns, Counts, Order, Ranking, Rankings, numpy_is_worth_it

if TYPE_CHECKING:
    import numpy as np

    from permed_measures.measures.base import RankingMeasure
else:
    np = Lazy("numpy")  # small runs do without

_BATCH = 1 << 15
"""So many documents, returned or judged, are ranked at once: their ids and numbers stay near the processor."""
_ROWS = 15_000
"""So many rows are computed with at once: for longer arrays the system is asked for memory, which takes longer."""
_EXACT = 2.0**53
"""A whole number above it is not always a float."""
_FEW = 1 << 16
"""So many numbers, of 16 bits, are sorted faster than others."""
_NONE: dict[str, float] = {}
_Scores = list[dict[str, float]]


def fill(
    qrels: Mapping[str, Any], run: Mapping[str, Any], query_ids: list[str], bounds: Bounds, order: Order
) -> Rankings | None:
    """Rank all queries as :func:`~permed_measures.ranking.rank` does one; None in doubt, which that one settles."""
    lists = list(map(run.get, query_ids, repeat(_NONE)))
    judged = list(map(qrels.get, query_ids, repeat(_NONE)))
    if not lists or not set(map(type, lists)) | set(map(type, judged)) <= {dict}:
        return None
    num_ret, num_judged = list(map(len, lists)), list(map(len, judged))
    step = 1 + len(lists) // (1 + (sum(num_ret) + sum(num_judged)) // _BATCH)
    parts = []
    for start in range(0, len(lists), step):
        some = slice(start, start + step)
        lengths = np.array(num_ret[some], np.int64), np.array(num_judged[some], np.int64)
        part = _filled(lists[some], judged[some], lengths, bounds, order)
        if part is None:
            return None
        parts.append(part)
    counts = Counts(*map(sum, zip(*(counts for counts, _ in parts), strict=True)))
    return Rankings(counts, Columns(*map(np.concatenate, zip(*(columns for _, columns in parts), strict=True))))


def columns_of(rankings: Rankings) -> Columns:
    """Return rankings as columns; those of single ones are put together once, and kept."""
    if rankings.columns is None:
        step = max(1, _ROWS * len(rankings) // (1 + rankings.num_judged))
        starts = range(0, max(1, len(rankings)), step)
        parts = [_gathered(rankings.views[start : start + step]) for start in starts]
        rankings.columns = Columns(*map(np.concatenate, zip(*parts, strict=True)))
    return rankings.columns


def _gathered(views: Sequence[Ranking]) -> Columns:
    num_ret = np.fromiter((view.num_ret for view in views), np.int64, len(views))
    num_hits = np.fromiter((len(view.ranked) for view in views), np.int64, len(views))
    num_judged = np.fromiter((len(view.judged) for view in views), np.int64, len(views))
    hits = np.fromiter(chain.from_iterable(chain.from_iterable(view.ranked for view in views)), np.float64)
    judged = _grades(list(chain.from_iterable(view.judged for view in views)))
    few = _few(judged, len(views))
    levels = np.unique(judged) if few is None else few
    level_of = levels.searchsorted if few is None else lambda some: (some - few[0]).astype(np.intp)
    query, size = np.arange(len(views)), len(views) * len(levels)
    missed = np.bincount(np.repeat(query * len(levels), num_judged) + level_of(judged), minlength=size)
    missed -= np.bincount(np.repeat(query * len(levels), num_hits) + level_of(hits[1::2]), minlength=size)
    missed_grades = np.repeat(np.tile(levels, len(views)), missed)
    queries = np.concatenate([np.repeat(query, num_hits), np.repeat(query, num_judged - num_hits)])
    rows = np.argsort(queries, kind="stable")
    ranks = np.concatenate([hits[::2], np.full(len(missed_grades), inf)])[rows]
    grades, row_query = np.concatenate([hits[1::2], missed_grades])[rows], np.repeat(query, num_judged)
    return Columns(num_ret, num_hits, num_judged, ranks, grades, _places(row_query, num_judged, grades))


def _filled(
    lists: _Scores, judged: _Scores, lengths: tuple[Any, Any], bounds: Bounds, order: Order
) -> tuple[Counts, Columns] | None:
    num_ret, num_judged = lengths
    pairs = zip(lists, judged, strict=True)
    try:
        "".join(chain.from_iterable(lists))  # the fastest way to see that all of them are strings
        scores = _doubles(chain.from_iterable(map(dict.values, lists)), num_ret.sum())
        known = [found.get(doc_id, nan) for found, grades_of in pairs for doc_id in grades_of]
        judged_scores = _doubles(known, len(known))
        grades = _grades(list(chain.from_iterable(map(dict.values, judged))))
    except (TypeError, ValueError, ArithmeticError, struct.error):
        return None
    if np.isnan(scores).any() or any(map(contains, lists, repeat(""))) or (np.abs(grades) > _EXACT).any():
        return None
    queries = np.arange(len(lists))
    row_query, first_document = np.repeat(queries, num_judged), np.cumsum(num_ret) - num_ret
    singles = _singles(scores)
    keys = _keys(np.repeat(queries, num_ret), singles)
    in_descending_order = bool((keys[1:] > keys[:-1]).all())
    if not in_descending_order:
        keys = _sorted(keys, singles, num_ret)
    found = np.flatnonzero(~np.isnan(judged_scores))
    of_found, ranks = row_query[found], np.full(len(row_query), inf)
    wanted = _keys(of_found, _singles(judged_scores[found]))
    ranks[found] = 1 + keys.searchsorted(wanted) - first_document[of_found]
    cutoff, ties = inf if bounds[1] is None else bounds[1], [0, 0]
    if not in_descending_order:
        first_row = np.cumsum(num_judged) - num_judged
        for query in np.unique(keys[1:][keys[1:] == keys[:-1]] >> np.uint64(32)).tolist():
            place_of = _tied(lists[query], cutoff, order, ties)
            for row, doc_id in enumerate(judged[query], first_row[query]):
                ranks[row] = place_of.get(doc_id, ranks[row])
    counts = Counts(int(np.minimum(num_ret, cutoff).sum()), int((ranks <= min(cutoff, 1e300)).sum()), *ties)
    if bounds[0] is not None:
        ranks[ranks > bounds[0]] = inf
    hits = np.flatnonzero(ranks < inf)
    of_hits = row_query[hits]
    by_rank = np.full(len(scores), -1)  # faster than to sort
    by_rank[(first_document[of_hits] + ranks[hits]).astype(np.intp) - 1] = hits
    rows = np.concatenate([by_rank.compress(by_rank >= 0), np.flatnonzero(ranks == inf)])
    rows = rows[np.argsort(row_query[rows], kind="stable")]
    ranks, grades, num_hits = ranks[rows], grades[rows], np.bincount(of_hits, minlength=len(lists))
    return counts, Columns(num_ret, num_hits, num_judged, ranks, grades, _places(row_query, num_judged, grades))


def _doubles(numbers: Iterable[Any], count: int) -> Any:  # noqa: ANN401  (numpy's)
    """Return numbers as an array, by the fastest strict conversion: numpy's own would read text."""
    return np.frombuffer(struct.pack(f"{count}d", *numbers))


def _grades(grades: list[Any]) -> Any:  # noqa: ANN401  (numpy's)
    try:
        return np.frombuffer(bytes(grades), np.uint8).astype(np.float64)  # whole numbers up to 255, as most are
    except (TypeError, ValueError):
        return _doubles(grades, len(grades))


def _singles(scores: Any) -> Any:  # noqa: ANN401  (numpy's)
    with np.errstate(over="ignore"):  # 1e300 is infinite there, in trec_eval 9.0.8 too
        return scores.astype(np.float32)


def _sorted(keys: Any, scores: Any, num_ret: Any) -> Any:  # noqa: ANN401  (numpy's)
    """Sort keys; lists of one length by their scores, which is faster by far."""
    if not (num_ret == num_ret[0]).all():
        return np.sort(keys)
    rows = np.sort(-scores.reshape(len(num_ret), -1), axis=1)
    return _keys(np.repeat(np.arange(len(num_ret)), num_ret), -rows.ravel())


def _keys(queries: Any, scores: Any) -> Any:  # noqa: ANN401  (numpy's)
    """Return a whole number for each document, which ascends by query and within it by descending score."""
    bits = (scores + np.float32(0.0)).view(np.uint32)  # -0.0 and 0.0 are one score
    descending = np.where(bits >> 31, bits, bits ^ np.uint32(0x7FFFFFFF))
    return queries.astype(np.uint64) << np.uint64(32) | descending


def _tied(scores: dict[str, float], cutoff: float, order: Order, ties: list[int]) -> dict[str, int]:
    """Return the rank of each document that shares its score with another one, and count those in the top."""
    doubles = _doubles(scores.values(), len(scores))
    singles = _singles(doubles)
    descending = np.sort(-singles)
    places = np.flatnonzero(_like_neighbours(descending))
    tied = np.isin(singles, -descending[places])
    ties[0] += int((places < cutoff).sum())
    ties[1] += int((_like_neighbours(np.sort(-doubles[tied])) & (places < cutoff)).sum())
    compared = (singles if order == "float32" else doubles)[tied].tolist()
    in_order = sorted(zip(compared, compress(scores, tied.tolist()), strict=True), reverse=True)
    return {doc_id: place for (_, doc_id), place in zip(in_order, (places + 1).tolist(), strict=True)}


def _like_neighbours(ordered: Any) -> Any:  # noqa: ANN401  (numpy's)
    """Whether each number is equal to the one before it, or to the one after it."""
    equal = np.concatenate([[False], ordered[1:] == ordered[:-1], [False]])
    return equal[1:] | equal[:-1]


def _places(row_query: Any, num_judged: Any, worth: Any) -> Any:  # noqa: ANN401  (numpy's)
    """Return the place of each row in the order of descending worth within its query."""
    few = _few(worth, len(num_judged))
    if few is not None:
        codes = row_query * len(few) + (few[-1] - worth).astype(np.intp)
        rows = np.argsort(codes.astype(np.uint16), kind="stable")
    else:
        rows = np.lexsort((-worth, row_query))
    places = np.empty(len(worth))
    places[rows] = 1.0 + np.arange(len(rows)) - np.repeat(np.cumsum(num_judged) - num_judged, num_judged)
    return places


def _few(worth: Any, queries: int) -> Any:  # noqa: ANN401  (numpy's)
    """Return all numbers from the lowest to the highest where these are whole, and few for each query; else None."""
    lowest, highest = (worth.min(), worth.max()) if len(worth) else (0.0, 0.0)
    if (highest - lowest + 1.0) * queries <= _FEW and bool((worth == np.floor(worth)).all()):
        return lowest + np.arange(highest - lowest + 1.0)
    return None


def within(columns: Columns, depth: int | None) -> Columns:
    """Return the rows of the documents down to a depth alone; all of them where numpy is not loaded."""
    if depth is None or not numpy_is_worth_it(len(columns.grades)):
        return columns
    num_ret, _, num_judged, ranks, grades, places = map(np.asarray, columns)
    kept = np.flatnonzero(ranks <= depth)
    num_hits = np.bincount(np.repeat(np.arange(len(num_ret)), num_judged)[kept], minlength=len(num_ret))
    return Columns(num_ret, num_hits, num_hits, ranks[kept], grades[kept], places[kept])


def without_grade(columns: Columns, lowest: float, number: int) -> list[int] | None:
    """Return which of so many queries have no document of such a grade, or a higher one; None without numpy."""
    if not numpy_is_worth_it(len(columns.grades)):
        return None
    _, _, num_judged, _, grades, places = map(np.asarray, columns)
    found = num_judged == 0
    found[~found] = grades[np.flatnonzero(places == 1.0)] < lowest
    without: list[int] = np.flatnonzero(found[:number]).tolist()
    return without


def all_returned(columns: Columns) -> bool:
    """Whether every query returned a document, as far as numpy, where it is loaded, can tell."""
    return numpy_is_worth_it(len(columns.grades)) and bool(np.asarray(columns.num_ret).all())


def has_grades_up_to(highest: int, rankings: Rankings) -> bool:
    """Whether all grades are whole numbers from 0 to the highest."""
    grades = np.asarray(columns_of(rankings).grades)
    return not len(grades) or bool(grades.min() >= 0 and grades.max() <= highest and (grades == grades.round()).all())


def tables(rankings: Rankings) -> "Iterator[ArrayTable]":
    """Yield tables of some queries each: their numbers stay near the processor, and the memory for them is small."""
    whole = [*map(np.asarray, columns_of(rankings))]
    ends = np.concatenate([[0], np.cumsum(whole[2])])
    cuts = [0, *np.searchsorted(ends, np.arange(_ROWS, len(whole[3]), _ROWS)).tolist(), len(ends) - 1]
    for start, end in pairwise(cuts):
        rows = slice(ends[start], ends[end])
        yield ArrayTable(Columns(*(c[start:end] for c in whole[:3]), *(c[rows] for c in whole[3:])))


class ArrayTable:
    """Judged documents with their ranks, as numpy arrays: one number for each row, or one for each query."""

    def __init__(self, columns: Columns) -> None:
        num_ret, _, self._lengths, self.rank, self.grade, self._places = map(np.asarray, columns)
        self.returned = num_ret > 0
        self._longest = max(int(length.max(initial=0)) for length in (num_ret, self._lengths))
        self._hit = self.rank < inf
        self._query = np.repeat(np.arange(len(num_ret)), self._lengths)
        self._starts = np.cumsum(self._lengths) - self._lengths
        self._discounts: dict[int, tuple[Any, Any]] = {}

    def ranks(self, *, judged_only: bool, grade: Any = None) -> Any:  # noqa: ANN401  (numpy's, as all below)
        """Return the rank of a returned document of grade >= 0, in the whole list or among such documents."""
        return self.found((self.grade if grade is None else grade) >= 0) if judged_only else self.rank

    def judged_only(self) -> "ArrayTable":
        """Return the table of the lists without unjudged documents, and without those of a negative grade."""
        table = copy(self)
        table.rank, table._hit = self.ranks(judged_only=True), self._hit & (self.grade >= 0)  # noqa: SLF001  (a copy of this one)
        return table

    def found(self, relevant: Any) -> Any:  # noqa: ANN401
        """How many hits are relevant down to this one, itself included."""
        counted = relevant & self._hit
        total = np.cumsum(counted, dtype=np.int32)
        before = np.concatenate([[0], total])[self._starts]
        return total - np.repeat(before, self._lengths)

    def place(self, worth: Any, *, among: str = "judged") -> Any:  # noqa: ANN401
        """Return the place of a document in the best order of the judged ones, or of the returned ones (``hits``)."""
        if worth is self.grade and among == "judged":
            return self._places
        known = np.where(self._hit, worth, -inf) if among == "hits" else worth
        return _places(self._query, self._lengths, known)

    def count_judged(self, condition: Any) -> Any:  # noqa: ANN401
        """How many judged documents of the query meet a condition, said beside each of them."""
        return self._summed(1, np.flatnonzero(condition))[self._query]

    def highest(self, worth: Any, *, among: str = "judged") -> Any:  # noqa: ANN401
        """Return the highest worth of a document of the query."""
        known = np.where(self._hit, worth, -inf) if among == "hits" else worth
        return self._greatest(known)[self._query]

    def sum_hits(self, value: Any, where: Any) -> Any:  # noqa: ANN401
        """Sum a value over the returned documents for which a condition holds; 0 when there are none."""
        return self._summed(value, np.flatnonzero(where & self._hit))

    def max_hits(self, value: Any, where: Any) -> Any:  # noqa: ANN401
        """Return the greatest value over the returned documents for which a condition holds; 0 when there are none."""
        return self._greatest(self.where(where & self._hit, value))

    def any_hit(self, where: Any) -> Any:  # noqa: ANN401
        """Return 1 where a returned document meets the condition, else 0."""
        found = np.zeros(len(self.returned))
        found[self._query[where & self._hit]] = 1.0
        return found

    def sum_judged(self, value: Any, where: Any) -> Any:  # noqa: ANN401
        """Sum a value over the judged documents for which a condition holds, those of the highest grade first."""
        if isinstance(value, int):
            return self._summed(value, np.flatnonzero(where))
        return self._summed(value, self._by_place[where[self._by_place]])

    @cached_property
    def _by_place(self) -> Any:  # noqa: ANN401
        """The rows of each query, those of the highest grade first."""
        rows = np.empty(len(self._query), np.intp)
        rows[(np.repeat(self._starts, self._lengths) + self._places).astype(np.intp) - 1] = np.arange(len(rows))
        return rows

    def within(self, cutoff: int | None, rank: Any = None) -> Any:  # noqa: ANN401
        """Whether a rank is within the cut-off."""
        return (self.rank if rank is None else rank) <= (inf if cutoff is None else cutoff)

    def where(self, condition: Any, value: Any) -> Any:  # noqa: ANN401
        """Return a value where a condition holds, else 0."""
        return np.where(condition, value, 0.0)

    def ratio(self, value: Any, whole: Any) -> Any:  # noqa: ANN401
        """Divide; 0 where there is nothing to divide by."""
        return np.where(whole > 0, value / whole, 0.0)

    def mapped(self, grade: Any, numbers: Mapping[float, float], otherwise: Any) -> Any:  # noqa: ANN401
        """Return the number that stands for each grade."""
        mapped = otherwise
        for known, number in numbers.items():
            mapped = np.where(grade == known, float(number), mapped)
        return np.broadcast_to(mapped, grade.shape)

    def gain(self, grade: Any, dcg: str, *, among: str = "judged") -> Any:  # noqa: ANN401
        """Return the gain of a positive grade, up to a factor that is the same for all documents of a query."""
        from permed_measures.measures.ndcg import LARGEST, SMALLEST  # noqa: PLC0415  (it is defined after this)

        if dcg == "log2":
            return grade
        if not len(grade) or grade.max() <= LARGEST:
            gains = np.exp2(grade) - 1.0
            small = (grade > 0) & (grade < SMALLEST)
            return np.where(small, np.expm1(grade * log(2)), gains) if small.any() else gains
        best = self.highest(grade, among=among)
        plain = np.where(grade < SMALLEST, np.expm1(grade * log(2)), np.exp2(np.minimum(grade, LARGEST)) - 1.0)
        return np.where(best > LARGEST, np.exp2(grade - best) - np.exp2(-best), plain)

    def discount(self, rank: Any) -> Any:  # noqa: ANN401
        """Return log2(rank + 1), as the C library has it: numpy's own may differ in the last bit."""
        if id(rank) not in self._discounts:
            rows = np.minimum(rank, self._longest + 1).astype(np.intp)
            self._discounts[id(rank)] = rank, _log2s(1 << self._longest.bit_length()).take(rows, mode="clip")
        return self._discounts[id(rank)][1]

    def _summed(self, value: Any, rows: Any) -> Any:  # noqa: ANN401
        """Add up some rows of each query, one after the other, as C does: numpy's sums add in another order."""
        if isinstance(value, int):
            return np.bincount(self._query[rows], minlength=len(self.returned)) * float(value)
        return np.bincount(self._query[rows], value[rows], len(self.returned))

    def _greatest(self, rows: Any) -> Any:  # noqa: ANN401
        some, totals = self._lengths > 0, np.zeros(len(self.returned))
        if len(rows):
            totals[some] = np.maximum.reduceat(rows, self._starts[some])
        return totals


@lru_cache(maxsize=4)
def _log2s(length: int) -> Any:  # noqa: ANN401
    return np.fromiter(chain(map(log2, range(1, length + 1)), [inf]), np.float64)


def values(measure: "RankingMeasure", table: "ArrayTable", *, exact: bool = False) -> "array[float]":
    """Return the value of every query; 0 of one that returned nothing."""
    expression: Any = type(measure).exact if exact else type(measure).expression
    with np.errstate(all="ignore"):  # rows that a condition leaves out are computed too
        computed = np.where(table.returned, expression(table, **measure.arguments), 0.0)
    if len(computed):
        measure.checked([float(computed.min()), float(computed.max())])
    return array("d", computed.tobytes())
