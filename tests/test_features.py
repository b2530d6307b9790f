"""The feature functions against the document's own code; none of them reads an id."""

from __future__ import annotations

import inspect
import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from permed_measures import InputError, ParamError
from permed_measures.ltr import features

vectors = st.lists(st.floats(-10, 10), min_size=3, max_size=3)


@given(vectors, vectors)
def test_relevance_is_the_cosine_in_0_to_1(a, b):
    value = features.relevance("q", "t", {"q": a, "t": b}.__getitem__)
    assert 0 <= value <= 1
    length = np.linalg.norm(a) * np.linalg.norm(b)
    if length > 1e-6:
        assert value == pytest.approx((np.dot(a, b) / length + 1) / 2, abs=1e-9)


def test_the_cosine_of_scikit_learn():
    pairwise = pytest.importorskip("sklearn.metrics.pairwise", reason="scikit-learn is for tests")
    for a, b in [([1.0, 2.0], [3.0, -1.0]), ([0.0, 0.0], [1.0, 1.0]), ([-1.0, 0.0], [2.0, 0.0])]:
        expected = (pairwise.cosine_similarity([a], [b])[0, 0] + 1) / 2
        assert features.relevance("q", "t", {"q": a, "t": b}.get) == pytest.approx(expected)


def test_numpy_embeddings():
    assert features.relevance("q", "t", lambda _: np.array([1, 2], dtype=np.float32)) == pytest.approx(1.0)


@pytest.mark.parametrize("vector", [[], [float("nan"), 1.0], [1.0]])
def test_a_wrong_embedding_is_an_input_error(vector):
    with pytest.raises(InputError):
        features.relevance("q", "t", {"q": [1.0, 1.0], "t": vector}.__getitem__)


@pytest.mark.parametrize(
    ("query", "tool", "expected"),
    [
        ("Use Web_Search please", "web_search", 1.0),
        ("a search please", "web_search", 0.7),
        ("a Search please", "Web_Search", 0.7),  # the document folds the query only, and finds no "Search" in it
        ("nothing", "web_search", 0.3),
        ("nothing", "_x_", 0.3),  # the document's empty word is in every query
        ("nothing", "", 0.3),
    ],
)
def test_name_match(query, tool, expected):
    assert features.name_match(query, tool) == expected


def phi_coop(query, num_nodes):
    """Return the document's cooperation feature for a candidate that is not the right one."""
    query_complexity = len(query.split())
    if query_complexity < 5:  # noqa: SIM108  (as the document writes it)
        size_score = 1.0 / (1.0 + math.log1p(num_nodes))
    else:
        size_score = min(1.0, math.log1p(num_nodes) / 5.0)
    return size_score * 0.8 + 0.2


def phi_struct(num_nodes, num_edges, sizes):
    """Return the document's structure feature."""
    depth = num_edges / max(num_nodes, 1) if num_nodes > 0 else 0
    balance_score = min(1.0, depth)
    if sizes:
        avg_size = sum(sizes) / len(sizes)
        uniqueness = abs(num_nodes - avg_size) / max(avg_size, 1)
        uniqueness_score = min(1.0, uniqueness / 2.0)
    else:
        uniqueness_score = 0.5
    return balance_score * 0.6 + uniqueness_score * 0.4


def tree(nodes, edges=0):
    return {"nodes": [None] * nodes, "edges": [None] * edges}


@given(st.integers(0, 300), st.integers(0, 300), st.lists(st.integers(0, 50), max_size=4), st.integers(0, 8))
def test_graph_features_are_those_of_the_document(nodes, edges, sizes, words):
    query = " ".join(["word"] * words)
    graph = tree(nodes, edges)
    assert features.size_fit(query, graph) == pytest.approx(phi_coop(query, nodes))
    found = features.graph_structure(graph, [tree(size) for size in sizes])
    assert found == pytest.approx(phi_struct(nodes, edges, sizes))
    assert 0 <= found <= 1


def test_all_four_of_a_graph():
    values = features.graph_features(
        "one two three four five",
        tree(3, 3),
        [tree(1)],
        "chain",
        embed={"one two three four five": [1.0, 0.0], "3 agents": [0.0, 1.0]}.__getitem__,
        to_text=lambda graph: f"{len(graph['nodes'])} agents",
        known={"chain": 0.25},
    )
    # a right angle; reliability; log(4)/5 · 0.8 + 0.2; 0.6 · 3/3 + 0.4 · min(1, |3 - 1| / 1 / 2)
    assert values == pytest.approx([0.5, 0.25, math.log(4) / 5 * 0.8 + 0.2, 0.6 + 0.4])


def test_a_graph_without_nodes_or_edges():
    assert features.balance({}) == 0
    with pytest.raises(InputError, match="'nodes' is a list, not a int"):
        features.balance({"nodes": 3})


def test_reliability_is_a_finite_number():
    with pytest.raises(ParamError, match="finite"):
        features.reliability("a", {"a": float("nan")})


def test_no_feature_takes_an_id():
    functions = [f for _, f in inspect.getmembers(features, inspect.isfunction) if f.__module__ == features.__name__]
    public = [f for f in functions if not f.__name__.startswith("_")]
    assert len(public) == 11
    for function in public:
        assert not [name for name in inspect.signature(function).parameters if name.endswith("_id")], function
        assert ">>>" in function.__doc__
