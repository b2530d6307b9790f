"""``permed-measures eval``: one table row per run."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from permed_measures import tables
from permed_measures.cli import _formats
from permed_measures.cli._engines import NAMES, engine_for, engine_options
from permed_measures.errors import InputError, ParamError
from permed_measures.evaluate import Evaluation, evaluate, read_for, save_all
from permed_measures.evaluate.report import Evaluations
from permed_measures.files.output import print_notes
from permed_measures.files.packings import unpacked_name
from permed_measures.inputs import as_qrels
from permed_measures.ranking import ORDERS, Ties
from permed_measures.render.progress import progress
from permed_measures.tables.datasets import dataset, is_parquet
from permed_measures.tables.sessions import Session, opened

if TYPE_CHECKING:
    from permed_measures.evaluate.tops import Tops
    from permed_measures.render.queries import Behind

_LONG_WORK = 32 << 20  # bytes of run files from which on a terminal sees a progress bar
_LIMITS = ("master", "memory_limit")


@click.command(short_help="Evaluate runs: one row per run.")
@click.argument("qrels")
@click.argument("runs", nargs=-1, metavar="RUN [RUN …]")
@click.option("--lists", is_flag=True, help="The files are relevance lists, {q: [1, 0, 1]}: there are no qrels.")
@_formats.measures_options
@click.option("-q", "--by-query", is_flag=True, help="Also the value of every query.")
@click.option("--interval", is_flag=True, help="With the 95% interval of each mean.")
@click.option("--cluster", metavar="conversation|REGEX|FILE", help="For intervals: queries that are one unit.")
@click.option("--name", "names", multiple=True, help="The name of the first run, of the second, … in the table.")
@_formats.describe_option
@_formats.human_options
@click.option("--save", metavar="FILE", help="Also save the values of all queries; compare takes the file as runs.")
@click.option("--signatures", is_flag=True, help="Below the table, the conditions of each number in one line.")
@_formats.relevance_option
@_formats.queries_option
@_formats.order_option
@_formats.ties_option
@_formats.format_options
@engine_options
@click.option("--system", metavar="COLUMN", help="With an engine: RUN has several systems, told apart by this column.")
@click.option("--write", metavar="FOLDER", help="With an engine: also write the values of all queries, as parquet.")
@click.option("--segment", "segments", multiple=True, metavar="COLUMN", help="Of the QRELS, to be beside these values.")
@_formats.texts_options
@_formats.layout_options
@_formats.figure_options
@_formats.report_options
def command(*, qrels: str, runs: Sequence[str], lists: bool, names: Sequence[str], **options: Any) -> None:  # noqa: ANN401  (as above)
    r"""Evaluate each RUN against QRELS; notes on what the numbers rest on go to stderr.

    Files: TREC, PerMed's JSON Lines, JSON, BEIR, CSV, parquet, all but the last also as .gz, .bz2, .xz or .zst.
    Parquet may also be a folder, a pattern in quotes, or an address such as s3://…: it is evaluated in an engine, for
    any number of rows, as is a file for which --memory-limit or another option of engines is given.

    \b
    Examples:
      permed-measures eval qrels.txt bm25.run dense.run
      permed-measures eval qrels.txt bm25.run -m 'GWAP(max_rel=3)@10 nDCG@10' -m P_5
      permed-measures eval truth.jsonl reranked.jsonl --profile permed-binary
      permed-measures eval judged.csv run.json --profile llm-judged --min-relevance 6 --format json
      permed-measures eval qrels.txt *.run.gz --interval --html report.html
      permed-measures eval qrels.txt a.run --html report.html --texts queries.tsv --documents corpus.jsonl.gz
      permed-measures eval qrels.txt a.run b.run --name BM25 --heading run=System --percent -o table.tex
      permed-measures eval qrels.txt a.run b.run -m 'nDCG@1 nDCG@5 nDCG@10' --figure k.pdf --plot cutoffs
      permed-measures eval qrels.txt bm25.run --by-query --format csv -o by_query.csv
      permed-measures eval qrels.txt bm25.run -m nDCG@10 --save baseline.values
      permed-measures eval qrels.txt bm25.run --ties expected
      permed-measures eval llm.txt run.trec -m nDCG@10 --human people.txt
      permed-measures eval qrels.parquet 'runs/day=*/*.parquet' --memory-limit 2GB
      permed-measures eval qrels.parquet runs/ --engine spark --master spark://HOST:7077
      permed-measures eval qrels.parquet runs/ --system name --segment language --write values/
      permed-measures eval --lists grades_by_rank.json -m 'ListAP@3 ListNDCG@3'
      permed-measures eval qrels.tsv chunks.trec -m nDCG@10 --collapse '^(.+)#'
      permed-measures QRELS RUN 'GWAP@10 P@1' -q -o jsonl      the form of the ir_measures command
    """
    _formats.default_profile(options)
    form, output = _formats.report_of(options)
    by_query, interval, cluster, signatures = map(options.pop, ("by_query", "interval", "cluster", "signatures"))
    save, describe, human, mapping = map(options.pop, ("save", "describe", "human", "mapping"))
    texts, documents, ties, engine = map(options.pop, ("texts", "documents", "ties", "engine"))
    of_engine = {name: options.pop(name) for name in (*NAMES[1:], "system", "write", "segments")}
    needs_interval = interval or _formats.is_asked("html", "figure")
    said = _formats.said()
    _formats.check_texts(form, human, lists, not runs)

    def report(found: dict[str, Evaluation], behind: "Behind | None" = None) -> None:
        descriptions = _formats.descriptions_of(describe, list(found))
        shown = Evaluations(found, descriptions, by_query, signatures, interval, cluster, behind)
        _formats.show(shown, form, output)
        if save is not None:  # last: what cannot be shown leaves no file
            save_all(save, found)
        print_notes(_notes(shown))

    if lists or not runs:
        none = [human, mapping, engine, ties != "trec", said, _formats.said(formats=True), *of_engine.values()]
        _check_lists(lists=lists, others=[*none, options.pop("queries"), options.pop("order") != ORDERS[0]])
        from permed_measures.evaluate.lists import evaluate_lists  # noqa: PLC0415  (seldom)

        report({name: evaluate_lists(path, **options) for name, path in _named([qrels, *runs], names).items()})
        return
    others = (*runs[1:], *names, describe, by_query, save, signatures, engine, ties != "trec", *of_engine.values())
    if _is_corrected(human, mapping, None if needs_interval else cluster, others):
        from permed_measures.judges import corrected  # noqa: PLC0415  (seldom)

        judge, run = _formats.qrels_in(qrels), _formats.run_in(runs[0])
        _formats.show(corrected(judge, human, run, **options, mapping=mapping, cluster=cluster), form, output)
        return
    engine = engine_for(engine, [qrels, *runs], {**of_engine, **said}, ties)
    _formats.check_texts(form, engine)
    found: dict[str, Evaluation] = {}
    judged: Any = _formats.qrels_in(qrels) if engine is None or not is_parquet(qrels) else qrels
    if engine is None or not isinstance(judged, str) or not is_parquet(judged):
        judged = as_qrels(judged, subtopics=engine is None)  # once, for all runs
    named = _named(runs, names)
    first: dict[str, Tops] = {}
    long = sys.stderr.isatty() and _size(runs) >= _LONG_WORK
    with ExitStack() as opening:
        with progress("evaluating", shown=long) as step:
            if engine is not None:
                session = opening.enter_context(opened(engine, **{name: of_engine.pop(name) for name in _LIMITS}))
                options |= {name: value for name, value in {**of_engine, **said}.items() if value}
                kept = by_query or save is not None or needs_interval
                found = _in_engine(session, (qrels, judged), named, by_query=kept, **options)
            for name, path in named.items() if engine is None else ():
                run = _formats.run_in(path)
                if texts or documents:
                    run, first[name] = _with_tops(run, judged, ties=ties, **options)
                found[name] = evaluate(judged, run, ties=ties, **options)
                step(name, len(found) / len(runs))
        # with the engine open: it has the digest of the judgements
        report(found, _behind(judged, first, texts, documents, ties=ties))


def _with_tops(run: Any, qrels: Any, *, queries: str | None, **options: Any) -> "tuple[Any, Tops]":  # noqa: ANN401, ARG001  (of any shape; evaluate's)
    """Return a run as far as measures look at it, and the first documents of its queries, for a page."""
    from permed_measures.evaluate.behind import tops  # noqa: PLC0415  (seldom)
    from permed_measures.render.queries import SHOWN  # noqa: PLC0415  (as above)

    known = read_for(run, qrels, **options)
    return known, tops(known, qrels, SHOWN, options["order"])


def _behind(
    qrels: Any,  # noqa: ANN401  (what as_qrels returned)
    first: "Mapping[str, Tops]",
    *texts: str | None,
    ties: Ties,
) -> "Behind | None":
    """Return what a page shows behind its queries; None where nobody asked for it."""
    if not first:
        return None
    from permed_measures.evaluate.behind import behind  # noqa: PLC0415  (as above)

    return behind(qrels, first, *texts, ties=ties)


def _notes(shown: Evaluations) -> Iterator[str]:
    yield from shown.unit_notes if shown.interval else ()
    for name, evaluation in shown.runs.items():
        yield from evaluation.notes if len(shown.runs) == 1 else (f"{name}: {note}" for note in evaluation.notes)


def _check_lists(*, lists: bool, others: Sequence[Any]) -> None:
    if not lists:
        msg = "Missing argument 'RUN [RUN …]'; or are these relevance lists, {q: [1, 0, 1]}? Then give --lists"
        raise click.UsageError(msg)
    if any(others):
        msg = "--lists takes measures or a profile, and --min-relevance: lists have no documents, scores or qrels"
        raise ParamError(msg)


def _is_corrected(human: str | None, mapping: str | None, cluster: str | None, others: Sequence[Any]) -> bool:
    """Whether means are corrected by people's sample; then there is one run, and no other option."""
    if human is None and mapping:
        raise ParamError("--map is for means that are corrected: give --human FILE, or leave it out")
    if human is None and cluster is not None:
        raise ParamError("--cluster is for intervals and corrected means: add --interval, --html, --figure or --human")
    if human is not None and any(others):
        no = "--name, --describe, --by-query, --save, --signatures, --ties or option of engines"
        raise ParamError(f"--human takes one run, and no {no}")
    return human is not None


