"""Bpref with the geometric mean over queries."""

from permed_measures.measures.base import REL, HostName, RankingMeasure, define
from permed_measures.measures.gmap import GeometricMean
from permed_measures.ranking import Ranking


def gm_bpref(ranking: Ranking, *, rel: float) -> float:
    """Return bpref."""
    num_rel = ranking.num_rel(rel)
    counted = min(num_rel, sum([0 <= grade < rel for grade in ranking.judged]))
    before = 0
    total = 0.0
    for _, grade in ranking.hits(None):
        if grade >= rel:
            total += 1 - min(before, num_rel) / counted if before else 1.0
        elif grade >= 0:
            before += 1
    return total / num_rel if num_rel else 0.0


class _GMBpref(RankingMeasure):
    r"""Bpref, with the geometric mean over queries.

    .. math:: \left( \prod_{q} \max(b_q, 0.00001) \right)^{1 / n}, \quad b = \frac{1}{R} \sum_{i : g_i \ge rel}
        \left( 1 - \frac{\min(|\{j < i : 0 \le g_j < rel\}|, R)}{\min(N, R)} \right)

    N is the number of documents judged not relevant; those with a negative grade count as unjudged. The value of a
    query is its Bpref; only the mean differs. In [0, 1].

    >>> qrels, run = {"p": {"a": 1, "b": 0}, "q": {"a": 1, "c": 1, "b": 0, "d": 0}}, {"p": ["a"], "q": ["b", "a"]}
    >>> from permed_measures import evaluate
    >>> round(evaluate(qrels, run, "GMBpref")["GMBpref"], 12)       # p: 1; q: (1 - 1/2) / 2; (1 · 1/4)^(1/2)
    0.5

    Not for queries that may well score 0: each counts as 0.00001 and rules the mean.
    Source: trec_eval, m_gm_bpref.c; Buckley and Voorhees, SIGIR 2004.
    """

    NAME = "GMBpref"
    PRETTY_NAME = "Geometric Mean Bpref"
    HOST_NAMES = (HostName("gm_bpref", "GM-bpref", in_ranx=False),)
    SUPPORTED_PARAMS = {"rel": REL}
    kernel = staticmethod(gm_bpref)
    EXAMPLES = ({}, {"rel": 2})
    aggregator = GeometricMean


GMBpref = define(_GMBpref)
