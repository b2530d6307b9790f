"""Run rerankers over queries with candidates: quality, latency and cost side by side; with one behind a URL."""

import http.client
import json
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from permed_measures.errors import InputError, ParamError, check_choice
from permed_measures.evaluate import evaluate
from permed_measures.files.candidates import as_candidates, as_queries
from permed_measures.inputs import QrelsLike, as_qrels
from permed_measures.notes import Queries
from permed_measures.profiles import Profile, load_profile
from permed_measures.ranking import order
from permed_measures.render.words import queries as counted
from permed_measures.serving.answers import Answer, Answers, Recorded, looks_like_places, read_answer
from permed_measures.serving.calls import BAD_ANSWER, TIMEOUT_S, Caller, CallError, Clock
from permed_measures.serving.latency import Latency
from permed_measures.serving.report import Reranked, RerankReport
from permed_measures.serving.summary import Cost, ServingSummary
from permed_measures.serving.targets import Targets
from permed_measures.serving.throughput import Arrivals, Load, calls_under_load, load_plans
from permed_measures.serving.workers import GIVE_UP, Phase

Reranker = Callable[..., Any]
GIVEN = ("text", "records")
_CONNECTIONS: dict[str, type[http.client.HTTPConnection]] = {
    "http": http.client.HTTPConnection,
    "https": http.client.HTTPSConnection,
}
_OK = 200


def _fresh(value: tuple[str, list[Any]]) -> tuple[str, list[Any]]:
    """Copy what a reranker is given: one that sorts it, or writes into it, must not change the next call."""
    query, given = value
    return query, [dict(item) if isinstance(item, Mapping) else item for item in given]


def _ranking(answer: Mapping[str, float] | Sequence[str]) -> list[str]:
    return list(order(answer) if isinstance(answer, Mapping) else answer)


