"""permed-measures trec_eval: what trec_eval prints, byte by byte, and what is refused by name."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

CASES = json.loads((Path(__file__).parent / "trec_eval_cases.json").read_text(encoding="utf-8"))
"""What trec_eval 10.0 and 9.0.8 print, written by benchmarks/fuzz_trec_eval.py."""

QRELS = "q1 0 a 1\nq1 0 b 2\nq2 0 c 1\nq3 0 d 2\n"
RUN = "q2 Q0 x 1 2.0 tag\nq1 Q0 b 1 1.5 tag\nq1 Q0 a 2 1.0 tag\nq2 Q0 c 2 1.0 last\n"


@pytest.fixture
def trec_eval(shell, tmp_path, monkeypatch):
    """Run it on two files with these lines; return exit code, output and errors."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, qrels=QRELS, lines=RUN):
        Path("qrels").write_text(qrels, encoding="utf-8")
        Path("run").write_text(lines, encoding="utf-8")
        return shell("trec_eval", *arguments, "qrels", "run")

    return run


def values(out):
    return {tuple(line.split()[:2]): line.split()[2] for line in out.splitlines()}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['version']} {' '.join(case['options'])}")
def test_it_prints_what_trec_eval_prints(trec_eval, case):
    code, out, _ = trec_eval("--as", case["version"], *case["options"], qrels=case["qrels"], lines=case["run"])
    assert (code, out) == (0, case["printed"])


def test_the_cases_have_every_option_and_version():
    given = {option[:2] for case in CASES for option in case["options"]}
    assert given.issuperset({"-q", "-n", "-c", "-l", "-M", "-J", "-m"})
    assert {case["version"] for case in CASES} == {"10.0", "9.0.8"}
    assert any("-nan" in case["printed"] for case in CASES)


def test_its_own_golden_file(shell, shared):
    folder = shared / "trec_eval"
    golden = (folder / "out.test.aq").read_text()
    arguments = ["-m", "all_trec", "-q", str(folder / "qrels.test"), str(folder / "results.test")]
    assert shell("trec_eval", *arguments)[:2] == (0, golden)
    _, old, _ = shell("trec_eval", "--as", "9.0.8", *arguments)
    ours, theirs = values(old), values(golden)
    assert ours.keys() == {key for key in theirs if not key[0].startswith(("rbp", "unj"))}  # new in 10.0
    moved = {name for (name, query), value in ours.items() if value != theirs[name, query]}
    assert moved <= {f"iprec_at_recall_{tenth / 10:.2f}" for tenth in range(11)} | {"11pt_avg"}
    assert ("iprec_at_recall_0.60", "all") in ours
    assert (ours["iprec_at_recall_0.60", "all"], theirs["iprec_at_recall_0.60", "all"]) == ("0.0822", "0.0858")


def test_published_values_of_a_real_run(shell, shared):
    folder = shared / "trec-covid-r1"
    arguments = ["-m", "map", "-m", "ndcg_cut.10", "-m", "P.5", "-m", "bpref", str(folder / "qrels.txt")]
    _, out, _ = shell("trec_eval", *arguments, str(folder / "irc_entrez.run.gz"))
    assert [line.split()[2] for line in out.splitlines()] == ["0.0988", "0.3054", "0.3667", "0.2533"]  # NIST


def test_scores_are_told_apart_in_64_bits_or_in_32(trec_eval):
    lines = "q1 Q0 a 1 1.00000003 t\nq1 Q0 b 2 1.0 t\n"  # one number in 32 bits, where b is first, by its name
    found = {}
    for version in ("10.0", "9.0.8"):
        _, out, _ = trec_eval("--as", version, "-m", "recip_rank", qrels="q1 0 a 1\n", lines=lines)
        found[version] = values(out)["recip_rank", "all"]
    assert found == {"10.0": "1.0000", "9.0.8": "0.5000"}


