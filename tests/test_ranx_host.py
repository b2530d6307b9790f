"""ranx with our measures: evaluate, compare, reports, fusion, and back to what it was."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import warnings
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from ir_measures import ERR, RR, Rprec, nDCG

import permed_measures
from permed_measures import (
    GWAP,
    Coverage,
    HostError,
    InputError,
    ListAP,
    ParamError,
    evaluate,
    install_ranx,
    ranx_qrels,
    ranx_run,
    uninstall_ranx,
)
from permed_measures.measures import host_names

pytestmark = [
    pytest.mark.full,
    # ranx's own files hold "\c" and the like: seen when they are first compiled
    pytest.mark.filterwarnings("ignore:.*invalid escape sequence:SyntaxWarning"),
    pytest.mark.filterwarnings("ignore:.*invalid escape sequence:DeprecationWarning"),
    # ranx's average precision mixes uint64 and int64
    pytest.mark.filterwarnings("ignore:unsafe cast from uint64 to int64"),
]

# ranx compiles anew for every length of its longest document id: all ids here are two characters long
POOL = [f"{number:02}" for number in range(60)]
RNG = random.Random(3)
QRELS = {f"q{number}": {d: RNG.randint(0, 2) for d in RNG.sample(POOL, 20)} for number in range(12)}


def _make_run():
    """Make a run without ties; for the last query it finds nothing that is judged."""
    pools = dict.fromkeys(QRELS, POOL) | {"q11": [d for d in POOL if d not in QRELS["q11"]]}
    return {
        q: {d: s / 8 for d, s in zip(RNG.sample(p, 40), RNG.sample(range(1000), 40), strict=True)}
        for q, p in pools.items()
    }


RUNS = [_make_run(), _make_run()]
NAMES = ["gwmap@10", "coverage@10", "ndcg_exp@10", "list_map@3", "list_ndcg@10", "gwmap_ideal@10", "map@10"]
LABELS = ["GW-MAP@10", "Coverage@10", "NDCG-exp@10", "List-MAP@3", "List-NDCG@10", "GW-MAP-ideal@10", "MAP@10"]
TABLES = ("ranx.data_structures.report", "ranx.data_structures.optimization_report", "ranx.ranxhub")


@pytest.fixture(scope="module", autouse=True)
def ranx():
    return pytest.importorskip("ranx", reason="ranx is optional: pip install 'permed-measures[ranx]'")


@pytest.fixture(scope="module")
def qrels(ranx):
    return ranx.Qrels(QRELS)


@pytest.fixture(scope="module")
def runs(ranx):
    return [ranx.Run(run, name=f"run {number}") for number, run in enumerate(RUNS)]


@pytest.fixture(autouse=True)
def installed(ranx):  # noqa: ARG001  (skips where ranx is not)
    before = snapshot()
    install_ranx()
    yield
    uninstall_ranx()
    assert snapshot() == before


def snapshot():
    """Look at all of ranx that an install touches."""
    modules = [import_module(name) for name in ("ranx.metrics", "ranx.meta.evaluate")]
    tables = [list(import_module(name).metric_labels.items()) for name in TABLES]
    return [id(module.metric_switch) for module in modules], tables, set(vars(modules[1]))


def by_query(measure, run=RUNS[0], judged=QRELS):
    """Values in ranx's order: sorted query ids."""
    column = evaluate(judged, run, [measure]).columns
    (values,) = column.values()
    return [values[query_id] for query_id in sorted(values)]


@pytest.mark.parametrize("cutoff", [None, 2, 10, 1000])
@pytest.mark.parametrize("name", sorted(name for name, (_, host) in host_names().items() if host.in_ranx))
def test_every_name_has_the_values_of_evaluate(ranx, qrels, runs, name, cutoff):
    measure, host = host_names()[name]
    expected = by_query(type(measure)(**host.params, cutoff=cutoff))
    values = ranx.evaluate(qrels, runs[0], host.ranx(cutoff), return_mean=False)
    assert values.dtype == np.float64
    assert values == pytest.approx(expected, abs=1e-12)
    assert len(set(expected)) > 1


