"""Exact methods for Aryl (Li et al., "Aryl: An Elastic Cluster Scheduler for Deep Learning", arXiv:2202.07896)."""

from models.aryl.exact import exact
from models.aryl.front import Front, FrontPoint, pareto_front
from models.aryl.literal import (
    build_elastic,
    build_knapsack,
    build_mean_jct,
    build_placement,
    build_reclaim,
    literal,
    literal_names,
    read_literal,
)

__all__ = [
    "Front",
    "FrontPoint",
    "build_elastic",
    "build_knapsack",
    "build_mean_jct",
    "build_placement",
    "build_reclaim",
    "exact",
    "literal",
    "literal_names",
    "pareto_front",
    "read_literal",
]
