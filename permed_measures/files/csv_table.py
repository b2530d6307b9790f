"""CSV with a header that names query, document and grade or score; comma, tab, semicolon or bar between fields."""

import csv
import io
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from permed_measures.errors import InputError
from permed_measures.files.numbers import grade_of, score_of
from permed_measures.files.rows import Groups, has_rows, pick, subtopic_column, what_columns_are
from permed_measures.files.source import Source, shown
from permed_measures.render.words import counted

NAME = "csv"
DESCRIPTION = "CSV with a header: query_id (or qid), doc_id (or docno), relevance (or grade, label, rel) or score"
SUFFIXES = (".csv",)
ROWS = True
_DELIMITERS = (",", "\t", ";", "|")
_LONGEST = 2**31 - 1  # what fits into a long of every platform
_END_WITHIN_QUOTES = "unexpected end of data"
_QUOTED = re.compile(r'"[^"]*(?:""[^"]*)*("|\Z)')


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
    names, rows = csv_rows(source)
    try:
        places = [names.index(name) for name in pick(names, what, source.columns)]
    except ValueError as error:
        raise source.error(str(error), 1) from None
    subtopic = subtopic_column(names, what)
    subtopic_place = None if subtopic is None else names.index(subtopic)
    for first, row in rows:
        query_id, doc_id, value = (row[place] for place in places)
        if not query_id or not doc_id:
            raise source.error(f"an empty id: {shown(str(row))}", first)
        try:
            number = number_of(value)
        except ValueError as error:
            raise source.error(f"{error}: {shown(str(row))}", first) from None
        table.add(query_id, doc_id, number, first, None if subtopic_place is None else row[subtopic_place])
    return table.groups


def csv_rows(source: Source) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """Return the names of the columns; and every row that is not empty, with the number of its first line."""
    delimiter, names = header(source.head())
    return names, _rows(source, delimiter, len(names))


def _rows(source: Source, delimiter: str, number: int) -> Iterator[tuple[int, list[str]]]:
    with _fields_of_any_length():
        for first, row in _records(source, delimiter):
            if first == 1 or not row:
                continue
            if len(row) != number:
                count = counted(len(row), "field")
                raise source.error(f"{count}, the header has {number}: {shown(delimiter.join(row))}", first)
            yield first, row


def _records(source: Source, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield every row, and the number of its first line."""
    text = source.text()
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    try:
        for row in rows:
            yield line, row
            line = rows.line_num + 1
    except csv.Error as error:
        if str(error) == _END_WITHIN_QUOTES:
            raise source.error("a quote opens in this line, and nothing closes it", _open_quote(text, line)) from None
        raise source.error(f"not CSV: {error}", line) from None


@contextmanager
def _fields_of_any_length() -> Iterator[None]:
    """Lift Python's limit of 131,072 characters while our file is read: a document may be named by its text."""
    limit = csv.field_size_limit(_LONGEST)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def _open_quote(text: str, line: int) -> int:
    """Return the line of the quote that nothing closes, in the last record, which starts in a line."""
    lines = list(io.StringIO(text, newline=""))[line - 1 :]
    opened = next((quote.start() for quote in _QUOTED.finditer("".join(lines)) if not quote[1]), 0)
    for number, written in enumerate(lines, line):
        opened -= len(written)
        if opened < 0:
            return number
    return line


def write(groups: Mapping[str, Mapping[str, float]], what: str, delimiter: str = ",") -> bytes:
    """Return the file."""
    text = io.StringIO(newline="")
    rows = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    rows.writerow(("query_id", "doc_id", "relevance" if what == "qrels" else "score"))
    for query_id, group in groups.items():
        for doc_id, value in group.items():
            if "\r" in query_id + doc_id or "\0" in query_id + doc_id:
                raise InputError(f"query {query_id!r}, document {doc_id!r}: CSV files cannot hold such an id")
            rows.writerow((query_id, doc_id, repr(value)))
    return text.getvalue().encode()
