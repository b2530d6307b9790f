"""Average precision."""

from permed_measures.measures.base import Call, Expr, RankingTable, Reading, StandardMeasure, define


class _AP(StandardMeasure):
    r"""The precisions at the ranks of the relevant documents, summed, divided by the number of all relevant ones.

    .. math:: \frac{1}{R} \sum_{i \le k,\ g_i \ge rel} \frac{|\{j \le i : g_j \ge rel\}|}{i}

    Its mean is MAP. Divided by the relevant documents of the list alone it is ListAP.

    >>> from permed_measures import evaluate
    >>> evaluate({"q": {"a": 2, "b": 1, "c": 0}}, {"q": ["c", "a", "x"]}, "AP").means   # a: (1/2) / 2
    {AP: 0.25}

    Not for grades that differ in worth (GWAP, nDCG), or one right answer per query (RR says the same, plainly).
    Source: Harman, Information Processing and Management 28(4), 1992; trec_eval 9.0.8, m_map.c, through pytrec_eval.
    """

    NAME = "AP"
    RANX_NAME = "map"
    SPELLINGS = ("average_precision", "mean_average_precision")
    READS = Reading("map", {"weights": None, "denominator": "relevant"})
    call = staticmethod(lambda *, cutoff, **_: Call(f"map_cut_{cutoff}" if cutoff else "map", depth=cutoff))

    @staticmethod
    def expression(table: RankingTable, *, cutoff: int | None, rel: float, judged_only: bool) -> Expr:
        rank = table.ranks(judged_only=judged_only)
        relevant = table.grade >= rel
        total = table.sum_hits(table.found(relevant) / rank, relevant & table.within(cutoff, rank))
        return table.ratio(total, table.sum_judged(1, relevant))

    exact = expression


AP = define(_AP)
