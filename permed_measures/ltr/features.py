"""The features of the learning-to-rank document, for tools (one agent) and for graphs of agents.

An embedding is a function from text to a vector, given by the caller. No feature reads a candidate's id: the document's
own cooperation feature returned 0.9 for ids that contain ``ground_truth``, which is the label.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from permed_measures.errors import InputError, ParamError

Embed = Callable[[str], Sequence[float]]
Tree = Mapping[str, Any]
"""A graph of agents: its ``nodes`` and ``edges`` are lists; the content of a node does not matter here."""

UNKNOWN = 0.5
"""The reliability of what nobody has seen yet."""
_SIMPLE_QUERY = 5


def relevance(query: str, text: str, embed: Embed) -> float:
    """Return the cosine of the two embeddings, mapped from [-1, 1] to [0, 1]; 0.5 where one of them is zero.

    >>> vectors = {"sum numbers": [1.0, 0.0], "calculator": [1.0, 0.0], "mailer": [0.0, 2.0], "none": [0.0, 0.0]}
    >>> [relevance("sum numbers", text, vectors.__getitem__) for text in ("calculator", "mailer", "none")]
    [1.0, 0.5, 0.5]
    """
    return (_cosine(_vector(embed, query), _vector(embed, text)) + 1) / 2


def _vector(embed: Embed, text: str) -> list[float]:
    vector = [float(number) for number in embed(text)]
    if not vector or not all(map(math.isfinite, vector)):
        found = "no numbers" if not vector else "a number that is not finite"
        raise InputError(f"the embedding of {text[:40]!r} holds {found}")
    return vector


def _cosine(a: list[float], b: list[float]) -> float:
    if len(a) != len(b):
        raise InputError(f"embeddings of {len(a)} and {len(b)} numbers cannot be compared")
    length = math.hypot(*a) * math.hypot(*b)
    if length == 0:
        return 0.0
    # rounding can take the cosine of a vector with itself past 1
    return max(-1.0, min(1.0, math.fsum(x * y for x, y in zip(a, b, strict=True)) / length))


def reliability(name: str, known: Mapping[str, float], default: float = UNKNOWN) -> float:
    """Return how reliable a tool, or a type of graph, has been; ``default`` where it is unknown.

    ``known`` comes from past use. Computed from the samples that are evaluated, it would know their labels.

    >>> reliability("search", {"search": 0.8}), reliability("mailer", {"search": 0.8})
    (0.8, 0.5)
    """
    value = known.get(name, default)
    if not math.isfinite(value):
        raise ParamError(f"the reliability of {name!r} is {value!r}; give a finite number")
    return float(value)


def name_match(query: str, tool_name: str) -> float:
    """Return 1.0 where the query names the tool, 0.7 where it holds a word of the tool's name, else 0.3.

    The words of a name are separated by ``_``. Capitals do not matter; the document folds the query's only, and lets
    the empty word of ``_search`` match everything.

    >>> [name_match("use web_search now", "web_search"), name_match("search the news", "web_search")]
    [1.0, 0.7]
    >>> [name_match("send a letter", "web_search"), name_match("send a letter", "_")]
    [0.3, 0.3]
    """
    text, name = query.casefold(), tool_name.casefold()
    words = [word for word in name.split("_") if word]
    if words and name in text:
        return 1.0
    return 0.7 if any(word in text for word in words) else 0.3


def structure(relevance_value: float) -> float:
    """Return the square root of the relevance plus 0.1: a rising function of the relevance, up to 1.0488.

    >>> structure(0.8), round(structure(0.15), 12)         # √0.9 and √0.25
    (0.9486832980505138, 0.5)
    """
    return math.sqrt(relevance_value + 0.1)


def tool_features(
    query: str, tool_name: str, tool_text: str, *, embed: Embed, known: Mapping[str, float]
) -> list[float]:
    """Return [φ_rel, φ_hist, φ_coop, φ_struct] of a tool.

    >>> vectors = {"search news": [1.0, 0.0], "searches the web": [1.0, 0.0]}
    >>> tool_features("search news", "web_search", "searches the web", embed=vectors.get, known={"web_search": 0.9})
    [1.0, 0.9, 0.7, 1.0488088481701516]
    """
    rel = relevance(query, tool_text, embed)
    return [rel, reliability(tool_name, known), name_match(query, tool_name), structure(rel)]


def semantic_alignment(query: str, tree: Tree, embed: Embed, to_text: Callable[[Tree], str]) -> float:
    """Return the relevance of a graph, as text, to the query.

    >>> vectors = {"plan": [1.0, 1.0], "planner, writer": [1.0, 1.0]}
    >>> graph = {"nodes": ["planner", "writer"], "edges": [(0, 1)]}
    >>> round(semantic_alignment("plan", graph, vectors.__getitem__, lambda tree: ", ".join(tree["nodes"])), 12)
    1.0
    """
    return relevance(query, to_text(tree), embed)


def size_fit(query: str, tree: Tree) -> float:
    """Return how well the size of a graph suits the length of the query, in [0.2, 1].

    A query of fewer than 5 words asks for a small graph, a longer one for a large graph. The document returns 0.9 here
    when the candidate's id contains ``ground_truth``; this function does not know the id.

    >>> size_fit("short query", {"nodes": []})             # 1 / (1 + log 1) · 0.8 + 0.2
    1.0
    >>> size_fit("a query of six whole words", {"nodes": []})
    0.2
    """
    grown = math.log1p(_count(tree, "nodes"))
    size = 1 / (1 + grown) if len(query.split()) < _SIMPLE_QUERY else min(1.0, grown / 5)
    return size * 0.8 + 0.2


def balance(tree: Tree) -> float:
    """Return edges per node, at most 1; 0 for a graph without nodes.

    >>> balance({"nodes": [1, 2, 3, 4], "edges": [(1, 2), (2, 3)]}), balance({"nodes": [], "edges": [(1, 2)]})
    (0.5, 0.0)
    """
    nodes = _count(tree, "nodes")
    return min(1.0, _count(tree, "edges") / nodes) if nodes else 0.0


def uniqueness(tree: Tree, others: Sequence[Tree]) -> float:
    """Return how far the size of a graph is from the mean size of the other candidates; 0.5 when there are none.

    >>> uniqueness({"nodes": [1, 2, 3]}, [{"nodes": [1]}, {"nodes": [1, 2, 3]}])     # |3 - 2| / 2 / 2
    0.25
    """
    if not others:
        return 0.5
    mean = math.fsum(_count(other, "nodes") for other in others) / len(others)
    return min(1.0, abs(_count(tree, "nodes") - mean) / max(mean, 1) / 2)


def graph_structure(tree: Tree, others: Sequence[Tree]) -> float:
    """Return 0.6 · balance + 0.4 · uniqueness.

    >>> graph_structure({"nodes": [1, 2], "edges": [(1, 2)]}, [])                    # 0.6 · 0.5 + 0.4 · 0.5
    0.5
    """
    return balance(tree) * 0.6 + uniqueness(tree, others) * 0.4


def graph_features(  # noqa: PLR0913  (what the four features need)
    query: str,
    tree: Tree,
    others: Sequence[Tree],
    candidate_type: str,
    *,
    embed: Embed,
    to_text: Callable[[Tree], str],
    known: Mapping[str, float],
) -> list[float]:
    """Return [φ_rel, φ_hist, φ_coop, φ_struct] of a graph; ``others`` are the other candidates of the group.

    >>> graph = {"nodes": ["plan", "write"], "edges": [(0, 1)]}
    >>> values = graph_features("write it", graph, [], "chain", embed=lambda text: [1.0], to_text=str, known={})
    >>> [round(value, 6) for value in values]              # 0.8 / (1 + log 3) + 0.2 is 0.581204
    [1.0, 0.5, 0.581204, 0.5]
    """
    return [
        semantic_alignment(query, tree, embed, to_text),
        reliability(candidate_type, known),
        size_fit(query, tree),
        graph_structure(tree, others),
    ]


def _count(tree: Tree, key: str) -> int:
    items = tree.get(key) or []
    if not hasattr(items, "__len__"):
        raise InputError(f"a graph's {key!r} is a list, not a {type(items).__name__}")
    return len(items)
