# Written by `python -m compat.table --write` from the measures' classes.
from collections.abc import Mapping
from typing import Literal

from permed_measures.measures.base import RankingMeasure

class _BinG(RankingMeasure):
    def __call__(
        self,
        *,
        rel: float | None = None,
        judged_only: bool | None = None,
    ) -> _BinG: ...
    def __matmul__(self, at: float) -> _BinG: ...

BinG: _BinG

class _Coverage(RankingMeasure):
    def __call__(
        self,
        *,
        cutoff: int | None = None,
        rel: float | None = None,
        judged_only: bool | None = None,
    ) -> _Coverage: ...
    def __matmul__(self, at: float) -> _Coverage: ...

Coverage: _Coverage

class _ElevenPointAP(RankingMeasure):
    def __call__(
        self,
        *,
        rel: float | None = None,
        rounding: Literal['up', 'nearest'] | None = None,
        judged_only: bool | None = None,
    ) -> _ElevenPointAP: ...
    def __matmul__(self, at: float) -> _ElevenPointAP: ...

ElevenPointAP: _ElevenPointAP

class _G(RankingMeasure):
    def __call__(
        self,
        *,
        judged_only: bool | None = None,
    ) -> _G: ...
    def __matmul__(self, at: float) -> _G: ...

G: _G

class _GMAP(RankingMeasure):
    def __call__(
        self,
        *,
        rel: float | None = None,
        judged_only: bool | None = None,
    ) -> _GMAP: ...
    def __matmul__(self, at: float) -> _GMAP: ...

GMAP: _GMAP

class _GMBpref(RankingMeasure):
    def __call__(
        self,
        *,
        rel: float | None = None,
        judged_only: bool | None = None,
    ) -> _GMBpref: ...
    def __matmul__(self, at: float) -> _GMBpref: ...

GMBpref: _GMBpref

class _GWAP(RankingMeasure):
    def __call__(
        self,
        *,
        cutoff: int | None = None,
        rel: float | None = None,
        judged_only: bool | None = None,
        max_rel: float | None = None,
        weights: Mapping[float, float] | None = None,
        norm: Literal['relevant', 'cutoff', 'retrieved', 'ideal'] | None = None,
    ) -> _GWAP: ...
    def __matmul__(self, at: float) -> _GWAP: ...

GWAP: _GWAP

class _GradedRBP(RankingMeasure):
    def __call__(
        self,
        *,
        cutoff: int | None = None,
        judged_only: bool | None = None,
        p: float | None = None,
        max_rel: float | None = None,
    ) -> _GradedRBP: ...
    def __matmul__(self, at: float) -> _GradedRBP: ...

GradedRBP: _GradedRBP

class _IPrecNearest(RankingMeasure):
    def __call__(
        self,
        *,
        recall: float | None = None,
        rel: float | None = None,
        judged_only: bool | None = None,
    ) -> _IPrecNearest: ...
    def __matmul__(self, at: float) -> _IPrecNearest: ...

IPrecNearest: _IPrecNearest

class _ListAP(RankingMeasure):
    def __call__(
        self,
        *,
        cutoff: int | None = None,
        rel: float | None = None,
        judged_only: bool | None = None,
    ) -> _ListAP: ...
    def __matmul__(self, at: float) -> _ListAP: ...

ListAP: _ListAP

class _ListNDCG(RankingMeasure):
    def __call__(
        self,
        *,
        cutoff: int | None = None,
        dcg: Literal['log2', 'exp-log2'] | None = None,
        judged_only: bool | None = None,
    ) -> _ListNDCG: ...
    def __matmul__(self, at: float) -> _ListNDCG: ...

ListNDCG: _ListNDCG

class _NumNonRelJudgedRet(RankingMeasure):
    def __call__(
        self,
        *,
        rel: float | None = None,
        judged_only: bool | None = None,
    ) -> _NumNonRelJudgedRet: ...
    def __matmul__(self, at: float) -> _NumNonRelJudgedRet: ...

NumNonRelJudgedRet: _NumNonRelJudgedRet

class _RBPResidual(RankingMeasure):
    def __call__(
        self,
        *,
        p: float | None = None,
    ) -> _RBPResidual: ...
    def __matmul__(self, at: float) -> _RBPResidual: ...

RBPResidual: _RBPResidual

class _RelativeP(RankingMeasure):
    def __call__(
        self,
        *,
        cutoff: int | None = None,
        rel: float | None = None,
        judged_only: bool | None = None,
    ) -> _RelativeP: ...
    def __matmul__(self, at: float) -> _RelativeP: ...

RelativeP: _RelativeP

class _RnDCG(RankingMeasure):
    def __call__(
        self,
        *,
        rel: float | None = None,
        judged_only: bool | None = None,
    ) -> _RnDCG: ...
    def __matmul__(self, at: float) -> _RnDCG: ...

RnDCG: _RnDCG

class _RprecMult(RankingMeasure):
    def __call__(
        self,
        *,
        multiple: float | None = None,
        rel: float | None = None,
        judged_only: bool | None = None,
    ) -> _RprecMult: ...
    def __matmul__(self, at: float) -> _RprecMult: ...

RprecMult: _RprecMult

class _Unjudged(RankingMeasure):
    def __call__(
        self,
        *,
        cutoff: int | None = None,
    ) -> _Unjudged: ...
    def __matmul__(self, at: float) -> _Unjudged: ...

Unjudged: _Unjudged

class _Utility(RankingMeasure):
    def __call__(
        self,
        *,
        rel: float | None = None,
        rel_ret: float | None = None,
        nonrel_ret: float | None = None,
        rel_missed: float | None = None,
        judged_only: bool | None = None,
    ) -> _Utility: ...
    def __matmul__(self, at: float) -> _Utility: ...

Utility: _Utility

class _nDCGRel(RankingMeasure):
    def __call__(
        self,
        *,
        judged_only: bool | None = None,
    ) -> _nDCGRel: ...
    def __matmul__(self, at: float) -> _nDCGRel: ...

nDCGRel: _nDCGRel
