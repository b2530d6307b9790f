"""Behind the means: texts and documents of queries, what is unjudged, one query whole."""

from __future__ import annotations

import doctest
import gzip
import json
import math
import random
import re
from pathlib import Path

import pytest

from permed_measures import InputError, ParamError, compare, evaluate, read_qrels
from permed_measures.comparison.one_query import one_query
from permed_measures.comparison.tops import holes, holes_table
from permed_measures.files.texts import KEPT, texts_of
from permed_measures.render.queries import MOST, embedded, safe_json

QRELS = {"q1": {"a": 2, "b": 1, "n": -1}, "q2": {"c": 1, "d": 0}, "q3": {"a": 1}}
OLD = {"q1": ["a", "x", "b", "n"], "q2": ["c", "y"], "q3": ["z", "a"]}
NEW = {"q1": ["x", "w", "a", "b"], "q2": ["c", "d"], "q3": ["a", "z"]}
TEXTS = {"q1": "one", "q2": "two", "q3": "three", "other": "…"}


@pytest.fixture
def shell(tmp_path, monkeypatch, shell):
    """Run the shell tool in a folder of small files."""
    monkeypatch.chdir(tmp_path)
    Path("qrels.txt").write_text("".join(f"{q} 0 {d} {g}\n" for q, of in QRELS.items() for d, g in of.items()))
    for name, run in (("old", OLD), ("new", NEW)):
        lines = [f"{q} Q0 {d} {n} {9 - n} x\n" for q, docs in run.items() for n, d in enumerate(docs, 1)]
        Path(f"{name}.run").write_text("".join(lines))
    Path("queries.tsv").write_text("".join(f"{q}\t{text}\n" for q, text in TEXTS.items()))
    documents = [{"_id": d, "title": f"title {d}", "text": f"about {d}"} for d in "abcdwxyz"]
    Path("corpus.jsonl").write_text("".join(json.dumps(document) + "\n" for document in documents))
    return shell


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("plain.tsv", "q1\tone\nq9\tnine\nq2\ttwo\twith tabs\n"),
        ("head.tsv", "query_id\ttext\nq1\tone\nq2\ttwo with tabs\n"),
        ("head.csv", 'qid,query\nq1,one\nq2,"two with tabs"\n'),
        ("beir.jsonl", '{"_id": "q1", "text": "one"}\n{"_id": "q2", "text": "two with\\ttabs", "metadata": {}}\n'),
        ("list.json", '[{"query_id": "q1", "query": "one"}, {"id": "q2", "question": "two with  tabs"}]'),
        ("numbers.jsonl", '{"query_id": "q1", "text": "one"}\n{"query_id": "q2", "text": "two with tabs"}\n'),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_texts_of_every_format(tmp_path, name, content, packed):
    path = tmp_path / (f"{name}.gz" if packed else name)
    path.write_bytes(gzip.compress(content.encode()) if packed else content.encode())
    assert texts_of(path, {"q1", "q2", "q3"}, "query") == {"q1": "one", "q2": "two with tabs"}


def test_a_document_has_its_title_and_its_text_and_only_those_asked_for_are_kept(tmp_path):
    path = tmp_path / "corpus.jsonl"
    rows = [{"_id": str(n), "title": f"t{n}", "text": "long " * 2000} for n in range(300)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = texts_of(path, ["7", "299"], "document")
    assert list(found) == ["7", "299"]
    assert found["7"].startswith("t7 long long")
    assert len(found["7"]) == KEPT


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("other\ttext\n", "none of the 1 query ids is there ('q1'); ids there are 'other'"),
        ("q1\tone\nq1\tagain\n", "2: the query 'q1' occurs before"),
        ("no tab here\n", ":1: no id and text with a tab between them"),
        ('{"_id": "q1", "body": "x"}\n', ":1: no text of a query among the keys '_id', 'body'"),
        ('{"text": "x"}\n', ":1: no id of a query among the keys 'text'"),
        ('{"_id": "q1", "text": "x"\n', ":1: not JSON"),
    ],
)
def test_a_file_that_cannot_be_told_is_refused(tmp_path, content, said):
    path = tmp_path / "texts"
    path.write_text(content)
    with pytest.raises(InputError, match=re.escape(said)):
        texts_of(path, ["q1"], "query")


