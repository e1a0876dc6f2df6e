"""Cases of interpodaffinity/filtering_test.go of kubernetes/kubernetes at 007f7ae."""

from __future__ import annotations

from collections.abc import Sequence

from tests.heuristics.kubernetes.upstream.building import Case, Json, affinity, near, node, nodes, pod

SCAN, S1 = "service=securityscan", "security=S1"
MACHINE = nodes("m region=r1,zone=z11")
IN, OTHER = "service=securityscan|value2", "service=antivirusscan|value2"
ANY = "service,!wrongkey"


def having(
    text: str, to: Sequence[Json] = (), away: Sequence[Json] = (), on: str | None = None, ns: str = "default"
) -> Json:
    return pod(text, on, ns, affinity=affinity(to, away))


def single(name: str, own: Json, want: bool, in_place: Sequence[Json] = ()) -> Case:
    return Case("TestRequiredAffinitySingleNode", name, "InterPodAffinity", MACHINE, own, "m" if want else "", in_place)


SCANNED = [pod(SCAN, "m")]
TO_SCAN = [near("region", IN)]
TWO_LABELS = near("zone", "abc"), near("zone", "def")
SINGLE = [
    single("no affinity", pod(), True),
    single("In matches", having(S1, TO_SCAN), True, SCANNED),
    single("NotIn matches", having(S1, [near("region", "service!=securityscan3|value3")]), True, SCANNED),
    single("another namespace", having(S1, [near("", IN, ["DiffNameSpace"])]), False, [pod(SCAN, "m", "ns")]),
    single("the selector does not match", having(SCAN, [near("", OTHER)]), False, SCANNED),
    single(
        "several operators",
        having(S1, [near("region", ANY), near("region", "service=securityscan,service!=WrongValue")]),
        True,
        SCANNED,
    ),
    single(
        "one of several operators does not match",
        having(S1, [near("region", ANY), near("region", "service=securityscan2,service!=WrongValue")]),
        False,
        SCANNED,
    ),
    single("affinity and anti-affinity", having(S1, TO_SCAN, [near("node", OTHER)]), True, SCANNED),
    single(
        "affinity, anti-affinity and symmetry",
        having(S1, TO_SCAN, [near("node", OTHER)]),
        True,
        [having(SCAN, away=[near("node", OTHER)], on="m")],
    ),
    single("affinity, but not anti-affinity", having(S1, TO_SCAN, [near("zone", IN)]), False, SCANNED),
    single(
        "affinity and anti-affinity, but not symmetry",
        having(SCAN, TO_SCAN, [near("node", OTHER)]),
        False,
        [having(SCAN, away=[near("zone", IN)], on="m")],
    ),
    single(
        "the pod does not match itself",
        having(SCAN, [near("region", "service!=securityscan|value2")]),
        False,
        [pod(SCAN, "m2")],
    ),
    single("anti-affinity of a pod in place", pod(SCAN), False, [having(SCAN, away=[near("zone", IN)], on="m")]),
    single(
        "anti-affinity of a pod in place, no match",
        pod(SCAN),
        True,
        [having(SCAN, away=[near("zone", "service!=securityscan|value2")], on="m")],
    ),
    single(
        "anti-affinity in place, but not of the pod",
        having(SCAN, away=[near("region", "service"), near("region", "security")]),
        False,
        [having(S1, away=[near("zone", "security")], on="m")],
    ),
    single(
        "symmetry a1",
        having(SCAN, away=[near("zone", "service"), near("zone", "security")]),
        False,
        [having(S1, away=[near("zone", "security")], on="m")],
    ),
    single(
        "symmetry a2",
        having(S1, away=[near("zone", "security")]),
        False,
        [having(SCAN, away=[near("zone", "service"), near("zone", "security")], on="m")],
    ),
    single("symmetry b1", having("abc,xyz", away=TWO_LABELS), False, [having("def,xyz", away=TWO_LABELS, on="m")]),
    single("symmetry b2", having("def,xyz", away=TWO_LABELS), False, [having("abc,xyz", away=TWO_LABELS, on="m")]),
]


