"""Values of many queries in little memory: one tuple of ids, and an array of numbers per column."""

from array import array
from collections.abc import ItemsView, Iterable, Iterator, Mapping, ValuesView
from functools import cached_property
from operator import sub

from permed_measures.numbers import SAME


class Ids(tuple[str, ...]):  # noqa: SLOT001  (what is found out is kept)
    """The ids of queries; where each one is, is found out once somebody asks."""

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each id."""
        return {query_id: place for place, query_id in enumerate(self)}


class _Items(ItemsView[str, float]):
    _mapping: "Column"

    def __iter__(self) -> Iterator[tuple[str, float]]:
        return zip(self._mapping.ids, self._mapping.numbers, strict=True)


class _Values(ValuesView[float]):
    _mapping: "Column"

    def __iter__(self) -> Iterator[float]:
        return iter(self._mapping.numbers)


class Column(Mapping[str, float]):
    """{query: value}, as a dict has it, in a tenth of the memory."""

    __slots__ = ("ids", "numbers")

    def __init__(self, ids: Ids, numbers: Iterable[float]) -> None:
        self.ids = ids
        self.numbers = numbers if isinstance(numbers, array) else array("d", numbers)

    def __getitem__(self, query_id: str) -> float:
        return self.numbers[self.ids.places[query_id]]

    def __iter__(self) -> Iterator[str]:
        return iter(self.ids)

    def __len__(self) -> int:
        return len(self.ids)

    def __contains__(self, query_id: object) -> bool:
        return query_id in self.ids.places

    def __repr__(self) -> str:
        return repr(dict(self))

    def items(self) -> ItemsView[str, float]:
        """Return pairs of query and value."""
        return _Items(self)

    def values(self) -> ValuesView[float]:
        """Return the values."""
        return _Values(self)


class Shelf:
    """Makes columns that share their ids: most have the same queries."""

    def __init__(self) -> None:
        self._known: list[Ids] = []

    def column(self, values: Mapping[str, float]) -> Column:
        """Return a column of these values."""
        ids = values.ids if isinstance(values, Column) else Ids(values)
        numbers = values.numbers if isinstance(values, Column) else values.values()
        for known in self._known:
            if known == ids:
                return Column(known, numbers)
            if len(known) == len(ids) and known.places.keys() == ids.places.keys():
                return Column(known, map(values.__getitem__, known))
        self._known.append(ids)
        return Column(ids, numbers)


def all_ids(columns: Iterable[Mapping[str, float]]) -> list[str]:
    """Return every query that a column has, ids that are shared looked at once."""
    known = {id(ids): ids for ids in (getattr(column, "ids", column) for column in columns)}
    return list(dict.fromkeys(query_id for ids in known.values() for query_id in ids))


def differences(
    before: Mapping[str, float], after: Mapping[str, float]
) -> tuple[Iterable[str], list[float], list[float]]:
    """Return the queries that both have, their values before, and by how much they changed; next to nothing is 0."""
    if isinstance(before, Column) and isinstance(after, Column) and before.ids is after.ids:
        query_ids: Iterable[str] = before.ids
        old, new = before.numbers.tolist(), after.numbers.tolist()
    else:
        query_ids = [query_id for query_id in before if query_id in after]
        old, new = ([column[query_id] for query_id in query_ids] for column in (before, after))
    found = map(sub, new, old)
    return query_ids, old, [change if abs(change) >= SAME else 0.0 for change in found]
