"""compare(): means, changes, groups, P-imp, and the inputs it refuses."""

from __future__ import annotations

import math
import random
import statistics

import pytest
from ir_measures import AP, RR, P, nDCG

from permed_measures.comparison import compare
from permed_measures.comparison.changes import CORRECTIONS, TESTS
from permed_measures.comparison.p_imp import pair_counts, pair_improvement
from permed_measures.comparison.tops import tops
from permed_measures.errors import InputError, ParamError
from permed_measures.evaluate import evaluate
from permed_measures.evaluate.groups import grouped, read_pairs
from permed_measures.ranking import Ranking

pytest.importorskip("scipy", reason="the paired t-test needs it")
approx = pytest.approx

QRELS = {"1_1": {"a": 2, "b": 1}, "1_2": {"a": 1, "c": 0}, "2_1": {"b": 2}, "2_2": {"c": 1}}
BEFORE = {"1_1": ["c", "a", "b"], "1_2": ["c", "a"], "2_1": ["b", "a"], "2_2": ["c", "a"]}
AFTER = {"1_1": ["a", "b", "c"], "1_2": ["a", "c"], "2_1": ["a", "b"], "2_2": ["c", "a"]}


def by_hand(before, after, qrels, k, rel):
    """P-imp as its definition reads: every pair of the reranked top k, one after the other."""
    right = total = wrong = 0
    for query_id in qrels:
        if query_id not in before or query_id not in after:
            continue
        old, new = before[query_id][:k], after[query_id][:k]
        for first in range(len(new)):
            for second in range(first + 1, len(new)):
                a, b = new[first], new[second]
                a_relevant = qrels[query_id].get(a, 0) >= rel
                b_relevant = qrels[query_id].get(b, 0) >= rel
                if a_relevant == b_relevant:
                    continue
                total += 1
                a_old = old.index(a) if a in old else math.inf
                b_old = old.index(b) if b in old else math.inf
                right += a_relevant and b_old < a_old
                wrong += b_relevant and b_old < a_old
    return total, right, wrong


def random_lists(seed, num=40):
    source = random.Random(seed)
    docs = [f"d{place}" for place in range(12)]
    qrels = {f"{q // 4}_{q % 4}": {d: source.randint(0, 2) for d in docs if source.random() < 0.7} for q in range(num)}
    runs = []
    for _ in range(2):
        lists = {q: source.sample(docs, source.randint(0, 12)) for q in qrels if source.random() < 0.95}
        runs.append(lists)
    return qrels, *runs


def test_means_changes_and_counts_by_hand():
    result = compare(QRELS, BEFORE, {"after": AFTER}, [RR, P @ 1])
    change = result.whole.changes["after", RR]
    # before 1/2 1/2 1 1, after 1 1 1/2 1
    assert result.whole.means["baseline", RR].value == approx((1 / 2 + 1 / 2 + 1 + 1) / 4)
    assert result.whole.means["after", RR].value == approx((1 + 1 + 1 / 2 + 1) / 4)
    assert change.difference == approx((1 / 2 + 1 / 2 - 1 / 2 + 0) / 4)
    assert change.relative == approx(0.125 / 0.75)
    assert (change.wins, change.ties, change.losses) == (2, 1, 1)
    assert change.effect_size == approx(0.125 / statistics.stdev([0.5, 0.5, -0.5, 0]))
    # signs of three differences of one size: 1 of 8 has the sum 1.5, 3 have 0.5, and so below zero: |sum| >= 0.5 in all
    assert change.p_values["randomization"] == 1.0
    assert change.p_values["wilcoxon"] == 1.0
    best = next(line for line in result.to_markdown().splitlines() if "**0.8750**" in line)
    assert best.startswith("| after |")


