"""``permed-measures sql``: the SQL of an evaluation, for a warehouse."""

from functools import partial
from typing import Any

import click

from permed_measures import tables
from permed_measures.cli import _formats
from permed_measures.files.output import write_or_print
from permed_measures.tables.dialects import DIALECTS, PARSED, RUN

_DIALECTS = "; ".join(
    f"{how}: {', '.join(name for name, known in DIALECTS.items() if known == kind)}"
    for kind, how in ((RUN, "Run by our tests"), (PARSED, "only parsed by them"))
)
_columns = partial(click.option, metavar="Q,D,N", callback=_formats.three_names, help="Query, document, number.")


@click.command(short_help="Print the SQL of an evaluation, for a warehouse.")
@_formats.measures_options
@click.option("--dialect", default="duckdb", help=_DIALECTS)
@click.option(
    "--part",
    type=click.Choice(("values", "means", "check")),
    default="means",
    help="One row per query; one row; or what must find nothing for the others to be right.",
)
@click.option("--qrels", default="qrels", metavar="TABLE", help="Where the judgements are.")
@click.option("--run", default="run", metavar="TABLE", help="Where the scores are.")
@_columns("--qrels-columns", default="query_id,doc_id,relevance")
@_columns("--run-columns", default="query_id,doc_id,score")
@_formats.relevance_option
@_formats.queries_option
@_formats.order_option
@click.option(
    "--duplicates", type=click.Choice(("error", "max")), default="error", help="max: keep the highest of two rows."
)
@click.option("-o", "--output", metavar="FILE", help="Write there instead of printing.")
def command(*, output: str | None, **options: Any) -> None:  # noqa: ANN401  (those of to_sql)
    r"""Print the SQL that computes measures from two tables, in the dialect of a database.

    \b
    Examples:
      permed-measures sql -m 'GWAP@10 nDCG@10' --dialect snowflake
      permed-measures sql --profile llm-judged --dialect bigquery --qrels lake.qrels --run lake.answers
      permed-measures sql --part check --dialect postgres
    """
    _formats.form_by_suffix(output, ("sql", "text"))
    _formats.default_profile(options)
    write_or_print(output, tables.to_sql(**options) + "\n")
