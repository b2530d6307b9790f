"""What explain() found: values with their conventions, ties, and the whole explanation."""

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from permed_measures.evaluate.conventions import AXES, About, Convention, in_words, short
from permed_measures.evaluate.conventions.names import options_of
from permed_measures.explanation.tools import Tool
from permed_measures.render.document import Document, Table
from permed_measures.render.result import Result


@dataclass(frozen=True)
class Combination:
    """One value, and the conventions that give it: the simplest one said, the others counted."""

    convention: Convention
    value: float
    measure: str | None
    """The measure of ours or of ir_measures that computes exactly this with ``evaluate(…, **options)``."""
    tools: tuple[Tool, ...] = ()
    others: int = 0  # how many other conventions give the value too
    truncated: bool = False  # the value is met by cutting decimals off, not by rounding

    @property
    def words(self) -> str:
        """The convention, said."""
        return in_words(self.convention)

    @property
    def options(self) -> dict[str, Any]:
        """What ``evaluate()`` needs beside the measure."""
        return options_of(self.convention)

    @property
    def used_by(self) -> str:
        """The tools and papers that use it."""
        return "; ".join(tool.label(self.convention.at) for tool in self.tools)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        return {
            "value": self.value,
            "words": self.words,
            "measure": self.measure,
            "options": self.options if self.measure else {},
            "convention": self.convention.to_dict(),
            "tools": [tool.to_dict(self.convention.at) for tool in self.tools],
            "others": self.others,
            "truncated": self.truncated,
        }


@dataclass(frozen=True)
class Ties:
    """What equal scores leave open."""

    tied: int
    documents: int
    queries: int
    convention: Convention
    value: float
    expected: float
    best: float
    worst: float

    @property
    def share(self) -> float:
        """The share of tied documents among those of the top k."""
        return self.tied / self.documents if self.documents else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return all of it for JSON; the values are those of the convention named."""
        numbers = {name: number if number == number else None for name, number in asdict(self).items()}
        del numbers["convention"]
        return {"share": self.share, **numbers, "words": in_words(self.convention)}


class Moved(NamedTuple):
    """One query before and after; None where it does not count."""

    query_id: str
    before: float | None
    after: float | None
    share: float  # what it adds to the change of the mean


@dataclass(frozen=True)
class Step:
    """One toggle."""

    axis: str
    words: str
    before: float
    after: float
    moved: tuple[Moved, ...]  # the queries that changed most
    changed: int  # how many queries changed

    @property
    def change(self) -> float:
        """What the toggle adds to the mean."""
        return self.after - self.before

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        same = {name: getattr(self, name) for name in ("axis", "words", "before", "after", "change")}
        return {**same, "changed_queries": self.changed, "queries": [moved._asdict() for moved in self.moved]}


@dataclass(frozen=True)
class Waterfall:
    """The walk from A to B."""

    names: tuple[str, str]
    start: Convention
    end: Convention
    steps: tuple[Step, ...]
    values: tuple[float, float]
    moved: tuple[Moved, ...]  # the queries that changed most from A to B

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "a": {"name": self.names[0], "value": self.values[0], "words": in_words(self.start)},
            "b": {"name": self.names[1], "value": self.values[1], "words": in_words(self.end)},
            "steps": [step.to_dict() for step in self.steps],
            "queries": [moved._asdict() for moved in self.moved],
        }


@dataclass(frozen=True, repr=False)
class Explanation(Result):
    """What :func:`explain` returns."""

    about: tuple[About, ...]
    combinations: tuple[Combination, ...]
    """Every value of the families, each with its simplest convention; by cost, the plainest first."""
    conventions: int  # how many conventions were computed
    closed: dict[str, str]  # axes that change nothing on this run, and why
    ties: tuple[Ties, ...]
    value: float | None = None
    decimals: int | None = None
    matches: tuple[Combination, ...] = ()
    """Those that give the value at the stated decimals; none of them adds a convention to another one."""
    nearest: tuple[Combination, ...] = ()  # where nothing matches: the nearest values
    elsewhere: tuple[Combination, ...] = ()
    """Where nothing matches: plain conventions of other cut-offs and other names that do."""
    waterfall: Waterfall | None = None
    notes: tuple[str, ...] = ()

    @property
    def spread(self) -> tuple[Combination, Combination]:
        """The lowest and the highest value that the name can mean."""
        by_value = sorted(self.combinations, key=lambda combination: combination.value)
        return by_value[0], by_value[-1]

    def record(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        low, high = self.spread
        found: dict[str, Any] = {
            "about": [short(*about) for about in self.about],
            "conventions": self.conventions,
            "values": len(self.combinations),
            "spread": {"lowest": low.to_dict(), "highest": high.to_dict()},
            "ties": [ties.to_dict() for ties in self.ties],
            "closed": {axis: {"about": AXES[axis].about, "why": why} for axis, why in self.closed.items()},
            "notes": list(self.notes),
        }
        if self.value is not None:
            found |= {"value": self.value, "decimals": self.decimals}
            for name in ("matches", "nearest", "elsewhere"):
                found[name] = [combination.to_dict() for combination in getattr(self, name)]
        if self.waterfall is not None:
            found["waterfall"] = self.waterfall.to_dict()
        found["combinations"] = [combination.to_dict() for combination in self.combinations]
        return found

    def as_table(self) -> Table:
        """Return every value with its convention."""
        heads = ["value", "convention", "measure", "used by", "others"]
        return Table(heads, [[c.value, c.words, c.measure, c.used_by, c.others] for c in self.combinations])

    def document(self, *, all_values: bool = False) -> Document:
        """Return the question and its answer; ``all_values`` adds every value of the family."""
        from permed_measures.explanation.report import document  # noqa: PLC0415  (reports are for those who print)

        return document(self, all_values=all_values)
