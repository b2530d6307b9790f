"""The document model and its writers: one table, one document, every format."""

from __future__ import annotations

import csv
import io
import json
import math

import pytest

from permed_measures.errors import ParamError
from permed_measures.render import words
from permed_measures.render.document import Cell, Document, Figure, Html, Lines, Section, Table, of_table
from permed_measures.render.html import fragment, html
from permed_measures.render.latex import latex
from permed_measures.render.markdown import markdown
from permed_measures.render.result import FORMATS, Result, written
from permed_measures.render.svg import Scale, axis, row_name
from permed_measures.render.text import table_text, terminal_width, text

TABLE = Table(
    ["run", "MAP", "n"],
    [["a|b", Cell(0.25, best=True), 3], ["检索", Cell(0.125, marked=True), None], ["\x1b[2J", -1e-9, 10]],
    title="30 queries",
    below=["* differs", "x_y"],
)


def test_text_aligns_what_a_terminal_shows():
    shown = text(of_table(TABLE))
    assert shown.split("\n") == [
        "30 queries",
        "",
        "run         MAP    n",
        "-------  -------  --",
        "a|b      0.2500    3",
        "检索     0.1250*   –",  # noqa: RUF001  (an en dash)
        "\\x1b[2J  0.0000   10",
        "",
        "* differs",
        "x_y",
        "",
    ]


def test_markdown_escapes_bolds_and_marks():
    assert markdown(of_table(TABLE)).split("\n") == [
        "**30 queries**",
        "",
        "| run | MAP | n |",
        "| --- | ---: | ---: |",
        "| a\\|b | **0.2500** | 3 |",
        "| 检索 | 0.1250\\* | – |",  # noqa: RUF001  (an en dash)
        "| \\\\x1b\\[2J | 0.0000 | 10 |",
        "",
        "- \\* differs",
        "- x\\_y",
        "",
    ]


def test_latex_has_booktabs_rules_and_notes():
    lines = latex(of_table(TABLE)).split("\n")
    assert lines[1].startswith("% \\usepackage{ctex}")  # of the Chinese run
    assert [lines[0], *lines[2:8]] == [
        "% \\usepackage{booktabs}",
        "\\begin{table}",
        "\\centering",
        "\\caption{30 queries}",
        "\\begin{tabular}{lrr}",
        "\\toprule",
        "run & MAP & n \\\\",
    ]
    assert r"a\textbar{}b & \textbf{0.2500}\phantom{\textsuperscript{*}} & 3 \\" in lines
    assert r"检索 & 0.1250\textsuperscript{*} & -- \\" in lines
    assert r"\textbackslash{}x1b{[}2J & 0.0000\phantom{\textsuperscript{*}} & 10 \\" in lines
    assert lines[-4:] == ["{*} differs \\\\", "x\\_y", "\\end{table}", ""]


def test_programs_get_whole_numbers_and_raw_texts():
    rows = list(csv.reader(io.StringIO(written(of_table(TABLE), "csv"))))
    assert rows[1:] == [["a|b", "0.25", "3"], ["检索", "0.125", ""], ["\x1b[2J", "-1e-09", "10"]]
    records = json.loads(written(of_table(TABLE), "json"))
    assert records[1] == {"run": "检索", "MAP": 0.125, "n": None}
    assert [json.loads(line) for line in written(of_table(TABLE), "jsonl").splitlines()] == records
    assert math.isnan(json.loads(written(of_table(Table(["x"], [[math.nan]])), "json"))[0]["x"])


def test_sections_are_where_they_belong():
    document = Document(
        "T<itle",
        "summary & more",
        [
            Section("Means", [TABLE], name="means"),
            Section("Plots", [Figure("<svg></svg>", "caption", "below"), Html("<i>raw</i>")], on="page"),
            Section("Said", [Lines(["one", "two"], "- ")]),
            Section("Else", [Lines(["text only"], "note: ")], on="text"),
        ],
    )
    plain, marked, page, part = text(document), markdown(document), html(document), fragment(document)
    assert plain.startswith("T<itle\nsummary & more\n\n30 queries\n\nrun ")
    assert plain.endswith("\n\nSaid\n- one\n- two\n\nElse\nnote: text only\n")
    assert marked.startswith("## T\\<itle\n\nsummary & more\n\n**30 queries**\n\n|")
    assert marked.endswith("\n\n**Said**\n\n- one\n- two\n\n**Else**\n\n- note: text only\n")
    assert "<h1>T&lt;itle</h1><p>summary &amp; more</p>" in page
    assert '<section id="means">\n<h2>Means</h2>' in page
    assert "<figcaption>caption</figcaption><svg></svg>" in page
    assert "<i>raw</i>" in page
    assert "text only" not in page
    assert "<figcaption>caption</figcaption><svg></svg>" in part
    assert "<i>raw</i>" in part
    for missing in ("text only", "<script", ":root", "<h1"):
        assert missing not in part


