"""A comparison for programs: a table and a record, every number unrounded, None where there is none."""

from typing import Any

from ir_measures import Measure

from permed_measures.comparison import Change, Comparison
from permed_measures.comparison import Table as Part
from permed_measures.comparison.all_pairs import Pairs
from permed_measures.comparison.report import words
from permed_measures.measures.definitions import definition
from permed_measures.render.document import Table
from permed_measures.render.result import flat_names

_INSIDE = ("estimate", "shown")
"""What a change holds for others to compute with; its interval says it to readers."""


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


def _line(comparison: Comparison, table: Part, run: str, measure: Measure) -> dict[str, Any]:
    mean = table.means[run, measure]
    low, high = mean.interval or (None, None)
    line: dict[str, Any] = {
        "group": table.group,
        "run": run,
        "description": comparison.descriptions.get(run),
        "name": comparison.labels[measure],
        "measure": str(measure),
        "queries": mean.queries,
        "mean": mean.value,
        "mean_low": low,
        "mean_high": high,
        **({"runs": 1, "run_deviation": None} if comparison.repeats else {}),
    }
    if (run, measure) in table.spreads:
        spread = table.spreads[run, measure]
        line |= {"runs": spread.runs, "run_deviation": spread.deviation}
    change = table.changes.get((run, measure))
    if change is None:
        return line | _pairs_line(comparison, table, run, measure)
    low, high = change.interval or (None, None)
    return line | {
        "pairs": change.queries,
        "difference": change.difference,
        "relative": change.relative,
        "difference_low": low,
        "difference_high": high,
        **{f"p_{test}": value for test, value in change.p_values.items()},
        "decided_by": change.decided_by,
        "p_adjusted": change.p_adjusted,
        "smallest_p": change.smallest_p,
        "verdict": change.verdict,
        "units": change.units,
        "wins": change.wins,
        "ties": change.ties,
        "losses": change.losses,
        "effect_size": change.effect_size,
        "detectable": change.detectable,
        **_p_imp_line(table, run),
        **_pairs_line(comparison, table, run, measure),
    }


def _p_imp_line(table: Part, run: str) -> dict[str, Any]:
    if run not in table.p_imp:
        return {}
    low, high = table.p_imp[run].interval or (None, None)
    return {"p_imp": table.p_imp[run].value, "p_imp_low": low, "p_imp_high": high, "p_imp_p": table.p_imp[run].p}


def _pairs_line(comparison: Comparison, table: Part, run: str, measure: Measure) -> dict[str, Any]:
    if not comparison.pairs:
        return {}
    pairs = comparison.pairs[measure]
    of_all = table.group is None
    p_values = {f"p_against_{name}": pairs.p_values.get((run, name)) for name in comparison.names}
    return {"letters": pairs.letters[run]} | p_values if of_all else {}


def flat(comparison: Comparison) -> dict[str, float]:
    """Return the means by run and measure, and the change, its interval and p-value."""
    found: dict[str, float | None] = {}
    runs, measures = flat_names(comparison.names), flat_names(comparison.labels.values())
    for (run, measure), mean in comparison.whole.means.items():
        name = f"{runs[run]}/{measures[comparison.labels[measure]]}"
        found[name] = mean.value
        change = comparison.whole.changes.get((run, measure))
        if change is not None:
            low, high = change.interval or (None, None)
            ends = {"": change.difference, "_low": low, "_high": high, "_p": change.p_adjusted}
            found |= {f"{name}_difference{end}": value for end, value in ends.items()}
    return {name: value for name, value in found.items() if value is not None}


def as_dict(comparison: Comparison) -> dict[str, Any]:
    """Return all of it for JSON."""
    return {
        "baseline": comparison.baseline,
        "runs": [{"name": name, "description": comparison.descriptions.get(name)} for name in comparison.names],
        "measures": [
            {
                "name": label,
                "measure": str(measure),
                "definition": definition(measure),
                "signature": str(comparison.signatures[measure]),
            }
            for measure, label in comparison.labels.items()
        ],
        "profile": None if comparison.profile is None else comparison.profile.name,
        "min_relevance": comparison.min_relevance,
        "test": comparison.test,
        "correction": comparison.correction,
        "alpha": comparison.alpha,
        "seed": comparison.settings.seed,
        "margin": comparison.settings.margin,
        "unit": "query" if comparison.settings.clusters is None else comparison.settings.clusters.name,
        "grouped_by": comparison.grouped_by,
        "all": _table(comparison, comparison.whole),
        "groups": [_table(comparison, table) for table in comparison.groups],
        "conclusions": [
            {"measure": label, "run": run, "sentence": words.conclusion(comparison, run, measure)}
            for measure, label in comparison.labels.items()
            for run in comparison.runs
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
        {
            "measure": label,
            "run": run,
            "mean": table.means[run, measure].value,
            "interval": table.means[run, measure].interval,
            "queries": table.means[run, measure].queries,
            "repeats": table.spreads[run, measure]._asdict() if (run, measure) in table.spreads else None,
        }
        for measure, label in comparison.labels.items()
        for run in comparison.names
    ]
    changes = [
        {"measure": label, "run": run, **_change(table.changes[run, measure])}
        for measure, label in comparison.labels.items()
        for run in comparison.runs
    ]
    p_imp = [{"run": run, "value": found.value, **vars(found)} for run, found in table.p_imp.items()]
    counts = {"group": table.group, "queries": table.queries, "units": table.units}
    return {**counts, "means": means, "changes": changes, "p_imp": p_imp}


def _change(change: Change) -> dict[str, Any]:
    """Return what a change has, under the names it has there."""
    known = {name: value for name, value in vars(change).items() if name not in _INSIDE}
    return {**known, "p_values": dict(change.p_values), "significant": change.significant}
