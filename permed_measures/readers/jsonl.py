"""PerMed's JSON Lines: one query a line, ``relevant_texts`` or ``ranked_results``; list order is the ranking."""

from __future__ import annotations

import json
from typing import Any

from permed_measures.readers.json_text import as_grade, as_id, loads
from permed_measures.readers.source import Source, shown

NAME = "jsonl"
DESCRIPTION = (
    'PerMed\'s JSON Lines: {"query_id", "relevant_texts": […]} or {"query_id", "ranked_results" | "results": […]}'
)
SUFFIXES = (".jsonl", ".ndjson")
QUERY = "query_id"
TEXT = "text_id"
JUDGED = ("relevant_texts",)
RETURNED = ("ranked_results", "results")
GRADES = ("grade", "relevance", "rel")


def fits(head: bytes) -> bool:
    """Whether the first line is a JSON object with the keys of one query."""
    start = next((line for line in head.split(b"\n") if line.strip()), b"").lstrip()
    # a line may be longer than the head: look for the keys, the reader does the parsing
    return start.startswith(b"{") and any(f'"{key}"'.encode() in start for key in (*JUDGED, *RETURNED))


def read(source: Source, what: str) -> dict[str, Any]:
    """Return {query_id: {text_id: grade}} for qrels, {query_id: [text_id, …]} for a run."""
    keys = JUDGED if what == "qrels" else RETURNED
    groups: dict[str, Any] = {}
    for first, block in source.blocks():
        for number, line in enumerate(source.decode(block, first).split("\n"), first):
            if not line.strip():
                continue
            try:
                query_id, texts = _query(line, keys)
                if query_id in groups:
                    msg = f"query {query_id!r} stands in the file twice"
                    raise ValueError(msg)
                groups[query_id] = _judged(texts) if what == "qrels" else _returned(texts)
            except ValueError as error:
                raise source.error(f"{error}: {shown(line)}", number) from None
    return groups


def _query(line: str, keys: tuple[str, ...]) -> tuple[str, Any]:
    record = loads(line)
    if not isinstance(record, dict):
        msg = f"a JSON {type(record).__name__}, a line is an object with {QUERY!r} and {keys[0]!r}"
        raise ValueError(msg)  # noqa: TRY004  (the caller adds file and line)
    key = next((key for key in keys if key in record), None)
    if QUERY not in record or key is None:
        missing = repr(QUERY) if QUERY not in record else " nor ".join(map(repr, keys))
        msg = f"no key {missing}; the line has {', '.join(map(repr, record)) or 'no keys'}"
        raise ValueError(msg)
    return as_id(record[QUERY], QUERY), record[key]


def _judged(texts: Any) -> dict[str, float]:  # noqa: ANN401  (checked here)
    if isinstance(texts, dict):
        return {as_id(text_id, TEXT): as_grade(grade, text_id) for text_id, grade in texts.items()}
    grades: dict[str, float] = {}
    for text in _list(texts, JUDGED[0]):
        grade: float = 1
        text_id = as_id(text[TEXT] if isinstance(text, dict) and TEXT in text else text, TEXT)
        if isinstance(text, dict):
            key = next((key for key in GRADES if key in text), None)
            if key is None:
                msg = f"text {text_id!r} has none of the keys {', '.join(map(repr, GRADES))}"
                raise ValueError(msg)
            grade = as_grade(text[key], text_id)
        if text_id in grades:
            msg = f"text {text_id!r} stands twice in {JUDGED[0]!r}"
            raise ValueError(msg)
        grades[text_id] = grade
    return grades


def _returned(texts: Any) -> list[str]:  # noqa: ANN401  (checked here)
    ids = [
        as_id(text[TEXT] if isinstance(text, dict) and TEXT in text else text, TEXT)
        for text in _list(texts, "ranked_results")
    ]
    if len(set(ids)) != len(ids):
        again = next(text_id for place, text_id in enumerate(ids) if text_id in ids[:place])
        msg = f"text {again!r} stands twice in the list; a document is returned once"
        raise ValueError(msg)
    return ids


def _list(texts: Any, key: str) -> list[Any]:  # noqa: ANN401  (checked here)
    if not isinstance(texts, list):
        msg = f"{key!r} holds a JSON {type(texts).__name__}, not a list"
        raise ValueError(msg)  # noqa: TRY004  (the caller adds file and line)
    return texts


def write(groups: Any, what: str) -> bytes:  # noqa: ANN401  (qrels or a run)
    """Return the file: grades as {text_id: grade}, ranked results in their order."""
    lines = []
    for query_id, group in groups.items():
        if what == "qrels":
            record = {QUERY: query_id, JUDGED[0]: group}
        elif isinstance(group, dict):
            record = {QUERY: query_id, RETURNED[0]: [{TEXT: d, "score": score} for d, score in group.items()]}
        else:
            record = {QUERY: query_id, RETURNED[0]: [{TEXT: doc_id} for doc_id in group]}
        lines.append(json.dumps(record, ensure_ascii=False) + "\n")
    return "".join(lines).encode()
