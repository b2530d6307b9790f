"""RerankEvaluator: real scorers over generated documents, golden values of source 5, answers of every shape."""

from __future__ import annotations

import random
from types import SimpleNamespace

import numpy as np
import pytest
from pytest import approx  # noqa: PT013  (reads well in sums)

from permed_measures import evaluate
from permed_measures.errors import InputError, ParamError
from permed_measures.serving import Candidate, Cost, RerankEvaluator
from permed_measures.serving.answers import looks_like_places, read_answer


class Time:
    """A clock that the rerankers move."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def move(self, seconds):
        self.now += seconds


TOPICS = {
    "heart": ["heart", "artery", "blood", "pressure", "valve", "pulse", "cardiac", "vessel"],
    "lung": ["lung", "breath", "oxygen", "airway", "asthma", "cough", "bronchi", "pleura"],
    "skin": ["skin", "rash", "eczema", "lesion", "dermis", "itch", "sunburn", "mole"],
    "bone": ["bone", "fracture", "joint", "spine", "hip", "marrow", "cartilage", "knee"],
}
FILLER = ["the", "patient", "study", "shows", "that", "of", "with", "and", "results", "were", "treatment", "group"]


def generated(queries_per_topic=5, candidates_per_query=40, seed=11):
    """Documents about topics; the relevant ones hold words of the topic, and stand anywhere in the list."""
    draw = random.Random(seed)
    documents, about = {}, {}
    for number in range(160):
        topic = draw.choice(list(TOPICS))
        words = draw.choices(TOPICS[topic], k=4) + draw.choices(FILLER, k=12)
        draw.shuffle(words)
        documents[f"d{number}"], about[f"d{number}"] = " ".join(words), topic
    queries, qrels, candidates = {}, {}, {}
    for topic, vocabulary in TOPICS.items():
        for number in range(queries_per_topic):
            query_id = f"{topic}_{number}"
            queries[query_id] = " ".join(draw.sample(vocabulary, 5))
            listed = draw.sample(list(documents), candidates_per_query)
            candidates[query_id] = [(doc_id, documents[doc_id]) for doc_id in listed]
            qrels[query_id] = {doc_id: int(about[doc_id] == topic) for doc_id in listed}
    return queries, qrels, candidates, documents


QUERIES, QRELS, CANDIDATES, DOCUMENTS = generated()


@pytest.fixture(scope="module")
def tf_idf():
    vectorizers = pytest.importorskip("sklearn.feature_extraction.text")
    vectorizer = vectorizers.TfidfVectorizer().fit(DOCUMENTS.values())

    def rerank(query, texts):
        return (vectorizer.transform(texts) @ vectorizer.transform([query]).T).toarray().ravel()

    return rerank


def test_a_real_reranker(tf_idf):
    evaluator = RerankEvaluator(QUERIES, QRELS, CANDIDATES)
    reranked = evaluator.evaluate(tf_idf, repeats=2)
    # the same scores by another way, evaluated apart
    run = {
        query_id: dict(zip([d for d, _ in listed], tf_idf(QUERIES[query_id], [t for _, t in listed]), strict=True))
        for query_id, listed in CANDIDATES.items()
    }
    expected = evaluate(QRELS, run, profile="rerank")
    assert reranked.evaluation.means == expected.means
    assert reranked.quality["NDCG@10"] > 0.95
    assert evaluator.baseline["NDCG@10"] < 0.6
    latency = reranked.serving.latency
    assert (latency.answered, latency.failures.total) == (2 * len(QUERIES), 0)
    assert latency.sizes == (40,) * 40
    assert latency.p95_ms == np.percentile(latency.samples_ms, 95) > 0


def test_a_slow_and_a_failing_reranker_beside_a_real_one(tf_idf):
    clock = Time()

    def fast(query, texts):
        clock.move(0.02)
        return tf_idf(query, texts)

    def slow(query, texts):
        clock.move(0.9)
        return tf_idf(query, texts)

    def fails_on_skin(query, texts):
        clock.move(0.02)
        if "skin" in query or "rash" in query:
            msg = "no such index"
            raise ConnectionError(msg)
        return tf_idf(query, texts)

    evaluator = RerankEvaluator(QUERIES, QRELS, CANDIDATES)
    report = evaluator.compare({"fast": fast, "slow": slow, "failing": fails_on_skin}, clock=clock, repeats=3)
    fast_one, slow_one, failing = report.rerankers
    assert fast_one.serving.latency.p95_ms == approx(20)
    assert slow_one.serving.latency.p95_ms == approx(900)
    assert slow_one.quality == fast_one.quality
    failed = [query_id for query_id, text in QUERIES.items() if "skin" in text or "rash" in text]
    assert failing.serving.latency.failures.by_kind["ConnectionError"].count == 3 * len(failed) > 0
    assert failing.serving.latency.failures.by_kind["ConnectionError"].first_message == "no such index"
    assert set(failing.run) == set(QUERIES) - set(failed)
    # a query without an answer counts 0
    by_query = fast_one.evaluation.columns[next(iter(fast_one.evaluation.columns))]
    answered = sum(value for query_id, value in by_query.items() if query_id not in failed)
    assert failing.quality["NDCG@10"] == approx(answered / len(QUERIES))
    assert report.pareto == {"fast": True, "slow": False, "failing": False}
    verdicts = {verdict.target.name: str(verdict) for verdict in report.verdicts(slow_one)}
    assert verdicts["p95_ms"] == "missed by 400 (80.0%)"
    assert report.worth(fast_one).holds


def relevance_lists(*lists):
    """Make queries whose candidates have these grades, in this order."""
    candidates = {f"q{n}": [(f"d{m}", "text") for m in range(len(grades))] for n, grades in enumerate(lists)}
    qrels = {f"q{n}": {f"d{m}": grade for m, grade in enumerate(grades)} for n, grades in enumerate(lists)}
    return RerankEvaluator(dict.fromkeys(candidates, "query"), qrels, candidates)


def test_golden_values_of_source_5():
    assert relevance_lists([0, 0, 1, 0, 0], [1, 0, 0, 0, 0], [0, 1, 0, 0, 0]).baseline["MRR"] == approx(
        (1 / 3 + 1 + 1 / 2) / 3
    )
    mean_ap = ((1 + 2 / 3 + 3 / 5) / 3 + (1 / 2 + 2 / 3) / 2) / 2
    assert (
        relevance_lists([1, 0, 1, 0, 1], [0, 1, 1, 0, 0]).baseline["MAP"]
        == approx(mean_ap)
        == approx(0.6694444444444444)
    )
    four = relevance_lists([1, 0, 1, 0, 1, 0, 0, 1, 0, 0]).baseline
    assert (four["Recall@5"], four["Precision@5"]) == (approx(3 / 4), approx(3 / 5))
    # the document prints 0.9203
    assert relevance_lists([3, 1, 2, 0, 0]).baseline["NDCG@10"] == approx(0.9725044904464192)


def tiny(**options):
    candidates = {
        "q": [{"doc_id": "a", "text": "x", "score": 3.0}, {"doc_id": "b", "text": "y"}, {"doc_id": "c", "text": "z"}]
    }
    return RerankEvaluator({"q": "query"}, {"q": {"c": 1}}, candidates, **options)


@pytest.mark.parametrize(
    "answer",
    [
        [0.1, 0.2, 0.9],
        (1, 2, 3),
        np.array([0.1, 0.2, 0.9], dtype=np.float32),
        [np.float32(1), np.float64(2), np.int64(3)],
        {"c": 2.0, "b": 1.0},
        ["c", "b", "a"],
        ["c"],
        [(2, 0.9), (0, 0.5)],
        [("c", 0.9), ("a", 0.5)],
        [{"index": 2, "relevance_score": 0.9}, {"index": 1}],
        [{"corpus_id": np.int64(2), "score": 0.9}],
        [{"text_id": "c"}, {"text_id": "a"}],
        {"results": [{"index": 2, "relevance_score": 0.9}]},
        SimpleNamespace(results=[SimpleNamespace(index=2), SimpleNamespace(index=0)]),
        [Candidate("c"), Candidate("a")],
    ],
)
def test_answers_of_every_shape(answer):
    reranked = tiny().evaluate(lambda *_: answer)
    assert reranked.quality["MRR"] == 1.0
    assert reranked.serving.latency.failures.total == 0


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, "the answer is a NoneType; a list of scores or of documents is expected"),
        ("cba", "the answer is a str"),
        ([0.1, 0.2], "2 scores for 3 candidates; one for each is expected"),
        ([0.1, float("nan"), 0.2], "document 'b': the score is NaN"),
        (["c", "x"], "the answer holds 'x', which is no candidate of this query"),
        (["c", "c"], "the answer holds 'c' twice"),
        ([(3, 0.5)], "the index 3 is not one of 0 to 2"),
        ([(-1, 0.5)], "the index -1 is not one of 0 to 2"),
        ([(0.5, 0.5)], "the index 0.5"),
        ([[0.1], [0.2], [0.3]], r"\[0.1\] in the answer is neither a score nor a document"),
        ({"a": "high"}, "document 'a': the score 'high' is not a number"),
        ([{"rank": 1}], "the answer holds None"),
    ],
)
def test_answers_that_make_no_sense_are_failures(answer, message):
    with pytest.raises(InputError, match=message):
        read_answer(answer, tiny().candidates["q"])
    reranked = tiny().evaluate(lambda *_: answer, repeats=2)
    assert reranked.serving.latency.failures.by_kind["a bad answer"].count == 2
    assert reranked.serving.latency.answered == 0
    assert reranked.quality["MRR"] == 0.0


def test_places_are_read_as_scores_and_noted():
    assert looks_like_places([2, 0, 1])
    assert looks_like_places(np.array([1, 0]))
    assert not looks_like_places([2, 0, 3])
    assert not looks_like_places([2.0, 0.0, 1.0])
    assert not looks_like_places(["a"])
    assert "read as scores" in tiny().evaluate(lambda *_: [2, 1, 0]).notes[0]
    assert tiny().evaluate(lambda *_: [2, 1, 5]).notes == ()


def test_what_a_reranker_is_given():
    seen = []

    def meddles(query, documents):
        seen.append((query, list(documents)))
        documents.reverse()
        documents.pop()
        return [1.0, 2.0, 3.0]

    reranked = tiny().evaluate(meddles, repeats=2, warmup=0)
    assert seen == [("query", ["x", "y", "z"])] * 2
    assert reranked.quality["MRR"] == 1.0


def test_records_keep_what_the_file_says_and_cannot_be_changed():
    seen = []

    def writes(_query, records):
        seen.append([dict(record) for record in records])
        for record in records:
            record["score"] = len(record["text"])
        return sorted(records, key=lambda record: record["doc_id"], reverse=True)

    reranked = tiny(given="records").evaluate(writes, repeats=2)
    assert seen[0] == seen[1] == seen[2]
    assert seen[0][0] == {"doc_id": "a", "text": "x", "score": 3.0}
    assert reranked.run == {"q": ["c", "b", "a"]}


def test_async_rerankers_and_objects():
    class Model:
        async def rerank(self, _query, texts):
            return [float(text == "z") for text in texts]

    assert tiny().evaluate(Model().rerank).quality["MRR"] == 1.0
    assert tiny().evaluate(Model().rerank).name.endswith("Model.rerank")


def test_answers_that_change_between_repeats_are_noted():
    answers = iter([["c"], ["a"], ["a"]])
    reranked = tiny().evaluate(lambda *_: next(answers), repeats=3, warmup=0)
    assert reranked.run == {"q": ["c"]}
    assert "the rankings of 1 query differ" in reranked.notes[0]
    scores = iter([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0000001]])
    assert tiny().evaluate(lambda *_: next(scores), repeats=2, warmup=0).notes == ()


def test_the_first_answered_call_decides_and_failures_are_counted_apart():
    answers = iter([None, ["c"], ["a"]])
    reranked = tiny().evaluate(lambda *_: next(answers), repeats=3, warmup=0)
    assert reranked.quality["MRR"] == 1.0
    assert (reranked.serving.latency.answered, reranked.serving.latency.failures.total) == (2, 1)


def test_lists_cut_to_sizes():
    clock = Time()

    def by_length(_query, texts):
        clock.move(0.01 * len(texts))
        return [0.0] * len(texts)

    reranked = RerankEvaluator(QUERIES, QRELS, CANDIDATES).evaluate(by_length, sizes=(10, 20), clock=clock)
    assert {size: latency.p50_ms for size, latency in reranked.by_size.items()} == {10: approx(100), 20: approx(200)}
    assert reranked.serving.latency.p50_ms == approx(400)
    with pytest.raises(ParamError, match="no query has 50 candidates"):
        RerankEvaluator(QUERIES, QRELS, CANDIDATES).evaluate(by_length, sizes=(50,))


def test_throughput_of_a_reranker():
    clock = Time()

    def quarter(_query, texts):
        clock.move(0.25)
        return [0.0] * len(texts)

    reranked = tiny().evaluate(quarter, threads=1, duration_s=4, clock=clock, sleep=clock.move)
    assert reranked.serving.to_dict()["qps"] == 4
    opened = tiny().evaluate(quarter, threads=1, duration_s=4, arrival_rate=2, clock=clock, sleep=clock.move)
    assert opened.serving.loads[1].latency.samples_ms.tolist() == [250] * 8


def test_the_pareto_front():
    clock = Time()
    evaluator = tiny()

    def reranker(seconds, place):
        def rerank(*_):
            clock.move(seconds)
            order = ["a", "b"]
            order.insert(place, "c")
            return order

        return rerank

    rerankers = {
        "best": reranker(0.5, 0),
        "middle": reranker(0.1, 1),
        "slow middle": reranker(0.2, 1),
        "useless": reranker(0.01, 2),  # no better than the list it was given
    }
    report = evaluator.compare(rerankers, clock=clock)
    assert report.pareto == {"best": True, "middle": True, "slow middle": False, "useless": False}
    costs = {"best": Cost(1, 1, 3), "middle": Cost(0.9, 1, 3), "slow middle": Cost(0.1, 1, 3), "useless": Cost(0, 1, 3)}
    assert evaluator.compare(rerankers, clock=clock, costs=costs).pareto["slow middle"]
    del costs["best"]
    assert not evaluator.compare(rerankers, clock=clock, costs=costs).pareto["slow middle"]
    same = evaluator.compare({"one": reranker(0.25, 0), "two": reranker(0.25, 0)}, clock=clock)
    assert same.pareto == {"one": True, "two": True}
    with pytest.raises(ParamError, match="a cost for 'x'"):
        evaluator.compare(rerankers, costs={"x": Cost(1, 1, 1)})


def test_the_return_on_investment_needs_all_it_is_made_of():
    options = {"costs": {"r": Cost(0.025, 800, 50)}, "queries_per_day": 100_000}
    report = tiny().compare({"r": lambda *_: ["c"]}, revenue_per_query=0.01, **options)
    roi = report.roi(report.rerankers[0])
    # nDCG: c from rank 3, 1/log2(4), to rank 1: doubled
    assert roi.revenue_increase_usd_per_day == approx(1000 * (1 / 0.5 - 1))
    assert roi.cost_usd_per_day == approx(100)
    report = tiny().compare({"r": lambda *_: ["c"]}, **options)
    assert report.roi(report.rerankers[0]) is None


def test_which_queries_count():
    queries = {"a": "x", "b": "y", "c": "z"}
    candidates = {"a": {"d": "text"}, "c": [("d", "text")], "elsewhere": [("d", "text")]}
    qrels = {"a": {"d": 1}, "b": {"d": 1}, "far": {"d": 1}}
    evaluator = RerankEvaluator(queries, qrels, candidates)
    # a is found, b has no candidates and counts 0, c is timed but not judged, "far" was not asked
    assert evaluator.baseline["MRR"] == 1 / 2
    assert evaluator.evaluate(lambda *_: ["d"]).serving.latency.answered == 2
    assert evaluator.notes == [
        "1 query of the qrels left out: they are not among the queries",
        "1 query without candidates: never given to the reranker",
    ]
    assert evaluator.documents_per_query == 1


@pytest.mark.parametrize(
    ("queries", "qrels", "candidates", "message"),
    [
        ({"q": "x"}, {"other": {"d": 1}}, {"q": {"d": "t"}}, "none of the 1 queries is among the 1 of the qrels"),
        ({"q": "x"}, {"q": {"d": 1}}, {"other": {"d": "t"}}, "none of the 1 queries has candidates"),
        ({"q": "x"}, {"q": {"d": 1}}, {"q": [{"doc_id": "d"}]}, "query 'q', document 'd': no text"),
        ({"q": "x"}, {"q": {"d": 1}}, {"q": [("d", "t"), ("d", "t")]}, "query 'q': document 'd' occurs twice"),
        ({"q": "x"}, {"q": {"d": 1}}, {"q": ["d"]}, "'d' is not a candidate"),
        ({"q": "x"}, {"q": {"d": 1}}, {"q": 5}, "query 'q': 'int' object is not iterable"),
        ({"q": "x"}, {"q": {"d": 1}}, {"q": "d"}, "the candidates are a text, not a list"),
        ({"q": "x"}, {"q": {"d": 1}}, {"q": [{"text": "t"}]}, "none of the keys 'doc_id', 'text_id', 'id'"),
        ({"q": "x"}, {"q": {"d": 1}}, {"q": [("d", 5)]}, "document 'd': the text is a int"),
        ({"q": "x"}, {"q": {"d": 1}}, ["q"], "candidates: list is not a shape we know"),
        (["x"], {"q": {"d": 1}}, {"q": {"d": "t"}}, "queries: list is not a shape we know"),
        ({"q": 5}, {"q": {"d": 1}}, {"q": {"d": "t"}}, "'q': 5 is not a query id and a text"),
    ],
)
def test_input_that_cannot_be_used(queries, qrels, candidates, message):
    with pytest.raises(InputError, match=message):
        RerankEvaluator(queries, qrels, candidates)


def test_what_is_given_is_checked():
    with pytest.raises(ParamError, match="given='json' is not allowed; give one of 'text', 'records'"):
        tiny(given="json")


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("queries", '{"query_id": "b"}', "queries:2: none of the keys 'text', 'query'; there are 'query_id'"),
        ("queries", '{"text": "b"}', "queries:2: none of the keys 'query_id'; there are 'text'"),
        ("queries", '{"query_id": "a", "text": "b"}', "queries:2: query 'a' occurs in the file before"),
        ("queries", '{"query_id": "b", "text": 5}', "queries:2: 'text' holds a JSON int, not a text"),
        ("candidates", '{"query_id": "b", "candidates": ["x"]}', "candidates:2: 'x' is not a candidate"),
        ("candidates", '{"query_id": "b"}', "candidates:2: none of the keys 'candidates', 'results'"),
        ("candidates", "[]", "candidates:2: a JSON list, a record is an object"),
        ("candidates", "{", "candidates:2: not JSON"),
    ],
)
def test_errors_in_files_name_file_and_line(tmp_path, name, line, message):
    files = {
        "queries": '{"query_id": "a", "query": "x"}\n',
        "candidates": '{"query_id": "a", "results": [{"text_id": "d", "text": "t"}]}\n',
    }
    files[name] += f"{line}\n"
    for file, content in files.items():
        (tmp_path / file).write_text(content)
    with pytest.raises(InputError, match=message):
        RerankEvaluator(tmp_path / "queries", {"a": {"d": 1}}, tmp_path / "candidates")


def test_an_empty_file(tmp_path):
    (tmp_path / "queries").write_text("\n")
    with pytest.raises(InputError, match="no query in the file"):
        RerankEvaluator(tmp_path / "queries", {"a": {"d": 1}}, {"a": {"d": "t"}})


def test_answers_to_cut_lists_are_checked_and_their_failures_count():
    def fails_on_two(_query, texts):
        return [1.0] * (3 if len(texts) == 2 else len(texts))

    reranked = tiny().evaluate(fails_on_two, sizes=(2, 3))
    assert reranked.by_size[2].failures.by_kind["a bad answer"].count == 1
    assert reranked.by_size[3].failures.total == 0
    assert reranked.serving.to_dict()["failure_share"] == 1.0  # the highest, of calls, sizes and loads
    assert reranked.serving.latency.failures.total == 0
