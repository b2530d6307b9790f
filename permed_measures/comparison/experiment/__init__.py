"""Several systems on several data sets: a comparison per set, means over the sets, and whether the sets agree."""

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from multiprocessing import get_context
from os import PathLike
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar, NamedTuple

from ir_measures import Measure

from permed_measures import inference
from permed_measures.comparison import Comparison, compare
from permed_measures.comparison.experiment.plan import DataSet, ExperimentPlan, read_plan
from permed_measures.comparison.saved import load as load_comparison
from permed_measures.comparison.saved import save as save_comparison
from permed_measures.errors import HostError, InputError
from permed_measures.evaluate import Evaluation, evaluate
from permed_measures.files.values import is_saved
from permed_measures.inference import SAME, Interval
from permed_measures.inference.orders import kendall_tau, tau_ap
from permed_measures.inputs import as_qrels
from permed_measures.render.progress import Step
from permed_measures.render.result import Result, made_by

FEWEST_SETS = 6  # no test over data sets with fewer
FEWEST_SYSTEMS = 3  # two systems have no order that could be more or less alike


class Macro(NamedTuple):
    """A system over all data sets, by one measure: the mean of the means, and of the changes against the baseline."""

    mean: float | None  # None where a system has no value on some set
    interval: Interval | None
    difference: float | None  # None of the baseline itself too
    difference_interval: Interval | None
    sets_higher: int  # on how many sets the mean is above the baseline's; ``shown`` on how many of them a test shows it
    sets_lower: int
    shown_higher: int
    shown_lower: int
    p: float | None  # sign flips of whole sets; None with fewer than six


class Agreement(NamedTuple):
    """How alike two columns of means order the systems."""

    by: str  # the measure by which two data sets order, or the data set on which two measures do
    one: str
    other: str
    tau: float | None
    tau_ap: float | None


