"""Find the next best mix of instance types: the cheapest plan with fewer instances of some type than the best one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from instances import InputError, Result
from instances.eva import EvaPacking
from instances.gaps import agree
from instances.text import shown


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

    def told(self, best: Result, found: Sequence[Result]) -> str:
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
        types = ", ".join(f"{n} x {shown(name)}" for name, n in mix(least.solution).items())
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
