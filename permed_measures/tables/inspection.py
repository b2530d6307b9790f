"""What there is to know of two tables before their numbers can be trusted: few passes over each."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

import narwhals as nw
from ir_measures import Measure

from permed_measures.errors import InputError
from permed_measures.measures import own, parse_all
from permed_measures.measures.base import RankingMeasure
from permed_measures.notes import Queries
from permed_measures.numbers import canonical
from permed_measures.tables.best_lists import BestLists, found_best
from permed_measures.tables.counts import full_join, one_row, sums_by_system, systems_of
from permed_measures.tables.engines import HASH, fetch, kept
from permed_measures.tables.hashed_lists import DOUBTFUL, FAULTS, JUDGED, RETURNED, doubtful_rows, packed_lists
from permed_measures.tables.hashes import Different, all_differ, with_hashes
from permed_measures.tables.inputs import InputTable, as_table, check_same_kind, is_nan_score
from permed_measures.tables.listed import listed
from permed_measures.tables.ranking_table import (
    DOC,
    GRADE,
    ONE,
    QUERY,
    SYSTEM,
    list_keys,
    with_one,
)

_NAMED = 3
_SUMS = ("looked_at", "rows", "nameless", JUDGED, "missing", "only_run")
_ADVICE = {
    "empty ids": "every row needs a query and a document",
    "missing numbers": "every row needs a number",
    "infinite or NaN grades": "a grade is a finite number",
    "duplicates": "keep one row each, or say duplicates='max' (the highest; in the shell --duplicates max)",
    "NaN scores": "engines disagree on the rank of NaN; say nan_scores='drop' or 'last' (shell: --nan-scores drop)",
}


class Fault(NamedTuple):
    """Something that makes values wrong: in which table, what, how often, and in words with examples."""

    table: str
    kind: str
    rows: int
    text: str


@dataclass(frozen=True)
class TableFacts:
    """Counts of what the values of two tables rest on; rows are those of the queries that are judged."""

    qrels_rows: int
    run_rows: int
    judged_queries: int
    only_run: int
    """Queries of the run without a judgement: ignored, except where means run over the run's queries."""
    missing: int
    """Judged queries that the run does not have: they count 0."""
    duplicates: int
    """Rows of the run whose query and document another row has already."""
    nan_scores: int
    looked_at: int
    """Documents that measures can see: of the queries that means run over, down to the depth that was named."""
    faults: tuple[Fault, ...]
    by_system: Mapping[str | None, Mapping[str, int]] = field(default_factory=dict)
    """Judged queries, those missing or only there, and documents looked at: of every system, or of None."""

    @property
    def lists(self) -> int:
        """How many lists the run has."""
        return self.judged_queries - self.missing + self.only_run

    @property
    def notes(self) -> list[str]:
        """What a reader of the values should know."""
        notes = []
        if self.judged_queries and self.missing == self.judged_queries:
            notes.append("no query is in both tables: every value is 0; are the query ids written alike?")
        if self.only_run:
            notes.append(f"{Queries(self.only_run).counted} only in the run, ignored")
        if self.missing:
            notes.append(f"{Queries(self.missing).counted} missing from the run, counted as 0")
        if self.duplicates:
            notes.append(f"{self.duplicates:,} rows repeat a document of their query")
        if self.nan_scores:
            notes.append(f"{self.nan_scores:,} scores are NaN")
        return notes


