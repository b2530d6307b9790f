"""TREC qrels (query, iteration, document, grade) and runs (query, Q0, document, rank, score, tag).

Fields are separated by any white space; blank lines, lines that start with ``#`` and what follows a run's tag are left
out.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from permed_measures.errors import InputError
from permed_measures.files.numbers import grade_of, score_of
from permed_measures.files.rows import KEEP_ONE, Judgements, SubtopicQrels, kept_of
from permed_measures.files.source import Source, shown
from permed_measures.render.words import counted

NAME = "trec"
DESCRIPTION = "TREC qrels (query iteration document grade) or a run (query Q0 document rank score tag)"
SUFFIXES = (".trec", ".qrels", ".qrel", ".run", ".res", ".txt")
ROWS = True

_FIELDS = {"qrels": 4, "run": 6}
_VALUE = {"qrels": 3, "run": 4}
_RANK = 3
_LINE_END = "\0"
_NUL = b"\0"
_PIECE = 1 << 20
_SPLIT_BY_STR_ONLY = (b"\x1c", b"\x1d", b"\x1e", b"\x1f")
"""White space to str.split(), not to bytes.split(), nor to trec_eval."""


def fits(head: bytes) -> bool:
    """Whether the first line that is not a comment has the fields of a TREC file."""
    fields = next((line.split() for line in head.split(b"\n") if is_data(line)), [])
    what = _what(fields)
    if what is None or (len(fields) > _FIELDS[what] and fields[1].upper() != b"Q0"):
        return False
    try:
        float(fields[_VALUE[what]])
    except ValueError:
        return False
    return True


def what_is(source: Source) -> str | None:
    """Return 'qrels' or 'run' by the number of fields in the first line."""
    fields = next((line.split() for line in source.head().split(b"\n") if is_data(line)), [])
    return _what(fields)


def _what(fields: Sequence[bytes]) -> str | None:
    if len(fields) > _FIELDS["run"] and fields[_RANK].isdigit():
        return "run"
    return next((what for what, count in _FIELDS.items() if count == len(fields)), None)


def is_data(line: bytes) -> bool:
    """Whether a line is neither blank nor a comment."""
    stripped = line.lstrip()
    return bool(stripped) and not stripped.startswith(b"#")


def read(source: Source, what: str) -> dict[str, dict[str, Any]]:
    """Return {query_id: {doc_id: grade or score}}."""
    groups: dict[str, dict[str, Any]] = {}
    count = 0
    more = 0
    keep = kept_of(source.duplicates)
    iterations: set[str] = set()
    for first, block in source.blocks():
        query_ids, doc_ids, values, middle, longer = _columns(source, what, first, block)
        more += longer
        if what == "qrels":
            iterations.update(middle)
        last, group = None, {}
        for query_id, doc_id, value in zip(query_ids, doc_ids, values, strict=True):
            if query_id != last:
                group = groups.setdefault(query_id, {})
                last = query_id
            group[doc_id] = value if keep is None else keep(group.get(doc_id, value), value)
        count += len(values)
    if len(iterations) > 1:
        return _with_subtopics(source)
    if keep is None and sum(map(len, groups.values())) != count:
        check(source, what)
    source.dropped = count - sum(map(len, groups.values()))
    return Noted(groups, notes_on(more)) if more else groups


def notes_on(longer: int) -> tuple[str, ...]:
    """Say how many lines have more fields than a run has."""
    lines = "1 line has" if longer == 1 else f"{longer:,} lines have"
    return (f"{lines} fields after the tag of the run, which are ignored, as trec_eval does",) if longer else ()


def _with_subtopics(source: Source) -> dict[str, dict[str, Any]]:
    """Read sound qrels once more, their iterations too: few files tell any apart."""
    judgements = Judgements(source.duplicates)
    for first, block in source.blocks():
        for number, line, fields in _numbered(first, block):
            query_id, iteration, doc_id = (field.decode() for field in fields[:3])
            if not judgements.add(query_id, doc_id, iteration, grade_of(fields[3])):
                msg = f"query {query_id!r}, iteration {iteration!r}, document {doc_id!r} occurs before: {shown(line)}"
                raise source.error(msg, number)
    return judgements.qrels()


class MixedError(Exception):
    """The lines of a query are not together."""


def lists(source: Source) -> Iterator[tuple[str, dict[str, float], int]]:
    """Yield {doc_id: score} of each query of a run, and how many more lines have fields after the tag.

    Only the lists of a block are held. MixedError says that a query comes back; a list before is not whole then.
    """
    query_id: str | None = None
    group: dict[str, float] = {}
    count = more = 0
    done: set[str] = set()
    for first, block in source.blocks():
        rows = _columns(source, "run", first, block)
        more += rows.longer
        for query, doc_id, value in zip(rows.query_ids, rows.doc_ids, rows.values, strict=True):
            if query != query_id:
                if query_id is not None:
                    yield query_id, group, more
                    more = 0
                if query in done:
                    raise MixedError
                done.add(query)
                query_id, group, count = query, {}, 0
            group[doc_id] = value
            count += 1
            if len(group) != count:
                _check_repetition(source, "run", source.blocks(), {hash((query, doc_id))})
    if query_id is not None:
        yield query_id, group, more


class Noted(dict[str, dict[str, Any]]):
    """Groups, and what is to be said about the file."""

    def __init__(self, groups: Mapping[str, dict[str, Any]], notes: Sequence[str]) -> None:
        super().__init__(groups)
        self.notes = notes


def check(source: Source, what: str) -> None:
    """Raise the error of the first line that is wrong, else of one that repeats another; the file is not kept."""
    seen = array("q")
    for first, block in source.blocks():
        rows = _columns(source, what, first, block)
        seen.extend(map(hash, zip(rows.query_ids, rows.doc_ids, strict=True)))
    again = _repeated(seen)
    if again:
        _check_repetition(source, what, source.blocks(), again)


def check_block(source: Source, what: str, first: int, block: bytes) -> None:
    """Raise the error of the first wrong line of some, else of one that repeats another of them."""
    rows = _columns(source, what, first, block)
    again = _repeated(array("q", map(hash, zip(rows.query_ids, rows.doc_ids, strict=True))))
    if again:
        _check_repetition(source, what, [(first, block)], again)


class _Rows(NamedTuple):
    """The lines of a block by their fields; ``longer`` is how many lines have more of them than a run has."""

    query_ids: Sequence[str] = ()
    doc_ids: Sequence[str] = ()
    values: Sequence[Any] = ()
    iterations: Sequence[str] = ()
    longer: int = 0


def _columns(source: Source, what: str, first: int, block: bytes) -> _Rows:
    """Return the fields of a block, all at once when every line of it is sound."""
    found = None if b"#" in block or _NUL in block else _fields(block, what)
    longer = 0
    if found is None:
        lines = [line for line in block.split(b"\n") if is_data(line)]
        if not lines:
            return _Rows()
        kept = b"\n".join(lines)
        if _NUL not in kept:
            found = _fields(kept, what)
            longer = 0 if found is not None or what == "qrels" else _cut(lines)
            found = _fields(b"\n".join(lines), what) if longer else found
    if found is None:
        raise _fault(source, what, first, block)
    fields, line_end = found
    step = _FIELDS[what] + 1
    values = _values(fields[_VALUE[what] :: step], what)
    if values is None:
        raise _fault(source, what, first, block)
    if longer or line_end != _LINE_END:  # what was cut off is text, too
        _check_utf_8(source, first, block)
    if line_end == _LINE_END:
        return _Rows(fields[::step], fields[2::step], values, fields[1::step], longer)
    query_ids, iterations, doc_ids = (b"\n".join(fields[at::step]).decode().split("\n") for at in range(3))
    return _Rows(query_ids, doc_ids, values, iterations, longer)


def _cut(lines: list[bytes]) -> int:
    """Take away what follows the tag of a run, and return of how many lines.

    Where the fourth field is no rank, a document may be named in two words: such a line is left as it is.
    """
    count = 0
    for place, line in enumerate(lines):
        fields = line.split()
        if len(fields) > _FIELDS["run"] and fields[_RANK].isdigit():
            lines[place] = b" ".join(fields[: _FIELDS["run"]])
            count += 1
    return count


def _fields(lines: bytes, what: str) -> tuple[list[Any], str | bytes] | None:
    """Return all fields of all lines with a mark after each line's last, and the mark; None when a number is wrong."""
    marked = lines.replace(b"\n", f" {_LINE_END} ".encode())
    fields: Any
    line_end: str | bytes
    if marked.isascii() and not any(char in marked for char in _SPLIT_BY_STR_ONLY):
        fields, line_end = marked.decode().split(), _LINE_END
    else:
        fields, line_end = marked.split(), _NUL
    step = _FIELDS[what] + 1
    count = lines.count(b"\n") + 1
    if len(fields) != step * count - 1 or fields[step - 1 :: step].count(line_end) != count - 1:
        return None
    return fields, line_end


