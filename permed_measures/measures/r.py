"""Recall at k."""

from permed_measures.measures.base import Call, Expr, RankingTable, Reading, StandardMeasure, define


class _R(StandardMeasure):
    r"""Relevant documents in the top k, divided by all relevant ones.

    .. math:: \frac{|\{i \le k : g_i \ge rel\}|}{R}

    Some call Recall@k what is Success@k here: whether any relevant document is in the top k.

    >>> from permed_measures import evaluate
    >>> evaluate({"q": {"a": 2, "b": 1, "c": 0}}, {"q": ["c", "a", "x"]}, "R@5").means   # a of a and b
    {R@5: 0.5}

    Not for judgements with holes, or queries with more than k relevant documents, where no list reaches 1.
    Source: trec_eval 9.0.8, m_recall.c, through pytrec_eval.
    """

    NAME = "R"
    RANX_NAME = "recall"
    READS = Reading("recall", {"denominator": "relevant"})
    call = staticmethod(lambda *, cutoff, **_: Call(f"recall_{cutoff}", depth=cutoff))

    @staticmethod
    def expression(table: RankingTable, *, cutoff: int, rel: float, judged_only: bool) -> Expr:
        rank = table.ranks(judged_only=judged_only)
        found = table.sum_hits(1, (table.grade >= rel) & table.within(cutoff, rank))
        return table.ratio(found, table.sum_judged(1, table.grade >= rel))

    exact = expression


R = define(_R)
