"""Graded-weight average precision: the MAP of PerMed's unified standard."""

from collections.abc import Mapping, Sequence
from functools import reduce
from math import inf
from operator import and_
from typing import Any

from permed_measures.errors import ParamError
from permed_measures.measures.base import Expr, RankingMeasure, RankingTable, define
from permed_measures.measures.declarations import CUTOFF, JUDGED_ONLY, REL, HostName, Param, Reading
from permed_measures.ranking import Ranking


def gwap(  # noqa: PLR0913  (the declared parameters, all of them by name)
    ranking: Ranking,
    *,
    cutoff: int | None,
    rel: float,
    max_rel: float,
    weights: Mapping[float, float] | None,
    norm: str,
) -> float:
    """Sum precision times weight over the relevant documents of the list, divided as ``norm`` says."""
    found = 0
    total = 0.0
    for rank, grade in ranking.hits(cutoff):
        if grade >= rel:
            found += 1
            total += found / rank * (grade / max_rel if weights is None else weights[grade])
    if not found:
        return 0.0
    if norm == "retrieved":
        return total / found
    num_rel = ranking.num_rel(rel)
    if norm == "relevant":
        return total / num_rel
    reachable = num_rel if cutoff is None else min(num_rel, cutoff)
    if norm == "cutoff":
        return total / reachable
    relevant = ranking.grades[:num_rel]
    worth = [grade / max_rel for grade in relevant] if weights is None else [weights[grade] for grade in relevant]
    # precision is at most 1 at every rank, so no ranking gains more than the heaviest documents alone
    ideal = sum(sorted(worth, reverse=True)[:reachable])
    return min(total / ideal, 1.0) if ideal else 0.0


def gwap_expression(  # noqa: PLR0913  (the declared parameters, all of them by name)
    table: RankingTable,
    *,
    cutoff: int | None,
    rel: float,
    max_rel: float,
    weights: Mapping[float, float] | None,
    norm: str,
) -> Expr:
    """Write the same over a table."""
    relevant = table.grade >= rel
    weight = table.grade / float(max_rel) if weights is None else table.mapped(table.grade, weights, otherwise=0.0)
    in_list = relevant & table.within(cutoff)
    total = table.sum_hits(table.found(relevant) / table.rank * weight, in_list)
    if norm == "retrieved":
        return table.ratio(total, table.sum_hits(1, in_list))
    if norm == "ideal":
        worth = table.where(relevant, weight)
        return table.ratio(total, table.sum_judged(worth, table.within(cutoff, table.place(worth)))).clip(0.0, 1.0)
    num_rel = table.sum_judged(1, relevant)
    if norm == "cutoff" and cutoff is not None:
        num_rel = num_rel.clip(0.0, float(cutoff))
    return table.ratio(total, num_rel)


_NORMS = {"relevant": "relevant", "min": "cutoff", "retrieved": "retrieved", "ideal": "ideal"}
"""Our ``norm`` for each denominator of ``explain``."""


def gwap_read(measure: RankingMeasure, grades: Sequence[float], _: Sequence[float]) -> dict[str, Any]:
    """Return the scale of the weights and the denominator."""
    weights = measure["weights"]
    if {weights[grade] for grade in grades if grade in (weights or {})} - {1.0}:
        raise ParamError(f"{measure}: weights other than 1.0 are not an axis of explain; give max_rel")
    denominator = next(known for known, norm in _NORMS.items() if norm == measure["norm"])
    return {"weights": measure["max_rel"] if weights is None else None, "denominator": denominator}


def gwap_written(axes: Mapping[str, Any], grades: Sequence[float]) -> dict[str, Any] | None:
    """Return the parameters for weights and a denominator that neither AP nor ListAP has."""
    norm = _NORMS.get(axes["denominator"])
    if norm is None or max(grades, default=0) > (axes["weights"] or inf):
        return None
    if axes["weights"] is not None:
        return {"max_rel": axes["weights"], "norm": norm}
    relevant = sorted({grade for grade in grades if grade >= axes["threshold"]})
    if norm in ("relevant", "retrieved") or not relevant:
        return None
    return {"weights": dict.fromkeys(relevant, 1.0), "norm": norm}


