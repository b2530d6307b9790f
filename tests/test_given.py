"""What the user wrote is kept: a parameter that was given, also where it says the default."""

from __future__ import annotations

import copy
import pickle

import ir_measures
import polars as pl
import pytest

from permed_measures import (
    GWAP,
    ParamError,
    RelevanceEvaluator,
    compare,
    evaluate,
    evaluate_tables,
    load_profile,
    parse,
)
from permed_measures.delegate import delegates
from permed_measures.gating import gate
from permed_measures.measures import DEFINED
from permed_measures.measures.base import takes_threshold, written
from permed_measures.tables import known_measures, to_sql
from permed_measures.verification import verify
from permed_measures.verification.references import REFERENCES, Computation, Reference

QRELS = {"p": {"a": 1, "b": 2, "c": 0, "d": 2, "e": 1, "f": 1}, "q": {"a": 2, "g": 1}, "r": {"h": 1}}
RUN = {"p": {"c": 9.0, "a": 8.0, "x": 7.0, "b": 6.0, "e": 5.0}, "q": {"g": 2.0, "x": 1.5, "a": 1.0}, "r": {"h": 1.0}}


def with_rel():
    """Every measure that min_relevance may give a rel to, ours and pytrec_eval's, at a cut-off that it needs or has."""
    known = {
        **{name: measure for name, measure in ir_measures.measures.registry.items() if delegates(measure)},
        **DEFINED,
    }
    for measure in dict.fromkeys(known.values()):
        if takes_threshold(measure):
            at = measure.SUPPORTED_PARAMS.get(measure.AT_PARAM)
            yield measure if at is None else measure @ (2 if measure.AT_PARAM == "cutoff" else 0.5)


every = pytest.mark.parametrize("measure", list(with_rel()), ids=str)


def test_the_law_is_about_all_that_have_a_rel():
    names = {measure.NAME for measure in with_rel()}
    ours = {name for name, measure in DEFINED.items() if "rel" in measure.SUPPORTED_PARAMS} - {"RBP"}  # graded without
    assert names >= ours | {
        "P",
        "R",
        "AP",
        "RR",
        "Rprec",
        "Success",
        "Bpref",
        "infAP",
        "IPrec",
        "SetP",
        "SetF",
        "NumRel",
    }


@every
def test_a_given_rel_wins_over_min_relevance(measure):
    wanted = evaluate(QRELS, RUN, measure).columns[measure]
    assert evaluate(QRELS, RUN, measure(rel=1), min_relevance=2).columns[measure] == wanted
    assert evaluate(QRELS, RUN, written(measure(rel=1)), min_relevance=2).columns[measure] == wanted
    assert evaluate(QRELS, RUN, measure, min_relevance=2).columns[measure] != wanted


@every
def test_a_given_rel_wins_over_relevance_level(measure):
    wanted = evaluate(QRELS, RUN, measure).columns[measure]
    found = RelevanceEvaluator(QRELS, [written(measure(rel=1))], relevance_level=2).evaluate(RUN)
    assert {query_id: values[str(measure)] for query_id, values in found.items()} == wanted
    assert RelevanceEvaluator(QRELS, [measure], relevance_level=2).evaluate(RUN) != found


@every
def test_a_given_rel_wins_in_a_toml_profile_and_is_written_again(measure, tmp_path):
    wanted = evaluate(QRELS, RUN, measure).means[measure]
    path = tmp_path / "mine.toml"
    path.write_text(f'min_relevance = 2\n[[measures]]\nmeasure = "{written(measure(rel=1))}"\nname = "x"\n')
    assert evaluate(QRELS, RUN, profile=path)["x"] == wanted
    again = tmp_path / "again.toml"
    again.write_text(load_profile(path).to_toml())
    assert evaluate(QRELS, RUN, profile=again)["x"] == wanted
    assert again.read_text() == load_profile(again).to_toml()


@pytest.mark.parametrize("measure", [m for m in with_rel() if m.NAME in known_measures()], ids=str)
def test_a_given_rel_wins_in_tables(measure):
    qrels = pl.DataFrame(
        [(q, d, g) for q, grades in QRELS.items() for d, g in grades.items()],
        schema=["query_id", "doc_id", "relevance"],
        orient="row",
    )
    run = pl.DataFrame(
        [(q, d, s) for q, scores in RUN.items() for d, s in scores.items()],
        schema=["query_id", "doc_id", "score"],
        orient="row",
    )
    wanted = evaluate(QRELS, RUN, measure).columns[measure]
    found = evaluate_tables(qrels, run, measure(rel=1), min_relevance=2)
    assert dict(zip(found["query_id"], found[str(measure)], strict=True)) == pytest.approx(wanted, abs=1e-12)


