"""permed-measures verify: our values against every installed reference, on the user's data."""

from __future__ import annotations

import sys

import click

from permed_measures.verify import Verification


@click.command()
@click.argument("qrels", type=click.Path())
@click.argument("run", type=click.Path())
@click.option("-p", "--profile", help="The measures of this profile: a name, or a .toml file. [default: permed]")
@click.option("-m", "--measures", multiple=True, help="Measures instead of a profile: 'GWAP@10 P@1'.")
@click.option(
    "--min-relevance", type=float, help="The lowest grade that is relevant, where a measure has such a level."
)
@click.option("--format", "form", type=click.Choice(["table", "json", "markdown"]), default="table", show_default=True)
def command(  # noqa: PLR0913, PLR0917  (click passes one argument per option)
    qrels: str, run: str, profile: str | None, measures: tuple[str, ...], min_relevance: float | None, form: str
) -> None:
    """Check our values against pytrec_eval, ranx, scikit-learn and others, query by query, on your data.

    Exit code 1 when a reference differs and no known reason explains it: 32-bit scores and the order of ties are such
    reasons, and only where the reference agrees once the ties are taken away.
    """
    from permed_measures.errors import ParamError  # noqa: PLC0415  (the tool starts fast)
    from permed_measures.verify import verify  # noqa: PLC0415  (likewise)

    if measures and profile:
        msg = "give either --profile or --measures, not both"
        raise ParamError(msg)
    chosen = None if measures else profile or "permed"
    result = verify(qrels, run, list(measures) or None, profile=chosen, min_relevance=min_relevance)
    if form == "json":
        click.echo(result.to_json())
    elif form == "markdown":
        click.echo(result.to_markdown())
    else:
        _show(result)
    sys.exit(0 if result.holds else 1)


def _show(result: Verification) -> None:
    from rich.console import Console  # noqa: PLC0415  (only for this output)
    from rich.table import Table  # noqa: PLC0415  (likewise)
    from rich.text import Text  # noqa: PLC0415  (likewise)

    table = Table("measure", "reference", "is asked for", "verdict")
    rows, notes = result.rows()
    for row in rows:
        table.add_row(*[Text(cell, overflow="fold") for cell in row])
    console = Console()
    console.print(table)
    for note in notes:
        console.print(Text(note))
    console.print(Text(result.summary))