class _GWAP(RankingMeasure):
    r"""Average precision in which a relevant document counts by its grade.

    .. math:: \frac{1}{N} \sum_{i \le k,\ g_i \ge rel} \frac{|\{j \le i : g_j \ge rel\}|}{i} \, w(g_i),
        \qquad w(g) = g / max\_rel

    N is the number of judged relevant documents (``norm='relevant'``), at most k (``'cutoff'``), those in the top k
    (``'retrieved'``), or the best sum any ranking reaches (``'ideal'``). In [0, 1]; 0 when nothing relevant is
    returned. With ``max_rel=1`` on binary grades it is AP. It is neither GAP (Robertson, Kanoulas and Yilmaz, 2010)
    nor trec_eval's ``gm_map``, the geometric mean of AP.

    >>> qrels = {"q": {"a": 2, "b": 1, "c": 0, "d": 1, "e": 2}}
    >>> run = {"q": ["b", "x", "a", "c", "d"]}
    >>> from permed_measures import evaluate
    >>> evaluate(qrels, run, [GWAP@3]).means          # (1/1 · 0.5 + 2/3 · 1.0) / 4
    {GWAP@3: 0.29166666666666663}
    >>> evaluate(qrels, run, [GWAP(norm='ideal')@3]).means   # the same sum / (1.0 + 1.0 + 0.5)
    {GWAP(norm='ideal')@3: 0.4666666666666666}

    Not for a scale whose top is not max_rel, or comparing with others' MAP: AP is what they mean.
    Source: PerMed's unified evaluation standard for MedCorpus (2025-10-27), "MAP@10".
    """

    NAME = "GWAP"
    PRETTY_NAME = "Graded-Weight Average Precision"
    ALIASES = ("GWMAP",)
    HOST_NAMES = (HostName("gwmap", "GW-MAP"), HostName("gwmap_ideal", "GW-MAP-ideal", {"norm": "ideal"}))
    SUPPORTED_PARAMS = {
        "cutoff": CUTOFF,
        "rel": REL,
        "judged_only": JUDGED_ONLY,
        "max_rel": Param("number", default=2, above=0, desc="the grade that counts 1.0; grade g counts g / max_rel"),
        "weights": Param("weights", desc="the weight of each relevant grade; overrides max_rel"),
        "norm": Param(
            "choice",
            default="relevant",
            choices=("relevant", "cutoff", "retrieved", "ideal"),
            desc="the sum is divided by R, min(R, k), the relevant documents in the top k, or the best sum possible",
        ),
    }
    kernel = staticmethod(gwap)
    expression = staticmethod(gwap_expression)
    READS = Reading("map", read=gwap_read, write=gwap_written)
    EXAMPLES = tuple(
        {"max_rel": 4, **more, "norm": norm}
        for norm in ("relevant", "cutoff", "retrieved", "ideal")
        for more in ({}, {"rel": 2}, {"judged_only": True}, {"weights": {1: 0.2, 2: 1.0, 3: 0.5, 4: 0.9}})
    )

    @property
    def raising_helps(self) -> bool:
        return bool(self["norm"] != "retrieved")  # one more relevant document in the top k raises the denominator too

    @property
    def ideal_is_top(self) -> bool:
        return bool(self["norm"] == "ideal")  # elsewhere a perfect list of grade-1 documents stays below 1

    def refuses(self, grade: Any) -> Any:  # noqa: ANN401  (a number, or a column)
        if self["weights"] is None:
            return grade > float(self["max_rel"])
        return reduce(and_, (grade != float(known) for known in self["weights"]), grade >= float(self["rel"]))

    def advice(self, grade: float) -> str:
        if self["weights"] is not None:
            known = ", ".join(map(repr, self["weights"]))
            return f"has no weight; {self} knows the grades {known}: add it to weights, or raise rel above it"
        return (
            f"is above max_rel={self['max_rel']!r} and would weigh more than 1; set GWAP(max_rel={grade!r}) "
            "(the top of your scale), or give weights"
        )

    def note(self, highest: float) -> str:
        max_rel = self["max_rel"]
        chosen = "max_rel" in self.params or self["weights"] is not None
        if chosen or highest >= max_rel or self["norm"] == "ideal":
            return ""
        return (
            f"no grade reaches max_rel={max_rel} of {self}: the highest is {highest:g}, and a perfect ranking scores "
            f"at most {highest / max_rel:.4g}; if {highest:g} is the top of your scale, write {self(max_rel=highest)}"
        )


GWAP = define(_GWAP)
