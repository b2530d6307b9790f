"""Experiments: what is over all data sets is arithmetic on what is in each; all is checked before anything runs."""

from __future__ import annotations

import json
import math
import re
import shlex
from pathlib import Path
from statistics import mean, variance

import hypothesis.strategies as st
import pytest
from hypothesis import given

from permed_measures import Experiment, InputError, ParamError, compare, experiment
from permed_measures.comparison.experiment.plan import _KEYS, read_plan
from permed_measures.signature import Signature
from tests.conftest import examples

stats = pytest.importorskip("scipy.stats")
pytest.importorskip("numpy")

DOCS = Path(__file__).resolve().parents[1] / "docs" / "experiments.md"
HIT, SECOND, THIRD = ["a", "x", "y"], ["x", "a", "y"], ["x", "y", "a"]


def made(num, pattern):
    """Return a run of so many queries whose relevant document is where the pattern says, over and over."""
    return {f"{n // 2}_{n % 2}": [HIT, SECOND, THIRD][pattern[n % len(pattern)]] for n in range(num)}


def qrels(num):
    return {query_id: {"a": 1} for query_id in made(num, [0])}


def rr(num, pattern):
    return [1 / (1 + pattern[n % len(pattern)]) for n in range(num)]


SETS = {"small": 12, "large": 40}
PATTERNS = {"bm25": [1, 2], "dense": [0, 1, 2], "best": [0, 0, 1]}


def source(sets=SETS, patterns=PATTERNS, **more):
    systems = [
        {"name": name, "runs": {known: made(num, pattern) for known, num in sets.items()}}
        for name, pattern in patterns.items()
    ]
    data = [{"name": name, "qrels": qrels(num)} for name, num in sets.items()]
    return {"measures": "RR P@1", "systems": systems, "datasets": data, **more}


@pytest.fixture(scope="module")
def found():
    return experiment(source())


def widened(values):
    """Return mean, V and degrees of freedom of a mean with one unit more at 0 and at 1."""
    values = [*values, 0.0, 1.0]
    return mean(values), variance(values) / len(values), len(values) - 1


def test_means_over_sets(found):
    for name, pattern in PATTERNS.items():
        macro = found.macro[name, "RR"]
        assert macro.mean == pytest.approx(mean(mean(rr(num, pattern)) for num in SETS.values()))
        parts = [widened(rr(num, pattern)) for num in SETS.values()]
        middle, total = mean(part[0] for part in parts), sum(part[1] for part in parts) / 4
        freedom = total**2 / sum((part[1] / 4) ** 2 / part[2] for part in parts)
        half = stats.t.ppf(0.975, freedom) * math.sqrt(total)
        assert macro.interval == pytest.approx((middle - half, min(1, middle + half)), abs=1e-9)


def test_changes_over_sets(found):
    macro = found.macro["best", "RR"]
    differences = [mean(rr(num, [0, 0, 1])) - mean(rr(num, [1, 2])) for num in SETS.values()]
    assert macro.difference == pytest.approx(mean(differences))
    low, high = macro.difference_interval
    assert low < macro.difference < high
    assert (macro.sets_higher, macro.sets_lower) == (2, 0)
    assert macro.shown_higher == sum(
        c.whole.changes["best", c.measures[0]].verdict == "higher" for c in found.comparisons.values()
    )
    assert found.macro["bm25", "RR"].difference is None


def test_each_set_is_what_compare_says(found):
    for name, num in SETS.items():
        runs = {system: made(num, PATTERNS[system]) for system in ("dense", "best")}
        alone = compare(
            qrels(num), made(num, PATTERNS["bm25"]), runs, "RR P@1", baseline_name="bm25", p_imp=False, all_pairs=True
        )
        assert found.comparisons[name].whole.changes == alone.whole.changes
        assert found.comparisons[name].pairs == alone.pairs


def test_no_test_over_few_sets_and_sign_flips_over_six(found):
    assert {macro.p for macro in found.macro.values()} == {None}
    assert "no test over data sets: fewer than 6" in found.render()
    six = experiment(source({f"s{n}": 10 + n for n in range(6)}))
    assert six.macro["best", "RR"].p == 2 / 2**6  # all six are higher
    assert "sign flips of whole data sets" in six.render()


def test_a_measure_of_one_set_has_no_mean_over_sets():
    given = source()
    given["datasets"][1]["measures"] = "RR P(rel=1)@2"
    result = experiment(given)
    assert {label for _, label in result.macro} == {"RR"}
    assert "no mean over data sets of P@1 (P@1): only small has it" in result.notes


