"""explain(): values are named, walks add up, reports say what was found."""

from __future__ import annotations

import html.parser
import json
import math
from functools import partial

import pytest

from permed_measures import InputError, ParamError, evaluate, explain
from permed_measures.evaluate.conventions import SHARED, base_of, in_words, parse_about, phrase, ties
from permed_measures.evaluate.conventions.orders import JudgedRun
from permed_measures.explanation import AXES, FAMILIES, TOOLS, Convention
from permed_measures.explanation.tools import tools_in
from permed_measures.explanation.values import Values
from permed_measures.render.text import text

QRELS = {"q": {"a": 2, "b": 1, "c": 0, "d": 1, "e": 2}}
RUN = {"q": {"b": 5.0, "x": 4.0, "a": 3.0, "c": 2.0, "d": 1.0}}  # the worked example of the definitions
SUM = 1 / 1 + 2 / 3 + 3 / 5  # precision at b, a, d
WEIGHTED = 1 / 1 * 0.5 + 2 / 3 * 1.0 + 3 / 5 * 0.5


@pytest.mark.parametrize(
    ("value", "about", "measure"),
    [
        (SUM / 4, "map@10", "AP@10"),
        (SUM / 3, "MAP@10", "ListAP@10"),
        (WEIGHTED / 4, "map_cut_10", "GWAP@10"),
        (WEIGHTED / 3, "map@10", "GWAP(norm='retrieved')@10"),
        (0.4957276125706667, "ndcg@10", "nDCG(dcg='exp-log2')@10"),
        (3 / 4, "recall@10", "R@10"),
        (3 / 10, "precision@10", "P@10"),
        (1.0, "mrr@10", "RR@10"),
    ],
)
def test_a_value_is_named(value, about, measure):
    found = explain(QRELS, RUN, value=value, about=about, decimals=6)
    assert found.matches[0].measure == measure
    assert found.matches[0].value == pytest.approx(value)


@pytest.mark.parametrize(
    ("value", "about", "measure", "tool"),
    [
        ("0.022560", "map@10", "GWAP@10", "PerMed MAP@10"),
        ("0.481973", "map@10", "ListAP@10", "torchmetrics 1.9.0 RetrievalMAP(top_k=10)"),
        ("0.2533", "ndcg@10", "nDCG@10", "trec_eval 9.0.8 ndcg_cut_10"),
        ("0.224979", "ndcg@10", "nDCG(dcg='exp-log2')@10", "gdeval 1.2a ndcg@10"),
    ],
)
def test_values_of_trec_covid_are_named_from_the_value_alone(covid, value, about, measure, tool):
    qrels, runs = covid
    found = explain(qrels, runs["irc_entrez"], value=value, about=about)
    assert [match.measure for match in found.matches] == [measure]
    assert tool in [used.label(10) for used in found.matches[0].tools]
    assert evaluate(qrels, runs["irc_entrez"], measure).means.popitem()[1] == pytest.approx(found.matches[0].value)


def test_a_value_without_a_name_is_found_among_all_families():
    found = explain(QRELS, RUN, value=f"{WEIGHTED / 4:.6f}")
    assert found.matches[0].measure.startswith("GWAP")


def test_matches_are_equal_at_the_stated_decimals_and_plainest_first():
    found = explain(QRELS, RUN, value=0.57, about="map@10")  # SUM / 4 = 0.5667
    assert found.decimals == 2
    assert found.matches[0].measure == "AP@10"
    assert all(abs(match.value - 0.57) <= 0.005 for match in found.matches if not match.truncated)
    costs = [match.convention.cost for match in found.matches if not match.truncated]
    assert costs == sorted(costs)
    for match in found.matches:  # none only adds to another one
        others = [other for other in found.matches if other is not match]
        assert not any(other.convention.deviations() <= match.convention.deviations() for other in others)


