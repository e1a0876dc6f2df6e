"""The parts of Aryl's exact methods, and what each is worth."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from experiments.harness.experiment import Quick, Study
from experiments.output.ablation import MethodPart, ablate
from instances import Instance, Options
from instances.aryl import elastic_jobs, loaned_servers, spread_jobs

EXACT = "models.aryl:exact"
SEARCH = "models.aryl.reclaim:_ReclaimSearch"
ANNEALING = "models.aryl.annealing"
EVENTS = "models.aryl.event_intervals:EventIntervals"
LIMITS = "models.aryl.interval_limits"
KNAPSACK = "models.aryl.knapsack"
LOSS = "models.aryl.loss"
DEFAULTS = "models.aryl.parameters:DEFAULTS"
CLOSURES = f"{DEFAULTS}.reclaim.closures"
BRANCH = (f"{SEARCH}._branch",)


# Stand-ins: each is called in place of the functions of a part, as PARTS says.


def _take_first_sets(sets: Any, n_jobs: int, k: int) -> list[int]:
    return list(range(k))


def _start_jobs(sets: Any, size: Any, n_jobs: int, start: Any, *_: Any) -> set[int]:
    return set(start)


def _return_first_schedule(search: Any, first: Any) -> Any:
    return first


def _as_it_is(program: Any, *_: Any) -> Any:
    return program


def _return_zero_bound(*_: Any, **__: Any) -> float:
    return 0.0


def _is_after_all(program: Any, m: int) -> bool:
    return m >= len(program.work)


def _keep_all_items(items: Any, *_: Any) -> Any:
    return np.arange(len(items.value)), items.job


def _free_gpus(items: Any) -> tuple[float, float]:
    return float(np.maximum.reduceat(items.value, items.first[:-1]).sum()), 0.0


def _base_demand(items: Any, *_: Any) -> Any:
    return items.first[:-1].copy()


def _take_first_servers(data: Any, program: Any) -> list[str]:
    return list(data.servers[: data.reclaim])


PARTS = (
    MethodPart("greedy choice of servers", (f"{ANNEALING}:choose_greedily",), _take_first_sets),
    MethodPart("linear relaxation", (f"{SEARCH}._relax",)),
    MethodPart(
        "short annealing", constants={f"{DEFAULTS}.reclaim.short.moves": 1}, entered=(f"{SEARCH}._anneal_jobs",)
    ),
    MethodPart("long annealing", (f"{SEARCH}._anneal",)),
    MethodPart("annealing of jobs", (f"{ANNEALING}:anneal_jobs",), _start_jobs, entered=(f"{SEARCH}._anneal",)),
    MethodPart("second long annealing", constants={f"{DEFAULTS}.reclaim.long_runs": 1}, entered=(f"{SEARCH}._anneal",)),
    MethodPart("tree before the spectral bound", constants={f"{DEFAULTS}.reclaim.few_nodes": 0}, entered=BRANCH),
    MethodPart("spectral bound", (f"{SEARCH}._bound_spectrally",)),
    MethodPart(
        "fine steps of the spectral bound",
        constants={"models.aryl.reclaim:FINE": ()},
        entered=(f"{SEARCH}._bound_spectrally",),
    ),
    MethodPart("tree over closures", BRANCH),
    MethodPart("strong branching", constants={f"{CLOSURES}.tries": 1, f"{CLOSURES}.reliable": 1}, entered=BRANCH),
    MethodPart("mean gains in strong branching", constants={f"{CLOSURES}.reliable": 10**9}, entered=BRANCH),
    MethodPart("more than three prices at a node", constants={f"{CLOSURES}.rounds": 3}, entered=BRANCH),
    MethodPart(
        "search over priority orders", ("models.aryl.list_schedules:ListSearch.improve",), _return_first_schedule
    ),
    MethodPart("limits of intervals", (f"{LIMITS}:tighten_program",), _as_it_is),
    MethodPart("limits of places", (f"{LIMITS}:_LimitSearch._exclude_positions",)),
    MethodPart("limits of lengths", (f"{LIMITS}:_LimitSearch._limit_lengths",)),
    MethodPart("limits of workers", (f"{LIMITS}:_LimitSearch._fix_workers",)),
    MethodPart(
        "more than one round of limits",
        constants={f"{DEFAULTS}.mean_jct.limits.rounds": 1},
        entered=(f"{LIMITS}:tighten_program",),
    ),
    MethodPart("bounds on completions", (f"{EVENTS}._bound_completion",), _return_zero_bound),
    MethodPart("places ruled out by the start", (f"{EVENTS}._bound_total",), _return_zero_bound),
    MethodPart("completions told apart while GPUs are short", (f"{EVENTS}._can_all_be_fastest",), _is_after_all),
    MethodPart(
        "settings of HiGHS",
        constants={
            "models.aryl.mean_jct:SETTINGS": {"mip_feasibility_tolerance": 1e-7, "primal_feasibility_tolerance": 1e-7}
        },
        entered=(f"{EVENTS}.build",),
    ),
    MethodPart("jobs decided by the linear relaxation", (f"{KNAPSACK}:_find_undecided",), _keep_all_items),
    MethodPart("price of a GPU", (f"{KNAPSACK}:solve_relaxation",), _free_gpus),
    MethodPart("first choice of items", (f"{KNAPSACK}:_choose_items",), _base_demand),
    MethodPart(
        "dynamic programming",
        constants={f"{DEFAULTS}.knapsack.cells": 0},
        entered=(f"{KNAPSACK}:_solve_table",),
    ),
    MethodPart(
        "knapsack by HiGHS",
        constants={f"{DEFAULTS}.knapsack.cells": 10**12, f"{DEFAULTS}.knapsack.steps": 10**12},
        entered=(f"{KNAPSACK}:_solve_program",),
    ),
    MethodPart("first choice of losses", (f"{LOSS}:choose_cheapest",), _take_first_servers),
    MethodPart("losses in whole units", constants={f"{LOSS}:MAX_INTEGER_LOSS": 0}, entered=(f"{LOSS}:solve_loss",)),
)
JOINT = {
    "linear relaxation and short annealing": ("linear relaxation", "short annealing"),
    "second annealing, fine steps, tree before": (
        "second long annealing",
        "fine steps of the spectral bound",
        "tree before the spectral bound",
    ),
    "all annealing": ("short annealing", "long annealing"),
}
"""Parts that may stand in for one another, left out together."""


_mean_jct = partial(elastic_jobs, objective="mean-jct")
_lossy = partial(loaned_servers, 200, 0.7, reclaim=60, elastic_share=0.36)
DRAWS: dict[str, Callable[..., Instance[Any]]] = {
    "12 of 60 servers, spread": lambda seed: spread_jobs(60, 60, seed, 12),
    "40 of 200 servers, spread": lambda seed: spread_jobs(200, 200, seed, 40),
    "60 of 300 servers, spread": lambda seed: spread_jobs(300, 300, seed, 60),
    "180 of 600 servers, random": lambda seed: loaned_servers(600, 1.0, seed, 180),
    "180 of 600 servers, 90% random": lambda seed: loaned_servers(600, 0.9, seed, 180),
    "120 of 600 servers, 20% random": lambda seed: loaned_servers(600, 0.2, seed, 120),
    "120 of 400 servers, 35% random": lambda seed: loaned_servers(400, 0.35, seed, 120),
    "60 of 600 servers, random": lambda seed: loaned_servers(600, 1.0, seed, 60),
    "40 of 200 servers, spread on 2": lambda seed: spread_jobs(200, 267, seed, 40, most=2),
    "mean JCT, 8 jobs": partial(_mean_jct, 8, elastic_share=0.75),
    "mean JCT, 10 jobs, load 0.6": partial(_mean_jct, 10),
    "mean JCT, 10 jobs, load 0.9, loss 10%": partial(_mean_jct, 10, load=0.9, scaling_loss=0.1),
    "knapsack, 200 jobs": partial(elastic_jobs, 200),
    "knapsack, 2,000 jobs, workers of 3, 5, 7": partial(
        elastic_jobs, 2_000, spare_gpus=3_544, gpus_per_worker=(3, 5, 7)
    ),
    "lost GPU-hours, 60 of 200": partial(_lossy, objective="lost-gpu-hours"),
    "elastic jobs, 60 of 200": _lossy,
}


def ablation(options: Options, quick: Quick = False) -> Study:
    """Leave parts out of the exact methods, and compare proofs, gaps and CPU seconds."""
    return ablate(EXACT, PARTS, DRAWS, options, JOINT, quick)
