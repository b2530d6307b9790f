"""Rows of query, document and number under a name each: what CSV, BEIR, JSON rows and parquet have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from permed_measures.errors import InputError

if TYPE_CHECKING:
    from permed_measures.files.source import Source

Subtopics = Mapping[str, Mapping[tuple[str, str], float]]
"""{query_id: {(doc_id, subtopic): grade}}"""

QUERY_COLUMNS = ("query_id", "qid", "query-id", "q_id")
DOC_COLUMNS = ("doc_id", "docno", "corpus-id", "docid")
GRADE_COLUMNS = ("relevance", "label", "grade", "rel")
SCORE_COLUMNS = ("score",)
SUBTOPIC_COLUMNS = ("iteration", "subtopic", "subtopic_id")

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
            msg = f"{name!r} occurs twice in the header"
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


class SubtopicQrels(dict[str, Mapping[str, float]]):
    """Qrels whose iterations tell subtopics apart; a document has the highest grade that it has for any of them."""

    def __init__(self, subtopics: Subtopics) -> None:
        super().__init__({query_id: _highest(judged) for query_id, judged in subtopics.items()})
        self.subtopics = subtopics
        """{query_id: {(doc_id, subtopic): grade}}"""


class Judgements:
    """Collects judgements that come with the subtopic each one was made for, which most files call the iteration."""

    def __init__(self) -> None:
        self._grades: dict[str, dict[tuple[str, str], Any]] = {}
        self._seen: set[str] = set()

    def add(self, query_id: str, doc_id: str, subtopic: str, grade: Any) -> bool:  # noqa: ANN401  (checked later)
        """Take one; return False when there is one already."""
        judged = self._grades.setdefault(query_id, {})
        is_new = (doc_id, subtopic) not in judged
        judged[doc_id, subtopic] = grade
        self._seen.add(subtopic)
        return is_new

    def qrels(self) -> dict[str, Any]:
        """Return them; where all are of one subtopic, they are plain qrels."""
        if len(self._seen) > 1:
            return SubtopicQrels(self._grades)
        return {q: {doc_id: grade for (doc_id, _), grade in judged.items()} for q, judged in self._grades.items()}


def _highest(judged: Mapping[tuple[str, str], Any]) -> dict[str, Any]:
    highest: dict[str, Any] = {}
    for (doc_id, _), grade in judged.items():
        if doc_id not in highest or grade > highest[doc_id]:
            highest[doc_id] = grade
    return highest


def refuse_several(subtopics: Subtopics) -> None:
    """Raise InputError for a document that is judged for several subtopics."""
    for query_id, judged in subtopics.items():
        doc_ids = [doc_id for doc_id, _ in judged]
        if len(set(doc_ids)) < len(doc_ids):
            again = next(doc_id for doc_id in doc_ids if doc_ids.count(doc_id) > 1)
            of = ", ".join(repr(subtopic) for doc_id, subtopic in judged if doc_id == again)
            msg = (
                f"query {query_id!r}, document {again!r} is judged for several subtopics (iterations {of}): that is "
                "for measures such as alpha_nDCG and StRecall alone; for others keep one grade per document"
            )
            raise InputError(msg)


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
