"""G: gain at a discount that grows with what the list could have gained by then."""

from itertools import accumulate
from math import log2

from permed_measures.measures.base import HostName, RankingMeasure, define
from permed_measures.ranking import Ranking


def g(ranking: Ranking) -> float:
    """Sum the discounted gains, divided by all gains there are."""
    ideal = [grade for grade in ranking.grades if grade > 0]
    costs = list(accumulate([max(grade, 1) for grade in ideal], initial=0.0))
    gained = total = 0.0
    for rank, grade in ranking.hits(None):
        if grade > 0:
            gained += grade
            cost = costs[rank] if rank < len(costs) else costs[-1] + rank - len(ideal)
            total += grade / log2(2 + cost - gained)
    return total / sum(ideal) if ideal else 0.0


class _G(RankingMeasure):
    r"""Gains, each discounted by how far the list is behind the ideal one at its rank; as a share of all gains.

    .. math:: \frac{1}{\sum_j g_j} \sum_{i : g_i > 0} \frac{g_i}{\log_2 (2 + C_i - G_i)},
        \quad G_i = \sum_{j \le i} g_j, \quad C_i = \sum_{j \le i} \max(g^*_j, 1)

    The gain of a document is its grade, ``g*`` are the grades of the ideal list, 0 after its end. In [0, 1]; 0 when
    nothing relevant is returned. An experimental measure of trec_eval.

    >>> qrels, run = {"q": {"a": 2, "b": 1}}, {"q": ["b", "x", "a"]}
    >>> from permed_measures import evaluate
    >>> round(evaluate(qrels, run, "G")["G"], 12)       # (1/log2(2 + 2 - 1) + 2/log2(2 + 4 - 3)) / 3
    0.630929753571

    Not for comparing with papers that report nDCG: the discount follows the ideal list, not the rank.
    Source: trec_eval, m_G.c.
    """

    NAME = "G"
    PRETTY_NAME = "Normalised Gain"
    HOST_NAMES = (HostName("G", "G", in_ranx=False),)
    SUPPORTED_PARAMS = {}
    kernel = staticmethod(g)


G = define(_G)
