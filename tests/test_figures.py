"""Intervals of means, figures as files of their own, and tables set out for a paper."""

from __future__ import annotations

import math
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from itertools import combinations
from statistics import mean, stdev

import pytest

from permed_measures import compare, evaluate, gate
from permed_measures.errors import HostError, ParamError
from permed_measures.evaluate.report import Evaluations, standing
from permed_measures.render.document import Cell, Document, Section, Table, of_table
from permed_measures.render.figure import Picture, standalone
from permed_measures.render.html import css
from permed_measures.render.latex import latex, table_latex
from permed_measures.render.layout import Layout

scipy_stats = pytest.importorskip("scipy.stats", reason="the paired t-test needs it")

QRELS = {f"{n // 4}_{n % 4}": {"a": 2, "b": 1, "c": 0} for n in range(40)}
BEFORE = {query_id: [*["x", "y", "z"][: place % 4], "a", "b"] for place, query_id in enumerate(QRELS)}
AFTER = {query_id: [*["x", "y"][: place % 3], "b", "a"] for place, query_id in enumerate(QRELS)}
WORST = {query_id: ["x", "y", "z", "c", "b"] for query_id in QRELS}
MEASURES = "RR nDCG@1 nDCG@5 nDCG@10"


@pytest.fixture(scope="module")
def comparison():
    runs = {"after": AFTER, "worst": WORST}
    return compare(QRELS, BEFORE, runs, MEASURES, baseline_name="before", all_pairs=True)


def test_an_interval_is_the_formula_with_two_more_units():
    found = evaluate(QRELS, BEFORE, "RR")
    values = [1 / (place % 4 + 1) for place in range(40)]
    grown = [*values, 0.0, 1.0]  # DECISIONS: k = 1, one unit at each end of the range
    half = float(scipy_stats.t.ppf(0.975, 41)) * stdev(grown) / math.sqrt(42)
    assert found.interval("RR") == pytest.approx((mean(grown) - half, mean(grown) + half), abs=1e-9)
    low, high = found.interval("RR", alpha=0.5)
    assert found.interval("RR")[0] < low < found["RR"] < high


def test_an_interval_is_that_of_compare_clusters_included(comparison):
    found = evaluate(QRELS, AFTER, MEASURES)
    for measure in comparison.measures:
        assert found.interval(measure) == comparison.whole.means["after", measure].interval
    clustered = compare(QRELS, BEFORE, {"after": AFTER}, "RR", cluster="conversation")
    (measure,) = clustered.measures
    assert found.interval("RR", cluster="conversation") == clustered.whole.means["after", measure].interval
    assert found.interval("RR", cluster="conversation") != found.interval("RR")


def test_no_interval_where_there_is_none():
    assert evaluate({"q": {"a": 1}}, {"q": ["a"]}, "RR").interval("RR") is None
    with pytest.raises(ParamError, match="NumRet is not a mean over queries"):
        evaluate(QRELS, BEFORE, "NumRet").interval("NumRet")
    with pytest.raises(KeyError, match="was not evaluated"):
        evaluate(QRELS, BEFORE, "RR").interval("AP")


def test_flat_numbers_have_their_interval_and_n():
    found = evaluate(QRELS, BEFORE, "nDCG@10 NumRet")
    low, high = found.interval("nDCG@10")
    assert found.to_dict(flat=True) == {
        "nDCG_at_10": found["nDCG@10"],
        "nDCG_at_10_queries": 40,
        "nDCG_at_10_low": low,
        "nDCG_at_10_high": high,
        "NumRet": found["NumRet"],
        "NumRet_queries": 40,
    }


def test_flat_comparisons(comparison):
    flat = comparison.to_dict(flat=True)
    change = comparison.whole.changes["after", comparison.measures[0]]
    assert flat["before/RR"] == comparison.whole.means["before", comparison.measures[0]].value
    assert flat["after/RR_difference"] == change.difference
    assert flat["after/RR_difference_p"] == change.p_adjusted
    assert "before/RR_difference" not in flat


