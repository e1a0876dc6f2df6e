"""Test work limits of HiGHS, and columns added to its models."""

from __future__ import annotations

from dataclasses import replace

import highspy
import numpy as np
import pytest
from scipy import sparse

from instances import InputError, Options
from models.core import linear_program
from models.core.highs import LinearModel, OutOfTime, SolveFailed, reoptimize, rerun, run, solve_arrays, solver
from models.core.linear_program import LinearProgram


def market_split(seed: int = 0) -> LinearModel:
    """Equations between random numbers, with slack that costs: hard for branch and bound at any size."""
    random = np.random.default_rng(seed)
    rows = random.integers(0, 100, (4, 30))
    slack = np.hstack([np.eye(4), -np.eye(4)])
    return LinearModel(
        cost=np.concatenate([np.zeros(30), np.ones(8)]),
        matrix=np.hstack([rows, slack]),
        row_lower=rows.sum(axis=1) // 2,
        row_upper=rows.sum(axis=1) // 2,
        upper=np.concatenate([np.ones(30), np.full(8, np.inf)]),
        integer=np.arange(38) < 30,
    )


def test_a_limit_of_effort_keeps_incumbent_and_bound():
    solved = solve_arrays(market_split(), Options(effort=20))
    assert (solved.termination, solved.reason) == ("effort_limit", "effort limit")
    assert solved.objective is not None
    assert solved.bound is not None
    assert solved.bound < solved.objective
    assert solved.info["nodes"] <= 20


def test_a_linear_program_has_no_nodes():
    relaxed = replace(market_split(), integer=np.zeros(38, dtype=bool))
    assert set(solve_arrays(relaxed, Options()).info) == {"simplex_iterations"}


def test_the_same_effort_gives_the_same_answer():
    one, two = (solve_arrays(market_split(1), Options(effort=50)) for _ in range(2))
    assert one.x is not None
    assert two.x is not None
    assert (one.objective, one.bound, one.info) == (two.objective, two.bound, two.info)
    assert (one.x == two.x).all()


def test_effort_never_raises_a_limit_on_nodes():
    h = solver(Options(effort=50), {"mip_max_nodes": 1})
    assert h.getOptionValue("mip_max_nodes")[1] == 1
    assert solver(Options(effort=2**40)).getOptionValue("mip_max_nodes")[1] == 2**31 - 1


def test_effort_must_be_positive():
    with pytest.raises(InputError, match="effort: must be >= 1, got 0"):
        Options(effort=0)


def test_columns_are_added_as_if_they_had_been_there():
    random = np.random.default_rng(3)
    matrix = random.integers(0, 4, (3, 9)) + np.eye(3, 9, dtype=int)
    cost, rows = random.integers(3, 20, 9), random.integers(5, 9, 3)
    whole = solve_arrays(LinearModel(cost, matrix, rows, np.inf), Options())
    program = LinearProgram(LinearModel(cost[:3], matrix[:, :3], rows, np.inf), Options())
    later = sparse.csc_array(matrix[:, 3:])
    program.add(cost[3:], later.indptr[:-1], later.indices, later.data)
    assert whole.objective is not None
    assert program.value() == pytest.approx(whole.objective)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_linear_program_is_solved_again_whatever_threads_another_solver_has_used(threads):
    """HiGHS fails where its threads are those of another solve; a loop that waits for an optimum would never end."""
    h = solver(Options(threads=threads), {"parallel": "off"})
    h.passModel(LinearModel([1.0, 2.0], np.eye(2), 1.0, np.inf).lp())
    solve_arrays(market_split(), Options(threads=3 - threads, effort=1))
    assert rerun(h) == highspy.HighsModelStatus.kOptimal
    assert h.getInfo().objective_function_value == 3.0


@pytest.mark.parametrize(("lower", "upper"), [(-np.inf, -1.0), (1.0, np.inf)])
def test_a_model_without_variables_is_infeasible_where_a_constraint_of_nothing_is_broken(lower, upper):
    rows = {"row_lower": np.array([-np.inf, lower]), "row_upper": np.array([0.0, upper])}
    model = LinearModel(cost=np.zeros(0), matrix=sparse.csr_array((2, 0)), **rows)
    solved = solve_arrays(model, Options())
    assert (solved.termination, solved.x, solved.bound) == ("infeasible", None, None)


def test_a_model_without_variables_has_the_empty_solution():
    model = LinearModel(cost=np.zeros(0), matrix=sparse.csr_array((1, 0)), row_lower=-np.inf, row_upper=0.0, offset=3.0)
    solved = solve_arrays(model, Options())
    assert (solved.termination, solved.x.tolist(), solved.objective, solved.bound) == ("finished", [], 3.0, 3.0)