def test_unjudged_shares_by_rank_are_those_of_the_measure():
    found = compare(QRELS, OLD, {"new": NEW}, "nDCG@4 P@1")
    assert found.unjudged == {"baseline": [1 / 3, 2 / 3, 0.0, 1.0], "new": [1 / 3, 2 / 3, 0.0, 0.0]}
    shares = evaluate(QRELS, OLD, "nDCG@2").unjudged
    assert sum(shares) / 2 == pytest.approx(evaluate(QRELS, OLD, "Unjudged@2")["Unjudged@2"])
    assert found.to_dict()["unjudged_by_rank"] == found.unjudged
    assert re.search(
        r"unjudged documents by rank\n\nrun +1 +2 +3 +4\n.*\nbaseline +33.3% +66.7% +0.0% +100.0%", str(found)
    )
    assert 'id="unjudged-table"' in found.render("html")
    judged = compare(QRELS, {"q1": ["a"]}, {"new": {"q1": ["b"]}}, "P@1")
    assert "unjudged documents by rank" not in str(judged)


def test_unjudged_shares_are_the_same_however_a_run_is_read(shell):
    wanted = [1 / 3, 2 / 3, 0.0, 1.0]
    scored = {q: {d: -float(n) for n, d in enumerate(docs)} for q, docs in OLD.items()}
    for run in (OLD, scored, "old.run"):
        assert evaluate(QRELS, run, "nDCG@4").unjudged == wanted
    assert evaluate(QRELS, OLD, "AP").unjudged == wanted  # the first ten, of which lists have four
    assert evaluate(QRELS, OLD, "P@1").unjudged == wanted[:1]
    assert evaluate(QRELS, {**OLD, "q9": ["x"]}, "nDCG@4", queries="run").unjudged == wanted  # q9 is not judged
    many = {f"{q}{n}": of for q, of in QRELS.items() for n in range(400)}
    runs = {f"{q}{n}": of for q, of in scored.items() for n in range(400)}
    assert evaluate(many, runs, "nDCG@4").unjudged == wanted  # in columns
    page = evaluate(QRELS, OLD, "nDCG@4")
    assert "66.7%" in page._repr_html_()
    assert 'id="unjudged-table"' in page.to_html()
    assert 'id="unjudged-table"' not in evaluate(QRELS, {"q1": ["a"]}, "P@1").to_html()
    code, _, _ = shell("eval", "qrels.txt", "old.run", "new.run", "-m", "nDCG@4", "--html", "page.html")
    assert (code, Path("page.html").read_text().count("66.7%")) == (0, 2)


def test_holes_are_by_how_far_runs_are_apart():
    found = holes(QRELS, {"old": OLD, "new": NEW}, depth=3)
    rows = [(hole.query_id, hole.doc_id, hole.ranks, hole.apart) for hole in found]
    assert rows[:2] == [
        ("q1", "w", {"old": None, "new": 2}, pytest.approx(1 / math.log2(3))),
        ("q2", "y", {"old": 2, "new": None}, pytest.approx(1 / math.log2(3))),
    ]
    by_document = {row[:2]: row[2:] for row in rows}
    assert by_document["q1", "x"] == ({"old": 2, "new": 1}, pytest.approx(1 - 1 / math.log2(3)))
    assert by_document["q3", "z"] == ({"old": 1, "new": 2}, pytest.approx(1 - 1 / math.log2(3)))
    assert [row[3] for row in rows] == sorted((row[3] for row in rows), reverse=True)
    deeper = holes(QRELS, {"old": OLD}, depth=4)  # a negative grade is no judgement; of one run, ranks alone
    assert [(hole.query_id, hole.doc_id) for hole in deeper] == [("q3", "z"), ("q1", "x"), ("q2", "y"), ("q1", "n")]
    with pytest.raises(ParamError, match="depth=0 is not allowed"):
        holes(QRELS, {"old": OLD}, depth=0)


