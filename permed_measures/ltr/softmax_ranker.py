r"""A linear ranker trained by softmax cross-entropy over each group's candidates.

.. math:: L = \frac{1}{G} \sum_g \Big( -\sum_{i \in g} t_i \log p_i \Big) + \lambda \lVert w \rVert^2,
          \quad p = \mathrm{softmax}(X_g w)

It follows scikit-learn's conventions for estimators and does not need scikit-learn.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from importlib import import_module
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from permed_measures import Param, evaluate
from permed_measures.errors import InputError, ParamError, did_you_mean, require
from permed_measures.ltr.groups import Floats, Group, Ints, Samples, as_codes, in_order
from permed_measures.ltr.training import Names, TrainingGroups, labels_of, loss_and_gradient, split
from permed_measures.render.progress import progress

__all__ = ["SOLVERS", "TARGETS", "SoftmaxRanker", "loss_and_gradient"]

SOLVERS = ("sgd", "lbfgs")
TARGETS = ("share", "labels")


_OPTIONS = {
    "l2": Param("number", low=0, desc="the weight of the squares of weights in the loss"),
    "learning_rate": Param("number", above=0, desc="the size of a step"),
    "tol": Param("number", low=0, desc="how much the loss has to fall"),
    "epochs": Param("int", desc="how often all groups are gone through"),
    "patience": Param("int", desc="so many epochs without a lower loss end the training"),
    "seed": Param("number", low=0, desc="shuffles the groups"),
    "solver": Param("choice", choices=SOLVERS, desc="how the weights are found"),
    "targets": Param("choice", choices=TARGETS, desc="what the probabilities are compared with"),
}
"""What an option may be; ``patience`` and ``seed`` may also be None."""


@dataclass(kw_only=True, eq=False, repr=False)
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

    l2: float = 0.01
    learning_rate: float = 0.01
    epochs: int = 100
    solver: str = "sgd"
    seed: int | None = None
    patience: int | None = None
    tol: float = 1e-6
    targets: str = "share"
    init: Sequence[float] | None = None
    group_column: int | str | None = None
    verbose: bool = False

    coef_: Floats = field(init=False)
    """The weights, one per feature."""
    n_features_in_: int = field(init=False)
    """Columns of X, a group column included."""
    feature_names_in_: NDArray[np.object_] = field(init=False)
    """Their names; absent where X had none."""
    n_iter_: int = field(init=False)
    loss_curve_: list[float] = field(init=False)
    validation_curve_: list[float] = field(init=False)
    converged_: bool = field(init=False)
    """lbfgs: the gradient vanished; sgd: stopped early."""
    n_groups_: int = field(init=False)
    """Groups that were learned from."""
    groups_skipped_: int = field(init=False)
    _names_in: Names = field(init=False, default=None)
    """The names of the weights."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002, FBT001, FBT002  (scikit-learn's signature)
        """Return the options by name."""
        return {option.name: getattr(self, option.name) for option in fields(self) if option.init}

    def set_params(self, **params: Any) -> SoftmaxRanker:  # noqa: ANN401  (the options' values)
        """Set options by name."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise ParamError(f"SoftmaxRanker has no option {name!r}.{did_you_mean(name, known)}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        plain = type(self)().get_params()
        given = [f"{name}={value!r}" for name, value in self.get_params().items() if value is not plain[name]]
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
        X: Any,  # noqa: ANN401, N803  (an array, a frame or Samples; scikit-learn's name)
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
        width, shares = features.shape[1], self.targets == "share"
        learned = TrainingGroups.of(features, labels, codes, shares=shares)
        watched = None
        if validation is not None:
            parts = (validation,) if isinstance(validation, Samples) else validation
            features, labels, codes, found = self._table(*parts)
            features = _fitting(features, found, width, names)
            watched = TrainingGroups.of(features, labels, codes, shares=shares)
        weights = self._initial(width)
        self._names_in = names
        self.n_features_in_ = width + (0 if self.group_column is None or isinstance(X, Samples) else 1)
        vars(self).pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = np.array([*(names if isinstance(X, Samples) else X.columns)], dtype=object)
        self.n_groups_, self.groups_skipped_ = len(learned), learned.skipped
        self.loss_curve_, self.validation_curve_, self.converged_ = [], [], False
        if self.solver == "lbfgs":
            self._fit_lbfgs(learned, weights)
        else:
            self._fit_sgd(learned, weights, watched)
        return self

    def _check_options(self) -> None:
        for name, option in _OPTIONS.items():
            value = getattr(self, name)
            if value is not None or name not in ("patience", "seed"):
                option.checked("SoftmaxRanker", name, value)
        if self.seed is not None and not isinstance(self.seed, Integral):
            msg = f"SoftmaxRanker: seed={self.seed!r} is not allowed; give an int >= 0, or None for the given order"
            raise ParamError(msg)
        for name, only in (("patience", None), ("targets", "share"), ("seed", None)):
            if self.solver == "lbfgs" and getattr(self, name) != only:
                msg = f"SoftmaxRanker: {name}={getattr(self, name)!r} is for solver='sgd'; lbfgs has no use for it"
                raise ParamError(msg)

    def _initial(self, width: int) -> Floats:
        weights = np.zeros(width) if self.init is None else np.array(self.init, dtype=np.float64)
        if weights.shape != (width,) or not np.isfinite(weights).all():
            msg = f"SoftmaxRanker: init={self.init!r} is not allowed; give {width} finite numbers, one per feature"
            raise ParamError(msg)
        return weights

    def _table(self, X: Any, y: Any = None, groups: Any = None) -> tuple[Floats, Floats, Ints, Names]:  # noqa: ANN401, N803
        """Return features, labels, group numbers, and the names of the features."""
        features, found, names = self._split(X)
        if isinstance(X, Samples):
            return features, X.labels, X.codes, names
        groups = found if groups is None else groups
        if groups is None:
            raise ParamError(
                "SoftmaxRanker needs groups: give groups=…, or put them in a column of X and name it by group_column, "
                "or enable scikit-learn's metadata routing"
            )
        labels = labels_of(y, len(features))
        try:
            codes = as_codes(groups.to_list() if hasattr(groups, "to_list") else groups)
        except TypeError:
            raise InputError("groups are one hashable value per sample: numbers, strings or tuples") from None
        if len(codes) != len(features):
            raise InputError(f"{len(features)} samples need as many groups; found {len(codes)}")
        return features, labels, codes, names

    def _split(self, X: Any) -> tuple[Floats, Any, Names]:  # noqa: ANN401, N803  (scikit-learn's name)
        """Return features, groups where X has them, and the names of the features."""
        if isinstance(X, Samples):
            return X.needed_features("a ranker"), X.codes, X.feature_names
        return split(X, self.group_column)

    def _fit_sgd(self, learned: TrainingGroups, weights: Floats, watched: TrainingGroups | None) -> None:
        generator = None if self.seed is None else np.random.default_rng(self.seed)
        spans = learned.spans()
        rate, l2 = float(self.learning_rate), float(self.l2)
        best, stale = float("inf"), 0
        self.coef_ = weights
        with progress("training", shown=self.verbose) as step:
            for epoch in range(1, self.epochs + 1):
                order = range(len(spans)) if generator is None else generator.permutation(len(spans)).tolist()
                loss = learned.epoch([spans[place] for place in order], weights, rate=rate, l2=l2)
                if not np.isfinite(weights).all() or not np.isfinite(loss):
                    raise ParamError(
                        f"SoftmaxRanker: the weights diverged in epoch {epoch}; lower learning_rate="
                        f"{self.learning_rate} or scale the features"
                    )
                self.loss_curve_.append(loss)
                if watched is not None:
                    self.validation_curve_.append(watched.loss(weights)[0])
                told = loss if watched is None else self.validation_curve_[-1]
                self.n_iter_ = epoch
                step(f"training, loss {loss:.4f}", epoch / self.epochs)
                stale += 1
                if best - told > self.tol:
                    best, stale = told, 0
                    self.coef_ = weights.copy()
                if self.patience is not None and stale >= self.patience:
                    self.converged_ = True
                    break
        if watched is None or self.patience is None:  # the document keeps the last weights
            self.coef_ = weights

    def _fit_lbfgs(self, learned: TrainingGroups, weights: Floats) -> None:
        optimize = require("scipy.optimize", extra="cli")
        with progress("training", shown=self.verbose) as step:

            def keep(intermediate_result: Any) -> None:  # noqa: ANN401  (scipy's class; the name is its sign for it)
                loss = float(intermediate_result.fun)
                self.loss_curve_.append(loss)
                step(f"training, loss {loss:.4f}", len(self.loss_curve_) / self.epochs)

            found = optimize.minimize(
                lambda w: learned.loss(w, self.l2),
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
        """Return one score per sample; within a group the highest is the best. Samples need no group column."""
        self._check_fitted()
        features, _, names = self._split(X)
        return self._scores(features, names)

    predict_samples = predict

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
        ids = [f"{row:0{len(str(len(codes)))}}" for row in range(len(codes))]
        named = [Group(str(place), None, None, None) for place in range(int(codes.max(initial=-1)) + 1)]
        samples = Samples(named, codes, ids, labels, None, (), self._scores(features, names))
        return next(iter(evaluate(samples.qrels(), samples.run(), measure).means.values()))


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
        raise InputError(f"{features.shape[1]} features; the ranker was fitted on {width}")
    return features