def test_a_value_that_was_cut_off_is_told_from_one_that_was_rounded():
    found = explain(QRELS, RUN, value=0.566, about="map@10")  # 0.56666… printed with its decimals cut off
    assert [(m.measure, m.truncated) for m in found.matches[:1]] == [("AP@10", True)]
    assert not explain(QRELS, RUN, value=0.567, about="map@10").matches[0].truncated


def test_percentages_and_decimals_as_written():
    assert explain(QRELS, RUN, value="56.67%", about="map@10").matches[0].measure == "AP@10"
    assert explain(QRELS, RUN, value=56.67, about="map@10").decimals == 4
    assert explain(QRELS, RUN, value="0.5670", about="map@10").decimals == 4


def test_what_is_not_found_names_the_nearest_and_other_cutoffs():
    target = (1 / 1 + 2 / 3) / 4  # AP@3: b and a, not d
    found = explain(QRELS, RUN, value=target, about="map@10", decimals=6)
    assert not found.matches
    assert "AP@3" in [other.measure for other in found.elsewhere]
    distances = [round(abs(near.value - target), 6) for near in found.nearest]
    assert distances == sorted(distances)


def test_values_are_grouped_and_the_plainest_speaks():
    found = explain(QRELS, RUN, about="map@10")
    values = [round(combination.value, 12) for combination in found.combinations]
    assert len(set(values)) == len(values)
    assert found.combinations[0].convention == Convention("map", 10)
    assert sum(c.others + 1 for c in found.combinations) >= found.conventions
    low, high = found.spread
    assert low.value == pytest.approx(min(values))
    assert high.value == pytest.approx(max(values))


def test_tools_that_compute_the_same_stand_with_the_value():
    found = explain(QRELS, RUN, about="map@10")
    used = {tool.tool: c for c in found.combinations for tool in c.tools}
    assert used["sentence-transformers"].value == pytest.approx(SUM / 4)  # min(4, 10)
    assert used["torchmetrics"].value == pytest.approx(SUM / 3)
    assert used["PerMed"].value == pytest.approx(WEIGHTED / 4)


def test_a_walk_toggles_one_convention_at_a_time_and_adds_up():
    walk = explain(QRELS, RUN, a="trec_eval:map_cut_10", b="sklearn:ndcg@10").waterfall
    axes = [step.axis for step in walk.steps]
    assert axes == ["precision", "ties", "family", "ideal"]
    assert axes == [axis for axis in AXES if axis in axes]
    assert walk.values[0] == pytest.approx(SUM / 4)
    at_three = 1 + 2 / math.log2(4) + 1 / math.log2(6)
    best_returned = 2 + 1 / math.log2(3) + 1 / math.log2(4)
    assert walk.values[1] == pytest.approx(at_three / best_returned)
    assert walk.values[0] + math.fsum(step.change for step in walk.steps) == pytest.approx(walk.values[1])
    assert walk.steps[0].before == walk.values[0]
    assert walk.steps[-1].after == walk.values[1]


def test_a_walk_between_measures_and_between_values():
    by_name = explain(QRELS, RUN, a="AP@10", b="GWAP(norm='retrieved')@10").waterfall
    assert [step.axis for step in by_name.steps] == ["weights", "denominator"]
    by_value = explain(QRELS, RUN, a=f"{SUM / 4:.6f}", b=f"{WEIGHTED / 3:.6f}", about="map@10").waterfall
    assert by_value.steps == by_name.steps
    cut = explain(QRELS, RUN, a="nDCG@1", b="nDCG").waterfall
    assert [step.axis for step in cut.steps] == ["cutoff"]


def test_a_walk_shows_the_queries_that_changed_most():
    qrels = {"p": {"a": 1}, "q": {"a": 1}, "r": {"a": 1}}
    run = {"p": ["a", "b"], "q": ["x", "y", "a"], "r": ["a"]}
    walk = explain(qrels, run, a="RR@1", b="RR@10").waterfall
    assert [(moved.query_id, moved.before, moved.after) for moved in walk.moved] == [("q", 0.0, 1 / 3)]
    assert walk.moved[0].share == pytest.approx(1 / 9)
    assert walk.steps[0].changed == 1