def test_what_a_judge_filled_in_is_read_as_qrels(shell):
    asked = ("holes", "qrels.txt", "old.run", "new.run", "--depth", "3")
    code, _, err = shell(*asked, "-o", "holes.csv", "--texts", "queries.tsv", "--documents", "corpus.jsonl")
    assert (code, "4 unjudged documents in the top 3 of 3 judged queries" in err) == (0, True)
    lines = Path("holes.csv").read_text().splitlines()
    assert lines[0] == "query_id,doc_id,relevance,apart,rank in old,rank in new,query text,document text"
    assert "q3,z,,0.36907" in lines[-1] or "q3,z,,0.36907" in lines[-2]
    assert lines[1].endswith(",title w about w")
    filled = [lines[0], *(line.replace(",,", ",1,", 1) for line in lines[1:])]
    Path("filled.csv").write_text("\n".join(filled) + "\n")
    assert {(q, d) for q, of in read_qrels("filled.csv").items() for d in of} == {
        ("q1", "x"),
        ("q1", "w"),
        ("q2", "y"),
        ("q3", "z"),
    }
    code, out, _ = shell(*asked, "--most", "1")
    assert (code, len(out.splitlines())) == (0, 2)
    code, _, err = shell(*asked, "-o", "holes.xlsx")
    assert (code, ".csv, .jsonl" in err) == (2, True)


def test_holes_of_scored_runs_and_large_files_are_the_same(shell):
    scored = {q: {d: -float(n) for n, d in enumerate(docs)} for q, docs in OLD.items()}
    rows = holes_table(holes(QRELS, {"old": scored}, depth=3), ["old"]).rows
    assert rows == holes_table(holes("qrels.txt", {"old": "old.run"}, depth=3), ["old"]).rows
    assert shell("holes", "qrels.txt", "old.run")[0] == 0


def test_the_working_adds_up_to_the_value_of_any_measure():
    made = random.Random(5)
    measures = "AP@5 nDCG@10 RR P@3 R@5 GWAP(max_rel=3)@5 ListAP@4 RBP(p=0.5) Bpref infAP Rprec SetP IPrec@0.5 ERR@5"
    measures += " Unjudged@5"
    docs = [f"d{n}" for n in range(12)]
    qrels = {"q": {d: made.choice((0, 1, 2, 3)) for d in docs[:7]}}
    runs = {name: {"q": {d: made.random() for d in made.sample(docs, 10)}} for name in ("one", "two")}
    found = one_query(qrels, runs, "q", measures, depth=3)
    for run in found.runs:
        wanted = evaluate(qrels, runs[run.name], measures).means
        for place, measure in enumerate(found.labels):
            gained = sum(part.gains[place] for part in run.parts)
            assert run.start[place] + gained == pytest.approx(wanted[measure], abs=1e-12), measure
            assert run.values[place] == pytest.approx(wanted[measure], abs=1e-12)
    assert found.runs[0].start[list(map(str, found.labels)).index("Unjudged@5")] == 1.0


def test_the_working_in_arithmetic():
    found = one_query(QRELS, {"old": OLD, "new": NEW}, "q1", "AP RR nDCG@2", depth=2)
    old, new = found.runs
    assert [(p.rank, p.doc_id, p.grade, p.before) for p in old.parts] == [
        (1, "a", 2, None),
        (2, "x", None, None),
        (3, "b", 1, None),
    ]
    assert [p.gains[0] for p in old.parts] == pytest.approx([1 / 2, 0, 2 / 3 / 2])
    assert [(p.rank, p.doc_id, p.before) for p in new.parts] == [(1, "x", 2), (2, "w", None), (3, "a", 1), (4, "b", 3)]
    assert [p.gains[1] for p in new.parts] == pytest.approx([0, 0, 1 / 3, 0])
    assert new.values == pytest.approx([(1 / 3 + 2 / 4) / 2, 1 / 3, 0])
    assert found.runs[0].missed == []


