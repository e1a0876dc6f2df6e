"""Test that every checker rejects malformed solutions as such, without any other error."""

from __future__ import annotations

import json
import random

import pytest

from instances import MalformedSolution, check
from instances.eva import EvaPacking, EvaReconfiguration
from instances.sia import six_jobs
from models.sia import local_exact
from tests.certificates.mutants import mutant
from tests.certificates.readings import READINGS, cases
from tests.sampling import sample

KINDS = [{"name": "k", "family": "g", "capacity": {"r": 4}, "usd_per_hour": 1.5}]
TASKS = [{"workload": "w", "count": 2, "demand": {"default": {"r": 1}}}]
RAW = {"resources": ["r"], "instance_types": KINDS, "tasks": TASKS}
PACKING = EvaPacking.model_validate(RAW | {"objective": "cost"})
MOVING = EvaReconfiguration.model_validate(
    RAW | {"horizon_hours": 1, "existing": [{"id": "e", "type": "k", "tasks": {"w": 1}}]}
)
PACKED = {"instances": [{"type": "k", "count": 1, "tasks": {"w": 2}}]}


def other(**changes: object) -> dict[str, object]:
    return {"existing": {}, "instances": [{"type": "k", "count": 1, "tasks": {"w": 2}} | changes]}


@pytest.mark.parametrize(
    "solution",
    [
        {"existing": {"e": {"w": 2, "z": 0}}, "instances": []},
        {"existing": {"e": {"w": 10**400}}, "instances": []},
        other(tasks={"w": 2, "z": 0}),
        other(type=["k"]),
        other(type={}),
        other(count=10**400),
        other(count=10**5000),
        other(count=True),
        other(tasks={"w": 2.0}),
        other(tasks=json.loads("[" * 900 + "]" * 900)),
    ],
)
def test_a_malformed_move_is_malformed(solution: dict[str, object]):
    with pytest.raises(MalformedSolution):
        check(MOVING, solution)
    if not solution["existing"]:
        with pytest.raises(MalformedSolution):
            check(PACKING, {"instances": solution["instances"]})


def test_mutants_of_solutions_are_checked_or_malformed():
    """Of every problem and reading, with numbers of any size and of any kind."""
    local = six_jobs().data
    pairs = [(local, dict(local_exact(local).solution)), (PACKING, PACKED), (MOVING, other())]
    for reading in READINGS:
        for case in cases(reading, 2):
            pairs.append((case.instance.data, json.loads(case.result)["solution"]))
    said: list[str] = []
    checked = 0
    for i in range(sample(1500, 20_000)):
        data, solution = pairs[i % len(pairs)]
        text = mutant(json.dumps(solution), random.Random(f"solution {i}"))
        try:
            content = json.loads(text)
        except (ValueError, RecursionError):
            continue
        try:
            check(data, content)
            checked += 1
        except MalformedSolution as error:
            said.append(str(error))
    assert min(checked, len(said)) > 100
    assert not any("\n" in line for line in said)
