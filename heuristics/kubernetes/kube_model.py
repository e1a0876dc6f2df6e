"""Prepare the nodes and pods of a cluster for the port of kube-scheduler in `kube_scheduler`.

Pods that kube-scheduler cannot distinguish form a kind. All answers that do not change while pods come and go are
computed once for each kind: the nodes that it may be on, and the numbers of pods that its rules count. Such a number is
a row with a count for each node.

A label of a new node may be unknown, and so may the namespaces that a term selects. A model is `lenient` if an unknown
answer counts in favour of the pod, and strict if not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from instances.arrays import BoolArray, IntArray
from instances.kubernetes.dump import DumpedNode
from instances.kubernetes.pods import HOSTNAME, ZONES, Amounts, DumpedPod, HostPort
from instances.kubernetes.requirements import (
    NODE_NAME,
    Answer3,
    Labels,
    Placement,
    PodTerm,
    Requirement,
    SpreadRule,
    Taint,
    Term,
    are_all_true,
)

OWNER = "\x00 controller"  # stands for a label: a ReplicaSet selects its own pods, whatever its selector is
SELECTING = ("ReplicaSet", "StatefulSet", "ReplicationController")
"""Controllers whose pods are spread by default. Source: `plugins/helper/spread.go`, `DefaultSelector`."""
DEFAULT_SPREAD = ((HOSTNAME, 3), (ZONES[0], 5))
"""Topologies and maximum skews of the system's default. Source: `plugins/podtopologyspread/plugin.go`."""
CORDON = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
HARD_AFFINITY_WEIGHT = 1  # of InterPodAffinityArgs: a required term of a pod in place counts as a preference, too
PREFERENCE = "PreferNoSchedule"
UNLIMITED = 2**60
REGIONS = ("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region")
NONE: IntArray = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class KubeNode:
    """A node. `room`: allocatable amounts; `images`: their sizes by name; `attachable`: volumes by driver."""

    name: str
    labels: Labels
    taints: tuple[Taint, ...] = ()
    room: Amounts = field(default_factory=dict)
    images: Mapping[str, int] = field(default_factory=dict)
    attachable: Mapping[str, int] = field(default_factory=dict)
    cordoned: bool = False

    @staticmethod
    def read(node: DumpedNode, attachable: Mapping[str, int], taints: Sequence[Taint]) -> KubeNode:
        """Return a node of a dump with these taints."""
        labels = {**node.labels, NODE_NAME: node.name}
        return KubeNode(node.name, labels, tuple(taints), node.room, node.images, attachable, not node.ready)


@dataclass(frozen=True)
class PodKind:
    """The properties of a pod that matter to kube-scheduler.

    - `volumes`: the alternatives of nodes for each of its volumes.
    - `attached`: numbers of its volumes by driver.
    - The other fields are those of `DumpedPod`.
    """

    namespace: str
    labels: tuple[tuple[str, str], ...]
    owner: tuple[str, str] | None
    demand: tuple[tuple[str, int], ...]
    scored: tuple[int, int]
    placement: Placement
    volumes: tuple[tuple[Term, ...], ...]
    attached: tuple[tuple[str, int], ...]
    terms: tuple[PodTerm, ...]
    wished_terms: tuple[tuple[int, PodTerm], ...]
    spreads: tuple[SpreadRule, ...]
    preferred: tuple[tuple[int, Term], ...]
    ports: tuple[HostPort, ...]
    images: tuple[str, ...]
    priority: int
    preempts: bool
    terminating: bool

    @staticmethod
    def read(pod: DumpedPod, placement: Placement, attached: Mapping[str, int]) -> PodKind:
        """Return the kind of a pod with the constraints of its volumes in `placement`."""
        selecting = pod.owner is not None and pod.owner[0] in SELECTING
        own = {OWNER: "/".join(pod.owner)} if selecting and pod.owner is not None else {}
        return PodKind(
            namespace=pod.namespace,
            labels=tuple(sorted((dict(pod.labels) | own).items())),
            owner=pod.owner,
            demand=tuple(sorted(pod.demand.items())),
            scored=(pod.scored.get("cpu", 0), pod.scored.get("memory", 0)),
            placement=pod.placement,
            volumes=placement.terms[len(pod.placement.terms) :],
            attached=tuple(sorted(attached.items())),
            terms=tuple(term for term in pod.terms if term.kind != "spread"),
            wished_terms=pod.wished_terms,
            spreads=pod.spreads,
            preferred=pod.preferred,
            ports=pod.ports,
            images=pod.images,
            priority=pod.priority,
            preempts=pod.preempts,
            terminating=pod.terminating,
        )


