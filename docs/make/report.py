"""The pictures of the report: the demo's own HTML, with a number at each part for the page that explains them."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from permed_measures import compare
from permed_measures.cli.demo import DESCRIPTIONS, write_example

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
    # the page allows only styles with its own hash: the copy for the manual has none of that
    opened = report.replace('http-equiv="Content-Security-Policy"', 'name="policy-of-the-original"')
    return opened.replace("</head>", f"<style>{style}</style></head>", 1)


def screenshot(source: str, target: Path, *, width: int = 1100, height: int = 1290) -> None:
    """Take a picture of a page with Chromium."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        msg = "a picture needs Chromium (Debian: apt install chromium)"
        raise SystemExit(msg)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        path.write_text(source, encoding="utf-8")
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={width},{height}"]
        where = [f"--user-data-dir={folder}/profile", f"--screenshot={target}", path.as_uri()]
        subprocess.run([chromium, *flags, *where], check=True, capture_output=True, timeout=120)
