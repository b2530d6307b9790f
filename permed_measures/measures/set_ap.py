"""Precision times recall of the whole list."""

from permed_measures.measures.base import Call, StandardMeasure, define


class _SetAP(StandardMeasure):
    r"""SetP times SetR.

    .. math:: \frac{|\{i \le n : g_i \ge rel\}|^2}{n R}

    >>> from permed_measures import evaluate
    >>> evaluate({"q": {"a": 2, "b": 1, "c": 0}}, {"q": ["c", "a", "x"]}, "SetAP").means   # 1/3 · 1/2
    {SetAP: 0.16666666666666666}

    Not for ranked lists: the order does not count.
    Source: trec_eval 9.0.8, m_set_map.c, through pytrec_eval.
    """

    NAME = "SetAP"
    call = staticmethod(lambda **_: Call("set_map", counts_returned=True))


SetAP = define(_SetAP)
