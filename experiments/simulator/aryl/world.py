"""Aryl's world: a training cluster borrows the servers that an inference cluster does not use, and gives them back.

Decisions are made whenever something happened, or at the multiples of the scheduling period; and whenever servers have
to go back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import numpy as np
import pandas as pd

from experiments.simulator.aryl.cluster import Cluster
from experiments.simulator.aryl.kernels import BASE, FLEXIBLE
from experiments.simulator.kernel import Calendar
from instances.arrays import IntArray
from instances.aryl import ArylLoaning
from instances.aryl.live import Live
from instances.aryl.online import Allocation, Changes, JobState, ServerState, View
from instances.online import RuleBroken

State = TypeVar("State")


class Lazy(Mapping[str, State], Generic[State]):
    """A read-only mapping of ids to states that are made when somebody looks."""

    def __init__(self, places: Callable[[], Mapping[str, int]], make: Callable[[int], State]) -> None:
        self._find, self._make = places, make
        self._made: dict[str, State] = {}

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return self._find()

    def __getitem__(self, name: str) -> State:
        if name not in self._made:
            self._made[name] = self._make(self._places[name])
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


class LoaningWorld:
    """An `aryl-loaning` workload. The engine's calendar has the decisions; the cluster's own has every event."""

    def __init__(self, data: ArylLoaning) -> None:
        self.data = data
        self.cluster = Cluster(data)
        training, inference = data.training_servers, data.inference_servers
        self._servers = [*(f"t{i}" for i in range(training)), *(f"l{i}" for i in range(inference))]
        self._server_place = {name: i for i, name in enumerate(self._servers)}
        self._workers, self._kind = _read_only(self.cluster.servers.workers), _read_only(self.cluster.servers.kind)
        self._job_place = {name: i for i, name in enumerate(self.cluster.demands.ids)}

    def open(self, calendar: Calendar) -> None:
        self._calendar = calendar
        self._calendar.at(self._next(), self._moment)

    def view(self) -> View:
        cluster = self.cluster
        ids = cluster.demands.ids
        return View(
            now=cluster.now,
            servers=Lazy(self._there, self._server),
            jobs=Lazy(lambda: {ids[j]: j for j in sorted([*cluster.waiting, *cluster.running])}, self._job),
            reclaim=cluster.wanted,
            loaned_worth=self.data.loaned_worth,
            scaling_loss=self.data.scaling_loss,
            arrived=tuple(ids[j] for j in cluster.arrived),
            finished=tuple(ids[j] for j in cluster.finished),
            preempted=tuple(ids[j] for j in cluster.preempted),
            live=self._live(),
        )

    def apply(self, decision: Allocation | Changes) -> None:
        """Let a decision take effect, and plan the next one."""
        cluster = self.cluster
        if decision.wake_at is not None:
            raise RuleBroken(f"the policy asks at {cluster.now} to be woken at {decision.wake_at}; rounds are given")
        cluster.arrived.clear()
        cluster.finished.clear()
        cluster.preempted.clear()
        if cluster.wanted:
            self._take_back(decision)
            self._calendar.at(cluster.now, self._moment)
            return
        changes = decision if isinstance(decision, Changes) else self._changes(decision)
        self._change(changes)
        if cluster.unfinished and cluster.calendar:
            self._calendar.at(self._next(), self._moment)

    def waiting(self) -> str | None:
        cluster = self.cluster
        return f"job {cluster.demands.ids[cluster.waiting[0]]}" if cluster.waiting else None

    def close(self) -> None:
        """All work is done, every job waited or ran, and nobody held more than there was."""
        self.cluster.records.check()

    def jobs_table(self) -> pd.DataFrame:
        """One row a job, see `Records.jobs_table`."""
        return self.cluster.records.jobs_table()

    def timeline_table(self) -> pd.DataFrame:
        """One row a step of the orchestrator, see `Records.timeline_table`."""
        return self.cluster.records.timeline_table()

    def reclaims_table(self) -> pd.DataFrame:
        """One row a reclaim, see `Reclaim`."""
        return self.cluster.records.reclaims_table()

    def totals(self) -> dict[str, Any]:
        """Preemptions and use, see `Records.totals`."""
        return self.cluster.records.totals()

    def _moment(self) -> None:
        self.cluster.go_to(self._calendar.now)

    def _next(self) -> float:
        """The moment of the next decision: of the next event, or the first of the period after it."""
        event, period = self.cluster.calendar.next_moment, self.data.scheduling_period_seconds
        if not period:
            return event
        moment = max(-(-event // period) * period, event)
        step = self.cluster.next_step
        return step if event <= step < moment else moment

    def _take_back(self, decision: Allocation | Changes) -> None:
        cluster, now = self.cluster, self.cluster.now
        if not isinstance(decision, Allocation):
            raise RuleBroken(f"{cluster.wanted} servers have to go back at {now}, the policy names none")
        gone = set()
        for name in decision.give_back:
            place = self._server_place.get(name, -1)
            if place < self.data.training_servers or not cluster.servers.there[place]:
                raise RuleBroken(f"server {name} goes back at {now}, but is not on loan")
            gone.add(place)
        if len(gone) != cluster.wanted:
            raise RuleBroken(f"{len(gone)} servers go back at {now}, {cluster.wanted} have to")
        cluster.take_back(gone, regroup=decision.regroup)

    def _changes(self, decision: Allocation) -> Changes:
        """What an allocation of all jobs changes. Raises RuleBroken for a job that is not there or a wrong number."""
        cluster, now = self.cluster, self.cluster.now
        least, most = cluster.demands.min_workers, cluster.demands.max_workers
        start, workers, waiting = [], {}, set(cluster.waiting)
        for name, k in decision.workers.items():
            place = self._job_place.get(name, -1)
            if place not in cluster.running and place not in waiting:
                raise RuleBroken(f"job {name} gets {k} workers at {now}, but is not there")
            if not least[place] <= k <= most[place]:
                raise RuleBroken(f"job {name} gets {k} workers at {now}, not {least[place]} to {most[place]}")
            if place in waiting:
                start.append(place)
            workers[place] = k
        dropped = {j: int(least[j]) for j in cluster.elastic if j not in workers}
        return Changes(start=start, workers=dropped | workers)

    def _change(self, changes: Changes) -> None:
        """Flexible workers go, then jobs start, then flexible workers come."""
        cluster, servers = self.cluster, self.cluster.servers
        least = cluster.demands.min_workers
        for job, k in changes.workers.items():
            if servers.workers[job] > k:
                self._refuse(job, k)
                servers.shrink(job, int(servers.workers[job]) - k)
        waiting = set(cluster.waiting) if changes.start else ()
        for job in changes.start:
            if job not in waiting:
                raise RuleBroken(f"job {cluster.demands.ids[job]} starts at {cluster.now}, but does not wait")
            if not cluster.start(job, loans=changes.loans) and changes.in_order:
                break
        for job, k in changes.workers.items():
            have = int(servers.workers[job])
            if have and k > have:
                self._refuse(job, k)
                servers.grow(job, k - max(have, int(least[job])), loans=changes.loans)
        cluster.settle()

    def _refuse(self, job: int, workers: int) -> None:
        demands = self.cluster.demands
        if not demands.min_workers[job] <= workers <= demands.max_workers[job]:
            raise RuleBroken(f"job {demands.ids[job]} gets {workers} workers at {self.cluster.now}, out of its range")

    def _there(self) -> Mapping[str, int]:
        return {self._servers[s]: s for s in np.flatnonzero(self.cluster.servers.there).tolist()}

    def _server(self, place: int) -> ServerState:
        servers = self.cluster.servers
        loaned = place >= self.data.training_servers
        group = {BASE: "base", FLEXIBLE: "flexible"}.get(int(servers.group[place])) if servers.grouped else None
        return ServerState(
            self._servers[place],
            "loaned" if loaned else "training",
            servers.gpus,
            int(servers.free[place]),
            group,  # type: ignore[arg-type]
        )

    def _job(self, place: int) -> JobState:
        cluster, job = self.cluster, self.cluster.jobs[place]
        return JobState(
            job.id,
            job.arrival_seconds,
            job.min_workers,
            job.max_workers,
            job.gpus_per_worker,
            float(cluster.believed_left(np.array([place]))[0]),
            self._named(cluster.servers.base_of[place].items()),
            self._named(cluster.servers.flexible_of[place].items()),
            job.any_gpu,
            job.heterogeneous,
            job.checkpointed,
            cluster.records.preemptions(place),
            float(cluster.done(np.array([place]))[0]),
        )

    def _named(self, held: Iterable[tuple[int, int]]) -> Mapping[str, int]:
        return MappingProxyType({self._servers[s]: k for s, k in held})

    def _live(self) -> Live:
        cluster, servers = self.cluster, self.cluster.servers
        return Live(
            demands=cluster.demands,
            waiting=np.array(cluster.waiting, dtype=np.int64),
            elastic=np.array(sorted(cluster.elastic), dtype=np.int64),
            free_gpus=servers.free_gpus(),
            flexible_gpus=tuple(servers.used_flexible),
            widest=servers.widest(),
            workers=self._workers,
            kind=self._kind,
            left=cluster.believed_left,
            hosted=self._hosted,
        )

    def _hosted(self) -> Iterable[tuple[str, tuple[str, ...], tuple[str, ...]]]:
        """Of each server on loan its id, the ids of the jobs with base workers there, and those with flexible ones."""
        servers, ids = self.cluster.servers, self.cluster.demands.ids
        for s in range(self.data.training_servers, len(self._servers)):
            if servers.there[s]:
                base = tuple(ids[j] for j in servers.base_on[s])
                yield self._servers[s], base, tuple(ids[j] for j in servers.flexible_on[s])


def _read_only(values: IntArray) -> IntArray:
    """The same numbers, for others to look at."""
    seen = values.view()
    seen.setflags(write=False)
    return seen
