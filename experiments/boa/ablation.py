"""The parts of BOA's exact methods, and what each is worth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from experiments.boa.studies import EXACT
from experiments.harness.experiment import Quick, Study
from experiments.output.ablation import MethodPart, ablate
from instances import Instance, Options
from instances.boa import BoaAllocation, Epoch, JobClass, Speedup, compute_min_budget, newtrace, random_allocation

GAP = "models.boa.gap_closing"
CLOSE = (f"{GAP}:GapClosing.run",)
PATHS = "models.boa.path_dual"
BRANCHING = "models.boa.run_branching"
RUNS = "models.boa.runs"


# Stand-ins: each is called in place of the functions of a part, as PARTS says.


def _return_no_labels(*_: Any) -> int:
    return 0


def _return_no_children(branching: Any, node: Any) -> list[Any]:
    return []


def _return_zeros(runs: Any, paid: Any, width: Any) -> Any:
    return np.zeros(len(runs))


PARTS = (
    MethodPart("gap closing", CLOSE, _return_no_labels),
    MethodPart(
        "truncated probes",
        constants={f"{GAP}:DEFAULTS.probe_labels": 10**8, f"{GAP}:DEFAULTS.probe_policies": 10**8},
        entered=CLOSE,
    ),
    MethodPart("limits that grow", constants={f"{GAP}:DEFAULTS.growth": 1e12}, entered=CLOSE),
    MethodPart(
        "many multipliers at once", constants={f"{PATHS}:CELLS_AT_ONCE": 1}, entered=(f"{PATHS}:PathDual.maximise",)
    ),
    MethodPart("branching on changes of width", (f"{BRANCHING}:RunBranching.branch",), _return_no_children),
    MethodPart("bound far beyond the best width", (f"{RUNS}:_bound_lengths_beyond",), _return_zeros),
)


def _real(instance: Instance[BoaAllocation]) -> Instance[BoaAllocation]:
    data = instance.data.model_copy(update={"widths": "continuous"})
    return Instance.of(data, f"{instance.name}-real", instance.source)


def _random(
    classes: int, epochs: int, rescale: float, budget: float, seed: int, widths: int = 64
) -> Instance[BoaAllocation]:
    return random_allocation(classes, epochs, widths, rescale=rescale, budget_over_least=budget, seed=seed)


def _formulas(seed: int) -> Instance[BoaAllocation]:
    """Four classes of eight epochs with Amdahl's speedups, and real widths that only the budget limits."""
    draw = np.random.default_rng(seed)
    made = tuple(
        JobClass(
            name=f"class-{i}",
            arrivals_per_hour=float(draw.uniform(0.5, 3)),
            rescale_hours=float(draw.uniform(0.05, 0.3)),
            epochs=tuple(
                Epoch(size_hours=float(draw.uniform(0.1, 1)), speedup=Speedup(amdahl=float(draw.uniform(0.5, 0.999))))
                for _ in range(8)
            ),
        )
        for i in range(4)
    )
    data = BoaAllocation(budget=1e8, classes=made, widths="continuous")
    data = data.model_copy(update={"budget": 2 * compute_min_budget(data)})
    return Instance.of(data, f"formulas-4-8-{seed}")


DRAWS: dict[str, Callable[..., Instance[BoaAllocation]]] = {
    "3 classes, 30 epochs, long rescaling, tight": lambda seed: _random(3, 30, 1.0, 1.2, seed),
    "5 classes, 200 epochs": lambda seed: _random(5, 200, 0.1, 2.0, seed),
    "50 classes, 60 epochs": lambda seed: _random(50, 60, 0.1, 2.0, seed),
    "newTrace, real widths, tight": lambda seed: _real(newtrace(1.05 + 0.05 * (seed - 101))),
    "real widths, 1 class, 8 epochs, tight": lambda seed: _real(_random(1, 8, 1.0, 1.05, seed)),
    "real widths, 3 classes, 20 epochs": lambda seed: _real(_random(3, 20, 0.3, 1.5, seed, 32)),
    "real widths, formulas, 4 classes, 8 epochs": _formulas,
}


def ablation(options: Options, quick: Quick = False) -> Study:
    """Leave parts out of the exact methods, and compare proofs, gaps and CPU seconds."""
    return ablate(EXACT, PARTS, DRAWS, options, quick=quick)
