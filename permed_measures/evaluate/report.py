"""What people read of evaluations: a row per run, intervals, plots, definitions, conditions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ir_measures import Measure

from permed_measures.errors import ParamError
from permed_measures.evaluate.spans import is_mean, is_share
from permed_measures.measures.definitions import definition
from permed_measures.numbers import SAME
from permed_measures.render.document import Block, Cell, Document, Figure, Lines, Section, Table, Value
from permed_measures.render.result import Format, Result, written
from permed_measures.render.words import NONE, queries

if TYPE_CHECKING:
    from permed_measures.evaluate.evaluation import Evaluation
    from permed_measures.evaluate.groups import Groups
    from permed_measures.evaluate.unjudged import Shares
    from permed_measures.inference import Interval
    from permed_measures.render.figure import Panel
    from permed_measures.render.layout import Layout
    from permed_measures.render.plots import Dot
    from permed_measures.render.queries import Behind

ALL, _INTERVAL = "all", "95% interval"
_RANKS = 10
"""Up to so many ranks each has its column; above that they are in bands."""
_FOR_PROGRAMS = ("csv", "jsonl")


@dataclass(frozen=True, repr=False)
class Evaluations(Result):
    """Evaluations of several runs by the same measures, in one table."""

    runs: Mapping[str, Evaluation]
    descriptions: Mapping[str, str] = field(default_factory=dict)
    by_query: bool = False
    signatures: bool = False
    interval: bool = False
    cluster: Groups | None = None
    behind: Behind | None = None
    """Texts and documents behind the queries of the page, by the names of the runs."""

    @property
    def first(self) -> Evaluation:
        """The first evaluation; the others have the same measures."""
        return next(iter(self.runs.values()))

    @cached_property
    def intervals(self) -> dict[tuple[str, Measure], Interval | None]:
        """The interval of every mean; None where it is no mean, or of fewer than two units."""
        return {
            (name, measure): one.interval(measure, cluster=self.cluster) if is_mean(measure) else None
            for name, one in self.runs.items()
            for measure in one.labels
        }

    def record(self) -> dict[str, Any]:
        """Return the record of each run under its name; that of a single run as it is."""
        found = {name: one.to_dict(by_query=self.by_query) for name, one in self.runs.items()}
        for name, inside in found.items() if self.interval else ():
            inside["intervals"] = {label: self.intervals[name, m] for m, label in self.runs[name].labels.items()}
        for name, text in self.descriptions.items():
            found[name]["description"] = text
        return {"runs": found} if len(found) > 1 else next(iter(found.values()))

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return :meth:`to_dict` as JSON text; a mean over nothing is NaN."""
        from permed_measures.render.records import as_json  # noqa: PLC0415  (for those who ask)

        return as_json(self.to_dict(), indent, allow_nan=True)

    def render(self, form: Format = "text", *, layout: Layout | None = None, **asked: bool) -> str:
        """Return the report; for programs one line per value ('jsonl') or one column per measure ('csv')."""
        if form in _FOR_PROGRAMS:
            return written(self.document(), form, table=self._long() if form == "jsonl" else self.as_table())
        return super().render(form, layout=layout, **asked)

    def document(self) -> Document:
        """Return the table, and below it what its numbers are."""
        below = [*self._uneven(), *_definitions(self.first), *(self._conditions() if self.signatures else [])]
        return Document("", "", [Section("", [self._wide()._replace(title=self.counted, below=below)])])

    def page(self) -> Document:
        """Return the page: what a notebook shows, and all queries with what is behind them, the worst first."""
        columns = {label: [one.columns.get(m) for one in self.runs.values()] for m, label in self.first.labels.items()}
        values = {label: [one for one in of if one is not None] for label, of in columns.items() if None not in of}
        if not values:
            return self.notebook()
        from permed_measures.render.queries import Queries  # noqa: PLC0415  (for pages, as all that draws)

        first = next(iter(values.values()))
        worst = sorted({q: None for column in first for q in column}, key=lambda q: min(c[q] for c in first if q in c))
        return Queries(list(self.runs), values, worst, behind=self.behind).into(self.notebook())

    def notebook(self) -> Document:
        """Return means, intervals, plots, what is unjudged, definitions, conditions, notes."""
        from permed_measures.render import plots  # noqa: PLC0415  (as above)
        from permed_measures.render.html import figures  # noqa: PLC0415  (as above)

        shown = replace(self, interval=True, by_query=False)
        drawn = [
            Figure(panel.draw(width=plots.WIDTH), panel.title)
            for panel in [*self.panels("means"), *_cutoffs(self._dots(), self.counted)]
        ]
        notes = [f"{name}: {note}" if len(self.runs) > 1 else note for name, e in self.runs.items() for note in e.notes]
        notes = [*self._uneven(), *self.unit_notes, *notes]
        means = shown._wide() if len(self.runs) > 1 else shown._rows()  # noqa: SLF001  (the same class)
        blocks: list[Block] = [means, figures(drawn)]
        sections = [Section("Means", blocks, "means")]
        unjudged = {name: one.unjudged for name, one in self.runs.items() if one.unjudged}
        sections += [Section(table.title, [table], "unjudged") for table in unjudged_table(unjudged)]
        below = {"Definitions": _definitions(self.first), "Conditions": self._conditions(), "Notes": notes}
        for title, lines in below.items():
            sections += [Section(title, [Lines(lines)], title.lower(), folded=title == "Conditions")] if lines else []
        return Document(", ".join(self.runs), self.counted, sections)

    def panels(self, plot: str) -> Sequence[Panel]:
        """Return the parts of 'means' (with intervals) or 'cutoffs' (a measure against k)."""
        if plot == "cutoffs":
            return cutoff_panels(self._dots(), self.counted)
        if plot != "means":
            msg = f"plot={plot!r} needs a baseline, which compare has; of evaluations there are 'means' and 'cutoffs'"
            raise ParamError(msg)
        from permed_measures.render import plots  # noqa: PLC0415  (as above)
        from permed_measures.render.figure import Panel  # noqa: PLC0415  (as above)

        labels, found, said = self.first.labels, self._dots(), f"{_INTERVAL}s"
        if len(self.runs) > 1 or not all(map(is_share, labels)):
            drawn = {label: partial(plots.dots, found[m], label, said=said) for m, label in labels.items()}
            return [Panel(f"{label}, {self.counted}", draw, label) for label, draw in drawn.items()]
        rows = [dot._replace(name=labels[m]) for m, (dot,) in found.items()]
        return [Panel(self.counted, partial(plots.dots, rows, "means", cycle=1, said=said))]

    def _dots(self) -> dict[Measure, list[Dot]]:
        from permed_measures.render.plots import Dot  # noqa: PLC0415  (as above)

        return {
            m: [Dot(name, one.means[m], self.intervals[name, m]) for name, one in self.runs.items()]
            for m in self.first.labels
        }

    @cached_property
    def counted(self) -> str:
        """How many queries the means run over."""
        low, high = min(self._counts), max(self._counts)
        if low < high:
            return f"{low:,} to {queries(high)}"
        if self.cluster is None or not self.first.columns:
            return queries(low)
        from permed_measures.evaluate.clusters import clusters  # noqa: PLC0415  (for intervals)

        of = clusters(next(iter(self.first.columns.values())), self.cluster)
        return f"{of.counted(len(set(of.of.values())))}, {queries(low)}"

    @cached_property
    def _counts(self) -> dict[int, list[str]]:
        """Which means run over so many queries."""
        found: dict[int, list[str]] = {}
        for name, one in self.runs.items():
            for measure, label in one.labels.items():
                said = label if len(self.runs) == 1 else f"{label} of {name}"
                found.setdefault(one.num_queries(measure), []).append(said)
        return found

    def _uneven(self) -> list[str]:
        """Say which means run over how many queries, where that is not the same number."""
        said = [f"{queries(number)}: {', '.join(names)}" for number, names in self._counts.items()]
        return said if len(said) > 1 else []

    @property
    def unit_notes(self) -> list[str]:
        """What the number of clusters allows, or that queries look like turns."""
        from permed_measures.evaluate.clusters import cluster_notes, clusters  # noqa: PLC0415  (as above)

        ids = next(iter(self.first.columns.values()), {})
        return cluster_notes(ids, None if self.cluster is None else clusters(ids, self.cluster))

    def _rows(self) -> Table:
        """Lay out a row per measure, of one run."""
        ((name, one),) = self.runs.items()
        rows: list[list[Value]] = [
            [label, Cell(one.means[m], share=is_share(m)), self._ends(name, m), str(one.num_queries(m))]
            for m, label in one.labels.items()
        ]
        return Table(["measure", "mean", _INTERVAL, "queries"], rows, left=1)

    def _ends(self, name: str, measure: Measure) -> Cell:
        ends = self.intervals[name, measure]
        return Cell(None if ends is None else f"{ends[0]} to {ends[1]}", ends=ends, share=is_share(measure))

    def _wide(self, *, whole: bool = False) -> Table:
        """Lay out one column per measure, its interval in one column more, or in two where numbers are whole."""
        texts = ["run"] if len(self.runs) > 1 or not self.by_query else []
        texts += ["description"] if self.descriptions else []
        heads = [*texts, *(["query"] if self.by_query else [])]
        for label in self.first.labels.values():
            heads.append(label)
            if self.interval:
                heads += [f"{label} low", f"{label} high"] if whole else [_INTERVAL]
        rows: list[list[Value]] = []
        for name, one in self.runs.items():
            known: dict[str, Value] = {"run": name, "description": self.descriptions.get(name, "")}
            start = [known[head] for head in texts]
            if self.by_query:
                rows += [[*start, *row] for row in self._by_query(one, whole=whole)]
                start.append(ALL)
            rows.append([*start, *self._means(name, whole=whole)])
        left = len(texts) + self.by_query
        return Table(heads, rows, left=left, name="means-table")

    def _means(self, name: str, *, whole: bool) -> Iterator[Value]:
        for m, mean in self.runs[name].means.items():
            best, second = self._standing[m]
            yield Cell(mean, best=name in best, second=name in second, share=is_share(m))
            if self.interval and whole:
                yield from self.intervals[name, m] or (None, None)
            elif self.interval:
                yield self._ends(name, m)

    def _by_query(self, one: Evaluation, *, whole: bool) -> Iterator[list[Value]]:
        """Yield the values of every query; a measure whose mean runs over other queries has none for some of them."""
        room: list[Value] = [None] * (self.interval * (2 if whole else 1))
        for query_id in dict.fromkeys(query_id for column in one.columns.values() for query_id in column):
            values = [[column.get(query_id), *room] for column in one.columns.values()]
            yield [query_id, *(value for inside in values for value in inside)]

    @cached_property
    def _standing(self) -> dict[Measure, tuple[set[str], set[str]]]:
        means = {m: {name: one.means[m] for name, one in self.runs.items()} for m in self.first.labels}
        return {m: standing(found) if is_mean(m) else (set(), set()) for m, found in means.items()}

    def as_table(self) -> Table:
        """Return one row per run, every number whole."""
        return self._wide(whole=True)

    def _long(self) -> Table:
        """Lay out one line per value."""
        rows: list[list[Value]] = []
        for name, one in self.runs.items():
            values = one.values if self.by_query else []
            room = [None, None] if self.interval else []
            rows += [[name, query, one.labels[measure], str(measure), value, *room] for query, measure, value in values]
            for m, mean in one.means.items():
                ends = self.intervals[name, m] or room if self.interval else ()
                rows.append([name, ALL, one.labels[m], str(m), mean, *ends])
        heads = ["run", "query_id", "name", "measure", "value", *(["low", "high"] if self.interval else [])]
        if self.descriptions:
            heads, rows = [*heads, "description"], [[*row, self.descriptions.get(str(row[0]), "")] for row in rows]
        leave_out = [place for place, wanted in enumerate((len(self.runs) > 1, self.by_query)) if not wanted]
        kept = [place for place in range(len(heads)) if place not in leave_out]
        return Table([heads[place] for place in kept], [[row[place] for place in kept] for row in rows])

    def _conditions(self) -> list[str]:
        """Return every signature once, with the runs that it is of where they differ."""
        runs: dict[str, list[str]] = {}
        for name, one in self.runs.items():
            for signature in one.signatures.values():
                runs.setdefault(str(signature), []).append(name)
        return [text if len(names) == len(self.runs) else f"{', '.join(names)}: {text}" for text, names in runs.items()]


