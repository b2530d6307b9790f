"""The shell tool ``permed-measures``: one file per command, found by itself, imported only when it is used.

A command file holds a function ``command`` made with click. Exit codes: 0 it worked, 1 a gate or a check did not hold,
2 the input or the options are wrong, 3 it could not be told, 130 it was interrupted.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pkgutil import iter_modules

from permed_measures.errors import HostError, InputError, ParamError, require

_NAMES = {"eval_run": "eval"}
"""Files whose command has a name that is a builtin of Python."""

_SELDOM = 100_000
"""New objects from which on Python looks for garbage."""

_GROUP_OPTIONS = ("-h", "--help", "--version")


def command_files() -> dict[str, str]:
    """Return the file of each command by the command's name."""
    names = [module.name for module in iter_modules(__path__) if not module.name.startswith("_")]
    return {_NAMES.get(name, name).replace("_", "-"): name for name in names}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the tool; errors we raise on purpose become one message and exit code 2."""
    if arguments is None:  # a process of its own: what is loaded stays, and collecting garbage took a tenth of the time
        gc.freeze()
        gc.set_threshold(_SELDOM)
    given = list(sys.argv[1:] if arguments is None else arguments)
    _open_closed_streams()
    try:
        sys.exit(_run(given))
    except (InputError, ParamError, HostError) as error:
        _say(f"permed-measures: {error}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        _say("\npermed-measures: interrupted\n")
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output, head for one, has seen enough
        _drop_output()
        sys.exit(0)
    except OSError as error:  # reading fails with an InputError: this is a full disk, or the like
        _drop_output()
        what = "cannot write the output" if error.filename is None else error.filename
        _say(f"permed-measures: {what}: {error.strerror}\n")
        sys.exit(2)


def _say(message: str) -> None:
    """Write to stderr; where that is what cannot be written, the exit code alone must say it."""
    with suppress(OSError):
        sys.stderr.write(message)


@contextmanager
def verdict_shown() -> Iterator[None]:
    """Print what leads to an exit code, which stays the same when the reader of the output has seen enough."""
    try:
        yield
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as error:
        if BrokenPipeError not in (type(error), type(error.__context__)):  # rich makes an exit of it
            raise
        _drop_output()


def _drop_output() -> None:
    """Keep Python from trying again, when it ends, to write what could not be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _open_closed_streams() -> None:
    """Let a tool that was started without output or errors (>&-) write to nowhere."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115  (for the life of the tool)


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
