"""Unjudged documents among the first of every run: which a judge should see first."""

from collections.abc import Mapping, Sequence
from math import log2
from typing import Any, NamedTuple

from permed_measures.errors import check_whole
from permed_measures.evaluate import read_for
from permed_measures.evaluate.tops import tops
from permed_measures.files.texts import TextsLike, missing_texts, texts_of
from permed_measures.inputs import QrelsLike, RunLike, as_qrels
from permed_measures.ranking import Order
from permed_measures.render.document import Table, Value


class Hole(NamedTuple):
    """An unjudged document in the top of a run."""

    query_id: str
    doc_id: str
    apart: float
    """How far the runs are apart on it: the most that its judgement moves the difference of two DCGs, per gain."""
    ranks: Mapping[str, int | None]  # its rank in every run; None where it is not in the top


def holes(qrels: QrelsLike, runs: Mapping[str, RunLike], *, depth: int = 10, order: Order = "float32") -> list[Hole]:
    """Return the unjudged documents in the top of any run, of judged queries, where runs disagree most first.

    A document counts 1 / log2(rank + 1) where it is in the top ``depth``, elsewhere 0, and the runs are apart by the
    highest of these minus the lowest; of one run alone it is the highest.

    >>> found = holes({"q": {"a": 1}}, {"one": {"q": ["x", "a", "y"]}, "two": {"q": ["x", "y"]}})
    >>> [(hole.doc_id, hole.ranks, round(hole.apart, 4)) for hole in found]      # 1/log2(3) - 1/log2(4); 1 - 1
    [('y', {'one': 3, 'two': 2}, 0.1309), ('x', {'one': 1, 'two': 1}, 0.0)]
    """
    check_whole("depth", depth)
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
    return sorted(found, key=lambda hole: (-hole.apart, min(filter(None, hole.ranks.values())), *hole[:2]))


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
