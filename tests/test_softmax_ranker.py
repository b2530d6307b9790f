"""The softmax ranker: the document's steps, the exact gradient, the optimum, scikit-learn's conventions."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
from itertools import pairwise

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from permed_measures import InputError, ParamError
from permed_measures.ltr.samples import as_samples, evaluate_samples
from permed_measures.ltr.softmax_ranker import SoftmaxRanker, loss_and_gradient


def made(num_groups=30, size=4, num_features=3, seed=0):
    """Make groups with one right candidate each, told by the first feature, with noise; rows are mixed."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(num_groups * size, num_features))
    groups = np.repeat(np.arange(num_groups), size)
    noisy = features[:, 0] + rng.normal(scale=0.5, size=len(features))
    labels = np.zeros(len(features))
    for group in range(num_groups):
        rows = np.flatnonzero(groups == group)
        labels[rows[noisy[rows].argmax()]] = 1
    mixed = rng.permutation(len(features))
    return features[mixed], labels[mixed], groups[mixed]


def as_the_document(features, labels, groups, *, l2, rate, epochs):  # noqa: PLR0913  (what the loop needs)
    """Take the document's training loop, written out with plain numbers."""
    query_groups = {}
    for sample in zip(groups, features, labels, strict=True):
        query_groups.setdefault(sample[0], []).append(sample)
    w = [0.0] * len(features[0])
    losses = []
    for _ in range(epochs):
        total_loss, num_groups = 0.0, 0
        for samples in query_groups.values():
            if len(samples) < 2:
                continue
            if sum(label for _, _, label in samples) == 0:
                continue
            num_groups += 1
            scores = [sum(a * b for a, b in zip(x, w, strict=True)) for _, x, _ in samples]
            powers = [math.exp(score - max(scores)) for score in scores]
            probs = [power / sum(powers) for power in powers]
            loss = -sum(y * math.log(p + 1e-10) for (_, _, y), p in zip(samples, probs, strict=True))
            loss += l2 * sum(a * a for a in w)
            total_loss += loss
            grad = [
                sum(x[k] * (p - y) for (_, x, y), p in zip(samples, probs, strict=True)) + 2 * l2 * w[k]
                for k in range(len(w))
            ]
            w = [a - rate * g for a, g in zip(w, grad, strict=True)]
        losses.append(total_loss / max(num_groups, 1))
    return w, losses


def with_odd_groups():
    features, labels, groups = made()
    labels[groups == 3] = 0  # no positive
    keep = (groups != 5) | (np.arange(len(groups)) == np.flatnonzero(groups == 5)[0])  # one sample
    return features[keep], labels[keep], groups[keep]


def test_sgd_takes_the_steps_of_the_document():
    features, labels, groups = with_odd_groups()
    weights, losses = as_the_document(features.tolist(), labels.tolist(), groups.tolist(), l2=0.02, rate=0.1, epochs=7)
    ranker = SoftmaxRanker(l2=0.02, learning_rate=0.1, epochs=7).fit(features, labels, groups)
    assert ranker.coef_ == pytest.approx(np.array(weights), abs=1e-12, rel=1e-12)
    assert ranker.loss_curve_ == pytest.approx(losses, abs=1e-12, rel=1e-12)
    assert (ranker.n_groups_, ranker.groups_skipped_, ranker.n_iter_) == (28, 2, 7)


def test_several_positives_as_the_document_writes_it_and_as_shares():
    features, labels, groups = made()
    labels[groups == 2] = [1, 1, 0, 1]
    weights, losses = as_the_document(features.tolist(), labels.tolist(), groups.tolist(), l2=0.02, rate=0.1, epochs=3)
    options = {"l2": 0.02, "learning_rate": 0.1, "epochs": 3}
    as_written = SoftmaxRanker(**options, targets="labels").fit(features, labels, groups)
    assert as_written.coef_ == pytest.approx(np.array(weights), abs=1e-12)
    assert as_written.loss_curve_ == pytest.approx(losses, abs=1e-12)
    labels[groups == 2] = [1 / 3, 1 / 3, 0, 1 / 3]
    shared, _ = as_the_document(features.tolist(), labels.tolist(), groups.tolist(), l2=0.02, rate=0.1, epochs=3)
    shares = SoftmaxRanker(**options).fit(features, labels * 7, groups)  # only the shares matter
    assert shares.coef_ == pytest.approx(np.array(shared), abs=1e-12)
    assert np.abs(shares.coef_ - as_written.coef_).max() > 1e-4


