"""Graded-weight MAP, coverage and other measures for ir_measures and ranx; every convention has one name.

Importing the package makes ir_measures know its measures. Nothing heavy is loaded: what only some people use is
imported when it is first asked for.
"""

import sys
import warnings
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

import permed_measures.errors.exits  # noqa: F401  (first: Ctrl-C while the rest is imported)
from permed_measures.errors import HostError, InputError, ParamError
from permed_measures.evaluate import Evaluation, evaluate
from permed_measures.hosts.ir_measures import register, unregister
from permed_measures.measures import EXPORTED, HostName, Param, RankingMeasure, define, parse, plugins
from permed_measures.profiles import PROFILES, load_profile
from permed_measures.ranking import Ranking, compiled, rank, rank_list

if TYPE_CHECKING:
    from permed_measures.comparison import Comparison, compare
    from permed_measures.comparison.experiment import Experiment, experiment
    from permed_measures.comparison.planning import plan
    from permed_measures.evaluate.chunks import collapse
    from permed_measures.evaluate.lists import evaluate_lists, score
    from permed_measures.explanation import Explanation, explain
    from permed_measures.files.in_memory import run_from_arrays
    from permed_measures.gating import Gate, gate
    from permed_measures.hosts.pytrec_eval import RelevanceEvaluator, supported_measures, supported_nicknames
    from permed_measures.hosts.pytrec_eval import install as install_pytrec_eval
    from permed_measures.hosts.pytrec_eval import uninstall as uninstall_pytrec_eval
    from permed_measures.hosts.ranx import install as install_ranx
    from permed_measures.hosts.ranx import ranx_qrels, ranx_run
    from permed_measures.hosts.ranx import uninstall as uninstall_ranx
    from permed_measures.inputs import read_qrels, read_run
    from permed_measures.judges import Corrected, corrected
    from permed_measures.measures.exports import *  # noqa: F403  (every measure: python -m compat.table --write)
    from permed_measures.tables import TableFacts, evaluate_tables, inspect_tables, table_means, to_sql
    from permed_measures.verification import Verification, verify

__version__ = "0.2.0.dev0"

__all__ = [
    "PROFILES",
    "Comparison",
    "Corrected",
    "Evaluation",
    "Experiment",
    "Explanation",
    "Gate",
    "HostError",
    "HostName",
    "InputError",
    "Param",
    "ParamError",
    "Ranking",
    "RankingMeasure",
    "RelevanceEvaluator",
    "TableFacts",
    "Verification",
    "collapse",
    "compare",
    "compiled",
    "corrected",
    "define",
    "evaluate",
    "evaluate_lists",
    "evaluate_tables",
    "experiment",
    "explain",
    "gate",
    "inspect_tables",
    "install_pytrec_eval",
    "install_ranx",
    "load_profile",
    "parse",
    "plan",
    "rank",
    "rank_list",
    "ranx_qrels",
    "ranx_run",
    "read_qrels",
    "read_run",
    "register",
    "run_from_arrays",
    "score",
    "supported_measures",
    "supported_nicknames",
    "table_means",
    "to_sql",
    "uninstall_pytrec_eval",
    "uninstall_ranx",
    "unregister",
    "verify",
]
__all__ += list(EXPORTED)
globals().update(EXPORTED)

_LATER = {
    "Comparison": "comparison.Comparison",
    "Corrected": "judges.Corrected",
    "Experiment": "comparison.experiment.Experiment",
    "Explanation": "explanation.Explanation",
    "Gate": "gating.Gate",
    "RelevanceEvaluator": "hosts.pytrec_eval.RelevanceEvaluator",
    "TableFacts": "tables.TableFacts",
    "Verification": "verification.Verification",
    "collapse": "evaluate.chunks.collapse",
    "compare": "comparison.compare",
    "corrected": "judges.corrected",
    "evaluate_lists": "evaluate.lists.evaluate_lists",
    "evaluate_tables": "tables.evaluate_tables",
    "experiment": "comparison.experiment.experiment",
    "explain": "explanation.explain",
    "gate": "gating.gate",
    "inspect_tables": "tables.inspect_tables",
    "install_pytrec_eval": "hosts.pytrec_eval.install",
    "install_ranx": "hosts.ranx.install",
    "ranx_qrels": "hosts.ranx.ranx_qrels",
    "ranx_run": "hosts.ranx.ranx_run",
    "plan": "comparison.planning.plan",
    "read_qrels": "inputs.read_qrels",
    "read_run": "inputs.read_run",
    "run_from_arrays": "files.in_memory.run_from_arrays",
    "score": "evaluate.lists.score",
    "supported_measures": "hosts.pytrec_eval.supported_measures",
    "supported_nicknames": "hosts.pytrec_eval.supported_nicknames",
    "table_means": "tables.table_means",
    "to_sql": "tables.to_sql",
    "uninstall_pytrec_eval": "hosts.pytrec_eval.uninstall",
    "uninstall_ranx": "hosts.ranx.uninstall",
    "verify": "verification.verify",
}
"""Where the names are that are imported on first use."""


def __getattr__(name: str) -> Any:  # noqa: ANN401  (a function or class of this package)
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = _LATER[name].rpartition(".")
    return getattr(import_module(f"{__name__}.{module}"), attribute)


class _Moved:
    """Finds modules under the paths that they had in 0.1, with a warning, for one release."""

    PATHS: ClassVar = {
        f"{__name__}.{old}": f"{__name__}.ltr.{new}"
        for old, new in (("samples", "samples"), ("softmax_ranker", "softmax_ranker"), ("leaks", "leaks"))
    }

    @classmethod
    def find_spec(cls, name: str, *_: object) -> ModuleSpec | None:
        return ModuleSpec(name, cls) if name in cls.PATHS else None  # type: ignore[arg-type]  # what a loader needs

    @classmethod
    def create_module(cls, spec: ModuleSpec) -> ModuleType:
        msg = f"{spec.name} is {cls.PATHS[spec.name]} now; the old path goes with the next release"
        warnings.warn(msg, DeprecationWarning, stacklevel=2)
        return import_module(cls.PATHS[spec.name])

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        module.__spec__ = ModuleSpec(module.__name__, module.__loader__)  # type: ignore[arg-type]  # its own loader


sys.meta_path.append(_Moved)


def __dir__() -> list[str]:
    return sorted([*globals(), *_LATER])


register()
plugins.load()  # last: they import what is above
