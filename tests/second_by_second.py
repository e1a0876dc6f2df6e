"""Simulate Eva's cloud second by second, without code of the simulator.

Delays are of a second at least.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache

from instances.eva import EvaCloud, Throughput
from instances.eva.learned import LearnedThroughput, Observation
from instances.eva.online import CloudJobView, CloudView, Hosting, InstanceState, TaskState

NEVER = math.inf


@dataclass
class Job:
    id: str
    arrival: int
    duration: float
    tasks: list[str]
    init: int
    left: float
    pinned: bool = False
    may_launch: bool = True
    starts: float = NEVER
    running: bool = False
    speed: float | None = None
    end: int | None = None
    since: float | None = None
    launched: float = 0.0
    moves: int = 0


@dataclass
class Task:
    job: str
    kind: str
    target: str | None = None
    host: str | None = None
    loaded: float = NEVER
    killed: float = NEVER
    saved: float = NEVER
    active: bool = False
    launched_once: bool = False
    saved_once: bool = False


@dataclass
class Instance:
    kind: str
    billed_from: float
    ready_from: float
    plan: tuple[str, ...] = ()
    dropped: bool = False
    gone: float = NEVER
    images: set[str] = field(default_factory=set)


class SecondBySecond:
    """Runs a policy; `jobs`, `bill` and `ordered` are what comes of it."""

    def __init__(self, data: EvaCloud) -> None:
        self.data = data
        self.types = {kind.name: kind for kind in data.instance_types}
        self.classes = {c.name: c for c in data.classes}
        self.jobs: dict[str, Job] = {}
        self.tasks: dict[str, Task] = {}
        self.instances: dict[str, Instance] = {}
        self.ordered = 0
        self.bill = 0.0
        self.queue: list[str] = []
        self.learned = LearnedThroughput(data.believed_throughput)
        self.rate = cache(self.rate)  # asked every second

    def run(self, policy) -> None:
        waiting = sorted(self.data.jobs, key=lambda job: job.arrival_seconds)
        t, version, arrived, finished = 0, 0, [], {}
        while True:
            self.delays_end(t)
            while waiting and waiting[0].arrival_seconds <= t:
                arrived.append(self.arrive(waiting.pop(0), t))
            version += 1
            ending = [job for job in self.jobs.values() if job.running and job.left <= 1e-6]
            if t % self.data.period_seconds == 0:
                decision = policy.decide(self.view(t, version, arrived, finished))
                arrived, finished = [], {}
                if decision.instances is not None:
                    self.reconfigure(decision.instances, decision.launches, t)
            for job in ending:
                self.complete(job, t)
                finished[job.id] = t
            self.begin(t)
            self.speeds()
            alive = [i for i in self.instances.values() if i.gone > t]
            self.bill += sum(self.types[i.kind].usd_per_hour / 3600 for i in alive if i.billed_from <= t)
            if not waiting and not alive and all(job.end is not None for job in self.jobs.values()):
                return
            for job in self.jobs.values():
                if job.running:
                    job.left -= job.speed or 0.0
            t += 1
            assert t < 200_000

    def delays_end(self, t: int) -> None:
        for task in self.tasks.values():
            job = self.jobs[task.job]
            if task.killed == t and job.end is None:
                task.active, task.killed = False, NEVER
                job.starts = NEVER
                if job.left > 1e-6:
                    job.running = False
                task.saved = t + self.classes[task.kind].upload_seconds
        for task in self.tasks.values():
            job = self.jobs[task.job]
            if task.saved == t and job.end is None:
                task.host, task.saved, task.saved_once = None, NEVER, True
                if all(self.tasks[name].host is None for name in job.tasks):
                    job.may_launch = True
            if task.loaded == t:
                task.active, task.loaded, task.launched_once = True, NEVER, True
                self.instances[task.host].images.add(self.classes[task.kind].workload)
                if all(self.tasks[name].active for name in job.tasks):
                    job.pinned, job.may_launch, job.since, job.starts = False, False, t, t + job.init
        for job in self.jobs.values():
            if job.starts == t:
                job.running, job.starts = True, NEVER

    def arrive(self, job, t: int) -> str:
        names = [name for name, k in job.tasks.items() for _ in range(k)]
        tasks = [f"{job.id}/{i}" for i in range(len(names))]
        init = max(self.classes[name].init_seconds for name in names)
        self.jobs[job.id] = Job(job.id, t, job.duration_seconds, tasks, init, job.duration_seconds)
        self.tasks.update((task, Task(job.id, name)) for task, name in zip(tasks, names, strict=True))
        return job.id

    def view(self, t: int, version: int, arrived: list[str], finished: dict[str, int]) -> CloudView:
        there = {name: job for name, job in self.jobs.items() if job.end is None}
        self.learned.note([self.observed(name) for name in self.instances if self.instances[name].gone == NEVER])
        return CloudView(
            now=t,
            resources=self.data.resources,
            instance_types=self.types,
            classes=self.classes,
            jobs={
                name: CloudJobView(name, job.arrival, job.duration, tuple(job.tasks), job.launched, job.since)
                for name, job in there.items()
            },
            tasks={
                name: TaskState(
                    name, j, task.kind, task.target, job.pinned, task.active, task.launched_once, task.saved_once
                )
                for j, job in there.items()
                for name, task in ((name, self.tasks[name]) for name in job.tasks)
            },
            instances={
                name: InstanceState(name, i.kind, i.ready_from <= t, i.plan)
                for name, i in self.instances.items()
                if not i.dropped
            },
            learned=self.learned,
            version=version,
            arrived=arrived,
            finished=finished,
        )

    def observed(self, instance: str) -> list[Observation]:
        here = [task for task in self.tasks.values() if task.host == instance]
        if any(not self.jobs[task.job].speed for task in here):
            return []
        return [
            Observation(
                task.kind,
                tuple(sorted(other.kind for other in here if other is not task)),
                self.measured(task),
                task.job,
                len(self.jobs[task.job].tasks),
            )
            for task in here
        ]

    def measured(self, task: Task) -> float:
        """Return the measured throughput, in iterations if the class counts them."""
        speed, alone = self.jobs[task.job].speed, self.classes[task.kind].iterations_per_second
        return speed if alone is None else min(1.0, (speed * alone) / alone)

    def reconfigure(self, hostings: tuple[Hosting, ...], launches: tuple[str, ...], t: int) -> None:
        target: dict[str, str] = {}
        kept = set()
        for hosting in hostings:
            name = hosting.id
            if name is None:
                name, kind = str(self.ordered), self.types[hosting.instance_type]
                self.ordered += 1
                billed = t + kind.acquisition_seconds
                self.instances[name] = Instance(hosting.instance_type, billed, billed + kind.setup_seconds)
            kept.add(name)
            self.instances[name].plan = hosting.tasks
            target |= dict.fromkeys(hosting.tasks, name)
        for name, instance in self.instances.items():
            instance.dropped |= name not in kept
        first = [self.jobs[name] for name in launches]
        for job in (*first, *(job for job in self.jobs.values() if job not in first)):
            if job.end is not None or all(self.tasks[name].target == target.get(name) for name in job.tasks):
                continue
            assert not job.pinned
            job.pinned = True
            for name in job.tasks:
                task = self.tasks[name]
                if task.active:
                    task.killed = t + self.classes[task.kind].kill_seconds
                task.target = target[name]
                self.queue.append(name)
            if job.since is not None:
                job.launched += t - job.since
                job.since = None
                job.moves += 1

    def complete(self, job: Job, t: int) -> None:
        job.end, job.running, job.speed = t, False, None
        if job.since is not None:
            job.launched += t - job.since
        for name in job.tasks:
            task = self.tasks[name]
            task.host, task.active = None, False
            for instance in self.instances.values():
                instance.plan = tuple(other for other in instance.plan if other != name)

    def begin(self, t: int) -> None:
        for name, instance in self.instances.items():
            if instance.dropped and instance.gone == NEVER and not any(x.host == name for x in self.tasks.values()):
                unborn = instance.billed_from > t
                instance.gone = t if unborn else t + self.types[instance.kind].termination_seconds
        left = []
        for name in self.queue:
            task = self.tasks[name]
            job, where = self.jobs[task.job], self.instances[task.target]
            if job.end is not None:
                continue
            if task.host is not None or not job.may_launch or where.ready_from > t or not self.room(task):
                left.append(name)
                continue
            task.host, kind = task.target, self.classes[task.kind]
            build = 0 if kind.workload in where.images else kind.build_seconds
            task.loaded = t + kind.fetch_seconds + build
        self.queue = left

    def room(self, task: Task) -> bool:
        kind = self.types[self.instances[task.target].kind]
        here = [other for other in self.tasks.values() if other.host == task.target] + [task]
        need = [self.classes[other.kind].demand for other in here]
        of_family = [demand.get(kind.family, demand["default"]) for demand in need]
        return all(sum(amounts[r] for amounts in of_family) <= kind.capacity[r] for r in self.data.resources)

    def speeds(self) -> None:
        active = {name: task for name, task in self.tasks.items() if task.active}
        there: dict[str | None, list[str]] = defaultdict(list)
        for task in active.values():
            there[task.host].append(self.classes[task.kind].workload)
        together = {host: tuple(sorted(workloads)) for host, workloads in there.items()}
        for job in self.jobs.values():
            tasks = [active[name] for name in job.tasks if name in active]
            rates = [self.rate(self.classes[task.kind].workload, together[task.host]) for task in tasks]
            job.speed = min(rates) if rates else None

    def rate(self, own: str, together: tuple[str, ...]) -> float:
        """Throughput of a workload on an instance with these, itself among them."""
        larger = self.data.larger_sets
        if larger is None or len(together) < 3 or len(together) > larger.most_tasks:
            return product(own, together, self.data.throughput)
        givers = [name for name in larger.listed for _ in range(together.count(name))]
        takers = [name for name in larger.named for _ in range(together.count(name))]
        last = len(takers) - 1 - takers[::-1].index(own)
        return product(givers[last], together, larger.throughput)


def product(own: str, together: tuple[str, ...], throughput: Throughput) -> float:
    pairs = {(a, b): value for a, b, value in throughput.pairwise}
    beside = list(together)
    beside.remove(own)
    return math.prod(pairs.get((own, other), throughput.default) for other in beside)
