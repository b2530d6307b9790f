"""Graded-weight MAP, coverage and other measures for ir_measures and ranx; every convention has one name.

Importing the package makes ir_measures know its measures. Nothing heavy is loaded: what only some people use is
imported when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import permed_measures.exits  # noqa: F401  (first: Ctrl-C while the rest is imported)
from permed_measures.errors import HostError, InputError, ParamError
from permed_measures.evaluate import Evaluation, evaluate
from permed_measures.hosts.ir_measures import register
from permed_measures.measures import GWAP, Coverage, ListAP, ListNDCG, parse
from permed_measures.profiles import PROFILES, load_profile
from permed_measures.ranking import Ranking, rank, rank_list

if TYPE_CHECKING:
    from permed_measures.comparison import Comparison, compare
    from permed_measures.explanation import Explanation, explain
    from permed_measures.files import read_qrels, read_run
    from permed_measures.hosts.pytrec_eval import RelevanceEvaluator, supported_measures, supported_nicknames
    from permed_measures.hosts.pytrec_eval import install as install_pytrec_eval
    from permed_measures.hosts.pytrec_eval import uninstall as uninstall_pytrec_eval
    from permed_measures.hosts.ranx import install as install_ranx
    from permed_measures.hosts.ranx import ranx_qrels, ranx_run
    from permed_measures.hosts.ranx import uninstall as uninstall_ranx
    from permed_measures.tables import TableFacts, evaluate_tables, inspect_tables, table_means, to_sql

__version__ = "0.1.0"

__all__ = [
    "GWAP",
    "PROFILES",
    "Comparison",
    "Coverage",
    "Evaluation",
    "Explanation",
    "HostError",
    "InputError",
    "ListAP",
    "ListNDCG",
    "ParamError",
    "Ranking",
    "RelevanceEvaluator",
    "TableFacts",
    "compare",
    "evaluate",
    "evaluate_tables",
    "explain",
    "inspect_tables",
    "install_pytrec_eval",
    "install_ranx",
    "load_profile",
    "parse",
    "rank",
    "rank_list",
    "ranx_qrels",
    "ranx_run",
    "read_qrels",
    "read_run",
    "register",
    "supported_measures",
    "supported_nicknames",
    "table_means",
    "to_sql",
    "uninstall_pytrec_eval",
    "uninstall_ranx",
]

_LATER = {
    "Comparison": "comparison.Comparison",
    "Explanation": "explanation.Explanation",
    "RelevanceEvaluator": "hosts.pytrec_eval.RelevanceEvaluator",
    "TableFacts": "tables.TableFacts",
    "compare": "comparison.compare",
    "evaluate_tables": "tables.evaluate_tables",
    "explain": "explanation.explain",
    "inspect_tables": "tables.inspect_tables",
    "install_pytrec_eval": "hosts.pytrec_eval.install",
    "install_ranx": "hosts.ranx.install",
    "ranx_qrels": "hosts.ranx.ranx_qrels",
    "ranx_run": "hosts.ranx.ranx_run",
    "read_qrels": "files.read_qrels",
    "read_run": "files.read_run",
    "supported_measures": "hosts.pytrec_eval.supported_measures",
    "supported_nicknames": "hosts.pytrec_eval.supported_nicknames",
    "table_means": "tables.table_means",
    "to_sql": "tables.to_sql",
    "uninstall_pytrec_eval": "hosts.pytrec_eval.uninstall",
    "uninstall_ranx": "hosts.ranx.uninstall",
}
"""Where the names are that are imported on first use."""


def __getattr__(name: str) -> Any:  # noqa: ANN401  (a function or class of this package)
    if name not in _LATER:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    module, _, attribute = _LATER[name].rpartition(".")
    return getattr(import_module(f"{__name__}.{module}"), attribute)


def __dir__() -> list[str]:
    return sorted([*globals(), *_LATER])


register()
