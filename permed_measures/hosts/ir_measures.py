"""ir_measures: our measures by name, and a provider that computes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import ir_measures
from ir_measures import CalcResults, Evaluator, Measure, Metric, Provider
from ir_measures.measures import registry as measure_registry
from ir_measures.providers import registry as provider_registry

from permed_measures.delegate import delegates
from permed_measures.errors import HostError
from permed_measures.evaluate import Plan, aggregate
from permed_measures.inputs import QrelsLike, RunLike, as_qrels, as_run
from permed_measures.measures import DEFINED, checked, own
from permed_measures.measures.base import same_class

KNOWN_VERSIONS = "0.4"
NAME = "permed"


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
    """Make ir_measures know our measures and our provider. Doing it again changes nothing."""
    pipeline = getattr(ir_measures, "DefaultPipeline", None)
    providers = getattr(pipeline, "providers", None)
    if not isinstance(providers, list) or not isinstance(measure_registry, dict):
        msg = (
            f"ir_measures {getattr(ir_measures, '__version__', '?')} has no list DefaultPipeline.providers; "
            f"we know versions {KNOWN_VERSIONS}: pip install 'ir-measures>={KNOWN_VERSIONS}'"
        )
        raise HostError(msg)
    ours = {name: m for m in DEFINED.values() if m.HOST_MEASURE is None for name in (m.NAME, *m.ALIASES)}
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


def _refuse_stranger(what: str, name: str, found: object | None, ours: object) -> None:
    if found is not None and not same_class(type(found), type(ours)):
        owner = f"{type(found).__module__}.{type(found).__qualname__}"
        msg = f"ir_measures already has a {what} {name!r}, of {owner}; nothing was registered: remove it or rename it"
        raise HostError(msg)