@dataclass(frozen=True, eq=False)
class SpreadCount:
    """A spread constraint: the row that it counts, the nodes that count, and whether the pod counts itself."""

    row: int
    rule: SpreadRule
    eligible: BoolArray
    itself: bool


@dataclass(frozen=True, eq=False)
class PreparedKind:
    """What the plugins need of a kind; arrays have one entry per node (M,).

    - `need`: resources and amounts that it requests. `scored`: CPU and memory for scores. `best_effort`: it has none.
    - `selects`, `tolerates`, `mounts`: nodes by affinity, by taints and by volumes. `ignores_cordon`: it tolerates it.
    - `against`, `away`: rows and topologies of the anti-affinity of other pods, and of its own.
    - `near`: row, topologies and whether it selects itself, of its affinity.
    - `spread`, `scattered`: its hard and soft spreads. `own_spread`: the soft ones are not the default.
    - `pull`: rows and topologies of preferences for other pods.
    - `taints`: number of taints that it would rather avoid. `weights`: of preferred node affinity.
    - `images`: rows of the images; `conflicts`: rows of ports that it conflicts with.
    - `effects`: rows that count it, and by how much.
    """

    need: tuple[tuple[int, int], ...]
    scored: tuple[int, int]
    best_effort: bool
    selects: BoolArray
    tolerates: BoolArray
    mounts: BoolArray
    ignores_cordon: bool
    against: tuple[tuple[int, str], ...]
    away: tuple[tuple[int, str], ...]
    near: tuple[int, tuple[str, ...], bool] | None
    spread: tuple[SpreadCount, ...]
    scattered: tuple[SpreadCount, ...]
    own_spread: bool
    pull: tuple[tuple[int, str], ...]
    taints: IntArray
    weights: IntArray
    images: tuple[int, ...]
    containers: int
    conflicts: tuple[int, ...]
    effects: tuple[IntArray, IntArray] = (NONE, NONE)


