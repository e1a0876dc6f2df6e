"""Owl as implemented by the authors of Eva: pairs of tasks with known interference, the best pair first."""

from __future__ import annotations

from collections import deque
from functools import cache
from itertools import combinations_with_replacement

from heuristics.eva.online_plan import Cloud, Plan, SetOrder
from instances.eva import EvaCloud
from instances.eva.online import CloudView, Configuration, TaskState


class Owl:
    """At most two tasks per instance, chosen by TNRP over price with the true throughput of pairs.

    Pending tasks, and tasks alone on an instance, are assigned to single classes and pairs of classes by decreasing
    TNRP over the price of the cheapest type that holds them; a single class has the ratio 1. A pair gets a new
    instance, even if one of the two is on one of the same type. In a tie, single classes come first, then the order of
    the classes in the data. The artifact's order is that of a set of strings, which varies between runs.
    """

    def __init__(self, data: EvaCloud) -> None:
        self.cloud = Cloud(data)
        self._order = SetOrder()
        pairs = {(name, neighbour): value for name, neighbour, value in data.throughput.pairwise}
        self._true = {
            (a.name, b.name): pairs.get((a.workload, b.workload), data.throughput.default)
            for a in data.classes
            for b in data.classes
        }
        self._score = cache(self._compute_score)
        self._version = -1

    def decide(self, view: CloudView) -> Configuration:
        self._order.update(view)
        if view.version == self._version:
            return Configuration()  # the last decision changed nothing
        self._version = view.version
        plan = Plan(self.cloud)
        every = self._order.tasks(view)
        tasks = sorted(every, key=lambda task: not task.pinned)
        held = {task.instance for task in tasks if task.pinned}
        candidates = [task for task in every if task.instance is None]
        for name in self._order.instances:
            state = view.instances[name]
            if name not in held and len(state.tasks) < 2:
                candidates += [view.tasks[task] for task in state.tasks]
        free = {task.id for task in candidates}
        plan.keep(view, (task for task in tasks if task.id not in free))
        self._deal(plan, candidates, view)
        return self._order.launching(view, plan.configuration())

    def _deal(self, plan: Plan, candidates: list[TaskState], view: CloudView) -> None:
        of_class: dict[int, deque[TaskState]] = {}
        for task in candidates:
            of_class.setdefault(self.cloud.of_class[task.task_class], deque()).append(task)
        classes = sorted(of_class)
        sets: list[tuple[int, ...]] = [(c,) for c in classes]
        sets += combinations_with_replacement(classes, 2)
        scored = [(self._score(together), together) for together in sets]
        ordered = sorted(((score, together) for score, together in scored if score), key=lambda entry: -entry[0][0])
        for (_, kind), together in ordered:
            while all(len(of_class[c]) >= together.count(c) for c in together):
                chosen = [of_class[c].popleft() for c in together]
                task = chosen[0]
                rented = None if task.instance is None else plan.add_rented(view, task.instance)
                stays = len(chosen) == 1 and rented is not None and rented.kind == kind
                planned = rented if stays and rented is not None else plan.new(kind)
                for task in chosen:
                    plan.put(task, planned)

    def _compute_score(self, together: tuple[int, ...]) -> tuple[float, int] | None:
        """Return TNRP over price on the cheapest type that holds the classes, and this type; `None` without one."""
        arrays, price = self.cloud.arrays, self.cloud.reservation_price
        holds = (arrays.demand[:, list(together), :].sum(axis=1) <= arrays.capacity).all(axis=1)
        if not holds.any():
            return None
        kind = min((k for k in range(len(holds)) if holds[k]), key=self.cloud.price.__getitem__)
        if len(together) == 1:
            return 1.0, kind
        a, b = (arrays.classes[c] for c in together)
        value = price[together[0]] * self._true[a, b] + price[together[1]] * self._true[b, a]
        return value / self.cloud.price[kind], kind
