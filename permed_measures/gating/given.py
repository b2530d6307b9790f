"""What a gate is given: qrels, runs and a baseline, each evaluated once, in memory or where it is.

A baseline is a run, or a file of saved values (files/values.py) with two runs: ``accepted`` (several times, where the
system ran several times) has the values that later gates compare with, ``anchor`` has, measure by measure, those of the
highest mean that was ever accepted. Its options hold digests of the accepted rankings, so that "identical rankings" can
be told without the run.
"""

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from os import PathLike
from pathlib import Path
from statistics import fmean
from typing import Any

from ir_measures import Measure

from permed_measures.comparison.repeats import Spread, apart, mean_evaluation, spread
from permed_measures.comparison.systems import is_repeated
from permed_measures.errors import InputError
from permed_measures.evaluate import Evaluation, Plan, evaluate
from permed_measures.evaluate.groups import Groups
from permed_measures.evaluate.tops import top
from permed_measures.files.values import Column, SavedRun, SavedValues, is_saved, read, write
from permed_measures.gating.conditions import Asked
from permed_measures.inputs import QrelsLike, Run, RunLike, as_qrels, as_run
from permed_measures.measures.base import written
from permed_measures.notes import NEVER_MEET, Queries
from permed_measures.profiles import Profile, QuerySet, load_profile
from permed_measures.ranking import Order
from permed_measures.signature import Digest, differences
from permed_measures.tables import EngineRun, stays_in_engine

ACCEPTED, ANCHOR = "accepted", "anchor"
_OPTION = "gate"


def depth_of(measure: Measure, min_relevance: float | None, order: Order) -> int | None:
    """Return the rank below which a measure does not look; None where it looks at the whole list."""
    return Plan([measure], min_relevance, order).depth


class Rankings:
    """The documents of a system's runs in order, as digests; read only when somebody asks."""

    def __init__(self, runs: Sequence[RunLike | EngineRun], order: Order) -> None:
        self._order = order
        self._runs: list[tuple[RunLike | Run | EngineRun, dict[int | None, dict[str, str]]]] = [
            (run, {}) for run in runs
        ]

    def digest(self, depth: int | None, query_ids: Sequence[str]) -> str:
        """Return what tells the order of documents down to a depth, over these queries, from any other.

        Runs that are all alike have that of one; in which order runs are given does not count.
        """
        digests = sorted(self._digest(number, depth, query_ids) for number in range(len(self._runs)))
        return digests[0] if len(set(digests)) == 1 else sha256("".join(digests).encode()).hexdigest()[:16]

    def _digest(self, number: int, depth: int | None, query_ids: Sequence[str]) -> str:
        source, digests = self._runs[number]
        if isinstance(source, EngineRun):
            return _streamed(source, depth, query_ids)
        run = as_run(source)
        self._runs[number] = run, digests
        known = digests.setdefault(depth, {})
        whole = sha256()
        for query_id in sorted(query_ids):
            if query_id not in known:
                known[query_id] = json.dumps([query_id, top(run.get(query_id, ()), depth, self._order)])
            whole.update(known[query_id].encode())
        return whole.hexdigest()[:16]


def _streamed(run: EngineRun, depth: int | None, query_ids: Sequence[str]) -> str:
    """Return the same of a run in an engine, list by list."""
    whole, lists = sha256(), run.lists(depth)
    query, docs = next(lists, (None, []))
    for query_id in sorted(query_ids):
        while query is not None and query < query_id:
            query, docs = next(lists, (None, []))
        whole.update(json.dumps([query_id, docs if query == query_id else []]).encode())
    return whole.hexdigest()[:16]


@dataclass(frozen=True)
class Baseline:
    """The values to compare with."""

    values: Evaluation
    rankings: Rankings | Mapping[str, str]  # of a file: digests by depth
    anchor: Mapping[Measure, Mapping[str, float]] = field(default_factory=dict)
    """The values of the best accepted state, by measure."""
    runs: Sequence[Evaluation] = ()  # what each run reached, where the system was run several times

    def same_rankings(self, of_run: Rankings, depth: int | None, query_ids: Sequence[str]) -> bool:
        """Whether a run orders the same documents in the same way, down to a depth."""
        if isinstance(self.rankings, Rankings):
            return self.rankings.digest(depth, query_ids) == of_run.digest(depth, query_ids)
        known = self.rankings.get(_key(depth, query_ids))
        return known is not None and known == of_run.digest(depth, query_ids)

    @classmethod
    def load(cls, path: str | PathLike[str], now: Evaluation, measures: Collection[Measure]) -> "Baseline":
        """Read the values of these measures; a file that was made under other conditions than the run's is refused."""
        saved = read(path)
        runs: dict[str, list[SavedRun]] = {}
        for run in saved.runs:
            runs.setdefault(run.name, []).append(run)
        accepted = runs.get(ACCEPTED) or (next(iter(runs.values())) if len(runs) == 1 else [])
        if not accepted:
            msg = f"several runs ({', '.join(runs)}), none called {ACCEPTED!r}; make a baseline with gate --accept"
            raise InputError(msg, path=str(path))
        found = [_evaluation(_matched(run, saved, now, path, measures), now) for run in accepted]
        anchor = {} if ANCHOR not in runs else _matched(runs[ANCHOR][0], saved, now, path, measures)
        options = saved.options.get(_OPTION, {})
        rankings = options.get("rankings", {}) if isinstance(options, dict) else {}
        best = {measure: column.values for measure, column in anchor.items()}
        return cls(mean_evaluation(found), rankings, best, found)


