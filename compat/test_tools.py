"""The conventions that explain() says tools use: each one must reproduce the tool's own number on the corpora.

Only tools that the test group installs are asked here; the entries of the others say when and how they were checked.
"""

from __future__ import annotations

import json
import math
import re
import statistics
import warnings
from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from pathlib import Path
from typing import Protocol

import pytest
import pytrec_eval
from ir_measures import parse_measure
from ir_measures.providers import registry
from sklearn.metrics import ndcg_score

from compat import other_tools
from compat.corpora import CORPORA
from compat.corpora.corpus import Corpus, Grid
from compat.corpora.real import FOLDER
from permed_measures.evaluate.conventions import FAMILIES, Convention, base_of
from permed_measures.evaluate.conventions.orders import JudgedRun
from permed_measures.explanation.search import Search
from permed_measures.explanation.tools import TOOLS, Tool, find
from permed_measures.explanation.values import Values
from permed_measures.verification.references import has_near_ties, has_ties, trec_order

CUTOFFS = (1, 5, 10)
LEVELS = (0.0, 0.1, 0.25, 0.6, 1.0)
BIG = ("medcorpus_size", "irc_pubmed")
"""Left out here: another corpus has the same to say."""

Number = float | None
"""What the tool says; None where it cannot be asked on this corpus."""


class Ask(Protocol):
    """How pytrec_eval is asked for the values of all queries."""

    def __call__(self, corpus: Corpus, name: str, *, judged_only: bool = False) -> dict[str, float]: ...


def _by_pytrec_eval(corpus: Corpus, name: str, *, judged_only: bool = False) -> dict[str, float]:
    evaluator = pytrec_eval.RelevanceEvaluator(
        corpus.qrels, {re.sub(r"_(\d+)$", r".\1", name)}, judged_docs_only_flag=judged_only
    )
    return {query_id: _not_nan(answer[name]) for query_id, answer in evaluator.evaluate(corpus.run).items()}


def _not_nan(value: float) -> float:
    return 0.0 if math.isnan(value) else value  # its interpolated precision of an empty list is 0/0


def _nearest(corpus: Corpus, name: str, *, judged_only: bool = False) -> dict[str, float]:
    """Ask for the recall level of each query at which 9.0.8 needs as many documents as 10.0 does at the one named."""
    values = {}
    for query_id, scores in corpus.run.items():
        if query_id in corpus.qrels:
            num_rel = sum(grade >= 1 for grade in corpus.qrels[query_id].values())
            level = Decimal(float(name.rpartition("_")[2]) * num_rel).to_integral_value(ROUND_HALF_UP)
            asked = f"iprec_at_recall_{int(level) / max(num_rel, 1):.9f}"
            one = Corpus(query_id, "", {query_id: corpus.qrels[query_id]}, {query_id: scores})
            evaluator = pytrec_eval.RelevanceEvaluator(one.qrels, {asked}, judged_docs_only_flag=judged_only)
            (value,) = evaluator.evaluate(one.run)[query_id].values()
            values[query_id] = _not_nan(value)
    return values


def trec_eval(corpus: Corpus, name: str, ask: Ask = _by_pytrec_eval) -> Number:
    return statistics.fmean(ask(corpus, name).values())


def trec_eval_c(corpus: Corpus, name: str, ask: Ask = _by_pytrec_eval) -> Number:
    return math.fsum(ask(corpus, name).values()) / len(corpus.qrels)


def trec_eval_j(corpus: Corpus, name: str, ask: Ask = _by_pytrec_eval) -> Number:
    return statistics.fmean(ask(corpus, name, judged_only=True).values())


def trec_eval_m(corpus: Corpus, name: str, ask: Ask = _by_pytrec_eval) -> Number:
    """-M looks at the first documents of every list; pytrec_eval has no such option, so the lists are cut for it."""
    depth = int(name.rpartition(" ")[2])
    cut = {q: {d: scores[d] for d in trec_order(scores)[:depth]} for q, scores in corpus.run.items()}
    return trec_eval(Corpus(corpus.name, corpus.about, corpus.qrels, cut), "ndcg", ask)


def _as_10_does(call: Callable[[Corpus, str, Ask], Number]) -> Callable[[Corpus, str], Number]:
    """Ask 9.0.8 on 10.0's order (64-bit scores, then docno, descending), and at 10.0's recall levels."""

    def asked(corpus: Corpus, name: str) -> Number:
        run = {}
        for query_id, scores in corpus.run.items():
            in_order = sorted(scores, key=lambda doc_id: (scores[doc_id], doc_id.encode()), reverse=True)
            run[query_id] = {doc_id: float(-place) for place, doc_id in enumerate(in_order)}
        ordered = Corpus(corpus.name, corpus.about, corpus.qrels, run)
        return call(ordered, name, _nearest if name.startswith("iprec") else _by_pytrec_eval)

    return asked


def ir_measures(corpus: Corpus, name: str) -> Number:
    measure = parse_measure(name)
    if "exp-log2" in name:
        values = _by_gdeval(corpus, name)
        return None if values is None else math.fsum(values.values()) / len(corpus.qrels)
    provider = "msmarco" if name.startswith("RR@") else "pytrec_eval"
    found = registry[provider].evaluator([measure], corpus.qrels).calc_aggregate(corpus.run)
    return None if math.isnan(found[measure]) else float(found[measure])  # 0/0: the precision of an empty list


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
    "trec_eval 10.0": _as_10_does(trec_eval),
    "trec_eval -c 10.0": _as_10_does(trec_eval_c),
    "trec_eval -J 10.0": _as_10_does(trec_eval_j),
    "trec_eval -M 10.0": _as_10_does(trec_eval_m),
}


