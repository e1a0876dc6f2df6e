"""Convert the demands of pods and the capacities of nodes in a dump to the units of `node-consolidation`.

Amounts are rounded against the plan and in favour of the bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, floor

from instances.fields import LARGEST
from instances.kubernetes.dump import DumpedDaemon, DumpedNode
from instances.kubernetes.facts import Facts
from instances.kubernetes.offerings import Offering
from instances.kubernetes.pods import DumpedPod, add_amounts, max_amounts
from instances.kubernetes.prices import PricedOffer, Prices
from instances.kubernetes.requirements import Taint

ALWAYS = ("cpu", "memory", "pods")
IN_BYTES = ("memory", "ephemeral-storage", "hugepages-")
CALLED = {"cpu": "cpu_milli", "memory": "memory_mib"}
MIB, FINEST = 2**20, 512  # the smallest fraction of a MiB with nine decimals
ATTACHED = "volumes of "
GPU = "gpu"
OF_POOLS = ("pods", "ephemeral-storage")  # amounts that the configuration of a pool determines
UNLIMITED = int(LARGEST)


class Aliases:
    """Unique names of objects: the original name or, if names are hidden, a kind and a number."""

    def __init__(self, hidden: bool = False) -> None:
        self.hidden = hidden
        self._known: dict[str, dict[str, str]] = {}

    def of(self, kind: str, name: str) -> str:
        if not self.hidden:
            return name
        known = self._known.setdefault(kind, {})
        return known.setdefault(name, f"{kind}-{len(known) + 1}")


@dataclass
class MeasuredDump:
    """The amounts of a dump. `sure`: an unknown amount counts as 0, as a plan requires."""

    facts: Facts
    prices: Prices
    aliases: Aliases
    sure: bool

    @cached_property
    def resources(self) -> list[str]:
        """Return CPU, memory, pods, other resources that pods request, and volumes if their number is limited."""
        asked = {name for pod in self.facts.movable for name, amount in pod.demand.items() if amount}
        asked |= {name for pod in self.facts.places_for_pending for name, amount in pod.demand.items() if amount}
        drivers = {driver for limits in self.facts.dump.attachable.values() for driver in limits}
        used = {driver for pod in self.facts.movable for driver in self.facts.drivers(pod)}
        return [*ALWAYS, *sorted(asked - set(ALWAYS)), *(ATTACHED + driver for driver in sorted(drivers & used))]

    @cached_property
    def names_with_units(self) -> dict[str, str]:
        """Return the name of each resource in the problem, which contains its unit."""
        names = {r: CALLED.get(r, f"{r}_mib" if r.startswith(IN_BYTES) else r) for r in self.resources}
        return {r: self.aliases.of("resource", name) if r not in ALWAYS else name for r, name in names.items()}

    def _need(self, pod: DumpedPod, r: str) -> float:
        """Return the demand of a pod; fractions of a MiB are rounded up for a plan and down for a bound."""
        if r.startswith(ATTACHED):
            return (
                0.0
                if pod in self.facts.places_for_pending
                else float(self.facts.drivers(pod)[r.removeprefix(ATTACHED)])
            )
        return _convert(pod.demand.get(r, 0), r, up=self.sure)

    @cached_property
    def room(self) -> dict[DumpedNode, dict[str, float]]:
        """Return the capacity of each node for pods, without its fixtures and, for a plan, without terminating pods."""
        facts, found = self.facts, {}
        for node in facts.nodes:
            taken = add_amounts([*(pod.demand for pod in facts.fixtures[node.name])])
            if self.sure:
                waited = [
                    pod.demand
                    for pod, on in facts.places_for_pending.items()
                    if on is not None and on.fits and on.node is node
                ]
                taken = add_amounts([taken, facts.leaving.get(node.name, {}), *waited])
            limits = facts.dump.attachable.get(node.name, {})
            found[node] = {
                r: float(limits.get(r.removeprefix(ATTACHED), UNLIMITED))
                if r.startswith(ATTACHED)
                else _convert(max(0, node.room.get(r, 0) - taken.get(r, 0)), r)
                for r in self.resources
            }
        return found

    def _new_room(self, kind: Offering) -> dict[str, float]:
        """Return the room of a new node for pods, less the DaemonSets that would run on it."""
        taken = add_amounts(daemon.demand for daemon in self.find_daemons(kind))
        return {
            r: self._count_volumes(kind, r)
            if r.startswith(ATTACHED)
            else _convert(max(0, self.count_allocatable(kind, r) - taken.get(r, 0)), r)
            for r in self.resources
        }

    def count_allocatable(self, kind: Offering, r: str) -> int:
        """Return the capacity of a new node: as its row states, else that of nodes of its type, else an estimate.

        For a plan, a pool provides devices only if its nodes have such devices. If the row does not state pods or
        ephemeral storage, a plan takes the minimum of the nodes of the pool, because the pool configures both.
        """
        offer, row = kind.offer, kind.offer.room
        if self.sure and "/" in r and not kind.pool.gives(r):
            return 0
        if r in row and offer.size is None:
            return row[r]
        alike = [node.room.get(r, 0) for node in self._find_alike(offer)]
        if alike:
            return min(alike) if self.sure else max(alike)
        if r.endswith(f"/{GPU}"):
            several = sum(1 for other in self.resources if other.endswith(f"/{GPU}")) > 1
            return 0 if self.sure and several else row[GPU]
        if not self.sure:
            return (offer.size or {}).get(r, UNLIMITED * (MIB if r.startswith(IN_BYTES) else 1))
        shown = [node.room[r] for node in kind.pool.nodes if r in node.room] if r in OF_POOLS and r not in row else []
        return min(shown) if shown else row.get(r, offer.defaults.get(r, 0))

    def _find_alike(self, offer: PricedOffer) -> list[DumpedNode]:
        """Return the nodes of the type of a row."""
        if offer not in self._alike:
            self._alike[offer] = [node for node in self.facts.nodes if offer.describes(node)]
        return self._alike[offer]

    @cached_property
    def _alike(self) -> dict[PricedOffer, list[DumpedNode]]:
        return {}

    def _count_volumes(self, kind: Offering, r: str) -> float:
        """Return how many volumes of a driver a new node takes, as known from nodes of its type.

        If there are none, a plan uses the lowest limit of all nodes and a bound uses no limit.
        """
        limits, driver = self.facts.dump.attachable, r.removeprefix(ATTACHED)
        alike = [limits.get(node.name, {}).get(driver) for node in self._find_alike(kind.offer)]
        if alike:
            known = [UNLIMITED if limit is None else limit for limit in alike]
            return float(min(known) if self.sure else max(known))
        return float(min(of[driver] for of in limits.values() if driver in of) if self.sure else UNLIMITED)

    def find_daemons(self, kind: Offering) -> list[DumpedDaemon]:
        """Return the DaemonSets on a new node: for a plan those that may run there, for a bound those that must.

        For a bound a new node may have the taints of any node, because the bound ignores the taints of new nodes.
        """
        if kind not in self._running:
            taints = kind.pool.taints if self.sure else self._taints
            answers = [(daemon, daemon.placement.admits(kind.labels, taints)) for daemon in self._daemons]
            self._running[kind] = [d for d, answer in answers if answer or (answer is None and self.sure)]
        return self._running[kind]

    @cached_property
    def _running(self) -> dict[Offering, list[DumpedDaemon]]:
        return {}

    @cached_property
    def _taints(self) -> list[Taint]:
        return list(dict.fromkeys(taint for node in self.facts.nodes for taint in node.lasting_taints))

    @cached_property
    def _daemons(self) -> list[DumpedDaemon]:
        """Return the DaemonSets of the dump; without them, a plan derives DaemonSets from their pods."""
        if self.facts.dump.daemons is not None:
            return list(self.facts.dump.daemons.values())
        found: dict[object, DumpedDaemon] = {}
        for pod in self._daemon_pods if self.sure else ():
            key = pod.namespace, pod.owner
            before = found[key].demand if key in found else {}
            found[key] = DumpedDaemon(
                pod.namespace, pod.workload, max_amounts(pod.demand, before), pod.placement.drop_name(), pod.ports
            )
        return list(found.values())

    @property
    def _daemon_pods(self) -> list[DumpedPod]:
        return [pod for pods in self.facts.fixtures.values() for pod in pods if pod.is_of_daemon]


def _convert(amount: int, r: str, up: bool = False) -> float:
    """Return an amount in the unit of its resource, on the grid."""
    if r.startswith(IN_BYTES):
        parts = (ceil if up else floor)(Fraction(amount * FINEST, MIB))
        return min(parts / FINEST, LARGEST)
    return float(min(amount, UNLIMITED))
