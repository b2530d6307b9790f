"""CSV with a header that names query, document and grade or score; comma, tab, semicolon or bar between fields."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, count, repeat

from permed_measures.errors import InputError
from permed_measures.files.numbers import grade_of, numbers_of, score_of
from permed_measures.files.rows import Row, has_rows, pick, reader, subtopic_column, what_columns_are
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


def rows(source: Source, what: str) -> Iterator[Row]:
    """Yield every judgement, or every scored document."""
    delimiter, names = header(source.head())
    try:
        query, doc, value = (names.index(name) for name in pick(names, what, source.columns))
    except ValueError as error:
        raise source.error(str(error), 1) from None
    subtopic = subtopic_column(names, what)
    of = None if subtopic is None else names.index(subtopic)
    blocks = _blocks(source)
    for first, text in blocks:
        columns = _columns(text, delimiter, len(names))
        numbers = None if columns is None else numbers_of(columns[value], what)
        if columns is None or numbers is None or "" in columns[query] or "" in columns[doc]:
            break
        of_each = repeat(None) if of is None else columns[of]
        yield from zip(columns[query], columns[doc], numbers, count(first), of_each)
    else:
        return
    number_of = grade_of if what == "qrels" else score_of
    for line, row in _rows(source, delimiter, len(names), first, chain([text], (more for _, more in blocks))):
        if not row[query] or not row[doc]:
            raise source.error(f"an empty id: {shown(str(row))}", line)
        try:
            number = number_of(row[value])
        except ValueError as error:
            raise source.error(f"{error}: {shown(str(row))}", line) from None
        yield row[query], row[doc], number, line, None if of is None else row[of]


read = reader(rows)


def csv_rows(source: Source) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """Return the names of the columns; and every row that is not empty, with the number of its first line."""
    delimiter, names = header(source.head())
    return names, _rows(source, delimiter, len(names), 2, (text for _, text in _blocks(source)))


def _blocks(source: Source) -> Iterator[tuple[int, str]]:
    """Yield the number of its first line, and whole lines, without the header."""
    for first, block in source.blocks():
        text = source.decode(block, first)
        if first > 1:
            yield first, text
        elif "\n" in text:
            yield 2, text.partition("\n")[2]


def _columns(text: str, delimiter: str, width: int) -> list[list[str]] | None:
    """Return the fields of lines by column, all at once; None where they need a parser, or one has too few or many."""
    text = text.replace("\r\n", "\n")
    if any(char in text for char in '"\r\0'):
        return None
    lines = text.count("\n") + 1
    fields = text.replace("\n", f"{delimiter}\0{delimiter}").split(delimiter)
    if len(fields) != (width + 1) * lines - 1 or fields[width :: width + 1].count("\0") != lines - 1:
        return None
    return [fields[place :: width + 1] for place in range(width)]


def _rows(
    source: Source, delimiter: str, width: int, first: int, texts: Iterable[str]
) -> Iterator[tuple[int, list[str]]]:
    lines = chain.from_iterable(io.StringIO(text + "\n", newline="") for text in texts)
    rows = csv.reader(lines, delimiter=delimiter, strict=True)
    line = first
    try:
        with _fields_of_any_length():
            for row in rows:
                if row and len(row) != width:
                    fields = counted(len(row), "field")
                    raise source.error(f"{fields}, the header has {width}: {shown(delimiter.join(row))}", line)
                if row:
                    yield line, row
                line = first + rows.line_num
    except csv.Error as error:
        if str(error) == _END_WITHIN_QUOTES:
            opened = _open_quote(source.text(), line)
            raise source.error("a quote opens in this line, and nothing closes it", opened) from None
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
