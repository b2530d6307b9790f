"""What an evaluation holds: means, the value of every query, their conditions; saved and loaded whole."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

from ir_measures import Measure, Metric

from permed_measures.errors import InputError, ParamError, did_you_mean
from permed_measures.evaluate.spans import is_mean, span_of
from permed_measures.measures import parse
from permed_measures.profiles import Profile
from permed_measures.ranking import ORDERS, TIES, Order, Ties
from permed_measures.render.result import Result, flat_names
from permed_measures.signature import Conditions, Signature, ordered

if TYPE_CHECKING:
    from collections.abc import Mapping

    from permed_measures.evaluate.groups import Groups
    from permed_measures.evaluate.report import Evaluations
    from permed_measures.evaluate.unjudged import Shares
    from permed_measures.files.values import SavedRun, SavedValues
    from permed_measures.inference import Interval
    from permed_measures.render.document import Document, Table
    from permed_measures.render.figure import Panel
    from permed_measures.render.queries import Behind
    from permed_measures.signature import Digest


def aggregate(measure: Measure, values: Sequence[float]) -> float:
    """Return the mean over queries, or the sum where that is what the measure asks for (NumRet, NumQ, …)."""
    if is_mean(measure):
        return math.fsum(values) / len(values) if values else float("nan")
    aggregator = measure.aggregator()
    for value in values:
        aggregator.add(value)
    return float(aggregator.result())


@dataclass(frozen=True, repr=False)
class Evaluation(Result):
    """What :func:`evaluate` returns: means, values per query, and notes on what the numbers rest on."""

    means: dict[Measure, float]
    labels: dict[Measure, str]
    """What each measure is called in a table: the profile's name for it, else the measure as it prints."""
    notes: list[str]
    columns: Mapping[Measure, Mapping[str, float]]
    """The value of every query, by measure."""
    profile: Profile | None = None
    min_relevance: float | None = None
    order: Order = "float32"
    ties: Ties = "trec"
    conditions: Conditions | None = field(default=None, compare=False)
    unjudged: Shares = ()
    """The share of unjudged documents at each rank that a measure with a cut-off looks at, else at the first ten."""
    behind: Behind | None = None
    """Texts and documents behind the queries, where they were asked for."""

    @property
    def signatures(self) -> dict[Measure, Signature]:
        """The conditions of every measure's values; see signature.py."""
        return {} if self.conditions is None else self.conditions.signatures

    @cached_property
    def values(self) -> list[Metric]:
        """The value of every query as ir_measures' own tuples, query by query."""
        query_ids = dict.fromkeys(query_id for column in self.columns.values() for query_id in column)
        return [
            Metric(query_id, measure, column[query_id])
            for query_id in query_ids
            for measure, column in self.columns.items()
            if query_id in column
        ]

    def __getitem__(self, measure: str | Measure) -> float:
        """Return a mean by measure, by its print, or by the profile's name for it."""
        return self.means[self._measure(measure)]

    def _measure(self, measure: str | Measure) -> Measure:
        for known in self.means:
            if measure in (known, str(known), self.labels[known]):
                return known
        with suppress(ParamError):  # by any name that is one of it, as evaluate() takes it
            asked = parse(measure)
            if asked in self.means:
                return asked
        known_names = ", ".join(map(str, self.means))
        raise KeyError(f"{measure} was not evaluated; these were: {known_names}")

    def num_queries(self, measure: str | Measure) -> int:
        """Return how many queries a measure's mean runs over."""
        known = self._measure(measure)
        if known in self.columns or self.conditions is None:
            return len(self.columns[known])
        return self.conditions.num_queries(known)

    def interval(
        self, measure: str | Measure, *, alpha: float = 0.05, cluster: Groups | None = None
    ) -> Interval | None:
        """Return the interval of a mean at level 1 - alpha, as compare computes it; None for fewer than two units.

        ``cluster`` names the independent unit where it is not the query: 'conversation', a regular expression, a dict
        or file of query ids and clusters.

        >>> from permed_measures import evaluate
        >>> found = evaluate({f"q{n}": {"a": 1} for n in range(10)}, {f"q{n}": ["a"] for n in range(10)}, "P@1")
        >>> low, high = found.interval("P@1")   # ten values of 1 are no proof of 1
        >>> round(low, 4), high
        (0.7333, 1.0)
        """
        known = self._measure(measure)
        if isinstance(alpha, bool) or not 0 < alpha < 1:
            raise ParamError(f"alpha={alpha!r} is not allowed; give a number above 0 and below 1, such as 0.05")
        if known not in self.columns or not is_mean(known):
            why = "has no values by query here" if is_mean(known) else "is not a mean over queries"
            raise ParamError(f"{known} {why}, so it has no interval")
        column = self.columns[known]
        if len(column) < 2:  # noqa: PLR2004  (one unit has no spread)
            return None
        from permed_measures.evaluate.clusters import clusters  # noqa: PLC0415  (not needed by those who import)
        from permed_measures.inference import mean_estimate, units  # noqa: PLC0415  (as above)

        of = None if cluster is None else clusters(column, cluster)
        found = mean_estimate(units(column, of), span_of(known, [column]))
        return None if found is None else found.interval(alpha)

    def record(self) -> dict[str, Any]:
        """Return what is in JSON unless more is asked for."""
        return self.to_dict()

    def flat(self) -> dict[str, float]:
        """Return the means, and where values by query are known, their intervals and numbers of queries."""
        found: dict[str, float] = {}
        names = flat_names(self.labels.values())
        for measure, label in self.labels.items():
            name = names[label]
            found[name] = self.means[measure]
            found[f"{name}_queries"] = self.num_queries(measure)
            ends = self.interval(measure) if measure in self.columns and is_mean(measure) else None
            found |= {} if ends is None else {f"{name}_low": ends[0], f"{name}_high": ends[1]}
        return found

    def to_dict(self, *, flat: bool = False, by_query: bool = False, notes: bool = False) -> dict[str, Any]:
        """Return ``{"metrics": {name: mean}, "signatures": …}``, on request with the values per query and the notes.

        ``flat`` are numbers by name alone, as MLflow, W&B and TensorBoard take them: NDCG@10 is NDCG_at_10.
        """
        if flat:
            return dict(self.flat())
        result: dict[str, Any] = {"metrics": {self.labels[m]: mean for m, mean in self.means.items()}}
        result["signatures"] = {self.labels[m]: str(signature) for m, signature in self.signatures.items()}
        if by_query:
            queries: dict[str, dict[str, float]] = {}
            for query_id, measure, value in self.values:
                queries.setdefault(query_id, {})[self.labels[measure]] = value
            result["queries"] = queries
        if notes:
            result["notes"] = list(self.notes)
        return result

    def to_json(self, *, indent: int | None = 2, by_query: bool = False, notes: bool = False) -> str:
        """Return :meth:`to_dict` as JSON text."""
        from permed_measures.render.records import as_json  # noqa: PLC0415  (not needed by those who import)

        return as_json(self.to_dict(by_query=by_query, notes=notes), indent, allow_nan=True)

    def as_table(self) -> Table:
        """Return the value of every query: query_id, measure, value."""
        from permed_measures.render.document import Table  # noqa: PLC0415  (not needed by those who import)

        return Table(["query_id", "measure", "value"], [[q, str(measure), value] for q, measure, value in self.values])

    def document(self) -> Document:
        """Return the means, what their names are, and the notes."""
        from permed_measures.render.document import Document, Lines, Section, Table, Value  # noqa: PLC0415  (as above)

        names = [f"{label} = {measure}" for measure, label in self.labels.items() if label != str(measure)]
        rows: list[list[Value]] = [[self.labels[m], mean, str(self.num_queries(m))] for m, mean in self.means.items()]
        means = Table(["measure", "mean", "queries"], rows, left=1, below=names)
        return Document("", "", [Section("", [means]), Section("", [Lines(self.notes, "note: ")])])

    def page(self) -> Document:
        """Return the page: intervals and plots too."""
        return self._report().page()._replace(title="Evaluation")

    def notebook(self) -> Document:
        """Return the page without a title, and without the queries."""
        return self._report().notebook()._replace(title="")

    def panels(self, plot: str) -> Sequence[Panel]:
        """Return the parts of 'means' (with intervals) or 'cutoffs' (a measure against k)."""
        return self._report().panels(plot)

    def _report(self) -> Evaluations:
        from permed_measures.evaluate.report import Evaluations  # noqa: PLC0415  (as above)

        return Evaluations({"run": self}, behind=self.behind)

    def saved(self, name: str = "run", repeat: int | None = None) -> SavedRun:
        """Return what a file of saved values holds of it."""
        from permed_measures.files.values import Column, SavedRun  # noqa: PLC0415  (for those who save)

        missing = next((measure for measure in self.labels if measure not in self.columns), None)
        if missing is not None or self.conditions is None:
            msg = f"{missing or 'this evaluation'} has no values by query, so it cannot be saved: ask for them first"
            raise ParamError(msg)
        columns = [Column(self.labels[m], self.signatures[m], column) for m, column in self.columns.items()]
        return SavedRun(name, columns, self.notes, repeat)

    def save(self, path: str | PathLike[str], name: str = "run") -> None:
        """Write the values of all queries and their conditions; ``name`` is what the run is called there.

        :meth:`load` reads the file, and ``compare`` takes it in place of the run.
        """
        save_all(path, {name: self})

    @classmethod
    def load(cls, path: str | PathLike[str], name: str | None = None) -> Evaluation:
        """Read the evaluation that a file of saved values holds; ``name`` tells which, where it holds several."""
        from permed_measures.files.values import read  # noqa: PLC0415  (as above)

        saved = read(path)
        return cls.of_saved(one_run(saved, name, path), saved.judged, path)

    @classmethod
    def of_saved(cls, run: SavedRun, judged: Mapping[str, Digest], path: str | PathLike[str]) -> Evaluation:
        """Make an evaluation of saved values."""
        try:
            measures = [parse(column.signature.measure) for column in run.columns]
        except ParamError as error:
            raise InputError(f"{error}; is the package installed that has it?", path=str(path)) from error
        known = {ordered(order, rule): (order, rule) for order in ORDERS for rule in TIES[::-1]}
        orders = {column.signature.order for column in run.columns}
        if len(set(measures)) < len(measures) or not orders <= set(known) or len(orders) != 1:
            msg = f"the measures of {run.name!r} are not different ones by one order of {', '.join(ORDERS)}"
            raise InputError(msg, path=str(path))
        columns = dict(zip(measures, run.columns, strict=True))
        order, ties = known[orders.pop()]
        return cls(
            means={measure: aggregate(measure, list(column.values.values())) for measure, column in columns.items()},
            labels={measure: column.name for measure, column in columns.items()},
            notes=list(run.notes),
            columns={measure: dict(column.values) for measure, column in columns.items()},
            order=order,
            ties=ties,
            conditions=Conditions.known({measure: column.signature for measure, column in columns.items()}, judged),
        )


def save_all(path: str | PathLike[str], evaluations: Mapping[str, Evaluation]) -> None:
    """Save evaluations by their names into one file; all are of the same qrels."""
    from permed_measures.files.values import SavedValues, write  # noqa: PLC0415  (as above)

    runs = [evaluation.saved(name) for name, evaluation in evaluations.items()]  # first: it says what is missing
    judged: dict[str, Digest] = {}
    for evaluation in evaluations.values():
        judged |= {} if evaluation.conditions is None else evaluation.conditions.judged
    write(path, SavedValues(runs, judged))


def one_run(saved: SavedValues, name: str | None, path: str | PathLike[str]) -> SavedRun:
    """Return the run of that name, or the only one."""
    names = [run.name for run in saved.runs]
    found = [run for run in saved.runs if name in (None, run.name)]
    if len(found) != 1:
        said = "several runs; name one." if name is None else f"{len(found)} runs called {name!r}."
        raise InputError(f"the file holds {said}{did_you_mean(name or '', names)}", path=str(path))
    return found[0]