@dataclass(frozen=True, repr=False)
class Experiment(Result):
    """What :func:`experiment` returns."""

    FLAT: ClassVar = ("dataset", "group", "run", "name")

    name: str
    description: str
    comparisons: Mapping[str, Comparison]  # by data set
    macro: Mapping[tuple[str, str], Macro]  # by system and measure, of the measures that every data set has
    agreements: tuple[Agreement, ...]
    notes: tuple[str, ...]

    @property
    def first(self) -> Comparison:
        """The comparison on the first data set."""
        return next(iter(self.comparisons.values()))

    @property
    def baseline(self) -> str:
        """The system that the others are compared with."""
        return self.first.baseline

    @property
    def systems(self) -> tuple[str, ...]:
        """All systems, the baseline first."""
        return self.first.names

    record = made_by("comparison.experiment.report", Result.record, "as_dict")
    as_table = made_by("comparison.experiment.report", Result.as_table)
    document = made_by("comparison.experiment.report", Result.document)
    page = made_by("comparison.experiment.report", Result.page)

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the values of all queries into a folder, a file per data set that compare() takes too."""
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        for place, (name, comparison) in enumerate(self.comparisons.items()):
            about = {"experiment": self.name, "description": self.description, "dataset": name, "place": place}
            called = "".join(char if char.isalnum() or char in "-_." else "_" for char in name)
            save_comparison(comparison, target / f"{place + 1}-{called}.values", about)

    @staticmethod
    def load(folder: str | PathLike[str]) -> "Experiment":
        """Read what :meth:`save` wrote."""
        found = []
        for path in sorted(Path(folder).glob("*.values")):
            comparison, about = load_comparison(path)
            if "experiment" not in about:
                raise InputError("these values are of no experiment; take them out of the folder", path=path)
            found.append((about, comparison))
        if not found:
            raise InputError("no values of an experiment (*.values) are in this folder", path=str(folder))
        found.sort(key=lambda pair: int(pair[0]["place"]))
        about = found[0][0]
        comparisons = {str(known["dataset"]): comparison for known, comparison in found}
        return _experiment(str(about["experiment"]), str(about["description"]), comparisons)


def experiment(source: str | PathLike[str] | Mapping[str, Any], *, progress: Step | None = None) -> Experiment:
    """Evaluate and compare systems on data sets, as a TOML file says, or a dict of the same shape.

    A file holds ``baseline``, ``measures`` or ``profile``, and, where they are wanted, ``name``, ``min_relevance``,
    ``queries``, ``order``, ``cluster``, ``test``, ``correction``, ``alpha``, ``margin``, ``seed``; one ``[[datasets]]``
    table per data set with ``name``, ``qrels`` and whatever of these is other there; one ``[[systems]]`` table per
    system with ``name`` and ``runs``: a path in which ``{dataset}`` is the data set's name, a list of such paths where
    the system was run several times, or a table of paths, or lists, by data set. In a dict, qrels and runs may be
    whatever :func:`compare` takes.
    ``source`` is the file or dict, ``progress`` is told of each step. Returns an Experiment; raises ParamError for what
    the file lacks.

    >>> qrels, run = {"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": ["a"], "q2": ["a", "b"]}
    >>> runs = {"one": {"runs": {"here": run}}, "two": {"runs": {"here": {"q1": ["a"], "q2": ["b"]}}}}
    >>> found = experiment({"datasets": [{"name": "here", "qrels": qrels}], "measures": "RR",
    ...                     "systems": [{"name": name, **system} for name, system in runs.items()]})
    >>> found.macro["one", "RR"].mean      # (1/1 + 1/2) / 2
    0.75
    """
    return run_plan(read_plan(source), progress)


def run_plan(plan: ExperimentPlan, progress: Step | None = None) -> Experiment:
    """Do what was planned, on all cores where the runs are files."""
    step = progress or (lambda _, __: None)
    jobs = [
        (dataset, system, run) for dataset in plan.datasets for system in plan.systems for run in dataset.runs[system]
    ]
    evaluations: dict[tuple[str, str], list[Evaluation]] = {}
    for number, ((dataset, system, _), found) in enumerate(zip(jobs, _evaluated(jobs), strict=True), 1):
        evaluations.setdefault((dataset.name, system), []).append(found)
        step(f"evaluated {system} on {dataset.name}", 0.8 * number / len(jobs))
    comparisons = {}
    for number, dataset in enumerate(plan.datasets):
        step(f"comparing on {dataset.name}", 0.8 + 0.2 * number / len(plan.datasets))
        first, *others = ((system, evaluations[dataset.name, system]) for system in plan.systems)
        options = {"cluster": dataset.cluster, "all_pairs": True, "p_imp": False, **plan.deciding}
        try:
            comparisons[dataset.name] = compare(None, first[1], dict(others), baseline_name=first[0], **options)
        except InputError as error:
            raise InputError(f"data set {dataset.name!r}: {error}") from error
    step("done", 1.0)
    return _experiment(plan.name, plan.description, comparisons)


Job = tuple[DataSet, str, Any]
_QRELS: dict[str, Any] = {}  # of this process: the qrels of a data set are read once for all its runs


def _evaluate(job: Job) -> Evaluation:
    dataset, system, run = job
    try:
        if isinstance(run, Evaluation):
            return run
        if isinstance(run, (str, PathLike)) and is_saved(run):
            return Evaluation.load(run)
        if dataset.name not in _QRELS:
            _QRELS[dataset.name] = as_qrels(dataset.qrels, subtopics=True)
        return evaluate(_QRELS[dataset.name], run, **dataset.measured)
    except InputError as error:
        raise InputError(f"data set {dataset.name!r}, system {system!r}: {error}") from error


def _evaluated(jobs: Sequence[Job]) -> Iterable[Evaluation]:
    """Yield the evaluations in order; files on all cores, where another process can be started without harm."""
    _QRELS.clear()
    files = all(isinstance(run, PathLike) and isinstance(dataset.qrels, PathLike) for dataset, _, run in jobs)
    workers = min(len(jobs), os.cpu_count() or 1)
    # a fork copies what is known here, plugins' measures included; with threads about, it could copy a held lock
    if not files or workers == 1 or sys.platform != "linux" or threading.active_count() > 1:
        yield from map(_evaluate, jobs)
        return
    by_itself = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends a worker without a word
    pool = ProcessPoolExecutor(workers, mp_context=get_context("fork"), initializer=by_itself)
    try:
        with warnings.catch_warnings():  # numpy's idle threads; its own handlers see to them
            warnings.filterwarnings("ignore", ".*multi-threaded.*fork", DeprecationWarning)
            found = pool.map(_evaluate, jobs)
        yield from found
    except BrokenExecutor as error:
        raise HostError("a process that evaluated runs was ended from outside; was there too little memory?") from error
    finally:
        pool.shutdown(cancel_futures=True)


def _experiment(name: str, description: str, comparisons: Mapping[str, Comparison]) -> Experiment:
    """Add what is over all data sets."""
    shared, notes = _shared(comparisons)
    first = next(iter(comparisons.values()))
    macro = {
        (system, label): _macro(system, first.baseline, found, first.alpha)
        for label, found in shared.items()
        for system in first.names
    }
    for dataset, comparison in comparisons.items():
        notes += [f"{dataset}: {note}" for note in comparison.notes]
    agreements = _agreements(comparisons, shared) if len(first.names) >= FEWEST_SYSTEMS else ()
    return Experiment(name, description, comparisons, macro, tuple(agreements), tuple(notes))


Found = Sequence[tuple[str, Comparison, Measure]]  # data sets, their comparisons, and what a measure is there


def _shared(comparisons: Mapping[str, Comparison]) -> tuple[dict[str, Found], list[str]]:
    """Return the measures that are the same on every data set, and notes on the others."""
    by_conditions: dict[tuple[str, str, str, str], dict[str, Measure]] = {}
    labels: dict[tuple[str, str, str, str], str] = {}
    for dataset, comparison in comparisons.items():
        for measure, signature in comparison.signatures.items():
            conditions = signature.measure, signature.order, signature.queries, signature.version
            by_conditions.setdefault(conditions, {})[dataset] = measure
            labels.setdefault(conditions, comparison.labels[measure])
    shared: dict[str, Found] = {}
    notes = []
    for conditions, found in by_conditions.items():
        if len(found) == len(comparisons):
            label = labels[conditions] if labels[conditions] not in shared else conditions[0]
            shared[label] = [(dataset, comparisons[dataset], measure) for dataset, measure in found.items()]
        else:
            only = ", ".join(found)
            notes.append(f"no mean over data sets of {labels[conditions]} ({conditions[0]}): only {only} has it")
    return shared, notes


def _macro(system: str, baseline: str, found: Found, alpha: float) -> Macro:
    means = [comparison.whole.means[system, measure] for _, comparison, measure in found]
    mean = _mean([known.value for known in means])
    interval = _interval([known.estimate for known in means], alpha)
    if system == baseline:
        return Macro(mean, interval, None, None, 0, 0, 0, 0, None)
    changes = [comparison.whole.changes[system, measure] for _, comparison, measure in found]
    differences = [change.difference for change in changes if change.difference is not None]
    p = None
    if len(changes) == len(differences) >= FEWEST_SETS:
        sample = inference.units(differences)
        p = inference.sign_flip_p(sample) or inference.mean_p(sample)
    return Macro(
        mean,
        interval,
        _mean([change.difference for change in changes]),
        _interval([change.shown for change in changes], alpha),
        sum(value > SAME for value in differences),
        sum(value < -SAME for value in differences),
        sum(change.verdict == "higher" for change in changes),
        sum(change.verdict == "lower" for change in changes),
        p,
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if len(known) == len(values) else None


def _interval(estimates: Sequence[inference.Estimate | None], alpha: float) -> Interval | None:
    known = [found for found in estimates if found is not None]
    return inference.macro(known).interval(alpha) if len(known) == len(estimates) else None


def _agreements(comparisons: Mapping[str, Comparison], shared: Mapping[str, Found]) -> list[Agreement]:
    def column(comparison: Comparison, measure: Measure) -> list[float]:
        return [comparison.whole.means[system, measure].value or 0.0 for system in comparison.names]

    found = []
    for label, sets in shared.items():
        found += _pairs(label, {dataset: column(comparison, measure) for dataset, comparison, measure in sets})
    for dataset, comparison in comparisons.items():
        found += _pairs(dataset, {label: column(comparison, measure) for measure, label in comparison.labels.items()})
    return found


def _pairs(by: str, columns: Mapping[str, Sequence[float]]) -> list[Agreement]:
    correlations: tuple[Callable[..., float | None], ...] = (kendall_tau, tau_ap)
    return [
        Agreement(by, one, other, *(correlate(columns[one], columns[other]) for correlate in correlations))
        for one, other in combinations(columns, 2)
    ]
