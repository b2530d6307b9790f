"""Values of many queries in little memory: one index of ids, and an array of numbers per column."""

from __future__ import annotations

from array import array
from collections.abc import ItemsView, Iterator, Mapping, ValuesView


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
            if index.keys() == values.keys():
                return Column(index, array("d", map(values.__getitem__, index)))
        index = {query_id: place for place, query_id in enumerate(values)}
        self._known.append(index)
        return Column(index, array("d", values.values()))
