"""CSV with a header that names query, document and grade or score; comma, tab, semicolon or bar between fields."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

from permed_measures.errors import InputError
from permed_measures.readers.numbers import grade_of, score_of
from permed_measures.readers.rows import Groups, has_rows, pick, what_columns_are
from permed_measures.readers.source import Source, shown

NAME = "csv"
DESCRIPTION = "CSV with a header: query_id (or qid), doc_id (or docno), relevance (or grade, label, rel) or score"
SUFFIXES = (".csv",)
ROWS = True
_DELIMITERS = (",", "\t", ";", "|")


def fits(head: bytes) -> bool:
    """Whether the first line is a header with a query and a document."""
    return has_rows(header(head)[1])


def what_is(source: Source) -> str | None:
    """Return whether the columns are those of qrels or of a run."""
    return what_columns_are(header(source.head())[1])


def header(head: bytes) -> tuple[str, list[str]]:
    """Return the delimiter of the first line, and the names it separates."""
    line = head.partition(b"\n")[0].decode(errors="replace").rstrip("\r")
    best: tuple[str, list[str]] = (",", [])
    for delimiter in _DELIMITERS:
        try:
            names = next(csv.reader([line], delimiter=delimiter, strict=True), [])
        except csv.Error:
            continue
        if len(names) > len(best[1]):
            best = (delimiter, names)
    return best


def read(source: Source, what: str) -> dict[str, dict[str, Any]]:
    """Return {query_id: {doc_id: grade or score}}."""
    table = Groups(source)
    number_of = grade_of if what == "qrels" else score_of
    delimiter, names = header(source.head())
    try:
        places = [names.index(name) for name in pick(names, what)]
    except ValueError as error:
        raise source.error(str(error), 1) from None
    rows = csv.reader(io.StringIO(source.text(), newline=""), delimiter=delimiter, strict=True)
    line = 1
    try:
        for row in rows:
            first, line = line, rows.line_num + 1
            if first == 1 or not row:
                continue
            if len(row) != len(names):
                count = "1 field" if len(row) == 1 else f"{len(row)} fields"
                raise source.error(f"{count}, the header has {len(names)}: {shown(delimiter.join(row))}", first)
            query_id, doc_id, value = (row[place] for place in places)
            if not query_id or not doc_id:
                raise source.error(f"an empty id: {shown(delimiter.join(row))}", first)
            try:
                number = number_of(value)
            except ValueError as error:
                raise source.error(f"{error}: {shown(delimiter.join(row))}", first) from None
            table.add(query_id, doc_id, number, first)
    except csv.Error as error:
        raise source.error(f"not CSV: {error}", line) from None
    return table.groups


def write(groups: Mapping[str, Mapping[str, float]], what: str, delimiter: str = ",") -> bytes:
    """Return the file."""
    text = io.StringIO(newline="")
    rows = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    rows.writerow(("query_id", "doc_id", "relevance" if what == "qrels" else "score"))
    for query_id, group in groups.items():
        for doc_id, value in group.items():
            if "\r" in query_id + doc_id or "\0" in query_id + doc_id:
                msg = f"query {query_id!r}, document {doc_id!r}: CSV files cannot hold such an id"
                raise InputError(msg)
            rows.writerow((query_id, doc_id, repr(value)))
    return text.getvalue().encode()
