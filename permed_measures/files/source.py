"""A file as bytes: decompressed, without a byte order mark, whole or in blocks of whole lines."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import IO

from permed_measures.errors import InputError

BLOCK = 1 << 15  # what its lines are split into stays in the processor's cache: twice as fast as 1 << 20
_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_SHOWN = 80
_PIECE = 1 << 20
_HELD = 64 << 20
_RATIO = 100
"""What has to be held in memory at once may be so many times the size of its gzip file: text makes 3 to 30."""


STDIN = "-"
"""What stands for standard input; a file of that name is written ./- or given as a Path."""


class Source:
    """A file to read, or a pipe, which is read into memory. Every failure is an InputError that names it."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(fspath(path))
        self._piped: bytes | None = None
        if not fspath(path):
            msg = "the name of a file is empty: is a variable of the shell not set?"
            raise InputError(msg)
        try:
            if path == STDIN:
                self._piped = start = _standard_input()
                self.is_gzip = start.startswith(_GZIP)
                return
            with self.path.open("rb") as file:
                if self.path.is_file():
                    start = file.read(len(_GZIP))
                else:  # a pipe can be read once
                    self._piped = start = file.read()
        except (OSError, ValueError) as error:  # ValueError: a NUL in the name
            raise self._unreadable(error) from error
        self.is_gzip = start.startswith(_GZIP)

    @property
    def suffix(self) -> str:
        """The last suffix, in lower case, ``.gz`` left out."""
        return Path(self.path.name.lower().removesuffix(".gz")).suffix

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return self.path.stat().st_size if self._piped is None else len(self._piped)

    @property
    def is_pipe(self) -> bool:
        """Whether it can be read but once, and is in memory."""
        return self._piped is not None

    def _unreadable(self, error: Exception) -> InputError:
        return InputError(f"cannot be read: {getattr(error, 'strerror', None) or error}", path=self.path)

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open the content, decompressed."""
        try:
            with self.path.open("rb") if self._piped is None else io.BytesIO(self._piped) as plain:
                if not self.is_gzip:
                    yield plain
                else:
                    with self._unpacked(plain) as file:
                        yield file
        except OSError as error:
            raise self._unreadable(error) from error

    @contextmanager
    def _unpacked(self, plain: IO[bytes]) -> Iterator[IO[bytes]]:
        import gzip  # noqa: PLC0415  (for those who read such files)
        import zlib  # noqa: PLC0415  (likewise)

        try:
            with gzip.GzipFile(fileobj=plain) as file:
                yield file  # type: ignore[misc]  # a GzipFile is read like any other binary file
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(f"a broken gzip file: {error}", path=self.path) from error

    def head(self, size: int = 1 << 16) -> bytes:
        """Return the first bytes."""
        with self.open() as file:
            return file.read(size).removeprefix(_BOM)

    def content(self) -> bytes:
        """Return all of it."""
        with self.open() as file:
            if not self.is_gzip:
                return file.read().removeprefix(_BOM)
            data = bytearray()
            while piece := file.read(_PIECE):
                data += piece
                self._check_held(len(data))
            return bytes(data).removeprefix(_BOM)

    def _check_held(self, held: int) -> None:
        """Refuse a gzip file that blows up in memory: it would take far more than its size tells."""
        if self.is_gzip and held > max(_HELD, _RATIO * self.size):
            msg = f"more than {held >> 20} MB in {self.size:,} bytes of gzip; if that is meant, unpack it first: gunzip"
            raise InputError(msg, path=self.path)

    def text(self) -> str:
        """Return all of it as text."""
        return self.decode(self.content(), 1)

    def blocks(self, size: int = BLOCK) -> Iterator[tuple[int, bytes]]:
        """Yield (number of its first line, whole lines without the last line feed)."""
        line = 1
        rest = b""
        with self.open() as file:
            data = file.read(size).removeprefix(_BOM)
            while data:
                whole, feed, rest = (rest + data).rpartition(b"\n")
                if feed:
                    yield line, whole
                    line += whole.count(b"\n") + 1
                self._check_held(len(rest))
                data = file.read(max(size, len(rest)))  # a long line is not copied once for every block
        if rest:
            yield line, rest

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield the number and the text of every line that is not blank."""
        for first, block in self.blocks():
            for number, line in enumerate(self.decode(block, first).split("\n"), first):
                if line.strip():
                    yield number, line

    def decode(self, data: bytes, line: int) -> str:
        """Decode UTF-8; ``line`` is the number of the first line of the data."""
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            at = line + data.count(b"\n", 0, error.start)
            raise InputError(f"not UTF-8: byte {data[error.start]:#04x}", path=self.path, line=at) from None

    def error(self, message: str, line: int | None = None) -> InputError:
        """Make the error for this file."""
        return InputError(message, path=self.path, line=line)


def _standard_input() -> bytes:
    if sys.stdin is None:
        msg = "standard input is closed"
        raise ValueError(msg)
    return sys.stdin.buffer.read()


def shown(line: str | bytes) -> str:
    """Return a line as a message shows it: quoted, and cut where it is long."""
    text = line.decode(errors="replace") if isinstance(line, bytes) else line
    text = text.strip("\r\n")
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")
