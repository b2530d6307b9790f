"""Draw the pictures of docs/results.md into docs/pictures: python docs/pictures.py."""

import tempfile
from pathlib import Path

from permed_measures import compare
from permed_measures.cli.demo import write_example

target = Path(__file__).parent / "pictures"
target.mkdir(exist_ok=True)
with tempfile.TemporaryDirectory() as folder:
    names = ("qrels", "retrieved", "profile_query", "query_only")
    write_example(folder)
    qrels, retrieved, *others = (Path(folder) / f"{name}.jsonl" for name in names)
    runs = {path.stem: path for path in others}
    result = compare(qrels, retrieved, runs, profile="permed", cluster="conversation")
    by_k = compare(qrels, retrieved, runs, "nDCG@1 nDCG@2 nDCG@3 nDCG@5 nDCG@10", cluster="conversation")
for plot in ("means", "differences", "wins"):
    result.figure(plot, measure="NDCG@10").save(target / f"{plot}.svg")
by_k.figure("cutoffs").save(target / "cutoffs.svg")