def inspect_tables(
    qrels: Any,  # noqa: ANN401  (any table that Narwhals knows)
    run: Any,  # noqa: ANN401  (as above)
    *,
    measures: str | Measure | Iterable[str | Measure] | None = None,
    qrels_columns: tuple[str, str, str] | None = None,
    run_columns: tuple[str, str, str] | None = None,
) -> TableFacts:
    """Count what is wrong or worth knowing in two tables. This reads both.

    With ``measures``, a grade that one of them is not defined for is a fault too.
    ``qrels_columns`` and ``run_columns`` are those of :func:`evaluate_tables`. Returns TableFacts; raises InputError
    for a column.

    >>> import polars
    >>> qrels = polars.DataFrame({"query_id": ["p", "q"], "doc_id": ["a", "a"], "relevance": [1, 2]})
    >>> run = polars.DataFrame({"query_id": ["q", "q", "x"], "doc_id": ["a", "a", "b"], "score": [2.0, 1.0, 0.5]})
    >>> facts = inspect_tables(qrels, run)
    >>> facts.duplicates, facts.only_run, facts.missing
    (1, 1, 1)
    """
    judged, returned = as_table(qrels, "qrels", qrels_columns), as_table(run, "run", run_columns)
    check_same_kind(judged, returned)
    with inspected(judged, returned) as inside:
        facts = inside.facts
    try:
        check_grades(judged, [ours for ours in map(own, parse_all(measures or [])) if ours is not None])
    except InputError as error:
        return replace(facts, faults=(*facts.faults, Fault("qrels", "grades", 1, str(error))))
    return facts


class Inspected(NamedTuple):
    """What an inspection found, as long as it lasts."""

    facts: TableFacts
    best: BestLists | None
    """The best of each list, where they were asked for and the engine finds them."""
    queries: nw.LazyFrame[Any]
    """The judged queries, each with its highest grade."""


@contextmanager
def inspected(  # noqa: PLR0913  (all but two with defaults)
    qrels: InputTable,
    run: InputTable,
    depth: int | None = None,
    *,
    whole_run: bool = False,
    ranked: nw.LazyFrame[Any] | None = None,
    best: bool = False,
) -> Iterator[Inspected]:
    """Count what is wrong or worth knowing in tables whose columns are known.

    ``depth`` is where the longest look into a list ends; ``whole_run`` says that lists of all queries are looked at;
    ``ranked`` are the rows of the run that are ranked, where some are not. ``best`` asks for the best of each list.
    """
    how: dict[str, Any] = {"whole_run": whole_run, "ranked": ranked}
    if run.rows.implementation.is_spark_like():
        queries = _judged_queries(qrels)
        with kept(packed_lists(_with_faults(qrels), _with_faults(run))) as packed:
            yield Inspected(_inspect(qrels, run, depth, **how, queries=queries, packed=packed), None, queries)
        return
    with _looked_at(qrels) as (queries, how["judged_differ"]):
        how["queries"] = queries
        if ranked is not None:
            yield Inspected(_inspect(qrels, run, depth, **how), None, queries)
            return
        with found_best(run, depth if best else None) as (differ, found):
            yield Inspected(_inspect(qrels, run, depth, **how, best=found, differ=differ), found, queries)


def _judged_queries(qrels: InputTable) -> nw.LazyFrame[Any]:
    return qrels.rows.group_by(QUERY).agg(nw.col(GRADE).max())


@contextmanager
def _looked_at(qrels: InputTable) -> Iterator[tuple[nw.LazyFrame[Any], Different | None]]:
    """Find the judged queries, each with its highest grade, and that all rows differ; None where it is not certain."""
    with listed(qrels.rows, 1, GRADE) as found:
        if found is not None:
            yield found.lists, Different(found.num_rows, found.num_lists)
            return
    queries, kind = _judged_queries(qrels), qrels.rows.implementation
    with kept(queries) if kind.is_polars() or kind.is_duckdb() else nullcontext(queries) as judged:
        yield judged, all_differ(qrels.unknown_rows, GRADE)


