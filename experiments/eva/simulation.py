"""Eva's cloud in the simulator: the world, the policies by name, and what a method's solution says to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from experiments.eva.rounds import Rounds
from experiments.simulator.eva import CloudWorld
from experiments.simulator.online import Online, Policies, Remembered
from heuristics.eva.online import ONLINE, WaitingAlone, eva_with
from instances import Options
from instances.eva import EvaCloud, EvaPacking, EvaReconfiguration, synthetic_cloud
from instances.eva.online import CloudView, Configuration, decision, snapshot
from instances.online import Policy

SMALL_JOBS = 12


def _online(name: str, data: EvaCloud, options: Options) -> Policy[CloudView, Configuration]:
    return ONLINE[name](data)


def _unfit(name: str, data: EvaCloud) -> str | None:
    """The literal model of a packing states the cost alone, and the packing of a moment is of net savings."""
    return "section 4.1 states the objective cost only" if name in ("literal", "eva-with-literal") else None


def _bound(data: EvaCloud, totals: Sequence[Mapping[str, Any]]) -> list[float | None]:
    """Return a lower bound on any policy's bill, which does not depend on the runs."""
    from models.eva.work_bound import work_bound  # imports HiGHS and compiled loops, so only if it is used

    return [work_bound(data).usd] * len(totals)


POLICIES: Policies = {name: partial(_online, name) for name in ONLINE}
ONLINE_OF = {
    EvaCloud.problem: Online(
        world=CloudWorld,
        policies=POLICIES,
        unfit=_unfit,
        problems=(EvaPacking.problem,),
        snapshot=snapshot,
        decision=decision,
        fallback=WaitingAlone,
        hours=lambda data: 1 / 3600,
        baseline="no-packing",
        columns={
            "cost_usd": "bill, USD",
            "cost_share": "share",
            "gap_to_bound": "gap to bound",
            "mean_jct_h": "mean JCT, h",
            "mean_throughput": "throughput",
            "instances_launched": "instances",
            "tasks_per_instance": "tasks each",
            "migrations": "moves",
        },
        defaults=("synergy", "stratus", "owl", "eva"),
        hosts={"eva-with": eva_with},
        remembered={"reconfiguration": Remembered(EvaReconfiguration.problem, Rounds)},
        objective="cost_usd",
        bound=_bound,
        example=lambda: synthetic_cloud(SMALL_JOBS, 0),
    )
}
