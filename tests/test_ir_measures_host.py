"""ir_measures: registration, provider, and what its users call."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import ir_measures
import pytest
from ir_measures import AP, RR, Judged, P, nDCG
from ir_measures.measures import registry as measures
from ir_measures.providers import registry as providers

import permed_measures
from permed_measures import GWAP, Coverage, HostError, InputError, ListAP, ListNDCG, register
from permed_measures.evaluate.providers import refusal
from permed_measures.hosts import ir_measures as ir_measures_host

QRELS = {"q1": {"a": 2, "b": 1}, "q-2": {"c": 2, "d": 1}, "q3": {"e": 1}}
RUN = {"q1": {"b": 9.0, "a": 8.0}, "q-2": {"x": 5.0, "c": 4.0}}
EXP = nDCG(dcg="exp-log2") @ 10
ALL = [GWAP @ 10, Coverage @ 10, ListAP @ 3, ListNDCG(dcg="exp-log2") @ 10, EXP, P @ 1, AP, RR @ 10]


def test_one_call_mixes_ours_with_theirs():
    found = ir_measures.calc(ALL, QRELS, RUN)
    assert found.aggregated[GWAP @ 10] == pytest.approx((0.75 + 1 / 2 * 1.0 / 2 + 0) / 3)
    assert found.aggregated[AP] == pytest.approx((1.0 + 1 / 2 / 2 + 0) / 3)
    assert found.aggregated[P @ 1] == pytest.approx(1 / 3)
    assert found.aggregated[RR @ 10] == pytest.approx((1 + 1 / 2 + 0) / 3)
    assert len(found.per_query) == len(ALL) * 3
    assert ir_measures.calc_aggregate(ALL, QRELS, RUN) == pytest.approx(found.aggregated)
    assert sorted(map(str, ir_measures.iter_calc(ALL, QRELS, RUN))) == sorted(map(str, found.per_query))
    assert ir_measures.evaluator(ALL, QRELS).calc_aggregate(RUN) == pytest.approx(found.aggregated)


def test_a_measure_calculates_itself():
    assert (GWAP @ 10).calc_aggregate(QRELS, RUN) == pytest.approx((0.75 + 0.25 + 0) / 3)
    assert [m.value for m in (GWAP @ 10).iter_calc(QRELS, RUN)] == pytest.approx([0.75, 0.25, 0.0])
    assert (GWAP @ 10).calc(QRELS, RUN).aggregated == pytest.approx(1 / 3)
    evaluator = (GWAP @ 10).evaluator(QRELS)
    assert [evaluator.calc_aggregate(run)[GWAP @ 10] for run in (RUN, {})] == pytest.approx([1 / 3, 0.0])


def test_parse_measure():
    parsed = ir_measures.parse_measure("GWAP(weights={1: 0.3, 2: 1.0}, norm='ideal')@10")
    assert parsed == GWAP(weights={1: 0.3, 2: 1.0}, norm="ideal") @ 10
    assert ir_measures.parse_measure("GWMAP@10") == GWAP @ 10
    assert ir_measures.parse_measure("ListMAP@10") == ListAP @ 10


def test_exponential_ndcg_is_ours_with_any_query_id_and_grade():
    (pair,) = ir_measures.calc([EXP], {"q-1": {"a": 7.5, "b": 40}}, {"q-1": {"a": 2.0, "b": 1.0}}).per_query
    low, high = 2**7.5 - 1, 2**40 - 1
    log3 = 1.584962500721156
    assert pair.value == pytest.approx((low + high / log3) / (high + low / log3), abs=1e-15)


def test_exponential_ndcg_does_not_need_perl():
    order = [provider.NAME for provider in ir_measures.DefaultPipeline.providers]
    assert order.index("permed") == order.index("gdeval") - 1
    assert order[:2] == ["runtime", "pytrec_eval"]  # standard measures stay where they were


def test_the_provider_by_name_orders_every_measure_alike():
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0, "b": 1.0}}  # b stands first: the greater id
    provider = providers["permed"]
    assert provider.is_available()
    assert provider.calc_aggregate([RR @ 10, RR, P @ 1, GWAP(max_rel=1)], qrels, run) == {
        RR @ 10: 0.5,
        RR: 0.5,
        P @ 1: 0.0,
        GWAP(max_rel=1): 0.5,
    }
    assert not provider.supports(Judged @ 10)
    assert not provider.supports(ir_measures.ERR @ 10)


def test_defined_measures_stand_beside_ours():
    pytest.importorskip("pandas", reason="ir_measures computes these with pandas")
    size = ir_measures.define_byquery(lambda _, run: float(len(run)), name="Size")
    assert ir_measures.calc_aggregate([size, GWAP @ 10], {"q": {"a": 1}}, {"q": {"a": 1.0, "b": 0.5}}) == {
        size: 2.0,
        GWAP @ 10: 0.5,
    }


def test_errors_pass_through():
    with pytest.raises(InputError, match="query 'q', document 'a': grade 3 is above max_rel=2"):
        ir_measures.calc([GWAP @ 10], {"q": {"a": 3}}, {"q": {"a": 1.0}})
    with pytest.raises(InputError, match="the score is NaN"):
        ir_measures.calc([GWAP @ 10], {"q": {"a": 1}}, {"q": {"a": float("nan")}})


def test_registering_again_changes_nothing():
    before = [type(provider) for provider in ir_measures.DefaultPipeline.providers]
    known = dict(measures)
    register()
    register()
    assert [type(provider) for provider in ir_measures.DefaultPipeline.providers] == before
    assert measures == known


def test_reloading_leaves_one_provider():
    code = """
