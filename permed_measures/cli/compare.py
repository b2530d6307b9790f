"""``permed-measures compare``: runs against a baseline."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from permed_measures.cli import _formats
from permed_measures.cli._engines import NAMES, engine_options, reading
from permed_measures.comparison import compare, run_name
from permed_measures.comparison.changes import CORRECTIONS, TESTS
from permed_measures.comparison.saved import systems_of
from permed_measures.comparison.systems import is_known, named_runs
from permed_measures.errors import ParamError
from permed_measures.evaluate.groups import Groups
from permed_measures.files.output import print_notes
from permed_measures.files.values import is_saved
from permed_measures.render.progress import progress

_HUMAN = ("measures", "profile", "min_relevance", "queries", "order", "mapping", "cluster", "alpha")
"""What a difference that is corrected by people's sample takes."""


@click.command(short_help="Compare runs with a baseline: changes, intervals, tests, a report.")
@click.argument("paths", nargs=-1, required=True, metavar="[QRELS] BASELINE RUN [RUN …]")
@_formats.measures_options
@click.option("--name", "names", multiple=True, help="The name of the baseline, of the first run, … in the tables.")
@_formats.describe_option
@click.option("--group", "groups", metavar="turn|conversation|REGEX|FILE", help="Break the table down by query.")
@_formats.cluster_option
@click.option(
    "--test",
    type=click.Choice(TESTS),
    default="auto",
    help="The test that decides; auto: exact sign flips up to 20 queries or clusters, above that t.",
)
@click.option(
    "--correction",
    type=click.Choice(list(CORRECTIONS)),
    default="holm",
    help="For the number of comparisons: Holm, Benjamini-Hochberg, none.",
)
@click.option(
    "--margin", type=float, metavar="X", help="A difference that does not matter: what stays in it is equivalent."
)
@click.option("--all-pairs", is_flag=True, help="Also compare every run with every other one: letters, who is first.")
@_formats.relevance_option
@_formats.queries_option
@_formats.order_option
@_formats.ties_option
@click.option("--p-imp-cutoff", type=click.IntRange(1), metavar="K", help="How deep P-imp looks.")
@click.option("--p-imp/--no-p-imp", default=True, help="With P-imp, the share of pairs put right.")
@click.option("--alpha", type=float, default=0.05, help="The level of tests and intervals.")
@click.option("--seed", type=click.IntRange(0), default=0, help="Of drawn sign flips.")
@_formats.format_options
@click.option("--brief", is_flag=True, help="Only the table of means and the definitions.")
@click.option("--signatures", is_flag=True, help="Below the means, the conditions of each number in one line.")
@_formats.texts_options
@_formats.human_options
@click.option("--save", metavar="FILE", help="Also save the values of all queries: compare takes the file as runs.")
@_formats.layout_options
@_formats.figure_options
@engine_options
@_formats.report_options
def command(*, paths: Sequence[str], human: str | None, mapping: str | None, **options: Any) -> None:  # noqa: ANN401  (as above)
    r"""Compare RUNS with the BASELINE, query by query.

    For each measure: means, the change and the gain (its share of the baseline's mean) with an interval, a paired
    test, a correction for their number, wins, ties and losses, the effect size, P-imp, and what can be concluded.
    Turns of one conversation are not independent: give --cluster conversation.

    Several runs of one system (seeds, an LLM asked again) are NAME=RUN,RUN,…: their values are averaged query by query,
    and how far they are apart widens the intervals. What was saved (--save, also of eval) takes the place of runs, and
    of the QRELS where nothing else is given; other judgements or conditions are refused. Folders and patterns of
    parquet are compared in an engine, as eval evaluates them; --group and --cluster may be columns of the QRELS there.

    \b
    Examples:
      permed-measures compare qrels.jsonl retrieved.jsonl profile_query.jsonl query_only.jsonl
      permed-measures compare qrels.jsonl retrieved.jsonl reranked.jsonl --html report.html
      permed-measures compare qrels.txt a.run b.run --html report.html --texts queries.tsv --documents corpus.jsonl.gz
      permed-measures compare qrels.txt bm25.run dense.run -m 'nDCG@10 AP' --test randomization
      permed-measures compare qrels.jsonl a.jsonl b.jsonl c.jsonl --cluster conversation --all-pairs
      permed-measures compare qrels.jsonl a.jsonl b.jsonl --margin 0.02
      permed-measures compare qrels.txt bm25.run llm=seed1.run,seed2.run,seed3.run -m nDCG@10
      permed-measures compare llm.txt bm25.run dense.run -m nDCG@10 --human people.txt
      permed-measures compare baseline.values new.values
      permed-measures compare qrels.parquet 'runs/base/*.parquet' 'runs/new/*.parquet' -m nDCG@10
      permed-measures compare qrels.jsonl a.jsonl b.jsonl --group turn --format csv -o by_turn.csv
      permed-measures compare qrels.jsonl no_long.jsonl no_sequential.jsonl no_working.jsonl \
          --describe descriptions.tsv --brief --format markdown
      permed-measures compare qrels.txt a.run b.run --brief --caption 'Main results' --label tab:main -o table.tex
      permed-measures compare qrels.txt a.run b.run --figure differences.pdf --plot differences
    """
    form, output = _formats.report_of(options)
    _formats.check_texts(form, human)
    if human is None and mapping is not None:
        raise ParamError("--map is for differences that are corrected: give --human FILE, or leave it out")
    if options["p_imp_cutoff"] is not None and not options["p_imp"]:
        raise ParamError("--p-imp-cutoff says how deep P-imp looks, and --no-p-imp leaves it out: give one of them")
    of_engine = {name: options.pop(name) for name in NAMES}
    names, describe, save = (options.pop(name) for name in ("names", "describe", "save"))
    shown = {name: options.pop(name) for name in ("brief", "signatures")}
    with ExitStack() as opening:
        reads = opening.enter_context(reading(of_engine, paths, human=human is not None, ties=options["ties"]))
        judged = None if is_saved(paths[0]) else paths[0]
        systems, clusters = _systems(paths[0 if judged is None else 1 :], names, reads.run_in)
        if len(systems) < 2:  # noqa: PLR2004  (a baseline and a run)
            raise ParamError(f"a comparison needs a baseline and a run; given: {', '.join(paths)}")
        runs = [run for system in systems.values() for run in (system if isinstance(system, list) else [system])]
        if not any(map(is_known, runs)):  # else the measures of what was saved are the default
            _formats.default_profile(options)
        (first, baseline), *others = systems.items()
        qrels = None if judged is None else reads.qrels_in(judged)
        if human is not None:
            from permed_measures.judges import corrected  # noqa: PLC0415  (seldom)

            if qrels is None or len(others) != 1 or any(isinstance(system, list) for system in systems.values()):
                raise ParamError("--human takes the judge's qrels, a baseline and one run")
            _formats.allow_only("--human", "human", *_HUMAN, *_formats.READING, *_formats.LAYOUT)
            asked = {name: value for name, value in {**options, "mapping": mapping}.items() if name in _HUMAN}
            _formats.show(corrected(qrels, human, others[0][1], baseline=baseline, **asked), form, output)
            return
        if options["cluster"] is None:
            options["cluster"] = clusters
        options |= {"descriptions": _formats.descriptions_of(describe, list(systems)), "baseline_name": first}
        with progress("reading") as step:
            options |= {"table_options": reads.table_options, "progress": step}
            comparison = compare(qrels, baseline, dict(others), **options)
    if save is not None:
        comparison.save(save)
    _formats.show(comparison, form, output, **shown)
    print_notes(() if comparison.behind is None else comparison.behind.notes)


