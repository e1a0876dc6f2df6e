"""Test Algorithm 1 of Eva, Partial Reconfiguration and the criterion between them."""

from __future__ import annotations

import math
import pickle

import pytest

from heuristics.eva import (
    MigrationDelays,
    expected_duration,
    full_reconfiguration,
    full_reconfiguration_first,
    migration_cost,
    no_packing,
    partial_reconfiguration,
    prefers_full,
    provision_saving,
    reconfigure,
)
from instances import InputError, check
from instances.eva import EvaPacking, RentedInstance, packing_arrays, table_3, table_7
from instances.eva.packing import Objective


def test_table_3_as_the_paper_walks_through_it():
    result = full_reconfiguration(table_3().data)
    assert result.objective == 12.8
    assert result.solution == {
        "instances": [
            {"type": "it1", "count": 1, "tasks": {"t1": 1, "t2": 1, "t4": 1}},
            {"type": "it3", "count": 1, "tasks": {"t3": 1}},
        ]
    }
    assert no_packing(table_3().data).objective == 16.2


def test_severe_interference_keeps_tasks_apart():
    """Section 4.3: at throughputs 0.7 and 0.8 t1 and t2 together are worth 10.8, less than it1."""
    base = table_3("net-saving").data
    throughput = {"default": 1.0, "pairwise": [("t1", "t2", 0.7), ("t2", "t1", 0.8)]}
    data = EvaPacking.model_validate({**base.model_dump(), "throughput": throughput})
    groups = full_reconfiguration(data).solution["instances"]
    assert not any({"t1", "t2"} <= set(group["tasks"]) for group in groups)


def one_by_one(data: EvaPacking, aligned: bool) -> float:
    """Algorithm 1 line by line on single tasks: cost of its configuration. Shares no code with the heuristic."""
    arrays = packing_arrays(data.model_copy(update={"objective": "cost"}))
    unassigned = [c for c in range(arrays.classes) for _ in range(arrays.count[c])]
    worth, cost = arrays.reservation_price.tolist(), 0
    for k in sorted(range(len(arrays.price)), key=lambda k: -arrays.price[k]):
        while True:
            free, chosen, left = arrays.capacity[k].astype(float), [], list(unassigned)
            while True:
                fitting = sorted({c for c in left if (arrays.demand_of_type[k, c] <= free).all()})
                if not fitting:
                    break
                best = max(worth[c] for c in fitting)
                tied = [c for c in fitting if worth[c] == best]
                size = arrays.capacity[k].astype(float)
                score = {
                    c: sum(d * f / q**2 for d, f, q in zip(arrays.demand_of_type[k, c], free, size, strict=True) if q)
                    for c in tied
                }
                c = max(tied, key=score.__getitem__) if aligned else tied[0]
                chosen.append(c)
                left.remove(c)
                free = free - arrays.demand_of_type[k, c]
            if not chosen or sum(worth[c] for c in chosen) < arrays.price[k]:
                break
            cost += int(arrays.price[k])
            unassigned = left
    assert not unassigned
    return arrays.usd(cost)


@pytest.mark.parametrize("seed", range(4))
def test_classes_give_what_single_tasks_give(seed: int):
    data = table_7(120, seed).data
    assert full_reconfiguration(data).objective == pytest.approx(one_by_one(data, True))
    assert full_reconfiguration_first(data).objective == pytest.approx(one_by_one(data, False))


@pytest.mark.parametrize("seed", range(3))
def test_many_tied_classes_are_filled_alike(seed: int):
    data = table_7(120, seed).data
    arrays = packing_arrays(data)
    by_lists = full_reconfiguration(data).objective
    by_arrays = check(data, arrays.solution(reconfigure(arrays, many=0))).objective
    assert by_arrays == pytest.approx(by_lists)


@pytest.mark.parametrize("objective", ["cost", "net-saving"])
@pytest.mark.parametrize("seed", range(4))
def test_the_artifact_rents_the_cheapest_type_for_each_set_of_the_paper_s_algorithm(seed: int, objective: Objective):
    data = table_7(12, seed, objective=objective).data
    arrays = packing_arrays(data)
    paper, artifact = (reconfigure(arrays, moves_down=down) for down in (False, True))
    assert [group[1:] for group in artifact] == [group[1:] for group in paper]
    for kind, on_it, _ in artifact:
        held = {c: k for c, k in on_it.items() if k}
        holding = [
            price
            for price, demand, capacity in zip(arrays.price, arrays.demand_of_type, arrays.capacity, strict=True)
            if (sum(k * demand[c] for c, k in held.items()) <= capacity).all()
        ]
        assert arrays.price[kind] == min(holding)


@pytest.mark.parametrize("seed", range(3))
def test_without_losses_throughput_changes_nothing(seed: int):
    """At throughputs of 1 the fill by TNRP is the fill by RP."""
    base = table_7(80, seed).data
    saving = base.model_copy(update={"objective": "net-saving"})
    cost = full_reconfiguration(base).solution
    assert check(base, full_reconfiguration(saving).solution).objective == pytest.approx(check(base, cost).objective)


@pytest.mark.parametrize("seed", range(3))
def test_every_instance_pays(seed: int):
    """Line 14: the tasks of each instance are worth at least its price."""
    data = table_7(200, seed, objective="net-saving").data
    for group in full_reconfiguration(data).solution["instances"]:
        assert provision_saving(data, [RentedInstance(group["type"], group["tasks"])]) >= -1e-6


def test_partial_reconfiguration_keeps_what_pays_and_places_the_rest():
    data = table_3().data
    kept = RentedInstance("it1", {"t1": 1, "t2": 1})
    after = partial_reconfiguration(data, [kept, RentedInstance("it1", {"t3": 1}), RentedInstance("it4", {})])
    assert after[0] is kept  # worth 15 of 12
    placed = sorted((h.instance_type, tuple(h.tasks)) for h in after[1:])
    assert placed == [("it3", ("t3",)), ("it4", ("t4",))]


