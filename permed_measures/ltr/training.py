"""What a ranker learns from: features and labels as people hold them, groups one after the other, the loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from permed_measures.errors import InputError, ParamError
from permed_measures.ltr.groups import Floats, Ints, blocks

Names = tuple[str, ...] | None
_LOG_FLOOR = 1e-10
"""The document's log(p + 1e-10): of the loss it reports, not of its gradient."""


@dataclass(frozen=True)
class TrainingGroups:
    """The groups that can be learned from, one after the other."""

    features: Floats
    targets: Floats
    offsets: Ints
    skipped: int

    @classmethod
    def of(cls, features: Floats, labels: Floats, codes: Ints, *, shares: bool) -> TrainingGroups:
        """Leave out the groups that the document skips; ``shares`` divides the labels of a group by their sum."""
        rows, offsets = blocks(codes)
        sizes = np.diff(offsets)
        sums = np.add.reduceat(labels[rows], offsets[:-1]) if len(rows) else np.zeros(0)
        small = sizes < 2  # noqa: PLR2004  (one candidate cannot be ranked wrongly)
        kept = ~small & (sums > 0)
        if not kept.any():
            raise InputError(
                f"nothing to learn from: of {len(sizes)} groups {int(small.sum())} have fewer than 2 samples, "
                f"{int((~small & (sums == 0)).sum())} have no positive label"
            )
        rows = rows[np.repeat(kept, sizes)]
        targets = labels[rows] / np.repeat(sums[kept], sizes[kept]) if shares else labels[rows]
        offsets = np.concatenate([[0], np.cumsum(sizes[kept])])
        return cls(np.ascontiguousarray(features[rows]), targets, offsets, int((~kept).sum()))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def spans(self) -> list[tuple[int, int]]:
        """Return where each group begins and ends."""
        return list(pairwise(self.offsets.tolist()))

    def loss(self, weights: Floats, l2: float = 0.0) -> tuple[float, Floats]:
        """Return the mean loss and its gradient."""
        return loss_and_gradient(weights, self.features, self.targets, self.offsets, l2=l2)

    def epoch(self, spans: Sequence[tuple[int, int]], weights: Floats, *, rate: float, l2: float) -> float:
        """Take the document's step for every group; return the average loss. The weights change in place."""
        # one group is a few dozen numbers: the calls cost more than the arithmetic, so there are few of them,
        # and probabilities are kept for one logarithm at the end of the epoch
        features, targets = self.features, self.targets
        probs = np.empty(len(targets))
        residuals = np.empty(int(np.diff(self.offsets).max()))
        highest, total = np.maximum.reduce, np.add.reduce
        dot, exp, subtract = np.dot, np.exp, np.subtract
        shrink = 1.0 - 2.0 * rate * l2
        squares = 0.0
        with np.errstate(all="ignore"):  # divergence is found after the epoch
            for start, end in spans:
                matrix = features[start:end]
                prob = probs[start:end]
                dot(matrix, weights, prob)
                subtract(prob, highest(prob), prob)
                exp(prob, prob)
                prob /= total(prob)
                squares += dot(weights, weights)
                residual = residuals[: end - start]
                subtract(prob, targets[start:end], residual)
                step = dot(residual, matrix)
                step *= rate
                weights *= shrink
                weights -= step
            entropy = -float(targets @ np.log(probs + _LOG_FLOOR))
        return (entropy + l2 * float(squares)) / len(self)


def loss_and_gradient(
    weights: Floats, features: Floats, targets: Floats, offsets: Ints, *, l2: float
) -> tuple[float, Floats]:
    """Return the mean loss over groups and its exact gradient, all groups at once.

    The rows of a group follow one another; ``offsets`` tells where each group begins, and the end.

    >>> import math
    >>> features, targets = np.array([[1.0], [0.0]]), np.array([1.0, 0.0])
    >>> loss, gradient = loss_and_gradient(np.zeros(1), features, targets, np.array([0, 2]), l2=0.0)
    >>> round(loss, 12) == round(math.log(2), 12), gradient.tolist()       # p = 1/2 each; 1 · (1/2 - 1)
    (True, [-0.5])
    """
    starts, sizes = offsets[:-1], np.diff(offsets)
    scores = features @ weights
    scores -= np.repeat(np.maximum.reduceat(scores, starts), sizes)
    powers = np.exp(scores)
    sums = np.add.reduceat(powers, starts)
    wanted = np.add.reduceat(targets, starts)
    # -Σ t log p = Σ t · log Σ exp(s) - Σ t · s: no logarithm of a p that is rounded to 0
    loss = float((wanted * np.log(sums)).sum() - targets @ scores)
    residual = powers * np.repeat(wanted / sums, sizes) - targets
    gradient = residual @ features / len(starts) + 2 * l2 * weights
    return loss / len(starts) + l2 * float(weights @ weights), gradient


