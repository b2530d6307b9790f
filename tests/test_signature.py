"""Signatures: one line per measure; a digest that is the same for the same judgements, and for no others."""

from __future__ import annotations

import json
import pickle
from hashlib import md5

import pytest
from hypothesis import given
from hypothesis import strategies as st

import permed_measures.signature as room
from permed_measures import InputError, ParamError, define, evaluate, gate, parse, read_qrels
from permed_measures.files.rows import SubtopicQrels
from permed_measures.inputs import as_qrels
from permed_measures.measures import DEFINED, STANDARD
from permed_measures.signature import Digest, Signature, check_comparable, differences, digests, grade_text, version_of

QRELS = {"q1": {"a": 2, "b": 0, "c": 7.5}, "q2": {"ä d": -1}}
RUN = {"q1": ["a", "b"], "q2": ["x"]}
GRADES = st.integers(-3, 12) | st.floats(-100, 100, allow_nan=False)
IDS = st.text(st.characters(codec="utf-8", exclude_characters="\t\0"), min_size=1, max_size=5)
SIGNATURE = Signature("nDCG@10", "float32", "qrels", 50, 1326, "9f86d081884c7d65", "1")


def digest(qrels):
    return Digest.total(digests(as_qrels(qrels, subtopics=True)).values()).text


def test_the_digest_is_what_the_module_says():
    texts = ["q1\t\ta\t2", "q1\t\tb\t0", "q1\t\tc\t7.5", "q2\t\tä d\t-1"]
    hashed = [md5(text.encode(), usedforsecurity=False).hexdigest() for text in texts]
    sums = [sum(int(text[at : at + 8], 16) for text in hashed) % 2**32 for at in (0, 8)]
    assert digest(QRELS) == f"{sums[0]:08x}{sums[1]:08x}"


def test_order_types_and_formats_change_nothing(tmp_path):
    (tmp_path / "qrels.txt").write_text("q2 0 d 1\nq1 0 b 0\nq1 0 a 2\n")
    (tmp_path / "other.txt").write_text("q1 Q0 a 2.0\nq1 Q0 b 0\nq2 Q0 d 1\n")
    (tmp_path / "qrels.jsonl").write_text(
        '{"query_id": "q1", "doc_id": "a", "relevance": 2}\n{"query_id": "q1", "doc_id": "b", "relevance": 0}\n'
        '{"query_id": "q2", "doc_id": "d", "relevance": 1}\n'
    )
    found = {digest(read_qrels(path)) for path in tmp_path.iterdir()}
    assert found == {digest({"q1": {"a": 2.0, "b": False}, "q2": ["d"]})}


@given(st.dictionaries(IDS, st.dictionaries(IDS, GRADES, min_size=1), min_size=1), st.randoms())
def test_any_change_is_seen_and_no_order(qrels, random):
    shuffled = {
        q: dict(random.sample(list(qrels[q].items()), len(qrels[q]))) for q in random.sample(list(qrels), len(qrels))
    }
    assert digest(shuffled) == digest(qrels)
    query_id = random.choice(list(qrels))
    doc_id = random.choice(list(qrels[query_id]))
    changed = {q: dict(judged) for q, judged in qrels.items()}
    changed[query_id][doc_id] += 1
    assert digest(changed) != digest(qrels)
    del changed[query_id][doc_id]
    assert digest(changed) != digest(qrels)


def test_iterations_count_where_they_tell_judgements_apart():
    one = SubtopicQrels({"q": {("a", "1"): 1, ("a", "2"): 1}})
    other = SubtopicQrels({"q": {("a", "1"): 1, ("a", "3"): 1}})
    assert len({digest(one), digest(other), digest({"q": {"a": 1}})}) == 3
    assert digest(one) == digest(SubtopicQrels({"q": {("a", "2"): 1, ("a", "1"): 1}}))


def test_whole_grades_have_one_text():
    assert [grade_text(grade) for grade in (2, 2.0, -0.0, 0.1, 1e-05)] == ["2", "2", "0", "0.1", "1e-05"]


