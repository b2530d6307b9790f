"""Request logs: JSON Lines, CSV or parquet with start and duration, or OpenTelemetry spans."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

from permed_measures.errors import InputError, ParamError, did_you_mean
from permed_measures.files.csv_table import csv_rows
from permed_measures.files.json_text import first_repeated, json_lines, loads
from permed_measures.files.parquet import FILE, parquet_rows, quoted
from permed_measures.files.parquet import fits as is_parquet
from permed_measures.files.source import Source
from permed_measures.serving.calls import Recorder
from permed_measures.serving.latency import Latency
from permed_measures.serving.log_fields import NANO, Fields, Request, RequestReader

FORMATS = ("jsonl", "csv", "parquet")


@dataclass(frozen=True)
class RequestLog:
    """The requests of a log."""

    path: Path
    requests: tuple[Request, ...]

    @cached_property
    def latency(self) -> Latency:
        """Latency of the requests that were answered; the others are counted as failures."""
        recorder = Recorder()
        for request in self.requests:
            if request.failure is not None:
                recorder.fail_as(*request.failure)
            elif request.latency_ms is not None:
                recorder.add(request.latency_ms, request.size)
        return Latency.of(recorder.samples_ms, recorder.sizes, failures=recorder.failures)

    @cached_property
    def elapsed_s(self) -> float | None:
        """From the first start to the last end; None where a request has no start."""
        if any(request.start_s is None for request in self.requests):
            return None
        starts = [request.start_s or 0.0 for request in self.requests]
        ends = [s + (r.latency_ms or 0.0) / 1000 for s, r in zip(starts, self.requests, strict=True)]
        return max(ends) - min(starts)

    @property
    def qps(self) -> float | None:
        """Answered requests a second: what was asked of the system, not what it could do."""
        return self.latency.answered / self.elapsed_s if self.elapsed_s else None

    @cached_property
    def tokens_per_request(self) -> float | None:
        """Mean number of tokens of the requests that tell it."""
        known = [request.tokens for request in self.requests if request.tokens is not None]
        return math.fsum(known) / len(known) if known else None

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
    or ``_s``), or a start and an end; optionally a start (``start``, ``timestamp``, …: seconds since 1970, another unit
    by suffix, or ISO 8601), the number of ``candidates``, of ``tokens``, and an ``error`` or a ``status``.
    OpenTelemetry spans have ``start_time_unix_nano`` and ``end_time_unix_nano`` (or camel case, flat or within
    ``resourceSpans``); where they have several names, ``span`` says which to read. Requests that failed are counted
    and have no latency.
    """
    source = Source(path)
    kind = _format(source, format)
    rows = {"jsonl": _json_rows, "csv": _csv_rows, "parquet": _parquet_rows}[kind](source)
    reader = RequestReader(fields or Fields())
    requests = []
    names: Counter[str] = Counter()
    for place, row in rows:
        try:
            for record in _spans(row):
                if _is_span(record):
                    names[str(record.get("name"))] += 1
                    if span is not None and record.get("name") != span:
                        continue
                requests.append(reader.read(record))
        except ValueError as error:
            line = place if kind != "parquet" else None
            message = str(error) if line is not None else f"row {place}: {error}"
            raise InputError(message, path=source.path, line=line) from None
    if span is None and len(names) > 1:
        several = ", ".join(f"{name!r} ({count})" for name, count in names.most_common())
        raise source.error(f"spans of several names; a span may hold others, so choose one: {several}")
    if not requests:
        found = f"; there are spans named {', '.join(map(repr, names))}" if names else ""
        what = "no request in the log" if span is None else f"no span named {span!r} in the log"
        raise source.error(what + found)
    return RequestLog(source.path, tuple(requests))


def _format(source: Source, name: str | None) -> str:
    if name is not None:
        if name not in FORMATS:
            raise ParamError(f"unknown log format {name!r}.{did_you_mean(name, FORMATS)}")
        return name
    if is_parquet(source.head(4)):
        return "parquet"
    return "jsonl" if source.head().lstrip()[:1] in (b"{", b"[") else "csv"


def _json_rows(source: Source) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """One object a line; or one JSON text over all lines: an object, or a list of objects."""
    start = source.head().lstrip()
    if start[:1] == b"[" or start.partition(b"\n")[0].strip() == b"{":
        return _whole_text(source)
    return json_lines(source, _object)


def _whole_text(source: Source) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        found = loads(source.text())
        for number, record in enumerate(found if isinstance(found, list) else [found], 1):
            yield number, _object(record)
    except ValueError as error:
        raise source.error(str(error)) from None


def _object(record: Any) -> Mapping[str, Any]:  # noqa: ANN401  (checked here)
    if not isinstance(record, dict):
        msg = f"a JSON {type(record).__name__}, a request is an object"
        raise ValueError(msg)  # noqa: TRY004  (the caller adds file and line)
    return record


def _csv_rows(source: Source) -> Iterator[tuple[int, Mapping[str, Any]]]:
    names, rows = csv_rows(source)
    heads = [name.strip() for name in names]
    again = first_repeated(heads)
    if again is not None:
        raise source.error(f"the column {again!r} occurs twice", 1)
    for number, row in rows:
        yield number, {head: cell.strip() for head, cell in zip(heads, row, strict=True)}


def _parquet_rows(source: Source) -> Iterator[tuple[int, Mapping[str, Any]]]:
    names: list[str] = []

    def wanted(connection: Any, path: str) -> list[str]:  # noqa: ANN401  (DuckDB's)
        columns = connection.execute(f"DESCRIBE FROM {FILE}", [path]).fetchall()
        names.extend(name for name, *_ in columns)
        return [_column(name, str(kind)) for name, kind, *_ in columns]

    for number, row in parquet_rows(source, wanted):
        yield number, dict(zip(names, row, strict=True))


def _column(name: str, kind: str) -> str:
    # times as seconds: DuckDB needs one more package, pytz, to hand out a time with a zone
    return f"epoch_us({quoted(name)}) / 1e6" if kind.startswith("TIMESTAMP") else quoted(name)


def _spans(row: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """OTLP wraps spans in resources and scopes."""
    resources = row.get("resourceSpans", row.get("resource_spans"))
    if not isinstance(resources, list):
        yield row
        return
    for resource in resources:
        for scope in _list(resource, "scopeSpans", "scope_spans"):
            for span in _list(scope, "spans"):
                yield _object(span)


def _list(record: Any, *keys: str) -> list[Any]:  # noqa: ANN401  (checked here)
    found: Any = next((_object(record)[key] for key in keys if key in _object(record)), [])
    if not isinstance(found, list):
        msg = f"{keys[0]!r} is not a list"
        raise ValueError(msg)  # noqa: TRY004  (the caller adds file and line)
    return found


def _is_span(record: Mapping[str, Any]) -> bool:
    return any(start in record for start, _ in NANO)
