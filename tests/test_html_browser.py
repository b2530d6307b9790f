"""The HTML report in a real browser: Chromium, driven through chromedriver's own protocol (HTTP and JSON)."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from permed_measures import evaluate, explain, gate
from permed_measures.comparison import compare
from permed_measures.evaluate.report import Evaluations
from tests.test_results import RESULTS

pytest.importorskip("scipy", reason="the paired t-test needs it")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(
        not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver (Debian: chromium, chromium-driver)"
    ),
]

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--window-size=1280,1000",
)
ATTACK = "<script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\">"
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key of an element's id: W3C WebDriver, 11
NUM_QUERIES = 130
PALE = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8")


class Browser:
    """As much of WebDriver as these tests need."""

    def __init__(self, address, profile_folder):
        self.address = address
        options = {"binary": CHROMIUM, "args": [*FLAGS, f"--user-data-dir={profile_folder}"]}
        capabilities = {"alwaysMatch": {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}
        self.session = self.ask("POST", "/session", {"capabilities": capabilities})["sessionId"]

    def ask(self, method, path, content=None):
        body = None if content is None else json.dumps(content).encode()
        request = Request(self.address + path, body, {"Content-Type": "application/json"}, method=method)  # noqa: S310  (127.0.0.1)
        with urlopen(request, timeout=60) as answer:  # noqa: S310  (likewise)
            return json.loads(answer.read())["value"]

    def post(self, path, **content):
        return self.ask("POST", f"/session/{self.session}{path}", content)

    def open(self, path):
        self.post("/url", url=path.as_uri())

    def emulate(self, width, scheme):
        """Show pages as a window so wide does, in light or dark."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.post("/goog/cdp/execute", cmd="Emulation.setDeviceMetricsOverride", params=size)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.post("/goog/cdp/execute", cmd="Emulation.setEmulatedMedia", params={"features": features})

    def run(self, script):
        return self.post("/execute/sync", script=script, args=[])

    def element(self, selector):
        found = self.post("/element", using="css selector", value=selector)
        return f"/element/{found[ELEMENT]}"

    def click(self, selector):
        self.post(f"{self.element(selector)}/click")

    def type(self, selector, text):
        self.post(f"{self.element(selector)}/value", text=text)

    def column(self, number):
        """Return the shown texts of one column of the table of queries."""
        cells = f"document.querySelectorAll('#query-table tbody tr td:nth-child({number})')"
        return self.run(f"return [...{cells}].map((cell) => cell.textContent)")

    def complaints(self):
        return [entry["message"] for entry in self.post("/se/log", type="browser")]

    def quit(self):
        self.ask("DELETE", f"/session/{self.session}")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    log = tmp_path_factory.mktemp("chromedriver") / "out.txt"
    with (
        log.open("w") as out,
        subprocess.Popen([DRIVER, "--port=0"], stdout=subprocess.PIPE, stderr=out, text=True) as driver,
    ):
        try:
            started = (re.search(r"started successfully on port (\d+)", line) for line in driver.stdout)
            port = next(found[1] for found in started if found)
            made = Browser(f"http://127.0.0.1:{port}", tmp_path_factory.mktemp("profile"))
            yield made
            made.quit()
        finally:
            driver.terminate()


@pytest.fixture(scope="module")
def comparison():
    qrels = {f"{q // 4}_{q % 4}": {"a": 2, "b": 1} for q in range(NUM_QUERIES - 1)}
    qrels[ATTACK] = {"a": 1}
    before = {query_id: [*["x1", "x2", "x3", "x4"][: place % 5], "a", "b"] for place, query_id in enumerate(qrels)}
    after = {query_id: [*["y1", "y2", "y3"][: place % 4], "b", "a"] for place, query_id in enumerate(qrels)}
    runs = {f"reranked {ATTACK}": after, "same": before}
    return compare(qrels, before, runs, "RR nDCG@10", baseline_name="retrieved", groups="turn")