def _call(tool: Tool) -> Callable[[Corpus, str], Number]:
    return CALLS[tool.release] if tool.release in CALLS else CALLS[tool.tool]


def _at(tool: Tool) -> tuple[float | None, ...]:
    if not tool.is_cut:
        return (None,)
    return LEVELS if FAMILIES[tool.family].by_recall else CUTOFFS


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
    return Values(JudgedRun(found.qrels, found.run, cutoff))


def _mean(corpus: str, convention: Convention) -> float:
    return _values(corpus, convention.cutoff).mean(convention)


@pytest.mark.parametrize("tool", ASKED, ids=lambda tool: f"{tool.release} {tool.name}")
def test_the_convention_reproduces_the_tools_number(tool: Tool) -> None:
    compared, wrong = [], []
    for corpus in _corpora():
        for at in _at(tool):
            theirs = _call(tool)(CORPORA[corpus], tool.asked(at))
            if theirs is None:
                continue
            ours = _mean(corpus, tool.convention(at))
            compared.append(corpus)
            if not abs(ours - theirs) <= 1e-12:
                wrong.append(f"{corpus}, {tool.asked(at)}: {ours!r}, the tool says {theirs!r}")
    assert not wrong, "\n".join(wrong)
    assert len(set(compared)) >= 3, f"asked on {set(compared)} only"


NEEDED = {"ties", "gain", "ideal", "unjudged", "precision", "levels"}
SPECIAL = [
    tool
    for tool in ASKED
    # where the order of equal scores is not defined, a tie rule cannot show
    if dict(tool.convention(None)._asdict().items() - base_of(tool.family, None)._asdict().items()).keys()
    & (NEEDED - {"ties"} if tool.ties_open else NEEDED)
]


@pytest.mark.parametrize("tool", SPECIAL, ids=lambda tool: f"{tool.release} {tool.name}")
def test_the_plain_convention_would_not_do(tool: Tool) -> None:
    """What an entry changes is needed: without it, some corpus gives another number than the tool."""
    differs = 0
    for corpus in _corpora():
        for at in _at(tool):
            theirs = _call(tool)(CORPORA[corpus], tool.asked(at))
            plain = tool.convention(at)._replace(**{axis: getattr(base_of(tool.family, at), axis) for axis in NEEDED})
            differs += theirs is not None and abs(_mean(corpus, plain) - theirs) > 1e-6
    assert differs


def test_ties_and_near_ties_are_among_the_corpora() -> None:
    kinds = {
        has: any(has(s) for name in _corpora() for s in CORPORA[name].run.values()) for has in (has_ties, has_near_ties)
    }
    assert all(kinds.values())


def test_trec_evals_own_output() -> None:
    """The means that trec_eval 10.0 printed for its own test input."""
    if not FOLDER.is_dir():
        pytest.skip(f"the reference data is not at {FOLDER}")
    printed = {}
    for line in (FOLDER / "trec_eval" / "out.test.aq").read_text().splitlines():
        name, query_id, value = line.split()
        if query_id == "all":
            printed[name] = value
    compared = set()
    for tool in (tool for tool in TOOLS if tool.release == "trec_eval 10.0"):
        levels = [tenth / 10 for tenth in range(11)]
        for at in (levels if FAMILIES[tool.family].by_recall else (5, 10, 100)) if tool.is_cut else (None,):
            name = tool.asked(at)
            if name in printed:
                assert f"{_mean('trec_eval', tool.convention(at)):.4f}" == printed[name], name
                compared.add(name)
    assert len(compared) >= 12 + 11
    # the levels at which 9.0.8 looks from another document on
    older = next(tool for tool in TOOLS if tool.release == "trec_eval 9.0.8" and tool.family == "iprec")
    apart = {x for x in levels if f"{_mean('trec_eval', older.convention(x)):.4f}" != printed[older.asked(x)]}
    assert apart == {0.1, 0.6}


SAID = json.loads(Path(__file__).with_name("other_tools.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", [*other_tools.REAL, *other_tools.MADE])
def test_what_other_tools_said_is_reproduced_and_named(name: str) -> None:
    """Values that seven tools computed; on real data explain() names the tool first, or among equals."""
    if name in other_tools.REAL and not FOLDER.is_dir():
        pytest.skip(f"the reference data is not at {FOLDER}")
    search, wrong = Search(JudgedRun(*other_tools.corpus(name), None)), []
    values = [(f"{tool}:{asked}", value) for corpus, tool, asked, value in SAID["values"] if corpus == name]
    for asked, value in values:
        tool, at = find(asked)
        ours = search.values(None if at is None else int(at)).mean(tool.convention(at))
        if not abs(ours - value) <= 1e-9:  # some compute in 32 bits
            wrong.append(f"{asked}: {ours!r}, the tool says {value!r}")
        if name in other_tools.REAL:
            matches = search.searched(f"{value:.6f}", [(tool.family, at)], None).matches
            first = [match for match in matches if match.convention.cost == matches[0].convention.cost]
            if not any(tool in match.tools for match in first):
                wrong.append(f"{asked}: {value} is explained by {[match.words for match in matches[:3]]}")
    assert not wrong, "\n".join(wrong)
    assert len(values) >= 60
    versions = {tool.version.rpartition(" ")[2] for tool in TOOLS}
    assert set(SAID["versions"].values()) <= versions


def test_every_entry_says_how_it_was_checked() -> None:
    for tool in TOOLS:
        assert tool.checked.startswith(("compat", "by hand, ", "by definition", "our own measures", "read, "))
        assert tool.checked.startswith("read, ") == ("not run" in tool.remark)
        assert tool.checked.startswith("compat") == (tool.tool in CALLS)
