"""Agreement of judges, and means corrected by people's sample: arithmetic, promises, and coverage."""

import doctest
import json
import math
import random
import re
from pathlib import Path

import pytest

from permed_measures import InputError, ParamError, corrected, evaluate, gate
from permed_measures.cli import main
from permed_measures.judges import agreement, mapped, parse_map, sample_queries

PEOPLE = {"q1": {"a": 0, "b": 1, "c": 2}, "q2": {"a": 1, "b": 1}}
LLM = {"q1": {"a": 1, "b": 1, "c": 2, "d": 0}, "q2": {"a": 1, "b": 2}, "q3": {"a": 2}}


def coefficient(name, people=PEOPLE, llm=LLM):
    return agreement(people, llm)["judge"].coefficients[name].value


def test_pairs_of_both_and_of_one_only():
    found = agreement(PEOPLE, LLM)["judge"]
    assert (found.both, found.only_people, found.only_judge, found.num_queries) == (5, 0, 1, 2)
    assert found.confusion == {(0, 1): 1, (1, 1): 2, (2, 2): 1, (1, 2): 1}


def test_coefficients_by_hand():
    # five pairs: 0-1, 1-1, 2-2, 1-1, 1-2
    assert coefficient("exact_agreement") == 3 / 5
    assert coefficient("over_rating") == pytest.approx((1 + 0 + 0 + 0 + 1) / 5)
    by_chance = (1 * 0 + 3 * 3 + 1 * 2) / 25  # people 0:1 1:3 2:1, judge 1:3 2:2
    assert coefficient("kappa") == pytest.approx((3 / 5 - by_chance) / (1 - by_chance))
    expected = (0 + 1 + 4 + 1 + 1) / 5 + (1 + 1 + 4 + 1 + 4) / 5 - 2 * (5 / 5) * (7 / 5)
    assert coefficient("weighted_kappa") == pytest.approx(1 - (2 / 5) / expected)
    # pooled 0:1 1:6 2:3, ten values: mean squared difference of two of them
    pooled = 2 * (1 * 6 * 1 + 1 * 3 * 4 + 6 * 3 * 1) / (10 * 9)
    assert coefficient("alpha_interval") == pytest.approx(1 - (2 / 5) / pooled)
    # ordinal: mean ranks 0.5, 1 + 3, 7 + 1.5
    ranks = 2 * (1 * 6 * 3.5**2 + 1 * 3 * 8**2 + 6 * 3 * 4.5**2) / (10 * 9)
    assert coefficient("alpha_ordinal") == pytest.approx(1 - ((3.5**2 + 4.5**2) / 5) / ranks)


def test_two_who_give_one_grade_throughout_have_no_kappa():
    found = agreement({"q": {"a": 1, "b": 1}}, {"q": {"a": 1, "b": 1}})["judge"].coefficients
    assert found["kappa"].value is None
    assert found["exact_agreement"].value == 1
    assert found["exact_agreement"].low is None  # never an interval of width 0


def test_interval_draws_queries_and_contains_the_value():
    rng = random.Random(3)
    people = {f"q{i}": {f"d{j}": rng.randrange(3) for j in range(6)} for i in range(40)}
    llm = {
        q: {d: g if rng.random() < 0.7 else rng.randrange(3) for d, g in grades.items()} for q, grades in people.items()
    }
    found = agreement(people, llm)["judge"].coefficients
    assert all(c.low < c.value < c.high for c in found.values())
    # one query copied 40 times is one query: no interval
    one = agreement({"q": people["q1"]}, {"q": llm["q1"]})["judge"].coefficients
    assert all(c.low is None for c in one.values())
    # whole clusters are drawn: four clusters of ten alike queries are wider than forty queries
    clusters = {q: str(int(q[1:]) % 4) for q in people}
    same = {q: people[f"q{int(q[1:]) % 4}"] for q in people}
    judged = {q: llm[f"q{int(q[1:]) % 4}"] for q in people}
    narrow = agreement(same, judged)["judge"].coefficients["exact_agreement"]
    wide = agreement(same, judged, cluster=clusters)["judge"].coefficients["exact_agreement"]
    assert wide.high - wide.low > 1.5 * (narrow.high - narrow.low)


