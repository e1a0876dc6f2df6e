"""Generate a synthetic cluster: the output of `kubectl get`, and a price table.

The nodes are from a price list, in two zones; a tainted pool has GPU nodes. The workloads arrive one after another, and
each replica goes to the allowed node with the most free capacity.
"""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from instances.errors import InputError
from instances.eva.price_lists import price_list
from instances.eva.tables import ec2_types
from instances.fields import refuse_outside, refuse_seed
from instances.kubernetes.pods import HOSTNAME, ZONES

Json = dict[str, Any]
ZONE, TYPE, POOL = ZONES[0], "node.kubernetes.io/instance-type", "karpenter.sh/nodepool"
ARCH, ARCHITECTURE = "kubernetes.io/arch", "amd64"
PLACES = ("zone-a", "zone-b")
SIZES = {4: 3, 8: 5, 16: 2}  # CPUs of nodes, and their relative frequency
CPU_MILLI, MEMORY_MIB, FACTORS = (100, 250, 500, 1000), (128, 256, 512, 1024), (1, 2, 4)
REPLICAS = (1, 1, 2, 2, 3, 3, 4, 6, 8, 12)
LOAD = 0.55  # used share of the CPUs or the memory of all nodes, whichever is larger
OF_GPU_NODES = 0.1  # share of the nodes
GPU, GPU_TAINT = "nvidia.com/gpu", {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}
DAEMONS = {"kube-proxy": (100, 64), "network": (50, 64), "logs": (100, 128)}
PLUGIN = "gpu-plugin", (50, 64)
LARGEST_CLUSTER = 5000  # the number of nodes that Kubernetes supports


@dataclass
class DrawnNode:
    """A node during the generation: its capacity `left`, and the number of replicas `held` of each workload."""

    name: str
    type: str
    zone: str
    gpus: int
    room: list[int]
    left: list[int]
    held: dict[str, int] = field(default_factory=dict)


def synthetic_dump(seed: int, *, nodes: int = 60, pods: int = 900) -> Mapping[str, bytes]:
    """Draw a synthetic dump and its prices, as the files `dump.json` and `types.csv`.

    - `seed`: seed of all draws.
    - `nodes`: number of nodes, a tenth of them with GPUs.
    - `pods`: number of pods that run, those of DaemonSets among them.

    Raises InputError for a number out of range.
    """
    refuse_seed(seed)
    refuse_outside("nodes", nodes, 2, LARGEST_CLUSTER)
    refuse_outside("pods", pods, 10 * nodes, 100 * nodes)
    draw = random.Random(f"dump-{nodes}-{pods}-{seed}")
    types = {row["name"]: row for row in _types()}
    drawn = _nodes(nodes, types, draw)
    items = [_node(node) for node in drawn] + [_daemon_set(name, request) for name, request in DAEMONS.items()]
    items.append(_daemon_set(PLUGIN[0], PLUGIN[1], {POOL: "gpu"}))
    items.append(_node_pool("general", [name for name, row in types.items() if not row["gpu"]]))
    items.append(_node_pool("gpu", [name for name, row in types.items() if row["gpu"]], [GPU_TAINT]))
    for node in drawn:
        daemons = DAEMONS | ({PLUGIN[0]: PLUGIN[1]} if node.gpus else {})
        for name, request in daemons.items():
            items.append(_pod("kube-system", f"{name}-{node.name}", node, _spec(request), "DaemonSet", name))
            _take(node, name, [*request, 1, 0])
    items += _workloads(drawn, pods - sum(sum(node.held.values()) for node in drawn), draw)
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=1)
    table = io.StringIO()
    writer = csv.DictWriter(table, list(next(iter(types.values()))), lineterminator="\n")
    writer.writeheader()
    writer.writerows(types.values())
    return {"dump.json": (text + "\n").encode(), "types.csv": table.getvalue().encode()}


def _types() -> list[Json]:
    """Return the price list of EKS, and the P3 types of EC2 with 5% of CPU and memory reserved."""
    kinds = [kind for kind in price_list(1, 0, cloud="eks").data.instance_types if kind.capacity["cpu_milli"] > 1000]
    rows = [
        {
            "name": kind.name,
            "family": kind.family,
            "usd_per_hour": kind.usd_per_hour,
            "cpu": kind.capacity["cpu_milli"] / 1000,
            "ram_gb": kind.capacity["memory_mib"] / 1024,
            "pods": int(kind.capacity["pods"]),
            "gpu": 0,
            "arch": ARCHITECTURE,
        }
        for kind in kinds
    ]
    for kind in ec2_types():
        if gpus := int(kind.capacity["gpu"]):
            cpu, memory = 2 * kind.capacity["cpu"] * 0.95, round(kind.capacity["ram_gb"] * 0.95, 1)
            row = {"name": kind.name, "family": kind.family, "usd_per_hour": kind.usd_per_hour, "cpu": round(cpu, 2)}
            rows.append({**row, "ram_gb": memory, "pods": 58, "gpu": gpus, "arch": ARCHITECTURE})
    return rows


