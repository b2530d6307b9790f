"""Every case on every corpus: what the hosts say, what the references say, and how far apart they are.

Everything is computed once per process and kept: tests and the table read the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from ir_measures import Measure

from compat.case import Case, on_large
from compat.cases import CASES
from compat.corpora import CORPORA, Corpus
from compat.hosts import HOSTS, Values, absent
from permed_measures.evaluate import Plan
from permed_measures.measures import declared
from permed_measures.verification import all_params, computed_by
from permed_measures.verification.references import REFERENCES, Computation
from permed_measures.verification.references.by_hand import written_out

AGREES, DIFFERS, REFUSES = "agrees", "differs", "refuses"


@dataclass(frozen=True)
class Outcome:
    """One case on one corpus, all hosts against one reference."""

    case: str
    corpus: str
    reference: str
    verdict: str
    difference: float = 0.0
    where: str = ""
    """The host, the query and both values of the largest difference."""
    reason: str = ""
    """Why the reference does not take the corpus."""

    @property
    def key(self) -> tuple[str, str, str]:
        """What identifies the outcome."""
        return self.case, self.corpus, self.reference


def is_defined(measure: Measure, corpus: Corpus) -> bool:
    """Whether the definition covers the grades of a corpus: GWAP has a weight for each relevant one, at most 1."""
    known = declared(measure)
    grades = {grade for judged in corpus.qrels.values() for grade in judged.values()}
    return known is None or not any(known.refuses(grade) for grade in grades)


@cache
def cases_on(corpus: str) -> tuple[Case, ...]:
    """Return the cases that are computed on a corpus."""
    large = on_large()
    found = CORPORA[corpus]
    return tuple(
        case
        for case in CASES.values()
        if is_defined(case.measure, found) and (not found.large or case.measure in large)
    )


@cache
def computation(case: Case, reference: str) -> Computation | None:
    """Return how a reference computes a case."""
    if reference == "by_hand" and case.definition is not None:
        return written_out(case.definition, all_params(case.measure))
    return REFERENCES[reference].find(case.measure.NAME, all_params(case.measure))


@cache
def of_host(host: str, corpus: str) -> Values:
    """Return the values of all cases that a host can name, on a corpus."""
    found = CORPORA[corpus]
    return HOSTS[host]([case.measure for case in cases_on(corpus)], found.qrels, found.run)


@cache
def of_reference(case: Case, reference: str, corpus: str) -> dict[str, float] | str:
    """Return the values of a reference, or why it takes no such corpus."""
    asked, found = computation(case, reference), CORPORA[corpus]
    if asked is None:
        msg = f"{reference} does not compute {case.name}"
        raise ValueError(msg)
    return asked.refuses(found.qrels, found.run) or asked.compute(found.qrels, found.run)


@cache
def is_circular(case: Case, reference: str) -> bool:
    """Whether a reference is the program that evaluate() has the value from: to agree with it confirms nothing."""
    return bool(REFERENCES[reference].program) and REFERENCES[reference].program == computed_by(
        Plan([case.measure])
    ).get(0)


def references_here() -> list[str]:
    """Return the references that can be used on this machine."""
    return [name for name, reference in REFERENCES.items() if not reference.absent()]


def hosts_here() -> list[str]:
    """Return the hosts that can be used on this machine."""
    return [name for name in HOSTS if not absent(name)]


def outcomes(case: Case, corpora: Iterable[str]) -> Iterator[Outcome]:
    """Compare all hosts with all references."""
    for corpus in corpora:
        if case not in cases_on(corpus):
            continue
        for reference in references_here():
            if computation(case, reference) is not None:
                yield _outcome(case, corpus, reference)


@cache
def _outcome(case: Case, corpus: str, reference: str) -> Outcome:
    theirs, asked = of_reference(case, reference, corpus), computation(case, reference)
    if isinstance(theirs, str) or asked is None:
        return Outcome(case.name, corpus, reference, REFUSES, reason=str(theirs))
    difference, where = 0.0, ""
    for host in hosts_here():
        ours = of_host(host, corpus).get(case.measure)
        if ours is None:
            continue
        apart, query_id = largest_difference(ours, theirs, corpus)
        if apart > difference:
            difference, where = apart, f"{host}, query {query_id}: {ours.get(query_id)}, not {theirs.get(query_id)}"
    verdict = AGREES if difference <= asked.tolerance else DIFFERS
    return Outcome(case.name, corpus, reference, verdict, difference, where)


def largest_difference(ours: dict[str, float], theirs: dict[str, float], corpus: str) -> tuple[float, str]:
    """Return the largest difference and its query; a value that is missing or NaN is infinitely far away."""
    found = CORPORA[corpus]
    worst, place = 0.0, ""
    for query_id in found.qrels:
        value = ours.get(query_id, float("nan"))
        # a query that returned nothing, or has no judgements, may be missing from a reference: its value is 0
        may_lack = not found.run.get(query_id) or not found.qrels[query_id]
        reference = theirs.get(query_id, 0.0 if may_lack else float("nan"))
        apart = abs(value - reference)
        if not apart <= worst:
            worst, place = (apart if apart == apart else float("inf")), query_id
    extra = ours.keys() - found.qrels.keys()
    return (float("inf"), min(extra)) if extra else (worst, place)
