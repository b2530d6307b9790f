"""Values of many queries in little memory: one index of ids, and an array of numbers per column."""

from __future__ import annotations

from array import array
from collections.abc import ItemsView, Iterable, Iterator, Mapping, ValuesView
from operator import eq, sub

from permed_measures.inference import SAME


class _Items(ItemsView[str, float]):
    _mapping: Column

    def __iter__(self) -> Iterator[tuple[str, float]]:
        return zip(self._mapping.index, self._mapping.numbers, strict=True)


class _Values(ValuesView[float]):
    _mapping: Column

    def __iter__(self) -> Iterator[float]:
        return iter(self._mapping.numbers)


class Column(Mapping[str, float]):
    """{query: value}, as a dict has it, in a tenth of the memory."""

    __slots__ = ("index", "numbers")

    def __init__(self, index: dict[str, int], numbers: array[float]) -> None:
        self.index = index
        self.numbers = numbers

    def __getitem__(self, query_id: str) -> float:
        return self.numbers[self.index[query_id]]

    def __iter__(self) -> Iterator[str]:
        return iter(self.index)

    def __len__(self) -> int:
        return len(self.index)

    def __contains__(self, query_id: object) -> bool:
        return query_id in self.index

    def items(self) -> ItemsView[str, float]:
        """Return pairs of query and value."""
        return _Items(self)

    def values(self) -> ValuesView[float]:
        """Return the values."""
        return _Values(self)


class Shelf:
    """Makes columns that share their indexes: most have the same queries."""

    def __init__(self) -> None:
        self._known: list[dict[str, int]] = []

    def column(self, values: Mapping[str, float]) -> Column:
        """Return a column of these values."""
        for index in self._known:
            if len(index) == len(values):
                if all(map(eq, index, values)):
                    return Column(index, array("d", values.values()))
                if index.keys() == values.keys():
                    return Column(index, array("d", map(values.__getitem__, index)))
        index = {query_id: place for place, query_id in enumerate(values)}
        self._known.append(index)
        return Column(index, array("d", values.values()))


def all_ids(columns: Iterable[Mapping[str, float]]) -> list[str]:
    """Return every query that a column has, each index looked at once."""
    indexes = {id(index): index for index in (getattr(column, "index", column) for column in columns)}
    return list(dict.fromkeys(query_id for index in indexes.values() for query_id in index))


def differences(
    before: Mapping[str, float], after: Mapping[str, float]
) -> tuple[Iterable[str], list[float], list[float]]:
    """Return the queries that both have, their values before, and by how much they changed; next to nothing is 0."""
    if isinstance(before, Column) and isinstance(after, Column) and before.index is after.index:
        query_ids: Iterable[str] = before.index
        old, new = before.numbers.tolist(), after.numbers.tolist()
    else:
        query_ids = [query_id for query_id in before if query_id in after]
        old, new = ([column[query_id] for query_id in query_ids] for column in (before, after))
    found = map(sub, new, old)
    return query_ids, old, [change if abs(change) >= SAME else 0.0 for change in found]
