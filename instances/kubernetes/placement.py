"""Define the data of `node-placement`: nodes, the pods on them, and pending pods, as in a Kubernetes cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Self

from pydantic import BeforeValidator, Field, model_validator

from instances.eva.constraints import Spread
from instances.eva.packing import DEFAULT, Amounts, EvaPacking, InstanceType, Task
from instances.fields import (
    LARGEST,
    Count,
    Frozen,
    Name,
    PositiveCount,
    ProblemData,
    plain_mapping,
    refuse,
    refuse_duplicates,
)

Pods = Annotated[Mapping[Name, Count], BeforeValidator(plain_mapping)]
Flag = Annotated[bool, Field(strict=True)]


class ClusterNode(Frozen):
    """A node: what it has for pods, and how many of each entry are on it now, perhaps more than there is room for."""

    name: Name
    capacity: Amounts
    pods: Pods = Field(default_factory=dict)


class Pod(Frozen):
    """`count` pods alike, those in place among them. `allowed_nodes`: where they may be, by default anywhere."""

    name: Name
    count: PositiveCount
    demand: Amounts
    allowed_nodes: Annotated[tuple[Name, ...], Field(min_length=1)] | None = None
    max_per_node: PositiveCount | None = None


def refuse_cluster(
    resources: Sequence[str], nodes: Sequence[ClusterNode], pods: Sequence[Pod], spread: Sequence[Spread]
) -> None:
    """Reject duplicate or unknown names, amounts of other resources, and more pods in place than exist.

    Raises InputError.
    """
    refuse_duplicates("resources", resources)
    refuse_duplicates("nodes", (node.name for node in nodes))
    refuse_duplicates("pods", (pod.name for pod in pods))
    for place, amounts in (
        *((f"nodes[{i}].capacity", node.capacity) for i, node in enumerate(nodes)),
        *((f"pods[{i}].demand", pod.demand) for i, pod in enumerate(pods)),
    ):
        if set(amounts) != set(resources):
            refuse(place, "must have an amount of each resource and no other", ", ".join(amounts))
    names = {pod.name for pod in pods}
    for i, node in enumerate(nodes):
        for name in node.pods:
            if name not in names:
                refuse(f"nodes[{i}].pods", "unknown pod", name)
    for i, pod in enumerate(pods):
        here = sum(node.pods.get(pod.name, 0) for node in nodes)
        if here > pod.count:
            refuse(f"pods[{i}].count", f"must be >= {here}, the number in place", pod.count)
    for i, group in enumerate(spread):
        refuse_duplicates(f"spread[{i}].tasks", group.tasks)
        for name in group.tasks:
            if name not in names:
                refuse(f"spread[{i}].tasks", "unknown pod", name)


class NodePlacement(ProblemData):
    """Place all pods on the nodes; minimise those that are moved from where they are. `movable`: whether any may be."""

    problem: ClassVar[str] = "node-placement"

    resources: Annotated[tuple[Name, ...], Field(min_length=1)]
    nodes: Annotated[tuple[ClusterNode, ...], Field(min_length=1)]
    pods: tuple[Pod, ...]
    spread: tuple[Spread, ...] = ()
    movable: Flag = True

    @property
    def unit(self) -> str:
        return "pods"

    @model_validator(mode="after")
    def _validate(self) -> Self:
        refuse_cluster(self.resources, self.nodes, self.pods, self.spread)
        nodes = {node.name for node in self.nodes}
        for i, pod in enumerate(self.pods):
            refuse_duplicates(f"pods[{i}].allowed_nodes", pod.allowed_nodes or ())
            for name in pod.allowed_nodes or ():
                if name not in nodes:
                    refuse(f"pods[{i}].allowed_nodes", "unknown node", name)
            if not any(self.holds_one(pod, node) for node in self.nodes):
                refuse(f"pods[{i}].demand", "fits on none of its nodes, even empty", pod.name)
        if (total := sum(pod.count for pod in self.pods)) > LARGEST:
            refuse("pods", f"must be no more than {LARGEST:.0f} in all", total)
        return self

    def holds_one(self, pod: Pod, node: ClusterNode) -> bool:
        """Return whether a pod is allowed on a node and fits there alone."""
        allowed = pod.allowed_nodes is None or node.name in pod.allowed_nodes
        return allowed and all(pod.demand[r] <= node.capacity[r] for r in self.resources)

    def packing(self) -> EvaPacking:
        """Return the packing problem with each node as a type with one instance, at equal prices, and pods as tasks."""
        return EvaPacking(
            resources=self.resources,
            instance_types=tuple(
                InstanceType(name=n.name, family="node", capacity=n.capacity, usd_per_hour=1.0, max_instances=1)
                for n in self.nodes
            ),
            tasks=tuple(
                Task(
                    workload=p.name,
                    count=p.count,
                    demand={DEFAULT: p.demand},
                    allowed_types=p.allowed_nodes,
                    max_per_instance=p.max_per_node,
                )
                for p in self.pods
            ),
            spread=self.spread,
            objective="cost",
        )
