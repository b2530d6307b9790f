"""Options of the shell: none is ignored silently, no output replaces another, and all numbers follow the layout."""

from __future__ import annotations

import json
import re

import polars as pl
import pytest

from permed_measures import compare, evaluate, gate
from permed_measures.comparison.one_query import one_query
from permed_measures.errors import InputError, ParamError

pytest.importorskip("click", reason="the shell tool needs it")

FILES = {
    "q.txt": "1 0 a 2\n1 0 b 1\n1 0 e 1\n2 0 c 1\n2 0 d 0\n",
    "r.run": "1 Q0 a 1 3 x\n1 Q0 x 2 2 x\n1 Q0 b 3 1 x\n2 Q0 d 1 3 x\n2 Q0 c 2 2 x\n",
    "s.run": "1 Q0 b 1 3 x\n1 Q0 a 2 2 x\n1 Q0 x 3 1 x\n2 Q0 c 1 3 x\n2 Q0 y 2 2 x\n",
    "dup.run": "1 Q0 a 1 3 x\n1 Q0 a 2 2 x\n1 Q0 b 3 1 x\n2 Q0 c 1 3 x\n",
    "tied.run": "1 Q0 e 1 1 x\n1 Q0 x 2 1 x\n2 Q0 c 1 1 x\n2 Q0 y 2 1 x\n",
    "texts.tsv": "1\tthe first query\n",
    "docs.tsv": "a\ttext of a\nb\ttext of b\n",
}
QRELS = {"1": {"a": 2, "b": 1, "e": 1}, "2": {"c": 1, "d": 0}}
RUN = {"1": ["a", "x", "b"], "2": ["d", "c"]}
EVAL, COMPARE = ("eval", "q.txt", "r.run"), ("compare", "q.txt", "r.run", "s.run")


@pytest.fixture
def tool(tmp_path, monkeypatch, shell):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return shell


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            (*EVAL, "--format", "json", "--percent"),
            "--percent is for --format text, markdown, latex, html or --html",
        ),
        ((*EVAL, "-o", "o.csv", "--places", "2"), "--places is for"),
        ((*EVAL, "--format", "jsonl", "--heading", "run=S"), "--heading is for"),
        ((*EVAL, "--format", "csv", "--caption", "C"), "--caption is for"),
        ((*EVAL, "--label", "tab:x"), "--label is for --format latex; text does not have it"),
        ((*EVAL, "--plot", "means"), "--plot is for what --figure writes"),
        ((*COMPARE, "--columns", "2"), "--columns is for what --figure writes"),
        ((*COMPARE, "--brief", "--format", "csv"), "--brief is for --format text, markdown, latex"),
        ((*EVAL, "--signatures", "--format", "csv"), "--signatures is for"),
        ((*EVAL, "--by-query", "--format", "html"), "--by-query is for"),
        ((*EVAL, "--html", "p", "-o", "./p"), "are both p: name another file"),
        ((*EVAL, "--html", "p.svg", "--figure", "p.svg"), "are both p.svg"),
        ((*EVAL, "--save", "p", "--html", "p"), "are both p"),
        ((*EVAL, "--html", "-"), "--html - and the report are both standard output: give -o FILE too"),
        ((*EVAL, "--format", "text", "-o", "r.run"), r"what is read \(r.run\)"),
        (("holes", "q.txt", "c.csv", "-o", "c.csv"), r"what is read \(c.csv\)"),
        (("query", "q.txt", "r.run", "1", "--format", "json", "--percent"), "--percent is for"),
    ],
)
def test_what_a_report_does_not_read_is_refused_before_anything_is_written(tool, tmp_path, arguments, said):
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    code, out, err = tool(*arguments)
    assert (code, out) == (2, "")
    assert re.search(said, " ".join(err.split()))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_page_beside_the_report_reads_them(tool, tmp_path):
    code, out, _ = tool(*EVAL, "-m", "P@1", "--format", "json", "--html", "p.html", "--percent")
    assert (code, '"P@1": 0.5' in out) == (0, True)
    assert "50.00" in (tmp_path / "p.html").read_text()
    assert tool(*EVAL, "--html", "-", "-o", "o.txt")[1].startswith("<!DOCTYPE html>")


