"""Aryl's loaning cluster in the simulator: the world, the policies by name, and what a method's solution says to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from experiments.simulator.aryl import LoaningWorld
from experiments.simulator.online import Online, Policies
from heuristics.aryl import reclaim_gpu_fraction, reclaim_greedy, reclaim_literal_order, reclaim_scf
from heuristics.aryl.online import (
    ALLOCATORS,
    OPPORTUNISTIC,
    Allocator,
    Fallback,
    Loaning,
    Order,
    Reclaimer,
    draw_servers,
    flexible_first,
    reclaim_any_workers,
)
from heuristics.aryl.online_kernels import knapsack
from instances import Instance, Options, Result
from instances.arrays import FloatArray, IntArray
from instances.aryl import ArylElastic, ArylLoaning, ArylReclaim, ElasticJob, loaning_days
from instances.aryl.online import LoaningView, decision, snapshot
from instances.fields import STEPS
from instances.online import Policy

EFFORT = 200  # of an exact decision where neither effort nor time is limited
ROLLING_JOBS = 5
"""With more elastic jobs in a pool the rolling mean JCT leaves the moment to the knapsack."""
Gone = Callable[[LoaningView], Sequence[str]]


def _limit_options(options: Options) -> Options:
    return options if options.effort or options.time_limit else Options(effort=EFFORT, seed=options.seed)


def _choose_by_method(solve: Callable[..., Result], data: ArylLoaning, options: Options) -> Gone:
    return flexible_first(_servers(solve, options))


def _servers(solve: Callable[..., Result], options: Options) -> Reclaimer:
    def servers(problem: ArylReclaim) -> Sequence[str]:
        found = solve(problem, options)
        assert found.solution is not None  # every reclaiming problem has solutions
        named: Sequence[str] = found.solution["servers"]
        return named

    return servers


def _exactly(options: Options) -> Reclaimer:
    from models.aryl import exact  # with its compiled search, only where it is asked for

    return _servers(exact, _limit_options(options))


RECLAIMERS: dict[str, Callable[[ArylLoaning, Options], Gone]] = {
    "greedy": partial(_choose_by_method, reclaim_greedy),
    "literal-order": partial(_choose_by_method, reclaim_literal_order),
    "gpu-fraction": partial(_choose_by_method, reclaim_gpu_fraction),
    "scf": partial(_choose_by_method, reclaim_scf),
    "random": lambda data, options: flexible_first(draw_servers(options.seed)),
    "exact": lambda data, options: flexible_first(_exactly(options)),
    "weighted": lambda data, options: flexible_first(_exactly(options), data.preemption_seconds),
    "threshold": lambda data, options: reclaim_any_workers(_exactly(options)),
}
"""Who goes back: both readings of Algorithm 1, its third column, smallest job count, random; the fewest preemptions,
the fewest lost GPU-hours, and the fewest preemptions where flexible workers may take the place of base workers."""
REGROUPING = ("threshold",)


def _elastic(
    least: IntArray, most: IntArray, gpus: IntArray, left: FloatArray, loss: float, capacity: int, **more: Any
) -> ArylElastic:
    """Return the problem of spare GPUs of a pool; its jobs are called by their places."""
    jobs = tuple(
        ElasticJob(
            id=str(i),
            min_workers=int(least[i]),
            max_workers=int(most[i]),
            gpus_per_worker=int(gpus[i]),
            min_running_time=max(float(left[i] / most[i]), 1 / STEPS),
        )
        for i in range(len(least))
    )
    return ArylElastic(capacity_gpus=float((least * gpus).sum() + capacity), jobs=jobs, scaling_loss=loss, **more)


def _exactly_allocated(objective: Literal["jct-reduction", "mean-jct"], options: Options) -> Allocator:
    from models.aryl import exact

    def allocate(
        least: IntArray, most: IntArray, gpus: IntArray, left: FloatArray, loss: float, capacity: int
    ) -> IntArray:
        if objective == "mean-jct" and len(least) > ROLLING_JOBS:
            found: IntArray = knapsack(least, most, gpus, left, loss, capacity)
            return found
        data = _elastic(least, most, gpus, left, loss, capacity, objective=objective)
        solution = exact(data, _limit_options(options)).solution
        if solution is None:
            return least
        now = solution["workers"] if objective == "jct-reduction" else solution["intervals"][0]["workers"]
        return np.array([now.get(str(i), workers) for i, workers in enumerate(least.tolist())])

    return allocate


def _plain(name: str, options: Options) -> Allocator:
    return ALLOCATORS[name]


SCALING: dict[str, Callable[[Options], Allocator]] = {
    **{name: partial(_plain, name) for name in ALLOCATORS},
    "knapsack": partial(_exactly_allocated, "jct-reduction"),
    "rolling": partial(_exactly_allocated, "mean-jct"),
}
"""Who gets spare GPUs: the papers' rules, the exact knapsack of phase two, and the exact mean JCT of what is there."""


