"""P-imp, the pairwise improvement rate of reranking: the share of document pairs that it put right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from permed_measures.inputs import Qrels, Returned
from permed_measures.ranking import Order, Ranking
from permed_measures.ranking import order as in_order

Tops = Mapping[str, Sequence[str]]

NAME = "P-imp"
LABEL = "Pairwise Improvement Rate"
FORMULA = r"|\{(r, n) : r \text{ before } n \text{ now}, n \text{ before } r \text{ then}\}| / |\{(r, n)\}|"
"""Over the pairs of a relevant document r and a non-relevant n in the reranked top k, all queries together."""


def meaning(cutoff: int | str, baseline: str) -> str:
    """Say in a sentence what P-imp is."""
    return (
        f"of all pairs of a relevant and a non-relevant document in the top {cutoff}, the share in the right order "
        f"that {baseline} had in the wrong one"
    )


@dataclass(frozen=True)
class PairImprovement:
    """Pairs of one relevant and one non-relevant document in the reranked top k, over all queries together."""

    cutoff: int
    pairs: int
    improved: int
    """In the right order after reranking, in the wrong one before."""
    worsened: int
    """In the wrong order after reranking, in the right one before."""

    @property
    def value(self) -> float:
        """P-imp: the share of improved pairs; 0 where there is no pair."""
        return self.improved / self.pairs if self.pairs else 0.0


def tops(run: Returned, query_ids: Iterable[str], cutoff: int, order: Order = "float32") -> dict[str, Sequence[str]]:
    """Return the first documents of each query's list, in order, for the queries that the run holds."""
    return {query_id: _top(run[query_id], cutoff, order) for query_id in query_ids if query_id in run}


def _top(returned: Mapping[str, float] | Sequence[str] | Ranking, cutoff: int, order: Order) -> Sequence[str]:
    if isinstance(returned, Ranking):  # of a large file: its first ids were kept
        return returned.top[:cutoff]
    return in_order(returned, cutoff, by=order) if isinstance(returned, Mapping) else list(returned[:cutoff])


def pair_improvement(  # noqa: PLR0913  (two runs, their judgements, and what counts; the last three by name)
    qrels: Qrels,
    before: Tops,
    after: Tops,
    *,
    cutoff: int,
    rel: float = 1,
    query_ids: Iterable[str] | None = None,
) -> PairImprovement:
    """Count the pairs (relevant, non-relevant) of the reranked top k that reranking put right, or wrong.

    A document missing from the top k before counts as ranked last there; two missing ones are in no order. Queries
    that one of the two lacks are left out.

    >>> pair_improvement({"q": {"a": 1, "b": 0}}, {"q": ["b", "a", "c"]}, {"q": ["a", "b", "c"]}, cutoff=3)
    PairImprovement(cutoff=3, pairs=2, improved=1, worsened=0)
    """
    pairs = improved = worsened = 0
    for query_id in qrels if query_ids is None else query_ids:
        if query_id not in qrels or query_id not in before or query_id not in after:
            continue
        grades = qrels[query_id]
        old = {doc_id: place for place, doc_id in enumerate(before[query_id][:cutoff])}
        new = after[query_id][:cutoff]
        relevant = np.array([grades.get(doc_id, 0) >= rel for doc_id in new], dtype=bool)
        places = np.array([old.get(doc_id, cutoff) for doc_id in new])
        ranks = np.arange(len(new))
        right_now = ranks[relevant][:, None] < ranks[~relevant]
        moved = places[relevant][:, None] - places[~relevant]
        pairs += right_now.size
        improved += int(np.count_nonzero(right_now & (moved > 0)))
        worsened += int(np.count_nonzero(~right_now & (moved < 0)))
    return PairImprovement(cutoff, pairs, improved, worsened)
