"""The fast ways (the compiled part, numpy) against the plain definition: the same ranks, values and messages."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from ir_measures import AP, RR, Bpref, P, R, Rprec, Success, nDCG

import permed_measures
import permed_measures.ranking as ranking_module
from permed_measures import GWAP, Coverage, InputError, RelevanceEvaluator, evaluate
from permed_measures.delegate import MAX_GRADE, delegate, handed
from permed_measures.inputs import as_qrels, compiled_columns, distinct_grades, joined, rankings_of
from permed_measures.measures import DEFINED, STANDARD, arrays
from permed_measures.measures.base import NEEDED_CUTOFF
from permed_measures.ranking import ORDERS, Ranking, Rankings, rank
from tests.conftest import examples, queries
from tests.test_laws import CUTOFFS, variants

try:
    PART = import_module("permed_measures._columns")
except ImportError:
    PART = None
WAYS = ["plain"] if PART is None else ["compiled", "plain"]


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    monkeypatch.setattr(ranking_module, "COLUMNS", PART if request.param == "compiled" else None)


def one_by_one(qrels, run, query_ids, bounds, order):
    depth, cutoff = bounds

    def view(query_id):
        grades = qrels.get(query_id, {})
        if not run.get(query_id):
            return Ranking([], judged=grades.values(), num_ret=0)
        return rank(run[query_id], grades, depth=depth, order=order)

    return Rankings.of([view(query_id) for query_id in query_ids], cutoff)


@st.composite
def several(draw):
    """Qrels and a run of a few queries, some in one of the two only."""
    drawn = draw(st.lists(queries(max_docs=20), min_size=1, max_size=4))
    missing = draw(st.sets(st.sampled_from(["qrels 0", "run 0", "run 1"])))
    qrels = {str(n): grades for n, (grades, _) in enumerate(drawn) if f"qrels {n}" not in missing}
    run = {str(n): scores for n, (_, scores) in enumerate(drawn) if f"run {n}" not in missing}
    return as_qrels(qrels), run, [str(n) for n in range(len(drawn))]


@pytest.mark.parametrize("order", ORDERS)
@given(data=several(), bounds=st.sampled_from([(None, None), (None, 2), (3, 2), (3, 3), (1, 1), (12, 5)]))
@examples(200)
def test_columns_are_what_rank_says(order, data, bounds):
    qrels, run, query_ids = data
    expected = one_by_one(qrels, run, query_ids, bounds, order)
    ways = [arrays.fill(qrels, run, query_ids, bounds, order)]
    if ranking_module.COLUMNS is not None:
        ways.append(compiled_columns(qrels, run, query_ids, bounds, order))
    ties = any(view.ascending is not None for view in expected.views)
    assert ways[0] is not None
    for found in ways:
        if found is None:  # the compiled part leaves ties of 64-bit scores to the plain way
            assert order == "float64"
            assert ties
            continue
        assert found.counts == expected.counts
        for one, other in zip(found.views, expected.views, strict=True):
            assert (one.ranked, one.num_ret) == (other.ranked, other.num_ret)
            assert sorted(one.judged) == sorted(other.judged)
        check_places(found.columns)


@pytest.mark.parametrize("order", ORDERS)
@given(data=several(), bounds=st.sampled_from([(None, None), (3, 2), (12, 5)]))
@examples(100)
def test_one_pass_says_what_checking_and_ranking_say(order, data, bounds):
    checked, run, _ = data
    qrels = dict(checked)
    found = joined(qrels, run, bounds, order)
    if ranking_module.COLUMNS is None:  # nothing compiled is in use, so there is no such pass
        assert found is None
        return
    ranked = PART.columns(
        checked, run, list(qrels), *(-1 if bound is None else bound for bound in bounds), order == "float64"
    )
    grades = {grade for judged in qrels.values() for grade in judged.values()}
    if found is None:  # a grade that is no int, or ties of 64-bit scores
        assert ranked is None or {type(grade) for grade in grades} != {int}
        return
    assert (found[0], distinct_grades(found[0])) == (qrels, grades)
    assert found[1].counts == ranked[6:10]
    assert [column.tobytes() for column in found[1].columns] == list(ranked[:6])


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    "made", ["", "a".strip("a"), "".join([]), b"".decode(), json.loads('""'), str(b"", "utf-8"), "a".partition("b")[1]]
)
def test_an_empty_id_is_refused_wherever_it_comes_from(made):
    """The compiled part takes it for granted that all of these are one object."""
    plain = {"q": {"a": 1}}
    for qrels, run in (
        ({made: {"a": 1}}, plain),
        (plain, {made: {}}),
        ({"q": {made: 1}}, plain),
        (plain, {"q": {made: 1}}),
    ):
        with pytest.raises(InputError, match=r"empty|''"):
            evaluate(qrels, run, "P@1")


@pytest.mark.parametrize("run", [{"q": {"a": 1.0}, "r": "a"}, {"q": {"a": 1.0}, "": {}}, {"q": {"a": 1.0}, 5: {}}])
def test_queries_that_nobody_judged_are_checked_too(run):
    assert joined({"q": {"a": 1}}, run, (None, None)) is None
    with pytest.raises(InputError, match=r"run, query|query id"):
        evaluate({"q": {"a": 1}}, run, "P@1")


def check_places(columns):
    first = 0
    for number in columns.num_judged.tolist():
        rows = range(first, first + number)
        grades, places = columns.grades.tolist(), columns.places.tolist()
        assert sorted(places[row] for row in rows) == [*range(1, number + 1)]
        in_place = sorted(rows, key=places.__getitem__)
        assert [grades[row] for row in in_place] == sorted((grades[row] for row in rows), reverse=True)
        first += number


@pytest.mark.parametrize("measure", [m for m in variants(CUTOFFS) if type(m).expression is not None], ids=str)
@given(data=several())
@examples(30)
def test_the_expression_over_columns_is_the_kernel(measure, data):
    qrels, run, query_ids = data
    kept = as_qrels({q: {d: g for d, g in judged.items() if not measure.refuses(g)} for q, judged in qrels.items()})
    filled = arrays.fill(kept, run, query_ids, (None, None), "float32")
    expected = [measure.value(view) if view.num_ret else 0.0 for view in filled.views]
    assert arrays.values(measure, arrays.ArrayTable(filled.columns)) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_every_measure_with_an_expression_is_among_them():
    tried = {measure.NAME for measure in variants(CUTOFFS) if type(measure).expression is not None}
    assert {"GWAP", "Coverage", "ListAP", "ListNDCG", "nDCG", "RBP"} <= tried <= DEFINED.keys()


@pytest.mark.parametrize("grades", [(1, 2000, 1500), (0.001, 0.005, 0), (2.5, -1, 0.004)])
def test_gains_of_any_size_over_columns(grades):
    qrels = as_qrels({"q": dict(zip("abc", grades, strict=True))})
    filled = arrays.fill(qrels, {"q": {"c": 3.0, "x": 2.5, "b": 2.0, "a": 1.0}}, ["q"], (None, None), "float32")
    for name in ("nDCG", "ListNDCG"):
        measure = type(DEFINED[name])(dcg="exp-log2")
        expected = [measure.value(view) for view in filled.views]
        assert arrays.values(measure, arrays.ArrayTable(filled.columns)) == pytest.approx(expected, rel=1e-12)


def random_data(seed, num_queries, depth, judged, *, ties=False):
    rng = random.Random(seed)
    qrels, run = {}, {}
    for number in range(num_queries):
        docs = [f"d{doc}" for doc in rng.sample(range(10 * depth), depth)]
        run[f"q{number}"] = {doc: float(rng.randrange(20)) if ties else rng.random() for doc in docs}
        qrels[f"q{number}"] = {doc: rng.randrange(3) for doc in rng.sample(docs, min(judged, depth) // 2 + 1)}
        qrels[f"q{number}"] |= {f"x{n}": 1 for n in range(judged // 2)}
    return qrels, run


MIXED = [GWAP @ 10, Coverage @ 5, nDCG(dcg="exp-log2") @ 10, P @ 1, AP, nDCG, RR, Bpref, Rprec, R @ 1000, Success @ 3]
SHAPES = {"short": (60, 10, 10), "long": (12, 700, 20), "judged": (6, 300, 200)}


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_values_and_notes_are_those_of_the_plain_way(shape, ties, monkeypatch):
    qrels, run = random_data(5, *SHAPES[shape], ties=ties)
    del run["q1"]
    run["only"] = {"a": 1.0}
    results = []
    for part in (PART, None):
        monkeypatch.setattr(ranking_module, "COLUMNS", part)
        results += [evaluate(qrels, run, measures, queries="both") for measures in (MIXED, MIXED[:4])]
    monkeypatch.setattr(arrays, "fill", lambda *_: None)
    plain = [evaluate(qrels, run, measures, queries="both") for measures in (MIXED, MIXED[:4])]
    for result, expected in zip(results, plain * 2, strict=True):
        assert result.notes == expected.notes
        for measure, column in expected.columns.items():
            assert result.columns[measure] == pytest.approx(column, rel=1e-12, abs=1e-12), measure


NAMES = {
    "map",
    "ndcg",
    "recall_1000",
    "recip_rank",
    "bpref",
    "Rprec",
    "P",
    "set_F",
    "num_ret",
    "infAP",
    "11pt_avg",
    "Rndcg",
}


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_drop_in_is_pytrec_eval_to_the_last_bit(shape, ties):
    qrels, run = random_data(6, *SHAPES[shape], ties=ties)
    run["unjudged"] = {"a": 1.0}
    qrels["q0"] = dict.fromkeys(qrels["q0"], -1) | {"z": 0}
    for names, level in ((NAMES, 1), ({"map_cut.1,3,10", "ndcg_cut.5", "success.1,5"}, 2)):
        theirs = pytrec_eval.RelevanceEvaluator(qrels, names, level).evaluate(run)
        ours = RelevanceEvaluator(qrels, names, level).evaluate(run)
        assert ours == theirs
        assert list(ours) == list(theirs)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("shape", SHAPES)
def test_standard_measures_are_pytrec_evals_to_the_last_bit(shape):
    qrels, run = random_data(7, *SHAPES[shape])
    names = {AP: "map", nDCG: "ndcg", RR: "recip_rank", Bpref: "bpref", Rprec: "Rprec", R @ 1000: "recall_1000"}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, set(names.values())).evaluate(run)
    ours = evaluate(qrels, run, list(names)).columns
    for measure, name in names.items():
        assert ours[measure] == {query_id: values[name] for query_id, values in theirs.items()}


EXACT = [measure for measure in (*STANDARD.values(), *DEFINED.values()) if type(measure).exact is not None]


def test_the_usual_measures_are_computed_over_columns():
    assert {measure.NAME for measure in EXACT} >= {"AP", "P", "R", "RR", "nDCG", "Bpref", "Rprec", "Success"}


@pytest.mark.parametrize("top", [1, 3, 40])
@pytest.mark.parametrize("measure", EXACT, ids=str)
def test_over_columns_every_bit_is_as_pytrec_eval_has_it(measure, top):
    """It adds in another order than numpy does, and takes logarithms of the C library."""
    rng = random.Random(top)
    params = [{}, {"rel": 2}, {"judged_only": True}, {"cutoff": 3}, {"cutoff": 40}]
    for shape in SHAPES.values():
        qrels, run = random_data(8, *shape, ties=top == 1)
        qrels = {query_id: {doc: rng.randint(0, top) for doc in grades} for query_id, grades in qrels.items()}
        rankings = rankings_of(qrels, run, list(qrels))
        views = [rank(run[query_id], grades) for query_id, grades in qrels.items()]
        table = arrays.ArrayTable(rankings.columns)
        needed = {"cutoff": 5} if measure.SUPPORTED_PARAMS.get("cutoff") is NEEDED_CUTOFF else {}
        for some in params:
            if some.keys() <= measure.SUPPORTED_PARAMS.keys():
                asked = type(measure)(**{**needed, **some})
                assert arrays.values(asked, table, exact=True).tolist() == delegate([asked], views)[0], asked


@pytest.mark.parametrize("batch", [1, 7, 1000])
@pytest.mark.parametrize("step", [1, 0.5])
def test_tables_of_some_queries_and_of_single_rankings_have_the_same_values(batch, step, monkeypatch):
    qrels, run = random_data(9, 40, 30, 12)
    qrels = {query_id: {doc: grade * step for doc, grade in grades.items()} for query_id, grades in qrels.items()}
    qrels |= {"q3": {}, "q39": {}}
    run["q5"] = {}
    lists = {query_id: sorted(scores, key=scores.get, reverse=True) for query_id, scores in run.items()}
    expected = evaluate(qrels, run, MIXED).columns
    monkeypatch.setattr(arrays, "_BATCH", batch)
    for given_run in (run, lists):
        assert evaluate(qrels, given_run, MIXED).columns == expected


@pytest.mark.parametrize("grade", [-1, 0.5, 10_001])
def test_grades_that_the_columns_leave_to_pytrec_eval(grade):
    qrels = {"q": {"a": grade, "b": 1}, "r": {"c": 1, "d": 0}}
    run = {"q": {"b": 3.0, "a": 2.0}, "r": {"d": 2.0, "c": 1.0}}
    assert not arrays.has_grades_up_to(MAX_GRADE, rankings_of(as_qrels(qrels), run, ["q", "r"]))
    assert evaluate(qrels, run, "Bpref").columns[Bpref]["r"] == 0.0  # the only relevant one is below the only other


class Text(str):
    """A string of somebody's own."""

    __slots__ = ()


