"""Policies that know every job to come and keep every cut-off: SIA_VC (section 5.1) and safe shortest-first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from instances.sia import SiaOracle
from instances.sia.arrays import slot_arrays
from instances.sia.reservations import backfill


def keep_cutoffs(data: SiaOracle, priority: Sequence[float]) -> list[int]:
    """Start slot of each job, in the order of `data.jobs`, by backfilling ahead of reservations at the cut-offs.

    The job of least `priority` is tried first. The reservations fit together wherever the cut-offs are those of pools
    that share nothing, and no job is then late (Theorem 1). Where cut-offs from `latest_start` cannot all be kept,
    jobs start as soon as GPUs are idle.
    """
    arrays = slot_arrays(data)
    starts: list[int] = arrays.in_slots(backfill(arrays, arrays.cutoff, np.array(priority))).tolist()
    return starts