def test_an_engine_computes_it_as_the_module_shows():
    duckdb = pytest.importorskip("duckdb")
    rows = [(f"q{n // 10}", f"d{n}", n % 4) for n in range(1000)]
    shown = room.__doc__[room.__doc__.index("SELECT") :]
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE qrels (query_id VARCHAR, doc_id VARCHAR, relevance INTEGER)")
        connection.executemany("INSERT INTO qrels VALUES (?, ?, ?)", rows)
        ((first, second),) = connection.sql(shown).fetchall()
    qrels = {}
    for query_id, doc_id, grade in rows:
        qrels.setdefault(query_id, {})[doc_id] = grade
    assert digest(qrels) == f"{first:08x}{second:08x}"


def test_every_json_has_signatures():
    result = evaluate(QRELS, RUN, "AP P(rel=1)@5", min_relevance=2, order="float64", queries="both")
    found = json.loads(result.to_json())["signatures"]
    rest = f"|order:float64|queries:both|n:2|judgements:4|digest:{digest(QRELS)}|version:1"
    assert found == {"AP": f"AP(rel=2){rest}", "P@5": f"P@5{rest}"}


def test_a_gate_has_the_conditions_of_what_it_checked():
    (check,) = json.loads(gate(QRELS, RUN, ["RR>=0"]).to_json())["checks"]
    assert check["signature"] == str(evaluate(QRELS, RUN, "RR").signatures[parse("RR")])


def test_an_evaluation_is_pickled_without_its_judgements():
    result = evaluate(QRELS, RUN, "AP")
    held = pickle.dumps(result)
    assert b"\xc3\xa4 d" not in held
    assert pickle.loads(held).signatures == result.signatures  # noqa: S301  (our own)


def test_every_measure_has_a_version_that_is_a_whole_number():
    for measure in {**DEFINED, **STANDARD}.values():
        assert type(type(measure).VERSION) is int
        assert type(measure).VERSION >= 1
    assert version_of(parse("AP")) == "1"
    assert version_of(parse("alpha_nDCG@10")).startswith("ir_measures-")


@pytest.mark.parametrize("version", [0, "2", 1.0, True])
def test_a_version_that_is_no_whole_number_is_refused(version, forgotten):  # noqa: ARG001  (the measure is forgotten)
    made = type(
        "Own", (type(DEFINED["GWAP"]),), {"__doc__": ">>> 1\n1", "NAME": "Own", "HOST_NAMES": (), "VERSION": version}
    )
    with pytest.raises(TypeError, match=r"VERSION = .* is not a whole number >= 1"):
        define(made)


def test_a_raised_version_is_in_the_signature(monkeypatch):
    monkeypatch.setattr(type(DEFINED["GWAP"]), "VERSION", 2)
    assert str(evaluate(QRELS, RUN, "GWAP(max_rel=8)").signatures[parse("GWAP(max_rel=8)")]).endswith("|version:2")


@pytest.mark.parametrize("measure", ["nDCG@10", "nDCG(gains={0: 1, 1: 5})@3", "RBP(p=0.5,rel=2)"])
def test_a_signature_is_read_back(measure):
    signature = SIGNATURE._replace(measure=str(parse(measure)))
    assert Signature.parse(str(signature)) == signature
    assert "\n" not in str(signature)


@pytest.mark.parametrize(
    "text",
    ["", "nDCG@10", str(SIGNATURE)[:-1], str(SIGNATURE).replace("n:50", "n:fifty"), str(SIGNATURE).replace("9f", "9g")],
)
def test_what_is_no_signature_is_an_error(text):
    with pytest.raises(ParamError, match=r"not a signature; one looks like 'nDCG@10\|order"):
        Signature.parse(text)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, []),
        ({"measure": "ListNDCG@10"}, ["ideal: judged → returned"]),
        ({"measure": "nDCG(dcg='exp-log2')@5"}, ["cutoff: 10 → 5", "dcg: log2 → exp-log2"]),
        ({"measure": "nDCG(judged_only=True)@10"}, ["judged_only: none → True"]),
        ({"measure": "AP"}, ["measure: nDCG@10 → AP"]),
        ({"measure": "Theirs@3"}, ["measure: nDCG@10 → Theirs@3"]),
        ({"order": "float64", "n": 49}, ["order: float32 → float64", "n: 50 → 49"]),
        ({"digest": "0" * 16}, ["judgements: 1,326, digest 9f86d081884c7d65 → 0000000000000000"]),
        (
            {"digest": "0" * 16, "judgements": 5},
            ["judgements: 1,326 → 5, digest 9f86d081884c7d65 → 0000000000000000"],
        ),
        ({"version": "2"}, ["version: 1 → 2"]),
    ],
)
def test_differences_are_named(change, said):
    assert differences(SIGNATURE, SIGNATURE._replace(**change)) == said


