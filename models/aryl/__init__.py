"""Exact methods for Aryl (Li et al., "Aryl: An Elastic Cluster Scheduler for Deep Learning", arXiv:2202.07896)."""

from models.aryl.exact import exact, literal
from models.aryl.literal_elastic import build_elastic, build_knapsack, build_mean_jct
from models.aryl.literal_reclaim import build_reclaim
from models.aryl.placement import Placement, place_workers

__all__ = [
    "Placement",
    "build_elastic",
    "build_knapsack",
    "build_mean_jct",
    "build_reclaim",
    "exact",
    "literal",
    "place_workers",
]
