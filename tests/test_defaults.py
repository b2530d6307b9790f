"""Defaults that may mislead are said: in notes, in definitions, in descriptions; the same for files and for tables."""

from __future__ import annotations

import polars as pl
import pytest

from permed_measures import GWAP, evaluate, load_profile
from permed_measures.cli import main
from permed_measures.measures import parse
from permed_measures.measures.definitions import definition, formula
from permed_measures.profiles import PROFILES

BINARY = {"q": {"a": 1, "b": 1}}
PERFECT = {"q": {"a": 2.0, "b": 1.0}}
THRESHOLD = "relevant means grade >= 1 wherever a measure does not say otherwise: grades go up to"


@pytest.fixture
def tool(capsys):
    """Run the tool; return its output and errors."""

    def run(*arguments):
        with pytest.raises(SystemExit) as end:
            main(list(arguments))
        assert not end.value.code
        captured = capsys.readouterr()
        return captured.out, captured.err

    return run


def notes(qrels, measures=None, run=PERFECT, **options):
    return evaluate(qrels, run, measures, **options).notes


def test_gwap_says_that_no_grade_reaches_its_scale():
    result = evaluate(BINARY, PERFECT, profile="permed")
    assert result["MAP@10"] == 0.5
    (note,) = result.notes
    assert note.startswith(
        "no grade reaches max_rel=2 of GWAP@10: the highest is 1, and a perfect ranking scores at most 0.5"
    )
    assert note.endswith("write GWAP(max_rel=1)@10")
    assert evaluate(BINARY, PERFECT, "GWAP(max_rel=1)@10")["GWAP(max_rel=1)@10"] == 1.0


@pytest.mark.parametrize(
    "measure", ["GWAP(max_rel=1)@10", "GWAP(max_rel=2)@10", "GWAP(weights={1:1.0})", "GWAP(norm='ideal')", "AP@10"]
)
def test_gwap_says_nothing_where_the_scale_was_given_or_does_not_matter(measure):
    assert notes(BINARY, measure) == []


def test_gwap_says_nothing_where_a_grade_reaches_its_scale_or_nothing_is_relevant():
    assert notes({"q": {"a": 2, "b": 1}}, "GWAP@10") == []
    assert not any("max_rel" in note for note in notes({"q": {"a": 0, "b": 0}}, "GWAP@10"))


def test_the_binary_profile_gives_a_perfect_ranking_1():
    result = evaluate(BINARY, PERFECT, profile="binary")
    assert set(result.means.values()) == {1.0}
    assert result.notes == []
    half = evaluate({"q": {"a": 1, "z": 1}}, PERFECT, profile="binary")
    assert (half["MAP@10"], half["Recall@10"], half["MRR"]) == (1 / 2, 1 / 2, 1.0)  # over all relevant documents


@pytest.mark.parametrize("highest", [1, 2, 10, 7.5])
def test_llm_judged_always_states_its_threshold(highest):
    qrels = {"q": {"a": highest, "b": 1}}
    (note,) = notes(qrels, profile="llm-judged")
    assert note.startswith(
        f"{THRESHOLD} {highest if highest > 2 else 10:g}, and no threshold was given (min_relevance;"
    )
    (note,) = notes(qrels, profile="llm-judged", min_relevance=1)
    assert note.startswith("relevant means grade >= 1 (min_relevance)")


def test_a_threshold_that_was_not_given_is_said_on_long_scales():
    qrels = {"q": {"a": 3, "b": 1}}
    assert [THRESHOLD in note for note in notes(qrels, "P@1 nDCG@10")] == [True]
    assert notes(qrels, "nDCG@10 P(rel=1)@1 GWAP(rel=2,max_rel=3)") == []  # no threshold, or a given one
    assert notes({"q": {"a": 2, "b": 1}}, "P@1") == []