@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=4),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 0.3]),
)
def test_the_gradient_is_that_of_the_loss(sizes, seed, l2):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    features = rng.normal(size=(offsets[-1], 3))
    targets = rng.random(offsets[-1])  # shares that do not add up to 1: the loss as it is written
    weights = rng.normal(size=3)

    def loss(w):
        # the formula, group by group
        total = 0.0
        for start, end in pairwise(offsets):
            powers = np.exp(features[start:end] @ w)
            total -= (targets[start:end] * np.log(powers / powers.sum())).sum()
        return total / len(sizes) + l2 * (w**2).sum()

    value, gradient = loss_and_gradient(weights, features, targets, offsets, l2=l2)
    assert value == pytest.approx(loss(weights))
    step = 1e-6
    for place, direction in enumerate(np.eye(3)):
        slope = (loss(weights + step * direction) - loss(weights - step * direction)) / (2 * step)
        assert gradient[place] == pytest.approx(slope, abs=1e-7)


def test_the_loss_of_scores_that_exp_cannot_hold():
    features, targets = np.array([[1000.0], [-1000.0]]), np.array([0.0, 1.0])
    value, gradient = loss_and_gradient(np.array([1.0]), features, targets, np.array([0, 2]), l2=0.0)
    assert value == 2000.0  # log(e^1000 + e^-1000) + 1000
    assert gradient.tolist() == [2000.0]


def test_both_solvers_find_the_same_optimum():
    pytest.importorskip("scipy", reason="scipy is an extra")
    features, labels, groups = made(num_groups=12)
    optimum = SoftmaxRanker(l2=0.1, solver="lbfgs").fit(features, labels, groups)
    # plain steps of a fixed size circle around the optimum, as closely as the size is small
    walked = SoftmaxRanker(l2=0.1, learning_rate=0.0005, epochs=6000).fit(features, labels, groups)
    assert optimum.converged_
    assert walked.coef_ == pytest.approx(optimum.coef_, abs=2e-3)
    # one group: every step is a step of the whole loss, and the two meet
    one = groups == 0
    options = {"l2": 0.1, "epochs": 3000}
    alone = SoftmaxRanker(**options, learning_rate=0.2).fit(features[one], labels[one], groups[one])
    best = SoftmaxRanker(**options, solver="lbfgs").fit(features[one], labels[one], groups[one])
    assert alone.coef_ == pytest.approx(best.coef_, abs=1e-7)
    assert alone.loss_curve_[-1] == pytest.approx(best.loss_curve_[-1], abs=1e-8)


def test_lbfgs_is_at_the_optimum():
    optimize = pytest.importorskip("scipy.optimize", reason="scipy is an extra")
    features, labels, groups = made()
    ranker = SoftmaxRanker(l2=0.01, solver="lbfgs").fit(features, labels, groups)

    def loss(w):
        total = 0.0
        for group in range(30):
            scores = features[groups == group] @ w
            total += np.log(np.exp(scores).sum()) - scores[labels[groups == group] == 1].sum()
        return total / 30 + 0.01 * (w**2).sum()

    found = optimize.minimize(loss, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14})
    assert ranker.coef_ == pytest.approx(found.x, abs=1e-6)


