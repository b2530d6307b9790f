"""Signatures: the conditions of a number in one line, and a digest that tells whether the judgements are the same.

The digest is of the set of judgements, free of their order and their file's format. Each judgement is a text: query,
iteration, document and grade, with tabs between. The iteration is empty where all judgements have the same one, since
then it tells nothing apart. The grade is a whole number's digits, else the shortest decimal that reads back as the same
64-bit float. The MD5 of the UTF-8 text has 32 hex digits: the first eight, as whole numbers, are summed over all
judgements, and the next eight apart from them. The digest is both sums modulo 2**32, eight hex digits each. Engines can
compute that, and the sums of single queries add up to the whole. In DuckDB, where grades are whole numbers::

    SELECT sum(('0x' || h[1:8])::BIGINT) % 4294967296, sum(('0x' || h[9:16])::BIGINT) % 4294967296
    FROM (SELECT md5(query_id || chr(9) || chr(9) || doc_id || chr(9) || relevance) AS h FROM qrels)
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from struct import unpack
from typing import Any, NamedTuple

from ir_measures import Measure

from permed_measures.errors import InputError, ParamError
from permed_measures.inputs import Qrels, subtopics_of
from permed_measures.measures import declared, parse

_HALF = 2**32
_SHOWN = 5
_FIELDS = ("order", "queries", "n", "judgements", "digest", "version")


class Digest(NamedTuple):
    """How many judgements there are, and the two sums that tell them apart; digests of parts add up."""

    judgements: int = 0
    first: int = 0
    second: int = 0

    @property
    def text(self) -> str:
        """The sixteen hex digits."""
        return f"{self.first % _HALF:08x}{self.second % _HALF:08x}"

    @classmethod
    def total(cls, parts: "Iterable[Digest]") -> "Digest":
        """Return the digest of all judgements, given those of the queries."""
        counts, firsts, seconds = zip((0, 0, 0), *parts, strict=True)
        return cls(sum(counts), sum(firsts) % _HALF, sum(seconds) % _HALF)


def grade_text(grade: float) -> str:
    """Return a grade as the digest reads it.

    >>> grade_text(2), grade_text(2.0), grade_text(7.5)
    ('2', '2', '7.5')
    """
    return str(int(grade)) if grade == int(grade) else repr(float(grade))


def digest_of(rows: Iterable[tuple[str, str, str, float]]) -> Digest:
    """Return the digest of judgements: query, iteration (empty where there is but one), document, grade."""
    from hashlib import md5  # noqa: PLC0415  (it takes long to import)

    texts: dict[float, str] = {}
    hashed = []
    for query_id, iteration, doc_id, grade in rows:
        said = texts.get(grade) or texts.setdefault(grade, grade_text(grade))
        text = f"{query_id}\t{iteration}\t{doc_id}\t{said}"
        hashed.append(md5(text.encode(errors="surrogatepass"), usedforsecurity=False).digest())
    numbers = unpack(f">{4 * len(hashed)}I", b"".join(hashed))
    return Digest(len(hashed), sum(numbers[::4]) % _HALF, sum(numbers[1::4]) % _HALF)


def digests(qrels: Qrels) -> Mapping[str, Digest]:
    """Return the digest of every query's judgements; checked qrels keep them for those who ask again."""
    known: Mapping[str, Digest] | None = getattr(qrels, "digests", None)
    if known is not None:
        return known
    subtopics = subtopics_of(qrels)
    found = {}
    for query_id, grades in qrels.items():
        if subtopics is None:
            found[query_id] = digest_of((query_id, "", doc_id, grade) for doc_id, grade in grades.items())
        else:
            judged = subtopics.get(query_id, {}).items()
            found[query_id] = digest_of((query_id, iteration, doc_id, grade) for (doc_id, iteration), grade in judged)
    if hasattr(qrels, "digests"):
        qrels.digests = found
    return found


