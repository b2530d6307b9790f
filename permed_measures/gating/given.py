"""What a gate is given: qrels, runs and a baseline, each evaluated once, in memory or where it is."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

from ir_measures import Measure

from permed_measures.comparison.repeats import Spread, apart, mean_evaluation, spread
from permed_measures.comparison.systems import is_repeated
from permed_measures.errors import InputError
from permed_measures.evaluate import Evaluation, evaluate
from permed_measures.evaluate.groups import Groups
from permed_measures.files.values import is_saved
from permed_measures.gating.baselines import Baseline, Rankings
from permed_measures.gating.checks import Rules
from permed_measures.gating.conditions import Asked, Condition, ask
from permed_measures.inputs import QrelsLike, RunLike, as_qrels, as_run
from permed_measures.measures.base import written
from permed_measures.notes import NEVER_MEET
from permed_measures.profiles import Profile, QuerySet, load_profile
from permed_measures.ranking import Order
from permed_measures.tables import EngineRun, stays_in_engine


@dataclass(frozen=True)
class Evaluated:
    """A run, or the mean of several of one system, its values, and those of its baseline."""

    run: Evaluation
    rankings: Rankings
    runs: Sequence[Evaluation]
    baseline: Baseline | None = None

    def repeats(self, measure: Measure, query_ids: Collection[str] | None = None) -> dict[str, Spread]:
        """Return how far the runs of the system, and of its baseline, are apart; none where each has one run."""
        both = {"run": self.runs, "baseline": () if self.baseline is None else self.baseline.runs}
        columns = {name: [run.columns.get(measure, {}) for run in runs] for name, runs in both.items()}
        return {name: found for name, those in columns.items() if (found := spread(those, query_ids)) is not None}

    @property
    def notes(self) -> list[str]:
        """What the values rest on."""
        theirs = [] if self.baseline is None else self.baseline.values.notes
        names = [f"{label} = {said}" for m, label in self.run.labels.items() if label != (said := written(m))]
        found = {label: self.repeats(m) for m, label in self.run.labels.items()}
        several = [(name, {label: s[name] for label, s in found.items() if name in s}) for name in ("run", "baseline")]
        apart_ = [apart(name, spreads) for name, spreads in several if spreads]
        theirs = [f"baseline: {note}" for note in theirs if note not in self.run.notes]
        return [*names, *apart_, *self.run.notes, *theirs]


@dataclass(frozen=True)
class Input:
    """What a gate is given, and how it is evaluated."""

    qrels: QrelsLike
    run: RunLike | Sequence[RunLike]
    baseline: RunLike | Sequence[RunLike] | None = None
    run_name: str = "run"
    min_relevance: float | None = None
    queries: QuerySet | None = None
    order: Order = "float32"
    profile: str | Path | Profile | None = None
    human: QrelsLike | None = None
    """People's grades of a random sample of queries, by which a judge's means are corrected."""
    mapping: str | None = None
    table_options: Mapping[str, Any] = field(default_factory=dict)
    judged: Collection[str] | None = None
    """The queries of the qrels, where runs were evaluated in an engine."""

    @property
    def known(self) -> Profile | None:
        """The profile."""
        return None if self.profile is None else load_profile(self.profile)

    def ask(
        self,
        conditions: Sequence[str | Condition],
        serving: Mapping[str, Any] | None,
        rules: Rules,
        *,
        allow_skipped: bool = False,
        all_measures: bool = False,
    ) -> Asked:
        """Find out what conditions are about; ``all_measures`` asks for those of the profile and of margins, too."""
        named = list(rules.max_drop) if isinstance(rules.max_drop, Mapping) else []
        margins = named if self.baseline is not None or all_measures else None
        return ask(conditions, self.known, serving, allow_skipped=allow_skipped, margins=margins)

    def evaluated(
        self, asked: Asked, tell: Callable[[Sequence[str]], None], dropping: Collection[Measure] | None = None
    ) -> Evaluated | None:
        """Evaluate the run and the baseline; ``tell`` is called with the query ids before.

        ``dropping`` has the measures that a file of accepted values must have; all, when not given.
        """
        if not asked.entries:
            return None
        if stays_in_engine(self.qrels):
            return self.in_engine(asked)[0].evaluated(asked, tell, dropping)
        qrels: Any = as_qrels(self.qrels, subtopics=True) if self.judged is None else self.judged
        tell(list(qrels))
        profile = asked.profile(self.known, self.min_relevance)

        def values(run: RunLike | EngineRun, whose: str = "") -> Evaluation:
            if isinstance(run, EngineRun):
                return run.evaluation
            found = evaluate(
                *(qrels, run), profile=profile, min_relevance=self.min_relevance, queries=self.queries, order=self.order
            )
            met = next((note for note in found.notes if NEVER_MEET in note), None)
            if met is not None:
                raise InputError(f"nothing can be checked: {whose}{met}")
            return found

        sources = runs_of(self.run)
        runs = list(map(values, sources))
        found = Evaluated(mean_evaluation(runs), Rankings(sources, self.order), runs)
        if self.baseline is None:
            return found
        wanted = found.run.columns if dropping is None else dropping
        if isinstance(self.baseline, (str, PathLike)) and is_saved(self.baseline):
            return replace(found, baseline=Baseline.load(self.baseline, found.run, wanted))
        others = runs_of(self.baseline)
        old = [values(run, "baseline: ") for run in others]
        return replace(found, baseline=Baseline(mean_evaluation(old), Rankings(others, self.order), runs=old))

    def in_engine(self, asked: Asked, *groups: Groups | None) -> "tuple[Input, list[Any]]":
        """Return the same with the tables of an engine evaluated in one pass; and groups, columns of the qrels read."""
        from permed_measures.tables.rankings import evaluate_runs  # noqa: PLC0415  (Narwhals, for those who have tables)

        given: dict[str, Any] = {"run": self.run, "baseline": self.baseline}
        if self.baseline is None or (isinstance(self.baseline, (str, PathLike)) and is_saved(self.baseline)):
            del given["baseline"]
        systems = {name: list(runs) if is_repeated(runs) else [runs] for name, runs in given.items()}
        options: Any = {"profile": asked.profile(self.known, self.min_relevance), "min_relevance": self.min_relevance}
        options |= {"queries": self.queries, "order": self.order, **self.table_options}
        found = evaluate_runs(self.qrels, systems, None, groups, **options)
        conditions = found.runs["run"][0].evaluation.conditions
        runs: Any = {**found.runs, "qrels": {}, "judged": [] if conditions is None else list(conditions.judged)}
        return replace(self, **runs), found.groups


def runs_of(given: Any) -> list[Any]:  # noqa: ANN401  (a run, or several of one system)
    """Return runs that can be read again: a generator of rows cannot."""
    runs = given if is_repeated(given) else [given]
    return [run if isinstance(run, (str, PathLike, EngineRun)) else as_run(run) for run in runs]
