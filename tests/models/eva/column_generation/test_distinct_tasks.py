"""Test dives and column generation on distinct tasks against the textbook method."""

from __future__ import annotations

import numpy as np
import pytest

from instances import Options, Stopwatch
from instances.eva import EvaPacking, packing_arrays, table_7
from models.core.highs import LinearModel, solve_arrays
from models.eva.column_generation import column_generation
from models.eva.configuration import missing, price, single_class_columns
from models.eva.dive import ColumnDive, at_most
from models.eva.knapsack_pricer import TablePricer
from models.eva.node_program import NodeProgram
from models.eva.parameters import ColumnGenerationParameters
from models.eva.pricer import PatternPrices
from models.eva.relaxation import Goal, NodeRelaxation
from tests.eva_cases import random_packing
from tests.sampling import few


def distinct_tasks(n: int, seed: int) -> EvaPacking:
    """Tasks on the smaller EC2 types of Table 7, hardly two of them alike."""
    draw, base = np.random.default_rng(seed), table_7(1, 0).data
    kinds = [kind for kind in base.instance_types if kind.capacity["cpu"] <= 16]
    tasks = []
    for i in range(n):
        gpu = int(draw.choice((0, 1), p=(0.6, 0.4)))
        cpu = int(np.clip(draw.lognormal(np.log(5), 0.4), 1, 4 if gpu else 16))
        ram = int(np.clip(cpu * draw.choice((2, 4, 8)) * draw.lognormal(0, 0.3), 1, 60))
        demand = {"default": dict(zip(base.resources, (gpu, cpu, ram), strict=True))}
        tasks.append({"workload": f"t{i}", "count": 1, "demand": demand})
    return EvaPacking.model_validate({**base.model_dump(), "instance_types": kinds, "tasks": tasks})


def textbook_bound(data: EvaPacking) -> float:
    """Column generation as a textbook has it, with tables for pricing: the value of the linear relaxation."""
    arrays = packing_arrays(data)
    pricer, columns, unit = TablePricer(arrays), single_class_columns(arrays), 2**20
    while True:
        matrix = np.zeros((arrays.classes, len(columns)))
        for j, column in enumerate(columns):
            for c, q in column.pattern:
                matrix[c, j] = q
        cost = np.array([float(arrays.price[column.type]) for column in columns])
        solved = solve_arrays(LinearModel(cost, matrix, arrays.count, np.inf), Options())
        value = np.floor(np.maximum(solved.duals, 0.0) * unit).astype(np.int64)
        target = tuple(int(p * unit * (1 + 1e-9)) for p in arrays.price)
        found = pricer.price(PatternPrices(np.tile(value, (len(arrays.price), 1)), target), 30).columns
        fresh = [column for column in found if column not in columns]
        if not fresh:
            return float(arrays.price_unit) * solved.objective
        columns += fresh


@pytest.mark.parametrize("seed", [1, 2])
def test_sixty_distinct_tasks_come_closer_than_the_textbook_method(seed: int):
    data = distinct_tasks(60, seed)
    outcome, unit = column_generation(packing_arrays(data), Options(effort=20)), packing_arrays(data).price_unit
    assert outcome.bound * unit >= textbook_bound(data) * (1 - 1e-9)
    assert outcome.cost - outcome.bound <= 1e-3 * outcome.cost


@pytest.mark.parametrize("seed", few(range(20), 5))
def test_a_dive_returns_a_cover_within_its_goal_and_its_limits(seed: int):
    arrays = random_packing(seed)
    program = NodeProgram(arrays, Options(), int(arrays.price.max()), Stopwatch())
    program.add(single_class_columns(arrays))
    relaxation = NodeRelaxation(program, TablePricer(arrays, ColumnGenerationParameters()), 30)
    worth = relaxation.run((), Goal(), Stopwatch()).relaxed.value
    goal = int(1.5 * worth) + int(arrays.price.max())
    limits = at_most([3] * len(arrays.price))
    for decisions, noise in (((), 0.0), (limits, 0.0), (limits, 0.3)):
        found = ColumnDive(relaxation, goal, decisions, Stopwatch(), seed).run(1, 3, 50, noise)
        if not decisions:
            assert found is not None
        if found is not None:
            assert price(arrays, found) <= goal
            assert (missing(arrays, found) <= 0).all()
            used = [sum(n for column, n in found.items() if column.type == d.of[0]) for d in decisions]
            assert all(n <= d.amount for n, d in zip(used, decisions, strict=True))
    assert ColumnDive(relaxation, int(worth) - 1, (), Stopwatch()).run(1, 3, 50) is None