def test_query_in_the_shell(shell):
    asked = ("query", "qrels.txt", "old.run", "new.run", "q1", "-m", "AP RR")
    code, out, err = shell(*asked, "--texts", "queries.tsv", "--documents", "corpus.jsonl")
    assert (code, err) == (0, "note: 1 of 5 document texts is missing from the file: 'n'\n")
    assert "query q1" in out
    assert re.search(r"3 +b +1 +\+0\.3333 +title b about b", out)
    assert re.search(r"2 +w +unjudged +new", out)
    assert re.search(r"3 +a +2 +1 +\+0\.1667 +\+0\.3333", out)
    code, out, _ = shell(*asked, "--format", "json")
    record = json.loads(out)
    assert record["runs"][1]["values"] == {"AP": pytest.approx(5 / 12), "RR": pytest.approx(1 / 3)}
    for form in ("markdown", "latex", "csv", "jsonl", "html"):
        assert shell(*asked, "--format", form)[0] == 0
    code, _, err = shell("query", "qrels.txt", "old.run", "q11")
    assert (code, "'q11' is not in the qrels. Did you mean" in err) == (2, True)
    assert shell("query", "qrels.txt", "q1")[0] == 2


def test_the_page_has_texts_only_where_asked_for():
    plain = compare(QRELS, OLD, {"new": NEW}, "AP")
    assert plain.behind is None
    asked = compare(QRELS, OLD, {"new": NEW}, "AP", texts=TEXTS, documents={d: f"text of {d}" for d in "abcdx"})
    assert "text of a" in asked.render("html")
    assert "text of a" not in plain.render("html")
    assert asked.behind.grades["q1"] == {"a": 2, "b": 1}  # n has a negative grade
    assert any("document texts are missing" in note for note in asked.behind.notes)
    content, notes = embedded(asked.behind, asked.names, ["q1", "q2", "q3"])
    assert next(iter(content["queries"])) == 0  # q1 lost most
    assert content["queries"][0][0] == "one"
    names = [[content["documents"][n][0] for n in top] for top in content["queries"][0][1]]
    assert names == [OLD["q1"], NEW["q1"]]
    assert notes[0].startswith("the first 10 documents of each run")


def test_saved_values_have_no_documents():
    known = [evaluate(QRELS, run, "AP") for run in (OLD, NEW)]
    with pytest.raises(ParamError, match="saved values and tables of an engine have no lists"):
        compare(QRELS, known[0], {"new": known[1]}, texts=TEXTS)


def test_texts_cannot_leave_their_script():
    hostile = "</script><script>alert(1)</script>\u2028<!--"
    found = compare(
        QRELS,
        OLD,
        {"new": NEW},
        "AP",
        texts=dict.fromkeys(QRELS, hostile),
        documents=dict.fromkeys("abcdxyzwn", hostile),
    )
    page = found.render("html")
    assert page.count("</script>") == 2
    assert "alert(1)</script>" not in page
    assert json.loads(safe_json(hostile)) == hostile


def test_a_page_that_would_be_too_large_keeps_the_largest_losses():
    asked = compare(QRELS, OLD, {"new": NEW}, "AP", texts=TEXTS, documents={d: f"{d} " * 400 for d in "abcdxyzwn"})
    whole, _ = embedded(asked.behind, asked.names, ["q1", "q2", "q3"])
    size = len(safe_json(whole).encode())
    shorter, notes = embedded(asked.behind, asked.names, ["q1", "q2", "q3"], most=size - 1)
    assert len(shorter["queries"]) == 3
    assert "documents are cut at 160 characters" in notes
    few, notes = embedded(asked.behind, asked.names, ["q1", "q2", "q3"], most=600)
    assert list(few["queries"]) == [0]
    assert len(safe_json(few).encode()) <= 600
    assert any("of the worst 1 queries only" in note for note in notes)


