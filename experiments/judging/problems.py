"""Tasks of this project's problems: their instances, with optima that records hold or that `exact` proves here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from experiments.harness.entry import Entry
from experiments.harness.instance_set import InstanceSet
from experiments.harness.records import add_records
from experiments.harness.run import apply
from experiments.judging.judge import JudgedCase, JudgeTask
from instances import InputError, Instance, MalformedSolution, Options, Reference, agree, check, dump

LIMIT = Options(time_limit=60.0)
CALLS = "experiments.judging.calls:build_calls"


def task_of(name: str, title: str, exact: Entry, instances: Sequence[Instance]) -> JudgeTask:
    """Build a task of some instances, with optima from the records or computed by `exact`.

    Raises InputError for an instance without a proven optimum.
    """
    (known,) = add_records([InstanceSet(name, instances)])
    cases = []
    for i, instance in enumerate(known.instances):
        content = {key: dump(instance)[key] for key in ("problem", "data")}
        value = partial(_value, instance.data)
        cases.append(JudgedCase(f"{name} {i}", content, _optimum(instance, exact), value, instance.data.sense))
    return JudgeTask(name, title, CALLS, cases)


def _optimum(instance: Instance, exact: Entry) -> float:
    known = instance.reference or Reference()
    if known.objective is not None and known.bound is not None and agree(known.objective, known.bound):
        return known.objective
    result = apply(exact, instance, LIMIT)
    if result.status != "optimal" or result.objective is None:
        raise InputError(f"{instance.name}: no optimum is proven in {LIMIT.time_limit:g} s: take another seed")
    return result.objective


def _value(data: Any, answer: Any) -> tuple[float | None, Sequence[str]]:
    if not isinstance(answer, dict):
        raise MalformedSolution(f"must return a solution, got {type(answer).__name__}")
    verdict = check(data, answer)
    return verdict.objective, verdict.violations


Drawn = Callable[[int], JudgeTask]
"""A function from the first seed of the instances to a task; with seed 0, they are the instances of the library."""
