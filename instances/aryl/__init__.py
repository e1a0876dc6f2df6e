"""Aryl: Li, Xu, Zhu, Liu, Guo and Wang, "Aryl: An Elastic Cluster Scheduler for Deep Learning", arXiv:2202.07896.

The problems `aryl-elastic` and `aryl-reclaim` and the workload `aryl-loaning`: data, examples, generators, checkers.
"""

from instances.aryl.certificate import prove_elastic, prove_reclaim
from instances.aryl.checker import check_elastic, check_reclaim
from instances.aryl.elastic import ArylElastic, ElasticJob
from instances.aryl.examples import figure_5, table_2, table_4
from instances.aryl.generators import elastic_jobs, loaned_servers, spread_jobs
from instances.aryl.loaning import ArylLoaning, InferenceLoad, LoaningJob
from instances.aryl.loaning_days import loaning_days
from instances.aryl.placement import Cluster, PlacedJob, Server, check_placement
from instances.aryl.reclaim import ArylReclaim, LoanedJob

__all__ = [
    "ArylElastic",
    "ArylLoaning",
    "ArylReclaim",
    "Cluster",
    "ElasticJob",
    "InferenceLoad",
    "LoanedJob",
    "LoaningJob",
    "PlacedJob",
    "Server",
    "check_elastic",
    "check_placement",
    "check_reclaim",
    "elastic_jobs",
    "figure_5",
    "loaned_servers",
    "loaning_days",
    "prove_elastic",
    "prove_reclaim",
    "spread_jobs",
    "table_2",
    "table_4",
]
