"""Measures of a simulation: completion times and waits, and against a baseline speed-ups and slow-downs."""

from __future__ import annotations

import numpy as np
import pandas as pd

QUANTILES = (5, 90, 95)
"""Percentiles of the speed-ups of jobs that are reported."""


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
            **{f"speedup_p{share}": float(ratio.quantile(share / 100)) for share in QUANTILES},
            "slowed": int((late > 0).sum()),
            "slowed_share": float((late > 0).mean()),
            "total_slowdown": float(late.sum()),
            "worst_slowdown": float(late.max()),
        }
    return found


def by_pool(jobs: pd.DataFrame, baseline: pd.DataFrame | None = None, *, warm_up: float = 0.0) -> pd.DataFrame:
    """The figures of `summary` for the jobs of each pool, one row a pool, of a world whose jobs have pools."""
    rows = []
    for pool, mine in jobs.groupby("pool"):
        found = summary(mine, baseline, warm_up=warm_up)
        if found["jobs"]:
            rows.append({"pool": pool, **found})
    return pd.DataFrame(rows)
