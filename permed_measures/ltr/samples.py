"""Learning-to-rank samples: read them, rank each group's candidates, evaluate.

A sample is one candidate of one group: ``{trace_id, node_id, query, tool | candidate_id, features, label}``; a group is
what has one (trace_id, node_id). Top-1 accuracy, Top-3 accuracy and MRR are Success@1, Success@3 and RR over the
groups' rankings: the measures of :func:`permed_measures.evaluate`, not a second set.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike, fspath
from typing import Any

import numpy as np
from ir_measures import Measure

from permed_measures import Evaluation, InputError, evaluate
from permed_measures.files.output import write_whole
from permed_measures.inputs import QrelsLike, RunLike, as_qrels, as_run
from permed_measures.ltr.groups import Bools, Floats, Group, Samples, Scores, Weights, as_codes, joined, parted
from permed_measures.ltr.records import GROUP, as_samples, read_samples
from permed_measures.measures import parse_all
from permed_measures.profiles import PROFILES, Entry, Profile
from permed_measures.ranking import order
from permed_measures.render.document import Block, Cell, Document, Lines, Section, Table, Value
from permed_measures.render.result import Result
from permed_measures.render.words import counted

__all__ = ["Group", "Samples", "SamplesEvaluation", "as_codes", "as_samples", "evaluate_samples", "joined", "parted"]
__all__ += ["read_samples", "reading", "samples_of"]

LEVELS = {"usable": 0.5, "good": 0.7, "excellent": 0.9}
"""The document's levels of Top-1 accuracy, each to be exceeded."""
_TOP = 3
_NAMED_IN_A_NOTE = 5


def samples_of(qrels: QrelsLike, run: RunLike) -> Samples:
    """Return samples with a score, the way back from qrels and a run.

    An unjudged document has label 0. A judged document that was not returned has no score, and a query without
    judgements no label: both are errors, because leaving them out would change the values.

    >>> samples_of({"t/1": {"a": 1, "b": 0}}, {"t/1": {"a": 0.5, "b": 0.9}}).run()
    {'t/1': {'a': 0.5, 'b': 0.9}}
    """
    judged, returned = as_qrels(qrels), as_run(run)
    rows = []
    for query_id, scored in returned.items():
        if query_id not in judged:
            raise InputError(f"query {query_id!r} has no judgements: its samples would have no labels")
        docs = scored if isinstance(scored, Mapping) else {doc_id: -place for place, doc_id in enumerate(scored)}
        grades = judged[query_id]
        rows += [
            {"query_id": query_id, "candidate_id": doc_id, "label": grades.get(doc_id, 0), "score": score}
            for doc_id, score in docs.items()
        ]
    for query_id, grades in judged.items():
        missed = next((doc_id for doc_id in grades if doc_id not in returned.get(query_id, ())), None)
        if missed is not None:
            found = f"query {query_id!r}, document {missed!r} is judged and was not returned"
            raise InputError(f"{found}: its sample would lack a score")
    samples = as_samples(rows, group="query_id")
    return replace(samples, groups=[_from_query_id(str(group.trace_id)) for group in samples.groups])


def _from_query_id(query_id: str) -> Group:
    try:
        parts = parted(query_id)
    except UnicodeDecodeError:  # not an id that joined() made
        parts = []
    trace_id, node_id = parts if len(parts) == len(GROUP) else (parts[0] if len(parts) == 1 else query_id, None)
    return Group(query_id, trace_id, node_id, None)