DOUBTFUL = {
    "numpy's numbers": {"a": np.float32(2.0), "b": np.int64(1)},
    "whole scores": {"a": 2, "b": True},
    "scores beyond floats": {"a": 10**400, "b": -(10**400)},
    "strings of their own": {Text("a"): 2.0, "b": 1.0},
    "NUL and half a surrogate pair": {"a": 2.0, "b": 1.0, "\0": 0.5, "\ud800": 0.25},
    "a list": ["a", "b"],
    "nothing": {},
}


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("name", DOUBTFUL)
def test_what_is_in_doubt_is_settled_by_the_plain_definition(name):
    run = {"q": DOUBTFUL[name], "r": {"x": 1.0, "c": 0.5}}
    result = evaluate({"q": {"b": 1}, "r": {"c": 1.0}}, run, "RR Coverage@1 GWAP(max_rel=1)")
    first = 0 if name == "nothing" else 1 / 2  # b is second, c is second
    assert result.means == {
        RR: pytest.approx((first + 1 / 2) / 2),
        Coverage @ 1: 0.0,
        GWAP(max_rel=1): pytest.approx((first + 1 / 2) / 2),
    }


@pytest.mark.usefixtures("way")
def test_grades_that_are_booleans():
    values = RelevanceEvaluator({"q": {"a": True, "b": False}}, {"map"}).evaluate({"q": {"b": 2.0, "a": 1.0}})
    assert values == {"q": {"map": 1 / 2}}


