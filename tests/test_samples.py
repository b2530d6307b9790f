"""Samples: values, detail records, reports on odd groups, every format, every error, the way to qrels and back."""

from __future__ import annotations

import gzip
import json
from itertools import pairwise

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given

from permed_measures import InputError, ParamError, compare, evaluate
from permed_measures.ltr.samples import as_samples, evaluate_samples, joined, parted, read_samples, reading, samples_of
from tests.conftest import examples

# the document's keys, in its order
DETAIL_KEYS = [
    "trace_id",
    "node_id",
    "query",
    "true_candidate",
    "predicted_candidate",
    "top3_candidates",
    "top3_scores",
    "rank",
    "is_top1_correct",
    "is_top3_correct",
]


def row(trace, node, candidate, label, **more):
    return {"trace_id": trace, "node_id": node, "query": f"query {trace}", "tool": candidate, "label": label, **more}


def ranked_at(ranks, size=5):
    """Make samples whose right candidate stands at the given rank of its group."""
    return [
        row("t", number, f"c{place}", int(place == rank), score=1.0 - place / 10)
        for number, rank in enumerate(ranks)
        for place in range(1, size + 1)
    ]


@pytest.mark.parametrize(
    ("ranks", "top1", "top3", "mrr"),
    [
        ([1, 2, 1, 3, 1], 3 / 5, 5 / 5, (1 + 1 / 2 + 1 + 1 / 3 + 1) / 5),  # the document's first scene: 0.6, 1.0, 0.767
        ([2, 4, 3, 1, 3], 1 / 5, 4 / 5, (1 / 2 + 1 / 4 + 1 / 3 + 1 + 1 / 3) / 5),  # its second: 0.2, 0.8, 0.483
    ],
)
def test_the_scenes_of_the_document(ranks, top1, top3, mrr):
    found = evaluate_samples(ranked_at(ranks))
    assert found.metrics == pytest.approx(
        {"top1_accuracy": top1, "top3_accuracy": top3, "mrr": mrr, "num_queries": 5}, abs=1e-12
    )
    assert (found.top1_accuracy, found.top3_accuracy, found.mrr) == pytest.approx((top1, top3, mrr))
    assert [record["rank"] for record in found.details] == ranks


def test_scores_from_weights_list_function_model_and_field_agree():
    rows = [
        row("t", 1, "a", 0, features=[0.1, 0.9], score=0.1 * 2 + 0.9 * 3),
        row("t", 1, "b", 1, features=[0.8, 0.2], score=0.8 * 2 + 0.2 * 3),
    ]

    class Model:
        @staticmethod
        def predict(features):
            return features @ [2.0, 3.0]

    samples = as_samples(rows)
    expected = {"t/1": {"a": 2.9, "b": 2.2}}
    for run in (
        samples.run(),
        samples.run([2, 3]),
        samples.run(scores=[2.9, 2.2]),
        samples.run(scores=Model.predict),
        samples.run(model=Model()),
    ):
        assert run["t/1"] == pytest.approx(expected["t/1"])


def test_other_measures_by_name():
    found = evaluate_samples(ranked_at([1, 4]), measures="nDCG@5 RR Coverage@1")
    assert found["nDCG@5"] == pytest.approx((1 + 1 / np.log2(5)) / 2)
    assert found["Coverage@1"] == 0.5
    assert list(found.metrics) == ["top1_accuracy", "top3_accuracy", "mrr", "nDCG@5", "Coverage@1", "num_queries"]


def test_a_detail_record_has_the_keys_of_the_document():
    rows = [
        row("t", 7, "a", 0, features=[0.5]),
        row("t", 7, "b", 1, features=[0.25]),
        row("t", 7, "c", 0, features=[0.75]),
        row("t", 7, "d", 0, features=[0.125]),
    ]
    (record,) = evaluate_samples(rows, [2]).details
    assert list(record) == DETAIL_KEYS
    assert record == {
        "trace_id": "t",
        "node_id": 7,
        "query": "query t",
        "true_candidate": "b",
        "predicted_candidate": "c",
        "top3_candidates": ["c", "a", "b"],
        "top3_scores": [1.5, 1.0, 0.5],
        "rank": 3,
        "is_top1_correct": False,
        "is_top3_correct": True,
    }


