"""Compare many policies on one sampled workload, as a task of the harness; the outcome is figures, not job tables.

The methodology of section 6.1: queues picked at random from a trace, sized for a load drawn from [0.6, 1.1], two weeks
of which two days are for warming up, every policy against FCFS without sharing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pydantic import Field

from experiments.harness.task import Digests, ReportFile, Whole, WholeTask
from experiments.simulator.kernel import simulate
from experiments.simulator.sia import PoolsWorld
from experiments.simulator.simulated import summarise_by_pool, summary
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
from heuristics.sia.local import LocalFcfs, LocalHived, LocalPolicy, LocalSia, local_sia_vc, replay_local
from heuristics.sia.sia_scheduler import PreemptiveSia, share_of_jobs
from instances import InputError, Instance, Options, Stopwatch
from instances.result import versions
from instances.sia import SiaLocalOracle, SiaOracle, helios_log, philly, synthetic, trace_instance
from instances.sia.arrays import oracle_arrays
from instances.sia.generators import four_queues
from instances.sia.local_oracle import SERVER_GPUS
from instances.tables import read_numbers

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
    """Return the jobs of a trace in Philly's form, or of a job log of Helios under its own name."""
    return helios_log(trace) if trace.name == HELIOS_LOG else philly(trace)


@lru_cache(maxsize=2)
def models_of(trace: Path) -> ArrivalModels:
    """Models of arrivals, learnt from the first weeks of a trace."""
    return train(jobs_of(trace), TRAINING_DAYS)


def _run_learned(data: SiaOracle, trace: Path | None, **durations: Any) -> Mapping[str, float]:
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


def _run_planned(name: str, data: SiaOracle, seed: int, trace: Path | None) -> Mapping[str, float]:
    return (PLANNED[name](data).solution or {})["starts"]


def local_starts(data: SiaOracle, policy: LocalPolicy) -> Mapping[str, float]:
    return {name: start for name, (start, _) in replay_local(data, policy).items()}


def _local_sia(data: SiaOracle, predictor: Predictor) -> Mapping[str, float]:
    return local_starts(data, LocalSia(predictor, windows_in_slots(data.slot_minutes)))


def _preemptive(
    kind: str, share: float, restart: float, data: SiaOracle, seed: int, trace: Path | None
) -> pd.DataFrame:
    """Return the table of jobs, in the order of the data, if a share of them may be interrupted."""
    world = PoolsWorld.of(data, record_timeline=False, restart_minutes=restart)
    predictor = Perfect(data.jobs) if kind == "perfect" else SlidingMaximum()
    simulate(world, PreemptiveSia(sia(data, predictor), share_of_jobs(share)))
    return world.jobs_table().set_index("job").loc[[job.id for job in data.jobs]].reset_index()


def preemptive_name(kind: str, share: float, restart_minutes: float) -> str:
    return f"sia-{kind}-preemptive-{share:g}-{restart_minutes:g}"


PREEMPTIVE: Mapping[str, Make] = {
    preemptive_name(kind, share, restart): partial(_preemptive, kind, share, restart)
    for kind in ("perfect", "sliding")
    for share, restart in PREEMPTION
}
POLICIES: Mapping[str, Make] = {
    **{name: partial(_online, name) for name in ONLINE},
    **{name: partial(_run_planned, name) for name in PLANNED},
    "sia-recent-10": lambda data, seed, trace: replay(data, sia(data, SlidingMaximum(10))),
    "sia-persistence": lambda data, seed, trace: replay(data, sia(data, Decomposed(Persistence(), SlidingMaximum()))),
    "sia-learned": lambda data, seed, trace: _run_learned(data, trace),
    "sia-learned-durations": lambda data, seed, trace: _run_learned(data, trace, quantile=0.9),
    "sia-learned-modes": lambda data, seed, trace: _run_learned(data, trace, quantile=None),
    "oracle": lambda data, seed, trace: _oracle(data, trace),
    "local-hived": lambda data, seed, trace: local_starts(data, LocalHived()),
    "local-sia-perfect": lambda data, seed, trace: _local_sia(data, Perfect(data.jobs)),
    "local-sia-sliding": lambda data, seed, trace: _local_sia(data, SlidingMaximum()),
    "local-sia-vc": lambda data, seed, trace: (local_sia_vc(SiaLocalOracle.of(data)).solution or {})["starts"],
    **PREEMPTIVE,
}
"""The starts of all jobs under a policy; none where the oracle proves nothing."""

