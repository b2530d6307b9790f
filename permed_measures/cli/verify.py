"""``permed-measures verify``: our values against every installed reference, on the user's data."""

import sys
from collections.abc import Sequence

import click

from permed_measures.cli import verdict_shown
from permed_measures.cli._formats import (
    format_options,
    measures_options,
    qrels_in,
    relevance_option,
    report_option,
    run_in,
)
from permed_measures.files.output import print_whole
from permed_measures.render.result import Format
from permed_measures.verification import DIFFERS, HOLDS, NOT_CONFIRMED, verify


@click.command(short_help="Check our values against other implementations, on your data.")
@click.argument("qrels", type=click.Path())
@click.argument("run", type=click.Path())
@measures_options
@relevance_option
@format_options
@report_option
def command(  # noqa: PLR0913  (one parameter per option)
    *,
    qrels: str,
    run: str,
    measures: Sequence[str],
    profile: str | None,
    min_relevance: float | None,
    form: Format,
    qrels_format: str | None,
    run_format: str | None,
) -> None:
    r"""Compute the measures with every reference that is installed, and compare with ours, query by query.

    The references: pytrec_eval, ir_measures' own providers (gdeval where there is Perl), ranx, scikit-learn, and the
    definitions written out by hand. Exit code 1 when one differs from us without a known reason; 3 when a measure is
    confirmed by none, or only by the program that computes it for us. A tie, or scores that are equal as 32-bit floats,
    is such a reason only where the reference agrees once the ties are taken away.

    \b
    Examples:
      permed-measures verify qrels.txt bm25.run
      permed-measures verify qrels.txt bm25.run -m 'GWAP@10 nDCG@10' --format markdown
      permed-measures verify judged.csv run.json --profile llm-judged --format json
    """
    result = verify(
        qrels_in(qrels, qrels_format),
        run_in(run, run_format),
        list(measures) or None,
        profile=profile if measures or profile else "permed",
        min_relevance=min_relevance,
    )
    with verdict_shown():
        print_whole(result.render(form))
    sys.exit({HOLDS: 0, DIFFERS: 1, NOT_CONFIRMED: 3}[result.outcome])
