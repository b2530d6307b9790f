"""``permed-measures explain``: which convention produced this number."""

from typing import Any

import click

from permed_measures.cli._formats import allow_only, format_options, qrels_in, report_of, report_options, run_in
from permed_measures.errors import ParamError
from permed_measures.files.output import write_or_print, write_whole
from permed_measures.render.result import written


@click.command(short_help="Say which convention produced a number, or how two numbers differ.")
@click.argument("qrels", type=click.Path())
@click.argument("run", required=False, type=click.Path())
@click.option("--value", metavar="NUMBER", help="The value to explain, with the decimals it is printed with.")
@click.option(
    "--about", metavar="NAME", help="What it is called: map@10, ndcg@10, recall@5, precision@5, mrr@10, hit@1."
)
@click.option("--decimals", type=click.IntRange(0, 17), help="How many decimals count.  [default: those written]")
@click.option("--a", metavar="TOOL:NAME|MEASURE|NUMBER", help="Walk from here …")
@click.option("--b", metavar="TOOL:NAME|MEASURE|NUMBER", help="… to here, one convention at a time.")
@click.option("--conventions", is_flag=True, help="The same run under every convention of the family.")
@click.option("--all", "all_values", is_flag=True, help="List every value of the family in the text, too.")
@format_options
@click.option("--html", metavar="FILE", help="Also write one self-contained page with the plots.")
@report_options
def command(*, qrels: str, run: str | None, conventions: bool, **options: Any) -> None:  # noqa: ANN401  (those of explain)
    r"""Say which conventions give a number on this run, and which tools and papers use them.

    One name is used for many measures: gain, ideal, denominator, threshold, ties, score precision, query set and more
    are left open. Every combination is computed; those that give the value are named, the plainest first.

    With a signature (of --format json) instead of files, its conditions in words; with two, where they differ.

    \b
    Examples:
      permed-measures explain qrels.txt bm25.run --value 0.5357 --about map@10
      permed-measures explain qrels.txt bm25.run --a trec_eval:map_cut_10 --b sklearn:ndcg@10 --html walk.html
      permed-measures explain qrels.txt bm25.run --a 0.0299 --b 0.4820 --about map@10
      permed-measures explain qrels.txt bm25.run --about ndcg@10 --conventions
      permed-measures explain 'nDCG@10|order:float32|queries:qrels|n:50|…' ['ListNDCG@10|order:…']
    """
    from permed_measures.explanation import explain  # noqa: PLC0415  (the tool starts fast)
    from permed_measures.explanation.signatures import is_signature, read_back  # noqa: PLC0415  (as above)

    form, output = report_of(options)
    all_values, html = options.pop("all_values"), options.pop("html")
    asked = [name for name in ("value", "a", "b") if options[name] is not None]
    if is_signature(qrels):
        allow_only("a signature", "form", "output")
        write_or_print(output, written(read_back(qrels, run), form))
        return
    if run is None:
        raise ParamError("give QRELS and RUN, or a signature")
    if not asked and not conventions:
        raise ParamError("give --value, or --a and --b, or --conventions with --about")
    if options["decimals"] is not None and "value" not in asked:
        raise ParamError("--decimals says how many of --value count: give --value too, or leave it out")
    if conventions and asked:
        raise ParamError("--conventions shows the whole family: leave --value, --a and --b out")
    found = explain(qrels_in(qrels), run_in(run), **options)
    report = found.render(form, all_values=all_values)
    if html is not None:
        write_whole(html, found.to_html())
    write_or_print(output, report)
