"""Test that `verify` accepts no false status, invalid number or duplicate field in a result."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from instances import CheckFailed, InputError, Instance, Options
from instances.proofs.verify import read_result, see_result
from instances.reading import parse_json
from models.kubernetes import exact
from tests.certificates.readings import HUGE, READINGS, Case, telling
from tests.kubernetes_cases import fewest, tiny


def result(made: Case, **changes: Any) -> str:
    return json.dumps(json.loads(made.result) | changes)


RESULTS: list[tuple[str, Callable[[Case], str], str]] = [
    ("bound NaN", lambda c: result(c, bound=float("nan")), "bound: must be a finite number"),
    ("bound inf", lambda c: result(c, bound=float("-inf")), "bound: must be a finite number"),
    ("bound 1e999", lambda c: re.sub('"bound":[^,]*', '"bound":1e999', c.result), "bound: must be a finite number"),
    ("bound of 400 digits", lambda c: result(c, bound=-int(HUGE)), "bound: must be a finite number"),
    ("bound of 5000 digits", lambda c: re.sub('"bound":[^,]*', f'"bound":{"1" * 5000}', c.result), "not valid JSON"),
    ("bound as text", lambda c: result(c, bound="0"), "bound: must be a number"),
    ("bound as a truth", lambda c: result(c, bound=False), "bound: must be a number"),
    ("gap NaN", lambda c: result(c, gap=float("nan")), "gap: must be a finite number"),
    ("NaN in the trace", lambda c: result(c, trace=[[0.0, float("nan"), None]]), "trace.*must be a finite"),
    ("bound twice", lambda c: c.result.replace('"bound":', '"bound":0,"bound":'), "duplicate field 'bound'"),
    ("status violates", lambda c: result(c, status="violates"), "status: 'violates' is claimed"),
    ("status infeasible", lambda c: result(c, status="infeasible"), "status: 'infeasible' is claimed"),
    ("optimal by no gap", lambda c: result(c, options={"gap": 1e-9}, status="optimal"), "it is 'feasible'"),
    ("gap asked of 2", lambda c: result(c, options={"gap": 2}), "options.gap: must be a number in"),
    ("gap asked as text", lambda c: result(c, options={"gap": "1"}), "options.gap: must be a number in"),
    ("violations", lambda c: result(c, violations=["x"]), "violations: "),
    ("termination", lambda c: result(c, termination="infeasible"), "termination: 'infeasible'"),
    ("better objective", lambda c: result(c, objective=-1.0), "objective: -1.0 is claimed"),
    ("no objective", lambda c: result(c, objective=None), "nothing else to verify"),
    ("other name", lambda c: result(c, instance="x"), "instance: must be"),
    ("solution of lists", lambda c: result(c, solution={"x": []}), "solution: "),
    ("solution of depth 900", lambda c: result(c, solution={"x": json.loads("[" * 900 + "]" * 900)}), ""),
]


@pytest.mark.parametrize(("hole", "forge", "said"), RESULTS, ids=[hole for hole, _, _ in RESULTS])
def test_a_forged_result_is_refused(hole: str, forge: Callable[[Case], str], said: str):
    for reading in READINGS:
        made = telling(reading)
        with pytest.raises((CheckFailed, InputError)) as error:
            see_result(made.instance, read_result(parse_json(forge(made))))
        assert "\n" not in str(error.value)
        assert re.search(said, str(error.value)), f"{reading}: {error.value}"


CLAIMS: list[tuple[dict[str, Any], str]] = [
    ({"bound": 5.0}, "bound: 5.0 is claimed"),
    ({"bound": 0.0}, "bound: 0.0 is claimed"),
    ({"objective": 3.0}, "objective: 3.0 is claimed"),
    ({"gap": 0.0}, "gap: 0.0 is claimed"),
    ({"objective": 1.0, "bound": 1.0, "gap": 0.0}, "objective: 1.0 is claimed"),
    ({"violations": ["x"]}, 'violations: "x" is claimed'),
    ({"sense": "maximize"}, "the objective is to minimize"),
    ({"unit": "USD/h"}, "the objective is to minimize, in pods"),
    ({"solution": {"nodes": {}}}, "must have a solution, an objective and a bound"),
    ({"termination": "finished"}, "must have a solution, an objective and a bound"),
    ({"bound": float("nan")}, "bound: must be a finite number"),
    ({"gap": True}, "gap: must be a number"),
]


@pytest.mark.parametrize(("claim", "said"), CLAIMS, ids=[str(claim) for claim, _ in CLAIMS])
def test_a_result_without_a_solution_claims_nothing_else(claim: dict[str, Any], said: str):
    data = next(data for data in map(tiny, range(99)) if fewest(data) is None)
    instance = Instance.of(data, "none")
    found = exact(data, Options())
    assert found.status == "infeasible"
    honest = found.model_copy(update={"instance": "none"})
    see_result(instance, honest)
    forged = json.dumps(json.loads(honest.model_dump_json()) | claim)
    with pytest.raises((CheckFailed, InputError)) as error:
        see_result(instance, read_result(parse_json(forged)))
    assert str(error.value).startswith(said)
