"""Workloads from pool traces in public CSV forms, sampled as in section 6.1, and what is public of Helios' clusters."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from instances.arrays import FloatArray
from instances.envelope import Instance
from instances.errors import InputError
from instances.fields import LARGEST
from instances.renamed import find_old_names
from instances.sia.oracle import BEYOND, SiaOracle, instance_of, whole_slots
from instances.tables import as_numbers, format_in_one_line, read_rows

if TYPE_CHECKING:
    import pandas as pd


COLUMNS = ("job_id", "pool", "submit_s", "duration_s", "gpus")
TAG = "tag"
DAY_S = 86_400.0
LOAD = (0.6, 1.1)
"""The range of the loads of pools in section 6.1."""


def philly(path: str | Path) -> pd.DataFrame:
    """Read the jobs of a Philly pool trace: a table with the columns of COLUMNS, in order of submission.

    Reads `job_id`, `pool`, `submit_s`, `duration_s`, `gpus`, and where there is one `tag`, the experiment that a job
    belongs to, empty where it has none. Raises InputError for a file that cannot be read, a missing column or a bad
    value.
    """
    return _jobs(path, "duration_s")


def gavel(path: str | Path) -> pd.DataFrame:
    """Read the jobs of a Gavel pool trace, with the running time alone on V100, in the form that `philly` gives.

    Reads `duration_v100_s` in place of `duration_s`; jobs without one (no measurement of their kind) are dropped.
    Raises InputError like `philly`.
    """
    return _jobs(path, "duration_v100_s")


def helios_log(path: str | Path) -> pd.DataFrame:
    """Read the jobs of a job log of Helios, `cluster_log.csv`, in the form that `philly` gives.

    Reads `job_id`, `vc`, `gpu_num`, `submit_time` and `duration`, seconds of running; jobs without a GPU are dropped.
    Time begins with the day of the first submission. Raises InputError like `philly`.
    """
    import pandas as pd

    raw = read_rows(path, ["job_id", "vc", "gpu_num", "submit_time", "duration"], text=("job_id", "vc", "submit_time"))
    times = pd.to_datetime(raw["submit_time"], format="%Y-%m-%d %H:%M:%S", errors="coerce")
    for row in np.flatnonzero(times.isna()):
        said = format_in_one_line(raw["submit_time"][row])
        raise InputError(f"{path}: line {row + 2}: submit_time: must be a time such as 2020-06-09 18:41:01, got {said}")
    names = {"job_id": "job_id", "pool": "vc", "duration_s": "duration", "gpus": "gpu_num"}
    jobs = pd.DataFrame({own: raw[name] for own, name in names.items()})
    jobs = jobs[as_numbers(jobs["gpus"]) != 0]
    if jobs.empty:
        raise InputError(f"{path}: no jobs")
    first = times[jobs.index].min().normalize()
    jobs["submit_s"] = (times[jobs.index] - first).dt.total_seconds()
    return _sound(path, raw, jobs, names)


def _jobs(path: str | Path, duration: str) -> pd.DataFrame:
    wanted = ["job_id", "pool", "submit_s", duration, "gpus"]
    raw = read_rows(path, wanted, text=("job_id", "pool", TAG))
    tags = [TAG] if TAG in raw else []
    jobs = raw[[*wanted, *tags]].rename(columns={duration: "duration_s"})
    if duration != "duration_s":
        jobs = jobs[jobs["duration_s"].notna()]
    if jobs.empty:
        raise InputError(f"{path}: no jobs")
    return _sound(path, raw, jobs, {"duration_s": duration})


def _sound(path: str | Path, raw: pd.DataFrame, jobs: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    """Return the valid jobs in order of submission; `names`: names of their columns in the file `raw`."""
    import pandas as pd

    for name, least in (("submit_s", 0.0), ("duration_s", 0.0), ("gpus", 1.0)):
        numbers = pd.Series(as_numbers(jobs[name]), index=jobs.index)
        bad: pd.Series = ~(pd.Series(np.isfinite(numbers), index=jobs.index) & (numbers >= least))
        if name == "gpus":
            bad |= (numbers % 1 != 0) | (numbers > LARGEST)
        if bad.any():
            row, column = int(jobs.index[bad.to_numpy()].tolist()[0]), names.get(name, name)
            whole = "a whole number" if name == "gpus" else "a number"
            rule = f"must be {whole} >= {least:g}" if not numbers[row] > LARGEST else f"must be <= {LARGEST:g}"
            raise InputError(f"{path}: line {row + 2}: {column}: {rule}, got {format_in_one_line(raw[column][row])}")
        jobs[name] = numbers.astype("int64" if name == "gpus" else "float64")
    for name in ("job_id", "pool"):
        if jobs[name].isna().any():
            row = int(jobs.index[jobs[name].isna()][0])
            raise InputError(f"{path}: line {row + 2}: {names.get(name, name)}: missing")
    twice = jobs["job_id"].duplicated()
    if twice.any():
        row = int(jobs.index[twice][0])
        raise InputError(
            f"{path}: line {row + 2}: job_id: must be unique, got {format_in_one_line(jobs['job_id'][row])}"
        )
    return jobs.sort_values("submit_s", kind="stable").reset_index(drop=True)


def trace_instance(
    jobs: pd.DataFrame,
    gpus: Mapping[str, int] | None = None,
    *,
    pools: int | Sequence[str] | None = None,
    load: tuple[float, float] = LOAD,
    start_day: float = 0.0,
    days: float | None = None,
    slot_minutes: float = 1.0,
    seed: int = 0,
    least_jobs: int = 1,
    drop_wide: bool = False,
    name: str = "trace",
    source: str = "",
) -> Instance[SiaOracle]:
    """Build an instance of the jobs submitted within `days` days from `start_day` on, on all pools or on some.

    Submissions and durations are rounded up to whole slots. A pool sized for a load may miss it, because it owns whole
    GPUs and at least those of its widest job; `pool_loads` returns its load. Raises InputError for an unknown pool, a
    missing pool, or if no job is left.

    - `jobs`: table with the columns of COLUMNS.
    - `gpus`: GPUs that each pool owns; without them, a pool owns as many as give a load drawn from `load`, at least
      the pool's widest job and at least one GPU.
    - `pools`: names of the pools to take, or the number of pools to draw; `None` for all.
    - `load`: range of the loads, a share of a pool's own GPUs, drawn uniformly (section 6.1).
    - `start_day`, `days`: the first day, and the number of days; `None` for all days to come.
    - `slot_minutes`: length of a slot.
    - `least_jobs`: pools with fewer jobs in these days are not drawn.
    - `drop_wide`: a pool is sized for its load alone, and jobs that are wider than it are left out.
    - `seed`: seed of the draws of pools and loads.
    - `name`, `source`: name and source of the instance.
    """
    for label, value in (("slot_minutes", slot_minutes), ("days", days if days is not None else 1.0)):
        if not (math.isfinite(value) and value > 0):
            raise InputError(f"{label}: must be > 0, got {value}")
    low, high = load
    if not (0 < low <= high < math.inf):
        raise InputError(f"load: must be a range of numbers > 0, got {low:g} to {high:g}")
    rng = np.random.default_rng(seed)
    begin = start_day * DAY_S
    end = math.inf if days is None else begin + days * DAY_S
    first, last = (jobs["submit_s"].agg(["min", "max"]) // DAY_S).tolist()
    jobs = jobs[(jobs["submit_s"] >= begin) & (jobs["submit_s"] < end)]
    known = sorted(jobs["pool"].unique())
    if not known:
        raise InputError(
            f"trace: no jobs are submitted in {_window(start_day, days)}; it has jobs on days {first:g} to {last:g}"
        )
    if least_jobs < 1:
        raise InputError(f"least_jobs: must be >= 1, got {least_jobs}")
    if isinstance(pools, int):
        busy = jobs["pool"].value_counts()
        known = [pool for pool in known if busy[pool] >= least_jobs]
        if not known:
            raise InputError(
                f"pools: no pool has {_say_many(least_jobs)} in {_window(start_day, days)}; the trace has jobs on days "
                f"{first:g} to {last:g}"
            )
        if not 1 <= pools <= len(known):
            raise InputError(
                f"pools: must be between 1 and {len(known)}, the pools with {_say_many(least_jobs)} in "
                f"{_window(start_day, days)}, got {pools}; the trace has jobs on days {first:g} to {last:g}"
            )
        chosen = sorted(rng.choice(known, size=pools, replace=False).tolist())
    else:
        chosen = list(pools) if pools is not None else known
        for pool in chosen:
            if pool not in known:
                raise InputError(f"pools: unknown pool, or one without jobs, got {pool!r}")
    jobs = jobs[jobs["pool"].isin(chosen)]
    if gpus is None:
        gpus = _quotas(jobs, chosen, load, rng, 1 if drop_wide else None)
    if drop_wide:
        jobs = jobs[jobs["gpus"].to_numpy() <= jobs["pool"].map(gpus).to_numpy()]
        if jobs.empty:
            raise InputError("drop_wide: no job is as narrow as its pool")
    for pool in chosen:
        if pool not in gpus:
            raise InputError(f"gpus: pool {pool} is missing")
    slot_s = slot_minutes * 60.0
    data = {
        "slot_minutes": slot_minutes,
        "pools": [{"name": pool, "gpus": int(gpus[pool])} for pool in chosen],
        "jobs": [
            {
                "id": str(job),
                "pool": pool,
                "submit": whole_slots(submit - begin, slot_s),
                "duration": max(1, whole_slots(duration, slot_s)),
                "gpus": int(width),
            }
            for job, pool, submit, duration, width in jobs[list(COLUMNS)].itertuples(index=False)
        ],
    }
    return instance_of(data, name, source)


def _say_many(least_jobs: int) -> str:
    return "jobs" if least_jobs == 1 else f"at least {least_jobs} jobs"


def _window(start_day: float, days: float | None) -> str:
    return f"the days from {start_day:g} on" if days is None else f"{days:g} days from day {start_day:g} on"


def _quotas(
    jobs: pd.DataFrame, pools: Sequence[str], load: tuple[float, float], rng: np.random.Generator, least: int | None
) -> dict[str, int]:
    """Return the GPUs of each pool for a load drawn from `load`: GPU seconds of jobs over the pool's own.

    No pool owns fewer than `least` GPUs, or where that is `None` than its widest job holds.
    """
    span = max(1.0, float(jobs["submit_s"].max() - jobs["submit_s"].min()))
    work = (jobs["duration_s"] * jobs["gpus"]).groupby(jobs["pool"]).sum()
    widest = jobs.groupby("pool")["gpus"].max()
    return {
        p: max(int(widest[p]) if least is None else least, round(min(work[p] / (rng.uniform(*load) * span), BEYOND)))
        for p in pools
    }


JOBS, GPUS = "_jobs", "_demand_gpus"


@dataclass(frozen=True)
class Demand:
    """Jobs, and GPUs that they hold or wait for, of `pools` (P,) at `times` (T,), in seconds: arrays (T, P)."""

    pools: tuple[str, ...]
    times: pd.DatetimeIndex
    jobs: FloatArray
    gpus: FloatArray

    @property
    def seconds(self) -> FloatArray:
        """Return the seconds from the first instant on."""
        return np.asarray((self.times - self.times[0]).total_seconds(), dtype=float)

    def read_owned_gpus(self, path: str | Path) -> FloatArray:
        """Return the GPUs of the pools on the day of each instant (T, P), from the table of GPUs at `path`.

        Raises InputError for a table that lacks a pool or a day.
        """
        table = read_rows(path, ["date", *self.pools], text=("date",)).set_index("date")
        days = self.times.strftime("%Y-%m-%d")
        for day in dict.fromkeys(days):
            if day not in table.index:
                raise InputError(f"{path}: no row of {day}")
        found: FloatArray = table.loc[days, list(self.pools)].to_numpy(dtype=float)
        return found


def helios_demand(path: str | Path) -> Demand:
    """Read the demand of Helios' pools: columns `time`, `POOL_jobs` and `POOL_demand_gpus`, in order of time.

    Raises InputError for a file that cannot be read, has no pool, or has a bad value.
    """
    import pandas as pd  # slow to import, and for traces alone

    table = read_rows(path, ["time"], text=("time",))
    columns = [str(name) for name in table]
    pools = tuple(name.removesuffix(JOBS) for name in columns if name.endswith(JOBS) and name != JOBS)
    if not pools:
        raise InputError(f"{path}: no column POOL{JOBS}")
    times = pd.to_datetime(table["time"], errors="coerce")
    for row in np.flatnonzero(times.isna() | (times.diff().dt.total_seconds() <= 0)):
        raise InputError(
            f"{path}: line {row + 2}: time: must be a later time, got {format_in_one_line(table['time'][row])}"
        )
    values = {}
    for kind in (JOBS, GPUS):
        for pool in pools:
            name = pool + kind
            if name not in table:
                raise InputError(f"{path}: missing column {name}")
            numbers = as_numbers(table[name])
            sound = np.isfinite(numbers) & (numbers >= 0) & (numbers % 1 == 0)
            for row in np.flatnonzero(~sound):
                value = format_in_one_line(table[name][row])
                raise InputError(f"{path}: line {row + 2}: {name}: must be a whole number >= 0, got {value}")
            values[name] = numbers
    jobs, gpus = (np.column_stack([values[pool + kind] for pool in pools]) for kind in (JOBS, GPUS))
    return Demand(pools, pd.DatetimeIndex(times), jobs, gpus)


def infer_jobs(demand: Demand) -> pd.DataFrame:
    """Infer jobs from the demand, with `pool`, `submit_s` and `duration_s`, in order of submission.

    The job that has been there for the longest is taken to end first. Jobs of the first instant are left out; one that
    is there at the last ends with it.
    """
    import pandas as pd

    seconds = demand.seconds
    rows: list[tuple[str, float, float]] = []
    for p, pool in enumerate(demand.pools):
        there: deque[float | None] = deque([None] * int(demand.jobs[0, p]))
        for now, change in zip(seconds[1:].tolist(), np.diff(demand.jobs[:, p]).astype(int).tolist(), strict=True):
            there.extend([now] * max(change, 0))
            for _ in range(-change):
                since = there.popleft()
                if since is not None:
                    rows.append((pool, since, now - since))
        last = float(seconds[-1])
        rows += [(pool, since, last - since) for since in there if since is not None]
    table = pd.DataFrame(rows, columns=["pool", "submit_s", "duration_s"])
    return table.sort_values("submit_s", kind="stable").reset_index(drop=True)


if not TYPE_CHECKING:  # names of the previous version
    __getattr__ = find_old_names(
        __name__,
        {
            "seen_jobs": "infer_jobs",
        },
    )
