"""A packing in words: what to rent, at which price, what runs there, and the bill."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from instances.eva import EvaPacking
from instances.text import shown

HOURS = 730  # of a month, as clouds bill it


@dataclass(frozen=True)
class PricedGroup:
    """`number` instances of one type, content and price; `kept`: they run already."""

    type: str
    tasks: Mapping[str, int]
    number: int
    usd_per_hour: float
    kept: bool

    @property
    def usd(self) -> float:
        """USD an hour of all of them."""
        return self.number * self.usd_per_hour


def priced(data: EvaPacking, solution: Mapping[str, Any]) -> Iterator[PricedGroup]:
    """The instances of a solution, the most expensive types first, of a type the cheapest, which may run already."""
    kinds = {kind.name: kind for kind in data.instance_types}
    running = {name: _running(data, kind.usd_per_hour, name) for name, kind in kinds.items()}
    dearest_first = sorted(solution["instances"], key=lambda group: (-kinds[group["type"]].usd_per_hour, group["type"]))
    for group in dearest_first:
        name, left = group["type"], group.get("count", 1)
        while left:
            kept = running[name][0] if running[name] else None
            price, most = (kinds[name].usd_per_hour, left) if kept is None else kept
            number = min(left, most)
            if kept is not None:
                kept[1] -= number
                running[name] = [entry for entry in running[name] if entry[1]]
            left -= number
            yield PricedGroup(name, group["tasks"], number, price, kept is not None)


def plan(data: EvaPacking, solution: Mapping[str, Any]) -> Iterator[str]:
    """One line a group of instances of one type, content and price, what runs now beside it, and the bill."""
    bill, changes = 0.0, Counter[bool]()
    for group in priced(data, solution):
        tasks = ", ".join(f"{shown(task)} x {n}" if n > 1 else shown(task) for task, n in group.tasks.items())
        said = f"{group.number} x {shown(group.type)} at {group.usd_per_hour:g} USD/h, each with {tasks or 'nothing'}"
        bill += group.usd
        changes[group.kept] += group.number
        yield f"{'keep' if group.kept else 'rent'} {said}"
    if data.running:
        yield _against_now(data, bill, kept=changes[True], new=changes[False])
    yield f"bill: {bill:.10g} USD/h, {bill * HOURS:,.2f} USD a month of {HOURS} hours"


def _against_now(data: EvaPacking, bill: float, kept: int, new: int) -> str:
    """What runs now and its bill, and how the plan differs from it."""
    own = {kind.name: kind.usd_per_hour for kind in data.instance_types}
    running = sum(r.count for r in data.running)
    now = sum(r.count * (own[r.type] if r.usd_per_hour is None else r.usd_per_hour) for r in data.running)
    less = f"{abs(now - bill):.10g} USD/h {'less' if bill <= now else 'more'}"
    share = f", {abs(1 - bill / now):.1%}" if now and bill != now else ""
    done = f"{kept} kept, {new} new, {running - kept} given up"
    return f"now: {running} running at {now:.10g} USD/h; {done}: {less}{share}"


def _running(data: EvaPacking, own: float, name: str) -> list[list[Any]]:
    """Price and number of the running instances of a type that are no dearer than others, the cheapest first."""
    priced = [[own if r.usd_per_hour is None else r.usd_per_hour, r.count] for r in data.running if r.type == name]
    return sorted(entry for entry in priced if entry[0] <= own)
