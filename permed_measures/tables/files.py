"""Evaluate parquet datasets, or what readers have read, in an engine: what ``permed-measures eval --engine`` does."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import narwhals as nw
from ir_measures import Measure
from narwhals.exceptions import NarwhalsError

from permed_measures.errors import InputError
from permed_measures.evaluate import Evaluation
from permed_measures.inputs import as_qrels, as_run
from permed_measures.notes import Basis, Queries
from permed_measures.profiles import Profile
from permed_measures.ranking import order
from permed_measures.tables.engines import fetch, with_plain_names
from permed_measures.tables.evaluate import Pipeline
from permed_measures.tables.inspection import TableFacts, check, inspect
from permed_measures.tables.sessions import Session, is_parquet


def evaluate_files(  # noqa: PLR0913  (the options of the command)
    session: Session,
    qrels: Any,  # noqa: ANN401  (a path, or anything that inputs.py knows)
    run: Any,  # noqa: ANN401  (likewise)
    measures: str | Measure | Iterable[str | Measure] | None = None,
    *,
    profile: str | Path | Profile | None = None,
    min_relevance: float | None = None,
    queries: str | None = None,
    duplicates: str = "error",
    by_query: bool = False,
) -> Evaluation:
    """Evaluate; values of single queries leave the engine only where they are asked for."""
    place = run if isinstance(run, str) else "the run"
    try:
        pipeline = Pipeline.of(
            _table(session, qrels, "relevance"),
            _table(session, run, "score"),
            measures,
            profile=profile,
            min_relevance=min_relevance,
            queries=queries,
            duplicates=duplicates,
        )
        depth = pipeline.plan.deepest_cutoff
        whole_run = "run" in pipeline.query_sets.values()
        pipeline.facts = facts = inspect(pipeline.qrels, pipeline.run, depth, whole_run=whole_run)
        check(facts, duplicates=duplicates, nan_scores="error")
        pipeline.check_grades()
        return _evaluation(pipeline, facts, depth, by_query=by_query)
    except session.errors as error:
        raise session.error(error, place) from error
    except NarwhalsError as error:
        raise session.error(error, place) from error
    except InputError as error:
        if error.path is not None:
            raise
        raise InputError(str(error), path=place) from error


def _table(session: Session, source: Any, value: str) -> Any:  # noqa: ANN401  (a table of the engine)
    if isinstance(source, str) and is_parquet(source):
        return session.read(source)
    return session.table(as_qrels(source) if value == "relevance" else _scored(source), value)


def _scored(source: Any) -> Mapping[str, Mapping[str, float]]:  # noqa: ANN401  (anything that inputs.py knows)
    """Give scores to lists that are in order; check the others, as the ranking would."""
    scored: dict[str, Mapping[str, float]] = {}
    for query_id, returned in as_run(source).items():
        if isinstance(returned, Mapping):
            order(returned)
            scored[query_id] = returned
        else:
            scored[query_id] = {doc_id: float(-place) for place, doc_id in enumerate(returned)}
    return scored


def _evaluation(pipeline: Pipeline, facts: TableFacts, depth: int | None, *, by_query: bool) -> Evaluation:
    table = pipeline.table
    lowest = 1 if pipeline.rel is None else pipeline.rel
    more = {
        "hits": table.sum_hits(1.0, table.within(depth)),
        "nothing": table.where((table.sum_judged(1.0, table.grade >= lowest) == 0) & (nw.col("judged") > 0), 1.0),
    }
    frame, names = with_plain_names(pipeline.values(more))
    query, *columns = names
    *measured, hits, nothing = columns
    columns_by_query: dict[Measure, dict[str, float]] = {}
    if by_query:
        rows = fetch(frame.sort(query))
        for place, measure in enumerate(pipeline.labels, 1):
            columns_by_query[measure] = {row[0]: row[place] for row in rows if row[place] is not None}
        means = [_mean(column.values()) for column in columns_by_query.values()]
        judged, without = (math.fsum(row[place] for row in rows) for place in (-2, -1))
    else:
        sums = [nw.col(name).sum() for name in (hits, nothing)]
        ((*means, judged, without),) = fetch(frame.select(*[nw.col(name).mean() for name in measured], *sums))
    basis = Basis(
        only_run=Queries(facts.only_run),
        missing=Queries(facts.missing),
        nothing_relevant=Queries(int(without or 0)),
        never_meet=facts.judged_queries > 0 and facts.missing == facts.judged_queries and facts.only_run > 0,
        lowest_relevant=lowest,
        min_relevance=pipeline.rel,
        query_sets=set(pipeline.query_sets.values()),
        depth=depth,
        returned=facts.looked_at,
        judged=int(judged or 0),
    )
    return Evaluation(
        means={
            measure: float("nan") if mean is None else float(mean)
            for measure, mean in zip(pipeline.labels, means, strict=True)
        },
        labels=pipeline.labels,
        notes=basis.notes(),
        columns=columns_by_query,
        profile=pipeline.profile,
        min_relevance=pipeline.rel,
    )


def _mean(values: Collection[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
