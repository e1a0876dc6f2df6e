"""Test what Eva's policies learn over time, their compiled set values and the horizon."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from heuristics.eva.online_eva import MIN_SLOTS, Horizon, LearnedTable, Rentable
from heuristics.eva.online_kernels import NOBODY, tnrp_of
from heuristics.eva.online_plan import SetOrder
from instances.eva.learned import LearnedThroughput, Observation
from instances.eva.online import CloudJobView, CloudView
from tests.eva_cloud_cases import random_cloud


def seen(job: str, kind: str, beside: tuple[str, ...], throughput: float, tasks: int = 2) -> Observation:
    return Observation(kind, beside, throughput, job, tasks)


def test_a_set_is_believed_as_observed_or_as_its_pairs_or_by_default():
    learned = LearnedThroughput(0.95)
    assert learned.believed("a", ("b", "c")) == 0.95**2
    learned.note([[seen("1", "a", ("b",), 0.8, 1), seen("2", "b", ("a",), 0.9, 1)]])
    assert learned.believed("a", ()) == 1
    assert learned.believed("a", ("b",)) == 0.8
    assert learned.believed("a", ("b", "b")) == pytest.approx(0.64)
    assert learned.believed("a", ("b", "c")) == pytest.approx(0.8 * 0.95)
    learned.note([[seen("1", "a", ("b", "c"), 0.5, 1)]])
    assert learned.believed("a", ("b", "c")) == 0.5
    learned.note([[seen("1", "a", ("b",), 0.6, 1)]])
    assert learned.believed("a", ("b",)) == pytest.approx(0.7)
    assert learned.pairs(["a", "b"]).pairwise == (("a", "b", 0.7), ("b", "a", 0.9))
    assert learned.pairs(["a", "c"]).pairwise == ()


def test_a_group_that_is_observed_again_counts_again():
    learned, group = LearnedThroughput(0.95), (seen("1", "a", ("b",), 0.8, 1),)
    for _ in range(3):
        learned.note([group])
    learned.note([(seen("2", "a", ("b",), 0.4, 1),)])
    assert learned.believed("a", ("b",)) == pytest.approx((3 * 0.8 + 0.4) / 4)


@pytest.mark.parametrize(
    ("known", "blamed"),
    [
        ({}, "y"),  # nothing known: the one with the most tasks beside it
        ({"x": 0.9}, "y"),  # what is known is above what is observed: the unknown one
        ({"x": 0.6}, "x"),  # what is known is not: the lowest known
        ({"x": 0.9, "y": 0.95}, "x"),  # all known: the lowest, though it is above what is observed
    ],
)
def test_of_a_job_of_several_tasks_one_is_blamed(known: dict[str, float], blamed: str):
    learned = LearnedThroughput(0.95)
    beside = {"x": ("p",), "y": ("p", "q")}
    for name, throughput in known.items():
        learned.add((name, beside[name]), throughput)
    before = {name: learned.believed(name, beside[name]) for name in beside}
    both = [[seen("j", "x", beside["x"], 0.7)], [seen("j", "y", beside["y"], 0.7)]]
    learned.note(both[:1])  # one of two tasks tells nothing
    assert {name: learned.believed(name, beside[name]) for name in beside} == before
    learned.note(both)
    after = {name: learned.believed(name, beside[name]) for name in beside}
    assert [name for name in beside if after[name] != before[name]] == [blamed]


def test_compiled_code_believes_what_the_table_believes():
    """TNRP of random sets, also of sets that were observed, once the hash table has had to grow."""
    data = random_cloud(0)
    rentable = Rentable(data)
    learned, table = LearnedThroughput(0.95), LearnedTable(rentable.names, 0.95)
    rng = np.random.default_rng(0)
    names = rentable.names
    for size in range(1, 8):
        for beside in product(names, repeat=size):
            if list(beside) == sorted(beside):
                for name in names[:-1]:  # of the last nothing is observed
                    learned.add((name, beside), float(rng.uniform(0.5, 1)))
    table.update(learned)
    assert len(table.table.keys) > MIN_SLOTS
    for _ in range(200):
        kinds = rng.integers(len(names), size=rng.integers(1, 9)).tolist()
        sizes = rng.integers(1, 4, size=len(kinds)).tolist()
        tasks = rentable.tasks(kinds, sizes, [NOBODY] * len(kinds))
        rates = [
            learned.believed(names[kind], tuple(sorted(names[k] for k in kinds[:i] + kinds[i + 1 :])))
            for i, kind in enumerate(kinds)
        ]
        price = [rentable.reservation_price[kind] for kind in kinds]
        alone = tnrp_of(tasks, table.table, np.arange(len(kinds)), len(kinds), NOBODY, False)
        assert alone == pytest.approx(sum(p * rate for p, rate in zip(price, rates, strict=True)), rel=1e-12)
        whole = tnrp_of(tasks, table.table, np.arange(len(kinds) - 1), len(kinds) - 1, len(kinds) - 1, True)
        charged = [p * max(0, 1 - n * (1 - rate)) for p, n, rate in zip(price, sizes, rates, strict=True)]
        assert whole == pytest.approx(sum(charged), rel=1e-12)


def view(now: float, jobs: dict[str, float], finished: dict[str, float]) -> CloudView:
    found = CloudView(now, (), {}, {}, {}, {}, {}, LearnedThroughput(0.95), arrived=(), finished=finished)
    found.jobs = {name: CloudJobView(name, arrival, 1.0, ()) for name, arrival in jobs.items()}
    return found


def test_the_horizon_is_the_time_until_full_has_won_and_then_the_estimate():
    horizon = Horizon()
    assert horizon.seconds(900) == 900
    horizon.update(view(300, {"a": 100.0, "b": 200.0}, {}), {"a", "b"})
    horizon.note(view(600, {"b": 200.0}, {"a": 500.0}))
    horizon.update(view(600, {"b": 200.0}, {"a": 500.0}), {"b"})
    assert horizon.events == [100, 200, 500]
    horizon.won = 1
    assert horizon.seconds(900) == pytest.approx(-200 / math.log(1 - 1 / 3))
    horizon.won = 3
    assert horizon.seconds(900) == 0
    horizon.won = 4
    assert math.isnan(horizon.seconds(900))


def test_jobs_come_in_the_order_of_a_set_of_their_numbers():
    order = SetOrder()
    names = [f"j{i}" for i in range(40)]
    first = view(0, dict.fromkeys(names, 0.0), {})
    first.arrived = names
    order.update(first)
    assert list(order.jobs) == [names[i] for i in set(range(40))]
    second = view(300, dict.fromkeys(names[1:], 0.0), {"j0": 200.0})
    second.version = 1
    order.update(second)
    assert "j0" not in list(order.jobs)
    assert len(list(order.jobs)) == 39
