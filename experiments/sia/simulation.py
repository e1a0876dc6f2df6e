"""SIA's pools in the simulator: the world, the policies by name, and the oracle that knows all jobs to come."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from experiments.harness.entry import always
from experiments.sia.methods import METHODS
from experiments.simulator.online import Online, Policies
from experiments.simulator.sia import PoolsWorld, Scripted
from heuristics.sia import ONLINE, PLANNED, EarliestCutoff, Perfect, Predictor, SlidingMaximum, sia
from heuristics.sia.sia_scheduler import PreemptiveSia, share_of_jobs
from instances import InputError, Options, Result
from instances.online import Policy
from instances.sia import SiaOracle, pool_loads, synthetic
from instances.sia.online import PoolsView, Start, decision, snapshot

ORACLE = "oracle"
SMALL_DAYS = 0.5
ORACLE_SECONDS = 60.0  # The oracle plans for so long where neither time nor effort is limited.


def _online(name: str, data: SiaOracle, options: Options) -> Policy[PoolsView, Start]:
    return ONLINE[name](data, options.seed)


def _run_planned(name: str, data: SiaOracle, options: Options) -> Scripted:
    return Scripted(_starts(PLANNED[name](data, options)))


def _oracle(data: SiaOracle, options: Options) -> Scripted:
    from models.sia import exact  # with its compiled search, only where it is asked for

    if options.time_limit is None and options.effort is None:
        options = replace(options, time_limit=ORACLE_SECONDS)
    return Scripted(_starts(exact(data, options)))


def _starts(result: Result) -> Mapping[str, float]:
    if result.solution is None:
        raise InputError(f"{result.method} finds no schedule: {result.reason or result.status}")
    starts: Mapping[str, float] = result.solution["starts"]
    return starts


def _unfit(name: str, data: SiaOracle) -> str | None:
    like = LIKE.get(name, name)
    return next((entry.unfit for entry in METHODS[SiaOracle.problem] if entry.name == like), always)(data)


def _learning(data: SiaOracle, options: Options) -> Policy[PoolsView, Start]:
    from heuristics.sia.learned import sia_learns_first  # with pandas, only where it is asked for

    return sia_learns_first(data)


def _preemptive(
    predictor: Callable[[SiaOracle], Predictor], data: SiaOracle, options: Options
) -> Policy[PoolsView, Start]:
    return PreemptiveSia(sia(data, predictor(data)), share_of_jobs(PREEMPTIBLE))


PREEMPTIBLE = 0.5
"""The share of the jobs that the preemptive policies may interrupt."""
LIKE = {"sia-learned": "sia-sliding", "sia-perfect-preemptive": "sia-perfect", "sia-sliding-preemptive": "sia-sliding"}
"""Policies that run on what a method runs on."""
POLICIES: Policies = {
    **{name: partial(_online, name) for name in ONLINE},
    "sia-learned": _learning,
    "sia-perfect-preemptive": partial(_preemptive, lambda data: Perfect(data.jobs)),
    "sia-sliding-preemptive": partial(_preemptive, lambda data: SlidingMaximum()),
    **{name: partial(_run_planned, name) for name in PLANNED},
    ORACLE: _oracle,
}
ONLINE_OF = {
    SiaOracle.problem: Online(
        world=PoolsWorld.of,
        policies=POLICIES,
        unfit=_unfit,
        problems=(SiaOracle.problem,),
        snapshot=snapshot,
        decision=decision,
        fallback=EarliestCutoff,
        hours=lambda data: data.slot_minutes / 60,
        baseline="fcfs",
        columns={
            "mean_jct_min": "mean JCT, minutes",
            "jct_speedup": "speed-up",
            "geometric_speedup": "geometric",
            "mean_delay_min": "mean delay, minutes",
            "slowed_share": "slowed",
            "total_slowdown_min": "slow-down, minutes",
            "worst_slowdown_min": "worst, minutes",
        },
        defaults=("ssf", "gssf", "mmfs", "hived", "themis", "sia-vc", "safe-ssf", "sia-perfect", "sia-sliding"),
        slow=(ORACLE,),
        loads=pool_loads,
        example=lambda: synthetic("base", 0, days=SMALL_DAYS),
    )
}
