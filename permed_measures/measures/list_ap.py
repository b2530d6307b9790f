"""Average precision within the list: how well the relevant documents that were returned are placed."""

from permed_measures.measures.base import Expr, RankingMeasure, RankingTable, define
from permed_measures.measures.declarations import CUTOFF, REL, HostName, Reading
from permed_measures.ranking import Ranking


def list_ap(ranking: Ranking, *, cutoff: int | None, rel: float) -> float:
    """Return average precision over the relevant documents of the top k alone."""
    found = 0
    total = 0.0
    for rank, grade in ranking.hits(cutoff):
        if grade >= rel:
            found += 1
            total += found / rank
    return total / found if found else 0.0


def list_ap_expression(table: RankingTable, *, cutoff: int | None, rel: float) -> Expr:
    """Write the same over a table."""
    relevant = table.grade >= rel
    in_list = relevant & table.within(cutoff)
    return table.ratio(table.sum_hits(table.found(relevant) / table.rank, in_list), table.sum_hits(1, in_list))


class _ListAP(RankingMeasure):
    r"""Average precision divided by the number of relevant documents *in the top k*.

    .. math:: \frac{1}{F} \sum_{i \le k,\ g_i \ge rel} \frac{|\{j \le i : g_j \ge rel\}|}{i},
        \quad F = |\{i \le k : g_i \ge rel\}|

    In [0, 1]; 0 when nothing relevant is returned. It diagnoses the order within a list and does not see what the list
    lacks: one relevant document at rank 1 scores 1.0 whether one or a hundred are known. To compare systems use AP.

    >>> qrels = {"q1": {"a": 1, "c": 1}, "q2": {"a": 1, "b": 1}, "q3": {"b": 1, "c": 1}}
    >>> run = dict.fromkeys(qrels, ["a", "b", "c"])
    >>> from permed_measures import evaluate
    >>> evaluate(qrels, run, [ListAP@3]).means     # (5/6 + 1 + 7/12) / 3
    {ListAP@3: 0.8055555555555555}

    Not for comparing systems: a list that leaves relevant documents out is not punished for it.
    Source: hybrid retrieval for hallucination mitigation (HaluBench), "MAP@3"; also the public scripts of PerMed.
    """

    NAME = "ListAP"
    PRETTY_NAME = "Average Precision within the List"
    ALIASES = ("ListMAP",)
    HOST_NAMES = (HostName("list_map", "List-MAP"),)
    SUPPORTED_PARAMS = {"cutoff": CUTOFF, "rel": REL}
    kernel = staticmethod(list_ap)
    expression = staticmethod(list_ap_expression)
    READS = Reading("map", {"weights": None, "denominator": "retrieved"})
    EXAMPLES = ({}, {"rel": 2})
    raising_helps = False  # a document that enters the top k at its end lowers the average


ListAP = define(_ListAP)
