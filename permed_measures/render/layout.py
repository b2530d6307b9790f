"""How tables are set out for a paper: caption, label, decimals, percent, headings of the user's own."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from permed_measures.errors import ParamError, did_you_mean
from permed_measures.render.document import Block, Cell, Document, Table

_MOST = 17  # decimals of a double
_LABEL = re.compile(r"[\w:.+/@!?*()=;| -]*")
_LABELS = (
    "a name for \\ref, such as tab:main: letters, digits and : . - _ + / @, none of the signs that LaTeX reads itself"
)
_IN_PERCENT = 2  # two decimals fewer say as much


@dataclass(frozen=True)
class Layout:
    """What is asked of a report's tables; nothing of it changes what programs read."""

    caption: str = ""  # of the first table, whose title is then a note below it
    label: str = ""  # the first table's in LaTeX
    places: int | None = None
    percent: bool = False
    headings: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise ParamError for what is not allowed, before anything is made."""
        whole, headings = type(self.places) is int and 0 <= self.places <= _MOST, self.headings
        texts = isinstance(headings, Mapping) and all(
            isinstance(text, str) for pair in headings.items() for text in pair
        )
        for name, is_allowed, allowed in (
            ("caption", isinstance(self.caption, str), "a text"),
            ("label", isinstance(self.label, str) and _LABEL.fullmatch(self.label), _LABELS),
            ("places", whole or self.places is None, f"an int from 0 to {_MOST}, or None"),
            ("percent", isinstance(self.percent, bool), "True or False"),
            ("headings", texts, "a dict of texts, such as {'run': 'method'}"),
        ):
            if not is_allowed:
                raise ParamError(f"{name}={getattr(self, name)!r} is not allowed; give {allowed}")

    def of(self, document: Document) -> Document:
        """Return the document so set out; a heading that no table has is a ParamError."""
        known = {head: None for table in document.tables for head in table.heads}
        for head in self.headings:
            if head not in known:
                raise ParamError(f"no table has the heading {head!r}.{did_you_mean(head, list(known))}")
        if self.percent and not any(map(_has_shares, document.tables)):
            raise ParamError("percent=True is for values of measures from 0 to 1, and no table has any: leave it out")
        first = next(iter(document.tables), None)

        def set_out(block: Block) -> Block:
            if not isinstance(block, Table):
                return block
            table = self._numbers(block._replace(heads=[self.headings.get(head, head) for head in block.heads]))
            if first is None or block.name != first.name or block.heads != first.heads or block.title != first.title:
                return table
            moved = [table.title, *table.below] if self.caption and table.title else table.below
            return table._replace(title=self.caption or table.title, below=moved, label=self.label)

        sections = [part._replace(blocks=[set_out(block) for block in part.blocks]) for part in document.sections]
        return document._replace(sections=sections)

    def _numbers(self, table: Table) -> Table:
        percent = self.percent and _has_shares(table)
        less = _IN_PERCENT if percent else 0
        places = max(table.places - less, 0) if self.places is None else self.places
        below = [*table.below, "values are in percent"] if percent else table.below
        return table._replace(places=places, percent=percent, below=below)


def _has_shares(table: Table) -> bool:
    return any(isinstance(cell, Cell) and cell.share for row in table.rows for cell in row)
