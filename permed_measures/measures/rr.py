"""Reciprocal rank."""

from permed_measures.measures.base import Call, Expr, RankingTable, Reading, StandardMeasure, define


class _RR(StandardMeasure):
    r"""1 / rank of the first relevant document.

    .. math:: \max \{1 / i : i \le k,\ g_i \ge rel\}

    0 where none is returned. Its mean is MRR.

    >>> from permed_measures import evaluate
    >>> evaluate({"q": {"a": 2, "b": 1, "c": 0}}, {"q": ["c", "a", "x"]}, "RR").means   # a: 1/2
    {RR: 0.5}

    Not for queries with several right answers that all matter: nothing below the first one counts.
    Source: Kantor and Voorhees, Information Retrieval 2, 2000; trec_eval 9.0.8, m_recip_rank.c, through pytrec_eval.
    """

    NAME = "RR"
    RANX_NAME = "mrr"
    SPELLINGS = ("reciprocal_rank", "mean_reciprocal_rank")
    READS = Reading("mrr")
    call = staticmethod(lambda *, cutoff, **_: Call("recip_rank", depth=cutoff, cut=cutoff, needs_missed=False))

    @staticmethod
    def expression(table: RankingTable, *, cutoff: int | None, rel: float, judged_only: bool) -> Expr:
        rank = table.ranks(judged_only=judged_only)
        return table.max_hits(1.0 / rank, (table.grade >= rel) & table.within(cutoff, rank))

    exact = expression


RR = define(_RR)
