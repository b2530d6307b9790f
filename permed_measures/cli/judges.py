"""``permed-measures judges``: do an LLM and people agree, and which queries to give to people."""

from collections.abc import Sequence
from typing import Any

import click

from permed_measures.cli._formats import form_for, qrels_in, report_options, run_in
from permed_measures.comparison import run_name
from permed_measures.errors import ParamError
from permed_measures.evaluate.groups import read_pairs
from permed_measures.files import read_qrels
from permed_measures.files.output import write_or_print, write_whole
from permed_measures.judges import sample_queries


def _maps(given: Sequence[str], names: Sequence[str]) -> dict[str, str] | str | None:
    """Return {judge: mapping}, or the one mapping of all judges."""
    named = {}
    for text in given:
        name, mark, scale = text.partition("=")
        if not mark and len(given) == 1:
            return text
        if name not in names or not mark:
            raise ParamError(f"--map {text!r}: with several give each as NAME=…; the judges are {', '.join(names)}")
        named[name] = scale
    return named or None


@click.command(short_help="Compare an LLM's grades with people's; draw queries for people to judge.")
@click.argument("human", type=click.Path(dir_okay=False))
@click.argument("judges", nargs=-1, type=click.Path(dir_okay=False))
@click.option(
    "--map", "maps", multiple=True, metavar="[NAME=]4:1,8:2|same", help="How a judge's grades become people's."
)
@click.option("--runs", multiple=True, metavar="RUN", help="Do the judges order these systems alike? Give two or more.")
@click.option("-m", "--measures", multiple=True, metavar="MEASURES", help="For --runs.  [default: nDCG@10]")
@click.option("--group", metavar="conversation|turn|REGEX|FILE", help="Also by group of queries.")
@click.option("--cluster", metavar="conversation|REGEX|FILE", help="Queries that are one independent unit.")
@click.option("--worst", type=click.IntRange(0), default=10, help="So many of the worst disagreements.")
@click.option("--texts", multiple=True, metavar="FILE", help="Texts of queries and documents: id, tab, text.")
@click.option("--alpha", type=float, default=0.05, help="1 minus the level of intervals.")
@click.option("--sample", type=click.IntRange(1), metavar="N", help="Instead: draw N queries of the one file given.")
@click.option("--seed", type=click.IntRange(0), default=0, help="Of the draws.")
@click.option("--html", metavar="FILE", help="Also write one self-contained page with heat maps.")
@report_options
def command(*, human: str, judges: Sequence[str], **options: Any) -> None:  # noqa: ANN401  (those of agreement)
    r"""Compare people's grades (HUMAN) with those of JUDGES, qrels files all, on the documents that both judged.

    Kappas, Krippendorff's alpha and the mean over-rating have intervals that draw queries. Scales that differ (0 to 10
    against 0 to 2) need --map. To correct means for a judge's errors see eval --human.

    \b
    Examples:
      permed-measures judges people.txt llm.txt
      permed-measures judges llm.txt --sample 50 --seed 1 -o for-people.txt
      permed-measures judges people.txt llm.jsonl --map 4:1,8:2 --runs bm25.run --runs dense.run --html judges.html
    """
    sample, html, output = (options.pop(name) for name in ("sample", "html", "output"))
    form = options.pop("form")
    if sample is not None:
        if judges:
            raise ParamError(f"--sample draws from one file; {len(judges) + 1} are given: name the judge's alone")
        drawn = sample_queries(read_qrels(human), sample, seed=options["seed"], cluster=options["cluster"])
        write_or_print(output, "".join(f"{query}\n" for query in drawn))
        return
    from permed_measures.judges import agreement  # noqa: PLC0415  (the tool starts fast)

    names = [run_name(path, path) for path in judges]
    options |= {"names": names, "mapping": _maps(options.pop("maps"), names)}
    options["texts"] = {key: text for path in options["texts"] for key, text in read_pairs(path).items()}
    options["runs"] = {run_name(path, path): run_in(path) for path in options["runs"]}
    options["measures"] = list(options["measures"]) or "nDCG@10"
    result = agreement(qrels_in(human), *map(qrels_in, judges), **options)
    if html is not None:
        write_whole(html, result.to_html())
    write_or_print(output, result.render(form_for(output, form)))
