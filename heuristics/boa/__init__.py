"""Heuristics of BOA: the BOA Width Calculator (Algorithm 1) and simpler policies.

Li, Berg, Mukhopadhyay, Harchol-Balter, "BOA Constrictor: Squeezing Performance out of GPUs in the Cloud via
Budget-Optimal Allocation"; the fixed width of a job type is that of "How to Rent GPUs on a Budget".
"""

from heuristics.boa.fixed_width import equal_share, one_width
from heuristics.boa.width_calculator import (
    width_calculator,
    width_calculator_artifact,
    width_calculator_nearest,
    width_calculator_whole_job,
)

__all__ = [
    "equal_share",
    "one_width",
    "width_calculator",
    "width_calculator_artifact",
    "width_calculator_nearest",
    "width_calculator_whole_job",
]
