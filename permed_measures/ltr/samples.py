"""Learning-to-rank samples: read them, rank each group's candidates, evaluate.

A sample is one candidate of one group: ``{trace_id, node_id, query, tool | candidate_id, features, label}``; a group is
what stands under one (trace_id, node_id). Top-1 accuracy, Top-3 accuracy and MRR are Success@1, Success@3 and RR over
the groups' rankings: the measures of :func:`permed_measures.evaluate`, not a second set.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np
from ir_measures import Measure

from permed_measures.errors import InputError, ParamError
from permed_measures.evaluate import Evaluation, evaluate
from permed_measures.files.output import write_whole
from permed_measures.inputs import QrelsLike, RunLike, as_qrels, as_run
from permed_measures.ltr import records
from permed_measures.measures import parse_all
from permed_measures.numbers import canonical
from permed_measures.profiles import PROFILES, Entry, Profile
from permed_measures.ranking import order
from permed_measures.render.document import Block, Cell, Document, Lines, Section, Table, Value
from permed_measures.render.result import Result
from permed_measures.render.words import counted

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

USABLE, GOOD, EXCELLENT = 0.5, 0.7, 0.9
"""The document's levels of Top-1 accuracy, each to be exceeded."""
_TOP = 3
_NAMED_IN_A_NOTE = 5
_FITTED_ON = ("feature_names_in_", "feature_name_", "feature_names_", "feature_name")
"""Where models keep the names of their features: scikit-learn, XGBoost; LightGBM; CatBoost; LightGBM's Booster."""


