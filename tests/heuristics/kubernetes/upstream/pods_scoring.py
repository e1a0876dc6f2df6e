"""Cases of interpodaffinity/scoring_test.go of kubernetes/kubernetes at 030880a, with the default arguments."""

from __future__ import annotations

from collections.abc import Sequence

from tests.heuristics.kubernetes.upstream.building import Case, Json, affinity, near, nodes, pod

S1, S2 = "security=S1", "security=S2"
WITH_S1 = affinity(wish=[(5, near("region", S1))])
WITH_S2 = affinity(wish=[(6, near("region", S2))])
OPERATORS = affinity(wish=[(8, near("region", "security!=S1,security=S2")), (2, near("region", "security,!wrongkey"))])
HARD = affinity(to=[near("region", "security=S1|value2"), near("region", "security,!wrongkey")])
FROM_S1 = affinity(avoid=[(5, near("az", S1))])
FROM_S2 = affinity(avoid=[(5, near("az", S2))])
WITH_S1_FROM_S2 = affinity(wish=[(8, near("region", S1))], avoid=[(5, near("az", S2))])
OF_TEAM = near("region", S1, ["subteam2.team2"], "team=team1")
WITH_TEAM, FROM_TEAM = affinity(wish=[(5, OF_TEAM)]), affinity(avoid=[(5, OF_TEAM)])
THREE = nodes("a region=China; b region=India; c az=az1")
TWO = nodes("a region=China; b region=India")
TEAMS = [
    {"kind": "Namespace", "metadata": {"name": f"subteam{i}.{team}", "labels": {"team": team}}}
    for team in ("team1", "team2")
    for i in (1, 2)
]
TEAMS.append({"kind": "Namespace", "metadata": {"name": "default", "labels": {}}})


def has(text: str, on: str | None = None, of: Json | None = None, ns: str = "default") -> Json:
    return pod(text, on, ns, affinity=of)


def case(name: str, own: Json, at: Sequence[Json], want: Sequence[int], in_place: Sequence[Json] = ()) -> Case:
    return Case("TestPreferredAffinity", name, "InterPodAffinity", at, own, want, in_place, others=TEAMS)


def in_teams(*teams: str) -> list[Json]:
    """Build pods of S1 in these namespaces, of which the last is on the second node."""
    return [has(S1, "b" if i == len(teams) - 1 else "a", ns=team) for i, team in enumerate(teams)]


