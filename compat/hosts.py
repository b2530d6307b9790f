"""The hosts: every way in which a user gets a value from us. One call per host for a whole corpus, where it can."""

from __future__ import annotations

import csv
import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, suppress
from importlib import import_module
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from unittest import mock

import ir_measures
from ir_measures import Measure
from ir_measures.providers import registry

from compat.corpora.corpus import Grid
from compat.tables import TABLES
from permed_measures import InputError, ParamError, evaluate, ranking
from permed_measures.delegate import delegates
from permed_measures.evaluate import Plan
from permed_measures.evaluate.conventions.names import convention_of
from permed_measures.evaluate.conventions.orders import JudgedRun
from permed_measures.explanation.values import Values as ByConvention
from permed_measures.files import large as large_runs
from permed_measures.hosts.pytrec_eval import RelevanceEvaluator
from permed_measures.hosts.ranx import install, ranx_qrels, ranx_run, uninstall
from permed_measures.measures import own
from permed_measures.verification.references import trec_order

Values = dict[Measure, dict[str, float]]


def by_evaluate(measures: Sequence[Measure], qrels: Grid, run: Grid) -> Values:
    """One call per measure: each one with the depth it needs, so that short cuts are taken."""
    return {measure: evaluate(qrels, run, [measure]).columns[measure] for measure in measures}


def _by_depth(measures: Sequence[Measure]) -> list[list[Measure]]:
    """Group measures: those that look at the top 10 only, those that look at the top 100, and the rest."""
    groups: dict[int | None, list[Measure]] = {10: [], 100: [], None: []}
    for measure in measures:
        depth = Plan([measure]).depth
        groups[next((k for k in (10, 100) if depth is not None and depth <= k), None)].append(measure)
    return [group for group in groups.values() if group]


def by_evaluate_together(measures: Sequence[Measure], qrels: Grid, run: Grid) -> Values:
    """One call per group: depths are shared."""
    return {
        measure: column
        for group in _by_depth(measures)
        for measure, column in evaluate(qrels, run, group).columns.items()
    }


def by_evaluate_plain(measures: Sequence[Measure], qrels: Grid, run: Grid) -> Values:
    """One call for all, with lists that only the plain definition of the order takes, and by kernels: without numpy."""
    with mock.patch.object(import_module("permed_measures.evaluate"), "numpy_is_worth_it", return_value=False):
        return evaluate(qrels, {q: MappingProxyType(scores) for q, scores in run.items()}, list(measures)).columns


def by_evaluate_lists(measures: Sequence[Measure], qrels: Grid, run: Grid) -> Values:
    """One call for all, with lists that are already in order."""
    return evaluate(qrels, {q: trec_order(scores) for q, scores in run.items()}, list(measures)).columns


def by_ir_measures(measures: Sequence[Measure], qrels: Grid, run: Grid) -> Values:
    """Ours as anybody asks for them; the standard ones from our provider, or ir_measures would ask its own."""
    ours = [m for m in measures if own(m) is not None and not delegates(m) and not hasattr(m, "CONDENSES")]
    theirs = [measure for measure in measures if measure not in ours]
    values: Values = {measure: {} for measure in measures}
    for metric in ir_measures.iter_calc(ours, qrels, run) if ours else ():
        values[metric.measure][metric.query_id] = metric.value
    for metric in registry["permed"].evaluator(theirs, qrels).iter_calc(run) if theirs else ():
        values[metric.measure][metric.query_id] = metric.value
    return values


def by_relevance_evaluator(measures: Sequence[Measure], qrels: Grid, run: Grid) -> Values:
    """Ours by their trec_eval-style names where they have one; it leaves out queries that are not in the run."""
    names = {measure: _short_name(measure, "trec") or measure for measure in measures}
    answers = RelevanceEvaluator(qrels, list(names.values())).evaluate(run)
    return {
        measure: {query_id: answers[query_id][str(name)] if query_id in answers else 0.0 for query_id in qrels}
        for measure, name in names.items()
    }


