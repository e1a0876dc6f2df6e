"""Test Eva's certificates against enumeration and optima, and that tampered proofs fail."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from instances import CheckFailed, InputError, Options, Stopwatch
from instances.eva import EvaPacking, packing_arrays, table_7
from instances.eva.vector_packing import caprara_toth
from instances.fields import STEPS
from instances.proofs.eva.best_pattern import Room, find_best_pattern
from instances.proofs.eva.certificate import Branch, Packing, find_min_sum, prove_packing
from models.eva import exact
from models.eva.certificate import PricedTree, certificate, grow_by_method
from models.eva.configuration import configuration
from tests.certificates.tampering import tampered_json
from tests.eva_cases import best_packing, kind, packing, packings, random_packing, requests, task
from tests.sampling import few

FEW = Options(effort=300)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_the_best_pattern_is_the_best_of_all(seed):
    draw = np.random.default_rng(seed)
    classes, resources = int(draw.integers(1, 5)), int(draw.integers(1, 4))
    fine = 10 ** int(draw.integers(0, 8))  # so that bounds are on coarser steps than what fits
    demand = (draw.integers(0, 5, (classes, resources)) * fine + draw.integers(0, 2)).tolist()
    capacity = (draw.integers(0, 9, resources) * fine).tolist()
    count, value = draw.integers(0, 4, classes).tolist(), draw.integers(0, 9, classes).tolist()
    best = 0
    for held in itertools.product(*(range(n + 1) for n in count)):
        if (np.array(held) @ np.array(demand) <= np.array(capacity)).all():
            best = max(best, sum(a * v for a, v in zip(held, value, strict=True)))
    target = int(draw.integers(0, best + 2))
    answer = find_best_pattern(Room(demand, capacity, count), value, target)
    worth, found = answer.worth, answer.pattern
    assert answer.complete
    assert worth == max(best, target)
    assert bool(found) == (best > target)
    if found:
        assert sum(a * v for a, v in zip(found, value, strict=True)) == best
        assert (np.array(found) @ np.array(demand) <= np.array(capacity)).all()
        assert all(a <= n for a, n in zip(found, count, strict=True))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=4), st.integers(0, 200))
def test_the_find_min_sum_of_prices_is_the_least_of_all(prices, amount):
    sums = {0}
    while True:
        more = {s + p for s in sums for p in prices if s + p <= amount + 40} - sums
        if not more:
            break
        sums |= more
    assert find_min_sum(prices, amount) == min(s for s in sums if s >= amount)


@settings(max_examples=20, deadline=None)
@given(packings())
def test_every_packing_is_proved(data):
    result = exact(data)
    made = certificate(data, result.solution, result.bound, FEW)
    proven = prove_packing(data, made.text)
    assert proven.bound == made.bound
    assert float(made.bound) <= best_packing(data) + 1e-9


@pytest.mark.parametrize("seed", few(range(8), 3))
def test_packings_by_several_resources_and_families_are_proved(seed: int):
    data = random_packing(seed).data
    result = exact(data)
    made = certificate(data, result.solution, result.bound, FEW)
    assert prove_packing(data, made.text).bound == made.bound
    assert float(made.bound) == result.bound


@pytest.mark.parametrize(
    ("number", "items", "seed", "optimum"), [(4, 200, 0, 26), (4, 200, 1, 26), (5, 100, 0, 7), (10, 51, 0, 17)]
)
def test_the_linear_program_over_tasks_is_the_whole_proof(number: int, items: int, seed: int, optimum: int):
    data = caprara_toth(number, items, seed).data
    made = certificate(data, None, float(optimum), Options(effort=1))  # a second tree that is grown takes more
    assert (made.bound, made.how) == (optimum, "tree with integer duals, 1 leaf")
    assert prove_packing(data, made.text).bound == optimum


@pytest.mark.parametrize(
    "data",
    [
        *few((table_7(200, seed).data for seed in range(4)), 1),
        *few((random_packing(seed).data for seed in range(4)), 2),
        *(caprara_toth(number, 24, 0, types="three").data for number in (1, 6)),
    ],
)
def test_the_tree_that_solves_leaves_nothing_to_be_grown(data: EvaPacking):
    result = exact(data)
    arrays = packing_arrays(data)
    instances = arrays.groups(result.solution)
    tree = PricedTree(Packing(data), Stopwatch())
    tree.take(grow_by_method(arrays, configuration(instances), arrays.cost(instances), Options()))
    assert tree.bound * tree.packing.unit == arrays.cost(instances) * arrays.price_unit * STEPS


def test_a_tree_proves_what_no_single_linear_program_does(tree):
    data, text, result = tree
    assert prove_packing(data, text).how == "tree with integer duals, 12 leaves"
    assert float(prove_packing(data, text).bound) == result.objective


def test_a_tree_that_a_limit_cuts_off_proves_less(tree):
    data, _, result = tree
    made = certificate(data, result.solution, result.bound, Options(effort=2))
    assert prove_packing(data, made.text).bound == made.bound
    assert 0.99 * result.objective < float(made.bound) < result.objective


@pytest.fixture(scope="module")
def tree():
    data = table_7(200, 1).data
    result = exact(data)
    return data, certificate(data, result.solution, result.bound, Options()).text, result


@pytest.mark.parametrize("seed", few(range(40), 12))
def test_a_tampered_proof_is_refused(seed: int, tree):
    data, text, _ = tree
    with pytest.raises((CheckFailed, InputError)):
        prove_packing(data, tampered_json(text, seed))


def test_a_leaf_that_stands_for_both_sides_is_refused(tree):
    data, text, _ = tree
    content = json.loads(text)
    inner = next(node for node in content["nodes"] if "children" in node)
    inner["children"][1] = inner["children"][0]
    with pytest.raises(CheckFailed):
        prove_packing(data, json.dumps(content))


def test_the_sides_of_a_branch_leave_nothing_out():
    data = packing([{**k, "family": f} for k, f in zip(KINDS, "fgg", strict=True)], [task("a", 5, 2), task("b", 3, 1)])
    here = Packing(data)
    for branch in (
        Branch(kind="instances", of=(1,), amount=2),
        Branch(kind="spent", of=(1, 2), amount=8),
        Branch(kind="placed", of=(1, 2), tasks=(0,), amount=1),
    ):
        low, high = here.sides(branch)
        for counts in itertools.product(range(4), repeat=3):  # instances of each type, or tasks on each
            if branch.kind == "placed" and sum(counts) != 5:
                continue
            weight = here.price if branch.kind == "spent" else (1, 1, 1)

            def holds(side, counts=counts, weight=weight):
                amount = sum(n * w for k, (n, w) in enumerate(zip(counts, weight, strict=True)) if k in side.of)
                return amount >= side.amount if side.least else amount <= side.amount

            assert holds(low) != holds(high)


KINDS = [
    {"name": name, "capacity": {"c": room}, "usd_per_hour": price}
    for name, room, price in (("x", 4, 3.0), ("y", 2, 2.0), ("z", 9, 6.0))
]


def test_distinct_requests_whose_patterns_nobody_lists_are_proved():
    data = requests(40, 1)
    made = certificate(data, None, 483.48, Options(effort=20))
    assert float(prove_packing(data, made.text).bound) == 483.48


@pytest.mark.parametrize("seed", [0])
def test_a_proof_of_another_instance_or_version_is_refused(tree, seed: int):
    _, text, _ = tree
    with pytest.raises(InputError, match="of another instance"):
        prove_packing(table_7(200, seed).data, text)
    with pytest.raises(InputError, match="gapwise: must be 1, got 2"):
        prove_packing(tree[0], text.replace('"gapwise_certificate": 1', '"gapwise_certificate": 2'))


MILLION = [kind("k0", 6.0, 1e6), kind("k1", 3.0, 999999.999999997)]
FAR_APART = [kind("k0", 4.0, 3e6), kind("k1", 2.0, 2.0, "g"), kind("k2", 2.0, 1e-9)]


@pytest.mark.parametrize(
    ("kinds", "tasks"),
    [
        (MILLION, [task("a", 1, 3.0, {"f": 1.0}), task("b", 1, 2.0), task("c", 1, 3.0), task("d", 1, 2.0)]),
        (
            FAR_APART,
            [task("a", 1, 1.0, {"g": 3.0}), task("b", 2, 2.0), task("c", 1, 1.0), task("d", 2, 0.0, {"f": 1.0})],
        ),
    ],
    ids=["equal but for 3e-9", "3e15 apart"],
)
def test_prices_of_many_digits_are_proved_where_a_float_holds_few_of_them(kinds, tasks):
    data = packing(kinds, tasks)
    result = exact(data)
    assert result.status == "optimal"
    proven = prove_packing(data, certificate(data, result.solution, result.bound, Options()).text).bound
    assert result.objective * (1 - 1e-9) <= proven <= result.objective * (1 + 1e-15)
