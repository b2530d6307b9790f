"""Evaluate parquet datasets, or what readers have read, in an engine: what ``permed-measures eval --engine`` does."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import narwhals as nw
from ir_measures import Measure
from narwhals.exceptions import NarwhalsError

from permed_measures.errors import InputError
from permed_measures.evaluate import Evaluation, with_advice
from permed_measures.inputs import QrelsLike, RunLike, as_qrels, as_run
from permed_measures.notes import Basis, Queries
from permed_measures.numbers import canonical
from permed_measures.ranking import order as in_order
from permed_measures.signature import Digest
from permed_measures.tables.datasets import is_parquet
from permed_measures.tables.digests import table_digests
from permed_measures.tables.engines import fetch
from permed_measures.tables.evaluate import Pipeline
from permed_measures.tables.inspection import TableFacts, check, inspect, some_queries
from permed_measures.tables.ranking_table import GRADE, QUERY, queries_of
from permed_measures.tables.sessions import Session


def evaluate_files(  # noqa: PLR0913  (all but four by name)
    session: Session,
    qrels: QrelsLike,
    run: RunLike,
    measures: str | Measure | Iterable[str | Measure] | None = None,
    *,
    by_query: bool = False,
    named: Mapping[str, str] | None = None,
    **options: Any,  # noqa: ANN401  (those of evaluate_tables)
) -> Evaluation:
    """Evaluate paths of parquet, or what inputs.py knows; values of single queries leave the engine where asked for.

    ``named`` says where qrels and run came from, where they are paths no longer.
    """
    given = {"qrels": qrels, "run": run}
    named = {what: source if isinstance(source, str) else what for what, source in given.items()} | dict(named or {})
    judged, returned = _table(session, qrels, "relevance"), _table(session, run, "score")
    with session.errors_named(*named.values(), also=(NarwhalsError,)):
        pipeline = Pipeline.of(judged, returned, measures, named=named, **options)
        depth = pipeline.plan.deepest_cutoff
        whole_run = "run" in pipeline.query_sets.values()
        facts = inspect(pipeline.qrels, pipeline.run, depth, whole_run=whole_run, kept=pipeline.kept)
        pipeline.facts = facts
        check(facts, allowed=pipeline.allowed, named=named)
        _check_grades(pipeline, named["qrels"])
        ties = pipeline.ties(depth, whole_run=whole_run)
        digests = table_digests(judged, pipeline.qrels, options.get("duplicates", "error"))
        return _evaluation(pipeline, facts, ties, named["run"], digests, by_query=by_query)


def _check_grades(pipeline: Pipeline, place: str) -> None:
    try:
        pipeline.check_grades()
    except InputError as error:
        advised = with_advice(error, pipeline.plan, pipeline.profile, _highest_grade(pipeline))
        raise InputError(str(advised), path=place) from error


def _highest_grade(pipeline: Pipeline) -> float:
    ((highest,),) = fetch(pipeline.qrels.rows.select(nw.col(GRADE).max()))
    return 0 if highest is None else canonical(highest)


def _table(session: Session, source: Any, value: str) -> Any:  # noqa: ANN401  (a table of the engine)
    if isinstance(source, str) and is_parquet(source):
        return session.read(source)
    return session.table(as_qrels(source) if value == "relevance" else _scored(source), value)


def _scored(source: Any) -> Mapping[str, Mapping[str, float]]:  # noqa: ANN401  (anything that inputs.py knows)
    """Give scores to lists that are in order; check the others, as the ranking would."""
    scored: dict[str, Mapping[str, float]] = {}
    for query_id, returned in as_run(source).items():
        if isinstance(returned, Mapping):
            in_order(returned)
            scored[query_id] = returned
        else:
            scored[query_id] = {doc_id: float(-place) for place, doc_id in enumerate(returned)}
    return scored


def _evaluation(  # noqa: PLR0913  (all that was found out)
    pipeline: Pipeline,
    facts: TableFacts,
    ties: tuple[int, int],
    run: str,
    digests: Mapping[str, Digest],
    *,
    by_query: bool,
) -> Evaluation:
    table, depth = pipeline.table, pipeline.plan.deepest_cutoff
    frame = pipeline.plain_values(hits=table.sum_hits(1, table.within(depth)))
    query, *measured, hits = frame.collect_schema().names()
    columns_by_query: dict[Measure, dict[str, float]] = {}
    if by_query:
        rows = fetch(frame.sort(query))
        for place, measure in enumerate(pipeline.labels, 1):
            columns_by_query[measure] = {row[0]: row[place] for row in rows if row[place] is not None}
        means = [_mean(column.values()) for column in columns_by_query.values()]
        counts = [len(column) for column in columns_by_query.values()]
        judged = math.fsum(row[-1] for row in rows)
    else:
        counted = {f"n_{name}": nw.col(name).count() for name in measured}
        mean = [nw.col(name).mean() for name in measured]
        ((*found, judged),) = fetch(frame.select(*mean, **counted, judged_hits=nw.col(hits).sum()))
        means, counts = found[: len(measured)], found[len(measured) :]
    if all(mean is None for mean in means):
        said = f"the qrels hold {facts.judged_queries:,} queries, {facts.missing:,} of them are not in the run"
        msg = f"no query to evaluate: {said}, which holds {facts.only_run:,} others; are the query ids written alike?"
        raise InputError(msg, path=run)
    return Evaluation(
        means={
            measure: float("nan") if mean is None else float(mean)
            for measure, mean in zip(pipeline.labels, means, strict=True)
        },
        labels=pipeline.labels,
        notes=_basis(pipeline, facts, ties, int(judged or 0)).notes(),
        columns=columns_by_query,
        profile=pipeline.profile,
        min_relevance=pipeline.rel,
        order=pipeline.plan.order,
        conditions=pipeline.plan.conditions(pipeline.query_sets, counts, lambda: digests),
    )


def _basis(pipeline: Pipeline, facts: TableFacts, ties: tuple[int, int], judged: int) -> Basis:
    lowest = 1 if pipeline.rel is None else pipeline.rel
    in_qrels, in_run = queries_of(pipeline.qrels.rows), queries_of(pipeline.run.rows)
    best = pipeline.qrels.rows.group_by(QUERY).agg(nw.col(GRADE).max())
    single, double = ties
    return Basis(
        only_run=some_queries(in_run.join(in_qrels, on=QUERY, how="anti")) if facts.only_run else Queries(0),
        missing=some_queries(in_qrels.join(in_run, on=QUERY, how="anti")) if facts.missing else Queries(0),
        nothing_relevant=some_queries(best.filter(nw.col(GRADE) < lowest)),
        never_meet=facts.missing == facts.judged_queries,
        lowest_relevant=lowest,
        min_relevance=pipeline.rel,
        query_sets=set(pipeline.query_sets.values()),
        depth=pipeline.plan.deepest_cutoff,
        returned=facts.looked_at,
        judged=judged,
        tied=single if pipeline.plan.order == "float32" else double,
        nearly_tied=single - double,
        order=pipeline.plan.order,
        measures=list(pipeline.labels),
        highest=_highest_grade(pipeline),
        top_grade=None if pipeline.profile is None else pipeline.profile.top_grade,
    )


def _mean(values: Collection[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
