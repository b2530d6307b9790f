"""Measures of subtopics: the iteration travels with the qrels, and values are those of plain ir_measures."""

from __future__ import annotations

import json

import ir_measures
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner

from permed_measures import InputError, compare, evaluate, read_qrels
from permed_measures.cli._group import group
from permed_measures.files import formatted

pytest.importorskip("pyndeval")

MEASURES = (
    "alpha_nDCG@5 alpha_DCG@5 StRecall@3 ERR_IA@5 nERR_IA@5 NRBP nNRBP AP_IA P_IA@3 alpha_nDCG(alpha=0.2,rel=2)@3"
)
ONE_EACH = [("q", "1", "a", 2), ("q", "1", "b", 1), ("q", "2", "c", 1), ("q", "3", "d", 0), ("r", "1", "a", 1)]
SEVERAL = [*ONE_EACH, ("q", "2", "a", 1), ("q", "3", "b", 2), ("r", "2", "x", 1)]
RUN = {"q": {"a": 4.0, "x": 3.5, "b": 3.0, "c": 2.0, "d": 1.0}, "r": {"x": 2.0, "a": 1.0}}


def theirs(rows):
    measures = [ir_measures.parse_measure(name) for name in MEASURES.split()]
    qrels = [ir_measures.Qrel(query, doc, grade, subtopic) for query, subtopic, doc, grade in rows]
    # one at a time: with two values of alpha or rel, ir_measures 0.4.3 reads the run once and has none for the second
    return {str(measure): measure.calc_aggregate(qrels, RUN) for measure in measures}


def frame_columns(rows, subtopic):
    return {
        "query_id": [row[0] for row in rows],
        subtopic: [row[1] for row in rows],
        "doc_id": [row[2] for row in rows],
        "relevance": [row[3] for row in rows],
    }


def written(folder, rows, form):
    path = folder / f"qrels.{form}"
    if form == "trec":
        path.write_text("".join(f"{q} {s} {d} {g}\n" for q, s, d, g in rows))
    elif form == "csv":
        pd.DataFrame(frame_columns(rows, "subtopic")).to_csv(path, index=False)
    elif form == "jsonl":
        names = ("query_id", "iteration", "doc_id", "relevance")
        path.write_text("".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows))
    else:
        pl.DataFrame(frame_columns(rows, "iteration")).write_parquet(path)
    return path


@pytest.mark.parametrize("rows", [ONE_EACH, SEVERAL])
@pytest.mark.parametrize("shape", ["tuples", "pandas", "polars", "trec", "csv", "jsonl", "parquet"])
def test_values_are_those_of_ir_measures(tmp_path, rows, shape):
    if shape == "tuples":
        qrels = (ir_measures.Qrel(query, doc, grade, subtopic) for query, subtopic, doc, grade in rows)
    elif shape in ("pandas", "polars"):
        qrels = {"pandas": pd, "polars": pl}[shape].DataFrame(frame_columns(rows, "iteration"))
    else:
        qrels = written(tmp_path, rows, shape)
    found = evaluate(qrels, RUN, MEASURES)
    expected = theirs(rows)
    assert len(expected) == len(MEASURES.split())
    assert {str(m): mean for m, mean in found.means.items()} == pytest.approx(expected, abs=1e-12)


def test_a_measure_of_ours_beside_them(tmp_path):
    path = written(tmp_path, ONE_EACH, "trec")
    found = evaluate(path, RUN, "alpha_nDCG@5 P@1")
    assert found["alpha_nDCG@5"] == pytest.approx(theirs(ONE_EACH)["alpha_nDCG@5"], abs=1e-12)
    assert found["P@1"] == 1 / 2  # a of q; x of r is not judged


@pytest.mark.parametrize("shape", ["trec", "csv", "jsonl", "parquet"])
@pytest.mark.parametrize("measures", ["AP", "alpha_nDCG@5 GWAP@10"])
def test_other_measures_refuse_a_document_of_several_subtopics(tmp_path, shape, measures):
    with pytest.raises(InputError, match=r"query 'q', document 'a'.*several subtopics.*'1', '2'.*one grade"):
        evaluate(written(tmp_path, SEVERAL, shape), RUN, measures)


@pytest.mark.parametrize("qrels", [{"q": {"a": 1}}, [ir_measures.Qrel("q", "a", 1), ir_measures.Qrel("q", "b", 1)]])
def test_qrels_without_subtopics_are_no_number(qrels):
    with pytest.raises(InputError, match=r"alpha_nDCG@5 .*subtopics.*iteration"):
        evaluate(qrels, {"q": {"a": 1.0}}, "alpha_nDCG@5")


def test_a_file_of_equal_iterations_is_no_number(tmp_path):
    path = tmp_path / "qrels.txt"
    path.write_text("q 0 a 1\nq 0 b 1\n")
    with pytest.raises(InputError, match="all their iterations are equal"):
        evaluate(path, {"q": {"a": 1.0}}, "StRecall@5")


@pytest.mark.parametrize(
    ("line", "message"), [("q 1 a 2", "occurs before"), ("q 2 z x", "grade")], ids=["again", "no grade"]
)
def test_faults_are_named_with_their_line(tmp_path, line, message):
    path = tmp_path / "qrels.txt"
    path.write_text(f"q 1 a 1\nq 2 a 1\n{line}\n")
    with pytest.raises(InputError, match=rf"qrels\.txt:3: .*{message}"):
        evaluate(path, RUN, "StRecall@5")


def test_compare_and_the_shell(tmp_path):
    path = written(tmp_path, SEVERAL, "trec")
    reverse = {query: {doc: -score for doc, score in scores.items()} for query, scores in RUN.items()}
    comparison = compare(path, reverse, {"run": RUN}, "alpha_nDCG@5")
    (measure,) = comparison.measures
    expected = theirs(SEVERAL)["alpha_nDCG@5"]
    assert comparison.whole.means["run", measure].value == pytest.approx(expected, abs=1e-12)
    run = tmp_path / "run.trec"
    run.write_bytes(formatted(RUN, "run", "trec")[0])
    result = CliRunner().invoke(group, ["eval", str(path), str(run), "-m", "alpha_nDCG@5", "-p", "9"])
    assert result.exit_code == 0, result.output
    assert f"{expected:.9f}" in result.output


def test_conversion_keeps_subtopics_or_says_so(tmp_path):
    qrels = read_qrels(written(tmp_path, SEVERAL, "trec"))
    content, notes = formatted(qrels, "qrels", "trec")
    assert sorted(content.decode().splitlines()) == sorted(f"{q} {s} {d} {g}" for q, s, d, g in SEVERAL)
    assert notes == []
    with pytest.raises(InputError, match="several subtopics"):
        formatted(qrels, "qrels", "csv")
    _, notes = formatted(read_qrels(written(tmp_path, ONE_EACH, "trec")), "qrels", "csv")
    assert "iteration" in notes[0]
