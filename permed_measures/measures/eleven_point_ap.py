"""Eleven-point average precision, with both of trec_eval's roundings of recall levels."""

from permed_measures.measures.base import REL, Expr, HostName, Param, RankingMeasure, RankingTable, define
from permed_measures.measures.iprec_nearest import ELEVEN, ROUNDINGS, at_level, at_recall, interpolated, level
from permed_measures.ranking import Ranking


def eleven_point_ap(ranking: Ranking, *, rel: float, rounding: str) -> float:
    """Average the interpolated precisions at eleven levels of recall."""
    precisions, num_rel = interpolated(ranking, rel), ranking.num_rel(rel)
    return sum([at_level(precisions, level(recall, num_rel, rounding)) for recall in ELEVEN], 0.0) / len(ELEVEN)


def eleven_point_ap_expression(table: RankingTable, *, rel: float, rounding: str) -> Expr:
    """Write the same over a table."""
    first, *others = [at_recall(table, table.rank, recall=recall, rel=rel, rounding=rounding) for recall in ELEVEN]
    return sum(others, first) / float(len(ELEVEN))


class _ElevenPointAP(RankingMeasure):
    r"""The interpolated precisions at recall 0, 0.1, …, 1.0, averaged.

    .. math:: \frac{1}{11} \sum_{l = 0}^{10} IPrec@(l / 10)

    In [0, 1]; 0 when nothing relevant is returned. What ``l / 10`` of R relevant documents are is rounded ``'up'``
    (0.9 is added, the fraction cut), as by trec_eval up to 9.0.8 and by pytrec_eval, which is what ``11pt_avg`` stands
    for here; or to the ``'nearest'``, as by trec_eval 10.0.

    >>> qrels, run = {"q": dict.fromkeys("abcd", 1)}, {"q": ["a", "x", "b"]}
    >>> from permed_measures import evaluate
    >>> up, nearest = evaluate(qrels, run, "ElevenPointAP ElevenPointAP(rounding='nearest')").means.values()
    >>> round(up * 11, 12), round(nearest * 11, 12)     # 1 up to recall 0.2, 2/3 up to 0.5; or to 0.3 and 0.6
    (5.0, 6.0)

    Not for new work: AP says the same with less smoothing; it is for comparing with older papers.
    Source: trec_eval 9.0.8 and 10.0, m_11pt_avg.c.
    """

    NAME = "ElevenPointAP"
    PRETTY_NAME = "Eleven-Point Average Precision"
    HOST_NAMES = (HostName("11pt_avg", "11-point AP", in_ranx=False),)
    SUPPORTED_PARAMS = {
        "rel": REL,
        "rounding": Param("choice", default="up", choices=ROUNDINGS, desc="how recall · R is made a whole number"),
    }
    kernel = staticmethod(eleven_point_ap)
    expression = staticmethod(eleven_point_ap_expression)
    EXAMPLES = ({}, {"rel": 2}, {"rounding": "nearest"})


ElevenPointAP = define(_ElevenPointAP)