def test_who_is_best_and_who_is_second():
    assert standing({"a": 0.5, "b": 0.25, "c": 0.5, "d": 0.1}) == ({"a", "c"}, {"b"})
    assert standing({"a": 0.5, "b": 0.25}) == ({"a"}, set())
    assert standing({"a": 0.5, "b": 0.5, "c": None}) == (set(), set())
    assert standing({}) == (set(), set())


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("plot", ["means", "differences", "wins", "cutoffs"])
def test_a_figure_needs_no_page(comparison, plot, columns):
    svg = comparison.figure(plot, columns=columns).svg
    root = ET.fromstring(svg)  # noqa: S314  (our own)
    assert root.get("width") == {1: "240pt", 2: "495pt"}[columns]
    assert "var(" not in svg
    assert "inherit" not in svg
    style = root.find("{http://www.w3.org/2000/svg}style").text
    assert all(line.startswith(".permed-measures-figure ") for line in style.splitlines())
    used = {word for kind in re.findall(r'class="([^"]+)"', svg) for word in kind.split()}
    styled = {"permed-measures-figure", *re.findall(r"\.([\w-]+)", style)}
    assert used <= styled | {"name"}


def test_a_figure_shows_the_numbers(comparison):
    means = comparison.figure("means", measure="RR").svg
    low, high = comparison.whole.means["after", comparison.measures[0]].interval
    assert f"{low:.4f} to {high:.4f}" in means
    assert "40 queries" in means
    assert "nDCG@5" not in means
    change = comparison.whole.changes["after", comparison.measures[0]]
    wins = comparison.figure("wins", measure="RR").svg
    assert f"after {change.wins}/{change.ties}/{change.losses}" in wins
    assert "worst" not in comparison.figure("differences", run="after").svg
    curves = comparison.figure("cutoffs").svg
    assert curves.count("<polyline") == 3
    assert "after, k = 5" in curves
    for plot in ("means", "differences", "cutoffs"):
        assert "40 queries" in comparison.figure(plot).svg


def test_what_a_figure_cannot_show_is_said(comparison):
    with pytest.raises(ParamError, match="'means', 'differences', 'wins', 'cutoffs'"):
        comparison.figure("pie")
    with pytest.raises(ParamError, match="1 or 2 columns"):
        comparison.figure(columns=3)
    with pytest.raises(ParamError, match="measure 'AP'"):
        comparison.figure(measure="AP")
    with pytest.raises(ParamError, match="no measure at several cut-offs: RR"):
        evaluate(QRELS, BEFORE, "RR").figure("cutoffs")
    with pytest.raises(ParamError, match="needs a baseline"):
        evaluate(QRELS, BEFORE, "RR").figure("wins")
    with pytest.raises(ParamError, match=r"written as \.svg, \.pdf, \.png"):
        Picture("<svg/>").save("figure.jpg")


@pytest.mark.full  # what makes PDF and PNG is an extra of its own
def test_files_of_figures(comparison, tmp_path):
    picture = comparison.figure("means")
    picture.save(tmp_path / "f.svg")
    assert (tmp_path / "f.svg").read_text() == picture.svg
    pytest.importorskip("vl_convert", reason="PDF and PNG need the extra 'figures'")
    picture.save(tmp_path / "f.pdf")
    picture.save(tmp_path / "f.png")
    assert (tmp_path / "f.pdf").read_bytes().startswith(b"%PDF")
    wide = re.search(rb"/MediaBox \[0 0 (\d+)", (tmp_path / "f.pdf").read_bytes())
    assert int(wide[1]) == 240  # points, a column of a paper
    data = (tmp_path / "f.png").read_bytes()
    assert data.startswith(b"\x89PNG")
    assert int.from_bytes(data[16:20], "big") == pytest.approx(240 / 72 * 300, abs=2)  # 300 dots an inch


