"""Engines as sessions: opened for a command, given files and grids, closed after it."""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, ClassVar

from permed_measures.errors import HostError, InputError, ParamError, check_choice, require
from permed_measures.files.parquet import SUFFIXES, connected, is_interrupt, quoted_text
from permed_measures.tables.datasets import LAKES, Dataset, dataset, lake_error

ENGINES = ("duckdb", "polars", "spark")

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_TOO_MANY = 2**63
_LISTED = ("file://", "s3://", "s3a://", "s3n://", "gs://", "gcs://", "r2://", "hf://", "az://", "azure://", "abfss://")
"""Addresses of stores whose folders DuckDB can list."""

Grid = Mapping[str, Mapping[str, float]]


def bytes_of(size: str) -> int:
    """Return the number of bytes of a size as people write it.

    >>> bytes_of("500MB"), bytes_of("1.5 GiB")
    (500000000, 1610612736)
    """
    written = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?\s*", size, re.IGNORECASE)
    if written is None or float(written[1]) == 0 or (written[3] and not written[2]):
        raise ParamError(f"{size!r} is not a size; write it like 500MB, 4GB or 1.5GiB")
    number, unit = float(written[1]), written[2].upper()
    size_bytes = int(number * (_BINARY_UNITS if written[3] else _UNITS)[unit])
    if size_bytes >= _TOO_MANY:
        raise ParamError(f"{size!r} is more memory than can be addressed; write what the engine may use, like 4GB")
    return size_bytes


class Session(ABC):
    """One engine, ready to read. ``errors`` is what it raises when it cannot read or compute."""

    name: ClassVar[str]

    def __init__(self, native: Any, errors: tuple[type[BaseException], ...]) -> None:  # noqa: ANN401  (the engine's)
        self.native = native
        self.errors = errors
        self._files: dict[str, list[str]] = {}

    def read(self, path: str) -> Any:  # noqa: ANN401  (a table of the engine)
        """Return a parquet file, folder or pattern as a table; what folders are named for (day=1/…) is a column."""
        found = dataset(path)
        if not found.is_address:
            self._files[path] = list(found.files)
        with self.errors_named(path):
            return self._read(found)

    def _damaged(self, paths: tuple[str, ...]) -> tuple[str, BaseException] | None:
        """Return the first file of these paths that cannot be read to its end by itself, and what is raised over it.

        Where paths are called otherwise, all files of the session are looked at, the last ones first.
        """
        import narwhals as nw  # noqa: PLC0415  (slow to import, for those who evaluate nothing here)
        from narwhals.exceptions import NarwhalsError  # noqa: PLC0415  (as above)

        from permed_measures.tables.engines import fetch  # noqa: PLC0415  (as above)

        known: tuple[type[BaseException], ...] = (*self.errors, NarwhalsError)
        looked_at = [path for path in self._files if path in paths] or list(self._files)[::-1]
        for file in dict.fromkeys(file for path in looked_at for file in self._files[path]):
            try:
                fetch(nw.from_native(self._read(Dataset(file, [file], []))).lazy().select(nw.all().n_unique()))
            except known as error:  # noqa: PERF203  (each file may be the one)
                if "Out of Memory" not in str(error):
                    return file, error
        return None

    @abstractmethod
    def _read(self, found: Dataset) -> Any:  # noqa: ANN401  (a table of the engine)
        """Return the files as a table."""

    @abstractmethod
    def table(self, grid: Grid, value: str) -> Any:  # noqa: ANN401  (a table of the engine)
        """Return what was read from another format as a table."""

    @abstractmethod
    def computed(self, table: Any) -> Any:  # noqa: ANN401  (a table of the engine, as the other)
        """Compute a table now, so that it can be read more than once; as long as the session is open."""

    @abstractmethod
    def write(self, table: Any, folder: Path, by: str | None) -> None:  # noqa: ANN401  (a table of the engine)
        """Write a table as parquet into a new folder, with a folder for each value of the column ``by``."""

    @contextmanager
    def errors_named(self, *paths: str, also: tuple[type[Exception], ...] = ()) -> Iterator[None]:
        """Make an error of ours of whatever the engine raises over these files: one line, that of the cause."""
        try:
            yield
        except (*self.errors, *also) as error:
            if is_interrupt(error):
                raise KeyboardInterrupt from None
            place = " and ".join(paths)
            cause = _cause(error)
            if "Out of Memory" in cause:
                msg = f"{self.name} does not have enough memory for {place}: {cause}; give it more with --memory-limit"
                raise HostError(msg) from error
            damaged = self._damaged(paths)
            if damaged is not None:
                place, cause = damaged[0], _cause(damaged[1])
            what = "it" if len(paths) == 1 or damaged is not None else "them"
            raise InputError(f"{self.name} cannot evaluate {what}: {cause}", path=place) from error


