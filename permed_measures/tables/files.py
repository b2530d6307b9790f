"""Evaluate parquet datasets, or what readers have read, in an engine: what ``permed-measures eval --engine`` does."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache, partial
from typing import Any, NamedTuple, TypeAlias

import narwhals as nw
from ir_measures import Measure
from narwhals.exceptions import NarwhalsError

from permed_measures.errors import InputError
from permed_measures.evaluate import Evaluation, with_advice
from permed_measures.files.output import check_new_folder, whole_folder
from permed_measures.inputs import QrelsLike, RunLike, as_qrels, as_run
from permed_measures.notes import Basis, Queries
from permed_measures.numbers import canonical
from permed_measures.ranking import order as in_order
from permed_measures.tables.counts import some_lists, some_queries, systems_of
from permed_measures.tables.datasets import is_parquet
from permed_measures.tables.digests import table_digest, table_digests
from permed_measures.tables.engines import fetch
from permed_measures.tables.evaluate import Pipeline
from permed_measures.tables.inspection import TableFacts, check, inspected
from permed_measures.tables.ranking_table import GRADE, QUERY, SYSTEM, list_keys, lists_of
from permed_measures.tables.sessions import Session

Written: TypeAlias = Callable[[nw.LazyFrame[Any], Mapping[str, str]], nw.LazyFrame[Any]]
"""Writes values somewhere, given the names of their columns, and returns them, computed."""


class Found(NamedTuple):
    """What an engine found: an evaluation of every system, by name, or of None, the only one; segments of queries."""

    systems: dict[str | None, Evaluation]
    segments: dict[str, dict[str, str]]
    """Of every segment that was asked for, the value of each query."""
    pipeline: Pipeline


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
    return evaluate_systems(session, qrels, run, measures, by_query=by_query, named=named, **options).systems[None]


def evaluate_systems(  # noqa: PLR0913  (as above)
    session: Session,
    qrels: QrelsLike,
    runs: Any,  # noqa: ANN401  (a run, or several by name)
    measures: str | Measure | Iterable[str | Measure] | None = None,
    *,
    several: bool = False,
    by_query: bool = False,
    write: str | None = None,
    named: Mapping[str, str] | None = None,
    **options: Any,  # noqa: ANN401  (those of evaluate_tables)
) -> Found:
    """Evaluate as :func:`evaluate_files` does, in one pass: ``several`` runs by name, or a run with a ``system``.

    The values of all queries are also written into the folder ``write``, as parquet.
    """
    given = dict(runs) if several else {"run": runs}
    sources = {**given, "qrels": qrels}
    named = {what: source if isinstance(source, str) else what for what, source in sources.items()} | dict(named or {})
    judged = table_of(session, qrels, "relevance")
    tables = {name: table_of(session, run, "score") for name, run in given.items()}

    if write is not None:
        check_new_folder(write)

    def written(frame: nw.LazyFrame[Any], shown: Mapping[str, str]) -> nw.LazyFrame[Any]:
        values: nw.LazyFrame[Any] = nw.from_native(session.computed(nw.to_native(frame)))
        named_values = values.select(*[nw.col(short).alias(name) for short, name in shown.items()])
        with whole_folder(write or "") as folder:
            session.write(nw.to_native(named_values), folder, options.get("system") or (SYSTEM if several else None))
        return values

    with session.errors_named(*named.values(), also=(NarwhalsError,)):
        return evaluations(
            *(judged, tables if several else tables["run"], measures),
            by_query=by_query,
            named=named,
            written=None if write is None else written,
            **options,
        )


def evaluations(  # noqa: PLR0913  (as above)
    judged: Any,  # noqa: ANN401  (a table of an engine)
    returned: Any,  # noqa: ANN401  (a table, or several by name)
    measures: str | Measure | Iterable[str | Measure] | None = None,
    *,
    by_query: bool = True,
    named: Mapping[str, str] | None = None,
    written: Written | None = None,
    **options: Any,  # noqa: ANN401  (those of evaluate_tables)
) -> Found:
    """Evaluate tables of an engine; what leaves it are means and notes, and where asked for a row per query.

    The digest of the judgements leaves it when somebody asks for signatures.
    """
    named = {"qrels": "qrels", "run": "run"} | dict(named or {})
    pipeline = Pipeline.of(judged, returned, measures, named=named, **options)
    depth = pipeline.plan.deepest_cutoff
    whole_run = "run" in pipeline.query_sets.values()
    within = pipeline.plan.depth is None or depth is None or pipeline.plan.depth <= depth
    ask: dict[str, Any] = {"whole_run": whole_run, "ranked": pipeline.kept, "best": pipeline.plain and within}
    with inspected(pipeline.qrels, pipeline.run, depth, **ask) as inside:
        facts, pipeline.best, queries = inside
        pipeline.facts = facts
        check(facts, allowed=pipeline.allowed, named=named)
        highest = _highest_grade(queries)
        _check_grades(pipeline, named["qrels"], highest)
        pipeline.check_segments()
        ties = pipeline.ties(depth, whole_run=whole_run)
        reached, segments = _reached(pipeline, written, by_query=by_query)
        hits = {system: part.judged for system, part in reached.items()}
        notes = _notes(pipeline, facts, queries, highest=highest, ties=ties, judged=hits)
    pipeline.best = None
    given = judged, pipeline.qrels, options.get("duplicates", "error")
    digests = cache(partial(table_digests, *given)), cache(partial(table_digest, *given))
    order = list(returned) if isinstance(returned, Mapping) else list(facts.by_system)
    found: dict[str | None, Evaluation] = {}
    for system in order:
        if system not in reached or all(mean is None for mean in reached[system].means):
            raise _nothing(facts, system, named.get(system or "run", str(system)))
        found[system] = Evaluation(
            means={
                measure: float("nan") if mean is None else float(mean)
                for measure, mean in zip(pipeline.labels, reached[system].means, strict=True)
            },
            labels=pipeline.labels,
            notes=notes[system],
            columns=reached[system].columns,
            profile=pipeline.profile,
            min_relevance=pipeline.rel,
            order=pipeline.plan.order,
            conditions=pipeline.plan.conditions(pipeline.query_sets, reached[system].counts, *digests),
        )
    return Found(found, segments, pipeline)


def _check_grades(pipeline: Pipeline, place: str, highest: float) -> None:
    try:
        pipeline.check_grades()
    except InputError as error:
        advised = with_advice(error, pipeline.plan, pipeline.profile, highest)
        raise InputError(str(advised), path=place) from error


def _highest_grade(queries: nw.LazyFrame[Any]) -> float:
    ((highest,),) = fetch(queries.select(nw.col(GRADE).max()))
    return 0 if highest is None else canonical(highest)


def table_of(session: Session, source: Any, value: str) -> Any:  # noqa: ANN401  (a table of the engine)
    """Return a path of parquet, or what inputs.py knows, as a table of relevance or score."""
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


class _Reached(NamedTuple):
    """What one system reached, measure by measure."""

    means: list[float | None]
    counts: list[int]
    judged: int
    """How many documents that measures can see are judged."""
    columns: dict[Measure, dict[str, float]]


def _reached(
    pipeline: Pipeline, written: Written | None, *, by_query: bool
) -> tuple[dict[str | None, _Reached], dict[str, dict[str, str]]]:
    """Compute the values, write them where asked for, and take means, or all of them, out of the engine."""
    table, labels = pipeline.table, pipeline.labels
    frame = pipeline.plain_values(hits=table.sum_hits(1, table.within(pipeline.plan.deepest_cutoff)))
    if written is not None:
        shown = zip(frame.collect_schema().names(), pipeline.names, strict=False)  # all but the last, which is ours
        frame = written(frame, dict(shown))
    systems, segments = list(pipeline.run.more), list(pipeline.qrels.more)
    measured = [f"value_{place}" for place in range(len(labels))]
    if not by_query:
        asked = [nw.col(name).mean() for name in measured]
        asked += [nw.col(name).count().alias(f"n_{name}") for name in measured]
        asked.append(nw.col("hits").sum().alias("judged_hits"))
        num, found = len(labels), {}
        for row in fetch(frame.group_by(*systems).agg(*asked) if systems else frame.select(*asked)):
            system, numbers = (row[0], row[1:]) if systems else (None, row)
            found[system] = _Reached(list(numbers[:num]), list(numbers[num:-1]), int(numbers[-1] or 0), {})
        return dict(sorted(found.items(), key=str)), {}
    parts: dict[str | None, list[Any]] = {}
    for row in fetch(frame.sort(*systems, QUERY)):
        parts.setdefault(row[0] if systems else None, []).append(row[len(systems) :])
    texts = {
        name: {row[0]: row[place] for rows in parts.values() for row in rows if row[place] is not None}
        for place, name in enumerate(pipeline.qrels.more.values(), 1)
    }
    return {system: _columns(rows, list(labels), 1 + len(segments)) for system, rows in parts.items()}, texts


def _columns(rows: list[Any], measures: list[Measure], start: int) -> _Reached:
    columns = {
        measure: {row[0]: row[place] for row in rows if row[place] is not None}
        for place, measure in enumerate(measures, start)
    }
    means = [_mean(column.values()) for column in columns.values()]
    return _Reached(means, [len(column) for column in columns.values()], int(math.fsum(r[-1] for r in rows)), columns)


def _nothing(facts: TableFacts, system: str | None, place: str) -> InputError:
    counts = facts.by_system.get(system)
    if counts is None:
        return InputError("the run has no rows", path=place)
    said = f"the qrels hold {counts['judged']:,} queries, {counts['missing']:,} of them are not in the run"
    msg = f"no query to evaluate: {said}, which holds {counts['only_run']:,} others; are the query ids written alike?"
    return InputError(msg, path=place)


def _notes(  # noqa: PLR0913  (what was found, by name)
    pipeline: Pipeline,
    facts: TableFacts,
    queries: nw.LazyFrame[Any],
    *,
    highest: float,
    ties: Mapping[str | None, tuple[int, int]],
    judged: Mapping[str | None, int],
) -> dict[str | None, list[str]]:
    """Return what the values of each system rest on."""
    lowest = 1 if pipeline.rel is None else pipeline.rel
    in_qrels, in_run = queries.select(QUERY), lists_of(pipeline.run.rows)
    asked = in_qrels.join(systems_of(pipeline.run.rows), how="cross") if pipeline.run.more else in_qrels
    only_run = some_lists(in_run.join(in_qrels, on=QUERY, how="anti")) if facts.only_run else {}
    missing = some_lists(asked.join(in_run, on=list_keys(in_run), how="anti")) if facts.missing else {}
    nothing_relevant = some_queries(queries.filter(nw.col(GRADE) < lowest))
    notes = {}
    for system, counts in facts.by_system.items():
        single, double = ties.get(system, (0, 0))
        notes[system] = Basis(
            only_run=only_run.get(system, Queries(0)),
            missing=missing.get(system, Queries(0)),
            nothing_relevant=nothing_relevant,
            never_meet=counts["missing"] == counts["judged"],
            lowest_relevant=lowest,
            min_relevance=pipeline.rel,
            query_sets=set(pipeline.query_sets.values()),
            depth=pipeline.plan.deepest_cutoff,
            returned=counts["looked_at"],
            judged=judged.get(system, 0),
            tied=single if pipeline.plan.order == "float32" else double,
            nearly_tied=single - double,
            order=pipeline.plan.order,
            measures=list(pipeline.labels),
            highest=highest,
            top_grade=None if pipeline.profile is None else pipeline.profile.top_grade,
            judgements=facts.qrels_rows,
        ).notes()
    return notes


def _mean(values: Collection[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
