"""Request logs: JSON, CSV or parquet with start and duration, OpenTelemetry spans, or as a file describes them."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from permed_measures.errors import InputError, ParamError, did_you_mean
from permed_measures.files.records import Records
from permed_measures.files.source import Source, shown
from permed_measures.files.times import UNITS_MS, duration_ms, nano_times, number_of, seconds, unit_of, without_unit
from permed_measures.profiles import read_toml
from permed_measures.serving.calls import Failed, Failures
from permed_measures.serving.latency import Latency

DURATIONS = ("duration", "latency", "elapsed", "response_time", "request_time")
STARTS = ("start", "start_time", "started_at", "timestamp", "@timestamp", "time", "ts")
ENDS = ("end", "end_time", "ended_at", "finished_at", "time_iso8601", "msec", "time_local")
"""The last three are nginx's, which writes its log when a request is over."""
SIZES = ("candidates", "num_candidates", "documents", "num_documents")
TOKENS = ("tokens", "total_tokens", "num_tokens")
ERRORS = ("error", "exception", "error_type")
STATUSES = ("status", "status_code", "http_status")
NANO = ("start_time_unix_nano", "end_time_unix_nano"), ("startTimeUnixNano", "endTimeUnixNano")
_NO_ERROR = {"", "0", "false", "none", "null", "nan", "ok", "[]", "{}"}
_BAD_STATUS = {"error", "failed", "failure", "timeout", "status_code_error"}
_MAY_FAIL = frozenset((*ERRORS, *STATUSES, "success", "ok"))
_OTEL_ERROR = "2"
_BAD_NUMBER = re.compile(r"[4-9]\d\d(\.0*)?$|[1-9]\d{3}")
_MOST = 2**53
_OTLP = ("resourceSpans.scopeSpans.spans", "resource_spans.scope_spans.spans")
_NO_NAME = re.compile(r'^\d|[\[\]"]')
_AS_JSON = "let the server write one JSON object a line (nginx: log_format … escape=json)"


class Request(NamedTuple):
    """One line of a log. ``latency_ms`` is None only where the request failed; ``failure`` is type and message."""

    latency_ms: float | None
    start_s: float | None = None
    size: int | None = None
    tokens: float | None = None
    failure: tuple[str, str] | None = None


@dataclass(frozen=True)
class Fields:
    """Which fields of a log to read, where their names do not tell: a log format is data.

    A field within an object is written with dots (``data.tags.status``); a list of ``{"key": …, "value": …}`` is an
    object too. ``records`` says where the requests are within what the file holds, ``where`` which of them to read,
    ``name`` what ``span`` is compared with; ``failure_ok`` are values of ``failure`` that are none (``?``, ``*``).
    """

    duration: str | None = None
    duration_unit: str | None = None
    start: str | None = None
    start_unit: str | None = None
    size: str | None = None
    end: str | None = None
    end_unit: str | None = None
    tokens: str | None = None
    name: str | None = None
    failure: str | None = None
    failure_ok: Sequence[str] = ()
    records: str | None = None
    where: Mapping[str, Any] = field(default_factory=dict)
    format: str | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            kind = dict if name == "where" else (list, tuple) if name == "failure_ok" else str
            if value is not None and not isinstance(value, kind):
                raise ParamError(f"{name}={value!r} is not allowed; another type is expected")
            if value is not None and name.endswith("_unit") and value not in UNITS_MS:
                raise ParamError(f"{name}={value!r} is not allowed.{did_you_mean(str(value), UNITS_MS)}")

    @classmethod
    def of_file(cls, path: str | Path) -> "Fields":
        """Read a log format: TOML, each field as ``duration = { field = "data.value", unit = "ms" }``."""
        given: dict[str, Any] = {}
        for key, found in read_toml(path, "log format").items():
            parts = found if isinstance(found, dict) and key != "where" else {"field": found}
            given |= {key if part == "field" else f"{key}_{part}": value for part, value in parts.items()}
        known = [known.name for known in fields(cls)]
        wrong = next((key for key in given if key not in known), None)
        if wrong is not None:
            raise InputError(f"no key {wrong!r}.{did_you_mean(wrong, known)}", path=path)
        if not {"duration", "end"} & set(given):
            msg = 'a log format needs duration = { field = "…", unit = "ms" }, or a start and an end'
            raise InputError(msg, path=path)
        try:
            return cls(**given)
        except ParamError as error:
            raise InputError(str(error), path=path) from error


