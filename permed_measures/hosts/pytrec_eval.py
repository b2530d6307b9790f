"""pytrec_eval: its RelevanceEvaluator, with our measures too, and names that are checked before they can do harm.

``from permed_measures.hosts import pytrec_eval`` in place of ``import pytrec_eval`` is the whole switch; in code of
others (BEIR, MTEB) :func:`install` makes it.
"""

import inspect
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytrec_eval as host
from ir_measures import Measure
from ir_measures.providers import registry
from pytrec_eval import compute_aggregated_measure, parse_qrel, parse_run, supported_nicknames

from permed_measures.delegate import MAX_GRADE, binary, fit, handed, own_evaluator
from permed_measures.errors import HostError, InputError, ParamError
from permed_measures.evaluate import Plan
from permed_measures.hosts._pytrec_eval_names import GRADED, exact, over_columns, read, supported_measures
from permed_measures.inputs import QrelsLike, RunLike, as_qrels, as_run, distinct_grades, ranking_of, rankings_of
from permed_measures.numbers import as_float, lowest_relevant
from permed_measures.ranking import Rankings

__all__ = [
    "RelevanceEvaluator",
    "compute_aggregated_measure",
    "install",
    "parse_qrel",
    "parse_run",
    "supported_measures",
    "supported_nicknames",
    "uninstall",
]

OWN = own_evaluator()  # bound once, so that ours may take its place in pytrec_eval

_PATCH = "_permed_measures"
_ARGUMENTS = ["query_relevance", "measures", "relevance_level", "judged_docs_only_flag"]

_COUNTS = {"num_ret", "num_nonrel_judged_ret", "utility"}
"""What an unwanted document at the end of a list changes."""

_FILLER = "permed_measures: a document that nobody returns"


class RelevanceEvaluator:
    """A drop-in for ``pytrec_eval.RelevanceEvaluator``: the same arguments, the same ``{query_id: {name: value}}``.

    pytrec_eval's own names have its values, to the last bit: it computes them from the run as it is given, but for the
    usual ones, which are as exact over columns, and take less time. Ours are written as trec_eval would
    (``gwmap_cut_10``, ``gwmap_cut.10,20``, ``coverage_10``) or, where parameters are needed, as measures
    (``GWAP(max_rel=3)@10``). ``relevance_level`` is the ``rel`` of every measure of ours that has one.

    More is accepted than pytrec_eval does: every shape of qrels and run that ``evaluate()`` knows, numpy numbers, and
    grades that are not whole. With such grades a binary measure looks at grade >= relevance_level, and the graded ones
    (``ndcg``, ``ndcg_cut``, ``ndcg_rel``, ``Rndcg``, ``G``) are computed exactly. A query that returns nothing is
    allowed: on some sets of names it ends the process in pytrec_eval, on others it is 0/0 (``11pt_avg``), here 0.

    >>> qrels, run = {"q": {"a": 2, "b": 1}}, {"q": {"b": 0.9, "a": 0.8}}
    >>> RelevanceEvaluator(qrels, {"map", "gwmap_cut_10"}).evaluate(run)   # gwmap: (1/1 · 0.5 + 2/2 · 1.0) / 2
    {'q': {'map': 1.0, 'gwmap_cut_10': 0.75}}
    """

    def __init__(
        self,
        query_relevance: QrelsLike,
        measures: Iterable[str | Measure],
        relevance_level: float = 1,
        judged_docs_only_flag: bool = False,  # noqa: FBT001, FBT002  (pytrec_eval's signature)
    ) -> None:
        level = lowest_relevant(relevance_level, "relevance_level")
        theirs, ours = read(measures, level)
        self._judged_only = bool(judged_docs_only_flag)
        plain = handed(query_relevance, MAX_GRADE)
        checked_qrels: Any = query_relevance if plain else as_qrels(query_relevance)
        self._qrels = checked_qrels if plain else {query: grades for query, grades in checked_qrels.items() if grades}
        judgements: Mapping[str, Mapping[str, Any]] = self._qrels
        if theirs and not plain and not fit(distinct_grades(self._qrels)):
            ours |= exact(theirs)
            theirs = {name for name in theirs if name.partition(".")[0] not in GRADED}
            judgements = {
                query_id: {doc_id: binary(grade, level) for doc_id, grade in grades.items()}
                for query_id, grades in self._qrels.items()
            }
            level_there = 1
        else:
            level_there = min(math.ceil(level), MAX_GRADE + 1)  # no grade there is higher
        alone = plain and not ours and not self._judged_only
        self._exact = over_columns(frozenset(theirs), level) if alone else None
        options = (theirs, level_there, self._judged_only)
        self._theirs = _Theirs(judgements, options, plain=plain) if theirs else None
        self._names = list(ours)
        self._plan = Plan(list(ours.values()), level)
        for measure in self._plan.by_ir_measures.values():
            msg = f"{measure} is computed neither by pytrec_eval nor by us; permed_measures.evaluate() knows it"
            raise ParamError(msg)
        self._plan.check_grades(self._qrels)

    def evaluate(self, scores: RunLike) -> dict[str, dict[str, float]]:
        """Return the values of the queries that are in the run and have judgements."""
        if self._exact is not None and type(scores) is dict:
            names, plan = self._exact
            query_ids = list(filter(self._qrels.__contains__, as_run(scores)))
            ranked = rankings_of(self._qrels, scores, query_ids, depth=plan.depth, cutoff=plan.depth)
            columns = plan.over_columns(ranked)
            if len(columns) == len(names):
                return _with({query_id: {} for query_id in query_ids}, names, map(columns.get, range(len(names))))
        if self._theirs is not None and not self._names and handed(scores):
            found: dict[str, dict[str, float]] = self._theirs.evaluator.evaluate(scores)
            return found
        run = {query_id: returned for query_id, returned in as_run(scores).items() if query_id in self._qrels}
        values = {query_id: {} for query_id in run} if self._theirs is None else self._theirs.evaluate(run)
        if not self._names:
            return values
        query_ids = list(run)
        depth = None if self._judged_only else self._plan.depth
        rankings = rankings_of(self._qrels, run, query_ids, depth=depth)
        if self._judged_only:
            rankings = Rankings.of([ranking.judged_only() for ranking in rankings.views], None)
        return _with(values, self._names, self._plan.columns(self._qrels, {}, query_ids, rankings))


