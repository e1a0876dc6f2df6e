"""Draw BOA's families of small instances; `tests.boa_optima` has their optima."""

from __future__ import annotations

import random
from typing import Any

from instances import InputError, Options, Report, Result
from instances.boa import BoaAllocation
from models.boa import exact, literal, randomised
from tests.attacks.families import LIMITED, Family, names
from tests.boa_cases import real_widths
from tests.boa_optima import best_paths, best_randomised, best_runs, best_shares, paths, undominated
from tests.rows import heuristics_of

GRID = 1e-9


def curve(rng: random.Random, *, formulas: bool) -> dict[str, Any]:
    """Draw a formula, or a table that need be neither concave nor monotone; speedups may be equal or 1e-9 apart."""
    if formulas and rng.random() < 0.5:
        kind = rng.choice(["amdahl", "power"])
        return {kind: rng.choice([0.0, 0.5, 0.9, 0.99, round(rng.random(), 3), 1.0])}
    gpus = [1, *sorted(rng.sample(range(2, 6), rng.choice([0, 1, 2, 2])))]
    speedup = [rng.choice([1.0, 1.0, 0.3, 2.0])]
    for _ in gpus[1:]:
        step = rng.choice([0.0, GRID, 1.0, round(rng.uniform(-0.5, 1.5), 3), 0.1])
        speedup.append(max(0.1, speedup[-1] + step))
    return {"table": {"gpus": gpus, "speedup": speedup}}


def allocation(
    rng: random.Random, types: int, widths: str, *, rescale: bool, formulas: bool = True
) -> BoaAllocation | None:
    """Up to two classes, alike or not; budgets at breakpoints, a step of the grid beside them, or anywhere."""
    kinds, sizes = names(rng, types), rng.choice([1.0, 1.0, 1.0, 1e-6, 1e-3, 1e3, 1e6])
    rates = rng.choice([1.0, 1.0, 1.0, 1e-6, 1e-3, 1e3])
    alike = rng.random() < 0.2

    def speedup() -> dict[str, Any]:
        return curve(rng, formulas=formulas) if types == 1 else {name: curve(rng, formulas=formulas) for name in kinds}

    def epoch() -> dict[str, Any]:
        return {
            "size_hours": sizes * rng.choice([1.0, 1.0, 2.0, 1 + GRID, round(rng.uniform(0.05, 3), 3)]),
            "speedup": speedup(),
        }

    def job_class() -> dict[str, Any]:
        return {
            "arrivals_per_hour": rates * rng.choice([1.0, 1.0, 1 + GRID, round(rng.uniform(0.1, 3), 3)]),
            "weight": rng.choice([1.0, 1.0, 1 + GRID, 2.5, 1e-3, 1e3]),
            "rescale_hours": sizes * rng.choice([0.0, 0.05, 0.4, 1.0, 1e-3]) if rescale else 0.0,
            "epochs": [epoch() for _ in range(rng.choice([1, 2, 2, 3]))],
        }

    one = job_class()
    content = {
        "classes": [(one if alike else job_class()) | {"name": name} for name in names(rng, rng.choice([1, 2, 2]))],
        "widths": widths,
        "max_width": rng.choice([1, 2, 3, 4]),
        "gpu_types": [{"name": name, "price": rng.choice([0.5, 1.0, 1.0, 1 + GRID, 2.0])} for name in kinds],
        "speedup_reading": rng.choice(["measured", "hull"]),
    }
    try:
        data = BoaAllocation.model_validate(content | {"budget": 1e9})
        ways = [list(paths(data, c)) for c in data.classes]
        least = sum(min(cost for cost, _ in row) for row in ways)
        some = sum(rng.choice(undominated(iter(row)))[0] for row in ways)
        beside = rng.choice([0.0, 0.0, GRID, -GRID])
        budget = rng.choice(
            [float(some) + beside, float(least) + beside, float(least) * rng.choice([1.000001, 1.05, 1.5, 3, 20])]
        )
        return BoaAllocation.model_validate(content | {"budget": budget})
    except InputError:  # over the range, or under the least
        return None


def real(rng: random.Random, types: int) -> BoaAllocation:
    """Formulas and tables of real widths that take time to change."""
    return real_widths(rng.randrange(10**9), types, most_classes=3 - types, most_epochs=2)


def drawn(data: BoaAllocation, options: Options, report: Report) -> Result:
    """Report the randomised policy, which is infeasible for the exact problem, as an optimum of its own."""
    return randomised(data, options, report).model_copy(update={"status": "optimal"})


RULES = heuristics_of("boa-allocation")
EXACT, LITERAL = {"exact": exact}, {"literal": literal}


def _whole(rng: random.Random, types: int, *, rescale: bool) -> BoaAllocation | None:
    data = allocation(rng, types, "integer", rescale=rescale)
    return data if data is None or data.rescales == rescale else None


FAMILIES = (
    Family("boa-allocation integer", lambda rng: _whole(rng, 1, rescale=False), best_paths, EXACT, LITERAL, RULES),
    Family(
        "boa-allocation integer rescaling", lambda rng: _whole(rng, 1, rescale=True), best_paths, EXACT, LITERAL, RULES
    ),
    Family("boa-allocation types rescaling", lambda rng: _whole(rng, 2, rescale=True), best_paths, EXACT, LITERAL),
    Family("boa-allocation types", lambda rng: _whole(rng, 2, rescale=False), best_shares, EXACT, LITERAL),
    Family(
        "boa-allocation continuous",
        lambda rng: allocation(rng, 1, "continuous", rescale=False),
        best_shares,
        EXACT,
        LITERAL,
        RULES,
    ),
    Family(
        "boa-allocation continuous types",
        lambda rng: allocation(rng, 2, "continuous", rescale=False),
        best_shares,
        EXACT,
        LITERAL,
    ),
    Family("boa-allocation real", lambda rng: real(rng, 1), best_runs, EXACT),
    Family("boa-allocation real types", lambda rng: real(rng, 2), best_runs, EXACT),
    Family(
        "boa-allocation randomised",
        lambda rng: _whole(rng, 1, rescale=rng.random() < 0.7),
        best_randomised,
        {"randomised": drawn},
        limited=LIMITED[:1],
    ),
)