def test_json_lines_have_the_intervals_that_csv_has(tool):
    lines = tool(*EVAL, "-m", "P@1", "--interval", "--format", "jsonl", "-q")[1].splitlines()
    *queries, mean = map(json.loads, lines)
    low, high = evaluate(QRELS, RUN, "P@1").interval("P@1")
    assert (mean["low"], mean["high"]) == (low, high)
    assert [(query["low"], query["high"]) for query in queries] == [(None, None)] * 2


def test_sentences_and_tables_show_the_same_numbers(tool):
    out = " ".join(tool(*COMPARE, "-m", "AP@10", "--percent", "--places", "1")[1].split())
    # AP@10: query 1 from (1 + 2/3)/3 to 2/3, query 2 from 1/2 to 1: +1/9 and +1/2
    assert "r 52.8" in out
    assert "not shown to differ from r: +30.6 (+57.9%), 95% interval -100.0 to +100.0" in out
    assert "P-imp@10 of s: 33.3, 95% interval 0.0 to 100.0" in out
    assert "+0.3056 (+57.9%)" in " ".join(tool(*COMPARE, "-m", "AP@10")[1].split())
    assert re.search(r"r +0\.50 ", tool(*COMPARE, "-m", "Utility", "--percent")[1])  # no share: (2 - 1 + 1 - 1) / 2


def test_query_follows_the_layout_and_says_a_text_once(tool):
    asked = ("query", "q.txt", "r.run", "1", "-m", "AP", "--texts", "texts.tsv")
    code, out, _ = tool(*asked, "--percent", "--places", "1")
    assert (code, re.findall(r"\+?\d+\.\d", out)) == (0, ["+33.3", "+22.2", "55.6"])  # (1 + 2/3) / 3
    for form in ("text", "markdown", "latex", "html", "json"):
        assert tool(*asked, "--format", form)[1].count("the first query") == 1, form


def test_texts_that_are_missing_are_named(tool):
    documents = ("--documents", "docs.tsv")
    said = "note: 1 of 3 document texts is missing from the file: 'x'\n"
    assert said in tool("query", "q.txt", "r.run", "1", "-m", "AP", *documents)[2]
    asked = ("--texts", "texts.tsv", "--html", "p.html")
    assert "1 of 2 query texts is missing from the file: '2'" in tool(*COMPARE, *asked)[2]
    err = tool("holes", "q.txt", "r.run", "s.run", "--texts", "texts.tsv")[2]
    assert err == (
        "note: 1 of 2 query texts is missing from the file: '2'\n"
        "note: 2 unjudged documents in the top 10 of 2 judged queries\n"
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"places": -1},
        {"places": 2.5},
        {"places": True},
        {"caption": 3},
        {"label": "x%y"},
        {"label": None},
        {"percent": "yes"},
        {"headings": ["run"]},
        {"headings": {"run": 3}},
    ],
)
def test_a_wrong_layout_says_what_is_allowed(wrong):
    (name,) = wrong
    with pytest.raises(ParamError, match=rf"^{name}=.* is not allowed; give "):
        evaluate(QRELS, RUN, "P@1").to_latex(**wrong)


def test_letters_that_latex_lacks_get_a_font(tool):
    font = r"% \usepackage{fontspec}\setmainfont{DejaVu Serif}"
    assert font in tool(*EVAL, "--name", "Ελληνικά", "--format", "latex")[1]
    assert font in tool(*EVAL, "--name", "поиск", "--format", "latex")[1]
    assert font not in tool(*EVAL, "--name", "é – “x” …", "--format", "latex")[1]  # noqa: RUF001  (such names there are)


def test_dropped_rows_are_counted(tool, tmp_path):
    said = "note: {}: --duplicates max: 1 row of a document that occurs before in its query left out\n"
    assert said.format("dup.run") in tool("eval", "q.txt", "dup.run", "-m", "AP", "--duplicates", "max")[2]
    (tmp_path / "d.csv").write_text("query_id,doc_id,score\n1,a,1\n1,a,2\n2,c,1\n")
    assert said.format("d.csv") in tool("compare", "q.txt", "r.run", "d.csv", "-m", "AP", "--duplicates", "max")[2]
    (tmp_path / "d.json").write_text('{"1": ["a", "b", "a"], "2": ["c"]}')
    assert said.format("d.json") in tool("eval", "q.txt", "d.json", "-m", "AP", "--duplicates", "max")[2]
    assert "--duplicates" not in tool("eval", "q.txt", "r.run", "-m", "AP", "--duplicates", "max")[2]


