"""ranx: our measures by name in everything it does. The only file that imports or patches ranx.

ranx has no place for measures of others, so :func:`install` replaces its ``metric_switch`` by one that knows ours and
adds our labels to its three tables of labels; :func:`uninstall` undoes exactly that. Inside ranx the order of documents
is ranx's: 64-bit scores, ties as its unstable sort leaves them. :func:`ranx_run` makes a ranx run without ties.
"""

import inspect
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from ir_measures import Measure

from permed_measures.delegate import delegate
from permed_measures.errors import HostError, InputError, ParamError, did_you_mean, require
from permed_measures.evaluate import Plan
from permed_measures.inputs import as_qrels, as_run
from permed_measures.measures import checked, host_names, parse
from permed_measures.measures.base import RankingMeasure, unreadable, written
from permed_measures.numbers import as_float, canonical
from permed_measures.ranking import Ranking, order, rank, rank_list

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]

KNOWN_VERSIONS = "0.3.16 to 0.3.21"

_EVALUATE = "ranx.meta.evaluate"
_SWITCHES = ("ranx.metrics", _EVALUATE)
_LABELS = ("ranx.data_structures.report", "ranx.data_structures.optimization_report", "ranx.ranxhub")
_ARGUMENTS = ["qrels", "run", "k", "rel_lvl"]
_PATCH = "_permed_measures"
_EXACT_FLOAT64 = 2**53


class _Patch(NamedTuple):
    """What was put into ranx. It is kept in ranx itself: a reload of this module does not lose it."""

    original: Callable[[str], Any]
    switch: Callable[[str], Any]
    measures: dict[str, Measure]
    labels: dict[str, str]


def install(**measures: Measure | str) -> None:
    """Make ranx know our measures: ``ranx.evaluate(qrels, run, ["gwmap@10", "coverage@10", "map@10"])``.

    A keyword binds a name to a measure with parameters, which ranx cannot write:
    ``install_ranx(gwmap3=GWAP(max_rel=3))`` makes ``gwmap3@10``. Doing it again adds to what is there.

    A relevance level (``gwmap@10-l2``) is the ``rel`` of a measure that has one. For the others (``ndcg_exp@10-l2``) it
    does what it does to ranx's own ``ndcg``: judgements below it are left out. ranx pairs the queries of plain dicts by
    position; give it ``Qrels`` and ``Run`` objects, or dicts in one order.
    Returns nothing; raises HostError where ranx is absent or of another shape, ParamError for a name that it cannot
    read.
    (Not run here, as ranx is an extra: ``>>> install(gwmap3='GWAP(max_rel=3)')``.)
    """
    known = {name: (measure, host) for name, (measure, host) in host_names().items() if host.in_ranx}
    named = {name: type(measure)(**host.params) for name, (measure, host) in known.items()}
    labels = {name: host.label for name, (_, host) in known.items()}
    bound = {name: _bindable(name, measure, named) for name, measure in measures.items()}
    # ranx writes labels into LaTeX as they are, where an underscore is an error
    labels |= {name: name.replace("_", "-") for name in bound}
    require("ranx", extra="ranx")
    patch = _patch()
    if patch is None:
        patch = _checked_host({**named, **bound})
        for module in _SWITCHES:
            vars(import_module(module))["metric_switch"] = patch.switch
        setattr(sys.modules[_EVALUATE], _PATCH, patch)
    else:
        _refuse_known(patch.original, [name for name in {**named, **bound} if name not in patch.measures])
    patch.measures.update({**named, **bound})
    patch.labels.update(labels)
    for module in _LABELS:
        import_module(module).metric_labels.update(labels)


def uninstall() -> None:
    """Put back exactly what :func:`install` found. Without an install nothing happens.

    Returns nothing, raises no Error: ``>>> uninstall()``.
    """
    patch = _patch()
    if patch is None:
        return
    for module in _SWITCHES:
        if import_module(module).metric_switch is not patch.switch:
            msg = f"{module}.metric_switch was replaced after install_ranx(); undo that first: nothing was changed"
            raise HostError(msg)
    for module in _SWITCHES:
        vars(import_module(module))["metric_switch"] = patch.original
    for module in _LABELS:
        for name in patch.labels:
            import_module(module).metric_labels.pop(name, None)
    delattr(sys.modules[_EVALUATE], _PATCH)


