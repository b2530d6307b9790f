"""The tool: eval, measures, convert, and the form of the ir_measures command."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import pytrec_eval

from permed_measures.measures import DEFINED

pytest.importorskip("click")

QRELS = "q1 0 a 2\nq1 0 b 1\nq1 0 c 0\nq1 0 d 1\nq1 0 e 2\nq2 0 a 1\nq3 0 z 1\n"
RUN = "q1 Q0 b 1 5 t\nq1 Q0 x 2 4 t\nq1 Q0 a 3 3 t\nq1 Q0 c 4 2 t\nq1 Q0 d 5 1 t\nq2 Q0 x 1 2 t\nq2 Q0 a 2 1 t\n"
# the worked example of the specification for q1; q2 finds its one document at rank 2; q3 is missing
GWAP_Q1 = (1 / 1 * 0.5 + 2 / 3 * 1.0 + 3 / 5 * 0.5) / 4
GWAP_Q2 = 1 / 2 * 0.5


# one seed, as ir_measures keeps measures in a set, whose order depends on it
ENVIRONMENT = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": str(Path(__file__).resolve().parents[1])}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("qrels.txt").write_text(QRELS)
    Path("bm25.run").write_text(RUN)
    Path("best.run").write_text("q1 Q0 a 1 2 t\nq2 Q0 a 1 1 t\nq3 Q0 z 1 1 t\n")
    return tmp_path


@pytest.fixture
def tool(folder, shell):  # noqa: ARG001  (the files are in the current folder)
    """Run the tool in the folder; return exit code, output and errors."""
    return shell


def test_the_default_is_the_permed_profile_with_its_definitions_below(tool):
    code, out, err = tool("eval", "qrels.txt", "bm25.run")
    lines = out.splitlines()
    assert code == 0
    assert lines[:2] == ["3 queries", ""]
    assert lines[2].split() == ["run", "NDCG@10", "MAP@10", "P@1"]
    assert lines[4].split()[0] == "bm25"
    assert lines[4].split()[2:] == [f"{(GWAP_Q1 + GWAP_Q2) / 3:.4f}", f"{1 / 3:.4f}"]
    assert "MAP@10 = GWAP@10: Average precision in which a relevant document counts by its grade" in lines
    assert "note: 1 query missing from the run, counted as 0 ('q3')" in err


def test_one_row_per_run_in_every_format(tool):
    arguments = ("eval", "qrels.txt", "bm25.run", "best.run", "-m", "P@1 GWAP@10", "-m", "coverage_1")
    _, out, _ = tool(*arguments)
    assert [line.split() for line in out.splitlines()][4:] == [
        ["bm25", f"{1 / 3:.4f}", f"{(GWAP_Q1 + GWAP_Q2) / 3:.4f}", f"{1 / 3:.4f}"],
        ["best", "1.0000", f"{(1 / 4 + 0.5 + 0.5) / 3:.4f}", "1.0000"],
    ]
    _, out, _ = tool(*arguments, "--format", "markdown")
    assert out.splitlines()[:4] == [
        "**3 queries**",
        "",
        "| run | P@1 | GWAP@10 | Coverage@1 |",
        "| --- | ---: | ---: | ---: |",
    ]
    _, out, _ = tool(*arguments, "--format", "latex")
    assert r"bm25 & 0.3333 &" in out
    _, out, _ = tool(*arguments, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert float(rows[0]["GWAP@10"]) == pytest.approx((GWAP_Q1 + GWAP_Q2) / 3, abs=1e-15)  # the order of a sum
    _, out, _ = tool(*arguments, "--format", "json")
    assert json.loads(out)["runs"]["best"]["metrics"]["P@1"] == 1.0
    _, out, _ = tool(*arguments, "--format", "jsonl")
    assert json.loads(out.splitlines()[0]) == {"run": "bm25", "name": "P@1", "measure": "P@1", "value": 1 / 3}
    assert len(out.splitlines()) == 6


def test_values_by_query(tool):
    _, out, _ = tool("eval", "qrels.txt", "bm25.run", "-m", "GWAP", "--by-query", "--format", "csv")
    rows = [(row["query"], float(row["GWAP"])) for row in csv.DictReader(io.StringIO(out))]
    assert rows == [
        ("q1", pytest.approx(GWAP_Q1)),
        ("q2", GWAP_Q2),
        ("q3", 0.0),
        ("all", pytest.approx((GWAP_Q1 + GWAP_Q2) / 3)),
    ]
    _, out, _ = tool("eval", "qrels.txt", "bm25.run", "best.run", "-m", "P@1", "-q", "--format", "jsonl")
    assert json.loads(out.splitlines()[0]) == {
        "run": "bm25", "query_id": "q1", "name": "P@1", "measure": "P@1", "value": 1.0,
    }  # fmt: skip
    _, out, _ = tool("eval", "qrels.txt", "bm25.run", "-m", "P@1", "-q", "--format", "json")
    assert json.loads(out)["queries"] == {"q1": {"P@1": 1.0}, "q2": {"P@1": 0.0}, "q3": {"P@1": 0.0}}


def test_llm_judged_prints_the_shape_of_its_source(tool):
    Path("judged.json").write_text(json.dumps({"q": {"A": 8.0, "B": 7.0, "C": 6.0, "D": 5.0}}))
    Path("run.json").write_text(json.dumps({"q": list("CEAFBGHIJD")}))
    code, out, _ = tool("eval", "judged.json", "run.json", "--profile", "llm-judged", "--format", "json")
    found = json.loads(out)
    assert code == 0
    assert list(found) == ["metrics", "signatures"]
    names = [f"{name}@{k}" for name in ("precision", "recall", "ndcg") for k in (5, 10)]
    assert list(found["metrics"]) == [*names, "average_precision", "reciprocal_rank", "coverage@5", "coverage@10"]
    assert found["metrics"]["ndcg@10"] == pytest.approx(0.6542237389763327, abs=1e-15)  # SEEDS.md, source 2
    assert found["metrics"]["precision@5"] == 3 / 5
    _, out, _ = tool(
        "eval", "judged.json", "run.json", "--profile", "llm-judged", "--min-relevance", "6.5", "--format", "json"
    )
    assert json.loads(out)["metrics"]["recall@5"] == 1.0  # A and B reach 6.5, both in the top 5


def permed_script(truth, predictions, k=10):
    """Compute what the public scripts of PerMed do on binary data, written down from their description."""
    totals = {"MAP@10": 0.0, "NDCG@10": 0.0, "P@1": 0.0, "Recall@10": 0.0, "MRR": 0.0}
    for query_id, relevant in truth.items():
        ranked = predictions.get(query_id, [])
        found, precisions = 0, 0.0
        for place, text_id in enumerate(ranked[:k], 1):
            if text_id in relevant:
                found += 1
                precisions += found / place
        dcg = sum((text_id in relevant) / math.log2(place + 1) for place, text_id in enumerate(ranked[:k], 1))
        best = sum(1 / math.log2(place + 1) for place in range(1, min(k, sum(t in relevant for t in ranked)) + 1))
        first = next((place for place, text_id in enumerate(ranked, 1) if text_id in relevant), None)
        totals["MAP@10"] += precisions / found if found else 0.0
        totals["NDCG@10"] += dcg / best if best else 0.0
        totals["P@1"] += bool(ranked) and ranked[0] in relevant
        totals["Recall@10"] += found / len(relevant) if relevant else 0.0
        totals["MRR"] += 1 / first if first else 0.0
    return {name: total / len(truth) for name, total in totals.items()}


def test_permed_binary_equals_the_public_scripts(tool):
    import random

    rng = random.Random(3)
    texts = [f"t{n}" for n in range(40)]
    truth = {f"{n // 4}_{n % 4}": rng.sample(texts, rng.randrange(6)) for n in range(120)}
    predictions = {query_id: rng.sample(texts, rng.randrange(30)) for query_id in list(truth)[:110]}
    lines = [json.dumps({"query_id": q, "relevant_texts": relevant}) for q, relevant in truth.items()]
    Path("truth.jsonl").write_text("\n".join(lines))
    lines = [
        json.dumps({"query_id": q, "ranked_results": [{"text_id": t, "score": 0.5} for t in ranked]})
        for q, ranked in predictions.items()
    ]
    Path("reranked.jsonl").write_text("\n".join(lines))
    code, out, _ = tool("eval", "truth.jsonl", "reranked.jsonl", "--profile", "permed-binary", "--format", "json")
    assert code == 0
    # the tolerance is the one of the task: sums in another order
    assert json.loads(out)["metrics"] == pytest.approx(permed_script(truth, predictions), abs=1e-12)


def test_published_figures_of_trec_covid(tool, shared):
    covid = shared / "trec-covid-r1"
    runs = [str(covid / f"{name}.run.gz") for name in ("irc_entrez", "irc_pubmed")]
    code, out, _ = tool("eval", str(covid / "qrels.txt"), *runs, "-m", "AP nDCG@10 P@5 Bpref")
    assert code == 0
    assert [line.split() for line in out.splitlines()][4:] == [
        ["irc_entrez", "0.0988", "0.2533", "0.3667", "0.3054"],
        ["irc_pubmed", "0.1080", "0.2538", "0.4067", "0.3025"],
    ]


def test_trec_evals_own_output_through_the_tool(tool, shared):
    folder = shared / "trec_eval"
    expected = {}
    for line in (folder / "out.test.aq").read_text().splitlines():
        name, query_id, value = line.split()
        expected[name, query_id] = value
    names = ("map", "P_10", "recall_100", "ndcg", "ndcg_cut_10", "recip_rank", "bpref", "Rprec", "success_5")
    arguments = [word for name in names for word in ("-m", name)]
    _, out, _ = tool(
        "eval", str(folder / "qrels.test"), str(folder / "results.test"), *arguments, "-q", "--queries", "both"
    )
    _, _, head, _, *rows = [line.split() for line in out.splitlines()]
    assert len(head) == len(names) + 1
    for query_id, *values in rows:
        assert values == [expected[name, query_id] for name in names]


def test_a_file_is_written_whole_or_not_at_all(tool, folder, monkeypatch):
    code, out, _ = tool("eval", "qrels.txt", "bm25.run", "-o", "table.md")
    assert (code, out) == (0, "")
    assert Path("table.md").read_text().startswith("**3 queries**\n\n| run | NDCG@10 |")
    monkeypatch.setattr(os, "fdopen", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    code, _, err = tool("eval", "qrels.txt", "best.run", "-o", "table.md")
    assert (code, "interrupted" in err) == (130, True)
    assert "bm25" in Path("table.md").read_text()
    assert sorted(path.name for path in folder.iterdir()) == ["best.run", "bm25.run", "qrels.txt", "table.md"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are POSIX")
@pytest.mark.usefixtures("folder")
def test_ctrl_c_ends_the_process_with_130():
    os.mkfifo("pipe")
    # a shell starts what runs in its background with Ctrl-C ignored, and so would this process be
    start = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    start += "from permed_measures.cli import main; main(['eval', 'qrels.txt', 'pipe', '-o', 'out.txt'])"
    command = [sys.executable, "-c", start]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    opened = []
    # the pipe opens when the process has opened it too, and is about to wait for what comes
    opener = threading.Thread(target=lambda: opened.append(Path("pipe").open("w")), daemon=True)  # noqa: SIM115  (closed below)
    opener.start()
    while opener.is_alive() and process.poll() is None:
        opener.join(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    opened[0].close()
    assert process.returncode == 130
    assert err.strip() == "permed-measures: interrupted"
    assert not Path("out.txt").exists()


@pytest.mark.parametrize("kind", ["RuntimeError", "InterruptException"])
def test_ctrl_c_within_duckdb_is_no_reason_to_read_on(tool, monkeypatch, kind):
    duckdb = pytest.importorskip("duckdb")
    from permed_measures.files import large as large_runs

    def interrupted(*_):
        message = "Query interrupted"
        raise getattr(duckdb, kind, RuntimeError)(message)

    monkeypatch.setitem(large_runs.rankings.__kwdefaults__, "large", 0)
    monkeypatch.setattr("permed_measures.files.engine._Engine.whole", interrupted)
    Path("bm25.csv").write_text("qid,docno,score\nq1,a,1\n" + "q2,a,1\n" * 10_000)
    code, out, err = tool("eval", "qrels.txt", "bm25.csv", "-m", "AP", "-o", "table.md")
    assert (code, out, err.strip()) == (130, "", "permed-measures: interrupted")
    assert not Path("table.md").exists()


def test_errors_are_one_message_and_exit_code_2(tool):
    Path("broken.run").write_text("q1 Q0 a 1 5 t\nq1 Q0 d3 1 0.5\n")
    for arguments, message in {
        ("eval", "qrels.txt", "broken.run"): "broken.run:2: 5 fields, a run line has 6: 'q1 Q0 d3 1 0.5'",
        ("eval", "absent", "bm25.run"): "absent: cannot be read: No such file or directory",
        ("eval", "qrels.txt", "bm25.run", "-m", "GWPA@10"): "unknown measure 'GWPA@10'. Did you mean GWAP",
        ("eval", "qrels.txt", "bm25.run", "--profile", "permet"): "unknown profile 'permet'",
        ("eval", "qrels.txt"): "Missing argument",
        ("eval", "qrels.txt", "bm25.run", "--format", "xls"): "'xls' is not one of",
        ("evl", "qrels.txt", "bm25.run"): "Did you mean eval?",
        ("measures", "GWOP"): "unknown measure 'GWOP'. Did you mean GWAP",
        ("qrels.txt", "bm25.run"): "the following arguments are required: measures",
        ("qrels.txt", "bm25.run", "P@1", "-n"): "only goes with --by_query",
        ("convert", "bm25.run", "out.xyz"): "cannot be told from its suffix",
    }.items():
        code, out, err = tool(*arguments)
        assert (code, out) == (2, ""), arguments
        assert message in err
        assert "Traceback" not in err


def test_a_grade_that_a_profile_does_not_know_comes_with_the_way_out(tool):
    Path("four.txt").write_text("q1 0 a 3\nq2 0 a 4\n")
    code, out, err = tool("eval", "four.txt", "bm25.run")
    assert (code, out) == (2, "")
    assert "query 'q1', document 'a': grade 3 is above max_rel=2" in err
    assert "The measure is of the profile permed: in the shell write -m 'GWAP(max_rel=4)@10', or edit what" in err
    assert "permed-measures profiles permed --toml" in err
    # the way out is one
    assert tool("eval", "four.txt", "bm25.run", "-m", "GWAP(max_rel=4)@10")[0] == 0
    toml = tool("profiles", "permed", "--toml")[1].replace('"GWAP@10"', '"GWAP(max_rel=4)@10"')
    Path("mine.toml").write_text(toml)
    assert tool("eval", "four.txt", "bm25.run", "--profile", "mine.toml")[0] == 0
    _, _, err = tool("eval", "four.txt", "bm25.run", "-m", "GWAP@10")
    assert "profile" not in err
    toml = toml.replace("max_rel=4", "weights={1: 0.5, 2: 1.0}")
    Path("mine.toml").write_text(toml)
    _, _, err = tool("eval", "four.txt", "bm25.run", "--profile", "mine.toml")
    assert err.endswith("add it to weights, or raise rel above it\n")  # a file of one's own is known to its owner
    assert "The measure is" not in tool("gate", "four.txt", "bm25.run", "GWAP@10>=0.5")[2]


def test_formats_can_be_named(tool):
    Path("strange").write_text("query_id,doc_id,score\nq1,a,1\n")
    code, out, _ = tool("eval", "qrels.txt", "strange", "--run-format", "csv", "--qrels-format", "trec", "-m", "P@1")
    assert code == 0
    assert out.split()[-1] == f"{1 / 3:.4f}"


def test_measures_are_listed_and_described_from_their_classes(tool):
    _, out, _ = tool("measures")
    for measure in DEFINED.values():
        assert re.search(rf"^{measure.NAME} ", out, re.MULTILINE)
    for measure in DEFINED.values():
        code, out, _ = tool("measures", measure.NAME)
        assert code == 0
        assert measure.PRETTY_NAME in out
        assert "Formula: " in out
        for name, param in measure.SUPPORTED_PARAMS.items():
            assert f"{name}: {param.allowed}; {'required' if param.required else 'default'}" in out
        for host in measure.HOST_NAMES:
            assert re.search(rf"^  trec_eval .*\b{host.trec(None)}\b", out, re.MULTILINE)
            assert (host.ranx(10) in out) == host.in_ranx
            assert host.trec(host.numbers[0] if host.numbers else 10 if host.in_ranx else None) in out
    assert tool("measures", "gwmap@10")[1] == tool("measures", "GWMAP")[1] == tool("measures", "GWAP")[1]
    assert "Computed by pytrec_eval" in tool("measures", "AP")[1]


def test_names_in_markdown_stand_as_they_are(tool):
    Path("a|b_<i>_[c].run").write_text(RUN)
    _, out, _ = tool("eval", "qrels.txt", "a|b_<i>_[c].run", "--profile", "llm-judged", "--format", "markdown")
    lines = out.splitlines()
    assert lines[0] == "**2 to 3 queries**"
    assert lines[2].startswith(r"| run | precision@5 | ")
    assert r" | average\_precision | " in lines[2]
    assert "- 2 queries: coverage@5, coverage@10" in lines
    assert lines[4].startswith(r"| a\|b\_\<i>\_\[c\] | ")
    assert any(line.startswith(r"- average\_precision = AP: ") for line in lines)


@pytest.mark.parametrize(
    ("name", "described"),
    [
        *[("P_5", "P"), ("recip_rank", "RR"), ("ndcg_cut_10", "nDCG"), ("ndcg@10", "nDCG"), ("ndcg_cut.5,10", "nDCG")],
        *[("11pt_avg", "ElevenPointAP"), ("unj_10", "Unjudged"), ("rbp_0.80", "RBP"), ("gm_map", "GMAP")],
    ],
)
def test_a_measure_is_described_by_every_name_that_eval_takes(tool, name, described):
    assert tool("eval", "qrels.txt", "bm25.run", "-m", name)[0] == 0
    code, out, _ = tool("measures", name)
    assert (code, out) == (0, tool("measures", described)[1])


def test_a_text_of_trec_evals_is_not_described(tool):
    code, _, err = tool("measures", "relstring")
    assert (code, "trec_eval has 'relstring', but it is text, not a value" in err) == (2, True)
    assert "unknown measure 'gwmpa'. Did you mean gwmap" in tool("measures", "gwmpa")[2]


def test_standard_measures_have_their_names_in_every_host(tool):
    _, out, _ = tool("measures", "AP")
    assert "\n  ranx         map, map@10\n  trec_eval    map, map_cut_10\n" in out
    _, out, _ = tool("measures", "P")
    assert "\n  ranx         precision@10\n  trec_eval    P_10\n" in out
    names = json.loads(tool("measures", "RR", "--format", "json")[1])["names"]
    assert names == {"ir_measures": ["RR"], "ranx": {"mrr": {}}, "trec_eval": {"recip_rank": {}}}
    names = json.loads(tool("measures", "nDCG", "--format", "json")[1])["names"]
    assert names["trec_eval"] == {"ndcg": {}, "ndcg_exp": {"dcg": "exp-log2"}}
    standard = [m for m in json.loads(tool("measures", "--format", "json")[1]) if m["computed_by"] == "pytrec_eval"]
    assert [m["name"] for m in standard if not m["names"]["trec_eval"]] == []
    written = {stem for measure in standard for stem in measure["names"]["trec_eval"]}
    assert written <= set(pytrec_eval.supported_measures)


def test_p_imp_is_described(tool):
    code, out, _ = tool("measures", "P-imp")
    assert code == 0
    assert out.startswith("P-imp: Pairwise Improvement Rate\n\nOf two runs: of all pairs of a relevant and a non-rel")
    assert "Formula: " in out
    assert tool("measures", "p_imp@5")[1] == out
    assert json.loads(tool("measures", "P-imp", "--format", "json")[1])["name"] == "P-imp"
    assert "measures P-imp describes it" in tool("measures")[1]


def test_a_measure_as_json(tool):
    code, out, _ = tool("measures", "GWMAP", "--format", "json")
    found = json.loads(out)
    assert code == 0
    assert (found["name"], found["label"]) == ("GWAP", "Graded-Weight Average Precision")
    assert found["formula"].startswith(r"\frac{1}{N} \sum_{i \le k")
    assert found["formula"].endswith(r"\qquad w(g) = g / max\_rel")
    assert list(found["params"]) == ["cutoff", "rel", "judged_only", "max_rel", "weights", "norm"]
    assert found["params"]["max_rel"] == {
        "type": "number",
        "required": False,
        "default": 2,
        "desc": "the grade that counts 1.0; grade g counts g / max_rel",
    }
    assert found["params"]["norm"]["choices"] == ["relevant", "cutoff", "retrieved", "ideal"]
    assert found["names"] == {
        "ir_measures": ["GWAP", "GWMAP"],
        "ranx": {"gwmap": {}, "gwmap_ideal": {"norm": "ideal"}},
        "trec_eval": {"gwmap": {}, "gwmap_ideal": {"norm": "ideal"}},
    }
    assert found["computed_by"] == "permed_measures"
    assert json.loads(tool("measures", "GWAP", "--format", "jsonl")[1]) == found
    standard = json.loads(tool("measures", "P", "--format", "json")[1])
    assert standard["params"]["cutoff"]["required"] is True
    assert (standard["params"]["cutoff"]["type"], standard["params"]["rel"]["default"]) == ("int", 1)
    code, out, err = tool("measures", "GWAP", "--format", "latex")
    assert (code, out) == (2, "")
    assert "one measure is described as text, json, jsonl" in err


def test_the_list_of_measures_in_other_formats(tool):
    listed = json.loads(tool("measures", "--format", "json")[1])
    names = [measure["name"] for measure in listed]
    assert names[: len(DEFINED)] == list(DEFINED)
    assert {"AP", "P", "RR"} < set(names)
    assert listed[names.index("GWAP")] == json.loads(tool("measures", "GWAP", "--format", "json")[1])
    lines = tool("measures", "--format", "jsonl")[1].splitlines()
    assert list(map(json.loads, lines)) == listed
    assert tool("measures", "--format", "markdown")[1].startswith(r"| measure | ranx and trec\_eval names |")
    assert len(list(csv.reader(io.StringIO(tool("measures", "--format", "csv")[1])))) == len(listed) + 1


def test_no_marks_of_markup_where_people_read(tool):
    outputs = [tool("measures")[1], *(tool("measures", measure.NAME)[1] for measure in DEFINED.values())]
    outputs.append(tool("eval", "qrels.txt", "bm25.run", "--profile", "hybrid")[1])
    for out in outputs:
        assert not re.search(r"`|\*\w|\w\*", out)
    assert "the number of relevant documents in the top k\n" in outputs[-1]


LISTS = {
    "truth.jsonl": '{"query_id": "q1", "relevant_texts": {"a": 2, "b": 1}}\n',
    "lists.jsonl": '{"query_id": "q1", "results": ["b", "x", "a"]}\n',
}
PIPED = {
    "trec": (QRELS.encode(), RUN.encode()),
    "gzip": (gzip.compress(QRELS.encode()), gzip.compress(RUN.encode())),
    "jsonl": tuple(text.encode() for text in LISTS.values()),
    "json": (b'{"q1": {"a": 1}}', b'{"q1": {"b": 2, "a": 1}}'),
    "csv": (b"query_id,doc_id,rel\nq1,a,1\n", b"query_id,doc_id,score\nq1,b,2\nq1,a,1\n"),
}


def in_file(content, name):
    Path(name).write_bytes(content)
    return name


@pytest.fixture
def in_pipe():
    """Make the path of a pipe that holds a content, as <(…) of a shell does."""
    opened = []

    def path(content):
        reader, writer = os.pipe()
        opened.append(reader)
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(content)
        return f"/dev/fd/{reader}"

    yield path
    for reader in opened:
        os.close(reader)


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="pipes as files are POSIX")
@pytest.mark.parametrize("name", PIPED)
def test_files_may_be_pipes_and_standard_input(tool, monkeypatch, in_pipe, name):
    qrels, run = PIPED[name]
    plain = tool("eval", in_file(qrels, "q"), in_file(run, "r"), "-m", "AP P@1")[1].split()[-2:]

    def values(*arguments):
        code, out, err = tool(*arguments)
        assert code == 0, err
        return out.split()[-2:]

    assert values("eval", in_pipe(qrels), in_pipe(run), "-m", "AP P@1") == plain
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(run)))
    assert values("eval", "q", "-", "-m", "AP P@1") == plain
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(qrels)))
    assert values("eval", "-", "r", "-m", "AP P@1") == plain
    options = ("-m", "P@1", "--name", "one", "--name", "two")
    piped = tool("compare", in_pipe(qrels), in_pipe(run), in_pipe(run), *options)
    assert piped == tool("compare", "q", "r", "r", *options)
    assert piped[0] == 0
    assert tool("gate", in_pipe(qrels), in_pipe(run), "AP>=0.5")[0] == tool("gate", "q", "r", "AP>=0.5")[0] < 2
    assert tool("convert", in_pipe(run), "out.trec", "--what", "run")[0] == 0
    assert values("eval", "q", "out.trec", "-m", "AP P@1") == plain
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(run)))
    assert tool("convert", "-", "again.trec", "--what", "run")[0] == 0
    assert Path("again.trec").read_bytes() == Path("out.trec").read_bytes()


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="pipes as files are POSIX")
def test_parquet_may_be_a_pipe(tool, in_pipe):
    pytest.importorskip("duckdb")
    tool("convert", "bm25.run", "bm25.parquet")
    code, out, _ = tool("eval", "qrels.txt", in_pipe(Path("bm25.parquet").read_bytes()), "-m", "P@1")
    assert (code, out.split()[-1]) == (0, f"{1 / 3:.4f}")
    assert tool("convert", in_pipe(Path("bm25.parquet").read_bytes()), "again.trec")[0] == 0


def test_standard_input_is_read_once(tool, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(QRELS.encode())))
    code, out, err = tool("eval", "-", "-")
    assert (code, out) == (2, "")
    assert "permed-measures: -: nothing comes from it, and a pipe is read once" in err
    monkeypatch.setattr(sys, "stdin", None)
    code, out, err = tool("eval", "qrels.txt", "-")
    assert (code, out, err) == (2, "", "permed-measures: -: cannot be read: standard input is closed\n")
    Path("-").write_text(RUN)
    assert tool("eval", "qrels.txt", "./-", "-m", "P@1")[1].split()[-1] == f"{1 / 3:.4f}"


def test_convert_between_formats(tool):
    code, _, err = tool("convert", "bm25.run", "run.jsonl.gz")
    assert code == 0
    assert "run: 2 queries, 7 documents, trec to jsonl" in err
    assert "scores are written, but not read back" in err
    code, _, err = tool("convert", "run.jsonl.gz", "again.trec")
    assert code == 0
    assert "the first of n documents is written with score n" in err
    assert Path("again.trec").read_text().startswith("q1 Q0 b 1 5 permed\nq1 Q0 x 2 4 permed\n")
    assert (
        tool("eval", "qrels.txt", "again.trec", "-m", "AP")[1].split()[-1]
        == tool("eval", "qrels.txt", "bm25.run", "-m", "AP")[1].split()[-1]
    )
    code, _, err = tool("convert", "qrels.txt", "qrels.tsv")
    assert (code, err.splitlines()[0]) == (0, "qrels: 3 queries, 7 documents, trec to tsv")
    Path("one.txt").write_text("q1 0 a 2\n")
    assert tool("convert", "one.txt", "one.tsv")[2].startswith("qrels: 1 query, 1 document, trec to tsv\n")
    assert Path("qrels.tsv").read_text().startswith("query_id\tdoc_id\trelevance\nq1\ta\t2\n")
    code, _, err = tool("convert", "qrels.txt", "qrels.json")
    code, _, err = tool("convert", "qrels.json", "qrels.trec")
    assert (code, "may be qrels or a run; say --what" in err) == (2, True)
    assert tool("convert", "qrels.json", "qrels.trec", "--what", "qrels")[0] == 0
    assert Path("qrels.trec").read_text() == QRELS


SHARED_MEASURES = ["P@1", "AP", "nDCG@10", "RR", "R@100", "Bpref", "Rprec", "Success@5", "NumRet", "Judged@10"]
MORE_FORMS = [["-q", "-n"], ["-p", "2"], ["-p", "-1"], ["-q", "-o", "jsonl"], ["-q", "-p", "7"]]
FORMS = [[], ["-o", "jsonl"], ["-q"], *(pytest.param(form, marks=pytest.mark.full) for form in MORE_FORMS)]


def outputs(command, arguments):
    start = ["-m", command]
    if sys.version_info >= (3, 14):  # there ir_measures reads no number without us
        start = ["-c", f"import permed_measures, runpy; runpy.run_module({command!r}, run_name='__main__')"]
    done = subprocess.run(
        [sys.executable, *start, *arguments], capture_output=True, text=True, check=True, env=ENVIRONMENT
    )
    return done.stdout, done.stderr


@pytest.fixture(scope="module")
def some_queries(shared, tmp_path_factory):
    """Qrels and a run with two thirds of their queries, and with one that nobody judged."""
    covid = shared / "trec-covid-r1"
    lines = gzip.decompress((covid / "irc_pubmed.run.gz").read_bytes()).decode().splitlines(keepends=True)
    run = tmp_path_factory.mktemp("some") / "some.run"
    run.write_text("".join(line for line in lines if int(line.split()[0]) % 3) + "nobody Q0 d 1 1.0 t\n")
    return [str(covid / "qrels.txt"), str(run)]


@pytest.mark.parametrize("form", FORMS, ids=" ".join)
def test_the_form_of_ir_measures_prints_the_same_bytes(some_queries, form):
    for measures in [[" ".join(SHARED_MEASURES)]] if "-q" not in form else [["AP"], ["nDCG@10"], ["NumRet"]]:
        theirs = outputs("ir_measures", [*some_queries, *measures, *form])
        ours = outputs("permed_measures", [*some_queries, *measures, *form])
        assert ours[0] == theirs[0]
        assert set(theirs[1].splitlines()) <= set(ours[1].splitlines())
        assert all(line.startswith("note: ") for line in {*ours[1].splitlines()} - {*theirs[1].splitlines()})


@pytest.mark.parametrize(
    "measures",
    [
        ["AP", "P@5 P@10"],
        ["P@5 AP"],
        ["AP nDCG@10 P@1"],
        ["nDCG@10 nDCG@5 AP"],
        ["Judged@10 AP"],  # provider by provider: all of AP stands first
        ["nDCG@10 RR@10 R@100"],
        ["SetF Rprec Accuracy RR@5 Bpref NumRel infAP IPrec@0.1 Judged@10 Success@1 P@10"],
    ],
    ids=" ".join,
)
def test_the_form_of_ir_measures_prints_several_measures_by_query_in_its_order(some_queries, measures):
    arguments = [*some_queries, *measures, "-q"]
    theirs, ours = (outputs(command, arguments)[0] for command in ("ir_measures", "permed_measures"))
    assert ours == theirs


def test_the_form_of_ir_measures_prints_in_one_order_where_ir_measures_has_several(tool):
    # two relevance levels are two calls of pytrec_eval, and in ir_measures the hash of their names orders them
    _, out, _ = tool("qrels.txt", "bm25.run", "P(rel=2)@1 P@1 P(rel=7.5)@1", "-q", "-n")
    rows = [tuple(line.split("\t")[:2]) for line in out.splitlines()]
    assert rows[:6] == [(q, m) for m in ("P(rel=2)@1", "P@1") for q in ("q1", "q2")] + [
        ("q3", "P(rel=2)@1"),
        ("q3", "P@1"),
    ]
    assert rows[6:] == [(q, "P(rel=7.5)@1") for q in ("q1", "q2", "q3")]


def test_the_form_of_ir_measures_knows_our_measures_and_providers(tool):
    code, out, _ = tool("qrels.txt", "bm25.run", "GWAP@10 P@1", "-p", "6")
    assert (code, out) == (0, f"GWAP@10\t{(GWAP_Q1 + GWAP_Q2) / 3:.6f}\nP@1\t0.333333\n")
    assert tool("qrels.txt", "bm25.run", "GWAP@10 P@1", "-p", "6", "--provider", "permed")[1] == out
    code, _, err = tool("qrels.txt", "bm25.run", "GWAP@10", "--provider", "pytrec_eval")
    assert (code, "provider pytrec_eval: " in err) == (2, True)
    _, _, err = tool("qrels.txt", "bm25.run", "P@1", "-o", "jsonl", "-p", "2")
    assert err.startswith("--places is ignored when using --output jsonl\n")


@pytest.mark.parametrize("form", [[], ["-q"], ["-o", "jsonl"], ["-q", "-n"]], ids=" ".join)
def test_the_form_of_ir_measures_says_what_the_numbers_rest_on(tool, form):
    Path("more.run").write_text(RUN + "q9 Q0 a 1 1 t\n")
    code, out, err = tool("qrels.txt", "more.run", "P@1", *form)
    notes = err.splitlines()
    assert code == 0
    assert notes[:2] == [
        "note: 1 query only in the run, ignored ('q9')",
        "note: 1 query missing from the run, counted as 0 ('q3')",
    ]
    assert "note" not in out
    assert err == tool("eval", "qrels.txt", "more.run", "-m", "P@1")[2]


def test_the_form_of_ir_measures_reads_standard_input(tool, monkeypatch):
    for form, arguments in ((RUN, ("qrels.txt", "-")), (QRELS, ("-", "bm25.run"))):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(form.encode())))
        assert tool(*arguments, "P@1")[:2] == (0, "P@1\t0.3333\n")


@pytest.mark.usefixtures("folder")
def test_a_closed_pipe_is_no_error():
    lines = [f"q{n} 0 a 1\n" for n in range(30_000)]
    Path("many.txt").write_text("".join(lines))
    Path("one.run").write_text("q1 Q0 a 1 1 t\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "permed_measures", "many.txt", "one.run", "P@1", "-q"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
    )
    process.stdout.readline()
    process.stdout.close()
    errors = []
    reader = threading.Thread(target=lambda: errors.append(process.stderr.read()))
    reader.start()
    assert process.wait(timeout=60) == 0
    reader.join()
    process.stderr.close()
    assert errors == [b""]


WRITING = {
    "eval": (0, "eval", "qrels.txt", "bm25.run"),
    "help": (0, "eval", "--help"),
    "the other form": (0, "qrels.txt", "bm25.run", "P@1"),
    "a gate that does not": (1, "gate", "qrels.txt", "bm25.run", "P@1>=0.9"),
}


def written_to(stdout, arguments):
    command = [sys.executable, "-m", "permed_measures", *arguments]
    done = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False, env=ENVIRONMENT)
    return done.returncode, done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
@pytest.mark.parametrize("name", WRITING)
@pytest.mark.usefixtures("folder")
def test_a_full_disk_is_one_message_and_exit_code_2(name):
    with Path("/dev/full").open("w") as full:
        code, err = written_to(full, WRITING[name][1:])
    assert (code, err) == (2, "permed-measures: cannot write the output: No space left on device\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
@pytest.mark.parametrize(
    ("expected", "arguments"),
    [
        (2, ["eval", "qrels.txt", "bm25.run"]),  # its notes
        (2, ["qrels.txt", "bm25.run", "P@1"]),
        (2, ["eval", "absent.txt", "bm25.run"]),
        (2, ["eval", "--absent"]),
        (2, ["gate", "qrels.txt", "bm25.run"]),
        (0, ["gate", "qrels.txt", "bm25.run", "P@1>=0.1"]),  # nothing goes to stderr
        (1, ["gate", "qrels.txt", "bm25.run", "P@1>=0.9"]),
    ],
)
@pytest.mark.usefixtures("folder")
def test_errors_that_cannot_be_written_are_not_taken_for_a_gate_that_does_not_hold(expected, arguments):
    command = [sys.executable, "-m", "permed_measures", *arguments]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=full, check=False, env=ENVIRONMENT)
    assert done.returncode == expected


@pytest.mark.parametrize("name", WRITING)
@pytest.mark.usefixtures("folder")
def test_nobody_reads_and_the_exit_code_stays(name):
    expected, *arguments = WRITING[name]
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as closed:
        code, err = written_to(closed, arguments)
    assert code == expected
    assert all(line.startswith("note: ") for line in err.splitlines())
    # the tool closes its output before it starts, as >&- in a shell does
    start = "import os, sys; os.close(1); os.execv(sys.argv[1], sys.argv[1:])"
    command = [sys.executable, "-m", "permed_measures", *arguments]
    done = subprocess.run(
        [sys.executable, "-c", start, *command], stderr=subprocess.PIPE, text=True, check=False, env=ENVIRONMENT
    )
    assert done.returncode == expected
    assert "Traceback" not in done.stderr


def test_help_has_examples_with_their_lines_kept(tool):
    for command in ("eval", "convert", "measures"):
        code, out, _ = tool(command, "--help")
        assert code == 0
        assert f"\n    permed-measures {command}" in out
    assert "\n  permed-measures eval QRELS RUN " in tool("--help")[1]
    assert re.fullmatch(r"permed-measures, version \d.*\n", tool("--version")[1])


@pytest.mark.usefixtures("folder")
def test_the_form_of_ir_measures_needs_no_click():
    code = "import sys; sys.modules['click'] = None; from permed_measures.cli import main; main(sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", code, "qrels.txt", "bm25.run", "P@1"],
        capture_output=True,
        text=True,
        check=False,
        env=ENVIRONMENT,
    )
    assert (done.returncode, done.stdout) == (0, "P@1\t0.3333\n")
    done = subprocess.run(
        [sys.executable, "-c", code, "eval", "x", "y"], capture_output=True, text=True, check=False, env=ENVIRONMENT
    )
    assert done.returncode == 2
    assert "pip install 'permed-measures[cli]'" in done.stderr


@pytest.mark.usefixtures("folder")
def test_evaluating_small_files_loads_nothing_heavy():
    code = (
        "import sys; from permed_measures.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "finally: print([m for m in ('duckdb', 'rich', 'scipy', 'pandas', 'polars') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "eval", "qrels.txt", "bm25.run"],
        capture_output=True,
        text=True,
        check=True,
        env=ENVIRONMENT,
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_values_are_saved_and_conditions_shown_below_the_table(tool):
    from permed_measures import Evaluation

    code, out, _ = tool(
        "eval", "qrels.txt", "bm25.run", "best.run", "-m", "RR", "--save", "both.values", "--signatures"
    )
    assert code == 0
    shown = [line for line in out.splitlines() if line.startswith("RR|order:float32|queries:qrels|n:3|judgements:7|")]
    assert len(shown) == 1
    assert Evaluation.load("both.values", "bm25")["RR"] == (1 + 1 / 2 + 0) / 3
    code, out, _ = tool("eval", "qrels.txt", "bm25.run", "-m", "RR", "--queries", "run", "--signatures")
    assert "RR|order:float32|queries:run|n:2|" in out
