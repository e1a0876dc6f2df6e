"""A packing in words: what to rent, at which price, what runs there, and the bill."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from instances.eva import EvaPacking
from instances.text import shown

HOURS = 730  # of a month, as clouds bill it


def plan(data: EvaPacking, solution: Mapping[str, Any]) -> Iterator[str]:
    """One line a group of instances of one type, content and price, and the bill; of a type the cheapest first."""
    kinds, bill = {kind.name: kind for kind in data.instance_types}, 0.0
    running = {name: _running(data, kind.usd_per_hour, name) for name, kind in kinds.items()}
    dearest_first = sorted(solution["instances"], key=lambda group: (-kinds[group["type"]].usd_per_hour, group["type"]))
    for group in dearest_first:
        tasks = ", ".join(f"{shown(task)} x {n}" if n > 1 else shown(task) for task, n in group["tasks"].items())
        left, kept = group.get("count", 1), running[group["type"]]
        while left:
            verb, price, number = "rent", kinds[group["type"]].usd_per_hour, left
            if kept:
                verb, price, number = "keep", kept[0][0], min(left, kept[0][1])
                kept[0][1] -= number
                kept[:] = [entry for entry in kept if entry[1]]
            left -= number
            bill += number * price
            yield f"{verb} {number} x {shown(group['type'])} at {price:g} USD/h, each with {tasks or 'nothing'}"
    yield f"bill: {bill:.10g} USD/h, {bill * HOURS:,.2f} USD a month of {HOURS} hours"


def _running(data: EvaPacking, own: float, name: str) -> list[list[Any]]:
    """Price and number of the running instances of a type that are no dearer than others, the cheapest first."""
    priced = [[own if r.usd_per_hour is None else r.usd_per_hour, r.count] for r in data.running if r.type == name]
    return sorted(entry for entry in priced if entry[0] <= own)
