"""``permed-measures experiment``: several systems on several data sets, as a TOML file says."""

import click

from permed_measures.cli._formats import allow_only, form_for, layout_options, report_options, show
from permed_measures.comparison.experiment import run_plan
from permed_measures.comparison.experiment.plan import read_plan
from permed_measures.files.output import write_or_print, write_whole
from permed_measures.render.progress import progress
from permed_measures.render.result import FORMATS, Format


@click.command(short_help="Compare systems on several data sets, as a TOML file says.")
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--check", is_flag=True, help="Only check the file, and that everything it names is there.")
@click.option("--save", metavar="FOLDER", help="Also save the values of all queries, a file per data set.")
@layout_options
@report_options
def command(*, file: str, check: bool, save: str | None, form: Format | None, output: str | None) -> None:
    r"""Evaluate the systems of FILE on its data sets, and compare them: set by set, and over all sets.

    Everything is checked first, and all that is missing is listed at once. Runs are evaluated on all cores.

    \b
    A file, with paths relative to it:
      baseline = "bm25"
      measures = "nDCG@10 AP"          # or profile = "permed"; both also per data set
      cluster = "conversation"         # also: min_relevance, queries, order, test, correction, alpha, margin, seed
      [[datasets]]
      name = "litsearch"
      qrels = "litsearch/qrels.txt"
      [[systems]]
      name = "bm25"
      runs = "{dataset}/bm25.run"
      [[systems]]
      name = "llm"                     # several runs: values are averaged, their spread widens the intervals
      runs = ["{dataset}/llm-1.run", "{dataset}/llm-2.run"]
      [output]                         # also: text, markdown, latex, csv, json, jsonl, values (a folder)
      html = "report.html"

    \b
    Examples:
      permed-measures experiment rerankers.toml
      permed-measures experiment rerankers.toml --check
      permed-measures experiment rerankers.toml --format latex -o table.tex --html report.html
    """
    form = form_for(output, form)
    plan = read_plan(file)
    if check:
        allow_only("--check", "check", "output")
        runs = sum(len(found) for dataset in plan.datasets for found in dataset.runs.values())
        sets, systems = len(plan.datasets), len(plan.systems)
        write_or_print(output, f"{plan.name}: data sets {sets}, systems {systems}, runs {runs}: all are there\n")
        return
    with progress("evaluating") as step:
        found = run_plan(plan, step)
    for known in FORMATS:
        if known in plan.output:
            write_whole(plan.output[known], found.render(known))
    for folder in (plan.output.get("values"), save):
        if folder is not None:
            found.save(folder)
    show(found, form, output)
