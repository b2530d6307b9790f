"""Output: files are written whole, or not at all; what is printed is printed as it is."""

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from permed_measures.errors import InputError, visible

_STDOUT = ("-", "/dev/stdout")


def print_whole(content: str) -> None:
    """Print a text as it is: click takes escape sequences out, and then an id is not that of the file."""
    sys.stdout.write(content)
    sys.stdout.flush()


def print_note(note: str) -> None:
    """Print a line on stderr, for people."""
    sys.stderr.write(visible(note) + "\n")


def print_notes(notes: Iterable[str]) -> None:
    """Print notes on stderr."""
    for note in notes:
        print_note(f"note: {note}")


def write_or_print(path: str | None, content: str) -> None:
    """Write a report into a file, or print it where there is none."""
    if path is None:
        print_whole(content)
    else:
        write_whole(path, content)


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write a file so that nobody ever sees half of it: an error or Ctrl-C leaves what was there before.

    A device or a pipe is written to as it is, the file behind a link is replaced, and ``-`` is standard output.
    """
    target = Path(path)
    if not str(path) or target.is_dir():
        raise InputError("cannot write there: it is a folder; name a file", path=path)
    data = content.encode(errors="backslashreplace") if isinstance(content, str) else content
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


def check_new_folder(path: str | Path) -> Path:
    """Return a folder that is to be written; InputError where something is there, or where no folder can be."""
    target = Path(path)
    if "://" in str(path):
        msg = "an address; a folder is written here: write the table that evaluate_tables() returns there in Python"
        raise InputError(msg, path=path)
    if not target.name or target.is_file() or (target.is_dir() and any(target.iterdir())):
        raise InputError("something is there already; name a new folder, or remove it", path=path)
    return target


@contextmanager
def whole_folder(path: str | Path) -> Iterator[Path]:
    """Yield a place beside a folder; what is written there is the folder once all of it is, else nothing is left."""
    target = check_new_folder(path)
    try:
        target.absolute().parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.absolute().parent, prefix=f".{target.name}.") as name:
            yield Path(name) / "whole"
            (Path(name) / "whole").replace(target)
    except OSError as error:
        raise InputError(f"cannot write there: {error.strerror}", path=target) from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
