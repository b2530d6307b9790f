"""JUnit's XML, as GitLab and Jenkins read it: one test case per check; what could not be checked is an error."""

import re
from collections import Counter
from xml.etree import ElementTree as ET

from permed_measures.gating.checks import Check
from permed_measures.gating.result import Gate

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SHOWN = ("value", "baseline", "drop", "interval", "p", "n", "smallest_margin", "verdict")


def junit(result: Gate) -> str:
    """Return the XML of a gate: undecided is a failure where it does not let the build pass, else a skipped test."""
    suites, suite = _suite(result.run, result.checks)
    for check in result.checks:
        case = _case(suite, check.what)
        record = check.to_dict()
        properties = ET.SubElement(case, "properties")
        for name in _SHOWN:
            if record[name] is not None:
                ET.SubElement(properties, "property", {"name": name, "value": str(record[name])})
        said = _xml(f"{check.what}: {check.verdict}" + (f", {check.why}" if check.why else ""))
        tag = _tag(check)
        if tag == "failure":
            ET.SubElement(case, tag, {"message": said, "type": check.verdict}).text = said
        elif tag == "skipped":
            ET.SubElement(case, tag, {"message": said})
        else:
            ET.SubElement(case, "system-out").text = said
    return _written(suites)


def junit_error(run: str, message: str) -> str:
    """Return the XML of a gate that could not be made: one error."""
    suites, suite = _suite(run, (), errors=1)
    said = {"message": _xml(message), "type": "error"}
    ET.SubElement(_case(suite, "the gate could be checked"), "error", said).text = _xml(message)
    return _written(suites)


def _tag(check: Check) -> str:
    if check.exit_code:
        return "failure"
    return "skipped" if check.verdict in ("undecided", "skipped") else ""


def _suite(run: str, checks: tuple[Check, ...], errors: int = 0) -> tuple[ET.Element, ET.Element]:
    tags = Counter(map(_tag, checks))
    count = {"tests": len(checks) + errors, "failures": tags["failure"], "errors": errors, "skipped": tags["skipped"]}
    attributes = {**{name: str(number) for name, number in count.items()}, "time": "0"}
    suites = ET.Element("testsuites", {"name": "permed-measures", **attributes})
    return suites, ET.SubElement(suites, "testsuite", {"name": _xml(f"gate {run}"), **attributes})


def _case(suite: ET.Element, name: str) -> ET.Element:
    return ET.SubElement(suite, "testcase", {"classname": "permed-measures.gate", "name": _xml(name), "time": "0"})


def _written(suites: ET.Element) -> str:
    ET.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def _xml(text: str) -> str:
    """Replace the characters that XML cannot hold."""
    return _NOT_XML.sub("\ufffd", text)
