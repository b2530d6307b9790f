"""A page for each measure, from its file: nothing of a measure is written a second time but the question it answers."""

from __future__ import annotations

import ast
import doctest
import html
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from click.testing import CliRunner
from latex2mathml.converter import convert
from words import EN, Words

from permed_measures import evaluate, parse
from permed_measures.cli._group import group
from permed_measures.evaluate.conventions.names import measure_of
from permed_measures.explanation.tools import TOOLS
from permed_measures.measures.base import DEFINED, STANDARD, RankingMeasure
from permed_measures.measures.definitions import description, formula

MEASURES = dict(sorted({**DEFINED, **STANDARD}.items(), key=lambda entry: entry[0].casefold()))
_BOX, _GAP, _HIGH = 58, 8, 96
_SHADES = ("#9fd8b4", "#4fb37c", "#1b7f52")
_GRADES = {0, 1, 2}


class Example(NamedTuple):
    """One call of a docstring: what was evaluated, with which measures, how it is reckoned and what comes out."""

    source: str
    qrels: Mapping[str, Mapping[str, float]]
    run: Mapping[str, Any]
    measures: list[Any]
    comment: str


def mathml(latex: str) -> str:
    """Return a formula as MathML, which browsers draw without a script."""
    return convert(latex.replace("\n", " "), display="block")


def examples(measure: RankingMeasure) -> Iterator[Example]:
    """Yield the evaluate() calls of a measure's docstring."""
    known: dict[str, Any] = {measure.NAME: measure, "evaluate": evaluate}
    for part in doctest.DocTestParser().get_examples(description(measure)):
        calls = [node for node in ast.walk(ast.parse(part.source)) if isinstance(node, ast.Call)]
        call = next((node for node in calls if getattr(node.func, "id", "") == "evaluate"), None)
        exec(part.source, known)  # noqa: S102  (our own docstring)
        if call is not None:
            qrels, run, asked = (eval(ast.unparse(node), known) for node in call.args[:3])  # noqa: S307  (our own docstring)
            measures = list(evaluate(qrels, run, asked).means)
            yield Example(part.source, qrels, run, measures, part.source.partition("#")[2].strip())


def _returned(run: Any) -> list[str]:
    return list(run) if isinstance(run, list) else sorted(run, key=lambda doc: (-run[doc], doc))


def picture(example: Example, query: str, words: Words) -> str:
    """Draw the list of a query: a box for each returned document, then those that are judged and missing."""
    grades, listed = example.qrels.get(query, {}), _returned(example.run.get(query, []))
    missing = [doc for doc in grades if doc not in listed]
    parts = [_box(place, doc, grades.get(doc), str(place + 1), words) for place, doc in enumerate(listed)]
    parts += [_box(len(listed) + 0.5 + place, doc, grades[doc], "", words) for place, doc in enumerate(missing)]
    if missing:
        x = len(listed) * (_BOX + _GAP) + (_BOX + _GAP) * 0.25
        parts.append(f'<line x1="{x}" x2="{x}" y1="6" y2="{_HIGH - 6}" stroke="#8a94a0" stroke-dasharray="3 3"/>')
    wide = (len(listed) + len(missing) + (0.5 if missing else 0)) * (_BOX + _GAP) + _GAP
    label = html.escape(words["list_of"].format(query), quote=True)
    style = "max-width:100%;height:auto;font-family:sans-serif"
    size = f'viewBox="0 0 {wide:g} {_HIGH}" width="{wide:g}" height="{_HIGH}"'
    return f'<svg {size} role="img" aria-label="{label}" style="{style}">{"".join(parts)}</svg>'