def _values(column: Sequence[Any], what: str) -> list[int | float] | None:
    """Return the numbers; None when one of them is none."""
    try:
        if what == "qrels":
            known = {text: grade_of(text) for text in set(column)}
            return [known[text] for text in column]
        values = list(map(float, column))
    except ValueError:
        return None
    has_underscore = "_" in "".join(column) if isinstance(column[0], str) else b"_" in b"".join(column)
    if has_underscore:  # 1_0 is 10 to Python, 1 to trec_eval
        return None
    total = sum(values)  # NaN when one of them is, or when opposite infinities meet
    return None if total != total and any(value != value for value in values) else values


def _numbered(first: int, block: bytes) -> Iterator[tuple[int, bytes, list[bytes]]]:
    for number, line in enumerate(block.split(b"\n"), first):
        if is_data(line):
            yield number, line, line.split()


def _check_utf_8(source: Source, first: int, block: bytes) -> None:
    """Raise the error of a line that cannot be decoded; what a comment holds matters to nobody."""
    for number, line in [(first, block)] if b"#" not in block else enumerate(block.split(b"\n"), first):
        if is_data(line):
            source.decode(line, number)


def _fault(source: Source, what: str, first: int, block: bytes) -> InputError:
    """Find the line that makes a block unreadable."""
    _check_utf_8(source, first, block)
    expected, at = _FIELDS[what], _VALUE[what]
    parse: Callable[[bytes], int | float] = grade_of if what == "qrels" else score_of
    for number, line, fields in _numbered(first, block):
        if len(fields) != expected and not (what == "run" and _what(fields) == what):
            count = counted(len(fields), "field")
            no_rank = what == "run" and len(fields) > expected
            more = ", and more only where the fourth is a rank" if no_rank else ""
            return source.error(f"{count}, a {what} line has {expected}{more}: {shown(line)}", number)
        if _NUL in line:
            return source.error(f"a NUL character: {shown(line)}", number)
        try:
            parse(fields[at])
        except ValueError as error:
            return source.error(f"{error}: {shown(line)}", number)
    raise AssertionError("a block was refused, but every line of it is sound")


