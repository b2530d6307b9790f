"""Rows of query, document and number under a name each: what CSV, BEIR, JSON rows and parquet have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from permed_measures.files.source import Source
from permed_measures.inputs import (
    DOC_COLUMNS,
    GRADE_COLUMNS,
    QUERY_COLUMNS,
    SCORE_COLUMNS,
    SUBTOPIC_COLUMNS,
    Judgements,
)

VALUE_COLUMNS = {"qrels": GRADE_COLUMNS, "run": SCORE_COLUMNS}


def has_rows(columns: Sequence[Any]) -> bool:
    """Whether the columns name a query and a document."""
    return any(name in columns for name in QUERY_COLUMNS) and any(name in columns for name in DOC_COLUMNS)


def pick(columns: Sequence[str], what: str) -> tuple[str, str, str]:
    """Return the names of query, document and number; ValueError tells which is missing."""
    picked = []
    for wanted in (QUERY_COLUMNS, DOC_COLUMNS, VALUE_COLUMNS[what]):
        name = next((name for name in wanted if name in columns), None)
        if name is None:
            names = " nor ".join(map(repr, wanted))
            msg = f"no {names}, which a {what} file has; there is {', '.join(map(repr, columns)) or 'nothing'}"
            raise ValueError(msg)
        if list(columns).count(name) > 1:
            msg = f"{name!r} stands twice in the header"
            raise ValueError(msg)
        picked.append(name)
    return picked[0], picked[1], picked[2]


def what_columns_are(columns: Sequence[str]) -> str | None:
    """Return 'qrels' or 'run'; None when the columns are those of both, or of neither."""
    found = [what for what, names in VALUE_COLUMNS.items() if any(name in columns for name in names)]
    return found[0] if len(found) == 1 else None


def subtopic_column(columns: Sequence[str], what: str) -> str | None:
    """Return the column that says for which subtopic a document was judged, if there is one."""
    return next((name for name in SUBTOPIC_COLUMNS if name in columns), None) if what == "qrels" else None


class Groups:
    """Collects rows; a document that occurs twice in one query, and is judged for one subtopic, is an error."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._groups: dict[str, dict[str, Any]] = {}
        self._judgements = Judgements()

    def add(self, query_id: str, doc_id: str, value: float, line: int | None, subtopic: str | None = None) -> None:
        """Take one row."""
        if subtopic is None:
            group = self._groups.setdefault(query_id, {})
            is_new = doc_id not in group
            group[doc_id] = value
        else:
            is_new = self._judgements.add(query_id, doc_id, subtopic, value)
        if not is_new:
            msg = f"query {query_id!r}, document {doc_id!r} occurs in the file before; keep one of them"
            raise self.source.error(msg, line)

    @property
    def groups(self) -> dict[str, dict[str, Any]]:
        """All rows by query and document."""
        return self._groups or self._judgements.qrels()