START_DAYS = (49.0, 94.0)
"""Samples start within these days, none of which is learnt from, and end before the trace does."""
DAYS, WARM_UP_DAYS = 14.0, 2.0
LEAST_JOBS = 20
POOL_NODES = "philly_pool_nodes.csv"  # in the folder of the trace
POOL_GPUS = "cluster_gpu_number.csv"  # in the folder of Helios' log
QUANTILES = tuple(k / 100 for k in range(101))


def draw_first_day(seed: int) -> float:
    """Return the day on which the sample of a seed starts, drawn from START_DAYS."""
    return float(np.random.default_rng([seed, 1]).uniform(*START_DAYS))


def philly_sample(trace: Path, pools: int, seed: int) -> Instance[SiaOracle]:
    """Build two weeks of some pools of the trace, from `draw_first_day` on."""
    given: dict[str, Any] = {"start_day": draw_first_day(seed), "days": DAYS, "least_jobs": LEAST_JOBS}
    return trace_instance(jobs_of(trace), pools=pools, seed=seed, name="philly", **given)


def build_all_pools(trace: Path, per_mille: int, seed: int) -> Instance[SiaOracle]:
    """All pools at a share of their own sizes, 30 days from day 49 + `seed` on."""
    jobs, day = jobs_of(trace), TRAINING_DAYS[1] + seed
    owned = _read_owned_nodes(trace) if trace.name != HELIOS_LOG else _read_owned_gpus(trace, day)
    inside = jobs[jobs["pool"].isin([pool for pool, count in owned.items() if count])]
    widest = inside.groupby("pool")["gpus"].max()
    gpus = {pool: max(int(widest[pool]), round(owned[pool] * per_mille / 1000)) for pool in owned if pool in widest}
    return trace_instance(inside, gpus, pools=None, start_day=day, days=30, name=trace.stem)


def _read_owned_nodes(trace: Path) -> dict[str, float]:
    """Return the GPUs of Philly's pools, from the table of nodes of 8 GPUs in the folder of the trace."""
    nodes = read_numbers(trace.parent / POOL_NODES, ("nodes",), text=("pool",), least=0)
    return {pool: SERVER_GPUS * count for pool, count in zip(nodes["pool"], nodes["nodes"], strict=True)}


def _read_owned_gpus(trace: Path, day: float) -> dict[str, float]:
    """Return the GPUs of Helios' pools on a day, from the table next to the log with one row per day of the log."""
    path = trace.parent / POOL_GPUS
    table = read_numbers(path, (), text=("date",))
    if day >= len(table):
        raise InputError(f"{path}: no row of day {day:g}, there are {len(table)}")
    pools = [str(name) for name in table if name not in ("date", "total")]
    numbers = read_numbers(path, pools, text=("date",), least=0)
    return {pool: float(numbers[pool].iloc[int(day)]) for pool in pools}


