"""The shell tool ``permed-measures``: one file per command, found by itself, imported only when it is used.

A command file holds a function ``command`` made with click. Exit codes: 0 it worked, 1 a gate or a check did not hold,
2 the input or the options are wrong, 130 it was interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pkgutil import iter_modules

from permed_measures.errors import HostError, InputError, ParamError, require

_NAMES = {"eval_run": "eval"}
"""Files whose command has a name that is a builtin of Python."""

_GROUP_OPTIONS = ("-h", "--help", "--version")


def command_files() -> dict[str, str]:
    """Return the file of each command by the command's name."""
    names = [module.name for module in iter_modules(__path__) if not module.name.startswith("_")]
    return {_NAMES.get(name, name).replace("_", "-"): name for name in names}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the tool; errors we raise on purpose become one message and exit code 2."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        sys.exit(_run(given))
    except (InputError, ParamError, HostError) as error:
        sys.stderr.write(f"permed-measures: {error}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.stderr.write("\npermed-measures: interrupted\n")
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output, head for one, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


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
