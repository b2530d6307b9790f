"""What GitHub, GitLab and Jenkins show of a gate: markdown for a summary or a comment, annotations, JUnit's XML."""

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from permed_measures.errors import InputError, visible
from permed_measures.files.output import write_whole
from permed_measures.gating.result import Gate
from permed_measures.render.document import Document, Lines, Section, Table, Value
from permed_measures.render.result import written

_NAMED = re.compile(r""" \(['"].*['"](, …)?\)""")  # the query ids that a note names
MARKER = "<!-- permed-measures gate -->"
"""The first line of the markdown: a comment that starts with it is replaced, not repeated."""
_TITLES = {0: "✅ The gate holds", 1: "❌ The gate fails", 3: "❓ The gate could not tell"}
_PASSES = "⚠️ The gate passes, undecided"
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_PROPERTIES = ("value", "baseline", "drop", "interval", "p", "n", "smallest_margin", "verdict")


def markdown(result: Gate, show_queries: int = 0, texts: Mapping[str, str] | None = None) -> str:
    """Return the markdown; ``show_queries`` names so many of the queries that fell most, with their ``texts``."""
    title = _TITLES[result.exit_code] if result.exit_code or result.held else _PASSES
    changed = result.to_dict()["changed"]
    rows = [[name, *counts.values()] for name, counts in changed.items()]
    shown = result if show_queries else replace(result, notes=tuple(_NAMED.sub("", note) for note in result.notes))
    sections = [Section(title, shown.document().sections[0].blocks)]
    if rows:
        sections.append(Section("What changed", [Table(["measure", "better", "worse", "same"], rows)]))
    if show_queries and rows:
        fell = _fallen(result, show_queries, texts or {})
        sections.append(Section("Queries that fell most", [fell] if fell.rows else [Lines(["none"])]))
    return f"{MARKER}\n{written(Document('', '', sections), 'markdown')}"


def _fallen(result: Gate, number: int, texts: Mapping[str, str]) -> Table:
    rows: list[list[Value]] = []
    for name, pairs in result.changes.items():
        fell = sorted((after - before, query_id) for query_id, (before, after) in pairs.items() if after < before)
        for _, query_id in fell[:number]:
            before, after = pairs[query_id]
            rows.append([name, query_id, *([texts.get(query_id, "")] if texts else []), before, after])
    return Table(["measure", "query", *(["text"] if texts else []), "baseline", "run"], rows)


def markdown_error(message: str) -> str:
    """Return the markdown of a gate that could not be made."""
    document = Document("", "", [Section("❌ The gate could not be checked", [Lines([_NAMED.sub("", message)])])])
    return f"{MARKER}\n{written(document, 'markdown')}"


def add_summary(path: str | None, text: str) -> None:
    """Write the summary to a file; on GitHub add it to the step's own, too."""
    if path is not None:
        write_whole(path, text)
    step = os.environ.get("GITHUB_STEP_SUMMARY")
    if step and step != path:
        try:
            with Path(step).open("a", encoding="utf-8") as file:
                file.write(text + "\n")
        except OSError as error:
            raise InputError(f"cannot write the step summary: {error.strerror}", path=step) from error


def commands(result: Gate) -> list[str]:
    """Return GitHub's commands for everything that does not hold; nothing elsewhere."""
    found = []
    for check in result.checks:
        if check.exit_code or check.verdict == "undecided":
            kind = "error" if check.exit_code else "warning"
            found.append(annotation(kind, f"{check.what}: {check.verdict}", check.why))
    return found


def annotation(kind: str, title: str, message: str) -> str:
    r"""Return one of GitHub's commands.

    >>> annotation("error", "P@1 >= 0.5: fails", "100% off\n")
    '::error title=P@1 >= 0.5%3A fails::100%25 off%0A'
    """
    return f"::{kind} title={_escaped(title).replace(':', '%3A').replace(',', '%2C')}::{_escaped(message)}"


def _escaped(text: str) -> str:
    return visible(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def on_github() -> bool:
    """Whether this runs in a GitHub workflow."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def junit(result: Gate) -> str:
    """Return the XML of a gate: undecided is a failure where it does not let the build pass, else a skipped test."""
    cases = []
    for check in result.checks:
        passed = "skipped" if check.verdict in ("undecided", "skipped") else "system-out"
        said = f"{check.what}: {check.verdict}" + (f", {check.why}" if check.why else "")
        cases.append((check.what, "failure" if check.exit_code else passed, said, check.to_dict()))
    return _junit(result.run, cases)


def junit_error(run: str, message: str) -> str:
    """Return the XML of a gate that could not be made: one error."""
    return _junit(run, [("the gate could be checked", "error", message, {"verdict": "error"})])


def _junit(run: str, cases: Sequence[tuple[str, str, str, Mapping[str, Any]]]) -> str:
    """Write one test case for each name, tag, message and record."""
    tags = Counter(tag for _, tag, _, _ in cases)
    count = {"tests": len(cases), "failures": tags["failure"], "errors": tags["error"], "skipped": tags["skipped"]}
    attributes = {**{name: str(number) for name, number in count.items()}, "time": "0"}
    suites = ET.Element("testsuites", {"name": "permed-measures", **attributes})
    suite = ET.SubElement(suites, "testsuite", {"name": _xml(f"gate {run}"), **attributes})
    for name, tag, said, record in cases:
        case = ET.SubElement(suite, "testcase", {"classname": "permed-measures.gate", "name": _xml(name), "time": "0"})
        if tag != "error":
            properties = ET.SubElement(case, "properties")
            for key in (key for key in _PROPERTIES if record[key] is not None):
                ET.SubElement(properties, "property", {"name": key, "value": str(record[key])})
        told = {} if tag == "system-out" else {"message": _xml(said)}
        told |= {"type": record["verdict"]} if tag in ("failure", "error") else {}
        ET.SubElement(case, tag, told).text = None if tag == "skipped" else _xml(said)
    ET.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def _xml(text: str) -> str:
    """Replace the characters that XML cannot hold."""
    return _NOT_XML.sub("\ufffd", text)