def find(record: Mapping[str, Any], path: str) -> Any:  # noqa: ANN401  (whatever is there)
    """Return what is at a path such as ``a.tags.status``, or None."""
    if path in record:
        return record[path]
    at: Any = record
    for part in path.split("."):
        named = _attributes(at) if isinstance(at, list) else at
        at = named.get(part) if isinstance(named, Mapping) else None
    return at


class RequestReader:
    """Reads one request; which fields to read is decided once per set of field names."""

    def __init__(self, chosen: Fields) -> None:
        self._chosen = chosen
        self._plans: dict[tuple[str | bool, ...], _Plan] = {}

    def read(self, record: Mapping[str, Any]) -> Request:
        """Read it; ValueError tells what is wrong."""
        flat = {**_attributes(record["attributes"]), **record} if "attributes" in record else record
        failure = self._failure(flat)
        try:
            keys: tuple[str | bool, ...] = (*record, failure is None)
            if keys not in self._plans:
                self._plans[keys] = self._plan(list(record), needs_duration=failure is None)
            start_s, latency_ms = self._plans[keys].times(record)
        except ValueError:
            if failure is None:
                raise
            start_s = latency_ms = None
        if latency_ms is None and failure is None:
            raise ValueError("the request has no duration, and did not fail")
        size = _number_in(flat, [self._chosen.size] if self._chosen.size else SIZES, "a number of candidates")
        tokens = _number_in(flat, [self._chosen.tokens] if self._chosen.tokens else TOKENS)
        return Request(latency_ms, start_s, None if size is None else int(size), tokens, failure)

    def _failure(self, flat: Mapping[str, Any]) -> tuple[str, str] | None:
        name = self._chosen.failure
        if name is None:
            return None if _MAY_FAIL.isdisjoint(flat) else _failure(flat)
        found = find(flat, name)
        if not self._chosen.failure_ok:
            return _failure({"error": found}) or _failure({"status": found})
        shown = str(found).lower() if isinstance(found, bool) else str(found)
        is_ok = any(fnmatchcase(shown, str(pattern)) for pattern in self._chosen.failure_ok)
        return None if is_ok else (f"{name} {shown}",) * 2

    def _plan(self, keys: Sequence[str], *, needs_duration: bool) -> "_Plan":
        chosen, there = self._chosen, f"there are {', '.join(map(repr, keys))}"
        for name in (chosen.duration, chosen.start, chosen.end):
            if name is not None and name not in keys and name.partition(".")[0] not in keys:
                raise ValueError(f"no field {name!r}; {there}")
        for start, end in NANO if chosen.duration is None and chosen.end is None else ():
            if start in keys and end in keys:
                return _Plan(start=start, end=end, nano=True)
        named = [key for key in keys if without_unit(key) in DURATIONS]
        if len(named) > 1 and chosen.duration is None:
            raise ValueError(f"several durations: {', '.join(map(repr, named))}; say which one to read")
        duration = chosen.duration or next(iter(named), None)
        start_key, end_key = chosen.start or _timed_key(keys, STARTS), chosen.end or _timed_key(keys, ENDS)
        if needs_duration and duration is None and (start_key is None or end_key is None):
            raise ValueError(
                f"no duration: give a field such as duration_ms or latency_s, or a start and an end; {there}"
            )
        unit = chosen.duration_unit or (None if duration is None else unit_of(duration))
        return _Plan(duration, unit, start_key, chosen.start_unit, end_key, chosen.end_unit or chosen.start_unit)