def test_means_are_those_of_evaluate():
    qrels, before, after = random_lists(1)
    measures = ["nDCG(dcg='exp-log2')@10", "GWAP@10", "P@1", "AP"]
    result = compare(qrels, before, {"x": after}, measures)
    alone = evaluate(qrels, after, measures)
    assert {m: result.whole.means["x", m].value for m in result.measures} == alone.means
    gain = (alone[AP] - evaluate(qrels, before, "AP")[AP]) / evaluate(qrels, before, "AP")[AP]
    assert result.whole.changes["x", AP].relative == approx(gain, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize("rel", [1, 2])
def test_p_imp_is_its_definition(seed, k, rel):
    qrels, before, after = random_lists(seed)
    found = pair_improvement(pair_counts(qrels, before, after, cutoff=k, rel=rel), k)
    assert (found.pairs, found.improved, found.worsened) == by_hand(before, after, qrels, k, rel)


def test_p_imp_of_one_query_by_hand():
    # reranked top 3: a (relevant) n m; before, in the top 3: n a x. Pairs a-n: was wrong, is right. a-m: m was missing,
    # so a stood before it: not improved. 1 of 2.
    result = compare({"q": {"a": 1}}, {"q": ["n", "a", "x", "m"]}, {"r": {"q": ["a", "n", "m"]}}, "P@3")
    assert result.whole.p_imp["r"].value == 1 / 2
    # both missing before: no wrong order; at 2 the pair a-n was in the top 2
    assert pair_counts({"q": {"a": 1}}, {"q": ["x", "y"]}, {"q": ["a", "n"]}, cutoff=2) == {"q": (1, 0, 0)}


def test_p_imp_depth_comes_from_the_measures_or_is_given():
    assert compare(QRELS, BEFORE, {"r": AFTER}, "P@1 nDCG@5").whole.p_imp["r"].cutoff == 5
    assert compare(QRELS, BEFORE, {"r": AFTER}, "P@1 RR").whole.p_imp["r"].cutoff == 10
    assert compare(QRELS, BEFORE, {"r": AFTER}, "P@5", p_imp_cutoff=2).whole.p_imp["r"].cutoff == 2


def test_p_imp_uses_the_threshold_of_relevance():
    qrels, before, after = random_lists(3)
    result = compare(qrels, before, {"r": after}, "P@5", min_relevance=2)
    found = result.whole.p_imp["r"]
    assert (found.pairs, found.improved, found.worsened) == by_hand(before, after, qrels, 5, 2)


def test_the_top_of_scores_is_in_the_order_of_rank():
    source = random.Random(0)
    scores = {f"d{place}": source.choice([0.1, 0.5, 1e300, 2.0]) for place in range(200)}
    ordered = sorted(scores, key=lambda d: (min(scores[d], 3e38), d), reverse=True)
    assert tops({"q": scores}, ["q", "absent"], 7) == {"q": ordered[:7]}
    huge = {f"d{place}": 10**400 if place == 3 else place for place in range(100)}
    assert tops({"q": huge}, ["q"], 2) == {"q": ["d3", "d99"]}


def test_identical_runs():
    result = compare(QRELS, BEFORE, {"same": dict(BEFORE)}, "nDCG@10 P@1")
    for change in result.whole.changes.values():
        assert change.difference == 0
        assert set(change.p_values.values()) == {1.0}
        assert (change.verdict, change.p_adjusted) == ("identical", 1.0)
        # four zeros, a -1 and a 1: never of width 0
        assert change.interval == (approx(-2.5705818 * math.sqrt(2 / 30)), approx(2.5705818 * math.sqrt(2 / 30)))
        assert (change.wins, change.ties, change.losses) == (0, 4, 0)


def test_one_query_defines_no_interval_and_no_test():
    result = compare({"q": {"a": 1}}, {"q": ["b", "a"]}, {"r": {"q": ["a", "b"]}}, "RR")
    change = result.whole.changes["r", RR]
    assert (change.difference, change.relative, change.wins) == (0.5, 1.0, 1)
    assert (change.interval, change.p, change.p_adjusted, change.effect_size, change.detectable) == (None,) * 5
    assert set(change.p_values.values()) == {None}
    assert change.verdict == "undefined"
    assert result.whole.means["r", RR].interval is None


def test_a_baseline_of_zero_has_no_gain():
    qrels = {"p": {"a": 1}, "q": {"a": 1}}
    result = compare(qrels, {"p": ["x"], "q": ["x"]}, {"r": {"p": ["a"], "q": ["x"]}}, "P@1")
    assert result.whole.changes["r", P @ 1].relative is None


def test_verdicts():
    qrels = {f"q{place}": {"a": 1} for place in range(60)}
    worst, best = dict.fromkeys(qrels, ("x", "a")), dict.fromkeys(qrels, ("a",))
    some = {q: ["a"] if place % 10 == 0 else ["x", "a"] for place, q in enumerate(qrels)}
    mixed = {q: ["x", "x2", "a"] if place % 3 == 0 else ["a"] for place, q in enumerate(qrels)}
    result = compare(qrels, worst, {"best": best, "some": some, "mixed": mixed}, "RR")
    assert [result.whole.changes[run, RR].verdict for run in result.runs] == ["higher", "higher", "higher"]
    assert compare(qrels, best, {"worst": worst}, "RR").whole.changes["worst", RR].verdict == "lower"
    near = {q: ["a"] if place == 0 else ["x", "a"] for place, q in enumerate(qrels)}
    assert compare(qrels, worst, {"near": near}, "RR").whole.changes["near", RR].verdict == "not shown"


def test_a_finding_may_not_survive_the_correction():
    qrels = {f"q{place}": {"a": 1} for place in range(60)}
    worst = dict.fromkeys(qrels, ("x", "a"))
    some = {q: ["a"] if place < 5 else ["x", "a"] for place, q in enumerate(qrels)}
    alone = compare(qrels, worst, {"some": some}, "RR").whole.changes["some", RR]
    among = compare(qrels, worst, {"some": some, **{f"same{n}": worst for n in range(9)}}, "RR").whole.changes[
        "some", RR
    ]
    assert (alone.verdict, among.verdict) == ("higher", "not shown")
    assert among.p_adjusted == approx(10 * alone.p)


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("correction", CORRECTIONS)
def test_the_chosen_test_is_the_one_corrected(test, correction):
    qrels, before, after = random_lists(5)
    result = compare(qrels, before, {"r": after}, "AP nDCG@5 P@1", test=test, correction=correction)
    changes = list(result.whole.changes.values())
    decides = "t" if test == "auto" else test  # 40 queries
    assert [change.p for change in changes] == [change.p_values[decides] for change in changes]
    assert {change.decided_by for change in changes} == {decides}
    assert [change.p_adjusted for change in changes] == CORRECTIONS[correction]([change.p for change in changes])


def test_only_drawn_signs_depend_on_the_seed():
    qrels, before, after = random_lists(2)
    first, second, third = (
        compare(qrels, before, {"r": after}, "AP", seed=seed, test="randomization").whole for seed in (1, 1, 2)
    )
    assert first == second != third
    assert len({str(compare(qrels, before, {"r": after}, "AP", seed=seed).whole) for seed in (1, 2)}) == 1


@pytest.mark.parametrize("options", [{}, {"test": "randomization"}, {"cluster": "conversation"}, {"all_pairs": True}])
def test_the_order_of_queries_changes_nothing(options):
    qrels, before, after = random_lists(2)
    turned = {query_id: qrels[query_id] for query_id in reversed(qrels)}
    first, second = (compare(q, before, {"r": after}, "AP P@1", **options) for q in (qrels, turned))
    assert (first.whole, first.pairs) == (second.whole, second.pairs)


def test_groups_by_turn_are_comparisons_of_their_queries():
    qrels, before, after = random_lists(4)
    result = compare(qrels, before, {"r": after}, "AP P@1", groups="turn", correction="none")
    assert [table.group for table in result.groups] == ["0", "1", "2", "3"]
    for table in result.groups:
        kept = {q: grades for q, grades in qrels.items() if q.endswith(f"_{table.group}")}
        alone = compare(kept, before, {"r": after}, "AP P@1", correction="none").whole
        assert (table.queries, dict(table.means), dict(table.changes)) == (10, dict(alone.means), dict(alone.changes))
        assert table.p_imp == alone.p_imp


def test_groups_are_corrected_together():
    qrels, before, after = random_lists(4)
    result = compare(qrels, before, {"r": after}, "AP P@1", groups="turn")
    changes = [change for table in result.groups for change in table.changes.values()]
    assert len(changes) == 8
    # ten queries a turn: those with less than 2^(1 - m) < 0.05 / K leave the count
    counted = [change for change in changes if change.tested]
    assert [change.p_adjusted for change in counted] == CORRECTIONS["holm"]([change.p for change in counted])
    assert all(change.smallest_p >= 0.05 / 8 for change in changes if not change.tested)


def test_groups_of_every_kind(tmp_path):
    ids = ["10_2", "9_1", "9_2", "x"]
    assert grouped(ids, "conversation") == {"9": ["9_1", "9_2"], "10": ["10_2"], "x": ["x"]}
    assert grouped(ids, "turn") == {"1": ["9_1"], "2": ["10_2", "9_2"], "no turn": ["x"]}
    assert grouped(ids, r"^\d+") == {"9": ["9_1", "9_2"], "10": ["10_2"], "no group": ["x"]}
    assert grouped(ids, {"x": "odd", "9_1": "even"}) == {"even": ["9_1"], "odd": ["x"], "no group": ["10_2", "9_2"]}
    for name, content in {
        "g.tsv": "x\todd one\n# a comment\n\n9_1\teven\n",
        "g.json": '{"x": "odd one", "9_1": "even"}',
    }.items():
        (tmp_path / name).write_text(content)
        assert grouped(ids, str(tmp_path / name)) == {"even": ["9_1"], "odd one": ["x"], "no group": ["10_2", "9_2"]}
    (tmp_path / "g.csv").write_text('x, "one, two"\n')
    assert read_pairs(tmp_path / "g.csv") == {"x": "one, two"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a\tb\tc\n", r"g:1: 3 fields, a line has 2"),
        ("a\tb\na\tc\n", r"g:2: 'a' is there twice"),
        ("{", "g: not JSON"),
        ('{"a": [1]}', "each name has a text"),
        ("z\tgroup\n", "no query is in it"),
    ],
)
def test_a_wrong_file_of_groups_is_named(tmp_path, content, message):
    (tmp_path / "g").write_text(content)
    with pytest.raises(InputError, match=message):
        grouped(["q"], str(tmp_path / "g"))


