"""The commands, as click knows them."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from importlib import import_module

import click

import permed_measures
from permed_measures.cli import command_files
from permed_measures.errors.exits import say


def _unraw(command: click.Command) -> click.Command:
    """Make the mark for lines that are not to be wrapped out of what a raw docstring has in its place."""
    command.help = (command.help or "").replace("\\b\n", "\b\n")
    return command


class Commands(click.Group):
    """The commands of this folder."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  (click's signature)
        """Return the names of all commands."""
        return sorted(command_files())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        files = command_files()
        if cmd_name not in files:
            return None
        command: click.Command = import_module(f"permed_measures.cli.{files[cmd_name]}").command
        if ctx.resilient_parsing:  # the shell asks what may come next
            from permed_measures.cli._completion import complete  # noqa: PLC0415  (only then)

            complete(command)
        return _unraw(command)


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="""\b
    Shell completion, for a start file of bash (zsh: zsh_source; fish: fish_source, into source):
      eval "$(_PERMED_MEASURES_COMPLETE=bash_source permed-measures)"
    """,
)
@click.version_option(
    permed_measures.__version__,
    prog_name="permed-measures",
    message=f"%(prog)s, version %(version)s, {'with' if permed_measures.compiled() else 'without'} its compiled part",
)
def group() -> None:
    r"""Evaluate rankings: graded-weight MAP, coverage, nDCG and the rest, every convention by its own name.

    \b
    permed-measures eval QRELS RUN                    the measures of the profile "permed"
    permed-measures eval QRELS RUN -m "GWAP@10 P@1"   measures of your choice
    permed-measures compare QRELS BASELINE RUN        with intervals, tests and a report
    permed-measures demo                              an example to look at
    permed-measures QRELS RUN 'GWAP@10 P@1' -q        the form of the ir_measures command
    """


_unraw(group)


def run(arguments: Sequence[str]) -> int:
    """Run a command and return the exit code."""
    stdout = sys.stdout
    try:
        code = group.main(args=list(arguments), prog_name="permed-measures", standalone_mode=False)
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        say(shown.getvalue())
        return error.exit_code
    except click.Abort:
        raise KeyboardInterrupt from None
    except SystemExit as end:
        if sys.stdout is stdout:
            raise
        sys.stdout = stdout  # click has replaced it because the pipe is closed
        raise BrokenPipeError from end
    return code if isinstance(code, int) else 0
