"""Rows of query, document and number under a name each: what CSV, BEIR, JSON rows and parquet have in common."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

from permed_measures.errors import InputError, ParamError, check_choice
from permed_measures.ranking import Grades, Ranking

if TYPE_CHECKING:
    from permed_measures.files.source import Source

Subtopics = Mapping[str, Mapping[tuple[str, str], float]]  # {query_id: {(doc_id, subtopic): grade}}

QUERY_COLUMNS = ("query_id", "qid", "query-id", "q_id")
DOC_COLUMNS = ("doc_id", "docno", "corpus-id", "corpus_id", "docid")
GRADE_COLUMNS = ("relevance", "label", "grade", "rel")
SCORE_COLUMNS = ("score",)
SUBTOPIC_COLUMNS = ("iteration", "subtopic", "subtopic_id")

VALUE_COLUMNS = {"qrels": GRADE_COLUMNS, "run": SCORE_COLUMNS}

Duplicates = Literal["error", "first", "max"]
DUPLICATES: tuple[Duplicates, ...] = get_args(Duplicates)
"""What a second row of one query and document means: an error, or that the first, or the highest number, counts."""
_KEPT: Mapping[str, Callable[[Any, Any], Any]] = {"first": lambda first, _: first, "max": max}
SMALLER = "-"  # before the name of a run's number: a distance, of which the smaller is the better


KEEP_ONE = "keep one of them, or say which counts: duplicates='first' or 'max' (in the shell --duplicates)"


def kept_of(duplicates: str) -> Callable[[Any, Any], Any] | None:
    """Return which of two numbers of one document is kept; None where two are an error."""
    check_choice("duplicates", duplicates, DUPLICATES)
    return _KEPT.get(duplicates)


def names_of(columns: Sequence[Any], what: str, named: Sequence[str] | None = None) -> tuple[tuple[str, ...], ...]:
    """Return the names that query, document and number may have among these columns: the ``named``, or the usual ones.

    A few are usual only beside others: ``score`` is a grade where BEIR and Hugging Face call the document corpus-id,
    and ``query`` is an id, not a text, in the frames of trectools, which have docid.
    """
    if named is not None:
        if isinstance(named, str) or len(named) != 3 or not all(isinstance(name, str) and name for name in named):  # noqa: PLR2004  (query, document, number)
            number = VALUE_COLUMNS[what][0]
            raise ParamError(f"{what} columns {named!r} are not allowed; give three names: query, document, {number}")
        if named[2].startswith(SMALLER) and what == "qrels":
            msg = f"qrels column {named[2]!r}: a minus says that smaller is better, which no grade is; name the column"
            raise ParamError(msg)
        return (named[0],), (named[1],), (named[2].removeprefix(SMALLER),)
    of_trectools = ("query",) if "docid" in columns else ()
    of_beir = SCORE_COLUMNS if what == "qrels" and {"corpus-id", "corpus_id"}.intersection(columns) else ()
    return QUERY_COLUMNS + of_trectools, DOC_COLUMNS, VALUE_COLUMNS[what] + of_beir


def is_smaller_better(named: Sequence[str] | None) -> bool:
    """Whether the columns that somebody named say so."""
    return named is not None and named[2].startswith(SMALLER)


def has_rows(columns: Sequence[Any]) -> bool:
    """Whether the columns name a query and a document."""
    return all(any(name in columns for name in names) for names in names_of(columns, "run")[:2])


def pick(
    columns: Sequence[str], what: str, named: Sequence[str] | None = None, kind: str = "file"
) -> tuple[str, str, str]:
    """Return the names of query, document and number; ValueError tells which is missing."""
    picked = []
    for wanted in names_of(columns, what, named):
        name = next((name for name in wanted if name in columns), None)
        if name is None:
            names = " nor ".join(map(repr, wanted))
            says = (
                f"which a {what} {kind} has" if named is None else f"which the columns of the {what} were said to have"
            )
            msg = f"no {names}, {says}; there is {', '.join(map(repr, columns)) or 'nothing'}"
            if named is None:
                msg += f": say what they are with {what}_columns=('query', 'document', 'number') (--{what}-columns)"
            raise ValueError(msg)
        if list(columns).count(name) > 1:
            raise ValueError(f"{name!r} occurs twice in the header")
        picked.append(name)
    return picked[0], picked[1], picked[2]


def what_columns_are(columns: Sequence[str]) -> str | None:
    """Return 'qrels' or 'run'; None when the columns are those of both, or of neither."""
    found = [what for what in VALUE_COLUMNS if any(name in columns for name in names_of(columns, what)[2])]
    return found[0] if len(found) == 1 else None


def subtopic_column(columns: Sequence[str], what: str) -> str | None:
    """Return the column that says for which subtopic a document was judged, if there is one."""
    return next((name for name in SUBTOPIC_COLUMNS if name in columns), None) if what == "qrels" else None


class SubtopicQrels(dict[str, Mapping[str, float]]):
    """Qrels whose iterations tell subtopics apart; a document has the highest grade that it has for any of them."""

    def __init__(self, subtopics: Subtopics, keep: Callable[[Any, Any], Any] = max) -> None:
        super().__init__({query_id: _one_each(judged, keep) for query_id, judged in subtopics.items()})
        self.subtopics = subtopics  # {query_id: {(doc_id, subtopic): grade}}


class Judgements:
    """Collects judgements that come with the subtopic each one was made for, which most files call the iteration."""

    def __init__(self, duplicates: str = "error") -> None:
        self._grades: dict[str, dict[tuple[str, str], Any]] = {}
        self._seen: set[str] = set()
        self._keep = kept_of(duplicates)

    def add(self, query_id: str, doc_id: str, subtopic: str, grade: Any) -> bool:  # noqa: ANN401  (checked later)
        """Take one; return False when there is one already, and that is an error."""
        judged, pair = self._grades.setdefault(query_id, {}), (doc_id, subtopic)
        is_new = pair not in judged
        judged[pair] = grade if is_new or self._keep is None else self._keep(judged[pair], grade)
        self._seen.add(subtopic)
        return is_new or self._keep is not None

    def qrels(self) -> dict[str, Any]:
        """Return them; where all are of one subtopic, they are plain qrels."""
        if len(self._seen) > 1:
            return SubtopicQrels(self._grades, self._keep or max)
        return {q: {doc_id: grade for (doc_id, _), grade in judged.items()} for q, judged in self._grades.items()}


def _one_each(judged: Mapping[tuple[str, str], Any], keep: Callable[[Any, Any], Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for (doc_id, _), grade in judged.items():
        kept[doc_id] = keep(kept.get(doc_id, grade), grade)
    return kept


def refuse_several(subtopics: Subtopics) -> None:
    """Raise InputError for a document that is judged for several subtopics."""
    for query_id, judged in subtopics.items():
        doc_ids = [doc_id for doc_id, _ in judged]
        if len(set(doc_ids)) < len(doc_ids):
            again = next(doc_id for doc_id in doc_ids if doc_ids.count(doc_id) > 1)
            of = ", ".join(repr(subtopic) for doc_id, subtopic in judged if doc_id == again)
            raise InputError(
                f"query {query_id!r}, document {again!r} is judged for several subtopics (iterations {of}): that is "
                "for measures such as alpha_nDCG and StRecall alone; for others keep one grade per document"
            )


class Groups:
    """Collects the rows of a file; what a document that occurs twice in one query means, the source says."""

    def __init__(self, source: "Source") -> None:
        self.source = source
        source.dropped = 0
        self._groups: dict[str, dict[str, Any]] = {}
        self._judgements = Judgements(source.duplicates)
        self._keep = kept_of(source.duplicates)
        self._smaller = is_smaller_better(source.columns)

    def add(self, query_id: str, doc_id: str, value: float, line: int | None, subtopic: str | None = None) -> None:
        """Take one row."""
        value = -value if self._smaller else value
        if subtopic is None:
            group = self._groups.setdefault(query_id, {})
            is_new = doc_id not in group or self._keep is not None
            self.source.dropped += doc_id in group
            group[doc_id] = value if self._keep is None else self._keep(group.get(doc_id, value), value)
        else:
            is_new = self._judgements.add(query_id, doc_id, subtopic, value)
        if not is_new:
            msg = f"query {query_id!r}, document {doc_id!r} occurs in the file before; {KEEP_ONE}"
            raise self.source.error(msg, line)

    @property
    def groups(self) -> dict[str, dict[str, Any]]:
        """All rows by query and document."""
        return self._groups or self._judgements.qrels()


def ranked(
    tops: Iterable[tuple[str, int, Sequence[str], Sequence[float]]], qrels: Mapping[str, Grades], depth: int
) -> Iterator[tuple[str, Ranking]]:
    """Rank the first documents of each query; of scores there is one more than asked: the last one may be tied."""
    for query_id, num_ret, top, scores in tops:
        grades = qrels.get(query_id, {})
        places = [(place, grades[doc_id]) for place, doc_id in enumerate(top[:depth], 1) if doc_id in grades]
        ascending = array("d", reversed(scores)) if len(set(array("f", scores))) != len(scores) else None
        yield query_id, Ranking(places, judged=grades.values(), num_ret=num_ret, ascending=ascending, top=top[:depth])
