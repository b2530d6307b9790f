"""ir_measures: our measures by name, a provider that computes them, and a parser where its own cannot work."""

import ast
import warnings
from collections.abc import Iterable, Iterator, Sequence
from types import ModuleType
from typing import Any

import ir_measures
from ir_measures import CalcResults, Evaluator, Measure, Metric, Provider
from ir_measures.measures import registry as measure_registry
from ir_measures.providers import registry as provider_registry

from permed_measures.delegate import delegates
from permed_measures.errors import HostError, ParamError
from permed_measures.evaluate import Plan, aggregate, is_mean
from permed_measures.inputs import QrelsLike, RunLike, as_qrels, as_run
from permed_measures.measures import DEFINED, checked, own, parse_all
from permed_measures.measures.base import same_class

KNOWN_VERSIONS = "0.4"
NAME = "permed"

_PATCH = "_permed_measures"
"""Where ir_measures keeps what register() replaced, and by what: a reload of this module does not lose it."""


class PermedEvaluator(Evaluator):  # type: ignore[misc]  # ir_measures is untyped
    """Evaluates runs against qrels that are read and checked once."""

    def __init__(self, measures: Iterable[Measure], qrels: QrelsLike) -> None:
        self.qrels = as_qrels(qrels)
        super().__init__(list(measures), list(self.qrels))
        self.plan = Plan(self.measures)
        self.plan.check_grades(self.qrels)

    def _columns(self, run: RunLike) -> list[Sequence[float]]:
        return self.plan.columns(self.qrels, as_run(run), self.qrel_qids)

    def _metrics(self, columns: Sequence[Sequence[float]]) -> list[Metric]:
        return [
            Metric(query_id, measure, value)
            for measure, column in zip(self.measures, columns, strict=True)
            for query_id, value in zip(self.qrel_qids, column, strict=True)
        ]

    def _aggregated(self, columns: Sequence[Sequence[float]]) -> dict[Measure, float]:
        return {measure: aggregate(measure, column) for measure, column in zip(self.measures, columns, strict=True)}

    # The three public methods are overridden: the inherited ones hash a measure for every value.
    def iter_calc(self, run: RunLike) -> Iterator[Metric]:
        """Yield the value of every measure and query of the qrels."""
        yield from self._metrics(self._columns(run))

    def calc_aggregate(self, run: RunLike) -> dict[Measure, float]:
        """Return the mean of every measure."""
        return self._aggregated(self._columns(run))

    def calc(self, run: RunLike) -> CalcResults:
        """Return means and values."""
        columns = self._columns(run)
        return CalcResults(self._aggregated(columns), self._metrics(columns))


class PermedProvider(Provider):  # type: ignore[misc]  # ir_measures is untyped
    """permed_measures.

    Computes our measures, ``nDCG(dcg='exp-log2')``, and ``RBP`` where cwl_eval does not. Asked directly
    (``ir_measures.providers.registry['permed']``) it computes pytrec_eval's measures too, all on one order.
    """

    NAME = NAME

    def supports(self, measure: Measure) -> bool:
        """Whether a kernel of ours or the delegate computes the measure."""
        if own(measure) is None and not delegates(measure):
            return False
        checked(measure)
        return True

    def _evaluator(self, measures: Iterable[Measure], qrels: Any) -> PermedEvaluator:  # noqa: ANN401
        return PermedEvaluator(measures, qrels)


def register() -> None:
    """Make ir_measures know our measures and our provider. Doing it again changes nothing.

    ``ir_measures.parse_trec_measure``, which is what PyTerrier reads names with, takes our names too, and any other
    that :func:`permed_measures.parse` takes, where it would raise ValueError. ``ir_measures.parse_measure`` is repaired
    where it cannot work: ir_measures 0.4.3 reads numbers with ``ast.Num``, which Python 3.14 has no more.
    Returns nothing, raises no Error.

    >>> import ir_measures
    >>> register(); ir_measures.parse_trec_measure('gwmap_cut_10')
    [GWAP@10]
    """
    providers = _providers()
    ours = _named()
    for name, measure in ours.items():
        _refuse_stranger("measure", name, measure_registry.get(name), measure)
    provider = PermedProvider()
    _refuse_stranger("provider", NAME, provider_registry.get(NAME), provider)
    measure_registry.update(ours)
    provider_registry[NAME] = provider
    providers[:] = [known for known in providers if not same_class(type(known), PermedProvider)]
    # gdeval would take nDCG(dcg='exp-log2'): a Perl script that fails on most query ids and on grades above 4
    before = next((place for place, known in enumerate(providers) if known.NAME == "gdeval"), len(providers))
    providers.insert(before, provider)
    _replace(ir_measures, "parse_trec_measure", _parse_trec_measure)
    _repair_parser()


