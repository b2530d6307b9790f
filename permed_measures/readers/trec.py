"""TREC qrels (query, iteration, document, grade) and runs (query, Q0, document, rank, score, tag).

Fields are separated by any white space; blank lines and lines that start with ``#`` are comments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from permed_measures.readers.numbers import grade_of, score_of
from permed_measures.readers.source import Source, shown

NAME = "trec"
DESCRIPTION = "TREC qrels (query iteration document grade) or run (query Q0 document rank score tag)"
SUFFIXES = (".trec", ".qrels", ".qrel", ".run", ".res")
FIELDS = {"qrels": 4, "run": 6}
VALUE_FIELD = {"qrels": 3, "run": 4}


def fits(head: bytes) -> bool:
    """Whether the first line that is not a comment has the fields of a TREC file."""
    fields = next((line.split() for line in head.split(b"\n") if _is_data(line)), [])
    if len(fields) not in FIELDS.values() or fields[0][:1] in b"{[":
        return False
    value = fields[3] if len(fields) == FIELDS["qrels"] else fields[4]
    try:
        float(value)
    except ValueError:
        return False
    return True


def read(source: Source, what: str) -> dict[str, dict[str, Any]]:
    """Return {query_id: {doc_id: grade or score}}."""
    table = _Table(source, what)
    for first, block in source.blocks():
        table.add(first, block)
    return table.groups


def _is_data(line: bytes) -> bool:
    stripped = line.lstrip()
    return bool(stripped) and not stripped.startswith(b"#")


class _Table:
    """Takes blocks of lines: all of a block at once when it is sound, line by line to say what is wrong with it."""

    def __init__(self, source: Source, what: str) -> None:
        self.source = source
        self.what = what
        self.parse: Callable[[bytes], int | float] = grade_of if what == "qrels" else score_of
        self.groups: dict[str, dict[str, Any]] = {}
        self.rows = 0

    def add(self, first: int, block: bytes) -> None:
        lines = block.split(b"\n")
        rows = list(map(bytes.split, lines))
        if b"#" in block or not all(rows):
            rows = [row for row in rows if row and not row[0].startswith(b"#")]
        if not rows:
            return
        if set(map(len, rows)) != {FIELDS[self.what]}:
            raise self._fault(first, lines)
        columns = list(zip(*rows, strict=True))
        values = self._values(columns[VALUE_FIELD[self.what]])
        if values is None:
            raise self._fault(first, lines)
        groups, last, group = self.groups, None, {}
        rows_before = sum(map(len, groups.values()))
        for query_id, doc_id, value in zip(
            self._ids(columns[0], first, block), self._ids(columns[2], first, block), values, strict=True
        ):
            if query_id != last:
                group = groups.setdefault(query_id, {})
                last = query_id
            group[doc_id] = value
        if sum(map(len, groups.values())) - rows_before != len(rows):
            raise self._fault_of_pairs(first)

    def _values(self, column: Sequence[bytes]) -> list[int | float] | None:
        try:
            if self.what == "qrels":
                known = {text: grade_of(text) for text in set(column)}
                return list(map(known.__getitem__, column))
            values: list[int | float] = list(map(float, column))
        except ValueError:
            return None
        # NaN makes the sum NaN; so do opposite infinities, which are looked at closely then
        total = sum(values)
        if total != total and any(value != value for value in values):
            return None
        return None if b"_" in b"".join(column) else values

    def _ids(self, column: Sequence[bytes], first: int, block: bytes) -> list[str]:
        try:
            return b"\n".join(column).decode().split("\n")
        except UnicodeDecodeError:
            self.source.decode(block, first)  # names the line
            raise

    def _fault(self, first: int, lines: Sequence[bytes]) -> Exception:
        """Find what is wrong with a block."""
        expected, at = FIELDS[self.what], VALUE_FIELD[self.what]
        for number, line in enumerate(lines, first):
            if not _is_data(line):
                continue
            fields = line.split()
            if len(fields) != expected:
                count = "1 field" if len(fields) == 1 else f"{len(fields)} fields"
                a_line = "a qrels line" if self.what == "qrels" else "a run line"
                return self.source.error(f"{count}, {a_line} has {expected}: {shown(line)}", number)
            try:
                self.parse(fields[at])
            except ValueError as error:
                return self.source.error(f"{error}: {shown(line)}", number)
        msg = "a block was refused, but every line of it is sound"
        raise AssertionError(msg)

    def _fault_of_pairs(self, first: int) -> Exception:
        """Find the (query, document) that stands in the file twice."""
        seen: set[tuple[bytes, bytes]] = set()
        for start, block in self.source.blocks():
            for number, line in enumerate(block.split(b"\n"), start):
                if not _is_data(line):
                    continue
                fields = line.split()
                pair = (fields[0], fields[2])
                if pair in seen:
                    query_id, doc_id = (field.decode(errors="replace") for field in pair)
                    msg = f"query {query_id!r}, document {doc_id!r} stands in the file twice: {shown(line)}"
                    return self.source.error(msg, number)
                seen.add(pair)
        msg = f"no pair stands twice, although one was met after line {first}"
        raise AssertionError(msg)
