"""Test consolidation methods against brute force, their certificates, the front and rejections."""

from __future__ import annotations

import json
from contextlib import suppress
from fractions import Fraction
from typing import Any

import pytest

from heuristics.kubernetes import karpenter_1_14
from instances import Options, check
from instances.errors import CheckFailed, InputError, MalformedSolution
from instances.fields import STEPS
from instances.kubernetes import NodeConsolidation, cluster_arrays, shrunk_cluster
from instances.proofs import NoCertificate, digest
from instances.proofs.kubernetes import prove_consolidation
from models.kubernetes import exact_consolidation, literal_consolidation
from models.kubernetes.consolidation_certificate import certificate
from models.kubernetes.drain_sets import enumerate_drain_sets
from tests.consolidation_cases import apart, least_cost, least_costs, small_cluster
from tests.sampling import few, sample

CPU = {"cpu": 4.0}


@pytest.mark.parametrize("seed", few(range(40), 10))
def test_exact_and_literal_find_the_least_cost_and_certificates_prove_no_more(seed: int):
    data = small_cluster(seed)
    best = least_cost(data)
    for method in [exact_consolidation] + [literal_consolidation] * (seed < 15):
        result = method(data, Options(gap=0.0))
        assert result.status == ("infeasible" if best is None else "optimal")
        assert result.objective == best
    if best is not None and seed % 3 == 0:
        made = certificate(data, None, best, Options())
        assert prove_consolidation(data, made.text).bound == made.bound <= Fraction(best)


def test_at_the_ends_of_what_may_be_said_nothing_false_is_proven():
    """Pods that ask for nothing, no nodes, types or pods, prices of 0 and 1e9, amounts of 1e-9 beside 1e9."""
    proven = 0
    for seed in range(sample(40, 5_000)):
        data = small_cluster(seed, ends=True)
        best = least_cost(data)
        try:
            cluster_arrays(data)
        except InputError:  # sums that 64 bits cannot hold
            continue
        result = exact_consolidation(data, Options(gap=0.0))
        if result.status in ("feasible", "no_solution") and apart(data):
            assert (result.objective is None) == (best is None), seed
            assert best is None or result.bound <= best <= result.objective, seed
            continue
        assert (result.status, result.objective) == ("infeasible" if best is None else "optimal", best), seed
        proven += 1
        if best is not None and seed % 5 == 0:
            with suppress(NoCertificate):
                made = certificate(data, None, best, Options())
                assert float(prove_consolidation(data, made.text).bound) <= best
    assert proven > seed // 2


@pytest.mark.parametrize("high", ["type", "node", "eviction"])
def test_a_price_above_the_best_plan_takes_no_digits_from_the_bound(high: str):
    """A price of 1e9 USD/h left the bound at 0, although the plan costs 0.1 USD/h."""
    price = {name: 1e9 if name == high else 0.2 for name in ("type", "node")}
    nodes = [
        {"name": "a", "capacity": CPU, "pods": {"p": 1}, "usd_per_hour": 0.1},
        {"name": "b", "capacity": CPU, "pods": {"q": 1} if high == "eviction" else {}, "usd_per_hour": price["node"]},
    ]
    data = NodeConsolidation.model_validate({
        "resources": ["cpu"],
        "nodes": nodes,
        "instance_types": [{"name": "k", "family": "f", "capacity": CPU, "usd_per_hour": price["type"]}],
        "pods": [{"name": name, "count": 1, "demand": CPU} for name in ("p", "q")[: 1 + (high == "eviction")]],
        "eviction_usd_per_hour": 1e9 if high == "eviction" else 1e-9,
        "moves": "pods",
    })  # fmt: skip
    result = exact_consolidation(data, Options(gap=0.0))
    assert (result.status, result.objective, result.bound) == ("optimal", *[least_cost(data)] * 2)


@pytest.mark.parametrize(("seed", "moves"), [(567, "nodes"), (1551, "nodes"), (2004, "nodes"), (3729, "pods")])
def test_a_price_above_the_best_plan_takes_no_digits_of_other_instances(seed: int, moves: str):
    """Three instances drain whole nodes. The last program of the fourth instance finds the first plan."""
    data = small_cluster(seed, ends=True)
    result = exact_consolidation(data)
    assert (data.moves, result.status, result.objective) == (moves, "optimal", least_cost(data))


