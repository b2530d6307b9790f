"""The conventions that explain() says tools use: each one must reproduce the tool's own number on the corpora.

Only tools that the test group installs are asked here; the entries of the others say when and how they were checked.
"""

from __future__ import annotations

import math
import re
import statistics
import warnings
from collections.abc import Callable, Mapping
from functools import cache

import pytest
import pytrec_eval
from ir_measures import parse_measure
from ir_measures.providers import registry
from sklearn.metrics import ndcg_score

from compat.corpora import CORPORA
from compat.corpora.corpus import Corpus, Grid
from compat.corpora.real import FOLDER
from permed_measures.explanation.family import Values
from permed_measures.explanation.lists import Lists
from permed_measures.explanation.tools import TOOLS, Tool
from permed_measures.references.reference import has_near_ties, has_ties, trec_order

CUTOFFS = (1, 5, 10)
BIG = ("medcorpus_size", "irc_pubmed")
"""Left out here: another corpus has the same to say."""

Number = float | None
"""What the tool says; None where it cannot be asked on this corpus."""


def _by_pytrec_eval(corpus: Corpus, name: str, *, judged_only: bool = False) -> dict[str, float]:
    evaluator = pytrec_eval.RelevanceEvaluator(
        corpus.qrels, {re.sub(r"_(\d+)$", r".\1", name)}, judged_docs_only_flag=judged_only
    )
    return {query_id: answer[name] for query_id, answer in evaluator.evaluate(corpus.run).items()}


def trec_eval(corpus: Corpus, name: str) -> Number:
    return statistics.fmean(_by_pytrec_eval(corpus, name).values())


def trec_eval_c(corpus: Corpus, name: str) -> Number:
    return math.fsum(_by_pytrec_eval(corpus, name).values()) / len(corpus.qrels)


def trec_eval_j(corpus: Corpus, name: str) -> Number:
    if _lowest_grade(corpus) < 0:
        return None  # the remark of the entry: they are removed too
    return statistics.fmean(_by_pytrec_eval(corpus, name, judged_only=True).values())


def trec_eval_m(corpus: Corpus, name: str) -> Number:
    """-M looks at the first documents of every list; pytrec_eval has no such option, so the lists are cut for it."""
    depth = int(name.rpartition(" ")[2])
    cut = {q: {d: scores[d] for d in trec_order(scores)[:depth]} for q, scores in corpus.run.items()}
    return trec_eval(Corpus(corpus.name, corpus.about, corpus.qrels, cut), "ndcg")


def ir_measures(corpus: Corpus, name: str) -> Number:
    measure = parse_measure(name)
    if "exp-log2" in name:
        values = _by_gdeval(corpus, name)
        return None if values is None else math.fsum(values.values()) / len(corpus.qrels)
    provider = "msmarco" if name.startswith("RR@") else "pytrec_eval"
    found = registry[provider].evaluator([measure], corpus.qrels).calc_aggregate(corpus.run)
    return float(found[measure])


def gdeval(corpus: Corpus, name: str) -> Number:
    """Ask for its values; its own mean runs over the topics of the run that have a relevant document."""
    values = _by_gdeval(corpus, f"nDCG(dcg='exp-log2')@{name.partition('@')[2]}")
    if values is None:
        return None
    counted = [q for q, grades in corpus.qrels.items() if q in corpus.run and max(grades.values(), default=0) > 0]
    return statistics.fmean(values[query_id] for query_id in counted)


def _by_gdeval(corpus: Corpus, name: str) -> dict[str, float] | None:
    grades = [grade for judged in corpus.qrels.values() for grade in judged.values()]
    ids = [*corpus.qrels, *(doc_id for scores in corpus.run.values() for doc_id in scores)]
    if max(grades) > 4 or not all(corpus.run.values()) or any(not query_id.isdigit() for query_id in corpus.qrels):
        return None  # it stops at grade 4 and reads numbers only
    if any(not math.isfinite(score) for scores in corpus.run.values() for score in scores.values()) or " " in "".join(
        ids
    ):
        return None
    measure = parse_measure(name)
    run = {query_id: scores for query_id, scores in corpus.run.items() if query_id in corpus.qrels}
    return {m.query_id: m.value for m in registry["gdeval"].evaluator([measure], corpus.qrels).iter_calc(run)}


def ranx(corpus: Corpus, name: str) -> Number:
    if any(has_ties(scores) for scores in corpus.run.values()):
        return None  # its order of equal scores is not defined
    return _ranx_means(corpus.name)[name]


@cache
def _ranx_means(corpus_name: str) -> Mapping[str, float]:
    import ranx as package

    corpus = CORPORA[corpus_name]
    names: dict[str, str] = {}
    # queries that are in both, as it demands; ids of one length, as it compiles itself anew for each length

    def renamed(table: Mapping[str, float]) -> dict[str, float]:
        return {names.setdefault(doc_id, f"{len(names):09}"): value for doc_id, value in table.items()}

    shared = sorted(query_id for query_id in corpus.qrels if query_id in corpus.run)
    wanted = [tool.asked(k) for tool in TOOLS if tool.tool == "ranx" for k in (CUTOFFS if tool.is_cut else (None,))]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"\s*.*unsafe cast from uint64 to int64")  # numba, compiling ranx
        qrels = package.Qrels({query_id: renamed(corpus.qrels[query_id]) for query_id in shared})
        run = package.Run({query_id: renamed(corpus.run[query_id]) for query_id in shared})
        return {name: float(package.evaluate(qrels, run, name)) for name in wanted}


