"""The calls that failed: by type, with what the first one said; and those of which no end was seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

NOT_STARTED = "NotStarted"
NOT_FINISHED = "NotFinished"
NOT_CALLED = "NotCalled"
BAD_ANSWER = "a bad answer"
_LONGEST = 300


class Failed(NamedTuple):
    """One call that failed. ``wait_ms``: how long it was waited for, where no end of it was seen."""

    kind: str
    message: str
    size: int | None = None
    wait_ms: float | None = None


@dataclass(frozen=True)
class Failure:
    """All failures of one type: how many, and what the first one said."""

    kind: str
    count: int
    first_message: str


@dataclass(frozen=True)
class Failures:
    """The calls that failed. They are never counted among the latencies."""

    each: tuple[Failed, ...] = ()

    @cached_property
    def by_kind(self) -> Mapping[str, Failure]:
        """Return them by type."""
        found: dict[str, list[str]] = {}
        for failed in self.each:
            found.setdefault(failed.kind, []).append(failed.message)
        return {kind: Failure(kind, len(said), one_line(said[0])) for kind, said in found.items()}

    @property
    def total(self) -> int:
        """How many calls failed."""
        return len(self.each)

    def plus(self, kind: str, message: str, count: int = 1) -> Failures:
        """Return them with some more; the first message stays."""
        return Failures((*self.each, *[Failed(kind, message)] * count))

    def to_list(self) -> list[dict[str, Any]]:
        """Return one record per type."""
        return [{"type": f.kind, "count": f.count, "first_message": f.first_message} for f in self.by_kind.values()]

    def __str__(self) -> str:
        return "; ".join(f"{f.count} × {f.kind}: {f.first_message}" for f in self.by_kind.values()) or "none"  # noqa: RUF001  (a times sign)


class CallError(Exception):
    """A failure that has a name of its own."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def one_line(message: str) -> str:
    """Make a message fit for a table: one line, no control characters, not endless."""
    line = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in " ".join(message.split()))
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def kind_of(error: BaseException) -> str:
    """Return the name of an exception's type, with its module unless it is Python's own."""
    kind = type(error)
    if isinstance(error, CallError):
        return error.kind
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