def _with(
    values: dict[str, dict[str, float]], names: Iterable[str], columns: Iterable[Any]
) -> dict[str, dict[str, float]]:
    """Add the values under each name, which come in the order of the queries."""
    for name, column in zip(names, columns, strict=True):
        for found, value in zip(values.values(), column, strict=True):
            found[name] = value
    return values


class _Patch(NamedTuple):
    """What was put into pytrec_eval. It is kept there: a reload of this module does not lose it."""

    original: Any
    evaluator: Any


def install() -> None:
    """Put :class:`RelevanceEvaluator` in the place of pytrec_eval's, for code that one cannot change: BEIR, MTEB.

    What is looked up as ``pytrec_eval.RelevanceEvaluator`` is ours from now on. A module that said
    ``from pytrec_eval import RelevanceEvaluator`` before keeps what it has: install first, or set the name there, too.
    ir_measures keeps pytrec_eval's own class. Doing it again changes nothing.
    Returns nothing; raises HostError where pytrec_eval is of a shape that is not known.

    >>> import pytrec_eval
    >>> install(); pytrec_eval.RelevanceEvaluator is RelevanceEvaluator
    True
    >>> uninstall(); pytrec_eval.RelevanceEvaluator is RelevanceEvaluator
    False
    """
    patch = _patch()
    if patch is not None:
        if host.RelevanceEvaluator is not patch.evaluator:
            raise HostError(_REPLACED)
        return
    _check_host()
    _ir_measures().pytrec_eval = SimpleNamespace(RelevanceEvaluator=OWN)
    setattr(host, _PATCH, _Patch(OWN, RelevanceEvaluator))
    vars(host)["RelevanceEvaluator"] = RelevanceEvaluator


def uninstall() -> None:
    """Put back exactly what :func:`install` found. Without an install nothing happens.

    Returns nothing, raises no Error; :func:`install` has an example, ``>>> uninstall()``.
    """
    patch = _patch()
    if patch is None:
        return
    if host.RelevanceEvaluator is not patch.evaluator:
        raise HostError(_REPLACED)
    vars(host)["RelevanceEvaluator"] = patch.original
    _ir_measures().pytrec_eval = host
    delattr(host, _PATCH)


_REPLACED = (
    "pytrec_eval.RelevanceEvaluator was replaced after install_pytrec_eval(); undo that first: nothing was changed"
)


def _patch() -> _Patch | None:
    patch: _Patch | None = getattr(host, _PATCH, None)
    return patch


def _ir_measures() -> Any:  # noqa: ANN401  (ir_measures' provider, untyped)
    """Return what computes pytrec_eval's measures in ir_measures; its first use is what makes it import pytrec_eval."""
    provider = registry["pytrec_eval"]
    provider.is_available()
    return provider


