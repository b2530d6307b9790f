"""``permed-measures gate``: a check for CI."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from permed_measures.cli import verdict_shown
from permed_measures.cli._formats import format_options, order_option, qrels_in, report_option, run_in
from permed_measures.comparison import CORRECTIONS, TESTS, Correction, PairedTest, run_name
from permed_measures.files.output import print_whole, write_whole
from permed_measures.gating import gate, junit, read_serving
from permed_measures.profiles import QUERY_SETS, QuerySet
from permed_measures.ranking import Order
from permed_measures.render.result import Format


@click.command(short_help="Check conditions on a run; exit 1 when one does not hold.")
@click.argument("qrels", type=click.Path(dir_okay=False))
@click.argument("run", type=click.Path(dir_okay=False))
@click.argument("conditions", nargs=-1)
@click.option("--profile", metavar="NAME|FILE.toml", help="Display names; its targets when no condition is given.")
@click.option("--baseline", metavar="RUN", help="Also check that no measure drops against this run.")
@click.option("--max-drop", type=float, metavar="X", help="With --baseline: the drop that is allowed.  [default: 0]")
@click.option("--serving", metavar="FILE", help='Serving figures, one JSON object: {"p95_ms": 310, …}.')
@click.option("--junit", "junit_file", metavar="FILE", help="Also write JUnit XML for the CI system.")
@click.option("--min-relevance", type=float, metavar="X", help="The lowest grade that is relevant.")
@click.option("--queries", type=click.Choice(QUERY_SETS), help="Over which queries means run.")
@order_option
@click.option("--test", type=click.Choice(TESTS), default="auto", show_default=True, help="The paired test for drops.")
@click.option("--correction", type=click.Choice(list(CORRECTIONS)), default="holm", show_default=True)
@click.option("--alpha", type=float, default=0.05, show_default=True, help="The level of the test.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of all draws.")
@format_options
@report_option
def command(  # noqa: PLR0913  (one parameter per option)
    *,
    qrels: str,
    run: str,
    conditions: Sequence[str],
    profile: str | None,
    baseline: str | None,
    max_drop: float | None,
    serving: str | None,
    junit_file: str | None,
    min_relevance: float | None,
    queries: QuerySet | None,
    order: Order,
    test: PairedTest,
    correction: Correction,
    alpha: float,
    seed: int,
    qrels_format: str | None,
    run_format: str | None,
    form: Format,
) -> None:
    r"""Check CONDITIONS on the means of a RUN: measure, one of >= <= == > <, number. Quote them: the shell knows > too.

    Exit code 0: all hold. 1: one does not. 2: the input is wrong. With a baseline, a drop counts only if it is greater
    than --max-drop and the paired test supports it, so that chance does not break the build.

    \b
    Examples:
      permed-measures gate qrels.txt run.trec 'nDCG@10>=0.85' 'P@5>=0.8'
      permed-measures gate qrels.txt new.trec 'nDCG@10>=0.8' --baseline old.trec --max-drop 0.01
      permed-measures gate qrels.txt run.trec 'RR>=0.8' --serving serving.json 'p95_ms<=500' --junit gate.xml
      permed-measures gate qrels.txt run.trec --profile rerank
      permed-measures gate qrels.txt run.trec 'P@5>=0.8' --format json
    """
    result = gate(
        qrels_in(qrels, qrels_format),
        run_in(run, run_format),
        conditions,
        profile=profile,
        baseline=None if baseline is None else run_in(baseline, run_format),
        max_drop=max_drop,
        serving=None if serving is None else read_serving(serving),
        min_relevance=min_relevance,
        queries=queries,
        order=order,
        test=test,
        correction=correction,
        alpha=alpha,
        seed=seed,
        run_name=run_name(run, run),
    )
    if junit_file is not None:
        write_whole(junit_file, junit(result))
    with verdict_shown():
        print_whole(result.render(form))
    sys.exit(0 if result.held else 1)
