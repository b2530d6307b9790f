"""How far judges agree on the documents that both judged, and on which system is better."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from ir_measures import Measure

from permed_measures.errors import InputError, ParamError
from permed_measures.evaluate.clusters import clusters
from permed_measures.evaluate.groups import Groups, group_label, grouped
from permed_measures.inputs import Qrels, QrelsLike, RunLike, as_qrels
from permed_measures.judges.scales import Scale, range_of, ranges, to_scale_of
from permed_measures.judges.systems import SystemOrders, system_orders
from permed_measures.render.document import Block, Cell, Document, Figure, Lines, Section, Table, Value
from permed_measures.render.result import Result
from permed_measures.render.svg import picture, row_name
from permed_measures.render.words import number, queries

if TYPE_CHECKING:
    from permed_measures.judges.coefficients import Counts

DRAWS = 2000
"""How often queries are drawn for the interval of a coefficient."""
_STYLE = """
svg .heat { fill: var(--accent); }
svg text.cell { text-anchor: middle; font-size: 12px; }
svg text.axis { text-anchor: middle; fill: var(--soft); font-size: 12px; }
"""
_CELL, _LEFT, _TOP = 64, 120, 40  # of the heat map


class GradedTwice(NamedTuple):
    """A document with both grades."""

    query_id: str
    doc_id: str
    people: float
    judge: float


@dataclass(frozen=True)
class Coefficient:
    """A number for the agreement, with the interval of drawing queries again; None where it is undefined."""

    value: float | None
    low: float | None
    high: float | None

    def __str__(self) -> str:
        return number(self.value) + ("" if self.low is None else f" [{number(self.low)}, {number(self.high)}]")


@dataclass(frozen=True)
class Pairwise:
    """People and one judge: what both judged, how often they gave which grades, and the coefficients."""

    both: int
    only_people: int
    """Documents, in queries that both judged, that people alone judged."""
    only_judge: int
    num_queries: int
    confusion: dict[tuple[float, float], int]
    """How many documents have (people's grade, the judge's)."""
    coefficients: dict[str, Coefficient]
    groups: dict[str, dict[str, float | None]]
    worst: tuple[GradedTwice, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        return {
            "both": self.both,
            "only_people": self.only_people,
            "only_judge": self.only_judge,
            "queries": self.num_queries,
            "coefficients": {name: vars(found) for name, found in self.coefficients.items()},
            "confusion": [{"people": a, "judge": b, "documents": n} for (a, b), n in sorted(self.confusion.items())],
            "groups": self.groups,
            "worst": [item._asdict() for item in self.worst],
        }


@dataclass(frozen=True, repr=False)
class Agreement(Result):
    """What :func:`agreement` returns: people against each judge."""

    pairs: dict[str, Pairwise]
    systems: SystemOrders | None
    notes: list[str]
    level: float
    grouped_by: str
    texts: Mapping[str, str]
    """Texts of queries and documents by id, for the worst disagreements."""

    def __getitem__(self, judge: str) -> Pairwise:
        """Return what there is about one judge."""
        return self.pairs[judge]

    def record(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        return {
            "schema": 1,
            "level": self.level,
            "judges": {name: pair.to_dict() for name, pair in self.pairs.items()},
            "systems": None if self.systems is None else self.systems.to_dict(),
            "notes": list(self.notes),
        }

    def as_table(self) -> Table:
        """Return one row per judge and coefficient, its numbers unrounded."""
        rows: list[list[Value]] = [
            [judge, name, found.value, found.low, found.high]
            for judge, pair in self.pairs.items()
            for name, found in pair.coefficients.items()
        ]
        return Table(["judge", "coefficient", "value", "low", "high"], rows)

    def document(self) -> Document:
        """Return the coefficients of all judges side by side, the confusions, groups, worst disagreements, systems."""
        from permed_measures.judges.coefficients import NAMES  # noqa: PLC0415  (numpy is loaded with it)

        rows: list[list[Value]] = [
            [said, *(Cell(pair.coefficients[name].value, str(pair.coefficients[name])) for pair in self.pairs.values())]
            for name, said in NAMES.items()
        ]
        below = [
            f"In brackets: {1 - self.level:.0%} intervals, drawing queries again. Over-rating: judge minus people."
        ]
        sections = [Section("", [Table(["agreement with people", *self.pairs], rows, left=1, below=below)])]
        for name, pair in self.pairs.items():
            sections.append(Section(f"People and {name}", [_confusion(name, pair), *self._more(name, pair)]))
        if self.systems is not None:
            sections.append(Section("Do the judges order the systems alike?", self.systems.blocks()))
        return Document("Agreement of judges", "", [*sections, Section("", [Lines(self.notes, "note: ")])])

    def page(self) -> Document:
        """Return the document with a heat map of each confusion."""
        document = self.document()
        maps = [
            Section(f"People and {name}", [_heat_map(pair.confusion, name)], on="page")
            for name, pair in self.pairs.items()
        ]
        first, *rest = document.sections
        return Document(document.title, "", [first, *maps, *rest], style=_STYLE)

    def _more(self, name: str, pair: Pairwise) -> list[Block]:
        blocks: list[Block] = []
        if pair.groups:
            heads = [self.grouped_by, "documents", "exact agreement", "weighted kappa", "over-rating"]
            keys = ("documents", "exact_agreement", "weighted_kappa", "over_rating")
            rows: list[list[Value]] = [[group, *(found[key] for key in keys)] for group, found in pair.groups.items()]
            blocks.append(Table(heads, rows, title=f"{name} by {self.grouped_by}", left=1))
        if pair.worst:
            texts = self.texts
            told: list[list[Value]] = [
                [*d, *([f"{texts.get(d.query_id, '')} / {texts.get(d.doc_id, '')}"] if texts else [])]
                for d in pair.worst
            ]
            heads = ["query", "document", "people", name, *(["texts"] if texts else [])]
            blocks.append(Table(heads, told, title="The worst disagreements", left=2))
        return blocks


def _confusion(name: str, pair: Pairwise) -> Table:
    """Return a row per grade of people's and a column per grade of the judge's, or per range where there are many."""
    edges = ranges([judge for _, judge in pair.confusion])
    rows: list[list[Value]] = []
    for grade in sorted({people for people, _ in pair.confusion}):
        inside: Counter[str] = Counter()
        for (people, judge), documents in pair.confusion.items():
            if people == grade:
                inside[range_of(judge, edges)] += documents
        rows.append([f"{grade:g}", *(inside[edge] for edge in edges)])
    counted = (
        f"{pair.both:,} documents of {queries(pair.num_queries)} judged by both; in these queries {pair.only_people:,} "
        f"by people only, {pair.only_judge:,} by {name} only"
    )
    return Table([f"people \\ {name}", *edges], rows, left=1, below=[counted])


def _heat_map(confusion: Mapping[tuple[float, float], int], judge: str) -> Figure:
    """Draw how the judge graded what people gave one grade: each row is shaded by its shares."""
    columns = ranges([given for _, given in confusion])
    rows = ranges([given for given, _ in confusion])
    counts = dict.fromkeys(((row, column) for row in rows for column in columns), 0)
    for (people, given), documents in confusion.items():
        counts[range_of(people, rows), range_of(given, columns)] += documents
    width, height = _LEFT + _CELL * len(columns) + 10, _TOP + 34 * len(rows) + 10
    parts = [f'<text class="axis" x="{_LEFT + _CELL * len(columns) / 2:g}" y="14">{escape(judge)}</text>']
    for place, column in enumerate(columns):
        parts.append(f'<text class="axis" x="{_LEFT + _CELL * (place + 0.5):g}" y="{_TOP - 8}">{escape(column)}</text>')
    for line, row in enumerate(rows):
        y = _TOP + 34 * line
        parts.append(row_name(f"people {row}", _LEFT - 10, y + 17, 24))
        total = sum(counts[row, column] for column in columns) or 1
        for place, column in enumerate(columns):
            number = counts[row, column]
            x = _LEFT + _CELL * place
            said = escape(f"people {row}, {judge} {column}: {number:,} documents, {number / total:.0%} of the row")
            parts.append(
                f'<rect class="heat" x="{x}" y="{y}" width="{_CELL - 2}" height="32" '
                f'fill-opacity="{0.04 + 0.6 * number / total:.3f}"><title>{said}</title></rect>'
                f'<text class="cell" x="{x + _CELL / 2 - 1:g}" y="{y + 21}">{number:,}</text>'
            )
    return Figure(picture(width, height, parts, f"grades of people against {judge}"))


def agreement(  # noqa: PLR0913  (people, judges, and what to look at; the rest by name)
    human: QrelsLike,
    *judges: QrelsLike,
    names: Sequence[str] | None = None,
    mapping: str | Scale | Mapping[str, str | Scale] | None = None,
    runs: Mapping[str, RunLike] | None = None,
    measures: str | Measure | Iterable[str | Measure] = "nDCG@10",
    group: Groups | None = None,
    cluster: Groups | None = None,
    alpha: float = 0.05,
    seed: int = 0,
    worst: int = 10,
    texts: Mapping[str, str] | None = None,
) -> Agreement:
    """Compare people's grades with those of one or more judges, on the documents that both judged.

    ``mapping`` says how a judge's grades become people's where the scales differ: '4:1,8:2' for all, or by the judge's
    name; grades that look like two scales are an error without it. Intervals draw queries (or clusters) again. With
    ``runs``, {name: run}, it also says whether the judges order these systems alike. ``texts`` are shown, by id, with
    the ``worst`` disagreements.

    >>> found = agreement({"q": {"a": 2, "b": 0}}, {"q": {"a": 2, "b": 1, "c": 1}})["judge"]
    >>> found.both, found.only_judge, found.coefficients["over_rating"].value
    (2, 1, 0.5)
    """
    if not judges:
        raise ParamError("nobody to compare people with: give the qrels of a judge")
    if not 0 < alpha < 1:
        raise ParamError(f"alpha={alpha!r} is not allowed; give a number between 0 and 1, such as 0.05")
    people = as_qrels(human)
    named = dict(zip(_names(judges, names), map(as_qrels, judges), strict=True))
    maps = mapping if isinstance(mapping, Mapping) else dict.fromkeys(named, mapping)
    for name in maps:
        if name not in named:
            raise ParamError(f"mapping for {name!r}: the judges are {', '.join(map(repr, named))}")
    for name, qrels in named.items():
        named[name] = to_scale_of(people, qrels, maps.get(name), name)
    pairs = {}
    for name, qrels in named.items():
        found = _both(people, qrels, name)
        values = _coefficients(found, cluster, alpha, seed)
        pairs[name] = _pairwise(people, qrels, found, values, group, worst)
    systems = None if not runs else system_orders(people, named, runs, measures, cluster=cluster, alpha=alpha)
    notes = [
        f"{name}: only {queries(pair.num_queries)} of both; intervals from so few are rough"
        for name, pair in pairs.items()
        if pair.num_queries < 15  # noqa: PLR2004  (as for corrected means)
    ]
    label = "" if group is None else group_label(group)
    return Agreement(pairs, systems, notes, alpha, label, texts or {})


def _names(judges: Sequence[QrelsLike], names: Sequence[str] | None) -> list[str]:
    if names is None:
        return ["judge"] if len(judges) == 1 else [f"judge {place}" for place in range(1, len(judges) + 1)]
    if len(set(names)) != len(judges):
        raise ParamError(f"names={list(names)!r}: {len(judges)} judges need as many names, each its own")
    return list(names)


def _both(people: Qrels, judge: Qrels, name: str) -> list[GradedTwice]:
    found = [
        GradedTwice(query, doc, grade, judge[query][doc])
        for query, grades in people.items()
        if query in judge
        for doc, grade in grades.items()
        if doc in judge[query]
    ]
    if not found:
        raise InputError(f"people and {name} judged no document in common: are query and document ids written alike?")
    return found


def _coefficients(
    found: Sequence[GradedTwice], cluster: Groups | None, alpha: float, seed: int
) -> dict[str, Coefficient]:
    queries = dict.fromkeys(item.query_id for item in found)
    counts = _counts(found, {q: q for q in queries} if cluster is None else clusters(queries, cluster).of)
    bounds = counts.drawn(draws=DRAWS, seed=seed, shares=(alpha / 2, 1 - alpha / 2))
    return {key: Coefficient(value, *bounds[key]) for key, value in counts.coefficients().items()}


def _counts(found: Sequence[GradedTwice], unit_of: Mapping[str, str]) -> "Counts":
    from permed_measures.judges.coefficients import Counts  # noqa: PLC0415  (numpy is loaded with it)

    return Counts([unit_of[d.query_id] for d in found], [d.people for d in found], [d.judge for d in found])


def _pairwise(  # noqa: PLR0913, PLR0917  (what both judged, and what was asked of it)
    people: Qrels,
    judge: Qrels,
    found: Sequence[GradedTwice],
    coefficients: dict[str, Coefficient],
    group: Groups | None,
    worst: int,
) -> Pairwise:
    shared = {query: query for query in people if query in judge}
    by_group = {}
    for label, members in ({} if group is None else grouped(shared, group)).items():
        wanted = set(members)
        inside = [item for item in found if item.query_id in wanted]
        if inside:
            by_group[label] = {"documents": len(inside), **_counts(inside, shared).coefficients()}
    apart = [item for item in found if item.people != item.judge]
    return Pairwise(
        both=len(found),
        only_people=sum(len(people[query]) for query in shared) - len(found),
        only_judge=sum(len(judge[query]) for query in shared) - len(found),
        num_queries=len({item.query_id for item in found}),
        confusion=dict(Counter((item.people, item.judge) for item in found)),
        coefficients=coefficients,
        groups=by_group,
        worst=tuple(sorted(apart, key=lambda d: (-abs(d.people - d.judge), d.query_id, d.doc_id))[:worst]),
    )
