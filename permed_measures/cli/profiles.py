"""``permed-measures profiles``: the named sets of measures, and how to write one."""

from typing import Any

import click

from permed_measures.cli._formats import report_option
from permed_measures.errors import ParamError
from permed_measures.files.output import print_whole
from permed_measures.measures.definitions import definition
from permed_measures.profiles import PROFILES, QUERY_SETS, Entry, Profile, Target, load_profile
from permed_measures.render.document import Document, Section, Table
from permed_measures.render.records import as_json
from permed_measures.render.result import Format, written

_HEADS = ("name", "measure", "mean over the queries of", "target", "excellent")


@click.command(short_help="List the profiles, or show one: measures, names, targets.")
@click.argument("name", required=False, metavar="[NAME|FILE.toml]")
@report_option
@click.option("--toml", is_flag=True, help="Print one profile as a file that --profile FILE.toml reads.")
def command(*, name: str | None, form: Format, toml: bool) -> None:
    r"""List the profiles, or show the one called NAME: what each measure is called there, and the targets.

    A profile of your own is a TOML file; --toml prints one to start from.

    \b
    Examples:
      permed-measures profiles
      permed-measures profiles llm-judged
      permed-measures profiles rerank --format json
      permed-measures profiles permed --toml > mine.toml
      permed-measures eval qrels.txt bm25.run --profile mine.toml
    """
    chosen = list(PROFILES.values()) if name is None else [load_profile(name)]
    if toml:
        if name is None or form != "text":
            raise ParamError("--toml prints one profile: give its name, and no --format")
        print_whole(chosen[0].to_toml())
    elif form == "json":
        records = [_record(profile) for profile in chosen]
        print_whole(as_json(records if name is None else records[0]) + "\n")
    else:
        sections = [_section(profile, definitions=name is not None) for profile in chosen]
        print_whole(written(Document("", "", sections), form, table=_together(sections)))


def _record(profile: Profile) -> dict[str, Any]:
    return {
        "name": profile.name,
        "description": profile.description,
        "min_relevance": profile.min_relevance,
        "measures": [
            {**entry._asdict(), "measure": str(entry.measure), "definition": definition(entry.measure)}
            for entry in profile.entries
        ],
        "targets": [target._asdict() for target in profile.targets],
    }


def _section(profile: Profile, *, definitions: bool) -> Section:
    """Return a table with one row per measure and per target that is not a measure's."""
    targets = {target.name: target for target in profile.targets}
    rows = [
        [entry.name, str(entry.measure), _over(entry, profile), *_levels(targets.pop(entry.name, None))]
        for entry in profile.entries
    ]
    rows += [[target.name, "a serving figure", "", *_levels(target)] for target in targets.values()]
    below = []
    if profile.min_relevance is not None:
        below.append(f"relevant means grade >= {profile.min_relevance} wherever a measure does not say otherwise")
    if definitions:
        below += [f"{entry.name} = {entry.measure}: {definition(entry.measure)}" for entry in profile.entries]
    return Section(profile.name, [Table(_HEADS, rows, f"{profile.name}: {profile.description}", below=below).filled(0)])


def _together(sections: list[Section]) -> Table:
    """Return the rows of all profiles in one table, for programs."""
    rows = []
    for section in sections:
        for table in section.blocks:
            records = table.records() if isinstance(table, Table) else []
            rows += [[section.title, *(record.get(head) or None for head in _HEADS)] for record in records]
    return Table(["profile", *_HEADS], rows)


def _over(entry: Entry, profile: Profile) -> str:
    """Return over which queries a mean runs, where that is not the same for all, nor the usual."""
    return "" if all(other.queries == QUERY_SETS[0] for other in profile.entries) else entry.queries


def _levels(target: Target | None) -> list[str]:
    if target is None:
        return ["", ""]
    sign = "<" if target.lower_is_better else ">"
    return [f"{sign} {level:g}" for level in (target.target, target.excellent)]
