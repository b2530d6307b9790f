"""Precision at multiples of R."""

from permed_measures.measures.base import REL, HostName, Param, RankingMeasure, define
from permed_measures.measures.iprec_nearest import level
from permed_measures.ranking import Ranking

FIFTHS = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)


def rprec_mult(ranking: Ranking, *, multiple: float, rel: float) -> float:
    """Return the precision at a multiple of the number of relevant documents, rounded up."""
    cutoff = level(multiple, ranking.num_rel(rel), "up")
    return sum([grade >= rel for _, grade in ranking.hits(cutoff)]) / cutoff if cutoff else 0.0


class _RprecMult(RankingMeasure):
    r"""Precision at the rank that is a multiple of R, the number of relevant documents; RprecMult@1 is Rprec.

    .. math:: P@\lfloor multiple \cdot R + 0.9 \rfloor

    In [0, 1]; 0 when nothing relevant is returned, or the rank is 0.

    >>> qrels, run = {"q": {"a": 1, "b": 1, "c": 1}}, {"q": ["a", "x", "b", "y"]}
    >>> from permed_measures import evaluate
    >>> evaluate(qrels, run, "RprecMult@0.5 RprecMult@2").means     # 1.5 is rank 2: 1/2; rank 6: 2/6
    {RprecMult@0.5: 0.5, RprecMult@2: 0.3333333333333333}

    Not for new work: it is for reading trec_eval's output.
    Source: trec_eval, m_Rprec_mult.c.
    """

    NAME = "RprecMult"
    PRETTY_NAME = "Precision at a Multiple of R"
    AT_PARAM = "multiple"
    HOST_NAMES = (HostName("Rprec_mult", "Rprec-mult", cut="", at="multiple", numbers=FIFTHS, in_ranx=False),)
    SUPPORTED_PARAMS = {"multiple": Param("number", above=0, required=True, desc="what R is multiplied by"), "rel": REL}
    kernel = staticmethod(rprec_mult)
    EXAMPLES = ({"multiple": 0.5}, {"multiple": 1.4, "rel": 2})
    ideal_is_top = False  # below R it is, above R other documents follow


RprecMult = define(_RprecMult)
