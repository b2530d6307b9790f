"""Systems in a comparison: several runs of one system, and values that were saved in place of runs."""

from __future__ import annotations

import json
import random
from pathlib import Path
from statistics import mean, stdev

import pytest

from permed_measures import Comparison, Evaluation, InputError, compare, evaluate
from permed_measures.comparison.repeats import averaged, spread
from permed_measures.inference import estimate, units

NUM = 40
QRELS = {f"{n // 2}_{n % 2}": {"a": 2, "b": 1, "c": 0} for n in range(NUM)}
BEFORE = {query_id: ["c", "b", "a"] for query_id in QRELS}


def drawn(seed, share=0.5):
    """Make a run that puts the best document first on about this share of the queries."""
    lucky = random.Random(seed)
    return {query_id: ["a", "b"] if lucky.random() < share else ["b", "a"] for query_id in QRELS}


SEEDS = [drawn(seed) for seed in (1, 2, 3)]


def p1(run):
    return [float(run[query_id][0] == "a") for query_id in QRELS]


@pytest.fixture
def repeated():
    return compare(QRELS, BEFORE, {"llm": SEEDS}, "P(rel=2)@1", p_imp=False)


def test_values_of_repeats_are_averaged_by_query(repeated):
    (measure,) = repeated.measures
    expected = [mean(values) for values in zip(*map(p1, SEEDS), strict=True)]
    assert list(repeated.values["llm", measure].values()) == pytest.approx(expected)
    assert repeated.whole.means["llm", measure].value == pytest.approx(mean(map(mean, map(p1, SEEDS))))


def test_the_spread_of_repeats_is_reported_and_in_the_interval(repeated):
    (measure,) = repeated.measures
    means = [mean(p1(run)) for run in SEEDS]
    found = repeated.whole.spreads["llm", measure]
    assert found.runs == 3
    assert found.deviation == pytest.approx(stdev(means))
    assert (found.low, found.high) == (min(means), max(means))
    change = repeated.whole.changes["llm", measure]
    values = [mean(values) for values in zip(*map(p1, SEEDS), strict=True)]  # the baseline has 0 everywhere
    of_queries, of_runs = stdev(values) ** 2 / NUM, stdev(means) ** 2 / 3
    assert change.estimate.variance == pytest.approx(of_queries + of_runs)
    freedom = (of_queries + of_runs) ** 2 / (of_queries**2 / (NUM - 1) + of_runs**2 / 2)  # Welch and Satterthwaite
    assert change.estimate.freedom == pytest.approx(freedom)
    once = compare(QRELS, BEFORE, {"llm": evaluate(QRELS, BEFORE, "P@1")}, "P@1", p_imp=False)
    assert once.whole.spreads == {}
    assert f"llm: the mean of 3 runs, P(rel=2)@1 from {min(means):.4f} to {max(means):.4f}" in repeated.render()
    (record,) = [entry for entry in json.loads(repeated.to_json())["all"]["means"] if entry["run"] == "llm"]
    assert record["repeats"] == {"runs": 3, "deviation": stdev(means), "low": min(means), "high": max(means)}


def test_groups_have_their_own_spread():
    found = compare(QRELS, BEFORE, {"llm": SEEDS}, "P(rel=2)@1", p_imp=False, groups="turn")
    (measure,) = found.measures
    for place, table in enumerate(found.groups):
        means = [mean(p1(run)[place::2]) for run in SEEDS]
        assert table.spreads["llm", measure].deviation == pytest.approx(stdev(means))


def test_one_lucky_run_does_not_decide():
    """Runs that differ more from one another than the systems do show nothing, however many queries there are."""
    qrels = {str(n): {"a": 1} for n in range(400)}
    hit, miss = ["a", "b"], ["b", "a"]
    runs = [{q: hit if n % 10 < level else miss for n, q in enumerate(qrels)} for level in (2, 9)]
    base = {q: hit if n % 10 < 5 else miss for n, q in enumerate(qrels)}
    lucky = compare(qrels, base, {"llm": runs[1]}, "P@1", p_imp=False)
    both = compare(qrels, base, {"llm": runs}, "P@1", p_imp=False, all_pairs=True)
    (measure,) = both.measures
    assert lucky.whole.changes["llm", measure].verdict == "higher"
    assert both.whole.changes["llm", measure].verdict == "not shown"
    assert set(both.pairs[measure].letters.values()) == {"a"}


def test_without_a_spread_nothing_changes():
    once = compare(QRELS, BEFORE, {"llm": SEEDS[0]}, "P(rel=2)@1", p_imp=False)
    twice = compare(QRELS, BEFORE, {"llm": [SEEDS[0], SEEDS[0]]}, "P(rel=2)@1", p_imp=False)
    (measure,) = once.measures
    assert twice.whole.changes["llm", measure] == once.whole.changes["llm", measure]


