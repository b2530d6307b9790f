"""Baselines: a run, or a file of saved values that somebody accepted, with its anchor, the best accepted state.

Such a file is one of saved values (files/values.py) with two runs: ``accepted`` (several times, where the system ran
several times) has the values that later gates compare with, ``anchor`` has, measure by measure, those of the highest
mean that was ever accepted. Its options hold digests of the accepted rankings, so that "identical rankings" can be told
without the run.
"""

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from os import PathLike
from pathlib import Path
from statistics import fmean
from typing import Any

from ir_measures import Measure

from permed_measures.comparison.repeats import mean_evaluation
from permed_measures.errors import InputError
from permed_measures.evaluate import Evaluation, Plan
from permed_measures.evaluate.tops import top
from permed_measures.files.values import Column, SavedRun, SavedValues, read, write
from permed_measures.inputs import Run, RunLike, as_run
from permed_measures.notes import Queries
from permed_measures.ranking import Order
from permed_measures.signature import Digest, differences
from permed_measures.tables import EngineRun

ACCEPTED, ANCHOR = "accepted", "anchor"
_OPTION = "gate"


def depth_of(measure: Measure, min_relevance: float | None, order: Order) -> int | None:
    """Return the rank below which a measure does not look; None where it looks at the whole list."""
    return Plan([measure], min_relevance, order).depth


class Rankings:
    """The documents of a system's runs in order, as digests; read only when somebody asks."""

    def __init__(self, runs: Sequence[RunLike | EngineRun], order: Order) -> None:
        self._order = order
        self._runs: list[tuple[RunLike | Run | EngineRun, dict[int | None, dict[str, str]]]] = [
            (run, {}) for run in runs
        ]

    def digest(self, depth: int | None, query_ids: Sequence[str]) -> str:
        """Return what tells the order of documents down to a depth, over these queries, from any other.

        Runs that are all alike have that of one; in which order runs are given does not count.
        """
        digests = sorted(self._digest(number, depth, query_ids) for number in range(len(self._runs)))
        return digests[0] if len(set(digests)) == 1 else sha256("".join(digests).encode()).hexdigest()[:16]

    def _digest(self, number: int, depth: int | None, query_ids: Sequence[str]) -> str:
        source, digests = self._runs[number]
        if isinstance(source, EngineRun):
            return _streamed(source, depth, query_ids)
        run = as_run(source)
        self._runs[number] = run, digests
        known = digests.setdefault(depth, {})
        whole = sha256()
        for query_id in sorted(query_ids):
            if query_id not in known:
                known[query_id] = json.dumps([query_id, top(run.get(query_id, ()), depth, self._order)])
            whole.update(known[query_id].encode())
        return whole.hexdigest()[:16]


def _streamed(run: EngineRun, depth: int | None, query_ids: Sequence[str]) -> str:
    """Return the same of a run in an engine, list by list."""
    whole, lists = sha256(), run.lists(depth)
    query, docs = next(lists, (None, []))
    for query_id in sorted(query_ids):
        while query is not None and query < query_id:
            query, docs = next(lists, (None, []))
        whole.update(json.dumps([query_id, docs if query == query_id else []]).encode())
    return whole.hexdigest()[:16]


@dataclass(frozen=True)
class Baseline:
    """The values to compare with."""

    values: Evaluation
    rankings: Rankings | Mapping[str, str]
    """Of a file: digests by depth."""
    anchor: Mapping[Measure, Mapping[str, float]] = field(default_factory=dict)
    """The values of the best accepted state, by measure."""
    runs: Sequence[Evaluation] = ()
    """What each run reached, where the system was run several times."""

    def same_rankings(self, of_run: Rankings, depth: int | None, query_ids: Sequence[str]) -> bool:
        """Whether a run orders the same documents in the same way, down to a depth."""
        if isinstance(self.rankings, Rankings):
            return self.rankings.digest(depth, query_ids) == of_run.digest(depth, query_ids)
        known = self.rankings.get(_key(depth, query_ids))
        return known is not None and known == of_run.digest(depth, query_ids)

    @classmethod
    def load(cls, path: str | PathLike[str], now: Evaluation, measures: Collection[Measure]) -> "Baseline":
        """Read the values of these measures; a file that was made under other conditions than the run's is refused."""
        saved = read(path)
        runs: dict[str, list[SavedRun]] = {}
        for run in saved.runs:
            runs.setdefault(run.name, []).append(run)
        accepted = runs.get(ACCEPTED) or (next(iter(runs.values())) if len(runs) == 1 else [])
        if not accepted:
            msg = f"several runs ({', '.join(runs)}), none called {ACCEPTED!r}; make a baseline with gate --accept"
            raise InputError(msg, path=str(path))
        found = [_evaluation(_matched(run, saved, now, path, measures), now) for run in accepted]
        anchor = {} if ANCHOR not in runs else _matched(runs[ANCHOR][0], saved, now, path, measures)
        options = saved.options.get(_OPTION, {})
        rankings = options.get("rankings", {}) if isinstance(options, dict) else {}
        best = {measure: column.values for measure, column in anchor.items()}
        return cls(mean_evaluation(found), rankings, best, found)


