"""Learning-to-rank samples as columns, in groups: what scores, qrels and runs are made from."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from typing import Any, TypeAlias
from urllib.parse import unquote

import numpy as np
from numpy.typing import ArrayLike, NDArray

from permed_measures.errors import InputError, ParamError
from permed_measures.numbers import canonical

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
Weights: TypeAlias = ArrayLike | Mapping[str, float] | None
Scores: TypeAlias = ArrayLike | Callable[[Floats], Any] | None

_FITTED_ON = ("feature_names_in_", "feature_name_", "feature_names_", "feature_name")
"""Where models keep the names of their features: scikit-learn, XGBoost; LightGBM; CatBoost; LightGBM's Booster."""
_MANY = 8


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

    >>> from permed_measures.ltr.samples import as_samples
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
    def rows(self) -> Ints:
        """The samples' places, group by group; within a group in the given order."""
        return blocks(self.codes)[0]

    @cached_property
    def offsets(self) -> Ints:
        """Where each group begins in :attr:`rows`, and the end."""
        return blocks(self.codes)[1]

    def scored(self, weights: Weights = None, *, scores: Scores = None, model: Any = None) -> Floats:  # noqa: ANN401  (whatever has predict)
        """Return one score per sample: ``w · features``, ``scores``, ``model.predict(features)``, or the field.

        ``weights`` are in the order of :attr:`feature_names`, or a dict by name. ``scores`` is a list with one score
        per sample, or a function of the feature matrix. A ``model`` that knows the names of its features is given them
        in its order, and missing or unexpected ones are an InputError; one that knows none is given them in the order
        of the samples, with a warning where the samples have names. With none of these the samples' own ``score`` is
        taken.
        """
        if sum(given is not None for given in (weights, scores, model)) > 1:
            raise ParamError("give one of weights, scores and model, not several")
        if weights is not None:
            return self._weighted(weights)
        if model is not None:
            predict = getattr(model, "predict_samples", None)
            scores = predict(self) if predict is not None else model.predict(self._features_for(model))
        elif callable(scores):
            scores = scores(self.needed_features("a function"))
        elif scores is None:
            if self.scores is None:
                raise ParamError("the samples have no field 'score': give weights, scores or a model")
            return self.scores
        return self._checked_scores(scores)

    def needed_features(self, what: str) -> Floats:
        """Return the features; InputError where there are none."""
        if self.features is None:
            raise InputError(f"the samples have no features: {what} needs them")
        return self.features

    def _features_for(self, model: Any) -> Any:  # noqa: ANN401  (a matrix, or a frame where the model wants names)
        features, names = self.needed_features("a model"), _fitted_on(model)
        features = in_order(features, self.feature_names, names, type(model).__name__)
        if names is None or not hasattr(model, "feature_names_in_") or find_spec("pandas") is None:
            return features
        return import_module("pandas").DataFrame(features, columns=list(names))

    def _weighted(self, weights: ArrayLike | Mapping[str, float]) -> Floats:
        features = self.needed_features("a weight vector")
        if isinstance(weights, Mapping):
            features = in_order(features, self.feature_names, tuple(weights), "the weights")
            weights = list(weights.values())
        try:
            vector = np.asarray(weights, dtype=np.float64)
        except (TypeError, ValueError):
            raise ParamError(f"weights={weights!r} is not allowed; give one number per feature") from None
        if vector.shape != (features.shape[1],):
            found = f"{len(vector)} weights" if vector.ndim == 1 else f"weights of shape {vector.shape}"
            names = ", ".join(self.feature_names)
            raise ParamError(f"{found} for {features.shape[1]} features ({names}); give one weight per feature")
        if not np.isfinite(vector).all():
            raise ParamError(f"weights={vector.tolist()} is not allowed; a weight is a finite number")
        with np.errstate(over="ignore", invalid="ignore"):  # an infinite score is ranked, NaN is refused
            return self._checked_scores(features @ vector)

    def _checked_scores(self, scores: Any) -> Floats:  # noqa: ANN401  (checked here)
        try:
            column = np.asarray(scores, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(f"scores are numbers, one per sample; found {type(scores).__name__}") from None
        if column.shape != (len(self),):
            raise InputError(f"{len(self)} samples need {len(self)} scores; found an array of shape {column.shape}")
        for row in np.flatnonzero(np.isnan(column)):
            found = f"group {self.groups[self.codes[row]].query_id!r}, candidate {self.candidates[row]!r}"
            raise InputError(f"{found}: the score is NaN; a ranking needs a number")
        return column

    def qrels(self) -> dict[str, dict[str, float]]:
        """Return {query_id: {candidate: label}}, as ir_measures, ranx and compare take them."""
        known = {label: canonical(label) for label in np.unique(self.labels).tolist()}
        return self._by_group([known[label] for label in self.labels.tolist()])

    def run(self, weights: Weights = None, *, scores: Scores = None, model: Any = None) -> dict[str, dict[str, float]]:  # noqa: ANN401  (whatever has predict)
        """Return {query_id: {candidate: score}}; for the scores see :meth:`scored`."""
        return self._by_group(self.scored(weights, scores=scores, model=model).tolist())

    def _by_group(self, values: list[Any]) -> dict[str, dict[str, Any]]:
        rows = self.rows.tolist()
        ids, values = [self.candidates[row] for row in rows], [values[row] for row in rows]
        spans = zip(self.groups, self.spans(), strict=True)
        return {g.query_id: dict(zip(ids[start:end], values[start:end], strict=True)) for g, (start, end) in spans}

    def spans(self) -> list[tuple[int, int]]:
        """Return where each group begins and ends in :attr:`rows`."""
        return list(pairwise(self.offsets.tolist()))

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the samples as the document writes them, the candidate as ``candidate_id``."""
        shared = [asdict(group) for group in self.groups]
        for row, code in enumerate(self.codes.tolist()):
            record = {**shared[code], "candidate_id": self.candidates[row]}
            del record["query_id"]
            if self.features is not None:
                record["features"] = self.features[row].tolist()
            record["label"] = canonical(self.labels[row])
            if self.scores is not None:
                record["score"] = float(self.scores[row])
            yield record

    def matrix(self) -> tuple[Floats, Floats, Ints]:
        """Return X, y and groups for scikit-learn; the first column of X is the group, for ``group_column=0``."""
        return np.column_stack([self.codes, self.needed_features("scikit-learn")]), self.labels, self.codes


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
            raise InputError(f"the features do not match those of {who}: {unlike(names, wanted)}")
        # in memory as in the other order, so that a sum of products is rounded alike
        return np.take(features, [names.index(name) for name in wanted], axis=1)
    known = names or wanted
    if known is not None and list(known) != [f"f{place}" for place in range(len(known))]:
        without, side = (who, "the samples have") if wanted is None else ("the samples", f"{who} has")
        msg = (
            f"{without} came without feature names, and {side} {_listed(known)}: taken in this order, "
            "unchecked; a frame with these column names is aligned by name"
        )
        warnings.warn(msg, UserWarning, stacklevel=5)
    return features


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


def unlike(names: Iterable[str], wanted: Iterable[str]) -> str:
    """Say which names are missing and which are unexpected.

    >>> unlike(["a", "c"], ["a", "b"])
    "missing 'b'; unexpected 'c'"
    """
    found, known = dict.fromkeys(names), dict.fromkeys(wanted)
    parts = {"missing": [n for n in known if n not in found], "unexpected": [n for n in found if n not in known]}
    return "; ".join(f"{word} {_listed(those)}" for word, those in parts.items() if those)


def _listed(names: Sequence[str]) -> str:
    more = f", … ({len(names)} in all)" if len(names) > _MANY else ""
    return ", ".join(map(repr, names[:_MANY])) + more


def blocks(codes: Ints) -> tuple[Ints, Ints]:
    """Return the rows group by group, and where each group begins and the last one ends.

    >>> rows, offsets = blocks(np.array([0, 1, 0]))
    >>> rows.tolist(), offsets.tolist()
    ([0, 2, 1], [0, 2, 3])
    """
    return np.argsort(codes, kind="stable"), np.concatenate([[0], np.cumsum(np.bincount(codes))])


def as_codes(groups: Iterable[Any]) -> Ints:
    """Give every group a number, by first appearance.

    >>> as_codes(["b", "a", "b"]).tolist()
    [0, 1, 0]
    """
    values = groups.tolist() if isinstance(groups, np.ndarray) else groups
    known: dict[Any, int] = {}
    return np.array([known.setdefault(value, len(known)) for value in values], dtype=np.int64)


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
