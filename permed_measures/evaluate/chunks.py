"""Chunks and documents: a run of chunks becomes one of the documents that they are parts of."""

import re
from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any, Literal

from permed_measures.errors import InputError, ParamError, check_choice
from permed_measures.evaluate.groups import is_table, read_pairs
from permed_measures.files.rows import kept_of
from permed_measures.inputs import RunLike, as_run
from permed_measures.ranking import checked_score


def collapse(
    run: RunLike,
    chunk_to_document: Mapping[str, str] | str | re.Pattern[str] | PathLike[str],
    how: Literal["max", "first"] = "max",
) -> dict[str, Any]:
    """Return the run with each chunk's document in place of the chunk: the best chunk, or the first one, counts.

    ``chunk_to_document`` is a dict or a file of chunks and documents, or a regular expression: its first parenthesis,
    or all that it matches, is the document. A chunk of which it says nothing is an InputError. In lists of ids, which
    are in order, the first place of a document is its best.
    ``how`` says how a document's chunks become one score.

    >>> collapse({"q": {"d1#0": 0.2, "d2#4": 0.5, "d1#3": 0.9}}, r"^(.+)#")
    {'q': {'d1': 0.9, 'd2': 0.5}}
    >>> collapse({"q": ["c7", "c9", "c8"]}, {"c7": "a", "c8": "a", "c9": "b"})
    {'q': ['a', 'b']}
    """
    check_choice("how", how, ("max", "first"))
    document_of, keep = _naming(chunk_to_document), kept_of(how)
    collapsed: dict[str, Any] = {}
    for query_id, returned in as_run(run).items():
        if not isinstance(returned, Mapping):
            collapsed[query_id] = list(dict.fromkeys(_document(document_of, chunk, query_id) for chunk in returned))
            continue
        scores: dict[str, float] = {}
        for chunk, given in returned.items():
            document, number = _document(document_of, chunk, query_id), checked_score(given, chunk, query_id)
            scores[document] = number if keep is None else keep(scores.get(document, number), number)
        collapsed[query_id] = scores
    return collapsed


def _naming(chunk_to_document: Any) -> Callable[[str], Any]:  # noqa: ANN401  (as above)
    if not isinstance(chunk_to_document, re.Pattern) and is_table(chunk_to_document):
        named = isinstance(chunk_to_document, Mapping)
        table = chunk_to_document if named else read_pairs(str(chunk_to_document))
        return table.get
    try:
        pattern = re.compile(chunk_to_document)
    except (re.error, TypeError) as error:
        msg = f"chunk_to_document={chunk_to_document!r} is no dict, no file, and no regular expression: {error}"
        raise ParamError(msg) from None

    def matched(chunk: str) -> str | None:
        match = pattern.search(chunk)
        return None if match is None else match[1] if pattern.groups else match[0]

    return matched


def _document(document_of: Callable[[str], Any], chunk: Any, query_id: str) -> str:  # noqa: ANN401  (an id, to be checked)
    found = document_of(chunk) if isinstance(chunk, str) else None
    if not isinstance(found, str) or not found:
        raise InputError(
            f"run, query {query_id!r}: of which document {chunk!r} is a chunk is not said (found: {found!r}); every id "
            "of the run needs its document, whole documents too: ^(.+?)(#.*)?$ takes both"
        )
    return found