@dataclass(frozen=True, repr=False)
class SamplesEvaluation(Result):
    """What :func:`evaluate_samples` returns."""

    evaluation: Evaluation
    """The measures' means and values per group."""
    samples: Samples
    scores: Floats
    without_positive: list[str]
    """Groups in which no candidate is right: they count 0."""
    several_positives: list[str]
    """Groups in which several candidates are right: the one ranked highest counts."""
    single_candidate: list[str]
    """Groups of one candidate: its rank is 1 whatever the weights are."""
    tied_candidates: int
    """Candidates whose score (as a 32-bit float) another candidate of their group has, too."""
    decided_by_ties: list[str]
    """Groups where the tie rule, not the score, puts a right candidate before or behind a wrong one."""
    notes: list[str]

    @property
    def num_queries(self) -> int:
        """How many groups there are."""
        return len(self.samples.groups)

    @property
    def top1_accuracy(self) -> float:
        """Success@1."""
        return self["top1_accuracy"]

    @property
    def top3_accuracy(self) -> float:
        """Success@3."""
        return self["top3_accuracy"]

    @property
    def mrr(self) -> float:
        """RR."""
        return self["mrr"]

    def __getitem__(self, measure: str | Measure) -> float:
        return self.evaluation[measure]

    @property
    def metrics(self) -> dict[str, float]:
        """The document's dict: every mean by its name, and num_queries."""
        named = {self.evaluation.labels[measure]: mean for measure, mean in self.evaluation.means.items()}
        return {**named, "num_queries": self.num_queries}

    @cached_property
    def details(self) -> list[dict[str, Any]]:
        """One record per group, with the document's keys.

        ``rank`` is that of the right candidate; of several the one ranked highest, as for RR. In a group without a
        right one it is None, as is ``true_candidate``.
        """
        qrels, run = self.samples.qrels(), self.samples.run(scores=self.scores)
        rel = _lowest_right(self.evaluation)
        return [_detail(group, qrels[group.query_id], run[group.query_id], rel) for group in self.samples.groups]

    def write_details(self, path: str | PathLike[str]) -> None:
        """Write the detail records as JSON Lines."""
        lines = []
        for record in self.details:
            # JSON has no infinity: written as text, as in many a log
            scores = [score if abs(score) < float("inf") else str(score) for score in record["top3_scores"]]
            lines.append(json.dumps({**record, "top3_scores": scores}, ensure_ascii=False) + "\n")
        write_whole(fspath(path), "".join(lines))

    def reading(self) -> list[str]:
        """Return what the document says about values like these."""
        return reading(self.top1_accuracy, self.top3_accuracy, self.mrr)

    def record(self) -> dict[str, Any]:
        """Return everything but the details as JSON can hold it."""
        groups = ("without_positive", "several_positives", "single_candidate", "decided_by_ties")
        return {
            "metrics": self.metrics,
            "groups": {name: getattr(self, name) for name in groups},
            "tied_candidates": self.tied_candidates,
            "reading": self.reading(),
            "notes": self.notes,
        }

    def as_table(self) -> Table:
        """Return the value of every group."""
        return self.evaluation.as_table()

    def document(self) -> Document:
        """Return the means, how to read them, and the notes."""
        found = self.evaluation
        rows: list[list[Value]] = [[found.labels[m], mean, str(m)] for m, mean in found.means.items()]
        rows.append(["num_queries", Cell(self.num_queries, f"{self.num_queries:,}"), "groups"])
        means = Table(["name", "value", "measure"], rows)
        blocks: list[Block] = [means, Lines(self.reading()), Lines(self.notes, "note: ")]
        return Document("", "", [Section("", [block]) for block in blocks])


def _lowest_right(found: Evaluation) -> float:
    return 1 if found.min_relevance is None else found.min_relevance


def _detail(group: Group, labels: Mapping[str, float], scores: Mapping[str, float], rel: float) -> dict[str, Any]:
    ranked = order(scores)
    found = ((place, candidate) for place, candidate in enumerate(ranked, 1) if labels[candidate] >= rel)
    rank, true = next(found, (None, None))
    return {
        "trace_id": group.trace_id,
        "node_id": group.node_id,
        "query": group.query,
        "true_candidate": true,
        "predicted_candidate": ranked[0],
        "top3_candidates": ranked[:_TOP],
        "top3_scores": [scores[candidate] for candidate in ranked[:_TOP]],
        "rank": rank,
        "is_top1_correct": rank == 1,
        "is_top3_correct": rank is not None and rank <= _TOP,
    }


def reading(top1: float, top3: float, mrr: float) -> list[str]:
    """Return the document's advice: how good Top-1 is, and what to look at when it is low.

    >>> reading(0.6, 1.0, 0.77)
    ['Top-1 accuracy 0.600: usable (> 0.5; good is > 0.7, excellent > 0.9)']
    >>> reading(0.2, 0.8, 0.48)[1]
    'low Top-1 with high Top-3: the right candidates are near the top, adjust the weights'
    """
    reached = [f"{word} (> {low}" for word, low in LEVELS.items() if top1 > low]
    higher = ", ".join(f"{word} > {low}" for word, low in LEVELS.items() if top1 <= low).replace(" >", " is >", 1)
    low = LEVELS["usable"]
    level = reached[-1] if reached else f"not usable yet (<= {low}"
    lines = [f"Top-1 accuracy {top1:.3f}: {'; '.join(filter(None, [level, higher]))})"]
    if top1 <= low:
        if top3 > LEVELS["good"]:
            lines.append("low Top-1 with high Top-3: the right candidates are near the top, adjust the weights")
        if mrr <= low:
            lines.append("low MRR: look at the quality of the features")
        if top3 <= low and mrr <= low:
            lines.append("all three are low: check how the features are made, and the data")
    return lines