def test_the_worked_example(ranx):
    qrels = ranx_qrels({"q1": {"a_": 2, "b_": 1, "c_": 0, "d_": 1, "e_": 2}})
    run = ranx_run({"q1": ["b_", "x_", "a_", "c_", "d_"]})
    hits = [1 / 1 * 0.5, 2 / 3 * 1.0, 3 / 5 * 0.5]  # b at 1, a at 3, d at 5; R = 4; the ideal is 1 + 1 + 0.5 + 0.5
    assert ranx.evaluate(qrels, run, "gwmap@3") == pytest.approx(sum(hits[:2]) / 4)
    assert ranx.evaluate(qrels, run, "gwmap") == pytest.approx(sum(hits) / 4)
    assert ranx.evaluate(qrels, run, "gwmap_ideal@3") == pytest.approx(sum(hits[:2]) / 2.5)
    assert ranx.evaluate(qrels, run, "list_map@3") == pytest.approx((1 / 1 + 2 / 3) / 2)
    assert ranx.evaluate(qrels, run, "ndcg_exp@10") == pytest.approx(0.4957276125706667)


def test_ranxs_own_measures_agree_where_they_mean_the_same(ranx, qrels, runs):
    for run in runs:
        for ours, theirs in (("ndcg_exp@5", "ndcg_burges@5"), ("coverage@2", "hit_rate@2"), ("bin@7-l2", "map@7-l2")):
            install_ranx(bin=GWAP(weights={1: 1, 2: 1}))
            values = ranx.evaluate(qrels, run, [ours, theirs], return_mean=False)
            assert values[ours] == pytest.approx(values[theirs], abs=1e-12)
            assert 0 < values[ours].mean() < 1


def test_all_names_at_once_and_in_every_shape(ranx, qrels, runs):
    means = ranx.evaluate(qrels, runs[0], NAMES)
    assert list(means) == NAMES
    expected = {"GWAP@10": "gwmap@10", "Coverage@10": "coverage@10", "ListAP@3": "list_map@3", "AP@10": "map@10"}
    for measure, name in expected.items():
        assert means[name] == pytest.approx(evaluate(QRELS, RUNS[0], measure)[measure], abs=1e-12)
    in_order = dict(sorted(QRELS.items())), dict(sorted(RUNS[0].items()))
    typed = qrels.to_typed_list(), runs[0].to_typed_list()
    for judged, returned in (in_order, typed, (qrels, runs[0])):
        assert ranx.evaluate(judged, returned, NAMES) == pytest.approx(means, abs=1e-12)
    cube = np.array([row[:5] for row in typed[0]]), np.array([row[:30] for row in typed[1]])
    assert ranx.evaluate(*cube, "gwmap@10") == pytest.approx(
        ranx.evaluate([row[:5] for row in typed[0]], typed[1], "gwmap@10")
    )


def test_means_deviations_and_what_is_saved_in_the_run(ranx, qrels):
    run = ranx.Run(RUNS[0])
    result = ranx.evaluate(qrels, run, ["gwmap@10", "coverage@10"], return_std=True)
    values = by_query(GWAP @ 10)
    assert result["gwmap@10"] == pytest.approx({"mean": np.mean(values), "std": np.std(values)})
    assert run.mean_scores["gwmap@10"] == pytest.approx(np.mean(values))
    assert run.std_scores["gwmap@10"] == pytest.approx(np.std(values))
    assert dict(run.scores["gwmap@10"]) == pytest.approx(dict(zip(sorted(QRELS), values, strict=True)))
    other = ranx.Run(RUNS[0])
    ranx.evaluate(qrels, other, "gwmap@10", save_results_in_run=False)
    assert not other.mean_scores


