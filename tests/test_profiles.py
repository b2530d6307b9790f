"""Profiles: one per source system, with that system's own examples, and a user's own from TOML."""

from __future__ import annotations

import json

import pytest
from ir_measures import RR, P, Success

from permed_measures import GWAP, PROFILES, Coverage, InputError, ListAP, ParamError, evaluate, load_profile
from permed_measures.profiles import Entry, Profile, Target


def labels(name):
    return {entry.name: str(entry.measure) for entry in PROFILES[name].entries}


def test_the_profiles():
    exp = "nDCG(dcg='exp-log2')"
    assert PROFILES.keys() == {"permed", "permed-binary", "binary", "llm-judged", "hybrid", "ltr", "rerank"}
    assert labels("permed") == {"NDCG@10": f"{exp}@10", "MAP@10": "GWAP@10", "P@1": "P@1"}
    assert labels("permed-binary") == {
        "MAP@10": "ListAP@10",
        "NDCG@10": "ListNDCG@10",
        "P@1": "P@1",
        "Recall@10": "R@10",
        "MRR": "RR",
    }
    assert labels("binary") == {"MAP@10": "AP@10", "NDCG@10": "nDCG@10", "P@1": "P@1", "Recall@10": "R@10", "MRR": "RR"}
    assert labels("llm-judged") == {
        **{f"precision@{k}": f"P@{k}" for k in (5, 10)},
        **{f"recall@{k}": f"R@{k}" for k in (5, 10)},
        **{f"ndcg@{k}": f"{exp}@{k}" for k in (5, 10)},
        "average_precision": "AP",
        "reciprocal_rank": "RR",
        **{f"coverage@{k}": f"Coverage@{k}" for k in (5, 10)},
    }
    assert labels("hybrid") == {"MAP@3": "ListAP@3", "NDCG@3": "ListNDCG@3"}
    assert labels("ltr") == {"top1_accuracy": "Success@1", "top3_accuracy": "Success@3", "mrr": "RR"}
    assert labels("rerank") == {
        "NDCG@10": "nDCG@10",
        "MRR": "RR",
        "MAP": "ListAP",
        "Recall@5": "R@5",
        "Precision@5": "P@5",
    }


def lists(*relevance):
    """Make qrels and a run from lists of grades in ranked order."""
    qrels = {f"q{i}": {f"d{r}": grade for r, grade in enumerate(grades)} for i, grades in enumerate(relevance)}
    return qrels, {query_id: list(judged) for query_id, judged in qrels.items()}


def test_source_2_averages_coverage_over_the_run():
    qrels = {"q1": {"A": 8.0, "B": 7.0, "C": 6.0, "D": 5.0}, "q2": {"A": 9.0}}
    run = {"q1": list("CEAFBGHIJD"), "q3": ["A"], "q4": ["B"]}
    result = evaluate(qrels, run, profile="llm-judged", min_relevance=5).to_dict()["metrics"]
    assert result["ndcg@10"] == pytest.approx(
        0.6542237389763327 / 2
    )  # the document's example, and a query that was not run
    assert result["coverage@5"] == 1 / 3
    assert result["precision@5"] == (3 / 5 + 0) / 2
    assert json.loads(evaluate(qrels, run, profile="llm-judged").to_json()).keys() == {"metrics", "signatures"}
    everywhere = evaluate(qrels, run, profile="llm-judged", queries="both").to_dict()["metrics"]
    assert everywhere["coverage@5"] == 1.0


def test_source_3():
    qrels, run = lists([1, 0, 1], [1, 1, 0], [0, 1, 1])
    assert evaluate(qrels, run, profile="hybrid").to_dict()["metrics"] == pytest.approx(
        {"MAP@3": 0.8055555555555555, "NDCG@3": 0.8710490642551528}, abs=1e-15
    )


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [([1, 2, 1, 3, 1], (3 / 5, 1.0, (1 + 1 / 2 + 1 + 1 / 3 + 1) / 5)), ([2, 4, 3, 1, 3], (1 / 5, 4 / 5, 29 / 60))],
)
def test_source_4(ranks, expected):
    qrels, run = lists(*[[int(place == rank) for place in range(1, 6)] for rank in ranks])
    assert tuple(evaluate(qrels, run, profile="ltr").to_dict()["metrics"].values()) == pytest.approx(expected)


