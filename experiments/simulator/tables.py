"""What a run leaves behind: pandas tables of jobs and of the timeline, and a summary."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from experiments.simulator.pools import PoolsWorld

JOB_COLUMNS = ("job", "pool", "submit", "start", "end", "duration", "gpus", "delay", "jct")


def jobs_table(world: PoolsWorld) -> pd.DataFrame:
    """One row a job in order of submission: JOB_COLUMNS, times in the clock's unit; `NaN` for what has not happened."""
    table = pd.DataFrame(
        [(j.id, j.pool, j.submit, j.start, j.end, j.duration, j.gpus) for j in world.jobs.values()],
        columns=list(JOB_COLUMNS[:7]),
    )
    table["delay"] = table["start"] - table["submit"]
    table["jct"] = table["end"] - table["submit"]
    return table.sort_values("submit", kind="stable").reset_index(drop=True)


def timeline_table(world: PoolsWorld) -> pd.DataFrame:
    """One row a moment: time, GPUs in use, GPUs held by the jobs of each pool (`used PNAME`), jobs waiting."""
    rows = world.timeline or []
    table = pd.DataFrame({"time": [r[0] for r in rows], "in_use": [r[1] for r in rows]})
    for i, pool in enumerate(world.quota):
        table[f"used {pool}"] = [r[2][i] for r in rows]
    table["waiting"] = [r[3] for r in rows]
    return table


def summary(jobs: pd.DataFrame, baseline: pd.DataFrame | None = None, *, warm_up: float = 0.0) -> dict[str, float]:
    """Figures of the jobs submitted from `warm_up` on; with `baseline` (FCFS) also speed-ups and slow-downs.

    Speed-up of a job: its JCT in the baseline over its JCT (section 6.1). Slow-down: time by which it ends later.
    """
    jobs = jobs[(jobs["submit"] >= warm_up) & jobs["jct"].notna()]
    if jobs.empty:
        return {"jobs": 0}
    found = {
        "jobs": len(jobs),
        "mean_delay": float(jobs["delay"].mean()),
        "total_delay": float(jobs["delay"].sum()),
        "mean_jct": float(jobs["jct"].mean()),
        "p95_jct": float(jobs["jct"].quantile(0.95)),
    }
    if baseline is not None:
        both = jobs.merge(baseline[["job", "jct", "end"]], on="job", suffixes=("", "_base"))
        ratio = both["jct_base"] / both["jct"]
        late = (both["end"] - both["end_base"]).clip(lower=0)
        late = late.where(late > 1e-9 * both["end"].abs().clip(lower=1), 0.0)
        found |= {
            "jct_speedup": float(both["jct_base"].mean() / both["jct"].mean()),
            "geometric_speedup": float(np.exp(np.log(ratio).mean())),
            "slowed": int((late > 0).sum()),
            "total_slowdown": float(late.sum()),
            "worst_slowdown": float(late.max()),
        }
    return found


def figure_5(rows: Sequence[dict[str, float]]) -> pd.DataFrame:
    """Least, median and largest of each figure of several runs, as the bars and points of Figure 5."""
    table = pd.DataFrame(rows)
    return table.agg(["min", "median", "max"])
