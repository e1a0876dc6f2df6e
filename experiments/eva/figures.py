"""The figures of Eva's section 6: claims in the paper's words, for curves have no numbers in its text, and pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments.eva import grid
from experiments.eva.grid import AS_ARTIFACT, FULL_TRACE, Grid, Runs
from experiments.eva.tables import ONE, QUICK_SEEDS, QUICK_SYNTHETIC
from experiments.eva.verdicts import holds, spanned
from experiments.harness.experiment import Claim, Context, Experiment
from experiments.simulator.plots import plain, save_figure
from experiments.simulator.simulated import Simulated
from instances import Instance
from instances.eva import synthetic_cloud

JOBS = 500  # of the trace: the shapes, not the figures, of its 6,274 jobs
ON = f"the first {JOBS} jobs of the trace, Gavel's durations"
PACKING = ("stratus", "synergy", "owl", "eva")
Claims = Callable[[Runs], Sequence[Claim]]
Panels = Mapping[str, Callable[[Runs, str], list[float]]]
"""What a picture shows: over all settings, of one policy."""
BILL: Panels = {"bill, of No-Packing's": lambda found, policy: found.shares_line(policy)}


def _swept(
    name: str, title: str, axis: str, values: Mapping[str, Mapping[str, Any]], policies: tuple[str, ...],
    claims: Claims, panels: Panels = BILL,
) -> Experiment:  # fmt: skip
    """An experiment over settings of the same trace; in the picture, a line a policy."""
    runs = Grid(
        lambda context: {
            label: [grid.sample(context, JOBS, **({} if "slowdown" in said else AS_ARTIFACT), **said)]
            for label, said in values.items()
        },
        policies,
    )

    def draw(path: Path, context: Context, outcomes: Sequence[Simulated]) -> None:
        found = runs.runs(context, outcomes)
        figure = Figure(figsize=(4.5 * len(panels), 3.5), layout="constrained")
        for axes, (what, line) in zip(np.atleast_1d(figure.subplots(1, len(panels))), panels.items(), strict=True):
            for policy in policies:
                axes.plot(list(values), line(found, policy), marker="o", markersize=3, label=plain(policy))
            axes.set(xlabel=axis, ylabel=what)
        axes.legend(frameon=False, fontsize=8)
        save_figure(figure, path)

    def told(context: Context, outcomes: Sequence[Simulated]) -> Sequence[Claim]:
        return claims(runs.runs(context, outcomes))

    return Experiment(name, title, runs.tasks, told, (FULL_TRACE,), draw)


def _figure_4(found: Runs) -> list[Claim]:
    where, rp, tnrp = "Figure 4", "eva-without-throughput", "eva"
    jct, bills = found.line(rp, grid.jct_hours), found.shares_line(rp)
    fast = [found.line(policy, grid.throughput) for policy in (tnrp, "owl")]
    apart = [own - owl for own, owl in zip(*fast, strict=True)]
    below = [1 - share for share in found.shares_line(tnrp, "owl")]
    last = found.shares_line(tnrp)[-1]
    return [
        holds(where, "Eva-RP: JCT as interference grows", "rises", f"{jct[0]:.1f} to {jct[-1]:.1f} h",
              jct == sorted(jct), note=ON),
        holds(where, "Eva-RP: bill as interference grows", "rises", f"{bills[0]:.1%} to {bills[-1]:.1%}",
              bills == sorted(bills), nearly=bills[-1] > bills[0]),
        holds(where, "Eva-TNRP: throughput less Owl's", "similar", spanned(apart), min(apart) > -0.03,
              nearly=min(apart) > -0.06),
        holds(where, "Eva-TNRP: bill below Owl's", "lower", spanned(below), min(below) > 0, nearly=max(below) > 0),
        holds(where, "Eva-TNRP: bill at 0.8, of No-Packing's", "no more, in the extreme the same", f"{last:.1%}",
              last <= 1.001),
    ]  # fmt: skip


def _figure_5(found: Runs) -> list[Claim]:
    where, full_alone = "Figure 5", "eva-without-partial"
    full, moves = found.line("eva", grid.full_share), found.line("eva", grid.moves_a_job)
    alone = [share - 1 for share in found.shares_line(full_alone, "eva")]
    flat = found.shares_line("stratus")
    below = [1 - share for share in found.shares_line("eva", "stratus")]
    return [
        holds(where, "share of rounds that are Full", "less than 12%, falling", f"{full[0]:.1%} to {full[-1]:.1%}",
              max(full) < 0.12 and full[-1] < full[0], nearly=full[-1] < full[0], note=ON),
        holds(where, "moves of a job as delays grow", "fall", f"{moves[0]:.2f} to {moves[-1]:.2f}",
              moves[-1] < moves[0]),
        holds(where, "Full alone: bill above Eva's", "noticeably, growing", ", ".join(f"{a:.1%}" for a in alone),
              min(alone) > 0 and alone == sorted(alone), nearly=min(alone) > 0),
        holds(where, "Stratus: bill, of No-Packing's", "unaffected", spanned(flat), max(flat) - min(flat) < 0.02,
              nearly=max(flat) - min(flat) < 0.05),
        holds(where, "Eva: bill below Stratus's", "large at all delays", spanned(below), min(below) > 0.05,
              nearly=min(below) > 0),
    ]  # fmt: skip


def _figure_6(found: Runs) -> list[Claim]:
    where = "Figure 6"
    below = [1 - share for other in ("stratus", "synergy") for share in found.shares_line("eva", other)]
    without = [share - 1 for share in found.shares_line("eva-without-full", "eva")]
    bills = found.shares_line("eva")
    return [
        holds(where, "Eva: bill below Stratus's and Synergy's", "10% to 15%", spanned(below), _about(below, 0.1, 0.15),
              nearly=min(below) > 0, note=ON),
        holds(where, "Eva without Full: bill above Eva's", "up to 8%", spanned(without), 0.03 <= max(without) <= 0.13,
              nearly=max(without) > 0),
        holds(where, "Eva: bill, of No-Packing's, as they grow", "rises", f"{bills[0]:.1%} to {bills[-1]:.1%}",
              bills[-1] > bills[0]),
    ]  # fmt: skip


def _figure_7(found: Runs) -> list[Claim]:
    where = "Figure 7"
    below = [1 - share for other in ("stratus", "synergy", "owl") for share in found.shares_line("eva", other)]
    single = [share - 1 for share in found.shares_line("eva-single", "eva")]
    return [
        holds(where, "Eva: bill below the other packing policies'", "10% to 37%", spanned(below),
              _about(below, 0.1, 0.37), nearly=min(below) > 0, note=ON),
        holds(where, "Eva-Single: bill above Eva's", "up to 13%", spanned(single), 0.05 <= max(single) <= 0.2,
              nearly=max(single) > 0),
    ]  # fmt: skip


def _figure_8(found: Runs) -> list[Claim]:
    where = "Figure 8"
    below = [1 - share for other in ("stratus", "synergy", "owl") for share in found.shares_line("eva", other)]
    bills = {policy: found.shares_line(policy) for policy in PACKING}
    falls = all(line[-1] < line[0] for line in bills.values())
    shown = f"eva {bills['eva'][0]:.1%} to {bills['eva'][-1]:.1%}"
    return [
        holds(where, "Eva: bill below the other packing policies'", "10% to 16%", spanned(below),
              _about(below, 0.1, 0.16), nearly=min(below) > 0, note=ON),
        holds(where, "bills, of No-Packing's, as jobs arrive faster", "fall", shown, falls),
    ]  # fmt: skip


def _about(shares: Sequence[float], low: float, high: float) -> bool:
    """Whether all lie between two shares, give or take 3 points."""
    return low - 0.03 <= min(shares) and max(shares) <= high + 0.03


def _uptimes() -> Experiment:
    """Figure 3: how long instances are up."""
    policies = ("no-packing", "stratus", "eva")

    def settings(context: Context) -> Mapping[str, Sequence[Instance]]:
        jobs, seeds = (QUICK_SYNTHETIC, QUICK_SEEDS) if context.quick else (120, 10)
        return {ONE: [synthetic_cloud(jobs, seed) for seed in range(seeds)]}

    runs = Grid(settings, policies)

    def hours(found: Runs, policy: str) -> list[float]:
        return sorted(seconds / grid.HOUR for run in found.found[ONE, policy] for seconds in run.lives["seconds"])

    def claims(context: Context, outcomes: Sequence[Simulated]) -> list[Claim]:
        found = runs.runs(context, outcomes)
        median = {policy: float(np.median(hours(found, policy))) for policy in policies}
        mean = {policy: float(np.mean(hours(found, policy))) for policy in policies}
        shown = ", ".join(f"{policy} {median[policy]:.2f}" for policy in policies)
        shorter = median["eva"] < min(median["no-packing"], median["stratus"])
        nearly = mean["eva"] < mean["stratus"]
        what = "Eva's instances are up for less time; medians, h"
        note = "simulated, 10 seeds; means " + ", ".join(f"{policy} {mean[policy]:.2f}" for policy in policies)
        return [holds("Figure 3", what, "shorter", shown, shorter, nearly=nearly, note=note)]

    def draw(path: Path, context: Context, outcomes: Sequence[Simulated]) -> None:
        found = runs.runs(context, outcomes)
        figure = Figure(figsize=(5, 3.5), layout="constrained")
        axes = figure.subplots()
        for policy in policies:
            up = hours(found, policy)
            axes.step(up, np.arange(1, len(up) + 1) / len(up), where="post", label=plain(policy))
        axes.set(xlabel="hours that an instance is up", ylabel="share of instances", ylim=(0, 1))
        axes.legend(frameon=False, fontsize=8)
        save_figure(figure, path)

    return Experiment("figure-3", "Figure 3: uptimes of instances, 120 jobs, simulated", runs.tasks, claims, (), draw)


def _values(option: str, values: Sequence[float]) -> dict[str, dict[str, float]]:
    return {f"{value:g}": {option: value} for value in values}


FIGURES = (
    _uptimes(),
    _swept(
        "figure-4", "Figure 4: co-location interference", "throughput of a pair",
        _values("slowdown", (1.0, 0.95, 0.9, 0.85, 0.8)), ("no-packing", "owl", "eva-without-throughput", "eva"),
        _figure_4,
        {
            **BILL,
            "throughput of a job": lambda found, policy: found.line(policy, grid.throughput),
            "mean JCT, h": lambda found, policy: found.line(policy, grid.jct_hours),
        },
    ),
    _swept(
        "figure-5", "Figure 5: migration overhead", "delays of jobs, multiplied",
        _values("delay_factor", (1.0, 2.0, 4.0, 8.0)), ("no-packing", "stratus", "eva-without-partial", "eva"),
        _figure_5,
        {**BILL, "moves of a job": lambda found, policy: found.line(policy, grid.moves_a_job)},
    ),
    _swept(
        "figure-6", "Figure 6: jobs with several GPUs", "share of the jobs",
        _values("multi_gpu", (0.0, 0.2, 0.4, 0.6)),
        ("no-packing", "stratus", "synergy", "owl", "eva-without-full", "eva"), _figure_6,
    ),
    _swept(
        "figure-7", "Figure 7: jobs with several tasks", "share of the jobs",
        _values("multi_task", (0.0, 0.2, 0.4, 0.6)),
        ("no-packing", "stratus", "synergy", "owl", "eva-single", "eva"), _figure_7,
    ),
    _swept(
        "figure-8", "Figure 8: arrival rate", "arrivals, multiplied", _values("arrival_rate", (0.5, 1.0, 2.0, 3.0)),
        ("no-packing", *PACKING), _figure_8,
    ),
)  # fmt: skip
