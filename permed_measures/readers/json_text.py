"""JSON, strictly: a key that stands twice is an error, and so is NaN; ids are strings or whole numbers."""

from __future__ import annotations

import json
import math
from typing import Any

from permed_measures.measures.base import canonical


def loads(text: str) -> Any:  # noqa: ANN401  (whatever the text holds)
    """Read JSON text; ValueError tells what is wrong."""
    try:
        return json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}" if "\n" in text.strip() else f"column {error.colno}"
        msg = f"not JSON ({error.msg}, {place})"
        raise ValueError(msg) from None
    except RecursionError:
        msg = "JSON nested too deeply"
        raise ValueError(msg) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        keys = [key for key, _ in pairs]
        again = next(key for place, key in enumerate(keys) if key in keys[:place])
        msg = f"the key {again!r} stands twice in one JSON object"
        raise ValueError(msg)
    return made


def as_id(value: Any, name: str) -> str:  # noqa: ANN401  (checked here)
    """Return an id as a string; ValueError where it is not one."""
    if isinstance(value, str):
        if not value:
            msg = f"an empty {name}"
            raise ValueError(msg)
        try:
            value.encode()
        except UnicodeEncodeError:
            msg = f"the {name} {value!r} holds half a character (a lone surrogate)"
            raise ValueError(msg) from None
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    msg = f"the {name} {_short(value)} is a JSON {type(value).__name__}; ids are strings or whole numbers"
    raise ValueError(msg)


def as_grade(value: Any, doc_id: Any) -> int | float:  # noqa: ANN401  (checked here)
    """Return a grade; ValueError where it is not a finite number."""
    try:
        return canonical(value)
    except (ValueError, TypeError, OverflowError):
        msg = f"document {doc_id!r}: the grade {_short(value)} is not a finite number"
        raise ValueError(msg) from None


def as_score(value: Any, doc_id: Any) -> int | float:  # noqa: ANN401  (checked here)
    """Return a score; ValueError where it is not a number, or NaN."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        msg = f"document {doc_id!r}: the score {_short(value)} is not a number"
        raise ValueError(msg)
    if math.isnan(value):
        msg = f"document {doc_id!r}: the score is NaN; a ranking needs a number for every document"
        raise ValueError(msg)
    return value


def _short(value: Any) -> str:  # noqa: ANN401  (anything)
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"  # noqa: PLR2004  (fits in one line of a message)