class Signature(NamedTuple):
    """The conditions of a measure's values: what is compared must have the same, but for the number of queries."""

    measure: str  # with the parameters that are not the defaults, a ``rel`` that ``min_relevance`` gave it among them
    order: str  # how precisely scores are compared, and what becomes of ties where that is not trec_eval's rule
    queries: str  # over which queries the mean runs: those of the 'qrels', of the 'run', or in 'both'
    n: int
    judgements: int
    digest: str
    version: str
    """Of the measure: a whole number that is raised when its values move; of others' measures, whose they are."""

    def __str__(self) -> str:
        return "|".join([self.measure, *(f"{name}:{getattr(self, name)}" for name in _FIELDS)])

    @classmethod
    def of(cls, measure: Measure, order: str, queries: str, n: int, judged: "Digest") -> "Signature":
        """Return the signature of a measure whose ``rel`` is settled."""
        return cls(str(measure), order, queries, n, judged.judgements, judged.text, version_of(measure))

    @classmethod
    def parse(cls, text: str) -> "Signature":
        """Read a signature; ParamError tells what is wrong with one.

        >>> text = "nDCG@10|order:float32|queries:qrels|n:50|judgements:1326|digest:9f86d081884c7d65|version:1"
        >>> Signature.parse(text).n, str(Signature.parse(text)) == text
        (50, True)
        """
        pattern = "".join(rf"\|{name}:(?P<{name}>[^|]+)" for name in _FIELDS)
        found = re.fullmatch(rf"(?P<measure>.+){pattern}", text)
        example = cls("nDCG@10", "float32", "qrels", 50, 1326, "9f86d081884c7d65", "1")
        if found is None or not re.fullmatch(
            r"\d+ \d+ [0-9a-f]{16}", "{n} {judgements} {digest}".format(**found.groupdict())
        ):
            raise ParamError(f"{text!r} is not a signature; one looks like {str(example)!r}")
        fields: dict[str, Any] = found.groupdict()
        return cls(**fields | {"n": int(fields["n"]), "judgements": int(fields["judgements"])})


def ordered(order: str, ties: str) -> str:
    """Return the condition 'order'; where ties are an error there were none, and every rule gives the same.

    >>> ordered("float32", "trec"), ordered("float64", "expected"), ordered("float32", "error")
    ('float32', 'float64-expected', 'float32')
    """
    return order if ties in ("trec", "error") else f"{order}-{ties}"


class Conditions:
    """What an evaluation's signatures are made of; nothing is computed until somebody asks for it.

    ``measures`` returns of each one what was computed, over which queries its mean runs, and how many they are;
    ``judged`` the digest of every query's judgements, and ``total`` that of all, where that is known in less.
    """

    def __init__(
        self,
        measures: Callable[[], Mapping[Measure, tuple[Measure, str, int]]],
        order: str,
        judged: Callable[[], Mapping[str, Digest]],
        total: Callable[[], Digest] | None = None,
    ) -> None:
        self._measures, self._order, self._judged, self._total = measures, order, judged, total

    @cached_property
    def judged(self) -> Mapping[str, Digest]:
        """The digest of every query's judgements."""
        return self._judged()

    @cached_property
    def signatures(self) -> dict[Measure, Signature]:
        """The signature of every measure."""
        judged = Digest.total(self.judged.values()) if self._total is None else self._total()
        return {
            measure: Signature.of(computed, self._order, queries, n, judged)
            for measure, (computed, queries, n) in self._measures().items()
        }

    def num_queries(self, measure: Measure) -> int:
        """Return how many queries a measure's mean runs over, for which no digest is computed."""
        known = self.__dict__.get("signatures")
        return self._measures()[measure][2] if known is None else known[measure].n

    @property
    def digest(self) -> str:
        """Of all judgements."""
        signature = next(iter(self.signatures.values()), None)
        return Digest.total(self.judged.values()).text if signature is None else signature.digest

    @property
    def whole(self) -> bool:
        """Whether every judged query is known, not only those of a run."""
        return not self.signatures or "qrels" in {signature.queries for signature in self.signatures.values()}

    @classmethod
    def known(cls, signatures: "dict[Measure, Signature]", judged: "Mapping[str, Digest]") -> "Conditions":
        """Return those of values that are saved, or came from an engine."""
        found = cls(dict, "", lambda: judged)
        found.signatures = signatures
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return Conditions.known, (self.signatures, self.judged)  # without the judgements


def version_of(measure: Measure) -> str:
    """Return the version of what computes a measure."""
    known = declared(measure)
    if known is not None:
        return str(type(known).VERSION)
    from importlib.metadata import version  # noqa: PLC0415  (for measures of ir_measures' other providers alone)

    return f"ir_measures-{version('ir-measures')}"


