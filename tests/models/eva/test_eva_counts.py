"""Test branch and bound over instance counts against the integer program over the same columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from instances import Options, Stopwatch
from instances.eva import packing_arrays, random_round, table_7
from instances.eva.reconfiguration_arrays import reconfiguration_arrays
from models.core.highs import solve_arrays
from models.eva.counts import CountBranching
from models.eva.parameters import DEFAULTS, CountParameters
from models.eva.saving_columns import PackingMaster, SavingColumns, SavingMaster
from models.eva.saving_pricing import SavingPricer
from models.eva.saving_search import Generation
from tests.eva_rounds import small_round

TIGHT = Options(gap=1e-9)


def listed(data, share: float):
    """Return a program over columns that are good at single-task prices, and the value of single tasks."""
    master = SavingMaster(reconfiguration_arrays(data))
    packing, groups = master.arrays.packing, master.arrays.groups
    pricer = SavingPricer(master, DEFAULTS.saving, Stopwatch(None))
    rows = len(packing.count) + len(groups) + len(master.rows)
    duals = master.duals(np.zeros(rows))
    duals = replace(duals, task=master.arrays.scale * packing.reservation_price.astype(float))
    found = pricer.improving(duals, -share * float(master.arrays.new.max()), 1_000).columns
    alone = SavingColumns.of(-1, np.eye(packing.classes, dtype=np.int64))
    held = np.array([group.on_it for group in groups], dtype=np.int64).reshape(-1, packing.classes)
    columns = SavingColumns.join([alone, SavingColumns(np.arange(len(groups), dtype=np.int64), held), found])
    program = master.build_listed_program(columns, pricer.noise)
    copies = np.concatenate([packing.count, np.zeros(len(columns.group) - packing.classes, dtype=np.int64)])
    return program, program.worth(copies)


@pytest.mark.parametrize(("tasks_per_job", "seed"), [(1, 0), (1, 1), (2, 0), (4, 2)])
def test_the_best_over_a_list_is_that_of_the_integer_program(tasks_per_job: int, seed: int):
    program, value = listed(random_round(18, seed, tasks_per_job=tasks_per_job).data, 0.3)
    found = CountBranching(program, value, TIGHT, Stopwatch(None), CountParameters()).search()
    whole = replace(program.model, integer=np.arange(len(np.asarray(program.model.cost))) < len(program.net))
    best = solve_arrays(whole, TIGHT).objective
    assert found.finished
    assert found.value == pytest.approx(best, rel=1e-7)
    assert -1e-9 * abs(best) <= found.bound - best <= 1e-6 * abs(best)
    assert program.worth(found.x) == found.value


def test_few_nodes_leave_a_bound_that_holds():
    program, value = listed(random_round(18, 0).data, 0.3)
    best = CountBranching(program, value, TIGHT, Stopwatch(None), CountParameters()).search().value
    short = CountBranching(program, value, TIGHT, Stopwatch(None), CountParameters(nodes=1)).search()
    assert short.bound >= best
    assert not short.finished or short.value == best


def test_a_number_of_instances_that_breaks_its_limits_is_not_branched_on():
    master = PackingMaster(packing_arrays(table_7(60, 0, objective="net-saving").data))
    pricer = SavingPricer(master, DEFAULTS.saving, Stopwatch())
    alone = SavingColumns.of(-1, np.eye(master.arrays.packing.classes, dtype=np.int64))
    made = Generation(master, pricer, alone, Options(), Stopwatch(), DEFAULTS.saving).run()
    program = master.build_listed_program(made.columns, pricer.noise)
    best = CountBranching(program, 0.0, TIGHT, Stopwatch(None), CountParameters()).search()
    never = replace(program, bound=lambda duals, most: 2 * program.dear)  # no node is closed by its bound
    found = CountBranching(never, 0.0, TIGHT, Stopwatch(None), CountParameters(nodes=150)).search()
    assert found.value == pytest.approx(best.value, rel=1e-7)


def test_a_list_is_probed_first_where_it_is_long():
    program, value = listed(random_round(18, 1).data, 0.3)
    found = [
        CountBranching(program, value, TIGHT, Stopwatch(None), CountParameters(probed=most, first_list=10)).search()
        for most in (0, 10**6)
    ]
    assert found[0].value == pytest.approx(found[1].value, rel=1e-9)


def test_the_worth_of_a_solution_by_classes_is_the_checkers():
    from heuristics.eva.round import eva_choice, full, stay

    for seed in range(20):
        data = small_round(seed)
        arrays = reconfiguration_arrays(data)
        for heuristic in (eva_choice, full, stay):
            said = heuristic(data)
            assert arrays.worth_usd(arrays.read_placed(said.solution)) == pytest.approx(said.objective, abs=1e-9)
