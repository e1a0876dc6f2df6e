"""Test that a formula and the table of its values give the same result, mixed jobs included."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from instances import Options, check
from instances.boa import BoaAllocation, Curve, compute_min_budget
from models.boa import exact, literal, randomised
from models.boa.share_program import literal_lp
from tests.sampling import sample

WIDE = 400  # entries of the table
CASES = sample(15, 200)


def drawn(seed: int, types: int, rescale: bool) -> tuple[BoaAllocation, BoaAllocation]:
    """Draw a small instance over integer widths, with speedups as formulas and as tables."""
    rng = random.Random(seed)
    names = [f"t{h}" for h in range(types)]

    def curve() -> dict[str, Any]:
        return rng.choice([{"amdahl": rng.uniform(0.3, 0.93)}, {"power": rng.uniform(0.2, 0.6)}, {"amdahl": 0.0}])

    classes: list[dict[str, Any]] = [
        {
            "name": f"c{i}",
            "arrivals_per_hour": rng.uniform(0.3, 2),
            "rescale_hours": rng.choice([0.0, 0.02, 0.3]) if rescale else 0.0,
            "epochs": [
                {"size_hours": rng.uniform(0.2, 2), "speedup": {n: curve() for n in names}}
                for _ in range(rng.choice([1, 2, 3]))
            ],
        }
        for i in range(rng.choice([1, 2]))
    ]
    content = {
        "gpu_types": [{"name": n, "price": rng.choice([1.0, 2.0, 3.0])} for n in names],
        "classes": classes,
        "widths": "integer",
        "budget": 1e6,
    }
    plain = BoaAllocation.model_validate(content)
    content["budget"] = compute_min_budget(plain) * rng.choice([1.0001, 1.01, 1.1, 1.5, 3.0]) + 1e-9
    plain = BoaAllocation.model_validate(content)
    for c in classes:
        for epoch in c["epochs"]:
            for name, given in epoch["speedup"].items():
                speedup = Curve.model_validate(given).at(np.arange(1.0, WIDE + 1))
                epoch["speedup"][name] = {"table": {"gpus": list(range(1, WIDE + 1)), "speedup": speedup.tolist()}}
    return plain, BoaAllocation.model_validate(content)


@pytest.mark.parametrize(("types", "rescale"), [(1, False), (1, True), (2, False), (2, True)])
def test_a_formula_is_the_same_as_its_table(types: int, rescale: bool) -> None:
    for seed in range(CASES):
        formula, table = drawn(seed, types, rescale)
        a, b = exact(formula, Options(gap=1e-10)), exact(table, Options(gap=1e-10))
        assert a.objective == pytest.approx(b.objective, rel=1e-9)
        assert a.bound == pytest.approx(b.bound, rel=1e-9)


@pytest.mark.parametrize("rescale", [False, True])
def test_a_formula_is_the_same_as_its_table_where_jobs_are_mixed(rescale: bool) -> None:
    for seed in range(CASES):
        formula, table = drawn(seed, 1, rescale)
        a, b = randomised(formula), randomised(table)
        assert a.objective == pytest.approx(b.objective, rel=1e-9)


def test_the_linear_program_grows_until_no_wider_run_pays() -> None:
    for seed in range(20):
        formula = drawn(seed, 2, False)[0]
        answer = literal_lp(formula, Options())
        assert check(formula, answer.solution).objective == pytest.approx(exact(formula).objective, rel=1e-9)


def job(budget: float, speedup: dict[str, Any], **changes: Any) -> BoaAllocation:
    epoch = {"size_hours": 1.0, "speedup": speedup}
    job_class = {"name": "a", "arrivals_per_hour": 1.0, "rescale_hours": 0.0, "epochs": [epoch]}
    return BoaAllocation.model_validate({"budget": budget, "classes": [job_class], "widths": "integer"} | changes)


def test_mixed_paths_run_wider_than_any_single_policy_can_pay_for() -> None:
    """Half of the jobs on two GPUs cost 1.05 and take 0.775 h; all of them there would cost 1.1."""
    result = randomised(job(1.05, {"amdahl": 0.9}))
    assert result.objective == pytest.approx(0.775, rel=1e-7)
    assert result.info["lagrangian_bound"] == pytest.approx(0.775, rel=1e-7)


@pytest.mark.parametrize("method", [exact, literal])
def test_mixed_types_run_wider_than_any_single_policy_can_pay_for(method: Any) -> None:
    types = [{"name": "A", "price": 1.0}, {"name": "B", "price": 3.0}]
    data = job(1.1, {"A": {"amdahl": 0.0}, "B": {"amdahl": 0.9}}, gpu_types=types)
    share = (1.1 - 1) / (3 * 4 / (1 / 0.325) - 1)
    mixed = [{"type": "A", "width": 1, "fraction": 1 - share}, {"type": "B", "width": 4, "fraction": share}]
    verdict = check(data, {"assignment": {"a": [mixed]}})
    assert not verdict.violations
    result = method(data)
    assert result.bound <= verdict.objective * (1 + 1e-9)
    assert result.objective == pytest.approx(0.9767241, rel=1e-6)


def test_linear_speedups_are_ended_by_the_price_of_changes() -> None:
    """At width k a run takes 1/k + r and costs 1 + r k, convex: on whole widths mixing is linear between them."""
    result = randomised(job(1.35, {"power": 1.0}, classes=[_linear(0.1)]))
    assert result.objective == pytest.approx((1 / 3 + 0.1 + 1 / 4 + 0.1) / 2, rel=1e-7)


def _linear(rescale: float) -> dict[str, Any]:
    epochs = [{"size_hours": 1.0, "speedup": {"power": 1.0}}]
    return {"name": "a", "arrivals_per_hour": 1.0, "rescale_hours": rescale, "epochs": epochs}
