"""The report as one HTML page that needs nothing else: no network, no library, one file to send."""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files

from permed_measures.comparison import Change, Comparison
from permed_measures.comparison.report import plots, words
from permed_measures.comparison.report.tables import Grid, changes_grid, groups_grid, means_grid
from permed_measures.render.markup import html_lines, html_page, html_section

_BADGES = {
    "higher": ("win", "higher"),
    "lower": ("loss", "lower"),
    "identical": ("tie", "identical"),
    "not shown": ("tie", "not shown"),
    "not shown after correction": ("tie", "not shown"),
    "undefined": ("tie", "undefined"),
}


def page(comparison: Comparison) -> str:
    """Return the whole page."""
    title = f"{', '.join(comparison.runs)} against {comparison.baseline}"
    sections = [
        html_section(
            "means", "Means", _grid(means_grid(comparison), "means-table") + html_lines(words.method(comparison)[:1])
        ),
        html_section("conclusions", "What can be concluded", _conclusions(comparison)),
        html_section("plots", f"Means and differences, with {words.level(comparison)} intervals", _plots(comparison)),
        html_section(
            "changes",
            f"Changes against {comparison.baseline}",
            _grid(changes_grid(comparison), "changes-table") + html_lines(words.method(comparison)[1:]),
        ),
        html_section("queries", "Query by query", _by_query_plots(comparison) + _query_table(comparison)),
    ]
    if comparison.groups:
        grid = groups_grid(comparison)
        sections.append(html_section("groups", f"By {comparison.grouped_by}", _grid(grid, "groups-table")))
    sections.append(html_section("definitions", "Definitions", html_lines(words.definitions(comparison))))
    if comparison.notes:
        sections.append(html_section("notes", "Notes on the input", html_lines(comparison.notes)))
    script = (files("permed_measures.comparison.report") / "page.js").read_text(encoding="utf-8")
    data = {"values": _embedded(comparison)}
    return html_page(title, _summary(comparison), sections, scripts=[f"\n{script}"], data=data)


def _summary(comparison: Comparison) -> str:
    family = "" if comparison.correction == "none" else f", {words.CORRECTION_NAMES[comparison.correction]}"
    parts = [words.queries(comparison.whole.queries), f"{words.TEST_NAMES[comparison.test]}{family}"]
    if comparison.profile is not None:
        parts.append(f"profile {comparison.profile.name}")
    if comparison.min_relevance is not None:
        parts.append(f"relevant from grade {comparison.min_relevance:g}")
    return " · ".join(map(escape, parts))


def _grid(grid: Grid, name: str) -> str:
    heads = "".join(
        f'<th scope="col"{_left(place < grid.left)}>{escape(head)}</th>' for place, head in enumerate(grid.heads)
    )
    rows = []
    for row in grid.rows:
        cells = []
        for place, cell in enumerate(row):
            shown = f"<strong>{escape(cell.text)}</strong>" if cell.best else escape(cell.text)
            mark = '<span class="mark">*</span>' if cell.marked else ""
            cells.append(f"<td{_left(place < grid.left)}>{shown}{mark}</td>")
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(grid.title)}"><table id="{name}">'
        f"<thead><tr>{heads}</tr></thead><tbody>\n" + "\n".join(rows) + "\n</tbody></table></div>"
    )


def _left(is_text: bool) -> str:  # noqa: FBT001  (one place, one meaning)
    return ' class="left"' if is_text else ""


def _conclusions(comparison: Comparison) -> str:
    items = []
    for measure, label in comparison.labels.items():
        for run in comparison.runs:
            kind, badge = _BADGES[comparison.whole.changes[run, measure].verdict]
            sentence = escape(words.conclusion(comparison, run, measure))
            items.append(
                f'<li><span class="badge {kind}">{badge}</span> <b>{escape(label)}, {escape(run)}</b>: {sentence}</li>'
            )
    return f'<ul class="conclusions">{"".join(items)}</ul>'


def _plots(comparison: Comparison) -> str:
    figures = []
    for measure, label in comparison.labels.items():
        figures.append(_figure(f"{label}: means", plots.means_plot(comparison, measure)))
        figures.append(
            _figure(f"{label}: difference to {comparison.baseline}", plots.differences_plot(comparison, measure))
        )
    return f'<div class="wide-figures">{"".join(figures)}</div>'


def _by_query_plots(comparison: Comparison) -> str:
    in_pairs = len(comparison.runs) == 2  # noqa: PLR2004  (three stand in a row, and so do the measures of one run)
    width = 550 if in_pairs else 360
    rows = [""]
    for measure, label in comparison.labels.items():
        for run in comparison.runs:
            change = comparison.whole.changes[run, measure]
            drawn = plots.sorted_differences_plot(comparison, run, measure, width)
            drawn += plots.win_tie_loss_bar(change, width)
            rows[-1] += _figure(f"{label}: {run}", drawn, _counts(change))
        if len(comparison.runs) > 1:
            rows.append("")
    kind = "figures pairs" if in_pairs else "figures"
    rows = [f'<div class="{kind}">{row}</div>' for row in rows if row]
    intro = (
        f"<p>The difference of every query to {escape(comparison.baseline)}, the largest gain first, and how many "
        "queries gain, tie and lose.</p>"
    )
    return intro + "\n".join(rows)


def _counts(change: Change) -> str:
    return f"{change.wins} better, {change.ties} equal, {change.losses} worse"


def _figure(caption: str, drawn: str, below: str = "") -> str:
    note = f'<div class="below">{escape(below)}</div>' if below else ""
    return f"<figure><figcaption>{escape(caption)}</figcaption>{drawn}{note}</figure>"


def _query_table(comparison: Comparison) -> str:
    options = "".join(
        f'<option value="{place}">{escape(label)}</option>' for place, label in enumerate(comparison.labels.values())
    )
    return f"""<h3>All queries</h3>
<form id="filter" class="filter">
<label>measure <select id="measure">{options}</select></label>
<label>query contains <input id="contains" type="search" autocomplete="off" spellcheck="false"></label>
<label>show <select id="outcome"><option value="all">all</option><option value="differ">those that differ</option>
<option value="better">those better in a run</option>
<option value="worse">those worse in a run</option></select></label>
<span id="count" role="status"></span>
</form>
<div class="scroll" tabindex="0" role="region" aria-label="all queries"><table id="query-table">
<thead></thead><tbody></tbody></table></div>
<button id="more" type="button" hidden>show more</button>
<noscript><p>This table needs JavaScript; every value is also in the report's CSV and JSON.</p></noscript>"""


def _embedded(comparison: Comparison) -> str:
    """Return the values of all queries as JSON that cannot end its script element."""
    query_ids = list(dict.fromkeys(q for column in comparison.values.values() for q in column))
    group_of = {}
    if comparison.groups_of:
        group_of = {q: group for group, members in comparison.groups_of.items() for q in members}
    columns = [
        [[_rounded(comparison.values[name, measure].get(q)) for q in query_ids] for name in comparison.names]
        for measure in comparison.measures
    ]
    content = {
        "names": comparison.names,
        "grouped": comparison.grouped_by if group_of else None,
        "groups": [group_of.get(q, "") for q in query_ids] if group_of else None,
        "queries": query_ids,
        "values": columns,
    }
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