def by_ranx(measures: Sequence[Measure], qrels: Grid, run: Grid) -> Values:
    """Ours by their ranx names where they have one, the others bound to a name; ranx wants every query in the run."""
    if not all(isinstance(grade, int) for judged in qrels.values() for grade in judged.values()):
        return {}  # ranx holds whole grades only: ranx_qrels() says so, and tests/ check it
    ranx = import_module("ranx")
    # a query is added to the run where ranx wants one: what counts queries would count it
    told = [measure for measure in measures if measure.NAME not in ("NumQ", "NumRel")]
    names = {measure: _short_name(measure, "ranx") or f"case{place}" for place, measure in enumerate(told)}
    install(**{name: measure for measure, name in names.items() if name.startswith("case")})
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=r"\s*.*unsafe cast from uint64 to int64")  # numba, compiling ranx
            judged, returned = ranx_qrels(qrels), ranx_run({query_id: run.get(query_id, {}) for query_id in qrels})
            ranx.evaluate(judged, returned, list(names.values()))
    finally:
        uninstall()
    return {measure: {q: float(value) for q, value in returned.scores[name].items()} for measure, name in names.items()}


def _by_tables(engine: str) -> Callable[[Sequence[Measure], Grid, Grid], Values]:
    """One call per group, on tables of an engine. A table has no place for a query without any judgement: it is 0."""

    def compute(measures: Sequence[Measure], qrels: Grid, run: Grid) -> Values:
        nw, tables = import_module("narwhals"), import_module("permed_measures.tables")
        judged, returned = TABLES[engine](
            ("query_id", "doc_id", "relevance"), qrels, ("query_id", "doc_id", "score"), run
        )
        known = tables.known_measures()
        values: Values = {}
        for group in _by_depth([measure for measure in measures if measure.NAME in known]):
            frame = nw.from_native(tables.evaluate_tables(judged, returned, group)).lazy().collect()
            query_ids = frame["query_id"].to_list()
            for measure in group:
                column = dict(zip(query_ids, frame[str(measure)].to_list(), strict=True))
                values[measure] = {query_id: 0.0 for query_id, grades in qrels.items() if not grades} | column
        return values

    return compute


def by_explain(measures: Sequence[Measure], qrels: Grid, run: Grid) -> Values:
    """Read a measure as a convention, which explain computes by arrays, not by kernels."""
    grades = sorted({grade for judged in qrels.values() for grade in judged.values()})
    lists = JudgedRun(qrels, run, None)
    at: dict[int | None, ByConvention] = {}
    values: Values = {}
    for measure in measures:
        with suppress(ParamError):  # no convention: named in test_complete.py
            convention = convention_of(measure, grades)
            if convention.cutoff not in at:
                at[convention.cutoff] = ByConvention(lists.at(convention.cutoff))
            column = dict(zip(lists.query_ids, at[convention.cutoff].by_query(convention).tolist(), strict=True))
            values[measure] = {query_id: column[query_id] for query_id in qrels}
    return values


def _by_large_files(kind: str, *, compiled: bool) -> Callable[[Sequence[Measure], Grid, Grid], Values]:
    """One call per group, on a file and with one of its readers; what that leaves to the plain reader lacks."""

    def compute(measures: Sequence[Measure], qrels: Grid, run: Grid) -> Values:
        values: Values = {}
        part = ranking.COLUMNS if compiled else None
        with TemporaryDirectory() as folder, mock.patch.object(ranking, "COLUMNS", part):
            path = Path(folder, f"run.{kind}")
            lines = _trec_lines(qrels, run) if kind == "trec" else _csv_lines(qrels, run)
            path.write_text("".join(lines), encoding="utf-8")
            for group in _by_depth(measures):
                plan = Plan(group)
                try:
                    rankings = large_runs.rankings(path, qrels, plan.depth, large=0)
                except InputError:
                    continue  # an id that such a file cannot hold
                columns = [] if rankings is None else plan.columns(qrels, rankings, list(qrels))
                for measure, column in zip(group if columns else [], columns, strict=True):
                    values[measure] = dict(zip(qrels, column, strict=True))
        return values

    return compute


