"""Every shape of qrels and runs, and every way in which they can be wrong."""

from __future__ import annotations

from collections import namedtuple
from decimal import Decimal
from fractions import Fraction

import ir_measures
import numpy as np
import pytest
from ir_measures import Qrel, ScoredDoc

from permed_measures import InputError, ParamError, evaluate
from permed_measures.inputs import as_qrels, as_run

QRELS = {"q1": {"a": 2, "b": 1}, "q2": {"c": 1}}
RUN = {"q1": {"b": 0.9, "x": 0.8, "a": 0.7}, "q2": {"x": 0.5, "c": 0.4}}
# GWAP@10: q1 (1/1 · 0.5 + 2/3 · 1.0) / 2, q2 (1/2 · 0.5) / 1
EXPECTED = ((0.5 + 2 / 3) / 2 + 0.25) / 2


def rows(table, kind):
    return [kind(query_id, doc_id, value) for query_id, docs in table.items() for doc_id, value in docs.items()]


def frames(library, ids=str):
    def frame(table, name):
        flat = [(q, d, v) for q, docs in table.items() for d, v in docs.items()]
        return library.DataFrame(
            {"query_id": [ids(q) for q, _, _ in flat], "doc_id": [d for _, d, _ in flat], name: [v for *_, v in flat]}
        )

    return frame(QRELS, "relevance"), frame(RUN, "score")


def test_dicts_and_lists():
    assert evaluate(QRELS, RUN, "GWAP@10")["GWAP@10"] == pytest.approx(EXPECTED)
    as_lists = {"q1": ["b", "x", "a"], "q2": ("x", "c")}
    assert evaluate(QRELS, as_lists, "GWAP@10")["GWAP@10"] == pytest.approx(EXPECTED)


def test_a_list_or_set_of_relevant_documents_has_grade_1():
    assert as_qrels({"q": ["a", "b"], "r": {"c"}}) == {"q": {"a": 1, "b": 1}, "r": {"c": 1}}


def test_named_tuples():
    qrels, run = rows(QRELS, Qrel), rows(RUN, ScoredDoc)
    assert evaluate(qrels, iter(run), "GWAP@10")["GWAP@10"] == pytest.approx(EXPECTED)


@pytest.mark.parametrize("name", ["pandas", "polars"])
def test_frames(name):
    library = pytest.importorskip(name, reason=f"{name} is an extra")
    qrels, run = frames(library)
    assert evaluate(qrels, run, "GWAP@10")["GWAP@10"] == pytest.approx(EXPECTED)


def test_a_lazy_polars_frame_is_collected():
    polars = pytest.importorskip("polars", reason="polars is an extra")
    qrels, run = frames(polars)
    assert evaluate(qrels.lazy(), run.lazy(), "GWAP@10")["GWAP@10"] == pytest.approx(EXPECTED)


@pytest.mark.parametrize("name", ["pandas", "polars"])
def test_whole_number_ids_in_frames_become_strings(name):
    library = pytest.importorskip(name, reason=f"{name} is an extra")
    qrels, run = frames(library, ids=lambda q: int(q[1:]))
    assert evaluate(qrels, {"1": RUN["q1"], "2": RUN["q2"]}, "GWAP@10")["GWAP@10"] == pytest.approx(EXPECTED)
    assert evaluate(qrels, run, "GWAP@10")["GWAP@10"] == pytest.approx(EXPECTED)


def test_pyterrier_column_names():
    pandas = pytest.importorskip("pandas", reason="pandas is an extra")
    qrels = pandas.DataFrame({"qid": ["1"], "docno": ["a"], "label": [2]})
    run = pandas.DataFrame({"qid": ["1"], "docno": ["a"], "score": [0.3], "rank": [0]})
    assert evaluate(qrels, run, "GWAP@10")["GWAP@10"] == 1.0


@pytest.mark.parametrize("ids", [[1.5, 2.0], ["a", None], [float("nan"), "b"], [True, "b"]])
def test_frame_ids_are_strings_or_whole_numbers(ids):
    pandas = pytest.importorskip("pandas", reason="pandas is an extra")
    run = pandas.DataFrame({"query_id": pandas.Series(ids, dtype=object), "doc_id": ["x", "y"], "score": [1.0, 2.0]})
    with pytest.raises(InputError, match=r"run, row [12]: the query_id .* ids are strings or whole numbers"):
        as_run(run)


