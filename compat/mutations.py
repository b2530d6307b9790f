"""Faults that the suite must find: each one is put into a copy of the package, and compared with the references there.

``python -m compat.mutations`` tries them all and names those that nobody noticed.
"""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

CORPORA = (
    "worked", "graded", "ties", "near_ties", "float_grades", "negative", "empty", "missing", "unjudged", "extreme",
    "short", "plain", "unicode", "ten_grades", "all_negative",
)  # fmt: skip
REFERENCES = ("by_hand", "pytrec_eval")
HOSTS = ("evaluate", "evaluate_together", "evaluate_plain", "ir_measures", "pytrec_eval", "evaluate_lists")


@dataclass(frozen=True)
class Mutation:
    """A fault: in a file of the package, one piece of text becomes another."""

    name: str
    file: str
    old: str
    new: str
    hosts: tuple[str, ...] = HOSTS

    def apply(self, package: Path) -> None:
        """Change the copy."""
        path = package / self.file
        text = path.read_text(encoding="utf-8")
        if text.count(self.old) != 1:
            msg = f"mutation {self.name!r}: {self.old!r} occurs {text.count(self.old)} times in {self.file}, not once"
            raise ValueError(msg)
        path.write_text(text.replace(self.old, self.new), encoding="utf-8")
        for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):
            compiled.unlink()


_DISCOUNT = "return sum([grade / log2(rank + 1) for rank, grade in hits if grade > 0])"
_EXP = "(2.0**grade - 1.0) / log2(rank + 1)"


def _in_tables(name: str, file: str, old: str, new: str, *, engine: str = "polars") -> Mutation:
    return Mutation(f"tables: {name}", file, old, new, hosts=(f"tables_{engine}",))


def _in(host: str, name: str, file: str, old: str, new: str) -> Mutation:
    return Mutation(f"{host}: {name}", file, old, new, hosts=(host,))