def _evaluation(columns: Mapping[Measure, Column], now: Evaluation) -> Evaluation:
    means = {measure: column.mean or 0.0 for measure, column in columns.items()}
    values = {measure: dict(column.values) for measure, column in columns.items()}
    return Evaluation(means=means, labels=now.labels, notes=[], columns=values, order=now.order)


def _key(depth: int | None, query_ids: Sequence[str]) -> str:
    return f"{'all' if depth is None else depth} of {len(query_ids)}"


def _matched(
    run: SavedRun, saved: SavedValues, now: Evaluation, path: str | PathLike[str], measures: Collection[Measure]
) -> dict[Measure, Column]:
    """Return the column of every measure; InputError says what is not as it was."""
    by_measure = {column.signature.measure: column for column in run.columns}
    found = {}
    for measure in measures:
        signature = now.signatures[measure]
        column = by_measure.get(signature.measure)
        if column is None:
            msg = f"the baseline has no {signature.measure}; it has {', '.join(by_measure)}"
            raise InputError(f"{msg}. {_ANEW}", path=str(path))
        changed = differences(column.signature, signature, with_n=False)
        if changed:
            judged = {} if now.conditions is None else now.conditions.judged
            what = "; ".join([*changed, *(_judgements(saved.judged, judged) if "judgements" in changed[0] else ())])
            msg = f"the baseline's {signature.measure} was made under other conditions: {what}"
            raise InputError(f"{msg}. {_ANEW}", path=str(path))
        found[measure] = column
    return found


_ANEW = "Nothing was compared; if the change is meant, accept the run anew: permed-measures gate --accept"


def _judgements(before: Mapping[str, Digest], after: Mapping[str, Digest]) -> list[str]:
    """Say of which queries the judgements are new, gone, or changed."""
    both = before.keys() & after.keys()
    found = {
        "new": Queries.of(after.keys() - before.keys()),
        "gone": Queries.of(before.keys() - after.keys()),
        "judged otherwise": Queries.of(q for q in both if before[q].text != after[q].text),
    }
    return [f"{some.counted} {what}{some.named}" for what, some in found.items() if some.number]


def accept(path: str | PathLike[str], runs: Sequence[Evaluation], rankings: Rankings, run_name: str) -> list[str]:
    """Store the values as the baseline that later gates compare with; return what is to be said about the anchor."""
    now = mean_evaluation(runs)
    told: list[str] = []
    columns = []
    for measure, column in now.columns.items():
        best = _anchor(path, now, measure, told) if Path(path).exists() else {}
        label = now.labels[measure]
        high, reached = fmean(best.values()) if best else -math.inf, fmean(column.values())
        if high > reached:
            told.append(f"{label}: the anchor stays at {high:.4f}, above the {reached:.4f} of this run")
        kept = best if high > reached else column
        columns.append(Column(label, now.signatures[measure]._replace(n=len(kept)), kept))
    digests = {
        _key(depth, list(now.columns[measure])): rankings.digest(depth, list(now.columns[measure]))
        for measure in now.columns
        for depth in [depth_of(measure, now.min_relevance, now.order)]
    }
    options: dict[str, Any] = {_OPTION: {"run": run_name, "rankings": digests}}
    judged = {} if now.conditions is None else now.conditions.judged
    accepted = [run.saved(ACCEPTED, None if len(runs) == 1 else number) for number, run in enumerate(runs, 1)]
    write(path, SavedValues([*accepted, SavedRun(ANCHOR, columns)], judged, options))
    return told


def _anchor(path: str | PathLike[str], now: Evaluation, measure: Measure, told: list[str]) -> Mapping[str, float]:
    """Return the values of a measure's anchor; where it cannot be kept, none, and ``told`` gets the reason."""
    try:
        return Baseline.load(path, now, [measure]).anchor.get(measure, {})
    except InputError as error:
        told.append(f"{now.labels[measure]}: the anchor starts anew with this run: {error}")
        return {}