class RerankEvaluator:
    """Runs rerankers over the same queries and candidates.

    A reranker is called with the query and the list of its candidates' texts (with ``given="records"``: their records)
    and answers in one of the shapes of :func:`~permed_measures.serving.answers.read_answer`; it may be async, or a
    factory (see :class:`~permed_measures.serving.calls.Caller`). The order of the candidates is the ranking without
    reranking. Measures are the profile's, computed by :func:`permed_measures.evaluate`.

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
        check_choice("given", given, GIVEN)
        self.profile = load_profile(profile)
        self.given = given
        self.queries = as_queries(queries)
        self.candidates = as_candidates(candidates)
        judged = as_qrels(qrels)
        self.qrels = {query_id: grades for query_id, grades in judged.items() if query_id in self.queries}
        self.query_ids = [query_id for query_id in self.queries if self.candidates.get(query_id)]
        """Those that a reranker is asked."""
        self._check(judged)
        left_out = (
            (len(judged) - len(self.qrels), "of the qrels left out: they are not among the queries"),
            (len(self.queries) - len(self.query_ids), "without candidates: never given to the reranker"),
        )
        self.notes = [f"{counted(count)} {what}" for count, what in left_out if count]
        listed = {query_id: [c.doc_id for c in self.candidates[query_id]] for query_id in self.query_ids}
        self.baseline = evaluate(self.qrels, listed, profile=self.profile)  # the candidates in their own order

    @property
    def documents_per_query(self) -> float:
        """The mean number of candidates."""
        return sum(len(self.candidates[query_id]) for query_id in self.query_ids) / len(self.query_ids)

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
                raise ParamError(f"a cost for {name!r}, which is none of {', '.join(map(repr, rerankers))}")
        made = [
            self.evaluate(reranker, name=name, cost=(costs or {}).get(name), **options)
            for name, reranker in rerankers.items()
        ]
        return RerankReport(self.baseline, tuple(made), self.profile, targets, revenue_per_query)

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
        """Rerank the candidates of every query with the options of :meth:`call`, and evaluate the first answers."""
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

        Every query is asked ``repeats`` times, after a failure up to ``retries`` times more, each a call of its own.
        ``timeout_s`` limits every call of every phase. ``sizes`` also measures with the candidates cut to the first 20,
        50, …; ``threads`` throughput, see :func:`~permed_measures.serving.measure_throughput`.
        """
        kept = Recorded()
        cut = {size: self._places_of(size) for size in sizes}
        wants_load = isinstance(threads, int) or bool(threads)
        plans = load_plans(threads, arrival_rate, duration_s=duration_s, arrivals=arrivals) if wants_load else {}
        inputs = [self._input(query_id) for query_id in self.query_ids]
        with Caller(reranker, clock, _fresh, timeout_s) as caller:
            phase = Phase(caller, inputs, clock, sleep, progress, name, self._reader(range(len(inputs))))
            kept.warming, kept.calls, kept.given_up = phase.rounds(warmup=warmup, repeats=repeats, retries=retries)
            if kept.given_up:
                return kept
            for size, places in cut.items():
                values = [self._input(self.query_ids[place], size) for place in places]
                part = replace(
                    phase, values=values, label=f"{name}, {size} candidates", read=self._reader(places, size)
                )
                _, calls, _ = part.rounds(warmup=warmup, repeats=repeats)
                kept.sizes[size] = [call._replace(place=places[call.place], answer=None) for call in calls]
            for key, plan in plans.items():
                kept.loads[key] = plan, [call._replace(answer=None) for call in calls_under_load(phase, plan, seed)]
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
        """Report on calls that were made: the first answer to each query counts, and 0 where there is none."""
        sizes = [len(self.candidates[query_id]) for query_id in self.query_ids]
        run, notes = self._answers(recorded)
        unanswered: Answers = {query_id: [] for query_id in self.query_ids if query_id not in run}
        latency = Latency.of_calls(recorded.calls, sizes, warming=recorded.warming, seed=seed)
        by_size = {size: Latency.of_calls(calls, sizes, seed=seed) for size, calls in recorded.sizes.items()}
        loads = {key: Load.of_calls(plan, calls, sizes, seed) for key, (plan, calls) in recorded.loads.items()}
        return Reranked(
            name,
            evaluate(self.qrels, run | unanswered, profile=self.profile),
            ServingSummary(latency, cost=cost, loads=loads, by_size=by_size, queries_per_day=queries_per_day),
            run,
            (*self.notes, *notes),
            recorded,
        )

    def _answers(self, recorded: Recorded) -> tuple[Answers, list[str]]:
        """Return the run of the first answers, and what is odd about the answers."""
        run: Answers = {}
        changed = set()
        answered = [(self.query_ids[call.place], call.answer) for call in recorded.calls if call.failure is None]
        for query_id, answer in answered:
            first = run.setdefault(query_id, answer.ranking)
            if first is not answer.ranking and _ranking(first) != _ranking(answer.ranking):
                changed.add(query_id)
        notes = []
        if recorded.given_up:
            notes.append(f"given up: {GIVE_UP} calls in a row had no end; sizes and loads were not measured")
        if failed := [query_id for query_id in self.query_ids if query_id not in run]:
            some = Queries.of(failed)
            notes.append(f"{some.counted} counted as 0: no call was answered, its call failed{some.named}")
        if changed:
            notes.append(
                f"the rankings of {counted(len(changed))} differ between repeats; the first ones are evaluated"
            )
        if answered and all(answer.like_places for _, answer in answered):
            notes.append(
                "every answer holds the numbers 0 to n - 1, each once, and was read as scores; if they are the places "
                "of the documents, best first, answer with pairs (place, score)"
            )
        return run, notes

    def _input(self, query_id: str, size: int | None = None) -> tuple[str, list[Any]]:
        listed = self.candidates[query_id][:size]
        given: list[Any] = [c.record for c in listed] if self.given == "records" else [c.text for c in listed]
        return self.queries[query_id], given

    def _reader(self, places: Sequence[int], size: int | None = None) -> Callable[[int, Any], Answer]:
        """Return what reads the answers to lists of candidates, cut to ``size``."""

        def read(place: int, answer: Any) -> Answer:  # noqa: ANN401  (whatever a reranker answers)
            query_id = self.query_ids[places[place]]
            try:
                return Answer(read_answer(answer, self.candidates[query_id][:size]), looks_like_places(answer))
            except InputError as error:
                raise CallError(BAD_ANSWER, f"query {query_id!r}: {error}") from None

        return read

    def _places_of(self, size: int) -> list[int]:
        """Return the places of the queries that have so many candidates."""
        places = [p for p, query_id in enumerate(self.query_ids) if len(self.candidates[query_id]) >= size]
        if not places:
            raise ParamError(f"sizes: no query has {size} candidates")
        return places

    def _check(self, judged: Mapping[str, Any]) -> None:
        lacks = "are the query ids written alike?"
        if not self.qrels:
            raise InputError(
                f"none of the {len(self.queries)} queries is among the {len(judged)} of the qrels; {lacks}"
            )
        if not self.query_ids:
            raise InputError(f"none of the {len(self.queries)} queries has candidates; {lacks}")
        for query_id in self.query_ids if self.given == "text" else ():
            without = next((c for c in self.candidates[query_id] if c.text is None), None)
            if without is not None:
                msg = f"candidates, query {query_id!r}, document {without.doc_id!r}: no text to give to the reranker"
                raise InputError(msg)