def test_relevance_levels(ranx, qrels, runs):
    values = ranx.evaluate(qrels, runs[0], ["gwmap@10-l2", "list_map-l2", "coverage@1-l2"], return_mean=False)
    assert values["gwmap@10-l2"] == pytest.approx(by_query(GWAP(rel=2) @ 10), abs=1e-12)
    assert values["list_map-l2"] == pytest.approx(by_query(ListAP(rel=2)), abs=1e-12)
    assert values["coverage@1-l2"] == pytest.approx(by_query(Coverage(rel=2) @ 1), abs=1e-12)
    # no rel there: the judgements below the level are left out, as ranx does for its own
    both = ranx.evaluate(qrels, runs[0], ["ndcg_exp@10-l2", "ndcg_burges@10-l2"], return_mean=False)
    assert both["ndcg_exp@10-l2"] == pytest.approx(both["ndcg_burges@10-l2"], abs=1e-12)
    above = {q: {d: g for d, g in judged.items() if g >= 2} for q, judged in QRELS.items()}
    assert ranx.evaluate(qrels, runs[0], "list_ndcg@10-l2", return_mean=False) == pytest.approx(
        by_query("ListNDCG@10", judged=above), abs=1e-12
    )


def test_queries_that_the_run_lacks_count_0(ranx, qrels):
    some = dict(list(RUNS[0].items())[:5])
    run = ranx.Run({**some, "qx": RUNS[0]["q0"]})
    mean = ranx.evaluate(qrels, run, "gwmap@10", make_comparable=True)
    assert mean == pytest.approx(evaluate(QRELS, some, GWAP @ 10)[GWAP @ 10], abs=1e-12)


@pytest.mark.parametrize("stat_test", ["student", "fisher", "tukey"])
def test_compare_and_its_report_in_every_form(ranx, qrels, runs, stat_test, tmp_path):
    report = ranx.compare(qrels, runs, metrics=NAMES, stat_test=stat_test, n_permutations=50)
    header = str(report).splitlines()[0].split()
    assert header == ["#", "Model", *LABELS]
    assert f"{by_query_mean('GWAP@10'):.3f}" in str(report)
    assert all(f"\\textbf{{{label}}}" in report.to_latex() for label in LABELS)
    as_dict = report.to_dict()
    assert as_dict["run 0"]["scores"]["gwmap@10"] == pytest.approx(by_query_mean("GWAP@10"))
    assert 0 <= as_dict["run 0"]["comparisons"]["run 1"]["gwmap@10"] <= 1
    assert sum(as_dict["run 0"]["win_tie_loss"]["run 1"]["gwmap@10"].values()) == len(QRELS)
    assert list(report.to_dataframe().columns) == ["model_names", *NAMES]
    report.save(str(tmp_path / "report.json"))
    assert json.loads((tmp_path / "report.json").read_text())["metrics"] == NAMES
    assert report.print_results() is None


def by_query_mean(measure):
    return evaluate(QRELS, RUNS[0], measure)[measure]


def test_compare_with_levels_and_one_measure(ranx, qrels, runs):
    assert "GW-MAP@10-l2" in str(ranx.compare(qrels, runs, "gwmap@10-l2"))
    assert "Coverage" in str(ranx.compare(qrels, runs, "coverage", make_comparable=True))


def test_optimize_fusion_and_its_report(ranx, qrels, runs):
    best, report = ranx.optimize_fusion(
        qrels, runs, method="wsum", metric="gwmap@10", step=0.5, show_progress=False, return_optimization_report=True
    )
    assert "GW-MAP@10" in str(report)
    assert report.metric == "gwmap@10"
    fused = ranx.fuse(runs, method="wsum", params=best)
    assert ranx.evaluate(qrels, fused, "gwmap@10") == pytest.approx(max(report.results))
    assert ranx.optimize_fusion(qrels, runs, method="wsum", metric="gwmap@10-l2", step=0.5, show_progress=False)


