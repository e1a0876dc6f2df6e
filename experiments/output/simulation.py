"""Simulations on the terminal, as CSV, and as tables and pictures in a folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.output.folder import ready_folder
from experiments.output.table import show_table
from experiments.output.terminal import percent, print_rich
from experiments.simulator.simulated import Simulated
from experiments.simulator.simulation import Bounds, ChosenPolicies
from instances import Instance
from instances.files import write_whole
from instances.text import escape_text

SHARES = ("slowed_share", "cost_share", "gap_to_bound")
AGAINST = ("jct_speedup", "geometric_speedup", "cost_share", "slowed_share", "total_slowdown_min", "worst_slowdown_min")
"""Measures against the baseline."""
Draw = Callable[[Path, Sequence[Simulated], str, Mapping[str, Any], Sequence[Bounds]], None]
"""Draws into a folder the runs of a world beside a baseline; the data of the workloads by name, and bounds."""
LONG = ("options", "versions")  # in the JSON lines alone


def rows_csv(rows: Sequence[dict[str, Any]]) -> str:
    """Return one line per simulation; unknown values are empty."""
    table = pd.DataFrame(rows).drop(columns=list(LONG), errors="ignore")
    return table[sorted(table, key="cpu_s".__eq__)].to_csv(index=False)  # the seconds, which differ each time, last


def print_policies(rows: Sequence[dict[str, Any]], choice: ChosenPolicies) -> None:
    """Print one row per policy of one world: medians of its measures, and the range of the first one.

    All of them are over the same workloads, those that every policy has finished which has finished any.
    """
    if all("error" in row for row in rows):
        return
    frame = pd.DataFrame(rows).reindex(columns=["workload", "policy", "fallbacks", *choice.columns])
    known = [name for name in choice.columns if frame[name].notna().any()]
    frame = frame.dropna(subset=known[:1])
    several, fallen = frame["workload"].nunique(), frame[frame["fallbacks"] > 0]
    finished = frame.groupby("workload")["policy"].nunique()
    frame = frame[frame["workload"].isin(finished[finished == frame["policy"].nunique()].index)]
    number = frame["workload"].nunique()
    groups = [frame[frame["policy"] == policy] for policy in choice.policies]
    columns = [(choice.columns[name], [_format_value(name, mine[name].median()) for mine in groups]) for name in known]
    if number > 1:
        ends = {"least": pd.Series.min, "largest": pd.Series.max}
        columns[1:1] = [
            (end, [_format_value(known[0], of(mine[known[0]])) for mine in groups]) for end, of in ends.items()
        ]
    names = [escape_text(policy) for policy in choice.policies]
    rows_of = zip(names, *(cells for _, cells in columns), strict=True)
    show_table([("policy", "name"), *((heading, "number") for heading, _ in columns)], rows_of)
    against = [choice.columns[name].partition(",")[0] for name in known if name in AGAINST]
    beside = f"; against {escape_text(choice.baseline)}: {', '.join(against)}" if against else ""
    common = f"{number} of {several}" if number < several else f"{number}"
    print_rich(f"{common} workload{'s' if several != 1 else ''}{': medians' if number != 1 else ''}{beside}")
    for policy, times in fallen.groupby("policy")["fallbacks"].sum().items():
        print_rich(f"{escape_text(str(policy))}: a fallback made {times:g} decisions")


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
    """Write the tables and pictures of simulations to a folder.

    The tables are `summary.csv`, `jobs.csv`, `pools.csv` of worlds with pools, and `decisions.csv` if methods
    re-planned. The pictures of several worlds are in folders of their own.

    - `drawing(problem)`: returns the function that draws the pictures of a world.
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


def _format_value(measure: str, value: float) -> str:
    if pd.isna(value):
        return "-"
    if measure in SHARES:
        return percent(value, 1)
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"