def test_a_plan_has_no_pods_on_a_node_that_it_drains():
    """HiGHS left a pod on a drained node, within its tolerance for amounts of 1e-9 beside 1e9."""
    data = small_cluster(2553, ends=True)
    result, best = exact_consolidation(data), least_cost(data)
    assert best is not None
    assert result.bound <= best <= result.objective


@pytest.mark.parametrize("above", [1, 2, 10**10])
def test_of_the_sets_of_nodes_that_may_be_drained_none_is_missing_and_none_is_cheaper_than_it_says(above: int):
    seen = 0
    for seed in range(sample(40, 3_000)):
        data = small_cluster(seed).with_(moves="nodes")
        arrays, costs = cluster_arrays(data), least_costs(data)
        units = {kept: round(cost * STEPS / arrays.unit) for kept, cost in costs.items()}
        best = min(units.values(), default=0) + above
        sets = enumerate_drain_sets(arrays, best)
        assert sets is not None
        least = {
            frozenset(n.name for n, k in zip(data.nodes, one.kept, strict=True) if k): one.min_cost for one in sets
        }
        saves = [
            n.name
            for n, s in zip(data.nodes, arrays.held_price - arrays.eviction_price * arrays.on_node, strict=True)
            if s > 0
        ]
        for kept, cost in units.items():
            if cost < best and all(node.name in kept or node.name in saves for node in data.nodes):
                assert least[kept] <= cost, seed
                seen += 1
        assert min(least.values(), default=best) <= min(units.values(), default=best), seed
        assert [one.min_cost for one in sets] == sorted(cost for cost in least.values() if cost < best)
    assert seen > 20


@pytest.mark.parametrize("seed", range(sample(1, 60)))
def test_with_few_evictions_the_sets_of_drained_nodes_prove_what_the_literal_program_does(seed: int):
    data = shrunk_cluster(24, seed).data.with_(max_evictions=6)
    found = exact_consolidation(data, Options(gap=0.0))
    assert found.status == "optimal"
    assert found.objective == literal_consolidation(data, Options(gap=0.0)).objective


def test_from_a_start_nothing_dearer_is_told_and_the_least_cost_is_the_same():
    begun = 0
    for seed in range(sample(60, 2_000)):
        data = small_cluster(seed)
        start = karpenter_1_14(data)
        if not start.solved or start.solution is None:
            continue
        told: list[Any] = []
        result = exact_consolidation(
            data, Options(gap=0.0), lambda solution, _, told=told: told.append(solution), start.solution
        )
        assert (result.status, result.objective) == ("optimal", least_cost(data)), seed
        costs = [check(data, solution).objective for solution in told if solution is not None]
        assert all(cost <= start.objective for cost in costs), seed
        arrays = cluster_arrays(data)
        read = arrays.read(start.solution)
        assert check(data, arrays.solution(*read)).objective <= start.objective, "of a class some may stay that left"
        begun += 1
    assert begun > seed // 3


def test_a_certificate_proves_the_bound_by_totals_and_none_with_another_number_in_it():
    data = shrunk_cluster(24, 2).data.with_(max_evictions=8)
    result = exact_consolidation(data, Options(gap=0.0))
    assert result.status == "optimal"
    assert result.bound is not None
    made = certificate(data, result.solution, result.bound, Options())
    assert float(prove_consolidation(data, made.text).bound) == pytest.approx(result.bound, rel=1e-12)
    with pytest.raises(InputError, match="another instance"):
        prove_consolidation(data.with_(max_evictions=5), made.text)
    fewer = data.with_(max_evictions=4)
    stronger = exact_consolidation(fewer, Options(gap=0.0))
    assert stronger.bound is not None
    assert stronger.bound > result.bound
    of_fewer = certificate(fewer, stronger.solution, stronger.bound, Options()).text
    with pytest.raises(CheckFailed, match="CON evictions: not the constraint"):
        prove_consolidation(data, of_fewer.replace(digest(fewer), digest(data)))
    bound = next(line for line in made.text.splitlines() if line.startswith("RTP"))
    more = made.text.replace(bound, bound.replace("range ", "range 1", 1))
    with pytest.raises(CheckFailed):
        prove_consolidation(data, more)


