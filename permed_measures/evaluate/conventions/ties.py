"""Exact values over all orders of tied documents: the mean, the best and the worst, never sampled.

Groups that lie wholly above the cut-off only change places within themselves: there is a closed form for the mean
(McSherry and Najork, ECIR 2008), and the best and worst order are known. Where the cut-off goes through a group, it is
also open *which* of its documents are in the top k: all selections are counted, each with its probability, and each one
is again a list whose groups are whole.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from math import comb, log2
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from permed_measures.evaluate.conventions.orders import Floats

MOST_SELECTIONS = 20_000
"""Where more selections than this would have to be counted for one query, its value is not given."""


class Span(NamedTuple):
    """What a sum can be, over all orders."""

    expected: float
    best: float
    worst: float


NOT_GIVEN = Span(math.nan, math.nan, math.nan)


class Group(NamedTuple):
    """A tie group: what its relevant documents count (or gain), and its size."""

    counts: Sequence[float]
    size: int


Kind = float | None
"""What matters of a document: None taken out after the cut, -1 not relevant, else what it counts."""

Sum = Callable[[Sequence[Group], int, int], Span]
"""Sums over whole groups that come after so many documents, so many of them relevant."""


class Selections(NamedTuple):
    """Every selection of documents for the top k that differs, one place in each array."""

    probability: Floats
    expected: Floats
    best: Floats
    worst: Floats
    found: Floats
    """How many relevant documents are in the top k."""
    length: Floats
    """How many documents are."""
    ideal: Floats
    """The DCG of the top k, re-sorted."""

    def divided(self, denominator: Floats | float) -> Span:
        """Return the value over all selections and orders, the sums divided; nothing to divide by means 0."""
        divisor = np.broadcast_to(np.asarray(denominator, dtype=np.float64), self.found.shape)
        shares = [
            np.divide(sums, divisor, out=np.zeros_like(sums), where=divisor > 0)
            for sums in (self.expected, self.best, self.worst)
        ]
        return Span(float(self.probability @ shares[0]), float(shares[1].max()), float(shares[2].min()))


def selections(groups: Sequence[Sequence[Kind]], room: int, sums: Sum) -> Selections | None:
    """Compute the sums of every selection; None where there are too many.

    The cut-off goes through the last group and leaves ``room`` for its documents. A relevant document may count 0.
    """
    *whole_groups, last = groups
    kinds = Counter(last)
    if _number(kinds, room) > MOST_SELECTIONS:
        return None
    above = [_group(group) for group in whole_groups]
    start, found = sum(group.size for group in above), sum(len(group.counts) for group in above)
    before = sums(above, 0, 0)
    gains = [gain for group in above for gain in group.counts]
    ways_in_all = comb(len(last), room)
    rows = []
    for ways, chosen in _choose(list(kinds.items()), room):
        group = _group(chosen)
        below = sums([group], start, found)
        best = sorted([*gains, *group.counts], reverse=True) if sums is discounted_sum else ()
        ideal = discounted_sum([Group([gain], 1) for gain in best]).best
        summed = [first + second for first, second in zip(before, below, strict=True)]
        rows.append((ways / ways_in_all, *summed, found + len(group.counts), start + group.size, ideal))
    return Selections(*np.array(rows, dtype=np.float64).T)


def _number(kinds: Mapping[Kind, int], room: int) -> int:
    """How many selections differ."""
    ways = [1] + [0] * room
    for count in kinds.values():
        ways = [sum(ways[max(0, total - count) : total + 1]) for total in range(room + 1)]
    return ways[-1]


def _choose(kinds: list[tuple[Kind, int]], room: int) -> Iterator[tuple[int, list[Kind]]]:
    """Yield (number of ways, documents) for every multiset of ``room`` documents."""
    if not kinds:
        if room == 0:
            yield 1, []
        return
    (kind, count), *others = kinds
    left = sum(number for _, number in others)
    for taken in range(max(0, room - left), min(count, room) + 1):
        for ways, chosen in _choose(others, room - taken):
            yield ways * comb(count, taken), [kind] * taken + chosen


def _group(kinds: Sequence[Kind]) -> Group:
    return Group([kind for kind in kinds if kind is not None and kind >= 0], sum(kind is not None for kind in kinds))


def precision_sum(groups: Sequence[Group], start: int = 0, found: int = 0) -> Span:
    """Sum precision times count over relevant documents of whole groups: the numerator of average precision.

    >>> precision_sum([Group([1.0], 2)])        # at rank 1 or at rank 2: (1 + 1/2) / 2
    Span(expected=0.75, best=1.0, worst=0.5)
    """
    expected = best = worst = 0.0
    for counts, size in groups:
        number = len(counts)
        if number:
            # given a relevant document at a place, each place above holds another one with this probability
            others = (number - 1) / (size - 1) if size > 1 else 0.0
            mean = sum(counts) / size
            expected += sum(mean * (found + 1 + place * others) / (start + 1 + place) for place in range(size))
            # precision rises from one relevant document to the next where nothing is between: the heaviest last
            rising = sorted(counts)
            best += sum(count * (found + 1 + j) / (start + 1 + j) for j, count in enumerate(rising))
            first = start + size - number
            worst += sum(count * (found + 1 + j) / (first + 1 + j) for j, count in enumerate(reversed(rising)))
        start += size
        found += number
    return Span(expected, best, worst)


def discount(rank: Any, kind: str, log: Callable[[Any], Any] = log2, larger: Callable[..., Any] = max) -> Any:  # noqa: ANN401  (a number, or numpy's arrays with its functions)
    """Return what a gain at a rank is divided by.

    >>> [discount(rank, "2002") for rank in (1, 2, 4)], discount(3, "log2"), discount(3, "rank")
    ([1.0, 1.0, 2.0], 2.0, 3)
    """
    return rank if kind == "rank" else log(rank + 1) if kind == "log2" else log(larger(rank, 2))


def discounted_sum(groups: Sequence[Group], start: int = 0, found: int = 0, kind: str = "log2") -> Span:  # noqa: ARG001  (one signature)
    """Sum discounted gains over whole groups: DCG.

    >>> discounted_sum([Group([2.0], 1), Group([1.0], 2)]).best      # 2/log2(2) + 1/log2(3)
    2.6309297535714578
    """
    expected = best = worst = 0.0
    for gains, size in groups:
        if gains:
            expected += sum(gains) / size * (_discounts(start + size, kind) - _discounts(start, kind))
            falling = sorted(gains, reverse=True)
            best += sum(gain / discount(start + 1 + j, kind) for j, gain in enumerate(falling))
            first = start + size - len(gains)
            worst += sum(gain / discount(first + 1 + j, kind) for j, gain in enumerate(reversed(falling)))
        start += size
    return Span(expected, best, worst)


@lru_cache(maxsize=1 << 14)
def _discounts(depth: int, kind: str) -> float:
    return math.fsum(1 / discount(place, kind) for place in range(1, depth + 1))


DISCOUNTED: dict[str, Sum] = {
    "log2": discounted_sum,
    **{kind: partial(discounted_sum, kind=kind) for kind in ("2002", "rank")},
}
"""By the discount."""


def first_place(groups: Sequence[Group], start: int = 0, found: int = 0) -> Span:
    """Return the reciprocal rank of the first relevant document of whole groups.

    >>> first_place([Group([], 1), Group([1.0], 2)])      # at rank 2 or 3: (1/2 + 1/3) / 2
    Span(expected=0.41666666666666663, best=0.5, worst=0.3333333333333333)
    """
    if found:
        return Span(0.0, 0.0, 0.0)  # it is above
    for counts, size in groups:
        number = len(counts)
        if number:
            ways = comb(size, number)
            expected = math.fsum(
                comb(size - place, number - 1) / ways / (start + place) for place in range(1, size - number + 2)
            )
            return Span(expected, 1 / (start + 1), 1 / (start + size - number + 1))
        start += size
    return Span(0.0, 0.0, 0.0)


def count(groups: Sequence[Group], start: int = 0, found: int = 0) -> Span:  # noqa: ARG001  (one signature)
    """Count the relevant documents of whole groups: the same in every order."""
    return Span(*[float(sum(len(counts) for counts, _ in groups))] * 3)
