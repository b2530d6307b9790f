"""``permed-measures verify``: our values against every installed reference, on the user's data."""

import sys
from typing import Any

import click

from permed_measures.cli import _formats, verdict_shown
from permed_measures.files.output import print_whole
from permed_measures.verification import DIFFERS, HOLDS, NOT_CONFIRMED, verify


@click.command(short_help="Check our values against other implementations, on your data.")
@click.argument("qrels", type=click.Path())
@click.argument("run", type=click.Path())
@_formats.measures_options
@_formats.relevance_option
@_formats.format_options
@_formats.report_option
def command(*, qrels: str, run: str, form: Any, **options: Any) -> None:  # noqa: ANN401  (those of verify)
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
    _formats.default_profile(options)
    result = verify(_formats.qrels_in(qrels), _formats.run_in(run), **options)
    with verdict_shown():
        print_whole(result.render(form))
    sys.exit({HOLDS: 0, DIFFERS: 1, NOT_CONFIRMED: 3}[result.outcome])
