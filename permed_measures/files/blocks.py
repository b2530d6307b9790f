"""The top of every list of a large TREC run, read with numpy: DuckDB needs twice the processor time for this format.

Only the common form of such files is read here: fields separated by one space or one tab, the lines of a query
together. Everything else is a Doubt, and left to others. Whole blocks of lines are handled at once: a field is looked
at as 64-bit words of eight characters each. Most scores are never read as numbers, only bounded by their first eight
characters: that is enough to see that they do not belong to the top.
"""

from __future__ import annotations

import os
from codecs import BOM_UTF8
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from permed_measures.files.judged import JudgedLists
from permed_measures.files.numbers import score_of
from permed_measures.files.source import Source
from permed_measures.ranking import Grades, Order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    _Words = NDArray[np.uint64]
    _Places = NDArray[np.intp]

T = TypeVar("T")

_BLOCK = 1 << 21  # bytes; stays in the processor's cache, and numpy's calls are few
_MOST_THREADS = 4
_LONGEST = 256  # characters of a field
_MOST_ODD = 8  # one of so many scores may be written in another way than 12.345
_MOST_TIED = 8  # times as many documents as asked for may be looked at
_FIELDS = 6
_KEPT_MEMORY = 30 << 20

_WORD = np.uint64
_MINUS = ord("-")
_COMMENT = ord("#")
_SPACE = ord(" ")
_LINE_FEED = ord("\n")

_ONES = 0x0101010101010101
_FIRST = np.array([(1 << 8 * count) - 1 for count in range(9)], dtype=_WORD)
"""The first characters of a word."""

_AT = np.array([1 << 8 * place for place in range(8)] + [0], dtype=_WORD)
_PLACE_IN_TOP_BITS = _WORD(0x0010203040506070)  # times a member of _AT
_UNITS = 10.0 ** np.arange(-7, 9)
"""What the seventh digit is worth, by the place of the point."""

_DIGITS = 16
_TENS = 10.0 ** np.arange(_DIGITS + 1)

