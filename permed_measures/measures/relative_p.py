"""Relative precision: precision at k as a share of the best that k documents allow."""

from permed_measures.measures.base import Expr, RankingMeasure, RankingTable, define
from permed_measures.measures.declarations import NEEDED_CUTOFF, REL, HostName
from permed_measures.ranking import Ranking


def relative_p(ranking: Ranking, *, cutoff: int, rel: float) -> float:
    """Divide the relevant documents of the top k by min(k, R)."""
    found = sum([grade >= rel for _, grade in ranking.hits(cutoff)])
    return found / min(cutoff, ranking.num_rel(rel)) if found else 0.0


def relative_p_expression(table: RankingTable, *, cutoff: int, rel: float) -> Expr:
    """Write the same over a table."""
    relevant = table.grade >= rel
    found = table.sum_hits(1, relevant & table.within(cutoff))
    return table.ratio(found, table.sum_judged(1, relevant).clip(0.0, float(cutoff)))


class _RelativeP(RankingMeasure):
    r"""Relevant documents in the top k, divided by the most that can be there: k, or all relevant ones if fewer.

    .. math:: \frac{|\{i \le k : g_i \ge rel\}|}{\min(k, R)}

    In [0, 1]; 0 when nothing relevant is returned. Up to rank R it is precision, from there on recall.

    >>> qrels, run = {"q": {"a": 1, "b": 1, "c": 0}}, {"q": ["a", "x", "c", "y", "z"]}
    >>> from permed_measures import evaluate
    >>> evaluate(qrels, run, "RelativeP@1 RelativeP@5").means    # 1/1; 1/2
    {RelativeP@1: 1.0, RelativeP@5: 0.5}

    Not for comparing with papers that report P: there a short list of relevant documents caps the value.
    Source: trec_eval, m_rel_P.c (``relative_P``).
    """

    NAME = "RelativeP"
    PRETTY_NAME = "Relative Precision at k"
    HOST_NAMES = (
        HostName("relative_P", "Relative P", cut="", numbers=(5, 10, 15, 20, 30, 100, 200, 500, 1000), in_ranx=False),
    )
    SUPPORTED_PARAMS = {"cutoff": NEEDED_CUTOFF, "rel": REL}
    kernel = staticmethod(relative_p)
    expression = staticmethod(relative_p_expression)
    EXAMPLES = ({}, {"rel": 2})


RelativeP = define(_RelativeP)
