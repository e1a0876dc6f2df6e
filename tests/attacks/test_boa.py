"""Test that no feasible answer beats a claimed bound of BOA's problems."""

from __future__ import annotations

import random
from typing import Any

import pytest

from heuristics import boa as heuristics
from instances import Options, check
from instances.boa import BoaAllocation, compute_min_budget, on_grid_from, width_arrays
from models import boa as models
from tests.sampling import sample

ANSWERS = 150
EXTREMES = (1e-9, 1e-3, 0.5, 1.0, 7.0, 1e3, 1e9)
CURVES: tuple[dict[str, Any], ...] = (
    {"amdahl": 0.0},
    {"amdahl": 0.6},
    {"amdahl": 0.9},
    {"amdahl": 0.999},
    {"amdahl": 1 - 1e-9},
    {"amdahl": 1.0},
    {"power": 0.0},
    {"power": 0.5},
    {"power": 0.9},
    {"power": 1.0},
    {"table": {"gpus": [1], "speedup": [1.0]}},
    {"table": {"gpus": [1, 2, 4, 9], "speedup": [1.0, 2.5, 2.6, 4.0]}},
    {"table": {"gpus": [1, 3, 4], "speedup": [0.3, 0.2, 1.1]}},
    {"table": {"gpus": [1, 2, 8], "speedup": [1e-9, 1.0, 1e9]}},
)
BUDGETS = (1.0, 1 - 5e-10, 1 + 1e-9, 1.000001, 1.05, 1.3, 2.0, 20.0)
KINDS = [(1, "integer", False), (1, "integer", True), (1, "continuous", False), (2, "integer", False)]
KINDS += [(2, "integer", True), (2, "continuous", False), (1, "continuous", True), (2, "continuous", True)]


def instance(rng: random.Random, types: int, widths: str, rescale: bool, *, wild: bool) -> BoaAllocation | None:
    """Draw a small instance of this kind, `None` if the numbers are rejected together."""

    def number() -> float:
        return rng.choice(EXTREMES) if wild else round(rng.uniform(0.1, 3), 3)

    names = [f"t{h}" for h in range(types)]
    classes = [
        {
            "name": f"c{i}",
            "arrivals_per_hour": number(),
            "weight": number(),
            "rescale_hours": number() if rescale else 0.0,
            "epochs": [
                {
                    "size_hours": number(),
                    "speedup": rng.choice(CURVES) if types == 1 else {n: rng.choice(CURVES) for n in names},
                }
                for _ in range(rng.choice([1, 1, 2, 3]))
            ],
        }
        for i in range(rng.choice([1, 2]))
    ]
    content = {
        "classes": classes,
        "widths": widths,
        "max_width": rng.choice([1, 2, 6, 16]),
        "gpu_types": [{"name": n, "price": number()} for n in names],
        "speedup_reading": rng.choice(["measured", "hull"]),
    }
    try:
        least = compute_min_budget(BoaAllocation.model_validate(content | {"budget": 1e9}))
        factor = rng.choice(BUDGETS)
        budget = max(on_grid_from(least), least * factor) if factor >= 1 else least * factor
        return BoaAllocation.model_validate(content | {"budget": budget})
    except ValueError:  # over the range, or on the grid under the least
        return None


def answers(rng: random.Random, data: BoaAllocation, known: list[dict[str, Any]]) -> Any:
    """Draw a random assignment, or a changed known solution; mix them if that is allowed."""
    last = int(width_arrays(data).width.max())

    def point() -> tuple[str, float]:
        kind = rng.choice(data.gpu_types).name
        width = rng.choice([1, 1, 2, rng.randint(1, last), last])
        if data.widths == "continuous" and rng.random() < 0.7:
            width = rng.uniform(1, last) * rng.choice([1, 1 + 1e-9, 1 - 1e-9])
        return kind, width

    base = _as_assignment(data, rng.choice(known)) if known and rng.random() < 0.7 else None
    chosen = {}
    for c in data.classes:
        rows = []
        for j in range(len(c.epochs)):
            row = [dict(o) for o in base[c.name][j]] if base else []
            if not row or rng.random() < 0.4:
                kind, width = point()
                row = [{"type": kind, "width": width, "fraction": 1.0}]
            elif rng.random() < 0.5:
                for o in row:
                    o["width"] = max(1, o["width"] + rng.choice([-1, 1, 1e-9, -1e-9, 2e-9]))
            if data.convex and rng.random() < 0.6:
                kind, width = point()
                share = rng.choice([rng.random(), 1e-3, 1e-6, 1e-9])
                for o in row:
                    o["fraction"] *= (1 - share) * rng.choice([1, 1 - 1e-9])
                row.append({"type": kind, "width": width, "fraction": share})
            rows.append(row)
        chosen[c.name] = rows
    return {"assignment": chosen}


def _as_assignment(data: BoaAllocation, solution: dict[str, Any]) -> dict[str, Any]:
    if "assignment" in solution:
        return solution["assignment"]
    kind = data.gpu_types[0].name
    return {n: [[{"type": kind, "width": k, "fraction": 1.0}] for k in ks] for n, ks in solution["widths"].items()}


def attack(seed: int, kind: tuple[int, str, bool], *, wild: bool, count: int = ANSWERS) -> str | None:
    """Search for an answer below the bounds of one instance: what beats which, `None` where nothing does."""
    rng = random.Random(seed)
    data = instance(rng, *kind, wild=wild)
    if data is None:
        return None
    bounds, known = {}, []
    for method in (models.exact, models.literal) if seed % 5 == 0 and not data.real else (models.exact,):
        result = method(data, Options(time_limit=20))
        if result.bound is not None:
            bounds[method.__name__] = result.bound
        known += [result.solution] if result.solution else []
    assert "exact" in bounds
    if not data.heterogeneous:
        for heuristic in (heuristics.one_width, heuristics.equal_share, heuristics.width_calculator):
            result = heuristic(data)
            known += [result.solution] if result.solution else []
    tried = [*known, *(answers(rng, data, known) for _ in range(count))]
    for solution in tried:
        try:
            verdict = check(data, solution)
        except ValueError:
            continue
        for name, bound in bounds.items():
            if not verdict.violations and verdict.objective < bound * (1 - 1e-12):
                return f"seed {seed}, {kind}: {solution} takes {verdict.objective!r}, bound of {name} {bound!r}"
    return None


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("wild", [False, True], ids=["usual", "extreme"])
def test_no_answer_that_passes_beats_a_bound(kind: tuple[int, str, bool], wild: bool) -> None:
    for seed in range(sample(2, 20)):
        assert attack(seed, kind, wild=wild) is None