def test_a_group_without_a_positive_counts_0_and_is_reported():
    rows = [*ranked_at([1]), row("u", 1, "a", 0, score=1.0), row("u", 1, "b", 0, score=0.5)]
    found = evaluate_samples(rows)
    assert found.without_positive == ["u/1"]
    assert found.metrics == {"top1_accuracy": 0.5, "top3_accuracy": 0.5, "mrr": 0.5, "num_queries": 2}
    record = found.details[1]
    assert (record["true_candidate"], record["rank"], record["predicted_candidate"]) == (None, None, "a")
    assert (record["is_top1_correct"], record["is_top3_correct"]) == (False, False)
    assert any("'u/1'" in note and "counted as 0" in note for note in found.notes)


def test_of_several_positives_the_highest_counts_and_the_group_is_reported():
    rows = [row("t", 1, name, label, score=s) for name, label, s in [("a", 1, 0.1), ("b", 0, 0.9), ("c", 1, 0.5)]]
    found = evaluate_samples(rows)
    assert found.several_positives == ["t/1"]
    assert found.mrr == 0.5
    assert (found.details[0]["true_candidate"], found.details[0]["rank"]) == ("c", 2)
    assert any("several" in note for note in found.notes)


def test_a_single_candidate_is_reported():
    found = evaluate_samples([row("t", 1, "a", 1, score=0.0)])
    assert (found.single_candidate, found.mrr) == (["t/1"], 1.0)


def test_ties_go_by_id_descending_and_are_counted():
    rows = [
        # equal as 32-bit floats: b stands before a, which is right
        row("t", 1, "a", 1, score=0.1),
        row("t", 1, "b", 0, score=0.1 + 1e-12),
        row("t", 1, "c", 0, score=0.0),
        # a tie of two wrong candidates decides nothing
        row("t", 2, "a", 1, score=0.9),
        row("t", 2, "b", 0, score=0.2),
        row("t", 2, "c", 0, score=0.2),
        # the same score in another group is no tie
        row("t", 3, "a", 1, score=0.9),
    ]
    found = evaluate_samples(rows)
    assert [record["rank"] for record in found.details] == [2, 1, 1]
    assert found.tied_candidates == 4
    assert found.decided_by_ties == ["t/1"]
    assert any("tie rule" in note for note in found.notes)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 3), st.sampled_from([0, 0, 1, 2, 0.5, -1]), st.sampled_from([0.0, 1.0, 1 + 1e-9, -2.0])
        ),
        min_size=1,
        max_size=25,
    )
)
def test_details_and_values_tell_the_same(drawn):
    rows = [row("t", node, f"c{at}", label, score=score) for at, (node, label, score) in enumerate(drawn)]
    found = evaluate_samples(rows)
    reciprocal = [0.0 if record["rank"] is None else 1 / record["rank"] for record in found.details]
    # pytrec_eval computes RR; the details come from the list itself
    assert found.mrr == pytest.approx(sum(reciprocal) / len(reciprocal))
    assert found.top1_accuracy == pytest.approx(np.mean([record["is_top1_correct"] for record in found.details]))
    assert found.top3_accuracy == pytest.approx(np.mean([record["is_top3_correct"] for record in found.details]))
    assert len(found.without_positive) == sum(record["rank"] is None for record in found.details)
    for record in found.details:
        assert all(np.float32(a) >= np.float32(b) for a, b in pairwise(record["top3_scores"]))


def test_groups_need_not_stand_together_and_scores_keep_the_given_order():
    rows = [row("t", 1, "a", 0), row("u", 1, "a", 1), row("t", 1, "b", 1), row("u", 1, "b", 0)]
    for number, record in enumerate(rows):
        record["features"] = [number]
    samples = as_samples(rows)
    assert samples.run(scores=[0.0, 1.0, 2.0, 3.0]) == {"t/1": {"a": 0.0, "b": 2.0}, "u/1": {"a": 1.0, "b": 3.0}}
    assert samples.qrels() == {"t/1": {"a": 0, "b": 1}, "u/1": {"a": 1, "b": 0}}
    assert samples.run([1]) == samples.run(scores=[0, 1, 2, 3])


