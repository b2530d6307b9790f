"""pytrec_eval, asked directly, on the run as it is: the order and arithmetic of trec_eval 9.0.8.

Where trec_eval lacks a measure of ours, it is asked for numbers from which the measure follows by plain arithmetic:
precision at every rank and level, recall, or nDCG over fewer judgements.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from importlib import import_module
from itertools import accumulate, pairwise
from typing import Any

from permed_measures.verification.references.reference import (
    Computation,
    Params,
    Qrels,
    Reference,
    Run,
    Values,
    cutoff_of,
    takes_all,
    whole_grades,
)

_MAX_GAIN = 2**20
"""trec_eval keeps an array as long as the highest grade."""
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
    msg = (
        f"pytrec_eval.RelevanceEvaluator was replaced by {in_place!r}, and pytrec_eval's own class is gone; use "
        "permed_measures.install_pytrec_eval(), or import permed_measures.RelevanceEvaluator before you replace it"
    )
    raise RuntimeError(msg)


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
    """Make grades 1 where they reach ``rel``; a negative one stays negative: trec_eval treats it unlike 0."""
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


def _too_high(qrels: Qrels, run: Run) -> str:  # noqa: ARG001  (the signature of every such check)
    highest = max((abs(grade) for judged in qrels.values() for grade in judged.values()), default=0)
    return f"grade {highest}: trec_eval keeps an array as long as the highest grade" if highest > _MAX_GAIN else ""


def _binary(name: str, params: Params, *, key: str = "", always: bool = False) -> Computation:
    def compute(qrels: Qrels, run: Run) -> Values:
        answers = _ask_binary(qrels, run, params, [name], always=always)
        return {query_id: answer[key or name] for query_id, answer in answers.items()}

    return Computation(compute, how=name, refuses=_too_high)


def _ratio(above: str, below: str, params: Params) -> Computation:
    def compute(qrels: Qrels, run: Run) -> Values:
        answers = _ask_binary(qrels, run, params, [above, below])
        return {q: answer[above] / answer[below] if answer[below] else 0.0 for q, answer in answers.items()}

    return Computation(compute, how=f"{above} / {below}", refuses=_too_high)


def _cut(stem: str, whole: str, cutoff: int | None) -> str:
    return whole if cutoff is None else f"{stem}_{cutoff}"


def _rr(params: Params) -> Computation:
    cutoff = cutoff_of(params)
    if cutoff is None:
        return _binary("recip_rank", params)

    def compute(qrels: Qrels, run: Run) -> Values:
        answers = _ask_binary(qrels, run, params, ["recip_rank"])
        values = {query_id: answer["recip_rank"] for query_id, answer in answers.items()}
        return {query_id: value if value >= 1 / cutoff else 0.0 for query_id, value in values.items()}

    return Computation(compute, how=f"recip_rank, 0 below 1/{cutoff}", refuses=_too_high)


def _coverage(params: Params) -> Computation:
    cutoff = cutoff_of(params)
    if cutoff is not None:
        return _binary(f"success_{cutoff}", params)

    def compute(qrels: Qrels, run: Run) -> Values:
        answers = _ask_binary(qrels, run, params, ["num_rel_ret"])
        return {query_id: float(answer["num_rel_ret"] > 0) for query_id, answer in answers.items()}

    return Computation(compute, how="num_rel_ret > 0", refuses=_too_high)


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
    name = _cut("ndcg_cut", "ndcg", cutoff_of(params))

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


def _gwap(params: Params) -> Computation:
    """Precision at every rank and level of grade: from it the list of grades follows, and so does the sum."""
    rel = params["rel"]

    def levels(qrels: Qrels) -> list[float]:
        return sorted({grade for judged in qrels.values() for grade in judged.values() if grade >= rel})

    def refuses(qrels: Qrels, run: Run) -> str:  # noqa: ARG001  (the signature of every such check)
        found = len(levels(qrels))
        return f"{found} different grades: more than {_MAX_LEVELS} passes of pytrec_eval" if found > _MAX_LEVELS else ""

    def compute(qrels: Qrels, run: Run) -> Values:
        found = levels(qrels)
        code = {grade: place for place, grade in enumerate(found, 1)}
        coded = {q: {d: code.get(grade, 0) for d, grade in judged.items()} for q, judged in qrels.items()}
        weights = [_weight(grade, params) for grade in found]
        values: Values = {}
        for batch in _batches(coded, run):
            depth = cutoff_of(params) or max(map(len, batch.values()), default=1) or 1
            names = [f"P_{rank}" for rank in range(1, depth + 1)]
            by_level = [_ask(coded, batch, names, level=place) for place in range(1, max(len(found), 1) + 1)]
            for query_id in by_level[0]:
                precision = [[answers[query_id][name] for name in names] for answers in by_level]
                of_query = [grade for grade in qrels[query_id].values() if grade >= rel]
                values[query_id] = _from_precision(precision, weights, of_query, params)
        return values

    if params["max_rel"] == 1 and params["weights"] is None and rel == 1 and params["norm"] == "relevant":
        return _binary(_cut("map_cut", "map", cutoff_of(params)), params)
    return Computation(compute, how="P at every rank and grade", refuses=refuses)


def _batches(qrels: Qrels, run: Run) -> Iterator[dict[str, Any]]:
    # a thousand precisions for each of many queries would fill the memory
    query_ids = [query_id for query_id in run if query_id in qrels]
    for start in range(0, len(query_ids), _BATCH):
        yield {query_id: run[query_id] for query_id in query_ids[start : start + _BATCH]}


def _weight(grade: float, params: Params) -> float:
    weights = params["weights"]
    return float(grade / params["max_rel"] if weights is None else weights[grade])


def _from_precision(precision: list[list[float]], weights: list[float], grades: list[float], params: Params) -> float:
    total = 0.0
    found = [[round(value * rank) for rank, value in enumerate(values, 1)] for values in precision]
    for place, value in enumerate(precision[0]):
        new = [counts[place] - (counts[place - 1] if place else 0) for counts in found]
        if new[0]:
            total += value * weights[sum(new) - 1]
    cutoff = cutoff_of(params)
    reachable = len(grades) if cutoff is None else min(len(grades), cutoff)
    divisor: dict[str, float] = {
        "relevant": len(grades),
        "cutoff": reachable,
        "retrieved": found[0][-1],
        "ideal": sum(sorted((_weight(grade, params) for grade in grades), reverse=True)[:reachable]),
    }
    return total / divisor[params["norm"]] if divisor[params["norm"]] else 0.0


def _set_f(params: Params) -> Computation:
    return _binary("set_F" if params["beta"] == 1 else f"set_F_{_digits(params['beta'])}", params, key="set_F")


def _iprec(params: Params) -> Computation:
    two = f"{params['recall']:.2f}"  # as its answers are written, whatever was asked for
    asked = two if float(two) == params["recall"] else _digits(params["recall"])
    return _binary(f"iprec_at_recall_{asked}", params, key=f"iprec_at_recall_{two}")


def _digits(number: float) -> str:
    return f"{Decimal(repr(float(number))):f}"  # pytrec_eval takes 1e-05 for 1


def _num_ret(params: Params) -> Computation:
    if params.get("rel") is None:
        return Computation(_binary("num_ret", {}).compute, how="num_ret", refuses=takes_all)
    return _binary("num_rel_ret", params)


def _of_lists(name: str, params: Params) -> Computation:
    """Ask for a measure that is 0/0 of an empty list: such lists are left out."""

    def compute(qrels: Qrels, run: Run) -> Values:
        return _binary(name, params).compute(qrels, {query_id: scores for query_id, scores in run.items() if scores})

    return Computation(compute, how=name, refuses=_too_high)


def _geometric(name: str, params: Params) -> Computation:
    """Undo the logarithm of a geometric mean; its least value, that of 0.00001, is what trec_eval makes of 0."""

    def compute(qrels: Qrels, run: Run) -> Values:
        logarithms = _binary(name, params).compute(qrels, run)
        return {q: 0.0 if value <= math.log(1e-5) else math.exp(value) for q, value in logarithms.items()}

    return Computation(compute, how=f"exp({name})", refuses=_too_high)


def _graded(name: str, rel: float = 1) -> Computation:
    def compute(qrels: Qrels, run: Run) -> Values:
        return {query_id: answer[name] for query_id, answer in _ask(qrels, run, [name], level=math.ceil(rel)).items()}

    def refuses(qrels: Qrels, run: Run) -> str:
        return _too_high(qrels, run) if whole_grades(qrels) else "pytrec_eval takes whole grades only"

    return Computation(compute, how=name, refuses=refuses)


def _utility(params: Params) -> Computation:
    worth = params["rel_ret"], params["nonrel_ret"], params["rel_missed"]
    if worth == (1, -1, 0):
        return _of_lists("utility", params)

    def compute(qrels: Qrels, run: Run) -> Values:
        returned = {query_id: scores for query_id, scores in run.items() if scores}
        answers = _ask_binary(qrels, returned, params, ["num_ret", "num_rel", "num_rel_ret"])
        values = {}
        for query_id, answer in answers.items():
            found = answer["num_rel_ret"]
            counts = found, answer["num_ret"] - found, answer["num_rel"] - found
            values[query_id] = float(sum(each * count for each, count in zip(worth, counts, strict=True)))
        return values

    return Computation(compute, how="num_rel_ret, num_ret, num_rel", refuses=_too_high)


def _marks(qrels: Qrels, run: Run, *, judged_only: bool = False) -> Iterator[tuple[str, list[bool]]]:
    """Yield, for each query, whether the document at each rank has the grade 1: from precision at every rank."""
    for batch in _batches(qrels, run):
        names = [f"P_{rank}" for rank in range(1, max(map(len, batch.values()), default=1) + 1)]
        for query_id, answer in _ask(qrels, batch, names, judged_only=judged_only).items():
            found = [0, *(round(answer[name] * rank) for rank, name in enumerate(names, 1))]
            yield query_id, [after > before for before, after in pairwise(found)]


def _iprec_nearest(params: Params, recalls: Sequence[float]) -> Computation:
    """Average interpolated precision over levels of recall, rounded to the nearest number of documents."""

    def compute(qrels: Qrels, run: Run) -> Values:
        binary = _thresholded(qrels, params["rel"])
        values: Values = {}
        for query_id, marks in _marks(binary, run, judged_only=params.get("judged_only", False)):
            num_rel = sum(grade == 1 for grade in binary[query_id].values())
            found = list(accumulate(marks, initial=0))[1:]
            values[query_id] = 0.0
            for recall in recalls:
                level = Decimal(recall * num_rel).to_integral_value(ROUND_HALF_UP)
                precisions = [hits / rank for rank, hits in enumerate(found, 1) if hits >= level]
                values[query_id] += max(precisions, default=0.0) / len(recalls)
        return values

    return Computation(compute, how="P at every rank", refuses=_too_high)


def _eleven_point(params: Params) -> Computation:
    if params["rounding"] == "up":
        return _of_lists("11pt_avg", params)
    return _iprec_nearest(params, [tenths / 10 for tenths in range(11)])


def _rbp(params: Params) -> Computation:
    """Sum the steps between levels that a grade is made of, and what each of them gains."""
    p, rel, cutoff = params["p"], params["rel"], cutoff_of(params)

    def compute(qrels: Qrels, run: Run) -> Values:
        grades = {grade for judged in qrels.values() for grade in judged.values() if grade > 0}
        levels = [rel] if rel is not None else sorted(grades)
        values = {query_id: 0.0 for query_id in run if qrels.get(query_id)}
        below: float = 0
        for level in levels:
            for query_id, marks in _marks(_thresholded(qrels, level), run):
                step = 1 if rel is not None else (level - below) / max(1, *qrels[query_id].values())
                chances = [p**place for place, mark in enumerate(marks[:cutoff]) if mark]
                values[query_id] += (1 - p) * step * sum(chances)
            below = level
        return values

    def refuses(qrels: Qrels, run: Run) -> str:  # noqa: ARG001  (the signature of every such check)
        found = len({grade for judged in qrels.values() for grade in judged.values()})
        many = rel is None and found > _MAX_LEVELS
        return f"{found} different grades: more than {_MAX_LEVELS} passes of pytrec_eval" if many else ""

    return Computation(compute, how="P at every rank and grade", refuses=refuses)


def _unjudged(value: Callable[[list[bool]], float]) -> Computation:
    """Compute something from the marks of a list's judged documents, told by precision where all of them are wanted."""

    def compute(qrels: Qrels, run: Run) -> Values:
        judged = {q: {d: int(grade >= 0) for d, grade in of_query.items()} for q, of_query in qrels.items()}
        return {query_id: value(marks[: len(run[query_id])]) for query_id, marks in _marks(judged, run)}

    return Computation(compute, how="P of all judged documents")


