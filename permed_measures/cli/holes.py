"""``permed-measures holes``: what a judge should look at first."""

from collections.abc import Sequence
from typing import Any

import click

from permed_measures.cli import _formats
from permed_measures.files.output import print_notes, write_or_print
from permed_measures.render.document import of_table
from permed_measures.render.result import written
from permed_measures.render.words import counted


@click.command(short_help="List unjudged documents for a judge, those that runs disagree on most first.")
@click.argument("qrels", type=click.Path())
@click.argument("runs", nargs=-1, required=True, metavar="RUN [RUN …]", type=click.Path())
@click.option("--depth", type=click.IntRange(1), default=10, help="How deep to look.")
@click.option("--most", type=click.IntRange(1), metavar="N", help="The first N only.")
@_formats.texts_options
@_formats.order_option
@_formats.format_options
@click.option("-o", "--output", metavar="FILE", help="Write .csv or .jsonl instead of printing CSV.")
def command(*, qrels: str, runs: Sequence[str], most: int | None, output: str | None, **options: Any) -> None:  # noqa: ANN401  (those of holes, and texts)
    r"""List the unjudged documents in the top of any RUN, for judged queries.

    First come those on which a judgement can move the difference of two runs most: the spread of 1 / log2(rank + 1)
    over the runs, 0 where a run does not have the document. Fill in the column 'relevance', delete what is not judged:
    the file is then one of qrels.

    \b
    Examples:
      permed-measures holes qrels.txt bm25.run dense.run --depth 20 -o for-judges.csv
      permed-measures holes qrels.tsv *.run --most 100 --texts queries.jsonl --documents corpus.jsonl -o holes.csv
    """
    from permed_measures.comparison.tops import holes, holes_table  # noqa: PLC0415  (the tool starts fast)

    form = _formats.form_by_suffix(output, ("csv", "jsonl"))
    _formats.check_targets(click.get_current_context())
    sources = _formats.runs_in(runs)
    texts, documents = options.pop("texts"), options.pop("documents")
    found = holes(_formats.qrels_in(qrels), sources, **options)
    table = holes_table(found[:most], list(sources), texts, documents)
    write_or_print(output, written(of_table(table), "jsonl" if form == "jsonl" else "csv"))
    queries = len({hole.query_id for hole in found})
    shown = "" if most is None or most >= len(found) else f", the first {most:,} of them written"
    some = counted(len(found), "unjudged document")
    where = counted(queries, "judged query", "judged queries")
    print_notes([*table.below, f"{some} in the top {options['depth']} of {where}{shown}"])