def _box(place: float, doc: str, grade: float | None, rank: str, words: Words) -> str:
    x = _GAP + place * (_BOX + _GAP)
    relevant = grade is not None and grade > 0
    fill = (
        _SHADES[min(int(grade or 1), len(_SHADES)) - 1] if relevant else "#e3e7eb" if grade is not None else "#ffffff"
    )
    ink = "#ffffff" if relevant and (grade or 0) > 1 else "#1f2933"
    dashed = ' stroke-dasharray="4 3"' if grade is None else ""
    said = words["unjudged"] if grade is None else words["grade"].format(f"{grade:g}")
    middle = x + _BOX / 2
    return (
        f'<text x="{middle}" y="16" text-anchor="middle" font-size="12" fill="#7b8794">{rank}</text>'
        f'<rect x="{x}" y="22" width="{_BOX}" height="48" rx="7" fill="{fill}" stroke="#7b8794"{dashed}/>'
        f'<text x="{middle}" y="52" text-anchor="middle" font-size="18" fill="{ink}">{html.escape(doc)}</text>'
        f'<text x="{middle}" y="87" text-anchor="middle" font-size="11" fill="#7b8794">{said}</text>'
    )


def _steps(example: Example, query: str, measure: Any, words: Words) -> list[str]:
    """Return a table that goes down the list: what is found so far, and the value if the list were cut there."""
    grades, listed = example.qrels.get(query, {}), _returned(example.run.get(query, []))
    rel = measure.params.get("rel", 1) if "rel" in measure.SUPPORTED_PARAMS else 1
    cut = "cutoff" in measure.SUPPORTED_PARAMS
    deepest = measure.params.get("cutoff") or len(listed)
    head = [words["rank"], words["document"], words["grade_head"], words["found"], words["precision"]]
    rows, found = [], 0
    for rank, doc in enumerate(listed[:deepest], 1):
        grade = grades.get(doc)
        found += grade is not None and grade >= rel
        row = [str(rank), f"`{doc}`", words["unjudged"] if grade is None else f"{grade:g}", str(found)]
        row.append(f"{found}/{rank} = {found / rank:.4f}")
        if cut:
            value = evaluate({query: grades}, {query: listed}, [measure @ rank])
            row.append(f"{value[measure @ rank]:.4f}")
        rows.append(row)
    if cut:
        head.append(words["cut_here"].format(f"`{str(measure).partition('@')[0]}`"))
    return [_row(head), _row(["---"] * len(head)), *map(_row, rows)]


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def called_elsewhere() -> dict[str, list[tuple[str, str, str]]]:
    """Return, for each measure, (tool, its name there, how it is written here), from what ``explain`` knows."""
    found: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for tool in TOOLS:
        at = None if not tool.is_cut else 0.1 if "{x}" in tool.name else 10
        try:
            ours = measure_of(tool.convention(at), sorted(_GRADES))
        except (ValueError, KeyError):  # a level that the tool's family has no number for
            continue
        if ours is not None:
            found[parse(ours).NAME].append((tool.release, tool.asked(at), ours))
    return found


def _paragraphs(measure: RankingMeasure) -> tuple[list[str], str, str]:
    """Return what a docstring explains, when not to use the measure, and its source."""
    text, source, not_for = [], "", ""
    for part in re.split(r"\n\s*\n", description(measure))[1:]:
        words = " ".join(part.split()).replace("``", "`")
        if re.match(r"(Not for .*)?Source: ", words):
            not_for, _, source = words.partition("Source: ")
        elif not part.startswith((">>>", ".. math")):
            text.append(words)
    return text, not_for, source


def _names(name: str, words: Words) -> list[str]:
    shown = CliRunner().invoke(group, ["measures", name]).output
    part = shown.partition("\nNames\n")[2].partition("\n\n")[0]
    found = re.findall(r"^  (\S+)\s+(.+?)(?:   \((.+)\))?$", part, re.MULTILINE)
    return [
        _row([host, words["comma"].join(f"`{one}`" for one in names.split(", ")), f"`{given}`" if given else ""])
        for host, names, given in found
    ]