def split(X: Any, column: int | str | None) -> tuple[Floats, list[Any] | None, Names]:  # noqa: ANN401, N803  (scikit-learn's name)
    """Return the features, the groups where ``column`` names a column of them, and the names where X has them."""
    groups: list[Any] | None = None
    names: list[Any] | None = None
    if hasattr(X, "columns") and hasattr(X, "__getitem__"):
        names = _columns(X)
        if isinstance(column, int) and column not in names and -len(names) <= column < len(names):
            column = names[column]
        if column is not None and column not in names:
            raise ParamError(f"SoftmaxRanker: group_column={column!r} is not a column; there are {names}")
        if column is not None:
            names.remove(column)
            groups = X[column].to_list()
        columns = [_numbers(X[name].to_numpy()) for name in names]
        features = np.column_stack(columns) if columns else np.empty((len(X), 0))
    else:
        array = np.asarray(X)
        if array.ndim != 2:  # noqa: PLR2004  (a matrix)
            raise InputError(f"X is a matrix with one row per sample; found {array.ndim} dimensions")
        if column is not None:
            if not isinstance(column, Integral) or not -array.shape[1] <= column < array.shape[1]:
                raise ParamError(
                    f"SoftmaxRanker: group_column={column!r} is not a column of an array with {array.shape[1]} columns"
                )
            groups, array = array[:, column].tolist(), np.delete(array, column, axis=1)
        features = _numbers(array)
    wrong = ~np.isfinite(features)
    if wrong.any():
        row, at = divmod(int(wrong.argmax()), features.shape[1])
        raise InputError(f"row {row}: feature {at} is {features[row, at]}; a feature is a finite number")
    named = names is not None and all(isinstance(name, str) for name in X.columns)
    return features, groups, tuple(names) if named and names is not None else None


def _columns(frame: Any) -> list[Any]:  # noqa: ANN401  (pandas' or polars')
    """Return the names of a frame's columns: each once, and all of them text or none."""
    names = list(frame.columns)
    again = next((name for name in names if names.count(name) > 1), None)
    if again is not None:
        raise InputError(f"the column {again!r} occurs twice in the frame; name every feature once")
    wrong = [name for name in names if not isinstance(name, str)]
    if 0 < len(wrong) < len(names):
        found = f"the column {wrong[0]!r} has a name that is not text, and others have text"
        raise InputError(f"{found}; name all columns by text, or none")
    return names


def labels_of(y: Any, length: int) -> Floats:  # noqa: ANN401  (checked here)
    """Return the labels, one per sample."""
    if y is None:
        raise ParamError("SoftmaxRanker needs labels: give y, one number per sample")
    labels = _numbers(np.asarray(y.to_list() if hasattr(y, "to_list") else y))
    if labels.shape != (length,):
        raise InputError(f"{length} samples need as many labels; found an array of shape {labels.shape}")
    wrong = ~((labels >= 0) & (labels < float("inf")))
    if wrong.any():
        row = int(wrong.argmax())
        raise InputError(f"row {row}: the label {labels[row]} is not allowed; a label is a finite number >= 0")
    return labels


def _numbers(array: NDArray[Any]) -> Floats:
    """Return numbers; text is none, even where Python could read it as one."""
    objects = array.flat if array.dtype.kind == "O" else ()
    if array.dtype.kind in "biufO" and not any(isinstance(value, (str, bytes)) for value in objects):
        try:
            return np.asarray(array, dtype=np.float64)
        except (TypeError, ValueError):
            pass
    raise InputError(f"features and labels are numbers; found values of type {array.dtype}")