def test_scales_that_differ_need_a_mapping():
    people, llm = {"q": {"a": 2, "b": 0, "c": 1}}, {"q": {"a": 9.5, "b": 1, "c": 4}}
    with pytest.raises(InputError, match=r"highest grade is 2, that of judge 9\.5.*--map"):
        agreement(people, llm)
    assert agreement(people, llm, mapping="4:1,8:2")["judge"].coefficients["exact_agreement"].value == 1
    assert agreement(people, llm, mapping="same")["judge"].coefficients["exact_agreement"].value == 0
    assert mapped({"q": {"a": 3.99}}, parse_map("4:1,8:2")) == {"q": {"a": 0}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("4", "'4' is not LOWEST:GRADE"),
        ("4:1,2:2", "must ascend"),
        ("4:2,8:1", "must ascend"),
        ("x:1", "is not"),
        ("nan:1", "is not"),
    ],
)
def test_mapping_that_is_none(text, said):
    with pytest.raises(ParamError, match=re.escape(said) if "'" in said else said):
        parse_map(text)


def test_worst_disagreements_first_with_texts():
    found = agreement({"q": {"a": 0, "b": 1}}, {"q": {"a": 2, "b": 2}}, texts={"q": "what?", "a": "that"})
    assert [(d.doc_id, d.people, d.judge) for d in found["judge"].worst] == [("a", 0, 2), ("b", 1, 2)]
    assert "what? / that" in found.to_markdown()
    assert "that" not in agreement({"q": {"a": 0}}, {"q": {"a": 2}}, mapping="same").to_markdown()


def test_groups_and_several_judges():
    found = agreement(PEOPLE, LLM, PEOPLE, names=["x", "y"], group=r"q(\d)")
    assert found["x"].groups["1"]["exact_agreement"] == pytest.approx(2 / 3)
    assert found["y"].coefficients["kappa"].value == 1
    with pytest.raises(ParamError, match="2 judges need as many names"):
        agreement(PEOPLE, LLM, PEOPLE, names=["x"])
    with pytest.raises(InputError, match="no document in common"):
        agreement({"q": {"a": 1}}, {"q": {"b": 1}})


def _systems(num=60):
    rng = random.Random(5)
    people = {f"q{i}": {f"d{j}": int(rng.random() < 0.4) for j in range(10)} for i in range(num)}
    runs = {
        name: {q: {d: g + rng.gauss(0, noise) for d, g in grades.items()} for q, grades in people.items()}
        for name, noise in (("good", 0.3), ("fair", 0.9), ("poor", 9.0))
    }
    return people, runs


def test_judges_that_order_systems_alike_and_otherwise():
    people, runs = _systems()
    turned = {q: {d: 1 - g for d, g in grades.items()} for q, grades in people.items()}
    order = agreement(people, people, turned, names=["same", "turned"], runs=runs, measures="P@3").systems
    by_judge = {judge: found for (judge, _), found in order.orders.items()}
    assert (by_judge["same"].tau, by_judge["same"].tau_ap) == (1, 1)
    assert (by_judge["turned"].tau, by_judge["turned"].tau_ap) == (-1, -1)
    assert {pair.verdict for pair in by_judge["same"].pairs} == {"same"}
    assert {pair.verdict for pair in by_judge["turned"].pairs} == {"opposite"}
    means = {name: evaluate(people, run, "P@3")["P@3"] for name, run in runs.items()}
    assert {name: both[0] for name, both in by_judge["same"].means.items()} == pytest.approx(means)
    with pytest.raises(ParamError, match="two runs at least"):
        agreement(people, people, runs={"good": runs["good"]})