def test_a_frame_without_a_column_says_what_it_has():
    pandas = pytest.importorskip("pandas", reason="pandas is an extra")
    with pytest.raises(
        InputError, match=r"qrels: no 'doc_id' nor 'docno'.* a qrels frame has; there is 'query_id': .*"
    ):
        as_qrels(pandas.DataFrame({"query_id": ["q"]}))


@pytest.mark.parametrize(
    ("grade", "expected"),
    [
        (2, 2),
        (2.0, 2),
        (7.5, 7.5),
        (np.int64(2), 2),
        (np.float32(0.5), 0.5),
        (True, 1),
        (np.uint8(3), 3),
        (Decimal("1.5"), 1.5),
    ],
)
def test_grades_become_built_in_numbers(grade, expected):
    (found,) = as_qrels({"q": {"a": grade}})["q"].values()
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize("grade", [float("nan"), float("inf"), "2", None, [1], 1j, np.float64("nan")])
def test_a_grade_is_a_finite_number(grade):
    with pytest.raises(InputError, match=r"query 'q', document 'a': the grade .* a grade is a finite number"):
        as_qrels({"q": {"b": 1, "a": grade}})


@pytest.mark.parametrize("make", [as_qrels, as_run])
@pytest.mark.parametrize("query_id", [5, None, ("q",)])
def test_a_query_id_in_a_dict_is_a_string(make, query_id):
    with pytest.raises(InputError, match=r"the query id .* ids are strings, try str\(id\)"):
        make({"p": {"a": 1}, query_id: {"a": 1}})


@pytest.mark.parametrize("make", [as_qrels, as_run])
def test_an_empty_query_id_is_refused(make):
    with pytest.raises(InputError, match="an empty query id"):
        make({"": {"a": 1}})


@pytest.mark.parametrize("doc_id", [5, None])
def test_a_document_id_in_qrels_is_a_string(doc_id):
    with pytest.raises(InputError, match=r"query 'q': the document id .* ids are strings"):
        as_qrels({"q": {"a": 1, doc_id: 1}})


@pytest.mark.parametrize("wrong", [5, None, "a", 2.5])
def test_shapes_that_are_none(wrong):
    with pytest.raises(InputError, match="qrels, query 'q'"):
        as_qrels({"q": wrong})
    with pytest.raises(InputError, match="run, query 'q'"):
        as_run({"q": wrong})


@pytest.mark.parametrize("make", [as_qrels, as_run])
def test_a_shape_we_do_not_know(make):
    with pytest.raises(InputError, match=r"int is not a shape we know; give a dict of dicts"):
        make(5)
    with pytest.raises(InputError, match=r"row 1: 5 has no fields query_id, doc_id"):
        make([5])


def test_a_document_twice():
    twice = [Qrel("q", "a", 1), Qrel("q", "b", 1), Qrel("q", "a", 2)]
    with pytest.raises(InputError, match=r"qrels, row 3: query 'q', document 'a' occurs before"):
        as_qrels(twice)
    with pytest.raises(InputError, match="occurs twice"):
        as_qrels({"q": ["a", "a"]})


def test_named_tuples_with_wrong_ids():
    Row = namedtuple("Row", "query_id doc_id score")  # noqa: PYI024  (any named tuple will do)
    with pytest.raises(InputError, match="the document id 5 is a int"):
        as_run([Row("q", 5, 1.0)])
    with pytest.raises(InputError, match="row 1: the query id 7 is a int"):
        as_run([Row(7, "d", 1.0)])


def test_ir_measures_takes_all_of_them_too():
    from permed_measures import GWAP

    pandas = pytest.importorskip("pandas", reason="pandas is an extra")
    for qrels, run in (
        (QRELS, RUN),
        (rows(QRELS, Qrel), rows(RUN, ScoredDoc)),
        (iter(rows(QRELS, Qrel)), iter(rows(RUN, ScoredDoc))),
        frames(pandas),
    ):
        assert ir_measures.calc_aggregate([GWAP @ 10], qrels, run) == {GWAP @ 10: pytest.approx(EXPECTED)}


