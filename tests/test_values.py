"""Saved values: what is written is read as it was, and what was cut, edited or made up is an error with its line."""

from __future__ import annotations

import json
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import example, given

from permed_measures import Evaluation, InputError, ParamError, evaluate, gate, read_qrels, read_run
from permed_measures.files.values import SavedValues, is_saved, read, write
from tests.conftest import examples

QRELS = {"q2": {"a": 1, "b": 2}, "q10": {"a": 1}, "q1": {"c": 2}}
RUN = {"q1": {"x": 2.0, "c": 1.0}, "q2": {"a": 2.0, "b": 1.0}, "r": {"a": 1.0}}


@pytest.fixture
def path(tmp_path):
    saved = tmp_path / "bm25.values"
    evaluate(QRELS, RUN, profile="permed").save(saved, "bm25")
    return saved


def test_the_file_is_as_its_module_shows(tmp_path):
    evaluate(QRELS, RUN, "RR P@1", min_relevance=2).save(tmp_path / "v", "bm25")
    head, *lines = map(json.loads, (tmp_path / "v").read_text().splitlines())
    assert head == {"permed_measures": "values", "schema": 1}
    kinds = [line.get("measure", line.get("query", "note")) for line in lines]
    assert [kind for kind in kinds if kind != "note"] == ["RR", "P@1", "q1", "q10", "q2"]
    assert lines[0]["mean"] == (1 / 2 + 0 + 1 / 2) / 3  # c second, nothing, b second
    assert lines[0]["signature"].startswith("RR(rel=2)|order:float32|queries:qrels|n:3|judgements:4|digest:")
    assert [line["values"] for line in lines[-3:]] == [[0.5, 0.0], [0.0, 0.0], [0.5, 0.0]]


def test_the_same_values_are_the_same_bytes(tmp_path):
    for name, turn in (("a", list), ("b", reversed)):
        qrels = {query_id: dict(turn(list(QRELS[query_id].items()))) for query_id in turn(list(QRELS))}
        evaluate(qrels, dict(turn(list(RUN.items()))), "AP P@1").save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_an_evaluation_is_loaded_as_it_was_saved(path):
    before, after = evaluate(QRELS, RUN, profile="permed"), Evaluation.load(path)
    assert after.means == before.means
    assert after.columns == before.columns
    assert after.labels == before.labels
    assert after.notes == before.notes
    assert after.signatures == before.signatures
    assert after.to_dict() == before.to_dict()


def test_a_mean_over_other_queries_has_nulls(tmp_path):
    before = evaluate(QRELS, RUN, profile="llm-judged")
    before.save(tmp_path / "v")
    assert Evaluation.load(tmp_path / "v").columns == before.columns
    assert "null" in (tmp_path / "v").read_text()


def test_sums_over_queries_are_sums_again(tmp_path):
    before = evaluate(QRELS, RUN, "NumRet NumQ AP")
    before.save(tmp_path / "v")
    assert Evaluation.load(tmp_path / "v").means == before.means == {m: before[str(m)] for m in before.means}


def test_it_is_told_by_content(path, tmp_path):
    other = tmp_path / "run.txt"
    other.write_text("q1 Q0 a 1 2.0 tag\n")
    assert is_saved(path)
    assert not is_saved(other)
    assert not is_saved("-")
    assert not is_saved(tmp_path / "absent")


def test_where_a_run_is_wanted_it_is_told_what_it_is(path):
    for reader in (read_run, read_qrels):
        with pytest.raises(InputError, match=r"bm25\.values: saved values, no qrels or run: compare takes them"):
            reader(path)


def test_a_gate_takes_it_as_a_baseline_and_refuses_other_judgements(path):
    held = gate(QRELS, RUN, ["P@1>=0"], baseline=path, profile="permed", max_drop=0.5)
    assert [check.verdict for check in held.checks] == ["holds", "undecided"]  # three queries, and no rankings
    with pytest.raises(InputError, match=r"1 query judged otherwise \('q1'\)"):
        gate({**QRELS, "q1": {"c": 1}}, RUN, ["P@1>=0"], baseline=path, profile="permed", max_drop=0.5)


def test_one_of_several_runs_is_named(path):
    saved = read(path)
    again = type(saved.runs[0])("dense", saved.runs[0].columns)
    write(path, SavedValues([*saved.runs, again], saved.judged))
    assert Evaluation.load(path, "dense").means == Evaluation.load(path, "bm25").means
    with pytest.raises(InputError, match=r"holds several runs; name one. Known: bm25, dense"):
        Evaluation.load(path)
    with pytest.raises(InputError, match=r"holds 0 runs called 'denser'. Did you mean dense"):
        Evaluation.load(path, "denser")


def test_what_has_no_values_by_query_is_not_saved(tmp_path):
    with pytest.raises(ParamError, match="has no values by query"):
        Evaluation({}, {}, [], {}).save(tmp_path / "v")
    assert not (tmp_path / "v").exists()


