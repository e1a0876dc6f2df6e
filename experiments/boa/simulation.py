"""BOA's renting world in the simulator: the world, the policies by name, and what a method's solution says to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from experiments.simulator.boa import RentingWorld
from experiments.simulator.online import Online, Policies
from heuristics.boa.online import ONLINE, CountingAcquisition, OneGpuEach, OnHull
from instances import Options
from instances.boa import BoaAllocation, BoaRenting, poisson_renting
from instances.boa.online import RentingView, Widths, decision, snapshot
from instances.online import Policy
from models.boa import PolicyBound


def _online(name: str, data: BoaRenting, options: Options) -> Policy[RentingView, Widths]:
    return ONLINE[name](data)


def _unfit(name: str, data: BoaRenting) -> str | None:
    """Policies that take jobs as wide as their users asked need to know it."""
    if name in ("fifo", "requested") and all(job.requested_gpus is None for job in data.jobs):
        return "no job says how many GPUs its user asks for"
    return None


def _bounds(data: BoaRenting, totals: Sequence[Mapping[str, Any]]) -> list[float | None]:
    """For each run the mean completion time, hours, that no policy is below for the run's bill."""
    billed = [float(run["billed_gpu_h"]) for run in totals]
    bound = PolicyBound(data, max(billed))
    return [bound.at(gpu_hours) for gpu_hours in billed]


DEFAULT_AUTOSCALED = "pollux-as-sum-0.7"
POLICIES: Policies = {name: partial(_online, name) for name in ONLINE}
ONLINE_OF = {
    BoaRenting.problem: Online(
        world=RentingWorld,
        policies=POLICIES,
        unfit=_unfit,
        problems=(BoaAllocation.problem,),
        snapshot=snapshot,
        decision=decision,
        fallback=OneGpuEach,
        hours=lambda data: 1 / 3600,
        baseline="equal-split",
        columns={
            "mean_jct_h": "mean JCT, h",
            "jct_speedup": "speed-up",
            "gap_to_bound": "gap to bound",
            "billed_gpu_h": "bill, GPU-h",
            "rented_gpus": "rented GPUs",
            "mean_allocation": "held",
            "efficiency": "efficiency",
            "rescalings": "rescalings",
        },
        defaults=("exact", "acquiring-exact", "width-calculator", "pollux-sum", DEFAULT_AUTOSCALED),
        slow=tuple(name for name in ONLINE if name.startswith("pollux-as-") and name != DEFAULT_AUTOSCALED)
        + tuple(name for name in ONLINE if name.endswith("-genetic")),
        hosts={"acquiring": CountingAcquisition, "hull": OnHull},
        bound=_bounds,
        example=partial(poisson_renting, 3, 0),
    )
}
