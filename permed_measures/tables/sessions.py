"""Engines as sessions: opened for a command, given files and grids, closed after it."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from permed_measures.errors import HostError, InputError, ParamError, require

ENGINES = ("duckdb", "polars", "spark")

_MAGIC = b"PAR1"
_SUFFIXES = (".parquet", ".pq")
_NO_DATA = "._"
"""What starts so is not data: _SUCCESS, _temporary, .crc."""
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def is_parquet(path: str) -> bool:
    """Whether a path names parquet: a file, a folder of such files, a pattern, or an address of a store."""
    if "://" in path:
        return True
    place = Path(path)
    if place.is_file():
        with place.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    return place.is_dir() or glob.has_magic(path)


def dataset(path: str) -> list[str]:
    """Return the parquet files of a path: itself, those of a folder and its folders, or those that match a pattern."""
    if "://" in path or Path(path).is_file():
        return [path]
    if Path(path).is_dir():
        files = _inside(Path(path))
    else:
        found = map(Path, glob.glob(path, recursive=True))  # noqa: PTH207  (a pattern as in the shell, absolute or not)
        files = [file for place in found if place.name[0] not in _NO_DATA for file in _inside(place)]
    if not files:
        what = "the folder holds no .parquet file" if Path(path).is_dir() else "no file matches"
        raise InputError(what, path=path)
    return sorted(set(files))


def _inside(place: Path) -> list[str]:
    """Return a file, or the parquet files of a folder and its folders, without what engines leave beside them."""
    if place.is_file():
        return [str(place)]
    inside = [file for suffix in _SUFFIXES for file in place.rglob(f"*{suffix}") if file.is_file()]
    return [str(file) for file in inside if not any(part[0] in _NO_DATA for part in file.relative_to(place).parts)]


def _partitions(files: Sequence[str]) -> list[str]:
    """Return the columns that folders are named for (day=1/…), where all files have the same."""
    found = {tuple(p.partition("=")[0] for p in Path(file).parts[:-1] if "=" in p) for file in files}
    return list(found.pop()) if len(found) == 1 else []


def bytes_of(size: str) -> int:
    """Return the number of bytes of a size as people write it.

    >>> bytes_of("500MB"), bytes_of("1.5 GiB")
    (500000000, 1610612736)
    """
    written = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?\s*", size, re.IGNORECASE)
    if written is None or float(written[1]) == 0 or (written[3] and not written[2]):
        msg = f"{size!r} is not a size; write it like 500MB, 4GB or 1.5GiB"
        raise ParamError(msg)
    number, unit = float(written[1]), written[2].upper()
    return int(number * (_BINARY_UNITS if written[3] else _UNITS)[unit])


class Session(NamedTuple):
    """One engine, ready to read."""

    name: str
    native: Any
    errors: tuple[type[Exception], ...]
    """What the engine raises when it cannot read or compute."""

    def read(self, path: str) -> Any:  # noqa: ANN401  (a table of the engine)
        """Return a parquet file, folder or pattern as a table; what folders are named for (day=1/…) is a column."""
        files = dataset(path)
        try:
            return getattr(self, f"_read_{self.name}")(path, files)
        except self.errors as error:
            raise self.error(error, path) from error

    def _read_duckdb(self, _: str, files: Sequence[str]) -> Any:  # noqa: ANN401
        literal = [file if "://" in file else glob.escape(file) for file in files]
        return self.native.read_parquet(literal, hive_partitioning=bool(_partitions(files)))

    def _read_polars(self, _: str, files: Sequence[str]) -> Any:  # noqa: ANN401
        schema = dict.fromkeys(_partitions(files), self.native.String)  # 01 is no number, where it names a query
        options = {"hive_partitioning": bool(schema), "hive_schema": schema or None}
        return self.native.scan_parquet(list(files), glob="://" in files[0], **options)

    def _read_spark(self, path: str, files: Sequence[str]) -> Any:  # noqa: ANN401
        reader = self.native.read
        if "://" in path:
            return reader.parquet(path)
        if Path(path).is_dir():
            reader = reader.option("basePath", str(Path(path).absolute()))
        return reader.parquet(*[re.sub(r"([*?\[\]{}\\])", r"\\\1", str(Path(file).absolute())) for file in files])

    def table(self, grid: Mapping[str, Mapping[str, float]], value: str) -> Any:  # noqa: ANN401  (a table of the engine)
        """Return what was read from another format as a table."""
        rows = [(query, doc, float(number)) for query, group in grid.items() for doc, number in group.items()]
        names = ("query_id", "doc_id", value)
        if self.name == "spark":
            return self.native.createDataFrame(rows, f"query_id string, doc_id string, {value} double")
        columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
        if self.name == "polars":
            text, number = self.native.String, self.native.Float64
            return self.native.LazyFrame(columns, schema=dict(zip(names, (text, text, number), strict=True)))
        lists = list(columns.values())
        unnested = [
            f"unnest(?::{kind}[]) AS {name}" for name, kind in zip(names, ("VARCHAR", "VARCHAR", "DOUBLE"), strict=True)
        ]
        name = f"read_{value}_{id(grid)}"
        self.native.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT {', '.join(unnested)}", lists)
        return self.native.table(name)

    def error(self, error: Exception, path: str) -> InputError | HostError:
        """Say in one line what an engine's error says in many."""
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        if "Out of Memory" in first:
            msg = f"{self.name} has not enough memory for {path}: {first}; give it more with --memory-limit"
            return HostError(msg)
        return InputError(f"{self.name} cannot evaluate it: {first}", path=path)