def _cause(error: BaseException) -> str:
    """Return the line that says most: of Java's many that of the innermost cause, else the first."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    inner = [line.removeprefix(": ") for line in lines if line.startswith(": ")]  # py4j: what the call was, then this
    return [*inner, *causes][-1] if causes or inner else lines[0]


def _columns(grid: Grid) -> list[list[Any]]:
    rows = [(query, doc, float(number)) for query, group in grid.items() for doc, number in group.items()]
    return [[row[place] for row in rows] for place in range(3)]


def _by_types(files: list[str], types: Callable[[str], Mapping[str, Any]]) -> list[list[str]]:
    """Return the files in groups that have the same columns of the same types."""
    alike: dict[frozenset[tuple[str, Any]], list[str]] = {}
    for file in files if len(files) > 1 else ():
        alike.setdefault(frozenset(types(file).items()), []).append(file)
    return list(alike.values()) or [files]


class _DuckDB(Session):
    name = "duckdb"

    def _read(self, found: Dataset) -> Any:  # noqa: ANN401  (DuckDB's)
        from glob import escape  # noqa: PLC0415  (only here)

        literal = ", ".join(quoted_text(file if found.is_address else escape(file)) for file in found.files)
        # by name: a float in a later file would be rounded where the first one has whole numbers
        options = f"union_by_name = {found.is_address or len(found.files) > 1}"
        as_text = "hive_types_autocast = false"  # where it names a query, 01 is not a number
        if found.is_address:  # DuckDB sees by itself whether there are folders of that kind
            self._refuse_lakes(found.path)
            return self.native.sql(f"FROM read_parquet([{literal}], {options}, {as_text})")
        plain = self.native.sql(f"FROM read_parquet([{literal}], {options}, hive_partitioning = false)")
        if not found.added_columns(plain.columns):
            return plain
        return self.native.sql(f"FROM read_parquet([{literal}], {options}, {as_text}, hive_partitioning = true)")

    def _refuse_lakes(self, address: str) -> None:
        folder = re.split(r"/[^/]*[*?\[]", address.rstrip("/"), maxsplit=1)[0]
        if folder.endswith(SUFFIXES) or not address.startswith(_LISTED):
            return
        for sign, kind in LAKES.items():
            inside = f"{folder}/{sign}" if "." in sign[1:] else f"{folder}/{sign}/*"
            if self.native.execute("SELECT 1 FROM glob(?) LIMIT 1", [inside]).fetchall():
                raise lake_error(address, folder, kind)

    def table(self, grid: Grid, value: str) -> Any:  # noqa: ANN401  (DuckDB's)
        kinds = {"query_id": "VARCHAR", "doc_id": "VARCHAR", value: "DOUBLE"}
        unnested = ", ".join(f"unnest(?::{kind}[]) AS {name}" for name, kind in kinds.items())
        name = f"read_{value}_{id(grid)}"
        self.native.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT {unnested}", _columns(grid))
        return self.native.table(name)

    def computed(self, table: Any) -> Any:  # noqa: ANN401  (DuckDB's)
        table.create("computed_values")
        return self.native.table("computed_values")

    def write(self, table: Any, folder: Path, by: str | None) -> None:  # noqa: ANN401  (DuckDB's)
        if by is None:
            folder.mkdir()
            table.write_parquet(str(folder / "part-0.parquet"))
        else:
            table.write_parquet(str(folder), partition_by=[by])


class _Polars(Session):
    name = "polars"

    def _read(self, found: Dataset) -> Any:  # noqa: ANN401  (a LazyFrame)
        scan, text = self.native.scan_parquet, self.native.String
        if found.is_address:
            return scan(found.path)

        # looked at now, so that a file that cannot be read is blamed, not the two tables together
        def schema(file: str) -> Any:  # noqa: ANN401  (Polars')
            return scan(file, glob=False, hive_partitioning=False).collect_schema()

        own = schema(found.files[0])
        added = dict.fromkeys(found.added_columns(own), text)  # where it names a query, 01 is not a number
        options = {"hive_partitioning": bool(added), "hive_schema": added or None, "extra_columns": "ignore"}
        alike = _by_types(found.files, schema)
        tables = [scan(files, glob=False, **options) for files in alike]
        return tables[0] if len(tables) == 1 else self.native.concat(tables, how="diagonal_relaxed")

    def table(self, grid: Grid, value: str) -> Any:  # noqa: ANN401  (a LazyFrame)
        text, number = self.native.String, self.native.Float64
        names = ("query_id", "doc_id", value)
        schema = dict(zip(names, (text, text, number), strict=True))
        return self.native.LazyFrame(dict(zip(names, _columns(grid), strict=True)), schema=schema)

    def computed(self, table: Any) -> Any:  # noqa: ANN401  (LazyFrames)
        return table.collect().lazy()

    def write(self, table: Any, folder: Path, by: str | None) -> None:  # noqa: ANN401  (a LazyFrame)
        folder.mkdir()
        into = folder / "part-0.parquet" if by is None else folder
        table.collect().write_parquet(into, partition_by=None if by is None else [by])


class _Spark(Session):
    name = "spark"

    def _read(self, found: Dataset) -> Any:  # noqa: ANN401  (a DataFrame)
        reader = self.native.read
        if found.is_address:
            return reader.parquet(found.path)
        files = [re.sub(r"([*?\[\]{}\\])", r"\\\1", os.path.abspath(file)) for file in found.files]  # noqa: PTH100  (as text)
        if found.partitions and found.added_columns(reader.parquet(files[0]).columns):
            reader = reader.option("basePath", found.base)
        escaped = dict(zip(found.files, files, strict=True))
        schema = require("pyarrow.parquet", extra="spark").read_schema
        alike = _by_types(found.files, lambda file: {field.name: str(field.type) for field in schema(file)})
        first, *others = [reader.parquet(*[escaped[file] for file in those]) for those in alike]
        for other in others:  # a whole number beside a float becomes one
            first = first.unionByName(other, allowMissingColumns=True)
        return first

    def table(self, grid: Grid, value: str) -> Any:  # noqa: ANN401  (a DataFrame)
        rows = list(zip(*_columns(grid), strict=True))
        return self.native.createDataFrame(rows, f"query_id string, doc_id string, {value} double")

    def computed(self, table: Any) -> Any:  # noqa: ANN401  (DataFrames)
        return table.persist()

    def write(self, table: Any, folder: Path, by: str | None) -> None:  # noqa: ANN401  (a DataFrame)
        writer = table.write if by is None else table.write.partitionBy(by)
        writer.parquet(str(folder))
        rows, there = table.count(), self.native.read.parquet(str(folder)).count()
        if rows != there:  # workers write on their own machines unless the folder is on all of them
            msg = f"{there:,} of {rows:,} rows are there; with several machines a folder must be one that all share"
            raise InputError(msg, path=folder)


def opened(
    engine: str, *, master: str | None = None, memory_limit: str | None = None
) -> AbstractContextManager[Session]:
    """Open an engine and close it again; its files for what does not fit into memory vanish with it."""
    check_choice("engine", engine, ENGINES)
    if master is not None and engine != "spark":
        raise ParamError(f"--master is for --engine spark; {engine} runs on this machine")
    limit = None if memory_limit is None else bytes_of(memory_limit)
    return _spark(master, limit) if engine == "spark" else {"duckdb": _duckdb, "polars": _polars}[engine](limit)


@contextmanager
def _polars(limit: int | None) -> Iterator[Session]:
    if limit is not None:
        raise ParamError("Polars has no memory limit; --engine duckdb has one, and spills to disk")
    polars = require("polars", extra="tables")
    errors = polars.exceptions
    yield _Polars(polars, (errors.PolarsError, errors.PanicException, OSError))


@contextmanager
def _duckdb(limit: int | None) -> Iterator[Session]:
    duckdb = require("duckdb", extra="tables")
    import tempfile  # noqa: PLC0415  (slow to import, for those who evaluate nothing here)

    with tempfile.TemporaryDirectory(prefix="permed-measures-") as folder, connected(duckdb) as connection:
        connection.execute(f"SET temp_directory = {quoted_text(folder)}")
        connection.execute("SET preserve_insertion_order = false")
        if limit is not None:
            connection.execute(f"SET memory_limit = '{limit}B'")
        # RuntimeError: a name in a damaged file that is no text
        yield _DuckDB(connection, (duckdb.Error, RuntimeError))


@contextmanager
def _spark(master: str | None, limit: int | None) -> Iterator[Session]:
    sql = require("pyspark.sql", extra="spark")
    errors: tuple[type[Exception], ...] = (require("pyspark.errors", extra="spark").PySparkException,)
    builder = sql.SparkSession.builder.appName("permed-measures")
    if master is not None and master.startswith("sc://"):
        if limit is not None:
            raise ParamError("--memory-limit is not for Spark Connect: the server has its own")
        builder = builder.remote(master)
    else:
        errors = (*errors, require("py4j.protocol", extra="spark").Py4JError)
        builder = builder.master(master or "local[*]").config("spark.ui.enabled", False)
        builder = builder.config("spark.ui.showConsoleProgress", False)
        # where each column was written down is for notebooks; asking takes longer than planning
        builder = builder.config("spark.python.sql.dataFrameDebugging.enabled", False)
        if master is None or master.startswith("local"):  # 200 by default: for clusters
            builder = builder.config("spark.sql.shuffle.partitions", 2 * (os.cpu_count() or 1))
        if limit is not None:
            builder = builder.config("spark.driver.memory", f"{max(1, limit // 2**20)}m")
    at_start: tuple[type[Exception], ...] = (*errors, RuntimeError, OSError)
    try:
        session = builder.getOrCreate()
    except at_start as error:
        cause = _cause(error)
        java = ". It needs Java 17 or newer on this machine, or --master sc://HOST" if "JAVA" in cause.upper() else ""
        raise HostError(f"Spark does not start: {cause}{java}") from error
    try:
        # where it names a query, 01 is not a number
        session.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
        yield _Spark(session, errors)
    finally:
        session.stop()
