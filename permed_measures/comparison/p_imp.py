"""P-imp, the pairwise improvement rate of reranking: the share of document pairs that it put right."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from permed_measures.comparison.significance import deciding_p
from permed_measures.evaluate.tops import Tops
from permed_measures.inference import Interval, Units, mean_estimate
from permed_measures.inputs import Qrels

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


Counts = tuple[int, int, int]
"""Of one query: pairs of a relevant and a non-relevant document, those put right, those put wrong."""


@dataclass(frozen=True)
class PairImprovement:
    """Pairs of one relevant and one non-relevant document in the reranked top k, over all queries together."""

    cutoff: int
    pairs: int
    improved: int  # in the right order after reranking, in the wrong one before
    worsened: int  # in the wrong order after reranking, in the right one before
    interval: Interval | None = None  # of the value; units are the queries, or clusters, that have pairs
    p: float | None = None
    """Of "as many pairs are put right as wrong": exact sign flips up to 20 units, above that the t of the formula."""

    @property
    def value(self) -> float:
        """P-imp: the share of improved pairs; 0 where there is no pair."""
        return self.improved / self.pairs if self.pairs else 0.0


def pair_counts(qrels: Qrels, before: Tops, after: Tops, *, cutoff: int, rel: float = 1) -> dict[str, Counts]:
    """Count the pairs (relevant, non-relevant) of each query's reranked top k that reranking put right, or wrong.

    A document missing from the top k before counts as ranked last there; two missing ones are in no order. Queries
    that one of the two lacks are left out.

    >>> pair_counts({"q": {"a": 1, "b": 0}}, {"q": ["b", "a", "c"]}, {"q": ["a", "b", "c"]}, cutoff=3)
    {'q': (2, 1, 0)}
    """
    counts = {}
    for query_id, new in after.items():
        grades, old = qrels.get(query_id), before.get(query_id)
        if grades is None or old is None:
            continue
        was = {doc_id: place for place, doc_id in enumerate(old[:cutoff])}
        relevant: list[int] = []  # where those before were, seen from the top
        other: list[int] = []
        improved = worsened = 0
        for doc_id in new[:cutoff]:
            place = was.get(doc_id, cutoff)
            if grades.get(doc_id, 0) >= rel:
                for known in other:  # plain loops: this is asked of every document
                    if place < known:
                        worsened += 1
                relevant.append(place)
            else:
                for known in relevant:
                    if known > place:
                        improved += 1
                other.append(place)
        counts[query_id] = (len(relevant) * len(other), improved, worsened)
    return counts


def pair_improvement(
    counts: Mapping[str, Counts],
    cutoff: int,
    query_ids: Iterable[str] | None = None,
    cluster_of: Callable[[str], str] | None = None,
    alpha: float = 0.05,
) -> PairImprovement:
    """Add up the counts of queries, with the interval of the share and the test of right against wrong."""
    wanted = counts if query_ids is None else [query_id for query_id in query_ids if query_id in counts]
    kept = {query_id: counts[query_id] for query_id in wanted if counts[query_id][0]}
    added: Iterable[Sequence[int]] = kept.values()
    if cluster_of is not None:
        members: dict[str, list[Counts]] = {}
        for query_id, found in kept.items():
            members.setdefault(cluster_of(query_id), []).append(found)
        added = [[sum(column) for column in zip(*inside, strict=True)] for inside in members.values()]
    sizes, right, wrong = ([*column] for column in zip(*added, strict=True)) if kept else ([], [], [])
    pairs, improved, worsened = sum(sizes), sum(right), sum(wrong)
    share = mean_estimate(Units(right, sizes))  # a mean over pairs: a unit's size is its pairs
    net = Units([gained - lost for gained, lost in zip(right, wrong, strict=True)], sizes)
    p = deciding_p(net) if len(net) > 1 else None
    interval = None if share is None else share.interval(alpha)
    return PairImprovement(cutoff, pairs, improved, worsened, interval, p)
