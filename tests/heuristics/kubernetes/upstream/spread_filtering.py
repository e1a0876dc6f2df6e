"""Cases of podtopologyspread/filtering_test.go of kubernetes/kubernetes at 01c2588, without those of PreFilter."""

from __future__ import annotations

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

PLUGIN = "PodTopologySpread"
ABXY = nodes("a zone=zone1,node=a; b zone=zone1,node=b; x zone=zone2,node=x; y zone=zone2,node=y")
ABC = nodes("a node=a; b node=b; c node=c")
FOO = nodes("a node=a,foo; b node=b,foo; x node=x,foo; y node=y")
FOO_ZONES = nodes("a zone=zone1,node=a,foo; b zone=zone1,node=b,foo; x zone=zone2,node=x,foo; y zone=zone2,node=y")
TAINT = {"key": "k1", "value": "v1", "effect": "NoSchedule"}
TAINTED = [*nodes("a node=a,foo; b node=b,foo; x node=x,foo"), node("y", "node=y", taints=[TAINT])]
UNEVEN = pods("a:foo a:foo b:foo y:foo y:foo y:foo")
ABY = pods("a:foo b:foo y:foo")
IGNORE = {"nodeAffinityPolicy": "Ignore"}
HONOR = {"nodeTaintsPolicy": "Honor"}
OF_FOO = {"nodeSelector": {"foo": ""}}


def single(name: str, own: Json, want: str, in_place: list[Json] | None = None, at: list[Json] = ABXY) -> Case:
    return Case("TestSingleConstraint", name, PLUGIN, at, own, want, in_place or [])


def multiple(name: str, own: Json, want: str, in_place: list[Json], at: list[Json] = ABXY) -> Case:
    return Case("TestMultipleConstraints", name, PLUGIN, at, own, want, in_place)


ZONE, NODE = spread(1, "zone", "foo"), spread(1, "node", "foo")
CASES = [
    single("no existing pods", spreading("foo", ZONE), "a b x y"),
    single("incoming pod does not match itself", spreading("foo", spread(1, "zone", "bar")), "a b x y"),
    single(
        "other namespaces do not count",
        spreading("foo", ZONE),
        "a b",
        [pod("foo", "a", "ns1"), pod("foo", "a", "ns2"), *pods("x:foo y:foo")],
    ),
    single("null selector", spreading("foo", spread(1, "zone", None)), "a b x y", pods("x:foo y:foo")),
    single("zones 3/3", spreading("foo", ZONE), "a b x y", UNEVEN),
    single(
        "zones 1/2 as a node has no zone",
        spreading("foo", ZONE),
        "a",
        pods("a:foo b:foo x:foo y:foo"),
        nodes("a zone=zone1,node=a; b zon=zone1,node=b; x zone=zone2,node=x; y zone=zone2,node=y"),
    ),
    single("no node has the label", spreading("foo", spread(1, "rack", "foo")), "", at=nodes("a zone=z1; x zone=z2")),
    single("nodes 2/1/0/3", spreading("foo", NODE), "x", UNEVEN),
    single("nodes 2/1/0/3, maxSkew 2", spreading("foo", spread(2, "node", "foo")), "b x", UNEVEN),
    single("nodes 2/1/0/3, pod does not match itself", spreading("bar", NODE), "b x", UNEVEN),
    single("node affinity, 2/~1~/~0~/3", spreading("foo", NODE, affinity=on_nodes("node=a|y")), "a b x", UNEVEN),
    single(
        "terminating pods do not count",
        spreading("foo", NODE),
        "a",
        [pod("foo", "a", leaving=True), pod("foo", "b")],
        nodes("a node=a; b node=b"),
    ),
    single(
        "node affinity, 0/~2~/0/1",
        spreading("foo", ZONE, affinity=on_nodes("node!=b")),
        "a b",
        pods("b:foo b:foo y:foo"),
    ),
    single(
        "fewer domains than minDomains",
        spreading("foo", spread(2, "node", "foo", minDomains=4)),
        "c",
        pods("a:foo a:foo b:foo b:foo c:foo"),
        ABC,
    ),
    single(
        "more domains than minDomains",
        spreading("foo", spread(2, "node", "foo", minDomains=2)),
        "a b c",
        pods("a:foo a:foo b:foo b:foo c:foo"),
        ABC,
    ),
    single("fewer zones than minDomains", spreading("foo", spread(2, "zone", "foo", minDomains=3)), "x y", ABY),
    single("more zones than minDomains", spreading("foo", spread(2, "zone", "foo", minDomains=1)), "a b x y", ABY),
    single("affinity policy honored, selector", spreading("foo", NODE, **OF_FOO), "x y", ABY, FOO),
    single(
        "affinity policy ignored, selector",
        spreading("foo", spread(1, "node", "foo", **IGNORE), **OF_FOO),
        "x",
        ABY,
        FOO,
    ),
    single("affinity policy honored, affinity", spreading("foo", NODE, affinity=on_nodes("foo=")), "x y", ABY, FOO),
    single(
        "affinity policy ignored, affinity",
        spreading("foo", spread(1, "node", "foo", **IGNORE), affinity=on_nodes("foo=")),
        "x",
        ABY,
        FOO,
    ),
    single("taints policy honored", spreading("foo", spread(1, "node", "foo", **HONOR)), "x y", ABY, TAINTED),
    single("taints policy ignored", spreading("foo", NODE), "x", ABY, TAINTED),
    multiple("[3/3, 2/1/0/3]", spreading("foo", ZONE, NODE), "x", UNEVEN),
    multiple("[3/4, 2/1/0/4]", spreading("foo", ZONE, NODE), "", [*UNEVEN, pod("foo", "y")]),
    multiple(
        "different selectors, [1/0, 1/0/0/1]",
        spreading("foo,bar", ZONE, spread(1, "node", "bar")),
        "x",
        pods("a:foo y:bar"),
    ),
    multiple(
        "different selectors, [1/0, 0/0/1/1]",
        spreading("foo,bar", ZONE, spread(1, "node", "bar")),
        "",
        pods("a:foo x:bar y:bar"),
    ),
    multiple(
        "different selectors, [2/3, 1/0/0/1]",
        spreading("foo,bar", ZONE, spread(1, "node", "bar")),
        "b",
        pods("a:foo a:foo,bar y:foo y:foo,bar y:foo"),
    ),
    multiple(
        "pod does not match itself on zone",
        spreading("bar", ZONE, spread(1, "node", "bar")),
        "a b",
        pods("a:foo x:bar y:bar"),
    ),
    multiple(
        "absence of label node, [1/1, 1/0/0/1]",
        spreading("foo", ZONE, NODE),
        "b",
        pods("a:foo y:foo"),
        nodes("a zone=zone1,node=a; b zone=zone1,node=b; x zone=zone2; y zone=zone2,node=y"),
    ),
    multiple(
        "inclusion, zone: honor/ignore, node: ignore/ignore",
        spreading("foo", ZONE, spread(1, "node", "foo", **IGNORE), **OF_FOO),
        "x",
        ABY,
        FOO_ZONES,
    ),
]
