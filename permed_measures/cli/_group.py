"""The commands, as click knows them."""

import io
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module

import click

import permed_measures
from permed_measures.cli import command_files
from permed_measures.errors.exits import say

_TASKS = {
    "Compute and compare": "eval compare plan experiment trec_eval",
    "Guard a build": "gate serving bench-reranker",
    "Trust a number": "explain verify judges",
    "Tables and files": "sql convert samples",
    "Look up": "measures profiles demo",
}
_OPTIONS = {
    "What is computed": "measures profile min_relevance queries order ties judged_only interval human mapping map",
    "How it is decided": "cluster groups segments test correction margin all_pairs alpha seed p_imp p_imp_cutoff"
    " comparisons max_drop hard_drop max_drop_since_anchor undecided confident allow_skipped baseline",
    "Input": "qrels_format run_format qrels_columns run_columns duplicates nan_scores engine master memory_limit system"
    " collapse texts documents query_texts log_format from_format to_format what",
    "Output": "form output html save write figure plot columns places percent headings caption label names describe"
    " brief signatures junit_file summary show_queries by_query write_run write_serving write_calls details toml",
}
"""Headings of help, and what belongs under them; whatever is named nowhere comes first, or last of the commands."""


def _readable(command: click.Command) -> click.Command:
    """Put the examples of a raw docstring after its first sentence, not to be wrapped, and options under headings."""
    parts = (command.help or "").replace("\\b\n", "\b\n").split("\n\n")
    examples = [part for part in parts[1:] if part.lstrip("\b \n").startswith("Example")]
    command.help = "\n\n".join([*parts[:1], *examples, *(part for part in parts[1:] if part not in examples)])
    command.format_options = partial(_write_options, command)  # type: ignore[method-assign]  # of any class of command
    return command


def _write_options(command: click.Command, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    options = [param for param in command.get_params(ctx) if isinstance(param, click.Option)]
    records = {str(param.name): param.get_help_record(ctx) for param in options}
    _write(formatter, {name: record for name, record in records.items() if record}, _OPTIONS, "Options")
    if isinstance(command, click.Group):
        command.format_commands(ctx, formatter)


def _write(
    formatter: click.HelpFormatter, rows: Mapping[str, tuple[str, str]], headings: Mapping[str, str], rest: str
) -> None:
    named = {name for names in headings.values() for name in names.split()}
    for heading, names in {rest: " ".join(name for name in rows if name not in named), **headings}.items():
        if found := [rows[name] for name in names.split() if name in rows]:
            with formatter.section(heading):
                formatter.write_dl(found)


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
        return _readable(command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by task."""
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        rows = {name: (name, found.get_short_help_str(100)) for name, found in commands.items() if found}
        _write(formatter, rows, _TASKS, "Other commands")


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110, "show_default": True},
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


_readable(group)


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
