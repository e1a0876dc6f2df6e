"""Test BOA's exact methods on instances with known optima, and where they agree."""

from __future__ import annotations

import math

import numpy as np
import pytest

from instances import InputError, Options, check
from instances.boa import BoaAllocation, Epoch, GpuType, JobClass, Speedup, figure_1, newtrace, random_allocation
from models.boa import build_literal, exact, literal, randomised
from models.boa.cone_program import literal_cone
from models.boa.frontier import fastest_budget, frontier
from models.boa.gap_closing import GapClosingParameters
from models.boa.micp import prepare, solve_micp
from models.boa.path_dual import build_network, build_path
from models.boa.share_program import literal_lp

FIGURE_1 = {1: 0.6764705882, 1.5: 0.4322033898, 2: 0.3333333333, 3: 0.2462686567}


def one_epoch(speedup: dict, **fields) -> BoaAllocation:
    job_class = JobClass(
        name="a",
        arrivals_per_hour=1.0,
        rescale_hours=fields.pop("rescale_hours", 0.0),
        epochs=(Epoch(size_hours=1.0, speedup=Speedup.model_validate(speedup)),),
    )
    return BoaAllocation(classes=(job_class,), **{"widths": "continuous", **fields})


@pytest.mark.parametrize("method", [exact, literal, randomised])
@pytest.mark.parametrize("budget", FIGURE_1)
def test_figure_1(method, budget: float):
    result = method(figure_1(budget).data)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(FIGURE_1[budget], abs=1e-8)


def test_one_epoch_in_closed_form():
    """Width k = b² under the square root, and (b - p)/(1 - p) under Amdahl's law, cost k/s(k) = b."""
    root = exact(one_epoch({"power": 0.5}, budget=3.0))
    assert root.solution["widths"]["a"] == pytest.approx([9.0])
    amdahl = exact(one_epoch({"amdahl": 0.75}, budget=2.0))
    assert amdahl.solution["widths"]["a"] == pytest.approx([5.0])
    assert amdahl.objective == pytest.approx(0.25 + 0.75 / 5)


def test_a_table_with_continuous_widths_is_linear_between_its_points():
    """s = 1, 2 on 1 and 3 GPUs: budget 1.25 is half-way in cost, so half-way in time, at s = 4/3 and width 5/3."""
    data = one_epoch({"table": {"gpus": [1, 3], "speedup": [1, 2]}}, budget=1.25)
    result = exact(data)
    assert result.objective == pytest.approx(0.75)
    assert result.solution["widths"]["a"] == pytest.approx([5 / 3])
    assert literal(data).objective == pytest.approx(0.75)


@pytest.mark.parametrize("speedup", [{"amdahl": 0.0}, {"power": 0.0}])
@pytest.mark.parametrize("method", [exact, literal])
def test_a_job_that_never_speeds_up_keeps_width_1(method, speedup: dict):
    result = method(one_epoch(speedup, budget=5.0))
    assert (result.status, result.objective) == ("optimal", pytest.approx(1.0))


@pytest.mark.parametrize("method", [exact, literal])
def test_a_linear_speedup_needs_a_width_to_end_it(method):
    with pytest.raises(InputError, match="max_width: must be given"):
        method(one_epoch({"power": 1.0}, budget=5.0))
    ended = method(one_epoch({"amdahl": 1.0}, budget=5.0, max_width=8))
    assert ended.objective == pytest.approx(1 / 8)


def test_price_scales_the_budget():
    plain, priced = one_epoch({"power": 0.5}, budget=3.0), one_epoch({"power": 0.5}, budget=6.0)
    priced = priced.model_copy(update={"gpu_types": (GpuType(name="gpu", price=2.0),)})
    assert exact(priced).objective == pytest.approx(exact(plain).objective)


def test_weights_move_the_budget_towards_the_heavy_class():
    data = figure_1(2.0).data
    heavy = data.classes[1].model_copy(update={"weight": 10.0})
    weighted = data.model_copy(update={"classes": (data.classes[0], heavy)})
    assert exact(weighted).solution["widths"]["root"][0] > exact(data).solution["widths"]["root"][0]
    assert literal(weighted).objective == pytest.approx(exact(weighted).objective, rel=1e-8)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("types", [1, 3])