@pytest.mark.full
def test_thousands_of_queries_stay_below_ten_megabytes():
    made = random.Random(1)
    docs = [f"document-{n}" for n in range(60_000)]
    qrels = {f"c{n // 8}_{n % 8}": {d: made.randint(0, 2) for d in made.sample(docs, 10)} for n in range(3_440)}
    runs = [{q: made.sample([*{*of, *made.sample(docs, 20)}], 20) for q, of in qrels.items()} for _ in range(4)]
    texts = dict.fromkeys(docs, "字" * 900)  # three bytes each
    found = compare(qrels, runs[0], {f"r{n}": run for n, run in enumerate(runs[1:])}, "AP nDCG@10 P@1", documents=texts)
    size = len(found.render("html").encode())
    assert MOST / 2 < size < 10_000_000


def _content(page):
    (found,) = re.findall(r'<script type="application/json" id="values">(.*?)</script>', page)
    return json.loads(found)


def test_an_evaluation_has_all_queries_the_worst_first():
    found = evaluate(QRELS, OLD, "RR P@1", texts=TEXTS, documents={d: f"text of {d}" for d in "abcdxyz"})
    content = _content(found.to_html())
    assert (content["names"], content["queries"], content["values"][0]) == (
        ["run"],
        ["q3", "q1", "q2"],
        [[0.5, 1.0, 1.0]],
    )
    text, lists, grades = content["behind"]["queries"]["0"]
    documents = [content["behind"]["documents"][place] for place in lists[0]]
    assert (text, documents, grades) == ("three", [["z", "text of z"], ["a", "text of a"]], {"1": 1})
    plain = evaluate(QRELS, OLD, "RR")
    assert _content(plain.to_html())["behind"] is None
    assert "application/json" not in found._repr_html_()
    tied = {"q1": {"x": 1.0, "a": 1.0}, "q2": {"c": 1.0}}
    assert "values: ties=&#x27;best&#x27;" in evaluate(QRELS, tied, "RR", ties="best", texts=TEXTS).to_html()


def test_eval_in_the_shell(shell):
    asked = ("eval", "qrels.txt", "old.run", "new.run", "-m", "RR")
    texts = ("--texts", "queries.tsv", "--documents", "corpus.jsonl")
    code, _, err = shell(*asked, *texts)
    assert (code, "give --html FILE too" in err) == (2, True)
    for ties in ("trec", "input", "expected"):
        code, out, err = shell(*asked, *texts, "--html", "page.html", "--ties", ties)
        assert code == 0, err
        assert out == shell(*asked, "--ties", ties)[1]
        content = _content(Path("page.html").read_text())
        assert (content["names"], content["changes"], content["queries"]) == (["old", "new"], False, ["q1", "q3", "q2"])
        assert len(content["behind"]["queries"]["0"][1]) == 2
        assert ["w", "title w about w"] in content["behind"]["documents"]
    for other in (("--engine", "duckdb"), ("--human", "qrels.txt")):
        assert shell(*asked[:3], "-m", "RR", *texts, "--html", "page.html", *other)[0] == 2


def test_a_page_of_very_many_queries_has_the_worst():
    qrels = {f"q{n}": {"a": 1} for n in range(200_001)}
    run = {q: ["x"] if q == "q200000" else ["a"] for q in qrels}
    page = evaluate(qrels, run, "RR P@1").to_html()
    content = _content(page)
    assert (len(content["queries"]), content["queries"][0]) == (200_000, "q200000")
    assert "the worst 200,000 of 200,001 queries" in page


def test_compare_in_the_shell(shell):
    asked = ("compare", "qrels.txt", "old.run", "new.run", "-m", "AP", "--texts", "queries.tsv")
    code, _, err = shell(*asked)
    assert (code, "--html FILE" in err) == (2, True)
    code, _, err = shell(*asked, "--html", "page.html", "--documents", "corpus.jsonl")
    assert code == 0, err
    assert "about w" in Path("page.html").read_text()


def test_the_page_of_documentation_runs():
    path = Path(__file__).resolve().parents[1] / "docs" / "drill-down.md"
    failed, tried = doctest.testfile(str(path), module_relative=False)
    assert tried >= 5
    assert not failed
