"""Everything that an instance of a type can hold, one by one: for methods that state each content as a variable."""

from __future__ import annotations

from collections.abc import Mapping

from instances.eva.packing import PackedTasks, PricedType
from instances.fields import steps

Content = Mapping[int, int]
"""Number of tasks of each task entry, by its place in the data."""


def contents(data: PackedTasks, kind: PricedType, limit: int) -> list[Content] | None:
    """All contents of an instance of a type but the empty one, or `None` where there are more than `limit`."""
    needs = [[steps(task.demand_on(kind.family)[r]) for r in data.resources] for task in data.tasks]
    found: list[tuple[dict[int, int], list[int]]] = [({}, [steps(kind.capacity[r]) for r in data.resources])]
    for entry, task in enumerate(data.tasks):
        longer = []
        for held, free in found:
            for k in range(1, task.count + 1):
                left = [f - k * d for f, d in zip(free, needs[entry], strict=True)]
                if min(left) < 0:
                    break
                longer.append(({**held, entry: k}, left))
            if len(found) + len(longer) > limit:
                return None
        found += longer
    return [held for held, _ in found if held]
