"""BOA: Li, Berg, Mukhopadhyay, Harchol-Balter, "BOA Constrictor", and the short paper "How to Rent GPUs on a Budget".

The problem `boa-allocation` and the workload `boa-renting`: data, examples, generators, traces and checker.
"""

from instances.boa.allocation import (
    BoaAllocation,
    Epoch,
    GpuType,
    JobClass,
    affords,
    granted,
    hull_deviation,
    least_budget,
    least_cost,
    on_grid_from,
    planned,
    proven,
    within_budget,
)
from instances.boa.arrays import (
    Segments,
    WidthArrays,
    affordable_width,
    merged_segments,
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
    "check_allocation",
    "concave_hull",
    "figure_1",
    "from_trace",
    "granted",
    "hull_deviation",
    "least_budget",
    "least_cost",
    "merged_segments",
    "newtrace",
    "on_grid_from",
    "oversize",
    "planned",
    "poisson_renting",
    "proven",
    "random_allocation",
    "shares",
    "table",
    "trace_renting",
    "width_arrays",
    "within_budget",
]