MUTATIONS = (
    # the order
    Mutation(
        "ties ascending",
        "ranking.py",
        "sorted(zip(keys, scores, strict=True), reverse=True)]\n    elif",
        "sorted(sorted(zip(keys, scores, strict=True)), key=lambda pair: -pair[0])]\n    elif",
    ),
    Mutation(
        "ties in input order",
        "ranking.py",
        "sorted(zip(keys, scores, strict=True), reverse=True)]\n    elif",
        "sorted(zip(keys, scores, strict=True), key=lambda pair: -pair[0])]\n    elif",
    ),
    Mutation(
        "ties by UTF-16",
        "ranking.py",
        "sorted(zip(keys, scores, strict=True), reverse=True)]\n    elif",
        "sorted(zip(keys, scores), key=lambda p: (p[0], p[1].encode('utf-16-be')), reverse=True)]\n    elif",
    ),
    Mutation(
        "ties by lower case",
        "ranking.py",
        "sorted(zip(keys, scores, strict=True), reverse=True)]\n    elif",
        "sorted(zip(keys, scores), key=lambda p: (p[0], p[1].lower()), reverse=True)]\n    elif",
    ),
    Mutation("64-bit scores", "ranking.py", 'return array("f", scores.values())', 'return array("d", scores.values())'),
    Mutation(
        "ties taken for ordered",
        "ranking.py",
        "if not all(map(gt, keys, keys[1:])):",
        "if not all(a >= b for a, b in zip(keys, keys[1:])):",
    ),
    Mutation(
        "ranks from 0", "ranking.py", "enumerate(islice(in_order, depth), 1)", "enumerate(islice(in_order, depth))"
    ),
    Mutation(
        "columns: ranks from 0", "measures/arrays.py", "1 + keys.searchsorted(wanted)", "keys.searchsorted(wanted)"
    ),
    Mutation("columns: ties ignored", "measures/arrays.py", "ranks[row] = place_of.get(doc_id, ranks[row])", "pass"),
    Mutation(
        "lists: ranks from 0",
        "ranking.py",
        "for place, doc_id in enumerate(doc_ids, 1)}",
        "for place, doc_id in enumerate(doc_ids)}",
    ),
    Mutation(
        "hits: the rank at the cut left out",
        "ranking.py",
        'bisect_right(ranked, (cutoff, float("inf")))',
        "bisect_right(ranked, (cutoff, 0))",
    ),
    Mutation(
        "hits: one rank too many", "ranking.py", "bisect_right(ranked, (cutoff, ", "bisect_right(ranked, (cutoff + 1, "
    ),
    Mutation(
        "num_rel: > for >=",
        "ranking.py",
        "sum([grade >= rel for grade in self.judged])",
        "sum([grade > rel for grade in self.judged])",
    ),
    Mutation(
        "judged_only keeps the ranks",
        "ranking.py",
        "list(enumerate(kept, 1))",
        "[hit for hit in self.ranked if hit[1] >= 0]",
    ),
    # GWAP
    Mutation(
        "gwap: > for >=",
        "measures/gwap.py",
        "        if grade >= rel:\n            found",
        "        if grade > rel:\n            found",
    ),
    Mutation(
        "gwap: the weight forgotten",
        "measures/gwap.py",
        "found / rank * (grade / max_rel if weights is None else weights[grade])",
        "found / rank",
    ),
    Mutation(
        "gwap: weights ignored",
        "measures/gwap.py",
        "(grade / max_rel if weights is None else weights[grade])",
        "(grade / max_rel)",
    ),
    Mutation("gwap: ranks off by one", "measures/gwap.py", "total += found / rank *", "total += found / (rank + 1) *"),
    Mutation(
        "gwap: 'relevant' divides by the found", "measures/gwap.py", "return total / num_rel", "return total / found"
    ),
    Mutation(
        "gwap: 'relevant' divides by min(R, k)",
        "measures/gwap.py",
        "return total / num_rel",
        "return total / min(num_rel, cutoff or num_rel)",
    ),
    Mutation(
        "gwap: 'retrieved' divides by R",
        "measures/gwap.py",
        "return total / found",
        "return total / ranking.num_rel(rel)",
    ),
    Mutation(
        "gwap: 'cutoff' is not cut",
        "measures/gwap.py",
        "reachable = num_rel if cutoff is None else min(num_rel, cutoff)",
        "reachable = num_rel",
    ),
    Mutation("gwap: 'cutoff' divides by k", "measures/gwap.py", "else min(num_rel, cutoff)", "else cutoff"),
    Mutation(
        "gwap: the ideal is not sorted by weight",
        "measures/gwap.py",
        "sum(sorted(worth, reverse=True)[:reachable])",
        "sum(worth[:reachable])",
    ),
    Mutation(
        "gwap: the ideal is not cut", "measures/gwap.py", "sum(sorted(worth, reverse=True)[:reachable])", "sum(worth)"
    ),
    # Coverage, ListAP
    Mutation("coverage: > for >=", "measures/coverage.py", "any(grade >= rel", "any(grade > rel"),
    Mutation("coverage: the cut-off forgotten", "measures/coverage.py", "ranking.hits(cutoff)", "ranking.hits(None)"),
    Mutation(
        "list_ap: divided by R",
        "measures/list_ap.py",
        "return total / found if found",
        "return total / ranking.num_rel(rel) if found",
    ),
    Mutation("list_ap: > for >=", "measures/list_ap.py", "if grade >= rel:", "if grade > rel:"),
    Mutation("list_ap: every judged document counts", "measures/list_ap.py", "if grade >= rel:", "if True:"),
    # nDCG, ListNDCG
    Mutation(
        "list_ndcg: the ideal is the top k re-sorted",
        "measures/list_ndcg.py",
        "ranking.hits(None)), reverse=True)",
        "ranking.hits(cutoff)), reverse=True)",
    ),
    Mutation(
        "list_ndcg: the ideal is all judged",
        "measures/list_ndcg.py",
        "sorted((grade for _, grade in ranking.hits(None)), reverse=True)",
        "ranking.grades",
    ),
    Mutation("list_ndcg: the ideal is not cut", "measures/list_ndcg.py", "returned[:cutoff], dcg)", "returned, dcg)"),
    Mutation(
        "list_ndcg: cut before it looks past",
        "measures/list_ndcg.py",
        "LOOKS_PAST_CUTOFF = True",
        "LOOKS_PAST_CUTOFF = False",
    ),
    Mutation(
        "ndcg: the ideal is not cut",
        "measures/ndcg.py",
        "ranking.grades[:cutoff], dcg)",
        "ranking.grades, dcg)",
    ),
    Mutation(
        "ndcg: the ideal one too short",
        "measures/ndcg.py",
        "grades[:cutoff], dcg)",
        "grades[: cutoff and max(cutoff - 1, 1)], dcg)",
    ),
    Mutation(
        "ndcg: linear discount off by one", "measures/ndcg.py", _DISCOUNT, _DISCOUNT.replace("rank + 1", "rank + 2")
    ),
    Mutation("ndcg: exponential discount off by one", "measures/ndcg.py", _EXP, _EXP.replace("rank + 1", "rank + 2")),
    Mutation("ndcg: natural gain 2^g", "measures/ndcg.py", _EXP, _EXP.replace(" - 1.0", "")),
    Mutation(
        "ndcg: exponential gain of negative grades",
        "measures/ndcg.py",
        _EXP + " for rank, grade in hits if grade > 0",
        _EXP + " for rank, grade in hits",
    ),
    Mutation(
        "ndcg: linear gain of negative grades", "measures/ndcg.py", _DISCOUNT, _DISCOUNT.replace(" if grade > 0", "")
    ),
    Mutation("ndcg: judged_only forgotten", "measures/ndcg.py", "ranking = ranking.judged_only()", "pass"),
    Mutation(
        "ndcg: gains forgotten in the list",
        "ranking.py",
        "ranked = [(rank, gains.get(grade, grade)) for rank, grade in self.ranked]",
        "ranked = self.ranked",
    ),
    # the delegate
    Mutation(
        "delegate: > for >= on float grades",
        "delegate.py",
        "    if grade >= rel:\n        return 1",
        "    if grade > rel:\n        return 1",
    ),
    Mutation(
        "delegate: float grades truncated",
        "delegate.py",
        "grade == int(grade) and abs(grade)",
        "abs(grade)",
    ),
    Mutation("delegate: the worst first", "delegate.py", "{str(place): float(-place)", "{str(place): float(place)"),
    Mutation(
        "delegate: relevance level ignored",
        "delegate.py",
        "return min(max(1, math.ceil(self.rel)), MAX_GRADE + 1)",
        "return 1",
    ),
    Mutation("delegate: relevance level rounded down", "delegate.py", "math.ceil(self.rel)", "math.floor(self.rel)"),
    Mutation(
        "delegate: missed documents forgotten",
        "delegate.py",
        "grades if needs_missed else grades[: len(ranks)]",
        "grades[: len(ranks)]",
    ),
    Mutation(
        "delegate: judged_only forgotten",
        "delegate.py",
        "ranking = ranking.judged_only()",
        "pass",
    ),
    Mutation("delegate: the length of the list guessed", "delegate.py", "if not exact_length:", "if True:"),
    Mutation(
        "delegate: RR is not cut",
        "measures/rr.py",
        'Call("recip_rank", depth=cutoff, cut=cutoff, needs_missed=False)',
        'Call("recip_rank", needs_missed=False)',
    ),
    Mutation(
        "delegate: lists cut one too early",
        "delegate.py",
        "length = length if depth is None or length < depth else depth",
        "length = length if depth is None or length < depth else max(1, depth - 1)",
    ),
    Mutation("delegate: beta ignored", "measures/set_f.py", "if beta == 1 else", "if True else"),
    Mutation("delegate: R is P", "measures/r.py", 'Call(f"recall_{cutoff}"', 'Call(f"P_{cutoff}"'),
    Mutation(
        "delegate: two relevance levels in one call", "delegate.py", "key = (rel, judged_only,", "key = (judged_only,"
    ),
    Mutation("delegate: gains of another measure", "delegate.py", "call.threshold, repr(gains))", "call.threshold)"),
    # evaluate and the hosts
    Mutation(
        "evaluate: a depth that is too small",
        "evaluate/__init__.py",
        "max((depth for depth in depths if depth is not None), default=None)",
        "min((depth for depth in depths if depth is not None), default=None)",
    ),
    Mutation(
        "evaluate: queries missing from the run dropped",
        "evaluate/__init__.py",
        "query_ids = list(qrels) if",
        "query_ids = [q for q in qrels if q in run] if",
    ),
    Mutation(
        "base: a parameter falls back to its default",
        "measures/base.py",
        "self.arguments = {name: self[name] for name in self.SUPPORTED_PARAMS}",
        "self.arguments = {name: 1 if name == 'rel' else self[name] for name in self.SUPPORTED_PARAMS}",
    ),
    # the same measures as expressions over tables
    _in_tables("ties by document ascending", "tables/engines.py", "cum_count(reverse=True)", "cum_count()"),
    _in_tables("64-bit scores", "tables/inputs.py", "return score.cast(nw.Float32)", "return score"),
    _in_tables("depth too small", "tables/best_lists.py", "top_k(depth + 1).min()", "top_k(max(1, depth - 1)).min()"),
    _in_tables("depth in DuckDB", "tables/engines.py", "place <= {depth}", "place < {depth}", engine="duckdb"),
    _in_tables(
        "order in DuckDB", "tables/engines.py", '{SCORE} DESC, {DOC} DESC"', '{SCORE} DESC, {DOC}"', engine="duckdb"
    ),
    _in_tables("missing queries dropped", "tables/ranking_table.py", 'on=lists, how="left")', 'on=lists, how="inner")'),
    _in_tables("cut-off left out", "tables/ranking_table.py", 'float("inf") if cutoff is None', 'float("inf") if True'),
    _in_tables("discount", "tables/ranking_table.py", "(rank + 1.0).log(2)", "(rank + 2.0).log(2)"),
    _in_tables("exponential gain", "tables/ranking_table.py", "LARGEST) - 1.0)", "LARGEST))"),
    _in_tables(
        "found counts all hits", "tables/ranking_table.py", "_number(relevant).cum_sum()", "nw.col(ONE).cum_sum()"
    ),
    _in_tables("P: not divided by k", "measures/p.py", "/ float(cutoff)", "/ 5.0"),
    _in_tables(
        "AP: judged_only ignored",
        "measures/ap.py",
        "table.found(relevant) / rank, ",
        "table.found(relevant) / table.rank, ",
    ),
    _in_tables(
        "Rprec: one more",
        "measures/rprec.py",
        "rank <= table.count_judged(relevant)",
        "rank <= table.count_judged(relevant) + 1",
    ),
    _in_tables(
        "RR: relevant alone",
        "measures/rr.py",
        "table.max_hits(1.0 / rank, (table.grade >= rel)",
        "table.max_hits(1.0 / rank, (table.grade > rel)",
    ),
    _in_tables(
        "GWAP: weights without rel", "measures/gwap.py", "worth = table.where(relevant, weight)", "worth = weight"
    ),
    _in_tables("GWAP: cutoff norm", "measures/gwap.py", "num_rel.clip(0.0, float(cutoff))", "num_rel"),
    _in_tables(
        "ListNDCG: ideal of the cut list",
        "measures/list_ndcg.py",
        "gaining & table.within(cutoff, place)",
        "gaining & table.within(cutoff)",
    ),
    _in_tables(
        "ListAP: divided by all",
        "measures/list_ap.py",
        "table.sum_hits(1, in_list))",
        "table.sum_judged(1, relevant))",
    ),
    _in_tables(
        "nDCG: gains only in the ideal",
        "measures/ndcg.py",
        "(grade > 0) & table.within(cutoff, rank)",
        "(table.grade > 0) & table.within(cutoff, rank)",
    ),
    # explain
    _in("explain", "unnamed grades gain nothing", "measures/ndcg.py", ".get(grade, grade)", ".get(grade, 0)"),
    _in("explain", "judged_only unread", "evaluate/conventions/names.py", '(unjudged="removed")', '(unjudged="kept")'),
    _in("explain", "rel unread", "evaluate/conventions/names.py", 'threshold=given.get("rel", 1)', "threshold=1"),
    _in(
        "explain",
        "the last rank left out",
        "evaluate/conventions/query_values.py",
        "relevant & (order.rank <=",
        "relevant & (order.rank <",
    ),
    _in(
        "explain",
        "discount",
        "evaluate/conventions/query_values.py",
        "_discount(order.rank[inside], discount)",
        "_discount(order.rank[inside] + 1, discount)",
    ),
    _in(
        "explain",
        "ideal not cut",
        "evaluate/conventions/query_values.py",
        'self.depth if ideal == "judged" else',
        "math.inf if True else",
    ),
    _in(
        "explain",
        "recall levels as trec_eval 10.0",
        "evaluate/conventions/query_values.py",
        "np.trunc(level + 0.9)",
        "_rounded(level)",
    ),
    _in("explain", "64-bit scores", "evaluate/conventions/orders.py", "if precision == 32:", "if precision == 99:"),
    _in(
        "explain",
        "negative grades judged",
        "evaluate/conventions/orders.py",
        "grade if grade >= 0 else np.nan",
        "grade",
    ),
    # the readers of large files
    _in(
        "large_numpy",
        "ties ascending",
        "files/blocks.py",
        "(found[start:stop], reverse=True)",
        "(found[start:stop], key=lambda hit: -hit[0])",
    ),
    _in("large_numpy", "64-bit scores", "files/blocks.py", "scores.astype(order).tolist()", "scores.tolist()"),
    _in(
        "large_numpy",
        "bounds too narrow",
        "files/blocks.py",
        "value - unit, value + unit",
        "value + unit, value - unit",
    ),
    _in("large_duckdb", "64-bit scores", "files/engine.py", '"float32": "s::FLOAT"', '"float32": _EXACT'),
    _in("large_duckdb", "ties ascending", "files/engine.py", "sum(other > doc_id", "sum(other < doc_id"),
    _in(
        "large_duckdb",
        "ranks from 0",
        "files/engine.py",
        "len(ascending) + 1 - not_above",
        "len(ascending) - not_above",
    ),
)


