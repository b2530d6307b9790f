"""``permed-measures demo``: an example to look at, made up here: judged conversations, and three systems."""

import json
import math
import random
import shlex
from pathlib import Path

import click

from permed_measures.comparison import compare
from permed_measures.errors import InputError
from permed_measures.files.output import print_whole, write_whole

FILES = ("qrels.jsonl", "retrieved.jsonl", "profile_query.jsonl", "query_only.jsonl", "descriptions.tsv")
DESCRIPTIONS = {
    "retrieved": "first-stage retrieval",
    "profile_query": "reranked with the user's profile and the query",
    "query_only": "reranked with the query alone",
}
_CONVERSATIONS = 60
_TURNS = 4
_CANDIDATES = 20
_SHARES = (0.62, 0.24, 0.14)  # how often a candidate has grade 0, 1 and 2
_SHARPNESS = {"retrieved": 1.1, "profile_query": 1.25, "query_only": 0.85}
"""How far apart a system's scores put two neighbouring grades, in units of its noise."""


@click.command(short_help="Write a small example data set and compare its runs.")
@click.argument("folder", default="permed-demo", type=click.Path(file_okay=False))
def command(folder: str) -> None:
    r"""Write an example into FOLDER (permed-demo), compare its runs, and print the command to repeat that.

    The data is made up: 60 conversations of 4 turns with grades 0, 1 and 2, a retrieved run, and two rerankers.

    \b
    Examples:
      permed-measures demo
      permed-measures demo my-example
      permed-measures eval permed-demo/qrels.jsonl permed-demo/retrieved.jsonl
      permed-measures compare permed-demo/qrels.jsonl permed-demo/retrieved.jsonl permed-demo/query_only.jsonl
    """
    qrels, retrieved, profile_query, query_only, descriptions = write_example(folder)
    runs = {path.stem: path for path in (profile_query, query_only)}
    comparison = compare(
        qrels, retrieved, runs, profile="permed", baseline_name=retrieved.stem, descriptions=DESCRIPTIONS
    )
    report = Path(folder) / "report.html"
    write_whole(report, comparison.to_html())
    print_whole(comparison.render() + "\n")
    command_line = [qrels, retrieved, profile_query, query_only, "--describe", descriptions, "--html", report]
    print_whole(f"The same with charts and every query, to open in a browser: {report}\n\nTo repeat it:\n")
    print_whole(f"  permed-measures compare {shlex.join(map(str, command_line))}\n")


def example(seed: int = 7) -> dict[str, str]:
    """Return the text of each file by its name; the same seed gives the same texts on every Python.

    >>> files = example()
    >>> list(files) == list(FILES)
    True
    >>> files["qrels.jsonl"].count("query_id")      # 60 conversations of 4 turns
    240
    """
    source = random.Random(seed)  # noqa: S311  (made-up data, not secrets)
    judged: list[dict[str, object]] = []
    lists: dict[str, list[dict[str, object]]] = {name: [] for name in _SHARPNESS}
    for topic in range(1, _CONVERSATIONS + 1):
        for turn in range(1, _TURNS + 1):
            query_id = f"{topic}_{turn}"
            grades = {f"med{topic:02d}{turn}{place:02d}": _grade(source.random()) for place in range(_CANDIDATES)}
            judged.append({"query_id": query_id, "relevant_texts": {d: g for d, g in grades.items() if g or _seen(d)}})
            shared = {doc_id: _noise(source) for doc_id in grades}
            for name, sharpness in _SHARPNESS.items():
                own = {doc_id: _noise(source) for doc_id in grades}
                # rerankers see the same texts: their errors are partly those of the retriever
                scores = {d: sharpness * g + 0.8 * shared[d] + 0.6 * own[d] for d, g in grades.items()}
                ranked = sorted(scores, key=lambda doc_id: (-scores[doc_id], doc_id))
                key = "results" if name == "retrieved" else "ranked_results"
                results = [{"text_id": doc_id, "score": round(scores[doc_id], 4)} for doc_id in ranked]
                lists[name].append({"query_id": query_id, key: results})
    texts = {"qrels.jsonl": _lines(judged), **{f"{name}.jsonl": _lines(rows) for name, rows in lists.items()}}
    texts["descriptions.tsv"] = "".join(f"{name}\t{text}\n" for name, text in DESCRIPTIONS.items())
    return texts


def _grade(share: float) -> int:
    return 0 if share < _SHARES[0] else 1 if share < _SHARES[0] + _SHARES[1] else 2


def _seen(doc_id: str) -> bool:
    """Whether a document of grade 0 is judged; every third is not, as in real collections."""
    return int(doc_id[-2:]) % 3 != 0


def _noise(source: random.Random) -> float:
    """Draw from the normal distribution (Box and Muller 1958): ``gauss`` may change between versions of Python."""
    return math.sqrt(-2 * math.log(1 - source.random())) * math.cos(2 * math.pi * source.random())


def _lines(rows: list[dict[str, object]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def write_example(folder: str | Path) -> list[Path]:
    """Write the files into a folder, which is made; files of the same name and other content are left alone."""
    target = Path(folder)
    texts = example()
    try:
        target.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            path = target / name
            if path.exists() and path.read_bytes() != text.encode():
                raise InputError("is there already, with other content; give another folder", path=path)
    except OSError as error:
        raise InputError(f"cannot write the example there: {error.strerror}", path=target) from error
    for name, text in texts.items():
        write_whole(target / name, text)
    return [target / name for name in texts]