def _values(num, num_people, *, seed=1, noise=0.25):
    """Qrels of one document per query, whose grade is P's only way to a value, as floats in [0, 1] by nDCG's gains."""
    rng = random.Random(seed)
    people, llm = {}, {}
    for i in range(num):
        grades = {f"d{j}": int(rng.random() < 0.5) for j in range(5)}
        people[f"q{i}"] = grades
        llm[f"q{i}"] = {d: g if rng.random() > noise else 1 for d, g in grades.items()}
    sample = rng.sample(list(people), num_people)
    return people, llm, {q: people[q] for q in sample}, {q: [f"d{j}" for j in range(5)] for q in people}


@pytest.mark.parametrize("measure", ["P@5", "P@1"])
def test_corrected_mean_is_the_formula(measure):
    scipy_stats = pytest.importorskip("scipy.stats")
    _, llm, sample, run = _values(300, 120)
    found = corrected(llm, sample, run, measure)[measure]
    f_all = evaluate(llm, run, measure).columns
    f_all = next(iter(f_all.values()))
    h = next(iter(evaluate(sample, run, measure).columns.values()))
    f = [f_all[q] for q in h]
    h = list(h.values())
    n, N = len(h), len(f_all)  # noqa: N806  (as the formula is written)
    mh, mf = sum(h) / n, sum(f) / n
    lam = sum((x - mh) * (y - mf) for x, y in zip(h, f, strict=True)) / sum((y - mf) ** 2 for y in f)
    r = [x - lam * y for x, y in zip(h, f, strict=True)]
    mr = sum(r) / n
    theta = lam * sum(f_all.values()) / N + mr
    a = 1 if measure == "P@1" else 0.5
    s2 = (sum((x - mh) ** 2 for x in h) + 0.5) / (n + 1)
    se = math.sqrt((1 - n / N) * (sum((x - mr) ** 2 for x in r) + 2 * a * a) / (n * (n + 2)) + s2 / N)
    t = scipy_stats.t.ppf(0.975, n)
    assert found.quote == "corrected"
    assert found.corrected.value == pytest.approx(theta, abs=1e-12)
    # older versions of scipy have t's quantile to 1e-11
    ends = pytest.approx((theta - t * se, theta + t * se), abs=1e-10)
    assert (found.corrected.low, found.corrected.high) == ends
    assert (found.num_judge, found.num_people) == (300, 120)
    assert found.judge.value == pytest.approx(sum(f_all.values()) / N)
    assert found.people.value == pytest.approx(mh)


def test_fewer_than_fifteen_is_people_alone():
    _, llm, sample, run = _values(100, 14)
    found = corrected(llm, sample, run, "P@5")
    assert found["P@5"].quote == "people"
    assert found["P@5"].corrected == found["P@5"].people
    assert "fewer than 15" in found.to_markdown()


def test_judge_no_better_than_noise_is_said():
    people, _, sample, run = _values(400, 60)
    rng = random.Random(9)
    noise = {q: {d: rng.randrange(2) for d in grades} for q, grades in people.items()}
    found = corrected(noise, sample, run, "P@5")["P@5"]
    assert found.quote == "people"
    assert "noise" in found.why


def test_promise_depth_and_strangers_are_noted():
    people, llm, sample, run = _values(60, 20)
    shallow = {q: {"d0": grades["d0"]} for q, grades in sample.items()}
    notes = " ".join(corrected(llm, {**shallow, "other": {"d0": 1}}, run, "P@1").notes)
    assert "drawn at random" in notes
    assert "did not judge as deep" in notes
    assert "1 query of people's are not among" in notes
    assert "did not judge as deep" not in " ".join(corrected(llm, sample, run, "P@1").notes)
    with pytest.raises(InputError, match="no query was judged by both"):
        corrected(llm, {"other": people["q1"]}, run, "P@1")
    with pytest.raises(ParamError, match="only means can be corrected"):
        corrected(llm, sample, run, "NumRet")