def test_a_query_that_leaves_the_mean_counts_as_changed():
    qrels = {"p": {"a": 1}, "q": {"a": 1}}
    walk = explain(qrels, {"p": {"a": 1.0}}, a="trec_eval -c:map", b="trec_eval:map").waterfall
    assert walk.values == (0.5, 1.0)
    assert [tuple(moved) for moved in walk.moved] == [("q", 0.0, None, (1.0 - 0.0) / 2)]
    back = explain(qrels, {"p": {"a": 1.0}}, a="trec_eval:map", b="trec_eval -c:map").waterfall
    assert [tuple(moved) for moved in back.moved] == [("q", None, 0.0, (0.0 - 1.0) / 2)]


def test_ties_are_reported_with_the_best_and_worst_value():
    qrels = {"q": {"a": 1}}
    run = {"q": {"a": 1.0, "b": 1.0, "c": 0.5}}
    ties = explain(qrels, run, about="map@10").ties[0]
    assert (ties.tied, ties.documents, ties.queries) == (2, 3, 1)
    assert (ties.best, ties.worst, ties.expected) == (1.0, 0.5, 0.75)
    assert ties.value == 0.5  # b before a: the greater id
    assert explain(QRELS, RUN, about="map@10").ties[0].tied == 0


def test_the_tie_rule_is_found_from_the_value():
    qrels = {"q": {"a": 1}}
    run = {"q": {"a": 1.0, "b": 1.0, "c": 0.5}}
    assert explain(qrels, run, value=0.75, about="map@10").matches[0].convention.ties == "expected"
    assert explain(qrels, run, value="1.0", about="map@10").matches[0].convention.ties == "input"


def test_near_ties_open_the_precision_axis():
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0 + 1e-12, "b": 1.0}}
    found = explain(qrels, run, value="1.0", about="mrr@10")
    assert found.matches[0].convention.precision == 64
    assert "precision" not in found.closed
    assert "precision" in explain(QRELS, RUN, about="map@10").closed


def test_a_document_that_is_returned_twice_opens_an_axis(tmp_path):
    path = tmp_path / "run.txt"
    path.write_text("q Q0 a 1 3.0 t\nq Q0 a 2 2.0 t\nq Q0 b 3 1.0 t\n")
    found = explain({"q": {"a": 1, "b": 1}}, path, value=(1 + 2 / 3) / 2, about="map@10", decimals=4)
    assert found.matches[0].convention.duplicates == "held"  # a, -, b
    assert "documents returned twice: 1" in found.notes
    highest = explain({"q": {"a": 1, "b": 1}}, path, about="map@10").spread[1]
    assert (highest.value, highest.convention.duplicates) == ((1 + 2 / 2 + 3 / 3) / 2, "each")
    with pytest.raises(InputError, match="line 1"):
        evaluate({"q": {"a": 1}}, path, "AP")
    (tmp_path / "broken.txt").write_text("q Q0 a 1 x t\n")
    with pytest.raises(InputError, match=r"broken\.txt"):
        explain({"q": {"a": 1}}, tmp_path / "broken.txt", about="map@10")


def test_axes_that_cannot_matter_are_left_out_with_the_reason():
    closed = explain(QRELS, RUN, about="map@10").closed
    assert set(closed) == {"duplicates", "precision", "ties", "queries", "empty"}
    opened = explain({**QRELS, "r": {"a": 0}}, {**RUN, "s": {"a": 1.0}}, about="map@10").closed
    assert set(opened) == {"duplicates", "precision", "ties"}


def test_every_choice_and_every_tool_is_said_in_words():
    for family in FAMILIES:
        assert in_words(base_of(family, 10)).startswith(FAMILIES[family].label)
    for axis in SHARED:
        for value in AXES[axis].choices:
            assert phrase(axis, value)
    for tool in TOOLS:
        assert tool.source
        assert tool.checked
        assert tool.convention(10 if tool.is_cut else None).family == tool.family
    named = {tool.tool for tool in TOOLS}
    wanted = {
        "trec_eval",
        "pytrec_eval",
        "ranx",
        "scikit-learn",
        "torchmetrics",
        "sentence-transformers",
        "BEIR",
        "MTEB",
    }
    assert named >= {*wanted, "gdeval", "LightGBM"}


