"""The first documents of a run, by query: packed, where ids allow it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from permed_measures.inputs import Returned
from permed_measures.ranking import Order, Ranking
from permed_measures.ranking import order as in_order

Tops = Mapping[str, Sequence[str]]
"""The first documents of each query's list, in order."""
_SHORT = 100
_BETWEEN = "\0"


class _Packed(Mapping[str, Sequence[str]]):
    """The ids of a query as one text: a tenth of the memory that its strings would take."""

    def __init__(self, packed: Mapping[str, str]) -> None:
        self._packed = packed

    def __getitem__(self, query_id: str) -> Sequence[str]:
        found = self._packed[query_id]
        return found.split(_BETWEEN) if found else []

    def __iter__(self) -> Iterator[str]:
        return iter(self._packed)

    def __len__(self) -> int:
        return len(self._packed)


def tops(run: Returned, query_ids: Iterable[str], cutoff: int, order: Order = "float32") -> Tops:
    """Return the first documents of each query's list, in order, for the queries that the run holds."""
    held = [query_id for query_id in query_ids if query_id in run]
    packed: dict[str, str] = {}
    for query_id in held:
        returned = run[query_id]
        if not isinstance(returned, Ranking):
            break
        ids = returned.top[:cutoff]
        packed[query_id] = _BETWEEN.join(ids)
        if packed[query_id].count(_BETWEEN) != max(0, len(ids) - 1):  # an id has it
            break
    else:
        return _Packed(packed)
    return {query_id: top(run[query_id], cutoff, order) for query_id in held}


def top(
    returned: Mapping[str, float] | Sequence[str] | Ranking, cutoff: int | None, order: Order = "float32"
) -> Sequence[str]:
    """Return the first documents of one list, in order; all of them without a cut-off."""
    if isinstance(returned, Ranking):  # of a large file: its first ids were kept
        return returned.top[:cutoff]
    if not isinstance(returned, Mapping):
        return list(returned[:cutoff])
    depth = None if len(returned) <= _SHORT else cutoff  # to sort a short list is faster than to look for its top
    return in_order(returned, depth, by=order)[:cutoff]