def error_of(source: Source, number: int, line: bytes, first: int | None = None) -> InputError:
    """Return the error of a line of a run that is wrong in itself, or that repeats the ``first`` one."""
    if first is None:
        return _fault(source, "run", number, line)
    query_id, _, doc_id = (field.decode() for field in line.split()[:3])
    msg = f"query {query_id!r}, document {doc_id!r} occurs in line {first} already: {shown(line)}; {KEEP_ONE}"
    return source.error(msg, number)


def numbers_of(source: Source, wanted: bytes, *, again: bool) -> list[int]:
    """Return the number of the first such line; of the first two with its query and document, where they repeat."""
    fields = wanted.split()
    numbers: list[int] = []
    for first, block in source.blocks(_PIECE):
        if (fields[2] if again else wanted) not in block:
            continue
        for number, line in enumerate(block.split(b"\n"), first):
            found = line.split()
            if line == wanted or (again and [*found[:1], *found[2:3]] == [fields[0], fields[2]]):
                numbers.append(number)
                if len(numbers) == 1 + again:
                    return numbers
    return []


def _repeated(hashes: "array[int]") -> set[int]:
    """Return those that are there more than once; the array is sorted where it is."""
    import numpy as np  # noqa: PLC0415  (only for large files, and for errors)

    if not hashes:
        return set()
    ordered = np.frombuffer(hashes, np.int64)
    ordered.sort()
    return set(ordered[1:][ordered[1:] == ordered[:-1]].tolist())


def _check_repetition(source: Source, what: str, blocks: Iterable[tuple[int, bytes]], hashes: set[int]) -> None:
    """Raise the error of the line whose query and document occur before it; their hash is one of these."""
    seen: dict[tuple[str, str], int] = {}
    for first, block in blocks:
        query_ids, doc_ids, *_ = _columns(source, what, first, block)
        if hashes.isdisjoint(map(hash, zip(query_ids, doc_ids, strict=True))):
            continue
        for pair, (number, line, _) in zip(zip(query_ids, doc_ids, strict=True), _numbered(first, block), strict=True):
            if hash(pair) not in hashes:
                continue
            if pair in seen:
                raise error_of(source, number, line, seen[pair])
            seen[pair] = number


def write(groups: Mapping[str, Mapping[str, float]], what: str) -> bytes:
    """Return the file; fields are separated by one space, a run's tag is ``permed``."""
    lines = []
    if isinstance(groups, SubtopicQrels):
        return _write_subtopics(groups)
    for query_id, group in groups.items():
        _check_id(query_id, "query")
        for rank, (doc_id, value) in enumerate(group.items(), 1):
            _check_id(doc_id, "document")
            lines.append(
                f"{query_id} 0 {doc_id} {value!r}\n"
                if what == "qrels"
                else f"{query_id} Q0 {doc_id} {rank} {value!r} permed\n"
            )
    return "".join(lines).encode()


def _write_subtopics(qrels: SubtopicQrels) -> bytes:
    lines = []
    for query_id, judged in qrels.subtopics.items():
        _check_id(query_id, "query")
        for (doc_id, subtopic), grade in judged.items():
            _check_id(doc_id, "document")
            _check_id(subtopic, "subtopic")
            lines.append(f"{query_id} {subtopic} {doc_id} {grade!r}\n")
    return "".join(lines).encode()


def _check_id(written: str, kind: str) -> None:
    if len(written.encode().split()) != 1 or written.split() != [written] or "\0" in written:
        raise InputError(f"the {kind} id {written!r} holds white space: TREC files cannot hold it")
    if kind == "query" and written.startswith("#"):
        raise InputError(f"the query id {written!r} starts with '#': in a TREC file its lines would be comments")