def test_lbfgs_says_when_it_is_not_there_yet():
    pytest.importorskip("scipy", reason="scipy is an extra")
    features, labels, groups = made()
    ranker = SoftmaxRanker(solver="lbfgs", epochs=1)
    with pytest.warns(RuntimeWarning, match="not at the optimum after 1 iteration"):
        ranker.fit(features, labels, groups)
    assert not ranker.converged_


def test_a_seed_shuffles_and_repeats():
    features, labels, groups = made()

    def fitted(seed):
        return SoftmaxRanker(learning_rate=0.3, epochs=3, seed=seed).fit(features, labels, groups).coef_.tolist()

    assert fitted(1) == fitted(1)
    assert fitted(1) != fitted(2)
    assert fitted(None) == fitted(None) != fitted(1)


def test_early_stopping():
    features, labels, groups = made()
    whole = SoftmaxRanker(learning_rate=0.1, epochs=300, l2=0.1).fit(features, labels, groups)
    stopped = SoftmaxRanker(learning_rate=0.1, epochs=300, l2=0.1, patience=2, tol=1e-6).fit(features, labels, groups)
    assert stopped.n_iter_ == len(stopped.loss_curve_) < whole.n_iter_ == 300
    assert stopped.loss_curve_ == whole.loss_curve_[: stopped.n_iter_]
    assert (stopped.converged_, whole.converged_) == (True, False)
    # it stopped because the last two epochs brought less than tol
    assert min(stopped.loss_curve_[:-2]) - min(stopped.loss_curve_[-2:]) <= 2e-6


def test_early_stopping_on_validation_groups_keeps_the_best_weights():
    features, labels, groups = made(num_groups=6, num_features=8, seed=1)
    others = made(num_groups=40, num_features=8, seed=2)
    ranker = SoftmaxRanker(l2=0.0, learning_rate=0.5, epochs=200, patience=5, tol=0.0)
    ranker.fit(features, labels, groups, validation=others)
    assert ranker.n_iter_ < 200
    best = int(np.argmin(ranker.validation_curve_)) + 1
    assert best == ranker.n_iter_ - 5
    again = SoftmaxRanker(l2=0.0, learning_rate=0.5, epochs=best).fit(features, labels, groups)
    assert ranker.coef_.tolist() == again.coef_.tolist()


def test_init_is_where_it_starts_and_is_left_alone():
    features, labels, groups = made()
    start = [1.0, 2.0, 3.0]
    ranker = SoftmaxRanker(init=start, learning_rate=1e-12, epochs=1).fit(features, labels, groups)
    assert ranker.coef_ == pytest.approx(np.array(start))
    assert start == [1.0, 2.0, 3.0]


def test_samples_are_taken_as_they_are():
    features, labels, groups = made()
    rows = [
        {"trace_id": "t", "node_id": int(group), "tool": f"c{at}", "features": list(map(float, x)), "label": int(y)}
        for at, (x, y, group) in enumerate(zip(features, labels, groups, strict=True))
    ]
    samples = as_samples(rows)
    ranker = SoftmaxRanker(learning_rate=0.1).fit(samples)
    plain = SoftmaxRanker(learning_rate=0.1).fit(features, labels, groups)
    assert ranker.coef_.tolist() == plain.coef_.tolist()
    found = evaluate_samples(samples, model=ranker)
    assert found.mrr == evaluate_samples(samples, ranker.coef_).mrr
    assert ranker.score(samples) == pytest.approx(plain.score(features, labels, groups)) == pytest.approx(found.mrr)
    assert ranker.score(samples, measure="Success@1") == pytest.approx(found.top1_accuracy)
    with_column = SoftmaxRanker(group_column=0).fit(samples)
    assert evaluate_samples(samples, model=with_column).num_queries == 30


