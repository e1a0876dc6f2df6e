"""Policies for SIA's pools that decide as time goes by, by name, and the fallback for a policy that fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from heuristics.sia.baselines import Fcfs, Hived, MaxMinFair, ShortestFirst, Themis, length, service
from heuristics.sia.predictors import Perfect, Random, SlidingMaximum, windows_in_slots
from heuristics.sia.sia_scheduler import Sia
from instances.online import Policy
from instances.sia import SiaOracle
from instances.sia.online import Start, View

ONLINE: Mapping[str, Callable[[SiaOracle, int], Policy[View, Start]]] = {
    "fcfs": lambda data, seed: Fcfs(),
    "ssf": lambda data, seed: ShortestFirst(service),
    "sjf": lambda data, seed: ShortestFirst(length),
    "gssf": lambda data, seed: ShortestFirst(service, shared=True),
    "mmfs": lambda data, seed: MaxMinFair(),
    "hived": lambda data, seed: Hived(),
    "themis": lambda data, seed: Themis(
        {job.id: start for job, start in zip(data.jobs, data.fcfs_starts, strict=True)}
    ),
    "sia-perfect": lambda data, seed: Sia(Perfect(data.jobs), windows_in_slots(data.slot_minutes)),
    "sia-sliding": lambda data, seed: Sia(SlidingMaximum(), windows_in_slots(data.slot_minutes)),
    "sia-random-load": lambda data, seed: Sia(Random(seed, durations=False), windows_in_slots(data.slot_minutes)),
    "sia-random": lambda data, seed: Sia(Random(seed), windows_in_slots(data.slot_minutes)),
}
"""Policies that decide as time goes by, made afresh for an instance and a seed."""


class EarliestCutoff:
    """The job with the earliest cut-off first, on any GPUs; a job that does not fit holds up all jobs behind.

    The policy has no memory, and so can take over at any moment.
    """

    def decide(self, view: View) -> Start:
        left, starts = view.idle, []
        waiting = [job for queue in view.queues.values() for job in queue.values()]
        for job in sorted(waiting, key=_cutoff):
            if job.gpus > left:
                break
            left -= job.gpus
            starts.append(job.id)
        return Start(starts)


def _cutoff(job: Any) -> tuple[float, float]:
    cutoff = getattr(job, "cutoff", None)
    return (job.submit if cutoff is None else cutoff), job.submit
