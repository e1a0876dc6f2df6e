"""Pictures of section 6: distributions over simulations, and over jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from experiments.palette import looks
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
    from experiments import canvas  # with matplotlib, which takes longer to load than most commands take
    from experiments.simulator.plots import cdf

    figure, axes = canvas.canvas(10, 6.8, 2, 2)
    look = looks(policies)
    for place, (key, title) in zip(axes, METRICS.items(), strict=True):
        values = {name: np.array(figures(outcomes, name, key)) for name in policies}
        for name in policies:
            cdf(place, values[name], label=name, **canvas.lined(look[name]))
        place.set(xlabel=title, ylabel="share of simulations", ylim=(0, 1))
        _scaled(place, "x", key, np.concatenate(list(values.values())))
    canvas.legend(figure)
    canvas.save_all(figure, path)


def letter_values(path: Path, groups: Mapping[int, Sequence[Compared]], policies: Sequence[str]) -> None:
    """Boxes of percentiles over the simulations, by number of queues (Figures 14, 15a and 16)."""
    from matplotlib.patches import Patch

    from experiments import canvas

    figure, axes = canvas.canvas(10, 4.4, 1, 2)
    look = looks(policies)
    for place, key in zip(axes, ("geometric_speedup", "total_slowdown"), strict=True):
        every = []
        for i, group in enumerate(groups.values()):
            for j, name in enumerate(policies):
                values = np.array(figures(group, name, key))
                every.append(values)
                at = i + (j - (len(policies) - 1) / 2) * 0.8 / len(policies)
                _boxes(place, at, 0.7 / len(policies), values, canvas.filled(look[name]))
        place.set(ylabel=METRICS[key], xticks=range(len(groups)))
        place.set_xticklabels([f"{queues} queues" for queues in groups])
        _scaled(place, "y", key, np.concatenate(every))
    figure.suptitle(f"over simulations: boxes from percentile {said(LETTERS)}; bar: median", fontsize=9)
    canvas.legend(figure, handles=[Patch(label=name, **canvas.filled(look[name])) for name in policies])
    canvas.save_all(figure, path)


def said(letters: Sequence[tuple[float, float]]) -> str:
    """The percentiles of the boxes in words."""
    return ", ".join(f"{low:g} to {high:g}" for low, high in letters)


def speedup_quantiles(path: Path, outcomes: Sequence[Compared], policies: Sequence[str]) -> None:
    """The distribution of speed-ups over the jobs, quantiles averaged over the draws (Figure 11)."""
    from experiments import canvas

    figure, (axes,) = canvas.canvas(6, 4.2)
    look = looks(policies)
    for name in policies:
        values = np.exp(np.mean([o.figures[name]["quantiles"] for o in outcomes], axis=0))
        axes.step(values, QUANTILES, where="post", label=name, **canvas.lined(look[name]))
    axes.axvline(1, color="0.7", linewidth=0.8, zorder=0)
    axes.set(xlabel="speed-up of a job against fcfs", ylabel="share of jobs", ylim=(0, 1))
    _scaled(axes, "x", "geometric_speedup", np.ones(1))
    canvas.legend(figure)
    canvas.save_all(figure, path)


def oracle_gains(path: Path, outcomes: Sequence[Compared], policies: Sequence[str]) -> None:
    """CDFs over small workloads of the geometric mean of speed-ups (Figure 15b)."""
    from experiments import canvas
    from experiments.simulator.plots import cdf

    figure, (axes,) = canvas.canvas(6, 4.2)
    look = looks(policies)
    for name in policies:
        cdf(axes, np.array(figures(outcomes, name, "geometric_speedup")), label=name, **canvas.lined(look[name]))
    axes.set(xlabel=METRICS["geometric_speedup"], ylabel="share of workloads", ylim=(0, 1))
    _scaled(axes, "x", "geometric_speedup", np.ones(1))
    canvas.legend(figure)
    canvas.save_all(figure, path)


def _scaled(place: Any, side: Literal["x", "y"], key: str, values: FloatArray) -> None:
    """A logarithmic axis; of slow-downs, which may be nothing, with a zero."""
    from experiments.canvas import from_zero, logarithmic

    if "slowdown" in key:
        from_zero(place, side, values.tolist())
    else:
        logarithmic(place, side)


def _boxes(place: Any, x: float, width: float, values: FloatArray, style: Mapping[str, Any]) -> None:
    for k, (low, high) in enumerate(LETTERS):
        bottom, top = np.percentile(values, [low, high])
        place.bar(x, top - bottom, width * 0.7**k, bottom, alpha=0.5, **style)
    place.plot([x], [np.median(values)], "k_", markersize=4)