def test_the_data_files_name_axes_and_choices_that_there_are():
    assert set(AXES) == set(Convention._fields)
    for family in FAMILIES.values():
        assert set(family.axes) <= set(AXES) - set(SHARED)
        assert set(family.denominators) <= set(AXES["denominator"].choices)
        assert ("denominator" in family.axes) == (len(family.denominators) > 1)
    for axis in (*SHARED, "gain", "ideal", "levels", "denominator"):
        plain, *others = (choice.cost for choice in AXES[axis].choices.values())
        assert plain == 0
        assert axis == "denominator" or all(cost > 0 for cost in others)
    aliases = [alias for family in FAMILIES.values() for alias in (family.name, *family.aliases)]
    assert len(set(aliases)) == len(aliases)
    for tool in TOOLS:
        for axis, choice in tool.settings.items():
            assert axis in (*FAMILIES[tool.family].axes, *SHARED), f"{tool.release} {tool.name}: no axis {axis}"
            assert choice in AXES[axis].choices or axis in ("threshold", "weights"), f"{tool.release}: {axis}={choice}"


ENTRY = {"tool": "t", "version": "1", "source": "s", "checked": "by definition"}


def test_an_entry_of_a_tool_is_read_as_it_is_written():
    own = {"family": "ndcg", "gain": "binary", "remark": "its own"}
    entries = [
        {**ENTRY, "settings": {"ties": "input", "ideal": "returned"}, "measures": {"MAP": "map", "N@{k}": own}},
        {**ENTRY, "tool": "u", "aliases": ["v"], "measures": "t"},
    ]
    first, second, third, fourth = tools_in(entries)
    assert (first.settings, second.settings) == (
        {"ties": "input"},
        {"ties": "input", "ideal": "returned", "gain": "binary"},
    )
    assert (first.remark, second.remark, second.is_cut) == ("", "its own", True)
    assert (third.label(None), fourth.settings, fourth.aliases) == ("u 1 MAP", {"gain": "binary"}, ("v",))
    with pytest.raises(TypeError, match="sorce"):
        list(tools_in([{**ENTRY, "sorce": "s", "measures": {"MAP": "map"}}]))
    with pytest.raises(KeyError, match="mapp"):
        list(tools_in([{**ENTRY, "measures": {"MAP": "mapp"}}]))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "say what it is about"),
        ({"about": "mapp@10"}, "Did you mean map"),
        ({"about": "precision"}, "precision needs a cut-off"),
        ({"value": "x", "about": "map"}, "'x' is not a number"),
        ({"value": -1, "about": "map"}, "not allowed"),
        ({"value": 0.5, "about": "map", "decimals": -1}, "decimals=-1"),
        ({"a": "AP"}, "two ends"),
        ({"a": "AP", "b": "RR", "value": 0.5}, "either a value"),
        ({"a": "0.5", "b": "AP"}, "say what it is about"),
        ({"a": "0.123456", "b": "AP", "about": "map"}, "no convention of map gives 0.123456; the nearest"),
        ({"a": "rank:map", "b": "AP"}, "Did you mean ranx"),
        ({"a": "ranx:bpref", "b": "AP"}, "ranx is known for map@"),
        ({"a": "sklearn:map@10", "b": "AP"}, "no average precision of scikit-learn"),
        ({"a": "Bpref", "b": "AP"}, "Bpref cannot be explained"),
        ({"a": "GWAP(weights={1: 0.3, 2: 1.0})", "b": "AP"}, "not an axis of explain"),
    ],
)
def test_what_is_wrong_is_said(options, said):
    with pytest.raises(ParamError) as error:
        explain(QRELS, RUN, **options)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("qrels", "run", "said"),
    [
        ({}, {}, "no query"),
        (QRELS, {"q": {"a": float("nan")}}, "NaN"),
        (QRELS, {"q": {"a": "0.5"}}, "a str"),
        (QRELS, {"q": {1: 0.5}}, "ids are strings"),
    ],
)
def test_a_wrong_input_is_said(qrels, run, said):
    with pytest.raises(InputError) as error:
        explain(qrels, run, about="map@10")
    assert said in str(error.value)