def test_plot_and_ranxhub_still_work(ranx, qrels, runs):
    matplotlib = pytest.importorskip("matplotlib", reason="ranx.plot draws with matplotlib")
    matplotlib.use("Agg")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive", UserWarning)  # that is why it is used
        ranx.plot(qrels, runs)
    matplotlib.pyplot.close("all")
    frame = ranx.plot(qrels, runs, return_graph=False)
    assert set(frame["Model"]) == {"run 0", "run 1"}
    label = import_module("ranx.ranxhub").get_metric_label
    assert (label("gwmap@10-l2"), label("coverage"), label("map@10")) == ("GW-MAP@10", "Coverage", "MAP@10")


def test_a_name_is_bound_to_a_measure_with_parameters(ranx, qrels, runs):
    flat = GWAP(weights={1: 1, 2: 1})
    install_ranx(flat=flat, gwmap4="GWAP(max_rel=4)", top5=GWAP @ 5, first=RR, r_prec=Rprec(rel=2), linear=nDCG)
    names = ["flat@10", "gwmap4", "top5", "top5@3", "first", "r_prec", "linear@10", "linear@10-l2"]
    values = ranx.evaluate(qrels, runs[0], names, return_mean=False)
    names = ["map@10", "mrr", "r-precision-l2", "ndcg@10", "ndcg@10-l2"]
    theirs = ranx.evaluate(qrels, runs[0], names, return_mean=False)
    assert values["flat@10"] == pytest.approx(theirs["map@10"], abs=1e-12)
    assert values["linear@10"] == pytest.approx(theirs["ndcg@10"], abs=1e-12)
    assert values["linear@10-l2"] == pytest.approx(theirs["ndcg@10-l2"], abs=1e-12)
    assert values["gwmap4"] == pytest.approx(np.array(by_query(GWAP)) / 2, abs=1e-12)
    assert values["top5"] == pytest.approx(by_query(GWAP @ 5), abs=1e-12)
    assert values["top5@3"] == pytest.approx(by_query(GWAP @ 3), abs=1e-12)
    assert values["first"] == pytest.approx(theirs["mrr"], abs=1e-12)
    assert values["r_prec"] == pytest.approx(theirs["r-precision-l2"], abs=1e-12)
    install_ranx(gwmap4=GWAP(max_rel=8))
    assert ranx.evaluate(qrels, runs[0], "gwmap4", return_mean=False) == pytest.approx(np.array(by_query(GWAP)) / 4)


def test_binary_grades_make_gwmap_map(ranx, runs):
    install_ranx(gwmap_bin=GWAP(max_rel=1), gwmap3=GWAP(max_rel=3))
    binary = ranx_qrels({q: {d: min(grade, 1) for d, grade in judged.items()} for q, judged in QRELS.items()})
    values = ranx.evaluate(binary, runs[0], ["gwmap_bin@10", "gwmap3@10", "map@10"], return_mean=False)
    assert values["gwmap_bin@10"] == pytest.approx(values["map@10"], abs=1e-12)
    assert values["gwmap3@10"] == pytest.approx(values["map@10"] / 3, abs=1e-12)
    report = ranx.compare(binary, runs, ["gwmap_bin@10", "gwmap3"])
    assert str(report).splitlines()[0].split() == ["#", "Model", "gwmap-bin@10", "gwmap3"]
    assert "\\textbf{gwmap-bin@10}" in report.to_latex()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("my-l2", "'-l' within a name as a relevance level"),
        ("gwmap-long", "'-l' within a name"),
        ("rbp_like", "rank-biased precision"),
        ("a b", "letters, digits"),
        ("a@b", "letters, digits"),
        ("a.b", "letters, digits"),
        ("9a", "begins with a letter"),
        ("", "begins with a letter"),
        ("gwmap", "it stands for GWAP; give another measure another name"),
    ],
)
def test_names_that_ranx_would_break_are_refused(name, reason):
    before = snapshot()
    with pytest.raises(ParamError, match=reason):
        install_ranx(**{"fine": GWAP, name: GWAP(max_rel=3)})
    assert snapshot() == before


