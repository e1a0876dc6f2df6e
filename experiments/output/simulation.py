"""Simulations on the terminal, as CSV, and as tables and pictures in a folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from rich.table import Table

from experiments.output.folder import ready_folder
from experiments.output.table import NARROW
from experiments.output.terminal import out, percent, print_rich
from experiments.simulator.bounding import Bounds
from experiments.simulator.simulated import Simulated
from experiments.simulator.simulation import Choice
from instances import Instance
from instances.files import write_whole
from instances.text import shown

HEADINGS = {
    "mean_jct_min": "mean JCT, min",
    "jct_speedup": "speed-up of mean JCT",
    "geometric_speedup": "geometric mean of speed-ups",
    "mean_delay_min": "mean delay, min",
    "slowed_share": "jobs slowed",
    "total_slowdown_min": "slow-down in all, min",
    "worst_slowdown_min": "worst, min",
}
OWN = {
    "cost_usd": "bill, USD",
    "cost_share": "of the baseline's",
    "instances_launched": "instances",
    "migrations": "moves",
    "tasks_per_instance": "tasks an instance",
    "billed_gpu_h": "bill, GPU-hours",
    "rented_gpus": "rented GPUs",
    "mean_allocation": "held of them",
    "efficiency": "efficiency",
    "rescalings": "rescalings",
    "preemptions": "preemptions",
    "use": "use of training GPUs",
    "gap_to_bound": "gap to the bound",
}
"""Columns of worlds that have them."""
SPREAD = {f"speedup_p{share}": f"p{share}" for share in (5, 90, 95)}
"""Of the speed-ups, where a world has no column of its own and the terminal is wide."""
SHARES = ("slowed_share",)
WIDE = 140  # columns of a terminal from which on percentiles are shown
Draw = Callable[[Path, Sequence[Simulated], str, Mapping[str, Any], Sequence[Bounds]], None]
"""Draws into a folder the runs of a world beside a baseline; the data of the workloads by name, and bounds."""
LONG = ("options", "versions")  # in the JSON lines alone


def rows_csv(rows: Sequence[dict[str, Any]]) -> str:
    """One line a simulation; unknown values are empty."""
    table = pd.DataFrame(rows).drop(columns=list(LONG), errors="ignore")
    return table[sorted(table, key="cpu_s".__eq__)].to_csv(index=False)  # the seconds, which differ each time, last


def print_policies(rows: Sequence[dict[str, Any]], choice: Choice) -> None:
    """One row a policy of one world: the median over the workloads, and the least and the largest."""
    if all("error" in row for row in rows):
        return
    narrow = out.width < NARROW
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2 - narrow, 0, 0))
    table.add_column("policy", no_wrap=True)
    frame = pd.DataFrame(rows)
    headings = {name: heading for name, heading in OWN.items() if name in frame and frame[name].notna().any()}
    headings |= HEADINGS
    if out.width >= WIDE and not any(name in headings for name in OWN):
        place = list(headings).index("geometric_speedup") + 1
        headings = dict([*list(headings.items())[:place], *SPREAD.items(), *list(headings.items())[place:]])
    for heading in headings.values():
        table.add_column(heading, justify="right")
    frame = frame.reindex(columns=["workload", "policy", "fallbacks", *headings])
    frame = frame.dropna(subset=["mean_jct_min"])
    for name in choice.policies:
        mine = frame[frame["policy"] == name]
        table.add_row(shown(name), *(_spread(mine[key], key in SHARES, narrow) for key in headings))
    print_rich(table)
    number = frame["workload"].nunique()
    least = " (least to largest)" if number > 1 and not narrow else ""
    out.print(
        f"{number} workload{'s' * (number != 1)}: median{least}; slowed: ends later than under {shown(choice.baseline)}"
    )
    for policy, times in frame[frame["fallbacks"] > 0].groupby("policy")["fallbacks"].sum().items():
        out.print(f"{shown(str(policy))}: a fallback made {times:g} decisions")


def write_simulations(
    folder: Path,
    rows: Sequence[dict[str, Any]],
    pools: Sequence[dict[str, Any]],
    done: Sequence[Simulated],
    workloads: Sequence[Instance],
    baselines: Mapping[str, str],
    bounds: Sequence[Bounds],
    drawing: Callable[[str], Draw],
) -> None:
    """`summary.csv`, `jobs.csv`, `pools.csv` of worlds that have pools, `decisions.csv` where methods re-planned, and
    the pictures of each world.

    The pictures of several worlds are in folders of their own. `drawing(problem)` is what draws those of a world.
    """
    write_whole(folder / "summary.csv", rows_csv(rows).encode())
    if pools:
        write_whole(folder / "pools.csv", pd.DataFrame(pools).to_csv(index=False).encode())
    finished = [run for run in done if run.status == "finished"]
    if not finished:
        return
    for name in ("jobs", "decisions"):
        tables = [pd.DataFrame(getattr(run, name)) for run in finished]
        labelled = [t.assign(workload=r.workload, policy=r.policy) for t, r in zip(tables, finished, strict=True)]
        labelled = [t for t in labelled if len(t)]
        if labelled:
            write_whole(folder / f"{name}.csv", pd.concat(labelled).to_csv(index=False).encode())
    for problem, baseline in baselines.items():
        here = [run for run in done if run.problem == problem]
        if any(run.status == "finished" for run in here):
            place = folder if len(baselines) == 1 else ready_folder(folder / problem)
            data = {workload.name: workload.data for workload in workloads if workload.problem == problem}
            drawing(problem)(place, here, baseline, data, bounds)


def _spread(values: pd.Series, share: bool, median_alone: bool) -> str:
    if values.isna().all():
        return "-"
    middle, least, largest = (percent(v, 2) if share else f"{v:.4g}" for v in values.quantile([0.5, 0, 1]))
    return middle if median_alone or least == largest else f"{middle} ({least} to {largest})"
