"""What the paper does not show: order, loans and scaling, each with and without, and what reclaiming is worth."""

from __future__ import annotations

from experiments.aryl.scenarios import PAPERS, SMALL, Runs, Setting, mean, rows_experiment, total
from experiments.harness.experiment import Claim, Experiment

SPEEDS = (0.25, 1 / 3, 0.5, 0.75, 1.0)
LOADS = (0.75, 0.83, 0.95)
PERIODS = (300, 1800, 3600)
RECLAIMERS = ("", "-scf", "-random", "-exact", "-weighted")
PLACED = "jobs that could scale are on loaned servers first, even where nothing scales; workers are slower there"
PAIRS = {"fifo": "fifo-loans", "sjf": "sjf-loans", "fifo-two-phase": "fifo-loans-two-phase", "sjf-two-phase": "aryl"}
"""Policies without loans, and the same with."""


def _told(what: str, ours: float | str, note: str = "") -> Claim:
    return Claim("not in the paper", what, None, ours, "no figure", note)


def worth(load: float) -> Experiment:
    """Order, loans and scaling, each with and without, over the speed of a loaned GPU, at one load."""
    rows = {alone: Setting.of(alone, load=load) for alone in PAIRS}
    for name in PAIRS.values():
        rows |= {f"{name} at {s:.2f}": Setting.of(name, load=load, loaned_speed=s) for s in SPEEDS}

    def claims(runs: Runs) -> list[Claim]:
        found = []
        for alone, loans in PAIRS.items():
            own = mean(runs[alone], "jct")
            found.append(_told(f"{alone}: mean queueing and JCT, s", f"{mean(runs[alone], 'delay'):.0f}, {own:.0f}"))
            for s in SPEEDS:
                mine = runs[f"{loans} at {s:.2f}"]
                figures = f"{mean(mine, 'delay'):.0f}, {mean(mine, 'jct'):.0f} ({mean(mine, 'jct') / own - 1:+.1%})"
                found.append(_told(f"{loans} at speed {s:.2f}: queueing, JCT, against {alone}", figures, PLACED))
        return found

    title = f"Order, loans and scaling at a load of {load}"
    return rows_experiment(f"worth-{round(100 * load)}", title, rows, claims, scale=SMALL)


FULL_SIZE_LOADS = (0.83, 0.95)
FULL_SIZE = ("fifo", "sjf", "sjf-loans", "sjf-two-phase", "aryl")


def full_size(load: float) -> Experiment:
    """The main combinations on clusters of the paper's size, at one load."""

    def claims(runs: Runs) -> list[Claim]:
        found = []
        for name, mine in runs.items():
            figures = f"{mean(mine, 'delay'):.0f}, {mean(mine, 'jct'):.0f}"
            each = "; ".join(f"{mean([run], 'delay'):.0f}, {mean([run], 'jct'):.0f}" for run in mine)
            found.append(_told(f"{name}: mean queueing and JCT, s", figures, f"by seed {each}"))
            preempted = f"{total(mine, 'preemption_ratio'):.2%}, {total(mine, 'use'):.0%}"
            found.append(_told(f"{name}: preemptions a job, use of training GPUs", preempted))
        return found

    rows = {name: Setting.of(name, load=load) for name in FULL_SIZE}
    title = f"Clusters of the paper's size at a load of {load}"
    return rows_experiment(f"full-size-{round(100 * load)}", title, rows, claims, scale=PAPERS)


def reclaiming(period: int, workers: str) -> Experiment:
    """Who goes back, in the loop, by the orchestrator's period and the width of workers."""
    more = {"orchestrator_period_seconds": float(period), "workers": workers, "load": 0.95, "any_gpu_share": 0.6}
    rows = {f"sjf-loans{name}": Setting.of(f"sjf-loans{name}", **more) for name in RECLAIMERS}
    rows |= {name: Setting.of(name, elastic_share=0.3, **more) for name in ("aryl", "aryl-exact", "aryl-threshold")}

    def claims(runs: Runs) -> list[Claim]:
        found = []
        for name, mine in runs.items():
            figures = f"{total(mine, 'preemptions'):.0f}, {total(mine, 'lost_gpu_h'):.0f}, {mean(mine, 'jct'):.0f}"
            met = f"{total(mine, 'met_without_preemption'):.0%} of {total(mine, 'reclaimed_servers'):.0f} servers free"
            note = "30% elastic" if name.startswith("aryl") else ""
            found.append(
                _told(f"{name}: preemptions, lost GPU-hours, mean JCT s", figures, f"{met}; {note}".rstrip("; "))
            )
        return found

    title = f"Reclaiming every {period} s, {workers} workers"
    return rows_experiment(f"reclaiming-{period}-{workers}", title, rows, claims, scale=SMALL)


FINDINGS = (
    *(full_size(load) for load in FULL_SIZE_LOADS),
    *(worth(load) for load in LOADS),
    *(reclaiming(period, workers) for period in PERIODS for workers in ("whole", "small")),
)
