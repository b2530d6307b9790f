"""What compare and gate ask of runs in an engine: values of all queries, pairs that one put right, lists in order."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import narwhals as nw
from ir_measures import Measure

from permed_measures.errors import InputError
from permed_measures.evaluate.groups import NAMED, is_table
from permed_measures.notes import NEVER_MEET
from permed_measures.tables import EngineRun, stays_in_engine
from permed_measures.tables.engines import fetch, stream
from permed_measures.tables.evaluate import Pipeline
from permed_measures.tables.files import evaluations
from permed_measures.tables.inputs import without_duplicates
from permed_measures.tables.ranking_table import DOC, GRADE, QUERY, RANK, SYSTEM, lists_of, queries_of

Pairs = Mapping[str, tuple[int, int, int]]
"""Of each query: pairs of a relevant and a non-relevant document, those put right, those put wrong."""


class EngineRuns(NamedTuple):
    """Systems that were evaluated in one pass."""

    runs: dict[str, list[EngineRun]]
    groups: list[Any]
    """As given; what names a column of the qrels is the value of every query."""
    pairs: Callable[[str, int], Mapping[str, Pairs]]
    """Given the baseline and a cut-off: the pairs of every other system with one run."""


def evaluate_runs(
    qrels: Any,  # noqa: ANN401  (a table of an engine)
    systems: Mapping[str, Sequence[Any]],
    measures: str | Measure | Iterable[str | Measure] | None,
    groups: Sequence[Any] = (),
    **options: Any,  # noqa: ANN401  (those of evaluate_tables)
) -> EngineRuns:
    """Evaluate systems of one or several tables each in one pass."""
    several = {name: [f"{name}, run {n}" for n in range(1, len(runs) + 1)] for name, runs in systems.items()}
    keys = {name: [name] if len(numbered) == 1 else numbered for name, numbered in several.items()}
    tables = {key: run for name, runs in systems.items() for key, run in zip(keys[name], runs, strict=True)}
    for key, run in tables.items():
        if not stays_in_engine(run):
            msg = f"run {key!r} is a {type(run).__name__}, and the qrels are a table of an engine: give a table of it"
            raise InputError(msg)
    columns = nw.from_native(qrels).collect_schema().names()
    asked = [g for g in groups if isinstance(g, str) and g in columns and g not in NAMED and not is_table(g)]
    found = evaluations(qrels, tables, measures, segments=list(dict.fromkeys(asked)), **options)
    _check_ran(found.pipeline, list(tables))
    for evaluation in found.systems.values():  # now: the connection may be closed when a comparison is saved
        _ = evaluation.signatures
    runs = {key: EngineRun(found.systems[key], partial(_lists, found.pipeline, key)) for key in tables}
    return EngineRuns(
        {name: [runs[key] for key in keys[name]] for name in systems},
        [found.segments.get(group, group) if isinstance(group, str) else group for group in groups],
        partial(_pairs, found.pipeline),
    )


def _check_ran(pipeline: Pipeline, names: Sequence[str]) -> None:
    """Refuse a run that returned nothing for any judged query, or for none that the first one has."""
    if pipeline.facts is None:
        return
    counts = pipeline.facts.by_system
    ran = {name: counts[name]["judged"] - counts[name]["missing"] for name in names}
    first, *others = names
    for name in names:
        if not ran[name]:
            msg = f"run {name!r}: {NEVER_MEET}, so nothing can be compared; did it run, and are the ids written alike?"
            raise InputError(msg)
    lists = lists_of(pipeline.run.rows)
    of_first = lists.filter(nw.col(SYSTEM) == first).select(QUERY)
    for name in others:
        if ran[first] + ran[name] > counts[name]["judged"]:  # then some are in both
            continue
        shared = lists.filter(nw.col(SYSTEM) == name).join(of_first, on=QUERY, how="semi")
        if not fetch(shared.join(queries_of(pipeline.qrels.rows), on=QUERY, how="semi").select(QUERY).head(1)):
            raise InputError(f"run {name!r} shares no query with {first!r}, so there is nothing to compare")


def _lists(pipeline: Pipeline, system: str, depth: int | None) -> Iterator[tuple[str, list[str]]]:
    rows = pipeline.ranked(depth, whole_run="run" in pipeline.query_sets.values()).filter(nw.col(SYSTEM) == system)
    rows = rows.select(QUERY, RANK, DOC).sort(QUERY, RANK)
    for query_id, inside in groupby(stream(rows), itemgetter(0)):
        yield query_id, [doc_id for *_, doc_id in inside]


def _pairs(pipeline: Pipeline, baseline: str, cutoff: int) -> dict[str, dict[str, tuple[int, int, int]]]:
    """Count what comparison.p_imp.pair_counts counts, where the lists are."""
    lowest = 1 if pipeline.rel is None else pipeline.rel
    judged = without_duplicates(pipeline.qrels, pipeline.duplicates)
    relevant = judged.filter(nw.col(GRADE) >= lowest).select(QUERY, DOC).with_columns(relevant=nw.lit(1))
    top, of_baseline = pipeline.ranked(cutoff), nw.col(SYSTEM) == baseline
    old = top.filter(of_baseline).select(QUERY, DOC, was=nw.col(RANK))
    new = top.filter(~of_baseline).join(queries_of(old), on=QUERY, how="semi").join(old, on=[QUERY, DOC], how="left")
    new = new.join(relevant, on=[QUERY, DOC], how="left").with_columns(
        was=nw.col("was").fill_null(cutoff + 1.0), relevant=nw.col("relevant").fill_null(0)
    )
    other = new.filter(nw.col("relevant") == 0).select(SYSTEM, QUERY, below=nw.col(RANK), was_below=nw.col("was"))
    both = new.filter(nw.col("relevant") == 1).join(other, on=[SYSTEM, QUERY], how="inner")
    above, was_above = nw.col(RANK) < nw.col("below"), nw.col("was") < nw.col("was_below")
    was_lower = nw.col("was") > nw.col("was_below")  # two that were not there are in no order
    counted = both.with_columns(
        improved=nw.when(above & was_lower).then(1).otherwise(0),
        worsened=nw.when(~above & was_above).then(1).otherwise(0),
    )
    sums = counted.group_by(SYSTEM, QUERY).agg(nw.col("relevant", "improved", "worsened").sum())
    found: dict[str, dict[str, tuple[int, int, int]]] = {}
    for system, query_id, *counts in fetch(sums.select(SYSTEM, QUERY, "relevant", "improved", "worsened")):
        found.setdefault(system, {})[query_id] = (int(counts[0]), int(counts[1]), int(counts[2]))
    return found
