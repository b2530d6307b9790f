"""verify: our values against the references, on the user's data."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import permed_measures.verification.references
from permed_measures import InputError, ParamError
from permed_measures.verification import (
    ABSENT,
    AGREES,
    DIFFERS,
    EXPLAINED,
    FAILED,
    HOLDS,
    NO_SUCH_MEASURE,
    NOT_APPLICABLE,
    NOT_CONFIRMED,
    Check,
    verify,
)
from permed_measures.verification.references import (
    REFERENCES,
    Computation,
    Qrels,
    Reference,
    Run,
    Values,
    has_near_ties,
    has_ties,
    untied,
)

QRELS = {"q": {"a": 2, "b": 1, "c": 0}, "r": {"a": 1}}
RUN = {"q": {"b": 3.0, "x": 2.0, "a": 1.0}, "r": {"a": 1.0, "b": 2.0}}


def _one(reference: str, measures: str, qrels=QRELS, run=RUN, **options) -> Check:
    (check,) = verify(qrels, run, measures, references={reference: REFERENCES[reference]}, **options).checks
    return check


def _stub(values: Values, **options) -> dict[str, Reference]:
    def compute(_qrels: Qrels, _run: Run) -> Values:
        return values

    return _known_as("stub", Computation(compute, how="a stub", **options))


def _known_as(name: str, computation: Computation | None, package: str = "") -> dict[str, Reference]:
    return {name: Reference(name, package=package, find=lambda _name, _params: computation)}


def test_references_import_nothing_of_the_package() -> None:
    folder = Path(permed_measures.verification.references.__file__).parent
    files = sorted(folder.glob("*.py"))
    assert len(files) > 5
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or "."] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                inside = name.startswith("permed_measures")
                assert not inside or name.startswith("permed_measures.verification.references"), (
                    f"{file.name} imports {name}"
                )


def test_references_load_nothing_before_they_compute() -> None:
    code = (
        "import sys, permed_measures.verification\n"
        "print([m for m in ('ranx', 'numba', 'sklearn', 'pandas', 'scipy', 'click', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_agreement() -> None:
    for reference in ("by_hand", "pytrec_eval"):
        check = _one(reference, "GWAP@10")
        assert (check.verdict, check.num_queries, check.num_differing) == (AGREES, 2, 0)


def test_a_wrong_value_is_seen_with_its_query() -> None:
    # GWAP@10: q (1 · 0.5 + 2/3 · 1) / 2 = 7/12, r 1/2 · 0.5 = 1/4
    result = verify(QRELS, RUN, "GWAP@10", references=_stub({"q": 7 / 12, "r": 0.2500001}))
    (check,) = result.checks
    assert not result.holds
    assert (check.verdict, check.query_id, check.num_differing) == (DIFFERS, "r", 1)
    assert check.max_difference == pytest.approx(1e-7)
    assert "1 differ without one" in result.summary


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -1.0])
def test_nan_is_no_agreement(wrong: float) -> None:
    assert not verify(QRELS, RUN, "GWAP@10", references=_stub({"q": 7 / 12, "r": wrong})).holds


def test_a_query_that_the_reference_forgot_is_a_difference() -> None:
    assert not verify(QRELS, RUN, "GWAP@10", references=_stub({"q": 7 / 12})).holds


def test_a_query_without_documents_may_be_missing_from_a_reference() -> None:
    assert verify(QRELS, {"q": RUN["q"]}, "GWAP@10", references=_stub({"q": 7 / 12})).holds


def test_ties_explain_only_what_vanishes_without_them() -> None:
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0, "b": 1.0}}  # b first: the greater id, so RR is 1/2
    explained = _one("ir_measures/msmarco", "RR", qrels, run)  # orders ties ascending: a first
    assert (explained.verdict, explained.theirs) == (EXPLAINED, 1.0)
    assert "ascending" in explained.reason
    # a reference that is wrong with and without ties is not excused by them
    stub = _stub({"q": 0.9}, ties="does something with ties")
    assert not verify(qrels, run, "RR", references=stub).holds


def test_no_tie_no_excuse() -> None:
    stub = _stub({"q": 0.9, "r": 0.25}, ties="does something with ties", near_ties="compares 64-bit floats")
    assert not verify(QRELS, RUN, "GWAP@10", references=stub).holds


def test_64_bit_scores_are_an_explanation() -> None:
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0 + 1e-12, "b": 1.0}}  # as 32-bit floats they tie: b first
    check = _one("ir_measures/msmarco", "RR", qrels, run)
    assert (check.verdict, check.ours, check.theirs) == (EXPLAINED, 0.5, 1.0)
    assert "64-bit" in check.reason


def test_what_a_reference_cannot_take_is_said() -> None:
    check = _one("pytrec_eval", "nDCG@10", {"q": {"a": 7.5}}, {"q": {"a": 1.0}})
    assert check.verdict == NOT_APPLICABLE
    assert "7.5" in check.reason


def test_a_query_of_negative_grades_does_not_crash_the_process() -> None:
    few = {name: REFERENCES[name] for name in ("by_hand", "pytrec_eval", "ir_measures/pytrec_eval")}
    result = verify({"q": {"a": -1, "b": -2}}, {"q": {"a": 1.0, "b": 2.0}}, "AP P@1 nDCG@10", references=few)
    assert result.holds
    told = {c.reference: c for c in result.checks if c.measure == "AP"}
    assert told["ir_measures/pytrec_eval"].verdict == NOT_APPLICABLE


def test_a_reference_that_raises_is_told_not_passed_on() -> None:
    def fail(_qrels: Qrels, _run: Run) -> Values:
        raise RuntimeError("no")

    stub = _known_as("stub", Computation(fail, how="a stub"))
    result = verify(QRELS, RUN, "P@1", references=stub)
    (check,) = result.checks
    assert (check.verdict, check.reason) == (FAILED, "it raised RuntimeError: no")
    assert "1 failed" in result.summary
    # it does not take away what another one confirms
    assert verify(QRELS, RUN, "P@1", references={**stub, "by_hand": REFERENCES["by_hand"]}).outcome == HOLDS


def test_a_reference_that_raises_while_a_difference_is_explained_has_failed_too() -> None:
    def compute(_qrels: Qrels, run: Run) -> Values:
        return {"q": 0.9} if has_ties(run["q"]) else {}["no"]

    stub = _known_as("stub", Computation(compute, how="a stub", ties="does something with ties"))
    (check,) = verify({"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0, "b": 1.0}}, "RR", references=stub).checks
    assert check.verdict == FAILED


def _failing(_qrels: Qrels, _run: Run) -> Values:
    raise RuntimeError("no")


@pytest.mark.parametrize(
    "computation",
    [
        Computation(_failing, how="a stub"),
        Computation(lambda _qrels, _run: {}, how="a stub"),  # no query is answered
        Computation(_failing, how="a stub", refuses=lambda _qrels, _run: "not this"),
        None,
    ],
)
def test_no_confirmation_is_an_outcome_of_its_own(computation: Computation | None) -> None:
    qrels, run = {"q": {"a": 1}}, {"q": {"b": 1.0}}  # our value is 0: nothing differs from an answer that is missing
    result = verify(qrels, run, "P@1 AP", references=_known_as("stub", computation))
    assert (result.outcome, result.holds, result.unconfirmed) == (NOT_CONFIRMED, False, ["P@1", "AP"])
    assert "no reference here confirms P@1, AP" in result.summary
    some = verify(qrels, run, "P@1", references={**_known_as("stub", computation), "by_hand": REFERENCES["by_hand"]})
    assert (some.outcome, some.unconfirmed) == (HOLDS, [])


@pytest.mark.parametrize(
    ("measure", "reference", "circular"),
    [
        ("P@1", "pytrec_eval", True),
        ("P@1", "ir_measures/pytrec_eval", True),
        ("P@1", "by_hand", False),
        ("GWAP@10", "pytrec_eval", False),  # by our kernel
        ("nDCG(dcg='exp-log2')@10", "ir_measures/gdeval", False),
        ("RR@10", "ir_measures/msmarco", False),  # by pytrec_eval
    ],
)
def test_the_program_that_computes_a_value_does_not_confirm_it(measure: str, reference: str, *, circular: bool) -> None:
    result = verify(QRELS, RUN, measure, references={reference: REFERENCES[reference]})
    (check,) = result.checks
    if check.verdict == ABSENT:
        pytest.skip(check.reason)
    assert (check.verdict, check.circular, check.confirms) == (AGREES, circular, not circular)
    assert result.outcome == (NOT_CONFIRMED if circular else HOLDS)
    assert ("computed by it" in result.to_markdown()) == circular


@pytest.mark.parametrize("measure", ["Bpref", "Bpref(rel=2)", "infAP", "IPrec@0.3", "NumRel", "NumQ"])
def test_no_measure_rests_on_pytrec_eval_alone(measure: str) -> None:
    few = {name: REFERENCES[name] for name in ("by_hand", "pytrec_eval")}
    assert verify(QRELS, RUN, measure, references=few).outcome == HOLDS


def test_versions_are_told_and_those_that_nobody_compared_are_said() -> None:
    def find(_name: str, _params: object) -> Computation:
        return Computation(lambda _qrels, _run: {"q": 1.0, "r": 0.0}, how="a stub")

    def told(known: tuple[str, str]) -> tuple[list[str], str]:
        stub = Reference("x", package="ir_measures", find=find, distributions=("none", "ir-measures"), known=known)
        result = verify(QRELS, RUN, "P@1", references={"x": stub})
        return list(result.notes), result.to_markdown()

    installed = metadata.version("ir-measures")
    assert told(("0.4", "99"))[0] == []
    for known in (("98", "99"), ("0.1", installed)):
        notes, shown = told(known)
        (note,) = notes
        assert note.startswith(f"x {installed} is not among the known versions, {known[0]} to below {known[1]}:")
        assert note in shown
        assert f"| x {installed} |" in shown
    for name, reference in REFERENCES.items():
        assert name == "by_hand" or reference.absent() or reference.version, name
        assert reference.unknown_version() == "", "compare the installed version, then widen the range"


def test_absent_and_unknown_are_told_apart() -> None:
    absent = _known_as("x", None, package="no_such_package_here")
    (check,) = verify(QRELS, RUN, "P@1", references=absent).checks
    assert (check.verdict, check.reason) == (ABSENT, "no_such_package_here is not installed")
    assert _one("ir_measures/msmarco", "P@1").verdict == NO_SUCH_MEASURE


def test_profile_with_its_min_relevance(tmp_path: Path) -> None:
    profile = tmp_path / "mine.toml"
    profile.write_text('name = "mine"\nmin_relevance = 2\n[[measures]]\nmeasure = "P@1"\n', encoding="utf-8")
    references = {"by_hand": REFERENCES["by_hand"], "pytrec_eval": REFERENCES["pytrec_eval"]}
    result = verify(QRELS, RUN, profile=profile, references=references)
    assert [check.verdict for check in result.checks] == [AGREES, AGREES]
    assert verify(QRELS, RUN, "P@1", references=_stub({"q": 0.0, "r": 0.0}), min_relevance=2).holds  # b has grade 1


def test_lists_are_compared_in_their_order() -> None:
    lists = {"q": ["b", "x", "a"], "r": ["b", "a"]}
    assert verify(QRELS, lists, "GWAP@10", references=_stub({"q": 7 / 12, "r": 1 / 4})).holds
    assert _one("pytrec_eval", "GWAP@10", run=lists).verdict == AGREES


def test_wrong_input_is_an_error() -> None:
    with pytest.raises(InputError, match="max_rel=2"):
        verify({"q": {"a": 3}}, {"q": {"a": 1.0}}, "GWAP@10")
    with pytest.raises(ParamError):
        verify(QRELS, RUN, "GWAP@0")


def test_untied_keeps_trec_evals_order() -> None:
    run = {"q": {"a": 1.0, "c": 1.0, "b": 1.0 + 1e-12, "z": 0.5, "\uff5e": 1.0, "😀": 1.0}}
    assert list(untied(run)["q"]) == ["😀", "\uff5e", "c", "b", "a", "z"]
    assert list(untied(run)["q"].values()) == [5.0, 4.0, 3.0, 2.0, 1.0, 0.0]
    assert has_ties(run["q"])
    assert has_near_ties(run["q"])
    assert not has_ties({"a": 1.0, "b": 1.0 + 1e-12})
    assert not has_near_ties({"a": 1.0, "b": 1.0})


def test_json_and_markdown() -> None:
    references = {name: REFERENCES[name] for name in ("by_hand", "ir_measures/msmarco")}
    result = verify(QRELS, RUN, "GWAP@10 RR", references=references)
    told = json.loads(result.to_json())
    assert (told["holds"], told["outcome"], told["unconfirmed"]) == (True, HOLDS, [])
    version = metadata.version("ir-measures")
    assert told["references"] == {"by_hand": "", "ir_measures/msmarco": version}
    assert {c["version"] for c in told["checks"]} == {"", version}
    assert [(c["measure"], c["reference"]) for c in told["checks"]] == [
        (m, r) for m in ("GWAP@10", "RR") for r in references
    ]
    assert result.to_markdown().splitlines()[:5] == [
        "| measure | reference | is asked for | verdict |",
        "| --- | --- | --- | --- |",
        "| GWAP@10 | by\\_hand | the definition | agrees to 1e-12 |",
        "| RR | by\\_hand | the definition | agrees to 1e-12 |",
        f"|  | ir\\_measures/msmarco {version} | RR | agrees to 1e-12 |",
    ]


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    qrels, run = tmp_path / "qrels.txt", tmp_path / "run.txt"
    qrels.write_text("q 0 a 2\nq 0 b 1\n", encoding="utf-8")
    run.write_text("q Q0 b 1 0.9 t\nq Q0 a 2 0.8 t\n", encoding="utf-8")
    return str(qrels), str(run)


def test_cli(files: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    runner = pytest.importorskip("click.testing", reason="the extra cli is not installed").CliRunner()
    pytest.importorskip("rich", reason="the extra cli is not installed")
    from permed_measures.cli import verify as module

    # only references that are always there, and fast
    few = {name: REFERENCES[name] for name in ("by_hand", "pytrec_eval")}
    monkeypatch.setattr(module, "verify", lambda *given, **options: verify(*given, references=few, **options))
    table = runner.invoke(module.command, files)
    assert table.exit_code == 0, table.output
    assert "GWAP@10" in table.output
    assert "6 checks agree" in table.output
    told = runner.invoke(module.command, [*files, "-m", "RR", "--format", "json"])
    assert [c["measure"] for c in json.loads(told.output)["checks"]] == ["RR", "RR"]
    assert "| RR |" in runner.invoke(module.command, [*files, "-m", "RR", "--format", "markdown"]).output
    few["by_hand"] = _stub({"q": 0.0})["stub"]
    assert runner.invoke(module.command, [*files, "-m", "RR"]).exit_code == 1
    few["by_hand"] = _known_as("by_hand", Computation(_failing, how="a stub"))["by_hand"]
    alone = runner.invoke(module.command, [*files, "-m", "RR"])
    assert alone.exit_code == 3
    assert "no reference here confirms RR" in alone.output
    assert "failed" in alone.output
    assert json.loads(runner.invoke(module.command, [*files, "-m", "RR", "--format", "json"]).output)["holds"] is False
    both = runner.invoke(module.command, [*files, "-m", "RR", "--profile", "ltr"])
    assert isinstance(both.exception, ParamError)


@pytest.mark.parametrize("name", ["IPrec@0.263", "IPrec@0.5", "SetF(beta=1e-5)", "SetF(beta=0.5)"])
def test_references_are_asked_for_the_exact_number(name):
    qrels, run = {"q": dict.fromkeys("abcdefgh", 1)}, {"q": ["x", "a", "b", "y", "z", "c"]}
    found = {check.reference: check for check in verify(qrels, run, name).checks}
    assert found["pytrec_eval"].verdict == "agrees"
    theirs = found["ir_measures/pytrec_eval"]
    exact = name in ("IPrec@0.5", "SetF(beta=0.5)")
    assert theirs.verdict == ("agrees" if exact else "not applicable")
    assert exact or theirs.reason.startswith("ir_measures")


@pytest.mark.parametrize("name", ["IPrec@1", "SetF(beta=2)", "RBP(p=1)"])
def test_a_whole_number_is_given_to_ir_measures_as_the_float_that_it_asserts(name):
    result = verify({"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0, "b": 2.0}}, name)
    assert result.holds
    assert {check.verdict for check in result.checks} <= {"agrees", "no such measure", "absent"}
