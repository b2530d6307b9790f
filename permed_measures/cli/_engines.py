"""Runs in an engine: the options of commands that take them, and how paths become tables."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import click

from permed_measures import tables
from permed_measures.cli._formats import qrels_in, run_in, said, together
from permed_measures.errors import ParamError
from permed_measures.files import parquet
from permed_measures.files.rows import DOC_COLUMNS, QUERY_COLUMNS, is_smaller_better
from permed_measures.files.source import Source
from permed_measures.ranking import Ties
from permed_measures.tables.datasets import dataset, is_parquet
from permed_measures.tables.sessions import ENGINES, opened

engine_options = together(
    click.option(
        "--engine", type=click.Choice(ENGINES), help="Compute there.  [default: duckdb for folders of parquet]"
    ),
    click.option("--master", metavar="URL", help="Of Spark: local[4], spark://HOST:7077, yarn, sc://HOST."),
    click.option(
        "--memory-limit", metavar="SIZE", help="Of DuckDB, which then spills to disk, or of Spark's driver: 1GB."
    ),
    click.option(
        "--nan-scores", type=click.Choice(("error", "drop", "last")), help="With an engine: leave NaN out, or last."
    ),
)
NAMES = ("engine", "master", "memory_limit", "nan_scores")
_OF_FILES = ("--duplicates", "--qrels-columns", "--run-columns", "--collapse")
"""What an engine takes, and the readers of files too."""


class Reading(NamedTuple):
    """How a command reads qrels and runs, and what it says of their tables."""

    qrels_in: Callable[..., Any] = qrels_in
    run_in: Callable[..., Any] = run_in
    table_options: Mapping[str, Any] | None = None


@contextmanager
def reading(
    of_engine: dict[str, Any], paths: Sequence[Any], *, human: bool = False, ties: Ties = "trec"
) -> Iterator[Reading]:
    """Read as files tell; where an engine is asked for, or a path is a dataset, have tables of that engine.

    ``of_engine`` are the options of engines; ``paths`` are the qrels and all that may be a run.
    """
    from permed_measures.comparison.systems import named_runs  # noqa: PLC0415  (eval does without)

    rows = said()
    given = [path for one in paths for path in ((named_runs(one) or ("", [one]))[1] if isinstance(one, str) else [one])]
    texts = [path for path in given if isinstance(path, str)]
    engine = engine_for(of_engine.pop("engine"), texts, {**of_engine, **rows}, ties)
    if engine is None:
        yield Reading()
        return
    if human:
        raise ParamError(f"--human corrects means in memory, not in an engine ({engine}): give single files")
    limits = {name: of_engine.pop(name) for name in ("master", "memory_limit")}
    with opened(engine, **limits) as session:
        from narwhals.exceptions import NarwhalsError  # noqa: PLC0415  (as late as the engine)

        def table(value: str, read: Callable[..., Any]) -> Callable[..., Any]:
            return lambda path, *form: tables.table_of(session, path if is_parquet(path) else read(path, *form), value)

        known = {name: value for name, value in {**of_engine, **rows}.items() if value is not None}
        with session.errors_named(*texts, also=(NarwhalsError,)):
            yield Reading(table("relevance", qrels_in), table("score", run_in), known)


def engine_for(engine: str | None, paths: Sequence[str], options: Mapping[str, Any], ties: Ties = "trec") -> str | None:
    """Return the engine asked for; DuckDB for parquet that is no single file, or where an engine's option is given."""
    asked = [name for name, value in options.items() if value]
    of_readers = options.get("duplicates") == "first" or is_smaller_better(options.get("run_columns"))
    if of_readers or options.get("collapse"):
        asked = [name for name in asked if f"--{name.replace('_', '-')}" not in _OF_FILES]
    given = [f"--{name.replace('_', '-').replace('segments', 'segment')}" for name in asked]
    if engine is None and said(formats=True).get("run_format") in (None, parquet.NAME):
        datasets = any(map(_is_dataset, paths))
        engine = "duckdb" if datasets or (given and all(map(is_parquet, paths[1:]))) else None
    if engine is not None and ties != "trec":
        raise ParamError(f"--ties {ties} is for runs in memory; in an engine ({engine}) ties go by document id")
    if engine is not None and options.get("collapse"):
        raise ParamError(
            f"--collapse is for runs in memory, not in an engine ({engine}): map the ids in the table first"
        )
    given = [option for option in given if option not in _OF_FILES]
    if given and engine is None:
        raise ParamError(f"{given[0]} is for runs in an engine: parquet, or whatever you give with --engine")
    return engine


def _is_dataset(path: str) -> bool:
    """Whether parquet is more than a file, or a file whose folder is named for the query or the document."""
    if not is_parquet(path) or not Path(path).is_file():
        return is_parquet(path)
    named = {*QUERY_COLUMNS, *DOC_COLUMNS}.intersection(dataset(path).partitions)
    return bool(named and named.difference(parquet.column_names(Source(path))))
