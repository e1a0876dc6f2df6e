"""Test the figures of the study of rules by hand, and one of its clusters."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.harness.sample import Sample
from experiments.harness.task import Measured
from experiments.kubernetes.studies import AT_ITS_OWN, RULES, measure_rules, rules
from instances import Options
from tests.sampling import few


def cluster(bill: float, **ends: Any) -> dict[str, Any]:
    """Build the figures of a cluster that costs 3 and could cost 2, in which all rules end at a bill."""
    end = {"bill": bill, "lost": 5, "evictions": 6, "again": 1, "ended": True, "orders": 0}
    end |= {"exact": None, "least": None, "bound": None}
    own = {"exact": 2.0, "least": 2.0, "bound": 2.0}
    found = {rule: end | (own if rule in AT_ITS_OWN else {}) | ends.get(rule, {}) for rule in RULES}
    best = {"bill": 2.0, "bound": 2.0, "cpu_s": 0.1, "proven": True}
    names = ("any", "a tenth", "a quarter")
    return {
        "row": "10 pods, eks",
        "pods": 10,
        "nodes": 3,
        "bill": 3.0,
        "best": dict.fromkeys(names, best) | {"a tenth": best | {"bill": 2.75, "bound": 2.5, "proven": False}},
        "rules": found,
        "plan": {"bill": 2.25, "evictions": 4, "orders": 3, "cpu_s": 1.0},
    }


def values(*clusters: dict[str, Any]) -> dict[str, Any]:
    made = rules(Options(), clusters=len(clusters), rows=1)
    assert len(made.tasks) == len(clusters)
    outcomes = [Measured(workload="cluster", status="finished", figures=one) for one in clusters]
    assert made.tables(outcomes)
    assert made.values is not None
    found = made.values(outcomes)
    return {name.removeprefix("10 pods, eks: "): value for name, value in found.items()}


def mean(value: Any) -> float:
    assert isinstance(value, Sample)
    return value.mean


def test_the_figures_of_two_clusters_by_hand():
    found = values(cluster(2.5), cluster(2.0, **{"karpenter-1.14": {"again": 0, "ended": False}}))
    assert mean(found["karpenter-1.14: above the least"]) == 0.125
    assert mean(found["karpenter-1.14: share of the saving"]) == 0.75
    assert mean(found["karpenter-1.14: evicted"]) == 0.6
    assert found["karpenter-1.14: clusters with pods pending again"] == "1 of 2"
    assert found["karpenter-1.14: without end"] == "1 of 2"
    assert found["karpenter-1.14-balanced: on the frontier"] == "1 of 2"
    assert found["karpenter-1.14-balanced: proven at its own evictions"] == "2 of 2"
    assert (found["any: proven"], found["a tenth: proven"], found["a tenth: within 0.5%"]) == (
        "2 of 2",
        *["0 of 2"] * 2,
    )
    assert mean(found["a tenth: share of the saving"]) == 0.25
    assert mean(found["plan: above the bound"]) == 0.125
    assert mean(found["plan: share of the saving"]) == 0.75
    assert found["plan: succeeds in 95 of 100 orders"] == "2 of 2"
    assert found["plan: costs more than an end of a rule that succeeds in 95 of 100 orders"] == "1 of 2"


def test_what_must_not_be_is_counted():
    failed = {rule: {"orders": 6} for rule in RULES}
    found = values(cluster(2.0, **failed | {"karpenter-1.14": {"bill": 2.5, "exact": 2.6, "least": 2.5, "orders": 5}}))
    assert found["exact costs more than a rule at its own evictions"] == f"1 of {len(AT_ITS_OWN)}"
    assert found["plan: costs more than an end of a rule that succeeds in 95 of 100 orders"] == "0 of 1"
    assert found["plan: costs more than an end of a rule by kube-scheduler"] == "1 of 1"
    worse = cluster(2.0)
    worse["plan"]["orders"] = 6
    assert values(worse)["plan: succeeds in 95 of 100 orders"] == "0 of 1"


@pytest.mark.parametrize("cloud", few(["eks", "table-7"], 1))
def test_a_cluster_is_measured_and_nothing_is_below_its_bound(cloud: str):
    figures = measure_rules(cloud, 10, 3, Options())
    assert set(figures["rules"]) == set(RULES)
    low = figures["best"]["any"]["bound"] - 1e-9
    assert low <= figures["best"]["any"]["bill"] <= figures["best"]["a tenth"]["bill"] <= figures["bill"]
    assert low <= figures["plan"]["bill"] <= figures["bill"]
    assert figures["plan"]["orders"] <= 5
    for rule, end in figures["rules"].items():
        assert end["bill"] >= low
        assert end["lost"] <= end["evictions"]
        assert (end["least"] is None) == (rule not in AT_ITS_OWN)
        assert end["least"] is None or end["bound"] - 1e-9 <= end["least"] <= end["bill"] + 1e-9
        assert end["least"] == (None if rule not in AT_ITS_OWN else min(end["bill"], end["exact"]))