def test_a_linear_program_that_is_out_of_time_says_so_and_may_go_on():
    model = market_split()
    h = solver(Options())
    h.passModel(LinearModel(model.cost, model.matrix, model.row_lower, model.row_upper, upper=model.upper).lp())
    with pytest.raises(OutOfTime, match="out of time"):
        reoptimize(h, 0.0)
    reoptimize(h, 60.0)
    value = h.getInfo().objective_function_value
    reoptimize(h, 60.0)  # the times of earlier runs do not count
    assert h.getInfo().objective_function_value == value


@pytest.mark.parametrize(
    ("columns", "limit", "presolve"), [(30_000, 0.5, "off"), (300, 0.5, "choose"), (300, None, "choose")]
)
def test_presolve_is_left_out_where_its_comparisons_alone_would_outlast_the_time(columns, limit, presolve):
    """It compares each column with all others of a row, and looks at no clock there: 30,000 took twenty seconds."""
    random = np.random.default_rng(0)
    h = solver(Options(time_limit=limit))
    model = LinearModel(
        cost=random.integers(1, 1_000, columns),
        matrix=random.integers(1, 9, (4, columns)),
        row_lower=np.full(4, 20),
        row_upper=np.full(4, 20),
        upper=20.0,
        integer=True,
    )
    h.passModel(model.lp())
    run(h)
    assert h.getOptionValue("presolve")[1] == presolve


def test_columns_without_entries_are_no_comparisons():
    solved = solve_arrays(
        LinearModel(cost=[1.0, -1.0], matrix=np.zeros((1, 2)), row_lower=-1.0, row_upper=1.0, upper=3.0, integer=True),
        Options(time_limit=5.0),
    )
    assert solved.objective == -3


@pytest.mark.parametrize("sense", ["minimize", "maximize"])
def test_a_bound_gives_up_what_highs_does_not_look_for(sense):
    """HiGHS leaves out what is better than the start by less than its tolerance, and calls the start the bound."""
    sign = 1 if sense == "minimize" else -1
    better = 1 - sign * 5e-7
    model = LinearModel([1.0, better], [[1.0, 1.0]], 1.0, 1.0, upper=1.0, integer=True, sense=sense)
    seen = []
    solved = solve_arrays(
        model, Options(), start=[1.0, 0.0], watch=lambda _, bound: seen.append(bound), extra={"presolve": "off"}
    )
    assert all(sign * bound <= sign * better for bound in (*seen, solved.bound) if bound is not None)
    assert solved.bound == pytest.approx(1, abs=3e-6)


def test_a_bound_on_whole_numbers_gives_up_nothing():
    model = LinearModel([3.0, 5.0], [[2.0, 3.0]], 7.0, np.inf, upper=9.0, integer=True)
    assert solve_arrays(model, Options()).bound == 11.0


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_entries_that_highs_would_drop_relax_their_rows(sign: float):
    """A row loses nothing but what the dropped entry can contribute, so the bound holds for the model."""
    model = LinearModel(
        cost=[1.0, 0.0],
        matrix=np.array([[1.0, sign * 1e-13], [1.0, 0.5]]),
        row_lower=[1.0, 0.0],
        row_upper=[1.0, 9.0],
        upper=[10.0, 1e12],
    )
    relaxed = model.drop_small_entries()
    assert relaxed.matrix.nnz == 3
    low, high = sorted([0.0, sign * 0.1])
    assert np.asarray(relaxed.row_lower) == pytest.approx([1.0 - high, 0.0])
    assert np.asarray(relaxed.row_upper) == pytest.approx([1.0 - low, 9.0])
    solved = solve_arrays(model, Options())
    assert solved.termination == "finished"
    assert solved.bound is not None
    assert solved.bound <= 1.0 - high + 1e-9


def test_a_small_entry_of_an_unbounded_variable_is_an_error():
    model = LinearModel(cost=[1.0, 0.0], matrix=np.array([[1.0, 1e-13]]), row_lower=[1.0], row_upper=[1.0])
    solved = solve_arrays(model, Options())
    assert (solved.termination, solved.bound) == ("error", None)
    assert solved.reason == "the entries of a constraint are too far apart for HiGHS"


def test_a_linear_program_that_cycles_fails(monkeypatch: pytest.MonkeyPatch):
    program = LinearProgram(replace(market_split(), integer=None), Options())
    assert program.solve().value >= 0.0
    monkeypatch.setattr(linear_program, "MOST_ITERATIONS", 0)
    monkeypatch.setattr(linear_program, "ITERATIONS_EACH", 0)
    program.price([0, 1, 2], [-5.0, -7.0, -9.0])
    with pytest.raises(SolveFailed, match="Iteration"):
        program.solve()