def test_only_judged_queries_count_where_a_mean_runs_over_those_of_the_run():
    _, llm, sample, run = _values(100, 30)
    found = corrected(llm, sample, {**run, "nobody": ["d0"]}, "Coverage@5", queries="run")["Coverage@5"]
    assert (found.num_judge, found.num_people) == (100, 30)
    coverage = [any(sample[q].values()) for q in sample]
    assert found.people.value == pytest.approx(sum(coverage) / 30)


def test_difference_is_about_both_runs():
    _, llm, sample, run = _values(300, 100)
    turned = {q: docs[::-1] for q, docs in run.items()}
    found = corrected(llm, sample, run, "P@2", baseline=turned)["P@2"]
    by_hand = [evaluate(llm, which, "P@2")["P@2"] for which in (run, turned)]
    assert found.judge.value == pytest.approx(by_hand[0] - by_hand[1])
    assert corrected(llm, sample, run, "P@2", baseline=run)["P@2"].people.value == 0


def test_corrected_mean_covers_where_the_judge_alone_does_not():
    truth, hits, alone, widths = 0.5, 0, 0, []
    for seed in range(120):
        _, llm, sample, run = _values(250, 50, seed=seed)
        found = corrected(llm, sample, run, "P@5")["P@5"]
        hits += found.corrected.low <= truth <= found.corrected.high
        alone += found.judge.low <= truth <= found.judge.high
        widths.append(found.corrected.width / found.people.width)
    assert hits / 120 > 0.9
    assert alone / 120 < 0.2  # over-rated by 0.125
    assert sum(widths) / 120 < 0.9


def test_clusters_widen_the_corrected_interval():
    rng = random.Random(2)
    people = {}
    for c in range(40):
        rate = rng.random()
        for t in range(5):
            people[f"{c}_{t}"] = {f"d{j}": int(rng.random() < rate) for j in range(5)}
    llm = {q: {d: g if rng.random() > 0.1 else 1 for d, g in grades.items()} for q, grades in people.items()}
    run = {q: list(grades) for q, grades in people.items()}
    drawn = sample_queries(people, 25, seed=1, cluster="conversation")
    assert len(drawn) == 25 * 5
    sample = {q: people[q] for q in drawn}
    plain, clustered = (corrected(llm, sample, run, "P@5", cluster=c)["P@5"] for c in (None, "conversation"))
    assert clustered.people.width > 1.3 * plain.people.width
    assert clustered.corrected.width > plain.corrected.width
    assert clustered.corrected.value == pytest.approx(plain.corrected.value)


def test_a_table_of_clusters_has_every_query_and_an_expression_leaves_the_others_alone():
    people, llm, sample, run = _values(60, 20)
    some = dict.fromkeys(list(people)[:30], "c")
    for asked in (
        lambda: corrected(llm, sample, run, "P@5", cluster=some),
        lambda: agreement(sample, llm, cluster=some),
        lambda: sample_queries(people, 2, cluster=some),
    ):
        with pytest.raises(InputError, match="every query needs a cluster"):
            asked()
    assert len(sample_queries(people, 55, cluster="^q1[0-4]$")) == 55  # each of q10 to q14 is a cluster of its own


def test_sample_is_random_seeded_and_free_of_order():
    ids = [f"q{i}" for i in range(100)]
    assert sample_queries(ids, 10, seed=1) == sample_queries(ids[::-1], 10, seed=1)
    assert sample_queries(ids, 10, seed=1) != sample_queries(ids, 10, seed=2)
    assert len(set(sample_queries(ids, 100))) == 100
    with pytest.raises(ParamError, match="cannot be drawn from 100"):
        sample_queries(ids, 101)


def _write(path, qrels):
    path.write_text("".join(f"{q} 0 {d} {g}\n" for q, grades in qrels.items() for d, g in grades.items()))
    return str(path)


def _shell(*arguments):
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    return end.value.code


