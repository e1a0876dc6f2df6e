"""Write the commands of the tools that add and remove nodes: Karpenter, eksctl, gcloud, az, and MachineSets.

The dump shows which tool a pool belongs to. A word in capitals after `$` stands for a value that the dump does not
contain, such as the name of the cluster.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any, Literal

from instances.kubernetes.dump import KARPENTER_POOL, TYPES, DumpedMachineSet, DumpedNode, DumpedNodePool
from instances.kubernetes.offerings import Offering
from instances.kubernetes.pods import HOSTNAME, ZONES, DumpedPod

Manager = Literal["karpenter", "eks", "gke", "aks", "machineset", "hand"]
LABELS: Mapping[str, Manager] = {  # labels of a pool, and the tool that sets them
    KARPENTER_POOL: "karpenter",
    "eks.amazonaws.com/nodegroup": "eks",
    "cloud.google.com/gke-nodepool": "gke",
    "kubernetes.azure.com/agentpool": "aks",
    "agentpool": "aks",
}
CLUSTER_NAME = "alpha.eksctl.io/cluster-name"
AUTOSCALER = "cluster-autoscaler"
VARIABLE = re.compile(r"\$[A-Z][A-Z_0-9]*")
MEANINGS = {
    "CLUSTER": "name of the cluster",
    "LOCATION": "region or zone of the cluster",
    "RESOURCE_GROUP": "resource group of the cluster",
    "INSTANCE": "identifier of the machine",
    "INSTANCE_GROUP": "managed instance group of the node pool in the zone",
    "MIN_NODES": "minimum size for the autoscaler, as it is today",
    "MAX_NODES": "maximum size for the autoscaler, as it is today",
}
"""Values that the user sets before the first command."""
DEFAULT_BUDGETS = '[{"nodes": "10%"}]'  # of a NodePool that states none
PAUSE = "registry.k8s.io/pause:3.9"
JOIN_S, DELETE_S, SCALE_S, CLOUD_S = 900, 600, 120, 1800
"""Seconds for new nodes, for the end of a node, for an autoscaler, and for a command of a cloud."""


@dataclass(frozen=True)
class Instructions:
    """Commands of one step.

    - `hint`: what the commands cannot do.
    - `seconds`: the sum of their timeouts.
    - `undo`: the commands that remove what is left if one of them fails.
    """

    commands: tuple[str, ...] = ()
    hint: str = ""
    seconds: int = 0
    undo: tuple[str, ...] = ()


def command(*words: str) -> str:
    """Return a command for a shell in which variables of the user keep their meaning."""
    return " ".join(f'"{word}"' if VARIABLE.fullmatch(word) else quote(word) for word in words)


def limit_time(*words: str) -> str:
    """Return a command of a tool that waits for a cloud, with a timeout."""
    return command("timeout", str(CLOUD_S), *words)


def manager_of(labels: Mapping[str, str], machine_set: bool) -> Manager:
    """Return the tool of a node with these labels. `machine_set`: whether a MachineSet of the dump made it."""
    return next((tool for key, tool in LABELS.items() if key in labels), "machineset" if machine_set else "hand")


def label_of(tool: Manager) -> str | None:
    """Return the label with the name of the pool."""
    return next((key for key, own in LABELS.items() if own == tool), None)


# first and last


def switch_off(tool: Manager, pool: str, declared: DumpedNodePool | None) -> Instructions:
    """Return the commands after which a tool neither adds nor removes nodes of a pool."""
    if tool == "karpenter":
        return Instructions((_patch(pool, {"disruption": {"budgets": [{"nodes": "0"}]}, "limits": {"cpu": "0"}}),))
    if tool == "gke":
        said = "Skip it if autoscaling is off today."
        return Instructions((_gcloud_update(pool, "--no-enable-autoscaling"),), said, CLOUD_S)
    if tool == "aks":
        said = "Skip it if the autoscaler is off today."
        return Instructions((_az("update", pool, "--disable-cluster-autoscaler"),), said, CLOUD_S)
    return Instructions()


def switch_on(tool: Manager, pool: str, declared: DumpedNodePool | None) -> Instructions:
    """Return the commands that undo `switch_off`."""
    if tool == "karpenter":
        budgets = DEFAULT_BUDGETS if declared is None or declared.budgets is None else declared.budgets
        spec = {"disruption": {"budgets": json.loads(budgets)}, "limits": {"cpu": _cpu_limit(declared)}}
        hint = "" if declared is not None else f"The dump has no NodePool {pool}: restore its own budgets and limits."
        return Instructions((_patch(pool, spec),), hint)
    flags = {
        "gke": ("--enable-autoscaling", "--min-nodes", "$MIN_NODES", "--max-nodes", "$MAX_NODES"),
        "aks": ("--enable-cluster-autoscaler", "--min-count", "$MIN_NODES", "--max-count", "$MAX_NODES"),
    }
    if tool in flags:
        line = _gcloud_update(pool, *flags[tool]) if tool == "gke" else _az("update", pool, *flags[tool])
        return Instructions((line,), "Skip it if the autoscaler was off.", CLOUD_S)
    return Instructions()


def scale_autoscaler(namespace: str, name: str, replicas: int) -> Instructions:
    """Return the commands that set the number of pods of a cluster autoscaler."""
    scale = command("kubectl", "scale", f"deployment/{name}", "-n", namespace, f"--replicas={replicas}")
    wait = command("kubectl", "rollout", "status", f"deployment/{name}", "-n", namespace, f"--timeout={SCALE_S}s")
    return Instructions((scale, wait), seconds=SCALE_S)


def find_autoscalers(pods: Sequence[DumpedPod]) -> dict[tuple[str, str], int]:
    """Return namespace, name and number of pods of each Deployment of a cluster autoscaler."""
    found: dict[tuple[str, str], int] = {}
    for pod in pods:
        if pod.owner is not None and pod.owner[0] == "ReplicaSet" and AUTOSCALER in pod.workload:
            key = pod.namespace, pod.workload
            found[key] = found.get(key, 0) + 1
    return found


def _patch(pool: str, spec: Mapping[str, Any]) -> str:
    return command("kubectl", "patch", "nodepool", pool, "--type", "merge", "-p", json.dumps({"spec": spec}))


def _cpu_limit(declared: DumpedNodePool | None) -> str | None:
    if declared is None or "cpu" not in declared.limits:
        return None
    milli = declared.limits["cpu"]
    return f"{milli // 1000}" if milli % 1000 == 0 else f"{milli}m"


def _gcloud_update(pool: str, *flags: str) -> str:
    where = "--node-pool", pool, "--location", "$LOCATION", "--quiet"
    return limit_time("gcloud", "container", "clusters", "update", "$CLUSTER", *flags, *where)


def _az(verb: str, pool: str, *flags: str) -> str:
    where = "--resource-group", "$RESOURCE_GROUP", "--cluster-name", "$CLUSTER", "--name", pool
    return limit_time("az", "aks", "nodepool", verb, *where, *flags)


def changes_limit(line: str, other: str) -> bool:
    """Return whether two commands set the limit of a NodePool, the first one to 0 and the other one back."""
    return all("patch nodepool" in one and "budgets" not in one for one in (line, other)) and '"cpu": "0"' in line


# rent


@dataclass(frozen=True)
class Order:
    """New nodes of one type for a pool.

    - `number`: how many; `present`: the nodes of the pool that run, with their names as the user sees them.
    - `pool`, `zone`: their names as the user sees them; `hidden`: whether these are not the real names.
    - `name`: a name for objects that the commands make.
    """

    kind: Offering
    number: int
    present: Mapping[DumpedNode, str]
    pool: str
    zone: str | None
    name: str
    hidden: bool = False
    machine_set: DumpedMachineSet | None = None

    @property
    def type(self) -> str:
        return self.kind.offer.type

    @property
    def cluster(self) -> str:
        names = {node.labels.get(CLUSTER_NAME) for node in self.present} - {None}
        return "$CLUSTER" if self.hidden or len(names) != 1 else str(names.pop())

    def selector(self, tool: Manager) -> str:
        """Return a selector for the nodes of this type in the pool."""
        label = label_of(tool)
        parts = [f"{TYPES[0]}={self.type}", *([] if label is None else [f"{label}={self.pool}"])]
        return ",".join([*parts, *([] if self.zone is None else [f"{ZONES[0]}={self.zone}"])])


def rent(tool: Manager, order: Order) -> Instructions:
    """Return the commands that rent nodes and wait until they are ready."""
    n = len(order.present) + order.number
    words = f"{order.number} x {order.type}" + (f" in {order.zone}" if order.zone else "")
    if tool == "karpenter":
        return _rent_by_pods(order)
    hint, where = _hint_at_mix(order, words), ()  # type: str, tuple[str, ...]
    if tool == "eks":
        where = "--cluster", order.cluster, "--name", order.pool
        first = limit_time("eksctl", "scale", "nodegroup", *where, "--nodes", str(n), "--nodes-max", str(n), "--wait")
    elif tool == "gke":
        size = "--num-nodes", str(_count_in_zone(order)), "--location", "$LOCATION", "--quiet"
        first = limit_time("gcloud", "container", "clusters", "resize", "$CLUSTER", "--node-pool", order.pool, *size)
        hint = "The number is per zone. " * (_count_zones(order) > 1) + hint
    elif tool == "aks":
        first = _az("scale", order.pool, "--node-count", str(n))
    elif tool == "machineset" and order.machine_set is not None:
        where = "-n", order.machine_set.namespace
        first = command("kubectl", "scale", f"machineset/{order.pool}", *where, f"--replicas={n}")
    else:
        first, hint = None, f"Rent {words}, and let the machines join the cluster."
    return _add_wait(tool, order, first, hint)


def _count_zones(order: Order) -> int:
    return len({node.zone for node in order.present})


def _count_in_zone(order: Order) -> int:
    here = [node for node in order.present if order.kind.zone in (None, node.zone)]
    return len(here) + order.number


def _hint_at_mix(order: Order, words: str) -> str:
    """Return a hint if the pool has several zones or types, of which its size alone selects none."""
    several = _count_zones(order) > 1 or len({node.type for node in order.present}) > 1
    return f"The pool has several zones or types: make sure that it adds {words}." if several else ""


def _add_wait(tool: Manager, order: Order, first: str | None, hint: str) -> Instructions:
    """Return a command and the wait until the new nodes are ready."""
    alike = [
        node for node in order.present if order.kind.offer.describes(node) and order.kind.zone in (None, node.zone)
    ]
    count = f"kubectl get nodes --no-headers -l {quote(order.selector(tool))} | grep -cw Ready"
    loop = f'until [ "$({count})" -ge {len(alike) + order.number} ]; do sleep 10; done'
    wait = command("timeout", str(JOIN_S), "sh", "-c", loop)
    return Instructions((*([] if first is None else [first]), wait), hint, JOIN_S + CLOUD_S * (first is not None))


def _rent_by_pods(order: Order) -> Instructions:
    """Return the commands that make Karpenter launch nodes: placeholder pods for nodes of one type, then no pods.

    The limit of the NodePool, which the first step sets to 0, is back while Karpenter launches.
    """
    pool = order.kind.pool
    alike = [name for node, name in order.present.items() if order.kind.offer.describes(node)]
    wanted = [{"key": KARPENTER_POOL, "operator": "In", "values": [order.pool]}]
    wanted.append({"key": TYPES[0], "operator": "In", "values": [order.type]})
    if order.zone is not None:
        wanted.append({"key": ZONES[0], "operator": "In", "values": [order.zone]})
    if alike:
        wanted.append({"key": HOSTNAME, "operator": "NotIn", "values": alike})
    labels = {"app": order.name}
    apart = [{"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": labels}}]
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    tolerations = [{"key": t.key, "operator": "Equal", "value": t.value, "effect": t.effect} for t in pool.taints]
    spec = {
        "affinity": {
            "nodeAffinity": {key: {"nodeSelectorTerms": [{"matchExpressions": wanted}]}},
            "podAntiAffinity": {key: apart},
        },
        "tolerations": tolerations,
        "containers": [{"name": "pause", "image": PAUSE}],
    }
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": order.name, "namespace": "default"},
        "spec": {
            "replicas": order.number,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }
    name = f"deployment/{order.name}"
    clean = (
        command("kubectl", "delete", name, "-n", "default", "--ignore-not-found", f"--timeout={SCALE_S}s"),
        _patch(order.pool, {"limits": {"cpu": "0"}}),
    )
    lines = (
        _patch(order.pool, {"limits": {"cpu": _cpu_limit(pool.declared)}}),
        f"echo {quote(json.dumps(deployment))} | kubectl apply -f -",
        command("kubectl", "rollout", "status", name, "-n", "default", f"--timeout={JOIN_S}s"),
    )
    hint = "Karpenter launches nodes for pending pods: placeholder pods ask for these nodes, and then go."
    return Instructions((*lines, *clean), hint, JOIN_S + SCALE_S, clean)


# delete


def delete(
    tool: Manager, name: str, pool: str, node: DumpedNode | None, left: int, machine_set: DumpedMachineSet | None
) -> Instructions:
    """Return the commands that end a drained node and its bill.

    - `node`: the node, `None` if names are hidden.
    - `left`: the number of nodes of the pool that are left afterwards.
    """
    where: tuple[str, ...]
    forget = command("kubectl", "delete", "node", name, "--ignore-not-found", f"--timeout={DELETE_S}s")
    if tool == "karpenter":
        return Instructions((forget,), seconds=DELETE_S)
    if tool == "eks":
        found = re.search(r"i-[0-9a-f]+", "" if node is None else node.provider_id)
        where = "--instance-id", found[0] if found else "$INSTANCE", "--should-decrement-desired-capacity"
        end = limit_time("aws", "autoscaling", "terminate-instance-in-auto-scaling-group", *where)
        return Instructions((end, forget), f"The minimum size of {pool} must be at most {left}.", CLOUD_S + DELETE_S)
    if tool == "gke":
        where = "$INSTANCE_GROUP", "--instances", name, "--zone", (node and node.zone) or "$LOCATION", "--quiet"
        end = limit_time("gcloud", "compute", "instance-groups", "managed", "delete-instances", *where)
        return Instructions((end, forget), seconds=CLOUD_S + DELETE_S)
    if tool == "aks":
        where = "--resource-group", "$RESOURCE_GROUP", "--cluster-name", "$CLUSTER", "--nodepool-name", pool
        end = limit_time("az", "aks", "nodepool", "delete-machines", *where, "--machine-names", name)
        return Instructions((end, forget), seconds=CLOUD_S + DELETE_S)
    if tool == "machineset" and machine_set is not None:
        scale = "kubectl", "scale", f"machineset/{pool}", "-n", machine_set.namespace, f"--replicas={left}"
        said = f"Mark the machine of {name} with the annotation delete-machine first, so that it is the one that ends."
        return Instructions((command(*scale), forget), said, DELETE_S)
    return Instructions((forget,), f"End the machine {name}: its bill ends only then.", DELETE_S)