def test_the_same_name_for_two_measures_is_no_measure_of_both():
    given = source(profile="permed")
    del given["measures"]
    given["datasets"][1]["profile"] = "permed-binary"
    assert {label for _, label in experiment(given).macro} == {"P@1"}  # MAP@10 is another measure in each


def test_orders_of_sets_and_measures(found):
    rows = {(row.by, row.one, row.other): (row.tau, row.tau_ap) for row in found.agreements}
    assert rows.keys() == {
        ("RR", "small", "large"),
        ("P@1", "small", "large"),
        ("small", "RR", "P@1"),
        ("large", "RR", "P@1"),
    }
    assert rows["RR", "small", "large"] == pytest.approx((1.0, 1.0))  # best, dense, bm25 on both
    assert experiment(source(patterns={"a": [0], "b": [1]})).agreements == ()


def test_repeats_count_in_an_experiment():
    given = source()
    given["systems"][1]["runs"] = {name: [made(num, [0]), made(num, [2])] for name, num in SETS.items()}
    result = experiment(given)
    assert result.macro["dense", "RR"].mean == pytest.approx((1 + 1 / 3) / 2)
    spreads = result.comparisons["large"].whole.spreads
    assert {key[0] for key in spreads} == {"dense"}
    assert "dense: the mean of 2 runs" in result.render()


def test_it_is_loaded_as_it_was_saved(found, tmp_path):
    found.save(tmp_path / "values")
    assert [path.name for path in sorted((tmp_path / "values").iterdir())] == ["1-small.values", "2-large.values"]
    assert Experiment.load(tmp_path / "values").to_dict() == found.to_dict()
    with pytest.raises(InputError, match="no values of an experiment"):
        Experiment.load(tmp_path)


def test_json_has_everything(found):
    content = json.loads(found.to_json())
    assert [known["name"] for known in content["datasets"]] == list(SETS)
    assert content["datasets"][0]["measures"][0]["signature"].startswith("RR|order:float32|queries:qrels|n:12|")
    assert len(content["macro"]) == 2 * len(PATTERNS)
    assert content["systems"] == list(PATTERNS)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"systems": []}, r"one \[\[systems\]\] table or more"),
        ({"datasets": "x"}, r"one \[\[datasets\]\] table or more"),
        ({"baseline": "bm26"}, "baseline = 'bm26' is no system. Did you mean bm25"),
        ({"measure": "RR"}, "an experiment has no key 'measure'. Did you mean measures"),
        ({"measures": "RRR@"}, r"data set 'small': .*RRR"),
        ({"correction": "bonferroni"}, "correction='bonferroni' is not allowed. Known: bh, holm, none"),
        ({"alpha": "5%"}, "alpha = '5%' is not a number"),
        ({"alpha": 5}, "alpha=5 is not allowed; give a number between 0 and 1"),
        ({"seed": -1}, "seed = -1 is not a whole number >= 0"),
        ({"cluster": "("}, r"data set 'small': cluster = '\(': .*no regular expression"),
        ({"output": {"pdf": "x"}}, r"\[output\] has no key 'pdf'"),
        ({"output": {"html": "absent/x.html"}}, "the folder of the output is not there: absent"),
        ({"profile": "permed"}, "give either measures"),
        ({"order": "float16"}, "order='float16' is not allowed"),
    ],
)
def test_wrong_input_is_told(change, said):
    with pytest.raises(ParamError, match=said):
        experiment(source() | change)


leaves = (
    st.none()
    | st.booleans()
    | st.floats()
    | st.sampled_from(["", "a", "{dataset}", "RR", "permed", "x.toml", "é\0", "("])
)
junk = st.recursive(
    leaves,
    lambda inside: (
        st.lists(inside, max_size=3) | st.dictionaries(st.sampled_from(["name", "a", "html"]), inside, max_size=3)
    ),
    max_leaves=6,
)
tables = st.lists(
    st.dictionaries(st.sampled_from(["name", "qrels", "runs", "measures", "cluster", "profile"]), junk, max_size=4)
    | junk
)


@examples(400)
@given(st.dictionaries(st.sampled_from(_KEYS), junk, max_size=5), tables | junk, tables | junk)
def test_whatever_it_says_it_is_read_or_refused(table, datasets, systems):
    try:
        plan = read_plan({"measures": "RR", **table, "datasets": datasets, "systems": systems})
    except (InputError, ParamError) as error:
        assert str(error)  # noqa: PT017  (any of both will do)
    else:
        assert len(plan.systems) > 1
        assert plan.datasets


