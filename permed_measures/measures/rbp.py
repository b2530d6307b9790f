"""Rank-biased precision: ir_measures' ``RBP``, computed here too."""

import ir_measures

from permed_measures.measures.base import CUTOFF, Expr, HostName, Param, RankingMeasure, RankingTable, define
from permed_measures.ranking import Ranking

PERSISTENCE = Param(
    "number", low=0, high=1, default=0.8, desc="persistence: the chance to go on from one document to the next"
)


def rbp(ranking: Ranking, *, cutoff: int | None, p: float, rel: float | None) -> float:
    """Sum the gains, each times the chance to look at its rank."""
    hits = ranking.hits(cutoff)
    if rel is not None:
        return float((1 - p) * sum([p ** (rank - 1) for rank, grade in hits if grade >= rel]))
    best = max(ranking.judged, default=0)
    return float((1 - p) * sum([grade / max(best, 1) * p ** (rank - 1) for rank, grade in hits if grade > 0]))


def rbp_expression(table: RankingTable, *, cutoff: int | None, p: float, rel: float | None) -> Expr:
    """Write the same over a table."""
    chance = float(p) ** (table.rank - 1.0)
    if rel is not None:
        return table.sum_hits(chance, (table.grade >= rel) & table.within(cutoff)) * float(1 - p)
    gain = table.grade / table.highest(table.grade).clip(1.0, None)
    return table.sum_hits(gain * chance, (table.grade > 0) & table.within(cutoff)) * float(1 - p)


class _RBP(RankingMeasure):
    r"""The gain per document of a user who goes on to the next one with probability p.

    .. math:: (1 - p) \sum_{i \le k} p^{i - 1} \, w(g_i), \qquad w(g) = g / \max(g_{best}, 1)

    The gain is the grade, divided by the highest of the query's judgements where that is above 1; with ``rel`` it is 1
    for a relevant document and 0 for others. In [0, 1); 0 when nothing relevant is returned. ``rbp`` of trec_eval 10.0
    is ``RBP(p=0.9)``, ``rbp_0.80`` is ``RBP(p=0.8)``. In ir_measures, cwl_eval still computes ``RBP(rel=…)`` where it
    is installed; it looks at 1,000 documents, and makes the chances to look at these sum up to 1.

    >>> qrels, run = {"q": {"a": 2, "b": 1}}, {"q": ["b", "x", "a"]}
    >>> from permed_measures import evaluate
    >>> evaluate(qrels, run, "RBP(p=0.5) RBP(p=0.5,rel=1)").means  # 0.5 (1/2 + 1/4); 0.5 (1 + 1/4)
    {RBP(p=0.5): 0.375, RBP(p=0.5,rel=1): 0.625}

    Not for comparing queries whose best grades differ: each is divided by its own; GradedRBP has one scale.
    Source: Moffat and Zobel, ACM TOIS 27(1), 2008; trec_eval 10.0, m_rbp.c.
    """

    NAME = "RBP"
    PRETTY_NAME = "Rank-Biased Precision"
    HOST_MEASURE = ir_measures.RBP
    HOST_NAMES = (HostName("rbp", "RBP", {"p": 0.9}, cut="", at="p", in_ranx=False),)
    SUPPORTED_PARAMS = {
        "cutoff": CUTOFF,
        "p": PERSISTENCE,
        "rel": Param("number", above=0, desc="the lowest grade that is relevant; grades are gains when not given"),
    }
    kernel = staticmethod(rbp)
    expression = staticmethod(rbp_expression)
    EXAMPLES = ({}, {"p": 0.5}, {"rel": 2})
    ideal_is_top = False  # only an endless list reaches 1


RBP = define(_RBP)