@dataclass(frozen=True)
class Group:
    """What the samples of one group share."""

    query_id: str
    """The values of the group's key in one string: ``trace_id/node_id``."""
    trace_id: str | int | None
    node_id: str | int | None
    query: str | None


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples as columns, in the order in which they were given.

    >>> samples = as_samples([
    ...     {"trace_id": "t", "node_id": 1, "query": "find", "tool": "search", "features": [0.9, 0.1], "label": 1},
    ...     {"trace_id": "t", "node_id": 1, "query": "find", "tool": "email", "features": [0.2, 0.8], "label": 0},
    ... ])
    >>> len(samples), [group.query_id for group in samples.groups]
    (2, ['t/1'])
    >>> samples.qrels()
    {'t/1': {'search': 1, 'email': 0}}
    >>> samples.run([1.0, 0.5])                            # 0.9 + 0.05 and 0.2 + 0.4
    {'t/1': {'search': 0.9500000000000001, 'email': 0.6000000000000001}}
    """

    groups: list[Group]
    """In the order of their first samples."""
    codes: Ints
    """For every sample the place of its group."""
    candidates: list[str]
    labels: Floats
    features: Floats | None
    feature_names: tuple[str, ...]
    scores: Floats | None
    """The ``score`` of every sample, where the samples have one."""
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.candidates)

    @cached_property
    def _blocks(self) -> tuple[Ints, Ints]:
        return blocks(self.codes)

    @property
    def rows(self) -> Ints:
        """The samples' places, group by group; within a group in the given order."""
        return self._blocks[0]

    @property
    def offsets(self) -> Ints:
        """Where each group begins in :attr:`rows`, and the end."""
        return self._blocks[1]

    def scored(
        self,
        weights: ArrayLike | Mapping[str, float] | None = None,
        *,
        scores: ArrayLike | Callable[[Floats], Any] | None = None,
        model: Any = None,  # noqa: ANN401  (whatever has predict)
    ) -> Floats:
        """Return one score per sample: ``w · features``, ``scores``, ``model.predict(features)``, or the field.

        ``weights`` are in the order of :attr:`feature_names`, or a dict by name. ``scores`` is a list with one score
        per sample, or a function of the feature matrix. A ``model`` that knows the names of its features is given them
        in its order, and missing or unexpected ones are an InputError; one that knows none is given them in the order
        of the samples, with a warning where the samples have names. With none of these the samples' own ``score`` is
        taken.
        """
        if sum(given is not None for given in (weights, scores, model)) > 1:
            msg = "give one of weights, scores and model, not several"
            raise ParamError(msg)
        if weights is not None:
            return self._weighted(weights)
        if model is not None:
            predict = getattr(model, "predict_samples", None)
            scores = predict(self) if predict is not None else model.predict(self._features_for(model))
        elif callable(scores):
            scores = scores(self._needed_features("a function"))
        elif scores is None:
            if self.scores is None:
                msg = "the samples have no field 'score': give weights, scores or a model"
                raise ParamError(msg)
            return self.scores
        return self._checked_scores(scores)

    def _needed_features(self, what: str) -> Floats:
        if self.features is None:
            msg = f"the samples have no features: {what} needs them"
            raise InputError(msg)
        return self.features

    def _features_for(self, model: Any) -> Any:  # noqa: ANN401  (a matrix, or a frame where the model wants names)
        features = self._needed_features("a model")
        who = type(model).__name__
        names = _fitted_on(model)
        features = in_order(features, self.feature_names, names, who)
        if names is None or not hasattr(model, "feature_names_in_") or find_spec("pandas") is None:
            return features
        return import_module("pandas").DataFrame(features, columns=list(names))

    def _weighted(self, weights: ArrayLike | Mapping[str, float]) -> Floats:
        features = self._needed_features("a weight vector")
        if isinstance(weights, Mapping):
            features = in_order(features, self.feature_names, tuple(weights), "the weights")
            weights = list(weights.values())
        try:
            vector = np.asarray(weights, dtype=np.float64)
        except (TypeError, ValueError):
            msg = f"weights={weights!r} is not allowed; give one number per feature"
            raise ParamError(msg) from None
        if vector.shape != (features.shape[1],):
            found = f"{len(vector)} weights" if vector.ndim == 1 else f"weights of shape {vector.shape}"
            names = ", ".join(self.feature_names)
            msg = f"{found} for {features.shape[1]} features ({names}); give one weight per feature"
            raise ParamError(msg)
        if not np.isfinite(vector).all():
            msg = f"weights={vector.tolist()} is not allowed; a weight is a finite number"
            raise ParamError(msg)
        with np.errstate(over="ignore", invalid="ignore"):  # an infinite score is ranked, NaN is refused
            return self._checked_scores(features @ vector)

    def _checked_scores(self, scores: Any) -> Floats:  # noqa: ANN401  (checked here)
        try:
            column = np.asarray(scores, dtype=np.float64)
        except (TypeError, ValueError):
            msg = f"scores are numbers, one per sample; found {type(scores).__name__}"
            raise InputError(msg) from None
        if column.shape != (len(self),):
            msg = f"{len(self)} samples need {len(self)} scores; found an array of shape {column.shape}"
            raise InputError(msg)
        wrong = np.isnan(column)
        if wrong.any():
            row = int(wrong.argmax())
            group = self.groups[self.codes[row]].query_id
            msg = f"group {group!r}, candidate {self.candidates[row]!r}: the score is NaN; a ranking needs a number"
            raise InputError(msg)
        return column

    def qrels(self) -> dict[str, dict[str, float]]:
        """Return {query_id: {candidate: label}}, as ir_measures, ranx and compare take them."""
        known = {label: canonical(label) for label in np.unique(self.labels).tolist()}
        return self._by_group([known[label] for label in self.labels.tolist()])

    def run(
        self,
        weights: ArrayLike | Mapping[str, float] | None = None,
        *,
        scores: ArrayLike | Callable[[Floats], Any] | None = None,
        model: Any = None,  # noqa: ANN401  (whatever has predict)
    ) -> dict[str, dict[str, float]]:
        """Return {query_id: {candidate: score}}; for the scores see :meth:`scored`."""
        return self._by_group(self.scored(weights, scores=scores, model=model).tolist())

    def _by_group(self, values: list[Any]) -> dict[str, dict[str, Any]]:
        rows = self.rows.tolist()
        candidates = [self.candidates[row] for row in rows]
        values = [values[row] for row in rows]
        offsets = self.offsets.tolist()
        return {
            group.query_id: dict(zip(candidates[start:end], values[start:end], strict=True))
            for group, start, end in zip(self.groups, offsets, offsets[1:], strict=False)
        }

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the samples as the document writes them, the candidate as ``candidate_id``."""
        for row, (code, candidate, label) in enumerate(
            zip(self.codes.tolist(), self.candidates, self.labels.tolist(), strict=True)
        ):
            group = self.groups[code]
            record: dict[str, Any] = {"trace_id": group.trace_id, "node_id": group.node_id, "query": group.query}
            record["candidate_id"] = candidate
            if self.features is not None:
                record["features"] = self.features[row].tolist()
            record["label"] = canonical(label)
            if self.scores is not None:
                record["score"] = float(self.scores[row])
            yield record

    def matrix(self) -> tuple[Floats, Floats, Ints]:
        """Return X, y and groups for scikit-learn; the first column of X is the group, for ``group_column=0``."""
        features = self._needed_features("scikit-learn")
        return np.column_stack([self.codes, features]), self.labels, self.codes


def in_order(features: Floats, names: Sequence[str] | None, wanted: Sequence[str] | None, who: str) -> Floats:
    """Return the columns in the order that a model was fitted on, by name; None where a side has no names.

    Then the order is taken as it is, with scikit-learn's warning unless f0, f1, … say no more than the order does.

    >>> in_order(np.array([[1.0, 2.0]]), ["a", "b"], ["b", "a"], "the ranker").tolist()
    [[2.0, 1.0]]
    """
    if names is not None and wanted is not None:
        if tuple(names) == tuple(wanted):
            return features
        if set(names) != set(wanted):
            msg = f"the features do not match those of {who}: {records.unlike(names, wanted)}"
            raise InputError(msg)
        # in memory as in the other order, so that a sum of products is rounded alike
        return np.take(features, [names.index(name) for name in wanted], axis=1)
    named = next((known for known in (names, wanted) if known is not None and not _numbered(known)), None)
    if named is not None:
        without, side = (who, "the samples have") if wanted is None else ("the samples", f"{who} has")
        msg = (
            f"{without} came without feature names, and {side} {records.listed(named)}: taken in this order, "
            "unchecked; a frame with these column names is aligned by name"
        )
        warnings.warn(msg, UserWarning, stacklevel=5)
    return features


def _numbered(names: Sequence[str]) -> bool:
    return list(names) == [f"f{place}" for place in range(len(names))]


def _fitted_on(model: Any) -> tuple[str, ...] | None:  # noqa: ANN401  (whatever has predict)
    """Return the names of the features a model was fitted on; None where it has none but those that it made up."""
    for attribute in _FITTED_ON:
        found = getattr(model, attribute, None)
        found = found() if callable(found) else found
        if found is not None:
            names = tuple(map(str, found))
            made_up = [f"Column_{place}" for place in range(len(names))], [str(place) for place in range(len(names))]
            return None if list(names) in made_up else names
    return None


def blocks(codes: Ints) -> tuple[Ints, Ints]:
    """Return the rows group by group, and where each group begins and the last one ends.

    >>> rows, offsets = blocks(np.array([0, 1, 0]))
    >>> rows.tolist(), offsets.tolist()
    ([0, 2, 1], [0, 2, 3])
    """
    rows = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes)
    return rows, np.concatenate([[0], np.cumsum(sizes)])


def as_codes(groups: Iterable[Any]) -> Ints:
    """Give every group a number, by first appearance.

    >>> as_codes(["b", "a", "b"]).tolist()
    [0, 1, 0]
    """
    values = groups.tolist() if isinstance(groups, np.ndarray) else groups
    known: dict[Any, int] = {}
    return np.array([known.setdefault(value, len(known)) for value in values], dtype=np.int64)


def as_samples(
    source: Any,  # noqa: ANN401  (one of the shapes that sample_records.py knows)
    *,
    group: str | Sequence[str] = records.GROUP,
    candidate: str | None = None,
    features: Sequence[str] | None = None,
) -> Samples:
    """Return samples from a path, a list of dicts, or a pandas or polars frame, checked.

    ``group`` names the fields that tell groups apart, ``candidate`` the candidate's (by default ``tool`` or
    ``candidate_id``), ``features`` the fields that are features (by default the list ``features``, else f0, f1, …).
    A sample has features, or a ``score``, or both.
    """
    if isinstance(source, Samples):
        return source
    return _from_table(records.table_of(source), group, candidate, features)


def read_samples(
    path: str | PathLike[str],
    *,
    format: str | None = None,  # noqa: A002  (the natural word)
    group: str | Sequence[str] = records.GROUP,
    candidate: str | None = None,
    features: Sequence[str] | None = None,
) -> Samples:
    """Read samples from a JSONL, JSON, CSV or parquet file; the arguments are those of :func:`as_samples`."""
    return _from_table(records.read_table(path, format), group, candidate, features)


def _from_table(
    table: records.Table, group: str | Sequence[str], candidate: str | None, features: Sequence[str] | None
) -> Samples:
    fields = [group] if isinstance(group, str) else list(group)
    if features is not None and len(set(features)) < len(features):
        msg = f"features={list(features)} is not allowed; name every feature once"
        raise ParamError(msg)
    if not fields:
        msg = "group=() is not allowed; name the fields that tell groups apart, such as 'trace_id,node_id'"
        raise ParamError(msg)
    if not table.length:
        msg = "no samples"
        raise InputError(msg, path=table.path)
    keys = [records.ids_of(table, name) for name in fields]
    candidates = records.candidates_of(table, candidate)
    labels = records.labels_of(table)
    matrix, names = records.features_of(table, features)
    scores = records.scores_of(table)
    if matrix is None and scores is None:
        raise table.fault(0, "neither features ('features', or f0, f1, …) nor a 'score'; a sample has one of them")
    codes = as_codes(zip(*(map(str, key) for key in keys), strict=True))
    _check_once(table, codes, candidates)
    groups, notes = _groups(table, fields, keys, codes)
    return Samples(groups, codes, candidates, labels, matrix, names, scores, notes)


def _check_once(table: records.Table, codes: Ints, candidates: list[str]) -> None:
    pairs = list(zip(codes.tolist(), candidates, strict=True))
    if len(set(pairs)) == len(pairs):
        return
    seen: set[tuple[int, str]] = set()
    for row, pair in enumerate(pairs):
        if pair in seen:
            raise table.fault(row, f"the candidate {pair[1]!r} stands in its group twice")
        seen.add(pair)


def _groups(
    table: records.Table, fields: list[str], keys: list[list[str | int]], codes: Ints
) -> tuple[list[Group], list[str]]:
    firsts = np.unique(codes, return_index=True)[1].tolist()
    queries = table.column(records.QUERY)
    shown: dict[str, list[Any]] = {}
    for place, name in enumerate(records.GROUP):
        column = keys[fields.index(name)] if name in fields else table.column(name)
        if name not in fields and all(value is None for value in column) and place < len(keys):
            column = keys[place]  # a key of other names stands where the document has trace_id and node_id
        shown[name] = column
    groups = [
        Group(
            query_id=joined([str(key[row]) for key in keys]),
            trace_id=shown["trace_id"][row],
            node_id=shown["node_id"][row],
            query=None if queries[row] is None else str(queries[row]),
        )
        for row in firsts
    ]
    first_query = [queries[row] for row in firsts]
    mixed = {code for code, query in zip(codes.tolist(), queries, strict=True) if query != first_query[code]}
    notes = (
        [f"{counted(len(mixed), 'group')} whose samples have different queries; the first is shown"] if mixed else []
    )
    return groups, notes


def joined(parts: Sequence[str]) -> str:
    """Join the values of a group's key into one query id that TREC files can hold, and :func:`parted` can part.

    >>> joined(["trace 1", "a/b"]), parted("trace%201/a%2Fb")
    ('trace%201/a%2Fb', ['trace 1', 'a/b'])
    """
    return "/".join(
        re.sub(r"[%/\s]", lambda found: "".join(f"%{b:02X}" for b in found[0].encode()), part) for part in parts
    )


def parted(query_id: str) -> list[str]:
    """Return the values of a group's key."""
    return [unquote(part, errors="strict") for part in query_id.split("/")]


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
            msg = f"query {query_id!r} has no judgements: its samples would have no labels"
            raise InputError(msg)
        docs = scored if isinstance(scored, Mapping) else {doc_id: -place for place, doc_id in enumerate(scored)}
        grades = judged[query_id]
        rows += [
            {"query_id": query_id, "candidate_id": doc_id, "label": grades.get(doc_id, 0), "score": score}
            for doc_id, score in docs.items()
        ]
    for query_id, grades in judged.items():
        missed = next((doc_id for doc_id in grades if doc_id not in returned.get(query_id, ())), None)
        if missed is not None:
            msg = (
                f"query {query_id!r}, document {missed!r} is judged and was not returned: its sample would lack a score"
            )
            raise InputError(msg)
    samples = as_samples(rows, group="query_id")
    groups = [_from_query_id(str(group.trace_id)) for group in samples.groups]
    return Samples(
        groups, samples.codes, samples.candidates, samples.labels, None, (), samples.scores, list(samples.notes)
    )