@contextmanager
def opened(engine: str, *, master: str | None = None, memory_limit: str | None = None) -> Iterator[Session]:
    """Open an engine and close it again; its files for what does not fit into memory vanish with it."""
    if engine not in ENGINES:
        msg = f"engine={engine!r} is not allowed; give one of {', '.join(ENGINES)}"
        raise ParamError(msg)
    if master is not None and engine != "spark":
        msg = f"--master is for --engine spark; {engine} runs on this machine"
        raise ParamError(msg)
    limit = None if memory_limit is None else bytes_of(memory_limit)
    if engine == "spark":
        with _spark(master, limit) as session:
            yield session
    elif engine == "polars":
        if limit is not None:
            msg = "Polars has no memory limit; --engine duckdb has one, and spills to disk"
            raise ParamError(msg)
        polars = require("polars", extra="tables")
        yield Session("polars", polars, (polars.exceptions.PolarsError, OSError))
    else:
        with _duckdb(limit) as session:
            yield session


@contextmanager
def _duckdb(limit: int | None) -> Iterator[Session]:
    duckdb = require("duckdb", extra="tables")
    import tempfile  # noqa: PLC0415  (slow to import, for those who evaluate nothing here)

    from permed_measures.readers.parquet import connected  # noqa: PLC0415  (readers are for those who read files)

    with tempfile.TemporaryDirectory(prefix="permed-measures-") as folder, connected(duckdb) as connection:
        spilled = folder.replace("'", "''")
        connection.execute(f"SET temp_directory = '{spilled}'")
        connection.execute("SET preserve_insertion_order = false")
        if limit is not None:
            connection.execute(f"SET memory_limit = '{limit}B'")
        yield Session("duckdb", connection, (duckdb.Error,))


@contextmanager
def _spark(master: str | None, limit: int | None) -> Iterator[Session]:
    sql = require("pyspark.sql", extra="spark")
    errors = require("pyspark.errors", extra="spark")
    builder = sql.SparkSession.builder.appName("permed-measures")
    if master is not None and master.startswith("sc://"):
        if limit is not None:
            msg = "--memory-limit is not for Spark Connect: the server has its own"
            raise ParamError(msg)
        builder = builder.remote(master)
    else:
        builder = builder.master(master or "local[*]").config("spark.ui.enabled", False)
        builder = builder.config("spark.ui.showConsoleProgress", False)
        # where each column was written down is for notebooks; asking takes longer than planning
        builder = builder.config("spark.python.sql.dataFrameDebugging.enabled", False)
        if master is None or master.startswith("local"):  # 200 by default: for clusters
            builder = builder.config("spark.sql.shuffle.partitions", 2 * (os.cpu_count() or 1))
        if limit is not None:
            builder = builder.config("spark.driver.memory", f"{max(1, limit // 2**20)}m")
    try:
        session = builder.getOrCreate()
    except (errors.PySparkException, RuntimeError, OSError) as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        msg = f"Spark does not start: {first}. It needs Java 17 or newer on this machine, or --master sc://HOST"
        raise HostError(msg) from error
    try:
        yield Session("spark", session, (errors.PySparkException,))
    finally:
        session.stop()
