"""Binary preference."""

from typing import Any

from permed_measures.measures.arrays import ArrayTable
from permed_measures.measures.base import Call, StandardMeasure, define


class _Bpref(StandardMeasure):
    r"""How rarely judged non-relevant documents are above relevant ones; unjudged documents do not count.

    .. math:: \frac{1}{R} \sum_{i : g_i \ge rel} \left(
        1 - \frac{\min(|\{j < i : 0 \le g_j < rel\}|, R)}{\min(N, R)} \right)

    N is the number of judged non-relevant documents.

    >>> from permed_measures import evaluate
    >>> evaluate({"q": {"a": 2, "b": 1, "c": 0}}, {"q": ["c", "a", "x"]}, "Bpref").means   # a: (1 - 1/1) / 2
    {Bpref: 0.0}

    Not for complete judgements: AP sees more; nor for few judged non-relevant documents, where it says little.
    Source: Buckley and Voorhees, SIGIR 2004; trec_eval 9.0.8, m_bpref.c, through pytrec_eval.
    """

    NAME = "Bpref"
    call = staticmethod(lambda **_: Call("bpref"))

    @staticmethod
    def exact(table: ArrayTable, *, rel: float) -> Any:  # noqa: ANN401  (numpy's)
        relevant = table.grade >= rel
        num_rel, num_other = table.count_judged(relevant), table.count_judged(~relevant)
        above = table.found(~relevant)
        lost = table.where(above > 0, above.clip(max=num_rel) / num_other.clip(max=num_rel))
        return table.ratio(table.sum_hits(1.0 - lost, relevant), table.sum_judged(1, relevant))


Bpref = define(_Bpref)