def _check_host() -> None:
    """Look whether pytrec_eval is of the shape we know, before anything is touched."""
    try:
        answer = OWN({"q": {"a": 1}}, {"map"}).evaluate({"q": {"a": 1.0}})
        shapes = {
            "its own RelevanceEvaluator": host.RelevanceEvaluator is OWN,
            f"RelevanceEvaluator({', '.join(_ARGUMENTS)})": list(inspect.signature(OWN).parameters) == _ARGUMENTS,
            "evaluate(scores)": list(inspect.signature(OWN.evaluate).parameters) == ["self", "scores"],
            "answers as {query_id: {name: value}}": answer == {"q": {"map": 1.0}},
            "ir_measures' provider, which asks it": _ir_measures().pytrec_eval is host,
        }
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise HostError(_unknown_shape(f"{type(error).__name__}: {error}")) from error
    missing = [shape for shape, found in shapes.items() if not found]
    if missing:
        raise HostError(_unknown_shape(f"not found: {'; '.join(missing)}"))


def _unknown_shape(found: str) -> str:
    try:
        installed = version("pytrec-eval-terrier")
    except PackageNotFoundError:
        installed = "of an unknown version"
    return (
        f"pytrec_eval {installed} has not the shape we know ({found}); nothing was patched. If something else replaced "
        "pytrec_eval.RelevanceEvaluator, undo that first; else pip install 'pytrec-eval-terrier==0.5.11'"
    )


class _Theirs:
    """pytrec_eval itself, kept from queries that return nothing or have negative grades only: they end the process."""

    def __init__(
        self, judgements: Mapping[str, Mapping[str, int]], options: tuple[set[str], int, bool], *, plain: bool
    ) -> None:
        self._qrels: Mapping[str, Mapping[str, int]] = judgements
        if not plain:
            _check_text(judgements)
            for query_id, grades in judgements.items():
                _check_text(grades, query_id)
            self._qrels = {
                query_id: dict(grades) if max(grades.values()) >= 0 else {**grades, _FILLER: 0}
                for query_id, grades in judgements.items()
            }
        self._options = options

    @cached_property
    def evaluator(self) -> Any:  # noqa: ANN401  (pytrec_eval's, untyped)
        """Its evaluator, for dicts that it may see as they are."""
        return OWN(self._qrels, *self._options)

    def evaluate(self, run: Mapping[str, Mapping[str, float] | Sequence[str]]) -> dict[str, dict[str, float]]:
        """Return pytrec_eval's values, in the order of the run."""
        something = {query_id: _plain(query_id, returned) for query_id, returned in run.items() if returned}
        answers = self.evaluator.evaluate(something) if something else {}
        answers |= self._without_documents([query_id for query_id in run if query_id not in something])
        return {query_id: answers[query_id] for query_id in run}

    def _without_documents(self, query_ids: Iterable[str]) -> dict[str, dict[str, float]]:
        """Return the values where nothing was returned: those of one document that is not relevant, uncounted."""
        qrels = {query_id: {**self._qrels[query_id], _FILLER: 0} for query_id in query_ids}
        run = {query_id: {_FILLER: 0.0} for query_id in qrels}
        answers: dict[str, dict[str, float]] = OWN(qrels, *self._options).evaluate(run)
        for values in answers.values():
            values.update(dict.fromkeys(_COUNTS.intersection(values), 0.0))
        return answers


def _plain(query_id: str, returned: Mapping[str, float] | Sequence[str]) -> dict[str, float]:
    """Scores as pytrec_eval takes them, untouched where they are so already."""
    if (
        isinstance(returned, dict)
        and set(map(type, returned)) == {str}
        and "" not in returned
        and set(map(type, returned.values())) == {float}
        and not math.isnan(sum(returned.values()))  # two infinities may make one too, which costs a closer look
    ):
        scores = returned
    else:
        ranking_of(query_id, returned, {})  # for its checks
        if isinstance(returned, Mapping):
            scores = {doc_id: as_float(score) for doc_id, score in returned.items()}
        else:
            scores = {doc_id: float(-place) for place, doc_id in enumerate(returned)}
    _check_text(scores, query_id)
    return scores


def _check_text(ids: Iterable[str], query_id: str | None = None) -> None:
    """Raise InputError for an id that C cannot hold: pytrec_eval ends the process, or confuses two documents."""
    text = "".join(ids)
    try:
        text.encode()
    except UnicodeEncodeError:
        pass
    else:
        if "\0" not in text:
            return
    wrong = next(text for text in ids if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text))
    what = "the query id" if query_id is None else f"query {query_id!r}: the document id"
    raise InputError(f"{what} {wrong!r} is not text that pytrec_eval can take: no NUL, no half of a surrogate pair")
