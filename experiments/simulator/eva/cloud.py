"""Eva's cloud between two rounds: instances are set up, tasks are launched, moved and saved, jobs make progress.

The clock counts whole seconds. At one second delays end first, then jobs arrive, then there may be a round, and then
jobs complete; what all this makes possible is begun at the same second, and last the speeds change.
"""

from __future__ import annotations

import math

from experiments.simulator.eva.parts import (
    ROUNDING,
    CloudInstance,
    CloudJobState,
    CloudTask,
    Phase,
    TrueThroughput,
    jobs_of,
    whole,
)
from experiments.simulator.eva.records import CloudRecords
from experiments.simulator.fleet import Fleet
from experiments.simulator.kernel import Calendar
from instances.eva import EvaCloud
from instances.eva.cloud_arrays import cloud_arrays
from instances.online import RuleBroken

DELAY, ARRIVAL, COMPLETION = range(3)  # the order in which things happen at one second
SECONDS = 3600.0


class Cloud:
    """Jobs, tasks and instances of a workload, and the calendar of all that happens to them.

    `changed_tasks`, `changed_instances` and `stale` collect what has changed since somebody looked: tasks, instances,
    and instances where something else would be observed now.
    """

    def __init__(self, data: EvaCloud) -> None:
        self.data = data
        arrays = cloud_arrays(data)
        self.demand: list[list[list[int]]] = arrays.demand.tolist()
        self.capacity: list[list[int]] = arrays.capacity.tolist()
        self.types = arrays.types
        self.kinds = {name: k for k, name in enumerate(arrays.types)}
        self.calendar = Calendar()
        self.fleet = Fleet(self.calendar)
        self.all_jobs = jobs_of(data)
        self.to_come = len(self.all_jobs)
        self.jobs: dict[str, CloudJobState] = {}  # unfinished
        self.tasks: dict[str, CloudTask] = {}
        self.instances: dict[str, CloudInstance] = {}
        self.open: dict[str, CloudInstance] = {}  # not given up
        self.arrived: list[str] = []
        self.finished: dict[str, float] = {}
        self.changed_tasks: dict[str, CloudTask] = {}
        self.changed_instances: dict[str, CloudInstance] = {}
        self.stale: dict[str, CloudInstance] = {}
        self._true = TrueThroughput(data)
        self._launches: list[CloudTask] = []
        self._closing: list[CloudInstance] = []
        self._completing: list[CloudJobState] = []
        self._dirty: dict[str, CloudInstance] = {}
        self.records = CloudRecords(data, self.calendar, self.fleet, self.all_jobs)
        for job in self.all_jobs:
            self.calendar.at(job.arrival, lambda job=job: self._arrive(job), rank=ARRIVAL)  # type: ignore[misc]

    @property
    def now(self) -> float:
        """The second that it is."""
        return self.calendar.now

    def go_to(self, round_: float) -> None:
        """Let happen what does until the second of a round, completions of that second excepted."""
        calendar = self.calendar
        while len(calendar) and calendar.next_moment < round_:
            calendar.advance()
            self.settle()
        calendar.go_to(round_)

    def settle(self) -> None:
        """End the second: jobs complete, what can be begun is begun, and speeds change."""
        for job in self._completing:
            self._complete(job)
        self._completing.clear()
        if self._closing:
            self._closing = [instance for instance in self._closing if not self._terminate(instance)]
        if self._launches:
            self._launches = [task for task in self._launches if not self._launch(task)]
        if self._dirty:
            self._change_speeds()

    def order(self, instance: CloudInstance) -> None:
        """Rent an instance; it is billed once it is acquired."""
        kind = self.data.instance_types[instance.kind]
        self.instances[instance.id] = self.open[instance.id] = instance
        self.changed_instances[instance.id] = instance
        instance.setup = self.calendar.at(self.now + whole(kind.acquisition_seconds), lambda: self._acquire(instance))

    def give_up(self, instance: CloudInstance) -> None:
        """End a rental once nobody takes room there; it takes no tasks from now on."""
        instance.given_up = True
        del self.open[instance.id]
        self.changed_instances[instance.id] = instance
        self._closing.append(instance)

    def move(self, job: CloudJobState, targets: list[CloudInstance | None]) -> None:
        """Stop a job where it runs, all of its tasks, and launch it where `targets` say."""
        launched = job.tasks[0].target is not None
        job.pinned = targets[0] is not None
        job.moves += launched
        self._end_launched(job)
        for task, target in zip(job.tasks, targets, strict=True):
            task.target = target
            self.changed_tasks[task.id] = task
            if task.phase is Phase.LAUNCHED:
                task.phase = Phase.ENDING
                self.calendar.at(self.now + whole(task.kind.kill_seconds), lambda task=task: self._kill(task))  # type: ignore[misc]
            if job.pinned:
                self._launches.append(task)

    def _arrive(self, job: CloudJobState) -> None:
        self.to_come -= 1
        self.jobs[job.id] = job
        self.arrived.append(job.id)
        for task in job.tasks:
            self.tasks[task.id] = self.changed_tasks[task.id] = task

    def _acquire(self, instance: CloudInstance) -> None:
        kind = self.data.instance_types[instance.kind]
        instance.billed_since = self.now
        self.records.count(instance, +1)
        self.fleet.rent(instance.id, kind.name, kind.usd_per_hour / SECONDS)
        instance.setup = self.calendar.at(self.now + whole(kind.setup_seconds), lambda: self._set_up(instance))

    def _set_up(self, instance: CloudInstance) -> None:
        instance.ready, instance.setup = True, None
        self.changed_instances[instance.id] = instance

    def _terminate(self, instance: CloudInstance) -> bool:
        """End an instance that nobody takes room on; whether that is under way. One not yet acquired costs nothing."""
        if instance.hosted:
            return False
        if instance.setup is not None:
            instance.setup.cancel()
        if instance.billed_since is None:
            del self.instances[instance.id]
        else:
            kind = self.data.instance_types[instance.kind]
            self.calendar.at(self.now + whole(kind.termination_seconds), lambda: self._gone(instance))
        return True

    def _gone(self, instance: CloudInstance) -> None:
        rental = self.fleet.give_up(instance.id)
        self.records.end(instance, self.now - rental.since)
        del self.instances[instance.id]

    def _launch(self, task: CloudTask) -> bool:
        """Launch a task where it can be; whether it needs no more waiting."""
        instance, job = task.target, task.job
        if job.end is not None or instance is None:
            return True
        if task.phase is not Phase.WAITING or not job.launchable or not instance.ready:
            return False
        need = self.demand[instance.kind][task.class_index]
        if any(d > f for d, f in zip(need, instance.free, strict=True)):
            return False
        self._take_room(task, instance)
        task.phase = Phase.LOADING
        delay = whole(task.kind.fetch_seconds)
        if task.kind.workload not in instance.images:
            delay += whole(task.kind.build_seconds)
        self.calendar.at(self.now + delay, lambda: self._launched(task))
        return True

    def _launched(self, task: CloudTask) -> None:
        job, instance = task.job, task.host
        assert instance is not None
        task.phase, task.active, task.seen_launch = Phase.LAUNCHED, True, True
        instance.images.add(task.kind.workload)
        self._dirty[instance.id] = instance
        self.changed_tasks[task.id] = task
        self.records.activate(self.demand[instance.kind][task.class_index], +1)
        if all(other.phase is Phase.LAUNCHED for other in job.tasks):
            job.pinned = job.launchable = False
            job.launched_since = self.now
            self.changed_tasks.update((other.id, other) for other in job.tasks)
            job.start = self.calendar.at(self.now + job.init, lambda: self._start(job))

    def _start(self, job: CloudJobState) -> None:
        job.active, job.start, job.settled = True, None, self.now
        self._touch(job)

    def _kill(self, task: CloudTask) -> None:
        job = task.job
        if job.end is not None:
            return
        self._deactivate(task)
        if job.start is not None:
            job.start.cancel()
            job.start = None
        if job.active and job not in self._completing and not self._completes_now(job):
            self._progress(job)
            job.active = False
        task.phase = Phase.SAVING
        self.calendar.at(self.now + whole(task.kind.upload_seconds), lambda: self._saved(task))

    def _saved(self, task: CloudTask) -> None:
        job = task.job
        if job.end is not None:
            return
        self._leave_room(task)
        task.phase, task.seen_upload = Phase.WAITING, True
        self.changed_tasks[task.id] = task
        if all(other.phase is Phase.WAITING for other in job.tasks):
            job.launchable = True

    def _complete(self, job: CloudJobState) -> None:
        now = self.now
        self._progress(job)
        job.end, job.active, job.left = now, False, 0.0
        self._end_launched(job)
        del self.jobs[job.id]
        self.finished[job.id] = now
        for task in job.tasks:
            if task.active:
                self._deactivate(task)
            if task.host is not None:
                self._leave_room(task)
            if task.target is not None:
                task.target.planned.pop(task.id, None)
                self.changed_instances[task.target.id] = task.target
            task.phase = Phase.FINISHED
            self.changed_tasks[task.id] = task
            del self.tasks[task.id]

    def _end_launched(self, job: CloudJobState) -> None:
        """Count the time since all tasks of a job were launched; a job that is ordered to move is idle from then on."""
        if job.launched_since is not None:
            job.launched_for += self.now - job.launched_since
            job.launched_since = None

    def _completes_now(self, job: CloudJobState) -> bool:
        return job.left - job.rate * (self.now - job.settled) <= ROUNDING * job.work

    def _progress(self, job: CloudJobState) -> None:
        """Count what a job has done, and forget when it was to complete."""
        now = self.now
        if job.active:
            job.left -= job.rate * (now - job.settled)
            job.run_for += now - job.settled
        job.settled = now
        if job.completion is not None:
            job.completion.cancel()
            job.completion = None

    def _touch(self, job: CloudJobState) -> None:
        """Let the speed of a job be found again."""
        for task in job.tasks:
            if task.host is not None:
                self._dirty[task.host.id] = task.host

    def _change_speeds(self) -> None:
        """Find the speeds on the instances where something changed, and of the jobs there."""
        jobs: dict[int, CloudJobState] = {}
        for instance in self._dirty.values():
            active = [task for task in instance.hosted.values() if task.active]
            rates = self._true.of([task.class_index for task in active])
            for task, rate in zip(active, rates, strict=True):
                task.rate = rate
            jobs.update((task.job.index, task.job) for task in instance.hosted.values())
        self.stale.update(self._dirty)
        self._dirty.clear()
        for job in jobs.values():
            self._set_speed(job, min((task.rate for task in job.tasks if task.active), default=None))

    def _set_speed(self, job: CloudJobState, observed: float | None) -> None:
        if observed != job.observed:
            job.observed = observed
            self.stale.update((task.host.id, task.host) for task in job.tasks if task.host is not None)
        if not job.active or (job.completion is not None and observed == job.rate):
            return
        self._progress(job)
        job.rate = observed or 0.0
        if job.rate:
            seconds = max(1, math.ceil((job.left - ROUNDING * job.work) / job.rate))
            job.completion = self.calendar.at(self.now + seconds, lambda: self._completing.append(job), rank=COMPLETION)

    def _deactivate(self, task: CloudTask) -> None:
        instance = task.host
        assert instance is not None
        task.active = False
        self._dirty[instance.id] = instance
        self.records.activate(self.demand[instance.kind][task.class_index], -1)

    def _take_room(self, task: CloudTask, instance: CloudInstance) -> None:
        task.host, instance.hosted[task.id] = instance, task
        need = self.demand[instance.kind][task.class_index]
        instance.free = [f - d for f, d in zip(instance.free, need, strict=True)]
        if min(instance.free) < 0:
            raise RuleBroken(f"task {task.id} does not fit on instance {instance.id} at {self.now}")
        self.stale[instance.id] = instance

    def _leave_room(self, task: CloudTask) -> None:
        instance = task.host
        assert instance is not None
        task.host = None
        del instance.hosted[task.id]
        need = self.demand[instance.kind][task.class_index]
        instance.free = [f + d for f, d in zip(instance.free, need, strict=True)]
        self.stale[instance.id] = instance
        self.changed_instances[instance.id] = instance
