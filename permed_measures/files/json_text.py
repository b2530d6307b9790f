"""JSON, strictly: a key that occurs twice is an error; ids are strings or whole numbers."""

import json
import math
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, TypeVar

from permed_measures.files.source import Source, shown
from permed_measures.numbers import canonical

T = TypeVar("T")

_SHOWN = 60
_LONG_NUMBER = re.compile(r"\d{4300}")
SAVED = re.compile(rb'\s*\{\s*"permed_measures"\s*:\s*"values"')  # how saved values start: see values.py
_SPACE = re.compile(r"[ \t\n\r]*")
decode_at = json.JSONDecoder().raw_decode  # returns what is at a place of a text, and the place after it


class JSONSyntaxError(ValueError):
    """Text that is not JSON; ``line`` is the line within the text."""

    def __init__(self, message: str, line: int = 1) -> None:
        super().__init__(message)
        self.line = line


class RepeatedKeyError(ValueError):
    """An object in which ``key`` occurs twice."""

    def __init__(self, key: str) -> None:
        super().__init__(f"the key {key!r} occurs twice in one JSON object")
        self.key = key


def loads(text: str) -> Any:  # noqa: ANN401  (whatever the text holds)
    """Read JSON text; ValueError tells what is wrong."""
    try:
        return STRICT.decode(text)
    except (ValueError, RecursionError) as error:
        raise fault(error, text) from None


def fault(error: Exception, text: str, at: int = 0) -> RepeatedKeyError | JSONSyntaxError:
    """Return what is wrong with a text, in which the JSON from a place on could not be read."""
    if isinstance(error, RepeatedKeyError):
        return error
    if isinstance(error, json.JSONDecodeError):
        return JSONSyntaxError(f"not JSON ({error.msg}, column {error.colno})", error.lineno)
    if isinstance(error, RecursionError):
        return JSONSyntaxError("JSON nested too deeply", line_at(text, at))
    found = _LONG_NUMBER.search(text, at)  # Python reads no whole number that is longer
    return JSONSyntaxError("a number of more than 4,300 digits", line_at(text, found.start() if found else at))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise RepeatedKeyError(first_repeated(key for key, _ in pairs))
    return made


STRICT = json.JSONDecoder(object_pairs_hook=_object)  # made once: json.loads makes one for every text


def json_lines(source: Source, read: Callable[[Any], T]) -> Iterator[tuple[int, T]]:
    """Yield the number of each line that is not blank, and what ``read`` makes of its JSON.

    A ValueError of ``read`` becomes an error that names the line.
    """
    for number, line in source.lines():
        try:
            found = read(loads(line))
        except ValueError as error:
            raise source.error(f"{error}: {shown(line)}", number) from None
        yield number, found


def members(text: str, at: int = 0) -> Iterator[tuple[str, int, int]]:
    """Yield the keys of the object that starts at a place, where each is, and where its value starts.

    For messages: json says nothing of places. Where the text is no JSON any more, nothing follows.

    >>> list(members('{"a": 1, "b": [2]}'))
    [('a', 1, 6), ('b', 9, 14)]
    """
    at = _next(text, at)
    if text[at : at + 1] != "{":
        return
    at = _next(text, at + 1)
    with suppress(ValueError, RecursionError):
        while text[at : at + 1] not in ("}", ""):
            key, end = decode_at(text, at)
            value = _next(text, _next(text, end) + 1)
            yield key, at, value
            _, end = decode_at(text, value)
            at = _next(text, end)
            at = _next(text, at + 1) if text[at : at + 1] == "," else at


def items(text: str, at: int = 0) -> Iterator[int]:
    """Yield where the items of the list that starts at a place start; as :func:`members`, for messages.

    >>> list(items("[1, {}, [2]]"))
    [1, 4, 8]
    """
    at = _next(text, at)
    with suppress(ValueError, RecursionError):
        while text[at : at + 1] in ("[", ",") and text[_next(text, at + 1)] != "]":
            at = _next(text, at + 1)
            yield at
            at = _next(text, decode_at(text, at)[1])


def _next(text: str, at: int) -> int:
    """Return the place of the next character that is not white space."""
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


def line_at(text: str, place: int) -> int:
    """Return the number of the line of a place."""
    return text.count("\n", 0, place) + 1


def first_repeated(values: Any) -> Any:  # noqa: ANN401  (an iterable of hashable values, and one of them)
    """Return the first value that was there before."""
    seen = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None


def kind(value: Any) -> str:  # noqa: ANN401  (any JSON value)
    """Return what JSON calls a value."""
    names = {dict: "object", list: "list", str: "string", bool: "boolean", int: "number", float: "number"}
    return names.get(type(value), "null")


def as_object(value: Any, said: str) -> dict[str, Any]:  # noqa: ANN401  (checked here)
    """Return a JSON object; of anything else the ValueError says what it is, and what was expected."""
    if not isinstance(value, dict):
        raise ValueError(f"a JSON {kind(value)}, {said}")  # noqa: TRY004  (readers add file and line to a ValueError)
    return value


def as_id(value: Any, name: str) -> str:  # noqa: ANN401  (checked here)
    """Return an id as a string; ValueError where it is not one."""
    if isinstance(value, str):
        if not value:
            raise ValueError(f"an empty {name}")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError(f"the {name} {value!r} holds half a character (a lone surrogate)") from None
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise ValueError(f"the {name} {_short(value)} is a JSON {kind(value)}; ids are strings or whole numbers")


def as_grade(value: Any, doc_id: Any) -> int | float:  # noqa: ANN401  (checked here)
    """Return a grade; ValueError where it is not a finite number."""
    try:
        return canonical(value)
    except (ValueError, TypeError, OverflowError):
        raise ValueError(f"document {doc_id!r}: the grade {_short(value)} is not a finite number") from None


def as_score(value: Any, doc_id: Any) -> int | float:  # noqa: ANN401  (checked here)
    """Return a score; ValueError where it is not a number, or NaN."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        msg = f"document {doc_id!r}: the score {_short(value)} is not a number"
        raise ValueError(msg)  # noqa: TRY004  (readers add file and line to a ValueError)
    try:
        is_nan = math.isnan(value)
    except OverflowError:
        msg = f"document {doc_id!r}: the score {_short(value)} is too large: a score is below 1.8e308"
        raise ValueError(msg) from None
    if is_nan:
        raise ValueError(f"document {doc_id!r}: the score is NaN; a ranking needs a number for every document")
    return value


def _short(value: Any) -> str:  # noqa: ANN401  (anything)
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