def test_names_that_ranx_has_and_measures_that_need_ids_are_refused():
    before = snapshot()
    with pytest.raises(HostError, match="ranx already has a measure 'ndcg'"):
        install_ranx(ndcg=GWAP(max_rel=3))
    with pytest.raises(ParamError, match="needs document ids"):
        install_ranx(err=ERR @ 10)
    with pytest.raises(ParamError, match="unknown measure 'GWAPP'"):
        install_ranx(fine="GWAPP")
    assert snapshot() == before


def test_unknown_names_and_impossible_levels(ranx, qrels, runs):
    with pytest.raises(ParamError, match=r"unknown measure 'gwmpa'\. Did you mean gwmap"):
        ranx.evaluate(qrels, runs[0], "gwmpa@10")
    with pytest.raises(ParamError, match="cutoff=-3 is not allowed"):
        ranx.evaluate(qrels, runs[0], "gwmap@-3")
    with pytest.raises(ParamError, match="a relevance level of 0 is not allowed"):
        ranx.evaluate(qrels, runs[0], "ndcg_exp@10-l0")
    with pytest.raises(InputError, match="12 queries, the run 3"):
        ranx.evaluate(qrels.to_typed_list(), list(runs[0].to_typed_list())[:3], "gwmap")


def test_a_grade_above_max_rel_is_an_error(ranx):
    run = ranx_run({"q1": ["a_"], "q2": ["a_"]})
    with pytest.raises(
        InputError, match=r"number 2 in ranx's order.*grade 3 is above max_rel=2.*install_ranx\(my_name="
    ):
        ranx.evaluate(ranx_qrels({"q1": {"a_": 1}, "q2": {"a_": 3}}), run, "gwmap@10")


def test_install_and_uninstall_as_often_as_one_likes(ranx, qrels, runs):
    ours = snapshot()
    install_ranx()
    install_ranx(gwmap3=GWAP(max_rel=3))
    uninstall_ranx()
    with pytest.raises(ValueError, match="Metric gwmap not supported"):
        ranx.evaluate(qrels, runs[0], "gwmap@10")
    without = snapshot()
    uninstall_ranx()
    assert snapshot() == without
    install_ranx()
    assert snapshot()[1:] == ours[1:]
    assert "gwmap3" not in import_module(TABLES[0]).metric_labels


def test_uninstall_leaves_the_patch_of_somebody_else_alone(monkeypatch):
    module = import_module("ranx.meta.evaluate")
    with monkeypatch.context() as patched:
        patched.setattr(module, "metric_switch", lambda name: name)
        with pytest.raises(HostError, match="replaced after install_ranx"):
            uninstall_ranx()
        assert import_module("ranx.metrics").metric_switch("gwmap")


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("ranx.meta.evaluate.metric_switch", lambda metric: metric),  # no longer that of ranx.metrics
        ("ranx.meta.evaluate.extract_metric_and_params", lambda metric: (metric, 0, 1)),
        ("ranx.meta.evaluate.evaluate", lambda *_: None),
        ("ranx.meta.evaluate.metric_switch", None),  # gone
        ("ranx.data_structures.report.metric_labels", ["map"]),
        ("ranx.ranxhub.metric_labels", None),
    ],
)
def test_a_ranx_of_another_shape_is_refused_and_not_touched(monkeypatch, place, value):
    uninstall_ranx()
    module, _, name = place.rpartition(".")
    with monkeypatch.context() as patched:
        if value is None:
            patched.delattr(import_module(module), name)
        else:
            patched.setattr(import_module(module), name, value)
        before = {m: dict(vars(import_module(m))) for m in ("ranx.metrics", "ranx.meta.evaluate", *TABLES)}
        with pytest.raises(
            HostError, match=r"ranx 0\.3.*not have the shape we know.*nothing was patched.*0\.3\.16 to 0\.3\.21"
        ):
            install_ranx()
        assert {m: dict(vars(import_module(m))) for m in before} == before