def test_partial_reconfiguration_of_nothing_is_a_full_one():
    data = table_7(100, 0, rows="ten", objective="net-saving").data
    after = partial_reconfiguration(data, [])
    groups = [{"type": h.instance_type, "count": 1, "tasks": dict(h.tasks)} for h in after]
    assert check(data, {"instances": groups}).violations == ()
    assert provision_saving(data, after) == pytest.approx(full_reconfiguration(data).objective)


def test_partial_reconfiguration_with_all_tasks_in_place_changes_nothing():
    data = table_3().data
    current = (RentedInstance("it1", {"t1": 1, "t2": 1, "t4": 1}), RentedInstance("it3", {"t3": 1}))
    assert partial_reconfiguration(data, current) == current


@pytest.mark.parametrize(
    ("current", "message"),
    [
        ([RentedInstance("it1", {"t9": 1})], "1 tasks t9 on instances, 0 in the cluster"),
        ([RentedInstance("it1", {"t1": 2})], "2 tasks t1"),
        ([RentedInstance("it9", {"t1": 1})], "unknown instance type 'it9'"),
    ],
)
def test_partial_reconfiguration_refuses_what_is_not_there(current: list[RentedInstance], message: str):
    with pytest.raises(InputError, match=message):
        partial_reconfiguration(table_3().data, current)


DELAYS = MigrationDelays(
    ready_s=209.0,
    checkpoint_s={"t1": 2, "t2": 3, "t3": 7, "t4": 30},
    launch_s={"t1": 80, "t2": 143, "t3": 2, "t4": 15},
)


def test_migration_cost_by_hand():
    before = [RentedInstance("it1", {"t1": 1, "t2": 1}, "a"), RentedInstance("it3", {"t3": 1}, "b")]
    assert migration_cost(table_3().data, before, before, DELAYS) == 0
    moved = [before[0], RentedInstance("it4", {"t4": 1}), before[1]]
    assert migration_cost(table_3().data, before, moved, DELAYS) == pytest.approx((209 + 15) / 3600 * 0.4)
    gone = [RentedInstance("it1", {"t1": 1, "t3": 1}), RentedInstance("it2", {"t2": 1})]
    # it1 loses t2 and gains t3, it2 is new, it3 is paid while t3 is saved
    assert migration_cost(table_3().data, before, gone, DELAYS) == pytest.approx(
        (2 + 3) / 3600 * 12 + (209 + 143) / 3600 * 3 + 7 / 3600 * 0.8
    )


def test_migration_matches_equal_instances_by_common_tasks():
    before = [RentedInstance("it1", {"t1": 1}, "a"), RentedInstance("it1", {"t2": 1}, "b")]
    after = [RentedInstance("it1", {"t2": 1}), RentedInstance("it1", {"t1": 1})]
    assert migration_cost(table_3().data, before, after, DELAYS) == 0


def test_the_id_of_an_instance_decides_what_moves():
    """The tasks of two instances of one type are exchanged: by tasks in common nothing would move."""
    before = [RentedInstance("it1", {"t1": 1}, "a"), RentedInstance("it1", {"t2": 1}, "b")]
    after = [RentedInstance("it1", {"t2": 1}, "a"), RentedInstance("it1", {"t1": 1}, "b")]
    assert migration_cost(table_3().data, before, after, DELAYS) == pytest.approx((2 + 80 + 3 + 143) / 3600 * 12)


def test_a_copy_of_a_cluster_migrates_like_the_cluster_itself():
    """An instance whose tasks all changed has none in common with itself; the id survives a copy, as objects do not."""
    data = table_3().data
    before = [RentedInstance("it1", {"t1": 1, "t2": 1}, "a"), RentedInstance("it3", {}, "b")]
    after = [RentedInstance("it1", {"t4": 1}, "a"), RentedInstance("it3", {"t3": 1}, "b")]
    by_hand = (3 + 15) / 3600 * 12 + 2 / 3600 * 0.8
    for there in (after, pickle.loads(pickle.dumps(after))):
        assert migration_cost(data, before, there, DELAYS) == pytest.approx(by_hand)


def test_a_task_that_moves_must_have_a_delay():
    before, after = [RentedInstance("it1", {"t1": 1}, "a")], [RentedInstance("it1", {}, "a")]
    with pytest.raises(InputError, match="delays: none for task 't1'"):
        migration_cost(table_3().data, before, after, MigrationDelays(209.0, {}, {}))


def test_partial_reconfiguration_keeps_the_ids_of_what_stays():
    current = [RentedInstance("it1", {"t1": 1, "t2": 1}, "a"), RentedInstance("it1", {"t3": 1}, "b")]
    after = partial_reconfiguration(table_3().data, current)
    assert [instance.id for instance in after] == ["a", None, None]


def test_expected_duration():
    assert expected_duration(6, 0.5) == pytest.approx(1 / (6 * math.log(2)))
    assert expected_duration(6, 0) == math.inf
    assert expected_duration(6, 1) == 0
    for bad in ((0, 0.5), (-1, 0.5), (math.nan, 0.5), (6, 1.5), (6, -0.1)):
        with pytest.raises(InputError):
            expected_duration(*bad)


def test_the_criterion():
    assert prefers_full(10, 3, 8, 1, duration_hours=1.1)
    assert not prefers_full(10, 3, 8, 1, duration_hours=1.0)
    assert prefers_full(10, 300, 8, 1, duration_hours=math.inf)
    assert not prefers_full(8, 3, 8, 1, duration_hours=math.inf)
