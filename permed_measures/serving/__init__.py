"""Latency, throughput, cost and targets of a system that answers queries, beside the quality of its answers.

Serving figures are no ranking measures: ir_measures counts an absent query as 0, which would be a perfect latency.
"""

from permed_measures.files.candidates import Candidate
from permed_measures.inference.independent import percentile_interval
from permed_measures.serving.calls import Failed, Failure, Failures
from permed_measures.serving.latency import Latency, measure_latency
from permed_measures.serving.log import Fields, Request, RequestLog, read_log
from permed_measures.serving.report import Reranked, RerankReport
from permed_measures.serving.rerank import RerankEvaluator
from permed_measures.serving.summary import Cost, Roi, ServingSummary, roi
from permed_measures.serving.targets import Targets, Verdict, Worth
from permed_measures.serving.throughput import Load, measure_throughput

__all__ = ["Candidate", "Cost", "Failed", "Failure", "Failures", "Fields", "Latency", "Load", "Request", "RequestLog"]
__all__ += ["RerankEvaluator", "RerankReport", "Reranked", "Roi", "ServingSummary", "Targets", "Verdict", "Worth"]
__all__ += ["measure_latency", "measure_throughput", "percentile_interval", "read_log", "roi"]
