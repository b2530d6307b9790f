"""Measures that are the same number by definition, in every host."""

from __future__ import annotations

import pytest

from compat.agreement import largest_difference, of_host
from compat.case import CUTOFFS
from compat.hosts import HOSTS, absent
from permed_measures.evaluate import Plan
from permed_measures.measures import parse

_EVERYWHERE = (
    ("Coverage", "Success", ("plain", "graded", "ties", "float_grades"), CUTOFFS[:-1]),
    ("Coverage(rel=2)", "Success(rel=2)", ("graded", "ties"), CUTOFFS[:-1]),
    ("GWAP(max_rel=1)", "AP", ("plain",), CUTOFFS),
    ("GWAP(max_rel=1,norm='retrieved')", "ListAP", ("plain",), CUTOFFS),
    ("GWAP(max_rel=1,norm='ideal')", "GWAP(max_rel=1,norm='cutoff')", ("plain",), CUTOFFS),
    ("nDCG(dcg='exp-log2')", "nDCG", ("plain",), CUTOFFS),
    ("ListNDCG(dcg='exp-log2')", "ListNDCG", ("plain",), CUTOFFS),
)


def _at(name: str, cutoff: int | None) -> str:
    return name if cutoff is None else f"{name}@{cutoff}"


@pytest.mark.parametrize("host", HOSTS)
def test_identities(host: str) -> None:
    if absent(host):
        pytest.skip(absent(host))
    wrong = []
    for one, other, corpora, cutoffs in _EVERYWHERE:
        for corpus in corpora:
            values = of_host(host, corpus)
            for cutoff in cutoffs if values else ():
                pair = [parse(_at(name, cutoff)) for name in (one, other)]
                if host == "large_numpy" and Plan(pair).depth is None:
                    continue  # it reads the top of a list
                left, right = (values[measure] for measure in pair)
                apart, query_id = largest_difference(left, right, corpus)
                if not apart <= 1e-12:
                    wrong.append(f"{_at(one, cutoff)} is not {_at(other, cutoff)} on {corpus}: {apart}, {query_id}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("one", "other"), [("nDCG(dcg='exp-log2')", "nDCG"), ("GWAP(max_rel=10)", "AP")])
def test_the_same_pairs_differ_on_graded_corpora(one: str, other: str) -> None:
    """Or the identities would say nothing."""
    values = of_host("evaluate", "ten_grades")
    apart, _ = largest_difference(values[parse(_at(one, 10))], values[parse(_at(other, 10))], "ten_grades")
    assert apart > 0.01
