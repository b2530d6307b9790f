"""Every convention of a family on one run, from shared parts: sums per order and definition, and denominators.

Values are arrays over all queries, of the qrels or of the run. Sums and denominators are kept, so that a family of
thousands of conventions costs as much as its parts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from permed_measures.explanation import ties
from permed_measures.explanation.conventions import (
    Convention,
    base_of,
    choices_of,
    thresholds_of,
    weights_of,
)
from permed_measures.explanation.orders import Lists, Order, Straddle
from permed_measures.measures.ndcg import LARGEST, SMALLEST

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from permed_measures.explanation.orders import Bools, Floats, Ints


class Values:
    """The values of all conventions that a name can stand for, on one run."""

    def __init__(self, lists: Lists) -> None:
        self.lists = lists
        self.number = lists.number
        self.depth = math.inf if lists.cutoff is None else lists.cutoff
        longest = int(max(np.bincount(lists.all_rows.query, minlength=1).max(initial=0), 1))
        longest = max(longest, int(np.bincount(lists.judged_query, minlength=1).max(initial=0)))
        ranks = np.arange(1, longest + 1)
        self.discount: Floats = np.concatenate([[0.0], np.cumsum(1 / np.log2(ranks + 1))])
        self.harmonic: Floats = np.concatenate([[0.0], np.cumsum(1 / ranks)])
        self._kept: dict[Any, Any] = {}

    def _once(self, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:  # noqa: ANN401  (what make returns)
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def _sum(self, query: Ints, terms: Floats) -> Floats:
        # numpy counts nothing as whole numbers, whatever the terms are
        return np.bincount(query, terms, minlength=self.number).astype(np.float64)

    def order(self, convention: Convention) -> Order:
        """Return the order of the lists under a convention."""
        unjudged = convention.unjudged
        if unjudged == "after" and _only_counts(convention):
            unjudged = "kept"
        return self.lists.order(
            ties=convention.ties,
            precision=convention.precision,
            unjudged=unjudged,
            duplicates=convention.duplicates,
        )

    def by_query(self, convention: Convention) -> Floats:
        """Return the value of every query, not rounded, 0 where nothing is relevant; NaN where it is not given."""
        order = self.order(convention)
        values: Floats = _FAMILIES[convention.family](self, convention, order)
        return values

    def counted(self, convention: Convention) -> tuple[Floats, Bools]:
        """Return the value of every query as it goes into the mean, and which queries do."""
        values = self.by_query(convention)
        return self._after(convention, values)

    def _after(self, convention: Convention, values: Floats) -> tuple[Floats, Bools]:
        mask = self.query_set(convention)
        if convention.empty == "one":
            values = np.where(self.is_empty(convention), 1.0, values)
        if convention.rounding is not None:
            values = np.round(values, convention.rounding)
        return values, mask

    def query_set(self, convention: Convention) -> Bools:
        """Return which queries the mean runs over."""
        lists = self.lists
        mask: Bools = {"qrels": lists.in_qrels, "run": lists.in_run, "both": lists.in_qrels & lists.in_run}[
            convention.queries
        ]
        return mask & ~self.is_empty(convention) if convention.empty == "left out" else mask

    def mean(self, convention: Convention) -> float:
        """Return the number that a tool with this convention prints; NaN where there is none."""
        values, mask = self.counted(convention)
        return _mean(values, mask)

    def is_empty(self, convention: Convention) -> Bools:
        """Return the queries that have nothing relevant: judged, or in the list where only the list is looked at."""
        threshold = self._threshold(convention)
        if convention.ideal in ("returned", "top") or convention.denominator.startswith("returned"):
            mask: Bools = self._num_returned(convention, threshold) == 0
        else:
            mask = self._num_rel(threshold) == 0
        return mask

    def _threshold(self, convention: Convention) -> float:
        graded = convention.family == "ndcg" and convention.gain != "binary"
        return _ANY_GAIN if graded else convention.threshold

    def family(self, family: str, recall: float | None = None) -> Iterator[tuple[Convention, float]]:
        """Yield every convention of a family with its mean; axes that change nothing on this run are left out."""
        shared = self.open_axes()
        for definition in self.definitions(family, recall):
            for changed in product(*(shared[axis] for axis in _ORDER_AXES)):
                convention = definition._replace(**dict(zip(_ORDER_AXES, changed, strict=True)))
                if convention.unjudged == "after" and _only_counts(convention):
                    continue
                values = self.by_query(convention)
                for last in product(*(shared[axis] for axis in _MEAN_AXES)):
                    asked = convention._replace(**dict(zip(_MEAN_AXES, last, strict=True)))
                    value = _mean(*self._after(asked, values))
                    if value == value:
                        yield asked, value

    def definitions(self, family: str, recall: float | None = None) -> list[Convention]:
        """Return the readings of a name that differ in what is computed."""
        base = base_of(family, self.lists.cutoff if recall is None else recall)
        thresholds = thresholds_of(self.lists.distinct_grades)
        if family == "iprec":
            both = product(thresholds, choices_of(family, "levels"))
            return [base._replace(threshold=threshold, levels=levels) for threshold, levels in both]
        if family == "ndcg":
            gains = [("linear", 1), ("exponential", 1), *(("binary", threshold) for threshold in thresholds)]
            if max(self.lists.distinct_grades, default=0) > LARGEST:
                del gains[1]
            ideals = choices_of(family, "ideal")
            if self.lists.cutoff is None:
                ideals = tuple(ideal for ideal in ideals if ideal not in ("uncut", "top"))
            return [
                base._replace(gain=gain, threshold=threshold, ideal=ideal)
                for gain, threshold in gains
                for ideal in ideals
            ]
        found = []
        weights = weights_of(self.lists.distinct_grades) if family == "map" else [None]
        for threshold, weight, denominator in product(thresholds, weights, choices_of(family, "denominator")):
            if denominator == "ideal" and weight is None:
                continue  # the same as min(R, k)
            found.append(base._replace(threshold=threshold, weights=weight, denominator=denominator))
        return found if family in ("map", "recall", "precision") else [base._replace(threshold=t) for t in thresholds]

    def open_axes(self) -> dict[str, tuple[Any, ...]]:
        """Return the choices of every shared axis that can change a value on this run."""
        lists = self.lists
        closed = self.closed_axes()
        ties_open = list(choices_of("map", "ties"))
        if lists.is_listed_in_order:
            ties_open.remove("listed")
        found = {}
        for axis in (*_ORDER_AXES, *_MEAN_AXES):
            choices = tuple(ties_open) if axis == "ties" else choices_of("map", axis)
            found[axis] = choices[:1] if axis in closed else choices
        if "ties" in closed and not lists.is_listed_in_order:
            found["ties"] = ("trec_eval", "listed")
        return found

    def closed_axes(self) -> dict[str, str]:
        """Return the shared axes that change nothing on this run, each with the reason."""
        lists = self.lists
        closed = {}
        if not lists.duplicates:
            closed["duplicates"] = "no document is returned twice"
        if not lists.near_ties:
            closed["precision"] = "no two scores of a list are equal as 32-bit and different as 64-bit floats"
        # taking unjudged documents out brings what stands below the cut-off into the top k
        reach = None if lists.unjudged else lists.cutoff
        if not lists.tied(32, reach)[0]:
            where = "of a list" if reach is None else "of the top k"
            closed["ties"] = f"no document {where} has the score of another one"
        if not lists.unjudged:
            closed["unjudged"] = "every returned document is judged"
        if lists.in_qrels.all() and lists.in_run.all():
            closed["queries"] = "qrels and run have the same queries"
        top = max(thresholds_of(lists.distinct_grades))
        if not (self._num_rel(top) == 0).any():
            closed["empty"] = "every query has a relevant document"
        return closed

    def _num_rel(self, threshold: float) -> Ints:
        lists = self.lists

        def make() -> NDArray[Any]:
            relevant = lists.judged_query[lists.judged_grade >= threshold]
            return np.bincount(relevant, minlength=self.number)

        count: Ints = self._once(("relevant", threshold), make)
        return count

    def _num_returned(self, convention: Convention, threshold: float) -> Ints:
        """How many relevant documents the whole returned list has."""
        duplicates = convention.duplicates

        def make() -> NDArray[Any]:
            rows = self.lists.treated(duplicates, unjudged=True)
            return np.bincount(rows.query[rows.grade >= threshold], minlength=self.number)

        count: Ints = self._once(("returned", threshold, duplicates), make)
        return count

    def average_precision(self, convention: Convention, order: Order) -> Floats:
        """Sum of precision times weight over the relevant documents of the top k, divided as the convention says."""
        total, found = self._once(
            ("ap", order.key, convention.threshold, convention.weights), lambda: self._precision_sum(convention, order)
        )
        denominator = found if convention.denominator == "retrieved" else self._ap_denominator(convention)
        values = _ratio(total, denominator)
        if convention.denominator == "ideal":
            values = np.minimum(values, 1.0)
        retrieved = convention.denominator == "retrieved"
        return self._patched(
            values,
            convention,
            order,
            ties.precision_sum,
            lambda query, chosen: chosen.found if retrieved else denominator[query],
            is_open=retrieved,
        )

    def _weight(self, convention: Convention, grade: Floats) -> Floats:
        return np.ones_like(grade) if convention.weights is None else grade / convention.weights

    def _precision_sum(self, convention: Convention, order: Order) -> tuple[Floats, Floats]:
        relevant = order.grade >= convention.threshold
        query, grade = order.query[relevant], order.grade[relevant]
        start, size = order.start[relevant], order.size[relevant]
        weight = self._weight(convention, grade)
        rank = order.rank[relevant]
        new_query = _firsts(query)
        above: Ints = np.arange(len(query)) - _from_first(np.arange(len(query)), new_query)
        if order.ties in ("best", "worst") and convention.weights is not None:
            rank, weight = self._heaviest(order.ties, query, start, size, weight)
        inside = rank <= self.depth
        found = np.bincount(query[inside], minlength=self.number).astype(np.float64)
        if order.ties != "expected":
            terms = ((above + 1) / rank * weight)[inside]
            return self._sum(query[inside], terms), found
        new_group = new_query | _firsts(start)
        groups = np.flatnonzero(new_group)
        counts = np.diff(np.append(groups, len(query)))
        number = np.repeat(counts, counts)
        before = _from_first(above, new_group)
        end = np.minimum(start + size, self.depth).astype(np.int64)
        others = np.where(size > 1, (number - 1) / np.maximum(size - 1, 1), 0.0)
        reach = start < self.depth
        sums = (before + 1 - (start + 1) * others) * (self.harmonic[end] - self.harmonic[np.minimum(start, end)])
        terms = np.where(reach, weight / size * (sums + (end - start) * others), 0.0)
        return self._sum(query, terms), found

    def _heaviest(
        self, best_or_worst: str, query: Ints, start: Ints, size: Ints, weight: Floats
    ) -> tuple[Ints, Floats]:
        """Return ranks and weights in the best or worst order of weighted documents, by query and rank.

        In the best one the relevant documents lead, the heaviest are in the top k, and of those the heaviest stands
        last, where precision is highest. In the worst one they follow all others, the lightest are in the top k.
        """
        best = best_or_worst == "best"
        arranged = np.lexsort((-weight if best else weight, start, query))
        weight = weight[arranged]
        new_group = _firsts(query) | _firsts(start)
        groups = np.flatnonzero(new_group)
        counts = np.diff(np.append(groups, len(query)))
        number = np.repeat(counts, counts)
        place: Ints = np.arange(len(query)) - np.repeat(groups, counts)
        room = np.clip(np.minimum(size, self.depth - start), 0, None).astype(np.int64)
        inside = np.minimum(number, room) if best else np.maximum(room - (size - number), 0)
        if best:
            within = np.where(place < inside, inside - 1 - place, place)
        else:
            within = np.where(place < inside, room - 1 - place, room + place - inside)
        rank: Ints = start + 1 + within
        again = np.lexsort((rank, query))
        return rank[again], weight[again]

    def _ap_denominator(self, convention: Convention) -> Floats:
        threshold = convention.threshold
        if convention.denominator == "returned":
            return self._num_returned(convention, threshold).astype(np.float64)
        if convention.denominator == "returned-min":
            return np.minimum(self._num_returned(convention, threshold), self.depth)
        relevant = self._num_rel(threshold).astype(np.float64)
        if convention.denominator == "relevant":
            return relevant
        if convention.denominator == "min":
            return np.minimum(relevant, self.depth)
        lists = self.lists

        def make() -> Floats:
            chosen = lists.judged_grade >= threshold
            weight = self._weight(convention, lists.judged_grade[chosen])
            return self._best_sum(lists.judged_query[chosen], weight, np.ones_like(weight), self.depth)

        best: Floats = self._once(("ideal ap", threshold, convention.weights), make)
        return best

    def _best_sum(self, query: Ints, gain: Floats, discount: Floats | None, depth: float | Floats) -> Floats:
        """Sum the gains of each query in descending order, discounted, down to a depth."""
        arranged = np.lexsort((-gain, query))
        query, gain = query[arranged], gain[arranged]
        place: Ints = np.arange(len(query)) - _from_first(np.arange(len(query)), _firsts(query))
        limit = depth[query] if isinstance(depth, np.ndarray) else depth
        inside = place < limit
        by_place = np.diff(self.discount)[place] if discount is None else discount
        return self._sum(query[inside], (gain * by_place)[inside])

    def ndcg(self, convention: Convention, order: Order) -> Floats:
        """DCG of the top k over the ideal that the convention names."""
        key = (convention.gain, convention.threshold if convention.gain == "binary" else None)
        total = self._once(("dcg", order.key, *key), lambda: self._dcg(convention, order))
        ideal = self._ideal(convention, order, key)
        values = _ratio(total, ideal)
        top = convention.ideal == "top"
        short = convention.ideal == "short" and convention.unjudged == "after"

        def denominator(query: int, chosen: ties.Selections) -> Floats | float:
            if top:
                return chosen.ideal
            return self._ideals(convention, query)[chosen.length.astype(np.int64)] if short else float(ideal[query])

        return self._patched(values, convention, order, ties.discounted_sum, denominator, is_open=top or short)

    def _ideals(self, convention: Convention, query: int) -> Floats:
        """Return the ideal DCG of one query at every depth up to the cut-off."""
        lists = self.lists
        gain = -np.sort(-self._gain(convention, lists.judged_grade[lists.judged_query == query]))
        depth = int(self.depth)
        padded = np.zeros(depth)
        padded[: len(gain)] = gain[:depth]
        return np.concatenate([[0.0], np.cumsum(padded / np.log2(np.arange(2, depth + 2)))])

    @staticmethod
    def _gain(convention: Convention, grade: Floats) -> Floats:
        """Return the gain of each document; that of a negative grade, or of none, is 0."""
        if convention.gain == "binary":
            return (grade >= convention.threshold).astype(np.float64)
        grade = np.nan_to_num(np.maximum(grade, 0.0), nan=0.0)
        if convention.gain == "linear":
            return grade
        # of a small grade 2^grade - 1 would lose its digits
        return np.where(grade < SMALLEST, np.expm1(np.minimum(grade, 1.0) * math.log(2)), 2.0**grade - 1.0)

    def _dcg(self, convention: Convention, order: Order) -> Floats:
        gain = self._gain(convention, order.grade)
        if order.ties == "expected":
            start = np.minimum(order.start, self.depth).astype(np.int64)
            end = np.minimum(order.start + order.size, self.depth).astype(np.int64)
            return self._sum(order.query, gain / order.size * (self.discount[end] - self.discount[start]))
        inside = order.rank <= self.depth
        discounted = gain[inside] / np.log2(order.rank[inside] + 1)
        return self._sum(order.query[inside], discounted)

    def _ideal(self, convention: Convention, order: Order, key: tuple[Any, ...]) -> Floats:
        lists, ideal = self.lists, convention.ideal
        rows = lists.treated(convention.duplicates, unjudged=True)
        made: Callable[[], Floats]
        if ideal == "top":
            key = ("top", order.key, *key)
            inside = order.rank <= self.depth

            def made() -> Floats:
                gain = self._gain(convention, order.grade[inside])
                return self._best_sum(order.query[inside], gain, None, math.inf)
        elif ideal == "returned":
            key = ("returned", convention.duplicates, *key)

            def made() -> Floats:
                hit = ~np.isnan(rows.grade)
                gain = self._gain(convention, rows.grade[hit])
                return self._best_sum(rows.query[hit], gain, None, self.depth)
        else:
            length = np.minimum(order.length, self.depth) if ideal == "short" else None
            key = (ideal, None if length is None else length.tobytes(), *key)
            limit = self.depth if ideal == "judged" else math.inf

            def made() -> Floats:
                gain = self._gain(convention, lists.judged_grade)
                return self._best_sum(lists.judged_query, gain, None, limit if length is None else length)

        found: Floats = self._once(("ideal dcg", *key), made)
        return found

    def counts(self, convention: Convention, order: Order) -> Floats:
        """Recall and precision: relevant documents of the top k, divided as the convention says."""
        found: Floats = self._once(
            ("found", order.key, convention.threshold), lambda: self._found(convention.threshold, order)
        )
        threshold = convention.threshold
        if convention.denominator == "k":
            return found / self.depth
        if convention.denominator == "length":
            values = _ratio(found, np.minimum(order.length, self.depth))
            return self._patched(values, convention, order, ties.count, lambda _, chosen: chosen.length, is_open=False)
        if convention.denominator == "returned":
            return _ratio(found, self._num_returned(convention, threshold).astype(np.float64))
        relevant = self._num_rel(threshold).astype(np.float64)
        return _ratio(found, np.minimum(relevant, self.depth) if convention.denominator == "min" else relevant)

    def _found(self, threshold: float, order: Order) -> Floats:
        relevant = order.grade >= threshold
        if order.ties == "expected":
            reach = np.clip(np.minimum(order.size, self.depth - order.start), 0, None)
            return self._sum(order.query, np.where(relevant, reach / order.size, 0.0))
        inside = relevant & (order.rank <= self.depth)
        return np.bincount(order.query[inside], minlength=self.number).astype(np.float64)

    def reciprocal_rank(self, convention: Convention, order: Order) -> Floats:
        """1 / rank of the first relevant document, 0 below the cut-off."""
        threshold = convention.threshold

        def make() -> Floats:
            relevant = order.grade >= threshold
            query, rank = order.query[relevant], order.rank[relevant]
            first = _firsts(query) & (rank <= self.depth)
            values = np.zeros(self.number)
            values[query[first]] = 1 / rank[first]
            if order.ties == "expected":
                self._expected_first(values, relevant, order)
            return values

        found: Floats = self._once(("rr", order.key, threshold), make)
        return self._patched(found, convention, order, ties.first_place, lambda _, __: 1.0, is_open=True)

    def _expected_first(self, values: Floats, relevant: Bools, order: Order) -> None:
        """Put in the mean over all orders where the first relevant document is in a tie group above the cut-off."""
        query, start, size = order.query[relevant], order.start[relevant], order.size[relevant]
        first = np.flatnonzero(_firsts(query))
        for place in first[size[first] > 1].tolist():
            in_group = (query[place:] == query[place]) & (start[place:] == start[place])
            number = int(in_group.argmin()) if not in_group.all() else len(in_group)
            group = ties.Group([1.0] * number, int(size[place]))
            if start[place] + size[place] <= self.depth:
                values[query[place]] = ties.first_place([ties.Group([], int(start[place])), group]).expected
            elif start[place] >= self.depth:
                values[query[place]] = 0.0

    def interpolated_precision(self, convention: Convention, order: Order) -> Floats:
        """Return the highest precision from where the recall level is reached on; NaN where a tie leaves it open."""
        relevant = order.grade >= convention.threshold
        query, rank = order.query[relevant], order.rank[relevant]
        number = np.arange(len(query)) - _from_first(np.arange(len(query)), _firsts(query)) + 1
        level: Floats = (convention.recall or 0.0) * self._num_rel(convention.threshold).astype(np.float64)
        needed = np.trunc(level + 0.9) if convention.levels == "up" else _rounded(level)
        reaching = number >= needed[query]
        values = np.zeros(self.number)
        np.maximum.at(values, query[reaching], (number / rank)[reaching])
        if order.ties:
            values[np.unique(order.query[order.size > 1])] = math.nan
        return values

    def hit(self, convention: Convention, order: Order) -> Floats:
        """1 if a relevant document is in the top k."""
        threshold = convention.threshold

        def make() -> Floats:
            relevant = order.grade >= threshold
            inside = relevant & ((order.start if order.ties == "expected" else order.rank - 1) < self.depth)
            return (np.bincount(order.query[inside], minlength=self.number) > 0).astype(np.float64)

        found: Floats = self._once(("hit", order.key, threshold), make)
        # one relevant document or several: each of n counts 1/n
        return self._patched(found, convention, order, ties.count, lambda _, chosen: chosen.found, is_open=True)

    def _patched(  # noqa: PLR0913  (what one family hands over)
        self,
        values: Floats,
        convention: Convention,
        order: Order,
        sums: ties.Sum,
        denominator: Callable[[int, ties.Selections], Floats | float],
        *,
        is_open: bool,
    ) -> Floats:
        """Put in the exact values of queries whose cut goes through a tie group, where the sums above leave them open.

        They are open where the denominator, too, depends on which documents are in the top k, and where unjudged
        documents are taken out after the cut.
        """
        if not order.straddling or not order.ties or not (is_open or convention.unjudged == "after"):
            return values

        def make() -> list[ties.Span]:
            chosen = [self._selections(convention, straddle, sums) for straddle in order.straddling.values()]
            return [
                ties.NOT_GIVEN if selections is None else selections.divided(denominator(query, selections))
                for query, selections in zip(order.straddling, chosen, strict=True)
            ]

        # expected, best and worst of one definition are found together
        definition = convention._replace(queries="qrels", empty="zero", rounding=None, ties="")
        spans = self._once(("spans", definition), make)
        values = values.copy()
        values[list(order.straddling)] = [getattr(span, order.ties) for span in spans]
        if convention.denominator == "ideal":
            values = np.minimum(values, 1.0)
        return values

    def _selections(self, convention: Convention, straddle: Straddle, sums: ties.Sum) -> ties.Selections | None:
        """Return every selection for the top k, computed once for all denominators and for all lists that are alike."""
        drop = convention.unjudged == "after"
        kinds: dict[float, ties.Kind] = {}

        def kind(grade: float) -> ties.Kind:
            if grade != grade:
                return None if drop else -1
            if grade not in kinds:
                kinds[grade] = self._kind(convention, grade)
            return kinds[grade]

        def alike(group: list[float]) -> tuple[tuple[str, int], ...]:
            return tuple(sorted(Counter(str(kind(grade)) for grade in group).items()))

        groups = (*map(alike, straddle.above), alike(straddle.last), straddle.room)
        found: ties.Selections | None = self._once(
            ("selections", sums, drop, groups), lambda: ties.selections(straddle, kind, sums, drop=drop)
        )
        return found

    def _kind(self, convention: Convention, grade: float) -> ties.Kind:
        """Return what matters of a grade: what it counts, or -1 where it is not relevant."""
        if convention.family == "ndcg":
            gain = float(self._gain(convention, np.array([grade]))[0])
            return gain if gain > 0 else -1
        if grade < convention.threshold:
            return -1
        return 1.0 if convention.weights is None else grade / convention.weights


_ORDER_AXES = ("duplicates", "precision", "ties", "unjudged")
_MEAN_AXES = ("queries", "empty", "rounding")
_ANY_GAIN = math.ulp(0.0)
"""As a threshold: any grade above 0."""

_FAMILIES: dict[str, Callable[[Values, Convention, Order], Floats]] = {
    "map": Values.average_precision,
    "ndcg": Values.ndcg,
    "recall": Values.counts,
    "precision": Values.counts,
    "mrr": Values.reciprocal_rank,
    "hit": Values.hit,
    "iprec": Values.interpolated_precision,
}


def _only_counts(convention: Convention) -> bool:
    """Whether taking documents out after the cut changes nothing, because places do not matter."""
    return convention.family in ("recall", "hit") or (
        convention.family == "precision" and convention.denominator == "k"
    )


def _mean(values: Floats, mask: Bools) -> float:
    chosen = values if mask.all() else values[mask]
    return float(chosen.mean()) if len(chosen) else math.nan


def _ratio(total: Floats, denominator: Floats) -> Floats:
    found: Floats = np.divide(total, denominator, out=np.zeros_like(total), where=denominator > 0)
    return found


def _rounded(level: Floats) -> Floats:
    """Round to the nearest whole number, a half up, as lround() does."""
    whole: Floats = np.floor(level)
    return np.where(level - whole >= 0.5, whole + 1, whole)  # noqa: PLR2004  (a half)


def _firsts(keys: NDArray[Any]) -> Bools:
    """Return where a new key begins."""
    new = np.ones(len(keys), dtype=bool)
    new[1:] = keys[1:] != keys[:-1]
    return new


def _from_first(values: Ints, new: Bools) -> Ints:
    """Return for each place the value at the beginning of its stretch."""
    starts = np.flatnonzero(new)
    spread: Ints = np.repeat(values[starts], np.diff(np.append(starts, len(values))))
    return spread