def _expectations() -> dict[str, list[tuple[str, str, float, dict[str, float]]]]:
    """Return what the references say, by corpus: case, reference, tolerance, values. Mutations do not reach them."""
    from compat.agreement import cases_on, computation, of_reference
    from compat.differences import expected

    found: dict[str, list[tuple[str, str, float, dict[str, float]]]] = {}
    for corpus in CORPORA:
        for case in cases_on(corpus):
            for reference in REFERENCES:
                asked = computation(case, reference)
                values = None if asked is None else of_reference(case, reference, corpus)
                if asked is not None and isinstance(values, dict) and expected(case.name, corpus, reference) is None:
                    found.setdefault(corpus, []).append((case.name, reference, asked.tolerance, values))
    return found


def disagreements(
    expectations: dict[str, list[tuple[str, str, float, dict[str, float]]]], hosts: Sequence[str]
) -> Iterator[str]:
    """Compare the package as it is imported here with what the references said; corpus by corpus."""
    from compat.agreement import largest_difference, of_host

    for corpus, of_corpus in expectations.items():
        for host in hosts:
            values = {str(measure): column for measure, column in of_host(host, corpus).items()}
            for case, reference, tolerance, theirs in of_corpus:
                if case in values:
                    apart, query_id = largest_difference(values[case], theirs, corpus)
                    if not apart <= tolerance:
                        yield f"{corpus}, {host}, {case}, query {query_id}: {apart:.3g} from {reference}"