@pytest.fixture
def page(browser, comparison, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(comparison.render("html"), encoding="utf-8")
    browser.open(path)
    return browser


def numbers(texts):
    return [float(text) for text in texts]


def test_the_page_opens_without_complaint(page):
    assert page.complaints() == []
    assert page.run("return document.title").endswith("against retrieved")
    assert (
        page.run("return performance.getEntriesByType('resource').filter((e) => !e.name.startsWith('data:')).length")
        == 0
    )


def test_only_the_script_and_the_style_of_the_page_run(page):
    policy = page.run("return document.querySelector('meta[http-equiv]').content")
    for kind in ("script", "style"):
        inside = page.run(f"return document.querySelector('{kind}:not([type])').textContent")
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}';" in policy
    assert "unsafe" not in policy
    page.run("const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s)")
    assert page.run("return window.ran || 0") == 0


def test_names_are_text_never_elements(page):
    page.type("#contains", "<script>")
    assert page.column(1) == [ATTACK]
    assert page.run("return document.querySelectorAll('img').length") == 0
    assert page.run("return document.querySelectorAll('script').length") == 2
    assert page.run("return document.title") != "broken"


def test_a_click_sorts_and_a_second_one_turns_the_order(page, comparison):
    change = "#query-table th:nth-child(5) button"
    page.click(change)
    descending = numbers(page.column(5))
    page.click(change)
    ascending = numbers(page.column(5))
    run, measure = comparison.runs[0], comparison.measures[0]
    expected = sorted(round(value, 4) for value in comparison.difference(run, measure).values())
    assert descending == expected[::-1][:50]
    assert ascending == expected[:50]
    assert page.run("return document.querySelector('#query-table th:nth-child(5)').ariaSort") == "ascending"
    page.click("#query-table th:nth-child(1) button")
    assert page.column(1)[1:4] == ["0_0", "0_1", "0_2"]  # after the one that begins with a bracket
    assert page.column(1).index("9_0") < page.column(1).index("10_0")


def test_more_rows_on_request(page):
    assert len(page.column(1)) == 50
    page.click("#more")
    assert len(page.column(1)) == NUM_QUERIES
    assert page.run("return document.getElementById('more').hidden") is True


def test_filters_by_query_and_by_outcome(page, comparison):
    page.type("#contains", "12_")
    assert sorted(page.column(1)) == ["12_0", "12_1", "12_2", "12_3"]
    assert page.run("return document.getElementById('count').textContent") == f"4 of {NUM_QUERIES} queries"
    page.post(f"{page.element('#contains')}/clear")
    page.click("#outcome option[value=worse]")
    worse = comparison.whole.changes[comparison.runs[0], comparison.measures[0]].losses
    assert page.run("return document.getElementById('count').textContent") == f"{worse} of {NUM_QUERIES} queries"


def test_another_measure_shows_its_values(page, comparison):
    page.type("#contains", "0_1")
    place = page.column(1).index("0_1") + 1
    row = f"#query-table tbody tr:nth-child({place}) td:nth-child(3)"
    for number, measure in enumerate(comparison.measures):
        page.click(f"#measure option[value='{number}']")
        shown = page.run(f'return document.querySelector("{row}").textContent')
        assert float(shown) == pytest.approx(comparison.values["retrieved", measure]["0_1"], abs=5e-5)


