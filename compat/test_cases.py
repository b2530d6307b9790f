"""Every case, on every corpus, by every host, against every reference."""

from __future__ import annotations

import pytest

from compat.agreement import DIFFERS, REFUSES, computation, is_defined, of_host, outcomes, references_here
from compat.case import Case
from compat.cases import CASES
from compat.corpora import CORPORA
from compat.differences import DIFFERENCES, Difference, expected
from permed_measures import InputError, evaluate
from permed_measures.verification.references import untied


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_agrees_with_every_reference(case: Case) -> None:
    wrong = []
    for outcome in outcomes(case, CORPORA):
        if outcome.verdict == REFUSES:
            continue
        entry = expected(*outcome.key)
        place = f"{outcome.corpus}, {outcome.reference}"
        if outcome.verdict == DIFFERS and entry is None:
            wrong.append(f"{place}: differs by {outcome.difference:.3g} ({outcome.where})")
        elif outcome.verdict != DIFFERS and entry is not None:
            wrong.append(f"{place}: agrees, but differences.py expects a difference: {entry.reason}")
    assert not wrong, f"{case.name}:\n" + "\n".join(wrong)


@pytest.mark.parametrize("corpus", CORPORA)
def test_tie_order_is_the_whole_difference(corpus: str) -> None:
    """A reference that reads ties in its own way agrees once the same order is written without ties."""
    found = CORPORA[corpus]
    plain = untied(found.run)
    wrong = []
    for case in CASES.values():
        for outcome in outcomes(case, [corpus]):
            asked = computation(case, outcome.reference)
            if outcome.verdict != DIFFERS or asked is None or not (asked.ties or asked.near_ties):
                continue
            theirs = asked.compute(found.qrels, plain)
            ours = of_host("evaluate", corpus)[case.measure]
            apart = max(abs(ours[query_id] - value) for query_id, value in theirs.items())
            if apart > asked.tolerance:
                wrong.append(f"{outcome.reference}, {case.name}: {apart:.3g}")
    assert not wrong, "\n".join(wrong)


def test_undefined_is_an_error() -> None:
    """Where the definition does not cover the grades, no host may give a number."""
    checked = 0
    for corpus in CORPORA.values():
        for case in CASES.values():
            if not is_defined(case.measure, corpus):
                with pytest.raises(InputError, match="grade"):
                    evaluate(corpus.qrels, corpus.run, [case.measure])
                checked += 1
    assert checked > 100


@pytest.mark.parametrize("entry", DIFFERENCES, ids=lambda entry: f"{'+'.join(entry.references)}-{entry.corpora[0]}")
def test_every_difference_is_met(entry: Difference) -> None:
    """An entry that no comparison needs is out of date."""
    here = [corpus for corpus in entry.corpora if corpus in CORPORA]
    if not here:
        pytest.skip("the corpus is not at hand: shared/data is missing")
    met = {
        (outcome.corpus, outcome.reference)
        for case in CASES.values()
        for outcome in outcomes(case, here)
        if outcome.verdict == DIFFERS and entry.covers(*outcome.key)
    }
    usable = set(entry.references) & set(references_here())
    assert {corpus for corpus, _ in met} == (set(here) if usable else set())
    assert {reference for _, reference in met} == usable
