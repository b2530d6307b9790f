"""Coefficients of agreement and corrected means against programs we did not write."""

import random

import numpy as np
import pytest

from permed_measures import corrected, evaluate
from permed_measures.judges import agreement


def _pairs(grades, seed, num=200, same=0.6):
    rng = random.Random(seed)
    people = [rng.choice(grades) for _ in range(num)]
    return people, [g if rng.random() < same else rng.choice(grades) for g in people]


def _ours(people, judge, name):
    qrels = [{f"q{i % 7}": {} for i in range(len(people))} for _ in range(2)]
    for i, both in enumerate(zip(people, judge, strict=True)):
        for side, grade in zip(qrels, both, strict=True):
            side[f"q{i % 7}"][f"d{i}"] = grade
    return agreement(*qrels, mapping="same")["judge"].coefficients[name].value


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("ours", "weights"), [("kappa", None), ("weighted_kappa", "quadratic")])
def test_kappas_are_scikit_learns(seed, ours, weights):
    metrics = pytest.importorskip("sklearn.metrics")
    people, judge = _pairs([0, 1, 2, 3], seed)
    expected = metrics.cohen_kappa_score(people, judge, weights=weights)
    assert _ours(people, judge, ours) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("grades", [[0, 1, 2], [0, 1.5, 2.25, 7.5, 10], [i / 7 for i in range(40)]])
@pytest.mark.parametrize("level", ["ordinal", "interval"])
def test_alphas_are_those_of_krippendorff(seed, grades, level):
    krippendorff = pytest.importorskip("krippendorff")
    people, judge = _pairs(grades, seed)
    expected = krippendorff.alpha(np.array([people, judge], dtype=float), level_of_measurement=level)
    assert _ours(people, judge, f"alpha_{level}") == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_corrected_mean_is_that_of_ppi_python(seed):
    ppi = pytest.importorskip("ppi_py")
    rng = random.Random(seed)
    people = {f"q{i}": {f"d{j}": int(rng.random() < 0.5) for j in range(5)} for i in range(200)}
    llm = {q: {d: g if rng.random() > 0.2 else 1 for d, g in grades.items()} for q, grades in people.items()}
    run = {q: list(grades) for q, grades in people.items()}
    sample = {q: people[q] for q in rng.sample(list(people), 60)}
    found = corrected(llm, sample, run, "P@5")["P@5"]
    h, f_all = (next(iter(evaluate(qrels, run, "P@5").columns.values())) for qrels in (sample, llm))
    labelled, predicted = np.array(list(h.values())), np.array([f_all[q] for q in h])
    weight = np.cov(labelled, predicted)[0, 1] / np.var(predicted, ddof=1)
    expected = ppi.ppi_mean_pointestimate(labelled, predicted, np.array(list(f_all.values())), lam=weight)
    assert found.quote == "corrected"
    assert found.corrected.value == pytest.approx(float(np.ravel(expected)[0]), abs=1e-12)