def _evaluation(columns: Mapping[Measure, Column], now: Evaluation) -> Evaluation:
    means = {measure: column.mean or 0.0 for measure, column in columns.items()}
    values = {measure: dict(column.values) for measure, column in columns.items()}
    return Evaluation(means=means, labels=now.labels, notes=[], columns=values, order=now.order)


def _key(depth: int | None, query_ids: Sequence[str]) -> str:
    return f"{'all' if depth is None else depth} of {len(query_ids)}"


def _matched(
    run: SavedRun, saved: SavedValues, now: Evaluation, path: str | PathLike[str], measures: Collection[Measure]
) -> dict[Measure, Column]:
    """Return the column of every measure; InputError says what is not as it was."""
    by_measure = {column.signature.measure: column for column in run.columns}
    found = {}
    for measure in measures:
        signature = now.signatures[measure]
        column = by_measure.get(signature.measure)
        if column is None:
            msg = f"the baseline has no {signature.measure}; it has {', '.join(by_measure)}"
            raise InputError(f"{msg}. {_ANEW}", path=str(path))
        changed = differences(column.signature, signature, with_n=False)
        if changed:
            judged = {} if now.conditions is None else now.conditions.judged
            what = "; ".join([*changed, *(_judgements(saved.judged, judged) if "judgements" in changed[0] else ())])
            msg = f"the baseline's {signature.measure} was made under other conditions: {what}"
            raise InputError(f"{msg}. {_ANEW}", path=str(path))
        found[measure] = column
    return found


_ANEW = "Nothing was compared; if the change is meant, accept the run anew: permed-measures gate --accept"


def _judgements(before: Mapping[str, Digest], after: Mapping[str, Digest]) -> list[str]:
    """Say of which queries the judgements are new, gone, or changed."""
    both = before.keys() & after.keys()
    found = {
        "new": Queries.of(after.keys() - before.keys()),
        "gone": Queries.of(before.keys() - after.keys()),
        "judged otherwise": Queries.of(q for q in both if before[q].text != after[q].text),
    }
    return [f"{some.counted} {what}{some.named}" for what, some in found.items() if some.number]


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
    judged: Collection[str] | None = None  # the queries of the qrels, where runs were evaluated in an engine

    @property
    def known(self) -> Profile | None:
        """The profile."""
        return None if self.profile is None else load_profile(self.profile)

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


def accept(path: str | PathLike[str], runs: Sequence[Evaluation], rankings: Rankings, run_name: str) -> list[str]:
    """Store the values as the baseline that later gates compare with; return what is to be said about the anchor."""
    now = mean_evaluation(runs)
    told: list[str] = []
    columns = []
    for measure, column in now.columns.items():
        best = _anchor(path, now, measure, told) if Path(path).exists() else {}
        label = now.labels[measure]
        high, reached = fmean(best.values()) if best else -math.inf, fmean(column.values())
        if high > reached:
            told.append(f"{label}: the anchor stays at {high:.4f}, above the {reached:.4f} of this run")
        kept = best if high > reached else column
        columns.append(Column(label, now.signatures[measure]._replace(n=len(kept)), kept))
    digests = {
        _key(depth, list(now.columns[measure])): rankings.digest(depth, list(now.columns[measure]))
        for measure in now.columns
        for depth in [depth_of(measure, now.min_relevance, now.order)]
    }
    options: dict[str, Any] = {_OPTION: {"run": run_name, "rankings": digests}}
    judged = {} if now.conditions is None else now.conditions.judged
    accepted = [run.saved(ACCEPTED, None if len(runs) == 1 else number) for number, run in enumerate(runs, 1)]
    write(path, SavedValues([*accepted, SavedRun(ANCHOR, columns)], judged, options))
    return told


def _anchor(path: str | PathLike[str], now: Evaluation, measure: Measure, told: list[str]) -> Mapping[str, float]:
    """Return the values of a measure's anchor; where it cannot be kept, none, and ``told`` gets the reason."""
    try:
        return Baseline.load(path, now, [measure]).anchor.get(measure, {})
    except InputError as error:
        told.append(f"{now.labels[measure]}: the anchor starts anew with this run: {error}")
        return {}
