# Written by: python -m compat.stub --write
from collections.abc import Mapping
from typing import Literal

from permed_measures.comparison import Comparison as Comparison
from permed_measures.comparison import compare as compare
from permed_measures.errors import HostError as HostError
from permed_measures.errors import InputError as InputError
from permed_measures.errors import ParamError as ParamError
from permed_measures.evaluate import Evaluation as Evaluation
from permed_measures.evaluate import evaluate as evaluate
from permed_measures.explanation import Explanation as Explanation
from permed_measures.explanation import explain as explain
from permed_measures.files import read_qrels as read_qrels
from permed_measures.files import read_run as read_run
from permed_measures.gating import Gate as Gate
from permed_measures.gating import gate as gate
from permed_measures.hosts.ir_measures import register as register
from permed_measures.hosts.pytrec_eval import RelevanceEvaluator as RelevanceEvaluator
from permed_measures.hosts.pytrec_eval import install as install_pytrec_eval
from permed_measures.hosts.pytrec_eval import supported_measures as supported_measures
from permed_measures.hosts.pytrec_eval import supported_nicknames as supported_nicknames
from permed_measures.hosts.pytrec_eval import uninstall as uninstall_pytrec_eval
from permed_measures.hosts.ranx import install as install_ranx
from permed_measures.hosts.ranx import ranx_qrels as ranx_qrels
from permed_measures.hosts.ranx import ranx_run as ranx_run
from permed_measures.hosts.ranx import uninstall as uninstall_ranx
from permed_measures.measures import parse as parse
from permed_measures.measures.base import RankingMeasure
from permed_measures.profiles import PROFILES as PROFILES
from permed_measures.profiles import load_profile as load_profile
from permed_measures.ranking import Ranking as Ranking
from permed_measures.ranking import rank as rank
from permed_measures.ranking import rank_list as rank_list
from permed_measures.tables import TableFacts as TableFacts
from permed_measures.tables import evaluate_tables as evaluate_tables
from permed_measures.tables import inspect_tables as inspect_tables
from permed_measures.tables import table_means as table_means
from permed_measures.tables import to_sql as to_sql
from permed_measures.verification import Verification as Verification
from permed_measures.verification import verify as verify

__version__: str
__all__ = [
    "GWAP",
    "PROFILES",
    "Comparison",
    "Coverage",
    "Evaluation",
    "Explanation",
    "Gate",
    "HostError",
    "InputError",
    "ListAP",
    "ListNDCG",
    "ParamError",
    "Ranking",
    "RelevanceEvaluator",
    "TableFacts",
    "Verification",
    "compare",
    "evaluate",
    "evaluate_tables",
    "explain",
    "gate",
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
    "verify",
]

class _GWAP(RankingMeasure):
    def __call__(
        self,
        *,
        cutoff: int | None = ...,
        rel: float | None = ...,
        max_rel: float | None = ...,
        weights: Mapping[float, float] | None = ...,
        norm: Literal["relevant", "cutoff", "retrieved", "ideal"] | None = ...,
    ) -> _GWAP: ...
    def __matmul__(self, at_param: int) -> _GWAP: ...

class _Coverage(RankingMeasure):
    def __call__(
        self,
        *,
        cutoff: int | None = ...,
        rel: float | None = ...,
    ) -> _Coverage: ...
    def __matmul__(self, at_param: int) -> _Coverage: ...

class _ListAP(RankingMeasure):
    def __call__(
        self,
        *,
        cutoff: int | None = ...,
        rel: float | None = ...,
    ) -> _ListAP: ...
    def __matmul__(self, at_param: int) -> _ListAP: ...

class _ListNDCG(RankingMeasure):
    def __call__(
        self,
        *,
        cutoff: int | None = ...,
        dcg: Literal["log2", "exp-log2"] | None = ...,
    ) -> _ListNDCG: ...
    def __matmul__(self, at_param: int) -> _ListNDCG: ...

GWAP: _GWAP
Coverage: _Coverage
ListAP: _ListAP
ListNDCG: _ListNDCG