def scikit_learn(corpus: Corpus, name: str) -> Number:
    found = re.search(r"k=(\d+)", name)
    if _lowest_grade(corpus) < 0:
        return None  # an error there
    values = []
    for query_id, grades in corpus.qrels.items():
        scores = corpus.run.get(query_id)
        if scores is None:
            continue
        if len(scores) < 2 or not all(map(math.isfinite, scores.values())):
            return None  # an error there
        gains = [float(grades.get(doc_id, 0)) for doc_id in scores]
        values.append(float(ndcg_score([gains], [list(scores.values())], k=int(found[1]) if found else None)))
    return statistics.fmean(values)


def _lowest_grade(corpus: Corpus) -> float:
    return min(grade for judged in corpus.qrels.values() for grade in judged.values())


CALLS: dict[str, Callable[[Corpus, str], Number]] = {
    "trec_eval": trec_eval,
    "trec_eval -c": trec_eval_c,
    "trec_eval -J": trec_eval_j,
    "trec_eval -M": trec_eval_m,
    "pytrec_eval": trec_eval,
    "ir_measures": ir_measures,
    "gdeval": gdeval,
    "ranx": ranx,
    "scikit-learn": scikit_learn,
}

ASKED = [tool for tool in TOOLS if tool.tool in CALLS]


def _whole_grades(qrels: Grid) -> bool:
    return all(isinstance(grade, int) for judged in qrels.values() for grade in judged.values())


@cache
def _corpora() -> tuple[str, ...]:
    """Those with whole grades: most tools take no others; pytrec_eval crashes on a query with only negative ones."""
    return tuple(
        name
        for name, corpus in CORPORA.items()
        if name not in BIG
        and _whole_grades(corpus.qrels)
        and not any(judged and max(judged.values()) < 0 for judged in corpus.qrels.values())
        and all(corpus.qrels.values())
    )


@cache
def _values(corpus: str, cutoff: int | None) -> Values:
    found = CORPORA[corpus]
    return Values(Lists(found.qrels, found.run, cutoff))


@pytest.mark.parametrize("tool", ASKED, ids=lambda tool: f"{tool.tool} {tool.name}")
def test_the_convention_reproduces_the_tools_number(tool: Tool) -> None:
    compared, wrong = [], []
    for corpus in _corpora():
        for cutoff in CUTOFFS if tool.is_cut else (None,):
            theirs = CALLS[tool.tool](CORPORA[corpus], tool.asked(cutoff))
            if theirs is None:
                continue
            ours = _values(corpus, cutoff).mean(tool.convention(cutoff))
            compared.append(corpus)
            if not abs(ours - theirs) <= 1e-12:
                wrong.append(f"{corpus}, {tool.asked(cutoff)}: {ours!r}, the tool says {theirs!r}")
    assert not wrong, "\n".join(wrong)
    assert len(set(compared)) >= 3, f"asked on {set(compared)} only"


NEEDED = {"ties", "gain", "ideal", "unjudged"}
SPECIAL = [
    tool
    for tool in ASKED
    # where the order of equal scores is not defined, a tie rule cannot show
    if tool.settings.keys() & (NEEDED - {"ties"} if tool.ties_open else NEEDED)
]


@pytest.mark.parametrize("tool", SPECIAL, ids=lambda tool: f"{tool.tool} {tool.name}")
def test_the_plain_convention_would_not_do(tool: Tool) -> None:
    """What an entry changes is needed: without it, some corpus gives another number than the tool."""
    differs = 0
    for corpus in _corpora():
        for cutoff in CUTOFFS if tool.is_cut else (None,):
            theirs = CALLS[tool.tool](CORPORA[corpus], tool.asked(cutoff))
            plain = tool.convention(cutoff)._replace(ties="trec_eval", gain="linear", ideal="judged", unjudged="kept")
            differs += theirs is not None and abs(_values(corpus, cutoff).mean(plain) - theirs) > 1e-6
    assert differs


def test_ties_and_near_ties_are_among_the_corpora() -> None:
    kinds = {
        has: any(has(s) for name in _corpora() for s in CORPORA[name].run.values()) for has in (has_ties, has_near_ties)
    }
    assert all(kinds.values())


def test_trec_evals_own_output() -> None:
    """The means that trec_eval printed for its own test input."""
    if not FOLDER.is_dir():
        pytest.skip(f"the reference data is not at {FOLDER}")
    printed = {}
    for line in (FOLDER / "trec_eval" / "out.test.aq").read_text().splitlines():
        name, query_id, value = line.split()
        if query_id == "all":
            printed[name] = value
    compared = 0
    for tool in (tool for tool in TOOLS if tool.tool == "trec_eval"):
        for cutoff in (5, 10, 100) if tool.is_cut else (None,):
            name = tool.asked(cutoff)
            if name in printed:
                mean = _values("trec_eval", cutoff).mean(tool.convention(cutoff))
                assert mean == pytest.approx(float(printed[name]), abs=0.5e-4), name
                compared += 1
    assert compared >= 12


def test_every_entry_says_how_it_was_checked() -> None:
    for tool in TOOLS:
        assert tool.checked.startswith(("compat", "by hand, ", "by definition", "our own measures"))
        assert tool.checked.startswith("compat") == (tool.tool in CALLS)
