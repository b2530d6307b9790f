"""The calls of rerankers as a file, one JSON object a line: reports are made of it again without calling anyone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from permed_measures.files.records import Records
from permed_measures.files.source import Source
from permed_measures.serving.candidates import Answer
from permed_measures.serving.throughput import LoadKey, LoadPlan
from permed_measures.serving.workers import Call

_WARM_UP, _CALLS, _LOAD = "warm-up", "calls", "load"
_KEYS = ("at_s", "duration_ms", "waited_ms", "failure", "censored")


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
        phases: list[tuple[dict[str, Any], list[Call]]] = [({"phase": _WARM_UP}, kept.warming)]
        phases.append(({"phase": _CALLS} | ({"given_up": True} if kept.given_up else {}), kept.calls))
        phases += [({"phase": size}, calls) for size, calls in kept.sizes.items()]
        for key, (plan, calls) in kept.loads.items():
            of = {"threads": plan.threads, "duration_s": plan.duration_s, "arrival_rate": plan.arrival_rate}
            several = not isinstance(key, int)
            phases.append(({"phase": _LOAD, "load": of | {"arrivals": plan.arrivals, "one_of_many": several}}, calls))
        for phase, calls in phases:
            lines += [json.dumps({"reranker": name} | phase | _record(call, query_ids)) for call in calls]
    return "".join(f"{line}\n" for line in lines)


def _record(call: Call, query_ids: Sequence[str]) -> dict[str, Any]:
    record: dict[str, Any] = {"query_id": query_ids[call.place]}
    record |= {key: found for key in _KEYS if (found := getattr(call, key)) or key in ("at_s", "duration_ms")}
    if call.answer is not None:
        record |= {"answer": call.answer.ranking} | ({"like_places": True} if call.answer.like_places else {})
    return record


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
            _add(found.setdefault(record["reranker"], Recorded()), record, _call(record, places))
        except (KeyError, TypeError, ValueError) as error:  # noqa: PERF203  (each line has its own message)
            said = f"no {error}, which a call has" if isinstance(error, KeyError) else str(error)
            raise records.error(f"no call that bench-reranker --write-calls wrote: {said}", line) from None
    if not found:
        msg = "no call in the file"
        raise records.source.error(msg)
    return found


def _call(record: Mapping[str, Any], places: Mapping[str, int]) -> Call:
    failure = record.get("failure")
    answer = record.get("answer")
    return Call(
        places[record["query_id"]],
        float(record["at_s"]),
        float(record["duration_ms"]),
        float(record.get("waited_ms", 0.0)),
        None if answer is None else Answer(answer, bool(record.get("like_places"))),
        None if failure is None else (str(failure[0]), str(failure[1])),
        bool(record.get("censored")),
    )


def _add(kept: Recorded, record: Mapping[str, Any], call: Call) -> None:
    phase = record["phase"]
    if phase == _LOAD:
        of = dict(record["load"])
        several = of.pop("one_of_many")
        plan = LoadPlan(**of)
        key: LoadKey = (plan.threads, plan.arrival_rate or 0.0) if several else plan.threads
        kept.loads.setdefault(key, (plan, []))[1].append(call)
    elif phase in (_WARM_UP, _CALLS):
        (kept.warming if phase == _WARM_UP else kept.calls).append(call)
        kept.given_up = kept.given_up or bool(record.get("given_up"))
    else:
        kept.sizes.setdefault(int(phase), []).append(call)