def test_repeats_of_the_baseline_count_too():
    found = compare(QRELS, SEEDS, {"before": BEFORE}, "P(rel=2)@1", p_imp=False)
    (measure,) = found.measures
    assert found.whole.spreads.keys() == {("baseline", measure)}
    assert found.whole.changes["before", measure].difference == pytest.approx(-mean(map(mean, map(p1, SEEDS))))


def test_queries_that_some_repeats_lack_are_averaged_over_the_others():
    assert averaged([{"q": 0.0, "r": 1.0}, {"q": 1.0}]) == {"q": 0.5, "r": 1.0}
    assert spread([{"q": 0.5}]) is None
    assert spread([{"q": 0.5}, {"r": 0.5}], ["q"]) is None
    assert spread([{"q": 0.0}, {"q": 1.0}]).extra == ((pytest.approx(0.5 / 2), 1.0),)
    assert spread([{"q": 0.5}, {"q": 0.5}]).extra == ()


@pytest.fixture
def saved(tmp_path):
    for name, run in (("before", BEFORE), ("after", SEEDS[0])):
        evaluate(QRELS, run, profile="permed").save(tmp_path / f"{name}.values", name)
    return tmp_path


def same(one, other):
    for (run, measure), change in one.whole.changes.items():
        (found,) = [known for (name, m), known in other.whole.changes.items() if (name, str(m)) == (run, str(measure))]
        assert found == change


def test_saved_values_are_compared_without_runs_and_qrels(saved):
    fresh = compare(QRELS, BEFORE, {"after": SEEDS[0]}, profile="permed", p_imp=False)
    found = compare(None, saved / "before.values", [saved / "after.values"])
    assert found.names == ("before", "after")
    assert list(found.labels.values()) == list(fresh.labels.values())
    same(fresh, found)
    assert any("no P-imp" in note for note in found.notes)


def test_saved_values_are_compared_with_a_run(saved):
    fresh = compare(QRELS, BEFORE, {"after": SEEDS[0]}, profile="permed", p_imp=False)
    same(fresh, compare(QRELS, saved / "before.values", {"after": SEEDS[0]}))
    same(fresh, compare(QRELS, Evaluation.load(saved / "before.values"), {"after": SEEDS[0]}, profile="permed"))


def test_saved_values_are_repeats_too(saved):
    found = compare(
        None, saved / "before.values", {"llm": [saved / "after.values", evaluate(QRELS, SEEDS[1], profile="permed")]}
    )
    assert {spread.runs for spread in found.whole.spreads.values()} == {2}
    assert "how far runs are apart is hardly known from two" in found.render()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"0_0": {"a": 1, "b": 1, "c": 0}}, r"1 of 40 queries have other judgements \('0_0'\)"),
        ({"new": {"a": 1}}, r"1 are in the qrels only \('new'\)"),
    ],
)
def test_changed_qrels_are_refused(saved, change, said):
    for runs in ({"after": SEEDS[0]}, [saved / "after.values"]):
        with pytest.raises(InputError, match=rf"'before' and the qrels do not rest on the same judgements: {said}"):
            compare({**QRELS, **change}, saved / "before.values", runs)


def test_values_of_other_qrels_are_refused(saved):
    evaluate({**QRELS, "0_0": {"a": 1}}, SEEDS[0], profile="permed").save(saved / "other.values")
    with pytest.raises(InputError, match=r"'before' and 'other' do not rest on the same judgements"):
        compare(None, saved / "before.values", [saved / "other.values"])


def test_other_conditions_are_refused(saved):
    evaluate(QRELS, SEEDS[0], profile="permed", order="float64").save(saved / "other.values")
    with pytest.raises(InputError, match=r"of 'before' and of 'other' cannot be compared.* order: float32 → float64"):
        compare(None, saved / "before.values", [saved / "other.values"])
    with pytest.raises(InputError, match=r"run 'before': the values of AP are not saved there"):
        compare(QRELS, saved / "before.values", {"after": SEEDS[0]}, "AP")
    text = (saved / "after.values").read_text()
    (saved / "after.values").write_text(text.replace("|version:1", "|version:2"))
    with pytest.raises(InputError, match=r"version: 1 → 2"):
        compare(None, saved / "before.values", [saved / "after.values"])


def test_measures_may_come_one_by_one():
    found = compare(QRELS, BEFORE, {"llm": SEEDS}, (name for name in ("RR", "P@1")), p_imp=False)
    assert [str(measure) for measure in found.measures] == ["RR", "P@1"]


def test_a_run_without_qrels_is_an_error(saved):
    with pytest.raises(InputError, match=r"run 'after': a run is evaluated against qrels, and none are given"):
        compare(None, saved / "before.values", {"after": SEEDS[0]})


