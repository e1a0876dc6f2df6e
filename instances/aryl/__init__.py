"""Aryl: Li, Xu, Zhu, Liu, Guo and Wang, "Aryl: An Elastic Cluster Scheduler for Deep Learning", arXiv:2202.07896.

The published version is Lyra (EuroSys'23, doi 10.1145/3552326.3587445).

The problems `aryl-elastic`, `aryl-reclaim` and `aryl-placement` and the workload `aryl-loaning`: data, examples,
generators, checkers.
"""

from instances.aryl.checker import check_elastic, check_placement, check_reclaim
from instances.aryl.elastic import ArylElastic, ElasticJob
from instances.aryl.examples import figure_5, five_servers, table_2, table_4
from instances.aryl.generators import elastic_jobs, loaned_servers, placement_moment, spread_jobs
from instances.aryl.loaning import ArylLoaning, InferenceLoad, LoaningJob
from instances.aryl.loaning_days import loaning_days
from instances.aryl.placement import ArylPlacement, HostServer, PlacedJob
from instances.aryl.reclaim import ArylReclaim, LoanedJob

__all__ = [
    "ArylElastic",
    "ArylLoaning",
    "ArylPlacement",
    "ArylReclaim",
    "ElasticJob",
    "HostServer",
    "InferenceLoad",
    "LoanedJob",
    "LoaningJob",
    "PlacedJob",
    "check_elastic",
    "check_placement",
    "check_reclaim",
    "elastic_jobs",
    "figure_5",
    "five_servers",
    "loaned_servers",
    "loaning_days",
    "placement_moment",
    "spread_jobs",
    "table_2",
    "table_4",
]