def _in_engine(
    session: Session,
    qrels: tuple[str, Any],
    named: Mapping[str, str],
    **options: Any,  # noqa: ANN401  (those of evaluate_systems)
) -> dict[str, Evaluation]:
    """Evaluate all runs in one pass; ``qrels`` are their path, and what was read from it."""
    path, judged = qrels
    runs = list(named.values())
    several = len(runs) > 1
    if "system" in options and several:
        msg = "--system takes one RUN, which may be a folder or a pattern; several RUNs are systems themselves"
        raise ParamError(msg)
    if "segments" in options and "write" not in options:
        raise ParamError("--segment is for what --write FOLDER writes")
    for what, paths in (("qrels", [path]), ("run", runs)):  # the columns of others are known once they are read
        if not all(map(is_parquet, paths)):
            options.pop(f"{what}_columns", None)
    given = {name: run if is_parquet(run) else _formats.run_in(run) for name, run in named.items()}
    places = {**named, "qrels": path} if several else {"run": runs[0], "qrels": path}
    source = given if several else given[next(iter(named))]
    found = tables.evaluate_systems(session, judged, source, several=several, named=places, **options)
    return {next(iter(named)) if name is None else name: evaluation for name, evaluation in found.systems.items()}


def _named(paths: Sequence[str], given: Sequence[str] = ()) -> dict[str, str]:
    """Name runs as given, else by their files; by their whole paths where that is not enough, or by number."""
    if len(given) > len(paths) or len(set(given)) < len(given):
        raise ParamError(f"--name {', '.join(given)}: give each of the {len(paths)} runs one name, none twice")
    for names in (
        [path if "://" in path or _is_pattern(path) else Path(unpacked_name(path)).stem for path in paths],
        paths,
        [f"{n}: {path}" for n, path in enumerate(paths, 1)],
    ):
        chosen = [*given, *names[len(given) :]]
        if len(set(chosen)) == len(paths):
            break
    return dict(zip(chosen, paths, strict=True))


def _is_pattern(path: str) -> bool:
    return "*" in path and not Path(path).exists()


def _files(run: str) -> list[str]:
    if Path(run).is_file():
        return [run]
    try:
        return dataset(run).files if is_parquet(run) else []
    except InputError:  # reported where the run is read
        return []


def _size(runs: Sequence[str]) -> int:
    """Return how many bytes there are to read."""
    return sum(Path(file).stat().st_size for run in runs if "://" not in run for file in _files(run))