def test_score_by_hand():
    ranker = SoftmaxRanker(epochs=1, init=[1.0], learning_rate=1e-9).fit([[1], [0]], [1, 0], [0, 0])
    # group a: the right one is second; group b: first; group c: a tie, which goes to the later row
    features, labels, groups = [[2], [1], [1], [0], [5], [5]], [0, 1, 1, 0, 1, 0], list("aabbcc")
    assert ranker.score(features, labels, groups) == pytest.approx((1 / 2 + 1 + 1 / 2) / 3)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_with_a_group_column(library):
    frames = pytest.importorskip(library, reason=f"{library} is an extra")
    features, labels, groups = made()
    names = [f"trace {group}" for group in groups.tolist()]
    frame = frames.DataFrame({"a": features[:, 0], "group": names, "b": features[:, 1], "c": features[:, 2]})
    ranker = SoftmaxRanker(group_column="group").fit(frame, frames.Series(labels))
    plain = SoftmaxRanker().fit(features, labels, groups)
    assert ranker.coef_.tolist() == plain.coef_.tolist()
    assert (ranker.n_features_in_, plain.n_features_in_, len(ranker.coef_)) == (4, 3, 3)
    assert ranker.predict(frame) == pytest.approx(plain.predict(features))


def test_without_groups_it_says_how_to_give_them():
    features, labels, _ = made()
    with pytest.raises(ParamError, match="group_column"):
        SoftmaxRanker().fit(features, labels)


GOOD = ([[1.0], [0.0]], [1, 0], [0, 0])


@pytest.mark.parametrize(
    ("features", "labels", "groups", "message"),
    [
        ([[1.0], [0.0]], [0, 0], [0, 0], "1 groups 0 have fewer than 2 samples, 1 have no positive label"),
        ([[1.0], [0.0]], [1, 0], [0, 1], "2 groups 2 have fewer than 2 samples"),
        ([1.0, 0.0], [1, 0], [0, 0], "a matrix"),
        ([[1.0], [float("nan")]], [1, 0], [0, 0], "row 1: feature 0 is nan"),
        ([["1"], ["2"]], [1, 0], [0, 0], "numbers"),
        (np.array([["1"], [2]], dtype=object), [1, 0], [0, 0], "numbers"),
        ([[1.0], [0.0]], [1], [0, 0], "2 samples need as many labels"),
        ([[1.0], [0.0]], [1, -1], [0, 0], "row 1: the label -1.0"),
        ([[1.0], [0.0]], [1, float("nan")], [0, 0], "row 1: the label nan"),
        ([[1.0], [0.0]], [1, 0], [0], "as many groups"),
        ([[1.0], [0.0]], [1, 0], [[0], [0]], "hashable"),
    ],
)
def test_wrong_input(features, labels, groups, message):
    with pytest.raises(InputError, match=message):
        SoftmaxRanker().fit(features, labels, groups)


@pytest.mark.parametrize(
    "options",
    [
        {"l2": -1},
        {"l2": "1"},
        {"learning_rate": 0},
        {"learning_rate": float("nan")},
        {"epochs": 0},
        {"epochs": 1.5},
        {"epochs": True},
        {"solver": "adam"},
        {"targets": "x"},
        {"seed": -1},
        {"patience": 0},
        {"tol": -1},
        {"init": [1, 2]},
        {"group_column": 7},
        {"solver": "lbfgs", "patience": 3},
        {"solver": "lbfgs", "targets": "labels"},
    ],
)
def test_wrong_options(options):
    with pytest.raises(ParamError, match=next(reversed(options))):
        SoftmaxRanker(**options).fit(*GOOD)


def test_divergence_is_an_error():
    with pytest.raises(ParamError, match="diverged in epoch"):
        SoftmaxRanker(learning_rate=1e3, l2=10, epochs=500).fit(*GOOD)


def test_not_fitted_and_other_widths():
    with pytest.raises(ParamError, match="call fit first"):
        SoftmaxRanker().predict([[1.0]])
    with pytest.raises(InputError, match="2 features; the ranker was fitted on 1"):
        SoftmaxRanker().fit(*GOOD).predict([[1.0, 2.0]])


