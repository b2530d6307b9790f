"""A comparison for programs: a table and a record, every number unrounded, None where there is none."""

from typing import Any

from ir_measures import Measure

from permed_measures.comparison import Comparison
from permed_measures.comparison.all_pairs import Pairs
from permed_measures.comparison.changes import Change
from permed_measures.comparison.changes import Table as Part
from permed_measures.comparison.report import words
from permed_measures.inference import Interval
from permed_measures.measures.definitions import definition
from permed_measures.render.document import Table
from permed_measures.render.result import flat_names

_INSIDE = ("estimate", "shown")  # what a change holds for others to compute with; its interval says it to readers
_DECIDED = ("decided_by", "p_adjusted", "smallest_p", "verdict")
_CHANGE = (*_DECIDED, "units", "wins", "ties", "losses", "effect_size", "detectable")
"""What a row has of a change, under the names it has there."""


def as_table(comparison: Comparison) -> Table:
    """Return one row per table, measure and run, the baseline's too."""
    lines = [
        _line(comparison, part, run, measure)
        for part in comparison.tables
        for measure in comparison.measures
        for run in comparison.names
    ]
    heads = max((list(line) for line in lines), key=len)  # the baseline has no change
    return Table(heads, [[line.get(head) for head in heads] for line in lines])


def ends(name: str, found: Interval | None) -> dict[str, Any]:
    """Return the ends of an interval, or None, under names of their own."""
    return dict(zip((f"{name}_low", f"{name}_high"), found or (None, None), strict=True))


def _line(comparison: Comparison, table: Part, run: str, measure: Measure) -> dict[str, Any]:
    mean, p_imp = table.means[run, measure], table.p_imp.get(run)
    line: dict[str, Any] = {"group": table.group, "run": run, "description": comparison.descriptions.get(run)}
    line |= {"name": comparison.labels[measure], "measure": str(measure), "queries": mean.queries, "mean": mean.value}
    line |= ends("mean", mean.interval)
    if comparison.repeats:
        spread = table.spreads.get((run, measure))
        line |= {"runs": spread.runs if spread else 1, "run_deviation": spread and spread.deviation}
    change = table.changes.get((run, measure))
    if change is not None:
        line |= {"pairs": change.queries, "difference": change.difference, "relative": change.relative}
        line |= ends("difference", change.interval)
        line |= {f"p_{test}": value for test, value in change.p_values.items()}
        line |= {name: getattr(change, name) for name in _CHANGE}
        if p_imp is not None:
            line |= {"p_imp": p_imp.value, **ends("p_imp", p_imp.interval), "p_imp_p": p_imp.p}
    if comparison.pairs and table.group is None:
        pairs = comparison.pairs[measure]
        line["letters"] = pairs.letters[run]
        line |= {f"p_against_{name}": pairs.p_values.get((run, name)) for name in comparison.names}
    return line


def flat(comparison: Comparison) -> dict[str, float]:
    """Return the means by run and measure, and the change, its interval and p-value."""
    found: dict[str, float | None] = {}
    runs, measures = flat_names(comparison.names), flat_names(comparison.labels.values())
    for (run, measure), mean in comparison.whole.means.items():
        name = f"{runs[run]}/{measures[comparison.labels[measure]]}"
        found[name] = mean.value
        change = comparison.whole.changes.get((run, measure))
        if change is not None:
            found[f"{name}_difference"] = change.difference
            found |= ends(f"{name}_difference", change.interval)
            found[f"{name}_difference_p"] = change.p_adjusted
    return {name: value for name, value in found.items() if value is not None}


def as_dict(comparison: Comparison) -> dict[str, Any]:
    """Return all of it for JSON."""
    return {
        "baseline": comparison.baseline,
        "runs": [{"name": name, "description": comparison.descriptions.get(name)} for name in comparison.names],
        "measures": [
            {"name": label, "measure": str(m), "definition": definition(m), "signature": str(comparison.signatures[m])}
            for m, label in comparison.labels.items()
        ],
        "profile": None if comparison.profile is None else comparison.profile.name,
        "min_relevance": comparison.min_relevance,
        **{name: getattr(comparison.settings, name) for name in ("test", "correction", "alpha", "seed", "margin")},
        "unit": "query" if comparison.settings.clusters is None else comparison.settings.clusters.name,
        "grouped_by": comparison.grouped_by,
        "all": _table(comparison, comparison.whole),
        "groups": [_table(comparison, table) for table in comparison.groups],
        "conclusions": [
            {"measure": label, "run": run, "sentence": words.conclusion(comparison, run, measure)}
            for run, measure, label in comparison.compared
        ],
        "all_pairs": [_pairs(label, comparison.pairs[m]) for m, label in comparison.labels.items() if comparison.pairs],
        "unjudged_by_rank": {name: list(shares) for name, shares in comparison.unjudged.items()},
        "notes": list(comparison.notes),
    }


def _pairs(label: str, pairs: Pairs) -> dict[str, Any]:
    return {
        "measure": label,
        "queries": pairs.queries,
        "first": list(pairs.first),
        "runs": [
            {
                "run": run,
                "mean": mean,
                "letters": pairs.letters[run],
                "p_values": {other: pairs.p_values[run, other] for other in pairs.means if other != run},
            }
            for run, mean in pairs.means.items()
        ],
    }


def _table(comparison: Comparison, table: Part) -> dict[str, Any]:
    means = [
        {"measure": label, "run": run, "mean": mean.value, "interval": mean.interval, "queries": mean.queries}
        | {"repeats": table.spreads[run, measure]._asdict() if (run, measure) in table.spreads else None}
        for measure, label in comparison.labels.items()
        for run in comparison.names
        for mean in [table.means[run, measure]]
    ]
    changes = [
        {"measure": label, "run": run, **_change(table.changes[run, measure])}
        for run, measure, label in comparison.compared
    ]
    p_imp = [{"run": run, "value": found.value, **vars(found)} for run, found in table.p_imp.items()]
    counts = {"group": table.group, "queries": table.queries, "units": table.units}
    return {**counts, "means": means, "changes": changes, "p_imp": p_imp}


def _change(change: Change) -> dict[str, Any]:
    """Return what a change has, under the names it has there."""
    known = {name: value for name, value in vars(change).items() if name not in _INSIDE}
    return {**known, "p_values": dict(change.p_values), "significant": change.significant}