def test_min_relevance_says_what_is_right():
    rows = [row("t", 1, "a", 1, score=0.9), row("t", 1, "b", 2, score=0.5)]
    assert evaluate_samples(rows).mrr == 1.0
    found = evaluate_samples(rows, min_relevance=2)
    assert (found.mrr, found.details[0]["true_candidate"]) == (0.5, "b")
    assert (found.several_positives, evaluate_samples(rows).several_positives) == ([], ["t/1"])


def test_another_group_key_and_candidate():
    rows = [{"qid": 5, "doc": "a", "label": 1, "score": 1}, {"qid": 5, "doc": "b", "label": 0, "score": 2}]
    samples = as_samples(rows, group="qid", candidate="doc")
    assert samples.run() == {"5": {"a": 1.0, "b": 2.0}}
    assert (samples.groups[0].trace_id, samples.groups[0].node_id) == (5, None)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((0.95, 1.0, 0.97), ["excellent (> 0.9)"]),
        ((0.9, 1.0, 0.97), ["good (> 0.7; excellent is > 0.9)"]),  # the levels are to be exceeded
        ((0.7, 1.0, 0.8), ["usable (> 0.5; good is > 0.7, excellent > 0.9)"]),
        ((0.5, 0.9, 0.6), ["not usable yet", "adjust the weights"]),
        ((0.2, 0.8, 0.48), ["not usable yet", "adjust the weights", "low MRR"]),
        ((0.1, 0.3, 0.2), ["not usable yet", "low MRR", "all three are low"]),
    ],
)
def test_the_reading_guide(values, words):
    lines = reading(*values)
    assert len(lines) == len(words)
    assert all(word in line for word, line in zip(words, lines, strict=True))


# conversion


def two_weight_vectors():
    rng = np.random.default_rng(3)
    rows = []
    for group in range(60):
        right = int(rng.integers(4))
        for place in range(4):
            features = [float(place == right) + rng.normal(scale=0.7), rng.normal()]
            rows.append(row("t", group, f"c{place}", int(place == right), features=features))
    return as_samples(rows)


def test_two_weight_vectors_compared():
    stats = pytest.importorskip("scipy.stats", reason="scipy is an extra")
    samples = two_weight_vectors()
    runs = {"baseline": samples.run([0.0, 1.0]), "learned": samples.run([1.0, 0.0])}
    found = compare(samples.qrels(), runs["baseline"], {"learned": runs["learned"]}, "RR")
    (measure,) = found.measures
    change = found.whole.changes["learned", measure]
    columns = [list(evaluate(samples.qrels(), run, "RR").columns[measure].values()) for run in runs.values()]
    assert change.difference == pytest.approx(np.mean(columns[1]) - np.mean(columns[0]))
    assert change.p_values["t"] == pytest.approx(stats.ttest_rel(columns[1], columns[0]).pvalue)
    assert change.significant


def test_ir_measures_takes_them():
    ir_measures = pytest.importorskip("ir_measures")
    samples = two_weight_vectors()
    theirs = ir_measures.calc_aggregate([ir_measures.RR, ir_measures.Success @ 3], samples.qrels(), samples.run([1, 0]))
    ours = evaluate_samples(samples, [1, 0])
    assert theirs == pytest.approx({ir_measures.RR: ours.mrr, ir_measures.Success @ 3: ours.top3_accuracy})


# ranx's own files hold "\c" and the like: seen when they are first compiled
@pytest.mark.filterwarnings("ignore:.*invalid escape sequence:SyntaxWarning")
@pytest.mark.filterwarnings("ignore:.*invalid escape sequence:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:unsafe cast from uint64 to int64")  # ranx's reciprocal rank, when it is compiled
@pytest.mark.full
def test_ranx_takes_them():
    ranx = pytest.importorskip("ranx", reason="ranx is an extra")
    samples = two_weight_vectors()
    qrels, run = ranx.Qrels(samples.qrels()), ranx.Run(samples.run([1, 0]))
    ours = evaluate_samples(samples, [1, 0])
    assert ranx.evaluate(qrels, run, "mrr") == pytest.approx(ours.mrr)
    assert ranx.evaluate(qrels, run, "hit_rate@3") == pytest.approx(ours.top3_accuracy)


