"""What a reranker is given, and what it answers: queries, candidates, and the ranking that an answer means."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, NamedTuple

from permed_measures.errors import InputError
from permed_measures.files.json_text import as_id, first_repeated
from permed_measures.files.records import Records
from permed_measures.files.source import Source
from permed_measures.numbers import real

QUERY_ID = "query_id"
TEXTS = ("text", "query")
LISTS = ("candidates", "results", "ranked_results")
DOC_IDS = ("doc_id", "text_id", "id")
INDICES = ("index", "corpus_id", "document_index")
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
        msg = "no query in the file"
        raise records.source.error(msg)
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
        msg = "the candidates are a text, not a list"
        raise ValueError(msg)  # noqa: TRY004  (the caller adds the place)
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


def read_answer(
    answer: Any,  # noqa: ANN401  (checked here)
    candidates: Sequence[Candidate],
) -> dict[str, float] | list[str]:
    """Return what an answer means: scores by document, or documents in order.

    An answer is one of: a score for each candidate, in the order in which they were given (a list, numpy array or
    tensor: plain numbers are always scores, never places); ``{doc_id: score}``; or the documents best first, as ids, as
    (index, score) pairs, or as records with an index (``index``, ``corpus_id``) or an id, alone or under ``results``.
    Documents may be left out. Anything else is an InputError.
    """
    if isinstance(answer, Mapping) and isinstance(answer.get("results"), Sequence):  # rerank services over HTTP
        answer = answer["results"]
    elif hasattr(answer, "results"):  # and their client libraries
        answer = answer.results
    if hasattr(answer, "tolist"):
        answer = answer.tolist()
    ids = [candidate.doc_id for candidate in candidates]
    if isinstance(answer, Mapping):
        _check_ids(list(answer), ids)
        return {doc_id: _score(score, doc_id) for doc_id, score in answer.items()}
    if not isinstance(answer, Sequence) or isinstance(answer, (str, bytes)):
        raise InputError(f"the answer is a {type(answer).__name__}; a list of scores or of documents is expected")
    if all(_is_number(item) for item in answer) and (answer or not ids):
        if len(answer) != len(ids):
            raise InputError(f"{len(answer)} scores for {len(ids)} candidates; one for each is expected")
        return {doc_id: _score(score, doc_id) for doc_id, score in zip(ids, answer, strict=True)}
    ordered = [_doc_id(item, ids) for item in answer]
    _check_ids(ordered, ids)
    return ordered


class Answer(NamedTuple):
    """What one answer means, and whether its numbers may be places rather than scores."""

    ranking: dict[str, float] | list[str]
    like_places: bool = False


def looks_like_places(answer: Any) -> bool:  # noqa: ANN401  (any answer)
    """Whether an answer holds the whole numbers 0 to n - 1, each once: places rather than scores."""
    listed = answer.tolist() if hasattr(answer, "tolist") else answer
    if not isinstance(listed, Sequence) or len(listed) < _PAIR or not all(type(item) is int for item in listed):
        return False
    return sorted(listed) == list(range(len(listed)))


def _is_number(item: Any) -> bool:  # noqa: ANN401  (that is the question)
    return not isinstance(item, (str, bytes, bool)) and hasattr(item, "__float__")


def _score(score: Any, doc_id: str) -> float:  # noqa: ANN401  (checked here)
    try:
        found = real(score) if _is_number(score) else None
    except (ValueError, OverflowError):
        found = None
    if found is None or math.isnan(found):
        shown = "beyond 1.8e308" if isinstance(score, int) else repr(score)
        why = f"the score {shown} is not a number" if found is None else "the score is NaN"
        raise InputError(f"document {doc_id!r}: {why}")
    return found


def _doc_id(item: Any, ids: Sequence[str]) -> Any:  # noqa: ANN401  (checked by the caller)
    if isinstance(item, str):
        return item
    if isinstance(item, Candidate):
        return item.doc_id
    if isinstance(item, Mapping):
        key = next((key for key in (*INDICES, *DOC_IDS) if key in item), None)
        found = None if key is None else item[key]
        return _at(found, ids) if key in INDICES else found
    for name in INDICES:  # an object of a client library
        if hasattr(item, name) and not isinstance(item, Sequence):
            return _at(getattr(item, name), ids)
    if isinstance(item, Sequence) and len(item) == _PAIR:
        return item[0] if isinstance(item[0], str) else _at(item[0], ids)
    raise InputError(f"{item!r} in the answer is neither a score nor a document")


def _at(place: Any, ids: Sequence[str]) -> str:  # noqa: ANN401  (checked here)
    if isinstance(place, bool) or not hasattr(place, "__index__") or not 0 <= int(place) < len(ids):
        raise InputError(f"the index {place!r} is not one of 0 to {len(ids) - 1}")
    return ids[int(place)]


def _check_ids(given: Sequence[Any], ids: Sequence[str]) -> None:
    known = set(ids)
    for doc_id in given:
        if doc_id not in known:
            raise InputError(f"the answer holds {doc_id!r}, which is no candidate of this query")
    again = first_repeated(given)
    if again is not None:
        raise InputError(f"the answer holds {again!r} twice")
