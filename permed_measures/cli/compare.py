"""``permed-measures compare``: runs against a baseline."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from permed_measures.cli._engines import engine_options, reading
from permed_measures.cli._formats import (
    LAYOUT,
    READING,
    allow_only,
    check_texts,
    describe_option,
    descriptions_of,
    figure_options,
    form_for,
    format_options,
    layout_options,
    order_option,
    report_options,
    show,
    texts_options,
    ties_option,
)
from permed_measures.comparison import CORRECTIONS, TESTS, Correction, PairedTest, compare, run_name
from permed_measures.comparison.saved import systems_of
from permed_measures.comparison.systems import named_runs
from permed_measures.errors import ParamError
from permed_measures.evaluate import Evaluation
from permed_measures.evaluate.groups import Groups
from permed_measures.files.output import print_note
from permed_measures.files.values import is_saved
from permed_measures.profiles import QUERY_SETS, QuerySet
from permed_measures.ranking import Order, Ties
from permed_measures.render.progress import progress
from permed_measures.render.result import Format


@click.command(short_help="Compare runs with a baseline: changes, intervals, tests, a report.")
@click.argument("paths", nargs=-1, required=True, metavar="[QRELS] BASELINE RUN [RUN …]")
@click.option("-m", "--measures", multiple=True, metavar="MEASURES", help="Measures, such as 'GWAP@10 P@1'.")
@click.option("--profile", metavar="NAME|FILE.toml", help="A named set of measures.  [default: permed]")
@click.option("--name", "names", multiple=True, help="The name of the baseline, of the first run, … in the tables.")
@describe_option
@click.option("--group", "groups", metavar="turn|conversation|REGEX|FILE", help="Break the table down by query.")
@click.option("--cluster", metavar="conversation|REGEX|FILE", help="What is independent, where queries are not.")
@click.option(
    "--test",
    type=click.Choice(TESTS),
    default="auto",
    show_default=True,
    help="The test that decides; auto: exact sign flips up to 20 queries or clusters, above that t.",
)
@click.option(
    "--correction",
    type=click.Choice(list(CORRECTIONS)),
    default="holm",
    show_default=True,
    help="For the number of comparisons: Holm, Benjamini-Hochberg, none.",
)
@click.option(
    "--margin", type=float, metavar="X", help="A difference that does not matter: what stays in it is equivalent."
)
@click.option("--all-pairs", is_flag=True, help="Also compare every run with every other one: letters, who is first.")
@click.option("--min-relevance", type=float, metavar="X", help="The lowest grade that is relevant.")
@click.option("--queries", type=click.Choice(QUERY_SETS), help="Over which queries means run.")
@order_option
@ties_option
@click.option("--p-imp-cutoff", type=click.IntRange(1), metavar="K", help="How deep P-imp looks.")
@click.option("--p-imp/--no-p-imp", default=True, help="With P-imp, the share of pairs put right.  [default: with]")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="The level of tests and intervals.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of drawn sign flips.")
@format_options
@click.option("--brief", is_flag=True, help="Only the table of means and the definitions.")
@click.option("--signatures", is_flag=True, help="Below the means, the conditions of each number in one line.")
@texts_options
@click.option(
    "--human", metavar="FILE", help="People's grades of a random sample: the difference, corrected for the judge."
)
@click.option("--map", "mapping", metavar="4:1,8:2|same", help="With --human: how the judge's grades become people's.")
@click.option("--save", metavar="FILE", help="Also save the values of all queries: compare takes the file as runs.")
@layout_options
@figure_options
@engine_options
@report_options
def command(  # noqa: PLR0913  (one parameter per option)
    *,
    paths: Sequence[str],
    measures: Sequence[str],
    profile: str | None,
    names: Sequence[str],
    describe: str | None,
    groups: str | None,
    cluster: str | None,
    test: PairedTest,
    correction: Correction,
    margin: float | None,
    all_pairs: bool,
    min_relevance: float | None,
    queries: QuerySet | None,
    order: Order,
    ties: Ties,
    p_imp_cutoff: int | None,
    p_imp: bool,
    alpha: float,
    seed: int,
    qrels_format: str | None,
    run_format: str | None,
    form: Format | None,
    brief: bool,
    signatures: bool,
    texts: str | None,
    documents: str | None,
    human: str | None,
    mapping: str | None,
    save: str | None,
    output: str | None,
    **of_engine: Any,  # noqa: ANN401  (options that only an engine takes)
) -> None:
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
    form = form_for(output, form)
    check_texts(form, human)
    if human is None and mapping is not None:
        raise ParamError("--map is for differences that are corrected: give --human FILE, or leave it out")
    if p_imp_cutoff is not None and not p_imp:
        raise ParamError("--p-imp-cutoff says how deep P-imp looks, and --no-p-imp leaves it out: give one of them")
    with ExitStack() as opening:
        reads = opening.enter_context(reading(of_engine, paths, run_format, human=human is not None, ties=ties))
        judged = None if is_saved(paths[0]) else paths[0]
        systems, clusters = _systems(paths[0 if judged is None else 1 :], names, run_format, reads.run_in)
        if len(systems) < 2:  # noqa: PLR2004  (a baseline and a run)
            raise ParamError(f"a comparison needs a baseline and a run; given: {', '.join(paths)}")
        if not measures and profile is None and not any(map(_is_known, systems.values())):
            profile = "permed"
        first, *others = systems
        if human is not None:
            from permed_measures.judges import corrected  # noqa: PLC0415  (seldom)

            if judged is None or len(others) != 1 or any(isinstance(system, list) for system in systems.values()):
                raise ParamError("--human takes the judge's qrels, a baseline and one run")
            asked = ("measures", "profile", "min_relevance", "queries", "order", "human", "mapping", "cluster", "alpha")
            allow_only("--human", *asked, *READING, *LAYOUT)
            found = corrected(
                *(reads.qrels_in(judged, qrels_format), human, systems[others[0]], list(measures) or None),
                baseline=systems[first],
                profile=profile,
                min_relevance=min_relevance,
                queries=queries,
                order=order,
                mapping=mapping,
                cluster=cluster,
                alpha=alpha,
            )
            show(found, form, output)
            return
        with progress("reading") as step:
            comparison = compare(
                None if judged is None else reads.qrels_in(judged, qrels_format),
                systems[first],
                {name: systems[name] for name in others},
                list(measures) or None,
                profile=profile,
                min_relevance=min_relevance,
                queries=queries,
                order=order,
                ties=ties,
                test=test,
                correction=correction,
                groups=groups,
                cluster=clusters if cluster is None else cluster,
                margin=margin,
                all_pairs=all_pairs,
                p_imp=p_imp,
                seed=seed,
                alpha=alpha,
                p_imp_cutoff=p_imp_cutoff,
                baseline_name=first,
                descriptions=descriptions_of(describe, list(systems)),
                texts=texts,
                documents=documents,
                progress=step,
                table_options=reads.table_options,
            )
    if save is not None:
        comparison.save(save)
    show(comparison, form, output, brief=brief, signatures=signatures)
    for note in () if comparison.behind is None else comparison.behind.notes:
        print_note(f"note: {note}")


def _is_known(system: Any) -> bool:  # noqa: ANN401  (a System)
    """Whether something of a system was saved: then its measures are the default."""
    if isinstance(system, list):
        return any(map(_is_known, system))
    return isinstance(system, Evaluation) or (isinstance(system, str) and is_saved(system))


def _systems(
    arguments: Sequence[str], names: Sequence[str], run_format: str | None, run_in: Callable[[str, str | None], Any]
) -> tuple[dict[str, Any], Groups | None]:
    """Return what is compared, by name (runs, lists of runs, what was saved), and the clusters saved with it."""
    found: list[tuple[str, str, Any]] = []  # a name, one that tells more, and the system
    clusters: Groups | None = None
    for argument in arguments:
        named = named_runs(argument)
        if named is not None:
            name, runs = named[0], [run_in(path, run_format) for path in named[1]]
            found.append((name, name, runs[0] if len(runs) == 1 else runs))
        elif is_saved(argument):
            known, saved = systems_of(argument)
            clusters = clusters or saved.options.get("compare", {}).get("cluster")
            file = run_name(argument, argument)
            found += [(file if len(known) == 1 else name, f"{file}: {name}", system) for name, system in known.items()]
        else:
            name = run_name(argument, argument)
            # files of one name in several folders: the folder tells them apart
            found.append((name, str(Path(argument).with_suffix("")), run_in(argument, run_format)))
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
