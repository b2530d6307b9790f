"""Success at k."""

from permed_measures.measures.base import Call, Expr, RankingTable, Reading, StandardMeasure, define


class _Success(StandardMeasure):
    r"""1 if a relevant document is in the top k, else 0.

    .. math:: [\exists i \le k : g_i \ge rel]

    Some call it Recall@k. Coverage is the same, also of the whole list.

    >>> from permed_measures import evaluate
    >>> evaluate({"q": {"a": 2, "b": 1, "c": 0}}, {"q": ["c", "a", "x"]}, "Success@1").means   # c is not relevant
    {Success@1: 0.0}

    Not for telling good lists from better ones: one relevant document in the top k is all it sees.
    Source: trec_eval 9.0.8, m_success.c, through pytrec_eval.
    """

    NAME = "Success"
    RANX_NAME = "hit_rate"
    SPELLINGS = ("hit", "hits", "hit_ratio", "hr")
    READS = Reading("hit")
    call = staticmethod(lambda *, cutoff, **_: Call(f"success_{cutoff}", depth=cutoff, needs_missed=False))

    @staticmethod
    def expression(table: RankingTable, *, cutoff: int, rel: float, judged_only: bool) -> Expr:
        rank = table.ranks(judged_only=judged_only)
        return table.any_hit((table.grade >= rel) & table.within(cutoff, rank))

    exact = expression


Success = define(_Success)
