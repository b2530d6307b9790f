"""``ties=``: what becomes of equal scores, against every order counted one by one."""

from __future__ import annotations

import random
from itertools import permutations, product

import pytest

from permed_measures import Evaluation, InputError, ParamError, compare, evaluate
from permed_measures.cli import main
from permed_measures.evaluate.conventions import ties as conventions_ties
from permed_measures.evaluate.conventions.names import readable
from permed_measures.explanation.signatures import read_back
from permed_measures.ranking import TIES
from permed_measures.render.text import text

QRELS = {"q": {"a": 2, "b": 1, "c": 0, "d": 1}, "r": {"a": 1}}
RUN = {"q": {"b": 2.0, "x": 2.0, "a": 2.0, "c": 1.0, "d": 1.0}, "r": {"x": 3.0, "a": 2.0}}
ALL_ORDERS = ("expected", "best", "worst")
READ = {measure.NAME for measure, reads in readable() if reads.family != "iprec"}
MEASURES = {
    "AP": "AP AP@3 AP(rel=2)@4 AP(judged_only=True)@3",
    "Coverage": "Coverage@2",
    "GWAP": "GWAP(max_rel=3) GWAP(max_rel=3)@3 "
    + " ".join(f"GWAP(max_rel=3,norm='{norm}')@3" for norm in ("cutoff", "retrieved", "ideal")),
    "ListAP": "ListAP ListAP@3",
    "ListNDCG": "ListNDCG@3 ListNDCG(dcg='exp-log2')",
    "P": "P@1 P@3 P(judged_only=True)@2",
    "R": "R@3 R(rel=2)@2",
    "RR": "RR RR@3 RR(rel=2)@2",
    "SetR": "SetR",
    "Success": "Success@2 Success(rel=2)@3",
    "nDCG": "nDCG nDCG@3 nDCG(dcg='exp-log2')@4 nDCG(judged_only=True)@3",
}


def orders(scores):
    """Every order that the scores allow."""
    levels = sorted(set(scores.values()), reverse=True)
    groups = [list(permutations(d for d, score in scores.items() if score == level)) for level in levels]
    return [[d for group in chosen for d in group] for chosen in product(*groups)]


def by_enumeration(qrels, run, measures):
    """Return the mean, the highest and the lowest value of every query over all its orders."""
    found = {}
    for query_id, scores in run.items():
        judged = {query_id: qrels[query_id]}
        each = [evaluate(judged, {query_id: one}, measures).means for one in orders(scores)]
        for measure in each[0]:
            values = [means[measure] for means in each]
            found[measure, query_id] = {
                "expected": sum(values) / len(values),
                "best": max(values),
                "worst": min(values),
            }
    return found


def test_every_measure_that_can_be_read_is_tried():
    assert set(MEASURES) == READ


@pytest.mark.parametrize("name", MEASURES)
def test_values_over_all_orders_are_those_of_every_order(name):
    made = random.Random(name)
    qrels, run = {}, {}
    for n in range(6):
        docs = [f"d{i}" for i in range(6)]
        run[f"q{n}"] = {d: made.choice((1.0, 0.5)) for d in made.sample(docs, made.randint(3, 6))}
        qrels[f"q{n}"] = {d: made.choice((-1, 0, 1, 2, 3)) for d in made.sample([*docs, "e", "f"], 5)}
    wanted = by_enumeration(qrels, run, MEASURES[name])
    for kind in ALL_ORDERS:
        found = evaluate(qrels, run, MEASURES[name], ties=kind).columns
        for (measure, query_id), values in wanted.items():
            assert found[measure][query_id] == pytest.approx(values[kind], abs=1e-12), (measure, kind, query_id)


def test_trec_orders_by_id_and_input_as_it_came():
    assert evaluate(QRELS, RUN, "P@1 RR").columns == evaluate(QRELS, RUN, "P@1 RR", ties="trec").columns
    assert evaluate(QRELS, RUN, "RR", ties="trec")["RR"] == (1 / 2 + 1 / 2) / 2  # x is before b and a
    as_it_came = evaluate(QRELS, RUN, "RR AP", ties="input").columns.values()
    lists = {"q": ["b", "x", "a", "c", "d"], "r": ["x", "a"]}
    assert list(as_it_came) == list(evaluate(QRELS, lists, "RR AP").columns.values())


@pytest.mark.parametrize("measures", ["Bpref infAP Rprec IPrec@0.5 RBP@3 NumRet Unjudged@3", "ERR@3 Judged@1"])
def test_the_order_of_the_input_is_for_every_measure(measures):
    lists = {"q": ["b", "x", "a", "c", "d"], "r": ["x", "a"]}
    assert evaluate(QRELS, RUN, measures, ties="input").columns == evaluate(QRELS, lists, measures).columns


def test_a_query_without_ties_keeps_its_value_to_the_last_digit():
    qrels, run = {"q": {"a": 1, "b": 3, "c": 2}}, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    plain = evaluate(qrels, run, "nDCG AP RR GWAP(max_rel=3)").columns
    assert all(evaluate(qrels, run, "nDCG AP RR GWAP(max_rel=3)", ties=kind).columns == plain for kind in TIES)


