"""Synergy as implemented by the authors of Eva: each new task goes to the best instance, or a new one; none moves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import attrgetter

from heuristics.eva.online_plan import Cloud, JobOrder, Kept, Planned
from instances.eva import EvaCloud
from instances.eva.learned import LearnedThroughput
from instances.eva.online import CloudView, Configuration, Hosting, TaskState

LATER, NEW = 1, 2  # ranks of instances without launching tasks, and of new ones


class Place(Planned):
    """An instance that may receive tasks.

    - `hosting`: its entry in the decision.
    - `rank`, `tasks`: its position and its tasks in the order of the artifact; computed on demand.
    """

    __slots__ = ("hosting", "rank")

    def __init__(self, kind: int, capacity: list[int], hosting: Hosting) -> None:
        super().__init__(kind, capacity)
        self.hosting = hosting
        self.rank: tuple[int, int, int] | None = None


class Synergy:
    """A pending task goes to the instance that holds it with the maximum ratio of TNRP of all tasks to price.

    The ratio must be at least 1. TNRP is that of section 4.3, with the learned throughput; ties go to the best-aligned
    instance. Otherwise the task gets an instance of its cheapest type. Instances in setup, and those just ordered for
    another task, are candidates too.
    """

    def __init__(self, data: EvaCloud) -> None:
        self.cloud = Cloud(data)
        self._order = JobOrder()
        self._kept = Kept()
        self._places: dict[str | None, Place] = {}

    def decide(self, view: CloudView) -> Configuration:
        if not view.arrived and not view.finished:
            return Configuration()
        self._order.update(view)
        kept = self._kept.hostings(view)
        waiting = [task for task in self._order.tasks(view) if task.instance is None] if view.arrived else []
        if not waiting:
            return Configuration(instances=tuple(kept))
        position = {name: i for i, name in enumerate(self._order.jobs)}
        places = [self._place(hosting, view) for hosting in kept]
        self._places = {place.hosting.id: place for place in places}
        for task in waiting:
            self._put(task, self._best(task, places, view, position) or self._new(task, places))
        return Configuration(instances=tuple(place.hosting for place in places))

    def _place(self, hosting: Hosting, view: CloudView) -> Place:
        """Return a rented instance, cached from the previous round if unchanged."""
        place = self._places.get(hosting.id)
        if place is None or place.hosting is not hosting:
            kind = self.cloud.kind[hosting.instance_type]
            place = Place(kind, self.cloud.capacity[kind], hosting)
            for name in hosting.tasks:
                place.fill(self.cloud.need(view.tasks[name], kind))
        place.rank = None
        return place

    def _new(self, task: TaskState, places: list[Place]) -> Place:
        kind = self.cloud.cheapest[self.cloud.of_class[task.task_class]]
        place = Place(kind, self.cloud.capacity[kind], Hosting(self.cloud.arrays.types[kind], ()))
        place.rank = NEW, len(places), 0
        places.append(place)
        return place

    def _put(self, task: TaskState, place: Place) -> None:
        place.fill(self.cloud.need(task, place.kind))
        place.tasks.append(task)
        of = place.hosting
        place.hosting = Hosting(of.instance_type, (*of.tasks, task.id), of.id)

    def _best(
        self, task: TaskState, places: Iterable[Place], view: CloudView, position: Mapping[str, int]
    ) -> Place | None:
        demand = [of_type[self.cloud.of_class[task.task_class]] for of_type in self.cloud.demand]
        holds = []
        for place in places:
            if place.holds(demand[place.kind]):
                if place.rank is None:
                    self._rank(place, view, position)
                holds.append(place)
        best: tuple[float, float] | None = None
        where: Place | None = None
        for place in sorted(holds, key=attrgetter("rank")):
            ratio = tnrp(self.cloud, [*place.tasks, task], view.learned) / self.cloud.price[place.kind]
            if ratio >= 1 and (best is None or ratio >= best[0]):
                score = ratio, self._alignment(demand[place.kind], place)
                if best is None or score > best:
                    best, where = score, place
        return where

    def _rank(self, place: Place, view: CloudView, position: Mapping[str, int]) -> None:
        """Compute the rank of an instance, and the order of its tasks: those that are launching come first."""

        def rank(task: TaskState) -> tuple[int, int, int]:
            own = view.jobs[task.job].tasks
            return 0 if task.pinned else LATER, position[task.job], own.index(task.id) if len(own) > 1 else 0

        place.tasks = sorted((view.tasks[name] for name in place.hosting.tasks), key=rank)
        place.rank = rank(place.tasks[0])

    def _alignment(self, demand: list[int], place: Place) -> float:
        """Return the alignment of a demand with the free amounts: the sum over resources of d/Q * free/Q."""
        size = self.cloud.capacity[place.kind]
        return sum((d / q) * (f / q) for d, f, q in zip(demand, place.free, size, strict=True) if q)


def tnrp(cloud: Cloud, tasks: list[TaskState], learned: LearnedThroughput) -> float:
    """Return the throughput-normalised reservation price of one-task jobs on one instance (section 4.3), USD/h."""
    total = 0.0
    names = [task.task_class for task in tasks]
    for i, name in enumerate(names):
        neighbours = tuple(sorted(names[:i] + names[i + 1 :]))
        total += cloud.reservation_price[cloud.of_class[name]] * learned.believed(name, neighbours)
    return total
