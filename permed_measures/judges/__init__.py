"""Judges, people or language models: how far they agree, and means corrected for a judge's errors."""

from permed_measures.judges.means import Corrected, CorrectedMean, corrected, sample_queries
from permed_measures.judges.pairs import Agreement, agreement
from permed_measures.judges.scales import mapped, parse_map

__all__ = ["Agreement", "Corrected", "CorrectedMean", "agreement", "corrected", "mapped", "parse_map", "sample_queries"]
