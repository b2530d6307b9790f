"""The systems of a comparison: each is a run, several runs of one system, or values that were saved."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from ir_measures import Measure

from permed_measures.errors import InputError
from permed_measures.evaluate import Plan, choose, evaluate
from permed_measures.evaluation import Evaluation
from permed_measures.files.values import is_saved, read
from permed_measures.inputs import Qrels, Run, RunLike, as_run
from permed_measures.measures import parse
from permed_measures.profiles import QUERY_SETS, Entry, Profile, QuerySet
from permed_measures.ranking import Order
from permed_measures.signature import Conditions, check_comparable, check_judged

System: TypeAlias = RunLike | Evaluation | Sequence[RunLike | Evaluation]
"""A run, a list of runs that are repeats of one system, values that were saved (a path), or an Evaluation."""
_SAVED = "saved values"


class Spread(NamedTuple):
    """How far the runs of one system are from one another."""

    runs: int
    deviation: float
    """The standard deviation of the means of single runs."""
    low: float
    high: float

    @property
    def variance(self) -> float:
        """What the choice of the runs adds to the variance of their common mean."""
        return self.deviation**2 / self.runs


def averaged(repeats: Sequence[Mapping[str, float]]) -> Mapping[str, float]:
    """Return the mean of every query over the runs that have it.

    >>> averaged([{"q": 0.0, "r": 1.0}, {"q": 0.5}])
    {'q': 0.25, 'r': 1.0}
    """
    if len(repeats) == 1:
        return repeats[0]
    query_ids = dict.fromkeys(query_id for column in repeats for query_id in column)
    found = {query_id: [column[query_id] for column in repeats if query_id in column] for query_id in query_ids}
    return {query_id: math.fsum(values) / len(values) for query_id, values in found.items()}


def spread(repeats: Sequence[Mapping[str, float]], query_ids: Iterable[str] | None = None) -> Spread | None:
    """Return how far runs of one system are apart, over all queries or some; None with fewer than two runs.

    >>> spread([{"q": 0.5, "r": 0.5}, {"q": 1.0, "r": 0.5}])   # means 0.5 and 0.75
    Spread(runs=2, deviation=0.1767766952966369, low=0.5, high=0.75)
    """
    kept = None if query_ids is None else list(query_ids)
    means = []
    for column in repeats:
        values = (
            list(column.values()) if kept is None else [column[query_id] for query_id in kept if query_id in column]
        )
        if values:
            means.append(math.fsum(values) / len(values))
    num = len(means)
    if num < 2:  # noqa: PLR2004  (one run has no spread)
        return None
    middle = math.fsum(means) / num
    deviation = math.sqrt(math.fsum((mean - middle) ** 2 for mean in means) / (num - 1))
    return Spread(num, deviation, min(means), max(means))


def is_repeated(source: Any) -> bool:  # noqa: ANN401  (that is the question)
    """Whether a source is a list of runs; a list of named tuples is one run."""
    if not isinstance(source, (list, tuple)) or not source:
        return False
    kinds = (str, PathLike, Mapping, Evaluation)
    return all(isinstance(run, kinds) or hasattr(run, "columns") for run in source)


def opened(source: Any) -> Iterator[Any]:  # noqa: ANN401  (a System, and its runs)
    """Yield the runs of a system: saved values as evaluations, others as they are."""
    for run in source if is_repeated(source) else [source]:
        if isinstance(run, (str, PathLike)) and is_saved(run):
            saved = read(run)
            names = {known.name for known in saved.runs}
            if len(names) > 1:
                msg = f"the file holds the values of {', '.join(sorted(names))}; Evaluation.load(path, name) takes one"
                raise InputError(msg, path=str(run))
            yield from (Evaluation.of_saved(known, saved.judged, run) for known in saved.runs)
        else:
            yield run


@dataclass(frozen=True)
class Evaluated:
    """What all systems reached, by the same measures, under the same conditions."""

    labels: dict[Measure, str]
    profile: Profile | None
    rel: float | None
    order: Order
    runs: dict[str, list[Evaluation]]
    """The evaluations of every system: one, or one per repeat."""

    @property
    def values(self) -> dict[tuple[str, Measure], Mapping[str, float]]:
        """The value of every query, by system and measure; the mean where there are repeats."""
        return {
            (name, measure): averaged([run.columns[measure] for run in runs])
            if len(runs) > 1
            else runs[0].columns[measure]
            for measure in self.labels
            for name, runs in self.runs.items()
        }

    @property
    def repeats(self) -> dict[tuple[str, Measure], list[Mapping[str, float]]]:
        """The values of every single run, of systems that have several."""
        several = {name: runs for name, runs in self.runs.items() if len(runs) > 1}
        return {(name, m): [run.columns[m] for run in runs] for name, runs in several.items() for m in self.labels}

    @property
    def conditions(self) -> Conditions | None:
        """Those of the first run; all have the same."""
        return next(iter(self.runs.values()))[0].conditions


def evaluated(  # noqa: PLR0913  (the options of evaluate(), for several systems)
    qrels: Qrels | None,
    systems: Mapping[str, Any],
    measures: str | Measure | Iterable[str | Measure] | None = None,
    *,
    profile: str | Path | Profile | None = None,
    min_relevance: float | None = None,
    queries: QuerySet | None = None,
    order: Order = "float32",
    look: Callable[[str, Run, Iterable[Measure]], None] | None = None,
) -> Evaluated:
    """Evaluate every run, and take from saved values what is asked for; raise InputError where conditions differ.

    Without measures and profile the measures are those of the first saved values. ``look`` sees every run that is the
    only one of its system, before the next one is read.
    """
    found: dict[str, list[Any]] = {name: list(opened(source)) for name, source in systems.items()}
    known = [(name, run) for name, runs in found.items() for run in runs if isinstance(run, Evaluation)]
    if measures is None and profile is None and known:
        profile, order = _profile_of(known[0][1]), known[0][1].order
    labels, _, known_profile, rel = choose(measures, profile, queries, min_relevance)
    texts = [str(measure) for measure in Plan(list(labels), rel, order).computed]
    asked: dict[str, Any] = {"profile": profile, "min_relevance": min_relevance, "queries": queries, "order": order}
    for name, runs in found.items():
        for place, run in enumerate(runs):
            with _blaming(name):
                if isinstance(run, Evaluation):
                    runs[place] = _picked(run, labels, texts)
                    continue
                if qrels is None:
                    msg = "a run is evaluated against qrels, and none are given; only saved values need none"
                    raise InputError(msg)
                returned = as_run(run)
                runs[place] = evaluate(qrels, returned, measures, **asked)
                if look is not None and len(runs) == 1:
                    look(name, returned, labels)
    if known:
        _check(qrels, found)
    shown = None if known_profile is not None and known_profile.name == _SAVED else known_profile
    return Evaluated(labels, shown, rel, order, found)


@contextmanager
def _blaming(name: str) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        if error.path is not None:
            raise
        raise InputError(f"run {name!r}: {error}") from error


def _profile_of(evaluation: Evaluation) -> Profile:
    """Return the measures of saved values as a profile, each with what ``rel`` it was computed with."""
    sets = {queries: queries for queries in QUERY_SETS}
    entries = []
    for measure, signature in evaluation.signatures.items():
        if signature.queries not in sets:
            msg = f"{signature} runs over queries that are none of {', '.join(QUERY_SETS)}"
            raise InputError(msg)
        entries.append(Entry(parse(signature.measure), evaluation.labels[measure], sets[signature.queries]))
    return Profile(_SAVED, "the measures of saved values", tuple(entries))


def _picked(evaluation: Evaluation, labels: Mapping[Measure, str], texts: Sequence[str]) -> Evaluation:
    """Return the part of an evaluation that is asked for, under the names that are asked for."""
    by_text = {signature.measure: measure for measure, signature in evaluation.signatures.items()}
    absent = next((text for text in texts if text not in by_text), None)
    if absent is not None or evaluation.conditions is None:
        had = ", ".join(by_text) or "nothing with a signature"
        msg = f"the values of {absent or 'any measure'} are not saved there: {had}; evaluate the run itself"
        raise InputError(msg)
    picked = {measure: by_text[text] for measure, text in zip(labels, texts, strict=True)}
    return replace(
        evaluation,
        means={measure: evaluation.means[known] for measure, known in picked.items()},
        labels=dict(labels),
        columns={measure: evaluation.columns[known] for measure, known in picked.items()},
        conditions=Conditions.known(
            {measure: evaluation.signatures[known] for measure, known in picked.items()}, evaluation.conditions.judged
        ),
    )


def _check(qrels: Qrels | None, found: Mapping[str, Sequence[Evaluation]]) -> None:
    """Refuse values under other conditions than the first ones, and saved values of other judgements than the qrels."""
    runs = [(name, run) for name, evaluations in found.items() for run in evaluations]
    for name, run in runs:
        conditions = run.conditions
        if conditions is None:
            continue
        if qrels is not None:
            check_judged(conditions, Conditions({}, "", qrels), (f"the saved values of {name!r}", "the qrels"))
        first_name, first = runs[0]
        if first.conditions is not None:
            check_judged(first.conditions, conditions, (repr(first_name), repr(name)))
        for measure, signature in run.signatures.items():
            check_comparable(first.signatures[measure], signature, (repr(first_name), repr(name)))