def test_wrong_groups():
    with pytest.raises(InputError, match="matches no query"):
        grouped(["q"], "absent.tsv")
    with pytest.raises(ParamError, match="no regular expression"):
        grouped(["q"], "(")
    with pytest.raises(InputError, match="cannot be read"):
        read_pairs("absent.tsv")


def test_means_over_the_runs_own_queries_pair_only_what_both_have():
    qrels = {"p": {"a": 1}, "q": {"a": 1}, "r": {"a": 1}}
    before = {"p": ["a"], "q": ["x"]}
    after = {"q": ["a"], "r": ["x"], "p": ["a"]}
    result = compare(qrels, before, {"after": after}, "P@1", queries="run")
    measure = P @ 1
    assert result.whole.means["baseline", measure].value == 1 / 2
    assert result.whole.means["after", measure].value == approx(2 / 3)
    change = result.whole.changes["after", measure]
    assert (change.queries, change.difference) == (2, (0 + 1) / 2)
    assert any("the change over the 2" in note for note in result.notes)


def test_notes_name_the_runs_they_are_about():
    result = compare(QRELS, BEFORE, {"after": {q: d for q, d in AFTER.items() if q != "2_2"}}, "P@1")
    assert any(note.startswith("after: 1 query") and "'2_2'" in note for note in result.notes)


