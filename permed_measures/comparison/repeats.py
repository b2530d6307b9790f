"""Repeats: several runs of one system are one column of means, and their spread widens what is said of it."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from permed_measures.comparison.significance import standard_deviation
from permed_measures.evaluate import Evaluation, aggregate, is_mean
from permed_measures.render.words import in_words
from permed_measures.signature import Conditions


class Spread(NamedTuple):
    """How far the runs of one system are from one another."""

    runs: int
    deviation: float  # the standard deviation of the means of single runs
    low: float
    high: float

    @property
    def extra(self) -> tuple[tuple[float, float], ...]:
        """What the choice of the runs adds to the variance of their common mean, and its degrees of freedom."""
        return ((self.deviation**2 / self.runs, self.runs - 1.0),) if self.deviation else ()


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
        values = list(column.values()) if kept is None else [column[q] for q in kept if q in column]
        if values:
            means.append(math.fsum(values) / len(values))
    deviation = standard_deviation(means)
    return None if deviation is None else Spread(len(means), deviation, min(means), max(means))


def mean_evaluation(runs: Sequence[Evaluation]) -> Evaluation:
    """Return what several runs of one system reached on average; of a single run, what it reached."""
    first = runs[0]
    if len(runs) == 1:
        return first
    columns = {measure: dict(averaged([run.columns[measure] for run in runs])) for measure in first.columns}
    means = {
        measure: aggregate(measure, list(columns[measure].values()))
        if is_mean(measure)
        else math.fsum(run.means[measure] for run in runs) / len(runs)
        for measure in first.means
    }
    signatures = {measure: known._replace(n=len(columns[measure])) for measure, known in first.signatures.items()}
    conditions = None if first.conditions is None else Conditions.known(signatures, first.conditions.judged)
    notes = list(dict.fromkeys(note for run in runs for note in run.notes))
    return replace(first, means=means, columns=columns, notes=notes, conditions=conditions)


def apart(name: str, spreads: Mapping[str, Spread], shares: Collection[str] = ()) -> str:
    """Say how far the runs of a system are apart, measure by measure."""
    said = []
    for label, found in spreads.items():
        low, high, deviation = (in_words(x, share=label in shares) for x in (found.low, found.high, found.deviation))
        said.append(f"{label} from {low} to {high} (standard deviation {deviation})")
    runs = next(iter(spreads.values())).runs
    few = "; how far runs are apart is hardly known from two" if runs == 2 else ""  # noqa: PLR2004  (by simulation)
    return f"{name}: the mean of {runs} runs, {', '.join(said)}; its intervals allow for that{few}"
