"""``permed-measures plan``: how many queries a difference needs."""

from typing import Any

import click

from permed_measures.cli import _formats
from permed_measures.comparison.planning import plan
from permed_measures.files.output import write_or_print


@click.command(short_help="How many queries a difference needs, and what these can show.")
@click.argument("qrels", required=False, type=click.Path())
@click.argument("baseline", required=False, type=click.Path())
@click.argument("run", required=False, type=click.Path())
@_formats.measures_options
@click.option("--sd", type=float, metavar="X", help="The standard deviation of differences, instead of runs.")
@click.option("--difference", type=float, default=0.01, metavar="X", help="The one to be shown.")
@click.option("--queries", type=click.IntRange(1), metavar="N", help="What would so many queries show?")
@_formats.cluster_option
@click.option("--comparisons", type=click.IntRange(1), metavar="N", help="How many are corrected for.")
@_formats.relevance_option
@click.option("--alpha", type=float, default=0.05, help="The level of the test.")
@_formats.format_options
@_formats.report_options
def command(*, qrels: str | None, baseline: str | None, run: str | None, **options: Any) -> None:  # noqa: ANN401  (those of plan)
    r"""Say what difference queries can show, and how many queries a difference needs.

    The spread of differences is taken from two runs that are like those to come, or given.

    \b
    Examples:
      permed-measures plan qrels.jsonl retrieved.jsonl reranked.jsonl --difference 0.01
      permed-measures plan qrels.txt a.run b.run -m 'nDCG@10 AP' --queries 500 --cluster conversation
      permed-measures plan --sd 0.2 --difference 0.02 --comparisons 6
    """
    _formats.default_profile(options)
    form, output = _formats.report_of(options)
    judged, runs = qrels and _formats.qrels_in(qrels), [path and _formats.run_in(path) for path in (baseline, run)]
    write_or_print(output, plan(judged, *runs, **options).render(form))
