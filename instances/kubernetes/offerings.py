"""Build the offerings: new nodes of a type, in a zone and in a pool, with their known labels.

A new node of a pool has a type, an architecture and a zone that occur among the nodes of the pool. The requirements of
a NodePool of Karpenter define which nodes it may launch. A row of the price table may name its pool. Nodes without the
label of a pool belong to no node group. For them, any type of the table with their architecture is an offering.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from instances.kubernetes.dump import (
    CAPACITY_TYPES,
    ON_DEMAND,
    POOLS,
    TYPES,
    DumpedMachineSet,
    DumpedNode,
    DumpedNodePool,
)
from instances.kubernetes.pods import HOSTNAME, ZONES, Amounts, add_amounts
from instances.kubernetes.prices import PricedOffer, Prices
from instances.kubernetes.requirements import NODE_NAME, Labels, Taint, are_all_true

ARCH, OS = "kubernetes.io/arch", "kubernetes.io/os"
OLD = {"beta.kubernetes.io/arch": ARCH, "beta.kubernetes.io/os": OS}
OF_MACHINES = (  # labels of machines, which follow from the type and not from the pool
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
NEW = "\x00 a node that is still to be rented"  # its name, which no requirement can contain
OF_AWS = re.compile(r"(?P<family>(?P<category>[a-z]+)(-[0-9]+tb)?(?P<generation>[0-9]+)[^.]*)\.(?P<size>.+)")
"""The name of an EC2 type; Karpenter uses its parts as labels of a node."""
LABELS_OF_AWS = "karpenter.k8s.aws/instance-"
MILLI, GPUS = 1000, "/gpu"
Agreed = dict[tuple["NodePool", str], dict[str, str | None]]
"""For a pool and a label: the label with the value that its nodes share, or nothing."""
PAID_ON_DEMAND = {"karpenter.sh/capacity-type": "on-demand", "eks.amazonaws.com/capacityType": "ON_DEMAND"}


@dataclass(frozen=True, eq=False)
class NodePool:
    """The nodes of a node group, or nodes that are interchangeable for pods; no nodes if pools are ignored.

    - `labelled`: whether the nodes have the label of a pool, so that they belong to one node group.
    - `declared`: the NodePool of Karpenter, if the dump contains it.
    - `machine_set`: the MachineSet of its nodes, if the dump contains it.
    """

    name: str | None
    nodes: Sequence[DumpedNode]
    labelled: bool = False
    declared: DumpedNodePool | None = None
    machine_set: DumpedMachineSet | None = None

    def gives(self, resource: str) -> bool:
        """Return whether any of its nodes has a resource, which shows that a device plugin runs there."""
        return any(node.room.get(resource) for node in self.nodes)

    @cached_property
    def taints(self) -> tuple[Taint, ...]:
        """Return the taints that all of its nodes have: a single node may be tainted by hand or during its start."""
        if self.declared is not None:
            return self.declared.taints
        if not self.nodes:
            return ()
        shared = set.intersection(*(set(node.lasting_taints) for node in self.nodes))
        return tuple(taint for taint in self.nodes[0].lasting_taints if taint in shared)

    @cached_property
    def types(self) -> set[str | None]:
        """Return the types of its nodes."""
        return {node.type for node in self.nodes}

    @cached_property
    def zones(self) -> set[str | None]:
        """Return the zones of its nodes."""
        return {node.zone for node in self.nodes}

    @cached_property
    def architectures(self) -> set[str]:
        """Return the architectures of its nodes, as far as labels contain them."""
        return {arch for node in self.nodes if (arch := architecture(node.labels)) is not None}

    @cached_property
    def labels_required(self) -> set[str]:
        """Return the labels that the requirements of its NodePool use."""
        return set() if self.declared is None else {requirement.key for requirement in self.declared.requirements}

    @cached_property
    def left(self) -> Mapping[str, int]:
        """Return the rest of the limits of its NodePool or MachineSet for new nodes, if all present nodes are kept."""
        if self.declared is None:
            own = self.machine_set
            if own is None or own.max_nodes is None:
                return {}
            return {"nodes": max(0, own.max_nodes - max(own.replicas, len(self.nodes)))}
        present = [*(node.size for node in self.nodes), {"nodes": len(self.nodes)}, self.declared.launching]
        used = self.declared.used or add_amounts(present)
        return {name: max(0, limit - used.get(name, 0)) for name, limit in self.declared.limits.items()}

    def may_have(self, offer: PricedOffer, zone: str | None, labels: Labels) -> bool:
        """Return whether a new node may be of a type, in a zone and with the labels that it would have."""
        if offer.pool is None and not (self.labels_required & {ARCH, *OLD}):
            arch = labels.get(ARCH)
            if self.architectures and arch not in self.architectures:
                return False
        if self.declared is not None:
            return are_all_true(one.holds(labels) for one in self.declared.requirements) is True
        return self.could_have(offer) and (zone in self.zones or not self.zones - {None})

    def could_have(self, offer: PricedOffer) -> bool:
        """Return whether a new node may be of a type, as far as the types of the nodes say."""
        free = self.declared is not None or offer.pool is not None or not self.labelled
        return free or offer.type in self.types or any(offer.describes(node) for node in self.nodes)


@dataclass(frozen=True, eq=False)
class Offering:
    """A row of the price table as a new node in a zone and a pool, with its known labels.

    - `size`: its amounts that count towards the limits of the pool.
    - `max_new`: the number of such nodes that these limits and the row permit.
    """

    offer: PricedOffer
    zone: str | None
    pool: NodePool
    labels: Labels
    size: Amounts
    max_new: int | None

    @cached_property
    def limits(self) -> dict[tuple[NodePool | PricedOffer, str], tuple[int, int]]:
        """Return the limits that several offerings share: how much is left, and how much of it one node takes."""
        found: dict[tuple[NodePool | PricedOffer, str], tuple[int, int]] = {
            (self.pool, name): (left, _count_taken(self.size, name)) for name, left in self.pool.left.items()
        }
        if self.offer.max_new is not None:
            found[self.offer, "nodes"] = self.offer.max_new, 1
        return found


def architecture(labels: Labels) -> str | None:
    """Return the architecture in the labels of a node."""
    return next((value for key in (ARCH, *OLD) if OLD.get(key, key) == ARCH and (value := labels.get(key))), None)


def pools_of(
    nodes: Iterable[DumpedNode],
    keys: Iterable[str],
    declared: Mapping[str, DumpedNodePool],
    machine_sets: Mapping[str, DumpedMachineSet],
) -> list[NodePool]:
    """Return the pools by the label of a tool or the MachineSet, else by taints and the labels `keys` of pods' rules.

    `declared`: the NodePools of Karpenter by name, which are pools even without a node.
    """
    own = sorted(key for key in keys if not key.startswith(OF_MACHINES) and key not in POOLS)
    found: dict[object, list[DumpedNode]] = {name: [] for name in declared}
    for node in nodes:
        alike = tuple(node.labels.get(key) for key in own), tuple(sorted(map(repr, node.lasting_taints)))
        owner = node.machine_set if node.machine_set in machine_sets else None
        found.setdefault(node.pool or owner or alike, []).append(node)
    return [
        NodePool(key, of, True, declared.get(key), machine_sets.get(key))
        if isinstance(key, str)
        else NodePool(f"pool {i}", of)
        for i, (key, of) in enumerate(found.items(), 1)
    ]


def offerings(
    nodes: Sequence[DumpedNode], prices: Prices, keys: Iterable[str], pools: Sequence[NodePool]
) -> list[Offering]:
    """Return the nodes that can be rented on demand: each row in its zone, or in every zone, as a node of a pool.

    A pool without a name may have any row. `keys`: the labels that somebody asks for.
    """
    known = sorted({node.zone for node in nodes if node.zone is not None})
    zones: list[str | None] = [*known] or [None]
    wanted = {pool: sorted({*keys, *pool.labels_required, ARCH}) for pool in pools}
    names = {node.name for node in nodes}
    found = []
    agreed: Agreed = {}
    for offer in prices.offers:
        if not offer.is_rented(names):
            continue
        alike = [node for node in nodes if offer.describes(node)]
        for zone in [offer.zone] if offer.zone is not None else zones:
            for pool in pools:
                row = prices.closest(offer.type, ON_DEMAND, zone, offer.pool if pool.name is None else pool.name)
                if row is not offer or not pool.could_have(offer):
                    continue
                labels = _labels(offer, zone, pool, nodes, alike, wanted[pool], agreed)
                if pool.name is not None and not pool.may_have(offer, zone, labels):
                    continue
                size = _size(offer, alike)
                most = _max_new(size, pool, offer)
                if most != 0:
                    found.append(Offering(offer, zone, pool, labels, size, most))
    return found


def label_new_node(kind: Offering, nodes: Sequence[DumpedNode], keys: Iterable[str]) -> Labels:
    """Return the labels `keys` of a new node, `None` for unknown ones; without zones, it has no zone either."""
    alike = [node for node in nodes if kind.offer.describes(node)]
    wanted = [key for key in keys if kind.zone is not None or key not in ZONES]
    return _labels(kind.offer, kind.zone, kind.pool, nodes, alike, wanted, {})


def _size(offer: PricedOffer, alike: Sequence[DumpedNode]) -> Amounts:
    """Return the capacity of a new node: that of nodes of its type, else what the row says with whole CPUs."""
    shown = next((node.size for node in alike if node.size), {})
    stated = {**offer.room, "cpu": -(-offer.room["cpu"] // MILLI) * MILLI} if offer.size is None else offer.size
    return {**stated, **shown, "nodes": 1}


def _max_new(size: Amounts, pool: NodePool, offer: PricedOffer) -> int | None:
    """Return how many new nodes the limits of a pool and of the row leave; `None` if there is no limit."""
    taken = {name: _count_taken(size, name) for name in pool.left}
    most = [left // taken[name] for name, left in pool.left.items() if taken[name]]
    return min(most if offer.max_new is None else [*most, offer.max_new], default=None)


def _count_taken(size: Amounts, limited: str) -> int:
    return size.get(limited, size["gpu"] if limited.endswith(GPUS) else 0)


def _labels(
    offer: PricedOffer,
    zone: str | None,
    pool: NodePool,
    nodes: Sequence[DumpedNode],
    same_type: Sequence[DumpedNode],
    keys: Sequence[str],
    agreed: Agreed,
) -> dict[str, str | None]:
    """Return the labels `keys` of a new node, `None` for labels that are unknown.

    Labels of machines follow from other nodes of the type; all other labels follow from the pool. `agreed`: the labels
    of pools that are already known.
    """
    found: dict[str, str | None] = {HOSTNAME: NEW, NODE_NAME: NEW}
    alike = [node.labels for node in same_type]
    in_pool = [node.labels for node in pool.nodes]
    declared = {} if pool.declared is None else pool.declared.labels
    of_aws = OF_AWS.fullmatch(offer.type)
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
        elif key == ARCH and not alike and offer.pool is not None and len(pool.architectures) == 1:
            found[key] = next(iter(pool.architectures))  # the row is for this pool
        elif OLD.get(key, key) == OS and key not in declared:
            _add_agreement_of(pool, found, key, in_pool or [node.labels for node in nodes], agreed)
        elif key.startswith(OF_MACHINES) and key not in POOLS and OLD.get(key, key) != OS:
            _add_agreement(found, key, alike)
            part = key.removeprefix(LABELS_OF_AWS)
            if not alike and of_aws is not None and part in of_aws.groupdict():
                found[key] = of_aws[part]
        elif key in declared:
            found[key] = declared[key]
        else:
            _add_agreement_of(pool, found, key, in_pool, agreed)
    return found


def _add_agreement_of(
    pool: NodePool, found: dict[str, str | None], key: str, nodes: Sequence[Mapping[str, str]], agreed: Agreed
) -> None:
    """Add the value that all nodes of a pool have; compute it once per pool and label."""
    if (pool, key) not in agreed:
        own: dict[str, str | None] = {}
        _add_agreement(own, key, nodes)
        agreed[pool, key] = own
    found |= agreed[pool, key]


def _add_agreement(found: dict[str, str | None], key: str, nodes: Sequence[Mapping[str, str]]) -> None:
    """Add the value that all nodes have: nothing if no node has the label, `None` if they differ."""
    values = {labels.get(key) for labels in nodes}
    if len(values) != 1:
        found[key] = None
    elif (value := values.pop()) is not None:
        found[key] = value
