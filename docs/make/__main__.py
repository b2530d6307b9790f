"""``python docs/make``: build the manual into build/manual/site, to be read from a server or as files, with no network.

Pages are those of docs/; the measures', the reference and the pictures are made here, from the code. Zensical (by the
authors of Material for MkDocs, whose maintenance ends in 2027) turns them into HTML, and stops at a link that leads
nowhere.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import examples
import measures
import reference
import report
from words import EN
from words_zh import ZH

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SOURCE = ROOT / "build" / "manual"
SITE = SOURCE / "site"
SHIM = "https://unpkg.com/iframe-worker/shim"
TOP = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "compat/README.md": "agreement.md"}
"""Pages that live outside docs/."""

START = ("ir-measures", "ranx", "pyterrier", "beir", "rag", "permed", "data", "ltr")
HOW_TO = (
    "comparing",
    "gating",
    "reading-a-report",
    "judges",
    "explaining",
    "verifying",
    "scale",
    "serving",
    "ranker",
    "experiments",
)
ABOUT = ("why", "design", "speed", "coming-from-0.1", "changelog", "contributing", "agreement")
ALONE = ("index", "formats", "conventions", "assistants")
GENERATED = ("measures/", "zh/measures/", "reference/", "report")
_LINK = re.compile(r"(?<!!)\[([^\[\]]+)\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)]*)?\)")
_ON_SITE = re.compile(r"\]\([^)]*\)<!-- site: (\S+) -->")
"""A link of the repository, and the page that the site has instead: ``[GWAP](gwap.py)<!-- site: GWAP.md -->``."""

_OUTSIDE = re.compile(r"""<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=["']?(https?:)?//""")


