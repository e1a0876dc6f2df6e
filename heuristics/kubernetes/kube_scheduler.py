"""Port kube-scheduler's default profile: its filters, scores, weights and preemption.

The version is v1.35. The sources are in GitHub `kubernetes/kubernetes`, in pkg/scheduler. A docstring names the file
and the function; files of plugins are below framework/plugins. The commits at which these files were read:

- 02d7708: noderesources/balanced_allocation.go
- 01c2588: podtopologyspread/filtering.go
- 02fb06d: podtopologyspread/scoring.go
- 007f7ae: interpodaffinity/filtering.go, interpodaffinity/scoring.go, imagelocality/image_locality.go

Extenders, resource claims (DRA), gangs and nominated pods are not modelled. A pod does not bring its image to its node.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

import numpy as np

from heuristics.kubernetes.kube_model import ClusterModel, PreparedKind, SpreadCount
from instances.arrays import BoolArray, FloatArray, IntArray
from instances.kubernetes.pods import HOSTNAME

VERSION = "v1.35"
MAX_SCORE = 100
FEWEST_FEASIBLE = 100  # feasible nodes that are enough in a cluster of at least as many nodes
LOWEST_SHARE, SHARE, NODES_PER_SHARE = 5, 50, 125  # percentages of feasible nodes that are enough in larger clusters
MOST_CANDIDATES = 100  # nodes on which preemption is tried
MIB = 2**20
SMALLEST_IMAGE, LARGEST_IMAGE = 23 * MIB, 1000 * MIB  # bytes, the latter for each container


class Domains:
    """The domains of a topology. `of` (n,): that of each node, 0 if it has no label; `number`: one more than there are.

    `alone`: whether every node is a domain of its own.
    """

    def __init__(self, of: IntArray) -> None:
        self.of, self.number = of, int(of.max(initial=0)) + 1
        self.has, self.alone = of > 0, self.number == len(of) + 1

    def total(self, values: IntArray) -> IntArray:
        """Return the sum of values (n,) over the domain of each node; 0 without a domain."""
        if self.alone:
            return values
        sums = np.bincount(self.of, weights=values, minlength=self.number)
        sums[0] = 0
        return sums[self.of].astype(np.int64)


class Layout:
    """The nodes of a cluster by position. `columns`: nodes of the model, with one entry for each equal new node."""

    def __init__(self, model: ClusterModel, columns: Sequence[int]) -> None:
        self.model, self.columns = model, np.array(columns, dtype=np.int64)
        self.room, self.image_sizes = model.room[:, self.columns], model.image_sizes[:, self.columns]
        self._kinds: dict[int, PreparedKind] = {}
        self._domains: dict[str, Domains] = {}

    def kind(self, k: int) -> PreparedKind:
        """Return what the plugins need of a kind, with arrays by position."""
        if k not in self._kinds:
            of, at = self.model.prepared[k], self.columns
            self._kinds[k] = replace(
                of,
                selects=of.selects[at],
                tolerates=of.tolerates[at],
                mounts=of.mounts[at],
                taints=of.taints[at],
                weights=of.weights[at],
                spread=tuple(replace(count, eligible=count.eligible[at]) for count in of.spread),
                scattered=tuple(replace(count, eligible=count.eligible[at]) for count in of.scattered),
            )
        return self._kinds[k]

    def domains(self, topology: str) -> Domains:
        """Return the domains of a topology."""
        if topology not in self._domains:
            self._domains[topology] = Domains(self.model.domains(topology, self.columns))
        return self._domains[topology]


@dataclass(eq=False)
class ClusterState:
    """The changing part of a cluster.

    - `free` (R, n): amounts that no pod requests. `loaded` (2, n): CPU and memory that scores count.
    - `counts`: for each row of the model, its sum over the pods of each node.
    - `present`, `open` (n,): whether a node exists, and whether it is not cordoned.
    - `pods`: the pods of each node, by a number of their own, with their kinds in `kinds`.
    - `budgets`, `guards`: disruptions that each budget allows, and the budgets of each pod.
    - `first`: where the next search for feasible nodes begins.
    """

    layout: Layout
    free: IntArray
    loaded: IntArray
    counts: IntArray
    present: BoolArray
    open: BoolArray
    pods: list[set[int]]
    kinds: Sequence[int]
    budgets: list[int] = field(default_factory=list)
    guards: Mapping[int, Sequence[int]] = field(default_factory=dict)
    first: int = 0
    order: IntArray | None = None

    @staticmethod
    def make_empty(layout: Layout, kinds: Sequence[int]) -> ClusterState:
        """Return the state without pods, in which all nodes are present. `kinds`: the kind of each pod."""
        n, nodes = len(layout.columns), layout.model.nodes
        return ClusterState(
            layout=layout,
            free=layout.room.copy(),
            loaded=np.zeros((2, n), dtype=np.int64),
            counts=np.zeros((layout.model.rows, n), dtype=np.int64),
            present=np.ones(n, dtype=bool),
            open=np.array([not nodes[m].cordoned for m in layout.columns], dtype=bool),
            pods=[set() for _ in range(n)],
            kinds=kinds,
        )

    def copy(self) -> ClusterState:
        """Return a copy that changes on its own."""
        return replace(
            self,
            free=self.free.copy(),
            loaded=self.loaded.copy(),
            counts=self.counts.copy(),
            present=self.present.copy(),
            open=self.open.copy(),
            pods=[set(pods) for pods in self.pods],
            budgets=list(self.budgets),
        )

    def put(self, pod: int, n: int) -> None:
        """Put a pod on a node."""
        self._add(pod, n, 1)
        self.pods[n].add(pod)

    def take(self, pod: int, n: int) -> None:
        """Take a pod from its node."""
        self._add(pod, n, -1)
        self.pods[n].remove(pod)

    def _add(self, pod: int, n: int, sign: int) -> None:
        kind = self.layout.model.prepared[self.kinds[pod]]
        for r, amount in kind.need:
            self.free[r, n] -= sign * amount
        self.loaded[0, n] += sign * kind.scored[0]
        self.loaded[1, n] += sign * kind.scored[1]
        rows, weights = kind.effects
        self.counts[rows, n] += sign * weights

    def set_present(self, n: int, present: bool) -> None:
        """Add a node to the cluster, or delete it."""
        self.present[n] = present
        self.order = None

    def list_nodes(self) -> IntArray:
        """Return the nodes in the order in which kube-scheduler looks at them: one of each zone in turn.

        Source: `backend/cache/node_tree.go`, `list`.
        """
        if self.order is None:
            zones: dict[object, list[int]] = {}
            for n in np.flatnonzero(self.present).tolist():
                zones.setdefault(self.layout.model.zone(int(self.layout.columns[n])), []).append(n)
            turns = zip_longest(*zones.values())
            self.order = np.array([n for turn in turns for n in turn if n is not None], dtype=np.int64)
        return self.order


# filters: masks over the nodes


def filter_unschedulable(state: ClusterState, kind: PreparedKind) -> BoolArray:
    """Return the nodes that are not cordoned. Source: `nodeunschedulable/node_unschedulable.go`, `Filter`."""
    return np.ones_like(state.open) if kind.ignores_cordon else state.open


def filter_taints(state: ClusterState, kind: PreparedKind) -> BoolArray:
    """Return the nodes whose taints are tolerated. Source: `tainttoleration/taint_toleration.go`, `Filter`."""
    return kind.tolerates


def filter_affinity(state: ClusterState, kind: PreparedKind) -> BoolArray:
    """Return the nodes of selector and required affinity. Source: `nodeaffinity/node_affinity.go`, `Filter`."""
    return kind.selects


def filter_volumes(state: ClusterState, kind: PreparedKind) -> BoolArray:
    """Return the nodes that can access the volumes. Source: `volumebinding/volume_binding.go`, `Filter`."""
    return kind.mounts


def filter_ports(state: ClusterState, kind: PreparedKind) -> BoolArray:
    """Return the nodes on which the host ports are free. Source: `nodeports/node_ports.go`, `Filter`."""
    found = np.ones_like(state.present)
    for row in kind.conflicts:
        found &= state.counts[row] == 0
    return found


def filter_resources(state: ClusterState, kind: PreparedKind) -> BoolArray:
    """Return the nodes with enough resources, and volumes that can still be attached.

    Sources: `noderesources/fit.go`, `fitsRequest`; `nodevolumelimits/csi.go`, `Filter`.
    """
    found = np.ones_like(state.present)
    for r, amount in kind.need:
        found &= state.free[r] >= amount
    return found


def filter_spread(state: ClusterState, kind: PreparedKind) -> BoolArray:
    """Return the nodes that violate no hard spread. Source: `podtopologyspread/filtering.go`, `Filter`."""
    found, counting = np.ones_like(state.present), state.present
    for count in kind.spread:
        counting = counting & state.layout.domains(count.rule.topology).has
    for count in kind.spread:
        domains = state.layout.domains(count.rule.topology)
        eligible = counting & count.eligible
        values = np.where(eligible, state.counts[count.row], 0)
        if domains.alone:
            sums, there = values, values[eligible]
        else:
            by_domain = np.bincount(domains.of, weights=values, minlength=domains.number).astype(np.int64)
            exists = np.bincount(domains.of, weights=eligible, minlength=domains.number) > 0
            exists[0] = False
            sums, there = by_domain[domains.of], by_domain[exists]
        least = 0 if len(there) < count.rule.min_domains else int(there.min(initial=2**31))
        found &= domains.has & (sums + count.itself - least <= count.rule.skew)
    return found


def filter_pods(state: ClusterState, kind: PreparedKind) -> BoolArray:
    """Return the nodes that satisfy affinity and anti-affinity to pods.

    Source: `interpodaffinity/filtering.go`, `satisfyPodAffinity`, `satisfyPodAntiAffinity` and
    `satisfyExistingPodsAntiAffinity`.
    """
    found = np.ones_like(state.present)
    for row, topology in (*kind.against, *kind.away):
        domains = state.layout.domains(topology)
        found &= ~(domains.has & (domains.total(state.counts[row]) > 0))
    if kind.near is not None:
        row, topologies, itself = kind.near
        counted = [state.layout.domains(topology) for topology in topologies]
        values = state.counts[row]
        satisfied, somewhere = np.ones_like(found), False
        for domains in counted:
            found &= domains.has
            satisfied &= domains.total(values) > 0
            somewhere |= bool((values[domains.has] > 0).any())
        if somewhere or not itself:  # the first pod of a group that selects itself may go anywhere
            found &= satisfied
    return found


Filter = Callable[[ClusterState, PreparedKind], BoolArray]
FILTERS: Mapping[str, Filter] = {
    "NodeUnschedulable": filter_unschedulable,
    "TaintToleration": filter_taints,
    "NodeAffinity": filter_affinity,
    "NodePorts": filter_ports,
    "NodeResourcesFit": filter_resources,
    "VolumeBinding": filter_volumes,
    "PodTopologySpread": filter_spread,
    "InterPodAffinity": filter_pods,
}


# scores of feasible nodes, from 0 to 100


def score_least_allocated(state: ClusterState, kind: PreparedKind, at: IntArray) -> IntArray:
    """Return the mean free share of CPU and memory.

    Source: `noderesources/least_allocated.go`, `leastResourceScorer`.
    """
    total, number = np.zeros(len(at), dtype=np.int64), np.zeros(len(at), dtype=np.int64)
    for i, r in enumerate(state.layout.model.main):
        size, used = state.layout.room[r, at], state.loaded[i, at] + kind.scored[i]
        total += np.where(used <= size, (size - used) * MAX_SCORE // np.maximum(size, 1), 0)
        number += size > 0
    return total // np.maximum(number, 1)


def score_balance(state: ClusterState, kind: PreparedKind, at: IntArray) -> IntArray:
    """Return how equal the used shares of CPU and memory are.

    Source: `noderesources/balanced_allocation.go`, `balancedResourceScorer`.
    """
    if kind.best_effort:
        return np.zeros(len(at), dtype=np.int64)
    need, shares, known = dict(kind.need), [], np.ones(len(at), dtype=bool)
    for r in state.layout.model.main:
        size = state.layout.room[r, at]
        used = size - state.free[r, at] + need.get(r, 0)
        shares.append(np.minimum(used / np.maximum(size, 1), 1.0))
        known &= size > 0
    apart = np.where(known, np.abs((shares[0] - shares[1]) / 2), 0.0)
    return ((1 - apart) * float(MAX_SCORE)).astype(np.int64)


def score_spread(state: ClusterState, kind: PreparedKind, at: IntArray) -> IntArray:
    """Return how few of the pods that soft spreads count are in the domains of each node.

    Source: `podtopologyspread/scoring.go`, `PreScore`, `Score` and `NormalizeScore`.
    """
    if not kind.scattered:
        return np.zeros(len(at), dtype=np.int64)
    scored, counting = np.ones(len(at), dtype=bool), state.present
    if kind.own_spread:  # otherwise nodes without a label are a domain, too
        for count in kind.scattered:
            has = state.layout.domains(count.rule.topology).has
            scored, counting = scored & has[at], counting & has
    total = np.zeros(len(at))
    for count in kind.scattered:
        total += _count_score(state, count, at, scored, counting)
    score = np.floor(total + 0.5).astype(np.int64)
    there = score[scored]
    most, least = int(there.max(initial=0)), int(there.min(initial=2**62))
    found = np.full(len(at), MAX_SCORE) if not most else MAX_SCORE * (most + least - score) // most
    return np.where(scored, found, 0)


def _count_score(
    state: ClusterState, count: SpreadCount, at: IntArray, scored: BoolArray, counting: BoolArray
) -> FloatArray:
    """Return what a soft spread adds to the score of nodes. Source: `podtopologyspread/scoring.go`, `scoreForCount`."""
    domains, values = state.layout.domains(count.rule.topology), state.counts[count.row]
    of = domains.of[at]
    if count.rule.topology == HOSTNAME:  # all pods of a node count, even if other nodes are not eligible
        number, counted = int(scored.sum()), values[at]
    else:
        number = len(np.unique(of[scored]))
        counted = domains.total(np.where(counting & count.eligible, values, 0))[at]
    return np.where(of > 0, counted * np.log(number + 2) + (count.rule.skew - 1), 0.0)


def score_pods(state: ClusterState, kind: PreparedKind, at: IntArray) -> IntArray:
    """Return the weights of preferences for pods in the domains of each node.

    Source: `interpodaffinity/scoring.go`, `PreScore`, `Score` and `NormalizeScore`.
    """
    total = np.zeros(len(at), dtype=np.int64)
    for row, topology in kind.pull:
        domains = state.layout.domains(topology)
        total += np.where(domains.has, domains.total(state.counts[row]), 0)[at]
    least, most = int(total.min(initial=2**62)), int(total.max(initial=-(2**62)))
    if most <= least:
        return np.zeros(len(at), dtype=np.int64)
    return (float(MAX_SCORE) * ((total - least) / (most - least))).astype(np.int64)


def score_taints(state: ClusterState, kind: PreparedKind, at: IntArray) -> IntArray:
    """Return how few taints a pod would rather avoid. Source: `tainttoleration/taint_toleration.go`, `Score`."""
    return MAX_SCORE - _normalize(kind.taints[at])


def score_affinity(state: ClusterState, kind: PreparedKind, at: IntArray) -> IntArray:
    """Return the weights of preferred node affinity. Source: `nodeaffinity/node_affinity.go`, `Score`."""
    return _normalize(kind.weights[at])


def _normalize(scores: IntArray) -> IntArray:
    """Return scores relative to the maximum. Source: `helper/normalize_score.go`, `DefaultNormalizeScore`."""
    most = int(scores.max(initial=0))
    return MAX_SCORE * scores // most if most else np.zeros_like(scores)


def score_images(state: ClusterState, kind: PreparedKind, at: IntArray) -> IntArray:
    """Return how much of the images a node has, weighted by the share of nodes that have them.

    Source: `imagelocality/image_locality.go`, `sumImageScores` and `calculatePriority`.
    """
    if not kind.images:
        return np.zeros(len(at), dtype=np.int64)
    total, nodes = np.zeros(len(at), dtype=np.int64), int(state.present.sum())
    for image in kind.images:
        sizes = state.layout.image_sizes[image]
        total += (sizes[at] * (int((sizes[state.present] > 0).sum()) / nodes)).astype(np.int64)
    most = LARGEST_IMAGE * kind.containers
    return MAX_SCORE * (np.clip(total, SMALLEST_IMAGE, most) - SMALLEST_IMAGE) // (most - SMALLEST_IMAGE)


Score = Callable[[ClusterState, PreparedKind, IntArray], IntArray]
SCORES: Mapping[str, tuple[int, Score]] = {
    "TaintToleration": (3, score_taints),
    "NodeAffinity": (2, score_affinity),
    "PodTopologySpread": (2, score_spread),
    "InterPodAffinity": (2, score_pods),
    "NodeResourcesFit": (1, score_least_allocated),
    "NodeResourcesBalancedAllocation": (1, score_balance),
    "ImageLocality": (1, score_images),
}
"""Weight and function of each score. Source: `apis/config/v1/default_plugins.go`, `getDefaultPlugins`."""


# a cycle


def find_feasible(state: ClusterState, kind: PreparedKind) -> BoolArray:
    """Return the nodes that pass all filters."""
    found = state.present.copy()
    for find_passing in FILTERS.values():
        found &= find_passing(state, kind)
    return found


def choose_node(state: ClusterState, pod: int, draw: random.Random) -> int | None:
    """Return the node for a pod: the one with the highest score, a random one of several; `None` if none is feasible.

    Source: `schedule_one.go`, `schedulePod`, `findNodesThatPassFilters` and `selectHost`.
    """
    kind = state.layout.kind(state.kinds[pod])
    at = _sample(state, find_feasible(state, kind))
    if len(at) <= 1:
        return int(at[0]) if len(at) else None
    total = score_least_allocated(state, kind, at) + score_balance(state, kind, at)
    if kind.scattered:
        total += SCORES["PodTopologySpread"][0] * score_spread(state, kind, at)
    if kind.pull:
        total += SCORES["InterPodAffinity"][0] * score_pods(state, kind, at)
    if kind.taints.any():
        total += SCORES["TaintToleration"][0] * score_taints(state, kind, at)
    if kind.weights.any():
        total += SCORES["NodeAffinity"][0] * score_affinity(state, kind, at)
    if kind.images:
        total += score_images(state, kind, at)
    best = np.flatnonzero(total == total.max())
    return int(at[best[0] if len(best) == 1 else best[draw.randrange(len(best))]])


def _sample(state: ClusterState, feasible: BoolArray) -> IntArray:
    """Return the feasible nodes that are scored, of which a large cluster has enough before all are looked at.

    Source: `schedule_one.go`, `numFeasibleNodesToFind`.
    """
    nodes = int(state.present.sum())
    share = max(LOWEST_SHARE, SHARE - nodes // NODES_PER_SHARE)
    enough = nodes if nodes < FEWEST_FEASIBLE else max(FEWEST_FEASIBLE, nodes * share // 100)
    if enough >= nodes:
        return np.flatnonzero(feasible)
    turned = np.roll(state.list_nodes(), -state.first)
    passing = np.flatnonzero(feasible[turned])
    looked_at = nodes if len(passing) < enough else int(passing[enough - 1]) + 1
    state.first = (state.first + looked_at) % nodes
    return turned[passing[:enough]]


def preempt(state: ClusterState, pod: int) -> tuple[int, list[int]] | None:
    """Return the node on which a pod takes the place of pods of lower priority, and these pods; `None` without one.

    Sources: `framework/preemption/preemption.go`, `pickOneNodeForPreemption`;
    `defaultpreemption/default_preemption.go`, `SelectVictimsOnNode`. Start times of pods are ignored.
    """
    prepared, kind = state.layout.model.kinds, state.layout.kind(state.kinds[pod])
    priority = prepared[state.kinds[pod]].priority
    may = state.present & filter_unschedulable(state, kind) & kind.tolerates & kind.selects & kind.mounts
    best: tuple[tuple[int, ...], int, list[int]] | None = None
    tried = 0
    for n in np.flatnonzero(may).tolist() if prepared[state.kinds[pod]].preempts else ():
        lower = [other for other in sorted(state.pods[n]) if prepared[state.kinds[other]].priority < priority]
        if not lower or tried >= MOST_CANDIDATES:
            continue
        tried += 1
        victims = _select_victims(state, kind, n, lower)
        if victims is not None:
            levels = [prepared[state.kinds[other]].priority for other in victims]
            broken = sum(_breaks_budget(state, other) for other in victims)
            key = broken, max(levels), sum(levels), len(levels)
            if best is None or key < best[0]:
                best = key, n, victims
    return None if best is None else best[1:]


def _select_victims(state: ClusterState, kind: PreparedKind, n: int, lower: Sequence[int]) -> list[int] | None:
    """Return the pods that must leave a node; pods whose budget would be broken stay first, if they can."""
    kinds = state.layout.model.kinds
    for other in lower:
        state.take(other, n)
    victims = None
    if find_feasible(state, kind)[n]:
        victims = []
        for other in sorted(lower, key=lambda o: (not _breaks_budget(state, o), -kinds[state.kinds[o]].priority)):
            state.put(other, n)
            if not find_feasible(state, kind)[n]:
                state.take(other, n)
                victims.append(other)
    for other in lower:
        if victims is None or other in victims:
            state.put(other, n)
    return victims


def _breaks_budget(state: ClusterState, pod: int) -> bool:
    return any(state.budgets[budget] <= 0 for budget in state.guards.get(pod, ()))
