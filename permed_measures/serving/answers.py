"""What rerankers answer: the ranking that an answer means; and their calls as a file, to be reported on again."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, NamedTuple

from permed_measures.errors import InputError
from permed_measures.files.candidates import DOC_IDS, Candidate
from permed_measures.files.json_text import first_repeated
from permed_measures.files.records import Records
from permed_measures.files.source import Source
from permed_measures.numbers import real
from permed_measures.serving.throughput import LoadKey, LoadPlan
from permed_measures.serving.workers import Call

INDICES = ("index", "corpus_id", "document_index")
_PAIR = 2
Answers = dict[str, dict[str, float] | list[str]]
"""A run as rerankers answer it: scores by document, or documents in order."""


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


@dataclass
class Recorded:
    """All calls of one reranker; a call's place is that of its query, sizes are what lists were cut to."""

    warming: list[Call] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    sizes: dict[int, list[Call]] = field(default_factory=dict)
    loads: dict[LoadKey, tuple[LoadPlan, list[Call]]] = field(default_factory=dict)
    given_up: bool = False


def lines_of(recorded: Mapping[str, Recorded], query_ids: Sequence[str]) -> str:
    """Return the text of the file."""
    lines = []
    for name, kept in recorded.items():
        phases: list[tuple[dict[str, Any], list[Call]]] = [({"phase": "warm-up"}, kept.warming)]
        phases.append(({"phase": "calls", "given_up": kept.given_up}, kept.calls))
        phases += [({"phase": size}, calls) for size, calls in kept.sizes.items()]
        phases += [({"phase": "load", "key": key, **vars(plan)}, calls) for key, (plan, calls) in kept.loads.items()]
        for phase, calls in phases:
            for call in calls:
                record = {"query_id": query_ids[call.place], **call._asdict()}
                if call.answer is not None:
                    record |= call.answer._asdict()
                del record["place"], record["answer"]
                lines.append(json.dumps({"reranker": name, **phase, **record}) + "\n")
    return "".join(lines)


def read_recorded(path: str | PathLike[str], query_ids: Sequence[str]) -> dict[str, Recorded]:
    """Read such a file; a query that is not among the queries is an error."""
    places = {query_id: place for place, query_id in enumerate(query_ids)}
    records = Records(Source(path), "jsonl")
    found: dict[str, Recorded] = {}
    for line, record in records:
        try:
            if record["query_id"] not in places:
                msg = f"the query {record['query_id']!r} is not among the queries that have candidates"
                raise ValueError(msg)  # noqa: TRY301  (one place adds file and line)
            kept = found.setdefault(record["reranker"], Recorded())
            _calls_of(kept, record).append(_call(record, places[record["query_id"]]))
        except (KeyError, TypeError, ValueError) as error:  # noqa: PERF203  (each line has its own message)
            said = f"no {error}, which a call has" if isinstance(error, KeyError) else str(error)
            raise records.error(f"no call that bench-reranker --write-calls wrote: {said}", line) from None
    if not found:
        raise records.source.error("no call in the file")
    return found


def _calls_of(kept: Recorded, record: Mapping[str, Any]) -> list[Call]:
    """Return the list that a call belongs to."""
    phase = record["phase"]
    if phase == "load":
        plan = LoadPlan(**{name: record[name] for name in LoadPlan.__dataclass_fields__})
        key: LoadKey = tuple(record["key"]) if isinstance(record["key"], list) else record["key"]
        return kept.loads.setdefault(key, (plan, []))[1]
    kept.given_up = kept.given_up or record.get("given_up", False)
    return kept.warming if phase == "warm-up" else kept.calls if phase == "calls" else kept.sizes.setdefault(phase, [])


def _call(record: Mapping[str, Any], place: int) -> Call:
    at_s, duration_ms, waited_ms = (float(record[name]) for name in ("at_s", "duration_ms", "waited_ms"))
    failure = None if record["failure"] is None else (str(record["failure"][0]), str(record["failure"][1]))
    answer = Answer(record["ranking"], record["like_places"]) if "ranking" in record else None
    return Call(place, at_s, duration_ms, waited_ms, answer, failure, record["censored"])