_FACTORS = [_WORD(pow(0x9E3779B97F4A7C15, power, 1 << 64)) for power in range(1, _LONGEST // 8 + 1)]
"""A hash is the sum of an id's words times these, mixed: the same in every block."""

_NEAR = 16
"""Bits of a hash by which a document is seen not to be judged."""


class Doubt(Exception):  # noqa: N818  (not an error: a reason to look closer)
    """Something that another reader has to judge: in these lines, of which the number of the first is known."""

    lines: tuple[int, bytes] | None = None


class Irregular(Doubt):
    """Not the common form: other white space, comments, lines with fewer or more fields."""


class Top(NamedTuple):
    """The first documents of a query, by score and then by id, both descending; and the highest scores, exactly."""

    query_id: str
    num_ret: int
    documents: list[str]
    scores: list[float]


def tops(path: Path | Source, depth: int, order: Order = "float32") -> Iterator[Top]:
    """Yield the first ``depth`` documents of every query, or raise Doubt."""
    for found in _of_blocks(Source.of(path), lambda block: block.tops(depth, order)):
        yield from found


def judged(source: Source, qrels: Mapping[str, Grades], numbers: Mapping[str, int]) -> Iterator[JudgedLists]:
    """Yield what ranks of judged documents depend on, block by block, or raise Doubt."""
    yield from _of_blocks(source, lambda block: block.judged(qrels, numbers))


def _of_blocks(source: Source, make: Callable[[_Block], T]) -> Iterator[T]:
    """Yield what is made of each block; several are made at once, and meanwhile the next ones are read and unpacked."""
    # memory that is given back and taken again costs more than all the rest: after this the C library keeps it
    np.empty(_KEPT_MEMORY, np.uint8)
    number = min(_MOST_THREADS, os.cpu_count() or 1)
    threads = ThreadPoolExecutor(number)

    def made(text: bytes, size: int) -> tuple[T, int]:
        block = _Block(text, size)
        return make(block), len(block.ends)

    try:
        blocks = ((*text, threads.submit(made, *text)) for text in _texts(source))
        waiting = deque(islice(blocks, number + 1))
        line = 1
        while waiting:
            text, size, block = waiting.popleft()
            try:
                found, lines = block.result()
            except Doubt as doubt:
                doubt.lines = line, text[:size].removesuffix(b"\n")
                raise
            waiting.extend(islice(blocks, 1))
            line += lines
            yield found
    finally:
        threads.shutdown(cancel_futures=True)


def _texts(source: Source) -> Iterator[tuple[bytes, int]]:
    """Yield some text and the size of the block with which it starts: all lines of a few queries."""
    text = b""
    with source.open() as file:
        while piece := file.read(_BLOCK):
            text += piece
            if stop := _last_query(text):
                yield text, stop
                text = text[stop:]
            elif len(text) > 2 * _BLOCK:
                raise Doubt
    if text:
        yield text, len(text)


def _last_query(text: bytes) -> int:
    """Return where the lines of the last query start; 0 where some of them may come before the text."""
    stop = text.rfind(b"\n", 0, text.rfind(b"\n")) + 1
    line = text[stop : text.find(b"\n", stop) + 1]
    query = line[: len(b"".join(line.split(None, 1)[:1])) + 1]
    at, back = stop, 1 << 12
    while at and text.startswith(query, at):
        back *= 2
        at = text.rfind(b"\n", 0, max(stop - back, 0)) + 1
    return 0 if text.startswith(query, at) else text.find(b"\n" + query, at) + 1


class _Block:
    """Some lines: all those of a few queries. Other text may follow them."""

    def __init__(self, text: bytes, size: int) -> None:
        if text.startswith(BOM_UTF8):
            raise Irregular
        if size == len(text) and not text.endswith(b"\n"):
            text += b"\n"
            size += 1
        self.text = text = text.ljust(size + _LONGEST, b"\0")  # words are read beyond the last field
        self.chars = np.frombuffer(text, np.uint8)
        if not text.isascii():
            _check_utf_8(text[:size])
        self.ends = _field_ends(self.chars[:size])
        self.line_starts = np.concatenate(([0], self.ends[:-1, -1] + 1))
        is_first = self._is_first_of_query()
        self.firsts = np.flatnonzero(is_first)
        if (self.chars[self.line_starts[self.firsts]] == _COMMENT).any():
            raise Irregular
        self.counts = np.diff(self.firsts, append=len(self.ends))
        self._check_documents_differ(np.cumsum(is_first) - 1)

    def field(self, place: int) -> tuple[_Places, _Places]:
        """Return where a field starts and how long it is, for every line."""
        start = self.line_starts if place == 0 else self.ends[:, place - 1] + 1
        return start, self.ends[:, place] - start

    def words(self, start: _Places, length: _Places) -> Iterator[tuple[_Words, _Words]]:
        """Yield the first eight characters of a field and which of them belong to it, then the next eight."""
        longest, shortest = int(length.max()), int(length.min())
        if longest > _LONGEST:
            raise Doubt
        width = max(1, -(-longest // 8))
        windows = np.ndarray(len(self.text) - 8 * width + 1, f"V{8 * width}", self.text, strides=(1,))
        words = windows[start].view("<u8").reshape(-1, width)
        for place in range(width):
            alike = shortest == longest or shortest >= 8 * (place + 1)
            lengths = np.array([shortest]) if alike else length
            yield words[:, place], _FIRST[np.clip(lengths - 8 * place, 0, 8)]

    def _is_first_of_query(self) -> NDArray[np.bool_]:
        start, length = self.field(0)
        differs = np.ones(len(start), bool)
        differs[1:] = length[1:] != length[:-1]
        for word, belongs in self.words(start, length):
            differs[1:] |= ((word[1:] ^ word[:-1]) & belongs[-len(start) + 1 :]) != 0
        return differs

    def _check_documents_differ(self, query_numbers: _Places) -> None:
        """Raise Doubt when two documents of a query have the same id."""
        hashes = np.zeros(len(query_numbers), _WORD)
        for (word, belongs), factor in zip(self.words(*self.field(2)), _FACTORS, strict=False):
            hashes += (word & belongs) * factor
        self.hashes = (hashes ^ hashes >> _WORD(32)) * _FACTORS[0]
        bits = 32 - len(self.firsts).bit_length()  # 32 in all: they are sorted twice as fast as 64
        keys = (self.hashes >> _WORD(64 - bits)).astype(np.uint32)
        keys |= (query_numbers << bits).astype(np.uint32)
        keys.sort()
        for query in np.unique(keys[1:][keys[1:] == keys[:-1]] >> np.uint32(bits)).tolist():
            rows = np.arange(self.counts[query]) + self.firsts[query]
            if len({self.text[start:stop] for start, stop in self._slices(2, rows)}) != len(rows):
                raise Doubt

    def tops(self, depth: int, order: Order) -> list[Top]:
        """Return the first documents of every query."""
        rows = self._candidates(depth)
        doc_ids = self._doc_ids(rows)
        scores = np.array([float(self.text[start:stop]) for start, stop in self._slices(4, rows)])
        exact = scores.tolist()
        with np.errstate(over="ignore"):  # 1e300 is infinite as a 32-bit float
            found = list(zip(scores.astype(order).tolist(), doc_ids, strict=True))
        stops = np.searchsorted(rows, self.firsts + self.counts).tolist()
        result = []
        start = 0
        for stop, count, (a, b) in zip(stops, self.counts.tolist(), self._slices(0, self.firsts), strict=True):
            first = [doc_id for _, doc_id in sorted(found[start:stop], reverse=True)[:depth]]
            highest = sorted(exact[start:stop], reverse=True)[:depth]
            result.append(Top(self.text[a:b].decode(), count, first, highest))
            start = stop
        return result

    def judged(self, qrels: Mapping[str, Grades], numbers: Mapping[str, int]) -> JudgedLists:
        """Return what ranks of judged documents depend on."""
        query_ids = [self.text[start:stop].decode() for start, stop in self._slices(0, self.firsts)]
        is_near = np.zeros(1 << _NEAR, bool)
        is_near[np.array([_near(d) for query_id in query_ids for d in qrels.get(query_id, ())], np.intp)] = True
        rows = np.flatnonzero(is_near[(self.hashes >> _WORD(64 - _NEAR)).astype(np.intp)])
        queries = (np.searchsorted(self.firsts, rows, "right") - 1).tolist()
        pairs = zip(queries, self._doc_ids(rows), strict=True)
        hits = rows[np.array([doc_id in qrels.get(query_ids[query], ()) for query, doc_id in pairs], bool)]
        found = JudgedLists(numbers)
        counts = dict(zip(query_ids, self.counts.tolist(), strict=True))
        if len(counts) != len(query_ids):
            raise Doubt
        found.add_lists(counts, self._scores(), hits, self._doc_ids)
        return found

    def _doc_ids(self, rows: _Places) -> list[str]:
        found = [self.text[start:stop] for start, stop in self._slices(2, rows)]
        return b" ".join(found).decode().split(" ") if found else []

    def _slices(self, place: int, rows: _Places) -> Iterator[tuple[int, int]]:
        starts = self.line_starts[rows] if place == 0 else self.ends[rows, place - 1] + 1
        return zip(starts.tolist(), self.ends[rows, place].tolist(), strict=True)

    def _candidates(self, depth: int) -> _Places:
        """Return the lines that may be among the first ``depth`` of their query."""
        low, high = self._bounds()
        last = self.firsts + depth - 1
        is_cut = self.counts > depth
        needed = np.where(is_cut, low[np.minimum(last, len(low) - 1)], -np.inf)  # right for lists in order
        rises = low[1:] > low[:-1]
        rises[self.firsts[1:] - 1] = False
        for query in np.unique(np.searchsorted(self.firsts, np.flatnonzero(rises), "right") - 1).tolist():
            count = self.counts[query]
            if is_cut[query]:
                needed[query] = np.partition(low[self.firsts[query] :][:count], count - depth)[count - depth]
        rows = np.flatnonzero(high >= np.repeat(needed, self.counts))
        if len(rows) > _MOST_TIED * depth * len(self.firsts):  # to look at each of them would take too long
            raise Doubt
        return rows

    def _bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return a number not above and one not below each score, and check that all scores are numbers."""
        start, length = self.field(4)
        is_negative = self.chars[start] == _MINUS
        any_negative = is_negative.any()
        if any_negative:
            start, length = start + is_negative, length - is_negative
        words = ((word ^ _WORD(ord("0") * _ONES)) & belongs for word, belongs in self.words(start, length))
        word = next(words)
        others = _not_digits(word)
        point = others >> _WORD(7)
        odd = (others & (others - _WORD(1))) != 0
        odd |= (word & (point * _WORD(0xFF))) != point * _WORD(ord(".") ^ ord("0"))
        has_point = point != 0
        odd |= length <= has_point
        if not has_point.all():
            point = np.where(has_point, point, _AT[np.minimum(length, 8)])
            odd |= point == 0
        for more in words:
            odd |= _not_digits(more) != 0
        before = point - _WORD(1)
        number = _eight_digits((word & before) | ((word >> _WORD(8)) & ~before))
        unit = _UNITS[((point * _PLACE_IN_TOP_BITS) >> _WORD(60)).astype(np.intp)]
        value = number * unit
        value *= np.where(is_negative, -0.1, 0.1) if any_negative else 0.1
        # the seventh digit's unit is no less than a step of 32-bit floats: who is below such a bound ties with nobody
        low, high = value - unit, value + unit
        if odd.any():
            self._check_scores(np.flatnonzero(odd))
            low[odd], high[odd] = -np.inf, np.inf
        return low, high

    def _scores(self) -> NDArray[np.float64]:
        """Return every score: what is a float without its point is rounded rightly when a power of ten divides it."""
        start, length = self.field(4)
        is_negative = self.chars[start] == _MINUS
        start, length = start + is_negative, length - is_negative
        words = [(word ^ _WORD(ord("0") * _ONES)) & belongs for word, belongs in self.words(start, length)]
        first, second = [*words, np.zeros_like(words[0])][:2]
        point, later = (_not_digits(word) >> _WORD(7) for word in (first, second))
        is_first = point != 0
        odd = (length > _DIGITS) | (is_first & (later != 0)) | (length <= (point | later != 0))
        for word, at in ((first, point), (second, later)):
            odd |= (at & (at - _WORD(1))) != 0
            odd |= (word & (at * _WORD(0xFF))) != at * _WORD(ord(".") ^ ord("0"))
        before, after = point - _WORD(1), later - _WORD(1)
        high = first & before | first >> _WORD(8) & ~before | np.where(is_first, second << _WORD(56), _WORD(0))
        low = np.where(is_first, second >> _WORD(8), second & after | second >> _WORD(8) & ~after)
        digits = _eight_digits(high) * _WORD(10**8) + _eight_digits(low)
        whole = [(at * _PLACE_IN_TOP_BITS >> _WORD(60)).astype(np.intp) for at in (point, later)]
        whole = np.where(is_first, whole[0], np.where(later != 0, 8 + whole[1], np.minimum(length, _DIGITS)))
        value: NDArray[np.float64] = digits.astype(np.float64)
        odd |= value.astype(_WORD) != digits
        value /= np.where(is_negative, -1.0, 1.0) * _TENS[_DIGITS - whole]
        try:
            value[odd] = [score_of(self.text[a:b]) for a, b in self._slices(4, np.flatnonzero(odd))]
        except ValueError as error:
            raise Doubt from error
        return value

    def _check_scores(self, rows: _Places) -> None:
        if len(rows) > len(self.ends) // _MOST_ODD:
            raise Doubt
        try:
            for start, stop in self._slices(4, rows):
                score_of(self.text[start:stop])
        except ValueError as error:
            raise Doubt from error


def _check_utf_8(text: bytes) -> None:
    try:
        text.decode()
    except UnicodeDecodeError as error:
        raise Doubt from error


def _field_ends(chars: NDArray[np.uint8]) -> NDArray[np.intp]:
    """Return where the six fields of each line end."""
    is_space = chars <= _SPACE
    if is_space[0] or (is_space[1:] & is_space[:-1]).any():
        raise Irregular
    spaces = np.flatnonzero(is_space)
    if len(spaces) % _FIELDS:
        raise Irregular
    ends = spaces.reshape(-1, _FIELDS)
    delimiter = chars[ends[0, 0]]
    count = np.count_nonzero(chars == delimiter)
    if delimiter not in b" \t" or count != len(ends) * (_FIELDS - 1) or (chars[ends[:, -1]] != _LINE_FEED).any():
        raise Irregular
    return ends


def _near(doc_id: str) -> int:
    """Return the first bits of the hash of an id."""
    text = doc_id.encode(errors="surrogatepass")
    parts = [int.from_bytes(text[at : at + 8], "little") for at in range(0, min(len(text), _LONGEST), 8)]
    found = sum(part * int(factor) for part, factor in zip(parts, _FACTORS, strict=False)) % (1 << 64)
    return (found ^ found >> 32) * int(_FACTORS[0]) % (1 << 64) >> (64 - _NEAR)


def _not_digits(words: _Words) -> Any:  # noqa: ANN401  (numpy's)
    """Set the top bit of every character that is no digit; of a digit, only the value is given."""
    return ((words & _WORD(0x7F * _ONES)) + _WORD(0x76 * _ONES) | words) & _WORD(0x80 * _ONES)


def _eight_digits(words: _Words) -> Any:  # noqa: ANN401  (numpy's)
    """Return the number that the digits of each word make."""
    words = (words * _WORD(10) + (words >> _WORD(8))) & _WORD(0x00FF00FF00FF00FF)
    words = (words * _WORD(100) + (words >> _WORD(16))) & _WORD(0x0000FFFF0000FFFF)
    words = words * _WORD(10000) + (words >> _WORD(32))
    return words & _WORD(0x00000000FFFFFFFF)