def _nodes(n: int, types: Mapping[str, Json], draw: random.Random) -> list[DrawnNode]:
    plain = [name for name, row in types.items() if not row["gpu"]]
    of_size = {size: [name for name in plain if name.endswith(f"-{size}")] for size in SIZES}
    with_gpus = [name for name, row in types.items() if 0 < row["gpu"] <= 4]
    found = []
    for i in range(n):
        if i < max(1, round(OF_GPU_NODES * n)):
            kind = types[draw.choice(with_gpus)]
        else:
            (size,) = draw.choices(list(SIZES), list(SIZES.values()))
            kind = types[draw.choice(of_size[size])]
        room = [round(1000 * kind["cpu"]), int(1024 * kind["ram_gb"]), kind["pods"], kind["gpu"]]
        found.append(DrawnNode(f"node-{i:03}", kind["name"], PLACES[i % 2], kind["gpu"], room, list(room)))
    return found


def _workloads(nodes: Sequence[DrawnNode], pods: int, draw: random.Random) -> list[Json]:
    """Generate workloads until `pods` of their pods run, with budgets and volumes, and some ended pods."""
    plain = [node for node in nodes if not node.gpus]
    room = [sum(node.left[r] for node in plain) for r in (0, 1)]
    mean = [sum(sizes) / len(sizes) for sizes in (CPU_MILLI, MEMORY_MIB)]
    mean[1] *= sum(FACTORS) / len(FACTORS)
    scale = LOAD * min(room[r] / (pods * mean[r]) for r in (0, 1))
    found: list[Json] = []
    left, i = pods, 0
    while left:
        i += 1
        if i > 20 * pods:
            raise InputError("pods: so many do not fit on so many nodes")
        drawn = DrawnWorkload(f"app-{i:03}", f"team-{draw.randrange(6)}", draw, scale, gpu=draw.random() < 0.04)
        replicas = min(left, 1 if drawn.kind == "Pod" else draw.choice(REPLICAS))
        made = drawn.build_pods(nodes if drawn.gpus else plain, replicas)
        left -= sum(item["kind"] == "Pod" for item in made)
        found += made
        if i % 10 == 0:
            ended = _pod("batch", f"job-{i}-done", nodes[i % len(nodes)], _spec((500, 512)), "Job", f"job-{i}")
            found.append(ended | {"status": {"phase": "Succeeded"}})
    return found


class DrawnWorkload:
    """A workload: its request, its kind, and at most one constraint."""

    def __init__(self, name: str, namespace: str, draw: random.Random, scale: float, gpu: bool) -> None:
        self.name, self.namespace, self.draw = name, namespace, draw
        memory = draw.choice(FACTORS) * draw.choice(MEMORY_MIB)
        self.request = (
            max(10, 10 * round(scale * draw.choice(CPU_MILLI) / 10)),
            max(16, 16 * round(scale * memory / 16)),
        )
        self.gpus = draw.choice((1, 1, 2)) if gpu else 0
        kinds = (("Deployment", 85), ("StatefulSet", 9), ("Job", 5), ("Pod", 1))
        (self.kind,) = draw.choices([kind for kind, _ in kinds], [often for _, often in kinds])
        wanted = (("", 61), ("apart", 14), ("zones", 10), ("nodes", 8), ("still", 2), ("budget", 1), ("arch", 4))
        (self.wish,) = draw.choices([wish for wish, _ in wanted], [often for _, often in wanted])

    def build_pods(self, nodes: Sequence[DrawnNode], replicas: int) -> list[Json]:
        """Return the pods of at most `replicas` replicas that fit, with their volumes and budgets."""
        found: list[Json] = []
        need, in_zones = [*self.request, 1, self.gpus], dict.fromkeys(PLACES, 0)
        for replica in range(replicas):
            fitting = [node for node in nodes if self._may_be(node, need, in_zones)]
            if not fitting:
                break
            node = max(fitting, key=lambda node: (min(node.left[r] / node.room[r] for r in (0, 1)), node.name))
            _take(node, self.name, need)
            in_zones[node.zone] += 1
            found += self._replica(node, replica)
        if self.wish == "budget" or (self.kind == "Deployment" and self.draw.random() < 0.1):
            allowed = 0 if self.wish == "budget" else 1
            budget = {"metadata": self._meta(self.name), "spec": {"selector": self._selector()}}
            found.append({"kind": "PodDisruptionBudget", **budget, "status": {"disruptionsAllowed": allowed}})
        return found

    def _may_be(self, node: DrawnNode, need: Sequence[int], in_zones: Mapping[str, int]) -> bool:
        if any(n > left for n, left in zip(need, node.left, strict=True)):
            return False
        most = {"apart": 1, "nodes": 2}.get(self.wish)
        if most is not None and node.held.get(self.name, 0) >= most:
            return False
        return self.wish != "zones" or in_zones[node.zone] == min(in_zones.values())

    def _replica(self, node: DrawnNode, replica: int) -> list[Json]:
        spec = _spec(self.request, self.gpus)
        annotations = {"karpenter.sh/do-not-disrupt": "true"} if self.wish == "still" else {}
        chosen = self._selector()
        if self.wish == "apart":
            term = {"topologyKey": HOSTNAME, "labelSelector": chosen}
            required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
            spec["affinity"] = {"podAntiAffinity": required}
        elif self.wish in ("zones", "nodes"):
            key, skew = (ZONE, 1) if self.wish == "zones" else (HOSTNAME, 2)
            rule = {"whenUnsatisfiable": "DoNotSchedule", "labelSelector": chosen}
            spec["topologySpreadConstraints"] = [{"maxSkew": skew, "topologyKey": key, **rule}]
        elif self.wish == "arch":
            spec["nodeSelector"] = {ARCH: ARCHITECTURE}
        if self.gpus:
            spec["tolerations"] = [{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}]
        if self.kind == "Pod":
            return [_pod(self.namespace, self.name, node, spec, None, "", {"app": self.name}, annotations)]
        name, found = f"{self.name}-{replica}", []
        kind, owner = self.kind, self.name
        labels = {"app": self.name}
        if kind == "Deployment":
            kind, owner = "ReplicaSet", f"{self.name}-5d9c7b"
            labels["pod-template-hash"] = "5d9c7b"
        if kind == "StatefulSet":
            spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": f"data-{name}"}}]
            zones = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [node.zone]}]}
            volume: Json = {"csi": {"driver": "ebs.csi.aws.com"}, "accessModes": ["ReadWriteOnce"]}
            volume["nodeAffinity"] = {"required": {"nodeSelectorTerms": [zones]}}
            found.append({"kind": "PersistentVolume", "metadata": {"name": f"pv-{name}"}, "spec": volume})
            claim = {"metadata": self._meta(f"data-{name}"), "spec": {"volumeName": f"pv-{name}"}}
            found.append({"kind": "PersistentVolumeClaim", **claim})
        return [_pod(self.namespace, name, node, spec, kind, owner, labels, annotations), *found]

    def _meta(self, name: str) -> Json:
        return {"name": name, "namespace": self.namespace}

    def _selector(self) -> Json:
        return {"matchLabels": {"app": self.name}}


