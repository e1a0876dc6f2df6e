"""Compare many policies on one sampled workload, as a task of the harness; the outcome is figures, not job tables.

The methodology of section 6.1: queues picked at random from a trace, sized for a load drawn from [0.6, 1.1], two weeks
of which two days are for warming up, every policy against FCFS without sharing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pydantic import Field

from experiments.harness.task import Digests, ReportFile, Whole, WholeTask
from experiments.sia.policies import HELIOS_LOG, LOCAL, POLICIES, TRAINING_DAYS, Starts, jobs_of, local_starts
from experiments.simulator.simulated import by_pool, summary
from heuristics.sia.local import LocalFcfs
from instances import InputError, Instance, Options, Stopwatch
from instances.result import versions
from instances.sia import SiaOracle, synthetic, trace_instance
from instances.sia.generators import four_queues
from instances.sia.local_oracle import SERVER_GPUS
from instances.tables import read_numbers

START_DAYS = (49.0, 94.0)
"""Samples start within these days, none of which is learnt from, and end before the trace does."""
DAYS, WARM_UP_DAYS = 14.0, 2.0
LEAST_JOBS = 20
POOL_NODES = "philly_pool_nodes.csv"  # in the folder of the trace
POOL_GPUS = "cluster_gpu_number.csv"  # in the folder of Helios' log
QUANTILES = tuple(k / 100 for k in range(101))


def first_day(seed: int) -> float:
    """The day on which the sample of a seed starts, drawn from START_DAYS."""
    return float(np.random.default_rng([seed, 1]).uniform(*START_DAYS))


def philly_sample(trace: Path, pools: int, seed: int) -> Instance[SiaOracle]:
    """Two weeks of some pools of the trace, from its first day on."""
    start = first_day(seed)
    return trace_instance(
        jobs_of(trace), pools=pools, start_day=start, days=DAYS, seed=seed, least_jobs=LEAST_JOBS, name="philly"
    )


def all_pools(trace: Path, per_mille: int, seed: int) -> Instance[SiaOracle]:
    """All pools at a share of their own sizes, 30 days from day 49 + `seed` on."""
    jobs, day = jobs_of(trace), TRAINING_DAYS[1] + seed
    owned = _owned_nodes(trace) if trace.name != HELIOS_LOG else _owned_gpus(trace, day)
    inside = jobs[jobs["pool"].isin([pool for pool, count in owned.items() if count])]
    widest = inside.groupby("pool")["gpus"].max()
    gpus = {pool: max(int(widest[pool]), round(owned[pool] * per_mille / 1000)) for pool in owned if pool in widest}
    return trace_instance(inside, gpus, pools=None, start_day=day, days=30, name=trace.stem)


def _owned_nodes(trace: Path) -> dict[str, float]:
    """Return the GPUs of Philly's pools, from the table of nodes of 8 GPUs in the folder of the trace."""
    nodes = read_numbers(trace.parent / POOL_NODES, ("nodes",), text=("pool",), least=0)
    return {pool: SERVER_GPUS * count for pool, count in zip(nodes["pool"], nodes["nodes"], strict=True)}


def _owned_gpus(trace: Path, day: float) -> dict[str, float]:
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
    jobs = [job for job in whole.data.jobs if job.gpus <= SERVER_GPUS]
    kept = {job.pool for job in jobs}
    data = whole.data.model_copy(
        update={
            "pools": tuple(
                pool.model_copy(update={"gpus": -(-pool.gpus // SERVER_GPUS) * SERVER_GPUS})
                for pool in whole.data.pools
                if pool.name in kept
            ),
            "jobs": tuple(job.model_copy(update={"gpus": 1 << (job.gpus - 1).bit_length()}) for job in jobs),
        }
    )
    return Instance.of(SiaOracle.model_validate(data.model_dump()), whole.name, whole.source)


def base_half_day(variant: str, seed: int) -> Instance[SiaOracle]:
    """Build half a day of a synthetic workload, for which the oracle can prove the optimum."""
    return synthetic(variant, seed, days=0.5)


DRAWN: Mapping[str, Callable[..., Instance[SiaOracle]]] = {
    "philly": philly_sample,
    "all-pools": all_pools,
    "philly-local": local_sample,
    "base": base_half_day,
    "base-days": synthetic,
    "four-queues": four_queues,
}
"""How workloads are drawn, by name; those of a trace take its path first."""
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
            week = int(first_day(self.given[-1]) // 7)
            sampled = {"week": week, "busiest": Counter(job.pool for job in data.jobs).most_common(1)[0][0]}
        return self.made("finished", jobs=len(data.jobs), figures=figures, cpu_s=seconds, **sampled)

    def content(self, digests: Digests) -> dict[str, Any]:
        return {
            "draw": self.draw,
            "given": self.given,
            "policies": self.policies,
            "warm_up_days": self.warm_up_days,
            "trace": None if self.trace is None else digests.file(self.trace),
            "versions": versions(),
        }


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
    pools = by_pool(jobs, base, warm_up=warm_up)
    return found | {
        "base_delay": float(base["delay"].to_numpy()[counted].sum()) * slot_minutes,
        "quantiles": np.quantile(np.log(ratio), QUANTILES).round(6).tolist(),
        "pools": dict(zip(pools["pool"], pools["geometric_speedup"], strict=True)),
    }
