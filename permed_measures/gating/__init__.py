"""A gate: conditions that a run must hold, and drops against a baseline that stay within a margin.

Three verdicts: holds, fails, undecided. "Could not tell" is never called fine: see the rules of checks.py. Nothing is
drawn, so the same input has the same verdict, whatever the order of its lines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from permed_measures.errors import ParamError
from permed_measures.gating.checks import Check, Rules, Undecided, Verdict
from permed_measures.gating.conditions import Condition, ask, parse_condition, read_serving
from permed_measures.gating.result import Gate
from permed_measures.tables import stays_in_engine

if TYPE_CHECKING:
    from permed_measures.comparison.changes import Correction
    from permed_measures.evaluate.groups import Groups
    from permed_measures.files.rows import Duplicates
    from permed_measures.inputs import QrelsLike, RunLike
    from permed_measures.profiles import Profile, QuerySet
    from permed_measures.ranking import Order

__all__ = ["Check", "Condition", "Gate", "Rules", "Undecided", "Verdict", "gate", "parse_condition", "read_serving"]

REMOVED = {
    "test": "drops are bounded by the t of the paired differences",
    "seed": "nothing is drawn any more: the same input has the same verdict",
}
"""Options that were, and why they are not needed."""


def gate(  # noqa: PLR0913  (the options of a gate, all but two with defaults)
    qrels: QrelsLike,
    run: RunLike | Sequence[RunLike],
    conditions: Sequence[str | Condition] = (),
    *,
    profile: str | Path | Profile | None = None,
    baseline: RunLike | Sequence[RunLike] | None = None,
    max_drop: float | Mapping[str, float] | None = None,
    hard_drop: float | None = None,
    max_drop_since_anchor: float | None = None,
    serving: Mapping[str, Any] | None = None,
    segments: Groups | None = None,
    cluster: Groups | None = None,
    confident: bool = False,
    undecided: Undecided | None = None,
    allow_skipped: bool = False,
    min_relevance: float | None = None,
    queries: QuerySet | None = None,
    order: Order = "float32",
    duplicates: Duplicates = "error",
    qrels_columns: Sequence[str] | None = None,
    run_columns: Sequence[str] | None = None,
    human: QrelsLike | None = None,
    mapping: str | None = None,
    correction: Correction = "holm",
    alpha: float = 0.05,
    run_name: str = "run",
    table_options: Mapping[str, Any] | None = None,
    tell: Callable[[str], None] | None = None,
    test: None = None,
    seed: None = None,
) -> Gate:
    """Check conditions on a run's means and on serving figures, and drops against a baseline.

    Without conditions the profile's targets are checked. ``baseline`` is a run, or a file that gate --accept wrote;
    a list of runs is one system that ran several times: values are averaged per query, and bounds allow for the spread;
    ``max_drop``, then needed, is a number or {measure: number}. docs/gating.md says how it decides. ``segments`` (as
    ``groups`` of compare) asks everything of each group too; ``cluster`` names the independent units; ``tell`` is
    called with what cannot be decided, before anything is computed. ``human`` has people's grades of a random sample of
    queries: conditions are then decided by means corrected for the judge's errors (see :func:`corrected`).
    Tables of an engine stay there, with ``table_options``, as in :func:`~permed_measures.compare`.
    ``hard_drop`` fails without a test, ``max_drop_since_anchor`` limits what accepted drops add up to, ``confident``
    asks it of intervals, ``undecided`` ('fail', 'warn') sets the exit code, ``allow_skipped`` passes targets without a
    figure; ``mapping`` is that of :func:`corrected`, ``correction`` and ``alpha`` of compare, ``min_relevance``,
    ``queries``, ``order``, ``duplicates``, ``qrels_columns`` and ``run_columns`` of evaluate; ``run_name`` is shown;
    ``test`` and ``seed`` are gone. Returns a Gate; raises InputError, or ParamError for a condition.

    >>> qrels, run = {"q": {"a": 1}}, {"q": ["b", "a"]}
    >>> result = gate(qrels, run, ["RR>=0.5", "P@1>0.2", "p95_ms<=500"], serving={"p95_ms": 310})
    >>> [check.verdict for check in result.checks], result.exit_code
    (['holds', 'fails', 'holds'], 1)
    """
    for name, value in (("test", test), ("seed", seed)):
        if value is not None:
            raise ParamError(f"gate() has no {name}= any more: {REMOVED[name]}; leave it out")
    rules = Rules(max_drop, hard_drop, max_drop_since_anchor, confident, undecided, alpha)
    _check_margins(rules, has_baseline=baseline is not None)
    from permed_measures.comparison.systems import Said  # noqa: PLC0415  (the plugin of pytest is light)
    from permed_measures.gating.given import Input  # noqa: PLC0415  (the plugin of pytest is light)
    from permed_measures.gating.verdicts import Job  # noqa: PLC0415  (as above)

    rows = Said(duplicates, qrels_columns, run_columns)
    read = (rows.of(qrels, "qrels"), rows.of(run), rows.of(baseline))
    in_tables = {**rows.options, **(table_options or {})}
    given = Input(*read, run_name, min_relevance, queries, order, profile, human, mapping, in_tables)
    if human is not None and stays_in_engine(qrels):
        msg = "human: means are corrected in memory, and the qrels are a table of an engine; give files or frames"
        raise ParamError(msg)
    margins = None if baseline is None else rules.named
    asked = ask(conditions, given.known, serving, allow_skipped=allow_skipped, margins=margins)
    options = {name: value for name, value in vars(rules).items() if value is not None} | {"correction": correction}
    job = Job(given, asked, rules, serving or {}, segments, cluster, correction, options)
    return job.done(tell or (lambda _: None))


def _check_margins(rules: Rules, *, has_baseline: bool) -> None:
    if has_baseline and rules.max_drop is None:
        raise ParamError(
            "a baseline needs a margin, the drop that does not matter: max_drop=0.02 (in the shell --max-drop 0.02, or "
            "'nDCG@10=0.02' for one measure); permed-measures gate --power shows which margins these queries can decide"
        )
    for name in ("max_drop", "hard_drop", "max_drop_since_anchor"):
        value = getattr(rules, name)
        if value is not None and not has_baseline:
            raise ParamError(
                f"{name}={value!r} is about a drop against a baseline, and none is given: give one (in the shell "
                "--baseline RUN), or leave it out"
            )
