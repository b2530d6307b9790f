"""nDCG within the list: how near the order of the returned documents is to their own best order."""

from permed_measures.measures.base import Expr, RankingMeasure, RankingTable, define
from permed_measures.measures.declarations import CUTOFF, HostName, Reading
from permed_measures.measures.ndcg import DCG, dcg_ratio, gain_read, gain_written
from permed_measures.ranking import Ranking


def list_ndcg(ranking: Ranking, *, cutoff: int | None, dcg: str) -> float:
    """DCG of the top k over the DCG of the top k after sorting the whole returned list by grade."""
    returned = sorted((grade for _, grade in ranking.hits(None)), reverse=True)
    return dcg_ratio(ranking.hits(cutoff), returned[:cutoff], dcg)


def list_ndcg_expression(table: RankingTable, *, cutoff: int | None, dcg: str) -> Expr:
    """Write the same over a table."""
    gain, place = table.gain(table.grade, dcg, among="hits"), table.place(table.grade, among="hits")
    gaining = table.grade > 0
    return table.ratio(
        table.sum_hits(gain / table.discount(table.rank), gaining & table.within(cutoff)),
        table.sum_hits(gain / table.discount(place), gaining & table.within(cutoff, place)),
    )


class _ListNDCG(RankingMeasure):
    r"""NDCG whose ideal is the *returned list* in its best order, not the judged documents.

    .. math:: \frac{DCG@k(g_1, g_2, \dots)}{DCG@k(\mathrm{sort}(g_1, \dots, g_n))}

    The whole returned list is sorted, then cut at k. In [0, 1]; 0 when nothing relevant is returned. It diagnoses the
    order within a list and does not see what the list lacks; to compare systems use nDCG.

    >>> qrels, run = {"q": {"a": 3, "b": 1, "c": 2}}, {"q": ["a", "b", "c", "x", "y"]}
    >>> from permed_measures import evaluate
    >>> evaluate(qrels, run, [ListNDCG@10]).means   # (3 + 1/log2(3) + 2/2) / (3 + 2/log2(3) + 1/2)
    {ListNDCG@10: 0.9725044904464192}

    Not for comparing systems: a list without the best documents can still score 1.
    Source: hybrid retrieval for hallucination mitigation (HaluBench), "NDCG@3": its code has the linear gain, its
    formula the exponential one (``dcg='exp-log2'``); on binary grades they agree.
    """

    NAME = "ListNDCG"
    PRETTY_NAME = "Normalised Discounted Cumulative Gain within the List"
    HOST_NAMES = (HostName("list_ndcg", "List-NDCG"), HostName("list_ndcg_exp", "List-NDCG-exp", {"dcg": "exp-log2"}))
    LOOKS_PAST_CUTOFF = True
    SUPPORTED_PARAMS = {"cutoff": CUTOFF, "dcg": DCG}
    kernel = staticmethod(list_ndcg)
    expression = staticmethod(list_ndcg_expression)
    READS = Reading("ndcg", {"ideal": "returned", "discount": "log2"}, gain_read, gain_written)
    EXAMPLES = ({}, {"dcg": "exp-log2"})


ListNDCG = define(_ListNDCG)
