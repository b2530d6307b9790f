"""Texts of queries and documents by id, read in a stream of which only those asked for are kept.

TSV without a header (id, text), TSV and CSV with one, JSON Lines as of BEIR and Anserini, parquet; also .gz and .zst.
"""

from collections.abc import Collection, Iterator, Mapping
from os import PathLike
from typing import Any

from permed_measures.errors import InputError, did_you_mean
from permed_measures.files.csv_table import header
from permed_measures.files.json_text import as_id
from permed_measures.files.records import Records
from permed_measures.files.source import Source, shown

IDS = {
    "query": ("_id", "query_id", "query-id", "qid", "topic_id", "id"),
    "document": ("_id", "doc_id", "corpus-id", "docid", "docno", "text_id", "pid", "id"),
}
PARTS = {
    "query": ("text", "query", "question", "title", "contents"),
    "document": ("title", "text", "contents", "body", "abstract", "document"),
}
"""Of a query the first key that is there, of a document all of them."""
KEPT = 1_000  # characters of a text: who reads a report looks at its beginning

TextsLike = Mapping[str, str] | str | PathLike[str]  # texts by id, or the path of a file of them


def texts_of(source: TextsLike, wanted: Collection[str], what: str) -> dict[str, str]:
    r"""Return the texts of these queries or documents (``what``), white space made one space each, the long ones cut.

    Ids that the source lacks are left out; where it has none of them, that is an InputError.

    >>> texts_of({"q1": "what  is\n bm25", "q2": "…"}, ["q1"], "query")
    {'q1': 'what is bm25'}
    """
    found: dict[str, str] = {}
    rows = _rows(source, what) if isinstance(source, (str, PathLike)) else _held(source, what)
    examples: list[str] = []
    for place, text_id, text in rows:
        if len(examples) < 3:  # noqa: PLR2004  (enough to see how ids are written)
            examples.append(text_id)
        if text_id not in wanted:
            continue
        if text_id in found:
            raise InputError(f"{place}: the {what} {text_id!r} occurs before; keep one text of it")
        found[text_id] = " ".join(text[: 4 * KEPT].split())[:KEPT]
    if wanted and not found:
        where = str(source) if isinstance(source, (str, PathLike)) else f"the texts of {what} ids"
        asked = ", ".join(map(repr, sorted(wanted)[:3]))
        raise InputError(
            f"{where}: none of the {len(wanted):,} {what} ids is there ({asked}); ids there are "
            f"{', '.join(map(repr, examples)) or 'none'}: is it the right file, and are ids written alike?"
        )
    return found


def missing_texts(known: Collection[str], wanted: Collection[str], what: str) -> list[str]:
    """Say how many of the wanted texts the source does not have, and name some; nothing where it has all.

    >>> missing_texts({"a": "…"}, ["a", "b"], "document")
    ["1 of 2 document texts is missing from the file: 'b'"]
    """
    lacking = sorted(text_id for text_id in wanted if text_id not in known)
    few = ", ".join(map(repr, lacking[:3])) + (", …" if len(lacking) > 3 else "")  # noqa: PLR2004  (to see which they are)
    said = (
        f"{len(lacking):,} of {len(wanted):,} {what} texts {'is' if len(lacking) == 1 else 'are'} missing from the file"
    )
    return [f"{said}: {few}"] if lacking else []


def _held(source: Any, what: str) -> Iterator[tuple[str, str, str]]:  # noqa: ANN401  (checked here)
    if not isinstance(source, Mapping):
        raise InputError(f"texts of {what} ids: {type(source).__name__} is not a shape we know; give {{id: text}}")
    for text_id, text in source.items():
        if not isinstance(text_id, str) or not isinstance(text, str):
            raise InputError(f"texts: {text_id!r}: {text!r} is not a {what} id and a text")
        yield "texts", text_id, text


def _rows(path: str | PathLike[str], what: str) -> Iterator[tuple[str, str, str]]:
    """Yield place, id and text of every line."""
    source = Source(path)
    start = source.head()
    has_header = any(name.strip().lower() in IDS[what] for name in header(start)[1])
    if has_header or start.lstrip()[:1] in (b"{", b"[") or start[:4] == b"PAR1":
        yield from _records(source, what)
        return
    for number, line in source.lines():  # as of MS MARCO
        text_id, tab, text = line.rstrip("\r").partition("\t")
        if not tab or not text_id:
            raise source.error(f"no id and text with a tab between them: {shown(line)}", number)
        yield f"{source.path}:{number}", text_id, text.replace("\t", " ")


def _records(source: Source, what: str) -> Iterator[tuple[str, str, str]]:
    records = Records(source)
    for place, record in records:
        key = next((key for key in IDS[what] if key in record), None)
        parts = [record[part] for part in PARTS[what] if isinstance(record.get(part), str)]
        if key is None or (not parts and not any(part in record for part in PARTS[what])):
            lacking, known = ("id", IDS[what]) if key is None else ("text", PARTS[what])
            keys = ", ".join(map(repr, record))
            msg = f"no {lacking} of a {what} among the keys {keys}; one is any of {', '.join(map(repr, known))}."
            raise records.error(msg + did_you_mean(next(iter(record), ""), known), place)
        try:
            text_id = as_id(record[key], key)
        except ValueError as error:
            raise records.error(str(error), place) from None
        yield f"{source.path}:{place}", text_id, " ".join(parts if what == "document" else parts[:1])