def test_source_5():
    qrels, run = lists([3, 1, 2, 0, 0])
    assert evaluate(qrels, run, profile="rerank")["NDCG@10"] == pytest.approx(0.9725044904464192, abs=1e-15)
    qrels, run = lists([1, 0, 1, 0, 1], [0, 1, 1, 0, 0])
    assert evaluate(qrels, run, profile="rerank")["MAP"] == pytest.approx(0.6694444444444444, abs=1e-15)
    qrels, run = lists([0, 0, 1, 0, 0], [1, 0, 0, 0, 0], [0, 1, 0, 0, 0])
    assert evaluate(qrels, run, profile="rerank")["MRR"] == pytest.approx(0.6111111111111112, abs=1e-15)
    qrels, run = lists([1, 0, 1, 0, 1, 0, 0, 1, 0, 0])
    result = evaluate(qrels, run, profile="rerank")
    assert (result["Recall@5"], result["Precision@5"]) == (0.75, 0.6)
    targets = {target.name: (target.target, target.excellent) for target in PROFILES["rerank"].targets}
    assert targets["NDCG@10"] == (0.85, 0.90)
    assert targets["p95_ms"] == (500, 300)


def write(tmp_path, text):
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_profile_from_a_file(tmp_path):
    path = write(
        tmp_path,
        """
        description = "ours"
        min_relevance = 2
        [[measures]]
        measure = "GWAP(max_rel=3)@5"
        name = "MAP@5"
        [[measures]]
        measure = "coverage_5"
        queries = "run"
        """,
    )
    profile = load_profile(path)
    assert (profile.name, profile.description, profile.min_relevance) == ("mine", "ours", 2)
    assert profile.measures == (GWAP(max_rel=3) @ 5, Coverage @ 5)
    result = evaluate({"q": {"a": 1, "b": 3}}, {"q": ["a", "b"], "r": ["a"]}, profile=str(path))
    assert result.to_dict()["metrics"] == {"MAP@5": pytest.approx(1 / 2 * 1.0 / 1), "Coverage@5": 1 / 2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[measures]", "mine.toml: not TOML"),
        ("name = 'x'", r"mine.toml: a profile has one \[\[measures\]\] table per measure"),
        ("measures = ['P@1']", "one .*table per measure"),
        ("[[measures]]\nname = 'x'", "needs measure"),
        ("[[measures]]\nmeasure = 'GWPA@1'", "mine.toml: unknown measure 'GWPA@1'"),
        ("[[measures]]\nmeasure = 'P@1'\nquery = 'run'", r"has no key 'query'. Did you mean queries\?"),
        ("[[measures]]\nmeasure = 'P@1'\nqueries = 'all'", "queries='all' is not allowed"),
        ("[[measures]]\nmeasure = 'P@1'\n[[measures]]\nmeasure = 'P_1'", "'P@1' stands twice"),
        ("measures = []", "has no measures"),
        ("targets = 3\n[[measures]]\nmeasure = 'P@1'", r"mine.toml: a target is a \[\[targets\]\] table"),
        ("[[measures]]\nmeasure = 'P@1'\n[[targets]]\nname = 'P@1'", "needs name = .* and target = a number"),
        ("[[measures]]\nmeasure = 'P@1'\n[[targets]]\nname = 'P@1'\ntarget = true", "target = a number"),
        ("[[measures]]\nmeasure = 'P@1'\n[[targets]]\nname = 'P@1'\ngoal = 1", "has no key 'goal'"),
    ],
)
def test_a_wrong_file_is_named(tmp_path, text, message):
    with pytest.raises(InputError, match=message) as raised:
        load_profile(write(tmp_path, text))
    assert raised.value.path == tmp_path / "mine.toml"


ODD = Profile(
    'a "name" with \\ and \x7f',
    "two\nlines, 中",
    (Entry(GWAP(weights={1: 0.5, 2: 1.0}, rel=1.5) @ 5, "é'\t", "run"), Entry(P @ 1, "P@1", "both")),
    min_relevance=1.5,
    targets=(Target("é'\t", 0.5, 0.75), Target("p95_ms", 500, 1e3, lower_is_better=True)),
)


@pytest.mark.parametrize("profile", [*PROFILES.values(), ODD], ids=lambda profile: profile.name.partition(" ")[0])
def test_what_is_written_as_toml_is_read_as_the_same_profile(tmp_path, profile):
    assert load_profile(write(tmp_path, profile.to_toml())) == profile


def test_the_targets_of_a_file(tmp_path):
    text = "[[measures]]\nmeasure = 'P@1'\n[[targets]]\nname = 'P@1'\ntarget = 0.8"
    assert load_profile(write(tmp_path, text)).targets == (Target("P@1", 0.8, 0.8),)


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match=r"none.toml: cannot read the profile: No such file"):
        load_profile(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"name = '\xe9'")
    with pytest.raises(InputError, match=r"latin\.toml: the profile is not UTF-8"):
        load_profile(tmp_path / "latin.toml")


def test_an_unknown_profile_is_a_param_error():
    with pytest.raises(ParamError, match="a profile of your own is a file ending in \\.toml"):
        load_profile("mine")
    assert load_profile(PROFILES["ltr"]).measures == (Success @ 1, Success @ 3, RR)
    assert PROFILES["hybrid"].measures[0] == ListAP @ 3
    assert PROFILES["permed"].measures[2] == P @ 1
