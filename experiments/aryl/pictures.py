"""Pictures of a loaning cluster: use, loans and queueing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from experiments.canvas import canvas, from_zero, legend, lined, plain, save_all
from experiments.palette import in_order
from experiments.simulator.plots import DAY_S, of_first_workload, over_days, save_speedups, waited_cdf
from experiments.simulator.simulated import Simulated
from experiments.simulator.simulation import Bounds
from instances.aryl import ArylLoaning


def use_over_time(runs: Sequence[Simulated], data: ArylLoaning) -> Figure:
    """Share of the training GPUs that is held, by policy, over days."""
    gpus = data.training_servers * data.gpus_per_server
    figure, axes = over_days(runs, lambda rows: rows["training"] / gpus, "training GPUs in use, share")
    axes.set(ylim=(0, 1.02))
    legend(figure)
    return figure


def loans_over_time(runs: Sequence[Simulated], data: ArylLoaning) -> Figure:
    """Servers on loan, and how many of them each policy uses, over days."""
    borrowing = [run for run in runs if run.timeline_table()["loaned"].any()]
    figure, axes = over_days(
        borrowing or runs, lambda rows: rows["loaned"] / data.gpus_per_server, "servers (GPUs in use over GPUs of one)"
    )
    rows = runs[0].timeline_table()
    axes.step(rows["time"] / DAY_S, rows["on_loan"], where="post", color="0.6", linewidth=2, label="on loan", zorder=0)
    legend(figure)
    return figure


def draw_all(
    folder: Path, done: Sequence[Simulated], baseline: str, data: Mapping[str, Any], bounds: Sequence[Bounds]
) -> None:
    """Speed-ups of all workloads; of the first one use, loans and queueing."""
    save_speedups(folder, done, baseline)
    first = of_first_workload(done)
    if first:
        save_all(use_over_time(first, data[done[0].workload]), folder / "use.svg")
        save_all(loans_over_time(first, data[done[0].workload]), folder / "loans.svg")
        save_all(waited_cdf(first, first[0].workload), folder / "queueing.svg")


def three_in_one(runs: Sequence[tuple[str, Simulated]]) -> Figure:
    """GPUs in use, servers on loan and jobs that wait over days, by row."""
    figure, (use, loans, waiting) = canvas(8, 7.6, 3, sharex=True)
    rows = runs[0][1].timeline_table()
    loans.step(rows["time"] / DAY_S, rows["on_loan"], where="post", color="0.6", linewidth=2, label="servers on loan")
    look, most = in_order(name for name, _ in runs), 0
    for name, run in runs:
        rows = run.timeline_table()
        days, style = rows["time"] / DAY_S, lined(look[name], width=0.9) | {"where": "post", "label": plain(name)}
        use.step(days, rows["training"], **style)
        waiting.step(days, rows["waiting"], **style)
        most = max(most, rows["waiting"].max())
        if rows["loaned"].any():
            loans.step(days, rows["loaned"] / 8, **style)
    use.set(ylabel="training GPUs in use", ylim=(0, None))
    loans.set(ylabel="servers (GPUs in use / 8)", ylim=(0, None))
    waiting.set(ylabel="jobs that wait", xlabel="days")
    from_zero(waiting, "y", [1, most])
    legend(figure)
    return figure
