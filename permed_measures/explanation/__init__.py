"""Which convention produced this number: names that mean several things, taken apart.

``explain(qrels, run, value=0.5357, about="map@10")`` names the conventions that give a value, ``explain(qrels, run,
a=…, b=…)`` walks from one number to another, ``explain(qrels, run, about="map@10")`` shows all that a name can mean.
"""

from permed_measures.evaluate.conventions import AXES, FAMILIES, Convention
from permed_measures.explanation.result import Combination, Explanation, Step, Ties, Waterfall
from permed_measures.explanation.search import explain
from permed_measures.explanation.tools import TOOLS, Tool

__all__ = [
    "AXES",
    "FAMILIES",
    "TOOLS",
    "Combination",
    "Convention",
    "Explanation",
    "Step",
    "Ties",
    "Tool",
    "Waterfall",
    "explain",
]