def evaluate_samples(  # noqa: PLR0913  (three ways to score, two options)
    samples: Any,  # noqa: ANN401  (Samples, or what as_samples takes)
    weights: Weights = None,
    *,
    scores: Scores = None,
    model: Any = None,  # noqa: ANN401  (whatever has predict)
    measures: str | Measure | Iterable[str | Measure] | None = None,
    min_relevance: float | None = None,
) -> SamplesEvaluation:
    """Evaluate samples: Top-1 and Top-3 accuracy, MRR, and any further measures by name.

    The score of a sample is ``w · features``, or comes from ``scores`` or ``model``, else from its field ``score``; see
    :meth:`Samples.scored`. A right candidate is one whose label is >= ``min_relevance`` (1 when not given).

    >>> rows = [{"trace_id": t, "node_id": 1, "tool": tool, "score": score, "label": label}
    ...         for t, tool, score, label in [(1, "a", 0.9, 1), (1, "b", 0.1, 0), (2, "a", 0.7, 0), (2, "b", 0.3, 1)]]
    >>> result = evaluate_samples(rows, measures="P@1")
    >>> result.metrics                                     # ranks 1 and 2
    {'top1_accuracy': 0.5, 'top3_accuracy': 1.0, 'mrr': 0.75, 'P@1': 0.5, 'num_queries': 2}
    """
    taken = as_samples(samples)
    column = taken.scored(weights, scores=scores, model=model)
    ltr = PROFILES["ltr"]
    extra = [measure for measure in parse_all(measures or []) if measure not in ltr.measures]
    entries = (*ltr.entries, *[Entry(measure, str(measure)) for measure in dict.fromkeys(extra)])
    profile = Profile(ltr.name, ltr.description, entries)
    found = evaluate(taken.qrels(), taken.run(scores=column), profile=profile, min_relevance=min_relevance)

    def named(which: Bools) -> list[str]:
        return [taken.groups[place].query_id for place in np.flatnonzero(which).tolist()]

    right = taken.labels[taken.rows] >= _lowest_right(found)
    rights = np.add.reduceat(right.astype(np.int64), taken.offsets[:-1])
    tied, decided = _ties(taken, column, right)
    several, alone, by_ties = named(rights > 1), named(np.diff(taken.offsets) == 1), named(decided)
    notes = [*found.notes, *taken.notes]
    for groups, words in (
        (several, "with several right candidates: the one ranked highest counts"),
        (alone, "with a single candidate: its rank is 1 whatever the weights are"),
        (by_ties, "where the tie rule, not the score, orders a right and a wrong candidate"),
    ):
        if groups:
            some = ", ".join(map(repr, groups[:_NAMED_IN_A_NOTE])) + (", …" if len(groups) > _NAMED_IN_A_NOTE else "")
            notes.append(f"{counted(len(groups), 'group')} {words} ({some})")
    return SamplesEvaluation(found, taken, column, named(rights == 0), several, alone, tied, by_ties, notes)


def _ties(samples: Samples, scores: Floats, right: Bools) -> tuple[int, Bools]:
    """Count candidates that tie, and mark the groups where a right one ties with a wrong one."""
    codes = samples.codes[samples.rows]
    with np.errstate(over="ignore"):  # as rank() does
        single = scores[samples.rows].astype(np.float32)
    by_score = np.lexsort((single, codes))
    values, groups, right = single[by_score], codes[by_score], right[by_score]
    same = (values[1:] == values[:-1]) & (groups[1:] == groups[:-1])
    starts = np.flatnonzero(np.concatenate([[True], ~same]))
    sizes = np.diff(np.append(starts, len(values)))
    rights = np.add.reduceat(right.astype(np.int64), starts)
    decided = np.zeros(len(samples.groups), dtype=bool)
    decided[groups[starts[(rights > 0) & (rights < sizes)]]] = True
    return int(sizes[sizes > 1].sum()), decided
