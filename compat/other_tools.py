"""What other tools say on real and on made-up lists, by running them: other_tools.json, which test_tools.py reads.

Run by hand, where they are installed, from the project's root:

    pip install mlflow haystack-ai llama-index-core rectools xgboost catboost pyvespa
    python -m compat.other_tools > compat/other_tools.json
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module, metadata
from typing import Any

from compat.corpora.corpus import Grid
from compat.corpora.real import FOLDER, read_qrels, read_run

REAL = ("irc_entrez", "irc_pubmed")
MADE = ("made1", "made2")
Values = Iterator[tuple[str, str, float]]


def corpus(name: str) -> tuple[Grid, Grid]:
    """Return the queries in both qrels and run; made-up ones have long and short lists, and nothing relevant twice."""
    if name in REAL:
        folder = FOLDER / "trec-covid-r1"
        qrels, run = read_qrels(folder / "qrels.txt"), read_run(folder / f"{name}.run.gz")
        return {query_id: qrels[query_id] for query_id in qrels if query_id in run}, run
    draw = random.Random(name)
    qrels, run = {}, {}
    for number in range(14):
        documents = [f"d{place}" for place in range(30)]
        judged = draw.sample(documents, draw.choice([3, 6, 12, 25]))
        qrels[f"m{number}"] = {doc_id: draw.choice([0, 0, 1, 2, 3]) * (number not in (3, 9)) for doc_id in judged}
        returned = draw.sample(documents, draw.choice([3, 8, 15, 28]))
        run[f"m{number}"] = {doc_id: 100.0 - place for place, doc_id in enumerate(returned)}
    return qrels, run


class Lists:
    """A run as those tools take it: lists of ids, sets of relevant ids, labels by group."""

    def __init__(self, qrels: Grid, run: Grid) -> None:
        self.qrels = qrels
        self.lists = {
            q: sorted(run[q], key=lambda doc_id, scores=run[q]: (scores[doc_id], doc_id), reverse=True) for q in qrels
        }
        self.relevant = {q: [doc_id for doc_id, grade in judged.items() if grade >= 1] for q, judged in qrels.items()}
        self.sizes = [len(returned) for returned in self.lists.values()]
        self.labels = [max(0, qrels[q].get(doc_id, 0)) for q, returned in self.lists.items() for doc_id in returned]
        self.scores = [-float(place) for size in self.sizes for place in range(size)]


def mlflow(lists: Lists) -> Values:
    metrics, pandas = import_module("mlflow.metrics"), import_module("pandas")
    asked = {
        "predictions": pandas.Series(list(lists.lists.values())),
        "targets": pandas.Series([*lists.relevant.values()]),
    }
    for name in ("precision_at_k", "recall_at_k", "ndcg_at_k"):
        for k in (5, 10):
            found = getattr(metrics, name)(k).eval_fn(**asked)
            yield "MLflow", f"{name}({k})", found.aggregate_results["mean"]


def haystack(lists: Lists) -> Values:
    document, evaluators = import_module("haystack").Document, import_module("haystack.components.evaluators")
    asked = (
        ("DocumentMAPEvaluator", {}),
        ("DocumentMRREvaluator", {}),
        ("DocumentRecallEvaluator", {}),
        ("DocumentRecallEvaluator", {"mode": "multi_hit"}),
        ("DocumentNDCGEvaluator", {}),
    )
    for name, options in asked:
        graded = "NDCG" in name
        truth = [
            [document(id=d, content=d, score=float(lists.qrels[q][d]) if graded else None) for d in documents]
            for q, documents in lists.relevant.items()
        ]
        for k in (10, None):
            returned = [[document(id=d, content=d) for d in documents[:k]] for documents in lists.lists.values()]
            found = getattr(evaluators, name)(**options).run(truth, returned)["score"]
            label = name + "".join(f"({key}={value!r})" for key, value in options.items())
            yield "Haystack", label if k is None else f"{label} of top_k={k}", found


def llama_index(lists: Lists) -> Values:
    metrics = import_module("llama_index.core.evaluation.retrieval.metrics")
    names = {
        "HitRate": "hit_rate",
        "MRR": "mrr",
        "Precision": "precision",
        "Recall": "recall",
        "AveragePrecision": "ap",
    }
    for name, label in {**names, "NDCG": "ndcg"}.items():
        for k in (10,) if name == "Precision" else (10, None):
            values = [
                getattr(metrics, name)().compute(expected_ids=relevant, retrieved_ids=lists.lists[q][:k]).score
                for q, relevant in lists.relevant.items()
                if relevant  # else it raises an error
            ]
            yield "LlamaIndex", label if k is None else f"{label} of similarity_top_k={k}", sum(values) / len(values)


def rectools(lists: Lists) -> Values:
    metrics, pandas = import_module("rectools.metrics"), import_module("pandas")
    ranked = [(q, d, place) for q, documents in lists.lists.items() for place, d in enumerate(documents, 1)]
    returned = pandas.DataFrame(ranked, columns=["user_id", "item_id", "rank"])
    relevant = [(q, d) for q, documents in lists.relevant.items() for d in documents]
    truth = pandas.DataFrame(relevant, columns=["user_id", "item_id"])
    asked: Sequence[tuple[str, Mapping[str, bool]]] = (
        *((name, {}) for name in ("MAP", "NDCG", "MRR", "HitRate", "Precision", "Recall")),
        ("MAP", {"divide_by_k": True}),
        ("NDCG", {"divide_by_achievable": True}),
        ("Precision", {"r_precision": True}),
    )
    for name, options in asked:
        label = f"{name}(k=10" + "".join(f", {key}={value}" for key, value in options.items()) + ")"
        yield "RecTools", label, getattr(metrics, name)(k=10, **options).calc(returned, truth)


def xgboost(lists: Lists) -> Values:
    package, numpy = import_module("xgboost"), import_module("numpy")

    def ask(labels: Sequence[int], names: Sequence[str], more: str = "", **options: Any) -> Values:
        matrix = package.DMatrix(numpy.zeros((len(labels), 1)), label=labels, base_margin=lists.scores)
        matrix.set_group(lists.sizes)
        model = package.train(
            {"objective": "rank:pairwise", "eval_metric": names, "base_score": 0.0, **options}, matrix, 0
        )
        for part in model.eval(matrix).split("\t")[1:]:
            name, _, value = part.partition("-")[2].rpartition(":")
            yield "XGBoost", name + more, float(value)

    yield from ask(lists.labels, ["ndcg@10", "ndcg@10-", "ndcg@5"])
    yield from ask(lists.labels, ["ndcg@10"], " with ndcg_exp_gain=false", ndcg_exp_gain=False)
    yield from ask([int(label >= 1) for label in lists.labels], ["map@10", "map@10-", "pre@10"])


def catboost(lists: Lists) -> Values:
    ask = partial(import_module("catboost.utils").eval_metric, approx=lists.scores)
    groups = [group for group, size in enumerate(lists.sizes) for _ in range(size)]
    graded = ("", ":top=10;type=Base", ":top=10;type=Exp", ":top=10;type=Base;denominator=Position")
    for name in (
        *(f"{kind}{how}" for kind in ("NDCG", "DCG") for how in graded),
        "MAP",
        "PrecisionAt",
        "RecallAt",
        "MRR",
    ):
        binary = "DCG" not in name
        labels = [float(label >= 1) if binary else float(label) for label in lists.labels]
        asked = f"{name}:top=10" if binary else name
        yield "CatBoost", asked, ask(labels, metric=asked, group_id=groups)[0]


def vespa(lists: Lists) -> Values:
    evaluator = object.__new__(import_module("vespa.evaluation._base").VespaEvaluator)  # its metrics alone: no Vespa
    evaluator.queries_ids = list(lists.lists)
    for name in ("accuracy", "precision_recall", "mrr", "ndcg", "map"):
        setattr(evaluator, f"{name}_at_k", [10])
    hits = [[(doc_id, 0.0) for doc_id in documents] for documents in lists.lists.values()]
    evaluator.relevant_docs = {q: set(documents) for q, documents in lists.relevant.items()}
    yield from (("Vespa", name, value) for name, value in evaluator._compute_metrics(hits).items())
    evaluator.relevant_docs = {q: {d: max(0, g) for d, g in judged.items()} for q, judged in lists.qrels.items()}
    yield "Vespa", "ndcg@10 with grades", evaluator._compute_metrics(hits)["ndcg@10"]


ASKED: dict[str, Callable[[Lists], Values]] = {
    "mlflow": mlflow,
    "haystack-ai": haystack,
    "llama-index-core": llama_index,
    "rectools": rectools,
    "xgboost": xgboost,
    "catboost": catboost,
    "pyvespa": vespa,
}


def main() -> None:
    versions = {package: metadata.version(package) for package in ASKED}
    found = [
        [name, tool, asked, float(value)]
        for name in (*REAL, *MADE)
        for ask in ASKED.values()
        for tool, asked, value in ask(Lists(*corpus(name)))
    ]
    rows = ",\n".join(f"    {json.dumps(row)}" for row in found)
    sys.stdout.write(f'{{\n  "versions": {json.dumps(versions)},\n  "values": [\n{rows}\n  ]\n}}\n')


if __name__ == "__main__":
    main()
