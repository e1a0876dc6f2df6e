"""Policies for the renting world by name, the fallback for a policy that fails, and methods that plan otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from heuristics.boa.online_rigid import EqualSplit, Fifo, Requested
from instances.boa import BoaRenting
from instances.boa.online import View, Widths
from instances.online import Policy

Online = Policy[View, Widths]

ONLINE: Mapping[str, Callable[[BoaRenting], Online]] = {
    "equal-split": EqualSplit,
    "fifo": Fifo,
    "requested": Requested,
}
"""Policies with a memory, made afresh for a workload."""


class OneGpuEach:
    """Each job runs on one GPU, or on what it has: a policy without a memory."""

    def decide(self, view: View) -> Widths:
        widths = {name: job.width or 1 for name, job in view.jobs.items()}
        return Widths(widths=widths, nodes=-(-sum(widths.values()) // view.gpus_per_node))