class HttpReranker:
    """Posts a query and its texts to a URL, by the common rerank API: query, documents, top_n → index, relevance_score.

    Connections are kept open, until it is left as a context manager; ``headers`` are for keys. Redirects are not
    followed, and no proxy is used: what is timed is the server.
    """

    def __init__(
        self,
        url: str,
        *,
        model: str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: float | None = None,
    ) -> None:
        self._parts = urlsplit(url)
        if self._parts.scheme not in _CONNECTIONS or not self._parts.hostname:
            raise ParamError(f"{url!r} is not a URL such as http://localhost:8080/rerank")
        self._model, self._timeout_s = model, timeout_s
        self._headers = {"Content-Type": "application/json", **(headers or {})}
        self._left = False
        self._idle: deque[http.client.HTTPConnection] = deque()

    def __enter__(self) -> "HttpReranker":  # noqa: PYI034  (typing.Self came with Python 3.11)
        return self

    def __exit__(self, *_: object) -> None:
        self._left = True
        while self._idle:
            self._idle.pop().close()

    def __call__(self, query: str, texts: Sequence[str]) -> Any:  # noqa: ANN401  (whatever the server answers)
        """Return the answer, whatever it is; anything but a status 200 raises."""
        body = {"query": query, "documents": list(texts), "top_n": len(texts)}
        sent = json.dumps(body | ({} if self._model is None else {"model": self._model})).encode()
        try:
            kept = self._idle.pop()
        except IndexError:
            return self._posted(sent)
        try:
            return self._posted(sent, kept)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):  # it was idle for long
            return self._posted(sent)

    def _posted(self, sent: bytes, kept: http.client.HTTPConnection | None = None) -> Any:  # noqa: ANN401  (as above)
        parts, made = self._parts, _CONNECTIONS[self._parts.scheme]
        connection = kept or made(parts.hostname or "", parts.port, timeout=self._timeout_s)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        try:
            connection.request("POST", target, sent, self._headers)
            response = connection.getresponse()
            content = response.read()
        except BaseException:
            connection.close()
            raise
        if response.will_close or self._left:
            connection.close()
        else:
            self._idle.append(connection)
        if response.status != _OK:
            kind = f"HTTP {response.status}"
            raise CallError(kind, content.decode(errors="replace") or kind)
        return json.loads(content)
