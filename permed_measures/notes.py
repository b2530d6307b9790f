"""What the reader of a value should know: the notes, in words, from counts."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

NAMED = 5
"""How many queries a note names."""
_NEAR_TIES = {
    "float32": "ordered by id, as by trec_eval 9.0.8; 10.0 orders by score (order='float64'; --order float64)",
    "float64": "ordered by score, as by trec_eval 10.0; 9.0.8 and pytrec_eval order by id (order='float32')",
}
NEVER_MEET = "no query is in both the qrels and the run"


class Queries(NamedTuple):
    """Some queries: how many, and the first few of them by id."""

    number: int
    some: tuple[str, ...] = ()

    @classmethod
    def of(cls, query_ids: Iterable[str]) -> Queries:
        """Count query ids."""
        known = sorted(query_ids)
        return cls(len(known), tuple(known[:NAMED]))

    @property
    def counted(self) -> str:
        """The number, in words."""
        return "1 query" if self.number == 1 else f"{self.number:,} queries"

    @property
    def named(self) -> str:
        """The first few, in parentheses; nothing where none is known."""
        shown = ", ".join(map(repr, self.some))
        more = ", …" if self.number > NAMED else ""
        return f" ({shown}{more})" if shown else ""


class Basis(NamedTuple):
    """What the values of a run rest on."""

    only_run: Queries
    missing: Queries
    nothing_relevant: Queries
    never_meet: bool
    """No query is in both the qrels and the run."""
    lowest_relevant: float
    min_relevance: float | None
    query_sets: Collection[str]
    depth: int | None
    """The deepest cut-off; documents below it are not counted here. None where a measure looks at whole lists."""
    returned: int
    judged: int
    tied: int = 0
    """Documents that share their score with another one, compared as ``order`` says."""
    nearly_tied: int = 0
    """Documents that do so as 32-bit floats only."""
    order: str = "float32"

    def notes(self) -> list[str]:
        """Say what is worth saying."""
        notes = []
        if self.never_meet:
            why = ": every value is 0; are the query ids written alike?"
            notes.append(f"{NEVER_MEET}{why if self.only_run.number else ', which is empty: every value is 0'}")
        if self.min_relevance is not None:
            rest = "(min_relevance) wherever a measure does not say otherwise"
            notes.append(f"relevant means grade >= {self.min_relevance} {rest}")
        if self.only_run.number:
            counts = "counted as 0 where the mean runs over the run's queries"
            fate = counts if "run" in self.query_sets else "ignored"
            notes.append(f"{self.only_run.counted} only in the run, {fate}{self.only_run.named}")
        if self.missing.number:
            fate = "left out" if "qrels" not in self.query_sets else "counted as 0"
            notes.append(f"{self.missing.counted} missing from the run, {fate}{self.missing.named}")
        if self.nothing_relevant.number:
            without = f"without a document of grade >= {self.lowest_relevant}, counted as 0"
            notes.append(f"{self.nothing_relevant.counted} {without}{self.nothing_relevant.named}")
        where = "of the returned documents" if self.depth is None else f"of the documents in the top {self.depth}"
        if self.tied:
            bits = self.order.removeprefix("float")
            ties = f"tie with another one's score ({bits}-bit); ties go by document id, descending"
            notes.append(f"{_share(self.tied, self.returned)} {where} {ties}")
        if self.nearly_tied:
            counted = f"{self.nearly_tied:,} {'document ties' if self.nearly_tied == 1 else 'documents tie'}"
            notes.append(f"{counted} only in 32-bit scores: {_NEAR_TIES[self.order]}")
        if self.returned and self.judged < self.returned:
            share = _share(self.returned - self.judged, self.returned)
            notes.append(f"{share} {where} are unjudged and count as not relevant")
        return notes


def _share(part: int, whole: int) -> str:
    """Write the share of a part that is not empty; a few are not none, nearly all are not all."""
    shown = f"{part / whole:.1%}"
    if shown == "0.0%":
        return "less than 0.1%"
    return "more than 99.9%" if shown == "100.0%" and part < whole else shown