def differences(one: Signature, other: Signature, *, with_n: bool = True) -> list[str]:
    """Say what two signatures do not have in common, parameter by parameter where the measures are of one family.

    >>> old = Signature.parse("nDCG@10|order:float32|queries:qrels|n:9|judgements:90|digest:9f86d081884c7d65|version:1")
    >>> differences(old, old._replace(measure="ListNDCG@5", n=8))
    ['ideal: judged → returned', 'cutoff: 10 → 5', 'n: 9 → 8']
    """
    found = _of_measures(one.measure, other.measure)
    if one.digest != other.digest or one.judgements != other.judgements:
        counts = (
            f"{one.judgements:,} → {other.judgements:,}"
            if one.judgements != other.judgements
            else f"{one.judgements:,}"
        )
        found.append(f"judgements: {counts}, digest {one.digest} → {other.digest}")
    names = [name for name in _FIELDS if name not in ("judgements", "digest") and (with_n or name != "n")]
    pairs = ((name, getattr(one, name), getattr(other, name)) for name in names)
    return found + [f"{name}: {before} → {after}" for name, before, after in pairs if before != after]


def _of_measures(one: str, other: str) -> list[str]:
    if one == other:
        return []
    try:
        before, after = parse(one), parse(other)
    except ParamError:  # of somebody's package that is not installed here
        return [f"measure: {one} → {other}"]
    if _family(before) != _family(after):
        return [f"measure: {one} → {other}"]
    first, second = choices(before), choices(after)
    names = dict.fromkeys([*first, *second])
    pairs = ((name, first.get(name, "none"), second.get(name, "none")) for name in names)
    return [f"{name}: {before} → {after}" for name, before, after in pairs if before != after]


def _family(measure: Measure) -> tuple[str, ...]:
    """Return what two measures have in common that differ in choices alone: the family's name, and what it chooses."""
    reads = None if (known := declared(measure)) is None else known.READS
    return (measure.NAME,) if reads is None or not reads.axes else (reads.family, *reads.axes)


def choices(measure: Measure) -> dict[str, Any]:
    """Return everything that a measure chooses: what all of its name do, and its parameters that say something."""
    known = declared(measure)
    if known is None:
        return {name: measure[name] for name in measure.SUPPORTED_PARAMS}
    axes = {} if known.READS is None else dict(known.READS.axes)
    return axes | {name: value for name, value in known.arguments.items() if value not in (None, False)}


def check_comparable(one: Signature, other: Signature, names: tuple[str, str]) -> None:
    """Raise InputError where values of two signatures are not comparable, and say what differs."""
    found = differences(one, other, with_n=False)
    if found:
        raise InputError(
            f"{one.measure} of {names[0]} and of {names[1]} cannot be compared, since their conditions differ: "
            f"{'; '.join(found)}. Evaluate both under the same conditions, and save what you keep anew"
        )


def check_judged(one: Conditions, other: Conditions, names: tuple[str, str]) -> None:
    """Raise InputError where a query has other judgements, and name some that have."""
    sums = [{query_id: part[1:] for query_id, part in known.judged.items() if any(part[1:])} for known in (one, other)]
    first, second = sums
    both = [query_id for query_id in first if query_id in second]
    changed = [query_id for query_id in both if first[query_id] != second[query_id]]
    said = [f"{len(changed):,} of {len(both):,} queries have other judgements{_few(changed)}"] if changed else []
    if one.whole and other.whole:
        for mine, theirs, name in ((first, second, names[0]), (second, first, names[1])):
            alone = [query_id for query_id in mine if query_id not in theirs]
            said += [f"{len(alone):,} are in {name} only{_few(alone)}"] if alone else []
    if not said and one.digest != other.digest:
        said = [f"digest {one.digest} → {other.digest}"]
    if said:
        raise InputError(
            f"{names[0]} and {names[1]} do not rest on the same judgements: {'; '.join(said)}. Values under other "
            "judgements are not comparable: evaluate both against the same qrels"
        )


def _few(query_ids: list[str]) -> str:
    shown = ", ".join(map(repr, query_ids[:_SHOWN]))
    return f" ({shown}{', …' if len(query_ids) > _SHOWN else ''})"