def test_a_ranx_that_has_our_name_already_is_refused(monkeypatch):
    uninstall_ranx()
    with monkeypatch.context() as patched:
        patched.setitem(import_module(TABLES[0]).metric_labels, "coverage", "Coverage of theirs")
        before = snapshot()
        with pytest.raises(HostError, match="ranx already has a measure 'coverage'; nothing was patched"):
            install_ranx()
        assert snapshot() == before


def test_without_ranx_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ranx", None)
    for call in (install_ranx, lambda: ranx_qrels(QRELS), lambda: ranx_run(RUNS[0])):
        with pytest.raises(HostError, match=r"pip install 'permed-measures\[ranx\]'"):
            call()


@pytest.mark.parametrize(
    "imports",
    [
        "from ranx import evaluate; import ranx, permed_measures; permed_measures.install_ranx()",
        "import permed_measures; permed_measures.install_ranx(); import ranx; from ranx import evaluate",
    ],
)
def test_both_orders_of_import(imports):
    program = f"{imports}; print(evaluate({{'q': {{'a': 2}}}}, {{'q': {{'b': 2.0, 'a': 1.0}}}}, 'gwmap@10'))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        check=True,
        text=True,
        cwd=Path(permed_measures.__file__).parents[1],
    )
    assert float(done.stdout) == 1 / 2 * 1.0


def test_float_grades_in_plain_dicts_are_exact_and_in_qrels_refused(ranx):
    judged, ranking = {"q": {"A": 8.0, "B": 7.5}}, {"q": {"X": 3.0, "B": 2.0, "A": 1.0}}
    value = ranx.evaluate(judged, ranking, "ndcg_exp@10")
    assert value == pytest.approx(evaluate(judged, ranking, nDCG(dcg="exp-log2") @ 10)[nDCG(dcg="exp-log2") @ 10])
    with pytest.raises(
        InputError, match=r"'q', document 'B': grade 7.5 is not a whole number.*permed_measures.evaluate"
    ):
        ranx_qrels(judged)
    with pytest.raises(InputError, match="is not a whole number that ranx can keep"):
        ranx_qrels({"q": {"a_": 2**60}})


def test_qrels_and_runs_from_everything_our_inputs_accept(ranx, tmp_path):
    pandas = pytest.importorskip("pandas", reason="frames are optional")
    rows = [(q, d, g) for q, judged in QRELS.items() for d, g in judged.items()]
    frame = pandas.DataFrame(rows, columns=["query_id", "doc_id", "relevance"])
    file = tmp_path / "qrels.trec"
    file.write_text("".join(f"{q} 0 {d} {g}\n" for q, d, g in rows))
    for source in (QRELS, frame, file, str(file), ranx.Qrels(QRELS)):
        made = ranx_qrels(source, name="judged")
        assert (dict(made.to_dict()), made.name) == (QRELS, "judged")
    rows = [(q, d, s) for q, returned in RUNS[0].items() for d, s in returned.items()]
    frame = pandas.DataFrame(rows, columns=["query_id", "doc_id", "score"])
    file = tmp_path / "run.trec"
    file.write_text("".join(f"{q} Q0 {d} 0 {s} me\n" for q, d, s in rows))
    for source in (RUNS[0], frame, file, ranx.Run(RUNS[0])):
        made = ranx_run(source, name="mine")
        assert (dict(made.to_dict()), made.name) == (RUNS[0], "mine")


def test_lists_keep_their_order_and_empty_ones_count_0(ranx):
    assert list(ranx_run({"q": ["d3", "d1", "d2"]})["q"]) == ["d3", "d1", "d2"]
    assert list(ranx_run({"q": POOL[::-1]})["q"]) == POOL[::-1]
    qrels = ranx_qrels({"q1": {"a_": 1}, "q2": {"a_": 1}, "q3": {}})
    for run in ({"q1": ["a_"], "q2": [], "q3": ["a_"]}, {"q1": [], "q2": {}, "q3": []}):
        expected = [0.5 if run["q1"] else 0.0, 0.0, 0.0]
        values = ranx.evaluate(qrels, ranx_run(run), ["gwmap@10", "map@10"], return_mean=False)
        assert list(values["gwmap@10"]) == expected
        assert list(values["map@10"]) == [2 * value for value in expected]