def test_params_and_print():
    ranker = SoftmaxRanker(l2=0.5)
    assert ranker.get_params()["l2"] == 0.5
    assert ranker.set_params(l2=0.25, epochs=3) is ranker
    assert (ranker.l2, ranker.epochs) == (0.25, 3)
    assert repr(ranker) == "SoftmaxRanker(l2=0.25, epochs=3)"
    with pytest.raises(ParamError, match="Did you mean epochs"):
        ranker.set_params(epoch=3)
    fitted = pickle.loads(pickle.dumps(ranker.fit(*GOOD)))  # noqa: S301  (our own bytes)
    assert fitted.coef_.tolist() == ranker.coef_.tolist()


# scikit-learn


def test_clone():
    base = pytest.importorskip("sklearn.base", reason="scikit-learn is for tests")
    ranker = SoftmaxRanker(l2=0.5, init=[1.0], group_column=0).fit([[0, 1.0], [0, 0.0]], [1, 0])
    copy = base.clone(ranker)
    assert copy.get_params() == ranker.get_params()
    assert not hasattr(copy, "coef_")


def by_hand_folds(features, labels, groups, splits, **options):
    """Fit and score every fold without scikit-learn's help."""
    values = []
    for train, test in splits:
        ranker = SoftmaxRanker(**options).fit(features[train], labels[train], groups[train])
        values.append(ranker.score(features[test], labels[test], groups[test]))
    return values


def test_cross_val_score_with_a_group_column():
    selection = pytest.importorskip("sklearn.model_selection", reason="scikit-learn is for tests")
    features, labels, groups = made()
    table = np.column_stack([groups, features])
    folds = selection.GroupKFold(3)
    ranker = SoftmaxRanker(learning_rate=0.1, group_column=0)
    found = selection.cross_val_score(ranker, table, labels, groups=groups, cv=folds, error_score="raise")
    expected = by_hand_folds(features, labels, groups, folds.split(features, labels, groups), learning_rate=0.1)
    assert found == pytest.approx(expected)


@pytest.mark.full  # scikit-learn hands groups on to an estimator's own score() since 1.8, which Python 3.10 cannot have
def test_cross_val_score_with_metadata_routing():
    sklearn = pytest.importorskip("sklearn", reason="scikit-learn is for tests")
    selection = pytest.importorskip("sklearn.model_selection")
    features, labels, groups = made()
    folds = selection.GroupKFold(3)
    with sklearn.config_context(enable_metadata_routing=True):
        found = selection.cross_val_score(
            SoftmaxRanker(learning_rate=0.1), features, labels, params={"groups": groups}, cv=folds, error_score="raise"
        )
    expected = by_hand_folds(features, labels, groups, folds.split(features, labels, groups), learning_rate=0.1)
    assert found == pytest.approx(expected)


def test_cross_val_score_without_either_says_what_to_do():
    selection = pytest.importorskip("sklearn.model_selection", reason="scikit-learn is for tests")
    features, labels, groups = made()
    with pytest.raises(ParamError, match="group_column"):
        selection.cross_val_score(
            SoftmaxRanker(), features, labels, groups=groups, cv=selection.GroupKFold(3), error_score="raise"
        )


def test_grid_search_and_pipeline():
    selection = pytest.importorskip("sklearn.model_selection", reason="scikit-learn is for tests")
    pipeline = pytest.importorskip("sklearn.pipeline")
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    features, labels, groups = made()
    table = np.column_stack([groups, features])
    search = selection.GridSearchCV(
        SoftmaxRanker(group_column=0, learning_rate=0.1), {"l2": [0.0, 10.0]}, cv=selection.GroupKFold(3)
    )
    search.fit(table, labels, groups=groups)
    assert search.best_params_ == {"l2": 0.0}
    scaled = pipeline.make_pipeline(preprocessing.StandardScaler(), SoftmaxRanker())
    scaled.fit(features, labels, softmaxranker__groups=groups)
    assert scaled.predict(features).shape == labels.shape


