"""The JSON that every command prints is what its schema in docs/schemas says, field by field."""

from __future__ import annotations

import importlib.util
import json
import random
from pathlib import Path

import pytest

jsonschema = pytest.importorskip("jsonschema", reason="the schemas are checked with jsonschema")
click = pytest.importorskip("click", reason="the shell tool needs click")
from click.testing import CliRunner  # noqa: E402  (after the question whether it is there)

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "schemas"
_SPEC = importlib.util.spec_from_file_location("docs_schemas", ROOT / "docs" / "make" / "schemas.py")
schemas = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(schemas)

QRELS, OLD, NEW, OTHER = (f"one/{name}.jsonl" for name in ("qrels", "retrieved", "profile_query", "query_only"))
SIGNATURE = "{}|order:float32|queries:qrels|n:2|judgements:3|digest:0123456789abcdef|version:1"
BENCH = ("bench-reranker", "my_rerankers:by_words", "--queries", "queries.jsonl", "--candidates", "candidates.jsonl",
         "--qrels", "q.txt", "--repeats", "3")  # fmt: skip
PRICED = ("--usd-per-million-tokens", "0.1", "--queries-per-day", "1000")
CASES = [
    ("eval", ("eval", QRELS, OLD, "-m", "P@1 nDCG@10")),
    ("eval", ("eval", QRELS, OLD, NEW, "-m", "P@1 NumQ", "--interval", "--by-query")),
    ("eval", ("eval", QRELS, OLD, "-m", "RR", "--ties", "expected")),
    ("eval", ("eval", QRELS, OLD, NEW, "-m", "RR", "--describe", "one/descriptions.tsv")),
    ("eval-human", ("eval", "judge.jsonl", OLD, "--human", QRELS, "-m", "P@5")),
    ("compare", ("compare", QRELS, OLD, NEW, OTHER, "--cluster", "conversation", "--all-pairs", "--group", "turn")),
    ("compare", ("compare", QRELS, OLD, NEW, "-m", "P@1 nDCG@10", "--margin", "0.1", "--test", "wilcoxon")),
    ("compare", ("compare", "q.txt", "a.run", "b.run", "-m", "P@1 RR")),
    ("experiment", ("experiment", "experiment.toml")),
    ("plan", ("plan", QRELS, OLD, NEW, "-m", "P@1", "--difference", "0.01")),
    ("query", ("query", QRELS, OLD, NEW, "1_1", "-m", "AP nDCG@10")),
    ("query", ("query", "q.txt", "a.run", "q1", "-m", "RR", "--texts", "t.tsv", "--documents", "t.tsv")),
    ("gate", ("gate", QRELS, OLD, "P@1>=0.5", "--baseline", NEW, "--max-drop", "0.02")),
    ("gate-power", ("gate", "--power", QRELS, OLD, "P@1>=0.5", "--max-drop", "0.02")),
    ("explain", ("explain", QRELS, OLD, "--value", "0.5280", "--about", "map@10")),
    ("explain", ("explain", QRELS, OLD, "--value", "0.1234", "--about", "ndcg@10")),
    ("explain", ("explain", "q.txt", "a.run", "--a", "trec_eval:map_cut_10", "--b", "GWAP@10")),
    ("signature", ("explain", SIGNATURE.format("P@1"))),
    ("signature", ("explain", SIGNATURE.format("P@1"), SIGNATURE.format("P@5"))),
    ("verify", ("verify", "q.txt", "a.run", "-m", "GWAP@10 P@1 Utility")),
    ("judges", ("judges", QRELS, "judge.jsonl", "--runs", OLD, "--runs", NEW)),
    ("judges", ("judges", QRELS, "judge.jsonl", "--group", "turn")),
    ("serving", ("serving", "log.jsonl")),
    ("serving", ("serving", "log.jsonl", *PRICED)),
    ("serving-by", ("serving", "log.jsonl", "--by", "hour")),
    ("serving-against", ("serving", "log.jsonl", "--against", "log.jsonl")),
    ("bench-reranker", (*BENCH, "--threads", "1,2", "--duration", "0.2")),
    (
        "bench-reranker",
        (
            *BENCH,
            "--threads",
            "1",
            "--duration",
            "0.2",
            *PRICED,
            "--revenue-per-query",
            "0.1",
            "--tokens-per-document",
            "5",
        ),
    ),
    ("samples", ("samples", "samples.jsonl", "--weights", "0.6,0.4")),
    ("samples", ("samples", "samples.jsonl", "--train", "samples.jsonl", "--solver", "lbfgs")),
    ("measures", ("measures",)),
    ("measures", ("measures", "GWAP")),
    ("profiles", ("profiles",)),
    ("profiles", ("profiles", "rerank")),
]


