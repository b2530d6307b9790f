"""A file as bytes: decompressed, without a byte order mark, whole or in blocks of whole lines."""

import io
import os
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, Any, cast

from permed_measures.errors import InputError, require
from permed_measures.files.packings import LONGEST_MAGIC, PACKINGS, BrokenZstdError, Unzstd, unpacked_name

BLOCK = 1 << 15  # what its lines are split into stays in the processor's cache: twice as fast as 1 << 20


_BOM = b"\xef\xbb\xbf"
_SHOWN = 80
_PIECE = 1 << 17  # what is unpacked and copied stays in the processor's cache: a tenth faster than 1 << 20
_HELD_OF_PIPE = 8 << 20
_HELD = 64 << 20
_RATIO = 100  # what has to be held in memory at once may be so many times the size of its gzip file: text makes 3 to 30


STDIN = "-"  # the path that means standard input; a file of that name is written ./- or given as a Path


class Source(PathLike[str]):
    """A file to read, or a pipe, which can be read once and is kept. Every failure is an InputError that names it.

    It is a path, with what somebody said of its rows: their format, the columns of query, document and number, and
    what a second row of one query and document means.
    """

    form: str | None = None
    columns: Sequence[str] | None = None
    duplicates: str = "error"
    dropped: int = 0  # how many rows of a query and document were left out because another counts

    def __init__(
        self,
        path: str | PathLike[str],
        form: str | None = None,
        columns: Sequence[str] | None = None,
        duplicates: str = "error",
    ) -> None:
        self.form, self.columns, self.duplicates = form, columns, duplicates
        self.path = Path(fspath(path))
        self._kept: Path | bytes = self.path
        if not fspath(path):
            raise InputError("the name of a file is empty: is a variable of the shell not set?")
        try:
            if path == STDIN:
                start = self._keep(_standard_input())
            else:
                with self.path.open("rb") as file:
                    start = file.read(LONGEST_MAGIC) if self.path.is_file() else self._keep(file)
        except (OSError, ValueError) as error:  # ValueError: a NUL in the name
            raise self._unreadable(error) from error
        self.packing = next((name for name, packing in PACKINGS.items() if start.startswith(packing.magic)), None)

    @classmethod
    def of(cls, path: str | PathLike[str], **said: Any) -> "Source":  # noqa: ANN401  (what __init__ takes)
        """Return a path as a source; one that is a source already stays what it is."""
        return path if isinstance(path, Source) else cls(path, **said)

    def __fspath__(self) -> str:
        return str(self.path)

    def _keep(self, pipe: IO[bytes]) -> bytes:
        """Keep what comes from a pipe: in memory, or on disk where it is much."""
        start = self._kept = pipe.read(_HELD_OF_PIPE)
        if len(start) == _HELD_OF_PIPE:
            self._file = NamedTemporaryFile(prefix="permed-measures-")  # noqa: SIM115  (lives as long as this)
            self._file.write(start)
            copy(pipe, self._file)
            self._file.flush()
            self._kept = Path(self._file.name)
        return start

    @property
    def suffix(self) -> str:
        """The last suffix, in lower case, that of a packing left out."""
        return Path(unpacked_name(self.path.name.lower())).suffix

    @property
    def size(self) -> int:
        """Bytes, as they are packed."""
        return len(self._kept) if isinstance(self._kept, bytes) else self._kept.stat().st_size

    @property
    def is_pipe(self) -> bool:
        """Whether it could be read but once."""
        return self._kept is not self.path

    @property
    def on_disk(self) -> Path | None:
        """Where its bytes are; None where they are in memory."""
        return self._kept if isinstance(self._kept, Path) and self._kept.is_file() else None

    def _unreadable(self, error: Exception) -> InputError:
        return InputError(f"cannot be read: {getattr(error, 'strerror', None) or error}", path=self.path)

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open the content, unpacked."""
        try:
            with self._kept.open("rb") if isinstance(self._kept, Path) else io.BytesIO(self._kept) as plain:
                if self.packing is None:
                    yield plain
                else:
                    with self._unpacked(plain) as file:
                        yield file
        except OSError as error:
            raise self._unreadable(error) from error

    @contextmanager
    def _unpacked(self, plain: IO[bytes]) -> Iterator[IO[bytes]]:
        module = PACKINGS[self.packing or ""].module
        unpacking = require(module, extra="cli").open(plain) if module else io.BufferedReader(Unzstd(plain), _PIECE)
        broken = getattr(sys.modules.get("lzma"), "LZMAError", EOFError)
        try:
            with unpacking as file:
                yield file
        except (EOFError, zlib.error, broken, BrokenZstdError) as error:
            raise self.error(f"a broken {self.packing} file: {error}") from error
        except OSError as error:  # as gzip and bzip2 say it, without a number
            if error.errno is not None:
                raise
            raise self.error(f"a broken {self.packing} file: {error}") from error

    @contextmanager
    def reading(self) -> Iterator[int | Callable[[int], bytes]]:
        """Give the content without a byte order mark: a file descriptor, or a function that unpacks the next bytes."""
        with self.open() as file:
            skipped = len(_BOM) if file.read(len(_BOM)) == _BOM else 0
        with self.open() as file:
            file.read(skipped)
            if self.packing is None and self.on_disk is not None:
                os.lseek(file.fileno(), skipped, os.SEEK_SET)
                yield file.fileno()
            else:
                yield cast("io.BufferedReader", file).read1

    def head(self, size: int = 1 << 16) -> bytes:
        """Return the first bytes."""
        with self.open() as file:
            return file.read(size).removeprefix(_BOM)

    def content(self) -> bytes:
        """Return all of it."""
        with self.open() as file:
            if self.packing is None:
                return file.read().removeprefix(_BOM)
            data = bytearray()
            while piece := file.read(_PIECE):
                data += piece
                self._check_held(len(data))
            return bytes(data).removeprefix(_BOM)

    def _check_held(self, held: int) -> None:
        """Refuse a packed file that blows up in memory: it would take far more than its size tells."""
        if self.packing is not None and held > max(_HELD, _RATIO * self.size):
            how = f"more than {held >> 20} MB in {self.size:,} bytes of {self.packing}"
            raise self.error(f"{how}; if that is meant, unpack it first: {PACKINGS[self.packing].unpacker}")

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
            raise self.error(f"not UTF-8: byte {data[error.start]:#04x}", at) from None

    def error(self, message: str, line: int | None = None) -> InputError:
        """Make the error for this file."""
        return InputError(message, path=self.path, line=line)


class Excerpt(Source):
    """Some lines of a file, which errors know by the numbers that they have there."""

    def __init__(self, source: Source, lines: Sequence[tuple[int, bytes]]) -> None:
        self.path = source.path
        self.form, self.columns, self.duplicates = source.form, source.columns, source.duplicates
        self.packing = None
        self._numbers = [number for number, _ in lines]
        self._kept = b"\n".join(line for _, line in lines)

    def error(self, message: str, line: int | None = None) -> InputError:
        """Make the error for the whole file."""
        return super().error(message, None if line is None else self._numbers[line - 1])


def copy(file: IO[bytes], into: IO[bytes]) -> None:
    """Write the rest of one file into another."""
    while piece := file.read(_PIECE):
        into.write(piece)


def _standard_input() -> IO[bytes]:
    if sys.stdin is None:
        raise ValueError("standard input is closed")
    return sys.stdin.buffer


def shown(line: str | bytes) -> str:
    """Return a line as a message shows it: quoted, and cut where it is long."""
    text = line.decode(errors="replace") if isinstance(line, bytes) else line
    text = text.strip("\r\n")
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")
