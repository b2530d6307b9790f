"""Parquet as people have it: a file, a folder, a pattern, an address, a Delta table; and what folders are named for."""

import glob
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from permed_measures.errors import InputError, require
from permed_measures.files import parquet

_HEAD = 4
"""Bytes that tell parquet."""
_NO_DATA = "._"
"""What starts so is not data: _SUCCESS, _temporary, .crc."""

LAKES = {
    "_delta_log": "Delta",
    ".hoodie": "Hudi",
    "metadata/*.metadata.json": "Iceberg",
    "metadata/version-hint.text": "Iceberg",
}
"""What is in a table's folder where not every file of it counts: those of earlier versions are still there."""
_HARMLESS = {"timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"}
"""Features of Delta with which a file still is what its rows are."""


class Dataset(NamedTuple):
    """Files that are one table."""

    path: str
    """As it was given."""
    files: list[str]
    partitions: list[str]
    """The columns that the folders of all files name: day and lang, in day=1/lang=en/x.parquet."""

    @property
    def is_address(self) -> bool:
        """Whether it is in a store, where an engine lists the files."""
        return "://" in self.path

    @property
    def base(self) -> str:
        """The folder above those that are named for something."""
        parts = Path(self.files[0]).absolute().parts
        return str(Path(*parts[: next(place for place, part in enumerate(parts) if "=" in part)]))

    def added_columns(self, own: Collection[str]) -> list[str]:
        """Return the columns that folders add to those of the files; a file's own column is not replaced by one."""
        known = {name.casefold() for name in own}
        added = [name for name in self.partitions if name.casefold() not in known]
        both = [name for name in self.partitions if name not in added]
        if added and both:
            msg = f"a folder is named {both[0]}=…, and the files have a column {both[0]!r} too; rename the folder"
            raise InputError(msg, path=self.path)
        return added


def is_parquet(path: str) -> bool:
    """Whether a path names parquet: a file, a folder of such files, a pattern, or an address of a store."""
    if "://" in path:
        return True
    place = Path(path)
    if place.is_file():
        with place.open("rb") as file:
            return parquet.fits(file.read(_HEAD))
    return bool(path) and ((place.is_dir() and not place.joinpath("qrels").is_dir()) or glob.has_magic(path))


def dataset(path: str) -> Dataset:
    """Find the parquet files of a path: itself, those of a folder and its folders, or those that match a pattern."""
    if "://" in path:
        return Dataset(path, [path], [])
    if Path(path).is_file():
        files = [path]
    elif (Path(path) / "_delta_log").is_dir():
        return _delta(path)
    elif Path(path).is_dir():
        _refuse_lakes(path, {Path(path).absolute()})
        files = _inside(Path(path))
    else:
        above = _above_pattern(path)
        found = map(Path, glob.glob(path, recursive=True))  # noqa: PTH207  (a pattern as in the shell, absolute or not)
        files = [file for place in found if _is_data(place, above) for file in _inside(place)]
    if not files:
        what = "the folder holds no .parquet file" if Path(path).is_dir() else "no file matches"
        raise InputError(what, path=path)
    if files != [path]:
        _refuse_lakes(path, {Path(file).absolute().parent for file in files})
    return Dataset(path, sorted(set(files)), _partitions(files))


def _refuse_lakes(path: str, folders: Collection[Path]) -> None:
    """Raise InputError where a folder, or one above it, is a table whose files do not all count."""
    for place in sorted({above for folder in folders for above in (folder, *folder.parents)}):
        for sign, kind in LAKES.items():
            if any(place.glob(sign)):
                raise lake_error(path, str(place), kind)


def lake_error(path: str, folder: str, kind: str) -> InputError:
    """Return the error for files of a table that its own log, not its folder, lists."""
    advice = "give the folder itself, which is read by its log" if kind == "Delta" else "read it with its own reader"
    frame = "give the frame to evaluate_tables(), or write the rows that count as plain parquet"
    msg = f"{folder} is a table of {kind}, whose folder also holds files that count no longer; {advice}, or {frame}"
    return InputError(msg, path=path)


def _delta(path: str) -> Dataset:
    """Read in its log which files are a Delta table."""
    deltalake = require("deltalake", extra="delta")
    try:
        table = deltalake.DeltaTable(path)
        protocol, metadata = table.protocol(), table.metadata()
        names = list(map(unquote, table.get_add_actions(flatten=True)["path"].to_pylist()))
    except deltalake.exceptions.DeltaError as error:
        raise InputError(f"not readable as a Delta table: {str(error).splitlines()[0]}", path=path) from error
    mapped = metadata.configuration.get("delta.columnMapping.mode", "none") != "none"
    features = set(protocol.reader_features or ()) - _HARMLESS - (set() if mapped else {"columnMapping"})
    files = [str(Path(path, name)) for name in names]
    partitions = _partitions(names)
    if (
        mapped
        or features
        or partitions != list(metadata.partition_columns)
        or not all(map(Path.is_file, map(Path, files)))
    ):
        what = ", ".join(sorted(features | ({"columnMapping"} if mapped else set()))) or "files elsewhere"
        msg = (
            f"a Delta table with {what}, so its files are not its rows; give evaluate_tables() a frame of a reader that"
        )
        raise InputError(f"{msg} knows them (polars.scan_delta, Spark)", path=path)
    if not files:
        raise InputError("the Delta table has no rows", path=path)
    return Dataset(path, sorted(files), partitions)


def _above_pattern(path: str) -> Path:
    parts = Path(path).parts
    return Path(*parts[: next(place for place, part in enumerate(parts) if glob.has_magic(part))])


def _is_data(place: Path, above: Path) -> bool:
    """Whether nothing between a folder and a place in it is what engines leave beside their files."""
    return not any(part[0] in _NO_DATA for part in place.relative_to(above).parts)


def _inside(place: Path) -> list[str]:
    """Return a file, or the parquet files of a folder and its folders."""
    if place.is_file():
        return [str(place)]
    inside = [file for suffix in parquet.SUFFIXES for file in place.rglob(f"*{suffix}") if file.is_file()]
    return [str(file) for file in inside if _is_data(file, place)]


def _partitions(files: Collection[str]) -> list[str]:
    named = {tuple(part.partition("=")[0] for part in Path(file).parts[:-1] if "=" in part) for file in files}
    return list(named.pop()) if len(named) == 1 else []