def title(path: Path) -> str:
    """Return the heading of a page."""
    return re.search(r"^# (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)[1].replace("`", "")  # type: ignore[index]  # every page has one


def _relinked(text: str, page: Path, at: str) -> str:
    """Return the text of a page of the repository with the links it has at its place in the site.

    What is no page of the site becomes plain words; what is not there at all is an error.
    """
    places = {ROOT / outside: name for outside, name in TOP.items()} | {ROOT / "README.md": "index.md"}

    def link(found: re.Match[str]) -> str:
        words, name, anchor = found[1], found[2], found[3] or ""
        target = (page.parent / name).resolve()
        place = places.get(target) or (str(target.relative_to(DOCS)) if target.is_relative_to(DOCS) else "")
        if place and (target.exists() or place.startswith(GENERATED)):
            return f"[{words}]({os.path.relpath(place, Path(at).parent)}{anchor})"
        if target.exists():
            return words
        msg = f"{page}: {name} does not exist"
        raise SystemExit(msg)

    return _LINK.sub(link, text)


def for_site(text: str) -> str:
    """Return a page with the links that only the site has, and each file's name in the frame of its fence."""
    named = examples.FENCE.sub(
        lambda fence: f'```{fence[2]} title="{fence[1]}"\n{fence[4]}```' if fence[1] else fence[0], text
    )
    return _ON_SITE.sub(r"](\1)", named)


def _with_math(text: str) -> str:
    return re.sub(r"^\$\$\n(.+?)\n\$\$$", lambda found: measures.mathml(found[1]), text, flags=re.MULTILINE | re.DOTALL)


def draw() -> None:
    """Make the pictures of the site: those of pages by a browser, plots by the examples of the page that shows them.

    Where a browser or a package is missing, the site has the ones of the repository, and this says so.
    """
    if not report.pictures(SOURCE / "docs" / "images"):
        print("there is no Chromium: docs/images/*.png are taken as they are")
    for page in examples.pages():
        text = page.read_text(encoding="utf-8")
        if "pictures/" not in text:
            continue
        missing = [name for name in examples.needs(text) if find_spec(name) is None]
        with tempfile.TemporaryDirectory() as folder:
            if not missing:
                examples.run(text, Path(folder))
            for made, kept in examples.pictures(text, page, Path(folder)):
                if made.exists():
                    shutil.copy(made, SOURCE / "docs" / kept.relative_to(DOCS))
                else:
                    print(f"{kept.relative_to(ROOT)} is taken as it is: {' '.join(missing) or 'an example'} is missing")


def write_pages() -> None:
    """Write all pages into one folder: those of docs/, and the generated ones."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    shutil.copytree(DOCS, SOURCE / "docs", ignore=shutil.ignore_patterns("make", "*.md", "__pycache__"))
    draw()
    pages = {path: str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")}
    pages |= {ROOT / outside: name for outside, name in TOP.items()}
    written = {
        at: _relinked(_with_math(for_site(path.read_text(encoding="utf-8"))), path, at) for path, at in pages.items()
    }
    for folder, words in (("measures", EN), ("zh/measures", ZH)):
        written |= {f"{folder}/{name}": text for name, text in measures.pages(words).items()}
    written |= {"reference/python.md": reference.python_page(), "reference/shell.md": reference.shell_page()}
    page = report.page()
    written |= {"report.html": page, "report-annotated.html": report.annotated(page)}
    for name, text in written.items():
        target = SOURCE / "docs" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def navigation() -> list[object]:
    """Return the table of contents; a page of docs/ that nobody sorted is one of the how-to pages."""
    folder = SOURCE / "docs"
    known = {*HOW_TO, *ABOUT, *ALONE}
    more = sorted(path.stem for path in folder.glob("*.md") if path.stem not in known)

    def entries(names: list[str] | tuple[str, ...], under: str = "") -> list[object]:
        paths = [folder / under / f"{name}.md" for name in names]
        return [{title(path): str(path.relative_to(folder))} for path in paths if path.exists()]

    return [
        {"permed_measures": "index.md"},
        {"Start": entries(START, "start")},
        {"How to": entries([*HOW_TO, *more])},
        {"Measures": ["measures/index.md", *entries(list(measures.MEASURES), "measures")]},
        {"Formats": "formats.md"},
        {"Conventions": "conventions.md"},
        {"Reference": [{"Shell": "reference/shell.md"}, {"Python": "reference/python.md"}, *entries(("assistants",))]},
        {"Behind it": entries(ABOUT)},
        {
            "中文": [
                *entries(("index",), "zh"),
                *entries(START, "zh/start"),
                {"指标": ["zh/measures/index.md", *entries(list(measures.MEASURES), "zh/measures")]},
                *entries(("formats",), "zh"),
            ]
        },
    ]


def write_config() -> Path:
    """Write what Zensical is told."""
    theme = {
        "language": "en",
        "font": False,
        "features": [
            "navigation.indexes",
            "navigation.sections",
            "navigation.top",
            "content.code.copy",
            "search.highlight",
            "toc.follow",
        ],
    }
    config = {
        "site_name": "permed_measures",
        "docs_dir": "docs",
        "site_dir": "site",
        "use_directory_urls": False,
        "nav": navigation(),
        "theme": theme,
        "plugins": ["search", "offline"],
        "markdown_extensions": [
            *("tables", "admonition", "attr_list", "md_in_html", "toc"),
            *("pymdownx.superfences", "pymdownx.details", "pymdownx.highlight", "pymdownx.inlinehilite"),
        ],
    }
    path = SOURCE / "mkdocs.yml"
    path.write_text(json.dumps(config, indent=1), encoding="utf-8")  # YAML holds all of JSON
    return path


def build() -> None:
    """Build the site; whatever is wrong ends it."""
    write_pages()
    config = write_config()
    shutil.rmtree(SITE, ignore_errors=True)
    zensical = Path(sys.executable).with_name("zensical")
    subprocess.run([zensical, "build", "--strict", "--clean", "-f", config], check=True, cwd=SOURCE)
    shutil.copy(Path(__file__).with_name("worker.js"), SITE / "assets" / "worker.js")
    for path in SITE.glob(
        "search.js*"
    ):  # with zh, a browser looks for words within sentences; Zensical gives one language
        text = path.read_text(encoding="utf-8")
        if '"lang":["en"]' not in text:
            sys.exit(f"{path} does not say its language where docs/make looks for it")
        path.write_text(text.replace('"lang":["en"]', '"lang":["en","zh"]', 1), encoding="utf-8")
    for path in SITE.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        up = os.path.relpath(SITE, path.parent)
        text = text.replace(SHIM, f"{up}/assets/worker.js")
        path.write_text(text, encoding="utf-8")
        if _OUTSIDE.search(text.replace("https://zensical.org", "")):
            raise SystemExit(f"{path} needs the network: {_OUTSIDE.search(text)}")
    print(f"{SITE}/index.html: {len(list(SITE.rglob('*.html')))} pages")


def main() -> None:
    """Build, or make the pictures of pages anew."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", action="store_true", help="make docs/images/*.png anew, with Chromium")
    if parser.parse_args().pictures and not report.pictures(DOCS / "images"):
        sys.exit("pictures of pages need Chromium (Debian: apt install chromium)")
    build()


if __name__ == "__main__":
    main()
