"""The first documents of every run: which are unjudged, which a judge should see first, and how ranks moved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import log2
from typing import Any, NamedTuple

from permed_measures.errors import ParamError
from permed_measures.evaluate import read_for
from permed_measures.files.texts import TextsLike, missing_texts, texts_of
from permed_measures.inputs import Qrels, QrelsLike, Returned, RunLike, as_qrels
from permed_measures.ranking import Order, Ranking
from permed_measures.ranking import order as in_order
from permed_measures.render.document import Table, Value

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
    return {query_id: _top(run[query_id], cutoff, order) for query_id in held}


def _top(returned: Mapping[str, float] | Sequence[str] | Ranking, cutoff: int, order: Order) -> Sequence[str]:
    if isinstance(returned, Ranking):  # of a large file: its first ids were kept
        return returned.top[:cutoff]
    if not isinstance(returned, Mapping):
        return list(returned[:cutoff])
    depth = None if len(returned) <= _SHORT else cutoff  # to sort a short list is faster than to look for its top
    return in_order(returned, depth, by=order)[:cutoff]


def unjudged_shares(qrels: Qrels, top: Tops, cutoff: int) -> list[float | None]:
    """Return the share of unjudged documents at each rank, over the lists that reach it; None where none does.

    A negative grade says that a document was not judged, as for the measure Unjudged.

    >>> unjudged_shares({"q": {"a": 1}, "r": {"a": 0, "b": -1}}, {"q": ["x", "a"], "r": ["a", "b"]}, 3)
    [0.5, 0.5, None]
    """
    returned, unjudged = [0] * cutoff, [0] * cutoff
    patterns: Counter[tuple[bool, ...]] = Counter()  # many lists are alike in this
    for query_id, doc_ids in top.items():
        grade_of = qrels.get(query_id, {}).get
        patterns[tuple([grade_of(doc_id, -1) < 0 for doc_id in doc_ids[:cutoff]])] += 1
    for pattern, number in patterns.items():
        for place, is_unjudged in enumerate(pattern):
            returned[place] += number
            unjudged[place] += number * is_unjudged
    return [missing / count if count else None for missing, count in zip(unjudged, returned, strict=True)]


class Hole(NamedTuple):
    """An unjudged document in the top of a run."""

    query_id: str
    doc_id: str
    apart: float
    """How far the runs are apart on it: the most that its judgement moves the difference of two DCGs, per gain."""
    ranks: Mapping[str, int | None]
    """Its rank in every run; None where it is not in the top."""


def holes(qrels: QrelsLike, runs: Mapping[str, RunLike], *, depth: int = 10, order: Order = "float32") -> list[Hole]:
    """Return the unjudged documents in the top of any run, of judged queries, where runs disagree most first.

    A document counts 1 / log2(rank + 1) where it is in the top ``depth``, elsewhere 0, and the runs are apart by the
    highest of these minus the lowest; of one run alone it is the highest.

    >>> found = holes({"q": {"a": 1}}, {"one": {"q": ["x", "a", "y"]}, "two": {"q": ["x", "y"]}})
    >>> [(hole.doc_id, hole.ranks, round(hole.apart, 4)) for hole in found]      # 1/log2(3) - 1/log2(4); 1 - 1
    [('y', {'one': 3, 'two': 2}, 0.1309), ('x', {'one': 1, 'two': 1}, 0.0)]
    """
    if isinstance(depth, bool) or not isinstance(depth, int) or depth < 1:
        raise ParamError(f"depth={depth!r} is not allowed; give an int >= 1")
    judged = as_qrels(qrels, subtopics=True)
    asked: Any = {"measures": f"Unjudged@{depth}", "order": order, "keep": depth}
    ranks: dict[tuple[str, str], dict[str, int | None]] = {}
    for name, run in runs.items():
        for query_id, doc_ids in tops(read_for(run, judged, **asked), judged, depth, order).items():
            grades = judged[query_id]
            for rank, doc_id in enumerate(doc_ids, 1):
                if grades.get(doc_id, -1) < 0:
                    ranks.setdefault((query_id, doc_id), dict.fromkeys(runs))[name] = rank
    found = [Hole(query_id, doc_id, _apart(of), of) for (query_id, doc_id), of in ranks.items()]
    return sorted(found, key=lambda hole: (-hole.apart, _best(hole), hole.query_id, hole.doc_id))


def _best(hole: Hole) -> int:
    return min(rank for rank in hole.ranks.values() if rank is not None)


def _apart(ranks: Mapping[str, Any]) -> float:
    weights = [0.0 if rank is None else 1 / log2(rank + 1) for rank in ranks.values()]
    return max(weights) - (min(weights) if len(weights) > 1 else 0.0)


def holes_table(
    found: Sequence[Hole], names: Sequence[str], texts: TextsLike | None = None, documents: TextsLike | None = None
) -> Table:
    """Lay out holes for a judge, who fills in the empty column: with it, the file is one of qrels."""
    columns, notes = [], []
    for what, source, ids in (
        ("query", texts, {hole.query_id for hole in found}),
        ("document", documents, {hole.doc_id for hole in found}),
    ):
        if source is not None:
            columns.append((what, texts_of(source, ids, what)))
            notes += missing_texts(columns[-1][1], ids, what)
    rows: list[list[Value]] = [
        [
            *(hole.query_id, hole.doc_id, None, hole.apart),
            *(hole.ranks[name] for name in names),
            *(known.get(hole.query_id if what == "query" else hole.doc_id, "") for what, known in columns),
        ]
        for hole in found
    ]
    heads = ["query_id", "doc_id", "relevance", "apart", *(f"rank in {name}" for name in names)]
    return Table([*heads, *(f"{what} text" for what, _ in columns)], rows, below=notes)