def _take(node: DrawnNode, workload: str, need: Sequence[int]) -> None:
    node.left = [left - n for left, n in zip(node.left, need, strict=True)]
    node.held[workload] = node.held.get(workload, 0) + 1


def _node(node: DrawnNode) -> Json:
    labels = {TYPE: node.type, ZONE: node.zone, HOSTNAME: node.name, POOL: "gpu" if node.gpus else "general"}
    labels |= {ARCH: ARCHITECTURE, "kubernetes.io/os": "linux"}
    cpu, memory, pods, gpus = node.room
    allocatable = {"cpu": f"{cpu}m", "memory": f"{memory}Mi", "pods": str(pods)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node.name, "labels": labels},
        "spec": {"taints": [GPU_TAINT]} if node.gpus else {},
        "status": {
            "allocatable": allocatable | ({GPU: str(gpus)} if gpus else {}),
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def _node_pool(name: str, types: Sequence[str], taints: Sequence[Json] = ()) -> Json:
    """Return a NodePool of Karpenter that may launch some types."""
    allowed = {TYPE: list(types), ARCH: [ARCHITECTURE]}
    requirements = [{"key": key, "operator": "In", "values": values} for key, values in allowed.items()]
    spec = {"requirements": requirements} | ({"taints": list(taints)} if taints else {})
    meta = {"name": name}
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": meta, "spec": {"template": {"spec": spec}}}


def _spec(request: Sequence[int], gpus: int = 0) -> Json:
    """Return a pod spec with one container that has a request, and an environment that must never be printed."""
    amounts = {"cpu": f"{request[0]}m", "memory": f"{request[1]}Mi"} | ({GPU: str(gpus)} if gpus else {})
    secret = {"name": "PASSWORD", "value": "not for anybody else"}
    return {"containers": [{"name": "main", "env": [secret], "resources": {"requests": amounts}}]}


def _daemon_set(name: str, request: Sequence[int], selector: Mapping[str, str] | None = None) -> Json:
    spec = _spec(request) | {"tolerations": [{"operator": "Exists"}]} | ({"nodeSelector": selector} if selector else {})
    meta = {"name": name, "namespace": "kube-system"}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": meta, "spec": {"template": {"spec": spec}}}


def _pod(
    namespace: str,
    name: str,
    node: DrawnNode,
    spec: Json,
    kind: str | None,
    owner: str,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> Json:
    meta: Json = {"name": name, "namespace": namespace, "labels": dict(labels or {})}
    meta |= {"annotations": dict(annotations)} if annotations else {}
    meta |= {"ownerReferences": [{"kind": kind, "name": owner, "controller": True}]} if kind else {}
    spec = spec | {"nodeName": node.name}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": {"phase": "Running"}}