def test_there_and_back():
    samples = two_weight_vectors()
    run = samples.run([1, 0.5])
    back = samples_of(samples.qrels(), run)
    assert (back.qrels(), back.run()) == (samples.qrels(), run)
    assert evaluate_samples(back).metrics == evaluate_samples(samples, [1, 0.5]).metrics
    assert [(group.trace_id, group.node_id) for group in back.groups[:2]] == [("t", "0"), ("t", "1")]
    again = as_samples(list(samples.records()))
    assert (again.qrels(), again.run([1, 0.5])) == (samples.qrels(), run)


@given(st.lists(st.text(min_size=1), min_size=1, max_size=3))
@example(["100%25", "a/b c"])
def test_a_key_in_one_string_and_back(parts):
    try:
        "".join(parts).encode()
    except UnicodeEncodeError:
        return  # half a character is refused before
    text = joined(parts)
    assert parted(text) == parts
    assert len(text.split()) == 1


def test_what_would_change_the_values_is_refused_on_the_way_back():
    with pytest.raises(InputError, match="'b' is judged and was not returned"):
        samples_of({"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0}})
    with pytest.raises(InputError, match="'r' has no judgements"):
        samples_of({"q": {"a": 1}}, {"q": {"a": 1.0}, "r": {"a": 1.0}})
    assert samples_of({"q": {"b": 1}}, {"q": ["a", "b"]}).run() == {"q": {"a": 0.0, "b": -1.0}}


# files

ROWS = [
    {"trace_id": "t1", "node_id": 1, "query": "weather, today", "tool": "a", "features": [0.5, 1], "label": 1},
    {"trace_id": "t1", "node_id": 1, "query": "weather, today", "tool": "b", "features": [0.25, 0], "label": 0},
    {"trace_id": "t2", "node_id": 1, "query": "天气", "tool": "a", "features": [0.125, 2], "label": 0},
]
EXPECTED = {"t1/1": {"a": 1.5, "b": 0.25}, "t2/1": {"a": 2.125}}


def as_jsonl(rows):
    return "\n".join(json.dumps(record, ensure_ascii=False) for record in rows) + "\n"


def as_csv(rows, mark=","):
    lines = [mark.join(["trace_id", "node_id", "query", "tool", "label", "f0", "f1"])]
    lines += [
        mark.join(
            [r["trace_id"], str(r["node_id"]), f'"{r["query"]}"', r["tool"], str(r["label"]), *map(str, r["features"])]
        )
        for r in rows
    ]
    return "\n".join(lines) + "\n"


def as_csv_with_json(rows):
    lines = ["trace_id,node_id,query,tool,label,features"]
    lines += [f'{r["trace_id"]},{r["node_id"]},"{r["query"]}",{r["tool"]},{r["label"]},"{r["features"]}"' for r in rows]
    return "\n".join(lines) + "\n"


FILES = {
    "s.jsonl": as_jsonl(ROWS),
    "bom.jsonl": "\ufeff" + as_jsonl(ROWS),
    "blank.ndjson": "\n" + as_jsonl(ROWS).replace("\n", "\r\n\r\n"),
    "lines.json": as_jsonl(ROWS),
    "s.json": json.dumps(ROWS, indent=1),
    "object.json": json.dumps({"samples": ROWS, "made_by": "a tool"}),
    "noname": json.dumps(ROWS),
    "s.csv": as_csv(ROWS),
    "semicolon.csv": as_csv(ROWS, ";"),
    "s.tsv": as_csv(ROWS, "\t"),
    "json.csv": as_csv_with_json(ROWS),
}


@pytest.mark.parametrize("name", FILES)
def test_files(tmp_path, name):
    path = tmp_path / name
    path.write_text(FILES[name], encoding="utf-8", newline="")
    samples = read_samples(path)
    assert samples.run([1, 1]) == EXPECTED
    assert [group.query for group in samples.groups] == ["weather, today", "天气"]
    assert samples.feature_names == ("f0", "f1")


def test_gzip(tmp_path):
    path = tmp_path / "s.jsonl.gz"
    path.write_bytes(gzip.compress(as_jsonl(ROWS).encode()))
    assert read_samples(path).run([1, 1]) == EXPECTED


@pytest.mark.parametrize("name", ["s.parquet", "odd*[1].parquet"])
def test_parquet(tmp_path, name):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is an extra")
    (tmp_path / "s.jsonl").write_text(as_jsonl(ROWS), encoding="utf-8")
    made = tmp_path / "made.parquet"
    duckdb.sql(f"COPY (FROM read_json('{tmp_path / 's.jsonl'}')) TO '{made}'")
    path = made.rename(tmp_path / name)
    assert read_samples(path).run([1, 1]) == EXPECTED
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(InputError, match="parquet"):
        read_samples(path)


def test_a_null_in_parquet_names_its_row(tmp_path):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is an extra")
    path = tmp_path / "s.parquet"
    values = "VALUES ('t', 1, 'a', 1, 0.5), ('t', 1, 'b', NULL, 0.1)"
    duckdb.sql(f"COPY (FROM ({values}) v(trace_id, node_id, tool, label, f0)) TO '{path}'")
    with pytest.raises(InputError, match=r"s\.parquet: row 2: no 'label'"):
        read_samples(path)


@pytest.mark.parametrize("name", ["pandas", "polars"])
def test_frames(name):
    library = pytest.importorskip(name, reason=f"{name} is an extra")
    frame = library.DataFrame(ROWS, **({"strict": False} if name == "polars" else {}))  # whole numbers among others
    assert as_samples(frame).run([1, 1]) == EXPECTED
    wide = library.DataFrame(
        [
            {**{k: v for k, v in r.items() if k != "features"}, "x": r["features"][0], "y": r["features"][1]}
            for r in ROWS
        ]
    )
    samples = as_samples(wide, features=["x", "y"])
    assert (samples.run([1, 1]), samples.feature_names) == (EXPECTED, ("x", "y"))


def test_pandas_with_arrays_and_missing_values():
    pandas = pytest.importorskip("pandas", reason="pandas is an extra")
    frame = pandas.DataFrame(ROWS)
    frame["features"] = [np.array(r["features"]) for r in ROWS]
    assert as_samples(frame).run([1, 1]) == EXPECTED
    frame["label"] = [1.0, None, 0.0]
    with pytest.raises(InputError, match="row 2: no 'label'"):
        as_samples(frame)


def test_a_lazy_polars_frame_is_collected():
    polars = pytest.importorskip("polars", reason="polars is an extra")
    assert as_samples(polars.DataFrame(ROWS, strict=False).lazy()).run([1, 1]) == EXPECTED


def test_features_with_names():
    rows = [{**r, "features": dict(zip(("rel", "hist"), r["features"], strict=True))} for r in ROWS]
    rows[1]["features"] = dict(reversed(rows[1]["features"].items()))
    samples = as_samples(rows)
    assert (samples.run([1, 1]), samples.feature_names) == (EXPECTED, ("rel", "hist"))
    rows[2]["features"] = {"rel": 1}
    with pytest.raises(InputError, match="row 3: the features do not match those of the first sample: missing 'hist'"):
        as_samples(rows)


def named(names, rows=ROWS):
    """Give the features names, in this order."""
    places = {"rel": 0, "hist": 1}
    return [{**r, "features": {name: r["features"][places[name]] for name in names}} for r in rows]


WEIGHTS = {"rel": 2.0, "hist": -1.0}
WEIGHTED = [2 * rel - hist for rel, hist in (r["features"] for r in ROWS)]


class Linear:
    """A model as others fit it: it knows the order of its features, and maybe their names."""

    def __init__(self, **names):
        vars(self).update(names)

    def predict(self, table):
        assert not hasattr(table, "columns") or list(table.columns) == list(self.feature_names_in_)
        return np.asarray(table) @ [2.0, -1.0]


@pytest.mark.parametrize("order", [("rel", "hist"), ("hist", "rel")])
@pytest.mark.parametrize(
    "names",
    [
        {"feature_names_in_": np.array(["rel", "hist"], dtype=object)},  # scikit-learn, XGBoost
        {"feature_name_": ["rel", "hist"]},  # LightGBM
        {"feature_names_": ["rel", "hist"]},  # CatBoost
        {"feature_name": lambda: ["rel", "hist"]},  # LightGBM's Booster
    ],
)
def test_a_model_gets_its_features_by_name(order, names):
    samples = as_samples(named(order))
    assert samples.scored(model=Linear(**names)).tolist() == WEIGHTED
    with pytest.raises(
        InputError, match="features do not match those of Linear: missing 'rel', 'hist'; unexpected 'f0', 'f1'"
    ):
        as_samples(ROWS).scored(model=Linear(**names))
    with pytest.raises(InputError, match="do not match those of Linear: unexpected 'new'"):
        as_samples([{**r, "features": {**r["features"], "new": 1}} for r in named(order)]).scored(model=Linear(**names))


@pytest.mark.parametrize("names", [{}, {"feature_name_": ["Column_0", "Column_1"]}, {"feature_names_": ["0", "1"]}])
def test_a_model_without_names_is_given_the_order_of_the_samples(names):
    with pytest.warns(
        UserWarning, match="Linear came without feature names, and the samples have 'rel', 'hist': taken"
    ):
        assert as_samples(named(("rel", "hist"))).scored(model=Linear(**names)).tolist() == WEIGHTED
    assert as_samples(ROWS).scored(model=Linear(**names)).tolist() == WEIGHTED  # lists: f0, f1 say nothing more


def test_weights_by_name():
    for order in (("rel", "hist"), ("hist", "rel")):
        assert as_samples(named(order)).scored(WEIGHTS).tolist() == WEIGHTED
        assert evaluate_samples(named(order), WEIGHTS).scores.tolist() == WEIGHTED
    with pytest.raises(InputError, match="do not match those of the weights: missing 'rel'; unexpected 'f1'"):
        as_samples(ROWS).scored({"f0": 1, "rel": 1})


def test_scikit_learn_gets_a_frame_with_its_names():
    linear = pytest.importorskip("sklearn.linear_model", reason="scikit-learn is for tests")
    pipeline, compose = pytest.importorskip("sklearn.pipeline"), pytest.importorskip("sklearn.compose")
    pandas = pytest.importorskip("pandas", reason="frames are optional")
    frame = pandas.DataFrame([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], columns=["rel", "hist"])
    only = compose.ColumnTransformer([("only", "passthrough", ["hist", "rel"])])  # columns by name: needs a frame
    for model in (linear.LinearRegression(), pipeline.make_pipeline(only, linear.LinearRegression())):
        model.fit(frame, [-1.0, 2.0, 1.0])  # 2 · rel - hist
        for order in (("rel", "hist"), ("hist", "rel")):
            assert as_samples(named(order)).scored(model=model) == pytest.approx(WEIGHTED)


def test_features_of_another_kind_or_twice():
    rows = named(("rel", "hist"))
    with pytest.raises(
        InputError, match=r"row 2: the features \[.*are a list, not named, as those of the first sample are"
    ):
        as_samples([rows[0], *ROWS[1:]])
    with pytest.raises(InputError, match=r"row 2: the features \{.*are a dict, not a list of numbers"):
        as_samples([ROWS[0], *rows[1:]])
    with pytest.raises(InputError, match=r"row 2: the features do not match .*: missing 'rel'; unexpected 'x'"):
        as_samples([rows[0], {**rows[1], "features": {"x": 1, "hist": 2}}])
    numbered = [{**r, "features": dict(enumerate(r["features"]))} for r in ROWS]
    assert as_samples(numbered).feature_names == ("0", "1")
    with pytest.raises(ParamError, match="name every feature once"):
        as_samples(ROWS, features=["label", "label"])
    pandas = pytest.importorskip("pandas", reason="frames are optional")
    frame = pandas.DataFrame(ROWS)
    with pytest.raises(InputError, match="the column 'label' occurs twice"):
        as_samples(pandas.concat([frame, frame[["label"]]], axis=1))


def changed(**changes):
    return as_jsonl([ROWS[0], {**ROWS[1], **changes}, ROWS[2]])


BAD_FILES = [
    ("s.jsonl", changed(label="x"), 2, "the label 'x' is not a finite number"),
    ("s.jsonl", changed(label=None), 2, "no 'label'"),
    ("s.jsonl", changed(label=float("nan")), 2, "the label nan is not a finite number"),
    ("s.jsonl", changed(label=[1]), 2, "the label"),
    ("s.jsonl", changed(features=[1, "2"]), 2, "the feature '2' is not a number"),
    ("s.jsonl", changed(features=[1]), 2, "1 features, the samples before have 2"),
    ("s.jsonl", changed(features=[1, float("nan")]), 2, "feature f1 is nan; a feature is a finite number"),
    ("s.jsonl", changed(features=[1, float("inf")]), 2, "feature f1 is inf"),
    ("s.jsonl", changed(features=None), 2, "no 'features'"),
    ("s.jsonl", changed(features=3), 2, "not a list"),
    ("s.jsonl", changed(features=[1, 10**400]), 2, "too large"),
    ("s.jsonl", changed(trace_id=""), 2, "an empty trace_id"),
    ("s.jsonl", changed(node_id=1.5), 2, "the node_id 1.5"),
    ("s.jsonl", changed(node_id=None), 2, "no 'node_id'"),
    ("s.jsonl", changed(tool=None), 2, "no 'tool or candidate_id'"),
    ("s.jsonl", changed(tool="a"), 2, "the candidate 'a' occurs in its group twice"),
    ("s.jsonl", changed(tool="X").replace("X", "\\ud800"), 2, "half a character"),
    ("s.jsonl", changed(score=1), 1, "no 'score'"),
    ("s.jsonl", as_jsonl(ROWS) + "{\n", 4, "not JSON"),
    ("s.jsonl", as_jsonl(ROWS) + "[1]\n", 4, "a sample is an object"),
    ("s.jsonl", '{"a": 1, "a": 2}\n', 1, "the key 'a' occurs twice"),
    ("s.jsonl", "", None, "no samples"),
    ("s.json", "[]", None, "no samples"),
    ("s.json", json.dumps([*ROWS, {**ROWS[2], "label": "x"}], indent=1), 35, "the label 'x'"),
    ("s.json", "[{}\n,\n3]", 3, "a sample is an object"),
    ("s.json", '[{"a": 1}\n{}]', 2, "not JSON (Expecting ',' delimiter"),
    ("s.json", "[{},\n{]", 2, "not JSON"),
    ("s.json", "[{}", 1, "Expecting ',' delimiter"),
    ("s.json", "[{}]\n\nmore", 3, "not JSON (Extra data"),
    ("s.json", '[{},\n{"a": 1, "a": 2}]', 2, "the key 'a' occurs twice"),
    ("s.csv", as_csv(ROWS) + "t2,1,q,b,1,0.5\n", 5, "6 fields, the header has 7"),
    ("s.csv", as_csv(ROWS) + "t2,1,q,b,1,0.5,1_0\n", 5, "the feature f1 '1_0' is not a number"),
    ("s.csv", as_csv(ROWS) + "t2,1,q,b,,0.5,1\n", 5, "no 'label'"),
    ("s.csv", as_csv(ROWS) + '"two\nlines",1,q,b,one,0.5,1\n', 5, "the label 'one'"),
    ("s.csv", as_csv(ROWS) + '"t', 5, "a quote opens in this line"),
    ("s.csv", as_csv(ROWS).replace("f0", "f2"), 2, "f0 is not there, f2 is"),
    ("s.csv", as_csv(ROWS).replace("f0", "f1"), 1, "the column 'f1' occurs twice"),
    ("s.csv", "trace_id,node_id,tool,label\nt,1,a,1\n", 2, "neither features"),
    ("s.csv", "trace_id,node_id,tool,label\n", None, "no samples"),
    ("s.csv", "", None, "no samples"),
    ("s.parquet", "text", None, "cannot be told"),
]


@pytest.mark.parametrize(("name", "text", "line", "message"), BAD_FILES)
def test_an_error_names_file_and_line(tmp_path, name, text, line, message):
    path = tmp_path / name
    path.write_bytes(text.encode())
    with pytest.raises(InputError) as caught:
        read_samples(path)
    assert message in str(caught.value)
    assert (caught.value.path, caught.value.line) == (path, line)


def test_unknown_format_and_missing_file(tmp_path):
    with pytest.raises(ParamError, match="Did you mean jsonl"):
        read_samples(tmp_path / "x", format="jsonll")
    with pytest.raises(InputError, match="cannot be read"):
        read_samples(tmp_path / "x.jsonl")
    (tmp_path / "x.csv").write_text("text")
    with pytest.raises(InputError, match="not a parquet file"):
        read_samples(tmp_path / "x.csv", format="parquet")


@pytest.mark.parametrize("source", [3, None, {"a": 1}, b"x", [1, 2], []])
def test_other_shapes_are_refused(source):
    with pytest.raises(InputError):
        as_samples(source)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)


@given(st.data())
@examples(300)
def test_any_dicts_are_samples_or_an_input_error(data):
    rows = [dict(record) for record in ROWS]
    for _ in range(data.draw(st.integers(1, 3))):
        victim = data.draw(st.sampled_from(rows))
        field = data.draw(st.sampled_from([*ROWS[0], "score", "candidate_id", "f0"]))
        if data.draw(st.booleans()):
            victim[field] = data.draw(json_values)
        else:
            victim.pop(field, None)
    try:
        samples = as_samples(rows)
        weights = None if samples.features is None else [1.0] * samples.features.shape[1]
        found = evaluate_samples(samples, weights)
    except InputError:
        return
    assert 0 <= found.mrr <= 1
    assert len(found.details) == found.num_queries


@given(
    content=st.binary(max_size=60), name=st.sampled_from(sorted(FILES)), at=st.integers(0, 400), cut=st.integers(0, 40)
)
@examples(300)
@example(content=b"[" * 10**5, name="s.json", at=0, cut=400)
@example(content=b"[" * 10**5, name="s.jsonl", at=0, cut=400)
@example(content=b"[{}," + b"[" * 10**5, name="s.json", at=0, cut=400)
@example(content=b"[" + b"9" * 5000 + b"]", name="s.json", at=0, cut=400)
@example(content=b"\x00", name="s.csv", at=50, cut=0)
@example(content=b"\xff", name="s.csv", at=50, cut=0)
def test_any_file_is_samples_or_an_input_error(tmp_path_factory, content, name, at, cut):
    good = FILES[name].encode()
    path = tmp_path_factory.getbasetemp() / f"fuzz-{name}"
    path.write_bytes(good[:at] + content + good[at + cut :])
    try:
        samples = read_samples(path)
        samples.qrels()
    except InputError as error:
        assert error.path == path  # noqa: PT017  (both outcomes are right)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weights": [1]}, "1 weights for 2 features"),
        ({"weights": [[1, 2]]}, "shape"),
        ({"weights": [1, float("nan")]}, "finite"),
        ({"weights": "ab"}, "one number per feature"),
        ({"weights": [1, 2], "scores": [1, 2, 3]}, "one of weights, scores and model"),
        ({}, "no field 'score'"),
    ],
)
def test_wrong_weights(arguments, message):
    with pytest.raises(ParamError, match=message):
        evaluate_samples(ROWS, **arguments)


