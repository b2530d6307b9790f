"""Output files: written whole, or not at all."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from permed_measures.errors import InputError

_STDOUT = ("-", "/dev/stdout")


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write a file so that nobody ever sees half of it: an error or Ctrl-C leaves what was there before.

    A device or a pipe is written to as it is, the file behind a link is replaced, and ``-`` is standard output.
    """
    target = Path(path)
    if not str(path) or target.is_dir():
        msg = "cannot write there: it is a folder; name a file"
        raise InputError(msg, path=path)
    data = content.encode() if isinstance(content, str) else content
    if path in _STDOUT:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
        return
    try:
        if target.exists() and not target.is_file():
            with target.open("wb") as stream:
                stream.write(data)
            return
    except OSError as error:
        raise InputError(f"cannot write there: {error.strerror}", path=target) from error
    if target.is_symlink():
        target = target.resolve()
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise InputError(f"cannot write there: {error.strerror}", path=target) from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        Path(name).chmod(mode)
        Path(name).replace(target)
    except OSError as error:
        Path(name).unlink(missing_ok=True)
        raise InputError(f"cannot write there: {error.strerror}", path=target) from error
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
