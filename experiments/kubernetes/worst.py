"""Spaces of worst cases of clusters, and the task of pods on given nodes for the judge."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from functools import partial

from experiments.eva import worst as eva
from experiments.eva.worst import CutBins
from experiments.harness.experiment import Quick, Study
from experiments.judging.judge import JudgeTask
from experiments.judging.problems import Drawn, task_of
from experiments.kubernetes.methods import METHODS
from experiments.worst_cases.space import Chosen, RepeatedEntries
from experiments.worst_cases.study import Sweep, study_of
from instances import Instance, Options, Solution
from instances.eva import price_list
from instances.kubernetes import (
    ClusterNode,
    ConsolidatedPod,
    NodeConsolidation,
    NodePlacement,
    Pod,
    RentedType,
    RunningNode,
    random_cluster,
)

TYPES = ("c6i-2", "m6i-2", "c6i-4", "m6i-4")
SIZES = {"small": (500.0, 1024.0), "large": (1500.0, 4096.0)}  # of pods: thousandths of a CPU and MiB
ON_A_NODE = 3  # pods at most


def nine_workloads() -> RepeatedEntries:
    """Build the space of the nine workloads as pending pods without any running node.

    A pod requests the same on all nodes: the demand of its workload on the cheapest type that holds it.
    """
    packing = eva.nine_workloads().base.data
    kinds = sorted(packing.instance_types, key=lambda kind: kind.usd_per_hour)
    pods = []
    for task in packing.tasks:
        family = next(kind.family for kind in kinds if packing.fits(task, kind))
        pods.append(ConsolidatedPod(name=task.workload, count=1, demand=dict(task.demand_on(family))))
    data = NodeConsolidation(
        resources=packing.resources,
        nodes=(),
        instance_types=tuple(RentedType(**kind.common) for kind in packing.instance_types),
        pods=tuple(pods),
    )
    return RepeatedEntries(Instance.of(data, "kubernetes-nine", "Eva (EuroSys'25), Table 7, as pods that wait"))


def running_nodes() -> RepeatedEntries:
    """Build the space of nodes of four EC2 types with up to three pods of two sizes, as after other pods have left."""
    packing = price_list(1, 0).data
    kinds = [kind for kind in packing.instance_types if kind.name in TYPES]
    asks = {name: dict(zip(packing.resources, (*size, 1.0), strict=True)) for name, size in SIZES.items()}
    nodes = [
        RunningNode(
            name="-".join([kind.name, *held]),
            capacity=kind.capacity,
            pods=dict(Counter(held)),
            type=kind.name,
            usd_per_hour=kind.usd_per_hour,
        )
        for kind in kinds
        for n in range(1, ON_A_NODE + 1)
        for held in itertools.combinations_with_replacement(asks, n)
        if all(sum(asks[name][r] for name in held) <= kind.capacity[r] for r in packing.resources)
    ]
    number = Counter(name for node in nodes for name, n in node.pods.items() for _ in range(n))
    data = NodeConsolidation(
        resources=packing.resources,
        nodes=tuple(nodes),
        instance_types=tuple(RentedType(**kind.common) for kind in kinds),
        pods=tuple(ConsolidatedPod(name=name, count=number[name], demand=asked) for name, asked in asks.items()),
    )
    return RepeatedEntries(Instance.of(data, "kubernetes-nodes", "nodes of EC2 that hold some pods each"))


@dataclass(frozen=True)
class CutNodes(CutBins):
    """Nodes that pods fill exactly, each with a limited number of pods. The pods are pending, the largest first.

    All pods can be placed without a move.
    """

    problem = "node-placement"

    @property
    def name(self) -> str:
        return super().name.replace("bins", "nodes")

    def instance(self, chosen: Chosen) -> Instance[NodePlacement]:
        made = super().instance(chosen)
        (kind,) = made.data.instance_types
        data = NodePlacement(
            resources=made.data.resources,
            nodes=tuple(ClusterNode(name=f"node-{i + 1}", capacity=kind.capacity) for i in range(len(chosen))),
            pods=tuple(
                Pod(name=task.workload, count=task.count, demand=dict(task.demand_on(kind.family)))
                for task in made.data.tasks
            ),
        )
        return Instance.of(data, made.name, f"{len(chosen)} full nodes, each cut into {self.pieces} pods at most")

    def reference(self, chosen: Chosen) -> float:
        return 0.0

    def nearly(self, solution: Solution) -> float:
        return 0.0

    def leads(self, heuristic: str, size: int, seed: int) -> list[Chosen]:
        return []


SPACES = {
    "node-consolidation": {"nine-pods": nine_workloads, "running-nodes": running_nodes},
    "node-placement": {"cut-nodes": partial(CutNodes, 2, 4, 3)},
}
RULES = ("karpenter-1.14", "karpenter-1.14-balanced", "karpenter-1.13", "ca-least-waste", "ca-most-pods")
SWEEPS = (
    Sweep("node-consolidation", "nine-pods", 7, (10,), RULES),
    Sweep("node-consolidation", "running-nodes", 3, (4,), RULES),
    Sweep("node-placement", "cut-nodes", 2, (4,)),
)


def worst_cases(options: Options, quick: Quick = False) -> Study:
    """Worst cases of the rules of Karpenter, the cluster autoscaler and kube-scheduler."""
    return study_of("kubernetes", SWEEPS, options, quick)


def placing(seed: int) -> JudgeTask:
    """Ten clusters of 20 nodes, nearly full, whose pods can all be placed, but not as they come."""
    made = [random_cluster(20, s, load=0.97) for s in range(seed, seed + 10)]
    return task_of("node-placement", "pods on 20 nodes, by moves", METHODS["node-placement"][0], made)


TASKS: dict[str, Drawn] = {"node-placement": placing}
