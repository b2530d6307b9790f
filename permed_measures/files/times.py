"""Times, durations and numbers as logs write them, with the unit that a field's name ends in; none is guessed."""

import math
import re
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from typing import Any

UNITS_MS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}  # milliseconds in one unit
DOCUMENTED_UNITS = {"request_time": "s"}
"""Fields that a server writes by itself, with the unit of its manual (nginx, ngx_http_log_module)."""
_NGINX_TIME = "%d/%b/%Y:%H:%M:%S %z"
_LATEST_S = 1e11  # seconds since 1970 beyond which a number cannot be seconds: the year 5138
_SUFFIX = re.compile(r"_(ns|us|ms|s)$")


def nano_times(start: Any, end: Any) -> tuple[float, float]:  # noqa: ANN401  (int, or int as text, as OTLP writes it)
    """Return the start in seconds, and the duration in milliseconds."""
    try:
        if "_" in f"{start}{end}":  # 1_0 is 10 to Python
            raise ValueError  # noqa: TRY301  (one message)
        start_ns, end_ns = int(start), int(end)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"start {start!r} and end {end!r} are not whole nanoseconds") from None
    if not max(abs(start_ns), abs(end_ns)) < _LATEST_S * 1e9:
        raise ValueError(f"start {start!r:.40} and end {end!r:.40} cannot be nanoseconds since 1970")
    # subtracted as integers: a float has no room for the nanoseconds of a date
    return start_ns / 1e9, duration_ms(end_ns - start_ns, "end - start", "ns") or 0.0


def duration_ms(value: Any, name: str, unit: str | None) -> float | None:  # noqa: ANN401  (checked here)
    """Return a duration, None where there is none; ValueError tells what is wrong, here and below."""
    if isinstance(value, timedelta):  # an interval of parquet has its unit
        value, unit = value.total_seconds(), "s"
    if unit is None:
        raise ValueError(f"the unit of {name!r} is not known; name it {name}_ms (or _s, _us, _ns), or give the unit")
    number = number_of(value, name)
    if number is not None and not 0 <= number < math.inf:
        raise ValueError(f"{name} is {number:g}; a duration is a finite number >= 0")
    return None if number is None else number * UNITS_MS[unit]


def number_of(value: Any, name: str) -> float | None:  # noqa: ANN401  (checked here)
    """Return a number, or a text that is one; None where there is nothing."""
    if type(value) is float:  # the usual case
        return value
    if value is None or value == "":
        return None
    try:
        if not isinstance(value, bool) and not (isinstance(value, str) and "_" in value):
            return float(value)
    except OverflowError:
        raise ValueError(f"{name} is a number of more than 308 digits") from None
    except (TypeError, ValueError):
        pass
    raise ValueError(f"{name} is {value!r}, not a number")


def seconds(value: Any, name: str, unit: str | None) -> float | None:  # noqa: ANN401  (checked here)
    """Return seconds since 1970, from a number or an ISO 8601 time; one without a zone is taken as UTC."""
    if isinstance(value, str) and not re.fullmatch(r"[-+.\deE]*", value):
        # Python 3.10 knows neither Z nor more than six digits of a second
        plain = re.sub(r"(\.\d{6})\d+", r"\1", re.sub(r"[zZ]$", "+00:00", value))
        with suppress(ValueError):
            moment = datetime.fromisoformat(re.sub(r"\.(\d{1,5})(?=\D|$)", lambda m: f".{m[1]:<06}", plain))
            return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).timestamp()
        with suppress(ValueError):
            return datetime.strptime(value, _NGINX_TIME).timestamp()  # noqa: DTZ007  (the format has %z)
        raise ValueError(f"{name} is {value!r}, neither a number nor an ISO 8601 time")
    number = number_of(value, name)
    found = None if number is None else number * UNITS_MS[unit or unit_of(name) or "s"] / 1000
    if found is not None and not abs(found) < _LATEST_S:
        raise ValueError(f"{name} is {number:g}, which cannot be seconds since 1970; give its unit: ns, us or ms")
    return found


def _snake(key: str) -> str:
    return key if key.islower() else re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).lower()


def unit_of(key: str) -> str | None:
    """Return the unit that the name of a field tells."""
    match = _SUFFIX.search(_snake(key))
    return match[1] if match else DOCUMENTED_UNITS.get(key)


def without_unit(key: str) -> str:
    """Return the name of a field in snake case, and without the unit it ends in."""
    return _SUFFIX.sub("", _snake(key))
