"""The commands bench-reranker and serving, as they are typed, and their reports."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

pytest.importorskip("click")

import permed_measures
from permed_measures.cli import main
from permed_measures.cli.bench_reranker import load
from permed_measures.errors import ParamError

MODULE = """
import asyncio

def good(query, texts):
    return [float(query.split()[0] in text) for text in texts]

async def slow(query, texts):
    await asyncio.sleep(0)
    return good(query, texts)

def bad(query, texts):
    raise RuntimeError("<script>alert('no')</script>")

class Model:
    def rerank(self, query, texts):
        return good(query, texts)

model = Model()
number = 5
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Make a folder with modules and the three files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "bench_module", raising=False)
    (tmp_path / "bench_module.py").write_text(MODULE)
    (tmp_path / "broken_module.py").write_text("import no_such_package_at_all\n")
    (tmp_path / "raising_module.py").write_text("1 / 0\n")
    queries = {f"{n}": f"word{n} and more" for n in range(5)}
    documents = [{"doc_id": f"d{n}", "text": f"about word{n}"} for n in range(5)]
    (tmp_path / "q.jsonl").write_text(
        "".join(json.dumps({"query_id": q, "text": t}) + "\n" for q, t in queries.items())
    )
    (tmp_path / "c.jsonl").write_text(
        "".join(json.dumps({"query_id": q, "candidates": documents}) + "\n" for q in queries)
    )
    (tmp_path / "qrels.txt").write_text("".join(f"{n} 0 d{n} 1\n" for n in range(5)))
    yield tmp_path
    sys.modules.pop("bench_module", None)


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    captured = capsys.readouterr()
    return ended.value.code, captured.out, captured.err


FILES = ("--queries", "q.jsonl", "--candidates", "c.jsonl", "--qrels", "qrels.txt")


@pytest.mark.usefixtures("folder")
def test_rerankers_side_by_side(capsys):
    code, out, _ = run(
        capsys, "bench-reranker", "good=bench_module:good", "bench_module:slow", *FILES, "--repeats", "4"
    )
    assert code == 0
    rows = {line.split("  ")[0]: line for line in out.partition("Latency in ms")[0].splitlines()}
    assert "1.0000" in rows["good"]
    assert "1.0000" in rows["bench_module:slow"]
    # d0 to d4 at ranks 1 to 5: (1 + 1/2 + 1/3 + 1/4 + 1/5) / 5
    assert f"{(1 + 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5) / 5:.4f}" in rows["no reranking"]
    assert "good: worth it: NDCG@10" in out
    assert "NDCG@10 = nDCG@10" in out


@pytest.mark.usefixtures("folder")
def test_a_reranker_that_never_answers(capsys):
    code, out, _ = run(capsys, "bench-reranker", "bench_module:bad", *FILES)
    assert code == 1
    assert re.search(r"RuntimeError +<script>alert\('no'\)</script> +5", out)


def test_json_and_what_the_gate_reads(capsys, folder):
    code, out, _ = run(
        capsys,
        *("bench-reranker", "m=bench_module:model.rerank", *FILES, "--format", "json", "--threads", "1,2"),
        *("--duration", "0.05", "--usd-per-million-tokens", "0.025", "--tokens-per-document", "8000"),
        *("--queries-per-day", "100000", "--revenue-per-query", "0.01", "--sizes", "2,4"),
        *("--write-serving", "serving.json", "--write-run", "run.trec"),
    )
    assert code == 0
    (reranker,) = json.loads(out)["rerankers"]
    assert reranker["quality"]["MRR"] == 1.0
    assert reranker["serving"]["usd_per_query"] == pytest.approx(5 * 8000 * 0.025 / 1e6)
    assert reranker["serving"]["usd_per_day"] == pytest.approx(100)
    assert reranker["roi"]["cost_usd_per_day"] == pytest.approx(100)
    assert [load["threads"] for load in reranker["loads"]] == [1, 2]
    assert list(reranker["by_size"]) == ["2", "4"]
    assert reranker["pareto"] is True
    assert json.loads((folder / "serving.json").read_text()) == reranker["serving"]
    code, out, _ = run(
        capsys,
        "gate",
        "qrels.txt",
        "run.trec",
        "RR>=1",
        "p95_ms<500",
        "usd_per_query<=0.001",
        "--serving",
        "serving.json",
    )
    assert code == 0
    assert "3 checks, all hold" in out


