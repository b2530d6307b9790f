"""The table of all queries in a page, and behind each its text and the first documents of every run."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from permed_measures.render.document import Block, Document, Html, Lines, Section
from permed_measures.render.html import resource

SHOWN = 10  # documents of each run
MOST = 9_000_000  # bytes of values, texts and documents in a page; with all the rest, it stays below 10 MB
_VALUES = 400_000  # so many values are in a page: those of 3,440 queries, ten runs and ten measures
_OUTCOME = """<label>show <select id="outcome"><option value="all">all</option>
<option value="differ">those that differ</option><option value="better">those better in a run</option>
<option value="worse">those worse in a run</option></select></label>"""
_AFTER = ("groups", "definitions", "conditions", "notes")
_LENGTHS = (250, 160, 100, 60)  # characters of a document that are shown, the most that has room


@dataclass(frozen=True)
class Behind:
    """Texts, and documents by rank; kept only where somebody asks for them, as queries can be private."""

    tops: Mapping[str, Mapping[str, Sequence[str]]]  # the first documents of every query, by run
    grades: Mapping[str, Mapping[str, float]]  # of the judged ones among these; a negative grade is no judgement
    queries: Mapping[str, str]
    documents: Mapping[str, str]
    notes: Sequence[str] = field(default_factory=list)


@dataclass(frozen=True)
class Queries:
    """The values of all queries: by measure a column for each of the runs; the worst query is the first."""

    names: Sequence[str]
    values: Mapping[str, Sequence[Mapping[str, float]]]
    worst: Sequence[str]
    changes: bool = False  # whether the first run is a baseline, and the changes of the others are shown
    grouped_by: str = ""
    group_of: Mapping[str, str] = field(default_factory=dict)
    behind: Behind | None = None

    def into(self, document: Document, before: Sequence[Block] = ()) -> Document:
        """Return the page with a section of all queries, before the groups, definitions, conditions or notes."""
        kept = self.worst[: max(1, _VALUES // (len(self.names) * len(self.values)))]
        columns = [[[_rounded(column.get(q)) for q in kept] for column in of] for of in self.values.values()]
        content: dict[str, Any] = {
            "names": self.names,
            "changes": self.changes,
            "grouped": self.grouped_by or None,
            "groups": [self.group_of.get(q, "") for q in kept] if self.grouped_by else None,
            "queries": kept,
            "values": columns,
            "behind": None,
        }
        said: list[str] = []
        if self.behind is not None:
            room = MOST - len(safe_json(content).encode(errors="replace"))
            content["behind"], said = embedded(self.behind, self.names, kept, room)
        if len(kept) < len(self.worst):
            said.append(f"the worst {len(kept):,} of {len(self.worst):,} queries: with all, the page is too large")
        section = Section("Query by query", [*before, self._table(), Lines(said)], "queries")
        place = next((n for n, known in enumerate(document.sections) if known.name in _AFTER), len(document.sections))
        return document._replace(
            sections=[*document.sections[:place], section, *document.sections[place:]],
            style=document.style + resource("queries.css"),
            scripts=[*document.scripts, f"\n{resource('queries.js')}"],
            texts={**document.texts, "values": safe_json(content)},
        )

    def _table(self) -> Html:
        options = "".join(f'<option value="{n}">{escape(label)}</option>' for n, label in enumerate(self.values))
        outcome = _OUTCOME if self.changes else ""
        return Html(resource("queries.html").rstrip().format(options=options, outcome=outcome))


def _rounded(value: float | None) -> float | None:
    return None if value is None or value != value else round(value, 6)


def safe_json(content: Any) -> str:  # noqa: ANN401  (anything that JSON can hold)
    """Return JSON that cannot end its script element."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def embedded(
    known: Behind, names: Sequence[str], query_ids: Sequence[str], most: int = MOST
) -> tuple[dict[str, Any], list[str]]:
    """Return what the script draws, and what a reader should know of it; the first queries have their documents."""
    number = len(query_ids)
    for length in _LENGTHS:
        content = _content(known, names, query_ids, length)
        size = len(safe_json(content).encode(errors="replace"))
        if size <= most:
            break
    while size > most and number:
        number = int(number * 0.9 * most / size)
        content = _content(known, names, query_ids[:number], length)
        size = len(safe_json(content).encode(errors="replace"))
    notes = [f"the first {SHOWN} documents of each run"]
    if len(names) > 1:
        notes = [f"{notes[0]}, 'from' their rank in {names[0]}; new: not among those of {names[0]}"]
        notes += [f"out: not among the first {SHOWN} of {names[1]}"] if len(names) == 2 else []  # noqa: PLR2004  (as the script marks it)
    notes += known.notes
    if known.documents and any(len(text) > length for text in known.documents.values()):
        notes.append(f"documents are cut at {length} characters")
    if number < len(query_ids):
        notes.append(f"documents of the worst {number:,} queries only: with all, the page is too large")
    return content, notes


def _content(known: Behind, names: Sequence[str], query_ids: Sequence[str], length: int) -> dict[str, Any]:
    documents: dict[str, int] = {}
    queries = {}
    for place, query_id in enumerate(query_ids):
        if query_id in known.grades:
            lists = [known.tops.get(name, {}).get(query_id) for name in names]
            places = [None if top is None else [documents.setdefault(d, len(documents)) for d in top] for top in lists]
            grades = {documents[doc_id]: grade for doc_id, grade in known.grades[query_id].items()}
            queries[place] = [known.queries.get(query_id, "")[:1000], places, grades]
    texts = [[doc_id, cut(known.documents.get(doc_id, ""), length)] for doc_id in documents]
    return {"queries": queries, "documents": texts}


def cut(text: str, length: int) -> str:
    """Cut a text, and say so."""
    return text if len(text) <= length else f"{text[: length - 1]}…"
