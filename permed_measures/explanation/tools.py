"""Which convention a tool or a paper uses for a name: data, each entry with its source and how it was checked.

An entry that says ``compat`` is verified by compat/test_tools.py against the installed tool on all corpora. The others
were verified by hand: the tool's own function was run on made-up and real lists and gave the same number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from permed_measures.errors import ParamError, did_you_mean
from permed_measures.explanation.conventions import FAMILIES, Convention, base_of, parse_about

COMPAT = "compat"
BY_HAND = "by hand, 2026-11-16"


@dataclass(frozen=True, eq=False)
class Tool:
    """One measure of one tool."""

    tool: str
    name: str
    """What the tool calls it; ``{k}`` stands for the cut-off or recall level, ``{x}`` for a level with two decimals.

    A name without it means the whole list.
    """
    family: str
    settings: Mapping[str, Any]
    """What differs from the base of the family."""
    version: str
    source: str
    checked: str
    ties_open: bool = False
    """The tool leaves equal scores to a sort that promises nothing; the order of the run stands in."""
    remark: str = ""
    aliases: tuple[str, ...] = field(default=())
    """Other spellings of the tool's name."""

    @property
    def is_cut(self) -> bool:
        """Whether the name has a cut-off or a recall level."""
        return "{" in self.name

    def convention(self, at: float | None) -> Convention:
        """Return what the tool computes at a cut-off, or at a recall level."""
        return base_of(self.family, at)._replace(**self.settings)

    def asked(self, at: float | None) -> str:
        """Return the name with its cut-off or recall level."""
        return self.name if at is None else self.name.replace("{k}", str(at)).replace("{x}", f"{at:.2f}")

    @property
    def release(self) -> str:
        """The tool with its version."""
        return f"{self.tool} {self.version}".strip()

    def label(self, at: float | None) -> str:
        """Return "ranx 0.3.21 map@10"."""
        return f"{self.release} {self.asked(at)}"

    def to_dict(self, at: float | None) -> dict[str, str]:
        """Return the entry for a report."""
        found = {"tool": self.tool, "version": self.version, "name": self.asked(at), "source": self.source}
        found["checked"] = self.checked
        remark = "; ".join(filter(None, [self.remark, _TIES_OPEN if self.ties_open else ""]))
        return {**found, "remark": remark} if remark else found


_TIES_OPEN = "the order of equal scores is not defined there: the order of the run stands in"


def _tools(tool: str, version: str, source: str, checked: str, *rows: tuple[Any, ...], **common: Any) -> list[Tool]:  # noqa: ANN401  (settings and options)
    """Make the entries of one tool: (name, family, settings[, options]) each."""
    shared = {key: common.pop(key) for key in ("settings",) if key in common}.get("settings", {})
    entries = []
    for name, family, settings, *more in rows:
        options = {**common, **(more[0] if more else {})}
        entries.append(
            Tool(
                tool,
                name,
                family,
                {**shared, **settings},
                version,
                options.pop("source", source),
                options.pop("checked", checked),
                **options,
            )
        )
    return entries


_TREC: tuple[tuple[Any, ...], ...] = (
    ("map_cut_{k}", "map", {}),
    ("map", "map", {}),
    ("ndcg_cut_{k}", "ndcg", {}),
    ("ndcg", "ndcg", {}),
    ("recall_{k}", "recall", {}),
    ("P_{k}", "precision", {}),
    ("recip_rank", "mrr", {}),
    ("success_{k}", "hit", {}),
    ("iprec_at_recall_{x}", "iprec", {}),
)
_EXPECTED64 = {"ties": "expected", "precision": 64}
_RETURNED = "it is given the returned documents, unjudged ones with grade 0"


def _trec_eval(version: str, read: str, checked: str, *, precision: int, levels: str) -> list[Tool]:
    """Make the entries of one version of trec_eval, with and without its options."""
    names = tuple((*row[:2], {"levels": levels} if row[1] == "iprec" else {}) for row in _TREC)
    repository = "github.com/usnistgov/trec_eval"
    source = f"{repository}: m_*.c, {read}, then docno, descending)"
    settings = {"precision": precision}
    both = {"queries": "both", **settings}
    uncut = ("ndcg -M {k}", "ndcg", {"ideal": "uncut"})
    return [
        *_tools("trec_eval", version, source, checked, *names, settings=both),
        *_tools(
            "trec_eval -c",
            version,
            f"{repository}: trec_eval.c, option -c (average over all queries of the qrels)",
            checked,
            *names,
            settings=settings,
        ),
        *_tools(
            "trec_eval -J",
            version,
            f"{repository}: trec_eval.c, option -J; pytrec_eval judged_docs_only_flag",
            checked,
            *names,
            settings={**both, "unjudged": "removed"},
        ),
        *_tools(
            "trec_eval -M",
            version,
            f"{repository}: trec_eval.c, option -M (the list is cut, the ideal is not); issue 11",
            checked,
            uncut,
            settings=both,
        ),
    ]


