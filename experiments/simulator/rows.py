"""One row a simulation: what every world measures, against a baseline on the same workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.simulator.simulated import Simulated, by_pool, summary
from experiments.simulator.simulation import Simulation, online_of
from instances import InputError
from instances.gaps import gap

TIMES = ("delay", "jct", "slowdown")  # measures that end in these are times


def rows_of(
    tasks: Sequence[Simulation],
    done: Sequence[Simulated],
    baselines: Mapping[str, str],
    warm_up_days: float = 0.0,
    bounds: Mapping[tuple[str, str], float | None] | None = None,
) -> list[dict[str, Any]]:
    """One row a simulation, times in minutes and, of the measures that all worlds share, in hours.

    Of a policy that failed there is only the error. Raises InputError where no job is left after the warm-up.

    Parameters:

    - `baselines`: the policy that others are compared with, by problem.
    - `warm_up_days`: jobs submitted before do not count; bounds are of all jobs, so that there is none then.
    - `bounds`: what no policy does better than, by workload and policy.
    """
    bases = {run.workload: run for run in done if run.policy == baselines[run.problem] and run.status == "finished"}
    known = {} if bounds is None or warm_up_days else bounds
    return [
        _row(task, run, bases.get(run.workload), warm_up_days, known.get((run.workload, run.policy)))
        for task, run in zip(tasks, done, strict=True)
    ]


def _row(
    task: Simulation, run: Simulated, base: Simulated | None, warm_up_days: float, bound: float | None
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "workload": run.workload,
        "problem": run.problem,
        "policy": run.policy,
        "seed": task.options.seed,
    }
    if run.status == "error":
        return row | {"error": run.reason}
    jobs, hours = run.jobs_table(), online_of(task.workload).hours(task.workload.data)
    found = summary(jobs, None if base is None else base.jobs_table(), warm_up=warm_up_days * 24 / hours)
    if not found["jobs"]:
        raise InputError(f"--warm-up-days: {run.workload} has no job after {warm_up_days:g} days")
    row |= {
        "jobs": found["jobs"],
        "finished": int(jobs["end"].notna().sum()),
        "mean_jct_h": found["mean_jct"] * hours,
        "p95_jct_h": found["p95_jct"] * hours,
        "mean_wait_h": found["mean_delay"] * hours,
    }
    row |= _in_minutes(found, hours)
    row |= run.totals
    if base is not None and base.totals.get("cost_usd"):
        row["cost_share"] = run.totals["cost_usd"] / base.totals["cost_usd"]
    decisions = len(run.decisions.get("time", ()))
    return row | {
        "bound": bound,
        "gap_to_bound": gap(row.get(online_of(task.workload).objective), bound, "minimize"),
        "cpu_s": run.cpu_s,
        "decisions": decisions,
        "fallbacks": run.fallbacks,
        "options": run.options,
        "versions": run.versions,
    }


def pool_rows(
    tasks: Sequence[Simulation], done: Sequence[Simulated], baselines: Mapping[str, str], warm_up_days: float = 0.0
) -> list[dict[str, Any]]:
    """One row a simulation and pool, of worlds that have pools: the load of the pool, and the measures of its jobs."""
    bases = {run.workload: run for run in done if run.policy == baselines[run.problem] and run.status == "finished"}
    rows: list[dict[str, Any]] = []
    for task, run in zip(tasks, done, strict=True):
        online, base, data = online_of(task.workload), bases.get(run.workload), task.workload.data
        if online.loads is None or run.status == "error":
            continue
        hours, loads = online.hours(data), online.loads(data)
        before = None if base is None else base.jobs_table()
        table = by_pool(run.jobs_table(), before, warm_up=warm_up_days * 24 / hours)
        for found in table.to_dict("records"):
            named = {"workload": run.workload, "policy": run.policy, "pool": found.pop("pool")}
            rows.append(named | {"load": loads[named["pool"]]} | _in_minutes(found, hours))
    return rows


def _in_minutes(found: Mapping[Any, Any], hours: float) -> dict[str, Any]:
    """The measures, times in minutes and named so; `hours`: of one unit of the world's clock."""
    timed = {key: key.endswith(TIMES) for key in found}
    return {f"{key}_min" if timed[key] else key: v * hours * 60 if timed[key] else v for key, v in found.items()}