def unregister() -> None:
    """Leave ir_measures as it was before :func:`register`: without our measures, provider and parsers.

    Returns nothing, raises no Error.

    >>> unregister(); register()
    """
    providers = _providers()
    replaced = vars(ir_measures).get(_PATCH, {})
    for (module, name), (_, made) in replaced.items():
        if getattr(module, name) is not made:
            msg = f"{module.__name__}.{name} was replaced after register(); undo that first: nothing was changed"
            raise HostError(msg)
    for (module, name), (original, _) in replaced.items():
        setattr(module, name, original)
    vars(ir_measures).pop(_PATCH, None)
    providers[:] = [known for known in providers if not same_class(type(known), PermedProvider)]
    provider_registry.pop(NAME, None)
    for name in _named():
        measure_registry.pop(name, None)


def _providers() -> list[Provider]:
    """Return the list of ir_measures' providers, where it is of the shape we know."""
    pipeline = getattr(ir_measures, "DefaultPipeline", None)
    providers = getattr(pipeline, "providers", None)
    if isinstance(providers, list) and isinstance(measure_registry, dict):
        return providers
    raise HostError(
        f"ir_measures {getattr(ir_measures, '__version__', '?')} has no list DefaultPipeline.providers; "
        f"we know versions {KNOWN_VERSIONS}: pip install 'ir-measures>={KNOWN_VERSIONS}'"
    )


def _named() -> dict[str, Measure]:
    """Return the measures of ours that ir_measures has none of, by name and alias."""
    return {name: m for m in DEFINED.values() if m.HOST_MEASURE is None for name in (m.NAME, *m.ALIASES)}


def _replace(module: ModuleType, name: str, made: object) -> None:
    """Put a function of ours in the place of one of ir_measures'; what it was is kept."""
    replaced = vars(ir_measures).setdefault(_PATCH, {})
    original, _ = replaced.get((module, name), (getattr(module, name), None))
    replaced[module, name] = (original, made)
    setattr(module, name, made)


def _repair_parser() -> None:
    """Replace the one part of ``parse_measure`` that needs what ast has no more; whoever imported it before gains."""
    part = (ir_measures.util, "_ast_to_value")
    if part in vars(ir_measures).get(_PATCH, {}) or (hasattr(*part) and not _parses()):
        _replace(*part, _ast_to_value)


def _parses() -> bool:
    """Whether ir_measures reads a measure with parameters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ast.Num is deprecated in Python 3.12 and 3.13
        try:
            parsed = ir_measures.util.parse_measure("RBP(p=0.5)@5")
        except AttributeError:
            return False
    return bool(parsed == ir_measures.RBP(p=0.5) @ 5)


def _ast_to_value(node: object) -> object:
    """Return the value that is written, as ir_measures' function of this name does with what ast has no more."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float, complex, str, type(None))):
        return node.value
    if isinstance(node, ast.Dict):
        return dict(zip(map(_ast_to_value, node.keys), map(_ast_to_value, node.values), strict=True))
    msg = "problem parsing measure: values must be str, float, int, bool, etc., as in Measure(k1=v1, k2=v2)@c"
    raise ValueError(msg)


def _parse_trec_measure(measure: str) -> list[Measure]:
    """Return the measures of a name: trec_eval's as ir_measures reads it, else whatever permed_measures.parse takes."""
    try:
        found: list[Measure] = ir_measures.util.parse_trec_measure(measure)
    except ValueError:
        found = parse_all(measure)
        others = [str(known) for known in found if not is_mean(known)]
        if others:  # PyTerrier, which asks, takes the arithmetic mean of whatever it is given
            msg = f"{measure!r}: {', '.join(others)} is not an arithmetic mean over queries, which is all that is made"
            raise ParamError(f"{msg} here; permed_measures.evaluate() and permed-measures eval compute it") from None
    return found


def _refuse_stranger(what: str, name: str, found: object | None, ours: object) -> None:
    if found is not None and not same_class(type(found), type(ours)):
        owner = f"{type(found).__module__}.{type(found).__qualname__}"
        msg = f"ir_measures already has a {what} {name!r}, of {owner}; nothing was registered: remove it or rename it"
        raise HostError(msg)