def test_a_missing_converter_is_named(comparison, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(HostError, match=r"permed-measures\[figures\]"):
        comparison.figure().save(tmp_path / "f.pdf")


# Machado, Oliveira and Fernandes 2009, severity 1.0, on linear RGB
BLINDNESS = {
    "protan": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deutan": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritan": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


def _linear(colour):
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def _lab(rgb):
    r, g, b = (min(1.0, max(0.0, part)) for part in rgb)
    xyz = ((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047, 0.2126 * r + 0.7152 * g + 0.0722 * b)
    xyz += ((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883,)
    x, y, z = (part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116 for part in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def _palettes():
    page, notebook = css("page"), css("notebook")
    light, _, dark = page.partition("@media")
    for name, sheet in (("light", light), ("dark", dark), ("notebook", notebook)):
        colours = dict(re.findall(r"--([\w-]+):\s*(#[0-9a-f]{6});", sheet))
        yield name, [colours[f"run{place}"] for place in range(8)], [colours[kind] for kind in ("win", "loss")]


@pytest.mark.parametrize(("name", "runs", "verdicts"), list(_palettes()))
def test_colours_differ_for_the_colour_blind(name, runs, verdicts):
    for colours in (runs, verdicts):
        for one, other in combinations(colours, 2):
            for kind, matrix in BLINDNESS.items():
                seen = [
                    _lab([sum(a * b for a, b in zip(row, _linear(colour), strict=True)) for row in matrix])
                    for colour in (one, other)
                ]
                assert math.dist(*seen) > 14, (name, kind, one, other)  # CIE 1976; 2.3 can just be told apart


def test_layout_changes_what_people_read_only(comparison):
    plain = comparison.render("text", brief=True)
    layout = Layout("Main results", "tab:main", 3, percent=False, headings={"run": "方法"})
    shown = comparison.render("text", brief=True, layout=layout)
    assert shown.startswith("Main results\n\n方法")
    assert plain.splitlines()[0] in shown.splitlines()  # N, now a note below
    value = comparison.whole.means["before", comparison.measures[0]].value
    assert f"{value:.3f}" in shown
    assert f"{value:.4f}" not in shown
    assert comparison.render("csv", layout=layout) == comparison.render("csv")
    percent = comparison.render("text", layout=Layout(percent=True))
    assert f"{100 * value:.2f}" in percent
    assert "values are in percent" in percent
    change = comparison.whole.changes["after", comparison.measures[0]]
    assert f"{100 * change.interval[0]:+.2f} to {100 * change.interval[1]:+.2f}" in percent
    with pytest.raises(ParamError, match="no table has the heading 'rum'"):
        comparison.to_latex(headings={"rum": "x"})


def test_latex_for_a_paper(comparison):
    made = comparison.to_latex(caption="Main_1", label="tab:main", headings={"run": "方法"})
    assert r"% \usepackage{ctex}" in made
    assert "\\caption{Main\\_1}\n\\label{tab:main}" in made
    assert made.count(r"\label") == 1
    assert "方法 & RR" in made
    assert r"\underline{" in made
    letters = comparison.pairs[comparison.measures[0]].letters["worst"]
    assert rf"\textsuperscript{{*{letters}}}" in made
    assert "systems that share a letter are not separable" in made
    assert r"% \usepackage{ctex}" not in comparison.to_latex()


def test_a_narrow_table_is_as_it_is_and_a_wide_one_fits():
    narrow = table_latex(Table(["run", "P@1"], [["a", 0.5], ["b", Cell(0.25, second=True)]], title="t"))
    assert r"\resizebox" not in narrow
    assert r"\underline{0.2500}" in narrow
    assert r"\begin{table}" in narrow
    wide = latex(of_table(Table(["run", *("measure@10" for _ in range(15))], [["a", *[0.5] * 15]])))
    assert r"\usepackage{graphicx}" in wide
    assert r"\begin{table*}" in wide
    assert r"\scriptsize" in wide
    long = table_latex(Table(["run", "description", "P@1"], [["a", "word " * 30, 0.5]]))
    assert r"{lp{0.3\linewidth}r}" in long


def test_only_the_first_table_has_caption_and_label():
    tables = [Table(["a"], [["b"]], title="one"), Table(["a"], [["b"]], title="two")]
    made = latex(Layout("C", "l").of(Document("", "", [Section("", [table]) for table in tables])))
    assert made.count(r"\caption{C}") == made.count(r"\label{l}") == 1
    assert r"\caption{two}" in made


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"{q} 0 {d} {grade}" for q, judged in QRELS.items() for d, grade in judged.items()]
    (tmp_path / "qrels.txt").write_text("\n".join(lines) + "\n")
    for name, run in (("before", BEFORE), ("after", AFTER), ("worst", WORST)):
        lines = [f"{q} Q0 {d} {place} {-place} x" for q, docs in run.items() for place, d in enumerate(docs, 1)]
        (tmp_path / f"{name}.run").write_text("\n".join(lines) + "\n")
    return tmp_path


@pytest.fixture
def tool(folder, shell):  # noqa: ARG001  (the files are in the current folder)
    return shell


def test_the_shell_gives_intervals_names_and_pages(folder, tool):
    arguments = ["eval", "qrels.txt", "before.run", "after.run", "-m", "RR", "--name", "BM25", "--interval"]
    (folder / "described.tsv").write_text("BM25\tthe first stage\n")
    _, out, err = tool(*arguments, "--describe", "described.tsv", "--html", "page.html")
    low, high = evaluate(QRELS, BEFORE, "RR").interval("RR")
    lines = out.splitlines()
    assert lines[0] == "40 queries"
    assert lines[2].split("  ")[0] == "run"
    assert f"{low:.4f} to {high:.4f}" in lines[4]
    assert lines[4].startswith("BM25   the first stage")
    assert "query ids look like conversation_turn" in err
    page = (folder / "page.html").read_text()
    assert "<svg" in page
    assert f"{low:.4f} to {high:.4f}" in page
    _, out, err = tool(*arguments, "--cluster", "conversation", "--format", "csv")
    clustered = evaluate(QRELS, BEFORE, "RR").interval("RR", cluster="conversation")
    heads, first, _ = (line.split(",") for line in out.splitlines())
    assert heads == ["run", "RR", "RR low", "RR high"]
    assert tuple(map(float, first[2:])) == clustered
    assert "look like" not in err


@pytest.mark.parametrize("command", ["eval", "compare"])
def test_the_shell_sets_out_latex_and_draws(folder, tool, command):
    arguments = [command, "qrels.txt", "before.run", "after.run", "worst.run", "-m", "nDCG@1 nDCG@5"]
    arguments += [
        "--heading",
        "run=方法",
        "--caption",
        "Runs",
        "--label",
        "tab:r",
        "--percent",
        "-p",
        "1",
        "-o",
        "t.tex",
    ]
    assert tool(*arguments, "--figure", "k.svg", "--plot", "cutoffs", "--columns", "2")[0] == 0
    made = (folder / "t.tex").read_text()
    value = 100 * evaluate(QRELS, AFTER, "nDCG@5")["nDCG@5"]
    assert f"{value:.1f}" in made
    assert r"\caption{Runs}" in made
    assert r"\label{tab:r}" in made
    assert "方法 &" in made
    assert (folder / "k.svg").read_text().startswith('<svg class="permed-measures-figure"')


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--figure", "f.gif"], "a figure is written as"),
        (["--heading", "run"], "such as run=method"),
        (["--heading", "rum=x"], "no table has the heading 'rum'"),
        (["--cluster", "conversation"], "--cluster is for intervals"),
        (["--name", "a", "--name", "b"], "give each of the 1 runs one name"),
        (["--figure", "f.svg", "--plot", "wins"], "needs a baseline"),
        (["--describe", "described.tsv"], "is described there, but other"),
    ],
)
def test_what_eval_cannot_do_is_said_and_nothing_is_written(folder, tool, options, said):
    (folder / "described.tsv").write_text("other\ttext\n")
    code, _, err = tool("eval", "qrels.txt", "before.run", "-m", "RR", "-o", "out.txt", *options)
    assert code == 2
    assert said in err
    assert not (folder / "out.txt").exists()
    assert not list(folder.glob("f.*"))


def test_counts_that_differ_are_told():
    fewer = dict(list(BEFORE.items())[:30])
    found = {"all": evaluate(QRELS, BEFORE, "RR"), "fewer": evaluate(QRELS, fewer, "RR", queries="both")}
    shown = Evaluations(found).render()
    assert shown.startswith("30 to 40 queries\n")
    assert "40 queries: RR of all\n30 queries: RR of fewer" in shown


def test_an_interval_needs_no_numpy():
    code = (
        "import sys\nfrom permed_measures import evaluate\n"
        "found = evaluate({'a': {'d': 1}, 'b': {'d': 1}}, {'a': ['d'], 'b': ['x', 'd']}, 'GWAP@10')\n"
        "found.interval('GWAP@10')\nassert 'scipy' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_flat_names_of_any_language_are_kept_apart():
    found = compare(QRELS, BEFORE, {"方法一": BEFORE, "a b": BEFORE, "a+b": BEFORE}, "RR P@5", baseline_name="基线")
    flat = found.to_dict(flat=True)
    assert {key.partition("/")[0] for key in flat} == {"基线", "方法一", "a_b", "a_b_4"}
    assert {key.partition("/")[2] for key in flat if key.startswith("基线")} == {"RR", "P_at_5"}


def test_flat_numbers_of_a_gate_are_named_by_what_is_asked():
    good, bad = (gate(QRELS, BEFORE, ["RR >= 0", bound]).to_dict(flat=True) for bound in ("RR <= 1", "RR <= 0"))
    assert "RR_ge_0/value" in good
    assert {"RR_le_1/value", "RR_le_1/low"} <= good.keys()
    assert {key.replace("le_0", "le_1") for key in bad} == good.keys()  # whatever the verdict


def test_every_measure_is_drawn_and_nothing_is_no_figure():
    found = evaluate(QRELS, BEFORE, "Utility P@5 NumRet")
    svg = found.figure("means").svg
    assert all(name in svg for name in ("Utility", "P@5", "NumRet"))
    with pytest.raises(ParamError, match="nothing to draw"):
        standalone([])


def test_names_that_no_file_can_hold_are_written_out(tmp_path):
    found = compare(QRELS, BEFORE, {"n\x01\udcff": BEFORE}, "RR")
    path = tmp_path / "f.svg"
    found.figure("means").save(path)
    assert "n\\x01\\udcff" in path.read_text(encoding="utf-8")
    assert [file.name for file in tmp_path.iterdir()] == ["f.svg"]
    with pytest.raises(FileNotFoundError):
        found.figure("means").save(tmp_path / "nowhere" / "f.svg")


@pytest.mark.parametrize("alpha", [0, 2, -1, float("nan"), True])
def test_levels_of_intervals(alpha):
    with pytest.raises(ParamError, match="alpha"):
        evaluate(QRELS, BEFORE, "RR").interval("RR", alpha=alpha)


def test_a_mean_is_found_by_any_name_of_its_measure():
    found = evaluate(QRELS, BEFORE, "mrr hit@5")
    assert (found["mrr"], found["RR"], found["hit@5"]) == (found["RR"], found["recip_rank"], found["Success@5"])
    with pytest.raises(KeyError):
        found["P@5"]
