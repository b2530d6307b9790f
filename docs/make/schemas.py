"""The JSON of every command, as schemas: ``python docs/make/schemas.py`` writes docs/schemas from the shapes below.

A shape is ``"type: what it is"`` (``?`` after the type: or null; ``a|b``: one of these), ``[shape]``, ``{"*": shape}``
for names of the user's, ``{"field": shape}`` (``field?``: not always there), or several in a tuple, of which one fits.
Fields that are not listed do not occur. docs/schemas/gate.json is written by hand.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "schemas"
_TYPES = ("number", "integer", "string", "boolean", "null")
_SIGNATURE = (
    r"^.+\|order:[^|]+\|queries:(qrels|run|both)\|n:[0-9]+\|judgements:[0-9]+\|digest:[0-9a-f]{16}\|version:[0-9]+"
)

Shape = Any
"""Strings, lists, tuples and dicts of shapes."""

NOTES = ["string: what the numbers rest on"]
INTERVAL = (["number"], "null: there is none")
SIGNATURE = "string: measure|order|queries|n|judgements|digest|version; permed-measures explain SIGNATURE reads it"
BY_MEASURE = {"*": "number?: by the measure's name"}
TARGET = {
    "name": "string: a measure or a figure",
    "value": "number?",
    "target": "number",
    "excellent": "number?",
    "lower_is_better": "boolean",
    "status": "string: met, excellent, missed",
    "missed_by": "number?",
}
EVALUATION = {
    "metrics": {"*": "number?: the mean, by the name that the profile or the user gave the measure; NaN over nothing"},
    "signatures": {"*": SIGNATURE},
    "description?": "string: of the run, by --describe",
    "intervals?": {"*": INTERVAL},
    "queries?": {"*": BY_MEASURE},
    "notes?": NOTES,
}
PART = {
    "group": "string?: its name; null: all queries",
    "queries": "integer",
    "units": "integer: independent ones: clusters, or queries",
    "means": [
        {
            "measure": "string",
            "run": "string",
            "mean": "number?",
            "interval": INTERVAL,
            "queries": "integer",
            "repeats": (
                {"runs": "integer", "deviation": "number: of the means of its runs", "low": "number", "high": "number"},
                "null: it was run once",
            ),
        }
    ],
    "changes": [
        {
            "measure": "string",
            "run": "string",
            "queries": "integer: that both have",
            "units": "integer",
            "difference": "number?: run - baseline",
            "relative": "number?: as a share of the baseline's mean",
            "interval": INTERVAL,
            "p_values": {"*": "number?: by test: t, wilcoxon, randomization"},
            "wins": "integer",
            "ties": "integer",
            "losses": "integer",
            "effect_size": "number?: Cohen's d_z",
            "decided_by": "string: the test",
            "direction": "integer: 1, -1 or 0",
            "smallest_p": "number?: that so few units can give",
            "equivalent": "boolean?: within the margin; null: none was asked for",
            "rare": "boolean: too few queries differ for a t interval",
            "p": "number?: of the test that decides",
            "p_adjusted": "number?: over all comparisons",
            "detectable": "number?: what these queries show four times out of five",
            "tested": "boolean: whether it counts among the comparisons",
            "verdict": "higher|lower|mixed|equivalent|not shown|identical|undefined",
            "significant": "boolean",
        }
    ],
    "p_imp": [
        {
            "run": "string",
            "value": "number?: pairs put right, as a share",
            "cutoff": "integer",
            "pairs": "integer",
            "improved": "integer",
            "worsened": "integer",
            "interval": INTERVAL,
            "p": "number?",
        }
    ],
}
COMPARISON = {
    "baseline": "string",
    "runs": [{"name": "string", "description": "string?"}],
    "measures": [
        {"name": "string: as the profile has it", "measure": "string", "definition": "string", "signature": SIGNATURE}
    ],
    "profile": "string?",
    "min_relevance": "number?",
    "test": "string: auto, t, wilcoxon, randomization",
    "correction": "string: holm, bh, none",
    "alpha": "number",
    "seed": "integer: of drawn sign flips",
    "margin": "number?: a difference that does not matter",
    "unit": "string: query, or what clusters are",
    "grouped_by": "string?",
    "all": PART,
    "groups": [PART],
    "conclusions": [{"measure": "string", "run": "string", "sentence": "string: for people"}],
    "all_pairs": [
        {
            "measure": "string",
            "queries": "integer",
            "first": ["string: the runs that none is shown to be better than"],
            "runs": [
                {
                    "run": "string",
                    "mean": "number?",
                    "letters": "string: runs that share one are not shown to differ",
                    "p_values": {"*": "number?: by the other run"},
                }
            ],
        }
    ],
    "unjudged_by_rank": {"*": ["number: the share of unjudged documents at rank 1, 2, …"]},
    "notes": NOTES,
}
PERCENTILES = {
    "calls": "integer",
    "failures": "integer",
    "failure_share?": "number",
    "censored?": "integer: calls whose end was never seen",
    **{f"{name}{end}?": "number" for name in ("p50_ms", "p95_ms", "p99_ms") for end in ("", "_at_least")},
    **{f"{name}{end}?": "number" for name in ("mean_ms", "std_ms", "min_ms", "max_ms") for end in ("", "_at_least")},
    "p95_low_ms?": "number",
    "p95_high_ms?": "number",
}
SERVED = {
    "by_size": {"*": PERCENTILES},
    "loads": [
        {
            "threads": "integer",
            "elapsed_s": "number",
            "qps?": "number: answered",
            "offered_qps?": "number",
            "arrival_rate?": "number",
            "arrivals?": "string",
            **PERCENTILES,
        }
    ],
    "failures_by_type": [{"type": "string", "count": "integer", "first_message": "string"}],
    "targets": [TARGET],
    "notes": NOTES,
}
FIGURES = {"*": "number: figures as gate --serving reads them: calls, p95_ms, qps, usd_per_query, …"}
AGREEMENT = {
    "schema": "integer",
    "level": "number: of the intervals: 0.05 is 95%",
    "judges": {
        "*": {
            "both": "integer: documents that both judged",
            "only_people": "integer",
            "only_judge": "integer",
            "queries": "integer",
            "coefficients": {"*": {"value": "number?", "low": "number?", "high": "number?"}},
            "confusion": [{"people": "number: grade", "judge": "number: grade", "documents": "integer"}],
            "groups": {"*": BY_MEASURE},
            "worst": [{"query_id": "string", "doc_id": "string", "people": "number", "judge": "number"}],
        }
    },
    "systems": (
        [
            {
                "judge": "string",
                "measure": "string",
                "queries": "integer",
                "tau": "number?",
                "tau_ap": "number?",
                "means": {"*": {"people": "number", "judge": "number"}},
                "pairs": [
                    {
                        "first": "string",
                        "second": "string",
                        "by_people": "number: difference",
                        "by_judge": "number",
                        "people_say": "string: a verdict",
                        "judge_says": "string: a verdict",
                        "verdict": "string: same, opposite, or who alone sees a difference",
                    }
                ],
            }
        ],
        "null: no runs were given",
    ),
    "notes": NOTES,
}
ESTIMATE = {"value": "number", "low": "number?", "high": "number?"}
COMBINATION = {
    "value": "number",
    "words": "string: the convention, for people",
    "measure": "string?: what gives this value here; null: nothing does",
    "options": {"*": "any: what evaluate() needs beside the measure"},
    "convention": {"*": "any: the choice on each axis"},
    "tools": [
        {
            "tool": "string",
            "version": "string",
            "name": "string: of the measure there",
            "source": "string",
            "checked": "string",
            "remark?": "string",
        }
    ],
    "others": "integer: further conventions of the same value",
    "truncated": "boolean: whether the value was cut to its decimals, not rounded",
}
MOVED = {"query_id": "string", "before": "number", "after": "number", "share": "number: of the whole change"}
SIDE = {"name": "string", "value": "number", "words": "string"}
MEASURE = {
    "name": "string",
    "label": "string",
    "definition": "string",
    "formula": "string?: LaTeX",
    "params": {
        "*": {
            "type": "string",
            "required": "boolean",
            "default": "any",
            "desc": "string",
            "choices?": ["any"],
        }
    },
    "names": {
        "ir_measures": ["string"],
        "ranx": {"*": {"*": "any: the parameters that it stands for"}},
        "trec_eval": {"*": {"*": "any"}},
    },
    "computed_by": "string",
}
PROFILE = {
    "name": "string",
    "description": "string",
    "min_relevance": "number?",
    "measures": [{"measure": "string", "name": "string", "queries": "qrels|run|both", "definition": "string"}],
    "targets": [{"name": "string", "target": "number", "excellent": "number?", "lower_is_better": "boolean"}],
}

SHAPES: dict[str, tuple[str, Shape]] = {
    "eval": ("eval --format json, and to_json()", (EVALUATION, {"runs": {"*": EVALUATION}})),
    "eval-human": (
        "eval --human --format json, and corrected()",
        {
            "schema": "integer",
            "level": "number",
            "difference": "boolean: of two runs",
            "cluster": "string?",
            "measures": {
                "*": {
                    "judge": ESTIMATE,
                    "people": ESTIMATE,
                    "corrected": ESTIMATE,
                    "quote": "string: which of the three to quote",
                    "why": "string",
                    "correlation": "number?",
                    "num_judge": "integer: queries",
                    "num_people": "integer: queries",
                    "is_whole": "boolean: every value is a whole number",
                    "gain": "number?: how much narrower the interval is",
                }
            },
            "agreement": AGREEMENT,
            "notes": NOTES,
        },
    ),
    "compare": ("compare --format json, and compare()", COMPARISON),
    "experiment": (
        "experiment --format json, and experiment()",
        {
            "name": "string",
            "description": "string",
            "baseline": "string",
            "systems": ["string"],
            "macro": [
                {
                    "system": "string",
                    "measure": "string",
                    "mean": "number?: over the data sets",
                    "interval": INTERVAL,
                    "difference": "number?",
                    "difference_interval": INTERVAL,
                    **{
                        f"{how}_{way}": "integer: data sets" for how in ("sets", "shown") for way in ("higher", "lower")
                    },
                    "p": "number?",
                }
            ],
            "agreements": [
                {
                    "by": "string: the measure by which two data sets order, or the data set on which two measures do",
                    "one": "string",
                    "other": "string",
                    "tau": "number?",
                    "tau_ap": "number?",
                }
            ],
            "datasets": [{"name": "string", **COMPARISON}],
            "notes": NOTES,
        },
    ),
    "plan": (
        "plan --format json, and plan()",
        {
            "difference": "number",
            "queries": "integer?: asked about",
            "alpha": "number",
            "comparisons": "integer",
            "power": "number",
            "measures": [
                {
                    "name": "string",
                    "deviation": "number: of the differences of queries",
                    "design": "number: how many queries of these clusters are worth one",
                    "queries": "integer?",
                    "shows": "number?: the difference found four times out of five",
                    "needed": "integer: queries for the difference",
                }
            ],
            "shown_by": [{"*": "number?: queries, and what they show, by measure"}],
            "notes": NOTES,
        },
    ),
    "query": (
        "query --format json",
        {
            "query_id": "string",
            "text": "string?",
            "runs": [
                {
                    "run": "string",
                    "values": BY_MEASURE,
                    "without_judged_documents": BY_MEASURE,
                    "documents": [
                        {
                            "rank": "integer",
                            "doc_id": "string",
                            "grade": "number?: null: unjudged",
                            "before": "integer?: its rank in the first run",
                            "gains": BY_MEASURE,
                            "text?": "string?",
                        }
                    ],
                    "not_returned": {"*": "number: the grade of each judged document that is missing"},
                }
            ],
        },
    ),
    "holes": (
        "a line of holes -o FILE.jsonl; beside these the rank in each run",
        {"query_id": "string", "doc_id": "string", "relevance": "any: to be filled in", "apart": "number", "*": "any"},
    ),
    "gate-power": (
        "gate --power --format json",
        {
            "permed_measures": "gate power",
            "schema": "integer",
            "measures": [
                {
                    "name": "string",
                    "margin": "number",
                    "smallest_margin": "number?: that these queries decide",
                    "queries": "integer",
                    "units": "integer",
                    "queries_needed": "integer?",
                    "assumed_spread": "number?: where there are no differences to take it from",
                }
            ],
            "chances": [
                {
                    "measure": "string",
                    "margin": "number",
                    "true drop": "number",
                    **dict.fromkeys(["fails", "undecided, exit 3", "undecided, exit 0", "holds"], "number: a chance"),
                }
            ],
        },
    ),
    "explain": (
        "explain --format json, and explain()",
        {
            "about": ["string"],
            "conventions": "integer: computed",
            "values": "integer: different ones",
            "spread": {"lowest": COMBINATION, "highest": COMBINATION},
            "ties": [
                {
                    "share": "number: of tied documents in the top k",
                    **dict.fromkeys(["tied", "documents", "queries"], "integer"),
                    **dict.fromkeys(["value", "expected", "best", "worst"], "number?"),
                    "words": "string",
                }
            ],
            "closed": {"*": {"about": "string: the axis", "why": "string: it changes nothing here"}},
            "notes": NOTES,
            "value?": "number: asked about",
            "decimals?": "integer",
            **{f"{name}?": [COMBINATION] for name in ("matches", "nearest", "elsewhere")},
            "waterfall?": {
                "a": SIDE,
                "b": SIDE,
                "steps": [
                    {
                        "axis": "string",
                        "words": "string",
                        **dict.fromkeys(["before", "after", "change"], "number"),
                        "changed_queries": "integer",
                        "queries": [MOVED],
                    }
                ],
                "queries": [MOVED],
            },
            "combinations": [COMBINATION],
        },
    ),
    "signature": (
        "explain SIGNATURE [SIGNATURE] --format json: what it says, or where two differ",
        (
            [{"condition": "string", "is": "string", "means": "string"}],
            [{"condition": "string", "first": "string?", "second": "string?"}],
        ),
    ),
    "verify": (
        "verify --format json, and verify()",
        {
            "outcome": "holds|fails|undecided",
            "holds": "boolean",
            "summary": "string: for people",
            "unconfirmed": ["string: measures that no reference confirms"],
            "references": {"*": "string: its version"},
            "notes": NOTES,
            "checks": [
                {
                    **dict.fromkeys(["measure", "reference", "verdict", "how"], "string"),
                    "tolerance": "number?",
                    "num_queries": "integer",
                    "num_differing": "integer",
                    **dict.fromkeys(["max_difference", "ours", "theirs"], "number?"),
                    "query_id": "string?: where they differ most",
                    "reason": "string",
                    "version": "string",
                    "circular": "boolean: it is the program that the value comes from",
                }
            ],
        },
    ),
    "judges": ("judges --format json, and agreement()", AGREEMENT),
    "serving": ("serving --format json", {"*": "number: a figure", "name": "string", **SERVED}),
    "serving-by": (
        "serving --by hour --format json",
        {
            "name": "string",
            "by": "hour|day",
            "periods": [{"period": "string: UTC", **PERCENTILES, "offered_qps?": "number", "qps?": "number"}],
        },
    ),
    "serving-against": (
        "serving --against OLD --format json",
        {
            "old": "string",
            "new": "string",
            "changes": [
                {
                    "name": "string: a figure",
                    **dict.fromkeys(["old", "new", "difference", "low", "high"], "number?"),
                    "verdict": "string: higher, lower, not shown, or why there is none",
                }
            ],
            "notes": NOTES,
        },
    ),
    "bench-reranker": (
        "bench-reranker --format json",
        {
            "profile": "string",
            "main_measure": "string",
            "measures": {"*": "string: what the name means"},
            "no_reranking": BY_MEASURE,
            "rerankers": [
                {
                    "name": "string",
                    "quality": BY_MEASURE,
                    "serving": FIGURES,
                    **SERVED,
                    "worth_it": {
                        "name": "string",
                        **dict.fromkeys(["baseline", "value", "threshold"], "number"),
                        "improvement": "number?: null: from 0",
                        "worth_it": "boolean",
                    },
                    "roi": (
                        {
                            **dict.fromkeys(
                                ["improvement", "revenue_increase_usd_per_day", "cost_usd_per_day"], "number"
                            ),
                            "roi": "number?",
                            "improvement_interval": ["number"],
                            "roi_interval": ["number"],
                        },
                        "null: revenue or cost is not known",
                    ),
                    "pareto": "boolean: no other one is better in all respects",
                }
            ],
        },
    ),
    "samples": (
        "samples --format json",
        {
            "metrics": {"*": "number: top1_accuracy, top3_accuracy, mrr, num_queries, …"},
            "groups": {
                name: ["string"]
                for name in ("without_positive", "several_positives", "single_candidate", "decided_by_ties")
            },
            "tied_candidates": "integer",
            "reading": ["string: for people"],
            "notes": NOTES,
            "weights": ({"*": "number"}, "null: samples have a score"),
            "training": (
                {"groups": "integer", "groups_skipped": "integer", "loss": ["number"]},
                "null: nothing was trained",
            ),
            "leaks": [
                {
                    "feature": "string",
                    "groups": "integer",
                    "perfect": "number: the share of groups that it ranks perfectly alone",
                    "direction": "string",
                    "auc": "number?",
                    "separates": "boolean",
                    "value": "number?: the commonest of right candidates",
                    **dict.fromkeys(["value_right", "value_wrong", "by_chance", "chance"], "number?"),
                    "reasons": ["string"],
                    "unproven": ["string"],
                    "leaks": "boolean",
                }
            ],
            "warnings": ["string"],
        },
    ),
    "measures": ("measures [NAME] --format json: one, or all", (MEASURE, [MEASURE])),
    "profiles": ("profiles [NAME] --format json: one, or all", (PROFILE, [PROFILE])),
}
"""By the name of its file: what prints it, and its shape."""


def schema(shape: Shape) -> dict[str, Any]:
    """Return the JSON schema of a shape."""
    if isinstance(shape, tuple):
        return {"anyOf": [schema(part) for part in shape]}
    if isinstance(shape, list):
        return {"type": "array", "items": schema(shape[0])}
    if isinstance(shape, dict):
        fields = {name.removesuffix("?"): schema(part) for name, part in shape.items() if name != "*"}
        found: dict[str, Any] = {"type": "object"} | ({"properties": fields} if fields else {})
        needed = [name for name in shape if name != "*" and not name.endswith("?")]
        found |= {"required": needed} if needed else {}
        return found | {"additionalProperties": schema(shape["*"]) if "*" in shape else False}
    kind, _, said = shape.partition(": ")
    said_too = {"description": said} if said else {}
    plain = kind.removesuffix("?")
    if plain == "any":
        return said_too
    if plain not in _TYPES:
        return {"enum": plain.split("|")} | said_too
    pattern = {"pattern": _SIGNATURE} if shape == SIGNATURE else {}
    return {"type": [plain, "null"] if kind != plain else plain} | pattern | said_too


def texts() -> dict[Path, str]:
    """Return every schema as the text of its file."""
    start = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {
        FOLDER / f"{name}.json": json.dumps(start | {"title": f"permed-measures {said}"} | schema(shape), indent=1)
        + "\n"
        for name, (said, shape) in SHAPES.items()
    }


if __name__ == "__main__":
    for path, text in texts().items():
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{path}\n")
