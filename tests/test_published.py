"""Published figures: NIST's for TREC-COVID round 1, and trec_eval's own test output."""

from __future__ import annotations

import pytest
from ir_measures import Metric

from permed_measures import evaluate
from permed_measures.measures import parse_trec_name
from tests.conftest import read_trec

NIST = {  # from the data's README
    "irc_entrez": {"map": 0.0988, "ndcg_cut_10": 0.2533, "P_5": 0.3667, "bpref": 0.3054},
    "irc_pubmed": {"map": 0.1080, "ndcg_cut_10": 0.2538, "P_5": 0.4067, "bpref": 0.3025},
}


PYTREC_EVAL_DIFFERS = {
    *((query_id, f"IPrec@{recall}") for query_id, recall in (("301", 0.1), ("all", 0.1), ("302", 0.6), ("all", 0.6))),
    *((query_id, "ElevenPointAP") for query_id in ("302", "all")),
}
"""Topic 301 has 474 relevant documents: the recall point 0.1 is 47.4 of them. pytrec_eval rounds it up (precision
48/229 = 0.2096), the file has it rounded down (47/224 = 0.2098). Likewise 0.6 · 77 of topic 302: 47/331, not 46/301."""


@pytest.mark.parametrize("name", NIST)
def test_nist_figures_of_trec_covid(covid, name):
    qrels, runs = covid
    result = evaluate(qrels, runs[name], list(NIST[name]))
    assert list(result.means.values()) == pytest.approx(list(NIST[name].values()), abs=0.5e-4)


def test_our_measures_on_trec_covid(covid):
    """The figures that show what a name hides: one run, four conventions."""
    qrels, runs = covid
    result = evaluate(qrels, runs["irc_entrez"], "GWAP@10 ListAP@10 nDCG@10 nDCG(dcg='exp-log2')@10")
    assert [round(mean, 6) for mean in result.means.values()] == [
        0.022560,
        0.481973,
        round(result["nDCG@10"], 6),
        0.224979,
    ]


def test_every_value_of_trec_evals_own_test(shared):
    folder = shared / "trec_eval"
    grades = read_trec(folder / "qrels.test", 3, 4)
    qrels = {query_id: {doc_id: int(g) for doc_id, g in judged.items()} for query_id, judged in grades.items()}
    run = read_trec(folder / "results.test", 4, 6)
    printed = {}
    for line in (folder / "out.test.aq").read_text().splitlines():
        name, query_id, value = line.split()
        measures = parse_trec_name(name)
        if len(measures) == 1:
            printed[query_id, measures[0]] = value
    known = {measure for _, measure in printed}
    result = evaluate(qrels, run, list(known), queries="both")
    found = {(q, m): v for q, m, v in [*result.values, *[Metric("all", m, v) for m, v in result.means.items()]]}
    assert found.keys() >= printed.keys()  # per query, trec_eval prints no num_q
    differing = {
        (query_id, str(measure))
        for (query_id, measure), value in printed.items()
        if found[query_id, measure] != pytest.approx(float(value), abs=0.5e-4)
    }
    assert differing == PYTREC_EVAL_DIFFERS
    # out.test.aq prints these families that ir_measures can name
    assert {m.NAME for m in known} >= {"AP", "P", "R", "nDCG", "RR", "Rprec", "Bpref", "Success", "SetP", "NumRet"}
