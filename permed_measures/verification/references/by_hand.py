"""The definitions, written out as slow and obvious loops. They share nothing with the kernels they check."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction

from permed_measures.verification.references.reference import (
    Computation,
    Grades,
    Params,
    Qrels,
    Reference,
    Run,
    Values,
    cutoff_of,
    trec_order,
)


def _top(ranking: list[str], params: Params) -> list[str]:
    cutoff = cutoff_of(params)
    return ranking if cutoff is None else ranking[:cutoff]


def _is_relevant(grades: Grades, doc_id: str, rel: float) -> bool:
    return doc_id in grades and grades[doc_id] >= rel


def _relevant(grades: Grades, rel: float) -> list[str]:
    return [doc_id for doc_id in grades if grades[doc_id] >= rel]


def _precision_at(grades: Grades, ranking: list[str], rank: int, rel: float) -> float:
    hits = 0
    for doc_id in ranking[:rank]:
        if _is_relevant(grades, doc_id, rel):
            hits += 1
    return hits / rank


def _weight(grade: float, params: Params) -> float:
    if params["weights"] is not None:
        return float(params["weights"][grade])
    return float(grade / params["max_rel"])


def _gwap(grades: Grades, ranking: list[str], params: Params) -> float:
    rel = params["rel"]
    total = 0.0
    hits = 0
    for rank, doc_id in enumerate(_top(ranking, params), 1):
        if _is_relevant(grades, doc_id, rel):
            hits += 1
            total += _precision_at(grades, ranking, rank, rel) * _weight(grades[doc_id], params)
    num_rel = len(_relevant(grades, rel))
    cutoff = cutoff_of(params)
    if params["norm"] == "relevant":
        divisor: float = num_rel
    elif params["norm"] == "cutoff":
        divisor = num_rel if cutoff is None else min(num_rel, cutoff)
    elif params["norm"] == "retrieved":
        divisor = hits
    else:
        heaviest_first = sorted((_weight(grades[d], params) for d in _relevant(grades, rel)), reverse=True)
        # all documents of the ideal list are relevant, so precision is 1 at each of its ranks
        divisor = sum(heaviest_first if cutoff is None else heaviest_first[:cutoff])
    return total / divisor if divisor else 0.0


def _coverage(grades: Grades, ranking: list[str], params: Params) -> float:
    for doc_id in _top(ranking, params):
        if _is_relevant(grades, doc_id, params["rel"]):
            return 1.0
    return 0.0


def _ap_sum(grades: Grades, ranking: list[str], params: Params) -> float:
    total = 0.0
    for rank, doc_id in enumerate(_top(ranking, params), 1):
        if _is_relevant(grades, doc_id, params["rel"]):
            total += _precision_at(grades, ranking, rank, params["rel"])
    return total


def _hits(grades: Grades, ranking: list[str], params: Params) -> int:
    return sum(_is_relevant(grades, doc_id, params["rel"]) for doc_id in _top(ranking, params))


def _list_ap(grades: Grades, ranking: list[str], params: Params) -> float:
    hits = _hits(grades, ranking, params)
    return _ap_sum(grades, ranking, params) / hits if hits else 0.0


def _ap(grades: Grades, ranking: list[str], params: Params) -> float:
    num_rel = len(_relevant(grades, params["rel"]))
    return _ap_sum(grades, ranking, params) / num_rel if num_rel else 0.0


def _mapped(grade: float, params: Params) -> float:
    gains = params.get("gains")
    return grade if gains is None or grade not in gains else float(gains[grade])


def _gain(grade: float, params: Params) -> float:
    grade = _mapped(grade, params)
    if grade <= 0:
        return 0.0
    return 2.0**grade - 1.0 if params["dcg"] == "exp-log2" else float(grade)


def _dcg(gains: list[float], cutoff: int | None) -> float:
    total = 0.0
    for rank, gain in enumerate(gains, 1):
        if cutoff is None or rank <= cutoff:
            total += gain / math.log2(rank + 1)
    return total


def _ndcg(grades: Grades, ranking: list[str], params: Params) -> float:
    cutoff = cutoff_of(params)
    gains = [_gain(grades[doc_id], params) if doc_id in grades else 0.0 for doc_id in ranking]
    ideal = _dcg(sorted((_gain(grade, params) for grade in grades.values()), reverse=True), cutoff)
    return _dcg(gains, cutoff) / ideal if ideal else 0.0


def _list_ndcg(grades: Grades, ranking: list[str], params: Params) -> float:
    cutoff = cutoff_of(params)
    gains = [_gain(grades[doc_id], params) if doc_id in grades else 0.0 for doc_id in ranking]
    ideal = _dcg(sorted(gains, reverse=True), cutoff)
    return _dcg(gains, cutoff) / ideal if ideal else 0.0


def _p(grades: Grades, ranking: list[str], params: Params) -> float:
    return _hits(grades, ranking, params) / params["cutoff"]  # type: ignore[no-any-return]  # an int


def _r(grades: Grades, ranking: list[str], params: Params) -> float:
    num_rel = len(_relevant(grades, params["rel"]))
    return _hits(grades, ranking, params) / num_rel if num_rel else 0.0


def _rr(grades: Grades, ranking: list[str], params: Params) -> float:
    for rank, doc_id in enumerate(_top(ranking, params), 1):
        if _is_relevant(grades, doc_id, params["rel"]):
            return 1 / rank
    return 0.0


def _rprec(grades: Grades, ranking: list[str], params: Params) -> float:
    num_rel = len(_relevant(grades, params["rel"]))
    return _precision_at(grades, ranking, num_rel, params["rel"]) if num_rel else 0.0


def _set_p(grades: Grades, ranking: list[str], params: Params) -> float:
    num_rel = len(_relevant(grades, params["rel"]))
    divisor = min(len(ranking), num_rel) if params["relative"] else len(ranking)
    return _hits(grades, ranking, params) / divisor if divisor else 0.0


def _set_f(grades: Grades, ranking: list[str], params: Params) -> float:
    precision = _set_p(grades, ranking, {**params, "relative": False})
    recall = _r(grades, ranking, params)
    # trec_eval's parameter weighs recall by itself, not by its square (m_set_F.c)
    x = params["beta"]
    return (x + 1) * precision * recall / (recall + x * precision) if precision and recall else 0.0


def _set_ap(grades: Grades, ranking: list[str], params: Params) -> float:
    return _set_p(grades, ranking, {**params, "relative": False}) * _r(grades, ranking, params)


_EPSILON = 0.00001
"""What infAP adds to both kinds of judged documents, so that no estimate is 0/0."""


def _inf_ap(grades: Grades, ranking: list[str], params: Params) -> float:
    rel = params["rel"]
    total = 0.0
    for place, doc_id in enumerate(ranking):
        if _is_relevant(grades, doc_id, rel):
            relevant = sum(_is_relevant(grades, other, rel) for other in ranking[:place])
            judged = relevant + _nonrelevant(grades, ranking[:place], rel)
            in_pool = sum(other in grades for other in ranking[:place])
            # of the documents above, those in the pool are relevant in the proportion of the judged ones
            expected = in_pool * (relevant + _EPSILON) / (judged + 2 * _EPSILON)
            total += (1 + expected) / (place + 1)
    num_rel = len(_relevant(grades, rel))
    return total / num_rel if num_rel else 0.0


def _iprec(grades: Grades, ranking: list[str], params: Params) -> float:
    # trec_eval 9.0.8: 0.9 more, then the decimals are cut off (m_iprec_at_recall.c)
    level = int(params["recall"] * len(_relevant(grades, params["rel"])) + 0.9)
    return _interpolated(grades, ranking, level, params["rel"])


def _num_rel(grades: Grades, ranking: list[str], params: Params) -> float:
    return float(len(_relevant(grades, params["rel"])) if ranking else 0)


def _num_q(grades: Grades, ranking: list[str], params: Params) -> float:  # noqa: ARG001  (one signature)
    return float(bool(ranking))


def _num_ret(grades: Grades, ranking: list[str], params: Params) -> float:
    return float(len(ranking) if params.get("rel") is None else _hits(grades, ranking, params))


def _interpolated(grades: Grades, ranking: list[str], level: int, rel: float) -> float:
    """Return the highest precision at any rank by which so many relevant documents are found."""
    best, hits = 0.0, 0
    for rank, doc_id in enumerate(ranking, 1):
        hits += _is_relevant(grades, doc_id, rel)
        if hits >= level:
            best = max(best, hits / rank)
    return best


def _half_up(exact: Fraction) -> int:
    return math.floor(exact + Fraction(1, 2))


def _iprec_nearest(grades: Grades, ranking: list[str], params: Params) -> float:
    num_rel = len(_relevant(grades, params["rel"]))
    # trec_eval multiplies doubles: 0.35 · 10 is 3.5 there, whatever 0.35 is exactly
    return _interpolated(grades, ranking, _half_up(Fraction(params["recall"] * num_rel)), params["rel"])


def _eleven_point_ap(grades: Grades, ranking: list[str], params: Params) -> float:
    num_rel = len(_relevant(grades, params["rel"]))
    total = 0.0
    for recall in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0):
        exact = recall * num_rel
        level = _half_up(Fraction(exact)) if params["rounding"] == "nearest" else math.floor(exact + 0.9)
        total += _interpolated(grades, ranking, level, params["rel"])
    return total / 11


def _rprec_mult(grades: Grades, ranking: list[str], params: Params) -> float:
    rank = math.floor(params["multiple"] * len(_relevant(grades, params["rel"])) + 0.9)
    return _precision_at(grades, ranking, rank, params["rel"]) if rank else 0.0


def _relative_p(grades: Grades, ranking: list[str], params: Params) -> float:
    most = min(params["cutoff"], len(_relevant(grades, params["rel"])))
    return _hits(grades, ranking, params) / most if most else 0.0


def _nonrelevant(grades: Grades, doc_ids: Iterable[str], rel: float) -> int:
    return sum(doc_id in grades and 0 <= grades[doc_id] < rel for doc_id in doc_ids)


def _bpref(grades: Grades, ranking: list[str], params: Params) -> float:
    rel = params["rel"]
    num_rel = len(_relevant(grades, rel))
    total = 0.0
    for place, doc_id in enumerate(ranking):
        if _is_relevant(grades, doc_id, rel):
            before = min(_nonrelevant(grades, ranking[:place], rel), num_rel)
            total += 1 - before / min(_nonrelevant(grades, grades, rel), num_rel) if before else 1
    return total / num_rel if num_rel else 0.0


def _num_nonrel_judged_ret(grades: Grades, ranking: list[str], params: Params) -> float:
    return float(_nonrelevant(grades, ranking, params["rel"]))


def _utility(grades: Grades, ranking: list[str], params: Params) -> float:
    if not ranking:
        return 0.0
    total = 0.0
    for doc_id in {*ranking, *_relevant(grades, params["rel"])}:
        relevant = _is_relevant(grades, doc_id, params["rel"])
        total += params["rel_missed" if doc_id not in ranking else "rel_ret" if relevant else "nonrel_ret"]
    return total


def _bin_g(grades: Grades, ranking: list[str], params: Params) -> float:
    num_rel = len(_relevant(grades, params["rel"]))
    total = 0.0
    for place, doc_id in enumerate(ranking):
        if _is_relevant(grades, doc_id, params["rel"]):
            others = sum(not _is_relevant(grades, before, params["rel"]) for before in ranking[:place])
            total += 1 / math.log2(2 + others)
    return total / num_rel if num_rel else 0.0


def _gained(grades: Grades, ranking: list[str]) -> tuple[list[float], list[float]]:
    """Return the grades of the list and of the ideal list; nothing is below 0."""
    ideal = sorted((grade for grade in grades.values() if grade > 0), reverse=True)
    return [float(max(grades.get(doc_id, 0), 0)) for doc_id in ranking], ideal


def _g(grades: Grades, ranking: list[str], params: Params) -> float:  # noqa: ARG001  (the signature of every measure)
    gains, ideal = _gained(grades, ranking)
    total = 0.0
    for rank, gain in enumerate(gains, 1):
        possible = sum(max(ideal[place] if place < len(ideal) else 0, 1) for place in range(rank))
        total += gain / math.log2(2 + possible - sum(gains[:rank]))
    return total / sum(ideal) if ideal else 0.0


def _r_ndcg(grades: Grades, ranking: list[str], params: Params) -> float:
    if not _relevant(grades, params["rel"]):
        return 0.0
    gains, ideal = _gained(grades, ranking)
    ends = [sum(gain >= grade for gain in ideal) for grade in set(ideal)]
    if ends and len(ranking) >= len(ideal) + 2:  # m_Rndcg.c: not where one document follows
        ends.append(len(ranking))
    return sum(_dcg(gains, end) / _dcg(ideal, end) for end in ends) / len(ends) if ends else 0.0


def _ndcg_rel(grades: Grades, ranking: list[str], params: Params) -> float:  # noqa: ARG001  (as above)
    gains, ideal = _gained(grades, ranking)
    values = [_dcg(gains, rank) / _dcg(ideal, rank) for rank, gain in enumerate(gains, 1) if gain]
    missing = len(ideal) - len(values)
    return (sum(values) + missing * _dcg(gains, None) / _dcg(ideal, None)) / len(ideal) if ideal else 0.0


def _rbp(grades: Grades, ranking: list[str], params: Params) -> float:
    total, chance = 0.0, 1.0
    highest = max(1, *grades.values()) if grades else 1
    for doc_id in _top(ranking, params):
        grade = grades.get(doc_id, 0)
        if params["rel"] is None:
            total += chance * max(grade, 0) / highest
        elif grade >= params["rel"]:
            total += chance
        chance *= params["p"]
    return float((1 - params["p"]) * total)


def _is_unjudged(grades: Grades, doc_id: str) -> bool:
    return grades.get(doc_id, -1) < 0


def _rbp_residual(grades: Grades, ranking: list[str], params: Params) -> float:
    total, chance = 0.0, 1.0
    for doc_id in ranking:
        if _is_unjudged(grades, doc_id):
            total += chance
        chance *= params["p"]
    # chance is now that of what comes after the end, which m_rbp_resid.c adds only to something
    return float((1 - params["p"]) * total + chance) if total else 0.0


def _unjudged(grades: Grades, ranking: list[str], params: Params) -> float:
    return sum(_is_unjudged(grades, doc_id) for doc_id in _top(ranking, params)) / int(params["cutoff"])


Definition = Callable[[Grades, list[str], Params], float]
"""A value of one query from its grades, the returned ids in order, and all parameters."""

_MEASURES: dict[str, Definition] = {
    "GWAP": _gwap,
    "Coverage": _coverage,
    "ListAP": _list_ap,
    "ListNDCG": _list_ndcg,
    "nDCG": _ndcg,
    "P": _p,
    "R": _r,
    "AP": _ap,
    "RR": _rr,
    "Success": _coverage,
    "Rprec": _rprec,
    "Bpref": _bpref,
    "infAP": _inf_ap,
    "IPrec": _iprec,
    "NumRel": _num_rel,
    "NumQ": _num_q,
    "SetP": _set_p,
    "SetR": _r,
    "SetF": _set_f,
    "SetAP": _set_ap,
    "NumRet": _num_ret,
    "BinG": _bin_g,
    "ElevenPointAP": _eleven_point_ap,
    "G": _g,
    "GMAP": _ap,
    "GMBpref": _bpref,
    "IPrecNearest": _iprec_nearest,
    "NumNonRelJudgedRet": _num_nonrel_judged_ret,
    "RBP": _rbp,
    "RBPResidual": _rbp_residual,
    "RelativeP": _relative_p,
    "RnDCG": _r_ndcg,
    "RprecMult": _rprec_mult,
    "Unjudged": _unjudged,
    "Utility": _utility,
    "nDCGRel": _ndcg_rel,
}


def written_out(definition: Definition, params: Params) -> Computation:
    """Return the computation of a definition for every query."""

    def compute(qrels: Qrels, run: Run) -> Values:
        values = {}
        for query_id, grades in qrels.items():
            ranking = trec_order(run.get(query_id, {}))
            if params.get("judged_only"):  # trec_eval -J: neither unjudged documents nor negative grades
                ranking = [doc_id for doc_id in ranking if doc_id in grades and _mapped(grades[doc_id], params) >= 0]
            values[query_id] = definition(grades, ranking, params)
        return values

    return Computation(compute, how="the definition")


def _find(name: str, params: Params) -> Computation | None:
    return written_out(_MEASURES[name], params) if name in _MEASURES else None


REFERENCES = (Reference("by_hand", package="", find=_find),)