class Page(HTMLParser):
    """Collects tags and links, and checks that tags are closed."""

    VOID = ("meta", "link")

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.outside = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.outside += [value for name, value in attrs if name in ("src", "href") and not value.startswith("data:")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):  # noqa: ARG002  (HTMLParser's signature)
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_stands_alone(capsys, folder):
    names = ("<i>good</i>=bench_module:good", "bench_module:bad", "slow=bench_module:slow")
    code, out, _ = run(capsys, "bench-reranker", *names, *FILES, "--format", "html", "-o", "page.html")
    assert (code, out) == (1, "")
    text = (folder / "page.html").read_text()
    page = Page(text)
    assert page.open == []
    assert page.outside == []
    assert page.tags.count("svg") == 3  # the distribution, and a histogram for each that answered
    assert "script" not in page.tags
    assert "i" not in page.tags
    assert "&lt;script&gt;" in text
    assert "url(" not in text
    assert "@import" not in text


@pytest.mark.usefixtures("folder")
def test_markdown(capsys):
    _, out, _ = run(capsys, "bench-reranker", "bench_module:good", *FILES, "--format", "markdown")
    tables = [line for line in out.splitlines() if line.startswith("|")]
    assert r"| bench\_module:good |" in out
    assert all(line.endswith("|") for line in tables)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("bench_module", "'bench_module' is not module:callable"),
        (":good", "is not module:callable"),
        ("no_module_here:x", "no module 'no_module_here', neither installed nor in"),
        ("bench_module.sub:x", "cannot be imported|no module"),
        ("broken_module:x", "the module 'broken_module' cannot be imported: No module named 'no_such_package_at_all'"),
        ("raising_module:x", "the module 'raising_module' cannot be imported: ZeroDivisionError: division by zero"),
        ("bench_module:goood", "no 'goood' in bench_module. Did you mean good?"),
        ("bench_module:model.rank", "no 'rank' in bench_module. Did you mean rerank?"),
        ("bench_module:Model", "is a class; make an instance of it"),
        ("bench_module:number", "is a int, which cannot be called"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_cannot_be_loaded(target, message):
    with pytest.raises(ParamError, match=message):
        load(target)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("bench_module:good", "bench_module:good"), "two rerankers are called 'bench_module:good'"),
        (("bench_module:good", "--usd-per-million-tokens", "1"), "needs --tokens-per-document"),
        (
            (
                *("bench_module:good", "bench_module:slow", "bench_module:bad", "--tokens-per-document", "1"),
                *("--usd-per-million-tokens", "1", "--usd-per-million-tokens", "2"),
            ),
            "2 prices for 3 rerankers",
        ),
        (("bench_module:good", "bench_module:slow", "--write-run", "x.trec"), "take what one reranker gave"),
        (("bench_module:good", "bench_module:slow", "--write-serving", "x"), "take what one reranker gave"),
        (("bench_module:good", "--write-run", "x.odd"), "the format cannot be told from the name"),
        (("bench_module:good", "--sizes", "2,x"), "not a list of whole numbers"),
        (("bench_module:good", "--threads", "0"), "threads=0 is not allowed"),
        (("bench_module:good", "--arrival-rate", "5"), "--arrival-rate needs --threads"),
        (("bench_module:good", "--profile", "rerunk"), "Did you mean rerank"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_options_that_are_wrong(capsys, arguments, message):
    code, _, err = run(capsys, "bench-reranker", *arguments, *FILES)
    assert code == 2
    assert message in " ".join(err.split())


def help_example(capsys, command):
    """Return the commands that the help shows under Example."""
    _, shown, _ = run(capsys, command, "--help")
    example = shown.partition("Example:\n")[2].partition("\n\n")[0]
    assert "permed-measures" in example
    return example.replace("permed-measures", f"{sys.executable} -m permed_measures")


@pytest.mark.parametrize(
    ("command", "expected"),
    [("bench-reranker", "my_rerankers:by_words: worth it: NDCG@10 0.6309 -> 1.0000"), ("serving", "1 failed")],
)
def test_the_example_of_the_help_works(capsys, command, expected, tmp_path):
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash to run the example with")
    ran = subprocess.run(
        [bash, "-e", "-c", help_example(capsys, command)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(permed_measures.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert expected in ran.stdout
    if command == "serving":
        assert json.loads((tmp_path / "serving.json").read_text())["usd_per_day"] == 100
        assert (tmp_path / "latency.html").read_text().startswith("<!DOCTYPE html>")


def test_a_log(capsys, tmp_path):
    log = tmp_path / "log.csv"
    rows = [f"{n},{n + 1},{20 if n < 50 else 100},200" for n in range(100)]
    log.write_text("start,duration_ms,candidates,tokens\n" + "\n".join(rows) + "\n")
    code, out, _ = run(capsys, "serving", str(log), "--usd-per-million-tokens", "1", "--format", "json")
    assert code == 0
    figures = json.loads(out)
    # 1 to 100: P95 stands 0.95 · 99 = 94.05 places above the first
    assert figures["p95_ms"] == pytest.approx(95.05)
    assert figures["usd_per_query"] == pytest.approx(200 / 1e6)
    assert figures["qps"] == pytest.approx(100 / 99.1)
    assert {size: part["calls"] for size, part in figures["by_size"].items()} == {"1 to 20": 50, "51 to 100": 50}
    assert figures["targets"][0]["status"] == "excellent"
    code, out, _ = run(capsys, "serving", str(log))
    assert "Latency in ms by number of candidates" in out
    assert "100 calls, 100 answered, 0 failed" in out
    code, out, _ = run(capsys, "serving", str(log), "--format", "html")
    assert Page(out).tags.count("svg") == 2


def test_a_log_without_an_answer(capsys, tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_text('{"error": "gone"}\n')
    for form in ("text", "markdown", "html", "json"):
        code, out, _ = run(capsys, "serving", str(log), "--format", form)
        assert code == 0
        assert "gone" in out
        assert "nan" not in out.lower()


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ('{"duration_ms": -1}', (), "log.jsonl:1: duration_ms is -1"),
        ('{"duration_ms": 1}', ("--tokens-per-query", "5"), "tokens have no price"),
        ('{"duration_ms": 1}', ("--usd-per-million-tokens", "5"), "needs --tokens-per-query"),
        ('{"took": 1}', ("--duration-field", "took"), "the unit of 'took' is not known"),
    ],
)
def test_a_log_or_options_that_are_wrong(capsys, tmp_path, content, options, message):
    log = tmp_path / "log.jsonl"
    log.write_text(content + "\n")
    code, _, err = run(capsys, "serving", str(log), *options)
    assert code == 2
    assert message in err


def test_serving_is_light():
    code = "import sys, permed_measures.serving; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"pandas", "ranx", "scipy", "sklearn", "duckdb", "click", "rich", "matplotlib", "polars", "pyarrow"}
    assert not heavy & {name.partition(".")[0] for name in loaded}


def test_two_logs_and_hours(capsys, tmp_path):
    old, new = tmp_path / "old.csv", tmp_path / "new.csv"
    for path, extra in ((old, 0), (new, 50)):
        rows = [f"{1_767_600_000 + n * 60},{100 + n % 20 + extra},{200 + extra}" for n in range(120)]
        path.write_text("start,duration_ms,tokens\n" + "\n".join(rows) + "\n")
    code, out, _ = run(capsys, "serving", str(new), "--by", "hour", "--format", "json")
    assert code == 0
    assert [part["calls"] for part in json.loads(out)["periods"]] == [60, 60]
    options = ("--against", str(old), "--usd-per-million-tokens", "1")
    code, out, _ = run(capsys, "serving", str(new), *options, "--format", "json")
    changes = {change["name"]: change for change in json.loads(out)["changes"]}
    assert changes["p50_ms"]["difference"] == pytest.approx(50)
    assert changes["p50_ms"]["verdict"] == "higher"
    assert changes["qps"]["verdict"] == changes["failure_share"]["verdict"] == "not shown"
    assert changes["usd_per_query"]["difference"] == pytest.approx(50 / 1e6)
    code, out, _ = run(capsys, "serving", str(new), *options)
    assert "requests count as independent" in out
    code, _, err = run(capsys, "serving", str(new), "--by", "day", "--against", str(old))
    assert code == 2
    assert "two reports" in err


def test_a_log_format_from_a_file(capsys, tmp_path):
    (tmp_path / "mine.toml").write_text('duration = { field = "took", unit = "us" }\n')
    (tmp_path / "log.jsonl").write_text('{"took": 1500}\n')
    code, out, _ = run(
        capsys, "serving", str(tmp_path / "log.jsonl"), "--log-format", str(tmp_path / "mine.toml"), "--format", "json"
    )
    assert code == 0
    assert json.loads(out)["p50_ms"] == 1.5
    code, _, err = run(capsys, "serving", str(tmp_path / "log.jsonl"), "--log-format", "xml")
    assert code == 2
    assert "unknown log format 'xml'" in err


def test_failures_by_number_of_candidates_and_as_a_target(capsys, tmp_path):
    log = tmp_path / "log.jsonl"
    rows = [{"duration_ms": 10, "candidates": 20, "status": 200}, {"duration_ms": 10, "candidates": 20, "status": 503}]
    log.write_text("\n".join(map(json.dumps, rows)))
    _, out, _ = run(capsys, "serving", str(log), "--format", "json")
    figures = json.loads(out)
    assert figures["by_size"]["1 to 20"]["failures"] == 1
    verdicts = {target["name"]: target["status"] for target in figures["targets"]}
    assert verdicts == {"p95_ms": "excellent", "failure_share": "missed"}


@pytest.mark.usefixtures("folder")
def test_the_return_carries_the_interval_of_the_measure(capsys):
    _, out, _ = run(
        capsys,
        *("bench-reranker", "bench_module:good", *FILES, "--format", "json", "--usd-per-million-tokens", "0.025"),
        *("--tokens-per-document", "8000", "--queries-per-day", "100000", "--revenue-per-query", "0.01"),
    )
    report = json.loads(out)
    roi = report["rerankers"][0]["roi"]
    low, high = roi["improvement_interval"]
    assert low < roi["improvement"] < high
    # revenue is $1,000 a day for every +100%, and it costs $100
    assert roi["roi_interval"] == pytest.approx([(1000 * low - 100) / 100, (1000 * high - 100) / 100])


def test_a_gate_takes_no_lower_bound_for_a_figure():
    from permed_measures.gating import gate

    figures = {"p95_ms_at_least": 300.0, "failure_share": 0.0}
    result = gate({"q": {"a": 1}}, {"q": ["a"]}, ["p95_ms<=500", "RR>=1"], serving=figures)
    assert [(check.condition.name, check.verdict) for check in result.checks] == [("RR", "holds"), ("p95_ms", "fails")]
    assert "only known to be at least 300" in result.checks[1].why
    by_profile = gate({"q": {"a": 1}}, {"q": ["a"]}, profile="rerank", serving=figures, allow_skipped=True)
    assert {check.condition.name: check.verdict for check in by_profile.checks}["p95_ms"] == "fails"