def test_more_evictions_never_cost_more_and_pods_moved_one_by_one_never_cost_more_than_nodes_drained():
    data = shrunk_cluster(24, 3).data
    costs = []
    for k in (0, 4, 12):
        limited = data.with_(max_evictions=k)
        drained = exact_consolidation(limited, Options(effort=50))
        moved = exact_consolidation(limited.with_(moves="pods"), Options(effort=50), start=drained.solution)
        assert drained.status == "optimal"
        assert moved.bound is not None
        assert drained.objective is not None
        assert moved.bound <= drained.objective
        costs.append(drained.objective)
    assert costs == sorted(costs, reverse=True)
    assert costs[0] > costs[-1]


def cluster(**changes: Any) -> dict[str, Any]:
    """Two half-empty nodes, and a smaller type."""
    return {
        "resources": ["cpu"],
        "nodes": [
            {"name": "n1", "capacity": CPU, "usd_per_hour": 0.2, "pods": {"web": 2}},
            {"name": "n2", "capacity": CPU, "usd_per_hour": 0.2, "pods": {"web": 1}},
        ],
        "instance_types": [{"name": "small", "family": "f", "capacity": {"cpu": 2.0}, "usd_per_hour": 0.1}],
        "pods": [{"name": "web", "count": 4, "demand": {"cpu": 1.0}}],
    } | changes


def solved(**changes: Any) -> float | None:
    return exact_consolidation(NodeConsolidation.model_validate(cluster(**changes)), Options(gap=0.0)).objective


def test_what_each_field_costs():
    nodes = cluster()["nodes"]
    assert solved() == 0.2, "n1 takes all"
    assert solved(max_evictions=0) == 0.4, "the pending pod finds room"
    assert solved(eviction_usd_per_hour=0.15) == 0.35
    assert solved(nodes=[nodes[0], nodes[1] | {"keep": True}]) == 0.2, "n2 takes all"
    assert solved(nodes=[nodes[0] | {"keep": True}, nodes[1] | {"keep": True}]) == 0.4
    assert solved(nodes=[nodes[0], nodes[1] | {"usd_per_hour": None}]) == 0.0, "it is kept, and no bill counts it"
    assert solved(nodes=[nodes[0] | {"cordoned": True}, nodes[1] | {"cordoned": True}]) == 0.2, "two small ones"
    assert solved(pods=[{"name": "web", "count": 4, "demand": {"cpu": 1.0}, "max_per_node": 1}]) == 0.4
    assert solved(pods=[{"name": "web", "count": 4, "demand": {"cpu": 1.0}, "pinned": True}]) == 0.4
    overfull = [nodes[0] | {"capacity": {"cpu": 1.0}}, nodes[1]]
    assert solved(nodes=overfull, max_evictions=1) == 0.3, "what is in place may stay on a node that is too small"


@pytest.mark.parametrize(
    ("solution", "message"),
    [
        ({"nodes": {"n1": {"web": 4}}}, "`nodes` and `instances` alone"),
        ({"nodes": {"n9": {}}, "instances": []}, "unknown node"),
        ({"nodes": {"n1": {"db": 1}}, "instances": []}, "unknown pod"),
        ({"nodes": {}, "instances": [{"type": "big", "count": 1, "tasks": {}}]}, "unknown instance type"),
        ({"nodes": {"n1": {"web": -1}}, "instances": []}, "whole numbers"),
        ({"nodes": [], "instances": []}, "`nodes` must be an object"),
    ],
)
def test_a_malformed_solution_is_refused(solution: dict[str, Any], message: str):
    with pytest.raises(MalformedSolution, match=message):
        check(NodeConsolidation.model_validate(cluster()), solution)


