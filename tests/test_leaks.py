"""Features that know the label are found, honest ones are not."""

from __future__ import annotations

import json
from itertools import combinations, product

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from permed_measures import InputError, ParamError
from permed_measures.ltr.features import size_fit
from permed_measures.ltr.leaks import leak_check, trained_on
from permed_measures.ltr.samples import as_samples


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


def drawn(rng, num_groups, size, features=4, values=None):
    """Make groups with one right candidate each, and features that have nothing to do with it."""
    shape = (num_groups, size, features)
    noise = rng.random(shape) if values is None else rng.integers(0, values, shape).astype(float)
    return [[(int(at == 0), tuple(row)) for at, row in enumerate(group)] for group in noise.tolist()]


@pytest.mark.parametrize("values", [None, 2, 3])
@pytest.mark.parametrize(("num_groups", "size"), [(3, 2), (5, 2), (20, 5)])
def test_chance_is_no_leak(num_groups, size, values):
    rng = np.random.default_rng(num_groups)
    alarms = sum(
        any(look.leaks for look in leak_check(rows_of(drawn(rng, num_groups, size, 4, values)))) for _ in range(200)
    )
    assert alarms <= 0.05 * 200


def test_what_chance_explains_is_said_not_called_fine():
    rows = rows_of([[(1, (0.9, n)), (0, (n / 10, -n))] for n in (1, -2, 3)])
    look = leak_check(rows)[0]
    assert (look.leaks, look.perfect, look.reasons) == (False, 1.0, ())
    # 2^-3, for one value that could be the commonest, 3 signs and 2 features
    assert look.chance == pytest.approx(3 * 2 / 8)
    assert "3 groups cannot tell whether it knows the label (chance explains up to 75%): alone it ranks 100.0%" in str(
        look
    )
    assert json.loads(json.dumps(look.to_dict()))["unproven"]
    assert leak_check(rows, level=0.8)[0].leaks
    for level in (0, 1, 5):
        with pytest.raises(ParamError, match="level"):
            leak_check(rows, level=level)


def changed_by(rng, groups, make):
    """Put make(rng, label, value) in the place of the first feature."""
    return [[(label, (make(rng, label, value), *rest)) for label, (value, *rest) in group] for group in groups]


LEAKS = {
    "the label": lambda _, label, __: label,
    "the label, upside down": lambda _, label, __: -label,
    "more than any wrong one has": lambda _, label, value: value + 2 * label,
    "one value": lambda _, label, value: 0.5 if label else value,
}


@pytest.mark.parametrize(("num_groups", "size"), [(20, 2), (20, 5), (12, 2)])
@pytest.mark.parametrize("leak", LEAKS)
def test_real_leaks_are_found(leak, num_groups, size):
    rng = np.random.default_rng(9)
    for _ in range(20):
        groups = changed_by(rng, drawn(rng, num_groups, size), LEAKS[leak])
        assert [look.leaks for look in leak_check(rows_of(groups))] == [True, False, False, False]


def test_a_leak_in_most_groups_is_found():
    """A bonus of 0.9 for the right candidate, in 18 of 30 groups; elsewhere there is noise."""
    rng = np.random.default_rng(11)
    groups = drawn(rng, 30, 4)
    groups[:18] = changed_by(rng, groups[:18], LEAKS["one value"])
    looks = leak_check(rows_of(groups))
    assert [look.leaks for look in looks] == [True, False, False, False]
    assert looks[0].reasons == ("60.0% of the right candidates have the value 0.5, 0.0% of the wrong ones",)


def test_a_leak_that_is_seen_by_the_auc_only():
    """One of 150 wrong candidates is always above the right one: no group is perfect, 149/150 of the pairs are won."""
    groups = [[(1, (0.99,)), (0, (1.0,)), *[(0, (n / 1000 + at / 7000,)) for at in range(149)]] for n in range(20)]
    (look,) = leak_check(rows_of(groups))
    assert (look.perfect, look.auc) == (0.0, pytest.approx(149 / 150))
    assert look.reasons[0] == "AUC 0.993"


shapes = st.lists(
    st.lists(st.integers(0, 3), min_size=2, max_size=4).flatmap(
        lambda values: st.tuples(st.just(values), st.integers(1, len(values) - 1))
    ),
    min_size=1,
    max_size=3,
)


@given(shapes)
def test_chance_is_a_bound_by_counting_every_draw(shape):
    """Of all ways to draw the right candidates, at most the share ``chance`` gives a ``chance`` as low."""
    draws = [combinations(range(len(values)), rights) for values, rights in shape]
    found = []
    for right in product(*draws):
        groups = [
            [(int(at in chosen), (value,)) for at, value in enumerate(values)]
            for (values, _), chosen in zip(shape, right, strict=True)
        ]
        found.append(leak_check(rows_of(groups))[0].chance)
    for chance in set(found):
        assert sum(other <= chance for other in found) <= chance * len(found) * (1 + 1e-9)


def test_a_value_of_its_own_is_no_sign():
    """In groups of 1,000 different values any candidate has one that 1 of 1,000 has: the right one is in the middle."""
    groups = [[(int(at == 500), (at + n / 7,)) for at in range(1000)] for n in range(3)]
    (look,) = leak_check(rows_of(groups))
    assert (look.chance, look.leaks, look.unproven) == (1.0, False, ())


def test_the_same_content_under_other_ids():
    groups = drawn(np.random.default_rng(2), 6, 3)
    rows = rows_of(groups)
    names = ("a", "b", "c", "d")
    named = [{**row, "features": dict(zip(names, row["features"], strict=True))} for row in rows]
    turned = [
        {**row, "trace_id": "u", "tool": f"x{row['tool']}", "features": dict(reversed(row["features"].items()))}
        for row in reversed(named)
    ]
    turned[0]["label"] = 1 - turned[0]["label"]  # the last group
    assert trained_on(as_samples(named), as_samples(turned)) == [f"t/{number}" for number in range(5)]
    assert trained_on(as_samples(named), as_samples(named)) == []  # under the same ids
    with pytest.raises(InputError, match="missing 'a', 'b', 'c', 'd'; unexpected 'f0'"):
        trained_on(as_samples(rows), as_samples(named))
    with pytest.raises(InputError, match="have no features"):
        trained_on(as_samples([{"trace_id": 1, "node_id": 1, "tool": "a", "label": 1, "score": 1}]), as_samples(rows))