@pytest.mark.full  # see above
def test_a_pipeline_with_metadata_routing():
    sklearn = pytest.importorskip("sklearn", reason="scikit-learn is for tests")
    selection = pytest.importorskip("sklearn.model_selection")
    pipeline, preprocessing = pytest.importorskip("sklearn.pipeline"), pytest.importorskip("sklearn.preprocessing")
    features, labels, groups = made()
    folds = selection.GroupKFold(3)
    scaled = pipeline.make_pipeline(preprocessing.FunctionTransformer(), SoftmaxRanker(learning_rate=0.1))
    with sklearn.config_context(enable_metadata_routing=True):
        found = selection.cross_val_score(
            scaled, features, labels, params={"groups": groups}, cv=folds, error_score="raise"
        )
        search = selection.GridSearchCV(scaled, {"softmaxranker__l2": [0.0, 10.0]}, cv=folds, error_score="raise")
        search.fit(features, labels, groups=groups)
    expected = by_hand_folds(features, labels, groups, folds.split(features, labels, groups), learning_rate=0.1)
    assert found == pytest.approx(expected)
    assert search.best_params_ == {"softmaxranker__l2": 0.0}


def test_not_fitted_is_scikit_learns_error():
    exceptions = pytest.importorskip("sklearn.exceptions", reason="scikit-learn is for tests")
    for call in (lambda r: r.predict([[1.0]]), lambda r: r.score([[1.0]], [1], [1]), lambda r: r.predict(SAMPLES)):
        with pytest.raises(exceptions.NotFittedError, match="call fit first") as caught:
            call(SoftmaxRanker())
        again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301  (made here)
        for error in (caught.value, again):
            assert isinstance(error, ParamError)
            assert isinstance(error, exceptions.NotFittedError)


NAMES = ("a", "b", "c")
SAMPLES = as_samples(
    [
        {"trace_id": g, "node_id": 0, "tool": str(at), "label": y, "features": dict(zip(NAMES, x, strict=True))}
        for at, (x, y, g) in enumerate(zip(*(column.tolist() for column in made()), strict=True))
    ]
)
TURNED = as_samples(
    [{**r, "features": dict(zip("cab", r["features"][2:] + r["features"][:2], strict=True))} for r in SAMPLES.records()]
)


def test_samples_are_aligned_by_name():
    ranker = SoftmaxRanker(learning_rate=0.1).fit(SAMPLES)
    assert (ranker.feature_names_in_.tolist(), ranker.n_features_in_) == (["a", "b", "c"], 3)
    expected = (SAMPLES.features @ ranker.coef_).tolist()
    assert TURNED.feature_names == ("c", "a", "b")
    for fitted in (ranker, pickle.loads(pickle.dumps(ranker))):  # noqa: S301  (made here)
        assert fitted.predict(TURNED).tolist() == expected
        assert TURNED.scored(model=fitted).tolist() == expected
    assert evaluate_samples(TURNED, model=ranker).metrics == evaluate_samples(SAMPLES, model=ranker).metrics
    assert ranker.score(TURNED) == ranker.score(SAMPLES)
    watched = SoftmaxRanker(patience=50).fit(SAMPLES, validation=TURNED)
    assert watched.validation_curve_ == SoftmaxRanker(patience=50).fit(SAMPLES, validation=SAMPLES).validation_curve_
    other = as_samples([{**r, "features": dict(zip("abx", r["features"], strict=True))} for r in SAMPLES.records()])
    for call in (ranker.predict, ranker.score, lambda s: SoftmaxRanker().fit(SAMPLES, validation=s)):
        with pytest.raises(InputError, match="do not match those of SoftmaxRanker: missing 'c'; unexpected 'x'"):
            call(other)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_are_aligned_by_name(library):
    frames = pytest.importorskip(library, reason="frames are optional")
    features, labels, groups = made()
    columns = {"group": groups, **{name: features[:, at] for at, name in enumerate(NAMES)}}
    ranker = SoftmaxRanker(learning_rate=0.1, group_column="group").fit(frames.DataFrame(columns), labels)
    assert (ranker.feature_names_in_.tolist(), ranker.n_features_in_) == (["group", "a", "b", "c"], 4)
    expected = features @ ranker.coef_
    turned = frames.DataFrame(dict(reversed(columns.items())))
    assert ranker.predict(turned) == pytest.approx(expected, abs=1e-12)
    assert ranker.predict(TURNED) == pytest.approx(SAMPLES.features @ ranker.coef_, abs=1e-12)
    with pytest.raises(InputError, match="missing 'b'; unexpected 'x'"):
        ranker.predict(frames.DataFrame({"x" if name == "b" else name: column for name, column in columns.items()}))
    with pytest.raises(InputError, match="missing 'c'"):
        ranker.predict(frames.DataFrame({name: column for name, column in columns.items() if name != "c"}))


