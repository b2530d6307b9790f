"""The calls of rerankers as a file, one JSON object a line: reports are made of it again without calling anyone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from permed_measures.files.records import Records
from permed_measures.files.source import Source
from permed_measures.serving.answers import Answer
from permed_measures.serving.throughput import LoadKey, LoadPlan
from permed_measures.serving.workers import Call

Answers = dict[str, dict[str, float] | list[str]]
"""A run as rerankers answer it: scores by document, or documents in order."""


@dataclass
class Recorded:
    """All calls of one reranker; a call's place is that of its query."""

    warming: list[Call] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    sizes: dict[int, list[Call]] = field(default_factory=dict)
    """By the number of candidates that lists were cut to."""
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
        msg = "no call in the file"
        raise records.source.error(msg)
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