def test_formulas_agree_with_the_cone_program(seed: int, types: int):
    rng = np.random.default_rng(seed)
    names = [f"t{h}" for h in range(types)]

    def curve() -> dict:
        return {"amdahl": rng.uniform(0.3, 1)} if rng.random() < 0.5 else {"power": rng.uniform(0.1, 1)}

    def speedup() -> Speedup:
        return Speedup.model_validate(curve() if types == 1 else {n: curve() for n in names})

    data = BoaAllocation(
        budget=60.0,
        gpu_types=tuple(GpuType(name=n, price=float(rng.uniform(0.5, 2))) for n in names),
        classes=tuple(
            JobClass(
                name=f"c{i}",
                arrivals_per_hour=float(rng.uniform(0.5, 2)),
                rescale_hours=0.0,
                epochs=tuple(Epoch(size_hours=float(rng.uniform(0.1, 1)), speedup=speedup()) for _ in range(5)),
            )
            for i in range(4)
        ),
        widths="continuous",
        max_width=50,
    )
    fast, cone = exact(data), literal(data)
    assert (fast.status, cone.status) == ("optimal", "optimal")
    assert cone.objective == pytest.approx(fast.objective, rel=1e-7)


def test_types_are_mixed_where_the_budget_lies_between():
    """A slow type at 1 and a fast one, 3 times as fast, at 4: between their costs 1 and 4/3 both are used."""
    speedups = {"slow": {"table": {"gpus": [1], "speedup": [1]}}, "fast": {"table": {"gpus": [1], "speedup": [3]}}}
    types = (GpuType(name="slow"), GpuType(name="fast", price=4.0))
    data = one_epoch(speedups, budget=7 / 6, gpu_types=types)
    for solution in (
        exact(data).solution,
        literal_lp(data, Options()).solution,
        literal_cone(data, Options()).solution,
    ):
        shares = {o["type"]: o["fraction"] for o in solution["assignment"]["a"][0]}
        assert shares == {"slow": pytest.approx(0.5, abs=1e-6), "fast": pytest.approx(0.5, abs=1e-6)}


@pytest.mark.parametrize("seed", range(4))
def test_rescaling_problem_agrees_with_the_literal_model(seed: int):
    data = random_allocation(2, 6, 8, rescale=0.5, seed=seed).data
    fast, slow = exact(data), literal(data)
    assert (fast.status, slow.status) == ("optimal", "optimal")
    assert slow.objective == pytest.approx(fast.objective, rel=3e-6)


def test_the_literal_model_has_the_lemma_s_rows():
    data = random_allocation(2, 3, 4).data
    model = build_literal(data)
    assert len(model.width) == len(model.change) == len(model.changed) == 2 * 3 * 4
    assert len(model.one_width) == 2 * 3
    with pytest.raises(InputError, match="only the one with rescaling times is a linear model"):
        build_literal(figure_1(2).data)


@pytest.mark.parametrize("shape", [(5, 60, 64), (8, (10, 40), 32), (1, 80, 16)])
def test_larger_instances_are_proven(shape):
    result = exact(random_allocation(*shape, seed=3).data)
    assert result.status == "optimal"
    assert result.gap <= 1e-6


@pytest.mark.parametrize(
    ("classes", "epochs", "widths", "seed"), [(400, 10, 16, 1), pytest.param(3200, 3, 8, 0, marks=pytest.mark.long)]
)
def test_many_classes_are_proven(classes: int, epochs: int, widths: int, seed: int):
    """They have far more paths near the shortest than can be put together in every way, and need few of them."""
    result = exact(random_allocation(classes, epochs, widths, seed=seed).data)
    assert result.status == "optimal"
    assert result.info["labels"] < 50 * classes


@pytest.mark.parametrize("load", [1.1, 2.0, 5.0])
def test_newtrace_is_proven(load: float):
    result = exact(newtrace(load).data)
    assert result.status == "optimal"
    assert result.bound <= result.objective
    assert result.info["hull_deviation"] > 0.5


