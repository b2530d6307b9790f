"""JSON Lines of one judgement or one scored document each: ``{"query_id", "doc_id", "relevance" | "score"}``."""

import json
from collections.abc import Mapping
from typing import Any

from permed_measures.files.json_text import as_grade, as_id, as_object, as_score, json_lines
from permed_measures.files.rows import Groups, has_rows, pick, subtopic_column, what_columns_are
from permed_measures.files.source import Source

NAME = "jsonl-rows"
DESCRIPTION = 'JSON Lines {"query_id", "doc_id", "relevance" or "score"}, one judgement or scored document each'
SUFFIXES = ()
ROWS = True


def fits(head: bytes) -> bool:
    """Whether the first line is an object with a query and a document."""
    return has_rows(keys_of(head))


def what_is(source: Source) -> str | None:
    """Return whether the keys are those of qrels or of a run."""
    return what_columns_are(keys_of(source.head()))


def keys_of(head: bytes) -> list[str]:
    """Return the keys of the first line; none where it is not an object."""
    line = next((line for line in head.split(b"\n") if line.strip()), b"")
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return []
    return list(record) if isinstance(record, dict) else []


def read(source: Source, what: str) -> dict[str, dict[str, Any]]:
    """Return {query_id: {doc_id: grade or score}}."""
    table = Groups(source)
    number_of = as_grade if what == "qrels" else as_score
    subtopic = subtopic_column(keys_of(source.head()), what)
    picked: dict[tuple[str, ...], tuple[str, str, str]] = {}

    def row(record: Any) -> tuple[str, str, float, str | None]:  # noqa: ANN401  (checked here)
        keys = tuple(as_object(record, "a line is an object with 'query_id', 'doc_id' and a number"))
        if keys not in picked:
            picked[keys] = pick(keys, what, source.columns)
        query, doc, value = picked[keys]
        query_id, doc_id = as_id(record[query], query), as_id(record[doc], doc)
        return query_id, doc_id, number_of(record[value], doc_id), None if subtopic is None else _subtopic(record)

    for number, (query_id, doc_id, value, of) in json_lines(source, row):
        table.add(query_id, doc_id, value, number, of)
    return table.groups


def _subtopic(record: Mapping[str, Any]) -> str:
    name = subtopic_column(list(record), "qrels")
    if name is None:
        raise ValueError("no 'iteration' or 'subtopic', which the first line has")
    return as_id(record[name], name)


def write(groups: Mapping[str, Mapping[str, float]], what: str) -> bytes:
    """Return the file."""
    name = "relevance" if what == "qrels" else "score"
    rows = (
        {"query_id": query_id, "doc_id": doc_id, name: value}
        for query_id, group in groups.items()
        for doc_id, value in group.items()
    )
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