def lines_of(path):
    return path.read_text().splitlines(keepends=True)


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda lines: lines[:-1], r"v:\d+: NDCG@10 of 'bm25' has 2 values, its signature says n:3; the file was cut"),
        (lambda lines: [*lines, lines[-1]], r"v:\d+: the query 'q2' of 'bm25' occurs before"),
        (lambda lines: lines[1:], r"v:1: no saved values: the first line"),
        (lambda lines: [lines[0].replace("1", "2"), *lines[1:]], r"v:1: saved values of schema 2"),
        (lambda lines: lines[:1], r"v:1: the file holds no values"),
        (lambda lines: [*lines[:2], *lines[1:]], r"v:3: the measure 'NDCG@10' of 'bm25' occurs before"),
        (lambda lines: [*lines[:-1], lines[-1].replace("bm25", "dense")], r"v:\d+: the run 'dense' has no measure"),
        (lambda lines: [*lines[:-1], lines[-1].replace("[", "[0.5, ")], r"v:\d+: 'values' is a list of 3 finite"),
        (
            lambda lines: [*lines[:-1], lines[-1].replace("[0.", "[1.")],
            r"v:\d+: NDCG@10 of 'bm25' has the mean .* its line",
        ),
        (lambda lines: [*lines[:-1], lines[-1].replace("[0.", "[NaN, 0.")], r"v:\d+: 'values' is a list"),
        (lambda lines: [*lines[:-1], "<<<<<<< HEAD\n", lines[-1]], r"v:\d+: not JSON"),
        (lambda lines: [*lines[:-1], "[]\n"], r"v:\d+: a JSON list, a line is an object"),
        (
            lambda lines: [*lines[:-1], lines[-1].replace("values", "value")],
            r"v:\d+: the keys judged, query, run, value; a",
        ),
        (lambda lines: [lines[0], lines[1].replace("|n:", "|m:"), *lines[2:]], r"v:2: .* is not a signature"),
        (
            lambda lines: [line.replace("|digest:", "|digest:0").replace("|version", "") for line in lines],
            "v:2: .*not a sig",
        ),
    ],
)
def test_what_was_cut_or_edited_is_an_error_with_its_line(path, tmp_path, edit, said):
    (tmp_path / "v").write_text("".join(edit(lines_of(path))))
    with pytest.raises(InputError, match=said):
        read(tmp_path / "v")


def test_digests_must_add_up(path):
    edited = path.read_text()
    digest = json.loads(lines_of(path)[-1])["judged"]
    path.write_text(edited.replace(f'"judged": "{digest}"', '"judged": "0123456789abcdef"'))
    with pytest.raises(InputError, match=r"the digests of its queries sum up to [0-9a-f]{16}, its signature says"):
        read(path)


def test_a_measure_that_nobody_knows_is_an_error(path):
    path.write_text(path.read_text().replace("P@1|", "Theirs@1|"))
    with pytest.raises(InputError, match=r"bm25\.values: .*Theirs.*is the package installed that has it"):
        Evaluation.load(path)


ids = st.text(min_size=1, max_size=4)
grades = st.dictionaries(ids, st.integers(0, 3), max_size=4)


@given(
    st.dictionaries(ids, grades, min_size=1, max_size=5), st.dictionaries(ids, st.lists(ids, unique=True), max_size=5)
)
def test_whatever_ids_there_are_they_are_read_back(tmp_path_factory, qrels, run):
    path = tmp_path_factory.getbasetemp() / "any.values"
    before = evaluate(qrels, run, "AP P@2 Bpref")
    before.save(path, "a run")
    after = Evaluation.load(path)
    assert after.columns == before.columns
    assert after.signatures == before.signatures


@examples(300)
@given(st.data())
@example(None)
def test_no_edit_is_taken_for_what_was_saved(tmp_path_factory, data):
    """Whatever happens to the file, it is read as the same values or refused: never as others without a word."""
    path = tmp_path_factory.getbasetemp() / "edited.values"
    evaluate(QRELS, RUN, "AP P@1").save(path, "bm25")
    whole = path.read_text()
    if data is not None:
        at, to = sorted(data.draw(st.tuples(*[st.integers(0, len(whole))] * 2)))
        new = data.draw(st.sampled_from(["", "0", "1", '"', "{}", "\n", "null", "1e999", "é", "\0", ", "]))
        path.write_text(whole[:at] + new + whole[min(to, at + data.draw(st.integers(0, 40))) :])
    known = read_or_none(path)
    if known is not None:
        before = evaluate(QRELS, RUN, "AP P@1").columns.values()
        for column, values in zip(known.runs[0].columns, before, strict=True):
            assert sorted(column.values.values()) == pytest.approx(sorted(values.values()), abs=1e-11)


def read_or_none(path: Path):
    try:
        return read(path)
    except InputError:
        return None