def _experiment():
    sets = "".join(f'[[datasets]]\nname = "{name}"\nqrels = "one/qrels.jsonl"\n' for name in ("one", "two"))
    named = {"retrieved": '"one/retrieved.jsonl"', "query_only": '"one/query_only.jsonl"'}
    named["both"] = '["one/profile_query.jsonl", "one/query_only.jsonl"]'
    systems = "".join(
        f'[[systems]]\nname = "{name}"\nruns = {{one = {runs}, two = {runs}}}\n' for name, runs in named.items()
    )
    return f'baseline = "retrieved"\nmeasures = "nDCG@10 P@1"\n{sets}{systems}'


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    """Return the tool, run in a folder with an input for every command."""
    from permed_measures.cli._group import group
    from permed_measures.cli.demo import write_example

    folder = tmp_path_factory.mktemp("schemas")
    write_example(str(folder / "one"))
    rng = random.Random(1)
    judged = [json.loads(line) for line in (folder / QRELS).read_text().splitlines()]
    for record in judged:
        grades = record["relevant_texts"].items()
        record["relevant_texts"] = {doc: grade if rng.random() < 0.8 else (grade + 1) % 3 for doc, grade in grades}
    calls = [
        {"start": 1767225600.0 + 60 * n, "duration_ms": 40 + n % 30, "status": 500 if n % 50 == 0 else 200, "tokens": 9}
        for n in range(300)
    ]
    samples = [
        {
            "trace_id": f"t{n}",
            "node_id": 1,
            "tool": tool,
            "features": [rng.random() + label, rng.random()],
            "label": label,
        }
        for n in range(20)
        for tool, label in (("a", 1), ("b", 0))
    ]
    texts = {
        "judge.jsonl": judged,
        "log.jsonl": calls,
        "samples.jsonl": samples,
        "queries.jsonl": [{"query_id": "q1", "text": "blood pressure"}],
        "candidates.jsonl": [
            {"query_id": "q1", "candidates": [{"doc_id": doc, "text": f"blood {doc}"} for doc in "ab"]}
        ],
    }
    for name, records in texts.items():
        (folder / name).write_text("".join(json.dumps(record) + "\n" for record in records))
    (folder / "q.txt").write_text("q1 0 a 2\nq1 0 b 1\nq2 0 c 1\n")
    (folder / "a.run").write_text("q1 Q0 a 1 2.0 a\nq1 Q0 x 2 2.0 a\nq2 Q0 c 1 1.0 a\n")
    (folder / "b.run").write_text("q1 Q0 x 1 2.0 b\nq1 Q0 a 2 1.0 b\nq2 Q0 y 1 1.0 b\n")
    (folder / "t.tsv").write_text("q1\tblood pressure\na\tAspirin\n")
    (folder / "my_rerankers.py").write_text("def by_words(query, texts):\n    return [len(text) for text in texts]\n")
    (folder / "experiment.toml").write_text(_experiment())

    def run(*arguments):
        return CliRunner().invoke(group, arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield run


def of(name):
    return jsonschema.Draft202012Validator(json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")))


@pytest.mark.parametrize(("name", "arguments"), CASES, ids=[f"{name}-{n}" for n, (name, _) in enumerate(CASES)])
def test_the_json_is_what_its_schema_says(shell, name, arguments):
    done = shell(*arguments, "--format", "json")
    assert done.exit_code in (0, 1, 3), done.output
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    faults = [f"{error.json_path}: {error.message}" for error in of(name).iter_errors(json.loads(done.stdout))]
    assert faults == []


def test_the_lines_of_holes(shell):
    assert shell("holes", "q.txt", "a.run", "b.run", "-o", "holes.jsonl").exit_code == 0
    lines = Path("holes.jsonl").read_text().splitlines()
    assert len(lines) == 2  # x and y
    for line in lines:
        of("holes").validate(json.loads(line))


def test_a_field_that_no_schema_knows_is_found(shell):
    found = json.loads(shell(*CASES[0][1], "--format", "json").stdout)
    assert not of("eval").is_valid({**found, "new": 1})
    assert not of("eval").is_valid({**found, "signatures": {"P@1": "P@1"}})
    assert not of("eval").is_valid({"metrics": found["metrics"]})


@pytest.mark.parametrize("path", schemas.texts(), ids=lambda path: path.name)
def test_what_is_written_from_the_shapes_is_current(path):
    text = schemas.texts()[path]
    jsonschema.Draft202012Validator.check_schema(json.loads(text))
    assert path.read_text(encoding="utf-8") == text, "python docs/make/schemas.py makes it anew"


def test_every_command_with_json_has_a_schema_and_a_case_and_is_in_the_manual():
    from permed_measures.cli import command_files
    from permed_measures.cli._group import group

    top = click.Context(group)
    commands = {name: group.get_command(top, name) for name in command_files()}
    printing = {name for name, command in commands.items() if any("--format" in p.opts for p in command.params)}
    assert len(printing) > 10
    assert printing == {arguments[0] for _, arguments in CASES}
    assert {name for name, _ in CASES} | {"holes"} == {path.stem for path in FOLDER.iterdir()}
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    assert [path.name for path in FOLDER.iterdir() if f"(schemas/{path.name})" not in page] == []