def test_a_system_without_a_run_is_told():
    given = source()
    del given["systems"][0]["runs"]["small"]
    given["systems"][1]["runs"]["lage"] = {}
    with pytest.raises(
        ParamError,
        match=r"2 things are wrong:\n  system 'bm25' has no run for .*'small'\n  .*'lage' is no data set. Did",
    ):
        experiment(given)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Write the example of the documentation, and all its files."""
    monkeypatch.chdir(tmp_path)
    example, _ = re.findall(r"^```toml\n(.*?)^```", DOCS.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    Path("rerankers.toml").write_text(example)
    seeds = {"bm25": [1, 2], "dense": [0, 1, 2], "llm-1": [0, 1], "llm-2": [0, 0, 1], "llm-3": [0, 0, 0, 1]}
    seeds |= {"tuned": [0], "tuned-1": [0, 2], "tuned-2": [0, 1]}
    for name, num in (("medcorpus", 40), ("litsearch", 25)):
        Path(name).mkdir()
        judged = qrels(num) if name == "medcorpus" else {f"q{n}": {"a": 1} for n in range(num)}
        Path(name, "qrels.txt").write_text("".join(f"{query_id} 0 a 1\n" for query_id in judged))
        for run, pattern in seeds.items():
            lines = [
                f"{query_id} Q0 {doc} {rank} {-rank} t\n"
                for query_id, docs in zip(judged, made(num, pattern).values(), strict=True)
                for rank, doc in enumerate(docs)
            ]
            Path(name, f"{run}.run").write_text("".join(lines))
    return tmp_path


@pytest.fixture
def tool(folder, shell):  # noqa: ARG001  (the files are in the current folder)
    return shell


def test_the_documentation_is_true(tool):
    code, out, err = tool("experiment", "rerankers.toml")
    assert (code, err) == (0, "")
    assert "means over 2 data sets, baseline bm25" in out
    assert "medcorpus: 20 conversations, 40 queries" in out
    assert "litsearch: 25 clusters, 25 queries" in out
    assert "llm: the mean of 3 runs" in out
    assert Path("report.html").read_text().startswith("<!DOCTYPE html>")
    assert {path.name for path in Path("values").iterdir()} == {"1-medcorpus.values", "2-litsearch.values"}
    (commands,) = re.findall(r"^```sh\n(.*?)^```", DOCS.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    shown = []
    for line in commands.splitlines():
        _, *arguments = shlex.split(line, comments=True)
        code, out, _ = tool(*arguments)
        assert code == 0, line
        shown.append(out)
    assert len(shown) == 3
    assert all("20 conversations, 40 queries" in out for out in shown[1:])
    signature = re.search(r"^    (nDCG@10\|.*)$", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    assert str(Signature.parse(signature[1])) == signature[1]


def test_files_on_all_cores_give_what_one_process_gives(folder, monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    several = experiment(folder / "rerankers.toml")
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    assert experiment("rerankers.toml").to_dict() == several.to_dict()


def test_all_that_is_missing_is_listed_at_once(tool):
    for path in ("medcorpus/qrels.txt", "litsearch/dense.run", "medcorpus/llm-2.run"):
        Path(path).unlink()
    code, out, err = tool("experiment", "rerankers.toml", "--check")
    assert (code, out) == (2, "")
    assert "rerankers.toml: 3 things are wrong:" in err
    for path in ("medcorpus/qrels.txt", "litsearch/dense.run", "medcorpus/llm-2.run"):
        assert err.count(path) == 1
    assert not Path("report.html").exists()


def test_a_check_says_what_there_is(tool):
    assert tool("experiment", "rerankers.toml", "--check") == (
        0,
        "Rerankers: data sets 2, systems 4, runs 13: all are there\n",
        "",
    )


def test_a_broken_run_is_named_with_its_data_set(tool):
    Path("litsearch/llm-3.run").write_text("q1 Q0 a 1 x t\n")
    code, out, err = tool("experiment", "rerankers.toml")
    assert (code, out) == (2, "")
    assert "data set 'litsearch', system 'llm': " in err
    assert "llm-3.run:1: the score 'x' is not a number" in err


def test_what_is_no_toml_is_told(tool):
    Path("rerankers.toml").write_text("baseline = bm25")
    code, _, err = tool("experiment", "rerankers.toml")
    assert code == 2
    assert "rerankers.toml: not TOML" in err
    assert tool("experiment", "absent.toml")[0] == 2
