"""The definitions, written out as slow and obvious loops. They share nothing with the kernels they check."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from permed_measures.verification.references import Computation, Grades, Params, Qrels, Reference, Run, trec_order


@dataclass(frozen=True)
class _List:
    """The grades of one query, the returned ids in order, and all parameters, which are read as ``q["rel"]``."""

    grades: Grades
    ranking: list[str]
    params: Params

    def __getitem__(self, param: str) -> Any:  # noqa: ANN401  (of the parameter's own type)
        return self.params[param]

    @property
    def top(self) -> list[str]:
        return self.ranking[: self.params.get("cutoff")]

    def is_relevant(self, doc_id: str) -> bool:
        return doc_id in self.grades and self.grades[doc_id] >= self["rel"]

    @property
    def relevant(self) -> list[str]:
        return [doc_id for doc_id in self.grades if self.is_relevant(doc_id)]

    @property
    def num_rel(self) -> int:
        return len(self.relevant)

    @property
    def found(self) -> list[tuple[int, str]]:
        """The relevant documents in the top, with their ranks."""
        return [(rank, doc_id) for rank, doc_id in enumerate(self.top, 1) if self.is_relevant(doc_id)]

    @property
    def hits(self) -> int:
        return len(self.found)

    def precision_at(self, rank: int) -> float:
        hits = 0
        for doc_id in self.ranking[:rank]:
            if self.is_relevant(doc_id):
                hits += 1
        return _share(hits, rank)

    @property
    def precisions(self) -> float:
        """The precisions at the ranks of the relevant documents in the top, summed."""
        return sum(self.precision_at(rank) for rank, _ in self.found)

    def interpolated(self, level: int) -> float:
        """Return the highest precision at any rank by which so many relevant documents are found."""
        best, hits = 0.0, 0
        for rank, doc_id in enumerate(self.ranking, 1):
            hits += self.is_relevant(doc_id)
            if hits >= level:
                best = max(best, hits / rank)
        return best

    def nonrelevant(self, doc_ids: Iterable[str]) -> int:
        return sum(doc_id in self.grades and 0 <= self.grades[doc_id] < self["rel"] for doc_id in doc_ids)

    def is_unjudged(self, doc_id: str) -> bool:
        return self.grades.get(doc_id, -1) < 0

    @property
    def positive(self) -> tuple[list[float], list[float]]:
        """The grades of the list and of the ideal list; nothing is below 0."""
        ideal = sorted((grade for grade in self.grades.values() if grade > 0), reverse=True)
        return [float(max(self.grades.get(doc_id, 0), 0)) for doc_id in self.ranking], ideal


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _gwap(q: _List) -> float:
    def weight(doc_id: str) -> float:
        grade, weights = q.grades[doc_id], q["weights"]
        return float(grade / q["max_rel"] if weights is None else weights[grade])

    cutoff = q.params.get("cutoff")
    divisor: dict[str, float] = {
        "relevant": q.num_rel,
        "cutoff": len(q.relevant[:cutoff]),
        "retrieved": q.hits,
        # all documents of the ideal list are relevant, so precision is 1 at each of its ranks
        "ideal": sum(sorted(map(weight, q.relevant), reverse=True)[:cutoff]),
    }
    return _share(sum(q.precision_at(rank) * weight(doc_id) for rank, doc_id in q.found), divisor[q["norm"]])


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
    for rank, gain in enumerate(gains[:cutoff], 1):
        total += gain / math.log2(rank + 1)
    return total


def _ndcg(q: _List, *, among_returned: bool = False) -> float:
    gains = [_gain(q.grades[doc_id], q.params) if doc_id in q.grades else 0.0 for doc_id in q.ranking]
    possible = gains if among_returned else [_gain(grade, q.params) for grade in q.grades.values()]
    cutoff = q.params.get("cutoff")
    return _share(_dcg(gains, cutoff), _dcg(sorted(possible, reverse=True), cutoff))


def _set_p(q: _List) -> float:
    return _share(q.hits, min(len(q.ranking), q.num_rel) if q.params.get("relative") else len(q.ranking))


def _set_f(q: _List) -> float:
    precision, recall = _set_p(q), _share(q.hits, q.num_rel)
    # trec_eval's parameter weighs recall by itself, not by its square (m_set_F.c)
    x = float(q["beta"])
    return _share((x + 1) * precision * recall, recall + x * precision)


_EPSILON = 0.00001
"""What infAP adds to both kinds of judged documents, so that no estimate is 0/0."""


def _inf_ap(q: _List) -> float:
    total = 0.0
    for rank, _ in q.found:
        above = q.ranking[: rank - 1]
        relevant = sum(map(q.is_relevant, above))
        judged = relevant + q.nonrelevant(above)
        in_pool = sum(other in q.grades for other in above)
        # of the documents above, those in the pool are relevant in the proportion of the judged ones
        expected = in_pool * (relevant + _EPSILON) / (judged + 2 * _EPSILON)
        total += (1 + expected) / rank
    return _share(total, q.num_rel)


def _up(q: _List, recall: float) -> int:
    # trec_eval 9.0.8: 0.9 more, then the decimals are cut off (m_iprec_at_recall.c)
    return int(recall * q.num_rel + 0.9)


def _nearest(q: _List, recall: float) -> int:
    # trec_eval multiplies doubles: 0.35 · 10 is 3.5 there, whatever 0.35 is exactly
    return math.floor(Fraction(recall * q.num_rel) + Fraction(1, 2))


def _eleven_point_ap(q: _List) -> float:
    level = _nearest if q["rounding"] == "nearest" else _up
    total = 0.0
    for recall in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0):
        total += q.interpolated(level(q, recall))
    return total / 11


def _bpref(q: _List) -> float:
    total = 0.0
    for rank, _ in q.found:
        before = min(q.nonrelevant(q.ranking[: rank - 1]), q.num_rel)
        total += 1 - before / min(q.nonrelevant(q.grades), q.num_rel) if before else 1
    return _share(total, q.num_rel)


def _utility(q: _List) -> float:
    total = 0.0
    for doc_id in {*q.ranking, *q.relevant} if q.ranking else ():
        relevant = q.is_relevant(doc_id)
        total += q["rel_missed" if doc_id not in q.ranking else "rel_ret" if relevant else "nonrel_ret"]
    return total


def _bin_g(q: _List) -> float:
    total = 0.0
    for rank, _ in q.found:
        others = sum(not q.is_relevant(before) for before in q.ranking[: rank - 1])
        total += 1 / math.log2(2 + others)
    return _share(total, q.num_rel)


def _g(q: _List) -> float:
    gains, ideal = q.positive
    total = 0.0
    for rank, gain in enumerate(gains, 1):
        possible = sum(max(ideal[place] if place < len(ideal) else 0, 1) for place in range(rank))
        total += gain / math.log2(2 + possible - sum(gains[:rank]))
    return _share(total, sum(ideal))


def _r_ndcg(q: _List) -> float:
    gains, ideal = q.positive
    ends = [sum(gain >= grade for gain in ideal) for grade in set(ideal)] if q.relevant else []
    if ends and len(q.ranking) >= len(ideal) + 2:  # m_Rndcg.c: not where one document follows
        ends.append(len(q.ranking))
    return _share(sum(_dcg(gains, end) / _dcg(ideal, end) for end in ends), len(ends))


def _ndcg_rel(q: _List) -> float:
    gains, ideal = q.positive
    values = [_dcg(gains, rank) / _dcg(ideal, rank) for rank, gain in enumerate(gains, 1) if gain]
    missing = len(ideal) - len(values)
    return (sum(values) + missing * _dcg(gains, None) / _dcg(ideal, None)) / len(ideal) if ideal else 0.0


def _rbp(q: _List) -> float:
    total, chance = 0.0, 1.0
    highest = max(1, *q.grades.values()) if q.grades else 1
    for doc_id in q.top:
        grade = q.grades.get(doc_id, 0)
        if q["rel"] is None:
            total += chance * max(grade, 0) / highest
        elif grade >= q["rel"]:
            total += chance
        chance *= q["p"]
    return float((1 - q["p"]) * total)


def _rbp_residual(q: _List) -> float:
    total, chance = 0.0, 1.0
    for doc_id in q.ranking:
        if q.is_unjudged(doc_id):
            total += chance
        chance *= q["p"]
    # chance is now that of what comes after the end, which m_rbp_resid.c adds only to something
    return float((1 - q["p"]) * total + chance) if total else 0.0


_MEASURES: dict[str, Callable[[_List], float]] = {
    "GWAP": _gwap,
    "Coverage": lambda q: 1.0 if q.found else 0.0,
    "ListAP": lambda q: _share(q.precisions, q.hits),
    "ListNDCG": lambda q: _ndcg(q, among_returned=True),
    "nDCG": _ndcg,
    "P": lambda q: q.hits / q["cutoff"],
    "R": lambda q: _share(q.hits, q.num_rel),
    "AP": lambda q: _share(q.precisions, q.num_rel),
    "RR": lambda q: 1 / q.found[0][0] if q.found else 0.0,
    "Success": lambda q: 1.0 if q.found else 0.0,
    "Rprec": lambda q: q.precision_at(q.num_rel),
    "Bpref": _bpref,
    "infAP": _inf_ap,
    "IPrec": lambda q: q.interpolated(_up(q, q["recall"])),
    "NumRel": lambda q: float(q.num_rel if q.ranking else 0),
    "NumQ": lambda q: float(bool(q.ranking)),
    "SetP": _set_p,
    "SetR": lambda q: _share(q.hits, q.num_rel),
    "SetF": _set_f,
    "SetAP": lambda q: _set_p(q) * _share(q.hits, q.num_rel),
    "NumRet": lambda q: float(len(q.ranking) if q["rel"] is None else q.hits),
    "BinG": _bin_g,
    "ElevenPointAP": _eleven_point_ap,
    "G": _g,
    "GMAP": lambda q: _share(q.precisions, q.num_rel),
    "GMBpref": _bpref,
    "IPrecNearest": lambda q: q.interpolated(_nearest(q, q["recall"])),
    "NumNonRelJudgedRet": lambda q: float(q.nonrelevant(q.ranking)),
    "RBP": _rbp,
    "RBPResidual": _rbp_residual,
    "RelativeP": lambda q: _share(q.hits, min(q["cutoff"], q.num_rel)),
    "RnDCG": _r_ndcg,
    "RprecMult": lambda q: q.precision_at(_up(q, q["multiple"])),
    "Unjudged": lambda q: sum(map(q.is_unjudged, q.top)) / q["cutoff"],
    "Utility": _utility,
    "nDCGRel": _ndcg_rel,
}

Definition = Callable[[Grades, list[str], Params], float]
"""A value of one query from its grades, the returned ids in order, and all parameters."""


def written_out(definition: Definition, params: Params) -> Computation:
    """Return the computation of a definition for every query."""

    def compute(qrels: Qrels, run: Run) -> dict[str, float]:
        values = {}
        for query_id, grades in qrels.items():
            ranking = trec_order(run.get(query_id, {}))
            if params.get("judged_only"):  # trec_eval -J: neither unjudged documents nor negative grades
                ranking = [doc_id for doc_id in ranking if doc_id in grades and _mapped(grades[doc_id], params) >= 0]
            values[query_id] = definition(grades, ranking, params)
        return values

    return Computation(compute, how="the definition")


def _find(name: str, params: Params) -> Computation | None:
    return written_out(lambda *given: _MEASURES[name](_List(*given)), params) if name in _MEASURES else None


REFERENCES = (Reference("by_hand", package="", find=_find),)
