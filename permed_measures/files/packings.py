"""How files are packed: by what a packing is known, and how it is undone; zstd, which Python has from 3.14 on."""

import io
from importlib import import_module
from typing import IO, Any, NamedTuple

from permed_measures.errors import require

_SMALL = 1 << 13  # even where it is made to, it unpacks to no more than 256 MB


class Packing(NamedTuple):
    """A way of packing files: how one starts, what its name ends in, what unpacks it, Python's module for it."""

    magic: bytes
    suffix: str
    unpacker: str
    module: str


PACKINGS = {
    "gzip": Packing(b"\x1f\x8b", ".gz", "gunzip", "gzip"),
    "bzip2": Packing(b"BZh", ".bz2", "bunzip2", "bz2"),
    "xz": Packing(b"\xfd7zXZ\0", ".xz", "unxz", "lzma"),
    "zstd": Packing(b"\x28\xb5\x2f\xfd", ".zst", "unzstd", ""),
}
LONGEST_MAGIC = max(len(packing.magic) for packing in PACKINGS.values())


def unpacked_name(name: str) -> str:
    """Return the name of a file without the suffix of its packing."""
    suffix = next((p.suffix for p in PACKINGS.values() if name.lower().endswith(p.suffix)), "")
    return name[: len(name) - len(suffix)]


def packed(content: bytes, name: str) -> bytes:
    """Pack the content of a file as the suffix of its name says."""
    packing = next((how for how in PACKINGS.values() if name.lower().endswith(how.suffix)), None)
    if packing is None:
        return content
    if not packing.module:
        return _zstd_packed(content)
    fixed = {"mtime": 0} if packing.module == "gzip" else {}
    return bytes(require(packing.module, extra="cli").compress(content, **fixed))


class BrokenZstdError(ValueError):
    """Bytes that are not a whole zstd file."""


class Unzstd(io.RawIOBase):
    """A zstd file unpacked, which may consist of several frames."""

    def __init__(self, packed: IO[bytes]) -> None:
        self._packed = packed
        self._frame: Any = None
        self._made = memoryview(b"")  # a slice of it is no copy: a little may unpack to much

    def readable(self) -> bool:
        """Say that it can be read, which io asks."""
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401  (whatever bytes can be written into)
        """Unpack the next bytes into a buffer, and say how many: 0 at the end."""
        while not self._made:
            at_end = self._frame is None or self._frame.eof
            piece = (self._frame.unused_data if self._frame is not None and at_end else b"") or self._packed.read(
                _SMALL
            )
            if not piece:
                if not at_end:
                    raise BrokenZstdError("it ends too early")
                return 0
            self._frame = _zstd_frame() if at_end else self._frame
            try:
                self._made = memoryview(self._frame.decompress(piece))
            except Exception as error:  # each package has its own, and none has a common base
                raise BrokenZstdError(str(error)) from error
        count = min(len(buffer), len(self._made))
        buffer[:count] = self._made[:count]
        self._made = self._made[count:]
        return count


def _zstd_frame() -> Any:  # noqa: ANN401  (of one package or the other)
    try:
        return import_module("compression.zstd").ZstdDecompressor()  # from Python 3.14 on
    except ImportError:
        return require("zstandard", extra="cli").ZstdDecompressor().decompressobj()


def _zstd_packed(content: bytes) -> bytes:
    try:
        return bytes(import_module("compression.zstd").compress(content))  # from Python 3.14 on
    except ImportError:
        return bytes(require("zstandard", extra="cli").ZstdCompressor().compress(content))
