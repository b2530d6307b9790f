"""Parquet with columns for query, document and grade or score, under the names that CSV files have."""

import math
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from permed_measures.errors import InputError, require
from permed_measures.files.rows import Groups, pick, subtopic_column, what_columns_are
from permed_measures.files.source import Source
from permed_measures.numbers import canonical

NAME = "parquet"
DESCRIPTION = "parquet with columns as of csv"
SUFFIXES = (".parquet", ".pq")
ROWS = True
FILE = "read_parquet(?, hive_partitioning = false)"
"""A file in DuckDB's SQL; it would take a folder above it that is named score=7 for its column."""
_MAGIC = b"PAR1"
_BATCH = 100_000
_INT_TYPES = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "HUGEINT")
_NUMBER_TYPES = (*_INT_TYPES, "FLOAT", "DOUBLE")


def fits(head: bytes) -> bool:
    """Whether the file starts like parquet."""
    return head.startswith(_MAGIC)


def what_is(source: Source) -> str | None:
    """Return whether the columns are those of qrels or of a run."""
    return what_columns_are(column_names(source))


def column_names(source: Source) -> list[str]:
    """Return the names of a file's columns."""
    duckdb = require("duckdb", extra="cli")
    try:
        with _on_disk(source) as path, connected(duckdb) as connection:
            return [row[0] for row in connection.execute(f"DESCRIBE FROM {FILE}", [path]).fetchall()]
    except duckdb.Error as error:
        raise source.error(f"not readable as parquet: {str(error).splitlines()[0]}") from error


@contextmanager
def connected(duckdb: ModuleType) -> Iterator[Any]:
    """Open DuckDB without the progress bar that it would print among our output; Ctrl-C is KeyboardInterrupt again."""
    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        try:
            yield connection
        except (duckdb.InterruptException, RuntimeError) as error:
            if is_interrupt(error):
                raise KeyboardInterrupt from None
            raise


def is_interrupt(error: BaseException) -> bool:
    """Whether an error is what DuckDB makes of Ctrl-C."""
    return type(error).__name__ == "InterruptException" or str(error) == "Query interrupted"


@contextmanager
def _on_disk(source: Source) -> Iterator[str]:
    """Yield a path that DuckDB can read: parquet is not read from front to back, so a pipe is copied to a file."""
    if not source.is_pipe:
        with plain_path(source.path) as path:
            yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "table.parquet")
        copy.write_bytes(source.content())
        yield str(copy)


@contextmanager
def plain_path(path: Path) -> Iterator[str]:
    """Yield a path that DuckDB takes literally: it reads ``*``, ``?`` and ``[`` in a name as a pattern."""
    if not any(char in str(path) for char in "*?["):
        yield str(path)
        return
    with tempfile.TemporaryDirectory() as folder:
        link = Path(folder, "file")
        try:
            link.symlink_to(path.resolve())
        except OSError:
            shutil.copyfile(path, link)
        yield str(link)


