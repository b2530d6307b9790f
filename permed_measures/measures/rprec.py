"""R-precision."""

from permed_measures.measures.base import Call, Expr, RankingTable, StandardMeasure, define


class _Rprec(StandardMeasure):
    r"""Precision at rank R, the number of all relevant documents.

    .. math:: \frac{|\{i \le R : g_i \ge rel\}|}{R}

    It is also the recall at R.

    >>> from permed_measures import evaluate
    >>> evaluate({"q": {"a": 2, "b": 1, "c": 0}}, {"q": ["c", "a", "x"]}, "Rprec").means   # a, in the top 2
    {Rprec: 0.5}

    Not for queries with very few relevant documents: with one it is P@1.
    Source: Buckley and Voorhees, Retrieval System Evaluation, 2005; trec_eval 9.0.8, m_Rprec.c, through pytrec_eval.
    """

    NAME = "Rprec"
    PRETTY_NAME = "Precision at R"
    RANX_NAME = "r-precision"
    call = staticmethod(lambda **_: Call("Rprec"))

    @staticmethod
    def expression(table: RankingTable, *, rel: float, judged_only: bool) -> Expr:
        rank = table.ranks(judged_only=judged_only)
        relevant = table.grade >= rel
        num_rel = table.sum_judged(1, relevant)
        return table.ratio(table.sum_hits(1, relevant & (rank <= table.count_judged(relevant))), num_rel)

    exact = expression


Rprec = define(_Rprec)