def test_ties_are_seen_in_the_precision_of_the_order():
    qrels, run = {"q": {"b": 1}}, {"q": {"a": 1.00000003, "b": 1.0}}
    assert evaluate(qrels, run, "RR", ties="expected")["RR"] == pytest.approx((1 + 1 / 2) / 2)
    assert evaluate(qrels, run, "RR", ties="expected", order="float64")["RR"] == 1 / 2
    with pytest.raises(InputError, match="32-bit score"):
        evaluate(qrels, run, "RR", ties="error")
    assert evaluate(qrels, run, "RR", ties="error", order="float64")["RR"] == 1 / 2


def test_error_names_the_documents_and_looks_no_deeper_than_the_measures():
    with pytest.raises(InputError, match=r"query 'q': 3 documents have the same .*\('b', 'x', 'a'\).*ties='error'"):
        evaluate(QRELS, RUN, "P@2", ties="error")
    run = {"q": {"a": 3.0, "b": 1.0, "c": 1.0}}
    assert evaluate(QRELS, run, "P@1", ties="error", queries="both")["P@1"] == 1.0
    for measures in ("P@2", "P@1 ERR@3"):  # the cut goes through the tie; ir_measures' measures look anywhere
        with pytest.raises(InputError, match="2 documents"):
            evaluate(QRELS, run, measures, ties="error")


@pytest.mark.parametrize("measure", ["Bpref", "IPrec@0.5", "RBP@5", "GWAP(weights={1: 0.5, 2: 1.0})", "ERR@5"])
@pytest.mark.parametrize("kind", ALL_ORDERS)
def test_a_measure_without_such_a_value_is_refused(measure, kind):
    with pytest.raises(ParamError, match=rf"ties='{kind}'.* has no {kind} value .*AP, Coverage, GWAP"):
        evaluate(QRELS, RUN, f"P@1 {measure}", ties=kind)


def test_another_word_is_refused():
    with pytest.raises(ParamError, match=r"ties='random' is not allowed; give one of 'trec', 'input'"):
        evaluate(QRELS, RUN, "P@1", ties="random")


def test_what_could_not_be_counted_is_no_value(monkeypatch):
    monkeypatch.setattr(conventions_ties, "MOST_SELECTIONS", 0)
    with pytest.raises(InputError, match=r"query 'q'.*too many to count"):
        evaluate(QRELS, RUN, "ListAP@2", ties="expected")


def test_signature_notes_and_saved_values_tell_the_rule(tmp_path):
    found = evaluate(QRELS, RUN, "AP", ties="expected", order="float64")
    signature = str(next(iter(found.signatures.values())))
    assert "|order:float64-expected|" in signature
    assert "mean over all orders" in text(read_back(signature))
    assert any("values are the expected ones over all their orders" in note for note in found.notes)
    found.save(tmp_path / "a.values", "a")
    loaded = Evaluation.load(tmp_path / "a.values")
    assert (loaded.ties, loaded.order, loaded.means) == ("expected", "float64", found.means)
    assert Evaluation.load(tmp_path / "a.values") == loaded
    with pytest.raises(InputError, match=r"order: .*float64-expected"):
        compare(QRELS, loaded, {"b": evaluate(QRELS, RUN, "AP", order="float64")}, "AP")


def test_values_without_ties_are_comparable_with_those_by_id():
    run = {"q": {"a": 2.0, "b": 1.0}, "r": {"a": 1.0}}
    strict, plain = (evaluate(QRELS, run, "AP", ties=kind) for kind in ("error", "trec"))
    assert strict.signatures == plain.signatures


def test_the_shell(tmp_path, capsys):
    (tmp_path / "qrels.txt").write_text("".join(f"q 0 {d} {g}\n" for d, g in QRELS["q"].items()))
    (tmp_path / "run.txt").write_text("".join(f"q Q0 {d} 0 {s} x\n" for d, s in RUN["q"].items()))

    def shell(*more):
        files = [str(tmp_path / "qrels.txt"), str(tmp_path / "run.txt")]
        with pytest.raises(SystemExit) as end:
            main(["eval", *files, "-m", "RR", "--format", "csv", *more])
        return end.value.code or 0, capsys.readouterr()

    for kind, value in (("trec", 1 / 2), ("input", 1.0), ("expected", (1 + 1 + 1 / 2) / 3), ("worst", 1 / 2)):
        code, printed = shell("--ties", kind)
        assert code == 0, printed.err
        assert float(printed.out.splitlines()[1].split(",")[1]) == pytest.approx(value)
    code, printed = shell("--ties", "error")
    assert (code, "3 documents have the same" in printed.err) == (2, True)
    code, printed = shell("--ties", "best", "--engine", "duckdb")
    assert (code, "--ties best is for runs in memory" in printed.err) == (2, True)
