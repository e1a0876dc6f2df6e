"""The rented nodes: how many are there, what they are billed for, and which classes each has hosted.

GPUs are alike wherever they are, so a job may hold any of them. Where a class has a cold time of rescaling, GPUs are on
certain nodes, and a job stays there as long as it keeps them and the node is not given up.
"""

from __future__ import annotations

from functools import partial

from experiments.simulator.boa.parts import SECONDS, Job, Node
from experiments.simulator.boa.places import Places
from experiments.simulator.boa.records import RentingRecords
from experiments.simulator.fleet import Fleet
from experiments.simulator.kernel import Calendar
from instances.boa import BoaRenting
from instances.boa.online import NodeState
from instances.online import RuleBroken

MOST_NODES = 100_000  # more at once is a slip of a policy


class Nodes:
    """The nodes of a cloud. `states`: those that are not marked for release; `ready` of them are there."""

    def __init__(self, data: BoaRenting, calendar: Calendar, records: RentingRecords, *, rank: int) -> None:
        self._data, self._calendar, self._rank = data, calendar, rank
        self._price = data.gpus_per_node / SECONDS  # GPU-hours a second
        self.fleet = records.fleet = Fleet(calendar)
        self._records = records
        self.states: dict[str, NodeState] = {}
        self._nodes: dict[str, Node] = {}
        self._starting: dict[str, Node] = {}
        self.ready = 0
        self.places = (
            Places(data.gpus_per_node) if any(c.cold_rescale_seconds is not None for c in data.classes) else None
        )

    def aim(self, number: int) -> None:
        """Order nodes up to `number`, or cancel such as are not there yet."""
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
        """Mark so many nodes for release, those that are not there yet first, then the youngest."""
        if number <= 0:
            return
        self.aim(len(self.states) - min(number, len(self._starting)))
        there = [node for node in self._nodes.values() if node.id not in self._starting]
        for node in there[::-1][:number]:
            self.ready -= 1
            if self.places is not None:
                self.places.close(node.id)
            self._mark(node)

    def place(self, job: Job) -> bool:
        """Give a job the GPUs of its width on nodes; whether one of them has not hosted its class yet."""
        return self.places is not None and self.places.place(job.id, job.kind.index, job.width)

    def leave(self, job: Job) -> None:
        """Free the GPUs of a job."""
        if self.places is not None:
            self.places.place(job.id, job.kind.index, 0)

    def _order(self) -> None:
        now, delay = self._calendar.now, self._data.acquisition_seconds
        name = str(len(self._records.nodes))
        node = self._nodes[name] = Node(name, now, now + delay)
        self._records.nodes.append(node)
        self.fleet.rent(name, "node", self._price)
        self.states[name] = NodeState(name, node.ready_at)
        if delay:
            self._starting[name] = node
            node.ready = self._calendar.at(node.ready_at, partial(self._is_there, node), rank=self._rank)
        else:
            self._there(node)

    def _is_there(self, node: Node) -> None:
        del self._starting[node.id]
        self._there(node)

    def _there(self, node: Node) -> None:
        self.ready += 1
        if self.places is not None:
            self.places.open(node.id)

    def _mark(self, node: Node) -> None:
        """Mark a node for release; its bill ends now, or when it is reclaimed or has been rented for the minimum."""
        now = node.marked_at = self._calendar.now
        del self.states[node.id], self._nodes[node.id]
        end = max(now, node.ordered_at + self._data.minimum_rental_seconds) + self._data.reclamation_seconds
        if end > now:
            self._calendar.at(end, partial(self._release, node), rank=self._rank)
        else:
            self._release(node)

    def _release(self, node: Node) -> None:
        node.released_at = self._calendar.now
        self.fleet.give_up(node.id)
