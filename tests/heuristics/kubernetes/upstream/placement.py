"""Cases of taints and node affinity of kube-scheduler's unit tests.

- tainttoleration/taint_toleration_test.go of kubernetes/kubernetes at 04c0d74, without comparing operators (alpha)
- nodeaffinity/node_affinity_test.go at 022462c, without an affinity that the scheduler adds
- nodeunschedulable/node_unschedulable_test.go at 00a12c7
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.heuristics.kubernetes.upstream.building import (
    PREFERRED,
    Case,
    Json,
    node,
    nodes,
    on_nodes,
    pod,
    requirements,
)

PREFER, NO = "PreferNoSchedule", "NoSchedule"


def taint(key: str, value: str, effect: str = PREFER) -> Json:
    return {"key": key, "value": value, "effect": effect}


def tolerates(key: str, value: str = "", effect: str = "", operator: str = "Equal") -> Json:
    return {"key": key, "value": value, "effect": effect, "operator": operator}


def taints(name: str, own: Sequence[Json], at: Sequence[Sequence[Json]], want: Sequence[int]) -> Case:
    tainted = [node(f"n{i}", taints=list(of)) for i, of in enumerate(at)]
    return Case("TestTaintTolerationScore", name, "TaintToleration", tainted, pod(tolerations=list(own)), want)


ARM, SSD = taint("cpu-type", "arm64"), taint("disk-type", "ssd")
TAINTS = [
    taints(
        "tolerated taints give a higher score",
        [tolerates("foo", "bar", PREFER)],
        [[taint("foo", "bar")], [taint("foo", "blah")]],
        [100, 0],
    ),
    taints(
        "the number of tolerated taints is irrelevant",
        [tolerates("cpu-type", "arm64", PREFER), tolerates("disk-type", "ssd", PREFER)],
        [[], [ARM], [ARM, SSD]],
        [100, 100, 100],
    ),
    taints(
        "the number of other taints matters", [tolerates("foo", "bar", PREFER)], [[], [ARM], [ARM, SSD]], [100, 50, 0]
    ),
    taints(
        "only PreferNoSchedule counts",
        [tolerates("cpu-type", "arm64", NO), tolerates("disk-type", "ssd", NO)],
        [[], [taint("cpu-type", "arm64", NO)], [ARM, SSD]],
        [100, 100, 0],
    ),
    taints("no toleration", [], [[], [ARM]], [100, 0]),
]


def admits(name: str, own: Sequence[Json], at: Sequence[Json], want: bool) -> Case:
    tainted = [node("n", taints=list(at))]
    return Case(
        "TestTaintTolerationFilter", name, "TaintToleration", tainted, pod(tolerations=list(own)), "n" if want else ""
    )


USER = taint("dedicated", "user1", NO)
FOO = taint("foo", "bar", NO)
ADMITS = [
    admits("no toleration", [], [USER], False),
    admits("the same value", [tolerates("dedicated", "user1", NO, "")], [USER], True),
    admits("another value", [tolerates("dedicated", "user2", NO)], [USER], False),
    admits("Exists", [tolerates("foo", "", NO, "Exists")], [FOO], True),
    admits(
        "several taints",
        [tolerates("dedicated", "user2", NO), tolerates("foo", "", NO, "Exists")],
        [taint("dedicated", "user2", NO), FOO],
        True,
    ),
    admits("another effect", [tolerates("foo", "bar", PREFER)], [FOO], False),
    admits("any effect", [tolerates("foo", "bar")], [FOO], True),
    admits(
        "PreferNoSchedule, another value", [tolerates("dedicated", "user2", NO)], [taint("dedicated", "user1")], True
    ),
    admits("PreferNoSchedule, no toleration", [], [taint("dedicated", "user1")], True),
]


def selects(name: str, own: Json, text: str, want: bool, on: str = "n") -> Case:
    return Case("TestNodeAffinity", name, "NodeAffinity", [node(on, text)], own, on if want else "")


NAME = "metadata.name=node1"
AFFINITY = [
    selects("missing labels", pod(nodeSelector={"foo": "bar"}), "", False),
    selects("same labels", pod(nodeSelector={"foo": "bar"}), "foo=bar", True),
    selects("superset", pod(nodeSelector={"foo": "bar"}), "foo=bar,baz=blah", True),
    selects("subset", pod(nodeSelector={"foo": "bar", "baz": "blah"}), "foo=bar", False),
    selects("In", pod(affinity=on_nodes("foo=bar|value2")), "foo=bar", True),
    selects("Gt", pod(affinity=on_nodes("kernel-version>0204")), "kernel-version=0206", True),
    selects("NotIn", pod(affinity=on_nodes("mem-type!=DDR|DDR2")), "mem-type=DDR3", True),
    selects("Exists", pod(affinity=on_nodes("GPU")), "GPU=NVIDIA-GRID-K1", True),
    selects("In, no match", pod(affinity=on_nodes("foo=value1|value2")), "foo=bar", False),
    selects("empty term", pod(affinity=on_nodes("")), "foo=bar", False),
    selects("no affinity", pod(), "foo=bar", True),
    selects("affinity without a selector", pod(affinity={"nodeAffinity": {}}), "foo=bar", True),
    selects("two expressions", pod(affinity=on_nodes("GPU,GPU!=AMD|INTER")), "GPU=NVIDIA-GRID-K1", True),
    selects("two expressions, no match", pod(affinity=on_nodes("GPU,GPU=AMD|INTER")), "GPU=NVIDIA-GRID-K1", False),
    selects("two terms", pod(affinity=on_nodes("foo=bar|value2", "diffkey=wrong|value2")), "foo=bar", True),
    selects("affinity and selector", pod(affinity=on_nodes("foo"), nodeSelector={"foo": "bar"}), "foo=bar", True),
    selects(
        "affinity, but not the selector", pod(affinity=on_nodes("foo"), nodeSelector={"foo": "bar"}), "foo=barrr", False
    ),
    selects("field", pod(affinity=on_nodes(("", NAME))), "", True, "node1"),
    selects("field, no match", pod(affinity=on_nodes(("", NAME))), "", False, "node2"),
    selects(
        "two terms, fields do not match",
        pod(affinity=on_nodes(("", f"{NAME},metadata.name=node2"), "foo=bar")),
        "foo=bar",
        True,
        "node2",
    ),
    selects("one term, the field does not match", pod(affinity=on_nodes(("foo=bar", NAME))), "foo=bar", False, "node2"),
    selects("one term, both match", pod(affinity=on_nodes(("foo=bar", NAME))), "foo=bar", True, "node1"),
    selects("two terms, none matches", pod(affinity=on_nodes(("", NAME), "foo=not")), "foo=bar", False, "node2"),
    selects("two fields", pod(affinity=on_nodes(("", NAME), ("", "metadata.name=node2"))), "", True, "node2"),
    selects("conflicting fields", pod(affinity=on_nodes(("", f"{NAME},metadata.name=node2"))), "", False, "node2"),
]


def wishes(*terms: tuple[int, str]) -> Json:
    found = [{"weight": weight, "preference": {"matchExpressions": requirements(text)}} for weight, text in terms]
    return pod(affinity={"nodeAffinity": {PREFERRED: found}})


def prefers(name: str, own: Json, at: str, want: Sequence[int]) -> Case:
    return Case("TestNodeAffinityPriority", name, "NodeAffinity", nodes(at), own, want)


ONE = wishes((2, "foo=bar"))
THREE = wishes((2, "foo=bar"), (4, "key=value"), (5, "foo=bar,key=value,az=az1"))
PREFERS = [
    prefers("no affinity", pod(), "n1 foo=bar; n2 key=value; n3 az=az1", [0, 0, 0]),
    prefers("no node matches", ONE, "n1 abc=az11,def=az22; n2 key=value; n3 az=az1", [0, 0, 0]),
    prefers("one node matches", ONE, "n1 foo=bar; n2 key=value; n3 az=az1", [100, 0, 0]),
    prefers("all nodes match", THREE, "n1 foo=bar; n5 foo=bar,key=value,az=az1; n2 key=value", [18, 100, 36]),
]


def closed(name: str, own: Json, cordoned: bool, want: bool) -> Case:
    at = [node("n", unschedulable=cordoned)]
    return Case("TestNodeUnschedulable", name, "NodeUnschedulable", at, own, "n" if want else "")


CLOSED = [
    closed("cordoned", pod(), True, False),
    closed("not cordoned", pod(), False, True),
    closed("tolerated", pod(tolerations=[tolerates("node.kubernetes.io/unschedulable", "", NO, "")]), True, True),
]
CASES = [*TAINTS, *ADMITS, *AFFINITY, *PREFERS, *CLOSED]
