"""Test that a method stops in a linear program at its limit, with a solution and a proven bound."""

from __future__ import annotations

import time
from collections.abc import Callable

import highspy
import pytest

import instances.clock
import models.core.highs
from instances import Options, check
from instances.eva import EvaPacking, PackingArrays, packing_arrays, random_workloads, table_7
from instances.eva.vector_packing import caprara_toth
from instances.proofs.eva import prove_packing
from models.eva import exact
from models.eva.branch_and_price import branch_and_price
from models.eva.certificate import certificate
from models.eva.column_generation import column_generation
from models.eva.configuration import price
from models.eva.item_packing import pack_items
from models.eva.parameters import DEFAULTS, EvaExactParameters, ItemParameters
from models.eva.pricers import list_patterns
from tests.models.eva.item_packing.test_packing import TREE_ONLY, odd_cycles
from tests.sampling import few

LIMIT = Options(time_limit=1e6)
SHORT = 6  # linear programs whose time ends at once, after the first that does


class EndingTime:
    """A clock that jumps beyond every limit in the `last`-th linear program; what follows takes all its time in vain.

    `runs`: linear programs in all, `late` those after the end, `free` those of them that no limit was given for.
    """

    def __init__(self, last: int) -> None:
        self.last, self.runs, self.late, self.free, self.jump = last, 0, 0, 0, 0.0
        self._rerun = models.core.highs.rerun

    def cpu_seconds(self) -> float:
        """CPU seconds of this process, and the jump."""
        return time.process_time() + self.jump

    def rerun(self, h: highspy.Highs, seconds: float = float("inf")) -> highspy.HighsModelStatus:
        """Solve a linear program, or end it for its time."""
        self.runs += 1
        if self.runs >= self.last:
            self.jump = self.jump or 1e7
            self.late += 1
            self.free += seconds == float("inf")
            if seconds < float("inf"):  # a linear program that ends for its time has taken all of it
                self.jump += max(0.0, seconds)
                seconds = min(seconds, 0.0)
        return self._rerun(h, seconds)


@pytest.fixture
def ending(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], EndingTime]:
    """Build a clock that ends in a given linear program."""

    def begin(last: int) -> EndingTime:
        clock = EndingTime(last)
        monkeypatch.setattr(instances.clock, "cpu_seconds", clock.cpu_seconds)
        monkeypatch.setattr(models.core.highs, "rerun", clock.rerun)
        return clock

    return begin


WORKLOADS = random_workloads(30, 12, 1, least_throughput=0.9).data
MANY = table_7(60, 0).data
CYCLES = odd_cycles([5, 5], 1)


@pytest.mark.parametrize("last", [1, 2, 4, 9])
@pytest.mark.parametrize(
    "parameters",
    [EvaExactParameters(first_saving_patterns=0), EvaExactParameters(first_saving_patterns=10**6)],
    ids=["generated", "listed"],
)
def test_net_saving_keeps_its_bound(ending, parameters: EvaExactParameters, last: int):
    best = exact(WORKLOADS, parameters=parameters)
    clock = ending(last)
    result = exact(WORKLOADS, LIMIT, parameters=parameters)
    check(WORKLOADS, result.solution)
    assert clock.late <= SHORT
    assert clock.free <= 1
    assert result.objective <= best.bound
    assert result.bound is None or result.bound >= best.objective


@pytest.mark.parametrize("last", [1, 2, 3, 8, 30])
def test_a_tree_over_listed_patterns_keeps_its_bound_and_all_its_leaves(ending, last: int):
    arrays = packing_arrays(table_7(60, 2).data)
    best = branch_and_price(arrays, list_patterns(arrays, DEFAULTS.branch_and_price)).cost
    clock = ending(last)
    outcome = branch_and_price(arrays, list_patterns(arrays, DEFAULTS.branch_and_price), LIMIT)
    assert clock.late <= SHORT
    assert outcome.termination == "time_limit"
    assert clock.free == (last == 1)
    assert outcome.bound <= best <= price(arrays, outcome.configuration)
    assert outcome.proof.bound <= best
    assert outcome.proof.leaves


@pytest.mark.parametrize("last", few([1, 2, 3, 4, 5], 3))
@pytest.mark.parametrize(
    ("arrays", "parameters"),
    [(CYCLES, TREE_ONLY), (packing_arrays(caprara_toth(9, 24, 0).data), ItemParameters())],
    ids=["tree", "dives"],
)
def test_packing_task_by_task_keeps_its_bound(ending, arrays: PackingArrays, parameters: ItemParameters, last: int):
    best = pack_items(arrays, parameters=parameters).cost
    clock = ending(last)
    outcome = pack_items(arrays, LIMIT, parameters=parameters)
    assert clock.runs >= last
    assert clock.late <= SHORT
    assert clock.free == (last == 1)
    assert outcome.termination != "error"
    assert 0 < outcome.bound <= best <= outcome.cost


@pytest.mark.parametrize("last", [1, 2, 4, 8])
def test_column_generation_keeps_its_bound(ending, last: int):
    arrays = packing_arrays(MANY)
    best = column_generation(arrays).cost
    clock = ending(last)
    outcome = column_generation(arrays, LIMIT)
    assert clock.runs >= last
    assert clock.late <= SHORT
    assert outcome.termination != "error"
    assert 0 < outcome.bound <= best <= outcome.cost


@pytest.mark.parametrize("last", [1, 2, 5, 20])
@pytest.mark.parametrize("objective", ["cost", "net-saving"])
def test_a_certificate_proves_what_it_had_time_for(ending, objective: str, last: int):
    data: EvaPacking = table_7(60, 3, objective=objective).data
    result = exact(data)
    clock = ending(last)
    made = certificate(data, result.solution, result.bound, LIMIT)
    assert clock.late <= 2
    assert clock.free == 0
    proven = float(prove_packing(data, made.text).bound)
    assert proven == pytest.approx(float(made.bound))
    slack = 1e-6 * abs(result.objective)
    assert proven <= result.objective + slack if objective == "cost" else proven >= result.objective - slack
