"""Binary G: each relevant document is discounted by the others before it."""

from math import log2

from permed_measures.measures.base import REL, Expr, HostName, RankingMeasure, RankingTable, define
from permed_measures.ranking import Ranking


def bin_g(ranking: Ranking, *, rel: float) -> float:
    """Average the discounts of the relevant documents."""
    ranks = [rank for rank, grade in ranking.hits(None) if grade >= rel]
    total = sum([1 / log2(2 + rank - found) for found, rank in enumerate(ranks, 1)])
    return total / ranking.num_rel(rel) if ranks else 0.0


def bin_g_expression(table: RankingTable, *, rel: float) -> Expr:
    """Write the same over a table."""
    relevant = table.grade >= rel
    discount = table.discount(table.rank - table.found(relevant) + 1.0)
    return table.ratio(table.sum_hits(1.0 / discount, relevant), table.sum_judged(1, relevant))


class _BinG(RankingMeasure):
    r"""1 / log2(2 + the number of other documents before it) of each relevant document, averaged over all of them.

    .. math:: \frac{1}{R} \sum_{i : g_i \ge rel} \frac{1}{\log_2 (2 + |\{j < i : g_j < rel\}|)}

    In [0, 1]; 0 when nothing relevant is returned. An experimental measure of trec_eval.

    >>> qrels, run = {"q": {"a": 1, "b": 1}}, {"q": ["a", "x", "y", "b"]}
    >>> from permed_measures import evaluate
    >>> evaluate(qrels, run, "BinG").means              # (1/log2(2) + 1/log2(4)) / 2
    {BinG: 0.75}

    Not for graded judgements: a grade of 2 counts as one of 1; nDCG tells them apart.
    Source: trec_eval, m_binG.c.
    """

    NAME = "BinG"
    PRETTY_NAME = "Binary Normalised Gain"
    HOST_NAMES = (HostName("binG", "binG", in_ranx=False),)
    SUPPORTED_PARAMS = {"rel": REL}
    kernel = staticmethod(bin_g)
    expression = staticmethod(bin_g_expression)
    EXAMPLES = ({}, {"rel": 2})


BinG = define(_BinG)