def test_plots_are_drawn_and_the_page_is_never_wider_than_the_window(page, comparison):
    assert page.run("return document.querySelectorAll('#plots svg').length") == 2 * len(comparison.measures)
    assert page.run("return document.querySelectorAll('#queries figure').length") == 4
    assert page.run("return [...document.querySelectorAll('svg')].every((e) => e.getBoundingClientRect().width > 100)")
    for width in (1280, 500):
        page.post("/window/rect", width=width, height=900)
        assert page.run("return document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_light_and_dark(page, scheme):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    page.post("/goog/cdp/execute", cmd="Emulation.setEmulatedMedia", params={"features": features})
    colours = page.run("const style = getComputedStyle(document.body); return [style.color, style.backgroundColor]")
    ink, paper = (sum(map(int, re.findall(r"\d+", colour)[:3])) / 3 for colour in colours)
    assert (ink < 60 and paper > 200) if scheme == "light" else (ink > 200 and paper < 60)


@pytest.fixture
def with_texts(browser, tmp_path):
    qrels = {f"q{n}": {"a": 2, "b": 1, "c": 0} for n in range(40)}
    before = {query_id: ["a", "b", ATTACK] for query_id in qrels}
    after = {query_id: ["b", "a", "c"] if n % 4 else ["c", "x", "b"] for n, query_id in enumerate(qrels)}
    texts = {query_id: f"text of {query_id} {ATTACK}" for query_id in qrels}
    documents = {doc_id: f"document {doc_id} {ATTACK} " + "word " * 90 for doc_id in ("a", "b", "c", ATTACK)}
    made = compare(qrels, before, {"after": after}, "RR nDCG", baseline_name="old", texts=texts, documents=documents)
    path = tmp_path / "texts.html"
    path.write_text(made.render("html"), encoding="utf-8")
    browser.complaints()  # of pages before
    browser.open(path)
    return browser


def texts_in(page, selector):
    return page.run(f"return [...document.querySelectorAll('{selector}')].map((e) => e.textContent)")


def test_documents_are_behind_each_query_the_largest_loss_first(with_texts):
    page = with_texts
    assert page.complaints() == []
    changes = numbers(page.column(4))
    assert changes == sorted(changes)
    assert changes[0] < 0
    assert texts_in(page, "tr.behind") == []
    page.click("#query-table tbody button[data-place='0']")  # q0 lost a
    heads = texts_in(page, "tr.behind h4")
    assert heads == ["old: 1.0000", "after: 0.3333"]
    old, after = ("tr.behind .lists > div:nth-child(1)", "tr.behind .lists > div:nth-child(2)")
    assert texts_in(page, f"{old} code") == ["a", "b", ATTACK]
    assert texts_in(page, f"{old} li div") == ["grade 2aout", "grade 1b", f"unjudged{ATTACK}out"]
    assert texts_in(page, f"{after} li div") == ["grade 0cnew", "unjudgedxnew", "grade 1bfrom 2"]
    assert texts_in(page, f"{after} li p")[0].startswith(f"document c {ATTACK} word")
    assert texts_in(page, "tr.behind p.text") == [f"text of q0 {ATTACK}"]
    page.click("#query-table tbody button[data-place='0']")
    assert texts_in(page, "tr.behind") == []


def test_texts_are_never_elements_and_the_page_stays_narrow(with_texts):
    page = with_texts
    page.type("#contains", "text of q7")
    page.click("#query-table tbody button")
    assert page.run("return document.querySelectorAll('img').length") == 0
    assert page.run("return document.querySelectorAll('script').length") == 2
    assert page.run("return document.title") != "broken"
    for width in (1280, 500):
        page.post("/window/rect", width=width, height=900)
        assert page.run("return document.documentElement.scrollWidth <= window.innerWidth")


NAMES = (
    "BM25 (Anserini 0.22, k1=0.9, b=0.4, title and abstract)",
    "检索 稠密向量 bge-large-zh-v1.5 重排序之后 排序学习",
    "reranked_by_a_cross_encoder_with_a_very_long_underscored_name_v12",
    *(f"run {n}" for n in range(7)),
)


def _large():
    """Return the results of ten runs with the names that people give them."""
    qrels = {f"c{n // 4}_{n % 4}": {f"d{n}": 2, "a": 1, "b": 0} for n in range(120)}
    runs = {
        name: {q: ["x", "a", *of, "y"][number % 3 :: 1 + number // 4] for q, of in qrels.items()}
        for number, name in enumerate(NAMES)
    }
    runs = {name: {q: [*dict.fromkeys(docs)] for q, docs in run.items()} for name, run in runs.items()}
    first, *others = runs
    texts = dict.fromkeys(qrels, "怎样 " + "a question that is long " * 9)
    documents = {doc_id: f"{doc_id} " + "http://a-very-long-address.example/" * 4 for doc_id in "abxy"}
    shown = {"texts": texts, "documents": documents}
    rest = {name: runs[name] for name in others}
    measures = "nDCG@10 nDCG@5 nDCG@1 AP RR"
    bounds = {"baseline": runs[NAMES[1]], "max_drop": 0.02, "segments": "turn"}
    return {
        "one run": evaluate(qrels, runs[first], measures, **shown),
        "ten runs": Evaluations({name: evaluate(qrels, run, measures) for name, run in runs.items()}),
        "ten compared": compare(qrels, runs[first], rest, measures, baseline_name=first, all_pairs=True, **shown),
        "by turn": compare(qrels, runs[first], rest, measures, baseline_name=first, groups="turn"),
        "segments": gate(qrels, runs[first], ["RR>=0.5"], **bounds),
        "one query": evaluate({"q": {"a": 1}}, {"q": ["a"]}, "RR"),
        "walk": explain(qrels, runs[first], a="trec_eval:map_cut_10", b="sklearn:ndcg@10"),
    }


BROKEN = """return [...document.querySelectorAll("td:not(:has(*))")].filter((cell) => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  const lines = new Set([...range.getClientRects()].map((line) => Math.round(line.top))).size;
  return cell.textContent.length <= 11 && lines > cell.textContent.split(" ").length;
}).map((cell) => `broken: ${cell.textContent}`)"""


def _faults(browser, path):
    """Return what is wrong with a page, in either scheme: wider than a telephone, a text too pale, a word broken."""
    found = []
    try:
        for scheme in ("light", "dark"):
            browser.emulate(400, scheme)
            browser.open(path)
            browser.run("document.querySelectorAll('details').forEach((folded) => { folded.open = true; })")
            browser.run("document.querySelectorAll('#query-table tbody button').forEach((b, n) => n < 2 && b.click())")
            wide = browser.run("return document.documentElement.scrollWidth - window.innerWidth")
            found += [f"{scheme}: {wide} pixels too wide"] if wide > 0 else []
            found += [f"{scheme}: {text}" for text in (*browser.run(PALE), *browser.run(BROKEN))]
    finally:
        browser.post("/goog/cdp/execute", cmd="Emulation.clearDeviceMetricsOverride", params={})
    return found


def test_every_page_and_notebook_can_be_read_on_a_telephone_in_light_and_dark(browser, tmp_path):
    results = {**{name: make() for name, make in RESULTS.items()}, **_large()}
    assert len(results) > 20
    faults = {}
    for name, result in results.items():
        page, cell = tmp_path / f"{name}.html", tmp_path / f"{name} in a notebook.html"
        page.write_text(result.to_html(), encoding="utf-8")
        head = '<!DOCTYPE html><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
        cell.write_text(head + result._repr_html_(), encoding="utf-8")
        faults |= {path.stem: found for path in (page, cell) if (found := _faults(browser, path))}
    assert not faults, json.dumps(faults, indent=1, ensure_ascii=False)


def test_a_pale_text_and_a_wide_page_are_seen(browser, tmp_path):
    path = tmp_path / "bad.html"
    path.write_text(
        '<p style="color: #777; background: #eee; width: 900px">pale</p><p>black</p>'
        '<table><td style="overflow-wrap: anywhere; width: 1px">broken',
        encoding="utf-8",
    )
    wide, pale, broken, dark = _faults(browser, path)[0:4]
    assert wide.startswith("light: 5")
    assert (pale, broken) == ("light: pale (): 3.86", "light: broken: broken")
    assert dark.startswith("dark: 5")
