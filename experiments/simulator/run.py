"""One policy on one instance: the tables it leaves behind."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from experiments.simulator.kernel import Policy, SimulationError, Time, simulate
from experiments.simulator.policies import policy
from experiments.simulator.pools import PoolsWorld
from experiments.simulator.tables import jobs_table, timeline_table
from instances import InputError, Instance, Options, Stopwatch
from instances.sia import SiaOracle


@dataclass(frozen=True)
class Simulated:
    """Tables of a run, times in slots, and the CPU seconds of the simulation, without those of planning ahead."""

    instance: str
    policy: str
    jobs: pd.DataFrame
    timeline: pd.DataFrame
    cpu_s: float


def pools_world(data: SiaOracle, *, record_timeline: bool = True) -> PoolsWorld:
    """The pools and jobs of `data` as a world, with slots as the clock's unit."""
    jobs = ((job.id, job.pool, job.submit, job.duration, job.gpus) for job in data.jobs)
    return PoolsWorld({pool.name: pool.gpus for pool in data.pools}, jobs, record_timeline=record_timeline)


def run_policy(
    instance: Instance, name: str, options: Options, *, record_timeline: bool = True, until: Time | None = None
) -> Simulated:
    """Simulate the policy called `name`, or the user's `package.module:function`, on `instance`.

    The user's function gets the instance's data and returns an object with `decide(view)`. Raises InputError where the
    policy is unknown, cannot take the instance, fails, or breaks a rule of the world.
    """
    data = instance.data
    if not isinstance(data, SiaOracle):
        raise InputError(f"{instance.name}: the simulator runs sia-oracle, got {instance.problem}")
    world = pools_world(data, record_timeline=record_timeline)
    try:
        chosen = own_policy(name, data) if ":" in name else policy(name, data, options)
        with Stopwatch() as clock:
            simulate(world, chosen, until=until)
    except (InputError, SimulationError) as error:
        raise InputError(f"{instance.name}: policy {name}: {error}") from error
    except (Exception, SystemExit) as error:
        if ":" not in name:
            raise
        raise InputError(f"{instance.name}: policy {name}: {type(error).__name__}: {error}") from error
    return Simulated(instance.name, name, jobs_table(world), timeline_table(world), clock.cpu_s)


def own_policy(name: str, data: SiaOracle) -> Policy:
    """The policy that the user's `package.module:function` makes for `data`. Raises InputError where it is none."""
    made: Policy = own_maker(name)(data)
    if not callable(getattr(made, "decide", None)):
        raise InputError(f"must return an object with decide(view), got {type(made).__name__}")
    return made


def own_maker(name: str) -> Callable[[SiaOracle], Any]:
    """The function that `package.module:function` names. Raises InputError where there is none."""
    module, _, attribute = name.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        make: Callable[[SiaOracle], Any] = getattr(importlib.import_module(module), attribute)
    except (Exception, SystemExit) as error:
        raise InputError(f"policy: {name}: {type(error).__name__}: {error}") from error
    return make
