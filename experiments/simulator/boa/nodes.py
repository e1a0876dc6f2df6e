"""BOA's rented nodes with their bill and the classes that each has hosted, and the jobs that hold their GPUs.

GPUs are interchangeable, so a job may hold any of them. If a class has a cold rescaling time, the GPUs of a job belong
to specific nodes. The job then stays on them while it keeps the GPUs and the node is not released.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NoReturn

import numpy as np

from experiments.simulator.kernel import HOUR, Activity, Calendar, Event, Fleet
from instances.boa import BoaRenting, Curve, RentingClass, RentingJob
from instances.boa.online import NodeState, RentingJobView
from instances.online import RuleBroken


class RentingJobState:
    """A job. It holds `width` GPUs since `since`, and works with them at `rate` from `active_from` on.

    Work is counted in seconds on one GPU. `sizes`: work of each epoch; `work`: work of the current epoch; `state`: the
    view of policies.
    """

    __slots__ = (
        "active_from", "arrival", "end", "epoch", "id", "index", "kind", "rate", "since", "sizes", "start",
        "state", "width", "work",
    )  # fmt: skip

    work: Activity

    def __init__(self, index: int, job: RentingJob, kind: TrueClass) -> None:
        own = kind.data.epochs if job.size_hours is None else None
        self.index, self.id, self.arrival, self.kind = index, job.id, job.arrival_seconds, kind
        self.sizes = [e.size_hours * HOUR for e in own] if own else [h * HOUR for h in job.size_hours or ()]
        self.state = RentingJobView(
            job.id, job.job_class, job.arrival_seconds, 0, kind.mean_from[0], requested_gpus=job.requested_gpus
        )
        self.epoch = self.width = 0
        self.rate = self.since = self.active_from = 0.0
        self.start: float | None = None
        self.end: float | None = None

    def show(self, now: float) -> None:
        """Update the policies' view of the job: its epoch and its expected remaining work."""
        state, mean = self.state, self.kind.mean_from
        share = self.work.left / self.sizes[self.epoch]
        state.epoch, state.seen_at = self.epoch, now
        state.remaining_hours = mean[self.epoch + 1] + share * (mean[self.epoch] - mean[self.epoch + 1])


class TrueClass:
    """The true behaviour of a class of jobs: index, pauses in seconds, and mean hours on one GPU from each epoch on."""

    __slots__ = ("_ends", "_speeds", "cold", "data", "index", "last", "mean_from", "pause")

    def __init__(self, index: int, data: RentingClass, max_width: int | None) -> None:
        self.index, self.data = index, data
        self.pause = data.rescale_seconds
        self.cold = data.cold_rescale_seconds
        self.mean_from = [0.0]
        for epoch in reversed(data.epochs):
            self.mean_from.insert(0, self.mean_from[0] + epoch.size_hours)
        self._speeds: list[dict[int, float]] = [{} for _ in data.epochs]
        most = max_width or 10**9
        self._ends = [_end(e.speedup, most) for e in data.epochs]
        believed = [_end(e.believed_speedup, most) for e in data.epochs if e.believed_speedup is not None]
        self.last = max(self._ends + believed)

    def speed(self, epoch: int, width: int) -> float:
        """Return the true speedup of an epoch over one GPU, constant beyond the last measured width."""
        found = self._speeds[epoch].get(width)
        if found is None:
            curve = self.data.epochs[epoch].speedup
            found = self._speeds[epoch][width] = speed_at(curve, min(width, self._ends[epoch]))
        return found

    def refuse(self, width: int) -> NoReturn:
        """Raise RuleBroken for a width out of range."""
        raise RuleBroken(f"a job of {self.data.name} runs on 1 to {self.last} GPUs, got {width}")


def speed_at(curve: Curve, width: int) -> float:
    """Return the measured speedup on an integer number of GPUs, interpolated linearly between the widths of a table.

    The interpolation does not use the concave hull of the table.
    """
    if curve.table is None:
        return float(curve.at(np.array([float(width)]))[0])
    return float(curve.table.raw(width)[-1])


def _end(curve: Curve, most: int) -> int:
    """Return the last width of a curve, at most `most`."""
    return most if curve.table is None else min(most, curve.table.gpus[-1])


def jobs_of(data: BoaRenting) -> list[RentingJobState]:
    """Return the jobs of a workload in order of arrival."""
    kinds = {c.name: TrueClass(i, c, data.max_width) for i, c in enumerate(data.classes)}
    order = sorted(data.jobs, key=lambda job: job.arrival_seconds)
    return [RentingJobState(index, job, kinds[job.job_class]) for index, job in enumerate(order)]


MOST_NODES = 100_000  # a request for more at once is an error of the policy


@dataclass(slots=True, eq=False)
class RentedNode:
    """A node from its order on: `ready_at` is the time of its start, `marked_at` the time of its release request."""

    id: str
    ordered_at: float
    ready_at: float
    ready: Event | None = None
    marked_at: float = float("inf")
    released_at: float = float("inf")


