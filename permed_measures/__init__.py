"""Graded-weight MAP, coverage and other measures for ir_measures and ranx; every convention has one name.

Importing the package makes ir_measures know its measures. Nothing heavy is loaded.
"""

from permed_measures.compare import Comparison, compare
from permed_measures.errors import HostError, InputError, ParamError
from permed_measures.evaluate import Evaluation, evaluate
from permed_measures.hosts.ir_measures import register
from permed_measures.hosts.pytrec_eval import RelevanceEvaluator, supported_measures, supported_nicknames
from permed_measures.hosts.ranx import install as install_ranx
from permed_measures.hosts.ranx import ranx_qrels, ranx_run
from permed_measures.hosts.ranx import uninstall as uninstall_ranx
from permed_measures.measures import GWAP, Coverage, ListAP, ListNDCG, parse
from permed_measures.profiles import PROFILES, load_profile
from permed_measures.ranking import Ranking, rank, rank_list

__version__ = "0.1.0"

__all__ = [
    "GWAP",
    "PROFILES",
    "Comparison",
    "Coverage",
    "Evaluation",
    "HostError",
    "InputError",
    "ListAP",
    "ListNDCG",
    "ParamError",
    "Ranking",
    "RelevanceEvaluator",
    "compare",
    "evaluate",
    "install_ranx",
    "load_profile",
    "parse",
    "rank",
    "rank_list",
    "ranx_qrels",
    "ranx_run",
    "register",
    "supported_measures",
    "supported_nicknames",
    "uninstall_ranx",
]

register()
