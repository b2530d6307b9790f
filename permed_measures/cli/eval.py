"""``permed-measures eval``: one table row per run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from permed_measures import tables
from permed_measures.cli._formats import (
    PARQUET,
    column_options,
    form_for,
    format_options,
    order_option,
    qrels_in,
    report_options,
    run_in,
)
from permed_measures.errors import HostError, InputError, ParamError
from permed_measures.evaluate import Evaluation, choose, evaluate
from permed_measures.files.output import print_note, write_or_print
from permed_measures.inputs import as_qrels
from permed_measures.profiles import PROFILES, QUERY_SETS, QuerySet
from permed_measures.ranking import Order
from permed_measures.render.document import Table, Value, of_table
from permed_measures.render.progress import progress
from permed_measures.render.records import as_json
from permed_measures.render.result import Format, written
from permed_measures.tables.datasets import dataset, is_parquet
from permed_measures.tables.sessions import ENGINES, opened

_ALL = "all"
_LONG_WORK = 32 << 20
"""Bytes of run files from which on a terminal sees a progress bar."""


@click.command(short_help="Evaluate runs: one row per run.")
@click.argument("qrels")
@click.argument("runs", nargs=-1, required=True, metavar="RUN [RUN …]")
@click.option("-m", "--measures", multiple=True, metavar="MEASURES", help="Measures, such as 'GWAP@10 P@1'.")
@click.option("--profile", metavar="NAME|FILE.toml", help=f"{', '.join(PROFILES)}, or a file.  [default: permed]")
@click.option("-q", "--by-query", is_flag=True, help="Also the value of every query.")
@click.option("-p", "--places", type=click.IntRange(0, 17), default=4, show_default=True, help="Decimals.")
@click.option("--min-relevance", type=float, metavar="X", help="The lowest grade that is relevant.")
@click.option("--queries", type=click.Choice(QUERY_SETS), help="Over which queries means run.")
@order_option
@format_options
@column_options("Columns of parquet: query, document, number.  [default: the usual names]")
@click.option("--engine", type=click.Choice(ENGINES), help="Compute there.  [default: duckdb for parquet runs]")
@click.option("--master", metavar="URL", help="Of Spark: local[4], spark://HOST:7077, yarn, sc://HOST.")
@click.option("--memory-limit", metavar="SIZE", help="Of DuckDB, which then spills to disk, or of Spark's driver: 1GB.")
@click.option("--duplicates", type=click.Choice(("error", "max")), help="With an engine: keep the highest score.")
@click.option(
    "--nan-scores", type=click.Choice(("error", "drop", "last")), help="With an engine: leave NaN out, or last."
)
@report_options
def command(  # noqa: PLR0913  (one parameter per option)
    *,
    qrels: str,
    runs: Sequence[str],
    measures: Sequence[str],
    profile: str | None,
    by_query: bool,
    form: Format | None,
    places: int,
    min_relevance: float | None,
    queries: QuerySet | None,
    order: Order,
    qrels_format: str | None,
    run_format: str | None,
    qrels_columns: tuple[str, str, str] | None,
    run_columns: tuple[str, str, str] | None,
    engine: str | None,
    master: str | None,
    memory_limit: str | None,
    duplicates: str | None,
    nan_scores: str | None,
    output: str | None,
) -> None:
    r"""Evaluate each RUN against QRELS; notes on what the numbers rest on go to stderr.

    Files: TREC, PerMed's JSON Lines, JSON, BEIR, CSV, parquet, all but the last also as .gz or .zst. Parquet may
    also be a folder, a pattern in quotes, or an address such as s3://…: it is evaluated in an engine, for any number of
    rows.

    \b
    Examples:
      permed-measures eval qrels.txt bm25.run dense.run
      permed-measures eval qrels.txt bm25.run -m 'GWAP(max_rel=3)@10 nDCG@10' -m P_5
      permed-measures eval truth.jsonl reranked.jsonl --profile permed-binary
      permed-measures eval judged.csv run.json --profile llm-judged --min-relevance 6 --format json
      permed-measures eval qrels.txt *.run.gz --format latex -o table.tex
      permed-measures eval qrels.txt bm25.run --by-query --format csv -o by_query.csv
      permed-measures eval qrels.parquet 'runs/day=*/*.parquet' --memory-limit 2GB
      permed-measures eval qrels.parquet runs/ --engine spark --master spark://HOST:7077
      permed-measures QRELS RUN 'GWAP@10 P@1' -q -o jsonl      the form of the ir_measures command
    """
    if not measures and profile is None:
        profile = "permed"
    form = form_for(output, form)
    options: dict[str, Any] = {"profile": profile, "min_relevance": min_relevance, "queries": queries, "order": order}
    asked = list(measures) or None
    engine = engine or _engine_for([qrels, *runs], run_format, asked, options)
    found: dict[str, Evaluation] = {}
    with progress("evaluating", shown=sys.stderr.isatty() and _size(runs) >= _LONG_WORK) as step:
        if engine is None:
            _check_no_engine(
                qrels_columns=qrels_columns,
                run_columns=run_columns,
                master=master,
                memory_limit=memory_limit,
                duplicates=duplicates,
                nan_scores=nan_scores,
            )
            judged = as_qrels(qrels_in(qrels, qrels_format), subtopics=True)
            for name, path in _named(runs).items():
                found[name] = evaluate(judged, run_in(path, run_format), asked, **options)
                step(name, len(found) / len(runs))
        else:
            with opened(engine, master=master, memory_limit=memory_limit) as session:
                judged = qrels_in(qrels, qrels_format)
                if not isinstance(judged, str) or not is_parquet(judged):
                    judged = as_qrels(judged)  # once, for all runs
                options |= {"duplicates": duplicates or "error", "nan_scores": nan_scores or "error"}
                options |= {"qrels_columns": qrels_columns, "run_columns": run_columns, "by_query": by_query}
                for name, path in _named(runs).items():
                    options["places"] = {"qrels": qrels, "run": path}
                    found[name] = tables.evaluate_files(session, judged, run_in(path, run_format), asked, **options)
                    step(name, len(found) / len(runs))
    shown = _rendered(found, form, by_query=by_query, places=places)
    write_or_print(output, shown)
    for name, evaluation in found.items():
        for note in evaluation.notes:
            print_note(f"note: {note}" if len(found) == 1 else f"note: {name}: {note}")


def _engine_for(
    paths: Sequence[str], run_format: str | None, measures: Sequence[str] | None, options: dict[str, Any]
) -> str | None:
    """Return DuckDB for parquet, where all measures have an expression; files that a reader can read need none."""
    datasets = any(is_parquet(path) and not Path(path).is_file() for path in paths)
    if run_format not in (None, PARQUET) or not (datasets or all(map(is_parquet, paths[1:]))):
        return None
    labels, *_ = choose(measures, options["profile"], options["queries"], options["min_relevance"])
    try:
        known = tables.known_measures()
    except HostError:
        if datasets:
            raise
        return None
    return "duckdb" if datasets or all(measure.NAME in known for measure in labels) else None


def _check_no_engine(**options: str | tuple[str, ...] | None) -> None:
    for name, value in options.items():
        if value is not None:
            where = "parquet and measures that tables have, or whatever you give with --engine"
            msg = f"--{name.replace('_', '-')} is for runs in an engine: {where}"
            raise ParamError(msg)


def _named(paths: Sequence[str]) -> dict[str, str]:
    """Name runs by their files; by their whole paths where that is not enough, or by number where nothing is."""
    for names in (
        [
            path if "://" in path or _is_pattern(path) else Path(path.removesuffix(".gz").removesuffix(".zst")).stem
            for path in paths
        ],
        paths,
        [f"{n}: {path}" for n, path in enumerate(paths, 1)],
    ):
        if len(set(names)) == len(paths):
            break
    return dict(zip(names, paths, strict=True))


def _is_pattern(path: str) -> bool:
    return "*" in path and not Path(path).exists()


def _rendered(found: dict[str, Evaluation], form: Format, *, by_query: bool, places: int) -> str:
    if form == "json":
        whole: Any = {name: evaluation.to_dict(by_query=by_query) for name, evaluation in found.items()}
        whole = {"runs": whole} if len(found) > 1 else next(iter(whole.values()))
        return as_json(whole, allow_nan=True) + "\n"
    table = _long(found, by_query=by_query) if form == "jsonl" else _wide(found, by_query=by_query, places=places)
    return written(of_table(table), form)


def _wide(found: dict[str, Evaluation], *, by_query: bool, places: int) -> Table:
    """Lay out one column per measure."""
    first = next(iter(found.values()))
    heads = [*(["run"] if len(found) > 1 or not by_query else []), *(["query"] if by_query else [])]
    rows: list[list[Value]] = []
    for name, evaluation in found.items():
        start = [name] if "run" in heads else []
        if by_query:
            query_ids = dict.fromkeys(query_id for column in evaluation.columns.values() for query_id in column)
            # a measure whose mean runs over other queries has no value for some of them
            rows += [
                [*start, query_id, *(column.get(query_id) for column in evaluation.columns.values())]
                for query_id in query_ids
            ]
        rows.append([*start, *([_ALL] if by_query else []), *evaluation.means.values()])
    return Table([*heads, *first.labels.values()], rows, below=_definitions(first), places=places, left=len(heads))


def _long(found: dict[str, Evaluation], *, by_query: bool) -> Table:
    """Lay out one line per value."""
    rows: list[list[Value]] = []
    for name, evaluation in found.items():
        values = evaluation.values if by_query else []
        rows += [
            [name, query_id, evaluation.labels[measure], str(measure), value] for query_id, measure, value in values
        ]
        rows += [[name, _ALL, evaluation.labels[m], str(m), mean] for m, mean in evaluation.means.items()]
    heads = ["run", "query_id", "name", "measure", "value"]
    leave_out = [place for place, wanted in enumerate((len(found) > 1, by_query)) if not wanted]
    kept = [place for place in range(len(heads)) if place not in leave_out]
    return Table([heads[place] for place in kept], [[row[place] for place in kept] for row in rows])


def _definitions(evaluation: Evaluation) -> list[str]:
    """Return what stands behind each name that is not the measure's own."""
    renamed = [(label, measure) for measure, label in evaluation.labels.items() if label != str(measure)]
    if not renamed:
        return []
    from permed_measures.measures.definitions import definition  # noqa: PLC0415  (only where names need words)

    return [f"{label} = {measure}: {definition(measure)}" for label, measure in renamed]


def _files(run: str) -> list[str]:
    if Path(run).is_file():
        return [run]
    try:
        return dataset(run).files if is_parquet(run) else []
    except InputError:  # said where the run is read
        return []


def _size(runs: Sequence[str]) -> int:
    """Return how many bytes there are to read."""
    return sum(Path(file).stat().st_size for run in runs if "://" not in run for file in _files(run))