def page(name: str, elsewhere: Mapping[str, list[tuple[str, str, str]]], words: Words = EN) -> str:
    """Return the page of a measure."""
    measure = MEASURES[name]
    record = json.loads(CliRunner().invoke(group, ["measures", name, "--format", "json"]).output)
    sentence = words.said(name, "sentence", " ".join(description(measure).partition("\n\n")[0].split()))
    text, not_for, source = _paragraphs(measure)
    lines = [f"# {name}", "", f"**{words.said(name, 'label', record['label'])}**{words['stop']}{sentence}", ""]
    latex = formula(measure)
    if latex:
        lines += [f"## {words['formula']}", "", mathml(latex), "", words["letters"], ""]
    explained = words.said(name, "text", "\n\n".join(text))
    lines += [explained, ""] if explained else []
    lines += _worked(measure, words)
    lines += [f"## {words['parameters']}", "", *_parameters(record, name, words), ""]
    lines += [
        f"## {words['names']}",
        "",
        _row([words["host"], words["written"], words["means"]]),
        "| --- | --- | --- |",
    ]
    lines += [*_names(name, words), ""]
    if elsewhere.get(name):
        lines += [
            f"## {words['others']}",
            "",
            words["others_text"],
            "",
            _row([words["tool"], words["there"], words["here"]]),
        ]
        lines += ["| --- | --- | --- |", *(_row([t, f"`{n}`", f"`{ours}`"]) for t, n, ours in elsewhere[name]), ""]
    said = words.said(name, "not_for", not_for)
    lines += [f"## {words['not_for']}", "", said, ""] if said else []
    lines += [f"## {words['source']}", "", source, "", words["computed_by"].format(record["computed_by"]), ""]
    return "\n".join(lines)


def _parameters(record: Mapping[str, Any], name: str, words: Words) -> list[str]:
    if not record["params"]:
        return [words["none"]]
    rows = [_row([words["parameter"], words["default"], words["what"]]), "| --- | --- | --- |"]
    for param, info in record["params"].items():
        default = (
            words["required"]
            if info["required"]
            else words["no_default"]
            if info["default"] is None
            else f"`{info['default']!r}`"
        )
        choices = words["comma"].join(f"`{choice!r}`" for choice in info.get("choices", ()))
        said = words.said(name, param, info["desc"])
        rows.append(_row([f"`{param}`", default, said + (words["brackets"].format(choices) if choices else "")]))
    return rows


def _worked(measure: RankingMeasure, words: Words) -> list[str]:
    lines = [f"## {words['worked']}", ""]
    drawn: set[str] = set()
    for example in examples(measure):
        lists = json.dumps([example.qrels, example.run])
        asked = next((one for one in example.measures if one.NAME == measure.NAME), None)
        if lists not in drawn and asked is not None:
            drawn.add(lists)
            for query in example.qrels:
                lines += [
                    words["list_of"].format(query) + words["colon"].strip(),
                    "",
                    picture(example, query, words),
                    "",
                ]
                lines += [*_steps(example, query, asked, words), ""]
        means = evaluate(example.qrels, example.run, example.measures).means
        values = words["semicolon"].join(f"`{one}` = **{value:.4f}**" for one, value in means.items())
        lines += [f"{words['result']}{values}" + (words["colon"] + example.comment if example.comment else ""), ""]
    code = description(measure)
    shown = code[code.index(">>>") :].partition("\n\n")[0]
    lines += [f'??? note "{words["as_code"]}"', "    ```python", *("    " + line for line in shown.splitlines())]
    return [*lines, "    ```", ""]


def index(words: Words = EN) -> str:
    """Return the page that leads from a question to the measures that answer it."""
    lines = [f"# {words['measures_title']}", "", words["measures_text"], "", f"## {words['by_question']}", ""]
    lines += [_row([words["question"], words["measure"]]), "| --- | --- |"]
    for question, names in words.questions.items():
        lines.append(
            _row(
                [
                    question,
                    words["comma"].join(f"[`{name}`]({name.partition('@')[0].partition('(')[0]}.md)" for name in names),
                ]
            )
        )
    lines += ["", f"## {words['all_measures']}", "", _row([words["measure"], words["what_it_is"]]), "| --- | --- |"]
    for name, measure in MEASURES.items():
        sentence = words.said(name, "sentence", " ".join(description(measure).partition("\n\n")[0].split()))
        lines.append(_row([f"[`{name}`]({name}.md)", sentence]))
    return "\n".join([*lines, "", words["more_measures"], ""])


def pages(words: Words = EN) -> dict[str, str]:
    """Return all of them by the name of their file."""
    elsewhere = called_elsewhere()
    return {"index.md": index(words), **{f"{name}.md": page(name, elsewhere, words) for name in MEASURES}}
