"""Test the study of decided placements: its figures by hand, its clusters and one row."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.harness.task import Measured
from experiments.kubernetes.crowded import KINDS, generate_crowded
from experiments.kubernetes.studies import certify, decide
from instances import InputError, Options, Result
from models.kubernetes import exact, literal
from tests.sampling import sample


@pytest.mark.parametrize("seed", range(sample(2, 20)))
@pytest.mark.parametrize("kind", KINDS)
def test_no_resource_is_short_in_a_crowded_cluster_and_its_answer_is_that_of_the_literal_model(kind: str, seed: int):
    instance = generate_crowded(kind, seed, nodes=(3, 6))
    data = instance.data
    for r in data.resources:
        asked = sum(pod.count * pod.demand[r] for pod in data.pods)
        assert asked <= sum(node.capacity[r] for node in data.nodes)
    result = exact(data, Options(gap=0.0))
    assert result.objective == literal(data, Options(gap=0.0)).objective
    assert result.status in ("optimal", "infeasible")
    if result.status == "infeasible":
        assert certify(instance, Options()) == {"accepted": True}


def told(status: str, by: str = "", cpu_s: float = 1.0) -> Result:
    solved = status in ("optimal", "feasible")
    known: dict[str, Any] = {"objective": 1.0, "bound": 1.0, "solution": {"nodes": {}}} if solved else {}
    return Result.model_construct(status=status, info={"bound_by": by}, build_s=0.0, solve_s=cpu_s, **known)


def test_what_is_said_of_the_clusters_is_counted():
    made = decide(Options(), seeds=5, row=["thirds", "halves"])
    refuted = [told("infeasible", "totals", 3.0), told("infeasible", "contents")]
    halves = [told("optimal"), *refuted, *[told("feasible")] * 2]
    thirds = [told("no_solution"), *[told("infeasible", "HiGHS")] * 2, *[told("optimal", cpu_s=0.5)] * 2]
    proofs = [Measured(workload="w", status="finished", figures={"accepted": yes}) for yes in (1, 1, 0, 1)]
    outcomes = [*halves, *thirds, *proofs]
    (table,) = made.tables(outcomes)
    assert [list(row) for row in table.rows] == [  # type: ignore[union-attr]
        ["halves", "5", "3", "1", "1", "0", "2", "1", "1.00", "3.00"],
        ["thirds", "5", "2", "0", "2", "1", "1", "2", "1.00", "1.00"],
    ]
    assert made.values is not None
    values = made.values(outcomes)
    assert values["thirds: cannot, beyond totals"] == "2 of 5"
    assert values["thirds: certificates accepted"] == "1 of 2"


def test_an_unknown_row_is_refused():
    assert len(decide(Options(), seeds=2, row=["halves", "rooms"]).tasks) == 4
    with pytest.raises(InputError, match="--row: must be one of planted"):
        decide(Options(), row=["half"])