class ClusterModel:
    """The nodes and kinds of pods of a cluster, with everything that does not change.

    - `services`: the selectors of Services with their namespaces.
    - `namespaces`: the labels of namespaces, as far as they are known.
    - `has_unknown`: whether an answer was unknown, so that a strict and a lenient model differ.
    """

    def __init__(
        self,
        nodes: Sequence[KubeNode],
        kinds: Sequence[PodKind],
        services: Iterable[tuple[str, Mapping[str, str]]] = (),
        namespaces: Mapping[str, Mapping[str, str]] | None = None,
        *,
        lenient: bool = False,
    ) -> None:
        self.namespaces = namespaces or {}
        self.nodes, self.kinds, self.lenient, self.has_unknown = list(nodes), list(kinds), lenient, False
        self.services = [(namespace, selector) for namespace, selector in services if selector]
        names = sorted({name for kind in kinds for name, _ in kind.demand} | {"cpu", "memory", "pods"})
        drivers = sorted({driver for kind in kinds for driver, _ in kind.attached})
        self.resources = {name: r for r, name in enumerate(names)}
        self.drivers = {driver: len(names) + d for d, driver in enumerate(drivers)}
        rooms = [[node.room.get(name, 0) for node in nodes] for name in names]
        rooms += [[node.attachable.get(driver, UNLIMITED) for node in nodes] for driver in drivers]
        self.room: IntArray = np.array(rooms, dtype=np.int64).reshape(len(rooms), len(nodes))
        self.main = self.resources["cpu"], self.resources["memory"]
        self._rows: dict[tuple[tuple[int, int], ...], int] = {}
        self._answers: dict[object, BoolArray] = {}
        self._chosen: dict[object, tuple[int, ...]] = {}
        self._labels = [dict(kind.labels) for kind in kinds]
        self._in_namespace: dict[str, list[int]] = {}
        for k, kind in enumerate(kinds):
            self._in_namespace.setdefault(kind.namespace, []).append(k)
        ports = dict.fromkeys(port for kind in kinds for port in kind.ports)
        self._ports = {port: self._row({k: 1 for k, kind in enumerate(kinds) if port in kind.ports}) for port in ports}
        self._images = {name: i for i, name in enumerate(dict.fromkeys(name for n in nodes for name in n.images))}
        self.image_sizes: IntArray = np.array(
            [[node.images.get(name, 0) for node in nodes] for name in self._images], dtype=np.int64
        ).reshape(len(self._images), len(nodes))
        drafts = [self._prepare(k) for k in range(len(kinds))]
        effects: list[list[tuple[int, int]]] = [[] for _ in kinds]
        for weights, row in self._rows.items():
            for k, weight in weights:
                effects[k].append((row, weight))
        self.prepared = [
            replace(draft, effects=(_column(own, 0), _column(own, 1)))
            for draft, own in zip(drafts, effects, strict=True)
        ]
        self.rows = len(self._rows)
        for topology in sorted(self._topologies):
            self.domains(topology, np.arange(len(nodes)))

    # answers

    def _is_true(self, answer: Answer3) -> bool:
        self.has_unknown |= answer is None
        return self.lenient if answer is None else answer

    def _row(self, weights: Mapping[int, int]) -> int:
        """Return the row that sums the weights of the pods of some kinds on each node."""
        key = tuple(sorted((k, weight) for k, weight in weights.items() if weight))
        return self._rows.setdefault(key, len(self._rows))

    def _ask(self, key: object, answers: Iterable[Answer3]) -> BoolArray:
        if key not in self._answers:
            self._answers[key] = np.array([self._is_true(answer) for answer in answers], dtype=bool)
        return self._answers[key]

    def _select_nodes(self, placement: Placement) -> BoolArray:
        key = "nodes", placement.selector, placement.terms
        return self._ask(key, (placement.selects(node.labels) for node in self.nodes))

    def _find_tolerated(self, placement: Placement) -> BoolArray:
        answers = (are_all_true(placement.tolerates(taint) for taint in node.taints) for node in self.nodes)
        return self._ask(("taints", placement.tolerations), answers)

    def _select(self, term: PodTerm) -> tuple[int, ...]:
        """Return the kinds that a term on other pods selects."""
        if term not in self._chosen:
            near = self.kinds if term.chosen is not None else ()
            some = {*range(len(near)), *(k for name in term.listed for k in self._in_namespace.get(name, ()))}
            found = []
            for k in sorted(some):
                namespace = self.kinds[k].namespace
                answer = term.selects(namespace, self._labels[k], self.namespaces.get(namespace))
                self.has_unknown |= answer is None
                if answer or (answer is None and self.lenient == (term.kind == "affinity")):
                    found.append(k)
            self._chosen[term] = tuple(found)
        return self._chosen[term]

    @cached_property
    def _holders(self) -> dict[PodTerm, dict[int, int]]:
        """Return, for each required term, the kinds that have it."""
        found: dict[PodTerm, dict[int, int]] = {}
        for k, kind in enumerate(self.kinds):
            for term in kind.terms:
                of = found.setdefault(term, {})
                of[k] = of.get(k, 0) + 1
        return found

    @cached_property
    def _pulls(self) -> list[dict[str, dict[int, int]]]:
        """Return, for each kind and topology, the weight of each other kind in the score of InterPodAffinity."""
        found: list[dict[str, dict[int, int]]] = [{} for _ in self.kinds]

        def add(k: int, topology: str, other: int, weight: int) -> None:
            weights = found[k].setdefault(topology, {})
            weights[other] = weights.get(other, 0) + weight

        for k, kind in enumerate(self.kinds):
            for weight, term in kind.wished_terms:
                for other in self._select(term):
                    add(k, term.topology, other, weight)
                    add(other, term.topology, k, weight)
            for term in kind.terms:
                if term.kind == "affinity":
                    for other in self._select(term):
                        add(other, term.topology, k, HARD_AFFINITY_WEIGHT)
        return found

    # kinds

    def _prepare(self, k: int) -> PreparedKind:
        kind = self.kinds[k]
        away, near = (
            [t for t in kind.terms if t.kind == "anti-affinity"],
            [t for t in kind.terms if t.kind == "affinity"],
        )
        rules, own = self._spreads(kind)
        counts = [self._count(kind, k, rule) for rule in rules]
        alone = Placement(terms=kind.volumes)
        demand = dict(kind.demand)
        affinity = None
        if near:
            chosen = set.intersection(*(set(self._select(term)) for term in near))
            affinity = self._row(dict.fromkeys(chosen, 1)), tuple(term.topology for term in near), k in chosen
        return PreparedKind(
            need=tuple(
                [(self.resources[name], amount) for name, amount in kind.demand if amount]
                + [(self.drivers[driver], number) for driver, number in kind.attached if number]
            ),
            scored=kind.scored,
            best_effort=not demand.get("cpu") and not demand.get("memory"),
            selects=self._select_nodes(kind.placement),
            tolerates=self._find_tolerated(kind.placement),
            mounts=self._select_nodes(alone),
            ignores_cordon=kind.placement.tolerates(CORDON) is True,
            against=tuple(
                dict.fromkeys(
                    (self._row(holders), term.topology)
                    for term, holders in self._holders.items()
                    if term.kind == "anti-affinity" and k in self._select(term)
                )
            ),
            away=tuple((self._row(dict.fromkeys(self._select(term), 1)), term.topology) for term in away),
            near=affinity,
            spread=tuple(count for count in counts if count.rule.hard),
            scattered=tuple(count for count in counts if not count.rule.hard),
            own_spread=own,
            pull=tuple(
                (self._row(weights), topology) for topology, weights in self._pulls[k].items() if any(weights.values())
            ),
            taints=self._count_avoided(kind),
            weights=self._weigh(kind),
            images=tuple(self._images[name] for name in map(normalize, kind.images) if name in self._images),
            containers=len(kind.images),
            conflicts=tuple(
                dict.fromkeys(row for port, row in self._ports.items() if any(port.meets(own) for own in kind.ports))
            ),
        )

    def _spreads(self, kind: PodKind) -> tuple[Sequence[SpreadRule], bool]:
        """Return the spread constraints, and whether they are the pod's own.

        Source: `plugins/podtopologyspread/common.go`, `buildDefaultConstraints`.
        """
        if kind.spreads:
            return kind.spreads, True
        labels = dict(kind.labels)
        chosen: dict[str, str] = {}
        for namespace, selector in self.services:
            if namespace == kind.namespace and selector.items() <= labels.items():
                chosen |= selector
        if OWNER in labels:
            chosen[OWNER] = labels[OWNER]
        term = tuple(Requirement(key, "In", (value,)) for key, value in sorted(chosen.items()))
        return [SpreadRule(topology, term, skew, hard=False) for topology, skew in DEFAULT_SPREAD if term], False

    def _count(self, kind: PodKind, k: int, rule: SpreadRule) -> SpreadCount:
        chosen = self._select(rule.term(kind.namespace))
        eligible = np.ones(len(self.nodes), dtype=bool)
        if rule.honours_affinity:
            eligible &= self._select_nodes(kind.placement)
        if rule.honours_taints:
            eligible &= self._find_tolerated(kind.placement)
        counted = {other: 1 for other in chosen if not self.kinds[other].terminating}
        return SpreadCount(self._row(counted), rule, eligible, k in chosen)

    def _count_avoided(self, kind: PodKind) -> IntArray:
        """Return the number of taints that the pod would rather avoid.

        Source: `plugins/tainttoleration/taint_toleration.go`, `countIntolerableTaintsPreferNoSchedule`.
        """
        own = [one for one in kind.placement.tolerations if one.effect in ("", PREFERENCE)]
        found = [
            sum(taint.effect == PREFERENCE and not any(one.tolerates(taint) for one in own) for taint in node.taints)
            for node in self.nodes
        ]
        return np.array(found, dtype=np.int64)

    def _weigh(self, kind: PodKind) -> IntArray:
        """Return the sum of the weights of the preferred node affinity terms that hold.

        Source: `plugins/nodeaffinity/node_affinity.go`, `Score`. An empty term holds nowhere.
        """
        found = np.zeros(len(self.nodes), dtype=np.int64)
        for weight, term in kind.preferred:
            if term:
                answers = (are_all_true(requirement.holds(node.labels) for requirement in term) for node in self.nodes)
                found += weight * self._ask(("preferred", term), answers)
        return found

    # topologies

    @property
    def _topologies(self) -> set[str]:
        """Return the topologies that a rule of a pod uses."""
        terms = [term for kind in self.kinds for term in (*kind.terms, *(wish for _, wish in kind.wished_terms))]
        return {term.topology for term in terms} | {rule.topology for kind in self.kinds for rule in kind.spreads}

    def domains(self, topology: str, columns: IntArray) -> IntArray:
        """Return the domain of each node: 0 if it has no such label, and at least 1 otherwise.

        `columns`: the nodes, of which several may be the same new node. An unknown value, and the host name of a new
        node, is a value of its own.
        """
        numbers: dict[str | int, int] = {}
        found = []
        for position, m in enumerate(columns.tolist()):
            labels = self.nodes[m].labels
            value = labels.get(topology)
            if topology not in labels or (value is None and not self.lenient):
                found.append(0)
            else:
                own = value is None or topology == HOSTNAME
                found.append(numbers.setdefault(position if own or value is None else value, len(numbers) + 1))
            self.has_unknown |= topology in labels and value is None
        return np.array(found, dtype=np.int64)

    def zone(self, m: int) -> tuple[str | None, str | None]:
        """Return the region and the zone of a node, by which kube-scheduler orders nodes."""
        labels = self.nodes[m].labels
        region, zone = (next((labels[k] for k in keys if labels.get(k)), None) for keys in (REGIONS, ZONES))
        return region, zone


def normalize(image: str) -> str:
    """Return the name of an image with a tag. Source: `plugins/imagelocality/image_locality.go`."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"


def _column(pairs: Sequence[tuple[int, int]], which: int) -> IntArray:
    return np.array([pair[which] for pair in pairs], dtype=np.int64)