def _inspect(  # noqa: PLR0913  (as above)
    qrels: InputTable,
    run: InputTable,
    depth: int | None,
    *,
    whole_run: bool,
    ranked: nw.LazyFrame[Any] | None,
    queries: nw.LazyFrame[Any],
    best: BestLists | None = None,
    packed: nw.LazyFrame[Any] | None = None,
    differ: Different | None = None,
    judged_differ: Different | None = None,
) -> TableFacts:
    judged_queries, keys = queries.select(QUERY), list_keys(run.rows)
    counted = differ and differ.lists
    known = best.lists if counted is None and best is not None else counted
    nameless = nw.col(QUERY).is_null() | (nw.col(QUERY) == "")
    if len(keys) > 1:
        nameless = nameless | nw.col(SYSTEM).is_null() | (nw.col(SYSTEM) == "")
    found = None if packed is None else _sums_of_packed(packed, depth, whole_run=whole_run)
    if found is not None and ranked is None and len(keys) == 1 and not found[FAULTS]:
        systems: dict[str | None, dict[str, int]] = {None: {name: found[name] for name in _SUMS}}
    else:
        if packed is not None and len(keys) > 1:
            judged_queries = packed.filter(nw.col(JUDGED) > 0).select(QUERY)
        if ranked is None and packed is not None and len(keys) > 1:
            lists = packed.filter(nw.col(RETURNED) > 0).select(*keys, RETURNED)
        elif known is not None:
            lists = known.select(*keys, nw.col(ONE).alias(RETURNED))
        else:
            lists = (run.rows if ranked is None else ranked).group_by(*keys).agg(nw.len().alias(RETURNED))
        lists = lists.with_columns(nameless=nw.when(nameless).then(nw.col(RETURNED)).otherwise(0))
        asked = judged_queries if len(keys) == 1 else judged_queries.join(systems_of(run.rows), how="cross")
        both_tables = full_join(asked.with_columns(nw.lit(1).alias(JUDGED)), lists, keys)
        systems = sums_by_system(both_tables.with_columns(**_compared(depth, whole_run=whole_run)), _SUMS)
    both = {name: sum(counts[name] for counts in systems.values()) for name in _SUMS}
    judged_run = run.unknown_rows
    if both["only_run"]:
        judged_run = judged_run.join(judged_queries, on=QUERY, how="semi")
    if packed is not None and found is not None:
        in_qrels = _counts_of_packed(qrels.unknown_rows, qrels, packed, found, number=found["qrels_rows"])
        number = both["rows"] if ranked is None else None
        in_run = _counts_of_packed(judged_run, run, packed, found, number=number)
    else:
        in_qrels = _counts(qrels.unknown_rows, qrels, judged_differ)
        if differ is not None and both["only_run"]:
            differ = differ._replace(rows=_counted(judged_run) if counted is None and best else both["rows"])
        in_run = _counts(judged_run, run, differ)
    faults = [*_faults(qrels, qrels.unknown_rows, in_qrels), *_faults(run, judged_run, in_run)]
    if both["nameless"] and not in_run["empty ids"]:  # of no judged query, so not among those counted above
        without = run.rows.filter(nameless)
        faults.append(_fault(run, "empty ids", _counted(without), without))
    return TableFacts(
        qrels_rows=in_qrels["rows"],
        run_rows=in_run["rows"],
        judged_queries=both[JUDGED],
        only_run=both["only_run"],
        missing=both["missing"],
        duplicates=in_run["duplicates"],
        nan_scores=in_run["NaN scores"],
        looked_at=both["looked_at"],
        faults=tuple(faults),
        by_system=systems,
    )


def _compared(depth: int | None, *, whole_run: bool) -> dict[str, nw.Expr]:
    """Say what a list means, of which it is known whether it is judged, and how many rows were returned."""
    judged, returned = nw.col(JUDGED), nw.col(RETURNED)
    return {
        "looked_at": nw.when(~(returned if whole_run else judged).is_null()).then(_at_most(returned, depth)),
        "rows": nw.when(~judged.is_null()).then(returned),
        "missing": nw.when(returned.is_null()).then(1).otherwise(0),
        "only_run": nw.when(judged.is_null()).then(1).otherwise(0),
    }