@pytest.mark.usefixtures("way")
def test_where_no_query_is_asked_for_there_is_no_ranking():
    assert len(rankings_of({"q": {"a": 1}}, {"r": {"a": 1.0}}, [])) == 0


WRONG = {
    "NaN": ({"a": 1.0, "b": float("nan")}, "query 'q', document 'b': the score is NaN"),
    "text": ({"a": 1.0, "b": "0.5"}, "query 'q', document 'b': the score '0.5' is a str"),
    "an id": ({"a": 1.0, 7: 0.5}, "query 'q': the document id 7 is a int"),
    "an empty id": ({"a": 1.0, "": 0.5}, "query 'q': an empty document id"),
}


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("measures", ["GWAP@3", "AP", "P@1"])
@pytest.mark.parametrize("name", WRONG)
def test_errors_are_the_same(name, measures):
    scores, message = WRONG[name]
    with pytest.raises(InputError) as raised:
        evaluate({"q": {"a": 1}, "r": {"a": 1}}, {"r": {"a": 1.0}, "q": scores}, measures)
    assert str(raised.value).startswith(message)


def test_a_small_run_needs_no_numpy():
    code = (
        "import sys; from permed_measures import evaluate;"
        "print(evaluate({'q': {'a': 2, 'b': 1}}, {'q': {'b': 2.0, 'a': 1.0}}, 'GWAP@10 P@1 nDCG').means);"
        "print('numpy' in sys.modules)"
    )
    for plain in ("", "1"):
        environment = {**os.environ, "PERMED_MEASURES_PLAIN": plain}
        shown = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
        )
        assert shown.stdout.startswith("{GWAP@10: 0.75, P@1: 1.0, nDCG: 0.859")  # (1 + 2/log2(3)) / (2 + 1/log2(3))
        assert shown.stdout.endswith("False\n")