def _policy(
    order: Order, reclaimer: str | None, allocator: str | None, data: ArylLoaning, options: Options
) -> Policy[Any, Any]:
    return Loaning(
        data,
        order,
        None if reclaimer is None else RECLAIMERS[reclaimer](data, options),
        None if allocator is None else SCALING[allocator](options),
        opportunistic=allocator in OPPORTUNISTIC,
        regroup=reclaimer in REGROUPING,
    )


def _policies() -> Policies:
    orders: tuple[Order, ...] = ("fifo", "sjf")
    made: dict[str, Any] = {}
    for order in orders:
        for loans, reclaimer in (("", None), ("-loans", "greedy")):
            made[order + loans] = partial(_policy, order, reclaimer, None)
            made |= {f"{order}{loans}-{name}": partial(_policy, order, reclaimer, name) for name in SCALING}
    made["aryl"] = made.pop("sjf-loans-two-phase")
    for name in RECLAIMERS.keys() - {"greedy"}:
        made[f"sjf-loans-{name}"] = partial(_policy, "sjf", name, None)
        made[f"aryl-{name}"] = partial(_policy, "sjf", name, "two-phase")
    return dict(sorted(made.items()))


def example() -> Instance:
    """Two busy days of a small cluster."""
    return loaning_days(2, 0, training_servers=8, load=1.2)


def bound(data: ArylLoaning, totals: Sequence[Mapping[str, Any]]) -> list[float | None]:
    """Hours that the mean JCT of no policy is below, the same for all of them."""
    from models.aryl.loaning_bound import mean_jct_bound

    return [mean_jct_bound(data) / 3600] * len(totals)


POLICIES = _policies()
MAIN = ("sjf", "fifo-two-phase", "sjf-two-phase", "fifo-loans", "sjf-loans", "fifo-loans-two-phase", "aryl")
"""Order, loans and scaling, each with and without, beside the baseline."""
SLOW = tuple(name for name in POLICIES if name.endswith(("exact", "weighted", "threshold", "knapsack", "rolling")))
ONLINE_OF = {
    ArylLoaning.problem: Online(
        world=LoaningWorld,
        policies=POLICIES,
        unfit=lambda name, data: None,
        problems=(ArylElastic.problem, ArylReclaim.problem),
        snapshot=snapshot,
        decision=decision,
        fallback=Fallback,
        hours=lambda data: 1 / 3600,
        baseline="fifo",
        columns={
            "mean_jct_h": "mean JCT, h",
            "jct_speedup": "speed-up",
            "gap_to_bound": "gap to bound",
            "mean_wait_h": "mean wait, h",
            "preemptions": "preemptions",
            "lost_gpu_h": "lost GPU-h",
            "use": "use of GPUs",
        },
        defaults=MAIN,
        slow=SLOW,
        objective="mean_jct_h",
        bound=bound,
        example=example,
    )
}