def _sums_of_packed(packed: nw.LazyFrame[Any], depth: int | None, *, whole_run: bool) -> dict[str, int]:
    judged, returned = nw.col(JUDGED), nw.col(RETURNED)
    known = packed.with_columns(
        nw.when(judged > 0).then(1).alias(JUDGED),
        nw.when(returned > 0).then(returned).alias(RETURNED),
        qrels_rows=judged,
        nameless=nw.lit(0),  # one would be a fault
    )
    doubtful = [f"{name}_{DOUBTFUL}" for name in (JUDGED, RETURNED)]
    known = known.with_columns(**_compared(depth, whole_run=whole_run))
    return one_row(known.select(nw.col(*_SUMS, "qrels_rows", FAULTS, *doubtful).sum()))


def _counted(rows: nw.LazyFrame[Any]) -> int:
    return one_row(rows.select(nw.len().alias(ONE)))[ONE]


def _at_most(length: nw.Expr, depth: int | None) -> nw.Expr:
    return length if depth is None else nw.when(length > depth).then(depth).otherwise(length)


def _conditions(table: InputTable) -> dict[str, nw.Expr]:
    value = nw.col(table.value)
    empty = nw.col(DOC).is_null() | (nw.col(DOC) == "")
    for key in list_keys(table.rows):
        empty = empty | nw.col(key).is_null() | (nw.col(key) == "")
    nan = (
        {"NaN scores": is_nan_score(table.rows)}
        if table.what == "run"
        else {"infinite or NaN grades": ~value.is_finite()}
    )
    if table.rows.implementation.is_pandas_like():  # NaN is missing there
        return {"empty ids": empty, **nan}
    return {"empty ids": empty, "missing numbers": value.is_null(), **nan}


def _counts(rows: nw.LazyFrame[Any], table: InputTable, differ: Different | None) -> dict[str, int]:
    """Count rows, faults, and rows that repeat a pair of query and document; only rows, where all ``differ``."""
    if differ is not None:
        return {"rows": differ.rows, "duplicates": 0, **dict.fromkeys(_conditions(table), 0)}
    flagged, flags = _flagged(rows, table)
    faulty = [nw.col(name).count() for name in flags]
    hashed = with_hashes(flagged)
    counts = {}
    if hashed is not None:
        counts = one_row(hashed.select(nw.col(ONE).count(), *faulty, docs=nw.col(HASH).n_unique()))
    if not counts or counts["docs"] < counts[ONE]:  # two rows of one hash may differ: look at them as they are
        pairs = flagged.group_by(*list_keys(flagged), DOC).agg(nw.len().alias(ONE), *faulty)
        counts = one_row(pairs.select(nw.col(ONE, *flags).sum(), docs=nw.col(ONE).count()))
    found = {name: counts[flag] for flag, name in flags.items()}
    return {"rows": counts[ONE], "duplicates": counts[ONE] - counts["docs"], **found}


def _counts_of_packed(
    rows: nw.LazyFrame[Any], table: InputTable, packed: nw.LazyFrame[Any], found: dict[str, int], *, number: int | None
) -> dict[str, int]:
    """Count the same in Spark; ``number`` is how many rows there are, where that is known."""
    which = JUDGED if table.what == "qrels" else RETURNED
    counts = dict.fromkeys(_conditions(table), 0)
    if found[FAULTS] or number is None:
        flagged, flags = _flagged(with_one(rows), table)
        sums = one_row(flagged.select(nw.col(ONE, *flags).count()))
        number, counts = sums[ONE], {name: sums[flag] for flag, name in flags.items()}
    doubtful, repeated = found[f"{which}_{DOUBTFUL}"], 0
    if doubtful:  # two documents may have one hash: look at them as they are
        pairs = doubtful_rows(rows, packed, which, doubtful).group_by(*list_keys(rows), DOC).agg(nw.len().alias(ONE))
        repeated = one_row(pairs.select((nw.col(ONE) - 1).sum().alias(ONE)))[ONE]
    return {"rows": number, "duplicates": repeated, **counts}


