"""``permed-measures demo``: an example to look at."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from permed_measures.cli._demo_data import DESCRIPTIONS, write_example
from permed_measures.comparison import compare
from permed_measures.files.output import print_whole, write_whole


@click.command(short_help="Write a small example data set and compare its runs.")
@click.argument("folder", default="permed-demo", type=click.Path(file_okay=False))
def command(folder: str) -> None:
    r"""Write an example into FOLDER (permed-demo), compare its runs, and print the command to repeat that.

    The data is made up: 60 conversations of 4 turns with grades 0, 1 and 2, a retrieved run, and two rerankers.

    \b
    Examples:
      permed-measures demo
      permed-measures demo my-example
      permed-measures eval permed-demo/qrels.jsonl permed-demo/retrieved.jsonl
      permed-measures compare permed-demo/qrels.jsonl permed-demo/retrieved.jsonl permed-demo/query_only.jsonl
    """
    qrels, retrieved, profile_query, query_only, descriptions = write_example(folder)
    runs = {path.stem: path for path in (profile_query, query_only)}
    comparison = compare(
        qrels, retrieved, runs, profile="permed", baseline_name=retrieved.stem, descriptions=DESCRIPTIONS
    )
    report = Path(folder) / "report.html"
    write_whole(report, comparison.to_html())
    print_whole(comparison.render() + "\n")
    command_line = [qrels, retrieved, profile_query, query_only, "--describe", descriptions, "--html", report]
    print_whole(f"The same with charts and every query, to open in a browser: {report}\n\nTo repeat it:\n")
    print_whole(f"  permed-measures compare {shlex.join(map(str, command_line))}\n")
