"""Geometric mean average precision: AP whose mean counts what is bad by how bad it is."""

from math import exp, fsum, log

from permed_measures.measures.base import REL, HostName, RankingMeasure, define
from permed_measures.ranking import Ranking

LEAST = 1e-5
"""trec_eval's floor for a value within a geometric mean: one 0 would make the whole mean 0."""


class GeometricMean:
    """The geometric mean of values, in the form in which ir_measures asks for means."""

    def __init__(self) -> None:
        self._logarithms: list[float] = []

    def add(self, value: float) -> None:
        """Take one query's value."""
        self._logarithms.append(log(max(value, LEAST)))

    def result(self) -> float:
        """Return the mean of those taken."""
        count = len(self._logarithms)
        return exp(fsum(self._logarithms) / count) if count else float("nan")


def gmap(ranking: Ranking, *, rel: float) -> float:
    """Return average precision."""
    ranks = [rank for rank, grade in ranking.hits(None) if grade >= rel]
    return sum([found / rank for found, rank in enumerate(ranks, 1)]) / ranking.num_rel(rel) if ranks else 0.0


class _GMAP(RankingMeasure):
    r"""Average precision, with the geometric mean over queries: a gain on a bad query counts as much as on a good one.

    .. math:: \left( \prod_{q} \max(AP_q, 0.00001) \right)^{1 / n}

    The value of a query is its AP; only the mean differs. In [0, 1]. trec_eval prints no value per query, and
    pytrec_eval gives logarithms there. The tests of ``compare`` are of arithmetic means, so it takes AP instead.

    >>> qrels, run = {"p": {"a": 1}, "q": {"a": 1}}, {"p": ["a"], "q": ["x", "y", "z", "a"]}
    >>> from permed_measures import evaluate
    >>> evaluate(qrels, run, "GMAP AP").means           # (1 · 1/4)^(1/2); (1 + 1/4) / 2
    {GMAP: 0.5, AP: 0.625}

    Not for queries that may well score 0: each counts as 0.00001 and rules the mean.
    Source: Robertson, CIKM 2006; trec_eval, m_gm_map.c.
    """

    NAME = "GMAP"
    PRETTY_NAME = "Geometric Mean Average Precision"
    HOST_NAMES = (HostName("gm_map", "GMAP", in_ranx=False),)
    SUPPORTED_PARAMS = {"rel": REL}
    kernel = staticmethod(gmap)
    EXAMPLES = ({}, {"rel": 2})
    aggregator = GeometricMean


GMAP = define(_GMAP)
