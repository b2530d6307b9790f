"""Parquet as people have it: one file, a folder, a pattern, an address; and what its folders are named for."""

from __future__ import annotations

import glob
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from permed_measures.errors import InputError
from permed_measures.files import parquet

_HEAD = 4
"""Bytes that tell parquet."""
_NO_DATA = "._"
"""What starts so is not data: _SUCCESS, _temporary, .crc."""


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
    elif Path(path).is_dir():
        files = _inside(Path(path))
    else:
        above = _above_pattern(path)
        found = map(Path, glob.glob(path, recursive=True))  # noqa: PTH207  (a pattern as in the shell, absolute or not)
        files = [file for place in found if _is_data(place, above) for file in _inside(place)]
    if not files:
        what = "the folder holds no .parquet file" if Path(path).is_dir() else "no file matches"
        raise InputError(what, path=path)
    return Dataset(path, sorted(set(files)), _partitions(files))


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
