"""The systems of a comparison: each is a run, several runs of one system, or saved values; and has a name."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from ir_measures import Measure

from permed_measures.errors import InputError, ParamError, did_you_mean
from permed_measures.evaluate import Evaluation, Plan, choose, evaluate, read_for
from permed_measures.files.rows import Duplicates
from permed_measures.files.source import Source
from permed_measures.files.values import is_saved, read
from permed_measures.inputs import Qrels, Returned, RunLike, as_qrels, as_run
from permed_measures.measures import parse
from permed_measures.profiles import QUERY_SETS, Entry, Profile
from permed_measures.ranking import Order
from permed_measures.signature import Conditions, check_comparable, check_judged, digests
from permed_measures.tables import EngineRun, stays_in_engine

System: TypeAlias = RunLike | Evaluation | Sequence[RunLike | Evaluation]
"""A run, a list of runs that are repeats of one system, values that were saved (a path), or an Evaluation."""


def is_repeated(source: Any) -> bool:  # noqa: ANN401  (that is the question)
    """Whether a source is a list of runs; a list of named tuples is one run."""
    if not isinstance(source, (list, tuple)) or not source:
        return False
    kinds = (str, PathLike, Mapping, Evaluation, EngineRun)
    return all(isinstance(run, kinds) or stays_in_engine(run) or hasattr(run, "columns") for run in source)


def is_known(source: Any) -> bool:  # noqa: ANN401  (that is the question)
    """Whether the values of a source are there already: an Evaluation, or a file of saved values."""
    return isinstance(source, Evaluation) or (isinstance(source, (str, PathLike)) and is_saved(source))


class Said(NamedTuple):
    """What is said of the rows of qrels and runs, with the words of evaluate()."""

    duplicates: Duplicates = "error"
    qrels_columns: Sequence[str] | None = None
    run_columns: Sequence[str] | None = None

    def of(self, source: Any, what: Literal["qrels", "run"] = "run") -> Any:  # noqa: ANN401  (a System, or qrels)
        """Return a path with what is said of it, and whatever else was not evaluated already as it is read by that."""
        columns = self.run_columns if what == "run" else self.qrels_columns
        if source is None or (self.duplicates == "error" and columns is None):
            return source
        if isinstance(source, EngineRun) or stays_in_engine(source) or is_known(source):
            return source
        if isinstance(source, (str, PathLike)):
            return Source.of(source, columns=columns, duplicates=self.duplicates)
        if what == "run" and is_repeated(source):
            return [self.of(run) for run in source]
        return (as_run if what == "run" else as_qrels)(source, columns=columns, duplicates=self.duplicates)

    @property
    def options(self) -> dict[str, Any]:
        """What is not the default, for tables of an engine."""
        return {name: value for name, value in self._asdict().items() if value not in (None, "error")}


def named_runs(argument: str) -> tuple[str, list[str]] | None:
    """Read NAME=RUN,RUN, the runs of one system; None where it is the path of one file.

    >>> named_runs("llm=a.trec,b.trec"), named_runs("a.trec")
    (('llm', ['a.trec', 'b.trec']), None)
    """
    name, mark, several = argument.partition("=")
    is_name = mark and name and "/" not in name and not Path(argument).exists()
    return (name, several.split(",")) if is_name else None


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Say which run it is that cannot be evaluated."""
    try:
        yield
    except InputError as error:
        if error.path is not None:
            raise
        raise InputError(f"run {name!r}: {error}") from error


def run_name(source: System, otherwise: str) -> str:
    """Return what a run is called when nobody says: its file's name without the endings.

    >>> run_name("runs/bm25.v2.trec.gz", ""), run_name({}, "baseline")
    ('bm25.v2', 'baseline')
    >>> run_name("runs/new/*.parquet", "")
    'new'
    """
    if not isinstance(source, (str, PathLike)):
        return otherwise
    path = Path(source)
    while "*" in path.name:  # a pattern: the folder tells more
        path = path.parent
    if path.suffix in (".gz", ".bz2", ".xz", ".zst"):
        path = path.with_suffix("")
    return path.stem or str(source)


def named(
    baseline: System, baseline_name: str | None, runs: Mapping[str, System] | Sequence[str | PathLike[str]]
) -> dict[str, System]:
    """Return every system by its name, the baseline first."""
    if isinstance(runs, (str, PathLike)):
        runs = [runs]
    named = list(runs.items()) if isinstance(runs, Mapping) else [(run_name(run, ""), run) for run in runs]
    if not named:
        raise ParamError("no run to compare with the baseline; give at least one")
    sources = {baseline_name or run_name(baseline, "baseline"): baseline}
    for name, source in named:
        if not isinstance(name, str) or not name:
            raise ParamError(f"a run's name is a text, not {name!r}; give {{name: run}}")
        if name in sources:
            raise ParamError(f"two runs are called {name!r}; give each a name of its own")
        sources[name] = source
    return sources


