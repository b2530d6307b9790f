"""The value of every query under any convention, from parts that conventions share: orders, sums and denominators.

Values are arrays over all queries, of the qrels or of the run. Every part is kept, so that a family of thousands of
conventions costs as much as its parts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from permed_measures.evaluate.conventions import Convention, ties
from permed_measures.evaluate.conventions.orders import JudgedRun, Order
from permed_measures.files.judged import spread, stretches
from permed_measures.measures.ndcg import SMALLEST

if TYPE_CHECKING:
    from permed_measures.evaluate.conventions.orders import Floats, Ints

P = ParamSpec("P")
T = TypeVar("T")


def _kept(make: Callable[Concatenate[QueryValues, P], T]) -> Callable[Concatenate[QueryValues, P], T]:
    """Keep what a method makes of each set of arguments."""

    @wraps(make)
    def once(self: QueryValues, /, *args: P.args, **kwargs: P.kwargs) -> T:
        key = (make, args, tuple(kwargs.items()))
        if key not in self.parts:
            self.parts[key] = make(self, *args, **kwargs)
        part: T = self.parts[key]
        return part

    return once


class QueryValues:
    """The values of queries on one run, at one cut-off."""

    def __init__(self, lists: JudgedRun) -> None:
        self.lists = lists
        self.parts: dict[Any, Any] = {}
        self.number = lists.number
        self.depth = math.inf if lists.cutoff is None else lists.cutoff
        judged = int(np.bincount(lists.judged_query, minlength=1).max(initial=1))
        self.ranks = np.arange(1, max(lists.longest, judged) + 1)
        self.harmonic: Floats = self._discounts("rank")

    @_kept
    def _discounts(self, kind: str) -> Floats:
        """Return the sums of all discounted ranks down to a depth."""
        return np.concatenate([[0.0], np.cumsum(1 / _discount(self.ranks, kind))])

    def by_query(self, convention: Convention) -> Floats:
        """Return the value of every query, not rounded, 0 where nothing is relevant; NaN where it is not given."""
        unjudged = convention.unjudged
        order = self.lists.order(
            ties=convention.ties,
            precision=convention.precision,
            unjudged="kept" if unjudged == "after" and only_counts(convention) else unjudged,
            duplicates=convention.duplicates,
        )
        values: Floats = _FAMILIES[convention.family](self, convention, order)
        return values

    def _sum(self, query: Ints, terms: Floats | None = None) -> Floats:
        # numpy counts nothing as whole numbers, whatever the terms are
        return np.bincount(query, terms, minlength=self.number).astype(np.float64)

    @_kept
    def num_rel(self, threshold: float) -> Floats:
        """How many relevant documents each query has."""
        return self._sum(self.lists.judged_query[self.lists.judged_grade >= threshold])

    @_kept
    def num_returned(self, duplicates: str, threshold: float) -> Floats:
        """How many relevant documents the whole returned list has."""
        rows = self.lists.treated(duplicates, unjudged=True)
        return self._sum(rows.query[rows.grade >= threshold])

    def _divisor(self, convention: Convention, order: Order, found: Floats) -> Floats:
        """Return what a sum is divided by; ``found`` are the relevant documents of the top k."""
        how, threshold = convention.denominator, convention.threshold
        if how == "retrieved":
            return found
        if how == "k":
            return np.full(self.number, self.depth)
        if how == "length":
            return np.minimum(order.length, self.depth)
        if how == "ideal":
            return self._ideal_weights(threshold, convention.weights)
        returned = how.startswith("returned")
        count = self.num_returned(convention.duplicates, threshold) if returned else self.num_rel(threshold)
        return np.minimum(count, self.depth) if how.endswith("min") else count

    @_kept
    def _ideal_weights(self, threshold: float, weights: float | None) -> Floats:
        relevant = self.lists.judged_grade >= threshold
        weight = _weight(self.lists.judged_grade[relevant], weights)
        return self._best_sum(self.lists.judged_query[relevant], weight, self.depth)

    def _best_sum(self, query: Ints, gain: Floats, depth: float | Floats, discount: str | None = None) -> Floats:
        """Sum the gains of each query in descending order down to a depth."""
        arranged = np.lexsort((-gain, query))
        query, gain = query[arranged], gain[arranged]
        place = np.arange(len(query)) - spread(stretches(query), len(query))
        inside = place < (depth[query] if isinstance(depth, np.ndarray) else depth)
        discounted = gain if discount is None else gain * np.diff(self._discounts(discount))[place]
        return self._sum(query[inside], discounted[inside])

    def average_precision(self, convention: Convention, order: Order) -> Floats:
        """Sum of precision times weight over the relevant documents of the top k, divided as the convention says."""
        total, found = self._precision_sum(order, convention.threshold, convention.weights)
        divisor, retrieved = self._divisor(convention, order, found), convention.denominator == "retrieved"
        values = self._exact(
            _ratio(total, divisor),
            convention,
            order,
            ties.precision_sum,
            lambda query, chosen: chosen.found if retrieved else float(divisor[query]),
            is_open=retrieved,
        )
        return np.minimum(values, 1.0) if convention.denominator == "ideal" else values

    @_kept
    def _precision_sum(self, order: Order, threshold: float, weights: float | None) -> tuple[Floats, Floats]:
        relevant = order.grade >= threshold
        query, rank, start, size = (part[relevant] for part in (order.query, order.rank, order.start, order.size))
        weight = _weight(order.grade[relevant], weights)
        above: Ints = np.arange(len(query)) - spread(stretches(query), len(query))
        if order.ties in ("best", "worst") and weights is not None:
            rank, weight = self._heaviest(order.ties, query, start, size, weight)
        inside = rank <= self.depth
        found = self._sum(query[inside])
        if order.ties != "expected":
            return self._sum(query[inside], ((above + 1) / rank * weight)[inside]), found
        groups, in_group = _groups(query, start)
        before = spread(groups, len(query), above[groups])
        end = np.minimum(start + size, self.depth).astype(np.int64)
        others = np.where(size > 1, (in_group - 1) / np.maximum(size - 1, 1), 0.0)
        sums = (before + 1 - (start + 1) * others) * (self.harmonic[end] - self.harmonic[np.minimum(start, end)])
        terms = np.where(start < self.depth, weight / size * (sums + (end - start) * others), 0.0)
        return self._sum(query, terms), found

    def _heaviest(
        self, best_or_worst: str, query: Ints, start: Ints, size: Ints, weight: Floats
    ) -> tuple[Ints, Floats]:
        """Return ranks and weights in the best or worst order of weighted documents, by query and rank.

        In the best one the relevant documents lead, the heaviest are in the top k, and of those the heaviest comes
        last, where precision is highest. In the worst one they follow all others, the lightest are in the top k.
        """
        best = best_or_worst == "best"
        weight = weight[np.lexsort((-weight if best else weight, start, query))]
        groups, in_group = _groups(query, start)
        place = np.arange(len(query)) - spread(groups, len(query))
        room = np.clip(np.minimum(size, self.depth - start), 0, None).astype(np.int64)
        inside = np.minimum(in_group, room) if best else np.maximum(room - (size - in_group), 0)
        reversed_from = inside if best else room
        within = np.where(place < inside, reversed_from - 1 - place, place if best else room + place - inside)
        rank: Ints = start + 1 + within
        again = np.lexsort((rank, query))
        return rank[again], weight[again]

    def ndcg(self, convention: Convention, order: Order) -> Floats:
        """DCG of the top k over the ideal that the convention names."""
        kind = convention.ideal
        gain = (convention.gain, convention.threshold if convention.gain == "binary" else 1)
        by_rank = convention.discount
        sources: dict[str, Order | str] = {"top": order, "short": order, "returned": convention.duplicates}
        ideal = self._ideal(kind, sources.get(kind), *gain, by_rank)
        by_length = kind == "short" and order.after

        def divisor(query: int, chosen: ties.Selections) -> Floats | float:
            if by_length:
                lists = self.lists
                best = -np.sort(-_gain(lists.judged_grade[lists.judged_query == query], *gain))
                sums = np.concatenate([[0.0], np.cumsum(best / _discount(np.arange(1, len(best) + 1), by_rank))])
                at_length: Floats = sums[np.minimum(chosen.length.astype(np.int64), len(best))]
                return at_length
            return chosen.ideal if kind == "top" else float(ideal[query])

        values, sums = _ratio(self._dcg(order, *gain, by_rank), ideal), ties.DISCOUNTED[by_rank]
        return self._exact(values, convention, order, sums, divisor, is_open=kind == "top" or by_length)

    def dcg(self, convention: Convention, order: Order) -> Floats:
        """DCG of the top k, divided by nothing."""
        threshold = convention.threshold if convention.gain == "binary" else 1
        values = self._dcg(order, convention.gain, threshold, convention.discount)
        sums = ties.DISCOUNTED[convention.discount]
        return self._exact(values, convention, order, sums, lambda _, __: 1.0, is_open=False)

    @_kept
    def _dcg(self, order: Order, kind: str, threshold: float, discount: str) -> Floats:
        gain = _gain(order.grade, kind, threshold)
        if order.ties == "expected":
            start = np.minimum(order.start, self.depth).astype(np.int64)
            end = np.minimum(order.start + order.size, self.depth).astype(np.int64)
            sums = self._discounts(discount)
            return self._sum(order.query, gain / order.size * (sums[end] - sums[start]))
        inside = order.rank <= self.depth
        return self._sum(order.query[inside], gain[inside] / _discount(order.rank[inside], discount))

    @_kept
    def _ideal(self, ideal: str, made_of: Order | str | None, kind: str, threshold: float, discount: str) -> Floats:
        """Return the DCG of the ideal list; ``made_of`` is the order or the treatment of duplicates it depends on."""
        if ideal == "full":
            return np.full(self.number, (1 / _discount(np.arange(1, int(self.depth) + 1), discount)).sum())
        lists = self.lists
        query, grade = lists.judged_query, lists.judged_grade
        depth: float | Floats = self.depth if ideal == "judged" else math.inf
        if isinstance(made_of, str):
            rows = lists.treated(made_of, unjudged=True)
            hit = ~np.isnan(rows.grade)
            query, grade, depth = rows.query[hit], rows.grade[hit], self.depth
        elif made_of is not None and ideal == "top":
            inside = made_of.rank <= self.depth
            query, grade = made_of.query[inside], made_of.grade[inside]
        elif made_of is not None:
            depth = np.minimum(made_of.length, self.depth)
        return self._best_sum(query, _gain(grade, kind, threshold), depth, discount)

    def counts(self, convention: Convention, order: Order) -> Floats:
        """Recall and precision: relevant documents of the top k, divided as the convention says."""
        found = self._found(order, convention.threshold)
        values = _ratio(found, self._divisor(convention, order, found))
        return self._exact(values, convention, order, ties.count, lambda _, chosen: chosen.length, is_open=False)

    @_kept
    def _found(self, order: Order, threshold: float) -> Floats:
        relevant = order.grade >= threshold
        if order.ties == "expected":
            reach = np.clip(np.minimum(order.size, self.depth - order.start), 0, None)
            return self._sum(order.query, np.where(relevant, reach / order.size, 0.0))
        return self._sum(order.query[relevant & (order.rank <= self.depth)])

    def hit(self, convention: Convention, order: Order) -> Floats:
        """1 if a relevant document is in the top k."""
        found = (self._found(order, convention.threshold) > 0).astype(np.float64)
        # one relevant document or several: each of n counts 1/n
        return self._exact(found, convention, order, ties.count, lambda _, chosen: chosen.found, is_open=True)

    def reciprocal_rank(self, convention: Convention, order: Order) -> Floats:
        """1 / rank of the first relevant document, 0 below the cut-off."""
        found = self._first_rank(order, convention.threshold)
        return self._exact(found, convention, order, ties.first_place, lambda _, __: 1.0, is_open=True)

    @_kept
    def _first_rank(self, order: Order, threshold: float) -> Floats:
        relevant = order.grade >= threshold
        query, rank, start, size = (part[relevant] for part in (order.query, order.rank, order.start, order.size))
        first = stretches(query)
        values = np.zeros(self.number)
        values[query[first]] = np.where(rank[first] <= self.depth, 1 / rank[first], 0.0)
        if order.ties == "expected":
            _, in_group = _groups(query, start)
            for place in first[size[first] > 1].tolist():
                above, number = int(start[place]), int(size[place])
                if above + number <= self.depth:
                    group = ties.Group([1.0] * int(in_group[place]), number)
                    values[query[place]] = ties.first_place([group], above).expected
                elif above >= self.depth:
                    values[query[place]] = 0.0
        return values

    def interpolated_precision(self, convention: Convention, order: Order) -> Floats:
        """Return the highest precision from where the recall level is reached on; NaN where a tie leaves it open."""
        relevant = order.grade >= convention.threshold
        query, rank = order.query[relevant], order.rank[relevant]
        number = np.arange(len(query)) - spread(stretches(query), len(query)) + 1
        level: Floats = (convention.recall or 0.0) * self.num_rel(convention.threshold)
        needed = np.trunc(level + 0.9) if convention.levels == "up" else _rounded(level)
        reaching = number >= needed[query]
        values = np.zeros(self.number)
        np.maximum.at(values, query[reaching], (number / rank)[reaching])
        if order.ties:
            values[np.unique(order.query[order.size > 1])] = math.nan
        return values

    def _exact(  # noqa: PLR0913  (what one family hands over)
        self,
        values: Floats,
        convention: Convention,
        order: Order,
        sums: ties.Sum,
        divisor: Callable[[int, ties.Selections], Floats | float],
        *,
        is_open: bool,
    ) -> Floats:
        """Put in the exact values of queries whose cut goes through a tie group, where the sums above leave them open.

        They are open where the divisor, too, depends on which documents are in the top k, and where unjudged documents
        are taken out after the cut.
        """
        if not order.straddling or not order.ties or not (is_open or order.after):
            return values
        # expected, best and worst of one definition are found together
        definition = convention._replace(queries="qrels", empty="zero", rounding=None, ties="")
        if definition not in self.parts:
            kinds = {grade: _kind(convention, grade) for grade in self.lists.distinct_grades}
            unjudged = None if order.after else -1
            spans = []
            for query, straddle in order.straddling.items():
                groups = [[kinds.get(grade, unjudged) for grade in group] for group in (*straddle.above, straddle.last)]
                alike = (sums, straddle.room, *(tuple(sorted(map(repr, group))) for group in groups))
                if alike not in self.parts:
                    self.parts[alike] = ties.selections(groups, straddle.room, sums)
                chosen = self.parts[alike]
                spans.append(ties.NOT_GIVEN if chosen is None else chosen.divided(divisor(query, chosen)))
            self.parts[definition] = spans
        values = values.copy()
        values[list(order.straddling)] = [getattr(span, order.ties) for span in self.parts[definition]]
        return values


_FAMILIES: dict[str, Callable[[QueryValues, Convention, Order], Floats]] = {
    "map": QueryValues.average_precision,
    "ndcg": QueryValues.ndcg,
    "dcg": QueryValues.dcg,
    "recall": QueryValues.counts,
    "precision": QueryValues.counts,
    "mrr": QueryValues.reciprocal_rank,
    "hit": QueryValues.hit,
    "iprec": QueryValues.interpolated_precision,
}


def only_counts(convention: Convention) -> bool:
    """Whether taking documents out after the cut changes nothing, because places do not matter."""
    return convention.family in ("recall", "hit") or (
        convention.family == "precision" and convention.denominator != "length"
    )


def _kind(convention: Convention, grade: float) -> ties.Kind:
    """Return what matters of a grade: what it counts, or -1 where it is not relevant."""
    if convention.family in ("ndcg", "dcg"):
        gain = float(_gain(np.array([grade]), convention.gain, convention.threshold)[0])
        return gain if gain > 0 else -1
    if grade < convention.threshold:
        return -1
    return 1.0 if convention.weights is None else grade / convention.weights


def _discount(rank: Ints, kind: str) -> Floats:
    found: Floats = ties.discount(rank, kind, np.log2, np.maximum)
    return found


def _weight(grade: Floats, weights: float | None) -> Floats:
    return np.ones_like(grade) if weights is None else grade / weights


def _gain(grade: Floats, kind: str, threshold: float) -> Floats:
    """Return the gain of each document; that of a negative grade, or of none, is 0."""
    if kind == "binary":
        return (grade >= threshold).astype(np.float64)
    grade = np.nan_to_num(np.maximum(grade, 0.0), nan=0.0)
    if kind == "linear":
        return grade
    # of a small grade 2^grade - 1 would lose its digits
    return np.where(grade < SMALLEST, np.expm1(np.minimum(grade, 1.0) * math.log(2)), 2.0**grade - 1.0)


def _groups(query: Ints, start: Ints) -> tuple[Ints, Ints]:
    """Return where the tie groups of relevant documents begin, and for each document how many are in its group."""
    groups = stretches(query, start)
    return groups, spread(groups, len(query), np.diff(np.append(groups, len(query))))


def _ratio(total: Floats, divisor: Floats) -> Floats:
    found: Floats = np.divide(total, divisor, out=np.zeros_like(total), where=divisor > 0)
    return found


def _rounded(level: Floats) -> Floats:
    """Round to the nearest whole number, a half up, as lround() does."""
    whole: Floats = np.floor(level)
    return np.where(level - whole >= 0.5, whole + 1, whole)  # noqa: PLR2004  (a half)
