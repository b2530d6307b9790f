"""Hostile TREC runs for the compiled part, against the plain reader: to be run under sanitizers too (.ci/full).

    python benchmarks/fuzz_trec.py [SECONDS]

The seed of a failure is printed.
"""

from __future__ import annotations

import gzip
import random
import sys
import tempfile
import time
from pathlib import Path

from permed_measures.errors import InputError
from permed_measures.files import large, trec
from permed_measures.files.source import Source
from permed_measures.ranking import compiled, order, rank

PARTS = [
    *[
        b"q1",
        b"q2",
        b"Q0",
        b"0",
        b"1",
        b"a",
        b"b",
        b"a" * 300,
        b"\xc3\xa9",
        b"\xe6\xbc\xa2",
        b"#",
        b"tag",
        b"q1\x1c",
        b"\xc2\xa0",
    ],
    *[
        b"1.5",
        b"-2",
        b"1e400",
        b"-1e-400",
        b"inf",
        b"-Infinity",
        b"nan",
        b"0.1000000000000000055511151231257827",
        b"9" * 400,
    ],
    *[b"0x10", b"1_0", b".", b"-", b"+.5", b"5.", b"1e", b"1e+", b"12345678901234567890.5", b"0." + b"0" * 330 + b"1"],
    *[b"\x00", b"\xff", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xef\xbb\xbf", b"\r", b"\x0b", b"\x0c"],
]
SPACES = [b" ", b"\t", b"  ", b" \r", b"\x0b"]


def content(rng: random.Random) -> bytes:
    """Make lines, most of them sound, of queries that are together or not, with something odd here and there."""
    lines = []
    odd = rng.choice([0, 0, 0.01, 0.2])
    queries = [f"q{n}".encode() for n in range(rng.choice([1, 2, 30]))]
    for query in queries if rng.random() < 0.8 else rng.choices(queries, k=rng.randrange(40)):
        for number in rng.sample(range(1000), rng.choice([0, 1, 5, 40, 300])):
            score = rng.choice(
                [b"%d" % rng.randrange(4), repr(rng.uniform(-3, 3)).encode(), b"%.6f" % rng.random(), b"%de-3" % number]
            )
            fields = [query, b"Q0", b"d%d" % number, b"1", score, b"t"]
            if rng.random() < odd:
                fields[rng.randrange(6)] = rng.choice(PARTS)
            if rng.random() < odd / 4:
                fields.insert(rng.randrange(7), rng.choice(PARTS))
            if rng.random() < odd / 4:
                del fields[rng.randrange(len(fields))]
            lines.append((rng.choice(SPACES) if rng.random() < odd else b" ").join(fields))
            if rng.random() < odd / 4:
                lines.append(rng.choice([b"", b"# comment \x00", b"  ", b"\t#", rng.randbytes(rng.randrange(60))]))
    text = b"\n".join(lines) + rng.choice([b"", b"\n"])
    if rng.random() < odd:
        place = rng.randrange(len(text) + 1)
        text = text[:place] + rng.choice([rng.randbytes(9), b"x" * 70_000, b" " * 5000, b"\xef\xbb\xbf"]) + text[place:]
    return text


def is_faulty(source: Source, error: InputError) -> bool:
    """Whether a line is wrong in itself, or repeats another: of several faults readers name one or the other."""
    with source.open() as file:
        line = file.read().removeprefix(b"\xef\xbb\xbf").split(b"\n")[error.line - 1]
    if "occurs in line" in str(error):
        return True
    try:
        trec._columns(source, "run", error.line, line)  # noqa: SLF001  (what the plain reader makes of it)
    except InputError as alone:
        return str(alone) == str(error)
    return False


def check(path: Path, seed: int) -> str:
    """Compare one file; return what the plain reader made of it."""
    rng = random.Random(seed)
    depth, by = rng.choice([0, 1, 3, 40, None]), rng.choice(["float32", "float64"])
    qrels = {
        f"q{n}": {f"d{m}": m % 3 for m in range(0, 1000, 7)} | {"a": 1, "é": 2, "\ud800": 1} for n in range(0, 30, 2)
    }
    source = Source(path)
    mode = "whole" if depth is None else "top"
    try:
        run = trec.read(source, "run")
    except InputError as error:
        try:
            found = large._compiled(source, qrels, depth or 0, by, mode)  # noqa: SLF001  (the subject of this script)
        except InputError as ours:
            if str(ours) != str(error) and not is_faulty(source, ours):
                raise
            return "refused"
        if found is not None:
            raise
        return "left"
    found = large._compiled(source, qrels, depth or 3, by, mode)  # noqa: SLF001  (likewise)
    assert found is not None, "a sound file was left to the plain reader"
    assert found.keys() == run.keys()
    assert list(found.notes) == list(getattr(run, "notes", ()))
    for query_id, made in found.items():
        grades = qrels.get(query_id, {})
        plain = rank(run[query_id], grades, order=by)
        limit = None if mode == "whole" else depth or 3
        assert made.num_ret == plain.num_ret
        assert made.hits(limit) == plain.hits(limit)
        assert [made.tied(limit, p) for p in ("float32", "float64")] == [
            plain.tied(limit, p) for p in ("float32", "float64")
        ]
        assert list(made.top) == order(run[query_id], depth or 3, by=by)
    return "read"


def huge(folder: Path) -> None:
    """Read what is large in one way or another, and a gzip file that was cut off."""

    def read(data: bytes, name: str = "huge") -> object:
        path = folder / name
        path.write_bytes(data)
        try:
            return large._compiled(Source(path), {"q": {"d1": 1}}, 10, "float32", "top")  # noqa: SLF001  (likewise)
        except InputError as error:
            return str(error)

    long_id = b"d" * 10_000_000
    found = read(b"q Q0 %b 1 1.5 t\nq Q0 d1 2 0.5 t\n" % long_id)
    assert found["q"].ranked == [(2, 1)], found
    assert "occurs in line 1 already" in read(b"q Q0 %b 1 1.5 t\n" % long_id * 2)
    assert "is not a number" in read(b"q Q0 d 1 %b t\n" % (b"9" * 5_000_000 + b"x"))
    assert "1 field" in read(b"x" * 50_000_000)
    assert "NUL" in read(b"q Q0 d 1 1 t\nq Q0 %b 1 1 t\n" % (b"\0" * 5_000_000))
    assert len(read(b"".join(b"q%d Q0 d%d 1 1.5 t\n" % (n, n) for n in range(1_000_000)))) == 1_000_000
    assert read(b"".join(b"q Q0 d%d 1 1.5 t\n" % n for n in range(1_000_000)))["q"].num_ret == 1_000_000
    packed = gzip.compress(b"".join(b"q%d Q0 d%d 1 %d t\n" % (n // 50, n, n) for n in range(200_000)), 1)
    for size in (len(packed) - 1, len(packed) // 2, 20):
        assert "broken gzip" in read(packed[:size], "cut.gz")


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60
    assert compiled(), "the compiled part is not here"
    counts: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        huge(Path(folder))
        end = time.monotonic() + seconds
        seed = random.randrange(1 << 40)
        while time.monotonic() < end:
            seed += 1
            data = content(random.Random(seed))
            path = Path(folder, "run.gz" if seed % 5 == 0 else "run")
            path.write_bytes(gzip.compress(data, 1) if seed % 5 == 0 else data)
            try:
                made = check(path, seed)
            except BaseException:
                print("seed", seed)
                raise
            counts[made] = counts.get(made, 0) + 1
    print(f"{sum(counts.values()):,} files in {seconds:.0f} s: {counts}")


if __name__ == "__main__":
    main()
