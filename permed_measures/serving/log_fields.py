"""One request of a log: which fields tell its start, its duration, its size, and whether it failed."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from permed_measures.errors import ParamError, did_you_mean

UNITS_MS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}
"""Milliseconds in one unit."""

DURATIONS = ("duration", "latency", "elapsed", "response_time")
STARTS = ("start", "start_time", "started_at", "timestamp", "@timestamp", "time", "ts")
ENDS = ("end", "end_time", "ended_at", "finished_at")
SIZES = ("candidates", "num_candidates", "documents", "num_documents")
TOKENS = ("tokens", "total_tokens", "num_tokens")
ERRORS = ("error", "exception", "error_type")
STATUSES = ("status", "status_code", "http_status")
NANO = ("start_time_unix_nano", "end_time_unix_nano"), ("startTimeUnixNano", "endTimeUnixNano")
_NO_ERROR = {"", "0", "false", "none", "null", "nan", "ok"}
_BAD_STATUS = {"error", "failed", "failure", "timeout", "status_code_error"}
_MAY_FAIL = frozenset((*ERRORS, *STATUSES, "success", "ok"))
_OTEL_ERROR = 2
_HTTP_ERROR = 400
_MOST = 2**53
_LATEST_S = 1e11
"""Seconds since 1970 beyond which a number cannot be seconds: the year 5138."""


@dataclass(frozen=True)
class Request:
    """One line of a log. ``latency_ms`` is None only where the request failed."""

    latency_ms: float | None
    start_s: float | None = None
    size: int | None = None
    tokens: float | None = None
    failure: tuple[str, str] | None = None
    """Type and message."""


@dataclass(frozen=True)
class Fields:
    """Which fields of a log to read, where their names do not tell."""

    duration: str | None = None
    duration_unit: str | None = None
    start: str | None = None
    start_unit: str | None = None
    size: str | None = None

    def __post_init__(self) -> None:
        for name, unit in (("duration_unit", self.duration_unit), ("start_unit", self.start_unit)):
            if unit is not None and unit not in UNITS_MS:
                raise ParamError(f"{name}={unit!r} is not allowed.{did_you_mean(unit, UNITS_MS)}")


class RequestReader:
    """Reads one request; which fields to read is decided once per set of field names."""

    def __init__(self, fields: Fields) -> None:
        self._fields = fields
        self._times: dict[tuple[str, ...], Callable[[Mapping[str, Any]], tuple[float | None, float | None]]] = {}

    def read(self, record: Mapping[str, Any]) -> Request:
        """Read it; ValueError tells what is wrong."""
        flat = {**_attributes(record["attributes"]), **record} if "attributes" in record else record
        failure = None if _MAY_FAIL.isdisjoint(flat) else _failure(flat)
        try:
            keys = tuple(record)
            if keys not in self._times:
                self._times[keys] = self._time_reader(keys)
            start_s, latency_ms = self._times[keys](record)
        except ValueError:
            if failure is None:
                raise
            start_s = latency_ms = None
        if latency_ms is None and failure is None:
            msg = "the request has no duration, and did not fail"
            raise ValueError(msg)
        size = _whole_number(flat, (self._fields.size,) if self._fields.size else SIZES)
        return Request(latency_ms, start_s, size, _number_in(flat, TOKENS), failure)

    def _time_reader(self, keys: Sequence[str]) -> Callable[[Mapping[str, Any]], tuple[float | None, float | None]]:
        for start, end in NANO:
            if start in keys and end in keys:
                return lambda record: _nano_times(record[start], record[end])
        duration = self._duration(keys)
        start_key = self._fields.start or _timed_key(keys, STARTS)
        end_key = _timed_key(keys, ENDS)
        if self._fields.start is not None and self._fields.start not in keys:
            msg = f"no field {self._fields.start!r}; there are {', '.join(map(repr, keys))}"
            raise ValueError(msg)
        start_unit = self._fields.start_unit
        if duration is not None:
            name, factor = duration

            def by_duration(record: Mapping[str, Any]) -> tuple[float | None, float | None]:
                start_s = None if start_key is None else _seconds(record[start_key], start_key, start_unit)
                return start_s, _duration_ms(record[name], name, factor)

            return by_duration
        if start_key is None or end_key is None:
            msg = (
                f"no duration: give a field such as duration_ms or latency_s, or a start and an end; there are "
                f"{', '.join(map(repr, keys))}"
            )
            raise ValueError(msg)

        def by_end(record: Mapping[str, Any]) -> tuple[float | None, float | None]:
            start_s = _seconds(record[start_key], start_key, start_unit)
            end_s = _seconds(record[end_key], end_key, start_unit)
            if start_s is None or end_s is None:
                return start_s, None
            return start_s, _duration_ms(end_s - start_s, f"{end_key} - {start_key}", UNITS_MS["s"])

        return by_end

    def _duration(self, keys: Sequence[str]) -> tuple[str, float] | None:
        """Return the field of the duration and the milliseconds in its unit."""
        chosen = self._fields.duration
        if chosen is not None and chosen not in keys:
            msg = f"no field {chosen!r}; there are {', '.join(map(repr, keys))}"
            raise ValueError(msg)
        found = [chosen] if chosen else [key for key in keys if _without_unit(key) in DURATIONS]
        if len(found) > 1:
            msg = f"several durations: {', '.join(map(repr, found))}; say which one to read"
            raise ValueError(msg)
        if not found:
            return None
        unit = self._fields.duration_unit or _unit(found[0])
        if unit is None:
            msg = f"the unit of {found[0]!r} is not known; name it {found[0]}_ms (or _s, _us, _ns), or give the unit"
            raise ValueError(msg)
        return found[0], UNITS_MS[unit]


_SUFFIX = re.compile(r"_(ns|us|ms|s)$")


def _unit(key: str) -> str | None:
    match = _SUFFIX.search(key)
    return match and match[1]


def _without_unit(key: str) -> str:
    return _SUFFIX.sub("", key)


def _timed_key(keys: Sequence[str], known: Sequence[str]) -> str | None:
    return next((key for name in known for key in keys if _without_unit(key) == name), None)


def _nano_times(start: Any, end: Any) -> tuple[float, float]:  # noqa: ANN401  (int, or int as text, as OTLP writes it)
    msg = f"start {start!r} and end {end!r} are not whole nanoseconds"
    if "_" in msg:  # 1_0 is 10 to Python
        raise ValueError(msg)
    try:
        start_ns, end_ns = int(start), int(end)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(msg) from None
    if not max(abs(start_ns), abs(end_ns)) < _LATEST_S * 1e9:
        msg = f"start {start!r:.40} and end {end!r:.40} cannot be nanoseconds since 1970"
        raise ValueError(msg)
    # subtracted as integers: a float has no room for the nanoseconds of a date
    return start_ns / 1e9, _duration_ms(end_ns - start_ns, "end - start", UNITS_MS["ns"]) or 0.0


def _duration_ms(value: Any, name: str, factor: float) -> float | None:  # noqa: ANN401  (checked here)
    number = _number(value, name)
    if number is None:
        return None
    if not 0 <= number < math.inf:
        msg = f"{name} is {number:g}; a duration is a finite number >= 0"
        raise ValueError(msg)
    return number * factor


def _number(value: Any, name: str) -> float | None:  # noqa: ANN401  (checked here)
    if type(value) is float:  # the usual case
        return value
    if value is None or value == "":
        return None
    if isinstance(value, str) and "_" not in value:
        try:
            return float(value)
        except ValueError:
            pass
    elif not isinstance(value, (bool, str)) and hasattr(value, "__float__"):
        try:
            return float(value)
        except OverflowError:
            msg = f"{name} is a number of more than 308 digits"
            raise ValueError(msg) from None
    msg = f"{name} is {value!r}, not a number"
    raise ValueError(msg)


def _seconds(value: Any, name: str, unit: str | None) -> float | None:  # noqa: ANN401  (checked here)
    """Return seconds since 1970, from a number or an ISO 8601 time; one without a zone is taken as UTC."""
    if isinstance(value, str) and not re.fullmatch(r"[-+.\deE]*", value):
        # Python 3.10 knows neither Z nor more than six digits of a second
        plain = re.sub(r"(\.\d{6})\d+", r"\1", re.sub(r"[zZ]$", "+00:00", value))
        try:
            moment = datetime.fromisoformat(re.sub(r"\.(\d{1,5})(?=\D|$)", lambda m: f".{m[1]:<06}", plain))
        except ValueError:
            msg = f"{name} is {value!r}, neither a number nor an ISO 8601 time"
            raise ValueError(msg) from None
        return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).timestamp()
    number = _number(value, name)
    if number is None:
        return None
    seconds = number * UNITS_MS[unit or _unit(name) or "s"] / 1000
    if not abs(seconds) < _LATEST_S:
        msg = f"{name} is {number:g}, which cannot be seconds since 1970; give its unit: ns, us or ms"
        raise ValueError(msg)
    return seconds


def _attributes(attributes: Any) -> dict[str, Any]:  # noqa: ANN401  (checked here)
    """OTLP writes attributes as [{"key": …, "value": {"intValue": …}}]; others as an object."""
    if isinstance(attributes, Mapping):
        return dict(attributes)
    flat = {}
    for attribute in attributes if isinstance(attributes, list) else []:
        if isinstance(attribute, Mapping) and isinstance(attribute.get("value"), Mapping):
            flat[str(attribute.get("key"))] = next(iter(attribute["value"].values()), None)
    return flat


def _failure(record: Mapping[str, Any]) -> tuple[str, str] | None:
    for key in ERRORS:
        found = record.get(key)
        if isinstance(found, Mapping):
            return str(found.get("type", key)), str(found.get("message", dict(found)))
        if found is not None and str(found).strip().lower() not in _NO_ERROR:
            kind, colon, message = str(found).partition(":")
            is_type = colon and re.fullmatch(r"[\w.]+", kind)
            return (kind, message.strip()) if is_type else (key, str(found))
    for key in STATUSES:
        found = record.get(key)
        if found is None:
            continue
        message = ""
        if isinstance(found, Mapping):  # OpenTelemetry: {"code": 2, "message": "…"}
            message = str(found.get("message", found.get("description", "")))
            found = found.get("code", found.get("status_code"))
            is_bad = str(found) == str(_OTEL_ERROR) or str(found).lower() in _BAD_STATUS
        else:
            is_bad = _is_bad_status(found)
        if is_bad:
            return f"{key} {found}", message or f"{key} {found}"
    if str(record.get("success", record.get("ok", True))).lower() in ("false", "0"):
        return "failed", "the log says that the request did not succeed"
    return None


def _is_bad_status(status: Any) -> bool:  # noqa: ANN401  (a number or a word)
    try:
        return float(status) >= _HTTP_ERROR
    except OverflowError:
        return True
    except (TypeError, ValueError):
        return str(status).lower() in _BAD_STATUS


def _number_in(record: Mapping[str, Any], keys: Sequence[str]) -> float | None:
    key = next((key for key in keys if key in record), None)
    number = None if key is None else _number(record[key], key)
    if number is not None and not 0 <= number < math.inf:
        msg = f"{key} is {number:g}; a finite number >= 0 is expected"
        raise ValueError(msg)
    return number


def _whole_number(record: Mapping[str, Any], keys: Sequence[str]) -> int | None:
    key = next((key for key in keys if key in record), None)
    if key is not None and isinstance(record[key], list):
        return len(record[key])
    number = _number_in(record, keys)
    if number is not None and not number.is_integer():
        msg = f"{key} is {number:g}; a number of candidates is whole"
        raise ValueError(msg)
    if number is not None and number > _MOST:
        msg = f"{key} is {number:g}; a number of candidates is at most {_MOST:,}"
        raise ValueError(msg)
    return None if number is None else int(number)
