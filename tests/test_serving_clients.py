"""Real clients against a real server on loopback: what they count, how they fail, and that the job always ends."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from contextlib import asynccontextmanager, contextmanager
from functools import partial

import pytest

from permed_measures.errors import ParamError
from permed_measures.serving import RerankEvaluator, measure_latency, measure_throughput
from permed_measures.serving.rerank import HttpReranker
from tests.rerank_server import RerankServer

QUERIES = {f"q{n}": f"query {n}" for n in range(10)}
CANDIDATES = {query_id: [(f"d{m}", f"text {m}") for m in range(8)] for query_id in QUERIES}
QRELS = {query_id: {"d7": 2, "d6": 1} for query_id in QUERIES}
BEST = [f"d{m}" for m in reversed(range(8))]


def evaluator():
    return RerankEvaluator(QUERIES, QRELS, CANDIDATES)


def body(query, texts):
    return {"query": query, "documents": texts, "top_n": len(texts)}


def aiohttp_client(url):
    """Make the session on the first call, as aiohttp's manual says: it is bound to that loop."""
    aiohttp = pytest.importorskip("aiohttp", reason="aiohttp is not installed: pip install --group test")
    made = []

    async def call(query, texts):
        if not made:
            made.append(aiohttp.ClientSession())
        async with made[0].post(url, json=body(query, texts)) as response:
            response.raise_for_status()
            return await response.json()

    async def close():
        await made[0].close()

    return call, close


def httpx_client(url):
    httpx = pytest.importorskip("httpx", reason="httpx is not installed: pip install --group test")
    client = httpx.AsyncClient()

    async def call(query, texts):
        response = await client.post(url, json=body(query, texts))
        response.raise_for_status()
        return response.json()

    return call, client.aclose


def requests_client(url):
    requests = pytest.importorskip("requests", reason="requests is not installed: pip install --group test")
    session = requests.Session()

    def call(query, texts):
        response = session.post(url, json=body(query, texts), timeout=20)
        response.raise_for_status()
        return response.json()

    async def close():
        session.close()

    return call, close


def http_client(url):
    reranker = HttpReranker(url)

    async def close():
        reranker.__exit__()

    return reranker, close


CLIENTS = {"aiohttp": aiohttp_client, "httpx": httpx_client, "requests": requests_client, "--http": http_client}


@contextmanager
def client(name, url):
    """Give a factory, so that a client is closed on the loop it was used on."""
    call, close = CLIENTS[name](url)

    @asynccontextmanager
    async def opened():
        yield call
        await close()

    yield opened


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_works_through_all_phases_and_every_call_is_counted(name):
    with RerankServer() as server, client(name, server.url) as reranker:
        reranked = evaluator().evaluate(
            reranker, warmup=3, repeats=2, sizes=(5,), threads=(1, 4, 8), duration_s=0.3, name=name
        )
        assert reranked.run == dict.fromkeys(QUERIES, BEST)  # the order is that of the server's scores, exactly
        assert reranked.quality["NDCG@10"] == 1.0
        serving = reranked.serving
        assert (serving.latency.answered, serving.latency.failures.total) == (20, 0)
        assert reranked.by_size[5].calls == 20
        loads = [load.latency for load in serving.loads.values()]
        assert [latency.failures.total for latency in loads] == [0, 0, 0]
        # 3 to warm up, 20 calls, 3 + 20 with lists cut to 5, and the loads: the server has seen as many
        assert server.count(200) == 3 + 20 + 3 + 20 + sum(latency.answered for latency in loads)
        assert server.queries[3:23] == [*QUERIES.values()] * 2
        assert serving.to_dict()["failure_share"] == 0


@pytest.mark.parametrize("name", CLIENTS)
def test_failures_are_counted_exactly_and_do_not_lower_the_quality(name):
    with RerankServer(lambda n: "503" if n % 4 == 1 else "ok") as server, client(name, server.url) as reranker:
        reranked = evaluator().evaluate(reranker, warmup=0, repeats=2, name=name)
        # requests 1, 5, 9, 13, 17 of 20 fail; no query fails both times
        assert (reranked.serving.latency.answered, reranked.serving.latency.failures.total) == (15, 5)
        assert reranked.quality["NDCG@10"] == 1.0
        assert reranked.serving.to_dict()["failure_share"] == 5 / 20
        assert server.count(503) == 5