def test_shell_compares_judges(tmp_path, capsys):
    people, llm = _write(tmp_path / "people.txt", PEOPLE), _write(tmp_path / "llm.txt", LLM)
    page = tmp_path / "page.html"
    assert _shell("judges", people, llm, "--format", "json", "--html", str(page)) == 0
    found = json.loads(capsys.readouterr().out)["judges"]["llm"]
    assert found["both"] == 5
    assert found["coefficients"]["exact_agreement"]["value"] == 0.6
    assert '<rect class="heat"' in page.read_text()
    assert _shell("judges", people, llm, "--map", "x=4:1") == 2
    assert "the judges are llm" in capsys.readouterr().err


def test_shell_draws_queries(tmp_path, capsys):
    llm = _write(tmp_path / "llm.txt", LLM)
    assert _shell("judges", llm, "--sample", "2", "--seed", "3") == 0
    drawn = capsys.readouterr().out.split()
    assert drawn == sample_queries(LLM, 2, seed=3)
    assert _shell("judges", llm, llm, "--sample", "2") == 2
    assert _shell("judges", llm) == 2
    assert "give the qrels of a judge" in capsys.readouterr().err


@pytest.fixture
def judged_files(tmp_path):
    _, llm, sample, run = _values(200, 60)
    lines = [f"{q} Q0 {d} 1 {9 - n} t" for q, docs in run.items() for n, d in enumerate(docs)]
    (tmp_path / "run.trec").write_text("\n".join(lines))
    (tmp_path / "base.trec").write_text("\n".join(line.replace(" 9 t", " 0 t") for line in lines))
    return _write(tmp_path / "llm.txt", llm), _write(tmp_path / "people.txt", sample), str(tmp_path / "run.trec")


def test_shell_corrects_means_and_differences(judged_files, capsys):
    llm, people, run = judged_files
    assert _shell("eval", llm, run, "-m", "P@5", "--human", people, "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)["measures"]["P@5"]
    expected = corrected(llm, people, run, "P@5")["P@5"]
    assert found["corrected"] == {
        "value": expected.corrected.value,
        "low": expected.corrected.low,
        "high": expected.corrected.high,
    }
    assert found["quote"] == "corrected"
    base = run.replace("run.trec", "base.trec")
    assert _shell("compare", llm, base, run, "-m", "P@2", "--human", people, "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["difference"] is True
    assert found["measures"]["P@2"]["judge"]["value"] == pytest.approx(
        evaluate(llm, run, "P@2")["P@2"] - evaluate(llm, base, "P@2")["P@2"]
    )
    for wrong in (("--map", "4:1"), ("--human", people, "--save", "x"), ("--human", people, "-q")):
        assert _shell("eval", llm, run, *wrong) == 2
    assert "option" in capsys.readouterr().err


def test_gate_asks_the_corrected_value(judged_files, capsys):
    llm, people, run = judged_files
    found = corrected(llm, people, run, "P@5")["P@5"]
    between = (found.judge.value + found.corrected.value) / 2
    assert found.corrected.value < between < found.judge.value  # the judge over-rates
    assert gate(llm, run, [f"P@5>={between}"]).exit_code == 0
    result = gate(llm, run, [f"P@5>={between}"], human=people)
    assert result.exit_code == 1
    (check,) = result.checks
    assert (check.value, check.interval) == (found.corrected.value, (found.corrected.low, found.corrected.high))
    assert _shell("gate", llm, run, f"P@5>={between}", "--human", people) == 1
    assert "of 60 judged by people" in capsys.readouterr().out
    with pytest.raises(ParamError, match="says nothing of each segment"):
        gate(llm, run, ["P@5>=0"], human=people, segments=r"(\d)$")


def test_the_story_in_the_docs_is_true():
    found = doctest.testfile(str(Path(__file__).parents[1] / "docs" / "judges.md"), module_relative=False)
    assert found.attempted > 8
    assert not found.failed
