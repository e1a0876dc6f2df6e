"""A clairvoyant policy that delays jobs and pays little more than the bound on every policy.

Its only objective is the bill. It waits for the last arrival, or as long as the world permits. Then it runs the
patterns of the linear program of `models.eva.work_bound`, one after the other on a few instances, each for its hours in
the optimum. Remaining work is planned again. So the excess of its bill over the bound limits the gain of a better
bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from instances import InputError
from instances.eva import CloudJob, EvaCloud
from instances.eva.cloud_arrays import SECONDS, cloud_arrays, pairs_of_classes, work_seconds
from instances.eva.online import CloudView, Configuration, Hosting
from models.eva.work_bound import Stretch, WorkBoundParameters, work_bound

LONGEST_WAIT = 150 * SECONDS  # the world reports a standstill if no job runs for a week
LEAST_LEFT = 60.0  # seconds of work assumed for an unfinished job whose estimated work is done
ALONE = WorkBoundParameters(alike=1.0)


@dataclass
class Lane:
    """A sequence of instances: the current `stretch`, its `jobs`, and the remaining `seconds`."""

    stretch: Stretch | None = None
    jobs: list[str] = field(default_factory=list)
    seconds: float = 0.0
    instance: str | None = None


class Patient:
    """The policy, with one lane per `jobs_an_instance` jobs of the workload. Every job must have one task.

    `left`: estimated remaining work of each unfinished job, in seconds at full speed, updated every round.
    """

    def __init__(self, data: EvaCloud, jobs_an_instance: int = 10) -> None:
        if any(job.size > 1 for job in data.jobs):
            raise InputError("patient: jobs must have one task")
        self.data, self._types, self._pair = data, cloud_arrays(data).types, pairs_of_classes(data)
        place = {c.name: i for i, c in enumerate(data.classes)}
        self._class = {job.id: place[next(iter(job.tasks))] for job in data.jobs}
        self.left = {job.id: work_seconds(job, data.classes[self._class[job.id]]) for job in data.jobs}
        uncounted = tuple(c.model_copy(update={"iterations_per_second": None}) for c in data.classes)
        self._uncounted = data.model_copy(update={"classes": uncounted})  # remaining work may be a fraction
        self._begin = min(max(job.arrival_seconds for job in data.jobs), LONGEST_WAIT)
        self._lanes = [Lane() for _ in range(-(-len(data.jobs) // jobs_an_instance))]
        self._plan: list[Stretch] = []
        self._lots: list[list[str]] = []

    def decide(self, view: CloudView) -> Configuration:
        """Continue the running stretches, and begin further ones if a job or a stretch has ended."""
        running = [lane for lane in self._lanes if lane.jobs]
        due = [lane for lane in running if self._due(lane, view)]
        for name in view.finished:
            del self.left[name]
        if view.now < self._begin or not view.jobs or (running and not due):
            return Configuration()
        self._fill([*due, *(lane for lane in self._lanes if not lane.jobs)])
        if not any(lane.jobs for lane in self._lanes):
            self._plan_anew(view)
            self._fill(self._lanes)
        stretches = ((lane, lane.stretch) for lane in self._lanes)
        return Configuration(instances=tuple(self._hosting(lane, s, view) for lane, s in stretches if s is not None))

    def _hosting(self, lane: Lane, stretch: Stretch, view: CloudView) -> Hosting:
        return Hosting(self._types[stretch.kind], tuple(view.jobs[name].tasks[0] for name in lane.jobs), lane.instance)

    def _due(self, lane: Lane, view: CloudView) -> bool:
        """Update the work of a lane since the last round, and return whether it needs other jobs and may get them."""
        alive = [view.tasks[view.jobs[name].tasks[0]] for name in lane.jobs if name in view.jobs]
        lane.instance = next((task.instance for task in alive), lane.instance)
        counts, longest = Counter(self._class[task.job] for task in alive if task.launched), 0.0
        for task in alive:
            c, since = self._class[task.job], view.jobs[task.job].launched_since
            if since is not None:
                active = view.now - since - self.data.classes[c].init_seconds
                worked = max(0.0, min(self.data.period_seconds, active))
                rate = float(np.prod([self._pair[c, o] ** (k - (o == c)) for o, k in counts.items()]))
                self.left[task.job] = max(LEAST_LEFT, self.left[task.job] - worked * rate)
                longest = max(longest, worked)
        lane.seconds -= longest
        return (lane.seconds <= 0 or len(alive) < len(lane.jobs)) and not any(task.pinned for task in alive)

    def _fill(self, lanes: list[Lane]) -> None:
        """Continue each lane, or begin the first stretch with enough jobs; idle lanes come last."""
        for lane in lanes:
            idle = not lane.jobs
            elsewhere = {name for other in self._lanes if other is not lane for name in other.jobs}
            jobs = None if lane.stretch is None or lane.seconds <= 0 else self._jobs(lane.stretch, elsewhere, lane.jobs)
            place = -1
            while jobs is None and (place := place + 1) < len(self._plan):
                jobs = self._jobs(self._plan[place], elsewhere)
            if place >= 0:
                self._begin_stretch(lane, self._plan.pop(place) if jobs else None)
            lane.jobs = jobs or []
            if idle and not jobs:
                return  # further idle lanes have no jobs either

    def _begin_stretch(self, lane: Lane, stretch: Stretch | None) -> None:
        if lane.stretch is None or stretch is None or stretch.kind != lane.stretch.kind:
            lane.instance = None
        lane.stretch = stretch
        lane.seconds = 0.0 if stretch is None else max(stretch.hours * SECONDS, self.data.period_seconds)

    def _jobs(self, stretch: Stretch, elsewhere: set[str], there: Sequence[str] = ()) -> list[str] | None:
        """Choose jobs for a stretch, present ones first, then those with the most work; `None` if there are too few."""
        chosen: list[str] = []
        for lot in np.flatnonzero(stretch.tasks):
            own = [name for name in self._lots[lot] if name in self.left and name not in elsewhere]
            if len(own) < stretch.tasks[lot]:
                return None
            own.sort(key=lambda name: (name not in there, -self.left[name]))
            chosen += own[: int(stretch.tasks[lot])]
        return chosen

    def _plan_anew(self, view: CloudView) -> None:
        """Plan the remaining work: return the optimal stretches, with those of one type and similar ones adjacent."""
        jobs = tuple(
            CloudJob(
                id=name,
                arrival_seconds=0.0,
                duration_seconds=max(LEAST_LEFT, self.left[name]),
                tasks={self.data.classes[self._class[name]].name: 1},
            )
            for name in view.jobs
        )
        bound = work_bound(self._uncounted.model_copy(update={"jobs": jobs}), ALONE)
        if not bound.plan:
            raise InputError("patient: there is no plan where instances hold too many tasks to search their patterns")
        self._lots = [list(names) for names in bound.lots.jobs]
        self._plan = sorted(bound.plan, key=lambda stretch: (-stretch.kind, (-stretch.tasks).tolist()))
