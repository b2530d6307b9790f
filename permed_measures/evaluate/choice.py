"""Which measures are computed: those asked for, or a profile's, each once, with the queries that its mean runs over."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ir_measures import Measure

from permed_measures.errors import ParamError
from permed_measures.measures import parse_all
from permed_measures.measures.base import takes_threshold, written
from permed_measures.numbers import lowest_relevant
from permed_measures.profiles import PROFILES, QUERY_SETS, Profile, QuerySet, load_profile

if TYPE_CHECKING:
    from pathlib import Path


def with_rel(measure: Measure, min_relevance: float | None) -> Measure:
    """Give ``rel`` to a measure that has a default for it and was not given one."""
    if min_relevance is None or not takes_threshold(measure):
        return measure
    return measure(rel=min_relevance)


def distinct(measures: Sequence[Measure], rel: float | None, *, name: str = "min_relevance") -> list[Measure]:
    """Return each measure once; raise ParamError where two print alike and ``rel``, given to one of them, parts them.

    >>> distinct(parse_all("AP AP(rel=1) P@1"), 1)
    [AP, P@1]
    """
    once: dict[Measure, Measure] = {}
    for measure in measures:
        first = once.setdefault(measure, measure)
        if rel is not None and with_rel(first, rel) != with_rel(measure, rel):
            bare = measure if "rel" in first.params else first
            raise ParamError(
                f"{written(first)} and {written(measure)} have one name, but are two measures with {name}={rel}: "
                f"write {bare(rel=rel)} for {bare}"
            )
    return list(once)


def choose(
    measures: str | Measure | Iterable[str | Measure] | None,
    profile: "str | Path | Profile | None",
    queries: QuerySet | None,
    min_relevance: float | None = None,
) -> tuple[dict[Measure, str], dict[Measure, QuerySet], Profile | None, float | None]:
    """Return measures with their labels, the query set of each, the profile, and the ``rel`` of those without one."""
    if queries is not None and (not isinstance(queries, str) or queries not in QUERY_SETS):
        raise ParamError(f"queries={queries!r} is not allowed; give one of {', '.join(map(repr, QUERY_SETS))}")
    if (measures is None) == (profile is None):
        msg = f"give either measures, such as 'GWAP@10 P@1', or a profile: {', '.join(PROFILES)}, or a .toml file"
        raise ParamError(msg)
    if profile is not None:
        known = load_profile(profile)
        labels = {entry.measure: entry.name for entry in known.entries}
        lowest = known.min_relevance if min_relevance is None else min_relevance
        rel = None if lowest is None else lowest_relevant(lowest, "min_relevance")
        return labels, {entry.measure: queries or entry.queries for entry in known.entries}, known, rel
    rel = None if min_relevance is None else lowest_relevant(min_relevance, "min_relevance")
    parsed = distinct(parse_all([] if measures is None else measures), rel)
    if not parsed:
        raise ParamError("no measures given; name some, such as 'GWAP@10 P@1'")
    return {m: str(m) for m in parsed}, dict.fromkeys(parsed, queries or "qrels"), None, rel
