"""``permed-measures query``: one query, document by document."""

from collections.abc import Sequence

import click

from permed_measures.cli import _formats
from permed_measures.ranking import Order
from permed_measures.render.result import Format


@click.command(short_help="Show one query: the documents of every run, and what they gave to the value.")
@click.argument("qrels", type=click.Path())
@click.argument("given", nargs=-1, required=True, metavar="RUN [RUN …] ID")
@_formats.measures_options
@click.option("--depth", type=click.IntRange(1), default=10, show_default=True, help="So many documents of each run.")
@_formats.texts_options
@_formats.relevance_option
@_formats.order_option
@_formats.format_options
@_formats.layout_options
@_formats.report_options
def command(  # noqa: PLR0913  (one parameter per option)
    *,
    qrels: str,
    given: Sequence[str],
    measures: Sequence[str],
    profile: str | None,
    depth: int,
    texts: str | None,
    documents: str | None,
    min_relevance: float | None,
    order: Order,
    qrels_format: str | None,
    run_format: str | None,
    form: Format | None,
    output: str | None,
) -> None:
    r"""Show the query ID: the first documents of every RUN with grades, ranks, and the working of the measures.

    A measure's column is what it gains by a document after those above it, or loses; it adds up to the value. Below
    the first documents, those that change a value are listed too.

    \b
    Examples:
      permed-measures query qrels.txt bm25.run dense.run 42 -m 'nDCG@10 AP'
      permed-measures query qrels.tsv bm25.run 42 --texts queries.jsonl --documents corpus.jsonl.gz
    """
    from permed_measures.comparison import run_name  # noqa: PLC0415  (the tool starts fast)
    from permed_measures.comparison.one_query import one_query  # noqa: PLC0415  (as above)
    from permed_measures.errors import ParamError  # noqa: PLC0415  (as above)
    from permed_measures.files.output import print_note  # noqa: PLC0415  (as above)

    *paths, query_id = given
    if not paths:
        raise ParamError(f"give a run and the id of a query after the qrels; given: {', '.join(given)}")
    names = [run_name(path, path) for path in paths]
    names = names if len(set(names)) == len(names) else [f"{n}: {path}" for n, path in enumerate(paths, 1)]
    form = _formats.form_for(output, form)
    found = one_query(
        _formats.qrels_in(qrels, qrels_format),
        {name: _formats.run_in(path, run_format) for name, path in zip(names, paths, strict=True)},
        query_id,
        list(measures) or None,
        profile=profile if measures or profile else "permed",
        min_relevance=min_relevance,
        order=order,
        depth=depth,
        texts=texts,
        documents=documents,
    )
    _formats.show(found, form, output)
    for note in found.notes:
        print_note(f"note: {note}")
