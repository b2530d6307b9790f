"""How many queries a difference needs, and what so many queries can show, before an experiment is run."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ir_measures import Measure

from permed_measures import inference
from permed_measures.comparison import Comparison, compare
from permed_measures.comparison.significance import standard_deviation
from permed_measures.errors import ParamError
from permed_measures.evaluate.groups import Groups
from permed_measures.inputs import QrelsLike, RunLike
from permed_measures.profiles import Profile
from permed_measures.render import plots
from permed_measures.render.document import Cell, Document, Figure, Lines, Section, Table, Value
from permed_measures.render.plots import Dot
from permed_measures.render.result import Result
from permed_measures.render.words import NONE
from permed_measures.render.words import queries as count_queries

_SIZES = (50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)


@dataclass(frozen=True)
class Prospect:
    """How the differences of one measure vary."""

    name: str
    deviation: float  # standard deviation of the differences, query by query
    design: float = 1.0  # by how much the queries must be more because they come in clusters: N·V/s²; 1 without
    queries: int | None = None  # how many there are; None where only a deviation was given


@dataclass(frozen=True, repr=False)
class Plan(Result):
    """What :func:`plan` returns."""

    prospects: tuple[Prospect, ...]
    difference: float
    asked: int | None
    alpha: float
    comparisons: int
    notes: tuple[str, ...] = ()

    def shown_by(self, prospect: Prospect, num: float) -> float | None:
        """Return the smallest difference that this many queries show four times out of five."""
        units = num / prospect.design
        return inference.detectable(prospect.deviation / math.sqrt(units), units, self.alpha, self.comparisons)

    def shows(self, prospect: Prospect) -> float | None:
        """Return what the queries show, those asked about or those there are."""
        num = self.asked or prospect.queries
        return None if num is None else self.shown_by(prospect, num)

    def needed(self, prospect: Prospect) -> int:
        """Return how many queries the wanted difference needs."""
        units = inference.units_needed(prospect.deviation, self.difference, self.alpha, self.comparisons)
        return math.ceil(prospect.design * units)

    def record(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        asked = {"difference": self.difference, "queries": self.asked, "alpha": self.alpha}
        return {
            **asked,
            "comparisons": self.comparisons,
            "power": inference.POWER,
            "measures": [{**vars(p), "shows": self.shows(p), "needed": self.needed(p)} for p in self.prospects],
            "shown_by": [
                {"queries": size, **{p.name: self.shown_by(p, size) for p in self.prospects}} for size in _SIZES
            ],
            "notes": list(self.notes),
        }

    def document(self) -> Document:
        """Return both tables, and for a page the plot."""
        clustered = any(prospect.design != 1 for prospect in self.prospects)
        shows = "these show" if self.asked is None else f"{self.asked:,} show"
        heads = ["measure", "sd", *(["design"] if clustered else []), "queries", shows, f"for {self.difference:g}"]
        rows: list[list[Value]] = []
        for p in self.prospects:
            design = [Cell(p.design, f"{p.design:.2f}")] if clustered else []
            num = Cell(p.queries, NONE if p.queries is None else f"{p.queries:,}")
            needed = Cell(self.needed(p), count_queries(self.needed(p)))
            rows.append([p.name, p.deviation, *design, num, self.shows(p), needed])
        level = f"p < {self.alpha:g}" + ("" if self.comparisons == 1 else f" / {self.comparisons} (Holm's first step)")
        below = [
            f"show: the smallest true difference that is found four times out of five, at {level}",
            "sd: standard deviation of the differences, query by query",
        ]
        if clustered:
            below.append("design: how many times more queries it takes because they come in clusters (N·V/s²)")
        sizes: list[list[Value]] = [[f"{size:,}", *(self.shown_by(p, size) for p in self.prospects)] for size in _SIZES]
        shown = Table(["queries", *(p.name for p in self.prospects)], sizes, "what so many queries show", left=1)
        plot = Figure(self._plot(), "the smallest difference that is found four times out of five, by queries")
        sections = [Section("", [Table(heads, rows, left=1, below=below)]), Section("", [shown])]
        sections += [Section("", [plot], on="page"), Section("", [Lines(self.notes, "note: ", flow=True)])]
        return Document(f"how many queries a difference of {self.difference:g} needs", "", sections)

    def _plot(self) -> str:
        """Draw the difference by the number of queries, a line per measure, both on logarithmic axes."""
        lines: dict[str, dict[float, Dot]] = {
            p.name: {size: Dot(f"{size:,} queries", self.shown_by(p, size)) for size in _SIZES} for p in self.prospects
        }
        if not any(dot.value for line in lines.values() for dot in line.values()):
            return ""
        return plots.curves(lines, "smallest difference shown, by number of queries", "queries", is_log=True)


def plan(  # noqa: PLR0913  (the options of a plan, all with defaults)
    qrels: QrelsLike | None = None,
    baseline: RunLike | None = None,
    run: RunLike | None = None,
    measures: str | Measure | Iterable[str | Measure] | None = None,
    *,
    sd: float | None = None,
    difference: float = 0.01,
    queries: int | None = None,
    profile: str | Path | Profile | None = None,
    min_relevance: float | None = None,
    cluster: Groups | None = None,
    comparisons: int | None = None,
    alpha: float = 0.05,
) -> Plan:
    """Say how many queries a difference needs, and what some queries can show four times out of five.

    Give two runs, from which the spread of the differences is taken, or its standard deviation ``sd``. ``queries`` asks
    about another number of queries than there are; ``comparisons`` is how many are corrected for (as many as measures,
    when not given); ``cluster`` is that of :func:`~permed_measures.comparison.compare`.
    ``qrels``, ``baseline``, ``run``, ``measures``, ``profile``, ``min_relevance`` and ``alpha`` are those of compare.
    Returns a Plan; raises ParamError where there is neither.

    >>> found = plan(sd=0.2, difference=0.05)
    >>> found.needed(found.prospects[0])        # ((1.96 + 0.84) · 0.2 / 0.05)² = 125.6, and some for t
    130
    """
    for name, value in (("sd", sd), ("difference", difference), ("queries", queries), ("comparisons", comparisons)):
        if value is not None and not 0 < value < math.inf:
            raise ParamError(f"{name}={value!r} is not allowed; give a number > 0")
    if sd is not None:
        if run is not None:
            raise ParamError("give two runs or sd, not both: the standard deviation is taken from the runs")
        return Plan((Prospect("sd given", sd),), difference, queries, alpha, comparisons or 1)
    if qrels is None or baseline is None or run is None:
        msg = "a plan needs qrels, a baseline and a run, from which differences are taken, or their sd (--sd 0.2)"
        raise ParamError(msg)
    options: Any = {"profile": profile, "min_relevance": min_relevance, "cluster": cluster, "alpha": alpha}
    result = compare(qrels, baseline, {"run": run}, measures, p_imp=False, **options)
    prospects = tuple(_prospect(result, measure) for measure in result.measures)
    return Plan(prospects, difference, queries, alpha, comparisons or len(prospects), result.notes)


def _prospect(result: Comparison, measure: Measure) -> Prospect:
    """Take the standard deviation of the differences, and the design effect of their clusters, from two runs."""
    change, label = result.whole.changes["run", measure], result.labels[measure]
    deviation = standard_deviation(list(result.difference("run", measure).values())) or 0.0
    if not deviation or change.estimate is None:
        raise ParamError(f"{label}: the runs differ on no query, so their spread is not known; give sd (--sd 0.2)")
    clustered = result.settings.clusters is not None
    design = change.queries * change.estimate.variance / deviation**2 if clustered else 1.0
    return Prospect(label, deviation, design, change.queries)