@pytest.mark.usefixtures("tool")
def test_compare_and_gate_read_rows_as_evaluate_does():
    frame = pl.DataFrame({"q": ["1", "1", "1", "2"], "d": ["x", "a", "a", "c"], "far": [0.2, 0.1, 0.3, 0.5]})
    said = {"duplicates": "first", "run_columns": ("q", "d", "-far")}
    (value,) = evaluate(QRELS, frame, "RR", **said).means.values()
    assert value == 1.0
    found = compare(QRELS, frame, {"again": [frame, frame]}, "RR", **said)
    assert {mean.value for mean in found.whole.means.values()} == {1.0}
    result = gate(QRELS, frame, ["RR>=1"], baseline=frame, max_drop=0.1, **said)
    assert [check.verdict for check in result.checks] == ["holds", "holds"]
    assert gate("q.txt", "dup.run", ["RR>=1"], duplicates="max").exit_code == 0
    with pytest.raises(InputError, match="occurs"):
        gate("q.txt", "dup.run", ["RR>=1"])


def test_compare_has_the_ties_of_evaluate(tool):
    for ties, reciprocal in (("trec", 1 / 2), ("expected", (1 + 1 / 2) / 2), ("best", 1.0)):  # by id, x and y are first
        found = compare("q.txt", "r.run", ["tied.run"], "RR", ties=ties)
        assert found.whole.means["tied", found.measures[0]].value == reciprocal
        out = tool("compare", "q.txt", "r.run", "tied.run", "-m", "RR", "--brief", "--ties", ties)[1]
        assert re.search(rf"tied +{reciprocal:.4f}", out)
    code, _, err = tool("compare", "q.txt", "r.run", "tied.run", "-m", "RR", "--ties", "error")
    assert (code, "documents have the same 32-bit score" in err) == (2, True)


def test_foreign_names_of_a_hit(tool):
    assert "Success@5" in tool(*EVAL, "-m", "hr@5")[1]
    assert "'acc@1' is Success@1 here" in tool(*EVAL, "-m", "acc@1")[2]


def test_one_query_is_said_with_its_notes():
    found = one_query(QRELS, {"r": RUN}, "1", "AP", documents={"a": "A"})
    assert list(found.notes) == ["2 of 3 document texts are missing from the file: 'b', 'x'"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("gate", "q.txt", "r.run", "AP>=0", "--show-queries", "2"), "--show-queries is for what --summary writes"),
        (
            ("gate", "q.txt", "r.run", "AP>=0", "--power", "--junit", "j"),
            "--power is no check, and does not go with --junit",
        ),
        ((*COMPARE, "--human", "q.txt", "--all-pairs", "--save", "v"), "--all-pairs, --save does not go with --human"),
        ((*COMPARE, "--map", "same"), "--map is for differences that are corrected"),
        ((*COMPARE, "--no-p-imp", "--p-imp-cutoff", "5"), "give one of them"),
        (("explain", "q.txt", "r.run", "--about", "map", "--conventions", "--decimals", "2"), "give --value too"),
        (
            ("explain", "nDCG@10|order:float32|queries:qrels|n:5|version:1", "--html", "p"),
            "--html does not go with a signature",
        ),
    ],
)
def test_options_that_do_not_go_together_are_refused(tool, arguments, said):
    code, _, err = tool(*arguments)
    assert (code, said in " ".join(err.split())) == (2, True)


def test_descriptions_are_in_every_format(tool, tmp_path):
    (tmp_path / "d.tsv").write_text("r\tthe first\n")
    for form in ("text", "markdown", "latex", "csv", "json", "jsonl", "html"):
        assert "the first" in tool(*EVAL, "s.run", "--describe", "d.tsv", "--format", form)[1], form


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("-m", "ERR(judged_only=3)@3"), "ERR: judged_only=3 is not allowed; give True or False"),
        (("-m", "NumRet", "--percent"), "percent=True is for values of measures from 0 to 1, and no table has any"),
        (("--heading", "run=a", "--heading", "run=b"), "a heading is given two new ones"),
    ],
)
def test_what_has_no_meaning_is_an_error(tool, options, said):
    code, out, err = tool(*EVAL, *options)
    assert (code, out, said in " ".join(err.split())) == (2, "", True)
