"""What a measure says of itself, in plain words."""

import inspect
import re
from collections.abc import Callable

from ir_measures import Measure

from permed_measures.measures.base import declared

_GAINS = {"log2": "the gain is the grade (linear)", "exp-log2": "the gain is 2^grade - 1 (exponential)"}

_NAMES = ["le", "ge", "sum", "prod", "cdot", "exists", "in", "dots", "lfloor", "rfloor", "epsilon", "beta"]
_SIGNS = {**dict(zip(_NAMES, "≤≥ΣΠ·∃∈…⌊⌋εβ", strict=True)), "qquad": "   ", "quad": "   ", "left": "", "right": ""}
_LOW, _HIGH = str.maketrans("012ij", "₀₁₂ᵢⱼ"), str.maketrans("0123456789i-", "⁰¹²³⁴⁵⁶⁷⁸⁹ⁱ⁻", " ")
_KEPT = {r"\{": "⦃", r"\}": "⦄", r"\_": "‗"}
_RULES: tuple[tuple[str, Callable[[re.Match[str]], str]], ...] = (
    (r"\\(?:text|mathrm)\{([^{}]*)\}", lambda found: found[1]),
    (r"([ΣΠ])_(\{[^{}]*\}|\w)\^\{([^{}]*)\}", lambda found: f"{found[1]}[{found[2].strip('{}')} … {found[3]}] "),
    (r"([ΣΠ])_(\{[^{}]*\}|\w)", lambda found: f"{found[1]}[{found[2].strip('{}')}] "),
    (r"_(\d|[ij]\b)", lambda found: found[1].translate(_LOW)),
    (r"_\{([^{}]*)\}", lambda found: f"_{found[1]}"),
    (r"\^(\*|\d|\{[\di -]+\})", lambda found: found[1].strip("{}").translate(_HIGH)),
    (r"\^\{([^{}]*)\}", lambda found: f"^({found[1]})"),
    (r"\\frac\{([^{}]*)\}\{([^{}]*)\}", lambda found: f"{_factor(found[1])}/{_factor(found[2])}"),
)
_EMPHASIS = re.compile(r"\*(\w(?:[^*]*\w)?)\*")


def plain(text: str) -> str:
    """Return a docstring's text without the marks of its markup.

    >>> plain("divided by those *in the top k*, as ``SetP * SetR`` is")
    'divided by those in the top k, as SetP * SetR is'
    """
    return _EMPHASIS.sub(r"\1", text.replace("`", ""))


def description(measure: Measure) -> str:
    """Return the docstring of a measure, in this package where it is declared here."""
    return (inspect.getdoc(type(declared(measure) or measure)) or "").strip()


def definition(measure: Measure) -> str:
    """Say in a sentence what a measure is: the first of its docstring.

    Where there is a choice of gain, it is named.

    >>> from ir_measures import AP, ERR
    >>> definition(AP @ 10).partition(",")[2]
    ' summed, divided by the number of all relevant ones'
    >>> definition(ERR @ 10)
    'The Expected Reciprocal Rank (ERR)'
    """
    words = plain(" ".join(description(measure).partition("\n\n")[0].split()))
    known = declared(measure)
    if known is None:
        return re.split(r"(?<=\w\w[.)])\s", words, maxsplit=1)[0].strip().rstrip(".")
    gain = f"; {_GAINS[known['dcg']]}" if "dcg" in known.SUPPORTED_PARAMS else ""
    return words.rstrip(".") + gain + ", after gains is applied to it" * (known.arguments.get("gains") is not None)


def _factor(term: str) -> str:
    return term if " " not in term or re.fullmatch(r"\|[^|]*\||[\w@]* ?\([^()]*\)", term) else f"({term})"


def in_unicode(latex: str) -> str:
    r"""Return a formula as a line of text, for a terminal: fractions with a bar, sums with their range in brackets.

    >>> in_unicode(r"\frac{1}{R} \sum_{i \le k} \frac{|\{j \le i : g_j \ge rel\}|}{i} \, p^{i - 1}")
    '1/R Σ[i ≤ k] |{j ≤ i : gⱼ ≥ rel}|/i · pⁱ⁻¹'
    """
    text = latex.replace(r" \, ", " · ").replace("\\ ", " ")
    for written, mark in _KEPT.items():
        text = text.replace(written, mark)
    text = re.sub(r"\\(?!frac|text|mathrm)([a-z]+)", lambda found: _SIGNS.get(found[1], found[1]), text)
    before = ""
    while text != before:  # from the innermost braces outwards
        before = text
        for pattern, put in _RULES:
            text = re.sub(pattern, put, text)
    for written, mark in _KEPT.items():
        text = text.replace(mark, written[1])
    return re.sub(r"(?<=\S)  (?=\S)", " ", re.sub(r"([(⌊]) | ([)⌋}])", r"\1\2", text)).strip()


def formula(measure: Measure) -> str | None:
    """Return the formula in a measure's docstring, as LaTeX writes it; None where there is none."""
    found = re.search(r"^\.\. math::(.+?)(?:\n\s*\n|\Z)", description(measure), re.DOTALL | re.MULTILINE)
    return None if found is None else " ".join(found[1].split())
