"""From a number to what may be said: verdicts, clusters, too few queries, all pairs, in data and in words."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
from ir_measures import RR, P

from permed_measures.comparison import compare
from permed_measures.comparison.all_pairs import letters, max_t
from permed_measures.comparison.planning import plan
from permed_measures.comparison.report import words
from permed_measures.errors import InputError, ParamError
from permed_measures.inference import units
from permed_measures.render.result import FORMATS
from permed_measures.render.text import terminal_width

approx = pytest.approx


def at(rank):
    """Return a list with the relevant document at a rank."""
    return [*(f"x{place}" for place in range(rank - 1)), "a"]


def ranked(before, after, **options):
    """Compare by RR two runs that have the relevant document at these ranks."""
    qrels = {f"q{place}": {"a": 1} for place in range(len(before))}
    first, second = ({q: at(rank) for q, rank in zip(qrels, ranks, strict=True)} for ranks in (before, after))
    result = compare(qrels, first, {"r": second}, "RR", **options)
    return result, result.whole.changes["r", RR]


def test_two_queries_from_0_to_1_show_nothing():
    qrels = {"p": {"a": 1}, "q": {"a": 1}}
    result = compare(qrels, {"p": ["x"], "q": ["x"]}, {"r": {"p": ["a"], "q": ["a"]}}, "P@1")
    change = result.whole.changes["r", P @ 1]
    assert (change.p, change.verdict, change.smallest_p, change.significant) == (0.5, "not shown", 0.5, False)
    low, high = change.interval
    assert low < 0 < high == 1.0
    assert "*" not in str(result).replace("* ", "")


def test_many_small_wins_and_few_large_losses_are_mixed():
    before, after = [5] * 27 + [1] * 3, [4] * 27 + [2] * 3
    result, change = ranked(before, after, test="wilcoxon")
    # 27 · (1/4 - 1/5) - 3 · (1 - 1/2), over 30
    assert change.difference == approx((27 * 0.05 - 3 * 0.5) / 30)
    assert change.p == approx(0.0009, abs=5e-5)
    assert (change.direction, change.verdict, change.significant) == (1, "mixed", False)
    assert "is mixed: most changes are for the better (by ranks), but the mean does not follow" in str(result)
    assert ranked(before, after)[1].verdict == "not shown"


def test_wilcoxon_with_the_mean_is_higher():
    _, change = ranked([2] * 30, [1] * 25 + [2] * 5, test="wilcoxon")
    assert change.verdict == "higher"


def test_equivalent_within_a_margin():
    source = random.Random(1)
    before = [source.choice([1, 2]) for _ in range(400)]
    after = [rank if source.random() > 0.02 else 3 - rank for rank in before]
    assert ranked(before, after, margin=0.05)[1].verdict == "equivalent"
    assert ranked(before, after)[1].verdict == "not shown"
    assert ranked(before[:20], before[:20], margin=0.05)[1].verdict == "identical"
    result, slight = ranked([5] * 400, [4] * 390 + [5] * 10, margin=0.06)
    assert (slight.verdict, slight.equivalent) == ("higher", True)
    assert "r is higher than baseline, by less than the margin 0.06" in str(result)
    assert json.loads(result.to_json())["all"]["changes"][0]["equivalent"] is True


def conversations(sizes, seed, shift=0.0):
    """Make runs whose turns go up or down together, conversation by conversation."""
    source = random.Random(seed)
    qrels, before, after = {}, {}, {}
    for number, size in enumerate(sizes):
        better = source.random() < 0.5 + shift
        for turn in range(size):
            query_id = f"{number}_{turn}"
            qrels[query_id] = {"a": 1}
            before[query_id], after[query_id] = (at(3), at(1)) if better else (at(1), at(3))
    return qrels, before, after


def test_turns_of_a_conversation_are_one_unit():
    qrels, before, after = conversations([5] * 30, 1)
    alone = compare(qrels, before, {"r": after}, "RR")
    together = compare(qrels, before, {"r": after}, "RR", cluster="conversation")
    one, other = (result.whole.changes["r", RR] for result in (alone, together))
    assert (one.units, other.units, other.queries) == (150, 30, 150)
    # equal clusters of equal values: the variance of 30 means, not of 150
    assert other.estimate.variance == approx(one.estimate.variance * 149 / 29)
    assert other.estimate.freedom == 29
    assert one.p < 0.05 < other.p
    assert "30 conversations, 150 queries, baseline baseline" in str(together)
    assert any("30 conversations, 5.0 turns each" in note and "--cluster conversation" in note for note in alone.notes)
    assert not any("turns" in note for note in together.notes)
    assert json.loads(together.to_json())["unit"] == "conversation"


def test_few_clusters_show_nothing_and_say_so():
    qrels, before, after = conversations([20] * 5, 1, shift=0.5)
    for test in ("auto", "t"):
        result = compare(qrels, before, {"r": after}, "RR", cluster="conversation", test=test)
        assert (result.whole.changes["r", RR].p, result.whole.changes["r", RR].significant) == (2**-4, False)
        assert any("only 5 conversations: the smallest possible p is 0.0625" in note for note in result.notes)
    # gains of 1/2 and 2/3: t over five clusters would be significant (p = 0.0002), sign flips of five cannot
    qrels = {f"{c}_{turn}": {"a": 1} for c in range(5) for turn in range(4)}
    before, after = {q: at(2 + int(q[0]) % 2) for q in qrels}, dict.fromkeys(qrels, ("a",))
    result = compare(qrels, before, {"r": after}, "RR", cluster="conversation", test="t")
    assert (result.whole.changes["r", RR].p, result.whole.changes["r", RR].decided_by) == (2**-4, "sign flips")
    qrels, before, after = conversations([20] * 7, 1, shift=0.5)
    result = compare(qrels, before, {"r": after}, "RR", cluster="conversation")
    assert result.whole.changes["r", RR].p == 2**-6
    assert any("only 7 conversations" in note for note in result.notes)
    one = compare(qrels, before, {"r": after}, "RR", cluster=dict.fromkeys(qrels, "all"))
    assert (one.whole.changes["r", RR].interval, one.whole.changes["r", RR].verdict) == (None, "undefined")


def test_clusters_by_expression_and_file(tmp_path):
    qrels, before, after = conversations([5] * 30, 4)
    path = tmp_path / "clusters.tsv"
    path.write_text("".join(f"{query_id}\t{query_id.split('_')[0]}\n" for query_id in qrels))
    wanted = compare(qrels, before, {"r": after}, "RR", cluster="conversation").whole.changes
    assert compare(qrels, before, {"r": after}, "RR", cluster=r"^\d+").whole.changes == wanted
    assert compare(qrels, before, {"r": after}, "RR", cluster=path).whole.changes == wanted
    path.write_text("0_0\tzero\n")
    with pytest.raises(InputError, match=r"cluster 'clusters\.tsv': 149 queries not in it, the first is '0_1'"):
        compare(qrels, before, {"r": after}, "RR", cluster=path)
    with pytest.raises(InputError, match="cluster '~': it is no file, and matches no query"):
        compare(qrels, before, {"r": after}, "RR", cluster="~")


def test_ids_of_another_kind_have_no_note():
    for ids in ("q{}", "q_{}", "{}", "{}_x"):
        qrels = {ids.format(number): {"a": 1} for number in range(30)}
        assert compare(qrels, qrels, {"r": qrels}, "RR").notes == ()


def test_groups_too_small_to_show_anything_leave_the_count():
    qrels, before, after = {}, {}, {}
    for group in range(21):
        for number in range(30 if group == 20 else 2):
            query_id = f"{group}_{number}"
            qrels[query_id], before[query_id], after[query_id] = {"a": 1}, at(2), at(1)
    result = compare(qrels, before, {"r": after}, "RR", groups="conversation")
    verdicts = [table.changes["r", RR].verdict for table in result.groups]
    assert verdicts == ["not shown"] * 20 + ["higher"]
    large = result.groups[20].changes["r", RR]
    assert large.p_adjusted == large.p  # the only one in the count
    for shown in (str(result), result.render(brief=True)):
        assert shown.count("smallest possible p = 0.5") == 20
        assert "Holm over 1 comparison (20 with too few queries to show anything left out)" in re.sub(
            r"\s+", " ", shown
        )


@pytest.mark.parametrize("options", [{}, {"queries": "both"}, {"queries": "run"}])
def test_an_arm_that_never_ran_or_ran_elsewhere_is_an_error(options):
    qrels = {"p": {"a": 1}, "q": {"a": 1}}
    with pytest.raises(InputError, match="run 'r': it shares no query with the baseline"):
        compare(qrels, {"p": ["a"]}, {"r": {"q": ["a"]}}, "RR", **options)
    for nothing in ({}, {"x": ["a"]}):
        with pytest.raises(InputError, match="run 'r': no query"):
            compare(qrels, {"p": ["a"]}, {"r": nothing}, "RR", **options)
    with pytest.raises(InputError, match="run 'baseline': no query is in both"):
        compare(qrels, {"x": ["a"]}, {"r": {"q": ["a"]}}, "RR")
    with pytest.raises(InputError, match="run 'r': no document is returned for any judged query"):
        compare(qrels, {"p": ["a"]}, {"r": {"p": []}}, "RR")


def test_the_level_of_detectable_is_the_one_that_decides():
    source = random.Random(3)
    before, after = ([source.choice([1, 2, 3]) for _ in range(60)] for _ in range(2))
    qrels = {f"q{place}": {"a": 1} for place in range(60)}
    first, second = ({q: at(rank) for q, rank in zip(qrels, ranks, strict=True)} for ranks in (before, after))
    one, many, none = (
        compare(qrels, first, {f"r{n}": second for n in range(num)}, "RR", correction=correction)
        for num, correction in ((1, "holm"), (6, "holm"), (6, "none"))
    )
    found = [result.whole.changes["r0", RR].detectable for result in (one, many, none)]
    assert found[0] == found[2] < found[1]


def test_star_chip_sentence_and_json_agree():
    for seed in range(8):
        source = random.Random(seed)
        num = source.choice([8, 25, 60])
        before = [source.choice([1, 2, 3]) for _ in range(num)]
        after = [max(1, rank - (source.random() < 0.4)) for rank in before]
        for test in ("auto", "wilcoxon", "randomization"):
            result, change = ranked(before, after, test=test)
            record = json.loads(result.to_json())["all"]["changes"][0]
            assert record["verdict"] == change.verdict
            assert record["significant"] == change.significant == (change.verdict in ("higher", "lower"))
            assert (f"r is {change.verdict} than" in str(result)) == change.significant
            assert f">{change.verdict}</span>" in result.to_html()
            assert result.render(brief=True).count("*") == 2 * change.significant  # the star, and what it means


def five_by_five():
    source = random.Random(5)
    qrels = {f"q{place}": {"a": 2, "b": 1, "c": 1} for place in range(60)}
    runs = {}
    for number in range(6):
        pool = [*"abc", *(f"x{place}" for place in range(12))]
        runs[f"a_system_with_a_long_name_{number}"] = {
            q: sorted(pool, key=lambda doc, n=number: source.random() - 0.1 * n * (doc in "abc")) for q in qrels
        }
    first, *others = runs
    return compare(
        qrels,
        runs[first],
        {name: runs[name] for name in others},
        "nDCG@10 AP RR P@5 R@10",
        baseline_name=first,
        all_pairs=True,
    )


def test_five_by_five_is_a_matrix_and_few_sentences_within_120_columns():
    result = five_by_five()
    shown = str(result)
    assert max(map(terminal_width, shown.splitlines())) <= 120
    concluded = shown.partition("What can be concluded\n")[2].partition("changes against")[0]
    matrix, sentences = concluded.strip().split("\n\n")
    assert len(matrix.splitlines()) == 2 + 5
    assert sum(line.startswith("- ") for line in sentences.splitlines()) == 5  # one for each run
    for run in result.runs:
        wins = [label for m, label in result.labels.items() if result.whole.changes[run, m].verdict == "higher"]
        (line,) = (part for part in " ".join(sentences.split()).split("- ") if part.startswith(run))
        told = line.partition("higher by ")[2].partition(";")[0]
        assert [name for name in result.labels.values() if f"{name} +" in told] == wins
    before, _, folded = result.to_html().partition("<details><summary>every comparison in a sentence")
    assert before.count("<li><span") == 0
    assert folded.count("<li><span") == 25
    assert len(json.loads(result.to_json())["conclusions"]) == 25


def test_all_pairs_in_every_format():
    result = five_by_five()
    pairs = result.pairs[result.measures[0]]
    names = list(pairs.means)
    assert list(pairs.means.values()) == sorted(pairs.means.values(), reverse=True)
    for a in names:
        for b in names:
            if a != b:
                apart = pairs.p_values[a, b] < 0.05
                assert apart == (not set(pairs.letters[a]) & set(pairs.letters[b]))
    assert set(pairs.first) == {n for n in names if n == names[0] or pairs.p_values[names[0], n] >= 0.05}
    record = json.loads(result.to_json())["all_pairs"][0]
    assert [row["letters"] for row in record["runs"]] == list(pairs.letters.values())
    for form in ("text", "markdown", "latex", "html"):
        assert "all pairs by nDCG@10, 60 queries" in result.render(form)
    rows = result.as_table().records()
    assert rows[1]["letters"] == pairs.letters[rows[1]["run"]]
    assert rows[1][f"p_against_{names[0]}"] == pairs.p_values.get((rows[1]["run"], names[0]))


def test_letters_are_shared_exactly_by_those_not_apart():
    source = random.Random(0)
    for _ in range(60):
        names = [f"s{place}" for place in range(source.randint(2, 7))]
        pairs = [(a, b) for place, a in enumerate(names) for b in names[place + 1 :]]
        apart = {pair for pair in pairs if source.random() < 0.5}
        found = letters(names, apart)
        assert all(found.values())
        for a, b in pairs:
            assert bool(set(found[a]) & set(found[b])) == ((a, b) not in apart)


def test_max_t_by_hand():
    # clones share everything; one unit of difference cannot be told from none
    source = random.Random(2)
    same, apart = [0.0] * 40, [0.3 + source.gauss(0, 0.1) for _ in range(40)]
    p_same, p_apart = max_t([units(same), units(apart)], 0)
    assert (p_same, p_apart) == (1.0, 1 / 10_000)
    assert max_t([units([0.5] * 4)], 0) == [2**-3]  # no spread: what sign flips of four allow
    assert max_t([units([0.5])], 0) == [1.0]


def test_p_imp_has_an_interval_and_a_test_of_clusters_or_is_left_out():
    source = random.Random(1)
    qrels = {f"{c}_{t}": {"a": 1, "b": 0} for c in range(30) for t in range(3)}
    before = {q: source.sample(["a", "b", "c", "d"], 4) for q in qrels}
    after = {q: source.sample(["a", "b", "c", "d"], 4) for q in qrels}
    alone, together = (
        compare(qrels, before, {"r": after}, "P@3", cluster=cluster).whole.p_imp["r"]
        for cluster in (None, "conversation")
    )
    assert (alone.value, alone.pairs) == (together.value, together.pairs)
    assert alone.interval[0] < alone.value < alone.interval[1]
    assert alone.interval != together.interval
    assert alone.p != together.p
    left_out = compare(qrels, before, {"r": after}, "P@3", p_imp=False)
    assert left_out.whole.p_imp == {}
    for form in ("text", "markdown", "latex", "html"):
        assert "P-imp" not in left_out.render(form)
        assert "P-imp" in compare(qrels, before, {"r": after}, "P@3").render(form)
    assert "p_imp" not in left_out.as_table().heads


def test_many_groups_are_summed_up():
    qrels, before, after = conversations([2] * 860, 7)
    result = compare(qrels, before, {"r": after}, "RR P@1", groups="conversation", cluster="conversation")
    shown = str(result)
    assert len(shown.splitlines()) < 90
    assert "by conversation: 860 groups" in shown
    better = sum(table.changes["r", RR].difference > 0 for table in result.groups)
    assert f"{better}/0/{860 - better}" in shown
    assert shown.count("  worst  ") == shown.count("  best   ") == 10
    assert len(result.as_table().rows) == 861 * 2 * 2


def test_rare_large_losses_have_a_note():
    result, _ = ranked([2] * 46 + [1] * 4, [2] * 23 + [3] * 2 + [2] * 21 + [9] * 4)
    assert any("a few queries carry most of the change" in note for note in result.notes)


def test_words_of_the_page_hold_no_verdict_of_their_own():
    assert "not shown after correction" not in Path(words.__file__).read_text(encoding="utf-8")


def test_plan_turns_detectable_round_and_grows_with_clusters():
    qrels, before, after = conversations([5] * 40, 3)
    alone, together = (plan(qrels, before, after, "RR", difference=0.1, cluster=c) for c in (None, "conversation"))
    (one,), (other,) = alone.prospects, together.prospects
    assert (one.design, one.queries) == (approx(1), 200)
    # turns go together: 200 queries are worth 40, V is 199 / 39 times that of independent ones
    assert other.design == approx(200 * (1 / 39) * one.deviation**2 * 199 / 200 / one.deviation**2)
    change = compare(qrels, before, {"r": after}, "RR").whole.changes["r", RR]
    assert alone.shows(one) == approx(change.detectable)
    needed = alone.needed(one)
    assert alone.shown_by(one, needed) <= 0.1 < alone.shown_by(one, needed - 1)
    assert together.needed(other) == pytest.approx(needed * other.design, abs=1)
    asked = plan(qrels, before, after, "RR P@1", queries=500)
    assert asked.comparisons == 2
    assert asked.shows(asked.prospects[0]) == asked.shown_by(asked.prospects[0], 500) < alone.shows(one) * 1.2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "a plan needs qrels, a baseline and a run"),
        ({"sd": -1}, "sd=-1 is not allowed"),
        ({"sd": 0.2, "run": {"q": ["a"]}}, "not both"),
        ({"sd": 0.2, "difference": 0}, "difference=0 is not allowed"),
        ({"qrels": {"q": {"a": 1}}, "baseline": {"q": ["a"]}, "run": {"q": ["a"]}, "measures": "RR"}, "give sd"),
    ],
)
def test_wrong_plans(options, message):
    with pytest.raises(ParamError, match=message):
        plan(**options)


@pytest.mark.parametrize("form", FORMATS)
def test_a_plan_in_every_format(form):
    shown = plan(sd=0.2, difference=0.02, comparisons=6).render(form)
    assert "1217" in shown.replace(",", "")
    assert ("<svg" in shown) == (form == "html")