def test_budget_beyond_the_fastest_policy_changes_nothing():
    data = newtrace(5.0).data
    richer = data.model_copy(update={"budget": 10 * data.budget})
    assert exact(richer).objective == exact(data).objective
    assert fastest_budget(data) < data.budget
    endless = one_epoch({"amdahl": 0.5}, budget=3.0, rescale_hours=0.1)
    assert fastest_budget(endless) == math.inf
    capped = endless.model_copy(update={"max_width": 4})
    assert fastest_budget(capped) == pytest.approx(4 * (0.5 + 0.5 / 4 + 0.1))


def test_a_path_adds_up_as_the_checker_does():
    data = random_allocation(3, 7, 6, seed=2, budget_over_least=9).data
    net, rng = build_network(data), np.random.default_rng(0)
    chosen = [rng.integers(0, 6, 7) for _ in data.classes]
    verdict = check(data, {"widths": {c.name: (k + 1).tolist() for c, k in zip(data.classes, chosen, strict=True)}})
    assert sum(build_path(net, i, k).time for i, k in enumerate(chosen)) == pytest.approx(verdict.objective)


def test_a_time_limit_keeps_the_incumbent_and_its_bound():
    """Lagrangian bound and first policy are there before the limit is looked at."""
    data = random_allocation(5, 60, 64, seed=1).data
    reported = []
    result = exact(data, Options(time_limit=1e-6), lambda s, b: reported.append((s, b)))
    assert (result.status, result.termination) == ("feasible", "time_limit")
    assert 0 < result.bound < result.objective
    assert reported[0][0] is not None


def test_progress_is_reported_and_only_improves():
    data = random_allocation(5, 60, 64, seed=0).data
    seen: list[tuple[float, float]] = []

    def report(solution, bound) -> None:
        seen.append((check(data, solution).objective, bound))

    result = exact(data, report=report)
    objectives, bounds = zip(*seen, strict=True)
    assert list(objectives) == sorted(objectives, reverse=True)
    assert list(bounds) == sorted(bounds)
    assert objectives[-1] == result.objective


def test_a_wider_gap_stops_earlier():
    data = random_allocation(5, 60, 64, seed=1).data
    coarse = exact(data, Options(gap=0.05))
    assert coarse.status == "optimal"
    assert coarse.gap <= 0.05
    assert coarse.info["labels"] <= exact(data).info["labels"]


def test_frontier_points_share_their_preparation():
    data = random_allocation(3, 10, 8, seed=4, budget_over_least=4).data
    shared = frontier(data)
    budgets = np.linspace(data.budget / 4 * 1.001, data.budget, 7)
    times = [shared.at(float(b)).objective for b in budgets]
    assert times == sorted(times, reverse=True)
    for b, t in zip(budgets, times, strict=True):
        assert t == pytest.approx(exact(data.model_copy(update={"budget": float(b)})).objective, rel=2e-6)
    with pytest.raises(InputError, match="budget: must be in"):
        shared.at(0.01)
    with pytest.raises(InputError, match="budget: must be <="):
        shared.at(2 * data.budget)


def test_the_least_budget_for_a_wanted_time():
    data = figure_1(3.0).data
    budget, result = frontier(data).find_min_budget(1 / 3)
    assert budget == pytest.approx(2.0, rel=2e-6)
    assert result.objective <= 1 / 3 * (1 + 1e-12)
    with pytest.raises(InputError, match="mean JCT: must be >="):
        frontier(data).find_min_budget(0.1)
    whole = random_allocation(2, 4, 5, rescale=0.5, seed=1, budget_over_least=3).data
    solve, wanted = frontier(whole), exact(whole).objective * 1.2
    budget, result = solve.find_min_budget(wanted)
    assert result.objective <= wanted
    assert solve.at(budget * (1 - 3e-6)).objective > wanted


def test_memory_has_an_end():
    data = random_allocation(5, 60, 64, seed=1).data
    answer = solve_micp(prepare(data), data.budget, Options(), parameters=GapClosingParameters(most_labels=100))
    assert "partial paths" in answer.reason
    assert answer.bound < check(data, answer.solution).objective
