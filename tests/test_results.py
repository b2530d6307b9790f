"""Results are one family: the same formats under the same words, short where they are only looked at."""

from __future__ import annotations

import ast
import csv
import inspect
import io
import json
import random
import re
from pathlib import Path

import pytest

import permed_measures
from permed_measures import compare, corrected, evaluate, experiment, explain, gate, plan, verify
from permed_measures.comparison.one_query import one_query
from permed_measures.evaluate.report import Evaluations
from permed_measures.judges import agreement
from permed_measures.render.result import FORMATS, Result
from permed_measures.verification.references import REFERENCES

pytest.importorskip("scipy", reason="the paired t-test needs it")

QRELS = {f"q{n}": {"a": 2, "b": 1, "c": 0} for n in range(30)}
RUN = {query_id: {"b": 3.0, "a": 2.0, f"x{n}": 1.0} for n, query_id in enumerate(QRELS)}
OTHER = {query_id: {"c": 3.0, "b": 2.0} for query_id in QRELS}
RUNS = {"run": RUN, "other": OTHER}
MEASURES = "P@1 P@2 P@3 P@4 P@5 P@6 P@7 P@8 P@9 P@10 RR AP nDCG GWAP R@1 R@2 R@3 Rprec Bpref"
FEW = {name: REFERENCES[name] for name in ("by_hand", "pytrec_eval")}
SAMPLES = [
    {"trace_id": f"t{n}", "node_id": 1, "query": "q", "tool": tool, "features": [feature, 0.5], "label": label}
    for n in range(5)
    for tool, feature, label in (("a", 0.9, 1), ("b", 0.1, 0))
]


def _serving():
    from permed_measures.serving import Cost, Latency, ServingSummary

    return ServingSummary(Latency.of([10.0, 20.0, 30.0]), cost=Cost(0.025, 800, 50), queries_per_day=1000)


def _serving_report():
    from permed_measures.serving import Targets
    from permed_measures.serving.report import ServingReport

    return ServingReport("log", _serving(), Targets())


def _periods(name):
    from permed_measures.serving import Request, RequestLog
    from permed_measures.serving.periods import PeriodChange, PeriodReport

    log = RequestLog(Path("log.jsonl"), tuple(Request(10.0 * n, 3000.0 * n) for n in range(5)))
    return PeriodReport.of(log, "hour") if name == "PeriodReport" else PeriodChange(log, log)


def _rerankers():
    from permed_measures.serving import RerankEvaluator

    candidates = {"q0": [{"doc_id": "a", "text": "x"}, {"doc_id": "b", "text": "y"}]}
    evaluator = RerankEvaluator({"q0": "words"}, {"q0": {"a": 1, "b": 0}}, candidates)
    return evaluator.compare({"first": lambda _, texts: [float(text == "x") for text in texts]})


def _experiment():
    systems = [{"name": name, "runs": {"one": run, "two": run}} for name, run in (("run", RUN), ("other", OTHER))]
    sets = [{"name": name, "qrels": QRELS} for name in ("one", "two")]
    return experiment({"measures": "P@1 RR", "datasets": sets, "systems": systems})


def _samples():
    from permed_measures.ltr.samples import evaluate_samples

    return evaluate_samples(SAMPLES, [1.0, 0.0])


def _power():
    from permed_measures.gating.checks import Rules
    from permed_measures.gating.conditions import ask
    from permed_measures.gating.given import Input
    from permed_measures.gating.power import power

    given, rules = Input(QRELS, RUN, OTHER), Rules({"RR": 0.1, "P@1": 0.1})
    asked = ask([], None, None, allow_skipped=False, margins=rules.named)
    return power(given.evaluated(asked, lambda _: None), rules, None)


RESULTS = {
    "Evaluation": lambda: evaluate(QRELS, RUN, MEASURES),
    "Evaluations": lambda: Evaluations(
        {"run": evaluate(QRELS, RUN, "P@1 RR"), "other": evaluate(QRELS, OTHER, "P@1 RR")}
    ),
    "Plan": lambda: plan(sd=0.2, difference=0.02),
    "Comparison": lambda: compare(QRELS, RUN, {"other": OTHER}, "P@1 RR AP nDCG R@2"),
    "OneQuery": lambda: one_query(QRELS, {"run": RUN, "other": OTHER}, next(iter(QRELS)), "P@1 RR"),
    "Experiment": _experiment,
    "Agreement": lambda: agreement(QRELS, QRELS),
    "Corrected": lambda: corrected(QRELS, QRELS, RUN, "P@1 RR"),
    "Gate": lambda: gate(QRELS, RUN, ["RR>=0.5", "P@1>=2"]),
    "Power": _power,
    "Explanation": lambda: explain(QRELS, RUN, about="map@10"),
    "Verification": lambda: verify(QRELS, RUN, "P@1 RR GWAP@10", references=FEW),
    "ServingSummary": _serving,
    "ServingReport": _serving_report,
    "RerankReport": _rerankers,
    "PeriodReport": lambda: _periods("PeriodReport"),
    "PeriodChange": lambda: _periods("PeriodChange"),
    "SamplesEvaluation": _samples,
}


@pytest.fixture(scope="module")
def results():
    return {name: make() for name, make in RESULTS.items()}


def _subclasses(of):
    return {of, *(found for child in of.__subclasses__() for found in _subclasses(child))}