def by_shell(measures: Sequence[Measure], qrels: Grid, run: Grid) -> Values:
    """Call the command line on CSV files, which hold every id, but no query without judgements."""
    cli = import_module("permed_measures.cli")
    values: Values = {m: {query_id: 0.0 for query_id, grades in qrels.items() if not grades} for m in measures}
    by_name = {str(measure): measure for measure in measures}
    with TemporaryDirectory() as folder:
        for name, heads, grid in (("qrels", "query_id,doc_id,relevance", qrels), ("run", "query_id,doc_id,score", run)):
            with Path(folder, f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
                csv.writer(file).writerows(
                    [heads.split(","), *((q, d, repr(number)) for q, row in grid.items() for d, number in row.items())]
                )
        asked = [word for name in by_name for word in ("-m", name)]
        with suppress(SystemExit), redirect_stderr(StringIO()) as told:  # notes
            cli.main(["eval", f"{folder}/qrels.csv", f"{folder}/run.csv", *asked, "-q", "-o", f"{folder}/values.jsonl"])
        found = Path(folder, "values.jsonl")
        assert found.exists(), told.getvalue()
        for line in found.read_text(encoding="utf-8").splitlines():
            value = json.loads(line)
            if value["query_id"] in qrels:  # else the mean
                values[by_name[value["measure"]]][value["query_id"]] = value["value"]
    return values


def _trec_lines(qrels: Grid, run: Grid) -> Iterator[str]:
    for query_id, scores in run.items():
        if query_id in qrels:  # ids of others may hold a space
            for doc_id, score in scores.items():
                yield f"{query_id} Q0 {doc_id} 0 {score!r} compat\n"


def _csv_lines(qrels: Grid, run: Grid) -> Iterator[str]:
    yield "query_id,doc_id,score\n"
    for query_id, scores in run.items():
        if query_id in qrels:
            for doc_id, score in scores.items():
                yield f"{query_id},{doc_id},{score!r}\n"


def _short_name(measure: Measure, kind: str) -> str:
    ours = own(measure)
    host = None if ours is None or delegates(measure) else ours.host_name(ours.params)
    if host is None or ours is None or not (host.in_ranx if kind == "ranx" else _is_new_to_trec_eval(host.name)):
        return ""
    return str(getattr(host, kind)(ours.params.get(ours.AT_PARAM)))


def _is_new_to_trec_eval(name: str) -> bool:
    return name not in import_module("pytrec_eval").supported_measures  # its own names mean its own values


HOSTS: dict[str, Callable[[Sequence[Measure], Grid, Grid], Values]] = {
    "evaluate": by_evaluate,
    "evaluate_together": by_evaluate_together,
    "evaluate_plain": by_evaluate_plain,
    "evaluate_lists": by_evaluate_lists,
    "ir_measures": by_ir_measures,
    "pytrec_eval": by_relevance_evaluator,
    "ranx": by_ranx,
    "tables_polars": _by_tables("polars"),  # the other engines, once: tests/test_tables.py
    "tables_duckdb": _by_tables("duckdb"),
    "explain": by_explain,
    "large_compiled": _by_large_files("trec", compiled=True),
    "large_numpy": _by_large_files("trec", compiled=False),
    "large_duckdb": _by_large_files("csv", compiled=False),
    "shell": by_shell,
}

_NEEDED = {
    "ranx": ("ranx",),
    "tables_polars": ("narwhals", "polars"),
    "tables_duckdb": ("narwhals", "duckdb"),
    "large_compiled": ("permed_measures._columns",),
    "large_duckdb": ("duckdb",),
    "shell": ("click",),
}


def absent(host: str) -> str:
    """Return why a host cannot be used here; empty when it can."""
    return ", ".join(f"{name} is not installed" for name in _NEEDED.get(host, ()) if find_spec(name) is None)