def standing(values: Mapping[str, float | None]) -> tuple[set[str], set[str]]:
    """Return who has the highest value, and of three or more who the second; nobody where all have the same.

    >>> standing({"a": 0.5, "b": 0.25, "d": 0.1})
    ({'a'}, {'b'})
    """
    known = {name: value for name, value in values.items() if value is not None and value == value}
    best = {name for name, value in known.items() if value > max(known.values()) - SAME}
    rest = {name: value for name, value in known.items() if name not in best}
    second = {name for name, value in rest.items() if value > max(rest.values()) - SAME and len(known) > 2}  # noqa: PLR2004  (of two, nobody is second)
    return (best, second) if rest else (set(), set())


def unjudged_table(runs: Mapping[str, Shares]) -> list[Table]:
    """Lay out the shares by rank and run; nothing where all are judged."""
    known = {name: shares for name, shares in runs.items() if any(shares)}
    if not known:
        return []
    depth = max(map(len, known.values()))
    usual = range(1, depth) if depth <= _RANKS else (1, 5, 10, 20, 50, 100, 200, 500, 1000)
    ends = [*(end for end in usual if end < depth), depth]
    bands = [(low + 1, high) for low, high in pairwise([0, *ends])]
    rows: list[list[Value]] = []
    for name, shares in runs.items():
        parts = [shares[low - 1 : high] for low, high in bands]
        means = [sum(part) / len(part) if part else None for part in parts]
        rows.append([name, *(Cell(mean, NONE if mean is None else f"{mean:.1%}") for mean in means)])
    heads = [str(high) if low == high else f"{low} to {high}" for low, high in bands]
    below = ["of the lists that reach a rank; what is unjudged counts as not relevant, unless a measure says otherwise"]
    return [Table(["run", *heads], rows, "unjudged documents by rank", left=1, below=below, name="unjudged-table")]


