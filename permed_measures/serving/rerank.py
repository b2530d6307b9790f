"""Run rerankers over queries with candidates: quality, latency and cost side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from permed_measures.errors import InputError, ParamError
from permed_measures.evaluate import Evaluation, evaluate
from permed_measures.inputs import QrelsLike, as_qrels
from permed_measures.profiles import Profile, load_profile
from permed_measures.ranking import order
from permed_measures.render.document import Document, Table
from permed_measures.render.result import Result
from permed_measures.render.words import queries
from permed_measures.serving.calls import Caller, Clock, Recorder, Timed
from permed_measures.serving.candidates import Candidate, as_candidates, as_queries, looks_like_places, read_answer
from permed_measures.serving.cost import Cost, Roi, roi
from permed_measures.serving.latency import Latency, timed_calls
from permed_measures.serving.summary import ServingSummary
from permed_measures.serving.targets import Targets, Verdict, Worth
from permed_measures.serving.throughput import Load, measure_throughput

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
        return roi(
            baseline,
            reranked.quality[self.main],
            usd_per_query=serving.to_dict()["usd_per_query"],
            queries_per_day=serving.queries_per_day or 0.0,
            revenue_per_query=self.revenue_per_query or 0.0,
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


def _dominates(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one != other and all(a >= b for a, b in zip(one, other, strict=True))


def _fresh(value: tuple[str, list[Any]]) -> tuple[str, list[Any]]:
    """Copy what a reranker is given: one that sorts it, or writes into it, must not change the next call."""
    query, given = value
    return query, [dict(item) if isinstance(item, Mapping) else item for item in given]


class _Collected:
    """Takes the calls of one reranker: the run of the first answers, all latencies, all failures."""

    def __init__(self) -> None:
        self.recorder = Recorder()
        self.run: Answers = {}
        self._asked: set[str] = set()
        self._changed: set[str] = set()
        self._places = True

    def take(self, query_id: str, candidates: Sequence[Candidate], timed: Timed) -> None:
        """Take one call."""
        is_first = query_id not in self._asked
        self._asked.add(query_id)
        if timed.error is not None:
            self.recorder.fail(timed.error)
            return
        try:
            answer = read_answer(timed.answer, candidates)
        except InputError as error:
            self.recorder.fail_as("a bad answer", f"query {query_id!r}: {error}")
            return
        self.recorder.add(timed.latency_ms, len(candidates))
        self._places = self._places and looks_like_places(timed.answer)
        if is_first:
            self.run[query_id] = answer
        elif _ranking(self.run.get(query_id, answer)) != _ranking(answer):
            self._changed.add(query_id)

    @property
    def notes(self) -> list[str]:
        """What is odd about the answers."""
        notes = []
        if self._changed:
            changed = queries(len(self._changed))
            notes.append(f"the rankings of {changed} differ between repeats; the first ones are evaluated")
        if self.run and self._places:
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
        self._timed = [query_id for query_id in self.queries if self.candidates.get(query_id)]
        self._check(judged)
        self.notes = self._notes(judged)
        order = {query_id: [c.doc_id for c in self.candidates[query_id]] for query_id in self._timed}
        self.baseline = evaluate(self.qrels, order, profile=self.profile)
        """The candidates in their own order."""

    @property
    def documents_per_query(self) -> float:
        """The mean number of candidates."""
        return sum(len(self.candidates[query_id]) for query_id in self._timed) / len(self._timed)

    def evaluate(  # noqa: PLR0913  (the options of the main job, all but one with defaults)
        self,
        reranker: Reranker,
        *,
        name: str | None = None,
        cost: Cost | None = None,
        warmup: int = 1,
        repeats: int = 1,
        sizes: Sequence[int] = (),
        threads: int | Sequence[int] = (),
        duration_s: float = 10.0,
        arrival_rate: float | None = None,
        queries_per_day: float | None = None,
        seed: int = 0,
        progress: bool = False,
        clock: Clock = time.perf_counter,
        sleep: Callable[[float], object] = time.sleep,
    ) -> Reranked:
        """Rerank the candidates of every query, ``repeats`` times, and evaluate the answers to the first calls.

        A query whose first call failed counts 0 in every measure; all failures are counted by type. ``sizes`` also
        measures the latency with the candidates cut to the first 20, 50, …; ``threads`` also measures throughput, see
        :func:`~permed_measures.serving.measure_throughput`.
        """
        shown = name or str(getattr(reranker, "__qualname__", type(reranker).__qualname__))
        inputs = [self._input(query_id) for query_id in self._timed]
        collected, warming = _Collected(), Recorder()
        with Caller(reranker, clock, _fresh) as caller:
            for place, timed in timed_calls(
                caller, inputs, warmup=warmup, repeats=repeats, warming=warming, progress=progress, label=shown
            ):
                query_id = self._timed[place]
                collected.take(query_id, self.candidates[query_id], timed)
            by_size = {size: self._cut(caller, size, warmup, repeats, progress=progress, label=shown) for size in sizes}
        loads: Mapping[int, Load] = {}
        if threads or isinstance(threads, int):
            loads = measure_throughput(
                reranker,
                inputs,
                threads=threads,
                duration_s=duration_s,
                arrival_rate=arrival_rate,
                seed=seed,
                prepare=_fresh,
                clock=clock,
                sleep=sleep,
            )
        latency = Latency.of(
            collected.recorder.samples_ms,
            collected.recorder.sizes,
            failures=collected.recorder.failures,
            warmup_failures=warming.failures,
            seed=seed,
        )
        return Reranked(
            shown,
            evaluate(self.qrels, collected.run, profile=self.profile),
            ServingSummary(latency, cost=cost, loads=loads, queries_per_day=queries_per_day),
            collected.run,
            by_size,
            tuple(collected.notes),
        )

    def compare(
        self,
        rerankers: Mapping[str, Reranker],
        *,
        costs: Mapping[str, Cost] | None = None,
        targets: Targets | None = None,
        revenue_per_query: float | None = None,
        **options: Any,  # noqa: ANN401  (those of evaluate)
    ) -> RerankReport:
        """Evaluate several rerankers, one after the other, with the options of :meth:`evaluate`."""
        for name in costs or {}:
            if name not in rerankers:
                msg = f"a cost for {name!r}, which is none of {', '.join(map(repr, rerankers))}"
                raise ParamError(msg)
        made = [
            self.evaluate(reranker, name=name, cost=(costs or {}).get(name), **options)
            for name, reranker in rerankers.items()
        ]
        made = [replace(reranked, notes=(*self.notes, *reranked.notes)) for reranked in made]
        chosen = Targets.of_profile(self.profile) if targets is None else targets
        return RerankReport(self.baseline, tuple(made), self.profile, chosen, revenue_per_query)

    def _input(self, query_id: str, size: int | None = None) -> tuple[str, list[Any]]:
        listed = self.candidates[query_id][:size]
        given: list[Any] = [c.record for c in listed] if self.given == "records" else [c.text for c in listed]
        return self.queries[query_id], given

    def _cut(  # noqa: PLR0913  (those of its caller)
        self, caller: Caller, size: int, warmup: int, repeats: int, *, progress: bool, label: str
    ) -> Latency:
        """Measure with the first ``size`` candidates of the queries that have as many."""
        inputs = [self._input(query_id, size) for query_id in self._timed if len(self.candidates[query_id]) >= size]
        if not inputs:
            msg = f"sizes: no query has {size} candidates"
            raise ParamError(msg)
        recorder, warming = Recorder(), Recorder()
        for _, timed in timed_calls(
            caller,
            inputs,
            warmup=warmup,
            repeats=repeats,
            warming=warming,
            progress=progress,
            label=f"{label}, {size} candidates",
        ):
            if timed.error is None:
                recorder.add(timed.latency_ms, size)
            else:
                recorder.fail(timed.error)
        return Latency.of(recorder.samples_ms, failures=recorder.failures, warmup_failures=warming.failures)

    def _check(self, judged: Mapping[str, Any]) -> None:
        if not self.qrels:
            msg = (
                f"none of the {len(self.queries)} queries is among the {len(judged)} of the qrels; are the query ids "
                "written alike?"
            )
            raise InputError(msg)
        if not self._timed:
            msg = f"none of the {len(self.queries)} queries has candidates; are the query ids written alike?"
            raise InputError(msg)
        if self.given == "text":
            for query_id in self._timed:
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
            (len(self.queries) - len(self._timed), "without candidates: never given to the reranker"),
        ):
            if count:
                notes.append(f"{queries(count)} {what}")
        return notes