class _Plan(NamedTuple):
    """Which fields of a record tell its times."""

    duration: str | None = None
    unit: str | None = None
    start: str | None = None
    start_unit: str | None = None
    end: str | None = None
    end_unit: str | None = None
    nano: bool = False

    def times(self, record: Mapping[str, Any]) -> tuple[float | None, float | None]:
        """Return the start in seconds since 1970, and the duration in milliseconds."""
        if self.nano:
            return nano_times(record[self.start or ""], record[self.end or ""])
        start_s = None if self.start is None else seconds(find(record, self.start), self.start, self.start_unit)
        latency_ms = None
        if self.duration is not None:
            latency_ms = duration_ms(find(record, self.duration), self.duration, self.unit)
        if self.end is not None and (start_s is None or self.duration is None):
            end_s = seconds(find(record, self.end), self.end, self.end_unit)
            if self.duration is None and None not in (start_s, end_s):
                latency_ms = duration_ms((end_s or 0.0) - (start_s or 0.0), f"{self.end} - {self.start}", "s")
            elif end_s is not None and latency_ms is not None:
                start_s = end_s - latency_ms / 1000
        return start_s, latency_ms


def _timed_key(keys: Sequence[str], known: Sequence[str]) -> str | None:
    return next((key for name in known for key in keys if without_unit(key) == name), None)


def _attributes(attributes: Any) -> dict[str, Any]:  # noqa: ANN401  (checked here)
    """OTLP writes [{"key": …, "value": {"intValue": …}}], Jaeger the value without its type; others an object."""
    if isinstance(attributes, Mapping):
        return dict(attributes)
    pairs = attributes if isinstance(attributes, list) else []
    found = {str(pair.get("key")): pair.get("value") for pair in pairs if isinstance(pair, Mapping)}
    return {key: next(iter(v.values()), None) if isinstance(v, Mapping) else v for key, v in found.items()}


def _failure(record: Mapping[str, Any]) -> tuple[str, str] | None:
    for key in ERRORS:
        found = record.get(key)
        if found is None or str(found).strip().lower() in _NO_ERROR:
            continue
        if isinstance(found, Mapping):
            return str(found.get("type", key)), str(found.get("message", dict(found)))
        kind, colon, message = str(found).partition(":")
        is_type = colon and re.fullmatch(r"[\w.]+", kind)
        return (kind, message.strip()) if is_type else (key, str(found))
    for key in STATUSES:
        found, message = record.get(key), ""
        if isinstance(found, Mapping):  # OpenTelemetry: {"code": 2, "message": "…"}
            message = str(found.get("message", found.get("description", "")))
            found = found.get("code", found.get("status_code"))
            is_bad = str(found) == _OTEL_ERROR or str(found).lower() in _BAD_STATUS
        else:
            is_bad = bool(_BAD_NUMBER.match(str(found))) or str(found).lower() in _BAD_STATUS
        if is_bad:
            return f"{key} {found}", message or f"{key} {found}"
    if str(record.get("success", record.get("ok", True))).lower() in ("false", "0"):
        return "failed", "the log says that the request did not succeed"
    return None


def _number_in(record: Mapping[str, Any], names: Sequence[str], what: str = "") -> float | None:
    key, found = next(((name, found) for name in names if (found := find(record, name)) is not None), ("", None))
    number = float(len(found)) if isinstance(found, list) and what else number_of(found, key)
    if number is not None and not 0 <= number < math.inf:
        raise ValueError(f"{key} is {number:g}; a finite number >= 0 is expected")
    if what and number is not None and not (number.is_integer() and number <= _MOST):
        raise ValueError(f"{key} is {number:g}; {what} is whole, and at most {_MOST:,}")
    return number


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
    """Read a request log; requests that failed are counted and have no latency.

    A request has a duration (``duration_ms``, ``latency_s``, …, nginx's ``request_time``), or a start and an end;
    optionally ``start``, ``candidates``, ``tokens``, ``error`` or ``status``. OpenTelemetry spans are read as OTLP and
    as the SDK's ``to_json`` write them; where they have several names, ``span`` says which to read. For other logs,
    :meth:`Fields.of_file` says which fields to read.
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
