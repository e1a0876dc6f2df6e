"""Full and Partial Reconfiguration of a round, as in the authors' artifact."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from heuristics.eva import online_provision as provision
from heuristics.eva.online_kernels import NOBODY, Tasks, Types, worth
from heuristics.eva.online_order import SetOrder
from heuristics.eva.online_provision import Plan
from heuristics.eva.online_table import LearnedTable
from instances.arrays import IntArray as Int
from instances.eva import EvaCloud
from instances.eva.cloud_arrays import cloud_arrays
from instances.eva.online import Configuration, Hosting, TaskState, View


class Rentable:
    """The types and classes of a workload as compiled code takes them, classes in order of name."""

    def __init__(self, data: EvaCloud) -> None:
        arrays = cloud_arrays(data)
        order = sorted(range(len(arrays.classes)), key=arrays.classes.__getitem__)
        self.names = [arrays.classes[c] for c in order]
        self.place = {name: c for c, name in enumerate(self.names)}
        self.cheapest = np.ascontiguousarray(arrays.cheapest_type[order])
        self.reservation_price = np.ascontiguousarray(arrays.reservation_price[order])
        self.kinds = arrays.types
        self.kind = {name: k for k, name in enumerate(arrays.types)}
        self.price: list[float] = arrays.price.tolist()
        places = range(len(self.price))
        self.types = Types(
            demand=np.ascontiguousarray(arrays.demand[:, order]),
            capacity=arrays.capacity,
            price=arrays.price,
            falling=np.array(sorted(places, key=lambda k: -self.price[k])),
            rising=np.array(sorted(places, key=lambda k: self.price[k])),
        )

    def tasks(self, kinds: Sequence[int], size: Sequence[int], on: Sequence[int]) -> Tasks:
        """Tasks of some classes, with the number of tasks of each one's job, and the instance that each is on."""
        kind = np.array(kinds, dtype=np.int64)
        return Tasks(
            kind=kind,
            price=self.reservation_price[kind],
            size=np.array(size, dtype=np.int64),
            on=np.array(on, dtype=np.int64),
            cheapest=self.cheapest[kind],
        )

    def empty_plan(self, tasks: int, instances: int) -> Plan:
        """A plan without instances, with room for all that `tasks` tasks and `instances` rented ones can need."""
        most = tasks + instances
        return Plan(
            length=np.zeros(1, dtype=np.int64),
            type=np.empty(most, dtype=np.int64),
            rented=np.empty(most, dtype=np.int64),
            held=np.empty(most, dtype=np.int64),
            members=np.empty((most, tasks), dtype=np.int64),
            free=np.empty((most, self.types.capacity.shape[1]), dtype=np.int64),
            used=np.zeros(instances, dtype=np.bool_),
        )

    def price_alone(self, job_classes: Sequence[str], table: LearnedTable) -> float:
        """Price of the instances that Partial Reconfiguration rents for the tasks of one job alone, USD a second."""
        n = len(job_classes)
        if n == 1:
            return self.price[self.cheapest[self.place[job_classes[0]]]] / 3600
        tasks = self.tasks([self.place[name] for name in job_classes], [n] * n, [NOBODY] * n)
        plan, none = self.empty_plan(n, 0), np.empty(0, dtype=np.int64)
        provision.provision(plan, self.types, tasks, table.table, np.arange(n), none, none.astype(np.bool_), none)
        return sum(self.price[k] / 3600 for k in plan.type[: plan.length[0]].tolist())


