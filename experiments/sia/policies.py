"""The policies that are compared on sampled workloads, by name, and what is learnt from a trace for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.simulator.kernel import simulate
from experiments.simulator.sia import PoolsWorld
from heuristics.sia import (
    ONLINE,
    PLANNED,
    Decomposed,
    Perfect,
    Predictor,
    SlidingMaximum,
    replay,
    sia,
    windows_in_slots,
)
from heuristics.sia.learned import ArrivalModels, FinishedAlike, Persistence, sia_learned, train
from heuristics.sia.local import LocalHived, LocalPolicy, LocalSia, local_sia_vc, replay_local
from heuristics.sia.sia_scheduler import PreemptiveSia, share_of_jobs
from instances import Options
from instances.sia import SiaLocalOracle, SiaOracle, helios_log, philly
from instances.sia.arrays import oracle_arrays

TRAINING_DAYS = (28.0, 49.0)
"""Three weeks, as in section 5.4.1, from the day on from which the Philly trace is dense."""
ORACLE_EFFORT = 10  # turns and nodes, which prove most half days within a second
ORACLE_STARTS = 20_000  # starts in all windows, beyond which the oracle may take minutes and is not tried
PREEMPTION = ((0.25, 5.0), (0.5, 0.0), (0.5, 5.0), (0.5, 30.0), (1.0, 5.0))
"""Shares of the jobs that may be interrupted, with minutes of a restart."""
HELIOS_LOG = "cluster_log.csv"
LOCAL = "local-"
"""What the names of policies with locality begin with."""

Starts = Mapping[str, float] | pd.DataFrame
"""The start of each job, or, where jobs are interrupted, the table of jobs."""
Make = Callable[[SiaOracle, int, Path | None], Starts]


@lru_cache(maxsize=2)
def jobs_of(trace: Path) -> pd.DataFrame:
    """The jobs of a trace in Philly's form, or of a job log of Helios under its own name."""
    return helios_log(trace) if trace.name == HELIOS_LOG else philly(trace)


@lru_cache(maxsize=2)
def models_of(trace: Path) -> ArrivalModels:
    """Models of arrivals, learnt from the first weeks of a trace."""
    return train(jobs_of(trace), TRAINING_DAYS)


def _learned(data: SiaOracle, trace: Path | None, **durations: Any) -> Mapping[str, float]:
    assert trace is not None
    known = FinishedAlike(**durations) if durations else None
    return replay(data, sia_learned(data, models_of(trace), known))


def _oracle(data: SiaOracle, trace: Path | None) -> Mapping[str, float]:
    from models.sia import exact  # with its compiled search, only where it is asked for

    if oracle_arrays(data).starts > ORACLE_STARTS:
        return {}
    found = exact(data, Options(effort=ORACLE_EFFORT))
    return found.solution["starts"] if found.status == "optimal" and found.solution is not None else {}


def _online(name: str, data: SiaOracle, seed: int, trace: Path | None) -> Mapping[str, float]:
    return replay(data, ONLINE[name](data, seed))


def _planned(name: str, data: SiaOracle, seed: int, trace: Path | None) -> Mapping[str, float]:
    return (PLANNED[name](data).solution or {})["starts"]


def local_starts(data: SiaOracle, policy: LocalPolicy) -> Mapping[str, float]:
    return {name: start for name, (start, _) in replay_local(data, policy).items()}


def _local_sia(data: SiaOracle, predictor: Predictor) -> Mapping[str, float]:
    return local_starts(data, LocalSia(predictor, windows_in_slots(data.slot_minutes)))


def _local_clock(data: SiaOracle) -> Mapping[str, float]:
    return (local_sia_vc(SiaLocalOracle.of(data)).solution or {})["starts"]


def _interrupting(data: SiaOracle, predictor: Predictor, share: float, restart_minutes: float) -> pd.DataFrame:
    """The table of jobs, in the order of the data, where a share of them may be interrupted."""
    world = PoolsWorld.of(data, record_timeline=False, restart_minutes=restart_minutes)
    simulate(world, PreemptiveSia(sia(data, predictor), share_of_jobs(share)))
    table = world.jobs_table().set_index("job").loc[[job.id for job in data.jobs]]
    return table.reset_index()


def _preemptive(
    kind: str, share: float, restart: float, data: SiaOracle, seed: int, trace: Path | None
) -> pd.DataFrame:
    predictor = Perfect(data.jobs) if kind == "perfect" else SlidingMaximum()
    return _interrupting(data, predictor, share, restart)


def preemptive_name(kind: str, share: float, restart_minutes: float) -> str:
    return f"sia-{kind}-preemptive-{share:g}-{restart_minutes:g}"


PREEMPTIVE: Mapping[str, Make] = {
    preemptive_name(kind, share, restart): partial(_preemptive, kind, share, restart)
    for kind in ("perfect", "sliding")
    for share, restart in PREEMPTION
}
POLICIES: Mapping[str, Make] = {
    **{name: partial(_online, name) for name in ONLINE},
    **{name: partial(_planned, name) for name in PLANNED},
    "sia-recent-10": lambda data, seed, trace: replay(data, sia(data, SlidingMaximum(10))),
    "sia-persistence": lambda data, seed, trace: replay(data, sia(data, Decomposed(Persistence(), SlidingMaximum()))),
    "sia-learned": lambda data, seed, trace: _learned(data, trace),
    "sia-learned-durations": lambda data, seed, trace: _learned(data, trace, quantile=0.9),
    "sia-learned-modes": lambda data, seed, trace: _learned(data, trace, quantile=None),
    "oracle": lambda data, seed, trace: _oracle(data, trace),
    "local-hived": lambda data, seed, trace: local_starts(data, LocalHived()),
    "local-sia-perfect": lambda data, seed, trace: _local_sia(data, Perfect(data.jobs)),
    "local-sia-sliding": lambda data, seed, trace: _local_sia(data, SlidingMaximum()),
    "local-sia-vc": lambda data, seed, trace: _local_clock(data),
    **PREEMPTIVE,
}
"""The starts of all jobs under a policy; none where the oracle proves nothing."""
