"""The tables of a comparison, and its report in every format but HTML."""

from collections.abc import Sequence

from ir_measures import Measure

from permed_measures.comparison import Comparison
from permed_measures.comparison.changes import Table as Part
from permed_measures.comparison.report import words
from permed_measures.evaluate.report import standing, unjudged_table
from permed_measures.evaluate.spans import is_share
from permed_measures.render.document import Block, Cell, Document, Lines, Section, Table, Value, interval_cell
from permed_measures.render.words import counted, p_value, percent, signed

_ALL_SENTENCES = 6  # up to so many comparisons each has its sentence; above that each run has one
_MANY_GROUPS = 40
_SHOWN_GROUPS = 10
_LETTERED = 3  # of two systems, the star says all that letters could


def document(comparison: Comparison, *, brief: bool = False, signatures: bool = False) -> Document:
    """Return the report; a brief one has no changes and no conclusions; conditions are there where asked for."""
    below = [*marks(comparison), *words.definitions(comparison)]
    below += map(str, comparison.signatures.values()) if signatures else []
    sections = [Section("", [means_table(comparison, below)])]
    rest: list[Block] = []
    if not brief:
        said, by_run = sentences(comparison)
        blocks = [*verdicts(comparison), Lines([*(text for *_, text in said), *by_run], "- ", flow=True)]
        sections.append(Section("What can be concluded", blocks))
        below = [*words.method(comparison), *words.p_imp_lines(comparison)]
        rest += [changes_table(comparison, below), *unjudged_table(comparison.unjudged)]
    rest += [*pairs_tables(comparison), *groups_tables(comparison), Lines(comparison.notes, "note: ", flow=True)]
    return Document("", "", [*sections, Section("", rest)])


def marks(comparison: Comparison) -> list[str]:
    """Say what stars and letters are, and how far repeated runs are apart."""
    lettered = comparison.pairs and len(comparison.names) >= _LETTERED
    letters = ["systems that share a letter are not separable by that measure"] if lettered else []
    return [*words.stars(comparison), *words.repeats(comparison), *letters]


def every_sentence(comparison: Comparison) -> list[tuple[str, Measure, str]]:
    """Return run, measure and sentence of every comparison."""
    return [(run, m, f"{label}: {words.conclusion(comparison, run, m)}") for run, m, label in comparison.compared]


def sentences(comparison: Comparison) -> tuple[list[tuple[str, Measure, str]], list[str]]:
    """Return the sentence of every comparison, or where these are many, none of them and one sentence per run."""
    if len(comparison.runs) * len(comparison.measures) > _ALL_SENTENCES:
        return [], [words.summed_up(comparison, run) for run in comparison.runs]
    return every_sentence(comparison), []


def verdicts(comparison: Comparison) -> list[Block]:
    """Return runs by measures, each with its verdict; nothing for a single comparison."""
    if len(comparison.runs) * len(comparison.measures) == 1:
        return []
    rows: list[list[Value]] = [
        [run, *(comparison.whole.changes[run, measure].verdict for measure in comparison.measures)]
        for run in comparison.runs
    ]
    return [Table(["run", *comparison.labels.values()], rows, left=len(comparison.labels) + 1, name="verdicts-table")]


def means_table(comparison: Comparison, below: Sequence[str]) -> Table:
    """Lay out runs by measures: the table of a paper."""
    described = bool(comparison.descriptions)
    heads = ["run", *(["description"] if described else []), *comparison.labels.values()]
    heads += filter(None, [words.p_imp_name(comparison)])
    whole = comparison.whole
    title = f"{comparison.counted(whole.queries, whole.units)}, baseline {comparison.baseline}"
    rows: list[list[Value]] = []
    for name in comparison.names:
        texts = [name, *([comparison.descriptions.get(name, "")] if described else [])]
        rows.append([*texts, *_means(comparison, whole, name)])
    return Table(heads, rows, title, left=2 if described else 1, below=below, name="means-table")


def _means(comparison: Comparison, part: Part, name: str) -> list[Value]:
    cells: list[Value] = [mean_cell(comparison, part, name, measure) for measure in comparison.measures]
    if part.p_imp:
        improvement = part.p_imp.get(name)
        cells.append(Cell(None if improvement is None else improvement.value, share=True))
    return cells


def mean_cell(comparison: Comparison, part: Part, name: str, measure: Measure) -> Cell:
    """Return a mean as every table shows it: whether it is best or second, its star, its letters."""
    change = part.changes.get((name, measure))
    best, second = standing({run: part.means[run, measure].value for run in comparison.names})
    lettered = part is comparison.whole and measure in comparison.pairs and len(comparison.names) >= _LETTERED
    return Cell(
        part.means[name, measure].value,
        best=name in best,
        second=name in second,
        marked=change is not None and change.significant,
        letters=comparison.pairs[measure].letters[name] if lettered else "",
        share=is_share(measure),
    )


