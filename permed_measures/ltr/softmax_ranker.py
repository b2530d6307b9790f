r"""A linear ranker trained by softmax cross-entropy over each group's candidates.

.. math:: L = \frac{1}{G} \sum_g \Big( -\sum_{i \in g} t_i \log p_i \Big) + \lambda \lVert w \rVert^2,
          \quad p = \mathrm{softmax}(X_g w)

It follows scikit-learn's conventions for estimators and does not need scikit-learn.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from permed_measures.errors import InputError, ParamError, did_you_mean, require
from permed_measures.evaluate import evaluate
from permed_measures.ltr.samples import Samples, as_codes, blocks, in_order
from permed_measures.render.progress import progress

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Names = tuple[str, ...] | None

SOLVERS = ("sgd", "lbfgs")
TARGETS = ("share", "labels")


def _is_number(value: Any) -> bool:  # noqa: ANN401  (that is the question)
    return isinstance(value, Real) and not isinstance(value, bool) and 0 <= float(value) < float("inf")


def _is_count(value: Any, least: int = 1) -> bool:  # noqa: ANN401  (that is the question)
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


_OPTIONS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "l2": (_is_number, "a number >= 0"),
    "learning_rate": (lambda value: _is_number(value) and value > 0, "a number > 0"),
    "tol": (_is_number, "a number >= 0"),
    "epochs": (_is_count, "an int >= 1"),
    "patience": (lambda value: value is None or _is_count(value), "an int >= 1, or None"),
    "seed": (lambda value: value is None or _is_count(value, 0), "an int >= 0, or None for the given order"),
    "solver": (SOLVERS.__contains__, " or ".join(map(repr, SOLVERS))),
    "targets": (TARGETS.__contains__, " or ".join(map(repr, TARGETS))),
}
"""What an option may be, and how a message says so."""

_LOG_FLOOR = 1e-10
"""The document's log(p + 1e-10): of the loss it reports, not of its gradient."""


@dataclass(frozen=True)
class _Problem:
    """The groups that can be learned from, one after the other."""

    features: Floats
    targets: Floats
    offsets: Ints
    too_small: int = 0
    without_positive: int = 0

    @property
    def num_groups(self) -> int:
        return len(self.offsets) - 1


