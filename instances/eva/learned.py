"""Learned throughput: means of observations of a class with others, and estimates of unobserved sets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from instances.eva.packing import Throughput
from instances.fields import DIGITS

Key = tuple[str, tuple[str, ...]]
"""A class, and the other classes on its instance in order of name."""


class MeanThroughput:
    """The mean throughput of a class with others: the sum of the observations divided by their number.

    Its last digits differ from those of the numbers themselves, and ties are decided by them: as in the artifact.
    """

    __slots__ = ("key", "mean", "times", "total")

    def __init__(self, key: Key) -> None:
        self.key, self.mean, self.times, self.total = key, math.nan, 0, 0.0


_Group = tuple[Sequence["Observation"], list[tuple[MeanThroughput, float]], tuple["Observation", ...]]
"""The observations of an instance: all, entries of one-task jobs with their throughput, and those of other jobs."""


@dataclass(frozen=True, slots=True)
class Observation:
    """The throughput of a task of `job` of a class together with tasks of the classes `beside`, as just measured.

    It is the throughput of the job: in a job of several tasks, the slowest task is unknown. `tasks_in_job` says how
    many there are.
    """

    task_class: str
    beside: tuple[str, ...]
    throughput: float
    job: str
    tasks_in_job: int = 1


class LearnedThroughput:
    """The table of section 4.3: mean throughputs of classes with sets of classes, and a default of pairs.

    The estimate of an unobserved set is the product of its pairs; that of an unobserved pair is the default.
    Rounds without a new observation are only counted, until an estimate is requested.
    """

    def __init__(self, default: float) -> None:
        self.default = default
        self._changes: list[MeanThroughput] = []
        self._again = 0  # rounds in which the same was observed as in the last, not yet learned from
        self._entries: dict[Key, MeanThroughput] = {}
        self._known: set[str] = set()  # classes of which anything was observed
        self._last: tuple[list[tuple[MeanThroughput, float]], list[list[Observation]]] = [], []  # of the last round
        self._groups: dict[int, _Group] = {}  # of the last round, by the identity of the observations

    @property
    def changes(self) -> list[MeanThroughput]:
        """Return the new or changed entries, in order; the reader remembers how many it has read."""
        self._catch_up()
        return self._changes

    def believed(self, task_class: str, beside: tuple[str, ...]) -> float:
        """Return the estimated throughput of a task with tasks of the classes `beside`, in order of name."""
        if not beside:
            return 1.0
        self._catch_up()
        if task_class not in self._known:
            return float(self.default ** len(beside))
        entry = self._entries.get((task_class, beside))
        if entry is not None:
            return entry.mean
        if len(beside) == 1:
            return self.default
        product = 1.0
        for other in beside:
            entry = self._entries.get((task_class, (other,)))
            product *= self.default if entry is None else entry.mean
        return product

    def pairs(self, classes: Iterable[str]) -> Throughput:
        """Return the estimated throughputs of pairs of some classes, to nine digits."""
        self._catch_up()
        known = set(classes)
        return Throughput(
            default=self.default,
            pairwise=tuple(
                (name, beside[0], round(entry.mean, DIGITS))
                for (name, beside), entry in self._entries.items()
                if len(beside) == 1 and name in known and beside[0] in known
            ),
        )

    def note(self, observed: Iterable[Sequence[Observation]]) -> None:
        """Learn from a round: for each instance, what was observed of the tasks there."""
        self._catch_up()
        of_job: dict[str, list[Observation]] = {}
        groups: dict[int, _Group] = {}
        single: list[tuple[MeanThroughput, float]] = []
        for group in observed:
            found = self._groups.get(id(group))
            if found is None or found[0] is not group:
                found = group, self._entries_of(group), tuple(seen for seen in group if seen.tasks_in_job > 1)
            groups[id(group)] = found
            single += found[1]
            for seen in found[2]:
                of_job.setdefault(seen.job, []).append(seen)
        self._groups = groups
        whole = [together for together in of_job.values() if len(together) == together[0].tasks_in_job]
        self._last = single, whole
        self.note_again()

    def note_again(self) -> None:
        """Learn from a round in which the same was observed as in the round before."""
        self._again += 1

    def _catch_up(self) -> None:
        """Learn from the rounds that were only counted, observation by observation: sums of floats are no products."""
        if not self._again:
            return
        rounds, self._again = self._again, 0
        single, whole = self._last
        if whole:
            for _ in range(rounds):
                self._repeat(single, 1)
                for together in whole:
                    self._note_job(together)
        else:
            self._repeat(single, rounds)

    def _entries_of(self, group: Sequence[Observation]) -> list[tuple[MeanThroughput, float]]:
        """Return the entries of tasks of one-task jobs in a group; a task that is alone has none."""
        found = []
        for seen in group:
            if seen.tasks_in_job > 1:
                continue
            self._known.add(seen.task_class)
            if seen.beside:
                key = seen.task_class, seen.beside
                entry = self._entries.get(key)
                if entry is None:
                    entry = self._entries[key] = MeanThroughput(key)
                found.append((entry, seen.throughput))
        return found

    def add(self, key: Key, throughput: float) -> None:
        """Learn one observation."""
        self._catch_up()
        self._add(key, throughput)

    def _add(self, key: Key, throughput: float) -> None:
        if key not in self._entries:
            self._entries[key] = MeanThroughput(key)
            self._known.add(key[0])
        self._repeat([(self._entries[key], throughput)], 1)

    def _repeat(self, observed: Iterable[tuple[MeanThroughput, float]], times: int) -> None:
        """Add each observation to its entry `times` times."""
        for entry, throughput in observed:
            total = entry.total
            for _ in range(times):
                total += throughput
            entry.times += times
            entry.total, mean = total, total / entry.times
            if mean != entry.mean:
                entry.mean = mean
                self._changes.append(entry)

    def _note_job(self, together: Sequence[Observation]) -> None:
        """Attribute the slowdown of a job to the task that probably delays the others (section 4.4).

        If all are known, or a known one is at most the observed value, it is the lowest known. Otherwise it is the
        unknown one with the most other tasks on its instance.
        """
        keys = list(dict.fromkeys((seen.task_class, seen.beside) for seen in together))
        lowest = min(seen.throughput for seen in together)
        known = {key: self._entries[key].mean for key in keys if key in self._entries}
        unknown = [key for key in keys if key not in known]
        if unknown and all(mean > lowest for mean in known.values()):
            blamed = max(unknown, key=lambda key: len(key[1]))
        else:
            blamed = min(known, key=known.__getitem__)
        self._add(blamed, lowest)
