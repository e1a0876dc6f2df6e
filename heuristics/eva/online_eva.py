"""Eva as an online policy: each round uses Full or Partial Reconfiguration, whichever is worth more (section 4.5).

The module contains the learned throughput in the form for compiled code, the plans of a round as in the authors'
artifact, and the choice between them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from heuristics.eva.online_kernels import (
    NOBODY,
    PlanArrays,
    RoundTasks,
    Table,
    Types,
    add,
    copy_sets,
    keep,
    pack,
    provision,
    put,
    saving,
    store,
    tnrp_of,
)
from heuristics.eva.online_plan import SetOrder
from instances.arrays import IntArray as Int
from instances.eva import EvaCloud
from instances.eva.cloud_arrays import cloud_arrays
from instances.eva.learned import LearnedThroughput, MeanThroughput
from instances.eva.online import CloudView, Configuration, Hosting, TaskState

MIN_SLOTS = 1 << 12  # initial size of the hash table, a power of two
MAX_SET = 4096  # number of tasks on one instance up to which the default throughput is tabulated
SEED = 11  # seed of the 64-bit random numbers of the classes, which make collisions of keys very unlikely


class LearnedTable:
    """The `Table` of a `LearnedThroughput`, for classes by their index in `names`, which are sorted."""

    def __init__(self, names: list[str], default: float, *, interference: bool = True) -> None:
        self._place = {name: c for c, name in enumerate(names)}
        self._read = self._sets = 0
        n = len(names)
        weight = np.random.default_rng(SEED).integers(1, 2**63, size=n, dtype=np.uint64)
        self.table = Table(
            pair=np.full((n, n), default if interference else 1.0),
            known=np.full(n, not interference),
            power=np.array([default**k for k in range(MAX_SET)]),
            weight=weight,
            keys=np.zeros(MIN_SLOTS, dtype=np.uint64),
            values=np.zeros(MIN_SLOTS),
        )

    def update(self, learned: LearnedThroughput) -> None:
        """Record what has been learned since the last call."""
        for entry in learned.changes[self._read :]:
            self._store(entry)
        self._read = len(learned.changes)

    def _store(self, entry: MeanThroughput) -> None:
        name, neighbours = entry.key
        kind = self._place[name]
        self.table.known[kind] = True
        if len(neighbours) == 1:
            self.table.pair[kind, self._place[neighbours[0]]] = entry.mean
        elif neighbours:
            self._sets += store(self.table, kind, np.array([self._place[name] for name in neighbours]), entry.mean)
            if 2 * self._sets > len(self.table.keys):
                old, size = self.table, 2 * len(self.table.keys)
                self.table = old._replace(keys=np.zeros(size, dtype=np.uint64), values=np.zeros(size))
                copy_sets(old, self.table)


class Rentable:
    """The types and classes of a workload in the form for compiled code, classes sorted by name."""

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

    def tasks(self, kinds: Sequence[int], size: Sequence[int], on: Sequence[int]) -> RoundTasks:
        """Return tasks by class, with the number of tasks of each one's job and its instance."""
        kind = np.array(kinds, dtype=np.int64)
        return RoundTasks(
            kind=kind,
            price=self.reservation_price[kind],
            size=np.array(size, dtype=np.int64),
            on=np.array(on, dtype=np.int64),
            cheapest=self.cheapest[kind],
        )

    def empty_plan(self, tasks: int, instances: int) -> PlanArrays:
        """Return a plan without instances, large enough for `tasks` tasks and `instances` rented instances."""
        capacity = tasks + instances
        return PlanArrays(
            length=np.zeros(1, dtype=np.int64),
            type=np.empty(capacity, dtype=np.int64),
            rented=np.empty(capacity, dtype=np.int64),
            held=np.empty(capacity, dtype=np.int64),
            members=np.empty((capacity, tasks), dtype=np.int64),
            free=np.empty((capacity, self.types.capacity.shape[1]), dtype=np.int64),
            used=np.zeros(instances, dtype=np.bool_),
        )

    def price_alone(self, job_classes: Sequence[str], table: LearnedTable) -> float:
        """Return the price of the instances that Partial Reconfiguration rents for one job alone, USD per second."""
        n = len(job_classes)
        if n == 1:
            return self.price[self.cheapest[self.place[job_classes[0]]]] / 3600
        tasks = self.tasks([self.place[name] for name in job_classes], [n] * n, [NOBODY] * n)
        plan, none = self.empty_plan(n, 0), np.empty(0, dtype=np.int64)
        provision(plan, self.types, tasks, table.table, np.arange(n), none, none.astype(np.bool_), none)
        return sum(self.price[k] / 3600 for k in plan.type[: plan.length[0]].tolist())


