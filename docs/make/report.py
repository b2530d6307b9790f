"""Pictures of pages that the package writes: the demo's report, whole and in parts, and what other results show."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import examples

from permed_measures import compare, evaluate, gate
from permed_measures.cli.demo import DESCRIPTIONS, write_example
from permed_measures.comparison.one_query import one_query
from permed_measures.evaluate.report import Evaluations
from permed_measures.files import read_qrels, read_run

PARTS = ("header", "#means", "#conclusions", "#plots", "#changes", "#queries", "#definitions", "#conditions", "#notes")
"""The parts of a comparison's page, in their order; docs/reading-a-report.md explains them by number."""

_BADGE = (
    "{part}{{position:relative}}{part}::before{{content:'{number}';position:absolute;right:0;top:0;z-index:9;"
    "background:#c2185b;color:#fff;border-radius:50%;width:1.7em;height:1.7em;line-height:1.7em;text-align:center;font-weight:700}}"
)


def page() -> str:
    """Return the report of the demo's data, as ``permed-measures demo`` writes it."""
    with tempfile.TemporaryDirectory() as folder:
        qrels, retrieved, *runs, _ = write_example(folder)
        named = {path.stem: path for path in runs}
        result = compare(
            qrels, retrieved, named, profile="permed", baseline_name="retrieved", descriptions=DESCRIPTIONS
        )
        return result.to_html()


def annotated(report: str) -> str:
    """Return the report with a number at each of its parts; a part that is gone is an error."""
    wanted = [part.removeprefix("#") for part in PARTS]
    missing = [part for part in wanted if f'id="{part}"' not in report and f"<{part}" not in report]
    if missing:
        msg = f"the report has no {', '.join(missing)}: docs/make/report.py and docs/reading-a-report.md name its parts"
        raise SystemExit(msg)
    style = "".join(
        _BADGE.format(part=f"main {part}, {part}".split(", ")[1], number=n) for n, part in enumerate(PARTS, 1)
    )
    return _free(report).replace("</head>", f"<style>{style}</style></head>", 1)


def opened() -> str:
    """Return the report that docs/drill-down.md makes, with its first query opened and nothing else shown."""
    text = (examples.FOLDER / "drill-down.md").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        examples.run(text, Path(folder))
        report = _free((Path(folder) / "report.html").read_text(encoding="utf-8"))
    style = "header,footer,section:not(#queries),h2,.wide-figures,figure,#queries>p{display:none}"
    click = "document.querySelector('#query-table tbody button').click()"
    return report.replace("</body>", f"<style>{style}</style><script>{click}</script></body>", 1)


def others() -> list[tuple[str, str, tuple[int, int]]]:
    """Return name, page and size of an evaluation, a notebook's cell, one query, rules of ties, and a gate."""
    with tempfile.TemporaryDirectory() as folder:
        paths = {path.stem: path for path in write_example(folder)[:-1]}
        qrels, runs = read_qrels(paths.pop("qrels")), {name: read_run(path) for name, path in paths.items()}
    few = {name: runs[name] for name in ("retrieved", "query_only", "profile_query")}
    two = {name: few[name] for name in ("retrieved", "query_only")}
    coarse = {q: {doc_id: -float(n // 3) for n, doc_id in enumerate(of)} for q, of in few["query_only"].items()}
    rules = ("trec", "input", "expected", "best", "worst")
    by_rule = {rule: evaluate(qrels, coarse, "nDCG@10 AP", ties=rule) for rule in rules}
    cell = compare(
        qrels, few["retrieved"], {"query_only": few["query_only"]}, profile="permed", baseline_name="retrieved"
    )
    limits = {"baseline": few["retrieved"], "max_drop": 0.02, "cluster": "conversation"}
    page = Evaluations({name: evaluate(qrels, run, profile="permed") for name, run in few.items()}).to_html()
    shell = '<!DOCTYPE html><meta charset="utf-8"><style>body{font:14px/1.5 system-ui,sans-serif;margin:16px}</style>'
    return [
        ("evaluation", page, (1000, 890)),
        ("notebook", shell + cell._repr_html_(), (1000, 1000)),
        ("query", one_query(qrels, two, next(iter(qrels)), "nDCG@10 AP", depth=4).to_html(), (1000, 820)),
        ("ties", Evaluations(by_rule).to_html(), (1000, 600)),
        ("gate", gate(qrels, few["query_only"], ["nDCG@10>=0.8", "P@1>=0.5"], **limits).to_html(), (1000, 700)),
    ]


def _free(report: str) -> str:
    """Return a report without its policy, which allows only styles and scripts with their own hash."""
    return report.replace('http-equiv="Content-Security-Policy"', 'name="policy-of-the-original"')


def pictures(target: Path) -> bool:
    """Take pictures of the pages with Chromium, where there is one."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        return False
    short = "<style>#query-table tbody tr:nth-child(n+6){display:none}</style></head>"
    plain = page()
    numbered = annotated(plain).replace("</head>", short, 1)
    taken = (
        ("report", plain, (1100, 1290)),
        ("report-annotated", numbered, (1100, 3800)),
        ("drill-down", opened(), (1000, 490)),
        *others(),
    )
    for name, source, (width, height) in taken:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "page.html"
            path.write_text(source, encoding="utf-8")
            flags = [
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                f"--window-size={width},{height}",
            ]
            where = [f"--user-data-dir={folder}/profile", f"--screenshot={target / name}.png", path.as_uri()]
            subprocess.run([chromium, *flags, *where], check=True, capture_output=True, timeout=120)
    return True
