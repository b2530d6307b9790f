"""``permed-measures query``: one query, document by document."""

from collections.abc import Sequence
from typing import Any

import click

from permed_measures.cli import _formats
from permed_measures.errors import ParamError
from permed_measures.files.output import print_notes


@click.command(short_help="Show one query: the documents of every run, and what they gave to the value.")
@click.argument("qrels", type=click.Path())
@click.argument("given", nargs=-1, required=True, metavar="RUN [RUN …] ID")
@_formats.measures_options
@click.option("--depth", type=click.IntRange(1), default=10, help="So many documents of each run.")
@_formats.texts_options
@_formats.relevance_option
@_formats.order_option
@_formats.format_options
@_formats.layout_options
@_formats.report_options
def command(*, qrels: str, given: Sequence[str], **options: Any) -> None:  # noqa: ANN401  (those of one_query)
    r"""Show the query ID: the first documents of every RUN with grades, ranks, and the working of the measures.

    A measure's column is what it gains by a document after those above it, or loses; it adds up to the value. Below
    the first documents, those that change a value are listed too.

    \b
    Examples:
      permed-measures query qrels.txt bm25.run dense.run 42 -m 'nDCG@10 AP'
      permed-measures query qrels.tsv bm25.run 42 --texts queries.jsonl --documents corpus.jsonl.gz
    """
    from permed_measures.comparison.one_query import one_query  # noqa: PLC0415  (the tool starts fast)

    *paths, query_id = given
    if not paths:
        raise ParamError(f"give a run and the id of a query after the qrels; given: {', '.join(given)}")
    form, output = _formats.report_of(options)
    _formats.default_profile(options)
    found = one_query(_formats.qrels_in(qrels), _formats.runs_in(paths), query_id, **options)
    _formats.show(found, form, output)
    print_notes(found.notes)