@pytest.mark.parametrize("cluster", [None, "conversation", {query_id: query_id[:-2] for query_id in QRELS}])
def test_a_comparison_is_loaded_as_it_was(tmp_path, cluster):
    options = {"cluster": cluster, "groups": "turn", "test": "t", "correction": "bh", "margin": 0.5, "all_pairs": True}
    before = compare(
        QRELS,
        BEFORE,
        {"llm": SEEDS, "one": SEEDS[0]},
        "P(rel=2)@1 RR",
        p_imp=False,
        descriptions={"one": "x"},
        **options,
    )
    before.save(tmp_path / "v")
    after = Comparison.load(tmp_path / "v")
    assert after.to_dict() == before.to_dict()
    assert after.repeats == before.repeats
    same(before, after)


def test_values_alone_are_no_comparison(saved):
    with pytest.raises(InputError, match="saved values of before, but no comparison"):
        Comparison.load(saved / "before.values")


@pytest.fixture
def tool(tmp_path, monkeypatch, shell):
    monkeypatch.chdir(tmp_path)
    rows = [f"{q} 0 {d} {grade}\n" for q, judged in QRELS.items() for d, grade in judged.items()]
    (tmp_path / "qrels.txt").write_text("".join(rows))
    for name, run in {"before": BEFORE, **{f"seed{n}": run for n, run in enumerate(SEEDS)}}.items():
        lines = [f"{q} Q0 {d} {n} {-n} t\n" for q, docs in run.items() for n, d in enumerate(docs)]
        (tmp_path / f"{name}.run").write_text("".join(lines))

    return shell


def test_the_shell_takes_repeats(tool):
    code, out, err = tool("compare", "qrels.txt", "before.run", "llm=seed0.run,seed1.run,seed2.run", "-m", "P(rel=2)@1")
    assert (code, err) == (0, "")
    assert "llm: the mean of 3 runs" in out
    assert "|digest:" not in out
    code, out, _ = tool(
        "compare", "qrels.txt", "before.run", "seed0.run", "-m", "RR", "--signatures", "--html", "p.html"
    )
    assert "RR|order:float32|queries:qrels|n:40|judgements:120|digest:" in out
    assert "RR|order:float32|queries:qrels|n:40|judgements:120|digest:" in Path("p.html").read_text()


def test_the_shell_takes_saved_values(tool):
    assert tool("eval", "qrels.txt", "before.run", "seed0.run", "-m", "P@1 RR", "--save", "both.values")[0] == 0
    code, whole, _ = tool("compare", "both.values", "--format", "json")
    assert code == 0
    assert [run["name"] for run in json.loads(whole)["runs"]] == ["before", "seed0"]
    code, _, err = tool(
        "compare", "qrels.txt", "both.values", "seed1.run", "--cluster", "conversation", "--save", "three.values"
    )
    assert (code, err) == (0, "")
    code, out, _ = tool("compare", "three.values", "--brief")
    assert code == 0
    assert "20 conversations, 40 queries" in out  # as it was saved
    assert all(name in out for name in ("before", "seed0", "seed1"))
    code, out, err = tool("compare", "qrels.txt", "b=before.run", "s=both.values")
    assert (code, out) == (2, "")
    assert "the file holds the values of before, seed0" in err


def test_the_shell_refuses_changed_qrels(tool, tmp_path):
    assert tool("eval", "qrels.txt", "before.run", "--save", "before.values")[0] == 0
    text = (tmp_path / "qrels.txt").read_text()
    (tmp_path / "qrels.txt").write_text(text.replace("\n3_1 0 a 2", "\n3_1 0 a 1"))
    code, out, err = tool("compare", "qrels.txt", "before.values", "seed0.run")
    assert (code, out) == (2, "")
    assert "1 of 40 queries have other judgements ('3_1')" in err


@pytest.mark.parametrize(("runs", "least"), [(2, 0.82), (3, 0.88), (5, 0.91)])
@pytest.mark.parametrize("between", [0.0, 0.05, 0.2])
def test_an_interval_of_repeats_covers(runs, least, between):
    """By simulation: 60 queries, runs with luck of this standard deviation; two are few, as the report says."""
    luck = random.Random(7)
    covered = 0
    for _ in range(500):
        queries = [luck.gauss(0, 0.3) for _ in range(60)]
        columns = []
        for _ in range(runs):
            own = luck.gauss(0, between)
            columns.append({str(n): value + own + luck.gauss(0, 0.1) for n, value in enumerate(queries)})
        found = estimate(units(averaged(columns)), extra=spread(columns).extra)
        low, high = found.interval()
        covered += low <= 0 <= high
    assert covered / 500 >= least
