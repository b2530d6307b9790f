"""The words of the generated pages, apart from what the measures' own files say; another language adds a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Words:
    """The words of one language: of the pages, of the index by question, and of measures, where they are translated."""

    text: Mapping[str, str]
    questions: Mapping[str, Sequence[str]]
    measures: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __getitem__(self, key: str) -> str:
        return self.text[key]

    def said(self, measure: str, what: str, otherwise: str) -> str:
        """Return what this language says of a measure, or else what its file says."""
        known = self.measures.get(measure, {}).get(what)
        return known or self.measures.get("*", {}).get(otherwise, otherwise)  # what several files say alike


EN = Words(
    {
        "stop": ". ",
        "comma": ", ",
        "semicolon": "; ",
        "colon": ": ",
        "brackets": " ({})",
        "formula": "Formula",
        "letters": "*i* is a rank, *k* the cut-off (none: the whole list), *g* the grade of the document at a rank, *rel* the "
        "lowest relevant grade, *R* the number of judged relevant documents, *n* the length of the list.",
        "worked": "Worked example",
        "list_of": "The list of query “{}”",
        "unjudged": "unjudged",
        "grade": "grade {}",
        "rank": "rank",
        "document": "document",
        "grade_head": "grade",
        "found": "relevant so far",
        "precision": "precision here",
        "cut_here": "{} if cut here",
        "result": "Result: ",
        "as_code": "The same as code",
        "parameters": "Parameters",
        "parameter": "parameter",
        "default": "default",
        "required": "required",
        "no_default": "none",
        "what": "what it does",
        "none": "It has none.",
        "names": "Names in every host",
        "host": "host",
        "written": "written",
        "means": "with these parameters",
        "others": "What others call it",
        "others_text": "Read from each tool's code and checked against it; at cut-off 10 and grades 0, 1, 2. The mean may run over "
        "other queries there, and ties may be broken differently: see [conventions](../conventions.md).",
        "tool": "tool",
        "there": "its name there",
        "here": "the same number here",
        "not_for": "When not to use it",
        "source": "Source",
        "computed_by": "Computed by {}; which other programs agree, and where they differ: [why it is right](../why.md).",
        "measures_title": "Measures",
        "measures_text": "A measure is written `Name(parameter=value)@cutoff`: `GWAP(max_rel=3)@10`. Each page is generated from the "
        "measure's own file: formula, an example step by step, parameters, names, and what other tools call it. In the shell, "
        "`permed-measures measures GWAP` prints the same.",
        "by_question": "By question",
        "question": "your question",
        "measure": "measure",
        "all_measures": "All of them",
        "what_it_is": "what it is",
        "more_measures": "ir_measures' other measures (ERR, alpha_nDCG, Judged, INST …) work too, and are computed there.",
    },
    {
        "Is the first result right?": ["P@1", "RR", "Success@1"],
        "How far down is the first right one?": ["RR"],
        "Is there anything useful in the top k at all?": ["Coverage@10", "Success@10"],
        "How much of the top k is useful?": ["P@10", "RelativeP@10", "SetP"],
        "How much of what is useful was found?": ["R@100", "SetR", "Rprec"],
        "Are the best documents above the merely good ones?": ["nDCG@10", "GWAP@10", "nDCG(dcg='exp-log2')@10", "G"],
        "Are all relevant documents found, and early?": ["AP", "GWAP", "GMAP", "ElevenPointAP"],
        "What does PerMed call MAP@10?": ["GWAP@10", "ListAP@10"],
        "What does a reader gain who may stop at any rank?": ["RBP", "GradedRBP", "RBPResidual"],
        "Is the order within my list right, whatever it lacks?": ["ListAP@10", "ListNDCG@10"],
        "The judgements have holes: what is safe?": ["Bpref", "infAP", "GMBpref", "Unjudged@10", "RBPResidual"],
        "Do bad queries get the attention they need?": ["GMAP", "GMBpref"],
        "What does precision look like at each recall?": ["IPrec@0.1", "IPrecNearest@0.1", "ElevenPointAP"],
        "I return a set, without an order: how good is it?": ["SetP", "SetR", "SetF", "SetAP", "Utility"],
        "How many are there to begin with?": ["NumQ", "NumRel", "NumRet", "NumNonRelJudgedRet"],
        "What did trec_eval print as …?": ["BinG", "G", "RnDCG", "nDCGRel", "RprecMult@0.5", "SetAP"],
    },
)
