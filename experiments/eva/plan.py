"""A packing in words: what to rent, at which price, what runs there, and the bill."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from instances.eva import EvaPacking
from instances.text import shown

HOURS = 730  # of a month, as clouds bill it


def plan(data: EvaPacking, solution: Mapping[str, Any]) -> Iterator[str]:
    """One line a group of instances of one type and content, and the bill."""
    kinds, bill = {kind.name: kind for kind in data.instance_types}, 0.0
    dearest_first = sorted(solution["instances"], key=lambda group: (-kinds[group["type"]].usd_per_hour, group["type"]))
    for group in dearest_first:
        number, price = group.get("count", 1), kinds[group["type"]].usd_per_hour
        tasks = ", ".join(f"{shown(task)} x {n}" if n > 1 else shown(task) for task, n in group["tasks"].items())
        bill += number * price
        yield f"rent {number} x {shown(group['type'])} at {price:g} USD/h, each with {tasks or 'nothing'}"
    yield f"bill: {bill:.10g} USD/h, {bill * HOURS:,.2f} USD a month of {HOURS} hours"
