"""What is public of Helios' virtual clusters: the demand of each over time, and the GPUs of each day.

The job logs, of which Table 17 of SIA is made, are not in the public repositories' stored copies. The demand says how
many jobs a pool has at each instant: when it rises, jobs have come, when it falls, jobs have ended. Jobs that come and
end between two instants are not seen.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from instances.arrays import FloatArray
from instances.errors import InputError
from instances.tables import as_numbers, one_line, read_rows

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
        """Seconds from the first instant on."""
        return np.asarray((self.times - self.times[0]).total_seconds(), dtype=float)

    def owned(self, path: str | Path) -> FloatArray:
        """GPUs of the pools on the day of each instant (T, P), from the table of GPUs at `path`.

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
    """The demand of Helios' pools: columns `time`, `POOL_jobs` and `POOL_demand_gpus`, in order of time.

    Raises InputError for a file that cannot be read, has no pool, or has a bad value.
    """
    table = read_rows(path, ["time"], text=("time",))
    columns = [str(name) for name in table]
    pools = tuple(name.removesuffix(JOBS) for name in columns if name.endswith(JOBS) and name != JOBS)
    if not pools:
        raise InputError(f"{path}: no column POOL{JOBS}")
    times = pd.to_datetime(table["time"], errors="coerce")
    for row in np.flatnonzero(times.isna() | (times.diff().dt.total_seconds() <= 0)):
        raise InputError(f"{path}: line {row + 2}: time: must be a later time, got {one_line(table['time'][row])}")
    values = {}
    for kind in (JOBS, GPUS):
        for pool in pools:
            name = pool + kind
            if name not in table:
                raise InputError(f"{path}: missing column {name}")
            numbers = as_numbers(table[name])
            sound = np.isfinite(numbers) & (numbers >= 0) & (numbers % 1 == 0)
            for row in np.flatnonzero(~sound):
                value = one_line(table[name][row])
                raise InputError(f"{path}: line {row + 2}: {name}: must be a whole number >= 0, got {value}")
            values[name] = numbers
    jobs, gpus = (np.column_stack([values[pool + kind] for pool in pools]) for kind in (JOBS, GPUS))
    return Demand(pools, pd.DatetimeIndex(times), jobs, gpus)


def seen_jobs(demand: Demand) -> pd.DataFrame:
    """The jobs inferred from the demand, with `pool`, `submit_s` and `duration_s`, in order of submission.

    The job that has been there for the longest is taken to end first. Jobs of the first instant are left out; one that
    is there at the last ends with it.
    """
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
