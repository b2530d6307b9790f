"""One stream of records (place, fields) under JSON Lines, JSON texts, CSV and parquet, whatever their fields mean."""

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from permed_measures.errors import InputError, ParamError, did_you_mean
from permed_measures.files.csv_table import csv_rows
from permed_measures.files.json_text import STRICT, as_object, fault, first_repeated, json_lines, line_at
from permed_measures.files.parquet import FILE, parquet_rows, quoted
from permed_measures.files.parquet import fits as is_parquet
from permed_measures.files.source import Source

FORMATS = ("jsonl", "csv", "parquet")
"""JSON texts over several lines, one after the other or in a list, are read as jsonl too."""
_SPACE = re.compile(r"\s*")


class Records:
    """The records of a file; :meth:`error` names the line, or the row, of a place."""

    def __init__(self, source: Source, form: str | None = None) -> None:
        if form is not None and form not in FORMATS:
            raise ParamError(f"unknown log format {form!r}.{did_you_mean(form, FORMATS)}")
        self.source = source
        start = source.head().lstrip()
        told = "parquet" if is_parquet(start) else "jsonl" if start[:1] in (b"{", b"[") else "csv"
        self.form = form or told
        self._in_list = self.form == "jsonl" and start[:1] == b"["
        self._in_text = self._in_list or start.partition(b"\n")[0].strip() == b"{"

    def error(self, message: str, place: int) -> InputError:
        """Make the error for a place."""
        if self._in_list or self.form == "parquet":
            return self.source.error(f"row {place}: {message}")
        return self.source.error(message, place)

    def __iter__(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        if self.form == "csv":
            return self._csv()
        if self.form == "parquet":
            return self._parquet()
        return self._texts() if self._in_text else json_lines(self.source, _object)

    def _texts(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        text = self.source.text()
        at, number = _after_space(text, 0), 0
        while at < len(text):
            try:
                found, end = STRICT.raw_decode(text, at)
            except (ValueError, RecursionError) as error:
                wrong = fault(error, text, at)
                raise self.source.error(str(wrong), getattr(wrong, "line", line_at(text, at))) from None
            listed = found if self._in_list and isinstance(found, list) else [found]
            for record in listed:
                number += 1
                place = number if self._in_list else line_at(text, at)
                try:
                    yield place, _object(record)
                except ValueError as error:
                    raise self.error(str(error), place) from None
            at = _after_space(text, end)

    def _csv(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        names, rows = csv_rows(self.source)
        heads = [name.strip() for name in names]
        again = first_repeated(heads)
        if again is not None:
            raise self.source.error(f"the column {again!r} occurs twice", 1)
        for number, row in rows:
            yield number, {head: cell.strip() for head, cell in zip(heads, row, strict=True)}

    def _parquet(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        names: list[str] = []

        def wanted(connection: Any, path: str) -> list[str]:  # noqa: ANN401  (DuckDB's)
            columns = connection.execute(f"DESCRIBE FROM {FILE}", [path]).fetchall()
            names.extend(name for name, *_ in columns)
            return [_column(name, str(kind)) for name, kind, *_ in columns]

        for number, row in parquet_rows(self.source, wanted):
            yield number, dict(zip(names, row, strict=True))


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


def _column(name: str, of: str) -> str:
    # times as seconds: DuckDB needs one more package, pytz, to hand out a time with a zone
    return f"epoch_us({quoted(name)}) / 1e6" if of.startswith("TIMESTAMP") else quoted(name)


_object = partial(as_object, said="a record is an object")