def test_a_given_rel_wins_in_compare_gate_and_sql():
    other = {"p": {"b": 2.0}, "q": {"a": 1.0}}
    compared = compare(QRELS, RUN, {"other": other}, "GWAP(rel=1)@4", min_relevance=2)
    assert compared.whole.means["baseline", GWAP @ 4].value == evaluate(QRELS, RUN, "GWAP@4")["GWAP@4"]
    checks = gate(QRELS, RUN, ["GWAP(rel=1)@4>0", "P(rel=1)@4>0"], min_relevance=2).checks
    assert [check.value for check in checks] == list(evaluate(QRELS, RUN, "GWAP@4 P@4").means.values())
    assert to_sql("GWAP(rel=1)@4", min_relevance=2) == to_sql("GWAP@4")
    assert to_sql("GWAP@4", min_relevance=2) != to_sql("GWAP@4")


def test_verify_asks_its_references_for_the_given_rel():
    asked = []

    def find(name, params):
        asked.append((name, params["rel"]))
        return Computation(lambda qrels, _: dict.fromkeys(qrels, 0.0), how="nothing")

    verify(QRELS, RUN, "GWAP(rel=1)@4 P@4", min_relevance=2, references={"x": Reference("x", package="", find=find)})
    assert asked == [("GWAP", 1), ("P", 2)]
    by_hand = {"by_hand": REFERENCES["by_hand"]}
    checks = verify(QRELS, RUN, "GWAP(rel=1)@4 Coverage(rel=1)@1", min_relevance=2, references=by_hand).checks
    assert [check.verdict for check in checks] == ["agrees", "agrees"]


@pytest.mark.parametrize("kept", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m)), parse])  # noqa: S301  (our own bytes)
def test_what_was_given_survives_copies(kept):
    for measure in (GWAP(rel=1) @ 4, GWAP(rel=1)(cutoff=4), parse("GWMAP(rel=1)@4"), (GWAP @ 4)(rel=1.0)):
        assert kept(measure).params == {"cutoff": 4, "rel": 1}
        assert (kept(measure)(norm="ideal") @ 2).params == {"cutoff": 2, "rel": 1, "norm": "ideal"}


def test_equality_print_and_names_do_not_see_it():
    assert GWAP(rel=1, max_rel=2) == GWAP
    assert str(GWAP(rel=1) @ 4) == "GWAP@4"
    assert GWAP(rel=1).label == "GW-MAP"
    assert GWAP(rel=None).params == {}


@pytest.mark.parametrize(
    "ask",
    [
        lambda names: evaluate(QRELS, RUN, names, min_relevance=2),
        lambda names: compare(QRELS, RUN, {"x": RUN}, names, min_relevance=2),
        lambda names: RelevanceEvaluator(QRELS, names, relevance_level=2),
        lambda names: gate(QRELS, RUN, [f"{name}>0" for name in names], min_relevance=2),
        lambda names: to_sql(names, min_relevance=2),
    ],
    ids=["evaluate", "compare", "RelevanceEvaluator", "gate", "sql"],
)
@pytest.mark.parametrize("names", [["GWAP@4", "GWAP(rel=1)@4"], ["AP(rel=1)@4", "AP@4"]], ids=str)
def test_two_that_only_min_relevance_parts_are_refused(ask, names):
    name = names[0][: names[0].index("P") + 1]
    with pytest.raises(ParamError, match=rf"write {name}\(rel=2\)@4 for {name}@4"):
        ask(names)


def test_two_that_nothing_parts_are_one():
    assert list(evaluate(QRELS, RUN, "AP AP(rel=1)").means) == [ir_measures.AP]
    assert list(evaluate(QRELS, RUN, "AP AP(rel=1)", min_relevance=1).means) == [ir_measures.AP]
    assert list(evaluate(QRELS, RUN, "AP AP(rel=2) AP(rel=1)").means) == [ir_measures.AP, ir_measures.AP(rel=2)]


def test_a_profile_says_which_two_are_one(tmp_path):
    path = tmp_path / "p.toml"
    path.write_text('[[measures]]\nmeasure = "AP"\nname = "a"\n[[measures]]\nmeasure = "AP(rel=1)"\nname = "b"\n')
    with pytest.raises(ValueError, match=r"'AP' occurs twice; .*AP and AP\(rel=1\) are one"):
        load_profile(path)


def test_the_note_names_what_the_print_hides():
    notes = evaluate(QRELS, RUN, "GWAP(rel=1)@4 P@4", min_relevance=2).notes
    assert any(note.endswith("does not say otherwise, as GWAP(rel=1)@4 does") for note in notes)
