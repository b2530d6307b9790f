"""Precision of the whole list."""

from permed_measures.measures.base import Call, Param, StandardMeasure, define


class _SetP(StandardMeasure):
    r"""Relevant documents returned, divided by all returned.

    .. math:: \frac{|\{i \le n : g_i \ge rel\}|}{n}

    With ``relative=True`` n is at most R, the number of all relevant documents.

    >>> from permed_measures import evaluate
    >>> evaluate({"q": {"a": 2, "b": 1, "c": 0}}, {"q": ["c", "a", "x"]}, "SetP(relative=True)").means   # 1 of 2
    {SetP(relative=True): 0.5}

    Not for ranked lists of a fixed depth: P says the same and names the depth.
    Source: trec_eval 9.0.8, m_set_P.c, through pytrec_eval.
    """

    NAME = "SetP"
    SUPPORTED_PARAMS = {
        "relative": Param("flag", default=False, desc="divide by no more than the number of all relevant documents")
    }
    call = staticmethod(lambda *, relative, **_: Call("set_relative_P" if relative else "set_P", counts_returned=True))


SetP = define(_SetP)
