"""Eva's cloud: instances are rented for arriving jobs, tasks are launched, moved and saved, and jobs make progress.

The clock counts integer seconds, and the configuration may change every period. In each second, delays end first, then
jobs arrive, then there may be a round, and then jobs complete. A job that arrives or completes in the second of a round
is in that round. Actions that become possible begin in the same second, and the speeds change last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import TypeVar

from experiments.simulator.eva.state import (
    CloudInstance,
    CloudJobState,
    CloudRecords,
    CloudTask,
    TaskPhase,
    TrueThroughput,
    jobs_of,
    whole,
)
from experiments.simulator.kernel import HOUR, Activity, Event, Fleet, Time, World
from instances.eva import EvaCloud
from instances.eva.cloud_arrays import cloud_arrays
from instances.eva.learned import LearnedThroughput, Observation
from instances.eva.online import CloudJobView, CloudView, Configuration, Hosting, InstanceState, TaskState
from instances.online import RuleBroken

DELAY, ARRIVAL, COMPLETION = range(3)  # the order in which things happen at one second
ROUNDING = 1e-9  # share of a job's work: a second that is so little too short for what is left will do
SLOWEST = 0.01  # share of its full speed up to which a job makes no progress that anyone would wait for
PATIENCE = 2_000  # rounds that may pass, with jobs there, in which none of them makes progress


Part = TypeVar("Part", CloudTask, CloudJobState, CloudInstance)


@dataclass
class Change:
    """The changes of a configuration: instances to rent, to release or with other tasks, and moves of jobs."""

    rented: list[CloudInstance] = field(default_factory=list)
    given_up: list[CloudInstance] = field(default_factory=list)
    planned: list[tuple[CloudInstance, tuple[str, ...]]] = field(default_factory=list)
    moved: list[tuple[CloudJobState, list[CloudInstance | None]]] = field(default_factory=list)


class CloudWorld(World[CloudRecords]):
    """An `eva-cloud` workload."""

    def __init__(self, data: EvaCloud) -> None:
        super().__init__()
        self.data = data
        arrays = cloud_arrays(data)
        self._demand: list[list[list[int]]] = arrays.demand.tolist()
        self._capacity: list[list[int]] = arrays.capacity.tolist()
        self._kinds = {name: k for k, name in enumerate(arrays.types)}
        self._types = arrays.types
        self._period = whole(data.period_seconds)
        self._true = TrueThroughput(data)
        self.fleet = Fleet(self.calendar)
        all_jobs = jobs_of(data)
        self.records = CloudRecords(data, self.calendar, self.fleet, all_jobs)
        self._to_come = len(all_jobs)
        self._jobs: dict[str, CloudJobState] = {}  # unfinished
        self._tasks: dict[str, CloudTask] = {}
        self._instances: dict[str, CloudInstance] = {}
        self._open: dict[str, CloudInstance] = {}  # not given up
        self._arrived: list[str] = []
        self._finished: dict[str, float] = {}
        self._launches: list[CloudTask] = []
        self._closing: list[CloudInstance] = []
        self._completing: list[CloudJobState] = []
        self._slowed: dict[str, CloudInstance] = {}  # where speeds have to be found again
        self._changed_tasks: dict[str, CloudTask] = {}  # since the last round
        self._changed_instances: dict[str, CloudInstance] = {}
        self._stale: dict[str, CloudInstance] = {}  # where something else would be observed now
        self._observed: dict[str, tuple[Observation, ...]] = {}
        self._shown_jobs: dict[str, CloudJobView] = {}
        self._shown_tasks: dict[str, TaskState] = {}
        self._shown_instances: dict[str, InstanceState] = {}
        self._learned = LearnedThroughput(data.believed_throughput)
        self._view = CloudView(
            now=0,
            resources=data.resources,
            instance_types=MappingProxyType({kind.name: kind for kind in data.instance_types}),
            classes=MappingProxyType({c.name: c for c in data.classes}),
            jobs=MappingProxyType(self._shown_jobs),
            tasks=MappingProxyType(self._shown_tasks),
            instances=MappingProxyType(self._shown_instances),
            learned=self._learned,
        )
        self._round: Time | None = 0
        self._idle_rounds = 0
        for job in all_jobs:
            job.work = Activity(
                self.calendar,
                job.work_seconds,
                partial(self._completing.append, job),
                rank=COMPLETION,
                rounding=ROUNDING,
                whole=True,
            )
            self.calendar.at(job.arrival, partial(self._arrive, job), rank=ARRIVAL)

    def next_decision(self) -> Time | None:
        return self._round

    def settle(self) -> None:
        """End the second: jobs complete, what can be begun is begun, and speeds change."""
        for job in self._completing:
            self._complete(job)
        self._completing.clear()
        if self._closing:
            self._closing = [instance for instance in self._closing if not self._terminate(instance)]
        if self._launches:
            self._launches = [task for task in self._launches if not self._launch(task)]
        if self._slowed:
            self._change_speeds()

    def view(self) -> CloudView:
        view = self._view
        view.now = self.calendar.now
        if self._changed_tasks or self._changed_instances:
            view.version += 1
            self._refresh()
        if self._stale:
            self._observe()
            self._learned.note(self._observed[name] for name in self._instances if name in self._observed)
        else:
            self._learned.note_again()
        view.arrived, view.finished = tuple(self._arrived), dict(self._finished)
        return view

    def apply(self, decision: Configuration) -> None:
        """Apply a configuration, and plan the next round. If the cloud is empty, the round follows the next arrival."""
        now = self.calendar.now
        if decision.wake_at is not None:
            raise RuleBroken(f"the policy asks at {now} to be woken at {decision.wake_at}; rounds are every period")
        self._arrived.clear()
        self._finished.clear()
        over = not self._to_come and not self._jobs
        if over or decision.instances is not None:
            self._let(self._change(() if over else decision.instances or (), decision.launches))
        self.settle()
        self.records.round(self._jobs.values())
        self._refuse_standstill()
        if self._jobs or self._instances:
            self._round = now + self._period
        else:
            event = self.calendar.next_moment if self._to_come else None
            self._round = None if event is None else -(-event // self._period) * self._period

    def waiting(self) -> str | None:
        return next((f"job {name}" for name, job in self._jobs.items() if job.tasks[0].target is None), None)

    def close(self) -> None:
        """Check that all instances have ended, and the invariants of the records."""
        for name in self._instances:
            raise RuleBroken(f"instance {name} is still there at {self.calendar.now}")
        super().close()

    def _change(self, hostings: Sequence[Hosting], launches: Sequence[str]) -> Change:
        """Return the changes of a configuration, with jobs in launch order.

        Raises RuleBroken for:

        - an instance that is not rented, is listed twice or has another type;
        - a task that does not exist or is listed twice;
        - an instance whose capacity its tasks exceed;
        - a pinned job that moves, or a job with only some of its tasks placed.
        """
        found, now = Change(), self.calendar.now
        stays: dict[str, CloudInstance] = {}
        target: dict[str, CloudInstance] = {}
        touched: dict[str, CloudJobState] = {}
        for hosting in hostings:
            instance = self._instance(hosting, found)
            if instance.id in stays:
                raise RuleBroken(f"instance {instance.id} is twice in the configuration of {now}")
            stays[instance.id] = instance
            if tuple(instance.planned) != hosting.tasks:
                found.planned.append((instance, hosting.tasks))
        changed = {instance.id for instance, _ in found.planned}
        found.given_up = [instance for name, instance in self._open.items() if name not in stays]
        for instance in (*found.given_up, *(instance for instance, _ in found.planned)):
            touched.update((task.job.id, task.job) for task in instance.planned.values())
        for instance, names in found.planned:
            self._refuse_overfull(instance, names)
            for name in names:
                task = self._tasks[name]
                kept = task.target is not None and task.target.id in stays and task.target.id not in changed
                if name in target or kept:
                    raise RuleBroken(f"task {name} is twice in the configuration of {now}")
                target[name] = instance
                touched[task.job.id] = task.job
        turn = {name: i for i, name in enumerate(launches)}
        for job in sorted(touched.values(), key=lambda job: (turn.get(job.id, len(turn)), job.index)):
            targets = [
                task.target
                if task.target is not None and task.target.id in stays and task.target.id not in changed
                else target.get(task.id)
                for task in job.tasks
            ]
            if any(new is not task.target for new, task in zip(targets, job.tasks, strict=True)):
                self._refuse_move(job, targets)
                found.moved.append((job, targets))
        return found

    def _instance(self, hosting: Hosting, found: Change) -> CloudInstance:
        now = self.calendar.now
        instance = None if hosting.id is None else self._open.get(hosting.id)
        if instance is not None:
            if self._types[instance.kind] != hosting.instance_type:
                raise RuleBroken(f"instance {hosting.id} of the configuration of {now} is no {hosting.instance_type}")
            return instance
        if hosting.id is not None:
            raise RuleBroken(f"instance {hosting.id} of the configuration of {now} is not rented")
        if hosting.instance_type not in self._kinds:
            raise RuleBroken(f"an instance of unknown type {hosting.instance_type} is rented at {now}")
        kind = self._kinds[hosting.instance_type]
        found.rented.append(CloudInstance(self.records.create_id(), kind, self._capacity[kind]))
        return found.rented[-1]

    def _refuse_overfull(self, instance: CloudInstance, names: Sequence[str]) -> None:
        free, now = self._capacity[instance.kind], self.calendar.now
        for name in names:
            if name not in self._tasks:
                raise RuleBroken(f"task {name} of the configuration of {now} does not exist")
            need = self._demand[instance.kind][self._tasks[name].class_index]
            free = [f - d for f, d in zip(free, need, strict=True)]
        if min(free) < 0:
            kind = self._types[instance.kind]
            raise RuleBroken(f"instance {instance.id}, a {kind}, does not hold its tasks of {now}")

    def _refuse_move(self, job: CloudJobState, targets: list[CloudInstance | None]) -> None:
        now = self.calendar.now
        if job.pinned:
            raise RuleBroken(f"job {job.id} is pinned and moved at {now}")
        if any(targets) and not all(targets):
            raise RuleBroken(f"job {job.id} is placed in part at {now}")

    def _let(self, found: Change) -> None:
        for instance in found.rented:
            self._order(instance)
        for instance in found.given_up:
            self._give_up(instance)
        for instance, names in found.planned:
            instance.planned = {name: self._tasks[name] for name in names}
            self._changed_instances[instance.id] = instance
        for job, targets in found.moved:
            self._move(job, targets)

    def _order(self, instance: CloudInstance) -> None:
        """Rent an instance; it is billed once it is acquired."""
        kind = self.data.instance_types[instance.kind]
        self._instances[instance.id] = self._open[instance.id] = instance
        self._changed_instances[instance.id] = instance
        instance.setup = self._schedule_after(kind.acquisition_seconds, self._acquire, instance)

    def _give_up(self, instance: CloudInstance) -> None:
        """End a rental once no task occupies the instance; it accepts no tasks from now on."""
        instance.given_up = True
        del self._open[instance.id]
        self._changed_instances[instance.id] = instance
        self._closing.append(instance)

    def _move(self, job: CloudJobState, targets: list[CloudInstance | None]) -> None:
        """Stop all tasks of a job, and launch them on `targets`."""
        launched = job.tasks[0].target is not None
        job.pinned = targets[0] is not None
        job.moves += launched
        self._end_launched(job)
        for task, target in zip(job.tasks, targets, strict=True):
            task.target = target
            self._changed_tasks[task.id] = task
            if task.phase is TaskPhase.LAUNCHED:
                task.phase = TaskPhase.ENDING
                self._schedule_after(task.kind.kill_seconds, self._kill, task)
            if job.pinned:
                self._launches.append(task)

    def _schedule_after(self, seconds: float, happen: Callable[[Part], None], part: Part) -> Event:
        """Schedule an event of a part of the cloud after a delay, rounded up to integer seconds."""
        return self.calendar.at(self.calendar.now + whole(seconds), partial(happen, part), rank=DELAY)

    def _arrive(self, job: CloudJobState) -> None:
        self._to_come -= 1
        self._jobs[job.id] = job
        self._arrived.append(job.id)
        for task in job.tasks:
            self._tasks[task.id] = self._changed_tasks[task.id] = task

    def _acquire(self, instance: CloudInstance) -> None:
        kind = self.data.instance_types[instance.kind]
        instance.billed_since = self.calendar.now
        self.records.count(instance, +1)
        self.fleet.rent(instance.id, kind.name, kind.usd_per_hour / HOUR)
        instance.setup = self._schedule_after(kind.setup_seconds, self._set_up, instance)

    def _set_up(self, instance: CloudInstance) -> None:
        instance.ready, instance.setup = True, None
        self._changed_instances[instance.id] = instance

    def _terminate(self, instance: CloudInstance) -> bool:
        """Terminate an unoccupied instance, and return whether it is unoccupied. It costs 0 if not yet acquired."""
        if instance.hosted:
            return False
        if instance.setup is not None:
            instance.setup.cancel()
        if instance.billed_since is None:
            del self._instances[instance.id]
        else:
            kind = self.data.instance_types[instance.kind]
            self._schedule_after(kind.termination_seconds, self._gone, instance)
        return True

    def _gone(self, instance: CloudInstance) -> None:
        rental = self.fleet.give_up(instance.id)
        self.records.end(instance, self.calendar.now - rental.since)
        del self._instances[instance.id]

    def _launch(self, task: CloudTask) -> bool:
        """Launch a task if possible, and return whether it need not wait any more."""
        instance, job = task.target, task.job
        if job.end is not None or instance is None:
            return True
        if task.phase is not TaskPhase.WAITING or not job.launchable or not instance.ready:
            return False
        need = self._demand[instance.kind][task.class_index]
        if any(d > f for d, f in zip(need, instance.free, strict=True)):
            return False
        self._take_room(task, instance)
        task.phase = TaskPhase.LOADING
        delay = whole(task.kind.fetch_seconds)
        if task.kind.workload not in instance.images:
            delay += whole(task.kind.build_seconds)
        self._schedule_after(delay, self._finish_launch, task)
        return True

    def _finish_launch(self, task: CloudTask) -> None:
        job, instance = task.job, task.host
        assert instance is not None
        task.phase, task.active, task.seen_launch = TaskPhase.LAUNCHED, True, True
        instance.images.add(task.kind.workload)
        self._slowed[instance.id] = instance
        self._changed_tasks[task.id] = task
        self.records.activate(self._demand[instance.kind][task.class_index], +1)
        if all(other.phase is TaskPhase.LAUNCHED for other in job.tasks):
            job.pinned = job.launchable = False
            job.launched_since = self.calendar.now
            self._changed_tasks.update((other.id, other) for other in job.tasks)
            job.start = self._schedule_after(job.init, self._start, job)

    def _start(self, job: CloudJobState) -> None:
        job.active_since, job.start = self.calendar.now, None
        for task in job.tasks:
            if task.host is not None:
                self._slowed[task.host.id] = task.host

    def _kill(self, task: CloudTask) -> None:
        job = task.job
        if job.end is not None:
            return
        self._deactivate(task)
        if job.start is not None:
            job.start.cancel()
            job.start = None
        if job.active_since is not None and not job.work.complete:
            self._stop(job)
        task.phase = TaskPhase.SAVING
        self._schedule_after(task.kind.upload_seconds, self._finish_save, task)

    def _finish_save(self, task: CloudTask) -> None:
        job = task.job
        if job.end is not None:
            return
        self._leave_room(task)
        task.phase, task.seen_upload = TaskPhase.WAITING, True
        self._changed_tasks[task.id] = task
        if all(other.phase is TaskPhase.WAITING for other in job.tasks):
            job.launchable = True

    def _stop(self, job: CloudJobState) -> None:
        """Stop the progress of a job."""
        assert job.active_since is not None
        job.work.stop()
        job.run_for += self.calendar.now - job.active_since
        job.active_since = None

    def _complete(self, job: CloudJobState) -> None:
        now = job.end = self.calendar.now
        self._stop(job)
        self._end_launched(job)
        del self._jobs[job.id]
        self._finished[job.id] = now
        for task in job.tasks:
            if task.active:
                self._deactivate(task)
            if task.host is not None:
                self._leave_room(task)
            if task.target is not None:
                task.target.planned.pop(task.id, None)
                self._changed_instances[task.target.id] = task.target
            task.phase = TaskPhase.FINISHED
            self._changed_tasks[task.id] = task
            del self._tasks[task.id]

    def _end_launched(self, job: CloudJobState) -> None:
        """Count the time since all tasks of a job were launched; a job that has to move is idle from then on."""
        if job.launched_since is not None:
            job.launched_for += self.calendar.now - job.launched_since
            job.launched_since = None

    def _change_speeds(self) -> None:
        """Recompute the speeds on the instances with changes, and of the jobs there."""
        jobs: dict[int, CloudJobState] = {}
        for instance in self._slowed.values():
            active = [task for task in instance.hosted.values() if task.active]
            rates = self._true.of([task.class_index for task in active])
            for task, rate in zip(active, rates, strict=True):
                task.rate = rate
            jobs.update((task.job.index, task.job) for task in instance.hosted.values())
        self._stale.update(self._slowed)
        self._slowed.clear()
        for job in jobs.values():
            self._set_speed(job, min((task.rate for task in job.tasks if task.active), default=None))

    def _set_speed(self, job: CloudJobState, observed: float | None) -> None:
        if observed != job.observed:
            job.observed = observed
            self._stale.update((task.host.id, task.host) for task in job.tasks if task.host is not None)
        rate = observed or 0.0
        if job.active_since is not None and rate != job.work.rate:
            job.work.set_rate(rate)

    def _deactivate(self, task: CloudTask) -> None:
        instance = task.host
        assert instance is not None
        task.active = False
        self._slowed[instance.id] = instance
        self.records.activate(self._demand[instance.kind][task.class_index], -1)

    def _take_room(self, task: CloudTask, instance: CloudInstance) -> None:
        task.host, instance.hosted[task.id] = instance, task
        need = self._demand[instance.kind][task.class_index]
        instance.free = [f - d for f, d in zip(instance.free, need, strict=True)]
        if min(instance.free) < 0:
            raise RuleBroken(f"task {task.id} does not fit on instance {instance.id} at {self.calendar.now}")
        self._stale[instance.id] = instance

    def _leave_room(self, task: CloudTask) -> None:
        instance = task.host
        assert instance is not None
        task.host = None
        del instance.hosted[task.id]
        need = self._demand[instance.kind][task.class_index]
        instance.free = [f + d for f, d in zip(instance.free, need, strict=True)]
        self._stale[instance.id] = instance
        self._changed_instances[instance.id] = instance

    def _refuse_standstill(self) -> None:
        """Raise RuleBroken if the run would not end: no event is left, jobs move forever, or they block each other."""
        if not self._jobs or any(job.work.rate > SLOWEST for job in self._jobs.values()):
            self._idle_rounds = 0
            return
        self._idle_rounds += 1
        name, job = next(iter(self._jobs.items()))
        if self._idle_rounds > 1 and job.active_since is None and not self.calendar:
            raise RuleBroken(f"job {name} is left waiting at {self.calendar.now} with nothing to come")
        if self._idle_rounds > PATIENCE:
            active = any(job.active_since is not None for job in self._jobs.values())
            how = f"at more than {SLOWEST:.0%} of its speed " if active else ""
            now = self.calendar.now
            raise RuleBroken(f"job {name} has not run {how}at {now}, and no other has for {PATIENCE} rounds")

    def _refresh(self) -> None:
        """Update the states that have changed since the last round."""
        for task in self._changed_tasks.values():
            job = task.job
            if job.end is not None:
                self._shown_tasks.pop(task.id, None)
                self._shown_jobs.pop(job.id, None)
                continue
            self._shown_tasks[task.id] = TaskState(
                task.id,
                job.id,
                task.kind.name,
                None if task.target is None else task.target.id,
                job.pinned,
                task.active,
                task.seen_launch,
                task.seen_upload,
            )
            self._shown_jobs[job.id] = CloudJobView(
                job.id, job.arrival, job.duration, tuple(t.id for t in job.tasks), job.launched_for, job.launched_since
            )
        self._changed_tasks.clear()
        for instance in self._changed_instances.values():
            if instance.given_up:
                self._shown_instances.pop(instance.id, None)
                continue
            self._shown_instances[instance.id] = InstanceState(
                instance.id,
                self.data.instance_types[instance.kind].name,
                instance.ready,
                tuple(instance.planned),
                tuple(name for name in instance.hosted if name not in instance.planned),
            )
        self._changed_instances.clear()

    def _observe(self) -> None:
        """Update the observations of the instances on which a speed or a task has changed."""
        for name, instance in self._stale.items():
            found = instance.observation if name in self._instances else ()
            if found:
                self._observed[name] = found
            else:
                self._observed.pop(name, None)
        self._stale.clear()