@pytest.mark.parametrize("plain", ["", "1"])
def test_it_says_whether_the_compiled_part_is_in_use(plain):
    environment = {**os.environ, "PERMED_MEASURES_PLAIN": plain}
    expected = PART is not None and not plain
    for command in (
        ["-c", "import permed_measures; print(permed_measures.compiled())"],
        ["-m", "permed_measures", "--version"],
    ):
        shown = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=True, env=environment)
        words = {True: ("True", ", with its compiled part"), False: ("False", ", without its compiled part")}[expected]
        assert shown.stdout.strip().endswith(words)


def test_the_compiled_part_is_there_where_its_source_can_be_compiled():
    assert (Path(permed_measures.__file__).parent / "_columns.c").is_file() or PART is not None


NOT_PLAIN = [None, 5, [], {"q": None}, {"q": []}, {5: {"a": 1}}, {"q": {"a": None}}, {"q": {"a": []}}, {"": {"a": 1}}]
NOT_PLAIN += [
    {"q": {}},
    {"q": {"a": 10**400}},
    {"q": {"\0": 1}},
    {"q": {"\ud800": 1}},
    {"q": {"a": -1}},
    {"q": {"a": 11}},
]


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("wrong", NOT_PLAIN)
def test_what_pytrec_eval_must_not_see_is_kept_from_it(wrong):
    assert handed(wrong, 10) is False
    assert handed({"q": {"a": 2, "b": -1}}, 10) is True
    for score in (1, True, float("nan"), "0.5", None, [], 10**400):
        assert handed({"q": {"a": 1.0}, "r": {"b": score}}) is False
    assert handed({"q": {"a": 1.0, "é": float("inf")}}) is True


