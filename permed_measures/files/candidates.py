"""Queries and candidates, what a reranker is given: JSON Lines, or what people hold in memory."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from permed_measures.errors import InputError
from permed_measures.files.json_text import as_id, first_repeated
from permed_measures.files.records import Records
from permed_measures.files.source import Source

QUERY_ID = "query_id"
TEXTS = ("text", "query")
LISTS = ("candidates", "results", "ranked_results")
DOC_IDS = ("doc_id", "text_id", "id")
_PAIR = 2


@dataclass(frozen=True)
class Candidate:
    """A document to rerank."""

    doc_id: str
    text: str | None = None
    record: Mapping[str, Any] = field(default_factory=dict)
    """All that the file says about it: what a reranker that asks for records is given."""


def as_queries(source: Any) -> dict[str, str]:  # noqa: ANN401  (a path or a mapping, checked here)
    """Return {query_id: text} from a mapping or a file of JSON Lines: ``{"query_id": …, "text": …}``."""
    if isinstance(source, (str, PathLike)):
        return _read(source, _query)
    if not isinstance(source, Mapping):
        shape = type(source).__name__
        raise InputError(f"queries: {shape} is not a shape we know; give {{query_id: text}} or a path")
    for query_id, text in source.items():
        if not isinstance(query_id, str) or not query_id or not isinstance(text, str):
            raise InputError(f"queries: {query_id!r}: {text!r} is not a query id and a text")
    return dict(source)


def as_candidates(source: Any) -> dict[str, list[Candidate]]:  # noqa: ANN401  (a path or a mapping, checked here)
    """Return {query_id: candidates}, in the order without reranking.

    The source is a file of JSON Lines, ``{"query_id": …, "candidates": [{"doc_id": …, "text": …}, …]}``, or a mapping
    from query ids to such lists, to lists of pairs (doc_id, text), or to ``{doc_id: text}``.
    """
    if isinstance(source, (str, PathLike)):
        return _read(source, lambda record: _candidates(record[_key(record, LISTS)]))
    if not isinstance(source, Mapping):
        shape = type(source).__name__
        raise InputError(f"candidates: {shape} is not a shape we know; give {{query_id: [candidate, …]}} or a path")
    made = {}
    for query_id, listed in source.items():
        try:
            made[as_id(query_id, QUERY_ID)] = _candidates(listed.items() if isinstance(listed, Mapping) else listed)
        except (ValueError, TypeError) as error:  # noqa: PERF203  (each query has its own message)
            raise InputError(f"candidates, query {query_id!r}: {error}") from None
    return made


def _read(path: str | PathLike[str], read: Callable[[Mapping[str, Any]], Any]) -> dict[str, Any]:
    records = Records(Source(path), "jsonl")
    found: dict[str, Any] = {}
    for line, record in records:
        try:
            query_id = as_id(record[_key(record, (QUERY_ID,))], QUERY_ID)
            if query_id in found:
                raise ValueError(f"query {query_id!r} occurs in the file before")  # noqa: TRY301  (one place adds the line)
            found[query_id] = read(record)
        except ValueError as error:  # noqa: PERF203  (each line has its own message)
            raise records.error(str(error), line) from None
    if not found:
        raise records.source.error("no query in the file")
    return found


def _query(record: Mapping[str, Any]) -> str:
    text = record[key := _key(record, TEXTS)]
    if not isinstance(text, str):
        raise ValueError(f"{key!r} holds a JSON {type(text).__name__}, not a text")  # noqa: TRY004  (the caller adds the line)
    return text


def _key(record: Mapping[str, Any], keys: Sequence[str]) -> str:
    key = next((key for key in keys if key in record), None)
    if key is None:
        raise ValueError(f"none of the keys {', '.join(map(repr, keys))}; there are {', '.join(map(repr, record))}")
    return key


def _candidates(listed: Any) -> list[Candidate]:  # noqa: ANN401  (checked here)
    if isinstance(listed, (str, bytes)):
        raise ValueError("the candidates are a text, not a list")  # noqa: TRY004  (the caller adds the place)
    made = [_candidate(item) for item in listed]
    again = first_repeated(candidate.doc_id for candidate in made)
    if again is not None:
        raise ValueError(f"document {again!r} occurs twice in the list")
    return made


def _candidate(item: Any) -> Candidate:  # noqa: ANN401  (checked here)
    if isinstance(item, Candidate):
        return item
    if isinstance(item, Mapping):
        doc_id, text, record = as_id(item[_key(item, DOC_IDS)], "document id"), item.get("text"), dict(item)
    elif isinstance(item, Sequence) and not isinstance(item, (str, bytes)) and len(item) == _PAIR:
        doc_id, text = as_id(item[0], "document id"), item[1]
        record = {"doc_id": doc_id, "text": text}
    else:
        raise ValueError(f"{item!r} is not a candidate; one is an object with {DOC_IDS[0]!r} and 'text'")
    if text is not None and not isinstance(text, str):
        raise ValueError(f"document {doc_id!r}: the text is a {type(text).__name__}")
    return Candidate(doc_id, text, record)
