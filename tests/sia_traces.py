"""Build a small pool trace in Philly's form, sparse at first like the public one, always the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np

DAY_S = 86_400


def write_philly(path: Path, *, days: int = 16, a_day: int = 5, pools: int = 5, seed: int = 0) -> Path:
    """Jobs of `pools` pools, `a_day` a day and pool from day 28 on, of widths 1 to 8; three jobs of a sixth before."""
    rng = np.random.default_rng(seed)
    rows = [(k * DAY_S, "thin", 60.0, 1) for k in range(3)]
    for pool in range(pools):
        for _ in range(days * a_day):
            submit = (28 + rng.uniform(0, days)) * DAY_S
            rows.append(
                (int(submit), f"p{pool}", float(rng.choice([120, 1800, 20_000, 90_000])), int(2 ** rng.integers(4)))
            )
    lines = [f"{i},{pool},{submit},{duration},{gpus}" for i, (submit, pool, duration, gpus) in enumerate(sorted(rows))]
    path.write_text("\n".join(["job_id,pool,submit_s,duration_s,gpus", *lines]) + "\n")
    return path
