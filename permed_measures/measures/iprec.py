"""Interpolated precision at a recall."""

from permed_measures.measures.base import Call, Param, Reading, StandardMeasure, define, digits


class _IPrec(StandardMeasure):
    r"""The highest precision at any rank where the recall is reached, rounded as trec_eval does up to 9.0.8.

    .. math:: \max \{P@i : |\{j \le i : g_j \ge rel\}| \ge \lfloor recall \cdot R + 0.9 \rfloor \}

    The number after @ is the recall; IPrecNearest rounds as trec_eval 10.0 does.

    >>> from permed_measures import evaluate
    >>> evaluate({"q": {"a": 2, "b": 1, "c": 0}}, {"q": ["c", "a", "x"]}, "IPrec@0.5").means   # a, at rank 2
    {IPrec@0.5: 0.5}

    Not for comparing with trec_eval 10.0, which rounds recall another way: IPrecNearest.
    Source: trec_eval 9.0.8, m_iprec_at_recall.c, through pytrec_eval.
    """

    NAME = "IPrec"
    SUPPORTED_PARAMS = {"recall": Param("number", low=0, high=1, required=True, desc="the recall to reach")}
    READS = Reading("iprec", {"levels": "up"})

    @staticmethod
    def call(*, recall: float, **_: object) -> Call:
        answer = f"iprec_at_recall_{recall:.2f}"
        if float(answer.rpartition("_")[2]) == recall:
            return Call(answer)
        return Call(f"iprec_at_recall_{digits(recall)}", answer=answer)


IPrec = define(_IPrec)
