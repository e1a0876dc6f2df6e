"""The order in which the authors' artifact looks at jobs and instances: that of hash sets of their numbers.

Ties, and the order in which tasks that wait are placed, depend on it, and so does the bill, by a point or two. Jobs are
numbered as they arrive and instances as they are ordered. CPython iterates over a set of whole numbers by their
remainders, with exceptions that depend on what was added and removed before; so the sets here see what the artifact's
see.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from instances.eva.online import Configuration, TaskState, View


class JobOrder:
    """Jobs in the order of the artifact's set; `update` tells it of each round in which one has arrived or ended."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {}
        self._name: list[str] = []
        self._jobs: set[int] = set()

    def update(self, view: View) -> None:
        """Take in what has happened since the last round; jobs that arrive at a second come before those that end."""
        events = [(view.jobs[name].arrival_seconds, 0, i, name) for i, name in enumerate(view.arrived)]
        events += [(end, 1, i, name) for i, (name, end) in enumerate(view.finished.items())]
        for _, ended, _, name in sorted(events):
            if ended:
                self._jobs.discard(self._number[name])
            else:
                self._number[name] = len(self._name)
                self._jobs.add(len(self._name))
                self._name.append(name)

    @property
    def jobs(self) -> Iterator[str]:
        """The unfinished jobs."""
        return (self._name[number] for number in self._jobs)

    def tasks(self, view: View) -> list[TaskState]:
        """All tasks, job by job."""
        return [view.tasks[task] for name in self.jobs for task in view.jobs[name].tasks]


class SetOrder(JobOrder):
    """Jobs and instances in the order of the artifact's sets; `update` tells it of each round."""

    def __init__(self) -> None:
        super().__init__()
        self._instances: set[int] = set()
        self._version = -1

    def update(self, view: View) -> None:
        """Take in what has happened since the last round."""
        if not view.arrived and not view.finished and view.version == self._version:
            return
        self._version = view.version
        super().update(view)
        there = {int(name) for name in view.instances}
        for number in sorted(there - self._instances):
            self._instances.add(number)
        for number in sorted(self._instances - there):
            self._instances.discard(number)

    @property
    def instances(self) -> Iterator[str]:
        """The instances that are not given up."""
        return (str(number) for number in self._instances)

    def launching(self, view: View, configuration: Configuration) -> Configuration:
        """A configuration with its jobs launched in the order of the artifact's set of those that are placed anew.

        They are added to it instance by instance, those to be rented last.
        """
        jobs: set[int] = set()
        for hosting in sorted(configuration.instances or (), key=lambda hosting: hosting.id is None):
            for name in hosting.tasks:
                task = view.tasks[name]
                if hosting.id is None or task.instance != hosting.id:
                    jobs.add(self._number[task.job])
        return replace(configuration, launches=tuple(self._name[number] for number in jobs))


def pinned_first(tasks: Iterable[TaskState]) -> list[TaskState]:
    """The tasks of jobs that are on their way before the others."""
    return sorted(tasks, key=lambda task: not task.pinned)
