"""The shell tool ``permed-measures``: one file per command, which no list names, imported only when it is used.

A command file holds a function ``command`` made with click. Exit codes: 0 it worked or holds, 1 a gate or a check does
not hold, 2 the input, the options or the surroundings are wrong, 3 it could not tell, 4 a fault of ours, 130 it was
interrupted.
"""

import gc
import io
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from mmap import mmap
from pkgutil import iter_modules

from permed_measures.errors import require
from permed_measures.errors.exits import drop_output, end

_SELDOM = 100_000  # new objects from which on Python looks for garbage

_ROOM = 160 << 20
_GROUP_OPTIONS = ("-h", "--help", "--version")


class _Room:
    """Looks for room before a library is loaded whose OpenBLAS, where there is none, ends the process with 1."""

    def find_spec(self, name: str, *_: object) -> None:
        """Raise MemoryError where there is too little; finding the module is left to others."""
        if name in ("numpy", "scipy.linalg"):
            try:
                mmap(-1, _ROOM).close()
            except OSError:
                raise MemoryError(f"no room to load {name}") from None


def command_files() -> dict[str, str]:
    """Return the file of each command by the command's name."""
    names = [module.name for module in iter_modules(__path__) if not module.name.startswith("_")]
    return {name if name == "trec_eval" else name.replace("_", "-"): name for name in names}  # that is how it is called


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the tool and end the process; no exception leaves it."""
    if arguments is None:  # a process of its own: what is loaded stays, and collecting garbage took a tenth of the time
        gc.freeze()
        gc.set_threshold(_SELDOM)
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # nothing here multiplies large matrices
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # what schedulers send leaves no files behind either
        sys.meta_path.insert(0, _Room())
    given = list(sys.argv[1:] if arguments is None else arguments)
    with _mended_streams():
        try:
            sys.exit(_run(given))
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  (what nobody expected has an exit code of its own)
            sys.exit(end(error))


@contextmanager
def verdict_shown() -> Iterator[None]:
    """Print what leads to an exit code, which stays the same when the reader of the output has seen enough."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        drop_output()


@contextmanager
def _mended_streams() -> Iterator[None]:
    """Let a tool that was started without output or errors (>&-) write to nowhere, and let no write stop halfway."""
    with ExitStack() as undo:  # the streams are a caller's, where Python calls this
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            undo.callback(setattr, sys, name, stream)
            if stream is None:
                setattr(sys, name, undo.enter_context(open(os.devnull, "w", encoding="utf-8")))  # noqa: PTH123  (pathlib is slow to load)
            elif isinstance(getattr(stream, "buffer", None), io.RawIOBase):
                # PYTHONUNBUFFERED: a short write is no error
                whole = io.BufferedWriter(stream.buffer)
                setattr(sys, name, io.TextIOWrapper(whole, stream.encoding, stream.errors, line_buffering=True))
                undo.callback(whole.detach)  # or the caller's stream would be closed with it
                undo.callback(getattr(sys, name).detach)
        if isinstance(sys.stdout, io.TextIOWrapper):
            undo.callback(sys.stdout.reconfigure, errors=sys.stdout.errors)
            sys.stdout.reconfigure(errors="backslashreplace")  # of a file's name, or where output is not UTF-8
        yield


def _run(arguments: Sequence[str]) -> int:
    commands = command_files()
    if arguments and arguments[0] not in commands and arguments[0] not in _GROUP_OPTIONS:
        from permed_measures.cli import _ir_measures_form  # noqa: PLC0415  (the other form needs other things)

        _ir_measures_form.run(arguments, sorted(commands))
        sys.stdout.flush()  # a closed pipe is noticed here, not when Python ends
        return 0
    require("click", extra="cli")
    from permed_measures.cli._group import run  # noqa: PLC0415  (click is an extra)

    code = run(arguments)
    sys.stdout.flush()
    return code
