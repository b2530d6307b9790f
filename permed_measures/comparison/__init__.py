"""Runs against a baseline: changes, intervals, tests, corrections, groups. Data only; report/ makes text of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

from ir_measures import Measure

from permed_measures.comparison.all_pairs import Pairs, pairs_of
from permed_measures.comparison.arms import KEPT, Arms, in_engine
from permed_measures.comparison.changes import Correction, Key, PairedTest, Settings, Table, Values, change_notes, judge
from permed_measures.comparison.p_imp import Counts
from permed_measures.comparison.systems import Said, System, Systems, check_descriptions, named, naming, run_name
from permed_measures.errors import ParamError, check_whole
from permed_measures.evaluate.behind import behind
from permed_measures.evaluate.clusters import cluster_notes, clusters
from permed_measures.evaluate.columns import all_ids
from permed_measures.evaluate.groups import Groups, group_label, grouped
from permed_measures.evaluate.unjudged import Shares
from permed_measures.files.rows import Duplicates
from permed_measures.files.texts import TextsLike
from permed_measures.inputs import QrelsLike, as_qrels
from permed_measures.profiles import Profile, QuerySet
from permed_measures.ranking import Order, Ties
from permed_measures.render.document import Document
from permed_measures.render.progress import Step
from permed_measures.render.queries import SHOWN, Behind
from permed_measures.render.result import Result, made_by
from permed_measures.render.words import queries as count_queries
from permed_measures.signature import Conditions, Signature
from permed_measures.tables import stays_in_engine

__all__ = ["Comparison", "compare", "run_name"]


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """What :func:`compare` returns."""

    baseline: str
    runs: tuple[str, ...]  # the names of the runs that are compared with the baseline
    labels: Mapping[Measure, str]
    """What each measure is called: the profile's name for it, else the measure as it prints."""
    whole: Table
    groups: tuple[Table, ...]
    values: Mapping[Key, Mapping[str, float]]  # the value of every query, by run and measure
    settings: Settings
    notes: tuple[str, ...]
    profile: Profile | None = None
    min_relevance: float | None = None
    grouped_by: str | None = None
    groups_of: Mapping[str, Sequence[str]] = field(default_factory=dict)  # the query ids of each group
    descriptions: Mapping[str, str] = field(default_factory=dict)
    pairs: Mapping[Measure, Pairs] = field(default_factory=dict)  # all pairs of runs, where they were asked for
    repeats: Mapping[Key, Sequence[Mapping[str, float]]] = field(default_factory=dict)
    """The values of every single run, where a system has several."""
    conditions: Conditions | None = None
    asked: Mapping[str, Groups | None] = field(default_factory=dict)  # the groups and the clusters as they were given
    unjudged: Mapping[str, Shares] = field(default_factory=dict)  # the share of unjudged documents at each rank, by run
    behind: Behind | None = None  # texts and documents behind the queries, where they were asked for

    @property
    def signatures(self) -> dict[Measure, Signature]:
        """The conditions of every measure's values: the same for all runs, but for the number of queries."""
        return {} if self.conditions is None else self.conditions.signatures

    @property
    def alpha(self) -> float:
        """The level of tests and intervals."""
        return self.settings.alpha

    @property
    def correction(self) -> Correction:
        """How p-values are corrected for their number."""
        return self.settings.correction

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures, in the order they were asked for."""
        return tuple(self.labels)

    @property
    def names(self) -> tuple[str, ...]:
        """All runs, the baseline first."""
        return (self.baseline, *self.runs)

    @property
    def tables(self) -> tuple[Table, ...]:
        """The whole, then the groups."""
        return (self.whole, *self.groups)

    @property
    def compared(self) -> list[tuple[str, Measure, str]]:
        """Every comparison: run, measure, and what that is called."""
        return [(run, measure, label) for measure, label in self.labels.items() for run in self.runs]

    def counted(self, queries: int, units: int) -> str:
        """Say how many queries, and of how many units where they are in clusters: "95 conversations, 3,440 queries"."""
        of = self.settings.clusters
        return count_queries(queries) if of is None else f"{of.counted(units)}, {count_queries(queries)}"

    def difference(self, run: str, measure: Measure) -> dict[str, float]:
        """Return the difference to the baseline for every query that both have."""
        before, after = self.values[self.baseline, measure], self.values[run, measure]
        return {query_id: after[query_id] - value for query_id, value in before.items() if query_id in after}

    def save(self, path: str | PathLike[str]) -> None:
        """Write the values of all runs and how they were compared; compare() takes the file too, as :meth:`load`."""
        from permed_measures.comparison.saved import save  # noqa: PLC0415  (for those who save)

        save(self, path)

    @staticmethod
    def load(path: str | PathLike[str]) -> "Comparison":
        """Read what :meth:`save` wrote; P-imp alone, which looks at rankings, is not there."""
        from permed_measures.comparison.saved import load  # noqa: PLC0415  (as above)

        found, _ = load(path)
        return found

    record = made_by("comparison.report.records", Result.record, "as_dict")
    as_table = made_by("comparison.report.records", Result.as_table)
    flat = made_by("comparison.report.records", Result.flat)
    page = made_by("comparison.report.page", Result.page)
    notebook = made_by("comparison.report.page", Result.notebook)
    panels = made_by("comparison.report.page", Result.panels)

    def document(self, *, brief: bool = False, signatures: bool = False) -> Document:
        """Return the report; a brief one has the means and the definitions; conditions are told where asked for."""
        from permed_measures.comparison.report.tables import document  # noqa: PLC0415  (as above)

        return document(self, brief=brief, signatures=signatures)


def compare(  # noqa: PLR0913  (the options of a comparison, all but three with defaults)
    qrels: QrelsLike | None,
    baseline: System,
    runs: Mapping[str, System] | Sequence[str | PathLike[str]],
    measures: str | Measure | Iterable[str | Measure] | None = None,
    *,
    profile: str | Path | Profile | None = None,
    min_relevance: float | None = None,
    queries: QuerySet | None = None,
    order: Order = "float32",
    ties: Ties = "trec",
    duplicates: Duplicates = "error",
    qrels_columns: Sequence[str] | None = None,
    run_columns: Sequence[str] | None = None,
    cluster: Groups | None = None,
    test: PairedTest = "auto",
    correction: Correction = "holm",
    margin: float | None = None,
    all_pairs: bool = False,
    groups: Groups | None = None,
    seed: int = 0,
    alpha: float = 0.05,
    p_imp: bool = True,
    p_imp_cutoff: int | None = None,
    baseline_name: str | None = None,
    descriptions: Mapping[str, str] | None = None,
    texts: TextsLike | None = None,
    documents: TextsLike | None = None,
    table_options: Mapping[str, Any] | None = None,
    progress: Step | None = None,
) -> Comparison:
    """Compare runs with a baseline, query by query.

    ``runs`` is {name: run}, or a list of paths. A list in place of a run holds several runs of one system: values are
    averaged query by query, and how far the runs are apart widens every interval. An Evaluation, or a file that its
    ``save`` wrote, needs no run, and nothing but such needs no qrels (None); other conditions or judgements than the
    others' are an InputError. ``measures``, ``profile``, ``min_relevance``, ``queries``, ``order``, ``ties``,
    ``duplicates``, ``qrels_columns`` and ``run_columns`` are those of :func:`~permed_measures.evaluate.evaluate`; with
    saved values they may be left out, and P-imp has ties by id always. ``cluster`` names the independent unit where it
    is not the query: 'conversation', a regular expression, a dict or file of query ids and clusters.

    ``test`` is the one that decides: 'auto' is the exact sign-flip test of the mean for up to 20 units, whose null is
    that each difference is as likely + as -, and above that the t-test; or 't', 'wilcoxon', 'randomization' (signs
    drawn by ``seed``). Its p-values are corrected ('holm', 'bh', 'none') over all measures and runs, and judged at
    ``alpha``; the groups are corrected together, apart from the whole. ``margin`` is a difference that does not matter:
    a change that surely stays within it is 'equivalent'. ``all_pairs`` compares every run with every other one.
    ``groups`` is what :func:`~permed_measures.evaluate.groups.grouped` takes. P-imp, unless left out by
    ``p_imp=False``, looks at the top ``p_imp_cutoff``; when not given, as deep as the deepest measure with a cut-off
    above 1, else at the top 10. ``texts`` of queries and ``documents``, {id: text} or files, put both behind the
    queries of the page: see :func:`~permed_measures.files.texts.texts_of`.

    Tables of an engine (DuckDB relations, LazyFrames of Polars, PySpark frames, Ibis tables) are evaluated where they
    are, in one pass; a row per query leaves the engine. ``table_options`` are for
    :func:`~permed_measures.evaluate_tables`, and ``groups`` and ``cluster`` may name columns of the qrels.
    ``correction`` names how; ``baseline_name`` and ``descriptions`` are shown; ``progress`` is told of each step.
    Returns a Comparison.

    >>> qrels = {"1_1": {"a": 2, "b": 1}, "1_2": {"a": 1}, "2_1": {"b": 2}}
    >>> before = {"1_1": ["b", "a"], "1_2": ["b", "a"], "2_1": ["b", "a"]}
    >>> after = {"1_1": ["a", "b"], "1_2": ["a", "b"], "2_1": ["b", "a"]}
    >>> result = compare(qrels, before, {"after": after}, "P@1 RR")
    >>> change = result.whole.changes["after", result.measures[0]]     # P@1: from 2/3 to 3/3
    >>> round(change.difference, 4), round(change.relative, 4), (change.wins, change.ties, change.losses)
    (0.3333, 0.5, (1, 2, 0))
    >>> result.whole.p_imp["after"].value       # 1_2: a before b, which was wrong; 2_1 has one pair, right before
    0.5
    """
    settings = Settings(test, correction, alpha, seed, margin)
    if p_imp_cutoff is not None:
        check_whole("p_imp_cutoff", p_imp_cutoff)
    rows = Said(duplicates, qrels_columns, run_columns)
    sources = {name: rows.of(source) for name, source in named(baseline, baseline_name, runs).items()}
    names = list(sources)
    check_descriptions(descriptions or {}, names)
    step = progress or (lambda _, __: None)
    pairs: Mapping[str, Mapping[str, Counts]] = {}
    grouped_by = None if groups is None else group_label(groups)
    options: Any = {"profile": profile, "min_relevance": min_relevance, "queries": queries, "order": order}
    if stays_in_engine(qrels):
        if ties != "trec":
            raise ParamError(f"ties={ties!r} is for runs in memory; in an engine ties go by document id")
        step("evaluating in the engine", 0.0)
        in_tables = options | rows.options | dict(table_options or {})
        sources, count_pairs, (groups, cluster) = in_engine(qrels, sources, measures, (groups, cluster), **in_tables)
        qrels, pairs = None, count_pairs(p_imp_cutoff) if p_imp else {}
    # evaluate() knows which measures take subtopics
    judged = None if qrels is None else as_qrels(rows.of(qrels, "qrels"), subtopics=True)
    keep = p_imp_cutoff and max(p_imp_cutoff, SHOWN)
    systems = Systems(judged, sources, measures, **options, ties=ties, keep=keep)
    shown = 0 if texts is None and documents is None else SHOWN
    arms = Arms(judged, systems.order, p_imp_cutoff, p_imp=p_imp, keep=shown)
    for number, name in enumerate(names):
        step(f"evaluating {name}", 0.8 * number / len(names))
        with naming(name):
            for run, evaluation in systems.evaluations(name):
                arms.add(name, run, evaluation, pairs.get(name), repeated=systems.several(name))
                del run, evaluation  # before the next one is made
    step("deciding", 0.8)
    present = all_ids(arms.values.values())
    units = None if cluster is None else clusters(present, cluster)
    settings = replace(settings, clusters=units)
    values = Values(names, arms.values, settings, arms.repeats)
    members = {} if groups is None else grouped(present, groups)
    parts = []
    for number, (name, query_ids) in enumerate(members.items()):
        step(f"group {name}", 0.85 + 0.15 * number / len(members))
        parts.append(values.table(name, query_ids, arms.p_imp(query_ids, settings)))
    (whole,) = judge([values.table(None, None, arms.p_imp(None, settings))], settings)
    step("done", 1.0)
    return Comparison(
        baseline=names[0],
        runs=tuple(names[1:]),
        whole=whole,
        groups=tuple(judge(parts, settings)),
        settings=settings,
        notes=(*arms.notes, *cluster_notes(present, units), *change_notes(whole, arms.labels)),
        grouped_by=grouped_by,
        groups_of=members,
        descriptions=dict(descriptions or {}),
        pairs={m: pairs_of(values, m) for m in values.measures} if all_pairs else {},
        asked={"groups": groups, "cluster": cluster},
        **{name: getattr(arms, name) for name in KEPT},
        behind=behind(judged or {}, arms.tops, texts, documents) if shown else None,
    )
