"""pytrec_eval, asked directly, on the run as it is: the order and arithmetic of trec_eval 9.0.8.

Where trec_eval lacks a measure of ours, it is asked for numbers from which the measure follows by plain arithmetic:
precision at every rank and level, recall, or nDCG over fewer judgements.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from importlib import import_module
from itertools import accumulate, pairwise
from operator import itemgetter
from typing import Any

from permed_measures.verification.references import Computation, Params, Qrels, Reference, Run, Values, whole_grades

_MAX_GAIN = 2**20  # trec_eval keeps an array as long as the highest grade
_MAX_LEVELS = 64
_BATCH = 256

_Answers = dict[str, dict[str, float]]


@cache
def own_evaluator() -> Any:  # noqa: ANN401  (pytrec_eval's class, untyped)
    """Return the class that pytrec_eval defines, also while another one is in its place; found once, and kept."""
    in_place = import_module("pytrec_eval").RelevanceEvaluator
    made_in_c = import_module("pytrec_eval_ext").RelevanceEvaluator
    for found in made_in_c.__subclasses__():
        if (found.__module__, found.__qualname__) == ("pytrec_eval", "RelevanceEvaluator"):
            return found
    raise RuntimeError(
        f"pytrec_eval.RelevanceEvaluator was replaced by {in_place!r}, and pytrec_eval's own class is gone; use "
        "permed_measures.install_pytrec_eval(), or import permed_measures.RelevanceEvaluator before you replace it"
    )


def _ask(qrels: Qrels, run: Run, names: Iterable[str], *, level: int = 1, judged_only: bool = False) -> _Answers:
    # trec_eval crashes on a query whose judgements are all negative: another document is judged not relevant there
    qrels = {
        query_id: {**judged, "\N{EMPTY SET}": 0} if judged and max(judged.values()) < 0 else judged
        for query_id, judged in qrels.items()
    }
    evaluator = own_evaluator()(qrels, set(names), relevance_level=level, judged_docs_only_flag=judged_only)
    answers: _Answers = evaluator.evaluate(run)
    return answers


def _thresholded(qrels: Qrels, rel: float) -> dict[str, dict[str, int]]:
    """Make grades 1 where they reach ``rel``; a negative one stays negative: to trec_eval it is not the same as 0."""
    return {
        query_id: {doc_id: 1 if grade >= rel else 0 if grade >= 0 else -1 for doc_id, grade in judged.items()}
        for query_id, judged in qrels.items()
    }


def _ask_binary(qrels: Qrels, run: Run, params: Params, names: Iterable[str], *, always: bool = False) -> _Answers:
    rel = params.get("rel", 1)
    judged_only = bool(params.get("judged_only", False))
    if always or not isinstance(rel, int) or not whole_grades(qrels):
        return _ask(_thresholded(qrels, rel), run, names, judged_only=judged_only)
    return _ask(qrels, run, names, level=rel, judged_only=judged_only)


def _too_high(qrels: Qrels, _: Run) -> str:
    highest = max((abs(grade) for judged in qrels.values() for grade in judged.values()), default=0)
    return f"grade {highest}: trec_eval keeps an array as long as the highest grade" if highest > _MAX_GAIN else ""


def _follows(  # noqa: PLR0913  (what is asked, how the value follows, and three that most leave out)
    names: Sequence[str],
    params: Params,
    value: Callable[[dict[str, float]], float],
    *,
    how: str = "",
    always: bool = False,
    filled: bool = False,
) -> Computation:
    """Ask for some numbers of each query, from which the measure follows; ``filled`` leaves empty lists out: 0/0."""

    def compute(qrels: Qrels, run: Run) -> Values:
        asked = {query_id: scores for query_id, scores in run.items() if scores} if filled else run
        answers = _ask_binary(qrels, asked, params, names, always=always)
        return {query_id: value(answer) for query_id, answer in answers.items()}

    return Computation(compute, how=how or names[0], refuses=_too_high)


def _binary(name: str, params: Params, *, key: str = "", always: bool = False, filled: bool = False) -> Computation:
    return _follows([name], params, itemgetter(key or name), always=always, filled=filled)


def _cut(stem: str, whole: str, params: Params) -> str:
    cutoff = params.get("cutoff")
    return whole if cutoff is None else f"{stem}_{cutoff}"


def _list_ap(params: Params) -> Computation:
    above, below = _cut("map_cut", "map", params), _cut("recall", "set_recall", params)
    how = f"{above} / {below}"
    return _follows([above, below], params, lambda found: found[below] and found[above] / found[below], how=how)


def _rr(params: Params) -> Computation:
    cutoff, name = params["cutoff"], "recip_rank"
    least, how = (0.0, name) if cutoff is None else (1 / cutoff, f"{name}, 0 below 1/{cutoff}")
    return _follows([name], params, lambda found: found[name] if found[name] >= least else 0.0, how=how)


def _coverage(params: Params) -> Computation:
    if params.get("cutoff") is not None:
        return _binary(f"success_{params.get('cutoff')}", params)
    return _follows(["num_rel_ret"], params, lambda found: float(found["num_rel_ret"] > 0), how="num_rel_ret > 0")


def _mapped(grade: float, params: Params) -> float:
    gains = params.get("gains")
    if gains is not None:
        grade = gains.get(grade, grade)
    return 2**grade - 1 if params["dcg"] == "exp-log2" and grade > 0 else grade


def _refuses_gains(params: Params) -> Callable[[Qrels, Run], str]:
    def refuses(qrels: Qrels, run: Run) -> str:  # noqa: ARG001  (the signature of every such check)
        grades = {grade for judged in qrels.values() for grade in judged.values()}
        wrong = [g for g in grades if not isinstance(g, int)]
        if wrong:
            return f"grade {wrong[0]}: pytrec_eval takes whole grades only"
        high = [g for g in grades if g > _MAX_GAIN or abs(_mapped(g, params)) > _MAX_GAIN]
        return f"grade {high[0]}: trec_eval keeps an array as long as the highest gain" if high else ""

    return refuses


def _ndcg(params: Params, *, returned_only: bool = False) -> Computation:
    name = _cut("ndcg_cut", "ndcg", params)

    def compute(qrels: Qrels, run: Run) -> Values:
        mapped = {
            query_id: {
                doc_id: _mapped(grade, params)
                for doc_id, grade in judged.items()
                if not returned_only or doc_id in run.get(query_id, {})
            }
            for query_id, judged in qrels.items()
        }
        answers = _ask(mapped, run, [name], judged_only=bool(params.get("judged_only", False)))
        # a query of which nothing judged was returned has no judgements left: pytrec_eval leaves it out
        empty = {q: 0.0 for q in qrels if q in run and not mapped[q]} if returned_only else {}
        return {**empty, **{query_id: answer[name] for query_id, answer in answers.items()}}

    how = f"{name} on gains 2^grade - 1" if params["dcg"] == "exp-log2" else name
    return Computation(
        compute,
        how=how + (", judgements of returned documents" if returned_only else ""),
        refuses=_refuses_gains(params),
    )


def _iprec(params: Params) -> Computation:
    two = f"{params['recall']:.2f}"  # as its answers are written, whatever was asked for
    asked = two if float(two) == params["recall"] else _digits(params["recall"])
    return _binary(f"iprec_at_recall_{asked}", params, key=f"iprec_at_recall_{two}")


def _digits(number: float) -> str:
    return f"{Decimal(repr(float(number))):f}"  # pytrec_eval takes 1e-05 for 1


def _num_ret(params: Params) -> Computation:
    if params.get("rel") is None:
        return Computation(_binary("num_ret", {"judged_only": params.get("judged_only")}).compute, how="num_ret")
    return _binary("num_rel_ret", params)


def _geometric(name: str, params: Params) -> Computation:
    """Undo the logarithm of a geometric mean; its least value, that of 0.00001, is what trec_eval makes of 0."""
    least = math.log(1e-5)
    return _follows(
        [name], params, lambda found: math.exp(found[name]) if found[name] > least else 0.0, how=f"exp({name})"
    )


def _graded(name: str, params: Params) -> Computation:
    """Ask for what looks at grades, which are whole: so is the lowest relevant one then."""

    def refuses(qrels: Qrels, run: Run) -> str:
        return _too_high(qrels, run) if whole_grades(qrels) else "pytrec_eval takes whole grades only"

    return replace(_binary(name, {**params, "rel": math.ceil(params.get("rel", 1))}), refuses=refuses)


def _utility(params: Params) -> Computation:
    rel_ret, nonrel_ret, rel_missed = (params[name] for name in ("rel_ret", "nonrel_ret", "rel_missed"))
    if (rel_ret, nonrel_ret, rel_missed) == (1, -1, 0):
        return _binary("utility", params, filled=True)

    def value(counts: dict[str, float]) -> float:
        found = counts["num_rel_ret"]
        others, missed = counts["num_ret"] - found, counts["num_rel"] - found
        return float(rel_ret * found + nonrel_ret * others + rel_missed * missed)

    names = ["num_rel_ret", "num_ret", "num_rel"]
    return _follows(names, params, value, how=", ".join(names), filled=True)


def _marks(qrels: Qrels, run: Run, depth: int | None, *, judged_only: bool) -> Iterator[tuple[str, list[bool]]]:
    """Yield, for each query, whether the document at each rank has the grade 1: from precision at every rank."""
    query_ids = [query_id for query_id in run if query_id in qrels]
    for start in range(0, len(query_ids), _BATCH):  # a thousand precisions for each of many queries fill the memory
        batch = {query_id: run[query_id] for query_id in query_ids[start : start + _BATCH]}
        names = [f"P_{rank}" for rank in range(1, (depth or max(map(len, batch.values()), default=1) or 1) + 1)]
        for query_id, answer in _ask(qrels, batch, names, judged_only=judged_only).items():
            found = [0, *(round(answer[name] * rank) for rank, name in enumerate(names, 1))]
            yield query_id, [after > before for before, after in pairwise(found)][: len(batch[query_id])]


def _from_levels(
    params: Params, levels: Callable[[set[float]], Iterable[float]], value: Callable[[list[float], list[float]], float]
) -> Computation:
    """Compute a value from the highest of some levels that the document at each rank reaches, and from all grades."""

    def wanted(qrels: Qrels) -> list[float]:
        return sorted(levels({grade for judged in qrels.values() for grade in judged.values()}))

    def compute(qrels: Qrels, run: Run) -> Values:
        lists: dict[str, list[float]] = {}
        judged_only = bool(params.get("judged_only"))
        for level in wanted(qrels) or [1]:
            judged = _thresholded(qrels, level)
            for query_id, marks in _marks(judged, run, params.get("cutoff"), judged_only=judged_only):
                below = lists.get(query_id, [-math.inf] * len(marks))
                lists[query_id] = [level if mark else lower for mark, lower in zip(marks, below, strict=True)]
        return {query_id: value(reached, list(qrels[query_id].values())) for query_id, reached in lists.items()}

    def refuses(qrels: Qrels, run: Run) -> str:  # noqa: ARG001  (the signature of every such check)
        found = len(wanted(qrels))
        return f"{found} different grades: more than {_MAX_LEVELS} passes of pytrec_eval" if found > _MAX_LEVELS else ""

    return Computation(compute, how="P at every rank and grade", refuses=refuses)


def _gwap(params: Params) -> Computation:
    rel, weights = params["rel"], params["weights"]

    def weight(grade: float) -> float:
        return float(grade / params["max_rel"] if weights is None else weights[grade])

    def value(reached: list[float], judged: list[float]) -> float:
        found = [(rank, grade) for rank, grade in enumerate(reached, 1) if grade >= rel]
        total = sum(place / rank * weight(grade) for place, (rank, grade) in enumerate(found, 1))
        relevant = [grade for grade in judged if grade >= rel]
        divisor: dict[str, float] = {
            "relevant": len(relevant),
            "cutoff": len(relevant[: params.get("cutoff")]),
            "retrieved": len(found),
            "ideal": sum(sorted(map(weight, relevant), reverse=True)[: params.get("cutoff")]),
        }
        return total / divisor[params["norm"]] if divisor[params["norm"]] else 0.0

    if params["max_rel"] == 1 and weights is None and rel == 1 and params["norm"] == "relevant":
        return _binary(_cut("map_cut", "map", params), params)
    return _from_levels(params, lambda grades: (grade for grade in grades if grade >= rel), value)


def _rbp(params: Params) -> Computation:
    p, rel = params["p"], params["rel"]

    def value(reached: list[float], judged: list[float]) -> float:
        highest = max(1, *judged) if rel is None else rel
        return float((1 - p) * sum(p**place * max(grade, 0) / highest for place, grade in enumerate(reached)))

    return _from_levels(params, lambda grades: (g for g in grades if g > 0) if rel is None else [rel], value)


def _iprec_nearest(params: Params, recalls: Sequence[float]) -> Computation:
    """Average interpolated precision over levels of recall, rounded to the nearest number of documents."""

    def value(reached: list[float], judged: list[float]) -> float:
        num_rel = sum(grade >= params["rel"] for grade in judged)
        precisions = [(hits, hits / rank) for rank, hits in enumerate(accumulate(g > 0 for g in reached), 1)]
        total = 0.0
        for recall in recalls:
            level = Decimal(recall * num_rel).to_integral_value(ROUND_HALF_UP)
            total += max([precision for hits, precision in precisions if hits >= level], default=0.0)
        return total / len(recalls)

    return _from_levels(params, lambda _: [params["rel"]], value)


def _eleven_point(params: Params) -> Computation:
    if params["rounding"] == "up":
        return _binary("11pt_avg", params, filled=True)
    return _iprec_nearest(params, [tenths / 10 for tenths in range(11)])


def _rbp_residual(params: Params) -> Computation:
    def value(reached: list[float], _: list[float]) -> float:
        known = sum(params["p"] ** place for place, grade in enumerate(reached) if grade >= 0)
        return float(1 - (1 - params["p"]) * known) if min(reached, default=0) < 0 else 0.0

    return _from_levels(params, lambda _: [0], value)


def _unjudged(params: Params) -> Computation:
    cutoff = params["cutoff"]
    return _from_levels(params, lambda _: [0], lambda reached, _: sum(g < 0 for g in reached[:cutoff]) / cutoff)


_MEASURES: dict[str, Callable[[Params], Computation]] = {
    "GWAP": _gwap,
    "Coverage": _coverage,
    "ListAP": _list_ap,
    "ListNDCG": lambda p: _ndcg(p, returned_only=True),
    "nDCG": _ndcg,
    "P": lambda p: _binary(f"P_{p['cutoff']}", p),
    "R": lambda p: _binary(f"recall_{p['cutoff']}", p),
    "AP": lambda p: _binary(_cut("map_cut", "map", p), p),
    "RR": _rr,
    "Success": lambda p: _binary(f"success_{p['cutoff']}", p),
    "Rprec": lambda p: _binary("Rprec", p),
    "Bpref": lambda p: _binary("bpref", p),
    "infAP": lambda p: _binary("infAP", p),
    "IPrec": _iprec,
    "SetP": lambda p: _binary("set_relative_P" if p["relative"] else "set_P", p),
    "SetR": lambda p: _binary("set_recall", p),
    "SetF": lambda p: _binary("set_F" if p["beta"] == 1 else f"set_F_{_digits(p['beta'])}", p, key="set_F"),
    "SetAP": lambda p: _binary("set_map", p),
    "NumRet": _num_ret,
    "NumRel": lambda p: _binary("num_rel", p, always=True),
    "NumQ": lambda p: _binary("num_q", p),
    "BinG": lambda p: _binary("binG", p),
    "ElevenPointAP": _eleven_point,
    "G": lambda p: _graded("G", p),
    "GMAP": lambda p: _geometric("gm_map", p),
    "GMBpref": lambda p: _geometric("gm_bpref", p),
    "IPrecNearest": lambda p: _iprec_nearest(p, [p["recall"]]),
    "NumNonRelJudgedRet": lambda p: _binary("num_nonrel_judged_ret", p),
    "RBP": _rbp,
    "RBPResidual": _rbp_residual,
    "RelativeP": lambda p: _binary(f"relative_P_{p['cutoff']}", p),
    "RnDCG": lambda p: _graded("Rndcg", p),
    "RprecMult": lambda p: _binary(f"Rprec_mult_{p['multiple']:.2f}", p, filled=True),
    "Unjudged": _unjudged,
    "Utility": _utility,
    "nDCGRel": lambda p: _graded("ndcg_rel", p),
}


def _find(name: str, params: Params) -> Computation | None:
    return _MEASURES[name](params) if name in _MEASURES else None


_PUBLISHED = ("pytrec-eval-terrier", "pytrec_eval")
REFERENCES = (Reference("pytrec_eval", "pytrec_eval", _find, str, "pytrec_eval", _PUBLISHED, ("0.5.6", "0.6")),)