def changes_table(comparison: Comparison, below: Sequence[str] = ()) -> Table:
    """Lay out every change with its interval and the test that decides; the star is at its p-value."""
    corrected = comparison.correction in words.SHORT_CORRECTION_NAMES
    rows: list[list[Value]] = []
    for run, measure, label in comparison.compared:
        change = comparison.whole.changes[run, measure]
        could = change.tested or change.p is None  # else the smallest p that could have been found is shown
        p = p_value(change.p_adjusted) if could else f">={words.smallest_p(change)}"
        decides = Cell(change.p_adjusted, p, marked=change.significant)
        share = is_share(measure)
        row: list[Value] = [label, run, Cell(change.difference, sign=True, share=share)]
        row.append(Cell(change.relative, percent(change.relative)))
        row.append(interval_cell(change.interval, sign=True, share=share))
        row += [Cell(change.p, p_value(change.p)), decides] if corrected else [decides]
        row += [f"{change.wins}/{change.ties}/{change.losses}"]
        row += [Cell(change.effect_size, signed(change.effect_size, decimals=2))]
        rows.append([*row, Cell(change.detectable, share=share)])
    p_heads = ["p", f"p, {words.SHORT_CORRECTION_NAMES[comparison.correction]}"] if corrected else ["p"]
    interval = f"{words.level(comparison)} interval"
    heads = ["measure", "run", "change", "gain", interval, *p_heads, "win/tie/loss", "d", "detectable"]
    return Table(heads, rows, f"changes against {comparison.baseline}", left=2, below=below, name="changes-table")


def pairs_tables(comparison: Comparison) -> list[Table]:
    """Lay out all pairs, measure by measure: means, letters, and the p-value of every pair."""

    def cell(p: float | None) -> Value:
        return "" if p is None else Cell(p, p_value(p), marked=p < comparison.alpha)

    tables = []
    for measure, pairs in comparison.pairs.items():
        names = list(pairs.means)
        rows: list[list[Value]] = [
            [name, pairs.letters[name], mean, *(cell(pairs.p_values.get((name, other))) for other in names)]
            for name, mean in pairs.means.items()
        ]
        first = f"{pairs.first[0]} is first" if len(pairs.first) == 1 else f"tied for first: {', '.join(pairs.first)}"
        drawn = f"under drawn sign flips, seed {comparison.settings.seed}; * p < {comparison.alpha:g}"
        below = [
            f"{first}; runs that share a letter are not separable",
            f"p: the largest |t| of all {counted(len(names) * (len(names) - 1) // 2, 'pair')} {drawn}",
        ]
        title = f"all pairs by {comparison.labels[measure]}, {comparison.counted(pairs.queries, pairs.units)}"
        tables.append(Table(["run", "letters", "mean", *names], rows, title, left=2, below=below, name="pairs-table"))
    return tables


def groups_tables(comparison: Comparison) -> list[Table]:
    """Lay out the groups: each with its means, or where there are many, how they are distributed and the extremes."""
    if not comparison.groups:
        return []
    return _summary(comparison) if len(comparison.groups) > _MANY_GROUPS else [_groups_table(comparison)]


def _groups_table(comparison: Comparison) -> Table:
    labels = [*comparison.labels.values(), *filter(None, [words.p_imp_name(comparison)])]
    few = any(_too_few(part, name) for part in comparison.groups for name in comparison.runs)
    rows: list[list[Value]] = []
    for part in comparison.groups:
        for name in comparison.names:
            first = name == comparison.baseline
            start = [(part.group or "") if first else "", name, str(part.queries) if first else ""]
            rows.append([*start, *_means(comparison, part, name), *([_too_few(part, name)] if few else [])])
    heads = [comparison.grouped_by or "", "run", "queries", *labels, *(["too few queries"] if few else [])]
    return Table(heads, rows, f"by {comparison.grouped_by}", left=2, name="groups-table")


def _too_few(part: Part, name: str) -> str:
    """Say that nothing could have been shown in a group, whatever its values."""
    changes = [change for (run, _), change in part.changes.items() if run == name]
    if all(change.verdict == "identical" for change in changes) or any(change.tested for change in changes):
        return ""
    least = min(changes, key=lambda change: change.smallest_p or 1.0)
    return f"smallest possible p = {words.smallest_p(least)}"


def _summary(comparison: Comparison) -> list[Table]:
    title = f"by {comparison.grouped_by}: {len(comparison.groups):,} groups"
    spread: list[list[Value]] = []
    extremes: list[list[Value]] = []
    for run, measure, label in comparison.compared:
        changes = [(part.changes[run, measure].difference, part) for part in comparison.groups]
        known = [(change, part) for change, part in changes if change is not None]
        ordered = sorted(known, key=lambda pair: (pair[0], pair[1].group))
        if not ordered:
            continue
        numbers = [change for change, _ in ordered]
        counts = [sum(n > 0 for n in numbers), numbers.count(0.0), sum(n < 0 for n in numbers)]
        starred = sum(part.changes[run, measure].significant for part in comparison.groups)
        shares = [numbers[round(share * (len(numbers) - 1))] for share in (0, 0.1, 0.5, 0.9, 1)]
        cells = [Cell(value, signed(value)) for value in shares]
        spread.append([label, run, "/".join(map(str, counts)), str(starred), *cells])
        if measure == comparison.measures[0]:
            sides = [("worst", ordered[:_SHOWN_GROUPS]), ("best", ordered[: -_SHOWN_GROUPS - 1 : -1])]
            extremes += [
                [run, end, part.group or "", str(part.queries), Cell(change, signed(change))]
                for end, some in sides
                for change, part in some
            ]
    heads = ["measure", "run", "better/equal/worse", "starred", "lowest", "10%", "median", "90%", "highest"]
    below = ["changes of the means of groups; CSV and JSON have every group"]
    by = f"the {_SHOWN_GROUPS} worst and best by {next(iter(comparison.labels.values()))}"
    ends = Table(
        ["run", "", comparison.grouped_by or "", "queries", "change"], extremes, by, left=3, name="extremes-table"
    )
    return [Table(heads, spread, title, left=2, below=below, name="groups-table"), ends]
