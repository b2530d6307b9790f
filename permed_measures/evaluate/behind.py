"""What is behind each query of a page: its text, and the first documents of every run with theirs."""

from collections.abc import Mapping

from permed_measures.errors import ParamError
from permed_measures.evaluate.tops import Tops, tops
from permed_measures.files.texts import TextsLike, missing_texts, texts_of
from permed_measures.inputs import Qrels
from permed_measures.ranking import Ties
from permed_measures.render.queries import SHOWN, Behind

__all__ = ["behind", "tops"]


def behind(
    qrels: Qrels,
    first: Mapping[str, Tops],
    texts: TextsLike | None,
    documents: TextsLike | None,
    *,
    ties: Ties = "trec",
) -> Behind:
    """Read the texts of the queries and of the documents that are shown; a file is read in a stream."""
    if not first:
        msg = "there is no run whose documents could be shown: saved values and tables of an engine have no lists"
        raise ParamError(msg)
    shown = {name: {query_id: top[:SHOWN] for query_id, top in of.items()} for name, of in first.items()}
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
    notes = [] if ties == "trec" else [f"documents of equal scores are listed by id, descending; values: ties={ties!r}"]
    for source, wanted, what in ((texts, query_ids.keys(), "query"), (documents, doc_ids, "document")):
        known = {} if source is None else texts_of(source, wanted, what)
        found[what] = known
        notes += [] if source is None else missing_texts(known, wanted, what)
    return Behind(shown, grades, found["query"], found["document"], notes)
