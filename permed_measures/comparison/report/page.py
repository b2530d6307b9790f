"""The page of a comparison: its tables, plots, conclusions, and a table of all queries."""

from html import escape
from importlib.resources import files
from typing import Any

from permed_measures.comparison import Change, Comparison
from permed_measures.comparison.report import plots, words
from permed_measures.comparison.report.behind import embedded, safe_json
from permed_measures.comparison.report.tables import (
    changes_table,
    every_sentence,
    groups_tables,
    marks,
    means_table,
    pairs_tables,
    sentences,
    unjudged_table,
    verdicts,
)
from permed_measures.render.document import Block, Document, Figure, Html, Lines, Section
from permed_measures.render.html import figures

_BADGES = {"higher": "win", "lower": "loss"}


def page(comparison: Comparison) -> Document:
    """Return what the page holds."""
    query_ids = list(dict.fromkeys(q for column in comparison.values.values() for q in column))
    behind, said = embedded(comparison, query_ids)
    method = [*words.method(comparison), *words.p_imp_lines(comparison)]
    sections = [
        Section("Means", [means_table(comparison, marks(comparison))], "means"),
        *(Section(table.title, [table], "unjudged") for table in unjudged_table(comparison)),
        Section("What can be concluded", [*verdicts(comparison), *_conclusions(comparison)], "conclusions"),
        Section(f"Means and differences, with {words.level(comparison)} intervals", [_plots(comparison)], "plots"),
        Section(f"Changes against {comparison.baseline}", [changes_table(comparison, method)], "changes"),
        *(Section(table.title, [table]) for table in pairs_tables(comparison)),
        Section("Query by query", [*_by_query_plots(comparison), _query_table(comparison), Lines(said)], "queries"),
    ]
    if comparison.groups:
        sections.append(Section(f"By {comparison.grouped_by}", groups_tables(comparison), "groups"))
    sections.append(Section("Definitions", [Lines(words.definitions(comparison))], "definitions"))
    sections.append(Section("Conditions", [Lines(words.conditions(comparison))], "conditions"))
    if comparison.notes:
        sections.append(Section("Notes on the input", [Lines(comparison.notes)], "notes"))
    style = "" if behind is None else _resource("behind.css")
    script = _resource("page.js")
    return Document(
        f"{', '.join(comparison.runs)} against {comparison.baseline}",
        _summary(comparison),
        sections,
        style,
        scripts=[f"\n{script}"],
        texts={"values": _embedded(comparison, query_ids, behind)},
    )


def _resource(name: str) -> str:
    return (files("permed_measures.comparison.report") / name).read_text(encoding="utf-8")


def notebook(comparison: Comparison) -> Document:
    """Return what a notebook shows: means, verdicts and plots; the rest is folded."""
    said, by_run = sentences(comparison)
    concluded = Lines([*(text for *_, text in said), *by_run])
    sections = [
        Section("", [means_table(comparison, marks(comparison))]),
        Section("", [*verdicts(comparison), concluded]),
        Section("", [_plots(comparison)]),
        Section("Changes", [changes_table(comparison, words.method(comparison))], folded=True),
        *(Section(table.title, [table], folded=True) for table in pairs_tables(comparison)),
        Section("Definitions", [Lines(words.definitions(comparison))], folded=True),
    ]
    sections += [Section("Groups", groups_tables(comparison), folded=True)] if comparison.groups else []
    sections += [Section("Notes on the input", [Lines(comparison.notes)])] if comparison.notes else []
    return Document("", _summary(comparison), sections)


def _summary(comparison: Comparison) -> str:
    whole = comparison.whole
    parts = [comparison.counted(whole.queries, whole.units), words.family(comparison, [whole])]
    if comparison.profile is not None:
        parts.append(f"profile {comparison.profile.name}")
    if comparison.min_relevance is not None:
        parts.append(f"relevant from grade {comparison.min_relevance:g}")
    return " · ".join(parts)


def _conclusions(comparison: Comparison) -> list[Block]:
    items = []
    for run, measure, sentence in every_sentence(comparison):
        verdict = comparison.whole.changes[run, measure].verdict
        badge = f'<span class="badge {_BADGES.get(verdict, "tie")}">{verdict}</span>'
        items.append(f"<li>{badge} {escape(sentence)}</li>")
    every = f'<ul class="conclusions">{"".join(items)}</ul>'
    _, by_run = sentences(comparison)
    if not by_run:
        return [Html(every)]
    return [Lines(by_run), Html(f"<details><summary>every comparison in a sentence</summary>{every}</details>")]


def _plots(comparison: Comparison) -> Html:
    drawn = []
    for measure, label in comparison.labels.items():
        drawn.append(Figure(plots.means_plot(comparison, measure), f"{label}: means"))
        title = f"{label}: difference to {comparison.baseline}"
        drawn.append(Figure(plots.differences_plot(comparison, measure), title))
    return figures(drawn)


def _by_query_plots(comparison: Comparison) -> list[Html]:
    in_pairs = len(comparison.runs) == 2  # noqa: PLR2004  (three are in a row, and so are the measures of one run)
    width = 550 if in_pairs else 360
    rows: list[list[Figure]] = [[]]
    for measure, label in comparison.labels.items():
        for run in comparison.runs:
            change = comparison.whole.changes[run, measure]
            drawn = plots.sorted_differences_plot(comparison, run, measure, width)
            drawn += plots.win_tie_loss_bar(change, width)
            rows[-1].append(Figure(drawn, f"{label}: {run}", _counts(change)))
        if len(comparison.runs) > 1:
            rows.append([])
    intro = (
        f"<p>The difference of every query to {escape(comparison.baseline)}, the largest gain first, and how many "
        "queries gain, tie and lose.</p>"
    )
    return [Html(intro), *(figures(row, "figures pairs" if in_pairs else "figures") for row in rows if row)]


def _counts(change: Change) -> str:
    return f"{change.wins} better, {change.ties} equal, {change.losses} worse"


def _query_table(comparison: Comparison) -> Html:
    options = "".join(
        f'<option value="{place}">{escape(label)}</option>' for place, label in enumerate(comparison.labels.values())
    )
    return Html(f"""<h3>All queries</h3>
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
<noscript><p>This table needs JavaScript; every value is also in the report's CSV and JSON.</p></noscript>""")


def _embedded(comparison: Comparison, query_ids: list[str], behind: dict[str, Any] | None) -> str:
    """Return the values of all queries, and what is behind them, as JSON that cannot end its script element."""
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
        "behind": behind,
    }
    return safe_json(content)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