def ranx_qrels(qrels: Any, *, name: str | None = None) -> Any:  # noqa: ANN401  (any shape inputs.py knows → ranx.Qrels)
    """Make a ``ranx.Qrels`` from dicts, frames, named tuples or a file.

    Grades must be whole: ranx would cut 7.5 to 7 without a word, so it is an InputError here.
    ``qrels`` are what evaluate() takes, ``name`` is shown. Returns a ranx.Qrels.
    ``>>> ranx_qrels({'q': {'a': 1}}).to_dict()`` is ``{'q': {'a': 1}}``.
    """
    ranx = require("ranx", extra="ranx")
    judged = as_qrels(qrels)
    if not any(judged.values()):
        raise InputError("the qrels hold no judgement; ranx needs one")
    for query_id, grades in judged.items():
        for doc_id, grade in grades.items():
            if not isinstance(grade, int) or abs(grade) > _EXACT_FLOAT64:
                raise InputError(
                    f"query {query_id!r}, document {doc_id!r}: grade {grade!r} is not a whole number that ranx can "
                    "keep; evaluate with permed_measures.evaluate(), which takes any grade, or give whole grades (7.5 "
                    "of 10 as 75 of 100, with GWAP(max_rel=100))"
                )
    return ranx.Qrels({query_id: dict(grades) for query_id, grades in judged.items()}, name=name)


def ranx_run(run: Any, *, name: str | None = None) -> Any:  # noqa: ANN401  (any shape inputs.py knows → ranx.Run)
    """Make a ``ranx.Run`` from dicts, frames, named tuples or a file; ``{query_id: [doc_id, …]}`` keeps its order.

    Scores that tie as 32-bit floats are moved apart by the least 64-bit steps, in our order (document ids descending),
    so that ranx has no tie to break and its values equal those of ``permed_measures.evaluate()``.
    ``run`` is what evaluate() takes, ``name`` is shown. Returns a ranx.Run; raises InputError as evaluate() does.
    ``>>> ranx_run({'q': ['b', 'a']}).to_dict()`` is ``{'q': {'b': 2.0, 'a': 1.0}}``.
    """
    ranx = require("ranx", extra="ranx")
    scored = {query_id: _untied(query_id, returned) for query_id, returned in as_run(run).items()}
    if not scored:
        raise InputError("the run holds no query")
    if any(scored.values()):
        return ranx.Run(scored, name=name)
    made = ranx.Run(name=name)  # ranx.Run({"q": {}}) raises; queries that return nothing are added one by one
    empty = import_module("ranx.data_structures.generic").create_empty_results_dict
    for query_id in scored:
        made.run[query_id] = empty()
    return made


def _untied(query_id: str, returned: Mapping[str, float] | Sequence[str]) -> dict[str, float]:
    """Scores by which any sort makes our order."""
    if not isinstance(returned, Mapping):
        rank_list(returned, {}, query_id=query_id)  # for its checks
        return {doc_id: float(len(returned) - place) for place, doc_id in enumerate(returned)}
    if not rank(returned, {}, query_id=query_id).tied(None):
        return {doc_id: as_float(score) for doc_id, score in returned.items()}
    doc_ids = order(returned)
    scores: list[float] = []
    for doc_id in doc_ids:
        score = as_float(returned[doc_id])
        scores.append(min(score, math.nextafter(scores[-1], -math.inf)) if scores else score)
    for place in range(len(scores) - 2, -1, -1):  # nothing is below minus infinity: there the upper one gives way
        if scores[place] <= scores[place + 1]:
            scores[place] = math.nextafter(scores[place + 1], math.inf)
    return dict(zip(doc_ids, scores, strict=True))


def _bindable(name: str, measure: Measure | str, named: Mapping[str, Measure]) -> Measure:
    """Check a name and a measure of install()."""
    reason = unreadable(name)
    if not reason and name in named:
        reason = f"it stands for {named[name]}; give another measure another name"
    if not reason:
        bound = parse(measure)
        if Plan([bound]).by_ir_measures:
            raise ParamError(
                f"install_ranx({name}={bound}): it is computed by ir_measures, which needs document ids; ranx has none"
            )
        return bound
    raise ParamError(f"install_ranx: the name {name!r} cannot be used in ranx: {reason}")


def _patch() -> _Patch | None:
    patch: _Patch | None = getattr(sys.modules.get(_EVALUATE), _PATCH, None)
    return patch


