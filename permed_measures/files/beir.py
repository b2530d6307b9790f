"""BEIR's qrels: tab-separated ``query-id``, ``corpus-id``, ``score``, with that header. A run has the same columns."""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from permed_measures.errors import InputError
from permed_measures.files.numbers import grade_of, score_of
from permed_measures.files.rows import Groups
from permed_measures.files.source import Source, shown
from permed_measures.render.words import counted

NAME = "beir"
DESCRIPTION = "BEIR's tab-separated table with the header query-id, corpus-id, score (the grade, in qrels)"
SUFFIXES = ()
ROWS = True
HEADER = ("query-id", "corpus-id", "score")


def fits(head: bytes) -> bool:
    """Whether the first line is BEIR's header."""
    return _is_header(head.partition(b"\n")[0])


def what_is(source: Source) -> str | None:  # noqa: ARG001  (the header is the same for both)
    """Return 'qrels': that is what BEIR writes in this format."""
    return "qrels"


def _is_header(line: bytes) -> bool:
    return line.rstrip(b"\r").split(b"\t") == [name.encode() for name in HEADER]


def read(source: Source, what: str) -> dict[str, dict[str, Any]]:
    """Return {query_id: {doc_id: grade or score}}."""
    table = Groups(source)
    number_of = grade_of if what == "qrels" else score_of
    for first, block in source.blocks():
        for number, line in enumerate(source.decode(block, first).split("\n"), first):
            fields = line.rstrip("\r").split("\t")
            if number == 1:
                if not _is_header(line.encode()):
                    raise source.error(f"the header is {shown(line)}, BEIR's is {shown(chr(9).join(HEADER))}", 1)
                continue
            if not line.strip():
                continue
            if len(fields) != len(HEADER):
                count = counted(len(fields), "field")
                raise source.error(f"{count}, a line has {len(HEADER)}, separated by tabs: {shown(line)}", number)
            query_id, doc_id, value = fields
            if not query_id.strip() or not doc_id.strip():
                raise source.error(f"an empty id: {shown(line)}", number)
            try:
                table.add(query_id, doc_id, number_of(value), number)
            except InputError:
                raise
            except ValueError as error:
                raise source.error(f"{error}: {shown(line)}", number) from None
    return table.groups


def qrels_of(folder: str | PathLike[str]) -> str | PathLike[str]:
    """Return the file of judgements in a folder of BEIR: of the test split, as BEIR does, or the only one."""
    if isinstance(folder, Source) or not Path(folder).is_dir():
        return folder
    found = sorted(Path(folder, "qrels").glob("*.tsv")) or sorted(Path(folder).glob("*.tsv"))
    test = [path for path in found if path.name == "test.tsv"]
    if not found or len(test or found) > 1:
        has = f"it has {', '.join(path.name for path in found)}: name one" if found else "it has no qrels/*.tsv"
        raise InputError(f"a folder, of BEIR perhaps, but {has}", path=str(folder))
    return (test or found)[0]


def write(groups: Mapping[str, Mapping[str, float]], what: str) -> bytes:  # noqa: ARG001  (the two are written alike)
    """Return the file."""
    rows = ["\t".join(HEADER)]
    for query_id, group in groups.items():
        for doc_id, value in group.items():
            for written in (query_id, doc_id):
                if not written.strip() or any(char in written for char in "\t\n\r"):
                    raise InputError(
                        f"the id {written!r} holds a tab or a line end, or only white space: BEIR files cannot hold it"
                    )
            rows.append(f"{query_id}\t{doc_id}\t{value!r}")
    return ("\n".join(rows) + "\n").encode()
