"""Heuristics of Aryl (Li et al., arXiv:2202.07896) and of the schemes of section 7.1.

Elastic jobs: the two-phase rule (Algorithm 2), FIFO, AFS, Gandiva, equal split. Reclaiming: Algorithm 1, smallest job
count, sum of GPU fractions, random. Placement: best-fit decreasing.
"""

from heuristics.aryl.placement import best_fit_decreasing
from heuristics.aryl.reclaim import (
    reclaim_gpu_fraction,
    reclaim_greedy,
    reclaim_literal_order,
    reclaim_random,
    reclaim_scf,
)
from heuristics.aryl.schemes import (
    afs,
    afs_gpus,
    afs_shorter,
    equal_split,
    equal_split_sjf,
    favour,
    fifo,
    gandiva,
    gandiva_sjf,
)
from heuristics.aryl.two_phase import two_phase

__all__ = [
    "afs",
    "afs_gpus",
    "afs_shorter",
    "best_fit_decreasing",
    "equal_split",
    "equal_split_sjf",
    "favour",
    "fifo",
    "gandiva",
    "gandiva_sjf",
    "reclaim_gpu_fraction",
    "reclaim_greedy",
    "reclaim_literal_order",
    "reclaim_random",
    "reclaim_scf",
    "two_phase",
]