def check_descriptions(descriptions: Mapping[str, str], names: Sequence[str]) -> None:
    """Raise ParamError for a description of something that is no run here."""
    for name in descriptions:
        if name not in names:
            raise ParamError(f"a description for {name!r}, which is no run here.{did_you_mean(name, names)}")


def _opened(source: Any) -> Iterator[Any]:  # noqa: ANN401  (a System, and its runs)
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


class Systems:
    """Evaluates the runs of all systems by the same measures; takes from saved values what is asked for.

    Without measures and profile the measures, and the order, are those of the first saved values.
    """

    def __init__(
        self,
        qrels: Qrels | None,
        sources: Mapping[str, Any],
        measures: str | Measure | Iterable[str | Measure] | None = None,
        *,
        keep: int | None = None,
        **options: Any,  # noqa: ANN401  (those of evaluate())
    ) -> None:
        if measures is not None and not isinstance(measures, (str, Measure)):
            measures = list(measures)  # they are looked at for every run
        self._qrels, self._measures = qrels, measures
        self._runs: dict[str, list[Any]] = {name: list(_opened(source)) for name, source in sources.items()}
        known = [run for runs in self._runs.values() for run in runs if isinstance(run, Evaluation)]
        if measures is None and options.get("profile") is None and known:
            options |= {"profile": _profile_of(known[0]), "order": known[0].order, "ties": known[0].ties}
        chosen = choose(measures, *map(options.get, ("profile", "queries", "min_relevance")))
        self.labels, *_, self.min_relevance = chosen
        self._options: Any = options
        self._reading = {name: value for name, value in options.items() if name != "queries"} | {"keep": keep}
        self.order: Order = options.get("order", "float32")
        self._texts = [str(measure) for measure in Plan(list(self.labels), self.min_relevance, self.order).computed]
        self._known = bool(known)
        self._first: tuple[str, Evaluation] | None = None

    def several(self, name: str) -> bool:
        """Whether a system has more than one run."""
        return len(self._runs[name]) > 1

    def evaluations(self, name: str) -> Iterator[tuple[Returned | None, Evaluation]]:
        """Yield every run of a system, where there is one, and what it reached.

        InputError where the conditions are others than those of the first.
        """
        for run in self._runs[name]:
            if isinstance(run, Evaluation):
                returned, found = None, _picked(run, self.labels, self._texts)
            elif self._qrels is None:
                raise InputError("a run is evaluated against qrels, and none are given; only saved values need none")
            else:
                returned = read_for(run, self._qrels, self._measures, **self._reading)
                found = evaluate(self._qrels, returned, self._measures, **self._options)
            if self._known:  # else all are of the same qrels and measures, and no digest is computed
                self._check(name, found)
            yield returned, found

    def _check(self, name: str, found: Evaluation) -> None:
        """Refuse values under other conditions than the first ones, and saved values of other judgements."""
        if found.conditions is None:
            return
        qrels = self._qrels
        if qrels is not None:
            judged = Conditions(dict, "", lambda: digests(qrels))
            check_judged(found.conditions, judged, (f"the values of {name!r}", "the qrels"))
        if self._first is None:
            self._first = name, found
        first_name, first = self._first
        if first.conditions is not None:
            check_judged(first.conditions, found.conditions, (repr(first_name), repr(name)))
        for measure, signature in found.signatures.items():
            check_comparable(first.signatures[measure], signature, (repr(first_name), repr(name)))


def _profile_of(evaluation: Evaluation) -> Profile:
    """Return the measures of saved values as a profile, each with what ``rel`` it was computed with."""
    sets = {queries: queries for queries in QUERY_SETS}
    entries = []
    for measure, signature in evaluation.signatures.items():
        if signature.queries not in sets:
            raise InputError(f"{signature} runs over queries that are none of {', '.join(QUERY_SETS)}")
        entries.append(Entry(parse(signature.measure), evaluation.labels[measure], sets[signature.queries]))
    return Profile("saved values", "the measures of saved values", tuple(entries))


def _picked(evaluation: Evaluation, labels: Mapping[Measure, str], texts: Sequence[str]) -> Evaluation:
    """Return the part of an evaluation that is asked for, under the names that are asked for."""
    by_text = {signature.measure: measure for measure, signature in evaluation.signatures.items()}
    absent = next((text for text in texts if text not in by_text), None)
    if absent is not None or evaluation.conditions is None:
        had = ", ".join(by_text) or "nothing with a signature"
        raise InputError(f"the values of {absent or 'any measure'} are not saved there: {had}; evaluate the run itself")
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