TOOLS: tuple[Tool, ...] = (
    *_trec_eval(
        "9.0.8",
        "m_iprec_at_recall.c ((long)(x*R + 0.9)), form_res_rels.c (score as float",
        "compat, by pytrec_eval, which compiles its C source",
        precision=32,
        levels="up",
    ),
    *_trec_eval(
        "10.0",
        "m_iprec_at_recall.c (lround(x*R)), form_res_rels.c (score as double",
        "compat, by its own test output, and by pytrec_eval given its order",
        precision=64,
        levels="nearest",
    ),
    *_tools(
        "pytrec_eval",
        "0.5.11",
        "pytrec-eval-terrier (github.com/cvangysel/pytrec_eval): src/pytrec_eval.cpp, on trec_eval 9.0.8; the mean is "
        "the user's own",
        COMPAT,
        *_TREC,
        settings={"queries": "both"},
        aliases=("pytrec-eval", "pytrec_eval-terrier"),
    ),
    *_tools(
        "ir_measures",
        "0.4.3",
        "ir_measures/providers/pytrec_eval_provider.py; absent queries count 0 (providers/base.py)",
        COMPAT,
        ("AP@{k}", "map", {}),
        ("AP", "map", {}),
        ("nDCG@{k}", "ndcg", {}),
        ("nDCG", "ndcg", {}),
        ("R@{k}", "recall", {}),
        ("P@{k}", "precision", {}),
        ("RR", "mrr", {}),
        ("Success@{k}", "hit", {}),
        ("IPrec@{k}", "iprec", {}),
        (
            "RR@{k}",
            "mrr",
            {"ties": "ascending", "precision": 64},
            {"source": "ir_measures/providers/msmarco_provider.py (sorted by -score, then doc_id)"},
        ),
        (
            "nDCG(dcg='exp-log2')@{k}",
            "ndcg",
            {"gain": "exponential", "precision": 64, "rounding": 5},
            {"source": "ir_measures/providers/gdeval_provider.py, bin/gdeval.pl (without permed_measures)"},
        ),
    ),
    *_tools(
        "gdeval",
        "1.2a",
        "ir_measures/bin/gdeval.pl: 2**gain - 1, runOrder (score, then docno descending), printf %.5f, topics seen",
        "compat, through ir_measures for the values; the mean over topics with a relevant document is its own",
        (
            "ndcg@{k}",
            "ndcg",
            {"gain": "exponential", "precision": 64, "queries": "both", "empty": "left out", "rounding": 5},
        ),
    ),
    *_tools(
        "ranx",
        "0.3.21",
        "ranx/metrics/: average_precision.py, ndcg.py, recall.py, …; data_structures/common.py (argsort)",
        COMPAT,
        ("map@{k}", "map", {}),
        ("map", "map", {}),
        ("ndcg@{k}", "ndcg", {}),
        ("ndcg", "ndcg", {}),
        ("ndcg_burges@{k}", "ndcg", {"gain": "exponential"}),
        ("ndcg_burges", "ndcg", {"gain": "exponential"}),
        ("recall@{k}", "recall", {}),
        ("precision@{k}", "precision", {}),
        ("mrr@{k}", "mrr", {}),
        ("mrr", "mrr", {}),
        ("hit_rate@{k}", "hit", {}),
        settings={"precision": 64, "ties": "input", "queries": "both"},
        ties_open=True,
    ),
    *_tools(
        "scikit-learn",
        "1.9.1",
        "sklearn/metrics/_ranking.py: ndcg_score, _tie_averaged_dcg",
        COMPAT,
        ("ndcg_score(k={k})", "ndcg", {"ideal": "returned"}),
        ("ndcg_score", "ndcg", {"ideal": "returned"}),
        settings={**_EXPECTED64, "queries": "both"},
        remark=_RETURNED,
        aliases=("sklearn",),
    ),
    *_tools(
        "torchmetrics",
        "1.9.0",
        "torchmetrics/functional/retrieval/: average_precision.py, precision.py, reciprocal_rank.py, recall.py, …",
        BY_HAND,
        ("RetrievalMAP(top_k={k})", "map", {"denominator": "retrieved"}),
        ("RetrievalMAP", "map", {"denominator": "retrieved"}),
        ("RetrievalPrecision(top_k={k})", "precision", {}),
        (
            "RetrievalPrecision(top_k={k}, adaptive_k=True)",
            "precision",
            {"denominator": "length"},
        ),
        ("RetrievalRecall(top_k={k})", "recall", {"denominator": "returned"}),
        ("RetrievalMRR(top_k={k})", "mrr", {}),
        ("RetrievalMRR", "mrr", {}),
        ("RetrievalHitRate(top_k={k})", "hit", {}),
        settings={"ties": "input", "queries": "both"},
        ties_open=True,
        remark=f"{_RETURNED}; a score of 0 or less counts as not returned (not for the hit rate)",
    ),
    *_tools(
        "torchmetrics",
        "1.9.0",
        "torchmetrics/functional/retrieval/ndcg.py (_tie_average_dcg, translated from scikit-learn)",
        BY_HAND,
        ("RetrievalNormalizedDCG(top_k={k})", "ndcg", {}),
        ("RetrievalNormalizedDCG", "ndcg", {}),
        settings={"ideal": "returned", "ties": "expected", "queries": "both"},
        remark=_RETURNED,
    ),
    *_tools(
        "sentence-transformers",
        "6.2.0",
        "sentence_transformers/sentence_transformer/evaluation/information_retrieval.py: compute_metrics",
        BY_HAND,
        ("map@{k}", "map", {"denominator": "min"}),
        ("ndcg@{k}", "ndcg", {"gain": "binary"}),
        ("recall@{k}", "recall", {}),
        ("precision@{k}", "precision", {}),
        ("mrr@{k}", "mrr", {}),
        ("accuracy@{k}", "hit", {}),
        settings={"ties": "ascending", "precision": 64, "empty": "left out"},
        remark="InformationRetrievalEvaluator; queries without a relevant document are not evaluated",
        aliases=("sentence_transformers", "sbert"),
    ),
    *_tools(
        "sentence-transformers",
        "6.2.0",
        "sentence_transformers/sentence_transformer/evaluation/reranking.py (scikit-learn's ndcg_score)",
        BY_HAND,
        (
            "RerankingEvaluator ndcg@{k}",
            "ndcg",
            {**_EXPECTED64, "gain": "binary", "ideal": "returned", "queries": "both"},
        ),
        aliases=("sentence_transformers", "sbert"),
    ),
    *_tools(
        "BEIR",
        "2.2.0",
        "beir/retrieval/evaluation.py: evaluate (pytrec_eval; the mean is rounded to 5 decimals)",
        BY_HAND,
        ("NDCG@{k}", "ndcg", {"queries": "both"}),
        ("MAP@{k}", "map", {"queries": "both"}),
        ("Recall@{k}", "recall", {"queries": "both"}),
        ("P@{k}", "precision", {"queries": "both"}),
        remark="a document whose id is the query's is dropped first",
    ),
    *_tools(
        "BEIR",
        "2.2.0",
        "beir/retrieval/custom_metrics.py: mrr, recall_cap, top_k_accuracy (a stable sort; divided by len(qrels))",
        BY_HAND,
        ("MRR@{k}", "mrr", {}),
        (
            "R_cap@{k}",
            "recall",
            {"denominator": "min"},
            {"remark": "it fails on a query without a relevant document"},
        ),
        ("Accuracy@{k}", "hit", {}),
        settings={"ties": "input", "precision": 64},
    ),
    *_tools(
        "MTEB",
        "2.26.24",
        "mteb/_evaluators/retrieval_metrics.py: pytrec_eval, means over its answers",
        BY_HAND,
        ("ndcg_at_{k}", "ndcg", {}),
        ("map_at_{k}", "map", {}),
        ("recall_at_{k}", "recall", {}),
        ("precision_at_{k}", "precision", {}),
        ("hit_rate_at_{k}", "hit", {}),
        (
            "mrr_at_{k}",
            "mrr",
            {"precision": 64},
            {"source": "mteb/_evaluators/retrieval_metrics.py: mrr (ties in input order before #5136)"},
        ),
        settings={"queries": "both"},
    ),
    *_tools(
        "LightGBM",
        "4.7.0",
        "github.com/microsoft/LightGBM: src/metric/rank_metric.hpp, dcg_calculator.cpp, map_metric.hpp",
        BY_HAND,
        ("ndcg@{k}", "ndcg", {"gain": "exponential", "ideal": "returned"}),
        ("map@{k}", "map", {"denominator": "returned-min"}),
        settings={"precision": 64, "ties": "input", "queries": "both", "empty": "one"},
        remark=f"{_RETURNED}; label_gain is 2^grade - 1 unless set",
    ),
    *_tools(
        "PerMed",
        "",
        "PerMed's unified evaluation standard for MedCorpus (2025-10-27); profile 'permed'",
        "our own measures: compat",
        ("MAP@{k}", "map", {"weights": 2}),
        ("NDCG@{k}", "ndcg", {"gain": "exponential"}),
    ),
    *_tools(
        "PerMed's public scripts, HaluBench",
        "",
        "the sources of the profiles 'permed-binary' and 'hybrid'",
        "our own measures: compat",
        ("MAP@{k}", "map", {"denominator": "retrieved"}),
        ("NDCG@{k}", "ndcg", {"ideal": "returned"}),
        aliases=("halubench", "permed-binary"),
    ),
    *_tools(
        "Järvelin and Kekäläinen 2002",
        "",
        "ACM TOIS 20(4), nDCG with the grade as gain; the discount in its later form, log2(rank + 1)",
        "by definition",
        ("nDCG@{k}", "ndcg", {}),
        aliases=("jarvelin",),
    ),
    *_tools(
        "Burges et al. 2005",
        "",
        "ICML 2005, nDCG with the gain 2^grade - 1",
        "by definition",
        ("NDCG@{k}", "ndcg", {"gain": "exponential"}),
        aliases=("burges",),
    ),
    *_tools(
        "McSherry and Najork 2008",
        "",
        "ECIR 2008, Computing information retrieval performance measures efficiently in the presence of tied scores",
        "by definition",
        ("MAP", "map", {"ties": "expected"}),
        ("NDCG@{k}", "ndcg", {"ties": "expected", "gain": "exponential"}),
    ),
)