T11, T12, T21, T22 = "subteam1.team1", "subteam1.team2", "subteam2.team1", "subteam2.team2"
CHOSEN, BY_NAME = in_teams(T11, T11, T12, T21), in_teams(T11, T11, T22, T21)
PREFERRED = [
    case("no affinity", has(S1), THREE, [0, 0, 0]),
    case(
        "topology key and pods match",
        has(S1, of=WITH_S1),
        THREE,
        [100, 0, 0],
        [has(S1, "a"), has(S2, "b"), has(S1, "c")],
    ),
    case(
        "the same label value",
        has("", of=WITH_S1),
        nodes("a region=China; b region=China,az=az1; c region=India"),
        [100, 100, 0],
        [has(S1, "a")],
    ),
    case(
        "more pods in one region",
        has(S1, of=WITH_S2),
        nodes("a region=China; b region=India; c region=China; d region=China; e region=India"),
        [100, 0, 100, 100, 0],
        [has(S2, "a"), *(has(S2, name) for name in "abcde")],
    ),
    case("operators", has(S1, of=OPERATORS), THREE, [20, 100, 0], [has(S1, "a"), has(S2, "b"), has(S1, "c")]),
    case("symmetry", has(S2), THREE, [0, 100, 0], [has(S1, "a", WITH_S1), has(S2, "b", WITH_S2)]),
    case(
        "symmetry with a namespace selector",
        has(S1, ns=T11),
        THREE,
        [100, 0, 0],
        [has(S1, "a", WITH_TEAM), has(S2, "b", WITH_S2)],
    ),
    case(
        "symmetry of anti-affinity with a namespace selector",
        has(S1, ns=T11),
        THREE,
        [0, 100, 100],
        [has(S1, "a", FROM_TEAM), has(S2, "b", WITH_S2)],
    ),
    case("symmetry of required affinity", has(S1), THREE, [100, 100, 0], [has(S1, "a", HARD), has(S2, "b", HARD)]),
    case(
        "anti-affinity: pods do not match",
        has(S1, of=FROM_S1),
        nodes("a az=az1; b region=China"),
        [0, 100],
        [has(S1, "a"), has(S2, "b")],
    ),
    case(
        "anti-affinity: no topology key",
        has(S1, of=FROM_S1),
        nodes("a az=az1; b region=China"),
        [0, 100],
        [has(S1, "a"), has(S1, "b")],
    ),
    case(
        "anti-affinity: more pods",
        has(S1, of=FROM_S1),
        nodes("a az=az1; b region=India"),
        [0, 100],
        [has(S1, "a"), has(S1, "a"), has(S2, "b")],
    ),
    case(
        "symmetry of anti-affinity",
        has(S2),
        nodes("a az=az1; b az=az2"),
        [0, 100],
        [has(S1, "a", FROM_S2), has(S2, "b", FROM_S1)],
    ),
    case(
        "affinity and anti-affinity",
        has(S1, of=WITH_S1_FROM_S2),
        nodes("a region=China; b az=az1"),
        [100, 0],
        [has(S1, "a"), has(S1, "b")],
    ),
    case(
        "affinity and anti-affinity of equal pods",
        has(S1, of=WITH_S1_FROM_S2),
        nodes("a region=China,az=az1; b region=India; c region=China; d region=China; e region=India"),
        [100, 0, 100, 100, 0],
        [has(S1, name) for name in "aabccde"],
    ),
    case(
        "affinity, anti-affinity and symmetry",
        has(S1, of=WITH_S1_FROM_S2),
        nodes("a region=China; b az=az1; c region=India; d az=az2"),
        [100, 0, 100, 0],
        [has(S1, "a"), has(S2, "b"), has("", "c", WITH_S1_FROM_S2), has("", "d", FROM_S1)],
    ),
    case(
        "part of a domain",
        has(S1),
        nodes("a region=China; b region=China"),
        [0, 0],
        [has(S1, "a"), has("", "b", WITH_S1_FROM_S2)],
    ),
    case("namespace selector", has(S1, of=WITH_TEAM, ns=T11), TWO, [100, 0], CHOSEN),
    case("namespace selector and namespaces", has(S1, of=WITH_TEAM, ns=T11), TWO, [100, 0], BY_NAME),
    case("anti-affinity, namespace selector", has(S1, of=FROM_TEAM, ns=T11), TWO, [0, 100], CHOSEN),
    case("anti-affinity, namespace selector and namespaces", has(S1, of=FROM_TEAM, ns=T11), TWO, [0, 100], BY_NAME),
    case("terms of pods in place", has(S2), TWO, [0, 100], [has(S1, "a", WITH_S1_FROM_S2), has(S2, "b", WITH_S2)]),
]


def symmetric(name: str, ns: str, want: Sequence[int]) -> Case:
    own = near("region", "service=S1", ["default", T22], "team=team1")
    in_place = [has("", name, affinity(to=[own])) for name in ("a", "b")]
    test = "TestPreferredAffinityWithHardPodAffinitySymmetricWeight"
    return Case(test, name, "InterPodAffinity", THREE, has("service=S1", ns=ns), want, in_place, others=TEAMS)


SYMMETRIC = [
    symmetric("default weight", "default", [100, 100, 0]),
    symmetric("no matching namespace", T12, [0, 0, 0]),
    symmetric("namespace selector", T11, [100, 100, 0]),
    symmetric("namespaces", T22, [100, 100, 0]),
]
CASES = [*PREFERRED, *SYMMETRIC]
