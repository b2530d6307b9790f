"""How many documents that are judged not relevant were returned."""

from ir_measures import SumAgg

from permed_measures.measures.base import COUNT, REL, HostName, RankingMeasure, define
from permed_measures.ranking import Ranking


def num_nonrel_judged_ret(ranking: Ranking, *, rel: float) -> float:
    """Count the returned documents with a grade from 0 to below ``rel``."""
    return float(sum([0 <= grade < rel for _, grade in ranking.hits(None)]))


class _NumNonRelJudgedRet(RankingMeasure):
    r"""How many returned documents are judged, and judged not relevant; summed over queries.

    .. math:: |\{i : 0 \le g_i < rel\}|

    A negative grade counts as unjudged, as in trec_eval.

    >>> qrels, run = {"p": {"a": 1, "b": 0}, "q": {"a": 0, "b": 0}}, {"p": ["a", "b", "x"], "q": ["b", "a"]}
    >>> from permed_measures import evaluate
    >>> evaluate(qrels, run, "NumNonRelJudgedRet").means        # b of p, b and a of q
    {NumNonRelJudgedRet: 3.0}

    Not for quality: it is a count that grows with the depth of the lists and of the judging.
    Source: trec_eval, m_num_nonrel_judged_ret.c.
    """

    NAME = "NumNonRelJudgedRet"
    PRETTY_NAME = "Number of Judged Non-Relevant Documents Returned"
    HOST_NAMES = (HostName("num_nonrel_judged_ret", "judged non-relevant returned", in_ranx=False),)
    SUPPORTED_PARAMS = {"rel": REL}
    RANGE = COUNT
    ZERO_WITHOUT = "judged"
    kernel = staticmethod(num_nonrel_judged_ret)
    EXAMPLES = ({}, {"rel": 2})
    aggregator = SumAgg
    ideal_is_top = False  # it counts what is unwanted


NumNonRelJudgedRet = define(_NumNonRelJudgedRet)