def cutoff_panels(means: Mapping[Measure, Sequence[Dot]], said: str) -> list[Panel]:
    """Return a panel for each measure that is there at several cut-offs; a ParamError where none is."""
    panels = _cutoffs(means, said)
    if not panels:
        msg = f"no measure at several cut-offs: {', '.join(map(str, means))}; ask for 'nDCG@1 nDCG@5 nDCG@10', say"
        raise ParamError(msg)
    return panels


def _cutoffs(means: Mapping[Measure, Sequence[Dot]], said: str) -> list[Panel]:
    from permed_measures.render import plots  # noqa: PLC0415  (for pages, as all that draws)
    from permed_measures.render.figure import Panel  # noqa: PLC0415  (as above)

    found: dict[str, dict[str, dict[float, Dot]]] = {}
    for measure, dots in means.items():
        cutoff = measure.params.get("cutoff")
        for dot in dots if cutoff else ():
            lines = found.setdefault(str(measure).rpartition("@")[0], {})
            lines.setdefault(dot.name, {})[cutoff] = dot._replace(name=f"{dot.name}, k = {cutoff}")
    return [
        Panel(f"{name}@k, {said}", partial(plots.curves, lines, f"{name} against the cut-off", "cut-off k"), name)
        for name, lines in found.items()
        if max(map(len, lines.values())) > 1
    ]


def _definitions(evaluation: Evaluation) -> list[str]:
    """Return the meaning of each name that is not the measure's own."""
    renamed = [(label, measure) for measure, label in evaluation.labels.items() if label != str(measure)]
    return [f"{label} = {measure}: {definition(measure)}" for label, measure in renamed]