def test_arrays_have_no_names():
    features, labels, groups = made()
    unnamed = SoftmaxRanker().fit(features, labels, groups)
    assert not hasattr(unnamed, "feature_names_in_")
    with pytest.warns(
        UserWarning, match="SoftmaxRanker came without feature names, and the samples have 'a', 'b', 'c'"
    ):
        assert unnamed.predict(SAMPLES).tolist() == (SAMPLES.features @ unnamed.coef_).tolist()
    named = SoftmaxRanker().fit(SAMPLES)
    with pytest.warns(UserWarning, match="the samples came without feature names, and SoftmaxRanker has 'a', 'b', 'c'"):
        assert named.predict(features).tolist() == (features @ named.coef_).tolist()
    lists = as_samples([{**r, "features": r["features"]} for r in SAMPLES.records()])
    assert unnamed.predict(lists).tolist() == unnamed.predict(SAMPLES.features).tolist()  # f0, f1, f2 say nothing more
    assert not hasattr(named.fit(features, labels, groups), "feature_names_in_")


def test_names_of_columns_that_cannot_be_aligned():
    pandas = pytest.importorskip("pandas", reason="frames are optional")
    twice = pandas.DataFrame([[1.0, 2.0], [0.0, 1.0]], columns=["a", "a"])
    with pytest.raises(InputError, match="the column 'a' occurs twice"):
        SoftmaxRanker().fit(twice, [1, 0], [0, 0])
    mixed = pandas.DataFrame([[1.0, 2.0], [0.0, 1.0]], columns=["a", 1])
    with pytest.raises(InputError, match="the column 1 has a name that is not text"):
        SoftmaxRanker().fit(mixed, [1, 0], [0, 0])
    numbers = SoftmaxRanker().fit(pandas.DataFrame([[1.0, 2.0], [0.0, 1.0]]), [1, 0], [0, 0])
    assert not hasattr(numbers, "feature_names_in_")


def test_neither_scikit_learn_nor_rich_nor_scipy_is_needed():
    code = """
import sys
from itertools import pairwise
for name in ("sklearn", "scipy", "rich", "pandas", "duckdb", "click"):
    sys.modules[name] = None
from permed_measures.ltr.softmax_ranker import SoftmaxRanker
ranker = SoftmaxRanker(verbose=True).fit([[1.0], [0.0]], [1, 0], [0, 0])
assert ranker.score([[1.0], [0.0]], [1, 0], [0, 0]) == 1.0
try:
    SoftmaxRanker(solver="lbfgs").fit([[1.0], [0.0]], [1, 0], [0, 0])
except RuntimeError as error:
    assert "permed-measures[cli]" in str(error)
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_progress_bar_is_for_terminals(capsys, monkeypatch):
    pytest.importorskip("rich", reason="rich is an extra")
    SoftmaxRanker(verbose=True).fit(*GOOD)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    SoftmaxRanker(verbose=True, epochs=2).fit(*GOOD)
    out, err = capsys.readouterr()
    assert out == ""
    assert "training" in err
    SoftmaxRanker().fit(*GOOD)
    assert capsys.readouterr() == ("", "")
