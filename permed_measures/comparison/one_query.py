"""One query whole: the first documents of every run, and which of them gave a measure its value."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from ir_measures import Measure

from permed_measures.errors import InputError, check_whole, did_you_mean
from permed_measures.evaluate import Plan, choose, evaluate
from permed_measures.evaluate.spans import is_share
from permed_measures.evaluate.tops import top
from permed_measures.files.texts import TextsLike, missing_texts, texts_of
from permed_measures.inputs import QrelsLike, RunLike, as_qrels, as_run
from permed_measures.profiles import Profile
from permed_measures.ranking import Order
from permed_measures.render.document import Cell, Document, Lines, Section, Table, Value
from permed_measures.render.layout import Layout
from permed_measures.render.queries import cut
from permed_measures.render.result import Format, Result, written

_NOTHING = 1e-12  # what rounding may leave of a part that is 0
_TEXT = 80
_MISSED = 10


class Part(NamedTuple):
    """A document of a list, and what each measure gains by it, or loses, as it comes after those above it."""

    rank: int
    doc_id: str
    grade: float | None
    before: int | None  # its rank in the first run; None where it is not returned there, or this is the first
    gains: tuple[float, ...]


@dataclass(frozen=True)
class ShownRun:
    """A run's list: its first documents and all below them that change a value; ``start`` is the value without any."""

    name: str
    parts: Sequence[Part]
    start: Sequence[float]
    values: Sequence[float]
    missed: Sequence[tuple[str, float]]  # judged documents of a grade above 0 that are not returned, the best first


