"""ranx's own metrics, compiled by numba, on a ``Run`` made from the run as it is."""

import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib import import_module

from permed_measures.verification.references import Computation, Params, Qrels, Reference, Run, Values, whole_grades


def _ask(qrels: Qrels, run: Run, names: Iterable[str]) -> dict[str, Values]:
    """Return the values of each metric, by query; ranx wants the same queries on both sides and no empty list."""
    query_ids = sorted(query_id for query_id, judged in qrels.items() if judged and run.get(query_id))
    if not query_ids:
        return {name: {} for name in names}
    ranx = import_module("ranx")
    names_of: dict[str, str] = {}
    answers = {}
    with warnings.catch_warnings():
        # numba says so while it compiles ranx's metrics: the numbers are counts of documents
        warnings.filterwarnings("ignore", message=r"\s*.*unsafe cast from uint64 to int64")
        judged = ranx.Qrels({query_id: _renamed(qrels[query_id], names_of) for query_id in query_ids})
        returned = ranx.Run({query_id: _renamed(run[query_id], names_of) for query_id in query_ids})
        for name in names:
            ranx.evaluate(judged, returned, name)
            answers[name] = {query_id: float(value) for query_id, value in returned.scores[name].items()}
    return answers


def _renamed(table: Mapping[str, float], names_of: dict[str, str]) -> dict[str, float]:
    """Give all documents ids of one length: ranx compiles itself anew for each length of the longest id."""
    return {names_of.setdefault(doc_id, f"{len(names_of):09}"): value for doc_id, value in table.items()}


def _whole_only(qrels: Qrels, run: Run) -> str:  # noqa: ARG001  (the signature of every such check)
    return "" if whole_grades(qrels) else "a float grade: ranx would truncate it"


_computation = partial(
    Computation,
    refuses=_whole_only,
    ties="leaves equal scores in the order its sort happens to give",
    near_ties="compares scores as 64-bit floats",
)


def _name(stem: str, params: Params) -> str:
    cutoff, rel = params.get("cutoff"), params.get("rel", 1)
    return stem + ("" if cutoff is None else f"@{cutoff}") + ("" if rel == 1 else f"-l{rel}")


def _plain(stem: str) -> Callable[[Params], Computation]:
    def make(params: Params) -> Computation:
        name = _name(stem, params)
        return _computation(lambda qrels, run: _ask(qrels, run, [name])[name], name)

    return make


def _list_ap(params: Params) -> Computation:
    above, below = _name("map", params), _name("recall", params)

    def compute(qrels: Qrels, run: Run) -> Values:
        answers = _ask(qrels, run, [above, below])
        return {q: value / answers[below][q] if answers[below][q] else 0.0 for q, value in answers[above].items()}

    return _computation(compute, f"{above} / {below}")


def _gwap(params: Params) -> Computation | None:
    """Only where all weights are 1: ranx has no AP that weighs grades."""
    if params["max_rel"] != 1 or params["weights"] is not None or params["rel"] != 1:
        return None
    if params["norm"] == "relevant":
        return _plain("map")(params)
    return _list_ap(params) if params["norm"] == "retrieved" else None


def _ndcg_stem(params: Params) -> str:
    return "ndcg_burges" if params["dcg"] == "exp-log2" else "ndcg"


def _ndcg(params: Params) -> Computation | None:
    if params["gains"] is not None or params["judged_only"]:
        return None
    return _plain(_ndcg_stem(params))(params)


def _list_ndcg(params: Params) -> Computation:
    name = _name(_ndcg_stem(params), params)

    def compute(qrels: Qrels, run: Run) -> Values:
        returned = {
            query_id: {doc_id: grade for doc_id, grade in judged.items() if doc_id in run.get(query_id, {})}
            for query_id, judged in qrels.items()
        }
        nothing = {query_id: 0.0 for query_id in qrels if run.get(query_id) and not returned[query_id]}
        return {**nothing, **_ask(returned, run, [name])[name]}

    return _computation(compute, f"{name}, judgements of returned documents")


_MEASURES: dict[str, Callable[[Params], Computation | None]] = {
    "GWAP": _gwap,
    "Coverage": _plain("hit_rate"),
    "ListAP": _list_ap,
    "ListNDCG": _list_ndcg,
    "nDCG": _ndcg,
    "P": _plain("precision"),
    "R": _plain("recall"),
    "AP": _plain("map"),
    "RR": _plain("mrr"),
    "Success": _plain("hit_rate"),
    "Rprec": _plain("r-precision"),
    "SetR": _plain("recall"),
}


def _find(name: str, params: Params) -> Computation | None:
    if name not in _MEASURES or not isinstance(params.get("rel", 1), int):
        return None  # ranx's levels are whole numbers
    if name != "nDCG" and params.get("judged_only"):
        return None
    return _MEASURES[name](params)


REFERENCES = (Reference("ranx", package="ranx", find=_find, distributions=("ranx",), known=("0.3.20", "0.4")),)