def quoted(name: str) -> str:
    """Quote a column's name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def quoted_text(text: str) -> str:
    """Quote a text for SQL."""
    return "'" + text.replace("'", "''") + "'"


def columns(connection: Any, source: Source, path: str, what: str) -> tuple[str, str, str]:  # noqa: ANN401  (DuckDB's)
    """Return the columns of query, document and number as SQL expressions of type VARCHAR, VARCHAR and a number."""
    described = connection.execute(f"DESCRIBE FROM {FILE}", [path]).fetchall()
    types = {row[0]: str(row[1]) for row in described}
    try:
        query, doc, value = pick(list(types), what, source.columns)
    except ValueError as error:
        raise source.error(str(error)) from None
    for name in (query, doc):
        if types[name] != "VARCHAR" and types[name] not in _INT_TYPES:
            raise source.error(f"the column {name!r} is {types[name]}; ids are strings or whole numbers")
    if what == "qrels" and types[value] == "BOOLEAN":
        return f"{quoted(query)}::VARCHAR", f"{quoted(doc)}::VARCHAR", f"{quoted(value)}::INTEGER"
    if types[value] not in _NUMBER_TYPES and not types[value].startswith("DECIMAL"):
        raise source.error(f"the column {value!r} is {types[value]}, not a number")
    number = quoted(value) if types[value] in _INT_TYPES and what == "qrels" else f"{quoted(value)}::DOUBLE"
    return f"{quoted(query)}::VARCHAR", f"{quoted(doc)}::VARCHAR", number


def read(source: Source, what: str) -> dict[str, dict[str, Any]]:
    """Return {query_id: {doc_id: grade or score}}."""
    if source.packing is not None:
        raise source.error(f"a parquet file within {source.packing}; unpack it first")
    table = Groups(source)

    def wanted(connection: Any, path: str) -> list[str]:  # noqa: ANN401  (DuckDB's)
        return [*columns(connection, source, path, what), _subtopic(connection, path, what)]

    for row, (query_id, doc_id, value, subtopic) in parquet_rows(source, wanted):
        fault = _fault(query_id, doc_id, value, what)
        if fault:
            raise source.error(f"row {row}: {fault}")
        table.add(query_id, doc_id, canonical(value) if what == "qrels" else value, None, subtopic)
    return table.groups


def parquet_rows(source: Source, wanted: Callable[[Any, str], Sequence[str]]) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Yield the number of each row and the columns that ``wanted`` names, as SQL, of a connection and a path."""
    duckdb = require("duckdb", extra="cli")
    try:
        with _on_disk(source) as path, connected(duckdb) as connection:
            names = ", ".join(wanted(connection, path))
            answer = connection.execute(f"SELECT {names} FROM {FILE}", [path])  # noqa: S608  (quoted names)
            row = 0
            while rows := answer.fetchmany(_BATCH):
                for row, values in enumerate(rows, row + 1):  # noqa: B020  (goes on where the last batch ended)
                    yield row, values
    except duckdb.Error as error:
        raise source.error(f"not readable as parquet: {str(error).splitlines()[0]}") from error


def _subtopic(connection: Any, path: str, what: str) -> str:  # noqa: ANN401  (DuckDB's)
    """Return the column of subtopics as SQL; a row without one is of a subtopic of its own, like every other such."""
    described = connection.execute(f"DESCRIBE FROM {FILE}", [path]).fetchall()
    name = subtopic_column([row[0] for row in described], what)
    return "NULL" if name is None else f"coalesce({quoted(name)}::VARCHAR, '')"


def _fault(query_id: str | None, doc_id: str | None, value: float | None, what: str) -> str:
    if not query_id or not doc_id:
        return f"an empty id (query {query_id!r}, document {doc_id!r})"
    if value is None or math.isnan(value) or (what == "qrels" and math.isinf(value)):
        number = "grade" if what == "qrels" else "score"
        advice = (
            "; in the shell --nan-scores drop or last decides otherwise" if value is not None and what == "run" else ""
        )
        return f"query {query_id!r}, document {doc_id!r}: the {number} is {value}{advice}"
    return ""


def write(groups: Mapping[str, Mapping[str, float]], what: str) -> bytes:
    """Return the file."""
    duckdb = require("duckdb", extra="cli")
    rows = [(query_id, doc_id, value) for query_id, group in groups.items() for doc_id, value in group.items()]
    values = [value for _, _, value in rows]
    kind = "BIGINT" if all(isinstance(value, int) for value in values) else "DOUBLE"
    name = "relevance" if what == "qrels" else "score"
    with tempfile.TemporaryDirectory() as folder, connected(duckdb) as connection:
        path = Path(folder, "table.parquet")
        try:
            connection.execute(f"CREATE TABLE t (query_id VARCHAR, doc_id VARCHAR, {name} {kind})")
            if rows:
                connection.execute(
                    f"INSERT INTO t SELECT unnest(?::VARCHAR[]), unnest(?::VARCHAR[]), unnest(?::{kind}[])",
                    [[row[0] for row in rows], [row[1] for row in rows], values],
                )
            connection.execute(f"COPY t TO '{path}' (FORMAT parquet)")
        except duckdb.Error as error:
            raise InputError(f"cannot be written as parquet: {str(error).splitlines()[0]}") from error
        return path.read_bytes()