def test_what_is_not_comparable_is_refused():
    check_comparable(SIGNATURE, SIGNATURE._replace(n=3), ("a", "b"))
    with pytest.raises(InputError, match=r"nDCG@10 of a and of b cannot be compared.*version: 1 → 2"):
        check_comparable(SIGNATURE, SIGNATURE._replace(version="2"), ("a", "b"))


GRADED = {f"q{n}": {f"d {m}": (m - 2, 0.1 * m, 1e-5, 1e17)[m % 4] for m in range(9)} for n in range(40)} | {
    "é": {"\u3000x": 1}
}


def written_parquet(path, rows):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE qrels (query_id VARCHAR, doc_id VARCHAR, relevance DOUBLE, iteration VARCHAR)")
        connection.executemany("INSERT INTO qrels VALUES (?, ?, ?, ?)", rows)
        connection.execute(f"COPY qrels TO '{path}' (FORMAT parquet)")


@pytest.mark.parametrize("engine", ["duckdb", "polars", pytest.param("spark", marks=pytest.mark.full)])
@pytest.mark.parametrize("iterations", [1, 3])
def test_an_engine_has_the_digest_of_the_same_judgements(engine, iterations, tmp_path):
    for needed in ("narwhals", "duckdb", "pyspark" if engine == "spark" else engine):
        pytest.importorskip(needed)
    from permed_measures.tables.files import evaluate_files
    from permed_measures.tables.sessions import opened

    rows = [(q, d, grade, str(n % iterations)) for n, q in enumerate(GRADED) for d, grade in GRADED[q].items()]
    written_parquet(tmp_path / "qrels.parquet", rows)
    run = {query_id: ["d 1", "d 4"] for query_id in GRADED}
    in_memory = evaluate(read_qrels(tmp_path / "qrels.parquet"), run, "RR P@2", queries="both")
    with opened(engine) as session:
        for by_query in (False, True):
            found = evaluate_files(
                session, str(tmp_path / "qrels.parquet"), run, "RR P@2", queries="both", by_query=by_query
            )
            assert found.signatures == in_memory.signatures
    assert (in_memory.signatures[parse("RR")].digest == digest(GRADED)) == (iterations == 1)


def test_means_of_an_engine_ask_for_no_digest_and_signatures_for_one(tmp_path, monkeypatch):
    """A digest of each of a million queries would take more memory than the engine is given."""
    for needed in ("narwhals", "duckdb"):
        pytest.importorskip(needed)
    from permed_measures.tables import files
    from permed_measures.tables.sessions import opened

    def not_asked_for(*_):
        raise AssertionError

    rows = [(q, d, grade, "0") for q, grades in GRADED.items() for d, grade in grades.items()]
    written_parquet(tmp_path / "qrels.parquet", rows)
    for name in ("table_digests", "table_digest"):
        monkeypatch.setattr(files, name, not_asked_for)
    how = str(tmp_path / "qrels.parquet"), {query_id: ["d 1"] for query_id in GRADED}, "RR"
    with opened("duckdb") as session:
        found = files.evaluate_files(session, *how)
        assert f"RR {found['RR']:.4f} {len(GRADED)}" in " ".join(str(found).split())
        assert found.num_queries("RR") == len(GRADED)
        monkeypatch.undo()
        monkeypatch.setattr(files, "table_digests", not_asked_for)
        assert files.evaluate_files(session, *how).signatures[parse("RR")].digest == digest(GRADED)