def _checked_host(measures: Mapping[str, Measure]) -> _Patch:
    """Look whether ranx is of the shape we know, before anything is touched."""
    try:
        evaluate = import_module(_EVALUATE)
        original = evaluate.metric_switch
        shapes = {
            "ranx.evaluate asks metric_switch": "metric_switch" in evaluate.evaluate.__code__.co_names,
            "one metric_switch": all(import_module(name).metric_switch is original for name in _SWITCHES),
            "names read as name@k-l2": evaluate.extract_metric_and_params("name@7-l2") == ("name", 7, 2),
            "names read as name": evaluate.extract_metric_and_params("name") == ("name", 0, 1),
            "measures called with qrels, run, k, rel_lvl": _arguments(original("map")) == _ARGUMENTS,
            "tables of labels": all(import_module(name).metric_labels["map"] == "MAP" for name in _LABELS),
        }
    except (ImportError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise HostError(_unknown_shape(f"{type(error).__name__}: {error}")) from error
    missing = [shape for shape, found in shapes.items() if not found]
    if missing:
        raise HostError(_unknown_shape(f"not found: {'; '.join(missing)}"))
    _refuse_known(original, measures)
    known = dict(measures)
    return _Patch(original, _switch(original, known), known, {})


def _arguments(function: Callable[..., Any]) -> list[str]:
    return list(inspect.signature(function).parameters)[: len(_ARGUMENTS)]


def _unknown_shape(found: str) -> str:
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415  (only for this message)

    try:
        installed = version("ranx")
    except PackageNotFoundError:
        installed = "of an unknown version"
    return (
        f"ranx {installed} does not have the shape we know ({found}); nothing was patched. We know versions "
        f"{KNOWN_VERSIONS}: pip install 'ranx==0.3.21'"
    )


def _refuse_known(original: Callable[[str], Any], names: Mapping[str, Any] | Sequence[str]) -> None:
    tables = [import_module(module).metric_labels for module in _LABELS]
    for name in names:
        try:
            original(name)
        except ValueError:
            if not any(name in table for table in tables):
                continue
        raise HostError(f"ranx already has a measure {name!r}; nothing was patched: choose another name")


def _switch(original: Callable[[str], Any], measures: Mapping[str, Measure]) -> Callable[[str], Any]:
    def metric_switch(metric: str) -> Any:  # noqa: ANN401  (a function of ranx or of ours)
        if metric in measures:
            return partial(_values, measures[metric])
        try:
            return original(metric)
        except ValueError as error:
            known = [*measures, *(name for name in import_module(_LABELS[0]).metric_labels if "." not in name)]
            raise ParamError(f"unknown measure {metric!r}.{did_you_mean(metric, known)}") from error

    return metric_switch


def _values(measure: Measure, qrels: Any, run: Any, k: int = 0, rel_lvl: int = 1) -> "Values":  # noqa: ANN401
    """Compute a measure the way ranx asks for it: typed lists of (hash of the document id, grade or score) rows."""
    if len(qrels) != len(run):
        raise InputError(f"the qrels hold {len(qrels)} queries, the run {len(run)}; ranx pairs them by position")
    if rel_lvl < 1:
        msg = f"a relevance level of {rel_lvl} is not allowed; give -l1 or more: an unjudged document has grade 0"
        raise ParamError(msg)
    if k:
        measure = measure(cutoff=k)
    filtered = rel_lvl > 1 and "rel" not in measure.SUPPORTED_PARAMS
    if rel_lvl > 1 and not filtered:
        if measure.params.get("rel", rel_lvl) != rel_lvl:
            raise ParamError(f"the name is bound to {written(measure)}, which has its own rel; leave out -l{rel_lvl}")
        measure = measure(rel=rel_lvl)  # ranx passes 1 both for no level and for -l1: the measure's own rel stays
    plan = Plan([checked(measure)])
    rankings = _rankings(qrels, run, plan.depth, rel_lvl if filtered else None)
    for ours in plan.by_kernel.values():
        _check_grades(ours, rankings)
        return np.array(ours.checked([ours.value(ranking) for ranking in rankings]))
    return np.array(delegate(list(plan.by_delegate.values()), rankings)[0])


def _rankings(qrels: Any, run: Any, depth: int | None, level: int | None) -> list[Ranking]:  # noqa: ANN401
    rankings = []
    for judged, returned in zip(qrels, run, strict=True):
        relevant = judged if level is None else judged[judged[:, 1] >= level]
        # numpy is enough: the step that ranx takes before, from its dicts to hashes, costs eight times this one
        by_id = relevant[:, 0].argsort()
        ids = relevant[by_id, 0]
        wanted = returned[:depth, 0]
        ranked = []
        if len(ids):
            places = ids.searchsorted(wanted)
            places[places == len(ids)] = 0
            found = (ids[places] == wanted).nonzero()[0]
            ranked = list(zip((found + 1).tolist(), relevant[by_id[places[found]], 1].tolist(), strict=True))
        rankings.append(Ranking(ranked, judged=relevant[:, 1].tolist(), num_ret=len(returned)))
    return rankings


def _check_grades(measure: RankingMeasure, rankings: Sequence[Ranking]) -> None:
    if measure.takes_all_grades:
        return
    accepted: set[float] = set()
    for number, ranking in enumerate(rankings, 1):
        if accepted.issuperset(ranking.judged):
            continue
        grades = {f"of grade {grade:g} (ranx hands on no ids)": canonical(grade) for grade in ranking.judged}
        try:
            measure.check_grades(f"number {number} in ranx's order", grades)
        except InputError as error:
            msg = f"{error}; in ranx a measure with parameters is bound to a name: install_ranx(my_name=…)"
            raise InputError(msg) from None
        accepted.update(ranking.judged)