def _rbp_residual(params: Params) -> Computation:
    p = params["p"]

    def value(judged: list[bool]) -> float:
        known = (1 - p) * sum(p**place for place, mark in enumerate(judged) if mark)
        return 0.0 if all(judged) else 1 - known

    return _unjudged(value)


_MEASURES: dict[str, Callable[[Params], Computation]] = {
    "GWAP": _gwap,
    "Coverage": _coverage,
    "ListAP": lambda p: _ratio(_cut("map_cut", "map", cutoff_of(p)), _cut("recall", "set_recall", cutoff_of(p)), p),
    "ListNDCG": lambda p: _ndcg(p, returned_only=True),
    "nDCG": _ndcg,
    "P": lambda p: _binary(f"P_{p['cutoff']}", p),
    "R": lambda p: _binary(f"recall_{p['cutoff']}", p),
    "AP": lambda p: _binary(_cut("map_cut", "map", cutoff_of(p)), p),
    "RR": _rr,
    "Success": lambda p: _binary(f"success_{p['cutoff']}", p),
    "Rprec": lambda p: _binary("Rprec", p),
    "Bpref": lambda p: _binary("bpref", p),
    "infAP": lambda p: _binary("infAP", p),
    "IPrec": _iprec,
    "SetP": lambda p: _binary("set_relative_P" if p["relative"] else "set_P", p),
    "SetR": lambda p: _binary("set_recall", p),
    "SetF": _set_f,
    "SetAP": lambda p: _binary("set_map", p),
    "NumRet": _num_ret,
    "NumRel": lambda p: _binary("num_rel", p, always=True),
    "NumQ": lambda p: _binary("num_q", p),
    "BinG": lambda p: _binary("binG", p),
    "ElevenPointAP": _eleven_point,
    "G": lambda _: _graded("G"),
    "GMAP": lambda p: _geometric("gm_map", p),
    "GMBpref": lambda p: _geometric("gm_bpref", p),
    "IPrecNearest": lambda p: _iprec_nearest(p, [p["recall"]]),
    "NumNonRelJudgedRet": lambda p: _binary("num_nonrel_judged_ret", p),
    "RBP": _rbp,
    "RBPResidual": _rbp_residual,
    "RelativeP": lambda p: _binary(f"relative_P_{p['cutoff']}", p),
    "RnDCG": lambda p: _graded("Rndcg", p["rel"]),
    "RprecMult": lambda p: _of_lists(f"Rprec_mult_{p['multiple']:.2f}", p),
    "Unjudged": lambda p: _unjudged(lambda judged: judged[: p["cutoff"]].count(False) / p["cutoff"]),
    "Utility": _utility,
    "nDCGRel": lambda _: _graded("ndcg_rel"),
}


def _find(name: str, params: Params) -> Computation | None:
    return _MEASURES[name](params) if name in _MEASURES else None


REFERENCES = (
    Reference(
        "pytrec_eval",
        package="pytrec_eval",
        find=_find,
        program="pytrec_eval",
        distributions=("pytrec-eval-terrier", "pytrec_eval"),
        known=("0.5.6", "0.6"),
    ),
)
