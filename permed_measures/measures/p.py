"""Precision at k."""

from permed_measures.measures.base import Call, Expr, RankingTable, Reading, StandardMeasure, define


class _P(StandardMeasure):
    r"""Relevant documents in the top k, divided by k, also where fewer were returned.

    .. math:: \frac{|\{i \le k : g_i \ge rel\}|}{k}

    >>> from permed_measures import evaluate
    >>> evaluate({"q": {"a": 2, "b": 1, "c": 0}}, {"q": ["c", "a", "x"]}, "P@5").means   # a: 1/5
    {P@5: 0.2}

    Not for queries with fewer than k relevant documents, where no list reaches 1: RelativeP, Rprec.
    Source: van Rijsbergen, Information Retrieval, 1979; trec_eval 9.0.8, m_P.c, through pytrec_eval.
    """

    NAME = "P"
    RANX_NAME = "precision"
    READS = Reading("precision", {"denominator": "k"})
    call = staticmethod(lambda *, cutoff, **_: Call(f"P_{cutoff}", depth=cutoff, needs_missed=False))

    @staticmethod
    def expression(table: RankingTable, *, cutoff: int, rel: float, judged_only: bool) -> Expr:
        rank = table.ranks(judged_only=judged_only)
        return table.sum_hits(1, (table.grade >= rel) & table.within(cutoff, rank)) / float(cutoff)

    exact = expression


P = define(_P)
