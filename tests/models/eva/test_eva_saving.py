"""Test column generation for Eva's net saving against lists of all patterns."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest

from heuristics.eva import full_reconfiguration
from instances import Options, Stopwatch, check
from instances.eva import EvaPacking, packing_arrays, random_workloads
from instances.eva.arrays import FloatArray, IntArray, PackingArrays
from instances.eva.reconfiguration_arrays import NEW
from models.core import linear_program
from models.core.highs import SolveFailed, reoptimize
from models.eva import exact
from models.eva import saving_search as search
from models.eva.covering import feasible_patterns
from models.eva.net_saving import few_patterns
from models.eva.parameters import EvaExactParameters, SavingParameters
from models.eva.saving_columns import PackingMaster, SavingColumns, SavingDuals
from models.eva.saving_kernels import add_surrogate, knapsack
from models.eva.saving_pricing import SavingPricer
from models.eva.saving_search import Generation
from tests.sampling import few

GENERATED = EvaExactParameters(saving_patterns=0)
LISTED = EvaExactParameters(first_saving_patterns=10**7, saving_patterns=10**7)
TIGHT = Options(gap=1e-6)


def small(seed: int, tasks: int = 14, workloads: int = 7) -> EvaPacking:
    """Draw a small cluster of many workloads; some tasks are in jobs of several, and some do not interfere."""
    data = random_workloads(tasks, workloads, seed, least_throughput=(0.0, 0.5, 0.8, 0.95)[seed % 4]).data
    draw = random.Random(seed)
    jobs = [task.model_copy(update={"tasks_in_job": draw.choice((None, None, 3))}) for task in data.tasks]
    small_types = tuple(k for k in data.instance_types if max(k.capacity.values()) <= 256)
    return EvaPacking.model_validate({**data.model_dump(), "tasks": jobs, "instance_types": small_types})


def every_pattern(arrays: PackingArrays) -> tuple[IntArray, FloatArray]:
    """All patterns of two tasks and more, once each, and their nets on the cheapest types, without the pricer."""
    rows: dict[bytes, tuple[IntArray, float]] = {}
    for k in np.argsort(-arrays.price, kind="stable"):
        most = np.where(arrays.fits[k], arrays.count, 0)
        found = feasible_patterns(arrays.capacity[k], arrays.demand_of_type[k], most, 10**6)
        assert found is not None
        for row, value in zip(found, arrays.value(found), strict=True):
            if row.sum() > 1:
                rows[row.tobytes()] = (row, float(value) - int(arrays.price[k]))
    return np.array([r for r, _ in rows.values()]), np.array([v for _, v in rows.values()])


def prepared(data: EvaPacking) -> tuple[PackingMaster, SavingPricer]:
    """Return the program over columns of a packing, and its pricer."""
    master = PackingMaster(packing_arrays(data))
    return master, SavingPricer(master, SavingParameters(), Stopwatch())


def of_tasks(duals: FloatArray) -> SavingDuals:
    """Duals where no instance exists."""
    return SavingDuals(duals, np.zeros(0), np.zeros(0))


@pytest.mark.parametrize("seed", few(range(12), 3))
def test_generated_columns_and_listed_patterns_agree(seed: int):
    data = small(seed)
    generated, listed = exact(data, TIGHT, parameters=GENERATED), exact(data, TIGHT, parameters=LISTED)
    assert generated.info["method"] == "column generation"
    assert listed.info["method"] == "set partitioning"
    assert generated.status == listed.status == "optimal"
    assert generated.objective == pytest.approx(listed.objective, rel=3e-6, abs=1e-6)
    assert generated.bound >= listed.objective - 1e-9


@pytest.mark.parametrize("seed", few(range(6), 3))
def test_a_search_finds_every_pattern_above_its_threshold(seed: int):
    master, pricer = prepared(small(seed))
    arrays, draw = master.arrays.packing, np.random.default_rng(seed)
    on_it, net = every_pattern(arrays)
    for _ in range(6):
        duals = of_tasks(arrays.reservation_price * draw.uniform(0, 0.8, arrays.classes))
        reduced = net - on_it @ duals.task
        best = pricer.improving(duals, 1e-6, 10**6)
        assert best.complete
        assert best.bound >= reduced.max() - pricer.noise(duals)
        for delta in (0.0, float(np.abs(reduced).min() * 2), float(np.quantile(np.abs(reduced), 0.3))):
            listed = pricer.list_columns(duals, delta, 10**5)
            wanted = {row.tobytes() for row in on_it[reduced >= -delta]}
            assert wanted <= {row.tobytes() for row in listed.on_it}
            assert len(listed.names) == len(set(listed.names))
            assert pricer.list_columns(duals, delta, len(listed.names) - 1) is None


@pytest.mark.parametrize("seed", range(6))
def test_any_duals_give_a_bound_that_no_configuration_beats(seed: int):
    data = small(seed)
    master, pricer = prepared(data)
    arrays, draw = master.arrays.packing, np.random.default_rng(seed)
    optimum = exact(data, TIGHT, parameters=LISTED).objective / float(arrays.price_unit)
    for scale in (0.05, 0.3, 1.0):
        duals = of_tasks(arrays.reservation_price * draw.uniform(0, scale, arrays.classes))
        reduced = pricer.improving(duals, 1e-6, 5).bound + pricer.noise(duals)
        assert master.bound(duals, reduced, master.max_paying_instances) >= optimum * (1 - 1e-9)


@pytest.mark.parametrize("rounds", [1, 2, 4])
def test_the_bound_of_an_unfinished_linear_program_holds(rounds: int):
    data = small(1)
    master, pricer = prepared(data)
    alone = SavingColumns.of(-1, np.eye(master.arrays.packing.classes, dtype=np.int64))
    made = Generation(master, pricer, alone, Options(effort=rounds), Stopwatch(), pricer.parameters).run()
    unit = float(master.arrays.packing.price_unit)
    assert made.bound * unit >= exact(data, TIGHT, parameters=LISTED).objective - 1e-9


def test_few_tasks_on_an_instance_still_give_a_valid_bound():
    data = small(3)
    proven = exact(data, TIGHT, parameters=LISTED)
    neither = EvaExactParameters(saving_patterns=60, saving=SavingParameters(most_tasks=0))
    assert few_patterns(packing_arrays(data), limit=60)[0].on_it.sum(axis=1).max() < 5
    result = exact(data, parameters=neither)
    assert result.info["method"] == "set partitioning"
    assert result.objective <= proven.objective + 1e-9
    assert result.bound >= proven.objective - 1e-9


def test_a_search_cut_short_is_bounded_by_the_least_cost():
    data = small(2)
    proven = exact(data, TIGHT, parameters=LISTED)
    cut = EvaExactParameters(saving_patterns=0, saving=SavingParameters(nodes=1, listing_nodes=1))
    result = exact(data, parameters=cut)
    assert result.objective <= proven.objective + 1e-9
    assert result.bound >= proven.objective - 1e-9
    assert result.status != "optimal"


def test_many_workloads_are_packed_better_than_by_the_heuristic_and_a_start_is_kept():
    data = random_workloads(60, 20, 0, least_throughput=0.6).data
    heuristic = full_reconfiguration(data)
    result = exact(data, Options(effort=40), start=heuristic.solution)
    assert heuristic.objective < result.objective <= result.bound * (1 + 1e-9)
    assert result.gap <= 0.02
    again = exact(data, Options(effort=1), start=result.solution)
    assert check(data, again.solution).objective >= result.objective


def cut_short(monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """Let the clock of so many parts of column generation run out at once."""
    left = [times]

    class Cut(Generation):
        def run(self):
            left[0] -= 1
            self.clock.limit_s = self.clock.limit_s if left[0] < 0 else 0.0
            return super().run()

    monkeypatch.setattr(search, "Generation", Cut)


def test_column_generation_goes_on_while_time_is_left(monkeypatch: pytest.MonkeyPatch):
    data = small(5)
    cut_short(monkeypatch, 1)
    found = exact(data, Options(time_limit=600.0), parameters=GENERATED)
    assert (found.status, found.termination) == ("optimal", "finished")


def test_what_time_ended_is_not_called_an_effort_limit(monkeypatch: pytest.MonkeyPatch):
    data = small(5)
    cut_short(monkeypatch, 2)
    found = exact(data, Options(time_limit=1.0), parameters=GENERATED)
    assert (found.status, found.termination, found.reason) == ("feasible", "time_limit", "time limit")


def test_nets_of_a_million_in_prices_of_nine_decimals_are_within_what_the_linear_program_takes():
    """A price unit is 2e-9 USD/h there, so that the nets are 1e14 units, on which HiGHS gives up by itself."""
    tasks = [("a", 1, 3.0, 1.0, {}), ("b", 1, 2.0, 2.0, {"job": "j"}), ("c", 2, 1.0, 1.0, {"job": "j"})]
    tasks.append(("d", 1, 1.0, 1.0, {"job": "own", "tasks_in_job": 4}))
    pairs = {"ab": 0.95, "ac": 1.0, "ba": 0.9, "bb": 1.0, "bc": 1.0, "bd": 0.95, "ca": 1.0, "da": 0.9, "db": 1.0}
    data = EvaPacking.model_validate(
        {
            "resources": ["r"],
            "instance_types": [
                {"name": "k0", "family": "f", "capacity": {"r": 5.0}, "usd_per_hour": 999999.0},
                {"name": "k1", "family": "f", "capacity": {"r": 0.0}, "usd_per_hour": 999998.999999998},
            ],
            "tasks": [
                {"workload": name, "count": n, "demand": {"default": {"r": usual}, "f": {"r": here}}, **job}
                for name, n, usual, here, job in tasks
            ],
            "throughput": {"default": 1.0, "pairwise": [(*pair, rate) for pair, rate in (pairs | {"dd": 0.9}).items()]},
            "objective": "net-saving",
            "spread": [{"tasks": ["b@j"], "max_per_instance": 1}],
        }
    )
    result = exact(data)
    assert (result.status, result.objective) == ("optimal", 2849997.15)


@pytest.mark.parametrize("solved", range(2))
def test_a_linear_program_that_fails_leaves_the_bound_of_the_duals_before(monkeypatch: pytest.MonkeyPatch, solved: int):
    data, done = small(4), 0
    best = exact(data)

    def fails(*given: object) -> None:
        nonlocal done
        done += 1
        if done > solved:
            raise SolveFailed("numbers too far apart")
        reoptimize(*given)

    monkeypatch.setattr(linear_program, "reoptimize", fails)
    found = exact(data, parameters=LISTED)
    assert done == solved + 1
    assert found.objective == pytest.approx(best.objective)
    assert found.bound >= best.objective


@pytest.mark.parametrize("seed", range(8))
def test_what_fits_each_resource_fits_their_sum_which_bounds_no_worse(seed: int):
    draw = np.random.default_rng(seed)
    size = (1, 40, 10**6, 10**13)[seed % 4]
    capacity = draw.integers(size, 8 * size + 1, 3)
    demand = draw.integers(0, capacity // 2 + 1, (6, 3))
    most, gain = draw.integers(1, 5, 6), draw.uniform(-0.2, 1.0, 6)
    need, room = add_surrogate(demand, capacity, most, gain)
    assert (need[:, :3] == demand).all()
    assert (room[:3] == capacity).all()
    spent = np.empty(6)
    bounds = [knapsack(gain, np.ascontiguousarray(need[:, r]), float(room[r]), most, 0, spent) for r in range(4)]
    assert size > 10**12 or bounds[3] <= min(bounds[:3]) * (1 + 1e-3) + 1e-9
    best = 0.0
    for on_it in product(*(range(m + 1) for m in most.tolist())):
        if (on_it @ demand <= capacity).all():
            assert (on_it @ need <= room).all()
            best = max(best, float(on_it @ gain))
    assert min(bounds) >= best - 1e-9


def test_where_no_class_is_searched_the_sum_of_resources_is_nothing():
    need, room = add_surrogate(
        np.zeros((0, 2), dtype=np.int64), np.array([4, 0]), np.zeros(0, dtype=np.int64), np.zeros(0)
    )
    assert need.shape == (0, 3)
    assert room.tolist() == [4, 0, 0]


def test_small_tasks_on_large_instances_are_solved_to_the_end():
    data = random_workloads(90, 20, 1, least_throughput=0.98).data
    draw = random.Random(0)
    amounts = [{"default": {"gpu": 0, "cpu": draw.randint(1, 4), "ram_gb": draw.randint(4, 20)}} for _ in data.tasks]
    tasks = [task.model_copy(update={"demand": d}) for task, d in zip(data.tasks, amounts, strict=True)]
    master, pricer = prepared(
        EvaPacking.model_validate({**data.model_dump(), "tasks": [t.model_dump() for t in tasks]})
    )
    first = SavingColumns.of(NEW, np.eye(master.arrays.packing.classes, dtype=np.int64))
    few = SavingParameters(listing_nodes=50_000)
    assert Generation(master, pricer, first, TIGHT, Stopwatch(), few).run().converged