def test_queries_without_results(trec_eval):
    code, out, err = trec_eval("-m", "map", "-m", "num_q", "-m", "runid")
    assert (code, values(out)) == (0, {("runid", "all"): "last", ("num_q", "all"): "2", ("map", "all"): "0.7500"})
    assert "1 query of the qrels not in the run, left out; -c counts 0; trec_eval 10.0 stops there" in err
    _, out, err = trec_eval("-c", "-q", "-m", "map", "-m", "num_rel")
    assert values(out) == {
        **{
            ("map", query): value
            for query, value in zip(("q1", "q2", "q3"), ("1.0000", "0.5000", "0.0000"), strict=True)
        },
        **{("num_rel", query): value for query, value in zip(("q1", "q2", "q3"), "211", strict=True)},
        ("num_rel", "all"): "4",
        ("map", "all"): "0.5000",
    }
    assert not err
    _, out, _ = trec_eval("-c", "-q", "-m", "map", "--as", "9.0.8")
    assert ("map", "q3") not in values(out)
    assert values(out)["map", "all"] == "0.5000"
    code, _, err = trec_eval("-m", "map", lines="other Q0 a 1 1.0 t\n")
    assert code == 2
    assert "none of the 3 queries of the qrels is in the run" in err


def test_the_run_may_be_standard_input_and_options_are_written_as_there(trec_eval, shell, monkeypatch):
    expected = trec_eval("-q", "-m", "P.1,2", "-l", "2", "-M", "1")
    assert trec_eval("-qmP.1,2", "-l2", "-M1") == expected
    long = ("--query_eval_wanted", "--measure=P.1,2", "--level_for_rel=2", "--Max_retrieved_per_topic=1")
    assert trec_eval(*long, "-R", "qrels", "-T", "trec_results") == expected
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(RUN.encode())))
    assert shell("trec_eval", "-qmP.1,2", "-l2", "-M1", "qrels", "-") == expected


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-Z", "file"], "trec_eval's -Z is not done here (Z scores); use trec_eval itself"),
        (["-R", "prefs"], "trec_eval's -R is not done here (other qrels)"),
        (["-N", "100"], "trec_eval's -N is not done here"),
        (["-D1"], "trec_eval's -D is not done here"),
        (["-m", "yaap"], "trec_eval has 'yaap', but it is not computed here"),
        (["-m", "all_prefs"], "trec_eval has 'all_prefs', but it is not computed here"),
        (["-m", "G.1=2"], "trec_eval has 'G.1=2', but it is not computed here"),
        (["-m", "ndgc"], "'ndgc' is no measure of trec_eval 10.0. Did you mean ndcg"),
        (["-m", "GWAP@10"], "'GWAP@10' is no measure of trec_eval 10.0."),
        (["--as", "9.0.8", "-m", "rbp"], "'rbp' is no measure of trec_eval 9.0.8."),
        (["-m", "P."], "'P.' is no measure of trec_eval"),
        (["-m", "P.0"], "P.0: these parameters are not read here"),
        (["-m", "P.5,5"], "P.5,5: these parameters are not read here (each number once)"),
        (["-m", "P.x"], "P.x: these parameters are not read here"),
        (["-m", "11pt_avg.0.5,0.2"], "11pt_avg.0.5,0.2: these parameters are not read here (the lowest comes first)"),
        (["-m", "iprec_at_recall.2"], "iprec_at_recall.2: these parameters are not read here"),
        (["-m", "utility.1,-1,0,1"], "the fourth worth needs the size of the collection"),
        (["-m", "utility.1,2"], "utility.1,2: these parameters are not read here"),
        (["-m", "rbp.1=2"], "rbp.1=2: these parameters are not read here (only p can be given)"),
        (
            ["-m", "ndcg.1=1.5"],
            "differ by less than 1 trec_eval cannot order; permed-measures eval -m 'nDCG(",
        ),
        (["-l0"], "-l"),
        (["-M0"], "-M"),
    ],
)
def test_what_it_cannot_do_it_refuses_by_name(trec_eval, arguments, said):
    code, out, err = trec_eval(*arguments)
    assert (code, out) == (2, "")
    assert said in err


def test_grades_that_it_would_cut_are_refused(trec_eval):
    code, out, err = trec_eval(qrels="q1 0 a 1\nq1 0 b 0.5\n")
    assert (code, out) == (2, "")
    assert "query 'q1', document 'b': grade 0.5 is not whole: trec_eval would cut it; permed-measures eval" in err