def _copy(folder: Path) -> None:
    for name in ("permed_measures", "compat"):  # with what Python compiled: most files stay as they are
        shutil.copytree(ROOT / name, folder / name)


def _try(mutation: Mutation | None, expectations: Path) -> tuple[bool, str]:
    """Return whether the fault was found, and by what."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _copy(folder)
        try:
            if mutation is not None:
                mutation.apply(folder / "permed_measures")
        except ValueError as error:
            return False, str(error)
        hosts = HOSTS if mutation is None else mutation.hosts
        command = [sys.executable, "-m", "compat.mutations", str(expectations), *hosts]
        # the compiled part has no text to change; tests/test_columns.py holds it to the plain definition
        environment = {**os.environ, "PYTHONPATH": name, "PYTHONDONTWRITEBYTECODE": "1", "PERMED_MEASURES_PLAIN": "1"}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    told = (done.stdout.strip() or done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1]
    return done.returncode != 0, told


def run_all(workers: int = 2) -> dict[str, tuple[bool, str]]:
    """Try the package as it is (under the name "none"), then every mutation."""
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(workers) as pool:
        expectations = Path(name) / "expectations.pickle"
        expectations.write_bytes(pickle.dumps(_expectations()))
        tried = {"none": pool.submit(_try, None, expectations)}
        tried |= {mutation.name: pool.submit(_try, mutation, expectations) for mutation in MUTATIONS}
        return {name: future.result() for name, future in tried.items()}


def main() -> int:
    """Run all mutations, or, with a file of expectations, compare once and stop at the first disagreement."""
    if len(sys.argv) > 1:
        expectations = pickle.loads(Path(sys.argv[1]).read_bytes())  # noqa: S301  (written by run_all a moment ago)
        first = next(disagreements(expectations, sys.argv[2:]), None)
        print(first or "no disagreement")
        return 1 if first else 0
    results = run_all()
    for name, (found, told) in results.items():
        print(f"{'found' if found else 'NOT FOUND':9}  {name}: {told}")
    return 0 if not results.pop("none")[0] and all(found for found, _ in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
