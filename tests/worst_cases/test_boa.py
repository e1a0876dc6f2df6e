"""Test small instances on which BOA's heuristics are far from optimal."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from heuristics.boa import equal_share, one_width, width_calculator, width_calculator_whole_job
from instances.boa import BoaAllocation, Epoch, JobClass, Points, Speedup
from models.boa import exact, literal, randomised

LINEAR, LEVEL, STEEP = (1.0, 2.0, 3.0, 4.0), (1.0, 1.2, 1.3, 1.35), (1.0, 2.5)


def job_class(tables: Sequence[Sequence[float]], rescale: float, name: str = "a", rate: float = 1.0) -> JobClass:
    epochs = [
        Epoch(
            size_hours=1.0,
            speedup=Speedup(table=Points(gpus=tuple(range(1, len(table) + 1)), speedup=tuple(table))),
        )
        for table in tables
    ]
    return JobClass(name=name, arrivals_per_hour=rate, rescale_hours=rescale, epochs=tuple(epochs))


def case(classes: Sequence[JobClass], budget: float) -> BoaAllocation:
    return BoaAllocation(budget=budget, classes=tuple(classes), widths="integer")


def test_without_the_whole_job_a_change_is_forced():
    """Three epochs: glue 1 or 2 leaves a change before the last one, which an hour of rescaling makes dear."""
    data = case([job_class([LEVEL, LEVEL, LINEAR], rescale=1.0)], budget=8.0)
    best = exact(data)
    assert best.solution == {"widths": {"a": [2, 2, 2]}}
    assert best.objective == pytest.approx(literal(data).objective)
    paper = width_calculator(data)
    assert paper.solution == {"widths": {"a": [1, 1, 4]}}
    assert paper.objective / best.objective == pytest.approx(4.25 / (1 + 2 / 1.2 + 0.5))
    assert width_calculator_whole_job(data).objective == pytest.approx(best.objective)


@pytest.mark.parametrize("rescale", [1.0, 10.0, 100.0])
def test_the_price_of_a_forced_change_is_up_to_twice(rescale: float):
    """The longer the rescaling the nearer the ratio comes to 2: two set-ups against one."""
    data = case([job_class([LEVEL, LEVEL, LINEAR], rescale)], budget=4.0 * (rescale + 3))
    best, paper = exact(data).objective, width_calculator(data).objective
    forced = case([job_class([LINEAR, LEVEL, LEVEL], rescale)], budget=4.0 * (rescale + 3))
    assert paper >= best
    assert width_calculator(forced).objective <= 2 * exact(forced).objective


def test_the_width_calculator_never_stops_where_only_width_1_is_affordable():
    """On two GPUs the job costs less while it runs, so the convex problem knows no cheaper width."""
    data = case([job_class([STEEP], rescale=0.5)], budget=1.5)
    assert exact(data).objective == pytest.approx(1.5)
    for method in (width_calculator, width_calculator_whole_job):
        result = method(data)
        assert result.status == "no_solution"
        assert result.reason == "Algorithm 1 never stops: its narrowest widths cost 1.8, over the budget 1.5"
    assert one_width(data).objective == pytest.approx(1.5)


@pytest.mark.parametrize("speedup", [2.0, 10.0, 100.0])
def test_determinism_can_cost_any_factor(speedup: float):
    """One class, widths 1 and 200: just short of the dear one, a mix of the two runs almost all jobs there."""
    points = Points(gpus=(1, 200), speedup=(1.0, speedup))
    fast = JobClass(
        name="a",
        arrivals_per_hour=1.0,
        rescale_hours=0.0,
        epochs=(Epoch(size_hours=1.0, speedup=Speedup(table=points)),),
    )
    data = case([fast], budget=200 / speedup)
    short = data.model_copy(update={"budget": data.budget * 0.999})
    assert exact(data).objective == pytest.approx(1 / speedup)
    mixed = randomised(short)
    assert mixed.status == "violates"
    assert mixed.objective < exact(short).objective


def test_equal_shares_starve_the_large_class():
    """A class with a hundredth of the load gets half of the budget, far more than it can use."""
    small = job_class([LINEAR], 0.0, "small", rate=0.01)
    large = job_class([(1.0, 1.9, 2.7, 3.4)], 0.0, "large", rate=1.0)
    data = case([small, large], budget=2.0)
    best, shared = exact(data), equal_share(data)
    assert best.solution == {"widths": {"small": [4], "large": [4]}}
    assert shared.solution == {"widths": {"small": [4], "large": [1]}}
    assert shared.objective > 3 * best.objective