def test_every_result_is_among_these(results):
    ours = {c.__name__ for c in _subclasses(Result) if c.__module__.startswith("permed_measures") and c is not Result}
    assert ours == set(results) == {type(result).__name__ for result in results.values()}


@pytest.mark.parametrize("name", RESULTS)
def test_the_formats_have_one_word_each(results, name):
    result = results[name]
    for form in FORMATS:
        assert result.render(form).endswith("\n"), form
    assert json.loads(result.to_json()) == json.loads(result.render("json")) == json.loads(json.dumps(result.to_dict()))
    assert "| ---" in result.to_markdown()
    assert result.to_latex().count("\\toprule") == result.to_latex().count("\\bottomrule") >= 1
    assert result.to_html().startswith("<!DOCTYPE html>")
    assert result.to_html().rstrip().endswith("</html>")
    heads, *rows = csv.reader(io.StringIO(result.render("csv")))
    assert heads == list(result.as_table().heads)
    assert rows
    assert {len(row) for row in rows} == {len(heads)}
    values = 2 if name == "Evaluations" else 1  # one line for each value of its row
    assert len(result.render("jsonl").splitlines()) == len(rows) * values


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize("name", RESULTS)
def test_frames_hold_numbers(results, name, kind):
    pytest.importorskip(kind, reason=f"{kind} is an extra")
    table = results[name].as_table()
    frame = results[name].to_dataframe(kind)
    assert list(frame.columns) == list(table.heads)
    assert len(frame) == len(table.rows)
    assert any(isinstance(value, float) for column in frame.columns for value in frame[column].to_list())


@pytest.mark.parametrize("name", RESULTS)
def test_a_glance_is_short(results, name):
    result = results[name]
    assert 1 <= len(repr(result).splitlines()) <= 20
    assert repr(result).splitlines()[0] == str(result).splitlines()[0]
    shown = result._repr_html_()
    assert "<table" in shown
    for foreign in ("<script", "<!DOCTYPE", "http://", "https://"):  # what a notebook does not run, or has
        assert foreign not in shown
    assert re.search(r"<style>\.permed-measures \{", shown)
    assert shown.count("<style") == 1


def test_a_notebook_shows_plots(results):
    for name in ("Evaluation", "Comparison", "Experiment", "Corrected", "Explanation", "Gate"):
        assert "<svg" in results[name]._repr_html_(), name


def test_what_a_notebook_keeps_is_small_whatever_the_size():
    made = random.Random(4)
    docs = [f"d{n}" for n in range(400)]
    qrels = {f"c{n // 8}_{n % 8}": {d: made.randint(0, 2) for d in made.sample(docs, 5)} for n in range(1_200)}
    names = [f"{n}: a name 名字 {'long ' * 9}" for n in range(10)]
    runs = {name: {q: [*dict.fromkeys([*made.sample(docs, 30), *of])] for q, of in qrels.items()} for name in names}
    first, *others = runs
    measures = "nDCG@10 AP P@1 RR R@10"
    found = {
        "compare": compare(qrels, runs[first], {name: runs[name] for name in others}, measures, groups="conversation"),
        "pairs": compare(qrels, runs[first], {name: runs[name] for name in others}, measures, all_pairs=True),
        "eval": Evaluations({name: evaluate(qrels, run, measures) for name, run in runs.items()}),
        "gate": gate(qrels, runs[first], ["RR>=0.5"], baseline=runs[names[1]], max_drop=0.02, segments="conversation"),
        "explain": explain(qrels, runs[first], about="ndcg@10"),
    }
    for name, result in found.items():
        shown = result._repr_html_()
        assert 10_000 < len(shown.encode()) < 100_000, name
        assert len(repr(result).splitlines()) <= 20, name
    assert "more: to_html() has them" in found["gate"]._repr_html_()
    assert all("<svg" in result._repr_html_() for result in found.values())


def test_a_gate_draws_what_is_allowed():
    found = gate(QRELS, OTHER, ["RR>=0.9"], baseline=RUN, max_drop=0.05)
    page = found.to_html()
    assert re.findall(r'<g class="(\w+)"><title>RR', page) == ["fails", "fails"]  # the drop, the value
    assert page.count('class="level"') == 2
    assert "dashed: the largest drop that is allowed" in page
    drop, value = found.checks[-1], found.checks[0]
    assert f"<title>RR: {drop.drop:+.4f}, {drop.interval[0]:+.4f} to {drop.interval[1]:+.4f}</title>" in page
    assert f"<title>RR: {value.value:.4f}, " in page


@pytest.mark.parametrize("name", RESULTS)
def test_trackers_take_the_flat_form(results, name):
    flat = results[name].to_dict(flat=True)
    assert flat
    for key, value in flat.items():
        assert re.fullmatch(r"[A-Za-z0-9_./ -]+", key), key  # MLflow's rule, mlflow/utils/validation.py
        assert isinstance(value, (int, float)), key
        assert not isinstance(value, bool), key


def test_long_ones_are_cut(results):
    assert len(str(results["Evaluation"]).splitlines()) > 20
    assert len(repr(results["Evaluation"]).splitlines()) == 20


def test_render_knows_documents_only():
    folder = Path(inspect.getfile(permed_measures)).parent / "render"
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            ours = [name for name in names if name.startswith("permed_measures")]
            allowed = ("permed_measures.errors", "permed_measures.numbers", "permed_measures.render")
            assert all(name.startswith(allowed) for name in ours), path.name