def tools_of(family: str, at: float | None) -> list[Tool]:
    """Return the entries for a name: those with a cut-off or a recall level, or those for the whole list."""
    return [tool for tool in TOOLS if tool.family == family and tool.is_cut == (at is not None)]


def find(text: str) -> tuple[Tool, int | float | None]:
    """Return the entry of "tool:name" or "tool version:name", and the cut-off or recall level.

    >>> tool, cutoff = find("sklearn:ndcg@10")
    >>> tool.tool, tool.name, cutoff
    ('scikit-learn', 'ndcg_score(k={k})', 10)
    >>> find("trec_eval:map_cut_10")[0].release, find("trec_eval 10.0:map_cut_10")[0].release
    ('trec_eval 9.0.8', 'trec_eval 10.0')
    """
    wanted, _, name = text.partition(":")
    known = {tool: (tool.tool, tool.release, *tool.aliases) for tool in TOOLS}
    entries = [tool for tool, names in known.items() if wanted.lower() in map(str.lower, names)]
    if not entries:
        spelled = {name for names in known.values() for name in names}
        raise ParamError(f"{text!r}: no tool of that name is known.{did_you_mean(wanted, spelled)}")
    for tool in entries:
        number = r"(\\d*\\.?\\d+)" if FAMILIES[tool.family].by_recall else r"(\\d+)"
        found = re.fullmatch(re.sub(r"\\{[kx]\\}", number, re.escape(tool.name)), name.strip(), re.IGNORECASE)
        if found is not None:
            return tool, parse_about(f"{tool.family}@{found[1]}")[1] if tool.is_cut else None
    there = ", ".join(dict.fromkeys(tool.name for tool in entries))
    try:
        family, at = parse_about(name)
    except ParamError:
        raise ParamError(f"{text!r}: {entries[0].tool} is known for {there}") from None
    fitting = [tool for tool in entries if tool.family == family and tool.is_cut == (at is not None)]
    if not fitting:
        label = FAMILIES[family].label
        raise ParamError(f"{text!r}: no {label} of {entries[0].tool} is known; there are {there}")
    return fitting[0], at
