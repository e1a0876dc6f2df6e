"""Test Lemma 4.8 with real widths against plans, grids and its two limiting problems."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from instances import InputError, Options, check
from instances.boa import BoaAllocation, Epoch, JobClass, Speedup, newtrace
from models.boa import exact
from models.boa.frontier import fastest_budget, frontier
from models.boa.runs import enumerate_runs, evaluate_runs
from tests.boa_cases import real_widths
from tests.sampling import few


def neighbours(data: BoaAllocation, widths: dict[str, list[float]], rng: np.random.Generator) -> dict[str, list[float]]:
    """Draw a plan near `widths`: keep runs of epochs together, and widen or narrow them."""
    made = {}
    for name, row in widths.items():
        row, j = list(row), 0
        while j < len(row):
            length = int(rng.integers(1, len(row) - j + 1))
            if rng.random() < 0.6:
                width = max(1.0, row[j] * float(np.exp(rng.normal(0, rng.choice([0.001, 0.1, 0.5])))))
                row[j : j + length] = [min(width, float(data.max_width or width))] * length
            j += length
        made[name] = row
    return made


@pytest.mark.parametrize("seed", few(range(16), 5))
def test_no_fractional_plan_beats_the_bound(seed: int):
    data, rng = real_widths(seed), np.random.default_rng(seed)
    result = exact(data)
    assert result.status == "optimal"
    kept = 0
    for _ in range(100):
        verdict = check(data, {"widths": neighbours(data, result.solution["widths"], rng)})
        if not verdict.violations:
            kept += 1
            assert verdict.objective >= result.bound
    assert kept


@pytest.mark.parametrize("seed", range(5))
def test_exact_is_no_worse_than_any_path_on_a_grid_and_not_much_better(seed: int):
    """All plans on widths in quarters, judged by the checker alone."""
    data = real_widths(seed + 100, most_classes=1).model_copy(update={"max_width": 3})
    grid = np.arange(1, 3.01, 0.25)
    best = np.inf
    for row in product(grid.tolist(), repeat=len(data.classes[0].epochs)):
        verdict = check(data, {"widths": {"c0": list(row)}})
        if not any("budget" in v or "past" in v for v in verdict.violations):
            best = min(best, verdict.objective)
    result = exact(data)
    assert result.bound <= result.objective <= best * (1 + 1e-9)
    assert result.objective >= best * 0.75


@pytest.mark.parametrize("seed", few(range(6), 3))
@pytest.mark.parametrize("types", [1, 2])
def test_whole_widths_are_no_better(seed: int, types: int):
    data = real_widths(seed + 30, types).model_copy(update={"max_width": 8})
    result = exact(data)
    assert (result.status, result.violations) == ("optimal", ())
    assert result.bound <= exact(data.model_copy(update={"widths": "integer"})).objective


@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_does_not_jump_as_rescaling_goes_to_nothing(seed: int):
    data = real_widths(seed + 60)
    optima = []
    for hours in (0.0, 1e-9):
        classes = tuple(c.model_copy(update={"rescale_hours": hours}) for c in data.classes)
        optima.append(exact(data.model_copy(update={"classes": classes, "budget": 1.5 * data.budget})).objective)
    assert optima[1] == pytest.approx(optima[0], rel=1e-4)
    assert optima[1] >= optima[0] * (1 - 1e-9)


def test_one_run_in_closed_form():
    """Amdahl's law with p = 0.9 and budget 1.45: k (0.1 + r) + 0.9 = 1.45, and time 0.1 + 0.9/k + r."""
    epoch = Epoch(size_hours=1.0, speedup=Speedup(amdahl=0.9))
    for r in (1e-9, 0.01, 0.05):
        job_class = JobClass(name="a", arrivals_per_hour=1.0, rescale_hours=r, epochs=(epoch,))
        result = exact(BoaAllocation(budget=1.45, classes=(job_class,), widths="continuous"))
        width = 0.55 / (0.1 + r)
        assert result.solution["widths"]["a"] == pytest.approx([width], rel=1e-6)
        assert result.objective == pytest.approx(0.1 + 0.9 / width + r, rel=1e-7)


@pytest.mark.parametrize("slow", [{"amdahl": 0.0}, {"power": 0.0}])
def test_a_type_without_speedup_does_not_hide_the_faster_type(slow: dict[str, float]):
    """With budget to spare, both epochs run on the faster type at its last width."""
    fast = {"table": {"gpus": [1, 4], "speedup": [1.0, 3.0]}}
    epochs = [{"size_hours": hours, "speedup": {"a": slow, "b": fast}} for hours in (1.0, 2.0)]
    data = BoaAllocation.model_validate({
        "budget": 50.0,
        "gpu_types": [{"name": "a", "price": 3.0}, {"name": "b"}],
        "classes": [{"name": "c", "arrivals_per_hour": 1.0, "rescale_hours": 1e-9, "epochs": epochs}],
        "widths": "continuous",
    })  # fmt: skip
    result = exact(data)
    assert (result.status, result.objective) == ("optimal", pytest.approx(1.0, rel=1e-8))


@pytest.mark.parametrize("mu", [0.01, 0.3, 5.0])
def test_the_bound_on_a_run_holds_at_every_width_and_is_tight(mu: float):
    for seed in range(8):
        runs = enumerate_runs(real_widths(seed + 200))
        found = evaluate_runs(runs, mu)
        own = (runs.value + mu * runs.price * found.width) * found.hours
        assert (found.bound <= own).all()
        assert (found.bound >= own * (1 - 1e-7)).all()
        for width in np.geomspace(1, 1e4, 300):
            k = np.minimum(width, runs.end)
            assert (found.bound <= (runs.value + mu * runs.price * k) * runs.hours(k)).all()


def test_newtrace_with_real_widths_is_proven_and_a_little_faster():
    data = newtrace(1.25).data
    real = exact(data.model_copy(update={"widths": "continuous"}))
    assert real.status == "optimal"
    assert 0.99 < real.objective / exact(data).objective < 1


def test_a_node_within_half_the_gap_is_not_branched_on():
    """Without a gap this instance takes three nodes."""
    data = real_widths(11)
    assert [exact(data, Options(gap=gap)).info["nodes"] for gap in (0.0, 0.02)] == [3, 1]


def test_limits_and_size():
    data = real_widths(4)
    stopped = exact(data, Options(time_limit=1e-6))
    assert stopped.bound <= exact(data).objective <= stopped.objective
    long = data.classes[0].model_copy(update={"epochs": data.classes[0].epochs[:1] * 600})
    with pytest.raises(InputError, match=r"^classes: real widths with rescaling times take 36,180,200 [^\n]*$"):
        exact(data.model_copy(update={"classes": (long,), "budget": 1e6}))


def test_the_frontier_of_real_widths():
    data = newtrace(2.0).data.model_copy(update={"widths": "continuous"})
    solved = frontier(data)
    times = [solved.at(b).objective for b in (85.0, 100.0, 140.0)]
    assert times == sorted(times, reverse=True)
    assert solved.fastest_budget == fastest_budget(data) > 140
