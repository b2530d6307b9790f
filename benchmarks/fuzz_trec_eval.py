"""``permed-measures trec_eval`` against trec_eval itself: random qrels, runs, options and measures, byte by byte.

``python benchmarks/fuzz_trec_eval.py SECONDS 10.0=PATH 9.0.8=PATH`` with the programs that you built;
``python benchmarks/fuzz_trec_eval.py --write N 10.0=PATH 9.0.8=PATH`` writes what they print for N small inputs to
``tests/trec_eval_cases.json``. The source of 10.0 (rc3, June 2026) needs a change: m_rbp.c reads ``min`` and ``max``
before it sets them; they are to be 0. Without -c it ends at a query that is not in the run, so there is none then.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from permed_measures.cli import main

NAMES = """
runid num_q num_ret num_rel num_rel_ret map gm_map Rprec bpref recip_rank iprec_at_recall P relstring recall infAP
gm_bpref Rprec_mult utility 11pt_avg binG G ndcg ndcg_rel Rndcg ndcg_cut map_cut relative_P success set_P set_recall
set_relative_P set_map set_F num_nonrel_judged_ret official set all_trec
""".split()  # noqa: SIM905  (as trec_eval's source lists them)
GRADES = {"binary": [0, 0, 1], "graded": [0, 0, 1, 1, 2, 3], "negative": [-2, -1, 0, 1, 2], "high": [0, 1, 4, 11]}
SCORES = [1.0, 2.0, 3.0, 1.00000001, 1.00000003, 1e30]
LEVELS = ["0", ".1", "0.25", ".3", ".35", "0.5", ".7", ".9", "1"]
CHOICES = {
    "Rprec_mult": [".1", "0.25", ".3,.35", "0.5,1.5", "3"],
    "relstring": ["0", "3", "30"],
    "utility": ["1,-1,0,0", "2,-.25,-2,0", "0.5,0,1,0"],
    "set_F": ["0.5", "2", "1.0", ".25"],
    "ndcg": ["1=3", "1=3,2=9", "1=1,2=2,3=7", "2=12"],
    "rbp": ["p=0.5", "p=.8", "p=0.95"],
    "rbp_resid": ["p=0.5", "p=.8"],
}


def measure(version):
    word = random.choice(NAMES + ["rbp", "rbp_resid", "unj"] * (version == "10.0"))
    if random.random() < 0.5:
        return word
    if word in ("P", "recall", "ndcg_cut", "map_cut", "relative_P", "success", "unj"):
        return f"{word}.{','.join(map(str, random.sample(range(1, 40), random.randint(1, 4))))}"
    if word in ("iprec_at_recall", "11pt_avg"):
        levels = random.sample(LEVELS, random.randint(1, 4))
        return f"{word}.{','.join(levels if word[0] == 'i' else sorted(levels, key=float))}"
    return f"{word}.{random.choice(CHOICES[word])}" if word in CHOICES else word


def inputs(most_queries, most_documents):
    """Return the lines of qrels and a run, both shuffled."""
    grades = random.choice(list(GRADES.values()))
    qrels, run = {}, {}
    for number in random.sample(range(200), random.randint(1, most_queries)):
        query = random.choice(["q", "Q", "é", ""]) + str(number)
        documents = [f"d{place}" for place in range(random.randint(1, most_documents))]
        judged = random.sample(documents, random.randint(1, len(documents)))
        qrels[query] = {document: random.choice(grades) for document in judged}
        if max(qrels[query].values()) < 0:
            qrels[query][documents[0]] = 0  # without this trec_eval reads what it never wrote
        unjudged = [f"x{place}" for place in range(random.randint(0, most_documents // 2))]
        returned = random.sample(documents, random.randint(0, len(documents))) + unjudged or ["x"]
        run[query] = {doc: random.choice([*SCORES, round(random.random(), 3), -random.random()]) for doc in returned}
    return qrels, run


def options(version):
    chosen = [flag for flag, chance in {"-q": 0.7, "-n": 0.1, "-J": 0.3, "-c": 0.5}.items() if random.random() < chance]
    chosen += random.choice([[], [], [f"-l{random.choice([1, 2, 3, 12])}"]])
    chosen += random.choice([[], [], ["-M", str(random.choice([1, 2, 5, 10, 100]))]])
    for _ in range(random.randint(0, 4)):
        chosen += ["-m", measure(version)]
    return chosen


def case(programs, folder, most_queries=16, most_documents=45):
    """Return the version, options, files and what trec_eval prints for them."""
    version = random.choice(list(programs))
    qrels, run = inputs(most_queries, most_documents)
    chosen = options(version)
    if len(run) > 1 and ("-c" in chosen or version == "9.0.8") and random.random() < 0.6:
        for query in random.sample(list(run), random.randint(1, len(run) - 1)):
            del run[query]
    judged = [f"{query} 0 {doc} {grade}\n" for query, grades in qrels.items() for doc, grade in grades.items()]
    returned = [
        f"{query} Q0 {doc} 0 {score!r} t{len(doc)}\n" for query, docs in run.items() for doc, score in docs.items()
    ]
    for lines in (judged, returned):
        random.shuffle(lines)
    files = {"qrels": "".join(judged), "run": "".join(returned)}
    for name, text in files.items():
        (folder / name).write_text(text)
    paths = [str(folder / name) for name in files]
    done = subprocess.run([programs[version], *chosen, *paths], capture_output=True, check=True)
    return {"version": version, "options": chosen, **files, "printed": done.stdout.decode()}, paths


def ours(version, chosen, paths):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        main(["trec_eval", "--as", version, *chosen, *paths])
    return out.getvalue()


def fuzz(seconds, programs):
    end, count, differ = time.monotonic() + seconds, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < end:
            known, paths = case(programs, Path(folder))
            count += 1
            if ours(known["version"], known["options"], paths) != known["printed"]:
                differ += 1
                print(json.dumps(known))
    print(f"{count:,} calls, {differ} differ")
    return differ


if __name__ == "__main__":
    programs_given = dict(argument.split("=", 1) for argument in sys.argv[1:] if "=" in argument)
    if sys.argv[1] != "--write":
        sys.exit(fuzz(float(sys.argv[1]), programs_given) > 0)
    random.seed(0)
    with tempfile.TemporaryDirectory() as place:
        cases = [case(programs_given, Path(place), 4, 10)[0] for _ in range(int(sys.argv[2]))]
    target = Path(__file__).parents[1] / "tests" / "trec_eval_cases.json"
    target.write_text("[\n" + ",\n".join(json.dumps(known, ensure_ascii=False) for known in cases) + "\n]\n")