class Round:
    """The tasks and instances of a round, in the order of the artifact's sets, and plans for them."""

    def __init__(
        self, rentable: Rentable, table: LearnedTable, view: View, order: SetOrder, *, whole_jobs: bool = True
    ) -> None:
        self.rentable, self.table, self._view, self._order = rentable, table, view, order
        self.states: list[TaskState] = order.tasks(view)
        self.instances = list(order.instances)
        place = {name: i for i, name in enumerate(self.instances)}
        states = [view.instances[name] for name in self.instances]
        self.tasks = rentable.tasks(
            [rentable.place[task.task_class] for task in self.states],
            [len(view.jobs[task.job].tasks) if whole_jobs else 1 for task in self.states],
            [NOBODY if task.instance is None else place[task.instance] for task in self.states],
        )
        self._number = {task.id: i for i, task in enumerate(self.states)}
        self._type = np.array([rentable.kind[state.instance_type] for state in states], dtype=np.int64)
        self._ready = np.array([state.ready for state in states], dtype=np.bool_)
        self._held = np.array([len(state.tasks) for state in states], dtype=np.int64)
        self._on: list[list[int]] = [[self._number[name] for name in state.tasks] for state in states]
        pinned = [task.pinned for task in self.states]
        self._pinned = np.array([i for i, held in enumerate(pinned) if held], dtype=np.int64)
        self.movable = [i for i, held in enumerate(pinned) if not held]
        self._waiting = [i for i in self.movable if self.states[i].instance is None]

    def pinned_plan(self) -> Plan:
        """The instances with tasks on their way, and those tasks."""
        plan = self.rentable.empty_plan(len(self.states), len(self.instances))
        provision.keep(plan, self.rentable.types, self.tasks, self._pinned, self._type)
        return plan

    def partial(self) -> Plan:
        """Partial Reconfiguration: tasks that wait, and those of instances that do not pay, are placed anew.

        They go onto instances that are kept wherever they fit, and only then does Algorithm 1 rent others.
        """
        plan = self.pinned_plan()
        moving = list(self._waiting)
        for i, on in enumerate(self._on):
            if not plan.used[i] and on and not self._pays(i, on):
                moving += on
        gone = set(moving)
        kept = np.array([i for i in self.movable if i not in gone], dtype=np.int64)
        provision.keep(plan, self.rentable.types, self.tasks, kept, self._type)
        self._place(plan, np.array(moving, dtype=np.int64))
        return plan

    def full(self) -> Plan:
        """Full Reconfiguration: all tasks that are not on their way are placed anew, first beside those that are."""
        plan = self.pinned_plan()
        self._place(plan, np.array(self.movable, dtype=np.int64))
        return plan

    def plan_of(self, configuration: Configuration) -> Plan:
        """A configuration as a plan."""
        place = {name: i for i, name in enumerate(self.instances)}
        plan = self.rentable.empty_plan(len(self.states), len(self.instances))
        for hosting in configuration.instances or ():
            kind = self.rentable.kind[hosting.instance_type]
            p = provision.add(plan, self.rentable.types, kind, NOBODY if hosting.id is None else place[hosting.id])
            for name in hosting.tasks:
                provision.put(plan, self.rentable.types, self.tasks, p, self._number[name])
        return plan

    def _pays(self, i: int, on: list[int]) -> bool:
        kind = self._type[i]
        if len(on) == 1 and self.tasks.cheapest[on[0]] == kind:
            return True
        value = worth(self.tasks, self.table.table, np.array(on, dtype=np.int64), len(on), NOBODY, False)
        return bool(value >= self.rentable.price[kind])

    def _place(self, plan: Plan, moving: Int) -> None:
        types, tasks, table = self.rentable.types, self.tasks, self.table.table
        left = provision.pack(plan, types, tasks, table, moving)
        provision.provision(plan, types, tasks, table, left, self._type, self._ready, self._held)

    def saving(self, plan: Plan) -> float:
        """Provision saving S of a plan, USD a second; the price is rounded to cents an hour, as in the artifact."""
        price = 0.0
        for kind in plan.type[: plan.length[0]].tolist():
            price += self.rentable.price[kind]
        return float(provision.saving(self.tasks, self.table.table, plan)) / 3600 - round(price, 2) / 3600

    def moved(self, plan: Plan) -> tuple[list[str], list[int]]:
        """The jobs with a task that is not where it was, first placements included, and the types that are rented."""
        jobs: dict[str, None] = {}
        length = plan.length[0]
        new = []
        on = self.tasks.on.tolist()
        rows = zip(plan.type[:length].tolist(), plan.rented[:length].tolist(), plan.held[:length].tolist(), strict=True)
        for p, (kind, rented, count) in enumerate(rows):
            if rented == NOBODY:
                new.append(kind)
            for i in plan.members[p, :count].tolist():
                if rented == NOBODY or on[i] != rented:
                    jobs[self.states[i].job] = None
        return list(jobs), new

    def configuration(self, plan: Plan) -> Configuration:
        """A plan as a decision."""
        length = plan.length[0]
        rows = zip(plan.type[:length].tolist(), plan.rented[:length].tolist(), plan.held[:length].tolist(), strict=True)
        found = Configuration(
            instances=tuple(
                Hosting(
                    self.rentable.kinds[kind],
                    tuple(self.states[i].id for i in plan.members[p, :count].tolist()),
                    None if rented == NOBODY else self.instances[rented],
                )
                for p, (kind, rented, count) in enumerate(rows)
            )
        )
        return self._order.launching(self._view, found)
