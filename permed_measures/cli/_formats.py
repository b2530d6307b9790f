"""The options that say how qrels, runs and reports are written, the same for every command that has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from permed_measures.errors import ParamError
from permed_measures.files import formats, parquet, read_qrels, read_run
from permed_measures.ranking import ORDERS
from permed_measures.render.result import FORMATS as REPORTS
from permed_measures.render.result import Format
from permed_measures.tables.datasets import is_parquet

PARQUET = parquet.NAME

CommandT = TypeVar("CommandT", bound=Callable[..., Any])


def format_options(command: CommandT) -> CommandT:
    """Give a command the options --qrels-format and --run-format."""
    for name in ("--run-format", "--qrels-format"):  # click shows first what is added last
        told = "[default: told by content and suffix]"
        command = click.option(name, type=click.Choice(list(formats())), help=told)(command)
    return command


def order_option(command: CommandT) -> CommandT:
    """Give a command the option --order."""
    told = "How precisely scores are compared: as trec_eval 9.0.8 does, or 10.0."
    return click.option("--order", type=click.Choice(ORDERS), default=ORDERS[0], show_default=True, help=told)(command)


class _Report(click.Choice[str]):
    """The format of a report; a text was once called a table."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ANN401  (click's signature)
        return super().convert("text" if value == "table" else value, param, ctx)


def report_option(command: CommandT) -> CommandT:
    """Give a command the option --format, of what it prints."""
    option = click.option("--format", "form", type=_Report(REPORTS), default=REPORTS[0], show_default=True)
    return option(command)


def report_options(command: CommandT) -> CommandT:
    """Give a command the options --format and --output."""
    told = "Write the report there instead of printing it."
    command = click.option("-o", "--output", metavar="FILE", help=told)(command)
    told = f"[default: {REPORTS[0]}, or by FILE's suffix]"
    return click.option("--format", "form", type=_Report(REPORTS), help=told)(command)


_SUFFIXES = {"text": ".txt", "markdown": ".md", "latex": ".tex"}
"""Where the suffix of an output file is not the name of its format."""


def form_for(output: str | None, asked: Format | None) -> Format:
    """Return the format of a report: the one asked for, else that of the file's suffix, else the first.

    >>> form_for("report.md", None), form_for("report", None)
    ('markdown', 'text')
    """
    return asked or cast("Format", form_by_suffix(output, REPORTS, "; or say with --format what it is to hold"))


def form_by_suffix(output: str | None, forms: Sequence[str], otherwise: str = "") -> str:
    """Return the format of the file's suffix, the first where it has none; another suffix is a ParamError."""
    suffix = Path(output or "").suffix.lower()
    known = {_SUFFIXES.get(form, f".{form}"): form for form in forms}
    if suffix and suffix not in known:
        msg = (
            f"-o {output}: the suffix {suffix!r} is none of those that can be written here: {', '.join(known)}; use "
            f"one of these, or a name without a suffix, which gets {forms[0]}{otherwise}"
        )
        raise ParamError(msg)
    return known.get(suffix, forms[0])


def _three_names(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    if value is None:
        return None
    names = tuple(name.strip() for name in value.split(","))
    if len(names) != 3 or not all(names):  # noqa: PLR2004  (query, document, number)
        msg = f"{value!r}: give three names with commas between them, such as query_id,doc_id,score"
        raise click.BadParameter(msg, ctx, param)
    return names


def column_options(told: str, **defaults: str) -> Callable[[CommandT], CommandT]:
    """Give a command the options --qrels-columns and --run-columns."""

    def with_options(command: CommandT) -> CommandT:
        for what in ("run", "qrels"):  # click shows first what is added last
            command = click.option(
                f"--{what}-columns",
                callback=_three_names,
                metavar="Q,D,N",
                default=defaults.get(what),
                show_default=True,
                help=told,
            )(command)
        return command

    return with_options


def qrels_in(path: str, form: str | None) -> Any:  # noqa: ANN401  (a path, or what is read from it)
    """Return the qrels, or their path where the content tells the format."""
    return path if _is_told(path, form) else read_qrels(path, form)


def run_in(path: str, form: str | None) -> Any:  # noqa: ANN401  (as above)
    """Return the run, or its path where the content tells the format: a large file is then read as fast as can be."""
    return path if _is_told(path, form) else read_run(path, form)


def _is_told(path: str, form: str | None) -> bool:
    return form is None or (form == PARQUET and is_parquet(path))
