"""PerMed's JSON Lines: one query a line, ``relevant_texts`` or ``ranked_results``; list order is the ranking."""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from permed_measures.files.json_text import as_grade, as_id, as_object, as_score, first_repeated, json_lines, kind
from permed_measures.files.rows import KEEP_ONE, kept_of
from permed_measures.files.source import Source

NAME = "jsonl"
DESCRIPTION = (
    'PerMed\'s JSON Lines: {"query_id", "relevant_texts": […]} or {"query_id", "ranked_results" | "results": […]}'
)
SUFFIXES = (".jsonl", ".ndjson")
ROWS = False

_QUERY = "query_id"
_TEXT = "text_id"
_JUDGED = ("relevant_texts",)
_RETURNED = ("ranked_results", "results")
_GRADES = ("grade", "relevance", "rel")


def fits(head: bytes) -> bool:
    """Whether the first line is a JSON object with the keys of one query."""
    start = next((line for line in head.split(b"\n") if line.strip()), b"").lstrip()
    # a line may be longer than the head: only its keys are looked for, parsing is the reader's work
    has_key = [f'"{key}"'.encode() in start for key in (*_JUDGED, *_RETURNED)]
    return start.startswith(b"{") and f'"{_QUERY}"'.encode() in start and any(has_key)


def what_is(source: Source) -> str | None:
    """Return whether the first line has judged or returned texts."""
    start = source.head().lstrip().partition(b"\n")[0]
    return "qrels" if any(f'"{key}"'.encode() in start for key in _JUDGED) else "run"


def read(source: Source, what: str) -> dict[str, Any]:
    """Return {query_id: {text_id: grade}} for qrels, {query_id: [text_id, …]} for a run."""
    groups: dict[str, Any] = {}
    for number, (query_id, group) in json_lines(source, partial(_query, what=what, source=source)):
        if query_id in groups:
            raise source.error(f"query {query_id!r} occurs in the file before; a query has one line", number)
        groups[query_id] = group
    return groups


def _query(record: Any, what: str, source: Source) -> tuple[str, Any]:  # noqa: ANN401  (checked here)
    keys = _JUDGED if what == "qrels" else _RETURNED
    record = as_object(record, f"a line is an object with {_QUERY!r} and {keys[0]!r}")
    key = next((key for key in keys if key in record), None)
    if _QUERY not in record or key is None:
        missing = repr(_QUERY) if _QUERY not in record else " nor ".join(map(repr, keys))
        raise ValueError(f"no key {missing}; the line has {', '.join(map(repr, record)) or 'no keys'}")
    query_id, texts = as_id(record[_QUERY], _QUERY), record[key]
    if isinstance(texts, dict) and what == "qrels":
        return query_id, {as_id(text_id, _TEXT): as_grade(grade, text_id) for text_id, grade in texts.items()}
    if not isinstance(texts, list):
        msg = f"{key!r} holds a JSON {kind(texts)}, not a list"
        raise ValueError(msg)  # noqa: TRY004  (the caller adds file and line to a ValueError)
    text_ids = [as_id(text[_TEXT] if isinstance(text, dict) and _TEXT in text else text, _TEXT) for text in texts]
    keep = kept_of(source.duplicates)
    source.dropped += len(text_ids) - len(set(text_ids))
    if keep is None and len(set(text_ids)) != len(text_ids):
        raise ValueError(f"text {first_repeated(text_ids)!r} occurs twice in {key!r}; {KEEP_ONE}")
    if what == "run":
        for text_id, text in zip(text_ids, texts, strict=True):
            if isinstance(text, dict) and text.get("score") is not None:
                as_score(text["score"], text_id)  # not read: the order of the list is the ranking; but it must be sound
        return query_id, list(dict.fromkeys(text_ids))
    grades: dict[str, float] = {}
    for text_id, text in zip(text_ids, texts, strict=True):
        grade = _grade(text, text_id)
        grades[text_id] = grade if keep is None else keep(grades.get(text_id, grade), grade)
    return query_id, grades


def _grade(text: Any, text_id: str) -> int | float:  # noqa: ANN401  (an id, or an object with a grade)
    if not isinstance(text, dict):
        return 1
    key = next((key for key in _GRADES if key in text), None)
    if key is None:
        raise ValueError(f"text {text_id!r} has none of the keys {', '.join(map(repr, _GRADES))}")
    return as_grade(text[key], text_id)


def write(groups: Mapping[str, Any], what: str) -> bytes:
    """Return the file: grades as {text_id: grade}; results in their order, with their scores where there are any."""
    lines = []
    for query_id, group in groups.items():
        results: Any = group
        if what == "run" and isinstance(group, Mapping):
            results = [{_TEXT: doc_id, "score": score} for doc_id, score in group.items()]
        elif what == "run":
            results = [{_TEXT: doc_id} for doc_id in group]
        key = _JUDGED[0] if what == "qrels" else _RETURNED[0]
        lines.append(json.dumps({_QUERY: query_id, key: results}, ensure_ascii=False) + "\n")
    return "".join(lines).encode()