def test_the_checker_names_what_a_plan_breaks():
    def broken(solution: dict[str, Any], **changes: Any) -> str:
        return "; ".join(check(NodeConsolidation.model_validate(cluster(**changes)), solution).violations)

    small = {"type": "small", "count": 1, "tasks": {"web": 2}}
    all_on_n1 = {"nodes": {"n1": {"web": 4}}, "instances": []}
    nodes = cluster()["nodes"]
    assert broken(all_on_n1) == ""
    assert "1 pods are evicted, at most 0" in broken(all_on_n1, max_evictions=0)
    assert "must be kept" in broken(all_on_n1, nodes=[nodes[0], nodes[1] | {"keep": True}])
    assert "where it may not be" in broken(all_on_n1, nodes=[nodes[0] | {"cordoned": True}, nodes[1]])
    assert "not all of its pods stay" in broken({"nodes": {"n1": {"web": 1}, "n2": {"web": 3}}, "instances": []})
    assert broken({"nodes": {"n1": {"web": 1}, "n2": {"web": 3}}, "instances": []}, moves="pods") == ""
    assert "placed 3 times, not 4" in broken({"nodes": {"n1": {"web": 3}}, "instances": []})
    assert "at most 2000000000" in broken({"nodes": {"n2": {"web": 1}}, "instances": [small | {"tasks": {"web": 3}}]})
    types = [cluster()["instance_types"][0] | {"max_new": 1}]
    two = {"nodes": {}, "instances": [small, small]}
    assert "2 new nodes of small, at most 1" in broken(two, instance_types=types)
    pods = [cluster()["pods"][0] | {"allowed_types": []}]
    assert "on a new small, where it may not be" in broken(two, pods=pods)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pods": [{"name": "web", "count": 2, "demand": {"cpu": 1.0}}]}, r"pods\[0\].count: must be >= 3"),
        ({"pods": [{"name": "web", "count": 4, "demand": {"cpu": 5.0}}]}, "is pending and fits nowhere"),
        ({"pods": [{"name": "web", "count": 4, "demand": {"gpu": 1.0}}]}, "an amount of each resource and no other"),
        ({"pods": [{"name": "w", "count": 4, "demand": {"cpu": 1.0}}]}, r"nodes\[0\].pods: unknown pod"),
        ({"max_evictions": -1}, "max_evictions"),
        ({"moves": "some"}, "moves"),
        ({"spread": [{"tasks": ["db"]}]}, r"spread\[0\].tasks: unknown pod"),
        (
            {"pods": [{"name": n, "count": 10**9, "demand": {"cpu": q}} for n, q in (("web", 2.5), ("x", 1e-9))]},
            r"pods: must take less than 2\d+ times 1e-9 of cpu in all",
        ),
        (
            {
                "nodes": [{"name": "n1", "capacity": {"cpu": 4.0}, "usd_per_hour": 1e-9, "pods": {"web": 10**9}}],
                "pods": [{"name": "web", "count": 10**9, "demand": {"cpu": 1e-9}}],
                "eviction_usd_per_hour": 3.0,
            },
            r"nodes: with all evictions, must cost less than 2\d+ times 1e-9 USD/h",
        ),
    ],
)
def test_bad_data_are_refused_with_their_place(change: dict[str, Any], message: str):
    with pytest.raises(InputError, match=message):
        NodeConsolidation.model_validate(cluster(**change))


def test_a_generator_draws_the_same_cluster_again_and_with_more_nodes_than_it_needs():
    one, other = shrunk_cluster(30, 5).data, shrunk_cluster(30, 5).data
    assert json.loads(one.model_dump_json()) == json.loads(other.model_dump_json())
    assert sum(sum(node.pods.values()) for node in one.nodes) == 21 == sum(pod.count for pod in one.pods)
    best = exact_consolidation(one, Options(effort=20)).objective
    assert best is not None
    assert best < sum(node.usd_per_hour or 0 for node in one.nodes)


def test_no_program_is_built_after_the_time_limit(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("models.kubernetes.consolidation.TotalsProgram", lambda *_, **__: pytest.fail("built"))
    found = exact_consolidation(shrunk_cluster(60, 0).data, Options(time_limit=1e-3))
    assert (found.status, found.reason) == ("feasible", "time limit")
