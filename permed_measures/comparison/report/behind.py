"""What a page holds of the queries' texts and documents, made so small that it can be sent."""

import json
from typing import Any

from permed_measures.comparison import Comparison
from permed_measures.comparison.behind import SHOWN, Behind

MOST = 8_000_000
"""Bytes of texts and documents in a page; with all the rest, it stays below 10 MB for thousands of queries."""
_LENGTHS = (250, 160, 100, 60)
"""Characters of a document that are shown, the most that has room."""


def safe_json(content: Any) -> str:  # noqa: ANN401  (anything that JSON can hold)
    """Return JSON that cannot end its script element."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def largest_loss_first(comparison: Comparison, query_ids: list[str]) -> list[str]:
    """Return queries by the largest loss of any run, in the first measure."""
    measure = comparison.measures[0]
    differences = [comparison.difference(run, measure) for run in comparison.runs]
    return sorted(query_ids, key=lambda q: min((of[q] for of in differences if q in of), default=0.0))


def embedded(comparison: Comparison, query_ids: list[str], most: int = MOST) -> tuple[dict[str, Any] | None, list[str]]:
    """Return what the script draws, and what a reader should know of it; queries of the largest loss come first."""
    known = comparison.behind
    if known is None:
        return None, []
    places = {query_id: place for place, query_id in enumerate(query_ids)}
    wanted = [q for q in largest_loss_first(comparison, query_ids) if q in known.grades]
    number, length = len(wanted), _LENGTHS[0]
    for tried in _LENGTHS:
        length = tried
        content = _content(comparison, known, wanted, places, length)
        size = len(safe_json(content).encode(errors="replace"))
        if size <= most:
            break
    while size > most and number:
        number = int(number * 0.9 * most / size)
        content = _content(comparison, known, wanted[:number], places, length)
        size = len(safe_json(content).encode(errors="replace"))
    first = comparison.baseline
    notes = [f"the first {SHOWN} documents of each run, 'from' their rank in {first}; new: not among those of {first}"]
    notes += [f"out: not among the first {SHOWN} of {comparison.runs[0]}"] if len(comparison.runs) == 1 else []
    notes += known.notes
    if known.documents and any(len(text) > length for text in known.documents.values()):
        notes.append(f"documents are cut at {length} characters")
    if number < len(wanted):
        notes.append(f"documents of the {number:,} queries with the largest losses: with all, the page is too large")
    return content, notes


def _content(
    comparison: Comparison, known: Behind, query_ids: list[str], places: dict[str, int], length: int
) -> dict[str, Any]:
    documents: dict[str, int] = {}
    queries = {}
    for query_id in query_ids:
        lists = [known.tops.get(name, {}).get(query_id) for name in comparison.names]
        numbered = [None if top is None else [documents.setdefault(d, len(documents)) for d in top] for top in lists]
        grades = {documents[doc_id]: grade for doc_id, grade in known.grades[query_id].items()}
        queries[places[query_id]] = [known.queries.get(query_id, "")[:1000], numbered, grades]
    texts = [[doc_id, cut(known.documents.get(doc_id, ""), length)] for doc_id in documents]
    return {"queries": queries, "documents": texts}


def cut(text: str, length: int) -> str:
    """Cut a text, and say so."""
    return text if len(text) <= length else f"{text[: length - 1]}…"