def test_display_names_come_from_the_profile():
    result = compare(QRELS, BEFORE, {"r": AFTER}, profile="permed")
    assert list(result.labels.values()) == ["NDCG@10", "MAP@10", "P@1"]
    assert result.profile.name == "permed"


def test_progress_rises_to_one():
    seen = []
    compare(QRELS, BEFORE, {"r": AFTER}, "P@1", groups="turn", progress=lambda what, share: seen.append((what, share)))
    shares = [share for _, share in seen]
    assert shares == sorted(shares)
    assert seen[-1] == ("done", 1.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"test": "T"}, "test='T' is not allowed"),
        ({"correction": "bonferroni"}, "correction='bonferroni' is not allowed"),
        ({"alpha": 1.0}, "alpha=1.0 is not allowed"),
        ({"margin": 0}, "margin=0 is not allowed"),
        ({"p_imp_cutoff": 0}, "p_imp_cutoff=0 is not allowed"),
        ({"descriptions": {"aftr": "x"}}, "Did you mean after"),
        ({"measures": "NumRet"}, "not a mean over queries"),
        ({"runs": {}}, "no run to compare"),
        ({"runs": {"baseline": AFTER}}, "two runs are called 'baseline'"),
        ({"runs": {3: AFTER}}, "a run's name is a text"),
    ],
)
def test_wrong_options(options, message):
    given = {"runs": {"after": AFTER}, "measures": "P@1", **options}
    with pytest.raises(ParamError, match=message):
        compare(QRELS, BEFORE, **given)


def test_a_wrong_run_is_named():
    with pytest.raises(InputError, match=r"run 'after': .*float is neither"):
        compare(QRELS, BEFORE, {"after": {"q": 0.5}}, "P@1")


def test_a_measure_by_name_keys_the_tables():
    result = compare(QRELS, BEFORE, {"r": AFTER}, "ndcg_cut_10")
    assert result.measures == (nDCG @ 10,)
    assert set(result.difference("r", nDCG @ 10)) == set(QRELS)


def test_the_first_documents_of_large_files_are_packed_and_the_same():
    rankings = {
        "q": Ranking([(1, 1)], judged=[1], num_ret=3, top=b"a b c"),
        "r": Ranking([], judged=[], num_ret=0, top=()),
        "s": Ranking([], judged=[], num_ret=1, top=["one id"]),
    }
    assert tops(rankings, ["q", "r", "s", "t"], 2) == {"q": ["a", "b"], "r": [], "s": ["one id"]}
    strange = {**rankings, "s": Ranking([], judged=[], num_ret=2, top=["x\0y", "z"])}
    assert tops(strange, ["q", "s"], 5) == {"q": ["a", "b", "c"], "s": ["x\0y", "z"]}