def multiple(name: str, own: Json, at: Sequence[Json], want: str, in_place: Sequence[Json]) -> Case:
    return Case("TestRequiredAffinityMultipleNodes", name, "InterPodAffinity", at, own, want, in_place)


REGIONS = nodes("a region=China; b region=China,az=az1; c region=India")
ONE_ZONE = nodes("a region=r1,zone=z1,hostname=a; b region=r1,zone=z1,hostname=b")
ZONES = nodes("a region=r1,zone=z1,hostname=a; b region=r1,zone=z2,hostname=b")
THREE = [*ZONES, node("c", "region=r1,zone=z3,hostname=c")]
WRONG = "invalid-node-label"
MULTIPLE = [
    multiple("the whole domain", having("", [near("region", "foo=bar")]), REGIONS, "a b", [pod("foo=bar", "a")]),
    multiple(
        "the first pod of a collection",
        having("foo=bar,service=securityscan", [near("zone", "foo=bar"), near("zone", "service=securityscan")]),
        nodes("a zone=az1,hostname=h1; b zone=az2,hostname=h2"),
        "a b",
        [pod("foo=bar", "a")],
    ),
    multiple(
        "anti-affinity in a domain", having("", away=[near("region", "foo=abc")]), ONE_ZONE, "", [pod("foo=abc", "a")]
    ),
    multiple(
        "any term of an anti-affinity",
        having("", away=[near("region", "foo=abc"), near("zone", "service=securityscan")]),
        ZONES,
        "",
        [pod("foo=abc,service=securityscan", "a")],
    ),
    multiple("another domain", having("", away=[near("region", "foo=abc")]), REGIONS, "c", [pod("foo=abc", "a")]),
    multiple(
        "a pod of another namespace",
        having("foo=123", away=[near("region", "foo=bar")], ns="ns1"),
        REGIONS,
        "c",
        [pod("foo=bar", "a", "ns1"), having("", away=[near("region", "foo=123")], on="c", ns="ns2")],
    ),
    multiple("in place: no such label", pod("foo"), ONE_ZONE, "a b", [having("", away=[near(WRONG, "foo")], on="a")]),
    multiple("own: no such label", having("", away=[near(WRONG, "foo")]), ONE_ZONE, "a b", [pod("foo", "a")]),
    multiple(
        "in place: violates each term",
        pod("foo,bar"),
        ZONES,
        "",
        [having("", away=[near("zone", "foo")], on="a"), having("", away=[near("region", "bar")], on="a")],
    ),
    multiple(
        "own: violates at least one term",
        having("", away=[near("zone", "foo"), near("region", "bar")]),
        ZONES,
        "",
        [pod("foo", "a"), pod("bar", "b")],
    ),
    multiple(
        "in place: one term has no such label",
        pod("foo,bar"),
        ZONES,
        "b",
        [having("", away=[near(WRONG, "foo"), near("zone", "bar")], on="a")],
    ),
    multiple(
        "own: one term has no such label",
        having("", away=[near(WRONG, "foo"), near("zone", "bar")]),
        ZONES,
        "b",
        [pod("foo,bar", "a")],
    ),
    multiple(
        "in place: all terms have labels",
        pod("foo,bar"),
        ZONES,
        "",
        [having("", away=[near("region", "foo"), near("zone", "bar")], on="a")],
    ),
    multiple(
        "own: all terms have labels",
        having("", away=[near("region", "foo"), near("zone", "bar")]),
        ZONES,
        "",
        [pod("foo,bar", "a")],
    ),
    multiple(
        "in place: on two of three nodes",
        pod("foo,bar"),
        THREE,
        "c",
        [
            having("", away=[near("zone", "foo"), near("zone", "labelA")], on="a"),
            having("", away=[near("zone", "bar"), near("zone", "labelB")], on="b"),
        ],
    ),
    multiple(
        "affinity: all terms match",
        having("", [near("region", "foo"), near("zone", "bar")]),
        ONE_ZONE,
        "a b",
        [pod("foo,bar", "a")],
    ),
]
CASES = [*SINGLE, *MULTIPLE]
