"""``permed-measures plan``: how many queries a difference needs."""

from collections.abc import Sequence

import click

from permed_measures.cli._formats import form_for, format_options, qrels_in, report_options, run_in
from permed_measures.comparison.planning import plan
from permed_measures.files.output import write_or_print
from permed_measures.render.result import Format


@click.command(short_help="How many queries a difference needs, and what these can show.")
@click.argument("qrels", required=False, type=click.Path())
@click.argument("baseline", required=False, type=click.Path())
@click.argument("run", required=False, type=click.Path())
@click.option("-m", "--measures", multiple=True, metavar="MEASURES", help="Measures, such as 'GWAP@10 P@1'.")
@click.option("--profile", metavar="NAME|FILE.toml", help="A named set of measures.  [default: permed]")
@click.option("--sd", type=float, metavar="X", help="The standard deviation of differences, instead of runs.")
@click.option("--difference", type=float, default=0.01, show_default=True, metavar="X", help="The one to be shown.")
@click.option("--queries", type=click.IntRange(1), metavar="N", help="What would so many queries show?")
@click.option("--cluster", metavar="conversation|REGEX|FILE", help="What is independent, where queries are not.")
@click.option("--comparisons", type=click.IntRange(1), metavar="N", help="How many are corrected for.")
@click.option("--min-relevance", type=float, metavar="X", help="The lowest grade that is relevant.")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="The level of the test.")
@format_options
@report_options
def command(  # noqa: PLR0913  (one parameter per option)
    *,
    qrels: str | None,
    baseline: str | None,
    run: str | None,
    measures: Sequence[str],
    profile: str | None,
    sd: float | None,
    difference: float,
    queries: int | None,
    cluster: str | None,
    comparisons: int | None,
    min_relevance: float | None,
    alpha: float,
    qrels_format: str | None,
    run_format: str | None,
    form: Format | None,
    output: str | None,
) -> None:
    r"""Say what difference queries can show, and how many queries a difference needs.

    The spread of differences is taken from two runs that are like those to come, or given.

    \b
    Examples:
      permed-measures plan qrels.jsonl retrieved.jsonl reranked.jsonl --difference 0.01
      permed-measures plan qrels.txt a.run b.run -m 'nDCG@10 AP' --queries 500 --cluster conversation
      permed-measures plan --sd 0.2 --difference 0.02 --comparisons 6
    """
    if not measures and profile is None:
        profile = "permed"
    result = plan(
        qrels and qrels_in(qrels, qrels_format),
        baseline and run_in(baseline, run_format),
        run and run_in(run, run_format),
        list(measures) or None,
        sd=sd,
        difference=difference,
        queries=queries,
        profile=profile,
        min_relevance=min_relevance,
        cluster=cluster,
        comparisons=comparisons,
        alpha=alpha,
    )
    write_or_print(output, result.render(form_for(output, form)))