def _with_faults(table: InputTable) -> nw.LazyFrame[Any]:
    faulty = reduce(or_, _conditions(table).values())
    return table.unknown_rows.with_columns(nw.when(faulty).then(1).alias(FAULTS))


def _flagged(rows: nw.LazyFrame[Any], table: InputTable) -> tuple[nw.LazyFrame[Any], dict[str, str]]:
    """Add a 1 to each row with a fault, else null; before any grouping, because pandas groups plain columns only."""
    conditions = _conditions(table)
    flags = {f"fault_{place}": name for place, name in enumerate(conditions)}
    columns = {flag: nw.when(conditions[name]).then(1) for flag, name in flags.items()}
    return rows.with_columns(**columns), flags


def faulty_rows(table: InputTable) -> nw.LazyFrame[Any]:
    """Return the pairs of query and document that have faults, and which: a table that should be empty."""
    flagged, flags = _flagged(table.unknown_rows, table)
    pairs = flagged.group_by(*list_keys(flagged), DOC).agg(
        nw.len().alias(ONE), *[nw.col(flag).count() for flag in flags]
    )
    wrong = nw.col(ONE) > 1
    for flag in flags:
        wrong |= nw.col(flag) > 0
    shown = [nw.col(flag).alias(name.replace(" ", "_").lower()) for flag, name in flags.items()]
    return pairs.filter(wrong).select(*list_keys(flagged), DOC, nw.col(ONE).alias("copies"), *shown)


def _faults(table: InputTable, rows: nw.LazyFrame[Any], counts: dict[str, int]) -> list[Fault]:
    faults = []
    for name, condition in _conditions(table).items():
        if counts[name]:
            faults.append(_fault(table, name, counts[name], rows.filter(condition)))
    if counts["duplicates"]:
        twice = rows.group_by(*list_keys(rows), DOC).agg(copies=nw.len()).filter(nw.col("copies") > 1)
        faults.append(_fault(table, "duplicates", counts["duplicates"], twice))
    return faults


def _fault(table: InputTable, name: str, count: int, rows: nw.LazyFrame[Any]) -> Fault:
    keys = [*list_keys(rows), DOC]
    some = fetch(rows.select(*keys).sort(*keys).head(_NAMED))
    words = {SYSTEM: "system", QUERY: "query", DOC: "document"}
    shown = "; ".join(", ".join(f"{words[key]} {id_!r}" for key, id_ in zip(keys, row, strict=True)) for row in some)
    more = "; …" if count > _NAMED else ""
    return Fault(table.what, name, count, f"{count:,} {name} ({shown}{more}); {_ADVICE[name]}")


def check(
    facts: TableFacts, *, allowed: Collection[tuple[str, str]] = (), named: Mapping[str, str] | None = None
) -> None:
    """Raise InputError where the values would be wrong; ``allowed`` are tables and kinds of fault dealt with."""
    named = named or {}
    faults = [f"{named.get(f.table, f.table)}: {f.text}" for f in facts.faults if (f.table, f.kind) not in allowed]
    if faults:
        raise InputError("\n".join(faults))


def check_grades(qrels: InputTable, measures: list[RankingMeasure]) -> None:
    """Raise the measure's own error for a grade that it is not defined for."""
    looked_for = set()
    for measure in measures:
        suspect = measure.refuses(nw.col(GRADE))
        if suspect is None or repr(suspect) in looked_for:  # a look costs a pass over the qrels
            continue
        looked_for.add(repr(suspect))
        suspects = qrels.rows.filter(suspect).select(QUERY, DOC, GRADE)
        for query, doc, grade in fetch(suspects.sort(GRADE, QUERY, DOC, descending=[True, False, False]).head(1)):
            measure.check_grades(query, {doc: canonical(grade)})
