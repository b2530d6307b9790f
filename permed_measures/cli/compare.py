"""``permed-measures compare``: runs against a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from permed_measures.cli._formats import (
    form_for,
    format_options,
    order_option,
    qrels_in,
    report_options,
    run_in,
)
from permed_measures.comparison import CORRECTIONS, TESTS, Correction, PairedTest, compare, run_name
from permed_measures.comparison.groups import read_pairs
from permed_measures.errors import ParamError
from permed_measures.files.output import write_or_print, write_whole
from permed_measures.profiles import QUERY_SETS, QuerySet
from permed_measures.ranking import Order
from permed_measures.render.progress import progress
from permed_measures.render.result import Format


@click.command(short_help="Compare runs with a baseline: changes, intervals, tests, a report.")
@click.argument("qrels", type=click.Path(dir_okay=False))
@click.argument("baseline", type=click.Path(dir_okay=False))
@click.argument("runs", nargs=-1, required=True, type=click.Path(dir_okay=False))
@click.option("-m", "--measures", multiple=True, metavar="MEASURES", help="Measures, such as 'GWAP@10 P@1'.")
@click.option("--profile", metavar="NAME|FILE.toml", help="A named set of measures.  [default: permed]")
@click.option("--name", "names", multiple=True, help="The name of the baseline, of the first run, … in the tables.")
@click.option("--describe", metavar="FILE", help="Descriptions of runs: name, tab, text on each line, or JSON.")
@click.option("--group", "groups", metavar="turn|conversation|REGEX|FILE", help="Break the table down by query.")
@click.option("--cluster", metavar="conversation|REGEX|FILE", help="What is independent, where queries are not.")
@click.option(
    "--test",
    type=click.Choice(TESTS),
    default="auto",
    show_default=True,
    help="The test that decides; auto: exact sign flips up to 20 queries or clusters, above that t.",
)
@click.option(
    "--correction",
    type=click.Choice(list(CORRECTIONS)),
    default="holm",
    show_default=True,
    help="For the number of comparisons: Holm, Benjamini-Hochberg, none.",
)
@click.option(
    "--margin", type=float, metavar="X", help="A difference that does not matter: what stays in it is equivalent."
)
@click.option("--all-pairs", is_flag=True, help="Also compare every run with every other one: letters, who is first.")
@click.option("--min-relevance", type=float, metavar="X", help="The lowest grade that is relevant.")
@click.option("--queries", type=click.Choice(QUERY_SETS), help="Over which queries means run.")
@order_option
@click.option("--p-imp-cutoff", type=click.IntRange(1), metavar="K", help="How deep P-imp looks.")
@click.option("--p-imp/--no-p-imp", default=True, help="With P-imp, the share of pairs put right.  [default: with]")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="The level of tests and intervals.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of drawn sign flips.")
@format_options
@click.option("--brief", is_flag=True, help="Only the table of means and the definitions.")
@click.option("--html", metavar="FILE", help="Also write one self-contained page.")
@report_options
def command(  # noqa: PLR0913  (one parameter per option)
    *,
    qrels: str,
    baseline: str,
    runs: Sequence[str],
    measures: Sequence[str],
    profile: str | None,
    names: Sequence[str],
    describe: str | None,
    groups: str | None,
    cluster: str | None,
    test: PairedTest,
    correction: Correction,
    margin: float | None,
    all_pairs: bool,
    min_relevance: float | None,
    queries: QuerySet | None,
    order: Order,
    p_imp_cutoff: int | None,
    p_imp: bool,
    alpha: float,
    seed: int,
    qrels_format: str | None,
    run_format: str | None,
    form: Format | None,
    brief: bool,
    html: str | None,
    output: str | None,
) -> None:
    r"""Compare RUNS with the BASELINE, query by query.

    For each measure: means, the change and the gain (its share of the baseline's mean) with an interval, a paired
    test, a correction for their number, wins, ties and losses, the effect size, P-imp, and what can be concluded.
    Turns of one conversation are not independent: give --cluster conversation.

    \b
    Examples:
      permed-measures compare qrels.jsonl retrieved.jsonl profile_query.jsonl query_only.jsonl
      permed-measures compare qrels.jsonl retrieved.jsonl reranked.jsonl --html report.html
      permed-measures compare qrels.txt bm25.run dense.run -m 'nDCG@10 AP' --test randomization
      permed-measures compare qrels.jsonl a.jsonl b.jsonl c.jsonl --cluster conversation --all-pairs
      permed-measures compare qrels.jsonl a.jsonl b.jsonl --margin 0.02
      permed-measures compare qrels.jsonl a.jsonl b.jsonl --group turn --format csv -o by_turn.csv
      permed-measures compare qrels.jsonl no_long.jsonl no_sequential.jsonl no_working.jsonl \
          --describe descriptions.tsv --brief --format markdown
    """
    if not measures and profile is None:
        profile = "permed"
    form = form_for(output, form)
    sources = _named([baseline, *runs], names)
    first, *others = sources
    with progress("reading") as step:
        comparison = compare(
            qrels_in(qrels, qrels_format),
            run_in(baseline, run_format),
            {name: run_in(sources[name], run_format) for name in others},
            list(measures) or None,
            profile=profile,
            min_relevance=min_relevance,
            queries=queries,
            order=order,
            test=test,
            correction=correction,
            groups=groups,
            cluster=cluster,
            margin=margin,
            all_pairs=all_pairs,
            p_imp=p_imp,
            seed=seed,
            alpha=alpha,
            p_imp_cutoff=p_imp_cutoff,
            baseline_name=first,
            descriptions=None if describe is None else _descriptions(describe, list(sources)),
            progress=step,
        )
    report = comparison.render(form, brief=brief)
    if html is not None:
        write_whole(html, comparison.to_html())
    write_or_print(output, report)


def _named(paths: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    if len(names) > len(paths):
        raise ParamError(f"{len(names)} names for {len(paths)} runs, the baseline included")
    chosen = [*names, *(run_name(path, path) for path in paths[len(names) :])]
    if len(set(chosen)) < len(chosen):
        # files of one name in several folders: the folder tells them apart
        chosen = [*names, *(str(Path(path).with_suffix("")) for path in paths[len(names) :])]
    again = next((name for name in chosen if chosen.count(name) > 1), None)
    if again is not None:
        raise ParamError(f"two runs are called {again!r}; give each a name with --name, the baseline's first")
    return dict(zip(chosen, paths, strict=True))


def _descriptions(path: str, names: Sequence[str]) -> dict[str, str]:
    """Read the descriptions of these runs; one file may serve several tables."""
    described = {name: text for name, text in read_pairs(path).items() if name in names}
    if not described:
        raise ParamError(f"{path}: none of the runs {', '.join(names)} is described there")
    return described