def local_sample(trace: Path, pools: int, seed: int) -> Instance[SiaOracle]:
    """Build the sample with locality of section 6.4: widths rounded up to 1, 2, 4 or 8, pools of full 8-GPU servers."""
    whole = philly_sample(trace, pools, seed)
    data = whole.data.model_dump()
    jobs = [job | {"gpus": 1 << (job["gpus"] - 1).bit_length()} for job in data["jobs"] if job["gpus"] <= SERVER_GPUS]
    kept = {job["pool"] for job in jobs}
    servers = [
        pool | {"gpus": -(-pool["gpus"] // SERVER_GPUS) * SERVER_GPUS} for pool in data["pools"] if pool["name"] in kept
    ]
    return Instance.of(SiaOracle.model_validate(data | {"pools": servers, "jobs": jobs}), whole.name, whole.source)


def base_half_day(variant: str, seed: int) -> Instance[SiaOracle]:
    """Build half a day of a synthetic workload, for which the oracle can prove the optimum."""
    return synthetic(variant, seed, days=0.5)


DRAWN: Mapping[str, Callable[..., Instance[SiaOracle]]] = {
    "philly": philly_sample,
    "all-pools": build_all_pools,
    "philly-local": local_sample,
    "base": base_half_day,
    "base-days": synthetic,
    "four-queues": four_queues,
}
"""The generators of workloads, by name; those of a trace take its path first."""
SAMPLED = ("philly", "philly-local")
"""Draws of some of the trace's pools in some of its weeks, of which no two are independent."""
BESIDE = " beside plain FCFS"
"""After the name of a policy with locality: its figures against FCFS without locality on the same jobs and pools."""


class Compared(Whole):
    """The figures of each policy on one workload, as `summary` has them, times in minutes.

    Beside them `quantiles` of the logarithms of speed-ups, and `pools`, the geometric mean of each pool. `week`: that
    in which a sample of a trace starts, and `busiest`, its pool with the most jobs.
    """

    jobs: int = 0
    week: int | None = None
    busiest: str | None = None
    figures: dict[str, dict[str, Any]] = Field(default_factory=dict)
    cpu_s: dict[str, float] = Field(default_factory=dict)


@dataclass(frozen=True)
class Comparison(WholeTask[Compared]):
    """`policies` on the workload that `DRAWN[draw](*given)` is, against FCFS."""

    outcome_type = Compared

    draw: str
    given: tuple[Any, ...]
    policies: tuple[str, ...]
    warm_up_days: float = 0.0
    trace: Path | None = None
    options: Options = Options()

    def label(self) -> tuple[str, str]:
        return "-".join(map(str, (self.draw, *self.given))), "comparison"

    def work(self, report: ReportFile) -> Compared:
        drawn = DRAWN[self.draw]
        data = (drawn(*self.given) if self.trace is None else drawn(self.trace, *self.given)).data
        plain = _table(data, dict(zip((job.id for job in data.jobs), data.fcfs_starts, strict=True)))
        base = _table(data, local_starts(data, LocalFcfs())) if self.draw == "philly-local" else plain
        warm_up = self.warm_up_days * 1440 / data.slot_minutes
        figures, seconds = {}, {}
        for name in self.policies:
            with Stopwatch() as clock:
                starts = POLICIES[name](data, self.options.seed, self.trace)
            seconds[name] = clock.cpu_s
            if not len(starts):
                continue
            found, local = _table(data, starts), name.startswith(LOCAL)
            figures[name] = _figures(found, base if local else plain, warm_up, data.slot_minutes)
            if local:
                figures[name + BESIDE] = _figures(found, plain, warm_up, data.slot_minutes)
        sampled: dict[str, Any] = {}
        if self.draw in SAMPLED:
            week = int(draw_first_day(self.given[-1]) // 7)
            sampled = {"week": week, "busiest": Counter(job.pool for job in data.jobs).most_common(1)[0][0]}
        return self.build_outcome("finished", jobs=len(data.jobs), figures=figures, cpu_s=seconds, **sampled)

    def content(self, digests: Digests) -> dict[str, Any]:
        asked = {name: getattr(self, name) for name in ("draw", "given", "policies", "warm_up_days")}
        trace = None if self.trace is None else digests.file(self.trace)
        return {**asked, "trace": trace, "versions": versions()}


def _table(data: SiaOracle, starts: Starts) -> pd.DataFrame:
    if isinstance(starts, pd.DataFrame):
        return starts
    rows = [(j.id, j.pool, j.submit, starts[j.id], starts[j.id] + j.duration, j.gpus) for j in data.jobs]
    table = pd.DataFrame(rows, columns=["job", "pool", "submit", "start", "end", "gpus"])
    return table.assign(delay=table["start"] - table["submit"], jct=table["end"] - table["submit"])


def _figures(jobs: pd.DataFrame, base: pd.DataFrame, warm_up: float, slot_minutes: float) -> dict[str, Any]:
    found: dict[str, Any] = {
        key: value * slot_minutes if key.endswith(("delay", "jct", "slowdown")) else value
        for key, value in summary(jobs, base, warm_up=warm_up).items()
    }
    counted = (jobs["submit"] >= warm_up).to_numpy()
    ratio = (base["jct"] / jobs["jct"]).to_numpy()[counted]
    pools = summarise_by_pool(jobs, base, warm_up=warm_up)
    return found | {
        "base_delay": float(base["delay"].to_numpy()[counted].sum()) * slot_minutes,
        "quantiles": np.quantile(np.log(ratio), QUANTILES).round(6).tolist(),
        "pools": dict(zip(pools["pool"], pools["geometric_speedup"], strict=True)),
    }