class Round:
    """The tasks and instances of a round, in the order of the artifact's sets, and plans for them."""

    def __init__(
        self, rentable: Rentable, table: LearnedTable, view: CloudView, order: SetOrder, *, whole_jobs: bool = True
    ) -> None:
        self.rentable, self.table, self._view, self._order = rentable, table, view, order
        self.states: list[TaskState] = order.tasks(view)
        self.instances = list(order.instances)
        self._place_of = {name: i for i, name in enumerate(self.instances)}
        states = [view.instances[name] for name in self.instances]
        self.tasks = rentable.tasks(
            [rentable.place[task.task_class] for task in self.states],
            [len(view.jobs[task.job].tasks) if whole_jobs else 1 for task in self.states],
            [NOBODY if task.instance is None else self._place_of[task.instance] for task in self.states],
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

    def plan_pinned(self) -> PlanArrays:
        """Return a plan with the instances that have launching tasks, and these tasks."""
        plan = self.rentable.empty_plan(len(self.states), len(self.instances))
        keep(plan, self.rentable.types, self.tasks, self._pinned, self._type)
        return plan

    def partial(self) -> PlanArrays:
        """Run Partial Reconfiguration: place pending tasks, and those of instances that do not pay, again.

        Tasks go to kept instances wherever they fit; then Algorithm 1 rents others.
        """
        plan = self.plan_pinned()
        moving = list(self._waiting)
        for i, on in enumerate(self._on):
            if not plan.used[i] and on and not self._pays(i, on):
                moving += on
        moving_set = set(moving)
        kept = np.array([i for i in self.movable if i not in moving_set], dtype=np.int64)
        keep(plan, self.rentable.types, self.tasks, kept, self._type)
        self._place(plan, np.array(moving, dtype=np.int64))
        return plan

    def full(self) -> PlanArrays:
        """Run Full Reconfiguration: place all tasks that are not launching again, first next to those that are."""
        plan = self.plan_pinned()
        self._place(plan, np.array(self.movable, dtype=np.int64))
        return plan

    def plan_of(self, configuration: Configuration) -> PlanArrays:
        """Return a configuration as a plan."""
        plan = self.rentable.empty_plan(len(self.states), len(self.instances))
        for hosting in configuration.instances or ():
            kind = self.rentable.kind[hosting.instance_type]
            p = add(plan, self.rentable.types, kind, NOBODY if hosting.id is None else self._place_of[hosting.id])
            for name in hosting.tasks:
                put(plan, self.rentable.types, self.tasks, p, self._number[name])
        return plan

    def _pays(self, i: int, on: list[int]) -> bool:
        kind = self._type[i]
        if len(on) == 1 and self.tasks.cheapest[on[0]] == kind:
            return True
        value = tnrp_of(self.tasks, self.table.table, np.array(on, dtype=np.int64), len(on), NOBODY, False)
        return bool(value >= self.rentable.price[kind])

    def _place(self, plan: PlanArrays, moving: Int) -> None:
        types, tasks, table = self.rentable.types, self.tasks, self.table.table
        left = pack(plan, types, tasks, table, moving)
        provision(plan, types, tasks, table, left, self._type, self._ready, self._held)

    def saving(self, plan: PlanArrays) -> float:
        """Return the provision saving S of a plan, USD per second; prices are in cents per hour, as in the artifact."""
        price = 0.0
        for kind in plan.type[: plan.length[0]].tolist():
            price += self.rentable.price[kind]
        return float(saving(self.tasks, self.table.table, plan)) / 3600 - round(price, 2) / 3600

    def list_moves(self, plan: PlanArrays) -> tuple[list[str], list[int]]:
        """Return the jobs with a task that moves or is placed for the first time, and the types of new instances."""
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

    def configuration(self, plan: PlanArrays) -> Configuration:
        """Return a plan as a decision."""
        length = plan.length[0]
        rows = zip(plan.type[:length].tolist(), plan.rented[:length].tolist(), plan.held[:length].tolist(), strict=True)
        configuration = Configuration(
            instances=tuple(
                Hosting(
                    self.rentable.kinds[kind],
                    tuple(self.states[i].id for i in plan.members[p, :count].tolist()),
                    None if rented == NOBODY else self.instances[rented],
                )
                for p, (kind, rented, count) in enumerate(rows)
            )
        )
        return self._order.launching(self._view, configuration)


Planner = Callable[[CloudView], Configuration | None]
"""Plan all tasks of an observation; return `None` without a plan."""
SECONDS = 3600


@dataclass(frozen=True)
class EvaParameters:
    """The parameters of Eva.

    - `full`, `partial`: whether Full and Partial Reconfiguration are allowed.
    - `whole_jobs`: whether Algorithm 1 charges a slowed task for all tasks of its job (section 4.4).
    - `interference`: whether tasks are priced by their learned throughput (TNRP), or as if they ran alone (RP).
    - `horizon_seconds`: assumed duration of a configuration; `None` for the estimate of section 4.5.
    - `setup_seconds`: setup time of a new instance that counts as migration cost.
    """

    full: bool = True
    partial: bool = True
    whole_jobs: bool = True
    interference: bool = True
    horizon_seconds: float | None = None
    setup_seconds: float = 300.0


class Horizon:
    """The expected duration of a configuration: D-hat = -1 / (lambda ln(1 - p)) (section 4.5), as in the artifact.

    Events are arrivals and completions as seen in rounds. lambda is their rate from the first to the last. p is the
    number of rounds that Full Reconfiguration has won, over the number of events. Before it has won, D is the time
    since the start.
    """

    def __init__(self) -> None:
        self.events: list[float] = []
        self.won = 0
        self._movable: set[str] = set()
        self._ends: dict[str, float] = {}

    def note(self, view: CloudView) -> None:
        """Record the jobs that have ended."""
        self._ends.update(view.finished)

    def update(self, view: CloudView, movable: set[str]) -> None:
        """Record a round: a job has arrived if it was not movable in the last round, and ended if it is gone."""
        ended = {name: end for name, end in self._ends.items() if name in self._movable}
        new = [view.jobs[name].arrival_seconds for name in view.jobs if name not in self._movable]
        self.events += sorted([*new, *ended.values()])
        self._ends.clear()
        self._movable = movable

    def seconds(self, now: float) -> float:
        """Return D, seconds; NaN if p is above 1, or if there is a single event."""
        p = self.won / max(1, len(self.events))
        if p == 0:
            return now
        if len(self.events) < 2 or p > 1:
            return math.nan
        gap = (self.events[-1] - self.events[0]) / (len(self.events) - 1)
        return 0.0 if p == 1 or gap <= 0 else -gap / math.log(1 - p)


class Eva:
    """Eva's scheduler as in the authors' artifact; `planner`, if given, replaces Full Reconfiguration."""

    def __init__(
        self, data: EvaCloud, parameters: EvaParameters = EvaParameters(), planner: Planner | None = None
    ) -> None:
        self.parameters, self.planner = parameters, planner
        self.horizon = Horizon()
        self.rounds = self.full_rounds = 0
        """Numbers of rounds with movable tasks, and of full reconfigurations among them."""
        self._rentable = Rentable(data)
        self._table = LearnedTable(self._rentable.names, data.believed_throughput, interference=parameters.interference)
        self._alone = LearnedTable(self._rentable.names, data.believed_throughput)
        self._classes = {c.name: c for c in data.classes}
        self._price_alone: dict[str, float] = {}
        self._order = SetOrder()
        self._planned: tuple[int, Configuration | None] = (-1, None)

    def totals(self) -> dict[str, int]:
        """Return the numbers of rounds with movable tasks, and of full reconfigurations among them."""
        return {"rounds": self.rounds, "full_rounds": self.full_rounds}

    def decide(self, view: CloudView) -> Configuration:
        self._order.update(view)
        self.horizon.note(view)
        if self.parameters.interference:
            self._table.update(view.learned)
        for name in view.arrived:
            classes = [view.tasks[task].task_class for task in view.jobs[name].tasks]
            self._price_alone[name] = self._rentable.price_alone(classes, self._alone)
        round_ = Round(self._rentable, self._table, view, self._order, whole_jobs=self.parameters.whole_jobs)
        if not round_.movable:
            return round_.configuration(round_.plan_pinned())
        self.rounds += 1
        return round_.configuration(self._choose(round_, view))

    def _choose(self, round_: Round, view: CloudView) -> PlanArrays:
        """Return the plan of Full Reconfiguration if it is worth more to the cent, otherwise Partial (equation 1)."""
        partial = round_.partial() if self.parameters.partial else None
        full = self._full(round_, view) if self.parameters.full else None
        self.horizon.update(view, {round_.states[i].job for i in round_.movable})
        if full is None:
            assert partial is not None
            return partial
        if partial is not None:
            known = self.parameters.horizon_seconds
            seconds = self.horizon.seconds(view.now) if known is None else known
            worth_full, worth_partial = (self._compute_worth(round_, plan, seconds, view) for plan in (full, partial))
            if not worth_full > worth_partial:  # also if a value is NaN
                return partial
        self.horizon.won += 1
        self.full_rounds += 1
        return full

    def _full(self, round_: Round, view: CloudView) -> PlanArrays:
        if self.planner is None:
            return round_.full()
        if self._planned[0] != view.version:
            self._planned = view.version, self.planner(view)
        planned = self._planned[1]
        return round_.full() if planned is None or planned.instances is None else round_.plan_of(planned)

    def _compute_worth(self, round_: Round, plan: PlanArrays, seconds: float, view: CloudView) -> float:
        """Return S D - M of a plan, USD, rounded to cents."""
        jobs, new = round_.list_moves(plan)
        cost = 0.0
        for name in jobs:
            cost += self._migration_cost(name, view)
        rented = 0.0
        for kind in new:
            rented += self._rentable.price[kind] / SECONDS * self.parameters.setup_seconds
        total = round_.saving(plan) * seconds - (cost + rented)
        return total if math.isnan(total) or math.isinf(total) else round(total, 2)

    def _migration_cost(self, name: str, view: CloudView) -> float:
        """Return the cost of a job's move, USD: the delays observed so far, at the price of the job alone."""
        longest = init = 0.0
        for task in view.jobs[name].tasks:
            state = view.tasks[task]
            kind = self._classes[state.task_class]
            delay = (kind.fetch_seconds + kind.build_seconds) * state.seen_launch
            longest = max(longest, delay + kind.upload_seconds * state.seen_upload)
            init = max(init, kind.init_seconds)
        return (longest + init) * self._price_alone[name]
