"""Crowded clusters: the total capacity suffices for all pods, but the pods are hard to pack.

Each kind is generated at loads near the limit of feasibility. A comparison of total resources cannot detect
infeasibility, because the pods never request more of any resource than the nodes have in total.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from instances import Instance
from instances.eva.constraints import Spread
from instances.kubernetes import ClusterNode, NodePlacement, PlacementArrays, Pod
from instances.kubernetes.generators import MOST_PODS, NODES, RESOURCES, amounts, fill_node

PENDING = 0.05  # share of the pods; pods that do not fit during the placement are pending as well
Room = tuple[int, int]
"""CPU and memory of a node, or of a pod."""


def generate_crowded(kind: str, seed: int, nodes: tuple[int, int] = (20, 200)) -> Instance[NodePlacement]:
    """Generate a crowded cluster of a kind of `KINDS`; `nodes` is the range of the number of nodes."""
    draw = random.Random(f"{kind}-{seed}")
    make, (low, high) = KINDS[kind]
    load, number = draw.uniform(low, high), draw.randint(*nodes)
    data = make(draw, number, load)
    return Instance.of(data, f"{kind}-{number}-seed-{seed}", f"{number} nodes, {kind}, load {load:.3f}, seed {seed}")


def _halves(draw: random.Random, nodes: int, load: float) -> NodePlacement:
    """Pods of more than half of a node, of which there are as many as nodes can hold or a few more, and small ones."""
    rooms = [draw.choice(NODES) for _ in range(nodes)]
    cpu, memory = draw.choice(rooms)
    large = int(cpu * draw.uniform(0.51, 0.75)), int(memory * draw.uniform(0.3, 0.75))
    number = sum(min(q // a for q, a in zip(room, large, strict=True)) for room in rooms) + draw.randint(0, 2)
    small = [(draw.randrange(100, 1200, 50), draw.randrange(256, 5000, 128)) for _ in range(6)]
    rest = [int(load * all_of_it) - number * a for all_of_it, a in zip(_sums(rooms), large, strict=True)]
    return _cluster(draw, rooms, [_pod(large, number), *_entries(fill_node(draw, rest[0], rest[1], small))])


def _thirds(draw: random.Random, nodes: int, load: float) -> NodePlacement:
    """Nodes alike, and a few kinds of pods of a sixth to three fifths of one."""
    rooms = [draw.choice(NODES)] * nodes
    kinds = [(int(a * draw.uniform(0.15, 0.6)), int(b * draw.uniform(0.15, 0.6))) for a, b in rooms[:1] * 4]
    return _cluster(draw, rooms, _entries(_generate_pods(draw, rooms, load, kinds)))


def _rooms(draw: random.Random, nodes: int, load: float) -> NodePlacement:
    """No two nodes alike, and a few kinds of pods that are large for them."""
    rooms = [(draw.randrange(3000, 9000, 10), draw.randrange(10_000, 32_000, 100)) for _ in range(nodes)]
    kinds = [(draw.randrange(600, 3000, 50), draw.randrange(2000, 10_000, 256)) for _ in range(5)]
    return _cluster(draw, rooms, _entries(_generate_pods(draw, rooms, load, kinds)))


def _own(draw: random.Random, nodes: int, load: float) -> NodePlacement:
    """No two nodes and no two pods alike, the pods large for the nodes."""
    rooms = [(draw.randrange(3000, 9000, 10), draw.randrange(10_000, 32_000, 100)) for _ in range(nodes)]
    kinds = [(draw.randrange(600, 3000, 10), draw.randrange(2000, 10_000, 32)) for _ in range(3 * nodes)]
    return _cluster(draw, rooms, _entries(_generate_pods(draw, rooms, load, kinds)))


def _generate_crossed(draw: random.Random, nodes: int, load: float) -> NodePlacement:
    """Nodes with much CPU or much memory, and pods that want much of the one, of the other, or some of both."""
    rooms = [draw.choice(((15_890, 29_000), (7910, 59_000))) for _ in range(nodes)]
    spans = ((2500, 7000, 1000, 6000), (500, 2500, 12_000, 28_000), (1500, 4000, 5000, 14_000))
    kinds = [(draw.randrange(a, b, 50), draw.randrange(c, d, 128)) for a, b, c, d in spans * 2]
    return _cluster(draw, rooms, _entries(_generate_pods(draw, rooms, load, kinds)))


def _zones(draw: random.Random, nodes: int, load: float) -> NodePlacement:
    """Zones that are full each, and pods that may be in one or two of them."""
    rooms, number, pods = [draw.choice(NODES[1:]) for _ in range(nodes)], draw.randint(3, 5), list[Pod]()
    for zone in range(number):
        kinds = [(draw.randrange(1500, 5500, 50), draw.randrange(4000, 20_000, 128)) for _ in range(3)]
        kinds.append((draw.randrange(200, 1000, 50), draw.randrange(512, 4000, 128)))
        for made in _entries(_generate_pods(draw, rooms[zone::number], load, kinds)):
            zones = {zone, (zone + (draw.random() < 0.4)) % number}
            where = tuple(f"node-{n}" for n in range(nodes) if n % number in zones)
            pods.append(made.model_copy(update={"name": f"{made.name}-zone-{zone}", "allowed_nodes": where}))
    return _cluster(draw, rooms, pods)


def _generate_apart(draw: random.Random, nodes: int, load: float) -> NodePlacement:
    """Pods of which a node may hold few of a kind, or of two kinds together; some take most of a node."""
    rooms, pods, spread = [draw.choice(NODES[:2]) for _ in range(nodes)], list[Pod](), list[Spread]()
    kinds = [(draw.randrange(500, 3900, 50), draw.randrange(1000, 13_900, 128)) for _ in range(6)]
    for made in _entries(_generate_pods(draw, rooms, load, kinds)):
        most = max(1, -(-made.count // nodes)) if draw.random() < 0.5 else None
        pods.append(made.model_copy(update={"max_per_node": most}))
    if len(pods) > 1 and draw.random() < 0.6:
        some = draw.sample(pods, 2)
        most = -(-sum(pod.count for pod in some) // nodes)
        spread.append(Spread(tasks=tuple(pod.name for pod in some), max_per_instance=most))
    return _cluster(draw, rooms, pods, spread)


KINDS: Mapping[str, tuple[Callable[[random.Random, int, float], NodePlacement], tuple[float, float]]] = {
    "halves": (_halves, (0.75, 1.0)),
    "thirds": (_thirds, (0.7, 0.9)),
    "rooms": (_rooms, (0.7, 0.9)),
    "own": (_own, (0.8, 0.95)),
    "crossed": (_generate_crossed, (0.65, 0.8)),
    "zones": (_zones, (0.8, 1.0)),
    "apart": (_generate_apart, (0.7, 1.0)),
}
"""The generator of each kind, and its range of CPU and memory loads."""


def _sums(rooms: Sequence[Room]) -> Room:
    return sum(cpu for cpu, _ in rooms), sum(memory for _, memory in rooms)


def _generate_pods(draw: random.Random, rooms: Sequence[Room], load: float, kinds: Sequence[Room]) -> list[Room]:
    """Generate pods that use a share `load` of the total capacity."""
    cpu, memory = _sums(rooms)
    return fill_node(draw, int(load * cpu), int(load * memory), kinds)


def _pod(asked: Room, count: int) -> Pod:
    return Pod(name=f"{asked[0]}m-{asked[1]}mi", count=count, demand=amounts(*asked, 1))


def _entries(pods: Sequence[Room]) -> list[Pod]:
    return [_pod(asked, count) for asked, count in sorted(Counter(pods).items(), reverse=True)]


def _cluster(
    draw: random.Random, rooms: Sequence[Room], pods: Sequence[Pod], spread: Sequence[Spread] = ()
) -> NodePlacement:
    """Build the cluster with most pods in place, each placed in turn on the node with the most free capacity."""
    nodes = tuple(ClusterNode(name=f"node-{n}", capacity=amounts(*room, MOST_PODS)) for n, room in enumerate(rooms))
    data = NodePlacement(resources=RESOURCES, nodes=nodes, pods=tuple(pods), spread=tuple(spread))
    arrays = PlacementArrays.of(data)
    order = [c for c, number in enumerate(arrays.count.tolist()) for _ in range(number)]
    free, held = arrays.room.copy(), np.zeros_like(arrays.now)
    for c in draw.sample(order, round((1 - PENDING) * len(order))):
        fitting = np.flatnonzero((free >= arrays.need[c]).all(axis=1))
        if len(fitting):
            left_over = (free[fitting, :2] / arrays.room[fitting, :2]).sum(axis=1)
            most = fitting[left_over.argmax()]
            free[most] -= arrays.need[c]
            held[most, c] += 1
    on_node = arrays.solution(held)["nodes"]
    return data.with_(nodes=tuple(n.model_copy(update={"pods": on_node.get(n.name, {})}) for n in nodes))
