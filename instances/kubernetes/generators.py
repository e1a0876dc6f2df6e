"""Generate random clusters for `node-placement` from a seed: nodes of a few sizes, pods in place and pending pods."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from instances.envelope import Instance
from instances.fields import MOST_DRAWN, refuse_outside, refuse_seed
from instances.kubernetes.placement import ClusterNode, NodePlacement, Pod

RESOURCES = ("cpu_milli", "memory_mib", "pods")
NODES = ((3920, 14_000), (7910, 29_000), (15_890, 59_000))  # CPU and memory for pods
MOST_PODS = 110
CPU_MILLI = (100, 250, 500, 1000, 1500, 2000)
MEMORY_MIB = (256, 512, 1024, 2048, 4096, 6144)


def random_cluster(
    nodes: int, seed: int, *, load: float = 0.98, pending: float = 0.05, planted: bool = True
) -> Instance[NodePlacement]:
    """Draw a cluster whose pods request nearly the whole capacity.

    - `nodes`: number of nodes.
    - `seed`: seed of all draws.
    - `load`: share of the CPU and of the memory of all nodes that the pods request, approximately.
    - `pending`: share of the pods that are pending; pods that fit on no node are pending, too.
    - `planted`: draw the pods node by node, so that all of them fit; otherwise from the total capacity.

    Raises InputError for a number out of range.
    """
    refuse_seed(seed)
    refuse_outside("nodes", nodes, 1, MOST_DRAWN)
    refuse_outside("load", load, 0, 2)
    refuse_outside("pending", pending, 0, 1)
    draw = random.Random(f"{nodes}-{seed}-{planted}")
    rooms = [draw.choice(NODES) for _ in range(nodes)]
    drawn: list[tuple[int, int]] = []
    kinds = [(c, m) for c in CPU_MILLI for m in MEMORY_MIB]
    for cpu, memory in rooms if planted else [(sum(r[0] for r in rooms), sum(r[1] for r in rooms))]:
        drawn += filled(draw, int(load * cpu), int(load * memory), kinds)
    draw.shuffle(drawn)
    free = [[*room, MOST_PODS] for room in rooms]
    held = [Counter[str]() for _ in rooms]
    for pod in drawn[round(pending * len(drawn)) :]:
        fitting = [n for n, room in enumerate(free) if room[0] >= pod[0] and room[1] >= pod[1] and room[2]]
        if fitting:
            most = max(fitting, key=lambda n: free[n][0] / rooms[n][0] + free[n][1] / rooms[n][1])
            free[most] = [free[most][0] - pod[0], free[most][1] - pod[1], free[most][2] - 1]
            held[most][_name(pod)] += 1
    data = NodePlacement(
        resources=RESOURCES,
        nodes=tuple(
            ClusterNode(name=f"node-{n}", capacity=amounts(*room, MOST_PODS), pods=dict(sorted(on_it.items())))
            for n, (room, on_it) in enumerate(zip(rooms, held, strict=True))
        ),
        pods=tuple(
            Pod(name=_name(pod), count=count, demand=amounts(*pod, 1))
            for pod, count in sorted(Counter(drawn).items(), reverse=True)
        ),
    )
    kind = "planted" if planted else "drawn"
    name = f"cluster-{nodes}-{kind}-{load:g}-seed-{seed}"
    return Instance.of(data, name, f"{nodes} nodes, pods {kind}, load {load:g}, seed {seed}")


def filled(draw: random.Random, cpu: int, memory: int, kinds: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Draw pods of some kinds until none fits into the remaining CPU and memory."""
    found = list[tuple[int, int]]()
    while True:
        fitting = [(c, m) for c, m in kinds if c <= cpu and m <= memory]
        if not fitting:
            return found
        near = sorted(fitting, key=lambda pod: abs(pod[0] * memory - pod[1] * cpu))  # similar in shape to the rest
        pod = draw.choice(near[: max(1, len(near) // 3)])
        cpu, memory = cpu - pod[0], memory - pod[1]
        found.append(pod)


def _name(pod: tuple[int, int]) -> str:
    return f"{pod[0]}m-{pod[1]}mi"


def amounts(*numbers: int) -> dict[str, float]:
    """Return a mapping with an amount of each resource."""
    return dict(zip(RESOURCES, map(float, numbers), strict=True))
