"""What a gate found: its checks, its verdict and exit code, as people and programs read it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from permed_measures.gating.checks import Check, Verdict
from permed_measures.render.document import Block, Cell, Document, Figure, Lines, Section, Table, Value, interval_cell
from permed_measures.render.html import figures
from permed_measures.render.layout import Layout
from permed_measures.render.plots import Dot, dots
from permed_measures.render.records import as_json
from permed_measures.render.result import Format, Result
from permed_measures.render.words import NONE, counted, p_value

SCHEMA = 1
"""Of the JSON; docs/schemas/gate.json describes it. Raised when a field goes or changes its meaning."""
_SIGNS: dict[Verdict, str] = {"holds": "holds", "fails": "FAILS", "undecided": "UNDECIDED", "skipped": "skipped"}
_DRAWN = 40  # checks in a plot
_RECORD = (
    *("verdict", "what", "kind", "segment", "value", "baseline", "drop", "low", "high", "bound", "p", "p_adjusted"),
    *("p_no_drop", "n", "units", "smallest_margin", "queries_needed", "exit_code", "why"),
)


@dataclass(frozen=True, repr=False)
class Gate(Result):
    """What was checked. ``exit_code``: 0 it may pass, 1 a check fails, 3 it could not be told and should not pass."""

    FLAT: ClassVar = ("what",)

    run: str
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()
    baseline: str | None = None
    warnings: tuple[str, ...] = ()  # what a reader must not miss although the gate may pass
    changes: Mapping[str, Mapping[str, tuple[float, float]]] = field(default_factory=dict)
    """By measure: of every query that changed, its value in the baseline and in the run."""
    unchanged: Mapping[str, int] = field(default_factory=dict)  # by measure: how many queries have the same value
    options: Mapping[str, Any] = field(default_factory=dict)  # what the gate was asked with

    @property
    def verdict(self) -> Verdict:
        """'fails' when a check fails, 'holds' when every check holds that was not skipped, else 'undecided'."""
        found = {check.verdict for check in self.checks}
        if "fails" in found:
            return "fails"
        return "holds" if "holds" in found and found <= {"holds", "skipped"} else "undecided"

    @property
    def exit_code(self) -> int:
        """1 when a check fails, 3 when one is undecided that may not be, else 0."""
        codes = {check.exit_code for check in self.checks}
        return 1 if 1 in codes else max(codes, default=3)

    @property
    def held(self) -> bool:
        """Whether every check holds; undecided is not held."""
        return self.verdict == "holds"

    @property
    def summary(self) -> str:
        """The verdict in one line."""
        total = len(self.checks)
        counts = Counter(check.verdict for check in self.checks)
        if set(counts) == {"holds"}:
            said = "it holds" if total == 1 else "all hold"
        else:
            plurals = {"holds": "hold", "FAILS": "FAIL"}
            shown = [(counts[verdict], sign) for verdict, sign in _SIGNS.items() if counts[verdict]]
            said = ", ".join(f"{num} {sign if num == 1 else plurals.get(sign, sign)}" for num, sign in shown)
        return f"{self.run}: {counted(total, 'check')}, {said} (exit code {self.exit_code})"

    def record(self) -> dict[str, Any]:
        """Return all of it for JSON; docs/schemas/gate.json describes every field."""
        changed = {
            name: {
                "better": sum(after > before for before, after in pairs.values()),
                "worse": sum(after < before for before, after in pairs.values()),
                "same": self.unchanged[name],
            }
            for name, pairs in self.changes.items()
        }
        return {
            "permed_measures": "gate",
            "schema": SCHEMA,
            **{name: getattr(self, name) for name in ("run", "baseline", "verdict", "exit_code", "summary")},
            "checks": [check.to_dict() for check in self.checks],
            "changed": changed,
            "warnings": list(self.warnings),
            "notes": list(self.notes),
            "options": dict(self.options),
        }

    def as_table(self) -> Table:
        """Return one row per check, its numbers unrounded."""
        rows = []
        for check in self.checks:
            record = check.to_dict()
            record["low"], record["high"] = check.interval or (None, None)
            rows.append([record[name] for name in _RECORD])
        return Table(_RECORD, rows)

    def render(self, form: Format = "text", *, layout: Layout | None = None, **asked: bool) -> str:
        """Return the report; as JSON Lines it has one object per check, as JSON has them."""
        if form == "jsonl":
            return "".join(as_json(check.to_dict(), None) + "\n" for check in self.checks)
        return super().render(form, layout=layout, **asked)

    def table(self) -> Table:
        """Return the checks as people read them; a column that would be empty is left out."""
        rows: list[list[Value]] = []
        for check in self.checks:
            row: list[Value] = [_SIGNS[check.verdict], check.what, check.value, check.baseline]
            row += [Cell(check.drop, sign=True), interval_cell(check.interval, sign=check.drop is not None)]
            row.append(Cell(check.p_adjusted, p_value(check.p_adjusted)))
            num = Cell(check.n, NONE if check.n is None else f"{check.n:,}")
            rows.append([*row, num, check.smallest_margin, check.why])
        level = self.options.get("alpha", 0.05)
        interval = "95%" if level == 0.05 else f"{1 - level:.4g}".replace("0.", ".")  # noqa: PLR2004  (the usual one)
        heads = ["verdict", "check", "value", "baseline", "drop", f"{interval} interval", "p", "n", "decidable", "why"]
        table = Table(heads, rows).filled(3)
        below = ["decidable: the smallest margin that these queries can decide"] if "decidable" in table.heads else []
        return table._replace(below=below)

    def document(self) -> Document:
        """Return the checks, the warnings, the notes, and the verdict in one line."""
        blocks: list[Block] = [
            self.table(),
            Lines(self.warnings, "WARNING: "),
            Lines(self.notes, "note: "),
            Lines([self.summary]),
        ]
        return Document("", "", [Section("", blocks)])

    def page(self) -> Document:
        """Return the verdict, the checks, and plots of drops and values with what is allowed."""
        section = self.document().sections[0]
        drawn = [
            *self._plot("drop", "Drops with their intervals", "dashed: the largest drop that is allowed", changes=True),
            *self._plot("value", "Values with their intervals", "dashed: the value that is asked for"),
        ]
        blocks = [*([figures(drawn)] if drawn else []), *section.blocks[:-1]]
        return Document(f"{self.run}: {_SIGNS[self.verdict]}", self.summary, [Section("", blocks)])

    def _plot(self, kind: str, title: str, said: str, *, changes: bool = False) -> list[Figure]:
        """Draw the checks of a kind that have an interval, those that fail first where they are many."""
        found = [check for check in self.checks if check.kind.startswith(kind) and check.interval]
        shown = sorted(found, key=lambda check: check.verdict != "fails")[:_DRAWN]
        rows = [
            Dot(check.condition.name + check.part, check.drop if changes else check.value, *drawn)
            for check in shown
            for drawn in [(check.interval, check.condition.bound, check.verdict)]
        ]
        more = f"; {len(shown)} of {len(found)} are drawn" if len(shown) < len(found) else ""
        return [Figure(dots(rows, title, changes=changes), title, said + more)] if rows else []
