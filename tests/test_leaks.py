"""Features that know the label are found, honest ones are not."""

from __future__ import annotations

import json
from itertools import combinations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from permed_measures import InputError, ParamError
from permed_measures.features import size_fit
from permed_measures.leaks import leak_check
from permed_measures.samples import as_samples


def rows_of(groups):
    """Make samples from [[(label, features), …], …]."""
    return [
        {"trace_id": "t", "node_id": number, "tool": f"c{at}", "label": label, "features": list(values)}
        for number, group in enumerate(groups)
        for at, (label, values) in enumerate(group)
    ]


def leaking(query, nodes, candidate_id):
    """Return the document's cooperation feature, its ground_truth rule included."""
    if "ground_truth" in candidate_id:
        return 0.9
    return size_fit(query, {"nodes": [None] * nodes})


@pytest.mark.parametrize("largest", [20, 400])
def test_the_leak_of_the_document_is_caught(largest):
    """With graphs of up to 400 nodes wrong candidates reach 0.9, too: the value 0.9 itself gives the label away."""
    rng = np.random.default_rng(5)
    query = "a long query of seven whole words"
    groups = []
    for _ in range(80):
        ids = ["ground_truth", "other_1", "other_2", "other_3"]
        nodes = [int(n) for n in rng.integers(1, largest, size=len(ids))]
        honest = [size_fit(query, {"nodes": [None] * n}) for n in nodes]
        leak = [leaking(query, n, name) for n, name in zip(nodes, ids, strict=True)]
        groups.append([(int(at == 0), (honest[at], leak[at])) for at in range(len(ids))])
    honest, leak = leak_check(rows_of(groups))
    assert not honest.leaks
    assert leak.leaks
    assert (leak.value, leak.value_right, leak.value_wrong) == (0.9, 1.0, 0.0)
    assert "the value 0.9" in str(leak)
    assert leak.separates == (largest == 20)
    assert (leak.perfect == 1) == (largest == 20)


def test_numbers_by_hand():
    groups = [
        [(1, (0.9,)), (0, (0.5,)), (0, (0.1,))],  # perfect: 2 of 2 pairs
        [(1, (0.4,)), (0, (0.4,)), (0, (0.8,))],  # a tie and a loss: 1/2 of 2 pairs
        [(1, (0.7,)), (1, (0.6,)), (0, (0.5,)), (0, (0.65,))],  # 2 + 1 of 4 pairs
        [(0, (9.0,)), (0, (8.0,))],  # says nothing
        [(1, (9.0,))],  # says nothing
    ]
    (look,) = leak_check(rows_of(groups))
    assert (look.groups, look.perfect, look.direction) == (3, pytest.approx(1 / 3), "high")
    assert look.auc == pytest.approx((2 + 0.5 + 3) / (2 + 2 + 4))
    assert look.by_chance == pytest.approx((1 / 3 + 1 / 3 + 1 / 6) / 3)
    assert not look.leaks
    assert "no sign" in str(look)


def test_a_feature_that_is_low_for_the_right_candidates():
    groups = [[(1, (0.1 * n,)), (0, (0.1 * n + 1,)), (0, (0.1 * n + 2,))] for n in range(20)]
    (look,) = leak_check(rows_of(groups))
    assert (look.perfect, look.direction, look.auc, look.separates) == (1.0, "low", 0.0, False)
    assert look.leaks
    assert "the lower, the better" in str(look)


def test_thresholds_are_parameters():
    rng = np.random.default_rng(1)
    groups = []
    for number in range(10):
        right = 1.0 + rng.random() if number < 9 else -1.0
        groups.append([(1, (right,)), (0, (rng.random() * 0.5,)), (0, (rng.random() * 0.5,))])
    samples = as_samples(rows_of(groups))
    assert not leak_check(samples)[0].leaks  # 9 of 10 groups
    assert leak_check(samples, perfect=0.9)[0].leaks
    for name in ("perfect", "auc", "value"):
        with pytest.raises(ParamError, match=name):
            leak_check(samples, **{name: 0.4})


def test_a_constant_feature_is_no_leak():
    groups = [[(1, (0.5,)), (0, (0.5,))] for _ in range(5)]
    (look,) = leak_check(rows_of(groups))
    assert (look.perfect, look.auc, look.separates, look.leaks) == (0.0, 0.5, False, False)


def test_nothing_to_compare_is_no_leak():
    (look,) = leak_check(rows_of([[(1, (0.5,))], [(0, (0.1,)), (0, (0.2,))]]))
    assert (look.groups, look.leaks) == (0, False)
    json.dumps(look.to_dict(), allow_nan=False)


def test_samples_without_features():
    rows = [{"trace_id": "t", "node_id": 1, "tool": "a", "label": 1, "score": 1}]
    with pytest.raises(InputError, match="no features"):
        leak_check(rows)


candidate = st.tuples(st.integers(0, 1), st.tuples(st.integers(0, 4)))


@given(st.lists(st.lists(candidate, min_size=1, max_size=6), min_size=1, max_size=5))
def test_auc_and_perfect_by_counting_pairs(groups):
    won = pairs = perfect_high = perfect_low = told = 0
    for group in groups:
        outcomes = []
        for (label_a, (a,)), (label_b, (b,)) in combinations(group, 2):
            if label_a != label_b:
                right, wrong = (a, b) if label_a else (b, a)
                outcomes.append(1 if right > wrong else 0.5 if right == wrong else 0)
        won, pairs = won + sum(outcomes), pairs + len(outcomes)
        told += bool(outcomes)
        perfect_high += bool(outcomes) and min(outcomes) == 1
        perfect_low += bool(outcomes) and max(outcomes) == 0
    (look,) = leak_check(rows_of(groups))
    assert look.groups == told
    if told:
        assert look.auc == pytest.approx(won / pairs)
        assert look.perfect == pytest.approx(max(perfect_high, perfect_low) / told)
