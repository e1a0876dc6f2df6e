"""The independent checker of `eva-reconfiguration`: feasibility and objective from the data alone, in fractions."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from instances.errors import MalformedSolution
from instances.eva.checker import Book, exact, groups_of, see_tasks
from instances.eva.reconfiguration import EvaReconfiguration
from instances.options import Solution
from instances.verdict import Verdict


def check_reconfiguration(data: EvaReconfiguration, solution: Solution) -> Verdict:
    """Check `{"existing": {id: {key: k}}, "instances": [{"type": name, "count": n, "tasks": {key: k}}]}`.

    Every task must be on exactly one instance and no instance may hold more than its capacity. An existing instance
    that is left out, or has no task, is given up. Raises MalformedSolution.
    """
    book = Book(data)
    kept, groups = _kept(data, solution), groups_of(solution)
    kinds = {instance.id: book.kinds[instance.type] for instance in data.existing}
    start_usd = {kind.name: exact(kind.start_usd) for kind in data.instance_types}
    placed = dict.fromkeys(book.tasks, 0)
    saving, started = Fraction(0), Fraction(0)
    violations: list[str] = []
    for tasks in (*kept.values(), *(group["tasks"] for group in groups)):
        for key in tasks:
            if key not in placed:
                raise MalformedSolution(f"unknown task {key!r:.80}")
    rented = [(kinds[name], tasks, 1) for name, tasks in kept.items() if any(tasks.values())]
    for group in groups:
        if group["type"] not in book.kinds:
            raise MalformedSolution(f"unknown instance type {group['type']!r:.80}")
        rented.append((book.kinds[group["type"]], group["tasks"], group["count"]))
        started += group["count"] * start_usd[group["type"]]
    for kind, tasks, count in rented:
        on_it = {key: k for key, k in tasks.items() if k}
        for key, k in on_it.items():
            placed[key] += k * count
        violations += book.overfull(kind, on_it)
        value = sum((k * book.normalised_price(key, on_it) for key, k in on_it.items()), Fraction(0))
        saving += count * (value - exact(kind.usd_per_hour))
    violations += [
        f"task {key} is placed {placed[key]} times, not {task.count}"
        for key, task in book.tasks.items()
        if placed[key] != task.count
    ]
    total = saving * exact(data.horizon_hours) - started - _migrations(data, kept)
    return Verdict(float(total), tuple(violations))


def _kept(data: EvaReconfiguration, solution: Solution) -> Mapping[str, Mapping[str, int]]:
    """The new contents of existing instances."""
    kept: Any = solution.get("existing") if isinstance(solution, Mapping) else None
    if not isinstance(kept, Mapping):
        raise MalformedSolution("must be an object with `existing`, an object")
    known = {instance.id for instance in data.existing}
    for name, tasks in kept.items():
        if name not in known:
            raise MalformedSolution(f"unknown existing instance {name!r:.80}")
        see_tasks(tasks)
    return kept


def _migrations(data: EvaReconfiguration, kept: Mapping[str, Mapping[str, int]]) -> Fraction:
    """What the moves cost: of tasks without a job each one, of a job once if an instance loses any of its tasks."""
    entry = {task.key: task for task in data.tasks}
    total, moved = Fraction(0), set()
    for instance in data.existing:
        now = kept.get(instance.id, {})
        for key, k in instance.tasks.items():
            lost = max(0, k - now.get(key, 0))
            job = entry[key].job
            if lost and job is None:
                total += lost * exact(entry[key].migration_usd)
            elif lost and job not in moved:
                moved.add(job)
                total += exact(entry[key].migration_usd)
    return total
