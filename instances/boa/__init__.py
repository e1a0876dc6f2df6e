"""BOA: Li, Berg, Mukhopadhyay, Harchol-Balter, "BOA Constrictor", and the short paper "How to Rent GPUs on a Budget".

The problem `boa-allocation` and the workload `boa-renting`: data, examples, generators, traces and checker.
"""

from typing import TYPE_CHECKING

from instances.boa.allocation import (
    BoaAllocation,
    Epoch,
    GpuType,
    JobClass,
    affords,
    allow_rounding,
    compute_min_budget,
    compute_min_cost,
    compute_plan_limit,
    hull_deviation,
    is_within_budget,
    on_grid_from,
    proven,
)
from instances.boa.arrays import (
    Segments,
    WidthArrays,
    affordable_width,
    merge_segments,
    oversize,
    shares,
    width_arrays,
)
from instances.boa.checker import check_allocation
from instances.boa.examples import figure_1, newtrace
from instances.boa.generators import random_allocation
from instances.boa.renting import BoaRenting, RentingClass, RentingEpoch, RentingJob
from instances.boa.speedup import Curve, Points, Speedup, concave_hull
from instances.boa.traces import from_trace, table
from instances.boa.workloads import TwoRates, poisson_renting, trace_renting
from instances.renamed import find_old_names

__all__ = [
    "BoaAllocation",
    "BoaRenting",
    "Curve",
    "Epoch",
    "GpuType",
    "JobClass",
    "Points",
    "RentingClass",
    "RentingEpoch",
    "RentingJob",
    "Segments",
    "Speedup",
    "TwoRates",
    "WidthArrays",
    "affordable_width",
    "affords",
    "allow_rounding",
    "check_allocation",
    "compute_min_budget",
    "compute_min_cost",
    "compute_plan_limit",
    "concave_hull",
    "figure_1",
    "from_trace",
    "hull_deviation",
    "is_within_budget",
    "merge_segments",
    "newtrace",
    "on_grid_from",
    "oversize",
    "poisson_renting",
    "proven",
    "random_allocation",
    "shares",
    "table",
    "trace_renting",
    "width_arrays",
]

if not TYPE_CHECKING:  # names of the previous version
    __getattr__ = find_old_names(
        __name__,
        {
            "granted": "allow_rounding",
            "least_budget": "compute_min_budget",
            "least_cost": "compute_min_cost",
            "merged_segments": "merge_segments",
            "planned": "compute_plan_limit",
            "within_budget": "is_within_budget",
        },
    )
