"""The residual of rank-biased precision: how much of it unjudged documents could add."""

from permed_measures.measures.base import HostName, RankingMeasure, define
from permed_measures.measures.rbp import PERSISTENCE
from permed_measures.ranking import Ranking


def rbp_residual(ranking: Ranking, *, p: float) -> float:
    """Return the chance to look at what is not judged; 0 where all of the list is."""
    judged = [rank for rank, grade in ranking.hits(None) if grade >= 0]
    return float(1 - (1 - p) * sum([p ** (rank - 1) for rank in judged])) if len(judged) < ranking.num_ret else 0.0


class _RBPResidual(RankingMeasure):
    r"""What RBP could gain at most if unjudged documents, and those after the end of the list, were of the best grade.

    .. math:: 1 - (1 - p) \sum_{i \text{ judged}} p^{i - 1}

    In [0, 1]; 0 when all returned documents are judged, as in trec_eval 10.0: what may come after the end counts only
    where something else is unjudged. A negative grade counts as unjudged. ``rbp_resid`` is ``RBPResidual(p=0.9)``.

    >>> qrels, run = {"p": {"a": 2, "b": 0}, "q": {"a": 1}}, {"p": ["a", "x", "b"], "q": ["a"]}
    >>> from permed_measures import evaluate
    >>> evaluate(qrels, run, "RBPResidual(p=0.5)").means        # p: 1 - 0.5 (1 + 1/4); q: 0
    {RBPResidual(p=0.5): 0.1875}

    Not for quality: it says how much of RBP is unknown; the smaller, the surer.
    Source: Moffat and Zobel, ACM TOIS 27(1), 2008; trec_eval 10.0, m_rbp_resid.c.
    """

    NAME = "RBPResidual"
    PRETTY_NAME = "Residual of Rank-Biased Precision"
    HOST_NAMES = (HostName("rbp_resid", "RBP residual", {"p": 0.9}, cut="", at="p", in_ranx=False),)
    SUPPORTED_PARAMS = {"p": PERSISTENCE}
    NOT_CONDENSED = "Without unjudged documents it is 0 for every list"
    ZERO_WITHOUT = "returned"
    COUNTS_RETURNED = True
    kernel = staticmethod(rbp_residual)
    EXAMPLES = ({}, {"p": 0.5})
    raising_helps = False  # a judged document in the place of an unjudged one lowers it
    ideal_is_top = False  # it tells of judgements, not of quality


RBPResidual = define(_RBPResidual)