def test_a_script_is_allowed_by_its_hash_only():
    # of the empty text, by sha256sum | base64
    page = html(Document("t", "", [], scripts=[""], texts={"values": "{}"}))
    assert "script-src 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='; " in page
    assert '<script type="application/json" id="values">{}</script>' in page
    assert "script-src" not in html(Document("t", "", []))


def test_texts_flow_below_one_another_where_they_are_too_wide():
    long = " ".join(["word"] * 30)
    table = Table(
        ["value", "what", "who", "empty"], [[0.5, "short", "both", ""], [0.25, long, "second", ""]], flow=True
    )
    assert text(of_table(table)).split("\n") == [
        " value  what · who",
        "0.5000  short · both",
        "0.2500  " + " ".join(["word"] * 22),
        "        " + " ".join(["word"] * 8),
        "        second",
        "",
    ]


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_is_written(form):
    assert written(of_table(TABLE), form)


class _Counts(Result):
    def __init__(self, length):
        self.length = length

    def document(self):
        return of_table(Table(["n"], [[n] for n in range(self.length)], title="counts"))

    def record(self):
        return {"length": self.length}


def test_a_result_needs_its_document_and_its_record_only():
    result = _Counts(3)
    assert json.loads(result.to_json()) == json.loads(result.render("json")) == {"length": 3}
    assert str(result) == "counts\n\nn\n-\n0\n1\n2"
    assert result.to_markdown() == result.render("markdown")
    assert "\\toprule" in result.to_latex()
    assert result.to_html().startswith("<!DOCTYPE html>")
    assert result._repr_html_().count("<tr>") == 4
    assert result.render("csv") == "n\n0\n1\n2\n"
    for kind in ("pandas", "polars"):
        pytest.importorskip(kind, reason=f"{kind} is an extra")
        assert result.to_dataframe(kind)["n"].to_list() == [0, 1, 2]
    with pytest.raises(ParamError, match="Did you mean markdown"):
        result.render("markdwon")


def test_a_repr_is_short():
    assert repr(_Counts(16)) == str(_Counts(16))  # 2 lines of title, 2 of heads
    lines = repr(_Counts(17)).splitlines()
    assert len(lines) == 20
    assert lines[-1] == "… and 2 lines more: print() shows them"


def test_words():
    assert (words.number(None), words.number(0.5), words.number(0.5, 6)) == ("–", "0.5000", "0.500000")  # noqa: RUF001
    assert (words.signed(-0.00001), words.signed(0.5), words.signed(None)) == ("0.0000", "+0.5000", "–")  # noqa: RUF001
    assert (words.percent(0.1234), words.percent(-1e-9)) == ("+12.3%", "0.0%")
    assert (words.p_value(0.0), words.p_is(0.00001), words.p_is(0.02)) == ("<0.0001", "p < 0.0001", "p = 0.0200")
    assert (words.queries(1), words.queries(1234), words.counted(1, "call")) == ("1 query", "1,234 queries", "1 call")


def test_ticks_are_round_and_within():
    for low, high in ((0.0, 1.0), (0.8281, 0.8629), (-0.102, 0.05), (0.5, 0.5), (1e-7, 3e-7), (-0.04, 0.04)):
        scale = Scale.around([low, high], 0, 100)
        assert 3 <= len(scale.ticks()) <= 9
        assert all(scale.low <= tick <= scale.high for tick in scale.ticks())
    assert Scale(0.7, 300.0, 0, 100, is_log=True).ticks() == [1, 2, 5, 10, 20, 50, 100, 200]
    assert Scale(0.7, 3000.0, 0, 100, is_log=True).ticks() == [1, 10, 100, 1000]
    assert Scale(1.0, 100.0, 0, 100, is_log=True)(10.0) == pytest.approx(50)
    assert Scale.around([0.01, 1.0], 0, 100, floor=0.0).low == 0.0


def test_an_axis_and_a_name():
    drawn = axis(Scale(-1.0, 1.0, 0, 100), 8, 50, words.signed)
    assert [part for part in drawn if part.startswith("<text")] == [
        '<text class="tick" x="0.0" y="66.0">-1.0</text>',
        '<text class="tick" x="50.0" y="66.0">0.0</text>',
        '<text class="tick" x="100.0" y="66.0">+1.0</text>',
    ]
    assert "<title>&lt;abcdef</title>" in row_name("<abcdef", 10, 5, longest=4)
    assert ">&lt;ab…<" in row_name("<abcdef", 10, 5, longest=4)


def test_no_table_is_wider_than_a_terminal():
    long, chinese = "a description that goes on and on " * 6, "去掉顺序记忆" * 20
    rows = [["run", long, *[0.5] * 20], ["another" * 9, chinese, *[0.25] * 20]]
    table = Table(["run", "description", *(f"measure {n}" for n in range(20))], rows, left=2, below=[long])
    lines = table_text(table).splitlines()
    assert max(map(terminal_width, lines)) <= 120
    shown = " ".join(" ".join(lines).split())
    assert all(f"measure {n}" in shown for n in range(20))
    assert shown.count("0.5000") == shown.count("0.2500") == 20
    assert "".join(shown.split()).count("顺") >= 20
