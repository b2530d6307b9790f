"""``permed-measures sql``: the SQL of an evaluation, for a warehouse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import click

from permed_measures import tables
from permed_measures.cli._formats import column_options, form_by_suffix, order_option
from permed_measures.files.output import write_or_print
from permed_measures.profiles import PROFILES, QUERY_SETS, QuerySet
from permed_measures.ranking import Order

if TYPE_CHECKING:
    from permed_measures.tables.sql import Part


@click.command(short_help="Print the SQL of an evaluation, for a warehouse.")
@click.option("-m", "--measures", multiple=True, metavar="MEASURES", help="Measures, such as 'GWAP@10 P@1'.")
@click.option("--profile", metavar="NAME|FILE.toml", help=f"{', '.join(PROFILES)}, or a file.  [default: permed]")
@click.option(
    "--dialect", default="duckdb", show_default=True, help="snowflake, bigquery, databricks, postgres, trino …"
)
@click.option(
    "--part",
    type=click.Choice(("values", "means", "check")),
    default="means",
    show_default=True,
    help="One row per query; one row; or what must find nothing for the others to be right.",
)
@click.option("--qrels", default="qrels", show_default=True, metavar="TABLE", help="Where the judgements are.")
@click.option("--run", default="run", show_default=True, metavar="TABLE", help="Where the scores are.")
@column_options("Query, document, number.", qrels="query_id,doc_id,relevance", run="query_id,doc_id,score")
@click.option("--min-relevance", type=float, metavar="X", help="The lowest grade that is relevant.")
@click.option("--queries", type=click.Choice(QUERY_SETS), help="Over which queries means run.")
@order_option
@click.option(
    "--duplicates", type=click.Choice(("error", "max")), default="error", help="max: keep the highest of two rows."
)
@click.option("-o", "--output", metavar="FILE", help="Write there instead of printing.")
def command(  # noqa: PLR0913  (one parameter per option)
    *,
    measures: Sequence[str],
    profile: str | None,
    dialect: str,
    part: Part,
    qrels: str,
    run: str,
    qrels_columns: tuple[str, str, str],
    run_columns: tuple[str, str, str],
    min_relevance: float | None,
    queries: QuerySet | None,
    order: Order,
    duplicates: Literal["error", "max"],
    output: str | None,
) -> None:
    r"""Print the SQL that computes measures from two tables, in the dialect of a database.

    \b
    Examples:
      permed-measures sql -m 'GWAP@10 nDCG@10' --dialect snowflake
      permed-measures sql --profile llm-judged --dialect bigquery --qrels lake.qrels --run lake.answers
      permed-measures sql --part check --dialect postgres
    """
    form_by_suffix(output, ("sql", "text"))
    sql = tables.to_sql(
        list(measures) or None,
        profile=profile if measures or profile else "permed",
        dialect=dialect,
        part=part,
        qrels=qrels,
        run=run,
        qrels_columns=qrels_columns,
        run_columns=run_columns,
        min_relevance=min_relevance,
        queries=queries,
        order=order,
        duplicates=duplicates,
    )
    write_or_print(output, sql + "\n")