def test_nothing_relevant_and_nothing_returned():
    found = explain({"q": {"a": 0}}, {"q": {}}, value=0, about="ndcg@10")
    assert found.matches[0].measure == "nDCG@10"
    assert explain({"q": {}}, {"q": {"a": 1.0}}, about="map@10").combinations[0].value == 0.0


def test_too_many_selections_leave_a_value_out_instead_of_guessing(monkeypatch):
    monkeypatch.setattr(ties, "MOST_SELECTIONS", 1)
    qrels = {"q": {"a": 2, "b": 1}}
    values = Values(JudgedRun(qrels, {"q": dict.fromkeys("abcd", 1.0)}, 2))
    assert math.isnan(values.mean(Convention("ndcg", 2, ideal="top", ties="expected")))
    assert values.mean(Convention("ndcg", 2, ties="expected")) > 0  # a closed form
    means = [mean for _, mean in values.family("ndcg")]
    assert not any(math.isnan(mean) for mean in means)


def test_spellings_of_a_name():
    assert parse_about("nDCG@10") == ("ndcg", 10)
    assert parse_about("Success_1") == ("hit", 1)
    assert parse_about("accuracy@3") == ("hit", 3)
    assert parse_about("map_at_10") == parse_about("AP@10") == ("map", 10)


def shown(**options):
    return explain({**QRELS, "r": {"a|b": 1}}, {**RUN, "r": {"a|b": 1.0, "c": 1.0}}, **options)


@pytest.mark.parametrize(
    "options",
    [
        {"value": 0.7833, "about": "map@10"},
        {"value": 0.1234, "about": "map@10"},
        {"about": "ndcg@10"},
        {"a": "trec_eval:map_cut_10", "b": "LightGBM:ndcg@10"},
    ],
)
def test_reports_hold_the_same_in_every_format(options):
    found = shown(**options)
    plain, tables, page = str(found), found.to_markdown(), found.to_html()
    record = json.loads(found.to_json())
    for value in (found.spread[0].value, found.spread[1].value):
        for report in (plain, tables, page):
            assert f"{value:.6f}" in report
    assert len(record["combinations"]) == len(found.combinations)
    assert len(plain.splitlines()) < len(text(found.document(all_values=True)).splitlines())
    assert all(len(line) <= 125 or line.startswith("note:") for line in plain.splitlines())
    widths = {}
    for block in tables.split("\n\n"):
        if block.startswith("|"):
            widths[block] = {line.replace("\\|", "").count("|") for line in block.splitlines()}
    assert all(len(width) == 1 for width in widths.values())