@pytest.mark.parametrize("scores", [[1, 2], ["x", "y", "z"], [1, float("nan"), 2], lambda features: features])
def test_wrong_scores(scores):
    with pytest.raises(InputError):
        evaluate_samples(ROWS, scores=scores)


def test_weights_need_features():
    with pytest.raises(InputError, match="no features"):
        evaluate_samples(ranked_at([1]), [1.0])


def test_an_infinite_score_is_ranked_and_written(tmp_path):
    found = evaluate_samples([row("t", 1, "a", 1, score=float("inf")), row("t", 1, "b", 0, score=1.0)])
    found.write_details(tmp_path / "d.jsonl")
    record = json.loads((tmp_path / "d.jsonl").read_text(), parse_constant=pytest.fail)
    assert (record["rank"], record["top3_scores"]) == (1, ["inf", 1.0])


def test_samples_of_different_queries_in_one_group_are_noted():
    rows = [row("t", 1, "a", 1, score=1), {**row("t", 1, "b", 0, score=0), "query": "another"}]
    assert any("different queries" in note for note in evaluate_samples(rows).notes)


def test_in_words():
    text = str(evaluate_samples(ranked_at([1, 2, 1, 3, 1])))
    assert "top1_accuracy  0.6000" in text
    assert "usable" in text
