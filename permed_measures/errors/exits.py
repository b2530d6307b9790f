"""How the shell tool ends when it cannot go on: a message on stderr, and an exit code.

0 it worked or holds; 1 a gate or a check does not hold, which no exception ever means; 2 wrong input, parameters or
surroundings; 3 could not tell; 4 a fault of ours; 130 interrupted. The package imports this module first: when the
process is the shell tool, what happens while the rest is imported ends it in the same way.
"""

import os
import sys
from contextlib import suppress
from types import TracebackType
from typing import IO

from permed_measures.errors import HostError, InputError, ParamError, visible

WRONG, FAULT, INTERRUPTED = 2, 4, 130

_EXHAUSTED = ("out of memory", "cannot allocate memory", "failed to map segment", "can't start new thread")
"""What Python, the system and DuckDB say when memory or threads run out."""


def end(error: BaseException) -> int:
    """Say on stderr what has happened, and return the exit code."""
    if isinstance(error, KeyboardInterrupt):
        say("\npermed-measures: interrupted\n")
        return INTERRUPTED
    if isinstance(error, BrokenPipeError):  # the reader of our output, head for one, has seen enough
        drop_output()
        return 0
    if isinstance(error, (InputError, ParamError, HostError)):
        say(f"permed-measures: {error}\n")
        return WRONG
    if _is_exhausted(error):
        say(
            f"permed-measures: memory or threads ran out ({type(error).__name__}: {error}); raise the limits "
            "(ulimit -v, ulimit -u, those of a container), or evaluate less at once\n"
        )
        return WRONG
    if isinstance(error, OSError):  # reading fails with an InputError: this is a full disk, or the like
        drop_output()
        what = "cannot write the output" if error.filename is None else error.filename
        say(f"permed-measures: {what}: {error.strerror or error}\n")
        return WRONG
    _report(error)
    return FAULT


def say(message: str) -> None:
    """Write to stderr; where that is what cannot be written, the exit code alone must say it."""
    try:
        sys.stderr.write("\n".join(map(visible, message.split("\n"))))
        sys.stderr.flush()
    except OSError:
        drop_output(sys.stderr)


def drop_output(stream: IO[str] | None = None) -> None:
    """Keep Python from trying again, when it ends, to write what could not be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), (stream or sys.stdout).fileno())


def _is_exhausted(error: BaseException | None) -> bool:
    """Whether memory or threads ran out, here or where the error comes from."""
    while error is not None:
        if isinstance(error, MemoryError) or any(words in str(error).lower() for words in _EXHAUSTED):
            return True
        error = error.__cause__ or error.__context__
    return False


def _report(error: BaseException) -> None:
    import platform  # noqa: PLC0415  (only for a fault)
    import shlex  # noqa: PLC0415  (as above)
    import traceback  # noqa: PLC0415  (as above)

    version = getattr(sys.modules.get("permed_measures"), "__version__", "of unknown version")
    say("".join(traceback.format_exception(type(error), error, error.__traceback__)))
    say(
        "permed-measures: this is a fault of permed-measures. Please report it, with the lines above and these:\n"
        f"  command: {shlex.join(sys.orig_argv)}\n"
        f"  version: permed-measures {version}, Python {platform.python_version()}, {platform.platform()}\n"
    )


def _is_tool() -> bool:
    """Whether this process was started as ``permed-measures`` or ``python -m permed_measures``."""
    started = sys.argv[0] if sys.argv else ""
    if started != "-m":  # so it is called while Python looks for the module
        return os.path.basename(started).partition(".")[0] == "permed-measures"  # noqa: PTH119  (pathlib is slow to load)
    return "permed_measures" in sys.orig_argv or "-mpermed_measures" in sys.orig_argv


def _end_process(_: type[BaseException], error: BaseException, __: TracebackType | None) -> None:
    code = end(error)
    with suppress(OSError, ValueError):
        sys.stdout.flush()
    os._exit(code)


if _is_tool():
    sys.excepthook = _end_process
