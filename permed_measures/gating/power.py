"""What a gate can and cannot catch with these queries: before it is trusted, and for writing a gate.toml."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from statistics import NormalDist, fmean
from typing import Any

from permed_measures import inference
from permed_measures.comparison.systems import named_runs
from permed_measures.evaluate.clusters import clusters
from permed_measures.evaluate.groups import Groups
from permed_measures.evaluate.spans import span_of
from permed_measures.files.values import is_saved
from permed_measures.gating.checks import Rules, differences, queries_needed
from permed_measures.gating.given import Evaluated
from permed_measures.inference import Estimate, Extra, Units, estimate
from permed_measures.inference.student import t_quantile
from permed_measures.profiles import toml_text
from permed_measures.render.document import Cell, Document, Lines, Section, Table, Value
from permed_measures.render.result import Result
from permed_measures.render.words import queries

TYPICAL = 0.2
"""The standard deviation of differences of nDCG between two versions of a system, where no baseline tells it."""
_TIMES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0)
_NORMAL = NormalDist()


@dataclass(frozen=True)
class Margin:
    """One measure: how its differences spread, and what that makes of its margin."""

    name: str
    allowed: float | None  # None: the smallest that can be decided
    sample: Units  # differences; what they are on average does not count
    assumed: bool
    alpha: float
    extra: Extra = ()  # what few runs of a system add to the variance

    @property
    def smallest(self) -> float:
        """The smallest margin that these queries can decide."""
        return inference.drop(self.sample, 0.0, alpha=self.alpha, extra=self.extra).smallest_margin or math.inf

    @property
    def margin(self) -> float:
        """The margin that is asked about."""
        return self.smallest if self.allowed is None else self.allowed

    @property
    def needed(self) -> int | None:
        """About how many queries decide the margin."""
        return queries_needed(self.sample, self.margin, inference.DIFFERENCE, self.alpha, self.extra)

    def chances(self, true_drop: float) -> tuple[float, float, float]:
        """Return the chances that the gate fails, that it is undecided with a drop shown, and that it holds."""
        plain = estimate(self.sample, extra=self.extra)
        shown = inference.difference_estimate(self.sample, extra=self.extra)
        wide = estimate(self.sample, 2, extra=self.extra)
        if plain is None or shown is None or wide is None:
            return 0.0, 0.0, 0.0
        error = max(plain.error, 1e-9)
        grown = len(self.sample)

        def far(found: Estimate, k: int, sign: int, of: float) -> float:
            """Return how far the mean must be so that its bound reaches the margin."""
            quantile = t_quantile(1 - self.alpha, found.freedom)
            return (of + sign * quantile * found.error) * (grown + 2 * k) / grown

        fails = 1 - _NORMAL.cdf((far(shown, inference.widening(self.sample), 1, self.margin) - true_drop) / error)
        holds = _NORMAL.cdf((far(wide, 2, -1, self.margin) - true_drop) / error)
        seen = 1 - _NORMAL.cdf((far(plain, 0, 1, 0.0) - true_drop) / error)
        return fails, max(0.0, min(seen, 1 - holds) - fails), holds


@dataclass(frozen=True, repr=False)
class Power(Result):
    """What a gate can and cannot catch."""

    margins: Sequence[Margin]

    def record(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        return {
            "permed_measures": "gate power",
            "schema": 1,
            "measures": [
                {
                    "name": one.name,
                    "margin": one.margin,
                    "smallest_margin": one.smallest,
                    "queries": one.sample.queries,
                    "units": len(one.sample),
                    "queries_needed": one.needed,
                    "assumed_spread": TYPICAL if one.assumed else None,
                }
                for one in self.margins
            ],
            "chances": self.as_table().records(),
        }

    def as_table(self) -> Table:
        """Return the chances of every verdict by the true drop."""
        rows: list[list[Value]] = []
        for one in self.margins:
            for times in _TIMES:
                fails, seen, holds = one.chances(times * one.margin)
                rest = max(0.0, 1 - fails - seen - holds)
                chances = [Cell(chance, f"{chance:.0%}") for chance in (fails, seen, rest, holds)]
                rows.append([one.name, one.margin, times * one.margin, *chances])
        heads = ["measure", "margin", "true drop", "fails", "undecided, exit 3", "undecided, exit 0", "holds"]
        return Table(heads, rows)

    def document(self) -> Document:
        """Return the chances, and what these queries can decide."""
        said = [
            f"{one.name}: {queries(one.sample.queries)} decide margins from {one.smallest:.4f} on"
            + (f"; about {queries(one.needed)} decide {one.margin:g}" if one.needed and one.allowed is not None else "")
            for one in self.margins
        ]
        if any(one.assumed for one in self.margins):
            said.append(
                "no baseline, or one with the same rankings: differences are taken to spread by "
                f"{TYPICAL}, as those of nDCG often do"
            )
        return Document("", "", [Section("", [self.as_table(), Lines(said)])])


def power(found: Evaluated, rules: Rules, cluster: Groups | None) -> Power:
    """Return what a gate on these values can catch."""
    margins = []
    for measure, name in found.run.labels.items():
        after = found.run.columns[measure]
        units = None if cluster is None else clusters(list(after), cluster)
        old = {} if found.baseline is None else found.baseline.values.columns[measure]
        by_query = differences(old, after)
        # without a baseline, or with this very run, nothing is known of the spread
        assumed = not any(by_query.values())
        if assumed:
            unit_of = units or str  # the queries of a cluster go together
            turns = {unit: place % 2 for place, unit in enumerate(sorted({unit_of(query) for query in after}))}
            by_query = {query: TYPICAL if turns[unit_of(query)] else -TYPICAL for query in after}
        sample = inference.units(by_query, units)
        extra = [part for spread in found.repeats(measure).values() for part in spread.extra]
        margins.append(Margin(name, rules.margin(name), sample, assumed, rules.alpha, extra))
    return Power(margins)


_ASSUMED = f"\n# (Differences were taken to spread by {TYPICAL}; once a baseline is there, gate --power knows better.)"


def gate_file(found: Evaluated, shown: Power, settings: Mapping[str, Any], folder: Path) -> str:
    """Return a commented gate.toml: the conditions given, or those that hold now, and margins that can be decided."""
    margins, conditions = [], [f"    {toml_text(condition)}," for condition in settings.get("conditions", ())]
    about = "# As given." if conditions else "# The low ends of today's intervals."
    for one, (measure, name) in zip(shown.margins, found.run.labels.items(), strict=True):
        column = found.run.columns[measure]
        estimated = inference.mean_estimate(inference.units(column), span_of(measure, [column]))
        low = fmean(column.values()) if estimated is None else estimated.interval()[0]
        if "conditions" not in settings and low >= 0.01:  # noqa: PLR2004  (any value is >= 0)
            conditions.append(f"    {toml_text(f'{name} >= {math.floor(low * 100) / 100:g}')},")
        margins.append(f"{toml_text(name)} = {_up(one.smallest):g}  # from {one.smallest:.4f} on")
    largest = max(one.smallest for one in shown.margins)
    paths = {name: _paths(settings.get(name), folder) for name in ("qrels", "run", "baseline")}
    saved = isinstance(settings.get("baseline"), str) and is_saved(settings["baseline"])
    template = (files("permed_measures.gating") / "gate.toml.template").read_text(encoding="utf-8")
    return template.format(
        qrels=paths["qrels"],
        run=paths["run"],
        profile=f"profile = {toml_text(settings['profile'])}\n" if "profile" in settings else "",
        about=about,
        conditions="\n".join(conditions),
        baseline=paths["baseline"] if saved else toml_text("gate-baseline.jsonl"),
        hard=max(0.1, _up(2 * largest)),
        anchor=_up(1.5 * largest),
        cluster="# " * ("cluster" not in settings) + f"cluster = {toml_text(settings.get('cluster', 'conversation'))}",
        queries=queries(max(one.sample.queries for one in shown.margins)),
        assumed=_ASSUMED if shown.margins[0].assumed else "",
        margins="\n".join(margins),
    )


def _up(margin: float) -> float:
    return math.ceil(margin * 100 - 1e-9) / 100


def _paths(given: str | Sequence[str] | None, folder: Path) -> str:
    """Write a path, or the paths of a system's runs, as TOML."""
    named = named_runs(given) if isinstance(given, str) else None
    several = named[1] if named is not None else given
    if several is None or isinstance(several, str):
        return toml_text(_relative(several, folder))
    return f"[{', '.join(toml_text(_relative(path, folder)) for path in several)}]"


def _relative(path: str | None, folder: Path) -> str:
    """Return a path from the folder that the file is in, where it is inside it."""
    whole = Path(path or "").resolve()
    return whole.relative_to(folder.resolve()).as_posix() if whole.is_relative_to(folder.resolve()) else str(whole)