def test_retries_are_calls_of_their_own():
    with RerankServer(lambda n: "503" if n % 2 == 0 else "ok") as server:
        slept = []
        reranked = evaluator().evaluate(partial(HttpReranker, server.url), warmup=0, retries=2, sleep=slept.append)
        assert reranked.serving.latency.failures.by_kind["HTTP 503"].count == 10
        assert "overloaded" in reranked.serving.latency.failures.by_kind["HTTP 503"].first_message
        assert (reranked.serving.latency.answered, len(server.queries)) == (10, 20)
        assert slept == [0.1] * 10
        assert reranked.quality["NDCG@10"] == 1.0


def test_a_query_that_no_call_answers_counts_0_and_the_note_says_why():
    with RerankServer(lambda n: "503" if n in (2, 3) else "ok") as server:
        reranked = evaluator().evaluate(partial(HttpReranker, server.url), warmup=0, retries=1, sleep=lambda _: None)
    assert reranked.quality["NDCG@10"] == pytest.approx(9 / 10)
    assert set(reranked.run) == set(QUERIES) - {"q2"}
    said = [*reranked.notes, *reranked.evaluation.notes]
    assert any("its call failed ('q2')" in note for note in said)
    assert not any("missing from the run" in note for note in said)


def test_one_loop_from_the_first_call_to_the_last():
    loops, gate = set(), []

    async def limited(_query, texts):
        if not gate:
            gate.append(asyncio.Semaphore(2))  # bound to the loop where it first waits
        async with gate[0]:
            loops.add(id(asyncio.get_running_loop()))
            await asyncio.sleep(0.001)
        return [float(len(text)) for text in texts]

    reranked = evaluator().evaluate(limited, sizes=(4,), threads=(1, 8), duration_s=0.2)
    assert len(loops) == 1
    assert [load.latency.failures.total for load in reranked.serving.loads.values()] == [0, 0]


class Model:
    """Counts how it is opened and closed."""

    def __init__(self):
        self.events = []

    def __call__(self, _query, texts):
        return [float(len(text)) for text in texts]

    def __enter__(self):
        self.events.append("open")
        return self

    def __exit__(self, *_):
        self.events.append("closed")

    def plain(self):
        return self.__call__

    async def awaited(self):
        await asyncio.sleep(0)
        self.events += ["open", "closed"]
        return self.__call__

    def managed(self):
        return self

    @asynccontextmanager
    async def managed_async(self):
        loop = asyncio.get_running_loop()
        self.events.append("open")

        async def call(query, texts):
            assert asyncio.get_running_loop() is loop
            return self(query, texts)

        yield call
        self.events.append("closed")


@pytest.mark.parametrize("way", ["plain", "awaited", "managed", "managed_async"])
def test_factories(way):
    model = Model()
    reranked = evaluator().evaluate(getattr(model, way), threads=2, duration_s=0.05)
    assert reranked.serving.latency.failures.total == 0
    assert reranked.serving.loads[2].latency.failures.total == 0
    assert model.events == ([] if way == "plain" else ["open", "closed"])


def test_a_factory_that_fails_is_named():
    def make():
        msg = "no such model"
        raise LookupError(msg)

    with pytest.raises(ParamError, match=r"the factory .*make raised LookupError: no such model"):
        evaluator().evaluate(make)
    with pytest.raises(ParamError, match="5 cannot be called"):
        evaluator().evaluate(lambda: 5)


