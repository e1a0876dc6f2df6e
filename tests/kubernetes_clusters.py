"""Build dumps of clusters with several zones, pools, architectures, a control plane and other schedulers."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.kubernetes_dumps import ZONE, Json, budget, node, pod, spread

ARCH, TYPE, POOL = "kubernetes.io/arch", "node.kubernetes.io/instance-type", "karpenter.sh/nodepool"
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
CPUS = {"m5.large": 2, "m5.xlarge": 4, "c5.2xlarge": 8, "m7g.xlarge": 4, "m7g.2xlarge": 8, "gpu.2xlarge": 8}
PRICES = {
    "m5.large": 0.1,
    "m5.xlarge": 0.19,
    "c5.2xlarge": 0.34,
    "m7g.xlarge": 0.1,
    "m7g.2xlarge": 0.2,
    "gpu.2xlarge": 3,
}
ARM = "m7g."
TYPES = "name,family,usd_per_hour,cpu,ram_gb,pods,gpu,arch\n" + "".join(
    f"{name},{name[:2]},{PRICES[name]},{cpus},{4 * cpus},50,{4 * name.startswith('gpu')},"
    f"{'arm64' if name.startswith(ARM) else 'amd64'}\n"
    for name, cpus in CPUS.items()
)


@dataclass
class ClusterDump:
    """The objects of a cluster. `control_plane`: its nodes by name. `left`: CPUs that are free on each node."""

    items: list[Json] = field(default_factory=list)
    control_plane: set[str] = field(default_factory=set)
    left: dict[str, float] = field(default_factory=dict)
    nodes: dict[str, Json] = field(default_factory=dict)

    def add_node(self, kind: str, zone: str, pool: str | None, taint: str | None = None, **labels: str) -> str:
        name = f"n{len(self.nodes)}"
        arch = "arm64" if kind.startswith(ARM) else "amd64"
        labels = {ARCH: arch, "kubernetes.io/os": "linux"} | ({POOL: pool} if pool else {}) | labels
        taints = [{"key": taint, "value": "", "effect": "NoSchedule"}] if taint else []
        room = {"cpu": str(CPUS[kind]), "memory": f"{4 * CPUS[kind]}Gi"}
        room |= {"nvidia.com/gpu": "4"} if kind.startswith("gpu") else {}
        self.nodes[name] = node(name, kind, zone, labels=labels, room=room, taints=taints)
        self.items.append(self.nodes[name])
        self.left[name] = CPUS[kind]
        return name

    def add_pod(self, workload: str, on: str | None, cpu: float, **more: object) -> None:
        labels = {"labels": {"app": workload}}
        name = f"{workload}-{len(self.items)}"
        self.items.append(
            pod(name, on=on, cpu=f"{cpu:g}", memory="1Gi", owner=("ReplicaSet", workload), meta=labels, **more)
        )
        if on is not None:
            self.left[on] -= cpu


def mixed_cluster(seed: int) -> ClusterDump:
    """Return a cluster of three zones after a scale-down: pools of amd64, of arm64, with GPUs, and a control plane.

    - Seed 0: the pool of arm64 has a taint. Seed 1: it has none. Seed 2: nodes have no label of a pool, and NodePools
      are missing.
    """
    draw = random.Random(f"mixed-{seed}")
    found = ClusterDump()
    zones = ["a", "b", "c"]
    for zone in zones:
        role = {CONTROL_PLANE: ""} if seed != 1 else {}
        name = found.add_node("m5.xlarge", zone, None, CONTROL_PLANE if seed == 0 else None, **role)
        found.control_plane.add(name)
        static = pod(f"etcd-{name}", on=name, cpu="100m", owner=("Node", name), meta={"namespace": "kube-system"})
        found.items.append(static)
    general = [
        found.add_node(draw.choice(["m5.large", "m5.xlarge", "c5.2xlarge"]), draw.choice(zones), _pool("general", seed))
        for _ in range(9)
    ]
    taint = "arm" if seed == 0 else None
    arm = [
        found.add_node(draw.choice(["m7g.xlarge", "m7g.2xlarge"]), draw.choice(zones), _pool("arm", seed), taint)
        for _ in range(4)
    ]
    gpus = [found.add_node("gpu.2xlarge", "a", _pool("gpu", seed), "nvidia.com/gpu") for _ in range(3)]
    for i in range(14):
        _add_workload(found, f"app{i}", general, draw, spread_over_zones=i % 4 == 0)
    arms = {"tolerations": [{"key": "arm", "operator": "Exists"}]}
    for i in range(4):
        _add_workload(found, f"arm{i}", arm, draw, **arms)
    _add_workload(found, "both", [general[0], arm[0]], draw)
    for_gpus = {"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}], "schedulerName": "volcano"}
    asks = {"requests": {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "4"}}
    found.add_pod("train", gpus[0], 1, **for_gpus, **asks)
    for _ in range(2):
        found.add_pod("train", None, 1, **for_gpus, **asks)
    found.add_pod("late", None, 0.5)
    found.items.append(budget(1, {"matchLabels": {"app": "app1"}}))
    return found


def _pool(name: str, seed: int) -> str | None:
    return None if seed == 2 else name


def _add_workload(
    found: ClusterDump,
    name: str,
    nodes: Sequence[str],
    draw: random.Random,
    spread_over_zones: bool = False,
    **spec: object,
) -> None:
    """Add a few replicas to random nodes that have room."""
    if spread_over_zones:
        rule = {"labelSelector": {"matchLabels": {"app": name}}}
        spec["topologySpreadConstraints"] = spread(ZONE, **rule)
    cpu = draw.choice([0.25, 0.5, 1.0])
    for _ in range(draw.randint(1, 3)):
        there = [on for on in nodes if found.left[on] >= cpu]
        if there:
            found.add_pod(name, draw.choice(there), cpu, **spec)
