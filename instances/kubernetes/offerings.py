"""Nodes that could be rented: a type in a zone and in a pool, with what is known of the labels it would have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from instances.kubernetes.dump import CAPACITY_TYPES, ON_DEMAND, POOLS, TYPES, DumpedNode
from instances.kubernetes.pods import HOSTNAME, ZONES
from instances.kubernetes.prices import PricedOffer, Prices
from instances.kubernetes.requirements import NODE_NAME, Labels, Taint

ARCH, OS = "kubernetes.io/arch", "kubernetes.io/os"
OLD = {"beta.kubernetes.io/arch": ARCH, "beta.kubernetes.io/os": OS}
OF_MACHINES = (  # labels that say what a machine is: they follow from its type, and not from the pool
    "kubernetes.io/",
    "beta.kubernetes.io/",
    "node.kubernetes.io/",
    "topology.",
    "failure-domain.",
    "karpenter.k8s.",
    "karpenter.azure.com/",
    "cloud.google.com/",
    "k8s.io/",
    "feature.node.kubernetes.io/",
    "nvidia.com/",
)
NEW = "\x00 a node that is still to be rented"  # its name, which nobody has asked for yet
PAID_ON_DEMAND = {"karpenter.sh/capacity-type": "on-demand", "eks.amazonaws.com/capacityType": "ON_DEMAND"}


@dataclass(frozen=True, eq=False)
class NodePool:
    """Nodes that are managed together, or that pods cannot tell apart; none where the pools are not asked for."""

    name: str | None
    nodes: Sequence[DumpedNode]

    def gives(self, resource: str) -> bool:
        """Whether any of its nodes has a resource, for which a device plugin runs there."""
        return any(node.room.get(resource) for node in self.nodes)

    @cached_property
    def taints(self) -> tuple[Taint, ...]:
        """What all of its nodes have: one alone may have been tainted by hand, or be about to start."""
        if not self.nodes:
            return ()
        shared = set.intersection(*(set(node.lasting_taints) for node in self.nodes))
        return tuple(taint for taint in self.nodes[0].lasting_taints if taint in shared)


@dataclass(frozen=True, eq=False)
class Offering:
    """A row of prices in a zone, as a node of a pool, with what is known of its labels."""

    offer: PricedOffer
    zone: str | None
    pool: NodePool
    labels: Labels


def pools_of(nodes: Iterable[DumpedNode], keys: Iterable[str]) -> list[NodePool]:
    """The pools by the label of a tool, else by taints and the labels `keys` that pods ask for."""
    own = sorted(key for key in keys if not key.startswith(OF_MACHINES) and key not in POOLS)
    found: dict[object, list[DumpedNode]] = {}
    for node in nodes:
        alike = tuple(node.labels.get(key) for key in own), tuple(sorted(map(repr, node.lasting_taints)))
        found.setdefault(node.pool or alike, []).append(node)
    return [NodePool(key if isinstance(key, str) else f"pool {i}", of) for i, (key, of) in enumerate(found.items(), 1)]


def offerings(
    nodes: Sequence[DumpedNode], prices: Prices, keys: Iterable[str], pools: Sequence[NodePool]
) -> list[Offering]:
    """What can be rented on demand: each row in its zone, or in every zone of the cluster, as a node of each pool.

    `keys`: the labels that somebody asks for.
    """
    keys = sorted(keys)
    known = sorted({node.zone for node in nodes if node.zone is not None})
    zones: list[str | None] = [*known] or [None]
    return [
        Offering(offer, zone, pool, _labels(offer, zone, pool, nodes, keys))
        for offer in prices.offers
        if offer.capacity_type == ON_DEMAND
        for zone in ([offer.zone] if offer.zone is not None else zones)
        for pool in pools
    ]


def _labels(
    offer: PricedOffer, zone: str | None, pool: NodePool, nodes: Sequence[DumpedNode], keys: Sequence[str]
) -> dict[str, str | None]:
    """The labels `keys` that a new node would have; those that nobody can know are `None`.

    What a machine is follows from its type, as nodes of that type show; what else there is follows from the pool.
    """
    found: dict[str, str | None] = {HOSTNAME: NEW, NODE_NAME: NEW}
    alike = [node.labels for node in nodes if node.type == offer.type]
    for key in keys:
        if key in (HOSTNAME, NODE_NAME):
            continue
        if key in TYPES:
            found[key] = offer.type
        elif key in ZONES:
            found[key] = zone
        elif key in CAPACITY_TYPES:
            if key in PAID_ON_DEMAND:
                found[key] = PAID_ON_DEMAND[key]
        elif OLD.get(key, key) == ARCH and offer.arch is not None:
            found[key] = offer.arch
        elif OLD.get(key, key) == OS:
            _agreed(found, key, [node.labels for node in nodes])
        elif key.startswith(OF_MACHINES) and key not in POOLS:
            _agreed(found, key, alike)
        else:
            _agreed(found, key, [node.labels for node in pool.nodes])
    return found


def _agreed(found: dict[str, str | None], key: str, nodes: Sequence[Mapping[str, str]]) -> None:
    """Enter the value that all of some nodes have; nothing where none has the label, `None` where they differ."""
    values = {labels.get(key) for labels in nodes}
    if len(values) != 1:
        found[key] = None
    elif (value := values.pop()) is not None:
        found[key] = value
