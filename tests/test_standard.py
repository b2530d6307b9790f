"""A measure is one file, whoever computes it: what is declared there is true, and said once."""

from __future__ import annotations

import inspect

import ir_measures
import polars as pl
import pytest

from permed_measures import GWAP, InputError, evaluate, evaluate_tables, parse
from permed_measures.hosts.ir_measures import PermedProvider
from permed_measures.measures import DEFINED, STANDARD, base, declared
from permed_measures.measures.base import NOT_GIVEN, RankingMeasure, StandardMeasure
from permed_measures.verification import all_params
from permed_measures.verification.references import pytrec_eval, ranx

QRELS, RUN = {"q": {"a": 2, "b": 1, "c": 0}}, {"q": {"c": 3.0, "a": 2.0, "x": 1.0}}
standard = pytest.mark.parametrize("measure", STANDARD.values(), ids=STANDARD)


def examples(measure):
    """Yield ir_measures' measure at a cut-off or a recall, where it has one, and without, where it needs none."""
    at = measure.SUPPORTED_PARAMS.get(measure.AT_PARAM)
    if at is None or not at.required:
        yield measure.HOST_MEASURE
    if at is not None:
        yield measure.HOST_MEASURE @ (10 if at.kind == "int" else 0.1)


def test_there_are_sixteen_and_ndcg():
    assert len(STANDARD) == 16
    assert all(isinstance(measure, StandardMeasure) for measure in STANDARD.values())
    assert not STANDARD.keys() & DEFINED.keys()
    assert DEFINED["nDCG"].asked.name == "ndcg"
    assert declared(ir_measures.nDCG(dcg="exp-log2")).asked is None


@standard
def test_one_file_each(measure):
    folder = inspect.getfile(base).removesuffix("base.py")
    assert inspect.getfile(type(measure)).startswith(folder)
    others = [m for m in {**STANDARD, **DEFINED}.values() if m is not measure]
    assert inspect.getfile(type(measure)) not in {inspect.getfile(type(other)) for other in others}


@standard
def test_the_parameters_are_those_of_ir_measures(measure):
    theirs = measure.HOST_MEASURE.SUPPORTED_PARAMS
    said = {name: info.default for name, info in measure.SUPPORTED_PARAMS.items()}
    known = {name: None if info.default is NOT_GIVEN else info.default for name, info in theirs.items()}
    assert said == {**({} if measure.NOT_CONDENSED else {"judged_only": False}), **known}  # which we give to all


@pytest.mark.parametrize("measure", [*STANDARD.values(), DEFINED["nDCG"]], ids=str)
def test_the_names_are_those_that_the_references_keep_for_themselves(measure):
    """The references have names of their own: if verify read ours, it would confirm whatever we say."""
    for known in examples(measure):
        asked = declared(known).asked
        (trec,), (in_ranx,) = pytrec_eval.REFERENCES, ranx.REFERENCES
        if asked.cut is None:
            assert trec.find(known.NAME, all_params(known)).how == asked.name
        found = in_ranx.find(known.NAME, all_params(known))
        assert (found is not None) == bool(measure.RANX_NAME)
        if found is not None:
            assert found.how == str(known).replace(known.NAME, measure.RANX_NAME)


@standard
def test_people_write_and_get_ir_measures_own(measure):
    for known in examples(measure):
        assert type(parse(str(known))) is type(measure.HOST_MEASURE)
        assert [type(found) for found in evaluate(QRELS, RUN, known).means] == [type(measure.HOST_MEASURE)]
        provider = next(p for p in ir_measures.DefaultPipeline.providers if p.supports(known))
        assert not isinstance(provider, PermedProvider)


def test_a_value_out_of_its_range_is_no_result(monkeypatch):
    monkeypatch.setattr(type(GWAP), "RANGE", (0.0, 0.1))
    with pytest.raises(ArithmeticError, match=r"GWAP@10 has the value 0\.25, outside its range \[0, 0\.1\]"):
        evaluate(QRELS, RUN, "GWAP@10")  # (1/2 · 1) / 2
    monkeypatch.setattr(type(STANDARD["NumRet"]), "RANGE", (0.0, 2.0))
    with pytest.raises(
        ArithmeticError, match=r"measures\.num_ret mend the kernel, declare another RANGE, or let refuses"
    ):
        evaluate(QRELS, RUN, "NumRet")


@pytest.mark.parametrize("values", [[0.5, float("nan")], [float("nan"), 0.5], [1.1], [0.0, -0.1]])
def test_what_is_no_value_is_found_anywhere(values):
    assert GWAP.checked([0.0, 1.0]) == [0.0, 1.0]
    assert GWAP.checked([]) == []
    with pytest.raises(ArithmeticError):
        GWAP.checked(values)


def refusal(ask, *given):
    try:
        ask(*given)
    except InputError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("measure", [GWAP(max_rel=1), GWAP(weights={1: 1.0}), GWAP(weights={1: 1.0}, rel=3)], ids=str)
def test_grades_are_declared_once_for_memory_and_for_engines(measure):
    judged, returned = list(QRELS["q"].items()), list(RUN["q"].items())
    qrels = pl.DataFrame([("q", *row) for row in judged], ["query_id", "doc_id", "relevance"], orient="row")
    run = pl.DataFrame([("q", *row) for row in returned], ["query_id", "doc_id", "score"], orient="row")
    told = [refusal(evaluate, QRELS, RUN, [measure]), refusal(evaluate_tables, qrels, run, [measure])]
    assert "check_grades" not in vars(type(measure))
    if measure["rel"] == 3:  # grade 2 needs no weight
        assert told == ["", ""]
    else:
        assert told[0] == told[1]
        assert "document 'a': grade 2 " in told[0]
    assert not declared(ir_measures.P).refuses(5)
    assert RankingMeasure.takes_all_grades.fget(declared(ir_measures.P))