def _from_query_id(query_id: str) -> Group:
    try:
        parts = parted(query_id)
    except UnicodeDecodeError:  # not an id that joined() made
        parts = []
    if len(parts) == len(records.GROUP):
        return Group(query_id, parts[0], parts[1], None)
    return Group(query_id, parts[0] if len(parts) == 1 else query_id, None, None)


@dataclass(frozen=True, repr=False)
class SamplesEvaluation(Result):
    """What :func:`evaluate_samples` returns."""

    evaluation: Evaluation
    """The measures' means and values per group."""
    num_queries: int
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
    samples: Samples
    scores: Floats
    _rel: float

    @property
    def top1_accuracy(self) -> float:
        """Success@1."""
        return self.evaluation["top1_accuracy"]

    @property
    def top3_accuracy(self) -> float:
        """Success@3."""
        return self.evaluation["top3_accuracy"]

    @property
    def mrr(self) -> float:
        """RR."""
        return self.evaluation["mrr"]

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
        qrels = self.samples.qrels()
        run = self.samples.run(scores=self.scores)
        return [_detail(group, qrels[group.query_id], run[group.query_id], self._rel) for group in self.samples.groups]

    def write_details(self, path: str | PathLike[str]) -> None:
        """Write the detail records as JSON Lines."""
        lines = [json.dumps(_json_safe(record), ensure_ascii=False) + "\n" for record in self.details]
        write_whole(fspath(path), "".join(lines))

    def reading(self) -> list[str]:
        """Return what the document says about values like these."""
        return reading(self.top1_accuracy, self.top3_accuracy, self.mrr)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the details as JSON can hold it."""
        return {
            "metrics": self.metrics,
            "groups": {
                "without_positive": self.without_positive,
                "several_positives": self.several_positives,
                "single_candidate": self.single_candidate,
                "decided_by_ties": self.decided_by_ties,
            },
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


def _json_safe(record: dict[str, Any]) -> dict[str, Any]:
    # JSON has no infinity: written as text, as in many a log
    scores = [score if abs(score) < float("inf") else str(score) for score in record["top3_scores"]]
    return {**record, "top3_scores": scores}


def _detail(group: Group, labels: Mapping[str, float], scores: Mapping[str, float], rel: float) -> dict[str, Any]:
    ranked = order(scores)
    rank, true = next(
        ((place, candidate) for place, candidate in enumerate(ranked, 1) if labels[candidate] >= rel), (None, None)
    )
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
    levels = ((EXCELLENT, "excellent"), (GOOD, "good"), (USABLE, "usable"))
    level = next((f"{word} (> {low}" for low, word in levels if top1 > low), f"not usable yet (<= {USABLE}")
    better = [f"{word} is > {low}" if at == 0 else f"{word} > {low}" for at, (low, word) in _above(levels, top1)]
    lines = [f"Top-1 accuracy {top1:.3f}: {'; '.join([level, ', '.join(better)]) if better else level})"]
    if top1 <= USABLE:
        if top3 > GOOD:
            lines.append("low Top-1 with high Top-3: the right candidates are near the top, adjust the weights")
        if mrr <= USABLE:
            lines.append("low MRR: look at the quality of the features")
        if top3 <= USABLE and mrr <= USABLE:
            lines.append("all three are low: check how the features are made, and the data")
    return lines


def _above(levels: tuple[tuple[float, str], ...], top1: float) -> Iterator[tuple[int, tuple[float, str]]]:
    return enumerate([(low, word) for low, word in reversed(levels) if top1 <= low])


def evaluate_samples(  # noqa: PLR0913  (three ways to score, two options)
    samples: Any,  # noqa: ANN401  (Samples, or what as_samples takes)
    weights: ArrayLike | Mapping[str, float] | None = None,
    *,
    scores: ArrayLike | Callable[[Floats], Any] | None = None,
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
    rel = 1 if found.min_relevance is None else found.min_relevance
    return _looked_at(taken, column, found, rel)


def _looked_at(samples: Samples, scores: Floats, found: Evaluation, rel: float) -> SamplesEvaluation:
    rows, offsets = samples.rows, samples.offsets
    starts = offsets[:-1]
    positive = samples.labels[rows] >= rel
    positives = np.add.reduceat(positive.astype(np.int64), starts)
    with np.errstate(over="ignore"):  # as rank() does
        single = scores[rows].astype(np.float32)
    tied, decided = _ties(single, positive, samples.codes[rows], len(starts))

    def named(which: NDArray[np.bool_]) -> list[str]:
        return [samples.groups[place].query_id for place in np.flatnonzero(which).tolist()]

    several, alone = named(positives > 1), named(np.diff(offsets) == 1)
    by_ties = named(decided)
    notes = [*found.notes, *samples.notes]
    for groups, words in (
        (several, "with several right candidates: the one ranked highest counts"),
        (alone, "with a single candidate: its rank is 1 whatever the weights are"),
        (by_ties, "where the tie rule, not the score, orders a right and a wrong candidate"),
    ):
        if groups:
            notes.append(f"{counted(len(groups), 'group')} {words}{_some(groups)}")
    return SamplesEvaluation(
        evaluation=found,
        num_queries=len(starts),
        without_positive=named(positives == 0),
        several_positives=several,
        single_candidate=alone,
        tied_candidates=tied,
        decided_by_ties=by_ties,
        notes=notes,
        samples=samples,
        scores=scores,
        _rel=rel,
    )


def _ties(
    single: NDArray[np.float32], positive: NDArray[np.bool_], codes: Ints, num_groups: int
) -> tuple[int, NDArray[np.bool_]]:
    """Count candidates that tie, and mark the groups where a right one ties with a wrong one."""
    by_score = np.lexsort((single, codes))
    values, groups, right = single[by_score], codes[by_score], positive[by_score]
    same = (values[1:] == values[:-1]) & (groups[1:] == groups[:-1])
    run_starts = np.flatnonzero(np.concatenate([[True], ~same]))
    sizes = np.diff(np.append(run_starts, len(values)))
    rights = np.add.reduceat(right.astype(np.int64), run_starts)
    decided = np.zeros(num_groups, dtype=bool)
    decided[groups[run_starts[(rights > 0) & (rights < sizes)]]] = True
    return int(sizes[sizes > 1].sum()), decided


def _some(query_ids: list[str]) -> str:
    more = ", …" if len(query_ids) > _NAMED_IN_A_NOTE else ""
    return f" ({', '.join(map(repr, query_ids[:_NAMED_IN_A_NOTE]))}{more})"
