"""Methods for Eva's packing."""

from __future__ import annotations

from typing import Any

from experiments.methods.method import Method, exact, heuristic
from instances.eva.amounts import Amounts

LITERAL_BINARIES = 250_000
LITERAL_AMOUNT = 4 * 10**9  # units: what HiGHS, at its finest tolerance, can tell apart
LITERAL_TASKS = 16  # HiGHS takes a minute and more with the literal model from about here on


def _unfit_literal(data: Any) -> str | None:
    tasks = sum(task.count for task in data.tasks)
    if data.objective != "cost":
        return "section 4.1 states the objective cost only"
    if tasks**2 > LITERAL_BINARIES:
        return f"{tasks} tasks make {tasks**2:,} binaries y, more than {LITERAL_BINARIES:,}"
    largest = Amounts.of(data).largest
    if largest > LITERAL_AMOUNT:
        return f"an amount is {largest:,} times its unit, more than HiGHS can tell apart, {LITERAL_AMOUNT:,}"
    return None


def _costly_literal(data: Any) -> bool:
    return sum(task.count for task in data.tasks) > LITERAL_TASKS


BUILDERS = {"eva-packing": "models.eva:build_literal"}
HEURISTICS = ("full-reconfiguration", "full-reconfiguration-first", "no-packing")
METHODS: dict[str, tuple[Method, ...]] = {
    "eva-packing": (
        exact("exact", "models.eva:exact", starts=HEURISTICS),
        exact("literal", "models.eva:literal", _unfit_literal, _costly_literal),
        heuristic("no-packing", "heuristics.eva:no_packing"),
        heuristic("full-reconfiguration", "heuristics.eva:full_reconfiguration"),
        heuristic("full-reconfiguration-first", "heuristics.eva:full_reconfiguration_first"),
    ),
}
