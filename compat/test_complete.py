"""Nothing may be left out: no measure, parameter, choice, profile, host or reference without a case."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pkgutil import iter_modules

import pytest

import permed_measures.hosts
from compat.agreement import AGREES, cases_on, computation, is_circular, of_host, outcomes, references_here
from compat.case import CUTOFFS, Case
from compat.cases import CASES
from compat.corpora import CORPORA
from compat.hosts import HOSTS, absent
from permed_measures.measures import DEFINED, STANDARD
from permed_measures.profiles import PROFILES
from permed_measures.verification import all_params
from permed_measures.verification.references import REFERENCES

_KNOWN = {**DEFINED, **STANDARD}
NOT_IN_TABLES = {name for name, measure in _KNOWN.items() if type(measure).expression is None}
IN_EXPLAIN = {name for name, measure in _KNOWN.items() if measure.READS is not None}


def _values(name: str, param: str) -> set[str]:
    return {repr(all_params(case.measure)[param]) for case in CASES.values() if name == case.measure.NAME}


@pytest.mark.parametrize(
    ("name", "param"), [(name, param) for name, measure in DEFINED.items() for param in measure.SUPPORTED_PARAMS]
)
def test_every_parameter_and_choice_of_ours_has_a_case(name: str, param: str) -> None:
    found, declared = _values(name, param), DEFINED[name].SUPPORTED_PARAMS[param]
    if param == "cutoff":
        assert {repr(k) for k in CUTOFFS if k is not None or not declared.required} <= found
    elif declared.kind == "choice":
        assert {repr(choice) for choice in declared.allowed_choices or ()} == found
    else:
        where = f"compat/cases: {name} needs a case with"
        assert declared.required or repr(declared.default) in found, (
            f"{where} the default of {param}, cases({name!r}, '')"
        )
        assert len(found) > 1, f"{where} another {param} than its default, cases({name!r}, '', '{param}=…')"


def test_every_standard_measure_and_parameter_has_a_case() -> None:
    for measure in STANDARD.values():
        for param in measure.SUPPORTED_PARAMS:
            assert len(_values(measure.NAME, param)) > 1, f"{measure.NAME}: {param} has no two values in the cases"
        assert any(case.measure.NAME == measure.NAME for case in CASES.values()), measure.NAME


@pytest.mark.parametrize("profile", PROFILES)
def test_every_measure_of_a_profile_has_a_case(profile: str) -> None:
    assert {str(measure) for measure in PROFILES[profile].measures} <= set(CASES)


def test_every_host_has_a_case() -> None:
    modules = {module.name for module in iter_modules(permed_measures.hosts.__path__) if module.name[0] != "_"}
    assert modules | {"tables_duckdb", "tables_polars"} <= set(HOSTS)


@pytest.mark.parametrize("host", HOSTS)
def test_every_host_computes_every_case(host: str) -> None:
    if absent(host):
        pytest.skip(absent(host))
    lacking = {str(case.measure) for case in cases_on("plain")} - {str(m) for m in of_host(host, "plain")}
    # what counts queries is no value of a ranking: compat/hosts.py leaves it out where queries must be added to a run
    if host == "explain":
        unknown = {name for name in lacking if re.split(r"[(@]", name)[0] not in IN_EXPLAIN}
        assert unknown == {case.name for case in cases_on("plain") if case.measure.NAME not in IN_EXPLAIN}
        assert all(re.match("(nDCG|GWAP).*(gains|weights)=", name) for name in lacking - unknown)
    elif host.startswith(
        "tables_"
    ):  # an expression each for P, R, AP, RR, nDCG, Success, Rprec, SetR, and most of ours
        assert {re.split(r"[(@]", name)[0] for name in lacking} == NOT_IN_TABLES
    else:
        assert lacking == ({"NumQ", "NumRel", "NumRel(rel=2)", "NumRel(rel=6.5)"} if host == "ranx" else set())


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_by_hand_is_not_the_only_reference(case: Case) -> None:
    others = [
        reference
        for reference in references_here()
        if reference != "by_hand" and (asked := computation(case, reference)) is not None
        for corpus in CORPORA.values()
        if case in cases_on(corpus.name) and not asked.refuses(corpus.qrels, corpus.run)
    ]
    if case.by_hand_only:
        assert not others, f"{case.name} says {case.by_hand_only!r}, but {others[0]} computes it"
    else:
        assert others, f"{case.name} has no reference but by_hand: give cases(…, by_hand_only=…) the reason"


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_another_program_than_the_one_that_computes_it_confirms_a_case(case: Case) -> None:
    on = next(name for name in CORPORA if case in cases_on(name))
    agreeing = [o.reference for o in outcomes(case, [on]) if o.verdict == AGREES and not is_circular(case, o.reference)]
    assert agreeing, f"{case.name}: whoever agrees computes it"


def test_every_reference_is_used() -> None:
    for reference in references_here():
        assert any(computation(case, reference) for case in CASES.values()), reference


def test_every_reference_is_here_where_its_package_is() -> None:
    assert {"by_hand", "pytrec_eval", "ir_measures/pytrec_eval", "ir_measures/msmarco"} <= set(references_here())
    for name in ("ranx", "sklearn"):
        assert (find_spec(name) is None) == any(r.package == name and r.absent() for r in REFERENCES.values())


def test_corpora_are_what_they_say() -> None:
    """A corpus that lost its point would agree with everything."""
    scores = {name: [list(s.values()) for s in corpus.run.values()] for name, corpus in CORPORA.items()}
    for name in ("plain", "graded", "ten_grades", "float_grades", "unjudged", "negative", "medcorpus_size"):
        assert all(len(set(of_query)) == len(of_query) for of_query in scores[name]), name
    assert any(len(set(of_query)) < len(of_query) for of_query in scores["ties"])
    assert all(len(set(of_query)) == len(of_query) for of_query in scores["near_ties"])
    assert any(not isinstance(g, int) for judged in CORPORA["float_grades"].qrels.values() for g in judged.values())
    assert min(g for judged in CORPORA["negative"].qrels.values() for g in judged.values()) < 0
    assert any(not of_query for of_query in scores["empty"])
    assert CORPORA["missing"].qrels.keys() - CORPORA["missing"].run.keys()
    assert CORPORA["missing"].run.keys() - CORPORA["missing"].qrels.keys()
    assert len(CORPORA["one_query"].qrels) == 1
    assert len(CORPORA["medcorpus_size"].qrels) == 3440
    # rank() treats lists that arrive in order unlike others, and short ones unlike long ones
    for name in ("plain", "ties", "near_ties"):
        kinds = {(of_query == sorted(of_query, reverse=True), len(of_query) > 64) for of_query in scores[name]}
        assert kinds == {(True, True), (True, False), (False, True), (False, False)}, name
