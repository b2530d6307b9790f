"""Input of every kind: our values against the definition written out, delegated ones against raw pytrec_eval."""

from __future__ import annotations

from types import MappingProxyType
from unittest import mock

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ir_measures import Measure

from compat.corpora.corpus import Grid
from permed_measures import evaluate, ranking
from permed_measures.inputs import RunLike
from permed_measures.measures import parse_all
from permed_measures.verification import all_params
from permed_measures.verification.references import REFERENCES, TOLERANCE

OURS = parse_all(
    """GWAP(max_rel=10) GWAP(max_rel=10)@1 GWAP(max_rel=10)@3 GWAP(max_rel=10,norm='cutoff')@3
    GWAP(max_rel=10,norm='retrieved')@3 GWAP(max_rel=10,norm='ideal')@3 GWAP(max_rel=10,norm='ideal')
    GWAP(max_rel=10,rel=2.5)@2 Coverage Coverage@1 Coverage(rel=2.5)@2 ListAP ListAP@2 ListAP(rel=2.5)@3
    ListNDCG ListNDCG@2 ListNDCG(dcg='exp-log2') ListNDCG(dcg='exp-log2')@3 nDCG(dcg='exp-log2') nDCG(dcg='exp-log2')@1
    nDCG(dcg='exp-log2')@3 nDCG(dcg='exp-log2',judged_only=True)@2
    GMAP GMBpref GMBpref(rel=2.5) ElevenPointAP ElevenPointAP(rounding='nearest') IPrecNearest@0.3 G BinG(rel=2.5) RnDCG
    nDCGRel Utility Utility(rel_missed=-2) NumNonRelJudgedRet(rel=2.5) RelativeP@3 RprecMult@0.5 RprecMult(rel=2.5)@1.4
    RBP(p=0.5) RBP(p=0.9,rel=2)@3 RBPResidual(p=0.5) Unjudged@3"""
)
BY_DEFINITION = parse_all(
    """P@1 P@3 R@2 AP AP@2 RR RR@2 Success@2 nDCG nDCG@2 nDCG(judged_only=True)@2 P(rel=2.5)@2 Rprec Bpref
    Bpref(rel=2.5) infAP infAP(rel=2) IPrec@0.0 IPrec@0.1 IPrec(rel=2.5)@0.6 IPrec(judged_only=True)@0.5 NumRel
    NumRel(rel=2.5) NumQ"""
)
STANDARD = parse_all(
    """P@1 P@3 P(rel=2)@3 P(judged_only=True)@2 R@2 R(rel=2)@3 AP AP@2 AP(rel=2)@3 AP(judged_only=True) RR RR@2
    RR(rel=2)@3 RR(judged_only=True)@1 nDCG nDCG@2 nDCG(judged_only=True)@2 Rprec Rprec(rel=2) Success@1
    Success(rel=2)@3 Bpref Bpref(rel=2) SetP SetP(relative=True) SetR SetF SetF(beta=0.5) SetAP infAP IPrec@0.1
    NumRet NumRet(rel=2)"""
)

_IDS = st.sampled_from(["a", "b", "c", "B", "ä", "é", "e\u0301", "\uff5e", "😀", "文献", "d1", "d10", "d2", "0", "_"])
_QUERIES = st.sampled_from(["1", "2", "查询", "q-1", "ω"])
# few different scores, so that ties and near ties are common
_SCORES = st.one_of(
    st.sampled_from(
        [0.0, -0.0, 1.0, 1.0 + 1e-9, 1.0 + 2e-9, 0.5, float("inf"), float("-inf"), 1e300, 1e-60, 2.0**24 + 1]
    ),
    st.floats(allow_nan=False, width=32),
    st.floats(allow_nan=False),
)
_WHOLE = st.integers(0, 4)
_ANY = st.one_of(st.integers(-2, 10), st.sampled_from([0.5, 1.5, 2.5, 2.4999999, 7.3, 10.0, -0.5]))

_RUNS = st.dictionaries(_QUERIES, st.dictionaries(_IDS, _SCORES, max_size=12), max_size=4)


def _qrels(grades: st.SearchStrategy[float]) -> st.SearchStrategy[Grid]:
    return st.dictionaries(_QUERIES, st.dictionaries(_IDS, grades, min_size=1, max_size=12), min_size=1, max_size=4)


def _compare(measures: list[Measure], qrels: Grid, run: Grid, reference: str) -> None:
    _compare_once(measures, qrels, run, reference)
    with mock.patch.object(ranking, "COLUMNS", None):  # by numpy, and then by the plain definition
        _compare_once(measures, qrels, run, reference)
        _compare_once(measures, qrels, run, reference, {q: MappingProxyType(scores) for q, scores in run.items()})


def _compare_once(
    measures: list[Measure], qrels: Grid, run: Grid, reference: str, given: RunLike | None = None
) -> None:
    ours = run if given is None else given
    together = evaluate(qrels, ours, measures).columns
    for measure in measures:
        asked = REFERENCES[reference].find(measure.NAME, all_params(measure))
        assert asked is not None, measure
        theirs = asked.compute(qrels, run)
        alone = evaluate(qrels, ours, [measure]).columns[measure]
        for query_id in qrels:
            reference_value = theirs.get(query_id, 0.0)
            assert abs(alone[query_id] - reference_value) <= TOLERANCE, (measure, query_id, reference)
            assert abs(together[measure][query_id] - reference_value) <= TOLERANCE, (measure, query_id, reference)


_slow = settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])


@_slow
@given(_qrels(_ANY), _RUNS)
def test_ours_are_the_definition(qrels: Grid, run: Grid) -> None:
    _compare(OURS, qrels, run, "by_hand")


@_slow
@given(_qrels(_ANY), _RUNS)
def test_standard_ones_are_the_definition_on_any_grade(qrels: Grid, run: Grid) -> None:
    _compare(BY_DEFINITION, qrels, run, "by_hand")


@_slow
@given(_qrels(_WHOLE), _RUNS)
def test_delegated_ones_are_pytrec_eval_on_the_raw_run(qrels: Grid, run: Grid) -> None:
    answered = {query_id: scores for query_id, scores in run.items() if scores}
    _compare(STANDARD, qrels, answered, "pytrec_eval")
