"""Cases of TestPodTopologySpreadScore in podtopologyspread/scoring_test.go of kubernetes/kubernetes at 008b365."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.heuristics.kubernetes.upstream.building import (
    Case,
    Json,
    node,
    nodes,
    on_nodes,
    pod,
    pods,
    spread,
    spreading,
)

AB = nodes("a host=a; b host=b")
ABCD = nodes("a host=a; b host=b; c host=c; d host=d")
ABXY = nodes("a host=a; b host=b; x host=x; y host=y")
ZONES = nodes("a zone=zone1,host=a; b zone=zone1,host=b; x zone=zone2,host=x; y zone=zone2,host=y")
ZONES_CD = nodes("a zone=zone1,host=a; b zone=zone1,host=b; c zone=zone2,host=c; d zone=zone2,host=d")
ABC = nodes("a node=a; b node=b; c node=c")
FOO = nodes("a node=a,foo; b node=b,foo; c node=c")
TAINT = {"key": "k1", "value": "v1", "effect": "NoSchedule"}
TAINTED = [*nodes("a node=a; b node=b"), node("c", "node=c", taints=[TAINT])]
UNEVEN = pods("a:foo a:foo b:foo d:foo d:foo d:foo")
STEPS = pods("a:foo a:foo a:foo a:foo b:foo b:foo b:foo c:foo c:foo d:foo")
FOUR = pods("a:foo a:foo a:foo a:foo b:foo b:foo x:foo y:foo y:foo y:foo")
MIXED = pods("a:foo b:foo,bar y:foo y:bar")
ABC_PODS = pods("a:foo a:foo b:foo c:foo")
SERVICE = {"kind": "Service", "metadata": {"name": "s"}, "spec": {"selector": {"foo": ""}}}
OF_FOO = {"nodeSelector": {"foo": ""}}


def soft(skew: int, topology: str, text: str | None, **more: Any) -> Json:
    return spread(skew, topology, text, soft=True, **more)


def case(name: str, own: Json, at: list[Json], want: Sequence[int], in_place: Sequence[Json] = (), **more: Any) -> Case:
    return Case("TestPodTopologySpreadScore", name, "PodTopologySpread", at, own, want, in_place, **more)


HOST, ZONE = soft(1, "host", "foo"), soft(1, "zone", "foo")
BOTH = spreading("foo,bar", ZONE, soft(1, "host", "bar"))
CASES = [
    case("no existing pods", spreading("foo", HOST), AB, [100, 100]),
    case("one candidate", spreading("foo", HOST), AB, [100], pods("a:foo a:foo b:foo"), among="a"),
    case("the same number on all nodes", spreading("foo", HOST), AB, [100, 100], pods("a:foo b:foo")),
    case("4 candidates", spreading("foo", HOST), ABCD, [20, 60, 100, 0], UNEVEN),
    case("null selector", spreading("foo", soft(1, "host", None)), ABCD, [100] * 4, UNEVEN),
    case("maxSkew 2", spreading("foo", soft(2, "host", "foo")), ABCD, [33, 66, 100, 16], UNEVEN),
    case("maxSkew 3", spreading("foo", soft(3, "host", "foo")), ABCD, [44, 66, 77, 100], STEPS),
    case("system defaulting, service, no zones", pod("foo"), ABCD, [44, 66, 77, 100], STEPS, others=[SERVICE]),
    case("3 of 4 candidates", spreading("foo", HOST), ABXY, [33, 83, 100], FOUR, among="a b x"),
    case(
        "3 of 4 candidates, one without the label",
        spreading("foo", HOST),
        nodes("a host=a; b n=b; x host=x; y host=y"),
        [16, 0, 100],
        FOUR,
        among="a b x",
    ),
    case("zone, 3 of 4 candidates", spreading("foo", ZONE), ZONES, [75, 75, 100], FOUR, among="a b x"),
    case(
        "zone and node, 2 of 4 candidates",
        spreading("foo", ZONE, HOST),
        ZONES,
        [100, 63],
        pods("a:foo a:foo b:foo x:foo x:foo y:foo y:foo y:foo y:foo"),
        among="a x",
    ),
    case(
        "two rules on zone, 2 of 4 candidates",
        spreading("foo,bar", ZONE, soft(1, "zone", "bar")),
        nodes("a zone=zone1; b zone=zone1; x zone=zone2; y zone=zone2"),
        [85, 100],
        pods("a:foo,bar a:foo b:foo,bar y:foo y:foo,bar y:foo"),
        among="a x",
    ),
    case("different selectors", BOTH, ZONES, [60, 20, 100, 60], MIXED),
    case("different selectors, empty nodes", BOTH, ZONES, [100, 60, 40, 0], pods("b:bar x:foo y:foo,bar")),
    case("different selectors, 3 of 4 candidates", BOTH, ZONES, [50, 25, 100], MIXED, among="a b x"),
    case(
        "other namespaces do not count",
        spreading("foo", HOST),
        AB,
        [100, 33],
        [pod("foo", "a", "ns1"), *pods("a:foo b:foo b:foo")],
    ),
    case(
        "terminating pods do not count",
        spreading("foo", HOST),
        AB,
        [100, 0],
        [pod("foo", "a", leaving=True), pod("foo", "b")],
    ),
    case(
        "minDomains has no effect",
        spreading("foo", soft(2, "node", "foo", minDomains=10)),
        ABC,
        [75, 75, 100],
        pods("a:foo a:foo b:foo b:foo c:foo"),
    ),
    case(
        "affinity policy honored, selector",
        spreading("foo", soft(1, "node", "foo"), **OF_FOO),
        FOO,
        [0, 33, 100],
        ABC_PODS,
    ),
    case(
        "affinity policy ignored, selector",
        spreading("foo", soft(1, "node", "foo", nodeAffinityPolicy="Ignore"), **OF_FOO),
        FOO,
        [66, 100, 100],
        ABC_PODS,
    ),
    case(
        "affinity policy honored, affinity",
        spreading("foo", soft(1, "node", "foo"), affinity=on_nodes("foo=")),
        FOO,
        [0, 33, 100],
        ABC_PODS,
    ),
    case(
        "affinity policy ignored, affinity",
        spreading("foo", soft(1, "node", "foo", nodeAffinityPolicy="Ignore"), affinity=on_nodes("foo=")),
        FOO,
        [66, 100, 100],
        ABC_PODS,
    ),
    case(
        "taints policy honored",
        spreading("foo", soft(1, "node", "foo", nodeTaintsPolicy="Honor")),
        TAINTED,
        [0, 33, 100],
        ABC_PODS,
    ),
    case("taints policy ignored", spreading("foo", soft(1, "node", "foo")), TAINTED, [66, 100, 100], ABC_PODS),
    case(
        "matchLabelKeys with an empty selector",
        spreading("foo,bar", soft(1, "zone", "", matchLabelKeys=["foo"]), soft(1, "host", "", matchLabelKeys=["bar"])),
        ZONES_CD,
        [60, 20, 60, 100],
        pods("a:foo b:foo,bar c:foo c:bar"),
    ),
    case(
        "matchLabelKeys with a selector",
        spreading("foo,bar,baz", ZONE, soft(1, "host", "bar", matchLabelKeys=["baz"])),
        ZONES_CD,
        [60, 20, 60, 100],
        pods("a:foo b:foo,bar,baz c:foo c:bar c:bar,baz"),
    ),
]
