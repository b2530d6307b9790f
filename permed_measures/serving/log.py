"""Request logs: JSON, CSV or parquet with start and duration, OpenTelemetry spans, or as a file describes them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

from permed_measures.files.records import Records
from permed_measures.files.source import Source, shown
from permed_measures.serving.calls import Failed, Failures
from permed_measures.serving.latency import Latency
from permed_measures.serving.log_fields import NANO, Fields, Request, RequestReader, find

_OTLP = ("resourceSpans.scopeSpans.spans", "resource_spans.scope_spans.spans")
_NO_NAME = re.compile(r'^\d|[\[\]"]')
"""What a log line of text has, and no name of a column."""
_AS_JSON = "let the server write one JSON object a line (nginx: log_format … escape=json)"


@dataclass(frozen=True)
class RequestLog:
    """The requests of a log."""

    path: Path
    requests: tuple[Request, ...]

    @cached_property
    def latency(self) -> Latency:
        """Latency of the requests that were answered; the others are counted as failures."""
        good = [(request.latency_ms or 0.0, request.size) for request in self.requests if request.failure is None]
        failed = tuple(Failed(*request.failure, request.size) for request in self.requests if request.failure)
        return Latency.of((ms for ms, _ in good), (size for _, size in good), failures=Failures(failed))

    @cached_property
    def span_s(self) -> tuple[float, float] | None:
        """The first start and the last end; None where a request has no start."""
        starts = [request.start_s for request in self.requests if request.start_s is not None]
        if len(starts) < len(self.requests):
            return None
        return min(starts), max(s + (r.latency_ms or 0.0) / 1000 for s, r in zip(starts, self.requests, strict=True))

    @property
    def elapsed_s(self) -> float | None:
        """From the first start to the last end; None where a request has no start."""
        return None if self.span_s is None else self.span_s[1] - self.span_s[0]

    @property
    def qps(self) -> float | None:
        """Answered requests a second: what was asked of the system, not what it could do."""
        return self.latency.answered / self.elapsed_s if self.elapsed_s else None

    @property
    def tokens(self) -> list[float]:
        """The tokens of the requests that tell them."""
        return [request.tokens for request in self.requests if request.tokens is not None]

    @property
    def tokens_per_request(self) -> float | None:
        """Mean number of tokens of the requests that tell it."""
        return math.fsum(self.tokens) / len(self.tokens) if self.tokens else None

    @property
    def notes(self) -> list[str]:
        """What the numbers rest on."""
        if self.elapsed_s is None:
            return ["no queries per second: not every request has a start and a duration"]
        return ["queries per second is what was asked of the system, from the first start to the last end"]


def read_log(
    path: str | PathLike[str],
    *,
    format: str | None = None,  # noqa: A002  (the natural word)
    fields: Fields | None = None,
    span: str | None = None,
) -> RequestLog:
    """Read a request log.

    A request has a duration (``duration_ms``, ``latency_ms``, ``elapsed_s``, …; the unit is ``_ns``, ``_us``, ``_ms``
    or ``_s``; nginx's ``request_time``), or a start and an end; optionally a start (``start``, ``timestamp``, …:
    seconds since 1970, another unit by suffix, or ISO 8601), the number of ``candidates``, of ``tokens``, and an
    ``error`` or a ``status``. OpenTelemetry spans are read as OTLP writes them (``resourceSpans``, in camel or snake
    case, or one span alone) and as the SDK's ``to_json`` does, one a line or over several lines; where they have
    several names, ``span`` says which to read. For other logs, :meth:`Fields.of_file` says which fields to read.
    Requests that failed are counted and have no latency.
    """
    source = Source(path)
    chosen = fields or Fields()
    records = Records(source, format or chosen.format)
    first = source.head().partition(b"\n")[0].decode(errors="replace")
    if records.form == "csv" and _NO_NAME.search(first):
        raise source.error(f"no CSV with a header, nor JSON, nor parquet: {shown(first)}; {_AS_JSON}", 1)
    reader = RequestReader(chosen)
    requests = []
    names: Counter[str] = Counter()
    for place, row in records:
        try:
            for record in _inside(row, chosen.records):
                if any(str(find(record, name)) != value for name, value in chosen.where.items()):
                    continue
                name = find(record, chosen.name) if chosen.name else record.get("name") if _is_span(record) else None
                if name is not None:
                    names[str(name)] += 1
                if span is None or name == span:
                    requests.append(reader.read(record))
        except ValueError as error:
            raise records.error(str(error), place) from None
    if span is None and len(names) > 1:
        several = ", ".join(f"{name!r} ({count})" for name, count in names.most_common())
        raise source.error(f"spans of several names; a span may hold others, so choose one: {several}")
    if not requests:
        found = f"; there are spans named {', '.join(map(repr, names))}" if names else ", nor any other span"
        raise source.error("no request in the log" if span is None else f"no span named {span!r} in the log{found}")
    return RequestLog(source.path, tuple(requests))


def _inside(row: Mapping[str, Any], path: str | None) -> Iterator[Mapping[str, Any]]:
    """Yield the records within what a file holds: OTLP wraps spans in resources and scopes, Jaeger in traces."""
    wrapped = path or next((known for known in _OTLP if isinstance(row.get(known.partition(".")[0]), list)), None)
    found: list[Any] = [row]
    for part in wrapped.split(".") if wrapped else ():
        lists = [record.get(part, []) if isinstance(record, dict) else None for record in found]
        if not all(isinstance(listed, list) for listed in lists):
            raise ValueError(f"{part!r} is not a list")
        found = [record for listed in lists for record in listed or ()]
    for record in found:
        if not isinstance(record, dict):
            raise ValueError(f"a JSON {type(record).__name__}, a request is an object")  # noqa: TRY004  (as above)
        yield record


def _is_span(record: Mapping[str, Any]) -> bool:
    is_otlp = any(start in record for start, _ in NANO)
    return is_otlp or ("name" in record and isinstance(record.get("context"), dict) and "end_time" in record)
