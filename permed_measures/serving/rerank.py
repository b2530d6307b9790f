"""Run rerankers over queries with candidates: quality, latency and cost side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from permed_measures.errors import InputError, ParamError
from permed_measures.evaluate import Evaluation, evaluate
from permed_measures.inference import difference_estimate, units
from permed_measures.inputs import QrelsLike, as_qrels
from permed_measures.notes import NAMED
from permed_measures.profiles import Profile, load_profile
from permed_measures.ranking import order
from permed_measures.render.document import Document, Table
from permed_measures.render.result import Result
from permed_measures.render.words import queries
from permed_measures.serving.calls import TIMEOUT_S, Caller, Clock
from permed_measures.serving.candidates import (
    Answer,
    as_candidates,
    as_queries,
    looks_like_places,
    read_answer,
)
from permed_measures.serving.cost import Cost, Roi, roi
from permed_measures.serving.failures import BAD_ANSWER
from permed_measures.serving.latency import Latency, Phase
from permed_measures.serving.recorded import Recorded
from permed_measures.serving.summary import ServingSummary
from permed_measures.serving.targets import Targets, Verdict, Worth
from permed_measures.serving.throughput import Arrivals, Load, calls_under_load, load_plans
from permed_measures.serving.workers import GIVE_UP, Call

Reranker = Callable[..., Any]
GIVEN = ("text", "records")
Answers = dict[str, dict[str, float] | list[str]]


@dataclass(frozen=True, eq=False)
class Reranked:
    """One reranker: its quality, how it serves, and the run it made."""

    name: str
    evaluation: Evaluation
    serving: ServingSummary
    run: Answers
    by_size: Mapping[int, Latency] = field(default_factory=dict)
    """Latency with the candidates cut to so many, where that was measured."""
    notes: tuple[str, ...] = ()

    @property
    def quality(self) -> dict[str, float]:
        """The means by the profile's names."""
        return {self.evaluation.labels[measure]: mean for measure, mean in self.evaluation.means.items()}

    @property
    def numbers(self) -> dict[str, float]:
        """Quality and serving figures under one set of names, as targets and gates ask for them."""
        return self.quality | self.serving.to_dict()

    def __str__(self) -> str:
        return f"{self.name}\n{self.evaluation}\n{self.serving}"


