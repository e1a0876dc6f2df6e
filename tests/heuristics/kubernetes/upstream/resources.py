"""Cases of resources, ports and images of kube-scheduler's unit tests.

- noderesources/fit_test.go of kubernetes/kubernetes at 007f7ae
- noderesources/least_allocated_test.go at 008b365, with the default weights of CPU and memory
- noderesources/balanced_allocation_test.go at 00fdb4f, with CPU and memory
- nodeports/node_ports_test.go at 008b365
- imagelocality/image_locality_test.go of release 1.29, whose thresholds are those of v1.35
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.heuristics.kubernetes.upstream.building import Case, Json, node, pod

NAMES = {
    "storage": "ephemeral-storage",
    "a": "example.com/aaa",
    "b": "example.com/bbb",
    "k": "kubernetes.io/something",
    "s": "subdomain.kubernetes.io/something",
    "huge": "hugepages-2Mi",
}


def one(cpu: int | None = None, memory: int | None = None, **more: int) -> Json:
    """Build a container; CPUs are in thousandths."""
    requests: Json = {} if cpu is None else {"cpu": f"{cpu}m"}
    requests |= {} if memory is None else {"memory": str(memory)}
    requests |= {NAMES[name]: str(amount) for name, amount in more.items()}
    return {"name": "c", "resources": {"requests": requests}}


def of(*containers: Json, first: Sequence[Json] = (), on: str | None = None, **spec: Any) -> Json:
    return pod(on=on, containers=list(containers), initContainers=list(first), **spec)


def room(cpu: int, memory: int, pods: int, a: int, storage: int, huge: int) -> Json:
    amounts = {"a": a, "storage": storage, "huge": huge}
    return {"cpu": f"{cpu}m", "memory": memory, "pods": pods} | {NAMES[name]: n for name, n in amounts.items()}


def fits(test: str, name: str, own: Json, there: Json, want: bool, size: Json | None = None) -> Case:
    at = node("n", room=size or room(10, 20, 32, 5, 20, 5))
    there = of(there, on="n")
    return Case(test, name, "NodeResourcesFit", [at], own, "n" if want else "", [there])


ENOUGH, FULL, STORAGE = "TestEnoughRequests", "TestNotEnoughRequests", "TestStorageRequests"
SMALL, EMPTY, ONE_POD = one(1, 1), one(), room(10, 20, 1, 0, 0, 0)
FIT = [
    fits(ENOUGH, "nothing requested", of(EMPTY), one(10, 20), True),
    fits(ENOUGH, "too many resources", of(SMALL), one(10, 20), False),
    fits(ENOUGH, "init container, CPU", of(SMALL, first=[one(3, 1)]), one(8, 19), False),
    fits(ENOUGH, "highest init container, CPU", of(SMALL, first=[one(3, 1), one(2, 1)]), one(8, 19), False),
    fits(ENOUGH, "init container, memory", of(SMALL, first=[one(1, 3)]), one(9, 19), False),
    fits(ENOUGH, "highest init container, memory", of(SMALL, first=[one(1, 3), one(1, 2)]), one(9, 19), False),
    fits(ENOUGH, "init container, maximum", of(SMALL, first=[SMALL]), one(9, 19), True),
    fits(ENOUGH, "init containers, maximum", of(SMALL, first=[SMALL, SMALL]), one(9, 19), True),
    fits(ENOUGH, "both fit", of(SMALL), one(5, 5), True),
    fits(ENOUGH, "memory fits", of(one(2, 1)), one(9, 5), False),
    fits(ENOUGH, "CPU fits", of(one(1, 2)), one(5, 19), False),
    fits(ENOUGH, "equal", of(one(5, 1)), one(5, 19), True),
    fits(ENOUGH, "equal, init container", of(one(4, 1), first=[one(5, 1)]), one(5, 19), True),
    fits(ENOUGH, "extended fits", of(one(a=1)), EMPTY, True),
    fits(ENOUGH, "extended fits, init container", of(EMPTY, first=[one(a=1)]), EMPTY, True),
    fits(ENOUGH, "extended capacity", of(one(1, 1, a=10)), one(0, 0, a=0), False),
    fits(ENOUGH, "extended capacity, init container", of(EMPTY, first=[one(1, 1, a=10)]), one(0, 0, a=0), False),
    fits(ENOUGH, "extended allocatable", of(one(1, 1, a=1)), one(0, 0, a=5), False),
    fits(ENOUGH, "extended allocatable, init container", of(EMPTY, first=[one(1, 1, a=1)]), one(0, 0, a=5), False),
    fits(ENOUGH, "extended, containers", of(one(1, 1, a=3), one(1, 1, a=3)), one(0, 0, a=2), False),
    fits(
        ENOUGH,
        "extended, init containers fit",
        of(EMPTY, first=[one(1, 1, a=3), one(1, 1, a=3)]),
        one(0, 0, a=2),
        True,
    ),
    fits(
        ENOUGH,
        "extended, init containers",
        of(EMPTY, first=[one(1, 1, a=6), one(1, 1, a=3)]),
        one(0, 0, a=2),
        False,
    ),
    fits(ENOUGH, "unknown extended", of(one(1, 1, b=1)), one(0, 0), False),
    fits(ENOUGH, "unknown extended, init container", of(EMPTY, first=[one(1, 1, b=1)]), one(0, 0), False),
    fits(ENOUGH, "kubernetes.io", of(one(1, 1, k=10)), one(0, 0), False),
    fits(ENOUGH, "kubernetes.io, init container", of(EMPTY, first=[one(1, 1, s=10)]), one(0, 0), False),
    fits(ENOUGH, "hugepages", of(one(1, 1, huge=10)), one(0, 0, huge=0), False),
    fits(ENOUGH, "hugepages, init container", of(EMPTY, first=[one(1, 1, huge=10)]), one(0, 0, huge=0), False),
    fits(ENOUGH, "hugepages, containers", of(one(1, 1, huge=3), one(1, 1, huge=3)), one(0, 0, huge=2), False),
    fits(ENOUGH, "overhead fits", of(SMALL, overhead={"cpu": "3m", "memory": "13"}), one(5, 5), True),
    fits(ENOUGH, "overhead, memory", of(SMALL, overhead={"cpu": "1m", "memory": "15"}), one(5, 5), False),
    fits(FULL, "no pods left, nothing requested", of(EMPTY), one(10, 20), False, ONE_POD),
    fits(FULL, "no pods left, both fit", of(SMALL), one(5, 5), False, ONE_POD),
    fits(FULL, "no pods left, equal", of(one(5, 1)), one(5, 19), False, ONE_POD),
    fits(FULL, "no pods left, init container", of(one(5, 1), first=[one(5, 1)]), one(5, 19), False, ONE_POD),
    fits(STORAGE, "CPU is full", of(SMALL), one(10, 10), False),
    fits(STORAGE, "pod fits", of(SMALL), one(2, 10), True),
    fits(STORAGE, "storage exceeds", of(one(storage=25)), one(2, 2), False),
    fits(STORAGE, "storage fits", of(one(storage=10)), one(2, 2), True),
]


def whole(cpu: int, memory: int) -> Json:
    return one(1000 * cpu, memory)


def sized(first: tuple[int, int], second: tuple[int, int], **more: int) -> list[Json]:
    """Build nodes of whole CPUs and bytes."""
    sizes = {"n1": first, "n2": second}
    return [node(name, room={"cpu": cpu, "memory": memory}) for name, (cpu, memory) in sizes.items()]


def least(name: str, own: Json, at: list[Json], want: Sequence[int], in_place: Sequence[Json] = ()) -> Case:
    return Case("TestLeastAllocatedScoringStrategy", name, "NodeResourcesFit", at, own, want, in_place)


NOTHING = pod(containers=[])
TWO = of(whole(1000, 2000), whole(2000, 3000))


def held(n1: Sequence[Json], n2: Sequence[Json]) -> list[Json]:
    return [of(container, on=name) for name, of_node in (("n1", n1), ("n2", n2)) for container in of_node]


THREE = whole(3000, 0)
LEAST = [
    least("nothing", NOTHING, sized((4000, 10000), (4000, 10000)), [100, 100]),
    least("different sizes", TWO, sized((4000, 10000), (6000, 10000)), [37, 50]),
    least(
        "nothing requested, pods in place",
        NOTHING,
        sized((4000, 10000), (4000, 10000)),
        [100, 100],
        [pod(on=name, containers=[]) for name in ("n1", "n1", "n2", "n2")],
    ),
    least(
        "nothing requested, pods with resources",
        NOTHING,
        sized((10000, 20000), (10000, 20000)),
        [70, 57],
        held([THREE, THREE], [THREE, whole(3000, 5000)]),
    ),
    least(
        "pods with resources",
        TWO,
        sized((10000, 20000), (10000, 20000)),
        [57, 45],
        held([THREE], [whole(3000, 5000)]),
    ),
    least(
        "pods with resources, different sizes",
        TWO,
        sized((10000, 20000), (10000, 50000)),
        [57, 60],
        held([THREE], [whole(3000, 5000)]),
    ),
    least(
        "requests exceed the capacity",
        of(THREE),
        sized((4000, 10000), (4000, 10000)),
        [50, 25],
        held([THREE], [whole(3000, 5000)]),
    ),
    least("no capacity", NOTHING, [node("n1"), node("n2")], [0, 0], held([THREE], [whole(3000, 5000)])),
]


def milli(first: tuple[int, int], second: tuple[int, int]) -> list[Json]:
    sizes = {"n1": first, "n2": second}
    return [node(name, room={"cpu": f"{cpu}m", "memory": memory}) for name, (cpu, memory) in sizes.items()]


def balance(name: str, own: Json, at: list[Json], want: Sequence[int], in_place: Sequence[Json] = ()) -> Case:
    return Case("TestNodeResourcesBalancedAllocation", name, "NodeResourcesBalancedAllocation", at, own, want, in_place)


CPU_ONLY, BOTH = [one(1000, 0), one(2000, 0)], [one(1000, 2000), one(2000, 3000)]
IN_PLACE = [of(*CPU_ONLY, on="n1"), of(*BOTH, on="n2")]
BALANCE = [
    balance("different sizes", of(*BOTH), milli((4000, 10000), (6000, 10000)), [87, 100]),
    balance("pods with resources", of(*BOTH), milli((10000, 20000), (10000, 20000)), [82, 95], IN_PLACE),
    balance("pods, different sizes", of(*BOTH), milli((10000, 20000), (10000, 50000)), [82, 80], IN_PLACE),
    balance("at capacity", of(*CPU_ONLY), milli((6000, 10000), (6000, 10000)), [50, 75], IN_PLACE),
    balance("nothing requested is skipped", NOTHING, milli((4000, 10000), (4000, 10000)), [0, 0]),
    balance("without the scalar resource", of(*BOTH), milli((3500, 40000), (3500, 40000)), [63, 63]),
]


def ports(*texts: str) -> Json:
    found = [text.split("/") for text in texts]
    return {"name": "c", "ports": [{"protocol": p, "hostIP": ip, "hostPort": int(n)} for p, ip, n in found]}


def bound(name: str, own: Json, there: Sequence[str], want: bool, test: str = "TestNodePorts") -> Case:
    return Case(test, name, "NodePorts", [node("m1")], own, "m1" if want else "", [of(ports(*there), on="m1")])


def asks(*texts: str) -> Json:
    return of(ports(*texts))


HOST_8001 = {"containerPort": 8001, "hostPort": 8001, "protocol": "TCP"}
FOUR = "TCP/127.0.0.1/80", "TCP/127.0.1.1/80", "TCP/127.0.1.1/90", "TCP/127.0.1.1/100"
PORTS = [
    bound("no port", of(one()), [], True),
    bound("other port", asks("UDP/127.0.0.1/8080"), ["UDP/127.0.0.1/9090"], True),
    bound("same UDP port", asks("UDP/127.0.0.1/8080"), ["UDP/127.0.0.1/8080"], False),
    bound("same TCP port", asks("TCP/127.0.0.1/8080"), ["TCP/127.0.0.1/8080"], False),
    bound("other address", asks("TCP/127.0.0.1/8080"), ["TCP/127.0.0.2/8080"], True),
    bound("other protocol", asks("UDP/127.0.0.1/8080"), ["TCP/127.0.0.1/8080"], True),
    bound("second port", asks("UDP/127.0.0.1/8000", "UDP/127.0.0.1/8080"), ["UDP/127.0.0.1/8080"], False),
    bound(
        "first port",
        asks("TCP/127.0.0.1/8001", "UDP/127.0.0.1/8080"),
        ["TCP/127.0.0.1/8001", "UDP/127.0.0.1/8081"],
        False,
    ),
    bound("all addresses", asks("TCP/0.0.0.0/8001"), ["TCP/127.0.0.1/8001"], False),
    bound("one of all addresses", asks("TCP/10.0.10.10/8001", "TCP/0.0.0.0/8001"), ["TCP/127.0.0.1/8001"], False),
    bound("all addresses in place", asks("TCP/127.0.0.1/8001"), ["TCP/0.0.0.0/8001"], False),
    bound("all addresses, other protocol", asks("UDP/127.0.0.1/8001"), ["TCP/0.0.0.0/8001"], True),
    bound("all addresses, UDP", asks("UDP/127.0.0.1/8001"), ["TCP/0.0.0.0/8001", "UDP/0.0.0.0/8001"], False),
    bound("init container", of(one(), first=[{"name": "i", "ports": [HOST_8001]}]), ["TCP/0.0.0.0/8001"], True),
    bound(
        "sidecar",
        of(one(), first=[{"name": "i", "restartPolicy": "Always", "ports": [HOST_8001]}]),
        ["TCP/0.0.0.0/8001"],
        False,
    ),
    bound("no conflict", asks("TCP/127.0.0.1/80"), ["TCP/127.0.0.1/9090"], True, "TestFits"),
    bound(
        "several, no conflict",
        asks(*FOUR),
        ["TCP/127.0.0.1/9090", "TCP/127.0.0.1/9191", "TCP/127.0.1.1/8080"],
        True,
        "TestFits",
    ),
    bound("protocols differ", asks("TCP/127.0.0.1/80"), ["UDP/127.0.0.1/80"], True, "TestFits"),
    bound("conflict", asks("TCP/127.0.0.1/80"), ["TCP/127.0.0.1/80"], False, "TestFits"),
    bound(
        "several, some conflict",
        asks(*FOUR),
        ["TCP/127.0.0.1/9090", "TCP/127.0.1.1/90", "TCP/127.0.1.1/8080"],
        False,
        "TestFits",
    ),
]


def images(name: str, own: str, at: Sequence[str], want: Sequence[int], first: str = "") -> Case:
    """Build a case of images that are named by their size in MiB."""
    found = [
        node(f"n{i}", images={f"gcr.io/{size}:latest": int(size) for size in text.split()}) for i, text in enumerate(at)
    ]
    containers = [{"name": f"c{size}", "image": f"gcr.io/{size}"} for size in own.split()]
    init = [{"name": f"i{size}", "image": f"gcr.io/{size}"} for size in first.split()]
    return Case("TestImageLocalityPriority", name, "ImageLocality", found, of(*containers, first=init), want)


LARGE, SMALL_IMAGES = "40 300 2000", "250 10"
IMAGES = [
    images("two images on two nodes", "40 250", [LARGE, SMALL_IMAGES], [0, 5]),
    images("two images on one node", "40 300", [LARGE, SMALL_IMAGES], [7, 0]),
    images("limit", "10 4000", ["4000 30", SMALL_IMAGES], [100, 0]),
    images("limit, a node without images", "10 4000", ["4000 30", SMALL_IMAGES, ""], [66, 0, 0]),
    images("large images", "300 600 900", ["600 40 900", "300 600 900", ""], [32, 36, 0]),
    images("small images", "30 40", ["20 30 40", "4000 30"], [1, 0]),
    images("init containers", "30", [LARGE, "20 30 40"], [6, 0], first="300"),
]
CASES = [*FIT, *LEAST, *BALANCE, *PORTS, *IMAGES]