@pytest.mark.parametrize("wrong", [None, 5, [], {"q": None}, {"q": []}, {5: {}}, {"q": {"a": None}}, {"": {}}])
def test_the_compiled_part_takes_anything(wrong):
    if PART is None:
        return
    plain = {"q": {"a": 1}}
    assert PART.plain_qrels(wrong) is None or wrong == {}
    assert PART.handed(wrong, 10) is False or wrong == {}
    assert PART.columns(wrong, {"q": {"a": 1.0}}, ["q"], -1, -1, False) is None or wrong == {}
    assert PART.columns(plain, wrong, ["q"], -1, -1, False) is None or wrong == {}
    assert PART.columns(plain, {}, wrong, -1, -1, False) is None or wrong in ([], None)
    assert PART.columns(wrong, {"q": {"a": 1.0}}, None, -1, -1, False) is None or wrong == {}
    assert PART.columns(plain, wrong, None, -1, -1, False) is None or wrong == {}
    with pytest.raises(TypeError):
        PART.columns(plain, {}, ["q"], "1", -1, False)


@pytest.mark.parametrize("wrong", [0.5, 2.0, True, 2**53 + 1, 10**400, float("nan"), "1", None])
def test_one_pass_leaves_other_grades_than_ints_to_the_definition(wrong):
    run = {"q": {"a": 2.0, "b": 1.0}}
    assert joined({"q": {"a": 1, "b": wrong}}, run, (None, None)) is None
    assert joined({"q": {"a": 1, "": 1}}, run, (None, None)) is None
    assert (joined({"q": {"a": 1, "b": 2}}, run, (None, None)) is None) == (ranking_module.COLUMNS is None)


def test_rankings_of_a_mapping_that_is_no_dict():
    from types import MappingProxyType

    run = MappingProxyType({"q": MappingProxyType({"a": 1.0, "b": 2.0})})
    found = rankings_of(as_qrels({"q": {"a": 1}}), run, ["q"])
    assert [view.ranked for view in found.views] == [[(2, 1)]]


def test_no_format_depends_on_the_headers_that_the_compiled_part_is_made_with():
    """A length in a format ("y#") needs headers that say how long it is: those of 3.13 do not, and 3.12 asks."""
    for source in Path(permed_measures.__file__).parent.glob("_*.c"):
        calls = re.findall(r"Py(?:_BuildValue|Arg_Parse\w*|Object_CallFunction)\([^;]*;", source.read_text())
        assert calls
        assert not [call for call in calls if re.search(r'"[^"]*#[^"]*"', call)]