NUMPY = tuple(map(int, np.__version__.split(".")[:2]))
NOT_SCORES = {
    "sNaN": Decimal("sNaN"),
    "NaN": Decimal("NaN"),
    "array": np.array([1.0, 2.0]),
    "array of one": np.array([1.0]),
    "empty array": np.array([]),
    "date": np.datetime64("2026-01-01"),
    "duration": np.timedelta64(5, "s"),
    "list": [1],
    "text": "1",
    "bytes": b"1",
    "nothing": None,
    "complex": 1j,
}


@pytest.mark.filterwarnings("ignore:Conversion of an array:DeprecationWarning")  # numpy before 2.4
@pytest.mark.parametrize("others", [0, 200], ids=["short", "long"])
@pytest.mark.parametrize("name", [name for name in NOT_SCORES if name != "array of one" or NUMPY >= (2, 4)])
def test_what_is_no_score_is_named(name, others):
    run = {"q": {**{f"d{n}": float(n) for n in range(others)}, "a": NOT_SCORES[name]}}
    for measure in ("P@5", "GWAP@5", "AP"):
        with pytest.raises(InputError, match=r"^query 'q', document 'a': the score"):
            evaluate({"q": {"a": 1}}, run, measure)


@pytest.mark.parametrize("name", [*NOT_SCORES, "400 digits", "-400 digits", "fraction"])
def test_what_is_no_grade_is_named(name):
    long = {"400 digits": 10**400, "-400 digits": -(10**400), "fraction": Fraction(10**400)}
    grade = {**NOT_SCORES, **long}[name]
    for measure in ("P@5", "nDCG@5", "GWAP(max_rel=2)@5"):
        with pytest.raises(InputError, match=r"^query 'q', document 'a': the grade"):
            evaluate({"q": {"a": grade, "b": 1}}, {"q": {"a": 1.0}}, measure)


@pytest.mark.parametrize("wrong", [[], {}, np.array([1]), 5, None, Decimal("sNaN")], ids=repr)
def test_what_is_no_id_in_a_list_is_named(wrong):
    with pytest.raises(InputError, match=r"^query 'q': the document id .* ids are strings"):
        evaluate({"q": {"a": 1}}, {"q": ["a", wrong]}, "P@5")
    with pytest.raises(InputError, match=r"^query 'q': the document id .* ids are strings"):
        evaluate({"q": ["a", wrong]}, {"q": ["a"]}, "P@5")


@pytest.mark.parametrize("profile", [1, [], {}, b"x", 1.5, object, np.array([1])], ids=repr)
def test_what_is_no_profile_is_refused(profile):
    with pytest.raises(ParamError, match=r"is a \w+; give a name, a \.toml file or a Profile\. .*permed"):
        evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, profile=profile)


@pytest.mark.parametrize("rel", [10_001, 3_000_000_000, 2**63, 10**300])
def test_no_grade_reaches_a_level_that_pytrec_eval_cannot_take(rel):
    names = [f"P(rel={rel})@5", f"RR(rel={rel})@10", f"AP(rel={rel})", f"SetR(rel={rel})", f"Bpref(rel={rel})"]
    found = evaluate({"q": {"a": 1, "b": 10_000}}, {"q": {"a": 2.0, "b": 1.0}}, names)
    assert list(found.means.values()) == [0.0] * len(names)
    found = evaluate({"q": {"a": 1, "b": rel}}, {"q": {"a": 2.0, "b": 1.0}}, names[:2])
    assert list(found.means.values()) == [1 / 5, 1 / 2]


@pytest.mark.parametrize("cutoff", [2**63, 10**30, 10**400])
def test_a_cut_off_that_no_list_has_is_refused(cutoff):
    for name in ("P", "Success", "GWAP"):
        with pytest.raises(ParamError, match="cutoff"):
            evaluate({"q": {"a": 1}}, {"q": {"a": 2.0}}, f"{name}@{cutoff}")
    assert evaluate({"q": {"a": 1}}, {"q": {"a": 2.0}}, "GWAP(max_rel=1)@9223372036854775807").means != {}