class Nodes:
    """The nodes of a cloud. `states`: nodes that are not marked for release, of which `ready` have started.

    `ever`: all nodes ever ordered.
    """

    def __init__(self, data: BoaRenting, calendar: Calendar, *, rank: int) -> None:
        self._data, self._calendar, self._rank = data, calendar, rank
        self._price = data.gpus_per_node / HOUR  # GPU-hours a second
        self.fleet = Fleet(calendar)
        self.ever: list[RentedNode] = []
        self.states: dict[str, NodeState] = {}
        self._nodes: dict[str, RentedNode] = {}
        self._starting: dict[str, RentedNode] = {}
        self.ready = 0
        self.places = (
            Places(data.gpus_per_node) if any(c.cold_rescale_seconds is not None for c in data.classes) else None
        )

    def aim(self, number: int) -> None:
        """Order nodes up to `number`, or cancel surplus nodes that have not started."""
        spare = len(self.states) - number
        if spare and not (number == int(number) and 0 <= number <= MOST_NODES):
            raise RuleBroken(f"{number} nodes are asked for at {self._calendar.now}, the most is {MOST_NODES}")
        if spare < 0:
            for _ in range(-spare):
                self._order()
        elif spare and self._starting:
            for node in list(self._starting.values())[::-1][:spare]:
                assert node.ready is not None
                node.ready.cancel()
                del self._starting[node.id]
                self._mark(node)

    def give_up(self, number: int) -> None:
        """Mark `number` nodes for release, first those that have not started, then the youngest."""
        if number <= 0:
            return
        self.aim(len(self.states) - min(number, len(self._starting)))
        there = [node for node in self._nodes.values() if node.id not in self._starting]
        for node in there[::-1][:number]:
            self.ready -= 1
            if self.places is not None:
                self.places.close(node.id)
            self._mark(node)

    def place(self, job: RentingJobState) -> bool:
        """Assign a job the GPUs of its width, and return whether a new node has not hosted its class before."""
        return self.places is not None and self.places.place(job.id, job.kind.index, job.width)

    def leave(self, job: RentingJobState) -> None:
        """Free the GPUs of a job."""
        if self.places is not None:
            self.places.place(job.id, job.kind.index, 0)

    def _order(self) -> None:
        now, delay = self._calendar.now, self._data.acquisition_seconds
        name = str(len(self.ever))
        node = self._nodes[name] = RentedNode(name, now, now + delay)
        self.ever.append(node)
        self.fleet.rent(name, "node", self._price)
        self.states[name] = NodeState(name, node.ready_at)
        if delay:
            self._starting[name] = node
            node.ready = self._calendar.at(node.ready_at, partial(self._is_there, node), rank=self._rank)
        else:
            self._there(node)

    def _is_there(self, node: RentedNode) -> None:
        del self._starting[node.id]
        self._there(node)

    def _there(self, node: RentedNode) -> None:
        self.ready += 1
        if self.places is not None:
            self.places.open(node.id)

    def _mark(self, node: RentedNode) -> None:
        """Mark a node for release; its bill ends now, or when it is reclaimed or has been rented for the minimum."""
        now = node.marked_at = self._calendar.now
        del self.states[node.id], self._nodes[node.id]
        end = max(now, node.ordered_at + self._data.minimum_rental_seconds) + self._data.reclamation_seconds
        if end > now:
            self._calendar.at(end, partial(self._release, node), rank=self._rank)
        else:
            self._release(node)

    def _release(self, node: RentedNode) -> None:
        node.released_at = self._calendar.now
        self.fleet.give_up(node.id)


class Places:
    """The GPUs of nodes and the jobs on them, by ids; `hosted` are the classes that each node has hosted.

    A job keeps its GPUs, and `_add` defines the order of nodes for further ones. GPUs are interchangeable: if a node
    closes, its GPUs are replaced on other nodes, which is not a rescaling.
    """

    def __init__(self, gpus: int) -> None:
        self._gpus = gpus
        self.free: dict[str, int] = {}
        self.hosted: dict[str, set[int]] = {}
        self.held: dict[str, dict[str, int]] = {}
        self._kind: dict[str, int] = {}

    def open(self, node: str) -> None:
        """Add a node that has started."""
        self.free[node], self.hosted[node] = self._gpus, set()

    def close(self, node: str) -> None:
        """Remove a node; jobs with GPUs there get others."""
        del self.free[node], self.hosted[node]
        for job, places in self.held.items():
            moved = places.pop(node, 0)
            if moved:
                self._add(job, moved)

    def place(self, job: str, kind: int, width: int) -> bool:
        """Assign a job `width` GPUs in total, and return whether a new node has not hosted its class before."""
        places = self.held.setdefault(job, {})
        self._kind[job] = kind
        more = width - sum(places.values())
        if more > 0:
            return self._add(job, more)
        for node in list(places)[::-1]:
            less = min(-more, places[node])
            places[node] -= less
            self.free[node] += less
            more += less
            if not places[node]:
                del places[node]
        if not width:
            del self.held[job], self._kind[job]
        return False

    def _add(self, job: str, more: int) -> bool:
        """Take GPUs first on nodes of the job, then on nodes that have hosted its class, then in order of rental."""
        places, kind = self.held[job], self._kind[job]
        cold = False
        order = sorted(self.free, key=lambda node: (node not in places, kind not in self.hosted[node]))
        for node in order:
            taken = min(more, self.free[node])
            if taken:
                cold |= kind not in self.hosted[node]
                self.hosted[node].add(kind)
                self.free[node] -= taken
                places[node] = places.get(node, 0) + taken
                more -= taken
                if not more:
                    break
        return cold