@dataclass(frozen=True, eq=False, repr=False)
class RerankReport(Result):
    """Several rerankers beside the list without reranking."""

    NO_RERANKING: ClassVar[str] = "no reranking"

    baseline: Evaluation
    rerankers: tuple[Reranked, ...]
    profile: Profile
    targets: Targets
    revenue_per_query: float | None = None

    @property
    def main(self) -> str:
        """The name of the main measure: the profile's first."""
        return self.profile.entries[0].name

    def verdicts(self, reranked: Reranked) -> list[Verdict]:
        """Judge the targets."""
        return self.targets.check(reranked.numbers)

    def worth(self, reranked: Reranked) -> Worth:
        """Judge the improvement of the main measure over the list without reranking."""
        return self.targets.worth(self.main, self.baseline[self.main], reranked.quality[self.main])

    def roi(self, reranked: Reranked) -> Roi | None:
        """Return the return on investment, where cost, queries a day and revenue are known."""
        serving = reranked.serving
        baseline = self.baseline[self.main]
        if None in (self.revenue_per_query, serving.cost, serving.queries_per_day) or baseline <= 0:
            return None
        measure = self.profile.entries[0].measure
        old, new = self.baseline.columns[measure], reranked.evaluation.columns[measure]
        found = difference_estimate(units([new[query_id] - old[query_id] for query_id in old if query_id in new]))
        return roi(
            baseline,
            reranked.quality[self.main],
            usd_per_query=serving.to_dict()["usd_per_query"],
            queries_per_day=serving.queries_per_day or 0.0,
            revenue_per_query=self.revenue_per_query or 0.0,
            difference_interval=None if found is None else found.interval(),
        )

    @property
    def pareto(self) -> dict[str, bool]:
        """Which rerankers stand on the Pareto front: none is at least as good, fast and cheap, and better in one.

        Good is the main measure, fast P95, cheap dollars a query (where all costs are known). No reranking at all
        competes too: it is as fast and cheap as can be.
        """
        priced = all(reranked.serving.cost is not None for reranked in self.rerankers)
        points = {self.NO_RERANKING: (self.baseline[self.main], 0.0, 0.0)}
        for reranked in self.rerankers:
            numbers = reranked.numbers
            if "p95_ms" in numbers:
                usd = numbers["usd_per_query"] if priced else 0.0
                points[reranked.name] = (numbers[self.main], -numbers["p95_ms"], -usd)
        return {
            reranked.name: reranked.name in points
            and not any(_dominates(other, points[reranked.name]) for other in points.values())
            for reranked in self.rerankers
        }

    def to_dict(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        from permed_measures.serving.report import rerank_record  # noqa: PLC0415  (for those who read it)

        return rerank_record(self)

    def as_table(self) -> Table:
        """Return one row per reranker, and one without."""
        from permed_measures.serving.report import rerank_table  # noqa: PLC0415  (as above)

        return rerank_table(self)

    def document(self) -> Document:
        """Return quality, speed and cost side by side."""
        from permed_measures.serving.report import rerank_document  # noqa: PLC0415  (as above)

        return rerank_document(self)


class BadAnswerError(InputError):
    """An answer that makes no sense."""

    failure_kind = BAD_ANSWER


def _dominates(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one != other and all(a >= b for a, b in zip(one, other, strict=True))


def _fresh(value: tuple[str, list[Any]]) -> tuple[str, list[Any]]:
    """Copy what a reranker is given: one that sorts it, or writes into it, must not change the next call."""
    query, given = value
    return query, [dict(item) if isinstance(item, Mapping) else item for item in given]


class _Answers:
    """The answers of one reranker: the first one to each query makes the run."""

    def __init__(self, calls: Sequence[Call], query_ids: Sequence[str]) -> None:
        self.run: Answers = {}
        self._changed: set[str] = set()
        answered = [(query_ids[call.place], call.answer) for call in calls if call.failure is None]
        for query_id, answer in answered:
            first = self.run.setdefault(query_id, answer.ranking)
            if first is not answer.ranking and _ranking(first) != _ranking(answer.ranking):
                self._changed.add(query_id)
        self._like_places = bool(answered) and all(answer.like_places for _, answer in answered)
        self.unanswered = [query_id for query_id in query_ids if query_id not in self.run]

    @property
    def notes(self) -> list[str]:
        """What is odd about the answers."""
        notes = []
        if self.unanswered:
            shown = ", ".join(map(repr, self.unanswered[:NAMED])) + (", …" if len(self.unanswered) > NAMED else "")
            notes.append(
                f"{queries(len(self.unanswered))} counted as 0: no call was answered, its call failed ({shown})"
            )
        if self._changed:
            changed = queries(len(self._changed))
            notes.append(f"the rankings of {changed} differ between repeats; the first ones are evaluated")
        if self._like_places:
            notes.append(
                "every answer holds the numbers 0 to n - 1, each once, and was read as scores; if they are the places "
                "of the documents, best first, answer with pairs (place, score)"
            )
        return notes


def _ranking(answer: Mapping[str, float] | Sequence[str]) -> list[str]:
    return list(order(answer) if isinstance(answer, Mapping) else answer)


class RerankEvaluator:
    """Runs rerankers over the same queries and candidates.

    A reranker is called with the query and the list of its candidates' texts (with ``given="records"``: their records)
    and answers in one of the shapes of :func:`~permed_measures.serving.candidates.read_answer`; it may be async. The
    order of the candidates is the ranking without reranking. Measures are the profile's, computed by
    :func:`permed_measures.evaluate`.

    >>> candidates = {"q": [("a", "soup recipe"), ("b", "blood pressure drug")]}
    >>> evaluator = RerankEvaluator({"q": "drug"}, {"q": {"b": 1}}, candidates)
    >>> reranked = evaluator.evaluate(lambda query, texts: [float(query in text) for text in texts])
    >>> evaluator.baseline["MRR"], reranked.quality["MRR"]   # b at rank 2, then at 1
    (0.5, 1.0)
    """

    def __init__(
        self,
        queries: Any,  # noqa: ANN401  (the shapes of as_queries)
        qrels: QrelsLike,
        candidates: Any,  # noqa: ANN401  (the shapes of as_candidates)
        *,
        profile: str | Path | Profile = "rerank",
        given: str = "text",
    ) -> None:
        if given not in GIVEN:
            msg = f"given={given!r} is not allowed; give one of {', '.join(map(repr, GIVEN))}"
            raise ParamError(msg)
        self.profile = load_profile(profile)
        self.given = given
        self.queries = as_queries(queries)
        self.candidates = as_candidates(candidates)
        judged = as_qrels(qrels)
        self.qrels = {query_id: grades for query_id, grades in judged.items() if query_id in self.queries}
        self.query_ids = [query_id for query_id in self.queries if self.candidates.get(query_id)]
        """Those that a reranker is asked."""
        self._check(judged)
        self.notes = self._notes(judged)
        order = {query_id: [c.doc_id for c in self.candidates[query_id]] for query_id in self.query_ids}
        self.baseline = evaluate(self.qrels, order, profile=self.profile)
        """The candidates in their own order."""

    @property
    def documents_per_query(self) -> float:
        """The mean number of candidates."""
        return sum(len(self.candidates[query_id]) for query_id in self.query_ids) / len(self.query_ids)

    def evaluate(
        self,
        reranker: Reranker,
        *,
        name: str | None = None,
        cost: Cost | None = None,
        queries_per_day: float | None = None,
        seed: int = 0,
        **options: Any,  # noqa: ANN401  (those of call)
    ) -> Reranked:
        """Rerank the candidates of every query with the options of :meth:`call`, and evaluate the first answers.

        A query without an answer counts 0 in every measure; all failures are counted by type.
        """
        shown = name or str(getattr(reranker, "__qualname__", type(reranker).__qualname__))
        recorded = self.call(reranker, name=shown, seed=seed, **options)
        return self.reranked(shown, recorded, cost=cost, queries_per_day=queries_per_day, seed=seed)

    def call(  # noqa: PLR0913  (the options of the main job, all but one with defaults)
        self,
        reranker: Reranker,
        *,
        name: str = "calls",
        warmup: int = 1,
        repeats: int = 1,
        timeout_s: float | None = TIMEOUT_S,
        retries: int = 0,
        sizes: Sequence[int] = (),
        threads: int | Sequence[int] = (),
        duration_s: float = 10.0,
        arrival_rate: float | Sequence[float] | None = None,
        arrivals: Arrivals = "even",
        seed: int = 0,
        progress: bool = False,
        clock: Clock = time.perf_counter,
        sleep: Callable[[float], object] = time.sleep,
    ) -> Recorded:
        """Make all calls of a reranker, on one event loop, and return them as they were.

        Every query is asked ``repeats`` times; a call that failed is made again up to ``retries`` times, each time as a
        call of its own. ``timeout_s`` limits every call of every phase (None: no limit). ``sizes`` also measures the
        latency with the candidates cut to the first 20, 50, …; ``threads`` also measures throughput, see
        :func:`~permed_measures.serving.measure_throughput`. When five calls in a row have no end, no more are made.
        """
        kept = Recorded()
        cut = {size: self._places_of(size) for size in sizes}
        wants_load = isinstance(threads, int) or bool(threads)
        plans = (
            load_plans(threads, duration_s=duration_s, arrival_rate=arrival_rate, arrivals=arrivals)
            if wants_load
            else {}
        )
        inputs = [self._input(query_id) for query_id in self.query_ids]
        with Caller(reranker, clock, _fresh, timeout_s) as caller:
            phase = Phase(caller, inputs, clock, sleep, progress, name, self._read)
            kept.warming, kept.calls, kept.given_up = phase.rounds(warmup=warmup, repeats=repeats, retries=retries)
            for size, places in {} if kept.given_up else cut.items():
                values = [self._input(self.query_ids[place], size) for place in places]
                part = Phase(caller, values, clock, sleep, progress, f"{name}, {size} candidates")
                _, calls, _ = part.rounds(warmup=warmup, repeats=repeats)
                kept.sizes[size] = [replace(call, place=places[call.place], answer=None) for call in calls]
            for key, plan in {} if kept.given_up else plans.items():
                calls = calls_under_load(
                    caller,
                    inputs,
                    plan,
                    clock=clock,
                    sleep=sleep,
                    seed=seed,
                    read=self._check_answer,
                    progress=progress,
                    label=name,
                )
                kept.loads[key] = plan, calls
        return kept

    def reranked(
        self,
        name: str,
        recorded: Recorded,
        *,
        cost: Cost | None = None,
        queries_per_day: float | None = None,
        seed: int = 0,
    ) -> Reranked:
        """Make the report of the calls of one reranker."""
        sizes = [len(self.candidates[query_id]) for query_id in self.query_ids]
        answers = _Answers(recorded.calls, self.query_ids)
        latency = Latency.of_calls(recorded.calls, sizes, warming=recorded.warming, seed=seed)
        loads = {key: Load.of_calls(plan, calls, sizes, seed) for key, (plan, calls) in recorded.loads.items()}
        by_size = {
            size: Latency.of_calls(calls, [size] * len(sizes), seed=seed) for size, calls in recorded.sizes.items()
        }
        notes = answers.notes
        if recorded.given_up:
            notes.insert(0, f"given up: {GIVE_UP} calls in a row had no end; sizes and loads were not measured")
        return Reranked(
            name,
            evaluate(self.qrels, {**dict.fromkeys(answers.unanswered, ()), **answers.run}, profile=self.profile),
            ServingSummary(latency, cost=cost, loads=loads, queries_per_day=queries_per_day),
            answers.run,
            by_size,
            (*self.notes, *notes),
        )

    def compare(  # noqa: PLR0913  (the options of a report)
        self,
        rerankers: Mapping[str, Reranker],
        *,
        costs: Mapping[str, Cost] | None = None,
        targets: Targets | None = None,
        revenue_per_query: float | None = None,
        queries_per_day: float | None = None,
        seed: int = 0,
        **options: Any,  # noqa: ANN401  (those of call)
    ) -> RerankReport:
        """Call several rerankers, one after the other, with the options of :meth:`call`, and report on them."""
        self.check_costs(costs or {}, rerankers)
        recorded = {name: self.call(reranker, name=name, seed=seed, **options) for name, reranker in rerankers.items()}
        return self.report(
            recorded,
            costs=costs,
            targets=targets,
            revenue_per_query=revenue_per_query,
            queries_per_day=queries_per_day,
            seed=seed,
        )

    def report(  # noqa: PLR0913  (the options of a report)
        self,
        recorded: Mapping[str, Recorded],
        *,
        costs: Mapping[str, Cost] | None = None,
        targets: Targets | None = None,
        revenue_per_query: float | None = None,
        queries_per_day: float | None = None,
        seed: int = 0,
    ) -> RerankReport:
        """Report on calls that were made: nobody is called."""
        self.check_costs(costs or {}, recorded)
        made = tuple(
            self.reranked(name, kept, cost=(costs or {}).get(name), queries_per_day=queries_per_day, seed=seed)
            for name, kept in recorded.items()
        )
        chosen = Targets.of_profile(self.profile) if targets is None else targets
        return RerankReport(self.baseline, made, self.profile, chosen, revenue_per_query)

    @staticmethod
    def check_costs(costs: Mapping[str, Cost], names: Iterable[str]) -> None:
        """Refuse a cost of nobody."""
        known = list(names)
        for name in costs:
            if name not in known:
                msg = f"a cost for {name!r}, which is none of {', '.join(map(repr, known))}"
                raise ParamError(msg)

    def _input(self, query_id: str, size: int | None = None) -> tuple[str, list[Any]]:
        listed = self.candidates[query_id][:size]
        given: list[Any] = [c.record for c in listed] if self.given == "records" else [c.text for c in listed]
        return self.queries[query_id], given

    def _read(self, place: int, answer: Any) -> Answer:  # noqa: ANN401  (whatever a reranker answers)
        query_id = self.query_ids[place]
        try:
            return Answer(read_answer(answer, self.candidates[query_id]), looks_like_places(answer))
        except InputError as error:
            raise BadAnswerError(f"query {query_id!r}: {error}") from None

    def _check_answer(self, place: int, answer: Any) -> None:  # noqa: ANN401  (as above)
        self._read(place, answer)

    def _places_of(self, size: int) -> list[int]:
        """Return the places of the queries that have so many candidates."""
        places = [p for p, query_id in enumerate(self.query_ids) if len(self.candidates[query_id]) >= size]
        if not places:
            msg = f"sizes: no query has {size} candidates"
            raise ParamError(msg)
        return places

    def _check(self, judged: Mapping[str, Any]) -> None:
        if not self.qrels:
            msg = (
                f"none of the {len(self.queries)} queries is among the {len(judged)} of the qrels; are the query ids "
                "written alike?"
            )
            raise InputError(msg)
        if not self.query_ids:
            msg = f"none of the {len(self.queries)} queries has candidates; are the query ids written alike?"
            raise InputError(msg)
        if self.given == "text":
            for query_id in self.query_ids:
                without = next((c for c in self.candidates[query_id] if c.text is None), None)
                if without is not None:
                    msg = (
                        f"candidates, query {query_id!r}, document {without.doc_id!r}: no text to give to the reranker"
                    )
                    raise InputError(msg)

    def _notes(self, judged: Mapping[str, Any]) -> list[str]:
        notes = []
        for count, what in (
            (len(judged) - len(self.qrels), "of the qrels left out: they are not among the queries"),
            (len(self.queries) - len(self.query_ids), "without candidates: never given to the reranker"),
        ):
            if count:
                notes.append(f"{queries(count)} {what}")
        return notes
