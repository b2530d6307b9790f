"""Recall of the whole list."""

from permed_measures.measures.base import Call, Expr, RankingTable, Reading, StandardMeasure, define


class _SetR(StandardMeasure):
    r"""Relevant documents returned, divided by all relevant ones.

    .. math:: \frac{|\{i : g_i \ge rel\}|}{R}

    >>> from permed_measures import evaluate
    >>> evaluate({"q": {"a": 2, "b": 1, "c": 0}}, {"q": ["c", "a", "x"]}, "SetR").means   # a of a and b
    {SetR: 0.5}

    Not for runs of different depths: the longer list wins.
    Source: trec_eval 9.0.8, m_set_recall.c, through pytrec_eval.
    """

    NAME = "SetR"
    RANX_NAME = "recall"
    READS = Reading("recall", {"denominator": "relevant"})
    call = staticmethod(lambda **_: Call("set_recall"))

    @staticmethod
    def expression(table: RankingTable, *, rel: float) -> Expr:
        relevant = table.grade >= rel
        return table.ratio(table.sum_hits(1, relevant), table.sum_judged(1, relevant))


SetR = define(_SetR)