@pytest.mark.parametrize("blocked", ["sync", "async", "blocked loop"])
def test_a_call_that_hangs_ends_in_time_and_the_rest_is_given_up(blocked):
    def hangs(*_):
        time.sleep(30)

    async def hangs_async(*_):
        await asyncio.sleep(30)

    async def blocks(*_):
        time.sleep(30)  # noqa: ASYNC251  (that is the fault)

    call = {"sync": hangs, "async": hangs_async, "blocked loop": blocks}[blocked]
    begun = time.monotonic()
    reranked = evaluator().evaluate(call, warmup=0, timeout_s=0.2, sizes=(4,), threads=(2,), duration_s=0.2)
    assert time.monotonic() - begun < 25
    failures = reranked.serving.latency.failures.by_kind
    assert (failures["NotFinished"].count, failures["NotCalled"].count) == (5, 5)
    assert failures["NotFinished"].first_message == "no answer within 0.2 s"
    figures = reranked.serving.to_dict()
    assert figures["failure_share"] == 1
    assert "p95_ms" not in figures
    assert figures["p95_ms_at_least"] >= 190
    assert reranked.serving.loads == {}
    assert "given up: 5 calls in a row" in reranked.notes[0]


def test_one_hang_among_answers_is_censored_and_calls_go_on():
    with RerankServer(lambda n: "hang" if n == 4 else "ok") as server:
        reranked = evaluator().evaluate(partial(HttpReranker, server.url), warmup=0, repeats=3, timeout_s=1.0)
        latency = reranked.serving.latency
        assert (latency.answered, latency.failures.by_kind["NotFinished"].count) == (29, 1)
        assert latency.max_ms == pytest.approx(1000, abs=400)
        assert {"max_ms", "mean_ms", "p99_ms"} <= latency.bounds
        assert "p50_ms" not in latency.bounds
        assert reranked.quality["NDCG@10"] == 1.0  # the second call of that query was answered


def test_without_a_limit_calls_run_in_the_thread_that_asks():
    import threading

    seen = set()
    measure_latency(lambda _: seen.add(threading.current_thread()), [1, 2], timeout_s=None)
    assert seen == {threading.current_thread()}
    with pytest.raises(ParamError, match="timeout_s=0 is not allowed"):
        measure_latency(len, ["a"], timeout_s=0)


def test_a_load_gives_up_what_hangs_and_goes_on():
    with RerankServer(lambda n: "hang" if n in (3, 5) else "ok", service_s=0.01) as server:
        with HttpReranker(server.url, timeout_s=3) as reranker:
            load = measure_throughput(
                lambda n: reranker(f"query {n}", ["text 1"]), range(10), threads=2, duration_s=2.0, timeout_s=0.3
            )[2]
        assert load.latency.failures.by_kind["NotFinished"].count == 2
        assert load.latency.answered == server.count(200) > 10


FILES = ("--queries", "q.jsonl", "--candidates", "c.jsonl", "--qrels", "qrels.txt")


@pytest.fixture
def shell(tmp_path):
    """Run the tool as a process of its own, as CI does."""
    lines = [json.dumps({"query_id": q, "text": t}) for q, t in QUERIES.items()]
    (tmp_path / "q.jsonl").write_text("\n".join(lines))
    listed = {q: [{"doc_id": d, "text": t} for d, t in c] for q, c in CANDIDATES.items()}
    (tmp_path / "c.jsonl").write_text(
        "\n".join(json.dumps({"query_id": q, "candidates": c}) for q, c in listed.items())
    )
    (tmp_path / "qrels.txt").write_text("".join(f"{q} 0 {d} {g}\n" for q, of in QRELS.items() for d, g in of.items()))

    def run(*arguments, limit_s=100):
        command = [sys.executable, "-m", "permed_measures", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=limit_s, check=False)

    return run


STANDARD = ("--serving", "serving.json", "failure_share<0.01", "p95_ms<5000", "RR>=0.5")


