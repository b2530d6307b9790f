"""One JSON object of objects, ranx's form: ``{query_id: {doc_id: grade or score}}``; a run may hold lists of ids."""

import json
from collections.abc import Mapping
from typing import Any

from permed_measures.files import json_text
from permed_measures.files.json_text import as_id, kind, line_at, members
from permed_measures.files.rows import KEEP_ONE, kept_of
from permed_measures.files.source import Source

NAME = "json"
DESCRIPTION = "one JSON object {query_id: {doc_id: grade or score}}; lists of ids are rankings, or relevant documents"
SUFFIXES = (".json",)
ROWS = False


def fits(head: bytes) -> bool:
    """Whether the file is an object that holds an object or a list under its first key."""
    start = b"".join(head[:4096].split())
    if start == b"{}":
        return True
    _, colon, value = start.partition(b'":')
    return start.startswith(b'{"') and bool(colon) and value[:1] in (b"{", b"[")


def what_is(source: Source) -> str | None:  # noqa: ARG001  (grades and scores look alike)
    """Return None: nothing in the file says whether it is qrels or a run."""
    return None


def read(source: Source, what: str) -> dict[str, Any]:
    """Return {query_id: {doc_id: grade or score}}, or {query_id: [doc_id, …]} where a run holds lists."""
    text = source.text()
    try:
        content = json_text.loads(text)
    except json_text.JSONSyntaxError as error:
        raise source.error(str(error), error.line) from None
    except json_text.RepeatedKeyError as error:
        raise source.error(str(error), _line_of_repeated(text, error.key)) from None
    except ValueError as error:
        raise source.error(str(error)) from None
    if not isinstance(content, dict):
        raise source.error(f"a JSON {kind(content)}, expected an object {{query_id: {{doc_id: number}}}}")
    groups: dict[str, Any] = {}
    for query_id, group in content.items():
        try:
            groups[as_id(query_id, "query id")] = _group(group, what, source)
        except ValueError as error:  # noqa: PERF203  (the message names the query)
            raise source.error(f"query {query_id!r}: {error}", _line_of_fault(text, query_id, what)) from None
    return groups


def _line_of_repeated(text: str, key: str) -> int | None:
    """Return the line where a key occurs for the second time, in the object of a query or in that of the file."""
    queries = list(members(text))
    for _, _, value in queries:  # json is done with these before it is done with the file's
        places = [place for name, place, _ in members(text, value) if name == key]
        if len(places) > 1:
            return line_at(text, places[1])
    places = [place for name, place, _ in queries if name == key]
    return line_at(text, places[1]) if len(places) > 1 else None


def _line_of_fault(text: str, query_id: str, what: str) -> int:
    """Return the line of the first document of a query that is refused; of the query where it is the query."""
    place, value = next((place, value) for name, place, value in members(text) if name == query_id)
    for doc_id, at, number in members(text, value):
        try:
            _group({doc_id: json_text.decode_at(text, number)[0]}, what)
        except ValueError:  # noqa: PERF203  (that is what is looked for)
            place = at
            break
    return line_at(text, place)


def _group(group: Any, what: str, source: Source | None = None) -> Any:  # noqa: ANN401  (checked here)
    number = json_text.as_grade if what == "qrels" else json_text.as_score
    if isinstance(group, dict):
        return {as_id(doc_id, "document id"): number(value, doc_id) for doc_id, value in group.items()}
    if not isinstance(group, list):
        msg = f"a JSON {kind(group)}, expected an object {{doc_id: number}} or a list of document ids"
        raise ValueError(msg)  # noqa: TRY004  (the caller adds the file to a ValueError)
    doc_ids = [as_id(doc_id, "document id") for doc_id in group]
    if source is not None:
        source.dropped += len(doc_ids) - len(set(doc_ids))
    if kept_of("error" if source is None else source.duplicates) is None and len(set(doc_ids)) != len(doc_ids):
        msg = f"document {json_text.first_repeated(doc_ids)!r} occurs twice in the list; {KEEP_ONE}"
        if set(map(type, group)) <= {int, float, bool} and set(group) <= {0, 1}:
            msg += ". If these are relevance lists, [1, 0, 1] by rank: evaluate_lists() (in the shell eval --lists)"
        raise ValueError(msg)
    return dict.fromkeys(doc_ids, 1) if what == "qrels" else list(dict.fromkeys(doc_ids))


def write(groups: Mapping[str, Any], what: str) -> bytes:  # noqa: ARG001  (the two are written alike)
    """Return the file, one query a line."""
    lines = [
        f"{json.dumps(query_id, ensure_ascii=False)}: {json.dumps(group, ensure_ascii=False)}"
        for query_id, group in groups.items()
    ]
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode() if lines else b"{}\n"