def test_the_top_of_the_scale_is_read_and_written(tmp_path):
    path = tmp_path / "p.toml"
    path.write_text(PROFILES["llm-judged"].to_toml())
    assert load_profile(path) == PROFILES["llm-judged"]
    assert any(THRESHOLD in note for note in notes(BINARY, profile=path))
    path.write_text('top_grade = "10"\n[[measures]]\nmeasure = "AP"\n')
    with pytest.raises(ValueError, match="top_grade='10' is not allowed; give a number"):
        load_profile(path)


@pytest.mark.parametrize(
    ("measures", "fate"),
    [
        ("AP P@3", "count as not relevant"),
        ("AP(judged_only=True) Bpref", "are left out of the lists"),
        ("AP(judged_only=True) P@3", "count as not relevant, except for AP(judged_only=True): there they are left out"),
    ],
)
def test_what_becomes_of_unjudged_documents(measures, fate):
    (note,) = notes(BINARY, measures, run={"q": ["a", "x", "b"]})
    assert f"are unjudged and {fate}" in note


@pytest.mark.parametrize(
    ("qrels", "options"),
    [
        (BINARY, ["--profile", "permed"]),
        ({"q": {"a": 9, "b": 1}}, ["--profile", "llm-judged"]),
        (BINARY, ["--profile", "llm-judged"]),
        ({"q": {"a": 3.5, "b": 1}}, ["-m", "P@1"]),
        (BINARY, ["-m", "AP(judged_only=True) P(rel=1)@1", "--min-relevance", "2"]),
    ],
    ids=str,
)
def test_engines_have_the_same_notes(tool, tmp_path, qrels, options):
    run = {"q": {"a": 2.0, "x": 1.5, "b": 1.0}}
    for name, grid, value in (("qrels", qrels, "relevance"), ("run", run, "score")):
        rows = [(query_id, *pair) for query_id, of_query in grid.items() for pair in of_query.items()]
        pl.DataFrame(rows, schema=["query_id", "doc_id", value], orient="row").write_parquet(
            tmp_path / f"{name}.parquet"
        )
    paths = [str(tmp_path / "qrels.parquet"), str(tmp_path / "run.parquet")]
    _, err = tool("eval", *paths, "--engine", "polars", *options)
    given = dict(zip(options[::2], options[1::2], strict=True))
    names = {"--profile": "profile", "-m": "measures", "--min-relevance": "min_relevance"}
    asked = {names[option]: int(value) if option == "--min-relevance" else value for option, value in given.items()}
    wanted = evaluate(qrels, run, asked.pop("measures", None), **asked).notes
    said = [line.removeprefix("note: ") for line in err.splitlines()]
    assert [note for note in said if "without a document" not in note] == [n for n in wanted if "without" not in n]
    assert any("grade" in note for note in said)


def test_definitions_name_the_gain():
    assert definition(parse("nDCG@10")).endswith("; the gain is the grade (linear)")
    assert definition(parse("nDCG(dcg='exp-log2')@10")).endswith("; the gain is 2^grade - 1 (exponential)")
    assert definition(parse("list_ndcg_exp@3")).endswith("; the gain is 2^grade - 1 (exponential)")
    assert definition(parse("nDCG(gains={1:2})")).endswith("(linear), after gains is applied to it")
    assert ";" not in definition(GWAP)


def test_the_formula_of_ndcg_is_that_of_its_default(tool):
    shown = tool("measures", "ndcg")[0]
    assert "DCG = Σ[i ≤ k] gᵢ/log₂ (i + 1)" in shown
    assert "with dcg='exp-log2' it is 2^g - 1 (exponential)" in " ".join(shown.split())


def test_set_f_says_that_beta_is_not_squared(tool):
    assert formula(parse("SetF")) == r"\frac{(1 + \beta) P R}{\beta P + R}"
    assert "beta is not squared" in tool("measures", "SetF")[0]
    assert "(1 + beta) P R / (beta P + R)" in definition(parse("SetF(beta=2.0)"))


def test_coverage_points_to_what_others_call_so(tool):
    shown = " ".join(tool("measures", "Coverage")[0].split())
    assert 'FreshStack and CoverageBench call nugget recall "Coverage", which is ir_measures\' StRecall' in shown