def test_ties_are_in_our_order(ranx):
    inf = float("inf")
    tied = {d: RNG.choice([1.0, 1.0 + 1e-9, 1.0 - 1e-9, 0.0, -0.0, 1e300, inf, -inf, -1e300, 0.5]) for d in POOL}
    judged = {"q1": {d: RNG.randint(0, 2) for d in POOL[::3]}, "q2": dict.fromkeys(POOL[::2], 1)}
    run = {"q1": tied, "q2": dict.fromkeys(POOL, 0.25)}
    made = ranx_run(run)
    with np.errstate(over="ignore"):  # 1e300 is infinite as a 32-bit float
        single = {d: np.float64(score).astype(np.float32) for d, score in tied.items()}
    assert list(made["q1"]) == sorted(POOL, key=lambda d: (single[d], d), reverse=True)
    assert all(above > below for above, below in pairwise(made["q1"].values()))
    assert list(made["q2"]) == POOL[::-1]
    assert made["q2"]["59"] == 0.25
    assert made["q2"]["00"] == pytest.approx(0.25, abs=1e-14)
    values = ranx.evaluate(ranx_qrels(judged), made, ["gwmap", "ndcg_exp@10", "map"], return_mean=False)
    for name, measure in (("gwmap", "GWAP"), ("ndcg_exp@10", "nDCG(dcg='exp-log2')@10"), ("map", "AP")):
        assert values[name] == pytest.approx(by_query(measure, run, judged), abs=1e-12)


@pytest.mark.parametrize(
    ("make", "source", "message"),
    [
        (ranx_run, {}, "the run holds no query"),
        (ranx_run, {"q": {"a": float("nan")}}, "the score is NaN"),
        (ranx_run, {"q": ["a", "a"]}, "occurs twice"),
        (ranx_run, {"q": {1: 1.0}}, "ids are strings"),
        (ranx_qrels, {}, "no judgement"),
        (ranx_qrels, {"q": {}}, "no judgement"),
    ],
)
def test_what_ranx_could_not_hold_is_an_input_error(make, source, message):
    with pytest.raises(InputError, match=message):
        make(source)


def test_ids_of_every_alphabet(ranx):
    judged = {"ä": {"é1": 2, "日本": 1, "🙂x": 1}}
    run = {"ä": ["日本", "é1", "ab", "🙂x"]}
    assert ranx.evaluate(ranx_qrels(judged), ranx_run(run), "gwmap") == pytest.approx((0.5 + 2 / 2 + 3 / 4 * 0.5) / 3)


@pytest.mark.usefixtures("first_grade")
def test_a_new_measure_needs_no_second_edit(ranx, qrels, runs):
    install_ranx()
    firsts = [max(RUNS[0][q], key=RUNS[0][q].get) for q in sorted(QRELS)]
    expected = [QRELS[q].get(d, 0) for q, d in zip(sorted(QRELS), firsts, strict=True)]
    assert list(ranx.evaluate(qrels, runs[0], "first_grade@5", return_mean=False)) == expected
    assert "First grade@5" in str(ranx.compare(qrels, runs, ["first_grade@5"]))


def test_a_level_does_not_replace_a_rel_that_was_bound(ranx, qrels, runs):
    install_ranx(strict=GWAP(rel=2), plain=GWAP(rel=1))
    values = ranx.evaluate(qrels, runs[0], ["strict@10", "strict@10-l2", "gwmap@10-l2"], return_mean=False)
    assert list(values["strict@10"]) == list(values["strict@10-l2"]) == list(values["gwmap@10-l2"])
    with pytest.raises(ParamError, match=r"bound to GWAP\(rel=1\)@10, which has its own rel; leave out -l2"):
        ranx.evaluate(qrels, runs[0], "plain@10-l2")