@pytest.mark.parametrize(
    ("plan", "options", "code"),
    [
        (lambda _: "ok", (), 0),
        (lambda n: "ok" if n < 15 else "503", ("--threads", "4", "--duration", "0.5"), 1),
        (lambda n: "ok" if n < 15 else "hang", ("--threads", "4", "--duration", "0.5"), 1),
        (lambda n: "ok" if n < 15 else "die", ("--threads", "4", "--duration", "0.5"), 1),
        (lambda n: "ok" if n < 5 else "die", (), 1),
        (lambda _: "hang", (), 1),
        (lambda n: "ok" if n < 15 else "rubbish", ("--threads", "4", "--duration", "0.5"), 1),
    ],
    ids=["sound", "a 503 storm", "a hang", "dies under load", "dies", "never answers", "answers rubbish"],
)
def test_the_job_ends_in_time_with_a_true_report_and_the_gate_does_not_pass(shell, tmp_path, plan, options, code):
    with RerankServer(plan) as server:
        begun = time.monotonic()
        made = shell(
            *("bench-reranker", "--http", f"r={server.url}", *FILES, "--timeout", "1", *options),
            *("--write-serving", "serving.json", "--write-run", "run.trec", "--write-calls", "calls.jsonl"),
        )
        assert time.monotonic() - begun < 60
        answered = server.count(200)
    assert made.returncode in (0, 1), made.stderr
    calls = [json.loads(line) for line in (tmp_path / "calls.jsonl").read_text().splitlines()]
    good = [call for call in calls if call["failure"] is None]
    bad = sum(call["failure"][0] == "a bad answer" for call in calls if call["failure"])
    # one that was given up after its time may still be answered by the server
    assert len(good) + bad <= answered <= len(good) + bad + sum(bool(call.get("censored")) for call in calls)
    figures = json.loads((tmp_path / "serving.json").read_text())
    assert (figures["failure_share"] == 0) == (code == 0)
    gated = shell("gate", "qrels.txt", "run.trec", *STANDARD)
    assert (gated.returncode == 0) == (code == 0), gated.stdout + gated.stderr
    if code:
        assert "FAILS" in gated.stdout or "nothing can be checked" in gated.stderr


def test_reports_are_made_again_from_the_calls(shell, tmp_path):
    with RerankServer(lambda n: "503" if n == 3 else "ok") as server:
        options = (*FILES, "--usd-per-million-tokens", "0.02", "--tokens-per-document", "10", "--format", "json")
        made = shell(
            *(
                "bench-reranker",
                "--http",
                f"r={server.url}",
                *options,
                "--repeats",
                "2",
                "--sizes",
                "4",
                "--threads",
                "2",
            ),
            *("--rates", "20,40", "--arrivals", "poisson", "--duration", "0.5", "--write-calls", "calls.jsonl"),
        )
    again = shell("bench-reranker", "--calls", "calls.jsonl", *options)
    assert again.returncode == made.returncode == 0, made.stderr + again.stderr
    assert json.loads(again.stdout) == json.loads(made.stdout)
    figures = json.loads(made.stdout)["rerankers"][0]["serving"]
    for rate in (20, 40):
        assert figures[f"failure_share_2_threads_at_{rate}_per_s"] == 0
        assert figures[f"offered_qps_2_threads_at_{rate}_per_s"] == pytest.approx(rate, rel=0.7)
        assert figures[f"qps_2_threads_at_{rate}_per_s"] > 0
    (tmp_path / "calls.jsonl").write_text('{"reranker": "r", "phase": "calls", "query_id": "other"}\n')
    wrong = shell("bench-reranker", "--calls", "calls.jsonl", *FILES)
    assert wrong.returncode == 2
    assert "calls.jsonl:1: " in wrong.stderr
    assert "the query 'other' is not among" in wrong.stderr


def test_what_http_is_given(shell):
    wrong = shell("bench-reranker", "--http", "localhost:80", *FILES)
    assert wrong.returncode == 2
    assert "is not a URL such as" in wrong.stderr
    wrong = shell("bench-reranker", "--http", "http://localhost:1/", *FILES, "--http-key-env", "NO_SUCH_KEY")
    assert wrong.returncode == 2
    assert "no such variable" in wrong.stderr
    wrong = shell("bench-reranker", *FILES)
    assert wrong.returncode == 2
    assert "--http URL" in wrong.stderr
