"""Notes: the same data has the same ones, in every format, from Python and from the shell, small and large."""

from __future__ import annotations

import pytest

from permed_measures import evaluate
from permed_measures.cli import main
from permed_measures.files import formatted
from permed_measures.files.large import rankings

QRELS = {
    "both": {"a": 2, "b": 1, "c": 0},
    "near": {"a": 1, "b": 2},
    "nothing": {"a": 0},
    **{f"missing {n}": {"a": 1} for n in (3, 1, 2, 5, 4, 6)},
}
RUN = {
    "both": {"x": 4.0, "a": 3.0, "b": 3.0, "c": 1.0, "y": 1.0, "z": 1.0},
    "near": {"b": 1.0, "a": 1.00000003, "c": 0.5, "d": 0.5},
    "nothing": {"a": 1.0},
    "other": {"a": 1.0, "b": 1.0},
}
QRELS, RUN = ({q.replace(" ", "-"): group for q, group in groups.items()} for groups in (QRELS, RUN))
FORMATS = ("trec", "csv", "tsv", "json", "jsonl-rows", "parquet")


@pytest.fixture
def files(tmp_path):
    for name in FORMATS:
        for what, groups in (("qrels", QRELS), ("run", RUN)):
            (tmp_path / f"{what}.{name}").write_bytes(formatted(groups, what, name)[0])
    return tmp_path


def shell_notes(capsys, files, name, *options):
    with pytest.raises(SystemExit) as end:
        main(["eval", str(files / f"qrels.{name}"), str(files / f"run.{name}"), *options])
    told = capsys.readouterr().err
    assert end.value.code == 0, told
    return [line.removeprefix("note: ") for line in told.splitlines()]


@pytest.mark.parametrize("measures", ["P@1 nDCG@3", "AP nDCG", "P@1 AP(judged_only=True)"])
@pytest.mark.parametrize("order", ["float32", "float64"])
@pytest.mark.parametrize("queries", ["qrels", "run", "both"])
def test_the_same_data_has_the_same_notes(files, capsys, monkeypatch, measures, order, queries):  # noqa: PLR0913, PLR0917  (fixtures and axes)
    expected = evaluate(QRELS, RUN, measures, order=order, queries=queries).notes
    assert any(" tie" in note for note in expected)
    for large in (rankings.__kwdefaults__["large"], 0):
        monkeypatch.setitem(rankings.__kwdefaults__, "large", large)
        for name in FORMATS:
            found = evaluate(files / f"qrels.{name}", files / f"run.{name}", measures, order=order, queries=queries)
            assert found.notes == expected, name
            options = ("-m", measures, "--order", order, "--queries", queries)
            assert shell_notes(capsys, files, name, *options) == expected, name
    if "judged_only" not in measures:
        for engine in ("duckdb", "polars"):
            assert shell_notes(capsys, files, "parquet", *options, "--engine", engine) == expected, engine


def test_what_ties_only_in_32_bits_is_counted():
    near = {"near": QRELS["near"]}
    notes = evaluate(near, RUN, "P@2").notes
    assert any(note.startswith("100.0% of the documents in the top 2 tie") for note in notes)
    assert any(note.startswith("2 documents tie only in 32-bit scores: ordered by id") for note in notes)
    notes = evaluate(near, RUN, "P@2", order="float64").notes
    assert not any("tie with" in note for note in notes)
    assert any(note.startswith("2 documents tie only in 32-bit scores: ordered by score") for note in notes)


def test_queries_are_named_by_id():
    (missing,) = [note for note in evaluate(QRELS, RUN, "P@1").notes if "missing" in note]
    assert missing == (
        "6 queries missing from the run, counted as 0 "
        "('missing-1', 'missing-2', 'missing-3', 'missing-4', 'missing-5', …)"
    )
