"""A signature read back in words, and what two of them do not have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from permed_measures.errors import ParamError
from permed_measures.measures import declared, parse
from permed_measures.render.document import Document, Lines, Section, Table
from permed_measures.render.result import Result
from permed_measures.signature import Signature, choices, differences

_ORDERS = {
    "float32": "scores are compared as 32-bit floats, ties by document id, descending: trec_eval 9.0.8 and pytrec_eval",
    "float64": "scores are compared as 64-bit floats, ties by document id, descending: trec_eval 10.0",
}
_QUERIES = {
    "qrels": "the mean runs over the queries of the qrels; one that the run lacks counts 0",
    "run": "the mean runs over the queries of the run",
    "both": "the mean runs over the queries that are in the qrels and in the run",
}


def is_signature(text: str) -> bool:
    """Whether a text is meant as a signature: no file is called so."""
    return "|order:" in text


@dataclass(frozen=True, repr=False)
class SignatureReading(Result):
    """What the conditions of a number are; of two numbers, where they differ."""

    first: Signature
    second: Signature | None = None

    @classmethod
    def of(cls, first: str, second: str | None = None) -> SignatureReading:
        """Read one signature, or two."""
        return cls(Signature.parse(first), None if second is None else Signature.parse(second))

    @property
    def differences(self) -> list[str]:
        """What the two do not have in common."""
        return [] if self.second is None else differences(self.first, self.second)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        both = [self.first, *([] if self.second is None else [self.second])]
        return {"signatures": [one._asdict() for one in both], "differences": self.differences, "words": self._words()}

    def _words(self) -> dict[str, str]:
        """Say what each condition of the first means."""
        one = self.first
        return {
            "measure": _measure(one.measure),
            "order": _ORDERS.get(one.order, "an order that is not known here"),
            "queries": _QUERIES.get(one.queries, "queries that are not known here"),
            "n": "so many queries",
            "judgements": "so many judgements; as many others have another digest",
            "digest": "of all judgements, whatever their order and file format",
            "version": "of the measure: raised when its values move",
        }

    def document(self) -> Document:
        """Return the conditions in words, or the differences."""
        if self.second is None:
            rows = [[name, str(getattr(self.first, name)), said] for name, said in self._words().items()]
            return Document("", "", [Section("", [Table(["condition", "is", "means"], rows, left=3)])])
        found = self.differences
        if not found:
            said = "the two have the same conditions: their numbers can be compared"
        elif all(one.startswith("n: ") for one in found):
            said = "only the number of queries differs: compare them on the queries that both have"
        else:
            said = "their numbers cannot be compared"
        rows = [[name, *change.split(" → ", 1)] for name, _, change in (one.partition(": ") for one in found)]
        kept = [[name, *(parts if len(parts) == 2 else [*parts, ""])] for name, *parts in rows]  # noqa: PLR2004  (before, after)
        table = [Table(["condition", "first", "second"], kept, left=3)] if kept else []
        return Document("", "", [Section("", [*table, Lines([said])])])


def _measure(name: str) -> str:
    """Return what a measure is, and everything that it chooses."""
    try:
        measure = parse(name)
    except ParamError:
        return "of a package that is not installed here"
    known = declared(measure)
    about = (type(measure).__doc__ if known is None else known.__doc__) or ""
    first = about.strip().split("\n\n")[0].rstrip(".")
    return "; ".join([" ".join(first.split()), *(f"{axis}: {value}" for axis, value in choices(measure).items())])
