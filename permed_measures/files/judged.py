"""What every order of a run's judged documents depends on, whatever breaks its ties: a small part of a large run.

That is the judged documents and whatever has the 32-bit score of one, their places, and how many documents tie where.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


class JudgedLists:
    """The documents that are kept of queries with judgements; a query is known by its number in the qrels."""

    def __init__(self, numbers: Mapping[str, int]) -> None:
        self.numbers = numbers
        self.lengths: dict[str, int] = {}
        """How many documents every query of the run returned."""
        self.in_order = True
        """Whether scores fall from line to line."""
        self.doc_ids: list[str] = []
        self.score = array("d")
        self.places = array("q"), array("q"), array("q")
        """Of every document its query, how many lines of it come before, and how many documents have a higher score."""
        self.ties = {precision: (array("q"), array("q"), array("q")) for precision in (32, 64)}
        """Of every tie group its query, how many documents come before, and how many it has."""

    def add_groups(self, groups: Iterable[tuple[str, int, bytes, bytes, bytes]]) -> None:
        """Take what the compiled part gives."""
        for query_id, num_ret, ids, scores, places in groups:
            self.lengths[query_id] = num_ret
            number = self.numbers.get(query_id)
            if number is not None:
                in_order, ties, *words = array("I", places)
                kept = len(scores) // 4
                self.in_order &= bool(in_order)
                self.doc_ids += ids.decode().split(" ") if ids else ()
                self.score.frombytes(scores)
                parts = words[:kept], words[kept : ties - 2], words[ties - 2 :]
                for pairs, columns in zip(parts, (self.places, self.ties[32], self.ties[64]), strict=True):
                    columns[0].extend([number] * (len(pairs) // 2))
                    columns[1].extend(pairs[::2])
                    columns[2].extend(pairs[1::2])

    def join(self, others: JudgedLists) -> None:
        """Take what was read of other queries."""
        self.lengths |= others.lengths
        self.in_order &= others.in_order
        self.doc_ids += others.doc_ids
        self.score += others.score
        for mine, more in ((self.places, others.places), *((self.ties[bits], others.ties[bits]) for bits in self.ties)):
            for column, part in zip(mine, more, strict=True):
                column.extend(part)

    def add_list(self, query_id: str, scores: Mapping[str, float], judged: Mapping[str, float]) -> None:
        """Take a whole list."""
        hits = np.array([row for row, doc_id in enumerate(scores) if doc_id in judged], dtype=np.int64)
        doc_ids = list(scores)
        values = np.array(list(scores.values()))
        self.add_lists({query_id: len(scores)}, values, hits, lambda rows: [doc_ids[row] for row in rows.tolist()])

    def add_lists(
        self, counts: Mapping[str, int], score: Floats, hits: Ints, ids_of: Callable[[Ints], Sequence[str]]
    ) -> None:
        """Take whole lists: how long each one is, the scores of all rows one after the other, which rows are judged."""
        self.lengths.update(counts)
        known, lengths = [self.numbers.get(query_id, -1) for query_id in counts], np.array(list(counts.values()))
        query, first = np.repeat(known, lengths), np.repeat(np.cumsum(lengths) - lengths, lengths)
        rows = np.flatnonzero(query >= 0)
        same_list = first[rows[1:]] == first[rows[:-1]]
        if (same_list & (score[rows[1:]] > score[rows[:-1]])).any():
            self.in_order = False
            rows = rows[np.lexsort((-score[rows], first[rows]))]
        with np.errstate(over="ignore"):  # 1e300 is infinite as a 32-bit float
            single = score[rows].astype(np.float32)
        for precision, key in ((64, score[rows]), (32, single)):
            _, start, size = places(first[rows], key)
            several = stretches(first[rows], key)
            several = several[size[several] > 1]
            _extend(self.ties[precision], query[rows[several]], start[several], size[several])
        is_hit = np.zeros(len(query), dtype=np.int64)
        is_hit[hits] = 1
        groups = stretches(first[rows], single)
        kept = spread(groups, len(rows), np.add.reduceat(is_hit[rows], groups) if len(groups) else groups) > 0
        rows, start = rows[kept], start[kept]
        by_line = np.argsort(rows)
        rows, start = rows[by_line], start[by_line]
        _extend(self.places, query[rows], rows - first[rows], start)
        self.score.frombytes(score[rows].tobytes())
        self.doc_ids += ids_of(rows)


def _extend(columns: Sequence[array[Any]], *parts: Ints) -> None:
    for column, part in zip(columns, parts, strict=True):
        column.frombytes(part.astype(np.int64).tobytes())


def stretches(*keys: NDArray[Any]) -> Ints:
    """Return where each stretch of equal keys begins."""
    new = np.zeros(len(keys[0]), dtype=bool)
    new[:1] = True
    for key in keys:
        new[1:] |= key[1:] != key[:-1]
    return np.flatnonzero(new)


def spread(starts: Ints, number: int, values: Ints | None = None) -> Ints:
    """Return for each of so many places the value of the stretch it is in: where that begins, when not given."""
    spread: Ints = np.repeat(starts if values is None else values, np.diff(np.append(starts, number)))
    return spread


def places(query: Ints, key: NDArray[Any]) -> tuple[Ints, Ints, Ints]:
    """Return how many rows of the list come before each row, how many before its tie group, and the group's size."""
    number = len(query)
    first, starts = spread(stretches(query), number), stretches(query, key)
    size = spread(starts, number, np.diff(np.append(starts, number)))
    return np.arange(number) - first, spread(starts, number) - first, size
