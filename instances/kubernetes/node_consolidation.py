"""Define the data of `node-consolidation`: a running cluster, types of new nodes, and a limit on evictions."""

from __future__ import annotations

from math import gcd
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from instances.eva.constraints import Spread
from instances.eva.packing import PricedType, refuse_types
from instances.fields import Count, Name, NonNegative, Number, ProblemData, refuse, refuse_duplicates, steps
from instances.kubernetes.placement import ClusterNode, Flag, Pod, refuse_cluster

LARGEST = 1 << 61  # units of the total demand for a resource, or of the cost of a cluster
Moves = Literal["nodes", "pods"]


class RunningNode(ClusterNode):
    """A node that runs. `capacity` is its own room for pods: what is allocatable less what its DaemonSets take.

    - `type`: the name of its instance type, perhaps of none that can be rented; `None` where it is unknown.
    - `usd_per_hour`: what it costs; `None` where that is unknown. Then it is kept, and no bill counts it.
    - `keep`: it is not given up, as where do-not-disrupt is set.
    - `cordoned`: no pod may come to it.
    """

    type: Name | None = None
    usd_per_hour: NonNegative | None = None
    keep: Flag = False
    cordoned: Flag = False


class RentedType(PricedType):
    """An instance type that can be rented: `capacity` is its room for pods, after what it reserves and DaemonSets.

    `max_new`: maximum number of new nodes of this type, in addition to those that run.
    """

    max_new: Count | None = None


class ConsolidatedPod(Pod):
    """`count` pods alike, those in place among them; the others are pending.

    - `allowed_nodes`, `allowed_types`: nodes that run and types to rent on which it may come, by default all; a pod in
      place may stay in any case.
    - `pinned`: none of them may lose its node.
    - `eviction_cost`: what Karpenter counts for the eviction of one, 1 + deletion cost / 2^27 + priority / 2^25.
    """

    allowed_nodes: tuple[Name, ...] | None = None
    allowed_types: tuple[Name, ...] | None = None
    pinned: Flag = False
    eviction_cost: Number = 1.0


class NodeConsolidation(ProblemData):
    """Keep, give up and rent nodes so that all pods, the pending ones too, have a place at minimum cost in USD/h.

    The cost is the price of the nodes that are kept and rented, and `eviction_usd_per_hour` for each eviction: a pod in
    place that loses its node. `moves`: `nodes` are drained whole, as by `kubectl drain`, and given up, or `pods` are
    moved one by one, which no tool does and which gives a lower bound.

    The room of a node is its capacity, or what it holds now where that is more; a group of pods of which it holds more
    than `max_per_node` or `spread` allow may stay as large.
    """

    problem: ClassVar[str] = "node-consolidation"

    resources: Annotated[tuple[Name, ...], Field(min_length=1)]
    nodes: tuple[RunningNode, ...]
    instance_types: tuple[RentedType, ...]
    pods: tuple[ConsolidatedPod, ...]
    spread: tuple[Spread, ...] = ()
    moves: Moves = "nodes"
    max_evictions: Count | None = None
    eviction_usd_per_hour: NonNegative = 0.0

    @property
    def unit(self) -> str:
        return "USD/h"

    @model_validator(mode="after")
    def _validate(self) -> Self:
        refuse_cluster(self.resources, self.nodes, self.pods, self.spread)
        refuse_types(self.instance_types, self.resources)
        for i, pod in enumerate(self.pods):
            self._validate_pod(f"pods[{i}]", pod)
        self._validate_totals()
        return self

    def _validate_totals(self) -> None:
        """Reject amounts and prices whose sums exceed 64-bit integers, in units that divide all of them."""
        for r in self.resources:
            taken = [steps(pod.demand[r]) for pod in self.pods]
            unit = gcd(*taken) or 1
            if sum(pod.count * d // unit for pod, d in zip(self.pods, taken, strict=True)) >= LARGEST:
                refuse("pods", f"must take less than {LARGEST} times {unit}e-9 of {r} in all")
        held = [steps(node.usd_per_hour or 0.0) for node in self.nodes]
        eviction = steps(self.eviction_usd_per_hour)
        unit = gcd(*held, *(steps(kind.usd_per_hour) for kind in self.instance_types), eviction) or 1
        evictions = sum(n for node in self.nodes for n in node.pods.values())
        if sum(held) + evictions * eviction >= LARGEST * unit:
            refuse("nodes", f"with all evictions, must cost less than {LARGEST} times {unit}e-9 USD/h")

    def _validate_pod(self, path: str, pod: ConsolidatedPod) -> None:
        here = sum(node.pods.get(pod.name, 0) for node in self.nodes)
        for field, allowed, known in (
            ("allowed_nodes", pod.allowed_nodes, {node.name for node in self.nodes}),
            ("allowed_types", pod.allowed_types, {kind.name for kind in self.instance_types}),
        ):
            refuse_duplicates(f"{path}.{field}", allowed or ())
            for name in allowed or ():
                if name not in known:
                    refuse(f"{path}.{field}", "unknown name", name)
        places: list[ClusterNode | RentedType] = [
            *(n for n in self.nodes if self.may_come(pod, n)),
            *self.instance_types,
        ]
        if here < pod.count and not any(self.holds_one(pod, place) for place in places):
            refuse(f"{path}.demand", "is pending and fits nowhere, even alone", pod.name)

    def may_come(self, pod: ConsolidatedPod, node: RunningNode) -> bool:
        """Return whether a pod from elsewhere is allowed to come to a node, without regard to its capacity."""
        return not node.cordoned and (pod.allowed_nodes is None or node.name in pod.allowed_nodes)

    def holds_one(self, pod: ConsolidatedPod, place: ClusterNode | RentedType) -> bool:
        """Return whether a pod fits alone on a node, or is allowed on a type and fits there alone."""
        allowed = pod.allowed_types is None or place.name in pod.allowed_types or isinstance(place, ClusterNode)
        return allowed and all(pod.demand[r] <= place.capacity[r] for r in self.resources)

    def is_kept(self, node: RunningNode) -> bool:
        """Return whether a node must be kept: `keep` is set, its price is unknown, or it holds a pinned pod."""
        pinned = any(node.pods.get(pod.name) for pod in self.pods if pod.pinned)
        return node.keep or node.usd_per_hour is None or pinned