def loss_and_gradient(
    weights: Floats, features: Floats, targets: Floats, offsets: Ints, *, l2: float
) -> tuple[float, Floats]:
    """Return the mean loss over groups and its exact gradient, all groups at once.

    The rows of a group stand one after the other; ``offsets`` tells where each group begins, and the end.

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
    num_groups = len(starts)
    gradient = residual @ features / num_groups + 2 * l2 * weights
    return loss / num_groups + l2 * float(weights @ weights), gradient


class SoftmaxRanker:
    """Scores candidates by ``w · features``; w minimises the softmax cross-entropy of each group, plus ``l2 · ‖w‖²``.

    ``solver='sgd'`` takes the document's steps, group after group, ``epochs`` times through all groups in the order of
    their first samples; a ``seed`` shuffles the groups before every epoch. ``loss_curve_`` is the document's average
    loss of each epoch: every group at the weights it was met with, log(p + 1e-10), the penalty included.
    ``patience`` stops when that loss (or the loss on ``validation`` groups, then with the best weights) has not
    fallen by more than ``tol`` for so many epochs. ``solver='lbfgs'`` (needs scipy) finds the optimum of the mean loss,
    with exact logarithms, in at most ``epochs`` iterations.

    Groups with fewer than two samples or without a positive label are skipped, as in the document, and counted in
    ``groups_skipped_``. The document's step is the gradient of its loss only where the labels of a group add up to 1:
    ``targets='share'`` divides them by their sum, so that this holds for groups with several right candidates, too;
    ``targets='labels'`` takes the document's step as it is written (sgd only).

    Groups reach ``fit`` and ``score`` in one of three ways: as the argument ``groups``; as a column of X, named or
    numbered by ``group_column``, which is what ``cross_val_score(ranker, X, y, groups=g, cv=GroupKFold())`` needs:
    scikit-learn gives ``groups`` to the splitter only; or by scikit-learn's metadata routing, once that is enabled:
    ``cross_val_score(ranker, X, y, params={"groups": g}, cv=GroupKFold())``, also with the ranker in a Pipeline.

    Features of frames and :class:`Samples` are aligned by name with those of ``fit``, in any order; missing and
    unexpected ones are an InputError. An array has no names: against a ranker with names it is taken as it is, with
    scikit-learn's warning. Without ``fit`` the methods raise a ParamError that is scikit-learn's NotFittedError, too,
    where scikit-learn is installed.

    >>> X = [[0.9, 0.1], [0.2, 0.8], [0.7, 0.3], [0.1, 0.2]]
    >>> ranker = SoftmaxRanker(learning_rate=0.5, epochs=20).fit(X, [1, 0, 1, 0], groups=["q", "q", "r", "r"])
    >>> scores = ranker.predict(X)
    >>> bool(scores[0] > scores[1] and scores[2] > scores[3]), len(ranker.loss_curve_), ranker.groups_skipped_
    (True, 20, 0)
    """

    coef_: Floats
    """The weights, one per feature."""
    n_features_in_: int
    """Columns of X, a group column included."""
    feature_names_in_: NDArray[np.object_]
    """Their names; absent where X had none."""
    n_iter_: int
    loss_curve_: list[float]
    validation_curve_: list[float]
    converged_: bool
    """lbfgs: the gradient vanished; sgd: stopped early."""
    n_groups_: int
    """Groups that were learned from."""
    groups_skipped_: int
    _names_in: Names = None
    """The names of the weights."""

    def __init__(  # noqa: PLR0913  (scikit-learn's convention: one argument per option)
        self,
        *,
        l2: float = 0.01,
        learning_rate: float = 0.01,
        epochs: int = 100,
        solver: str = "sgd",
        seed: int | None = None,
        patience: int | None = None,
        tol: float = 1e-6,
        targets: str = "share",
        init: Sequence[float] | None = None,
        group_column: int | str | None = None,
        verbose: bool = False,
    ) -> None:
        self.l2 = l2
        self.learning_rate = learning_rate
        self.epochs = epochs
        self.solver = solver
        self.seed = seed
        self.patience = patience
        self.tol = tol
        self.targets = targets
        self.init = init
        self.group_column = group_column
        self.verbose = verbose

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002, FBT001, FBT002  (scikit-learn's signature)
        """Return the options by name."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: Any) -> SoftmaxRanker:  # noqa: ANN401  (the options' values)
        """Set options by name."""
        for name, value in params.items():
            if name not in self._names():
                raise ParamError(f"SoftmaxRanker has no option {name!r}.{did_you_mean(name, self._names())}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self)).parameters
        given = [f"{n}={v!r}" for n, v in self.get_params().items() if v is not defaults[n].default]
        return f"{type(self).__name__}({', '.join(given)})"

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401  (scikit-learn's name and class, which may be absent)
        utils = import_module("sklearn.utils")
        return utils.Tags(estimator_type=None, target_tags=utils.TargetTags(required=True))

    def get_metadata_routing(self) -> Any:  # noqa: ANN401  (scikit-learn's class, which may be absent)
        """Ask scikit-learn's metadata routing for ``groups``: a ranker cannot do without."""
        request = import_module("sklearn.utils.metadata_routing").MetadataRequest(owner=self)
        for method in (request.fit, request.score):
            method.add_request(param="groups", alias=True)
        request.score.add_request(param="sample_weight", alias=None)  # Pipeline.score sends one, mostly None
        return request

    def fit(
        self,
        X: Any,  # noqa: ANN401, N803  (every shape that _table knows; scikit-learn's name)
        y: ArrayLike | None = None,
        groups: Any = None,  # noqa: ANN401  (one hashable value per sample)
        *,
        validation: Samples | tuple[Any, Any, Any] | None = None,
    ) -> SoftmaxRanker:
        """Learn the weights from an array, a frame or :class:`Samples`.

        ``validation`` is (X, y, groups), or samples: groups whose loss is watched by ``patience``.
        """
        self._check_options()
        features, labels, codes, names = self._table(X, y, groups)
        problem = self._problem(features, labels, codes)
        held_out = None
        if validation is not None:
            parts = (validation,) if isinstance(validation, Samples) else validation
            watched, their_labels, their_codes, found = self._table(*parts)
            watched = _fitting(watched, found, features.shape[1], names)
            held_out = self._problem(watched, their_labels, their_codes)
        weights = self._initial(features.shape[1])
        self._remember(X, features.shape[1], names)
        self.n_groups_ = problem.num_groups
        self.groups_skipped_ = problem.too_small + problem.without_positive
        self.loss_curve_, self.validation_curve_ = [], []
        self.converged_ = False
        if self.solver == "lbfgs":
            self._fit_lbfgs(problem, weights)
        else:
            self._fit_sgd(problem, weights, held_out)
        return self

    def _remember(self, X: Any, width: int, names: Names) -> None:  # noqa: ANN401, N803  (scikit-learn's name)
        self._names_in = names
        self.n_features_in_ = width + (0 if self.group_column is None or isinstance(X, Samples) else 1)
        if names is not None:
            columns = X.feature_names if isinstance(X, Samples) else X.columns
            self.feature_names_in_ = np.array(list(columns), dtype=object)
        else:
            vars(self).pop("feature_names_in_", None)

    def _check_options(self) -> None:
        for name, (sound, allowed) in _OPTIONS.items():
            value = getattr(self, name)
            if not sound(value):
                msg = f"SoftmaxRanker: {name}={value!r} is not allowed; give {allowed}"
                raise ParamError(msg)
        if self.solver == "lbfgs":
            for name, only in (("patience", None), ("targets", "share"), ("seed", None)):
                if getattr(self, name) != only:
                    msg = f"SoftmaxRanker: {name}={getattr(self, name)!r} is for solver='sgd'; lbfgs has no use for it"
                    raise ParamError(msg)

    def _initial(self, width: int) -> Floats:
        if self.init is None:
            return np.zeros(width)
        weights = np.array(self.init, dtype=np.float64)
        if weights.shape != (width,) or not np.isfinite(weights).all():
            msg = f"SoftmaxRanker: init={self.init!r} is not allowed; give {width} finite numbers, one per feature"
            raise ParamError(msg)
        return weights

    def _table(self, X: Any, y: Any = None, groups: Any = None) -> tuple[Floats, Floats, Ints, Names]:  # noqa: ANN401, N803
        """Return features, labels, group numbers, and the names of the features."""
        if isinstance(X, Samples):
            if X.features is None:
                msg = "the samples have no features to learn from"
                raise InputError(msg)
            return X.features, X.labels, X.codes, X.feature_names
        features, from_column, names = self._split(X)
        if groups is None:
            groups = from_column
        if groups is None:
            msg = (
                "SoftmaxRanker needs groups: give groups=…, or put them in a column of X and name it by group_column, "
                "or enable scikit-learn's metadata routing"
            )
            raise ParamError(msg)
        labels = _labels(y, len(features))
        try:
            codes = as_codes(groups.to_list() if hasattr(groups, "to_list") else groups)
        except TypeError:
            msg = "groups are one hashable value per sample: numbers, strings or tuples"
            raise InputError(msg) from None
        if len(codes) != len(features):
            msg = f"{len(features)} samples need as many groups; found {len(codes)}"
            raise InputError(msg)
        return features, labels, codes, names

    def _split(self, X: Any) -> tuple[Floats, list[Any] | None, Names]:  # noqa: ANN401, N803  (scikit-learn's name)
        """Return the features, the groups where X has a column of them, and the names where X has them."""
        column = self.group_column
        if hasattr(X, "columns") and hasattr(X, "__getitem__"):
            names = _columns(X)
            if isinstance(column, int) and column not in names and -len(names) <= column < len(names):
                column = names[column]
            if column is not None and column not in names:
                msg = f"SoftmaxRanker: group_column={column!r} is not a column; there are {names}"
                raise ParamError(msg)
            groups = None if column is None else X[column].to_list()
            rest = [name for name in names if column is None or name != column]
            columns = [_numbers(X[name].to_numpy()) for name in rest]
            matrix = _matrix(np.column_stack(columns) if columns else np.empty((len(X), 0)))
            return matrix, groups, tuple(rest) if all(isinstance(name, str) for name in names) else None
        array = np.asarray(X)
        if array.ndim != 2:  # noqa: PLR2004  (a matrix)
            msg = f"X is a matrix with one row per sample; found {array.ndim} dimensions"
            raise InputError(msg)
        if column is None:
            return _matrix(_numbers(array)), None, None
        if not isinstance(column, Integral) or not -array.shape[1] <= column < array.shape[1]:
            msg = f"SoftmaxRanker: group_column={column!r} is not a column of an array with {array.shape[1]} columns"
            raise ParamError(msg)
        return _matrix(_numbers(np.delete(array, column, axis=1))), array[:, column].tolist(), None

    def _problem(self, features: Floats, labels: Floats, codes: Ints) -> _Problem:
        """Put groups one after the other, without those that the document skips."""
        rows, offsets = blocks(codes)
        sizes = np.diff(offsets)
        sums = np.add.reduceat(labels[rows], offsets[:-1]) if len(rows) else np.zeros(0)
        small = sizes < 2  # noqa: PLR2004  (one candidate cannot be ranked wrongly)
        kept = ~small & (sums > 0)
        if not kept.any():
            msg = (
                f"nothing to learn from: of {len(sizes)} groups {int(small.sum())} have fewer than 2 samples, "
                f"{int((~small & (sums == 0)).sum())} have no positive label"
            )
            raise InputError(msg)
        rows = rows[np.repeat(kept, sizes)]
        targets = labels[rows]
        if self.targets == "share":
            targets = targets / np.repeat(sums[kept], sizes[kept])
        return _Problem(
            features=np.ascontiguousarray(features[rows]),
            targets=targets,
            offsets=np.concatenate([[0], np.cumsum(sizes[kept])]),
            too_small=int(small.sum()),
            without_positive=int((~small & (sums == 0)).sum()),
        )

    def _fit_sgd(self, problem: _Problem, weights: Floats, held_out: _Problem | None) -> None:
        generator = None if self.seed is None else np.random.default_rng(self.seed)
        spans = list(zip(problem.offsets.tolist(), problem.offsets[1:].tolist(), strict=False))
        best, stale = float("inf"), 0
        self.coef_ = weights
        with progress("training", shown=self.verbose) as step:
            for epoch in range(1, self.epochs + 1):
                if generator is not None:
                    order = generator.permutation(len(spans)).tolist()
                    spans_now = [spans[place] for place in order]
                else:
                    spans_now = spans
                loss = self._epoch(problem, spans_now, weights)
                if not np.isfinite(weights).all() or not np.isfinite(loss):
                    msg = (
                        f"SoftmaxRanker: the weights diverged in epoch {epoch}; lower learning_rate="
                        f"{self.learning_rate} or scale the features"
                    )
                    raise ParamError(msg)
                self.loss_curve_.append(loss)
                watched = loss
                if held_out is not None:
                    watched = _loss(weights, held_out)
                    self.validation_curve_.append(watched)
                self.n_iter_ = epoch
                step(f"training, loss {loss:.4f}", epoch / self.epochs)
                if best - watched > self.tol:
                    best, stale = watched, 0
                    self.coef_ = weights.copy()
                else:
                    stale += 1
                if self.patience is not None and stale >= self.patience:
                    self.converged_ = True
                    break
        if held_out is None or self.patience is None:  # the document keeps the last weights
            self.coef_ = weights

    def _epoch(self, problem: _Problem, spans: Sequence[tuple[int, int]], weights: Floats) -> float:
        """Take the document's step for every group; return the average loss. The weights change in place."""
        # one group is a few dozen numbers: the calls cost more than the arithmetic, so there are few of them,
        # and probabilities are kept for one logarithm at the end of the epoch
        features, targets = problem.features, problem.targets
        probs = np.empty(len(targets))
        residuals = np.empty(int(np.diff(problem.offsets).max()))
        highest, total = np.maximum.reduce, np.add.reduce
        dot, exp, subtract = np.dot, np.exp, np.subtract
        rate = float(self.learning_rate)
        shrink = 1.0 - 2.0 * rate * float(self.l2)
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
        return (entropy + float(self.l2) * float(squares)) / problem.num_groups

    def _fit_lbfgs(self, problem: _Problem, weights: Floats) -> None:
        optimize = require("scipy.optimize", extra="cli")
        with progress("training", shown=self.verbose) as step:

            def keep(intermediate_result: Any) -> None:  # noqa: ANN401  (scipy's class; the name is its sign for it)
                self.loss_curve_.append(float(intermediate_result.fun))
                loss = self.loss_curve_[-1]
                step(f"training, loss {loss:.4f}", len(self.loss_curve_) / self.epochs)

            found = optimize.minimize(
                lambda w: loss_and_gradient(w, problem.features, problem.targets, problem.offsets, l2=self.l2),
                weights,
                jac=True,
                method="L-BFGS-B",
                callback=keep,
                options={"maxiter": int(self.epochs), "gtol": 1e-9, "ftol": 1e-15},
            )
        self.coef_ = np.asarray(found.x, dtype=np.float64)
        self.n_iter_ = int(found.nit)
        # at the limit of precision the line search gives up, at the optimum nevertheless
        self.converged_ = bool(found.success) or float(np.abs(found.jac).max(initial=0.0)) < 1e-6  # noqa: PLR2004  (1e-6 per group)
        if not self.converged_:
            msg = f"SoftmaxRanker: lbfgs is not at the optimum after {self.n_iter_} iterations; raise epochs, or l2"
            warnings.warn(msg, RuntimeWarning, stacklevel=3)

    def predict(self, X: Any) -> Floats:  # noqa: ANN401, N803  (scikit-learn's name)
        """Return one score per sample; within a group the highest is the best."""
        if isinstance(X, Samples):
            return self.predict_samples(X)
        self._check_fitted()
        features, _, names = self._split(X)
        return self._scores(features, names)

    def predict_samples(self, samples: Samples) -> Floats:
        """Return one score per sample; a group column is not needed."""
        self._check_fitted()
        return self._scores(self._table(samples)[0], samples.feature_names)

    def _scores(self, features: Floats, names: Names) -> Floats:
        scores: Floats = _fitting(features, names, len(self.coef_), self._names_in) @ self.coef_
        return scores

    def _check_fitted(self) -> None:
        if not hasattr(self, "coef_"):
            raise _not_fitted()

    def score(self, X: Any, y: ArrayLike | None = None, groups: Any = None, *, measure: str = "RR") -> float:  # noqa: ANN401, N803
        """Return the mean of a measure over the groups: MRR unless another one is named.

        Samples have no ids here, so a tie goes to the later row.
        """
        self._check_fitted()
        features, labels, codes, names = self._table(X, y, groups)
        scores = self._scores(features, names)
        rows, offsets = blocks(codes)
        width = len(str(len(rows)))
        ids = [f"{row:0{width}}" for row in rows.tolist()]
        qrels, run = {}, {}
        spans = zip(offsets.tolist(), offsets[1:].tolist(), strict=False)
        grades, ordered = labels[rows].tolist(), scores[rows].tolist()
        for place, (start, end) in enumerate(spans):
            qrels[str(place)] = dict(zip(ids[start:end], grades[start:end], strict=True))
            run[str(place)] = dict(zip(ids[start:end], ordered[start:end], strict=True))
        return next(iter(evaluate(qrels, run, measure).means.values()))


def _not_fitted() -> ParamError:
    """Make an error that is scikit-learn's NotFittedError, too, where there is scikit-learn."""
    msg = "this SoftmaxRanker has no weights yet; call fit first"
    try:
        theirs = import_module("sklearn.exceptions").NotFittedError
    except ImportError:
        return ParamError(msg)

    class NotFittedError(ParamError, theirs):  # type: ignore[misc, valid-type]  # scikit-learn is untyped
        def __reduce__(self) -> tuple[Any, tuple[()]]:  # a class of this place cannot be pickled by its name
            return _not_fitted, ()

    return NotFittedError(msg)


def _fitting(features: Floats, names: Names, width: int, wanted: Names) -> Floats:
    """Return the features in the order of the weights."""
    features = in_order(features, names, wanted, "SoftmaxRanker")
    if features.shape[1] != width:
        msg = f"{features.shape[1]} features; the ranker was fitted on {width}"
        raise InputError(msg)
    return features


def _columns(frame: Any) -> list[Any]:  # noqa: ANN401  (pandas' or polars')
    """Return the names of a frame's columns: each once, and all of them text or none."""
    names = list(frame.columns)
    again = next((name for name in names if names.count(name) > 1), None)
    if again is not None:
        msg = f"the column {again!r} occurs twice in the frame; name every feature once"
        raise InputError(msg)
    texts = [isinstance(name, str) for name in names]
    if any(texts) and not all(texts):
        wrong = names[texts.index(False)]
        msg = (
            f"the column {wrong!r} has a name that is not text, and others have text; name all columns by text, or none"
        )
        raise InputError(msg)
    return names


def _loss(weights: Floats, problem: _Problem) -> float:
    return loss_and_gradient(weights, problem.features, problem.targets, problem.offsets, l2=0.0)[0]


def _labels(y: Any, length: int) -> Floats:  # noqa: ANN401  (checked here)
    if y is None:
        msg = "SoftmaxRanker needs labels: give y, one number per sample"
        raise ParamError(msg)
    labels = _numbers(np.asarray(y.to_list() if hasattr(y, "to_list") else y))
    if labels.shape != (length,):
        msg = f"{length} samples need as many labels; found an array of shape {labels.shape}"
        raise InputError(msg)
    wrong = ~((labels >= 0) & (labels < float("inf")))
    if wrong.any():
        row = int(wrong.argmax())
        msg = f"row {row}: the label {labels[row]} is not allowed; a label is a finite number >= 0"
        raise InputError(msg)
    return labels


def _numbers(array: NDArray[Any]) -> Floats:
    """Return numbers; text is none, even where Python could read it as one."""
    texts = array.dtype.kind not in "biufO" or any(isinstance(value, (str, bytes)) for value in _objects(array))
    try:
        if not texts:
            return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError):
        pass
    msg = f"features and labels are numbers; found values of type {array.dtype}"
    raise InputError(msg)


def _objects(array: NDArray[Any]) -> Iterator[Any]:
    return iter(array.flat if array.dtype.kind == "O" else ())


def _matrix(features: Floats) -> Floats:
    wrong = ~np.isfinite(features)
    if wrong.any():
        row, column = divmod(int(wrong.argmax()), features.shape[1])
        msg = f"row {row}: feature {column} is {features[row, column]}; a feature is a finite number"
        raise InputError(msg)
    return features
