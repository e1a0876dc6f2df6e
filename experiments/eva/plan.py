"""Describe a packing in words, with prices, tasks and the hourly cost, and find the next best mix of types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from instances import InputError, Result
from instances.eva import EvaPacking
from instances.gaps import agree
from instances.text import escape_text

HOURS = 730  # hours of a month in cloud billing


@dataclass(frozen=True)
class PricedGroup:
    """`number` instances of one type, content and price; `kept`: whether they already run."""

    type: str
    tasks: Mapping[str, int]
    number: int
    usd_per_hour: float
    kept: bool

    @property
    def usd(self) -> float:
        """Return the cost of the group in USD/h."""
        return self.number * self.usd_per_hour


def list_priced_groups(data: EvaPacking, solution: Mapping[str, Any]) -> Iterator[PricedGroup]:
    """Yield the groups of a solution, the most expensive types first, and of a type first the running instances."""
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
    """Yield one line per group of instances of one type, content and price, a comparison with now, and the bill."""
    bill, changes = 0.0, Counter[bool]()
    for group in list_priced_groups(data, solution):
        tasks = ", ".join(
            f"{escape_text(task)} x {n}" if n > 1 else escape_text(task) for task, n in group.tasks.items()
        )
        said = (
            f"{group.number} x {escape_text(group.type)} at {group.usd_per_hour:g} USD/h, "
            f"each with {tasks or 'nothing'}"
        )
        bill += group.usd
        changes[group.kept] += group.number
        yield f"{'keep' if group.kept else 'rent'} {said}"
    if data.running:
        yield _against_now(data, bill, kept=changes[True], new=changes[False])
    yield f"bill: {bill:.10g} USD/h, {bill * HOURS:,.2f} USD a month of {HOURS} hours"


def _against_now(data: EvaPacking, bill: float, kept: int, new: int) -> str:
    """Describe the running instances with their hourly cost, and the changes of the plan."""
    own = {kind.name: kind.usd_per_hour for kind in data.instance_types}
    running = sum(r.count for r in data.running)
    now = sum(r.count * (own[r.type] if r.usd_per_hour is None else r.usd_per_hour) for r in data.running)
    less = f"{abs(now - bill):.10g} USD/h {'less' if bill <= now else 'more'}"
    share = f", {abs(1 - bill / now):.1%}" if now and bill != now else ""
    done = f"{kept} kept, {new} new, {running - kept} given up"
    return f"now: {running} running at {now:.10g} USD/h; {done}: {less}{share}"


def _running(data: EvaPacking, own: float, name: str) -> list[list[Any]]:
    """Return price and number of the running instances of a type that cost no more than `own`, the cheapest first."""
    priced = [[own if r.usd_per_hour is None else r.usd_per_hour, r.count] for r in data.running if r.type == name]
    return sorted(entry for entry in priced if entry[0] <= own)


class NextBest:
    """Compare the best mix of types with other mixes. Raises InputError if the objective is not the cost.

    A mix that contains the best one does not count, because its additional instances are not needed. Every other mix
    has fewer instances of some type. So the cheapest of them is the best optimum of one problem per type.
    """

    def __init__(self, data: EvaPacking) -> None:
        if data.objective != "cost":
            raise InputError(f"--next-best: takes the objective cost, got {data.objective}")
        self.data = data

    def rivals(self, solution: Mapping[str, Any]) -> Iterator[EvaPacking]:
        """Yield for each type of a plan the problem with a limit of one instance less of this type than in the plan."""
        for name, number in mix(solution).items():
            kinds = [kind.model_dump() for kind in self.data.instance_types]
            for kind in kinds:
                kind["max_instances"] = number - 1 if kind["name"] == name else kind["max_instances"]
            yield self.data.with_(instance_types=kinds)

    def describe(self, best: Result, found: Sequence[Result]) -> str:
        """Describe the next best mix from the results of the rivals."""
        open_ones = [result for result in found if result.status != "infeasible"]
        solved = [r for r in open_ones if r.solved and r.objective is not None and r.solution is not None]
        if not open_ones:
            return "no other mix of types holds the tasks"
        if not solved:
            return "no other mix of types was found"
        least = min(solved, key=lambda result: result.objective or 0.0)
        assert least.objective is not None
        assert least.solution is not None
        assert best.objective is not None
        types = ", ".join(f"{n} x {escape_text(name)}" for name, n in mix(least.solution).items())
        dearer = best.objective and not agree(least.objective, best.objective)
        more = f", {least.objective / best.objective - 1:.2%} more" if dearer else ""
        bounds = [result.bound for result in open_ones]
        least_bound = None if None in bounds else min(bound for bound in bounds if bound is not None)
        proven = least_bound is not None and agree(least.objective, least_bound)
        below = "" if least_bound is None else f"; none is below {least_bound:.10g}"
        return f"next best mix: {types} at {least.objective:.10g} USD/h{more}{', proven' if proven else below}"


def mix(solution: Mapping[str, Any]) -> Counter[str]:
    """Return the number of instances of each type in a plan."""
    counts: Counter[str] = Counter()
    for group in solution["instances"]:
        counts[group["type"]] += group.get("count", 1)
    return counts
