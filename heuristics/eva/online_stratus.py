"""Stratus as implemented by the authors of Eva: tasks that end together share an instance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from heuristics.eva.online_plan import Cloud, Plan, Planned, SetOrder
from instances.eva import EvaCloud
from instances.eva.online import CloudView, Configuration, TaskState

MIN_UTILISATION = 0.5  # fraction of every resource; instances below it are emptied, as in the artifact


class Stratus:
    """Packing by run-time bins, scale-out by groups, and repair of instances with low utilisation.

    The run time of a task is known. The authors' artifact loses the elapsed run time, so bins and remaining times
    always use the whole duration; with `true_remaining` they use the remaining time. The artifact also measures the
    demand of a group by the capacity of the cheapest type, which has no GPU. The score is then infinite, and the first
    type that holds the group is rented.
    """

    def __init__(self, data: EvaCloud, *, true_remaining: bool = False) -> None:
        self.cloud = Cloud(data)
        self._order = SetOrder()
        self.true_remaining = true_remaining
        self._version = -1
        self._smallest = self.cloud.capacity[min(range(len(self.cloud.price)), key=self.cloud.price.__getitem__)]

    def decide(self, view: CloudView) -> Configuration:
        self._order.update(view)
        if view.version == self._version and not self.true_remaining:
            return Configuration()  # the last decision changed nothing
        self._version = view.version
        self._duration = {name: job.duration_seconds for name, job in view.jobs.items()}
        self._remaining = {name: self._remaining_of(view, name) for name in view.jobs}
        plan = Plan(self.cloud)
        for name in view.instances:
            plan.add_rented(view, name)
        every = self._order.tasks(view)
        tasks = sorted(every, key=lambda task: not task.pinned)
        plan.keep(view, tasks)
        kept = [plan.add_rented(view, task.instance) for task in tasks if task.instance is not None]
        held = {task.instance for task in tasks if task.pinned}
        self._place(plan, [task for task in every if task.instance is None])
        first = list(dict.fromkeys([*kept, *(p for p in plan if p.tasks)]))
        for planned in first:
            if planned.id in held or not planned.tasks or not self._is_underused(planned):
                continue
            tasks = planned.tasks
            if len(tasks) == 1 and planned.kind == self.cloud.cheapest[self.cloud.of_class[tasks[0].task_class]]:
                continue
            plan.drop(planned)
            self._place(plan, tasks)
        return self._order.launching(view, plan.configuration())

    def _remaining_of(self, view: CloudView, name: str) -> float:
        job = view.jobs[name]
        run = 0.0
        if self.true_remaining:
            run = job.launched_seconds
            run += 0.0 if job.launched_since is None else view.now - job.launched_since
        return max(1.0, job.duration_seconds - run)

    def _place(self, plan: Plan, tasks: Sequence[TaskState]) -> None:
        """Pack tasks on the current instances, and scale out for the rest."""
        there = list(plan)
        left = []
        for task in tasks:
            where = self._best(task, there)
            if where is None:
                left.append(task)
            else:
                plan.put(task, where)
        for group in self._groups(left):
            planned = plan.new(self._type_for(group))
            for task in group:
                plan.put(task, planned)

    def _best(self, task: TaskState, there: Iterable[Planned]) -> Planned | None:
        """Return the instance for a task.

        It is the instance of the same bin whose end is closest to the task's, otherwise the emptiest one of a higher
        bin, then of a lower bin.
        """
        remaining = self._remaining[task.job]
        own = _bin(remaining)
        best: list[tuple[float, Planned] | None] = [None, None, None]
        for planned in there:
            if not planned.holds(self.cloud.need(task, planned.kind)):
                continue
            of_instance = max((self._remaining[t.job] for t in planned.tasks), default=0.0)
            its = _bin(of_instance) if planned.tasks else 0
            which = 0 if its == own else 1 if its > own else 2
            score = -abs(of_instance - remaining) if which == 0 else self._free_amount(planned)
            found = best[which]
            if found is None or score > found[0]:
                best[which] = score, planned
        return next((found[1] for found in best if found is not None), None)

    def _free_amount(self, planned: Planned) -> float:
        """Return the sum of the free amounts of all resources, with equal weight of a GPU, a CPU and a GB."""
        return sum(f * u for f, u in zip(planned.free, self.cloud.units, strict=True))

    def _groups(self, tasks: Sequence[TaskState]) -> list[list[TaskState]]:
        """Return tasks by decreasing duration in groups of at most 1, 2, 3 ..., each as large as one type can hold."""
        ordered = sorted(tasks, key=lambda task: -self._duration[task.job])
        groups: list[list[TaskState]] = []
        i = 0
        while i < len(ordered):
            size = len(groups) + 1
            group: list[TaskState] = []
            for task in ordered[i : i + size]:
                if not any(self._holds(kind, [*group, task]) for kind in range(len(self.cloud.price))):
                    break
                group.append(task)
            groups.append(group)
            i += len(group)
        return groups

    def _demand(self, kind: int, group: Sequence[TaskState]) -> list[int]:
        return [sum(amounts) for amounts in zip(*(self.cloud.need(task, kind) for task in group), strict=True)]

    def _holds(self, kind: int, group: Sequence[TaskState]) -> bool:
        return all(d <= q for d, q in zip(self._demand(kind, group), self.cloud.capacity[kind], strict=True))

    def _type_for(self, group: Sequence[TaskState]) -> int:
        """Return the first type of the highest efficiency: demand of the scarcest resource over price.

        The demand is in units of the smallest type.
        """
        best, score = -1, -1.0
        for kind in range(len(self.cloud.price)):
            if not self._holds(kind, group):
                continue
            demand, capacity = self._demand(kind, group), self.cloud.capacity[kind]
            shares = [(d / q, -r) for r, (d, q) in enumerate(zip(demand, capacity, strict=True)) if q]
            r = -max(shares)[1] if shares else 0
            unit = self._smallest[r]
            efficiency = math.inf if demand[r] and not unit else demand[r] / (unit or 1) / self.cloud.price[kind]
            if efficiency > score:
                best, score = kind, efficiency
        return best

    def _is_underused(self, planned: Planned) -> bool:
        """Return whether less than half of every resource is used; a type without one of them is never underused."""
        capacity = self.cloud.capacity[planned.kind]
        return all(q - f < MIN_UTILISATION * q for f, q in zip(planned.free, capacity, strict=True))


def _bin(seconds: float) -> int:
    return math.floor(math.log2(seconds))