class Page(html.parser.HTMLParser):
    """Counts what opens and closes."""

    VOID = ("meta", "link", "br")

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.loaded = [], [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.loaded += [value for name, value in attrs if name in ("src", "href") and value != "data:,"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):  # noqa: ARG002  (the signature of the base class)
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_whole_needs_nothing_and_draws_the_walk():
    walk = shown(a="trec_eval:map_cut_10", b="sklearn:ndcg@10")
    page = Page()
    page.feed(walk.to_html())
    assert not page.open
    assert not page.loaded
    assert page.seen.count("rect") == len(walk.waterfall.steps) + 2  # A, every toggle, B
    assert 100 < page.seen.count("circle") < len(walk.combinations)  # of those at one place, one
    assert all(html.escape(c.used_by) in walk.to_html() for c in walk.combinations if c.tools)


def test_ids_are_escaped_in_the_page():
    qrels = {"<b>": {"a": 1}}
    page = explain(qrels, {"<b>": ["x", "a"]}, a="RR@1", b="RR@10").to_html()
    assert "<b></td>" not in page
    assert "&lt;b&gt;" in page


@pytest.fixture
def tool(tmp_path, monkeypatch, shell):
    """Run the tool beside two files; return exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    lines = [f"q 0 {doc_id} {grade}\n" for doc_id, grade in QRELS["q"].items()]
    (tmp_path / "qrels.txt").write_text("".join(lines))
    rows = [f"q Q0 {doc_id} {rank} {score} t\n" for rank, (doc_id, score) in enumerate(RUN["q"].items(), 1)]
    (tmp_path / "run.txt").write_text("".join(rows))

    return partial(shell, "explain", "qrels.txt", "run.txt")


def test_the_command_names_a_value(tool):
    code, out, _ = tool("--value", "0.3667", "--about", "map@10")
    assert code == 0
    assert "evaluate(qrels, run, 'GWAP@10')" in out
    assert "PerMed MAP@10" in out
    assert "0.366667" in out


def test_the_command_writes_every_format(tool, tmp_path):
    code, out, _ = tool("--about", "map@10", "--conventions", "--format", "json", "--html", "page.html")
    assert code == 0
    assert json.loads(out)["spread"]["highest"]["value"] >= SUM / 3
    assert (tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")
    code, out, _ = tool("--about", "map@10", "--conventions", "--format", "markdown", "-o", "table.md")
    assert (code, out) == (0, "")
    assert "| value | change | convention | measure | used by |" in (tmp_path / "table.md").read_text()
    code, out, _ = tool("--a", "trec_eval:map_cut_10", "--b", "ListAP@10")
    assert code == 0
    words = " ".join(out.split())
    assert "divided by all judged relevant documents → divided by the relevant documents in the top k" in words


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "--conventions with --about"),
        (["--conventions"], "say what it is about"),
        (["--conventions", "--value", "0.5"], "leave --value"),
        (["--value", "0.5", "--about", "mapp"], "no family of that name"),
    ],
)
def test_the_command_says_what_is_wrong(tool, arguments, said):
    code, _, error = tool(*arguments)
    assert code == 2
    assert said in error


def test_a_dcg_that_is_not_normalised_and_the_discount_of_2002():
    qrels, run = {"q": {"a": 3, "b": 2, "c": 3}}, {"q": ["a", "b", "c"]}
    at_most_one = 3 / 1 + 2 / math.log2(3) + 3 / math.log2(4)  # 5.7619
    by_2002 = 3 + 2 / 1 + 3 / math.log2(3)  # 6.8928
    found = explain(qrels, run, value=f"{at_most_one:.4f}", about="dcg@10")
    assert (found.value, found.matches[0].words) == (
        pytest.approx(at_most_one, abs=1e-4),
        "DCG at 10, gain = grade",
    )
    found = explain(qrels, run, value=f"{by_2002:.4f}", about="dcg@10")
    assert found.matches[0].words == "DCG at 10, gain = grade, discount = log2(rank), none at ranks 1 and 2"
    assert [tool.tool for tool in found.matches[0].tools] == ["Järvelin and Kekäläinen 2002"]
    best = 3 + 3 / 1 + 2 / math.log2(3)
    found = explain(qrels, run, value=by_2002 / best, about="ndcg@10", decimals=6)
    assert "Järvelin and Kekäläinen 2002" in found.matches[0].used_by
    assert found.matches[0].measure is None  # no measure of ours computes it
    assert explain(qrels, run, value="53.6%", about="dcg@10").value == pytest.approx(0.536)
    for about in (None, "ndcg@10"):  # above 1, and no percentage that anything gives
        found = explain(qrels, run, value=f"{by_2002:.4f}", about=about)
        assert (found.value, found.matches[0].convention.family) == (pytest.approx(by_2002, abs=1e-4), "dcg")
