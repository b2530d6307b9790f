"""``permed-measures convert``: qrels and runs from one format to another."""

from pathlib import Path
from types import ModuleType

import click

from permed_measures.errors import ParamError
from permed_measures.files import by_name, by_suffix, format_of, formats, formatted
from permed_measures.files.output import print_note, print_notes, write_whole
from permed_measures.files.packings import packed, unpacked_name
from permed_measures.files.source import Source
from permed_measures.render.words import counted, queries


@click.command(short_help="Convert qrels or a run to another format.")
@click.argument("source", metavar="IN", type=click.Path(dir_okay=False))
@click.argument("target", metavar="OUT", type=click.Path(dir_okay=False))
@click.option("--what", type=click.Choice(["qrels", "run"]), help="What IN is.  [default: told by its content]")
@click.option("--from", "from_format", type=click.Choice(list(formats())), help="[default: told by content and suffix]")
@click.option("--to", "to_format", type=click.Choice(list(formats())), help="[default: by OUT's suffix]")
def command(*, source: str, target: str, what: str | None, from_format: str | None, to_format: str | None) -> None:
    r"""Convert IN to OUT; what the new format cannot hold is an error, or said on stderr.

    \b
    Examples:
      permed-measures convert run.trec run.parquet
      permed-measures convert reranked.jsonl reranked.trec.gz
      permed-measures convert scores.json run.jsonl --what run --to jsonl-rows
      zcat run.trec.gz | permed-measures convert - - --to csv
    """
    read_from = Source(source)
    module = format_of(read_from, from_format)
    written = _target_format(Path(target), to_format)
    what = what or _kind(read_from, module)
    groups = module.read(read_from, what)
    content, notes = formatted(groups, what, written.NAME)
    write_whole(target, packed(content, target))
    documents = sum(map(len, groups.values()))
    number = "grade" if what == "qrels" else "score, or the order"
    counts = f"{queries(len(groups))}, {counted(documents, 'document')}"
    print_note(f"{what}: {counts}, {module.NAME} to {written.NAME}")
    kept = f"query, document and {number} are kept, nothing else that {source} may hold"
    print_notes([kept, *notes, *getattr(groups, "notes", ())])


def _target_format(target: Path, name: str | None) -> ModuleType:
    if name is not None:
        return by_name(name)
    suffix = Path(unpacked_name(target.name.lower())).suffix
    module = by_suffix(suffix)
    if module is None:
        known = ", ".join(suffix for module in formats().values() for suffix in module.SUFFIXES)
        msg = f"the format of {target} cannot be told from its suffix; known are {known}: use one of them, or --to"
        raise ParamError(msg)
    return module


def _kind(source: Source, module: ModuleType) -> str:
    what: str | None = module.what_is(source)
    if what is None:
        raise ParamError(f"{source.path} may be qrels or a run; say --what qrels or --what run")
    return what