import importlib, sys, ir_measures, permed_measures
for name in [n for n in sys.modules if n.split(".")[0] == "permed_measures"]:
    importlib.reload(sys.modules[name])
import permed_measures
names = [p.NAME for p in ir_measures.DefaultPipeline.providers]
assert names.count("permed") == 1, names
for name in [n for n in sys.modules if n.split(".")[0] == "permed_measures"]:
    del sys.modules[name]
import permed_measures
names = [p.NAME for p in ir_measures.DefaultPipeline.providers]
assert names.count("permed") == 1, names
print(ir_measures.calc_aggregate([ir_measures.parse_measure("GWAP@10")], {"q": {"a": 2}}, {"q": {"a": 1.0}}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "{GWAP@10: 1.0}\n", done.stderr
    assert importlib.reload(permed_measures) is permed_measures


@pytest.mark.parametrize(("registry", "name"), [(measures, "GWAP"), (measures, "ListMAP"), (providers, "permed")])
def test_a_name_of_someone_else_is_refused_and_nothing_changes(monkeypatch, registry, name):
    monkeypatch.setitem(registry, name, object())
    before = dict(measures), dict(providers), list(ir_measures.DefaultPipeline.providers)
    with pytest.raises(HostError, match=rf"already has a \w+ '{name}', of builtins.object; nothing was registered"):
        register()
    assert (dict(measures), dict(providers), list(ir_measures.DefaultPipeline.providers)) == before


def test_an_ir_measures_of_another_shape_is_refused(monkeypatch):
    monkeypatch.setattr(ir_measures.DefaultPipeline, "providers", ())
    with pytest.raises(HostError, match=r"ir_measures .* has no list DefaultPipeline.providers; we know versions"):
        register()


def test_a_measure_that_ir_measures_cannot_compute_says_what_to_do(monkeypatch):
    cwl = providers["cwl_eval"]
    error = ValueError("Unsupported measures {RBP}.")
    for available, install in ((False, ", pip install ir-measures[cwl_eval]"), (True, "")):
        monkeypatch.setattr(cwl, "_is_available", available)
        expected = f"none of its providers here does; cwl_eval would: write RBP(rel=…){install}"
        assert refusal(ir_measures.RBP, error) == f"ir_measures cannot compute RBP: {expected}"
    # who can, and was asked, has said why not
    assert refusal(ir_measures.RBP(rel=1), error) == f"ir_measures cannot compute RBP(rel=1): {error}"
    monkeypatch.setattr(cwl, "_is_available", False)
    assert "cwl_eval would: write RBP without cutoff, pip" in refusal(ir_measures.RBP(rel=1) @ 10, error)
    mine = ir_measures.define_byquery(lambda _, __: 1, name="Mine")
    assert refusal(mine, error) == f"ir_measures cannot compute Mine: {error}"


WITHOUT_NUM = """
import ast
for name in ("Num", "Str", "Bytes", "NameConstant", "Ellipsis"):
    vars(ast).pop(name, None)
    vars(ast).get("_deprecated_globals", {}).pop(name, None)
for name in ("n", "s"):
    if hasattr(ast.Constant, name):
        delattr(ast.Constant, name)
"""
"""What Python 3.14 took out of ast."""

WRITTEN = [
    "P@5",
    "AP",
    "RBP(p=0.5)@5",
    "nDCG(dcg='exp-log2')@10",
    "AP(judged_only=True)",
    "GWAP(weights={1: 0.5, 2: 1.0})",
]
REFUSED = ["P@-5", "P@[5]", "P@b'5'", "P(cutoff=...)", "P(5)", "nDCG(gains={**{}})", "P@5; P@6", "P@(1 + 1)"]


def test_ir_measures_parses_where_python_has_no_ast_num():
    code = f"""{WITHOUT_NUM}
import ir_measures
from ir_measures import parse_measure
def told(name):
    try:
        return str(parse_measure(name))
    except (ValueError, AttributeError) as error:
        return type(error).__name__
print(told("P@5"), told("AP"))
import permed_measures
print([told(name) for name in {WRITTEN!r}], {{told(name) for name in {REFUSED!r}}})
permed_measures.unregister()
print(told("P@5"))
permed_measures.register()
print(told("P@5"))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [
        "AttributeError AP",  # ir_measures alone: numbers cannot be read
        f"{WRITTEN} {{'ValueError'}}",
        "AttributeError",
        "P@5",
    ], done.stderr


@pytest.mark.full  # of Python 3.11: from 3.14 on there is nothing to compare with
def test_the_repaired_parser_reads_what_ir_measures_own_reads(monkeypatch):
    def told(name):
        try:
            return repr(ir_measures.util.parse_measure(name))
        except ValueError:
            return "refused"

    names = [*WRITTEN, *REFUSED]
    theirs = [told(name) for name in names]
    assert "refused" not in theirs[: len(WRITTEN)]
    monkeypatch.setattr(ir_measures.util, "_ast_to_value", ir_measures_host._ast_to_value)  # noqa: SLF001  (what 3.14 gets)
    assert [told(name) for name in names] == theirs


@pytest.mark.full  # of Python 3.11: from 3.14 on it is replaced
def test_a_parser_that_works_is_left_alone():
    assert ir_measures.util._ast_to_value.__module__ == "ir_measures.util"  # noqa: SLF001  (the place of the repair)
    code = "import warnings; warnings.simplefilter('error'); import permed_measures"  # ast.Num is deprecated in 3.12
    subprocess.run([sys.executable, "-c", code], check=True)


def test_names_of_ours_are_read_where_trec_evals_are():
    assert ir_measures.parse_trec_measure("GWAP(max_rel=3)@10") == [GWAP(max_rel=3) @ 10]
    assert ir_measures.parse_trec_measure("gwmap_cut.5,10") == [GWAP @ 5, GWAP @ 10]
    assert ir_measures.parse_trec_measure("nDCG@10") == [nDCG @ 10]
    for name in ("map", "P", "ndcg_cut.5,10", "num_ret", "success_5", "iprec_at_recall"):
        assert ir_measures.parse_trec_measure(name) == ir_measures.util.parse_trec_measure(name)
    with pytest.raises(ValueError, match=r"unknown measure 'GWAPP@10'. Did you mean GWAP"):
        ir_measures.parse_trec_measure("GWAPP@10")
    with pytest.raises(ValueError, match="GMAP is not an arithmetic mean over queries, which is all that is made here"):
        ir_measures.parse_trec_measure("gm_map")


def test_unregister_leaves_ir_measures_as_it_was():
    code = """
import ir_measures
from ir_measures import measures, providers, util
def state():
    places = (ir_measures, util)
    held = [{k: v for k, v in vars(place).items() if k != "__warningregistry__"} for place in places]
    return held, dict(measures.registry), dict(providers.registry), list(ir_measures.DefaultPipeline.providers)
before = state()
import permed_measures
assert state() != before
permed_measures.unregister()
assert state() == before, "something is left"
permed_measures.unregister()
assert state() == before, "again changes something"
print(permed_measures.evaluate({"q": {"a": 2}}, {"q": {"a": 1.0}}, "GWAP@10 gwmap_cut_10 map").means)
permed_measures.register()
ir_measures.parse_trec_measure = print
try:
    permed_measures.unregister()
except permed_measures.HostError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [
        "{GWAP@10: 1.0, AP: 1.0}",
        "ir_measures.parse_trec_measure was replaced after register(); undo that first: nothing was changed",
    ], done.stderr


QUERIES = {"qid": ["1", "2"], "query": ["x", "y"]}
JUDGED = {"qid": ["1", "1", "2"], "docno": ["a", "b", "c"], "label": [2, 1, 1]}
RESULTS = {
    "qid": ["1", "1", "2"],
    "docno": ["b", "a", "x"],
    "score": [2.0, 1.0, 1.0],
    "rank": [0, 1, 0],
    "query": list("xxy"),
}


@pytest.fixture
def pyterrier():
    """PyTerrier with a system, topics and qrels; none of it needs Java."""
    pandas = pytest.importorskip("pandas", reason="PyTerrier needs pandas")
    pt = pytest.importorskip("pyterrier", reason="PyTerrier is not installed: pip install pyterrier")
    system = pt.Transformer.from_df(pandas.DataFrame(RESULTS))
    return pt, system, pandas.DataFrame(QUERIES), pandas.DataFrame(JUDGED)


@pytest.mark.full
def test_pyterrier_experiments(pyterrier):
    pt, system, topics, qrels = pyterrier
    metrics = [GWAP @ 10, Coverage @ 10, "map"]
    table = pt.Experiment([system], topics, qrels, eval_metrics=metrics)
    assert table["GWAP@10"].to_list() == pytest.approx([(0.75 + 0) / 2])
    assert table["Coverage@10"].to_list() == [0.5]
    assert table["map"].to_list() == pytest.approx([(1.0 + 0) / 2])


@pytest.mark.full
def test_pyterrier_takes_our_names_as_strings(pyterrier):
    pt, system, topics, qrels = pyterrier
    names = ["GWAP@10", "gwmap_cut_5", "Coverage@1", "nDCG@10", "map"]
    table = pt.Experiment([system], topics, qrels, eval_metrics=names)
    assert sorted(table.columns[1:]) == sorted(names)
    ndcg = (1 + 2 / 1.584962500721156) / (2 + 1 / 1.584962500721156) / 2
    assert table.loc[0, names].to_list() == pytest.approx([0.375, 0.375, 0.5, ndcg, 0.5])
    one = pt.Experiment([system], topics, qrels, eval_metrics=["GWAP@10", "gwmap_cut_10"])  # one measure, two names
    assert one["gwmap_cut_10"].to_list() == [0.375]
    by_query = pt.Experiment([system], topics, qrels, eval_metrics=["GWAP@10"], perquery=True)
    assert by_query["value"].to_list() == [0.75, 0.0]
    with pytest.raises(ValueError, match="Did you mean GWAP"):
        pt.Experiment([system], topics, qrels, eval_metrics=["GWAPP@10"])


@pytest.mark.full
def test_frames_of_pyterrier_go_in_and_ours_go_out(pyterrier):
    pt, system, topics, qrels = pyterrier
    names = ["GWAP@10", "Coverage@1"]
    ours = permed_measures.evaluate(qrels, system(topics), names).to_dataframe()
    theirs = pt.Experiment([system], topics, qrels, eval_metrics=names, perquery=True)
    rows = {(row.query_id, row.measure): row.value for row in ours.itertuples()}
    assert rows == {(row.qid, row.measure): row.value for row in theirs.itertuples()}
    assert rows["1", "GWAP@10"] == 0.75


@pytest.mark.full
def test_pyterrier_loads_us_by_our_entry_point(pyterrier, tmp_path):
    assert pyterrier
    toml = pytest.importorskip("tomllib", reason="pyproject.toml is read with tomllib, of Python 3.11")
    root = Path(permed_measures.__file__).parents[1]
    project = toml.loads((root / "pyproject.toml").read_text())["project"]
    found = project["entry-points"]["pyterrier.modules"]
    info = tmp_path / "permed_measures-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: permed-measures\nVersion: 0\n")
    lines = "\n".join(f"{name} = {module}" for name, module in found.items())
    (info / "entry_points.txt").write_text(f"[pyterrier.modules]\n{lines}\n")
    code = f"""
import pandas, pyterrier as pt
system = pt.Transformer.from_df(pandas.DataFrame({RESULTS}))
topics, qrels = pandas.DataFrame({QUERIES}), pandas.DataFrame({JUDGED})
table = pt.Experiment([system], topics, qrels, eval_metrics=["gwmap_cut_10"])
print(table["gwmap_cut_10"].to_list(), pt.permed_measures.GWAP)
"""
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{root}"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment, cwd=tmp_path
    )
    assert done.stdout == "[0.375] GWAP\n", done.stderr
