"""Test BOA's Algorithm 1 line by line, and the simple policies."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from heuristics.boa import (
    equal_share,
    one_width,
    width_calculator,
    width_calculator_artifact,
    width_calculator_whole_job,
)
from heuristics.boa.epoch_arrays import build_epoch_arrays, compute_hull_hours
from heuristics.boa.fixed_width import share_budget
from heuristics.boa.width_calculator import (
    ConvexRelaxation,
    find_super_epoch_starts,
    powers,
    powers_and_whole_job,
    round_to_corners,
    up_to_a_tenth,
)
from instances import Options, check
from instances.boa import compute_min_budget, figure_1, merge_segments, newtrace, random_allocation
from models.boa import exact
from models.boa.convex_dual import ConvexDual, solve_convex
from models.boa.curves import curves
from tests.sampling import few


@pytest.mark.parametrize(
    ("epochs", "paper", "with_whole"),
    [
        (1, [1], [1]),
        (2, [1, 2], [1, 2]),
        (3, [1, 2], [1, 2, 3]),
        (8, [1, 2, 4, 8], [1, 2, 4, 8]),
        (9, [1, 2, 4, 8], [1, 2, 4, 8, 9]),
    ],
)
def test_candidates_of_line_4(epochs: int, paper: list[int], with_whole: list[int]):
    assert powers(epochs) == paper
    assert powers_and_whole_job(epochs) == with_whole


def test_super_epochs_start_every_g_epochs_of_their_class():
    p = build_epoch_arrays(random_allocation(3, 5, 4).data)
    assert find_super_epoch_starts(p, (2, 5, 4)).tolist() == [0, 2, 4, 5, 10, 14]


def test_the_same_seed_gives_the_same_widths():
    data = random_allocation(4, 17, 16, rescale=1.0, seed=1).data
    runs = [width_calculator(data, Options(seed=seed)) for seed in (3, 3, 4, 5, 6)]
    assert runs[0].solution == runs[1].solution
    assert len({r.objective for r in runs}) > 1
    assert runs[0].options == {"time_limit": None, "seed": 3}


def test_without_rescaling_and_gluing_only_rounding_is_lost():
    """One epoch a class and no rescaling: every configuration is the same and its widths are near the convex ones."""
    data = random_allocation(6, 1, 64, rescale=0.0, seed=2).data
    smooth = data.model_copy(update={"widths": "continuous"})
    result, bound = width_calculator(data), exact(smooth)
    assert bound.objective <= result.objective <= 1.05 * bound.objective
    for name, widths in bound.solution["widths"].items():
        assert abs(widths[0] - result.solution["widths"][name][0]) <= 2


@pytest.mark.parametrize("share", [1.0, 1.3, 2.0, 3.0])
def test_segments_solve_the_convex_problem(share: float):
    """Against the models' multiplier search, of which they share nothing."""
    data = random_allocation(3, 6, 20, rescale=0.0, seed=3, budget_over_least=3).data
    p = build_epoch_arrays(data)
    grid = np.arange(1, p.hours.shape[1] + 1, dtype=float)
    budget = compute_min_budget(data) * share
    width = ConvexRelaxation(p.hours, grid, p.value, p.price).solve(budget)
    mix = solve_convex(ConvexDual(curves(data.model_copy(update={"widths": "continuous"}))), budget)
    chosen = mix.share * mix.over.width + (1 - mix.share) * mix.within.width
    settled = mix.over.width == mix.within.width
    assert width[settled] == pytest.approx(chosen[settled])
    assert (~settled).sum() <= 1
    spent = float((p.price * width * _hours_at(p.hours, width)).sum())
    assert spent == pytest.approx(budget, rel=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_line_16_is_the_optimum_of_a_linear_program_on_hulls_with_wide_edges(seed: int):
    """Rounding must not shuffle the collinear segments of an edge that spans several widths."""
    random = np.random.default_rng(seed)
    runs, widths = 5, 24
    speedup = np.ones((runs, widths))
    for row in speedup:
        corners = np.sort(random.choice(np.arange(2, widths + 1), 2, replace=False))
        row[corners - 1] = np.sort(random.uniform(1, corners))  # a measured speedup that rises at two widths only
        np.maximum.accumulate(row, out=row)
    size, value, price = random.uniform(0.5, 2, (3, runs))
    hours, _ = compute_hull_hours(size[:, None] / speedup)
    grid = np.arange(1.0, widths + 1)
    relaxation = ConvexRelaxation(hours, grid, value, price)
    time, cost = (value[:, None] * hours).ravel(), (price[:, None] * hours * grid).ravel()
    one_mix_per_run = np.kron(np.eye(runs), np.ones(widths))
    for share in (0.1, 0.3, 0.5, 0.7, 0.9):
        budget = float((1 - share) * relaxation.segments.cost[0] + share * relaxation.segments.cost[-1])
        optimum = linprog(time, A_ub=cost[None], b_ub=[budget], A_eq=one_mix_per_run, b_eq=np.ones(runs))
        width = relaxation.solve(budget)
        run_time = _hours_at(hours, width)
        assert (price * width * run_time).sum() == pytest.approx(budget, rel=1e-9)
        assert (value * run_time).sum() == pytest.approx(optimum.fun, rel=1e-8)


def test_line_16_of_one_class_with_one_wide_edge():
    """The smallest case: one speedup of 4.5 at eight GPUs, and a budget 5% above the least cost."""
    k = np.arange(1.0, 9)
    speedup = 1 + (k - 1) / 2  # the hull of 1, 1, 1, 1, 1, 1, 1, 4.5
    assert merge_segments((1 / speedup)[None], (k / speedup)[None]).end.tolist() == [1, 2, 3, 4, 5, 6, 7]
    width = ConvexRelaxation((1 / speedup)[None], k, np.ones(1), np.ones(1)).solve(1.05)
    assert width / _speed(speedup, width) == pytest.approx(1.05)


def _speed(speedup: np.ndarray, width: np.ndarray) -> np.ndarray:
    return np.interp(width, np.arange(1, len(speedup) + 1), speedup)


def _hours_at(hours: np.ndarray, width: np.ndarray) -> np.ndarray:
    speed = [np.interp(k, np.arange(1, len(row) + 1), 1 / row) for row, k in zip(hours, width, strict=True)]
    return 1 / np.array(speed)


def test_epoch_arrays_count_time_and_cost_as_the_checker_does():
    data = random_allocation(3, 4, 5, seed=4).data
    p, rng = build_epoch_arrays(data), np.random.default_rng(0)
    for _ in range(20):
        width = rng.integers(1, 6, len(p.hours))
        assert p.time_and_cost(width)[0] == pytest.approx(check(data, p.solution(width)).objective)


def test_figure_1_rounds_to_whole_widths():
    """The optimum at budget 2 is whole already; at 1 it is 2.43 and 1.47, and rounds to dear ones."""
    assert width_calculator(figure_1(2).data).solution == {"widths": {"amdahl": [6], "root": [9]}}
    assert width_calculator(figure_1(1).data).objective == pytest.approx(0.8)


def test_one_width_keeps_one_width():
    data = newtrace(2.0).data
    result = one_width(data)
    assert all(len(set(widths)) == 1 for widths in result.solution["widths"].values())
    assert result.objective < equal_share(data).objective


def test_equal_shares_give_what_is_needed_first():
    assert share_budget(np.array([1.0, 1.0]), 10.0).tolist() == [5, 5]
    assert share_budget(np.array([7.0, 1.0, 1.0]), 12.0).tolist() == [7, 2.5, 2.5]


@pytest.mark.parametrize("rescale", [0.1, 3.0])
def test_the_whole_job_helps_where_rescaling_is_dear(rescale: float):
    totals = np.zeros(2)
    for seed in range(3):
        data = random_allocation(3, 20, 16, rescale=rescale, seed=seed).data
        optimum = exact(data).objective
        totals += [f(data).objective / optimum for f in (width_calculator, width_calculator_whole_job)]
    paper, added = totals / 3 - 1
    assert (paper > 2 * added) if rescale > 1 else (paper < 0.1)


def corners(speed: np.ndarray) -> list[int]:
    """Return the widths of the hull: from one GPU up the steepest step, the shortest of equal ones."""
    at = [1]
    while True:
        steps = [((speed[k - 1] - speed[at[-1] - 1]) / (k - at[-1]), -k) for k in range(at[-1] + 1, len(speed) + 1)]
        if not steps or max(steps)[0] <= 0:
            return at
        at.append(-max(steps)[1])


@pytest.mark.parametrize("seed", few(range(5), 2))
def test_the_released_width_calculator_is_a_linear_program_whose_budget_is_cut_by_one_gpu(seed: int):
    """Ten epochs a class leave no glue: one linear program over the corners for each budget."""
    data = random_allocation(3, 10, 32, rescale=0.3, seed=seed, budget_over_least=3).data
    kinds = [(c, e, e.speedup.table.raw()) for c in data.classes for e in c.epochs]
    places = [(i, k) for i, (_, _, speed) in enumerate(kinds) for k in corners(speed)]
    time = np.array([kinds[i][0].arrivals_per_hour * kinds[i][1].size_hours / kinds[i][2][k - 1] for i, k in places])
    cost = time * [k for _, k in places]
    own = np.array([[i == j for i, _ in places] for j in range(len(kinds))])
    budget, found = data.budget, None
    while found is None:
        solved = linprog(time, A_ub=cost[None], b_ub=budget, A_eq=own, b_eq=np.ones(len(kinds)))
        wanted = (own @ (cost * solved.x)) / (own @ (time * solved.x))
        widths = [min(corners(speed), key=lambda k: abs(k - wanted[i])) for i, (_, _, speed) in enumerate(kinds)]
        solution = {"widths": {c.name: widths[10 * i : 10 * i + 10] for i, c in enumerate(data.classes)}}
        found = None if check(data, solution).violations else solution
        budget -= 1
    assert budget < data.budget - 1
    result = width_calculator_artifact(data)
    assert result.solution == found
    assert "goodput" in result.info["left_out"]


def test_the_released_width_calculator_draws_up_to_a_tenth_and_rounds_halves_down():
    assert [up_to_a_tenth(epochs) for epochs in (1, 10, 11, 80)] == [[1], [1], [1, 2], list(range(1, 9))]
    touches = np.array([[True, False, True]])
    assert [round_to_corners(touches, way)(np.array([2.0])).tolist() for way in ("wider", "narrower")] == [[3], [1]]
    data = random_allocation(2, 40, 64, rescale=0.1, seed=1).data
    found = width_calculator_artifact(data).solution["widths"]
    assert any(len(set(widths)) > 1 for widths in found.values())
    for widths in found.values():
        changes = np.flatnonzero(np.diff(widths)) + 1
        assert any(not (changes % g).any() for g in (2, 3, 4))
