"""Set utility: what the returned and the missed documents are worth together."""

from math import inf

from permed_measures.measures.base import REL, HostName, Param, RankingMeasure, define
from permed_measures.ranking import Ranking


def utility(ranking: Ranking, *, rel: float, rel_ret: float, nonrel_ret: float, rel_missed: float) -> float:
    """Add up the worth of relevant documents returned, others returned, and relevant ones missed."""
    if not ranking.num_ret:
        return 0.0
    found = sum([grade >= rel for _, grade in ranking.hits(None)])
    missed = ranking.num_rel(rel) - found
    return float(rel_ret * found + nonrel_ret * (ranking.num_ret - found) + rel_missed * missed)


class _Utility(RankingMeasure):
    r"""What a list is worth: 1 for a relevant document returned, -1 for any other, 0 for a relevant one missed.

    .. math:: u_{rel\_ret} \cdot F + u_{nonrel\_ret} \cdot (n - F) + u_{rel\_missed} \cdot (R - F)

    F of the n returned documents are relevant. Any number; 0 when nothing is returned. trec_eval has a fourth worth,
    that of other documents not returned, which needs the size of the collection.

    >>> qrels, run = {"q": {"a": 1, "b": 1, "c": 1}}, {"q": ["a", "x", "y", "b"]}
    >>> from permed_measures import evaluate
    >>> evaluate(qrels, run, "Utility Utility(nonrel_ret=-0.5,rel_missed=-2)").means    # 2 - 2; 2 - 1 - 2
    {Utility: 0.0, Utility(nonrel_ret=-0.5,rel_missed=-2): -1.0}

    Not for ranked lists, nor means over queries of unlike size: it is a sum without an upper bound.
    Source: trec_eval, m_utility.c.
    """

    NAME = "Utility"
    PRETTY_NAME = "Set Utility"
    HOST_NAMES = (HostName("utility", "Utility", in_ranx=False),)
    SUPPORTED_PARAMS = {
        "rel": REL,
        "rel_ret": Param("number", default=1, desc="the worth of a relevant document that was returned"),
        "nonrel_ret": Param("number", default=-1, desc="the worth of any other document that was returned"),
        "rel_missed": Param("number", default=0, desc="the worth of a relevant document that was not returned"),
    }
    RANGE = (-inf, inf)
    ZERO_WITHOUT = "returned"
    COUNTS_RETURNED = True
    kernel = staticmethod(utility)
    EXAMPLES = ({}, {"rel": 2}, {"rel_ret": 2, "nonrel_ret": 0.5, "rel_missed": 1})
    ideal_is_top = False  # there is no top


Utility = define(_Utility)
