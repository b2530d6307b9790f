"""Which convention a tool or a paper uses for a name: tools.json, each entry with its source and how it was checked.

An entry that says ``compat`` is verified by compat/test_tools.py against the installed tool on all corpora. The others
were verified by hand: the tool's own function was run on made-up and real lists and gave the same number.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from permed_measures.errors import ParamError, did_you_mean
from permed_measures.evaluate.conventions import AXES, FAMILIES, SHARED, Convention, base_of, parse_about

_TIES_OPEN = "the order of equal scores is not defined there: that of the run is taken"


@dataclass(frozen=True, eq=False)
class Tool:
    """One measure of one tool."""

    tool: str
    name: str
    """What the tool calls it; ``{k}`` is the cut-off or recall level, ``{x}`` a level with two decimals.

    A name without it means the whole list.
    """
    family: str
    settings: Mapping[str, Any]  # what differs from the base of the family
    version: str
    source: str
    checked: str
    ties_open: bool = False
    """The tool leaves equal scores to a sort that promises nothing; the order of the run is taken."""
    remark: str = ""
    aliases: tuple[str, ...] = ()  # other spellings of the tool's name

    @property
    def is_cut(self) -> bool:
        """Whether the name has a cut-off or a recall level."""
        return "{" in self.name

    def convention(self, at: float | None) -> Convention:
        """Return what the tool computes at a cut-off, or at a recall level."""
        return base_of(self.family, at)._replace(**self.settings)

    def asked(self, at: float | None) -> str:
        """Return the name with its cut-off or recall level."""
        return self.name if at is None else self.name.replace("{k}", str(at)).replace("{x}", f"{at:.2f}")

    @property
    def release(self) -> str:
        """The tool with its version."""
        return f"{self.tool} {self.version}".strip()

    def label(self, at: float | None) -> str:
        """Return "ranx 0.3.21 map@10"."""
        return f"{self.release} {self.asked(at)}"

    def to_dict(self, at: float | None) -> dict[str, str]:
        """Return the entry for a report."""
        found = {"tool": self.tool, "version": self.version, "name": self.asked(at), "source": self.source}
        found["checked"] = self.checked
        remark = "; ".join(filter(None, [self.remark, _TIES_OPEN if self.ties_open else ""]))
        return {**found, "remark": remark} if remark else found


def tools_in(entries: list[dict[str, Any]]) -> Iterator[Tool]:
    """Yield the measures of every entry, as tools.json writes them.

    ``measures`` maps a name to its family, or to an object: ``family``, settings of its own, and fields of
    :class:`Tool` that replace the entry's. Those of another tool are taken by its name. The ``settings`` of an entry
    hold for each of its measures that has such an axis.
    """
    known: dict[str, dict[str, Any]] = {}
    for entry in entries:
        common = {"settings": {}, **entry}
        measures, settings = common.pop("measures"), common.pop("settings")
        measures = known[measures] if isinstance(measures, str) else measures
        known.setdefault(entry["tool"], measures)
        common["aliases"] = tuple(entry.get("aliases", ()))
        for name, given in measures.items():
            own = {"family": given} if isinstance(given, str) else dict(given)
            family = FAMILIES[own.pop("family")]
            shared = {axis: choice for axis, choice in settings.items() if axis in (*family.axes, *SHARED)}
            chosen = {axis: own.pop(axis) for axis in AXES if axis in own}
            yield Tool(**{**common, "name": name, "family": family.name, "settings": {**shared, **chosen}, **own})


TOOLS = tuple(tools_in(json.loads((files("permed_measures.explanation") / "tools.json").read_text(encoding="utf-8"))))


def tools_of(family: str, at: float | None) -> list[Tool]:
    """Return the entries for a name: those with a cut-off or a recall level, or those for the whole list."""
    return [tool for tool in TOOLS if tool.family == family and tool.is_cut == (at is not None)]


def find(text: str) -> tuple[Tool, int | float | None]:
    """Return the entry of "tool:name" or "tool version:name", and the cut-off or recall level.

    >>> tool, cutoff = find("sklearn:ndcg@10")
    >>> tool.tool, tool.name, cutoff
    ('scikit-learn', 'ndcg_score(k={k})', 10)
    >>> find("trec_eval:map_cut_10")[0].release, find("trec_eval 10.0:map_cut_10")[0].release
    ('trec_eval 9.0.8', 'trec_eval 10.0')
    """
    wanted, _, name = text.partition(":")
    known = {tool: (tool.tool, tool.release, *tool.aliases) for tool in TOOLS}
    entries = [tool for tool, names in known.items() if wanted.lower() in map(str.lower, names)]
    if not entries:
        spelled = {name for names in known.values() for name in names}
        raise ParamError(f"{text!r}: no tool of that name is known.{did_you_mean(wanted, spelled)}")
    for tool in entries:
        number = r"(\\d*\\.?\\d+)" if FAMILIES[tool.family].by_recall else r"(\\d+)"
        found = re.fullmatch(re.sub(r"\\{[kx]\\}", number, re.escape(tool.name)), name.strip(), re.IGNORECASE)
        if found is not None:
            return tool, parse_about(f"{tool.family}@{found[1]}")[1] if tool.is_cut else None
    there = ", ".join(dict.fromkeys(tool.name for tool in entries))
    try:
        family, at = parse_about(name)
    except ParamError:
        raise ParamError(f"{text!r}: {entries[0].tool} is known for {there}") from None
    fitting = [tool for tool in entries if tool in tools_of(family, at)]
    if not fitting:
        label = FAMILIES[family].label
        raise ParamError(f"{text!r}: no {label} of {entries[0].tool} is known; there are {there}")
    return fitting[0], at
