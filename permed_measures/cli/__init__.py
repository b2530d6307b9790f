"""The shell tool ``permed-measures``: one file per command, found by itself, imported only when it is used.

A command file holds a function ``command`` made with click. Exit codes: 0 it worked, 1 a gate or a check did not hold,
2 the input or the options are wrong.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pkgutil import iter_modules

import click

import permed_measures
from permed_measures.errors import HostError, InputError, ParamError

_NAMES = {"eval_run": "eval"}
"""Files whose command has a name that is a builtin of Python."""


class Commands(click.Group):
    """The commands of this folder."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  (click's signature)
        """Return the names of all commands."""
        return sorted(_files())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        files = _files()
        if cmd_name not in files:
            ctx.fail(f"no command {cmd_name!r}; there are {', '.join(sorted(files))}")
        command: click.Command = import_module(f"{__name__}.{files[cmd_name]}").command
        return command


def _files() -> dict[str, str]:
    names = [module.name for module in iter_modules(__path__) if not module.name.startswith("_")]
    return {_NAMES.get(name, name).replace("_", "-"): name for name in names}


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog='Shell completion: eval "$(_PERMED_MEASURES_COMPLETE=bash_source permed-measures)" (or zsh_, fish_).',
)
@click.version_option(permed_measures.__version__, prog_name="permed-measures")
def group() -> None:
    r"""Evaluate rankings: graded-weight MAP, coverage, nDCG and the rest, every convention by its own name.

    \b
    permed-measures eval QRELS RUN                    the measures of the profile "permed"
    permed-measures eval QRELS RUN -m "GWAP@10 P@1"   measures of your choice
    permed-measures compare QRELS BASELINE RUN        with intervals, tests and a report
    permed-measures demo                              an example to look at
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the tool; errors we raise on purpose become one message and exit code 2."""
    try:
        group.main(args=arguments, prog_name="permed-measures")
    except (InputError, ParamError, HostError) as error:
        click.echo(f"permed-measures: {error}", err=True)
        sys.exit(2)
    except BrokenPipeError:  # the reader of our output, head for one, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
