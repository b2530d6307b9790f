"""The report in every format: what stands in it, and that nothing in it can break its format."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser

import pytest
from ir_measures import RR

from permed_measures.comparison import compare
from permed_measures.comparison.report import words
from permed_measures.comparison.report.page import differences_plot
from permed_measures.comparison.report.tables import changes_table
from permed_measures.errors import ParamError
from permed_measures.render.result import FORMATS

pytest.importorskip("scipy", reason="the paired t-test needs it")

NASTY = "<script>alert(1)</script> | & % $ # _ { } ~ ^ \\ \"'"


@pytest.fixture(scope="module")
def result():
    qrels = {f"{q // 3}_{q % 3}": {"a": 2, "b": 1, "c": 0} for q in range(30)}
    before = {query_id: ["c", "a", "b"] if place % 4 else ["a", "b"] for place, query_id in enumerate(qrels)}
    after = {query_id: ["a", "b", "c"] if place % 5 else ["c", "b"] for place, query_id in enumerate(qrels)}
    runs = {"reranked": after, "same": before}
    described = {"retrieved": "first stage", "reranked": "去掉顺序记忆"}
    return compare(
        qrels, before, runs, profile="permed", baseline_name="retrieved", descriptions=described, groups="turn"
    )


@pytest.fixture(scope="module")
def nasty():
    qrels = {f"{NASTY}{q}_1": {"a": 1} for q in range(3)}
    before = dict.fromkeys(qrels, ("b", "a"))
    return compare(
        qrels,
        before,
        {NASTY: dict.fromkeys(qrels, ("a",))},
        "RR",
        descriptions={NASTY: NASTY},
        groups=dict.fromkeys(qrels, NASTY),
    )


@pytest.fixture(scope="module")
def one_query():
    return compare({"q": {"a": 1}}, {"q": ["b", "a"]}, {"r": {"q": ["a", "b"]}}, "RR")


class Page(HTMLParser):
    """Collects elements that must be closed, scripts, and what would be fetched."""

    VOID = ("meta", "link", "input", "line", "circle", "rect", "path")

    def __init__(self):
        super().__init__()
        self.open, self.scripts, self.addresses, self.text = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.addresses += [value for name, value in attrs if name in ("src", "href", "action", "data")]
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        else:
            self.text.append(data)


def parsed(page):
    parser = Page()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    return parser


def test_text_is_aligned_and_says_what_names_mean(result):
    shown = str(result)
    table = shown.split("\n\n")[1].splitlines()
    assert table[0].split() == ["run", "description", "NDCG@10", "MAP@10", "P@1", "P-imp@10"]
    # the three Chinese pairs take two columns each: less text, the same width on a terminal
    ends = {len(line) + sum(ord(char) > 0x2E80 for char in line) for line in table}
    assert len(ends) == 1
    assert "NDCG@10 = nDCG(dcg='exp-log2')@10: " in shown
    assert "MAP@10 = GWAP@10: Average precision in which a relevant document counts by its grade" in shown
    assert "have the same value on every one of 30 queries" in shown
    assert "by turn" in shown


def test_brief_is_one_table_and_the_definitions(result):
    brief = result.render(brief=True)
    assert "win/tie/loss" not in brief
    assert "What can be concluded" not in brief
    assert "MAP@10 = GWAP@10" in brief


def test_markdown_tables_have_equal_columns(result, nasty):
    for comparison in (result, nasty):
        tables = [block for block in comparison.render("markdown").split("\n\n") if block.startswith("|")]
        assert len(tables) == 4  # one comparison has no matrix of verdicts, and has unjudged documents
        for table in tables:
            assert len({re.sub(r"\\.", "", row).count("|") for row in table.splitlines()}) == 1
        assert "<script" not in re.sub(r"\\<", "", comparison.render("markdown"))
    assert "| reranked | 去掉顺序记忆 |" in result.render("markdown")


def test_latex_escapes_bolds_and_marks(result, nasty):
    shown = result.render("latex")
    assert shown.count(r"\toprule") == shown.count(r"\bottomrule") == 4
    assert r"\textbf{" in shown
    assert r"\textsuperscript{*}" in shown
    assert "P-imp@10" in shown
    escaped = nasty.render("latex")
    assert r"\& \% \$ \# \_ \{ \} \textasciitilde{} \textasciicircum{} \textbackslash{}" in escaped
    tables = re.findall(r"\\toprule(.*?)\\bottomrule", escaped, re.DOTALL)
    assert len(tables) == 4
    for table in tables:
        rows = [line for line in table.splitlines() if line.endswith(r" \\")]
        assert len(rows) >= 2
        assert len({re.sub(r"\\&", "", row).count("&") for row in rows}) == 1


def test_csv_has_every_number(result):
    rows = list(csv.DictReader(io.StringIO(result.render("csv"))))
    assert len(rows) == (1 + 3) * 3 * 3
    first, second = rows[0], rows[1]
    assert (first["group"], first["run"], first["name"], first["difference"]) == ("", "retrieved", "NDCG@10", "")
    change = result.whole.changes["reranked", result.measures[0]]
    assert (second["run"], float(second["difference"])) == ("reranked", change.difference)
    assert float(second["p_wilcoxon"]) == change.p_values["wilcoxon"]


def test_csv_survives_any_name(nasty):
    rows = list(csv.DictReader(io.StringIO(nasty.render("csv"))))
    assert {row["run"] for row in rows} == {"baseline", NASTY}
    assert {row["group"] for row in rows} == {"", NASTY}


def test_json_is_whole_and_has_no_nan(result, one_query):
    content = json.loads(result.render("json"), parse_constant=pytest.fail)
    assert [run["name"] for run in content["runs"]] == ["retrieved", "reranked", "same"]
    assert content["measures"][1] == {
        "name": "MAP@10",
        "measure": "GWAP@10",
        "definition": "Average precision in which a relevant document counts by its grade",
        "signature": str(result.signatures[result.measures[1]]),
    }
    assert len(content["all"]["changes"]) == 6
    assert [table["group"] for table in content["groups"]] == ["0", "1", "2"]
    lonely = json.loads(one_query.render("json"), parse_constant=pytest.fail)["all"]["changes"][0]
    assert lonely["difference"] == 0.5
    assert [lonely[key] for key in ("interval", "p", "p_adjusted", "effect_size", "detectable")] == [None] * 5


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_stands_one_query_and_nasty_names(form, one_query, nasty):
    assert one_query.render(form)
    assert nasty.render(form)


def test_the_page_is_well_formed_and_needs_no_network(result, nasty):
    for comparison in (result, nasty):
        page = parsed(comparison.render("html"))
        assert len(page.scripts) == 2
        assert page.addresses == ["data:,"]
        assert "http" not in re.sub(r"http-equiv", "", comparison.render("html"))
    content = json.loads(parsed(nasty.render("html")).scripts[0])
    assert content["names"] == ["baseline", NASTY]
    assert content["queries"] == [f"{NASTY}{q}_1" for q in range(3)]
    assert any(NASTY in text for text in parsed(nasty.render("html")).text)


def test_sentences_say_what_cannot_be_concluded(one_query):
    assert "nothing can be concluded beyond this query" in words.conclusion(one_query, "r", RR)
    qrels = {f"q{q}": {"a": 1} for q in range(4)}
    before, after = dict.fromkeys(qrels, ("b", "a")), dict.fromkeys(qrels, ("a",))
    few = compare(qrels, before, {"r": after}, "RR", test="wilcoxon")
    # four differences of one sign: p = 2/16 at best
    assert "Only 4 queries differ: with so few this test cannot reach p < 0.05" in words.conclusion(few, "r", RR)
    assert "(smallest possible p = 0.125)" in words.conclusion(few, "r", RR)
    one_better = compare(qrels, before, {"r": {**before, "q0": ["a"]}}, "RR")
    assert "Only 1 query differs: with so few" in words.conclusion(one_better, "r", RR)
    # 3 gains among 40 queries, no loss: t = 0.0375 / (0.1334 / sqrt(40)) = 1.78, p = 0.083
    many = {f"q{q}": {"a": 1} for q in range(40)}
    before = dict.fromkeys(many, ("b", "a"))
    weak = compare(many, before, {"r": {**before, **dict.fromkeys(["q0", "q1", "q2"], ("a",))}}, "RR")
    assert weak.whole.changes["r", RR].p == pytest.approx(0.083, abs=0.001)
    assert "no proof that they are equal: 40 queries show a difference of" in words.conclusion(weak, "r", RR)


@pytest.mark.parametrize("form", ["text", "markdown", "latex", "html"])
def test_a_star_is_explained_where_one_stands(result, one_query, form):
    with_stars, without = result.render(form), one_query.render(form)
    assert "differs from retrieved: paired t-test, Holm over 6 comparisons, p" in with_stars
    assert "differs from" not in without
    assert "no difference from baseline is shown: exact sign-flip test, Holm over 0 comparisons" in without


def test_without_a_correction_no_column_stands_twice():
    qrels = {f"q{n}": {"a": 1} for n in range(30)}
    before = {query_id: ["b", "a"] if place % 4 else ["a"] for place, query_id in enumerate(qrels)}
    plain, holm = (
        compare(qrels, before, {"r": dict.fromkeys(qrels, ("a",))}, "RR", correction=correction)
        for correction in ("none", "holm")
    )
    assert changes_table(holm).heads[5:8] == ["p", "p, Holm", "win/tie/loss"]
    grid = changes_table(plain)
    assert grid.heads[5:7] == ["p", "win/tie/loss"]
    # the star stands at the test that decides
    assert [head for head, cell in zip(grid.heads, grid.cells()[0], strict=True) if cell.marked] == ["p"]
    assert "used" not in plain.render()


def test_a_table_by_a_file_is_headed_by_the_files_name(tmp_path):
    path = tmp_path / "lengths.tsv"
    path.write_text("q1\tshort\nq2\tlong\n")
    qrels = {"q1": {"a": 1}, "q2": {"a": 1}}
    found = compare(qrels, qrels, {"r": qrels}, "RR", groups=str(path))
    assert found.grouped_by == "lengths.tsv"
    assert "\nby lengths.tsv\n" in found.render()
    assert str(tmp_path) not in found.render("html")


def test_an_axis_has_one_way_to_write_numbers(result):
    sides = re.findall(r'<text class="side"[^>]*>([^<]*)<', result.render("html"))
    for high, zero, low in zip(sides[::3], sides[1::3], sides[2::3], strict=True):
        assert (high[0], low[0], zero) == ("+", "-", re.sub(r"\d", "0", high[1:]))
        assert high[1:] == low[1:]
    drawn = differences_plot(result, result.measures[0])
    ticks = re.findall(r'<text class="tick"[^>]*>([^<]*)<', drawn)
    assert len({len(tick.lstrip("+-")) for tick in ticks}) == 1
    assert all(tick[0] in "+-" for tick in ticks if float(tick))


@pytest.mark.parametrize(("runs", "kind", "rows"), [(1, "figures", 1), (2, "figures pairs", 3), (3, "figures", 3)])
def test_figures_fill_the_page(runs, kind, rows):
    qrels = {"q1": {"a": 1}, "q2": {"a": 1}}
    page = compare(qrels, qrels, {f"r{n}": qrels for n in range(runs)}, "RR AP P@1").render("html")
    assert page.count(f'<div class="{kind}">') == rows


def test_an_unknown_format_is_named(result):
    with pytest.raises(ParamError, match="Did you mean markdown"):
        result.render("markdwon")