def _systems(
    arguments: Sequence[str], names: Sequence[str], run_in: Callable[[str], Any]
) -> tuple[dict[str, Any], Groups | None]:
    """Return what is compared, by name (runs, lists of runs, what was saved), and the clusters saved with it."""
    found: list[tuple[str, str, Any]] = []  # a name, one that tells more, and the system
    clusters: Groups | None = None
    for argument in arguments:
        named = named_runs(argument)
        if named is not None:
            name, runs = named[0], [run_in(path) for path in named[1]]
            found.append((name, name, runs[0] if len(runs) == 1 else runs))
        elif is_saved(argument):
            known, saved = systems_of(argument)
            clusters = clusters or saved.options.get("compare", {}).get("cluster")
            file = run_name(argument, argument)
            found += [(file if len(known) == 1 else name, f"{file}: {name}", system) for name, system in known.items()]
        else:
            name = run_name(argument, argument)
            # files of one name in several folders: the folder tells them apart
            found.append((name, str(Path(argument).with_suffix("")), run_in(argument)))
    if len(names) > len(found):
        raise ParamError(f"{len(names)} names for {len(found)} runs, the baseline included")
    rest = found[len(names) :]
    chosen = [*names, *(name for name, *_ in rest)]
    if len(set(chosen)) < len(chosen):
        chosen = [*names, *(name for _, name, _ in rest)]
    again = next((name for name in chosen if chosen.count(name) > 1), None)
    if again is not None:
        raise ParamError(f"two runs are called {again!r}; give each a name with --name, the baseline's first")
    return {name: system for name, (*_, system) in zip(chosen, found, strict=True)}, clusters
