"""What the reader of a value should know: the notes, in words, from counts."""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from ir_measures import Measure

from permed_measures.measures.base import RankingMeasure, takes_threshold, written
from permed_measures.render.words import queries

NAMED = 5
"""How many queries a note names."""
_FEW_GRADES = 2
"""On a scale that ends here, grade 1 is relevant to most people; on a longer one they differ."""
_NEAR_TIES = {
    "float32": "ordered by id, as by trec_eval 9.0.8; 10.0 orders by score (order='float64'; --order float64)",
    "float64": "ordered by score, as by trec_eval 10.0; 9.0.8 and pytrec_eval order by id (order='float32')",
}
_TIES = {
    "trec": "ties go by document id, descending",
    "input": "they keep the order of the input",
    **{ties: f"values are the {ties} ones over all their orders" for ties in ("expected", "best", "worst")},
}
NEVER_MEET = "no query is in both the qrels and the run"


_HARDLY, _ENOUGH = 0.05, 10
"""Below this share of the judgements, or of the returned documents where these are fewer, ids hardly meet; of fewer
than so many nothing is said."""


class Queries(NamedTuple):
    """Some queries: how many, and the first few of them by id."""

    number: int
    some: tuple[str, ...] = ()

    @classmethod
    def of(cls, query_ids: Iterable[str]) -> "Queries":
        """Count query ids."""
        known = sorted(query_ids)
        return cls(len(known), tuple(known[:NAMED]))

    @property
    def counted(self) -> str:
        """The number, in words."""
        return queries(self.number)

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
    ties: str = "trec"
    measures: Sequence[Measure] = ()
    """As they were asked for, before ``min_relevance`` is given to any."""
    highest: float | None = None
    """The highest grade of the qrels."""
    top_grade: float | None = None
    """The top of the scale that the profile is made for."""
    judgements: int = 0
    """How many the qrels have."""

    def notes(self) -> list[str]:
        """Say what is worth saying."""
        notes = []
        if self.never_meet:
            why = ": every value is 0; are the query ids written alike?"
            notes.append(f"{NEVER_MEET}{why if self.only_run.number else ', which is empty: every value is 0'}")
        if self.min_relevance is not None:
            rest = "(min_relevance) wherever a measure does not say otherwise"
            given = [m for m in self.measures if "rel" in m.params]
            hidden = [written(m) for m in given if m.params["rel"] == m.SUPPORTED_PARAMS["rel"].default]
            does = f", as {', '.join(hidden)} {'does' if len(hidden) == 1 else 'do'}" if hidden else ""
            notes.append(f"relevant means grade >= {self.min_relevance} {rest}{does}")
        notes += self._of_defaults()
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
            ties = f"tie with another one's score ({bits}-bit); {_TIES[self.ties]}"
            notes.append(f"{_share(self.tied, self.returned)} {where} {ties}")
        if self.nearly_tied and self.ties == "trec":
            counted = f"{self.nearly_tied:,} {'document ties' if self.nearly_tied == 1 else 'documents tie'}"
            notes.append(f"{counted} only in 32-bit scores: {_NEAR_TIES[self.order]}")
        known = min(self.returned, self.judgements)  # as many as could be
        if known >= _ENOUGH and self.judged < _HARDLY * known and not self.never_meet:
            share = _share(self.judged, self.returned) if self.judged else "none"
            why = "are the ids of one index, and chunks not taken for documents (collapse)?"
            notes.append(
                f"labels look stale: {share} {where} {'is' if share == 'none' else 'are'} known to the qrels; {why}"
            )
        if self.returned and self.judged < self.returned:
            share = _share(self.returned - self.judged, self.returned)
            notes.append(f"{share} {where} are unjudged and {self._fate_of_unjudged()}")
        return notes

    def _of_defaults(self) -> list[str]:
        """Say what a default means on these grades, where that may not be what people mean."""
        notes = []
        highest = 0 if self.highest is None else self.highest
        if self.min_relevance is None and any(map(takes_threshold, self.measures)):
            top = self.top_grade if highest <= _FEW_GRADES else highest
            if top is not None and top > _FEW_GRADES:
                notes.append(
                    f"relevant means grade >= {self.lowest_relevant} wherever a measure does not say otherwise: grades "
                    f"go up to {top:g}, and no threshold was given (min_relevance; in the shell --min-relevance)"
                )
        if highest >= self.lowest_relevant:
            ours = [measure for measure in self.measures if isinstance(measure, RankingMeasure)]
            notes += filter(None, [measure.note(highest) for measure in ours])
        return notes

    def _fate_of_unjudged(self) -> str:
        """Say what becomes of unjudged documents: not the same in all measures."""
        without = [m for m in self.measures if m.NAME == "Bpref" or m.params.get("judged_only")]
        if not without:
            return "count as not relevant"
        if len(without) == len(self.measures):
            return "are left out of the lists"
        return f"count as not relevant, except for {', '.join(map(str, without))}: there they are left out of the lists"


def _share(part: int, whole: int) -> str:
    """Write the share of a part that is not empty; a few are not none, nearly all are not all."""
    shown = f"{part / whole:.1%}"
    if shown == "0.0%":
        return "less than 0.1%"
    return "more than 99.9%" if shown == "100.0%" and part < whole else shown