@dataclass(frozen=True, repr=False)
class OneQuery(Result):
    """What :func:`one_query` returns; the gains of a run's documents and its start add up to its values."""

    query_id: str
    labels: Mapping[Measure, str]
    runs: Sequence[ShownRun]
    text: str = ""
    documents: Mapping[str, str] | None = None
    notes: Sequence[str] = ()

    def _table(self, run: ShownRun) -> Table:
        """Lay out a run's list; a column of a measure holds what it gains by each document."""
        heads: dict[Any, str] = {"rank": "rank", "document": "document", "grade": "grade"}
        heads |= {} if run is self.runs[0] else {"before": f"in {self.runs[0].name}"}
        heads |= {**self.labels, **({} if self.documents is None else {"text": "text"})}
        rows: list[dict[Any, Value]] = []
        for part in run.parts:
            grade = "unjudged" if part.grade is None else f"{part.grade:g}"
            before = "new" if part.before is None else "" if part.before == part.rank else str(part.before)
            text = cut((self.documents or {}).get(part.doc_id, ""), _TEXT)
            row = {"rank": str(part.rank), "document": part.doc_id, "grade": grade, "before": before, "text": text}
            gains = {m: cell._replace(sign=True, shown=" " * _is_nothing(cell)) for m, cell in self._cells(part.gains)}
            rows.append({**row, **gains})
        if not all(_is_nothing(cell) for _, cell in self._cells(run.start)):
            rows.insert(0, {"document": "without judged documents", **dict(self._cells(run.start))})
        rows.append({"document": "value", **dict(self._cells(run.values, best=True))})
        some = ", ".join(f"{doc_id} ({grade:g})" for doc_id, grade in run.missed[:_MISSED])
        more = f" and {len(run.missed) - _MISSED} more" if len(run.missed) > _MISSED else ""
        below = [f"judged and not returned (grade): {some}{more}"] if run.missed else []
        return Table([*heads.values()], [[row.get(head, "") for head in heads] for row in rows], run.name, below=below)

    def _cells(self, values: Sequence[float], *, best: bool = False) -> list[tuple[Measure, Cell]]:
        return [(m, Cell(value, best=best, share=is_share(m))) for m, value in zip(self.labels, values, strict=True)]

    def document(self) -> Document:
        """Return the list of every run."""
        said = [
            "a measure's column is what it gains by a document after those above it; the column adds up to the value"
        ]
        sections = [Section("", [self._table(run)]) for run in self.runs]
        return Document(f"query {self.query_id}", self.text, [*sections, Section("", [Lines(said)])])

    def render(self, form: Format = "text", *, layout: Layout | None = None, **asked: bool) -> str:
        """Return the report; LaTeX, which is of tables only, has the query's text below the first."""
        if form != "latex" or not self.text:
            return super().render(form, layout=layout, **asked)
        document = self.document()
        first, *rest = document.tables
        first = first._replace(below=[f"{document.title}: {self.text}", *first.below])
        return written(document._replace(sections=[Section("", [first, *rest])]), form, layout=layout)

    def as_table(self) -> Table:
        """Return one row per run and document."""
        heads = ["run", "rank", "doc_id", "grade", "rank_before", *self.labels.values(), "text"]
        rows: list[list[Value]] = [
            [run.name, p.rank, p.doc_id, p.grade, p.before, *p.gains, (self.documents or {}).get(p.doc_id, "")]
            for run in self.runs
            for p in run.parts
        ]
        return Table(heads, rows)

    def record(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        labels = list(self.labels.values())
        runs = [
            {
                "run": run.name,
                "values": dict(zip(labels, run.values, strict=True)),
                "without_judged_documents": dict(zip(labels, run.start, strict=True)),
                "documents": [
                    {**p._asdict(), "gains": dict(zip(labels, p.gains, strict=True))}
                    | ({} if self.documents is None else {"text": self.documents.get(p.doc_id)})
                    for p in run.parts
                ],
                "not_returned": dict(run.missed),
            }
            for run in self.runs
        ]
        return {"query_id": self.query_id, "text": self.text or None, "runs": runs}


def one_query(  # noqa: PLR0913  (what evaluate() is given, and what is shown)
    qrels: QrelsLike,
    runs: Mapping[str, RunLike],
    query_id: str,
    measures: str | Measure | Iterable[str | Measure] | None = None,
    *,
    profile: str | Path | Profile | None = None,
    min_relevance: float | None = None,
    order: Order = "float32",
    depth: int = 10,
    texts: TextsLike | None = None,
    documents: TextsLike | None = None,
) -> OneQuery:
    """Show the first ``depth`` documents of each run for one query, and which hits at which ranks gave its values.

    What a measure gains by a document is its value where the document and those above it are judged, minus that where
    only those above it are: the same rule for every measure, whoever computes it.

    >>> found = one_query({"q": {"a": 1, "b": 1}}, {"run": {"q": ["a", "x", "b"]}}, "q", "AP RR")
    >>> [(part.rank, part.gains) for part in found.runs[0].parts]      # AP: 1/1 / 2, then 2/3 / 2
    [(1, (0.5, 1.0)), (2, (0.0, 0.0)), (3, (0.33333333333333326, 0.0))]
    """
    check_whole("depth", depth)
    judged = as_qrels(qrels)
    lists = {name: as_run(run) for name, run in runs.items()}
    if query_id not in judged:
        known = [*judged, *(found for run in lists.values() for found in run)]
        raise InputError(f"query {query_id!r} is not in the qrels.{did_you_mean(query_id, known)}")
    grades = judged[query_id]
    labels, *_, rel = choose(measures, profile, None, min_relevance)
    reach = Plan(list(labels), rel, order).depth
    ordered = {name: top(run.get(query_id, ()), None, order) for name, run in lists.items()}
    places = {doc_id: rank for rank, doc_id in enumerate(next(iter(ordered.values()), []), 1)}
    judged_ones = {doc_id: grade for doc_id, grade in grades.items() if grade >= 0}
    shown = []
    for number, (name, doc_ids) in enumerate(ordered.items()):
        hits = [rank for rank, doc_id in enumerate(doc_ids[:reach], 1) if doc_id in grades]
        steps = _steps(grades, doc_ids, hits, labels, {"min_relevance": rel, "order": order})
        gains = {
            rank: tuple(b - a for a, b in zip(*two, strict=True))
            for rank, two in zip(hits, pairwise(steps), strict=True)
        }
        none = (0.0,) * len(labels)
        before = places if number else {}
        parts = [
            Part(rank, doc_id, judged_ones.get(doc_id), before.get(doc_id), gains.get(rank, none))
            for rank, doc_id in enumerate(doc_ids, 1)
            if rank <= depth or any(abs(gain) >= _NOTHING for gain in gains.get(rank, none))
        ]
        found = set(doc_ids)
        missed = {d: g for d, g in grades.items() if g > 0 and d not in found}
        shown.append(ShownRun(name, parts, steps[0], steps[-1], sorted(missed.items(), key=lambda pair: -pair[1])))
    wanted = {part.doc_id for run in shown for part in run.parts}
    text = "" if texts is None else texts_of(texts, [query_id], "query").get(query_id, "")
    known_texts = None if documents is None else texts_of(documents, wanted, "document")
    notes = [] if known_texts is None else missing_texts(known_texts, wanted, "document")
    return OneQuery(query_id, labels, shown, text, known_texts, notes)


def _steps(
    grades: Mapping[str, float],
    doc_ids: Sequence[str],
    hits: Sequence[int],
    labels: Mapping[Measure, str],
    options: Mapping[str, Any],
) -> list[list[float]]:
    """Return the values of the list with no judged document, with the first one, and so on; as it is, at the end."""
    mark = "not judged: "
    while any(f"{mark}{doc_id}" in grades for doc_id in doc_ids):
        mark += ": "
    lists = {
        str(number): [
            f"{mark}{doc_id}" if doc_id in grades and rank > last else doc_id for rank, doc_id in enumerate(doc_ids, 1)
        ]
        for number, last in enumerate([0, *hits[:-1], len(doc_ids)] if hits else [len(doc_ids)])
    }
    columns = evaluate(dict.fromkeys(lists, grades), lists, list(labels), **options).columns
    return [[columns[measure][number] for measure in labels] for number in lists]


def _is_nothing(cell: Cell) -> bool:
    return isinstance(cell.value, float) and abs(cell.value) < _NOTHING
