"""Pictures of section 6: distributions over simulations, and over jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from experiments.sia.comparison import QUANTILES, Compared
from experiments.sia.statistics import figures
from instances.arrays import FloatArray

LETTERS = ((25, 75), (12.5, 87.5), (6.25, 93.75))  # percentiles of the boxes, from the widest on
METRICS = {
    "geometric_speedup": "geometric mean of speed-ups",
    "speedup_p95": "95th percentile of speed-ups",
    "total_slowdown": "total slow-down, min",
    "worst_slowdown": "worst slow-down, min",
}


def metric_cdfs(path: Path, outcomes: Sequence[Compared], policies: Sequence[str]) -> None:
    """CDFs over the simulations of four metrics, one line a policy (Figure 13)."""
    figure, axes = _axes(2, 2)
    for place, (key, title) in zip(axes.flat, METRICS.items(), strict=True):
        for name in policies:
            values = np.sort(np.array(figures(outcomes, name, key)))
            place.step(np.maximum(values, 0.1), np.arange(1, len(values) + 1) / len(values), where="post", label=name)
        place.set(xscale="log", xlabel=title, ylim=(0, 1))
    axes[0, 0].legend(frameon=False, fontsize=7)
    _save(figure, path)


def letter_values(path: Path, groups: Mapping[int, Sequence[Compared]], policies: Sequence[str]) -> None:
    """Boxes of percentiles over the simulations, by number of queues (Figures 14, 15a and 16)."""
    figure, axes = _axes(1, 2)
    for place, key in zip(axes.flat, ("geometric_speedup", "total_slowdown"), strict=True):
        for i, group in enumerate(groups.values()):
            for j, name in enumerate(policies):
                values = np.maximum(np.array(figures(group, name, key)), 0.1)
                _boxes(place, i + (j - len(policies) / 2) * 0.8 / len(policies), 0.7 / len(policies), values, f"C{j}")
        place.set(yscale="log", ylabel=METRICS[key], xticks=range(len(groups)))
        place.set_xticklabels([f"{queues} queues" for queues in groups])
    for j, name in enumerate(policies):
        axes.flat[0].plot([], [], color=f"C{j}", linewidth=5, label=name)
    axes.flat[0].legend(frameon=False, fontsize=7)
    _save(figure, path)


def speedup_quantiles(path: Path, outcomes: Sequence[Compared], policies: Sequence[str]) -> None:
    """The distribution of speed-ups over the jobs, quantiles averaged over the draws (Figure 11)."""
    figure, axes = _axes(1, 1)
    for name in policies:
        values = np.exp(np.mean([o.figures[name]["quantiles"] for o in outcomes], axis=0))
        axes.flat[0].step(values, QUANTILES, where="post", label=name)
    axes.flat[0].axvline(1, color="0.7", linewidth=0.8, zorder=0)
    axes.flat[0].set(xscale="log", xlabel="speed-up of a job against fcfs", ylabel="share of jobs", ylim=(0, 1))
    axes.flat[0].legend(frameon=False, fontsize=8)
    _save(figure, path)


def oracle_gains(path: Path, outcomes: Sequence[Compared], policies: Sequence[str]) -> None:
    """CDFs over small workloads of the geometric mean of speed-ups (Figure 15b)."""
    figure, axes = _axes(1, 1)
    for name in policies:
        values = np.sort(np.array(figures(outcomes, name, "geometric_speedup")))
        axes.flat[0].step(values, np.arange(1, len(values) + 1) / len(values), where="post", label=name)
    axes.flat[0].set(xscale="log", xlabel=METRICS["geometric_speedup"], ylim=(0, 1))
    axes.flat[0].legend(frameon=False, fontsize=8)
    _save(figure, path)


def _boxes(place: object, x: float, width: float, values: FloatArray, colour: str) -> None:
    for k, (low, high) in enumerate(LETTERS):
        bottom, top = np.percentile(values, [low, high])
        wide = width * 0.7**k
        place.bar(x, top - bottom, wide, bottom, color=colour, alpha=0.5, linewidth=0)  # type: ignore[attr-defined]
    place.plot([x], [np.median(values)], "k_", markersize=4)  # type: ignore[attr-defined]


def _axes(rows: int, columns: int) -> tuple[object, np.ndarray]:
    from matplotlib.figure import Figure  # here, for it takes longer to load than most commands take

    figure = Figure(figsize=(5 * columns, 3.2 * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def _save(figure: object, path: Path) -> None:
    from experiments.simulator.plots import save_figure

    save_figure(figure, path)  # type: ignore[arg-type]
