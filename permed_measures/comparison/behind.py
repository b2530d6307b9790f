"""What is behind each query of a comparison: its text, and the first documents of every run with theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from permed_measures.comparison.tops import Tops
from permed_measures.errors import ParamError
from permed_measures.files.texts import TextsLike, missing_texts, texts_of
from permed_measures.inputs import Qrels

SHOWN = 10
"""Documents of each run."""


@dataclass(frozen=True)
class Behind:
    """Texts, and documents by rank; kept only where somebody asks for them, as queries can be private."""

    tops: Mapping[str, Tops]
    """The first documents of every query, by run."""
    grades: Mapping[str, Mapping[str, float]]
    """Of the judged ones among these; a negative grade is no judgement."""
    queries: Mapping[str, str]
    documents: Mapping[str, str]
    notes: Sequence[str] = field(default_factory=list)


def behind(qrels: Qrels, tops: Mapping[str, Tops], texts: TextsLike | None, documents: TextsLike | None) -> Behind:
    """Read the texts of the queries and of the documents that are shown; a file is read in a stream."""
    if not tops:
        msg = "there is no run whose documents could be shown: saved values and tables of an engine have no lists"
        raise ParamError(msg)
    shown = {name: {query_id: top[:SHOWN] for query_id, top in of.items()} for name, of in tops.items()}
    query_ids = {query_id: None for of in shown.values() for query_id in of}
    doc_ids = {doc_id for of in shown.values() for top in of.values() for doc_id in top}
    grades = {
        query_id: {
            doc_id: qrels[query_id][doc_id]
            for of in shown.values()
            for doc_id in of.get(query_id, ())
            if qrels[query_id].get(doc_id, -1) >= 0
        }
        for query_id in query_ids
    }
    found: dict[str, Mapping[str, str]] = {}
    notes: list[str] = []
    for source, wanted, what in ((texts, query_ids.keys(), "query"), (documents, doc_ids, "document")):
        known = {} if source is None else texts_of(source, wanted, what)
        found[what] = known
        notes += [] if source is None else missing_texts(known, wanted, what)
    return Behind(shown, grades, found["query"], found["document"], notes)
