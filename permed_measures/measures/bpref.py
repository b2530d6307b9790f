"""Binary preference."""

import ir_measures

from permed_measures.measures.base import Call, StandardMeasure, define


class _Bpref(StandardMeasure):
    r"""How rarely judged non-relevant documents are above relevant ones; unjudged documents do not count.

    .. math:: \frac{1}{R} \sum_{i : g_i \ge rel} 1 - \frac{\min(|\{j < i : 0 \le g_j < rel\}|, R)}{\min(N, R)}

    N is the number of judged non-relevant documents.

    >>> from permed_measures import evaluate
    >>> evaluate({"q": {"a": 2, "b": 1, "c": 0}}, {"q": ["c", "a", "x"]}, "Bpref").means   # a: (1 - 1/1) / 2
    {Bpref: 0.0}

    Not for complete judgements: AP sees more; nor for few judged non-relevant documents, where it says little.
    Source: Buckley and Voorhees, SIGIR 2004; trec_eval 9.0.8, m_bpref.c, through pytrec_eval.
    """

    HOST_MEASURE = ir_measures.Bpref
    call = staticmethod(lambda **_: Call("bpref"))


Bpref = define(_Bpref)
