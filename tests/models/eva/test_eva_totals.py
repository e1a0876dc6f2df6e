"""Test that surrogate bounds hold, packings on price lists, and certificates that verify."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter

import numpy as np
import pytest

from instances import Options, Stopwatch, check
from instances.errors import CheckFailed, InputError
from instances.eva import EvaPacking, packing_arrays
from instances.eva.price_lists import CLOUDS, Cloud, price_list
from instances.proofs.certificate import NoCertificate
from instances.proofs.eva import multisets
from instances.proofs.eva.certificate import Packing, PackingDecision, WrittenCover, prove_packing
from instances.proofs.eva.totals import NONE, Cover, compute_min_prices
from models.core.fixed_bins import FixedBins
from models.eva.certificate import certificate
from models.eva.parameters import TotalsParameters
from models.eva.totals import proof_by_totals, solve_totals
from tests.attacks.brute_eva import packing_optimum
from tests.eva_constrained_cases import random_constrained

SEEDS = range(12)


def least_by_enumeration(cover: Cover, price: list[int], most: list[int | None]) -> list[int]:
    counts = [range(min(cover.amount, 9 if m is None else m) + 1) for m in most]
    least = [NONE] * (cover.amount + 1)
    for number in itertools.product(*counts):
        held = sum(n * room for n, room in zip(number, cover.rooms, strict=True))
        cost = sum(n * p for n, p in zip(number, price, strict=True))
        for amount in range(min(held, cover.amount) + 1):
            least[amount] = min(least[amount], cost)
    return least


@pytest.mark.parametrize("seed", range(20))
def test_a_table_is_what_enumeration_says(seed: int):
    draw = random.Random(seed)
    kinds = draw.randint(1, 3)
    cover = Cover(tuple(draw.randint(0, 5) for _ in range(kinds)), draw.randint(0, 9))
    price = [draw.randint(0, 6) for _ in range(kinds)]
    most = [draw.choice((None, 0, 1, 2, 3)) for _ in range(kinds)]
    assert compute_min_prices(cover, price, most).tolist() == least_by_enumeration(cover, price, most)


def test_a_table_refuses_what_it_cannot_hold():
    with pytest.raises(NoCertificate, match="entries"):
        compute_min_prices(Cover((1,), 1 << 40), [1], [None])
    with pytest.raises(NoCertificate, match="too large"):
        compute_min_prices(Cover((1,), 1 << 20), [1 << 50], [None])


@pytest.mark.parametrize("seed", SEEDS)
def test_no_packing_beats_the_bound_of_any_covers(seed: int):
    data = random_constrained(seed)
    best = packing_optimum(data)
    if best is None:
        return
    packing, draw = Packing(data), random.Random(seed)
    optimum = int(best * 10**9 / packing.unit)
    covers = []
    for _ in range(4):
        shape = [[draw.choice((0, 1, 1, 2, 5)) for _ in packing.capacity[0]] for _ in packing.price]
        weights = shape if draw.random() < 0.5 else [shape[0]] * len(shape)
        counts = [draw.randint(0, 4) for _ in packing.count] if draw.random() < 0.5 else None
        covers.append(
            WrittenCover(
                weights=tuple(map(tuple, weights)),
                divisor=draw.choice((1, 1, 2, 3)),
                tasks=counts,
                searched=tuple(k for k in range(len(weights)) if draw.random() < 0.4),
            )
        )
        for some in ([covers[-1]], covers):
            assert packing.below_by_totals(some, 4 * optimum + 4) <= optimum
    found = proof_by_totals(data, None, *[optimum + 1] * 2, Options(effort=20))
    assert found is None or found.bound <= optimum


@pytest.mark.parametrize("seed", SEEDS)
def test_no_packing_of_some_numbers_of_instances_beats_the_bound_under_them(seed: int):
    data = random_constrained(seed, ("max_per_instance", "allowed_types"))
    answer = solve_totals(packing_arrays(data), Options(gap=0.0), parameters=TotalsParameters(many=0.0))
    if answer is None:
        return
    packing, draw = Packing(data), random.Random(seed)
    count = Counter(group["type"] for group in answer.solution["instances"] for _ in range(group["count"]))
    number = [count[kind.name] for kind in data.instance_types]
    cost = sum(n * price for n, price in zip(number, packing.price, strict=True))
    resources = range(len(packing.capacity[0]))
    covers = [WrittenCover(weights=((*(int(r == s) for s in resources),),) * len(number), divisor=1) for r in resources]
    for _ in range(6):
        decisions = [
            PackingDecision("instances", (k,), (), least, number[k])
            for k in range(len(number))
            for least in (True, False)
            if draw.random() < 0.4
        ]
        assert packing.below_by_totals(covers, 4 * cost + 4, decisions) <= cost
        assert packing.below_by_totals([], 4 * cost + 4, decisions) <= cost


@pytest.mark.parametrize("seed", SEEDS)
def test_what_the_method_calls_optimal_is(seed: int):
    data = random_constrained(seed)
    best = packing_optimum(data)
    whole = TotalsParameters(
        many=0.0, cuts=seed % 3, ejections=seed % 2, nodes=1 + seed % 5, parts=seed % 4, turns=1 + seed % 2
    )
    answer = solve_totals(packing_arrays(data), Options(gap=0.0), parameters=whole)
    if answer is None or answer.solution is None:
        return
    verdict = check(data, answer.solution)
    assert not verdict.violations
    assert best is not None
    assert answer.bound is not None
    assert answer.bound <= float(best) + 1e-9 <= verdict.objective + 2e-9
    if answer.reason is None:
        assert verdict.objective == pytest.approx(float(best), abs=1e-9)


def test_a_price_list_of_60_pods_is_packed():
    data = price_list(60, 3, cloud="drawn").data
    answer = solve_totals(packing_arrays(data), Options(effort=50))
    assert answer is not None
    verdict = check(data, answer.solution)
    assert not verdict.violations
    assert answer.bound <= verdict.objective <= 1.02 * answer.bound


@pytest.mark.parametrize("seed", range(3))
def test_a_search_too_short_to_find_a_multiset_is_given_some(seed: int):
    data = price_list(60, seed, cloud="gke").data
    answer = solve_totals(packing_arrays(data), Options(effort=50), parameters=TotalsParameters(many=0.0, steps=1))
    assert answer is not None
    verdict = check(data, answer.solution)
    assert not verdict.violations
    assert answer.bound <= verdict.objective <= 1.1 * answer.bound


@pytest.mark.parametrize(("pods", "cloud", "seed"), [(20, "gke", 3), (60, "gke", 4)])
def test_a_search_that_has_time_goes_on(pods: int, cloud: Cloud, seed: int):
    arrays = packing_arrays(price_list(pods, seed, cloud=cloud).data)
    at_once = TotalsParameters(many=0.0, cuts=0, multisets=0, turns=0)
    ended = solve_totals(arrays, Options(gap=0.0), parameters=at_once)
    assert ended is None or ended.reason is not None
    answer = solve_totals(arrays, Options(gap=0.0, time_limit=60.0), parameters=at_once)
    assert answer is not None
    assert answer.termination == "finished"
    assert answer.reason is None


@pytest.fixture(scope="module")
def proven() -> tuple[EvaPacking, str]:
    """Four instances have the room in all, but one of them cannot be filled: no cover of totals alone says so."""
    data = price_list(60, 4, cloud="gke").data
    answer = solve_totals(packing_arrays(data), Options())
    assert answer is not None
    assert answer.info["bound_by"] == "totals and HiGHS"
    made = certificate(data, answer.solution, answer.bound, Options())
    assert made.how == "surrogate cover inequalities"
    assert float(made.bound) == pytest.approx(check(data, answer.solution).objective)
    return data, made.text


def test_a_certificate_of_totals_holds(proven: tuple[EvaPacking, str]):
    data, text = proven
    assert prove_packing(data, text).how == "surrogate cover inequalities"


@pytest.mark.parametrize(
    ("forged", "error"),
    [
        ({"bound": 10**9}, CheckFailed),
        ({"covers": []}, CheckFailed),
        ({"covers": [{"weights": [[1]], "divisor": 1}]}, CheckFailed),
        ({"covers": [{"weights": [], "divisor": 1}]}, CheckFailed),
        ({"covers": None}, InputError),
        ({"bound": -1}, InputError),
        ({"bound": (1 << 61) + 1}, NoCertificate),
    ],
)
def test_a_forged_leaf_does_not(proven: tuple[EvaPacking, str], forged: dict[str, object], error: type[Exception]):
    data, text = proven
    content = json.loads(text)
    content["nodes"][0]["totals"] |= forged
    content["bound"] = content["nodes"][0]["totals"]["bound"]
    with pytest.raises(error):
        prove_packing(data, json.dumps(content))


@pytest.mark.parametrize("divisor", [0, -1, 1.5, "2", True, 1 << 120])
def test_a_forged_divisor_does_not(proven: tuple[EvaPacking, str], divisor: object):
    data, text = proven
    content = json.loads(text)
    content["nodes"][0]["totals"]["covers"][0]["divisor"] = divisor
    with pytest.raises(InputError):
        prove_packing(data, json.dumps(content))


@pytest.mark.parametrize("change", ["heavier", "lighter", "one less"])
def test_a_bound_above_what_the_covers_prove_does_not_hold(proven: tuple[EvaPacking, str], change: str):
    data, text = proven
    content = json.loads(text)
    leaf = content["nodes"][0]["totals"]
    for cover in leaf["covers"] if change != "one less" else []:
        first = 2 if change == "heavier" else 0
        cover["weights"] = [[first * row[0], *row[1:]] if k else row for k, row in enumerate(cover["weights"])]
    leaf["bound"] += change == "one less" or change == "heavier"
    content["bound"] = leaf["bound"]
    with pytest.raises(CheckFailed):
        prove_packing(data, json.dumps(content))


@pytest.mark.parametrize("weight", [-1, 1 << 62, 0.5, True, "1"])
def test_a_forged_weight_does_not(proven: tuple[EvaPacking, str], weight: object):
    data, text = proven
    content = json.loads(text)
    content["nodes"][0]["totals"]["covers"][0]["weights"][0][0] = weight
    with pytest.raises(InputError):
        prove_packing(data, json.dumps(content))


@pytest.mark.parametrize(
    ("forged", "error"),
    [
        ({"searched": [26]}, CheckFailed),
        ({"searched": [-1]}, InputError),
        ({"tasks": [1]}, CheckFailed),
        ({"tasks": [-1] * 32}, InputError),
        ({"tasks": [(1 << 62) - 1] * 32}, NoCertificate),
        ({"searched": []}, CheckFailed),
    ],
)
def test_a_forged_pattern_cover_does_not(
    proven: tuple[EvaPacking, str], forged: dict[str, object], error: type[Exception]
):
    data, text = proven
    content = json.loads(text)
    content["nodes"][0]["totals"]["covers"][-1] |= forged
    with pytest.raises(error):
        prove_packing(data, json.dumps(content))


def test_no_cover_may_be_missing_and_one_twice_says_no_more(proven: tuple[EvaPacking, str]):
    data, text = proven
    content = json.loads(text)
    leaf = content["nodes"][0]["totals"]
    *others, last = leaf["covers"]
    leaf["covers"] = [*others, others[0], last, last]
    assert prove_packing(data, json.dumps(content)).how == "surrogate cover inequalities"
    leaf["covers"] = others
    with pytest.raises(CheckFailed, match="meet all totals"):
        prove_packing(data, json.dumps(content))


def test_a_certificate_of_another_instance_does_not_hold(proven: tuple[EvaPacking, str]):
    other = price_list(60, 5, cloud="gke").data
    with pytest.raises(InputError, match="another instance"):
        prove_packing(other, proven[1])


def test_tables_that_take_too_much_memory_are_refused(proven: tuple[EvaPacking, str], monkeypatch: pytest.MonkeyPatch):
    data, text = proven
    packing, cover = Packing(data), json.loads(text)["nodes"][0]["totals"]["covers"][0]
    amount = packing.cover(WrittenCover.model_validate(cover)).amount
    monkeypatch.setattr(multisets, "MOST_ENTRIES", 3 * (amount // cover["divisor"] + 1))
    assert packing.below_by_totals([WrittenCover.model_validate(cover)] * 3, 10) == 10
    with pytest.raises(NoCertificate, match="80 MB"):
        packing.below_by_totals([WrittenCover.model_validate(cover)] * 4, 10)


def test_a_leaf_of_two_kinds_is_none(proven: tuple[EvaPacking, str]):
    data, text = proven
    content = json.loads(text)
    leaf = {"scale": 1, "tasks": [0] * len(data.tasks), "decisions": [], "types": [0] * 25, "bound": "0"}
    content["nodes"][0]["leaf"] = leaf
    with pytest.raises(CheckFailed, match="must be a leaf"):
        prove_packing(data, json.dumps(content))


def test_prices_and_rooms_of_the_lists_are_whole_and_the_seed_says_all():
    for cloud in [*CLOUDS, "drawn", "karpenter"]:
        one, two = (price_list(30, 7, cloud=cloud) for _ in range(2))  # type: ignore[arg-type]
        assert one == two
        rooms = np.array([list(kind.capacity.values()) for kind in one.data.instance_types])
        assert (rooms % 1 == 0).all()
        assert sum(task.count for task in one.data.tasks) == 30


@pytest.mark.parametrize("seed", range(4))
def test_rooms_that_hold_all_are_packed_and_no_packing_is_too_full(seed: int):
    draw = np.random.default_rng(seed)
    need, rooms = draw.integers(1, 9, (1, 4, 2)), 5 if seed % 2 else 3
    placed = draw.integers(0, 3, (rooms, 4))
    free = np.einsum("mn,nr->mr", placed, need[0])  # as much as a planted packing takes
    given = FixedBins(free, np.zeros(rooms, dtype=np.int64), need, placed.sum(axis=0))
    by_direction = given.pack_by_dot_product()
    shared = given.pack_by_lp_assignment(np.arange(rooms), placed.astype(float))
    tries = [by_direction, shared, given.repair_by_ejection(by_direction, 500, seed)]
    tries.append(given.fix_and_optimise(tries[-1], Options(seed=seed), Stopwatch(), 3))
    for packed in tries:
        assert (packed.placed.sum(axis=0) + packed.left == given.count).all()
        assert (packed.placed >= 0).all()
        assert (packed.left >= 0).all()
        assert given.fits(packed.placed)
        assert packed.complete == (packed.size == 0)
    assert tries[3].size <= tries[2].size <= tries[0].size
    assert given.solve_program(Options(), 10.0, 10_000) != "infeasible"
    full = FixedBins(free, given.kind, need, given.count + 1)
    assert full.solve_program(Options(), 10.0, 10_000) == "infeasible"
