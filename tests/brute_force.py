"""Optima by enumeration, sharing no code with the models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from instances import check
from instances.eva import EvaPacking


def partitions(items: list[str]) -> Iterator[list[list[str]]]:
    """All partitions of `items` into non-empty parts."""
    if not items:
        yield []
        return
    for smaller in partitions(items[1:]):
        yield [[items[0]], *smaller]
        for i, part in enumerate(smaller):
            yield [*smaller[:i], [items[0], *part], *smaller[i + 1 :]]


def best_packing(data: EvaPacking) -> float:
    """The optimum over all partitions of the tasks, each part on each type, every one judged by the checker alone.

    Parts do not influence one another, so the best type of each part is found once.
    """
    items = [task.key for task in data.tasks for _ in range(task.count)]
    worth: dict[tuple[str, ...], float | None] = {}

    def of_part(part: list[str]) -> float | None:
        key = tuple(sorted(part))
        if key not in worth:
            values = []
            for kind in data.instance_types:
                group = {"type": kind.name, "count": 1, "tasks": dict(Counter(part))}
                verdict = check(data, {"instances": [group]})
                if not any("holds" in violation for violation in verdict.violations):
                    values.append(verdict.objective)
            best = min if data.sense == "minimize" else max
            worth[key] = best(values) if values else None
        return worth[key]

    totals = []
    for parts in partitions(items):
        values = [of_part(part) for part in parts]
        if None not in values:
            totals.append(sum(values))
    return min(totals) if data.sense == "minimize" else max(totals)
