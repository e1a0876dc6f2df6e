"""Derive facts from a dump that all readings share: the pods that need a place, and the reasons against moving them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from instances.kubernetes.dump import Budget, Dump, DumpedNode
from instances.kubernetes.offerings import architecture
from instances.kubernetes.pods import HOSTNAME, SCHEDULER, ZONES, Amounts, DumpedPod, HostPort, add_amounts
from instances.kubernetes.requirements import Placement, PodTerm

DO_NOT_DISRUPT = "do-not-disrupt"
NO_BUDGET = "disruption budget with none left"
TWO_BUDGETS = "two disruption budgets"
UNKNOWN_BUDGET = "disruption budget without a status"
NO_CONTROLLER = "no controller"
OTHER_SCHEDULER = "another scheduler"
CONTROL_PLANE = "control plane"
NO_SCALE_DOWN = "scale-down disabled"
WAITED_FOR = "pending pods of another scheduler"
CANNOT_RETURN = "{} that today forbids a return"
ROLES = tuple(f"node-role.kubernetes.io/{role}" for role in ("control-plane", "master", "controlplane", "etcd"))
"""Labels and taints of the nodes of a control plane, including those of RKE."""
SHARED_VOLUME = "volume of one node that several pods mount"
NO_CLAIM = "volume that is not in the dump"
Meant = Sequence[tuple[DumpedPod, bool]]
"""Pods that a term selects, and whether this is certain."""


@dataclass(frozen=True)
class PinReason:
    """A reason against moving a pod.

    - `said`: the reason as users see it.
    - `wish`: whether a user has requested it; otherwise it is a feature that this reader does not support.
    - `stays`: the label whose value must stay the same; `None` if the pod must stay on its node.
    """

    said: str
    wish: bool = False
    stays: str | None = None


@dataclass(frozen=True)
class PodGroup:
    """Pods of which a node holds at most `most`. `hard`: the limit is exactly the constraint, not stricter."""

    pods: frozenset[DumpedPod]
    most: int
    hard: bool


@dataclass(frozen=True)
class Waited:
    """A node that a pending pod of another scheduler waits for. `fits`: whether the pod has room there today."""

    node: DumpedNode
    fits: bool


@dataclass
class Facts:
    """The facts of a dump, computed on demand."""

    dump: Dump

    @cached_property
    def nodes(self) -> list[DumpedNode]:
        return list(self.dump.nodes.values())

    @cached_property
    def alive(self) -> list[DumpedPod]:
        """Return the pods that use resources: they have not ended, and are pending or on a node of the dump."""
        return [
            pod
            for pod in self.dump.pods.values()
            if pod.phase not in ("Succeeded", "Failed") and (pod.node is None or pod.node in self.dump.nodes)
        ]

    @cached_property
    def fixtures(self) -> dict[str, list[DumpedPod]]:
        """Return, by node, the pods that are tied to it: those of DaemonSets, and static pods."""
        found: dict[str, list[DumpedPod]] = {node.name: [] for node in self.nodes}
        for pod in self.alive:
            if pod.node is not None and (pod.is_of_daemon or pod.mirror):
                found[pod.node].append(pod)
        return found

    @cached_property
    def control_plane(self) -> set[DumpedNode]:
        """Return the nodes with a role of the control plane, or with a static pod that most nodes lack."""
        static = {  # without the name of the node, which kubelet adds to the name in the manifest
            node: {
                (pod.namespace, pod.name.removesuffix(f"-{pod.node}")) for pod in self.fixtures[node.name] if pod.mirror
            }
            for node in self.nodes
        }
        common = Counter(name for names in static.values() for name in names)
        rare = {name for name, n in common.items() if 2 * n < len(self.nodes)}
        return {
            node
            for node in self.nodes
            if any(role in node.labels for role in ROLES)
            or any(taint.key in ROLES for taint in node.taints)
            or static[node] & rare
        }

    @cached_property
    def places_for_pending(self) -> dict[DumpedPod, Waited | None]:
        """Return, for each pending pod of another scheduler, a node for it, `None` if no node can hold it.

        A pod that fits on no node today gets a node that can hold it alone, if no other pod has that node.
        """
        pods = [pod for pod in self.alive if pod.node is None and other_scheduler(pod) and not pod.gated]
        empty = {node: self._subtract_pods(node, self.fixtures[node.name]) for node in self.nodes if pods}
        on_node: dict[str, list[DumpedPod]] = {}
        for pod in self.alive:
            if pod.node is not None:
                on_node.setdefault(pod.node, []).append(pod)
        free = {node: self._subtract_pods(node, on_node.get(node.name, ())) for node in empty}
        found: dict[DumpedPod, Waited | None] = {}
        kept = set(self.control_plane)
        for pod in sorted(pods, key=lambda pod: sorted(pod.demand.items()), reverse=True):
            placement = self.placement(pod)
            may = [n for n in empty if n.ready and placement.admits(n.labels, n.lasting_taints) is not False]

            def spare(node: DumpedNode) -> tuple[bool, int, int]:
                """Order nodes that are kept anyway first, then those with few devices and little room."""
                return node not in kept, sum("/" in name for name in node.room), free[node].get("cpu", 0)

            fitting = [node for node in may if _holds(free[node], pod.demand)]
            alone = [node for node in may if node not in kept and _holds(empty[node], pod.demand)]
            node = min(fitting or alone, key=spare, default=None)
            found[pod] = None if node is None else Waited(node, bool(fitting))
            if node is not None:
                kept.add(node)
            if node is not None and fitting:
                free[node] = {name: left - pod.demand.get(name, 0) for name, left in free[node].items()}
        return found

    @staticmethod
    def _subtract_pods(node: DumpedNode, pods: Iterable[DumpedPod]) -> Amounts:
        taken = add_amounts(pod.demand for pod in pods)
        return {name: amount - taken.get(name, 0) for name, amount in node.room.items()}

    @cached_property
    def nodes_to_keep(self) -> dict[DumpedNode, str]:
        """Return the nodes that no plan and no bound removes, with the reason, without those with do-not-disrupt."""
        found = {waited.node: WAITED_FOR for waited in self.places_for_pending.values() if waited is not None}
        found |= {node: NO_SCALE_DOWN for node in self.nodes if node.no_scale_down}
        return found | dict.fromkeys(self.control_plane, CONTROL_PLANE)

    @cached_property
    def architectures(self) -> dict[tuple[str, str], set[str]]:
        """Return the architectures on which pods of each workload run."""
        found: dict[tuple[str, str], set[str]] = {}
        for pod in self.movable:
            arch = None if pod.node is None else architecture(self.dump.nodes[pod.node].labels)
            if arch is not None:
                found.setdefault((pod.namespace, pod.workload), set()).add(arch)
        return found

    @cached_property
    def leaving(self) -> dict[str, Amounts]:
        """Return, by node, the demand of terminating pods."""
        found: dict[str, list[Amounts]] = {}
        for pod in self.alive:
            if ends(pod) and pod.node is not None and not (pod.is_of_daemon or pod.mirror):
                found.setdefault(pod.node, []).append(pod.demand)
        return {node: add_amounts(demands) for node, demands in found.items()}

    @cached_property
    def movable(self) -> list[DumpedPod]:
        """Return the pods that need a place in a plan."""
        return [
            pod
            for pod in self.alive
            if not (pod.is_of_daemon or pod.mirror or ends(pod))
            and (pod.node is not None or not (pod.gated or other_scheduler(pod)))
        ]

    @cached_property
    def placements(self) -> dict[DumpedPod, Placement]:
        """Return the node constraints of each pod, including those of its volumes."""
        return {pod: self.placement(pod) for pod in self.movable}

    def placement(self, pod: DumpedPod) -> Placement:
        """Return the node constraints of a pod, including those of its volumes."""
        found = pod.placement
        for claim in pod.claims:
            volume = self.dump.volumes.get(self.dump.claims.get((pod.namespace, claim), ""))
            if volume is not None and volume.terms is not None:
                found = found.add_volume(volume.terms)
        return found

    @cached_property
    def keys(self) -> set[str]:
        """Return the labels of nodes that the constraints of pods and DaemonSets use."""
        asked = [*self.placements.values(), *(daemon.placement for daemon in (self.dump.daemons or {}).values())]
        asked += [pod.placement for pods in self.fixtures.values() for pod in pods]
        found = {key for placement in dict.fromkeys(asked) for key in placement.keys}
        return found | {reason.stays for reasons in self.reasons.values() for reason in reasons if reason.stays}

    @cached_property
    def reasons(self) -> dict[DumpedPod, list[PinReason]]:
        """Return the reasons against moving each pod, for every tool."""
        found: dict[DumpedPod, list[PinReason]] = {pod: [] for pod in self.movable}
        for pod, reasons in found.items():
            reasons += [PinReason(DO_NOT_DISRUPT, wish=True)] * pod.never_moved
            reasons += [PinReason(OTHER_SCHEDULER)] * other_scheduler(pod)
            reasons += [PinReason(said) for said in pod.unclear]
            if any(not self.dump.claims.get((pod.namespace, claim)) for claim in pod.claims):
                reasons.append(PinReason(NO_CLAIM))
        self._budgets(found)
        self._add_shared_volumes(found)
        self._add_reasons(found)
        return {pod: list(dict.fromkeys(reasons)) for pod, reasons in found.items()}

    def _budgets(self, found: dict[DumpedPod, list[PinReason]]) -> None:
        for pod, reasons in found.items():
            own = self.budgets_of(pod)
            if len(own) > 1:
                reasons.append(PinReason(TWO_BUDGETS, wish=True))
            elif own and own[0].allowed is None:
                reasons.append(PinReason(UNKNOWN_BUDGET))
            elif own and own[0].allowed == 0:
                reasons.append(PinReason(NO_BUDGET, wish=True))

    def budgets_of(self, pod: DumpedPod) -> list[Budget]:
        """Return the disruption budgets that apply to a pod."""
        return [
            budget
            for budget in (self.dump.budgets or {}).values()
            if budget.namespace == pod.namespace
            and budget.selector is not None
            and all(requirement.holds(pod.labels) for requirement in budget.selector)
        ]

    def drivers(self, pod: DumpedPod) -> Counter[str]:
        """Return the number of volumes of a pod for each driver that attaches volumes to nodes."""
        names = {self.dump.claims.get((pod.namespace, claim), "") for claim in pod.claims}
        volumes = [self.dump.volumes[name] for name in names if name in self.dump.volumes]
        return Counter(volume.driver for volume in volumes if volume.driver is not None)

    def _add_shared_volumes(self, found: dict[DumpedPod, list[PinReason]]) -> None:
        users: dict[str, list[DumpedPod]] = {}
        for pod in found:
            for claim in pod.claims:
                users.setdefault(self.dump.claims.get((pod.namespace, claim), ""), []).append(pod)
        for name, pods in users.items():
            volume = self.dump.volumes.get(name)
            if volume is not None and volume.one_node and len(pods) > 1:
                for pod in pods:
                    found[pod].append(PinReason(SHARED_VOLUME))

    @cached_property
    def _terms(self) -> list[tuple[PodTerm, list[DumpedPod], Meant]]:
        """Return each term, the pods that have it, and the pods that it selects."""
        holders: dict[PodTerm, list[DumpedPod]] = {}
        in_namespace: dict[str, list[DumpedPod]] = {}
        for pod in self.alive:
            if not ends(pod):
                in_namespace.setdefault(pod.namespace, []).append(pod)
                for term in pod.terms:
                    holders.setdefault(term, []).append(pod)
        found: list[tuple[PodTerm, list[DumpedPod], Meant]] = []
        for term, pods in holders.items():
            where = in_namespace if term.namespaces is None else term.namespaces
            near = [pod for name in sorted(where) for pod in in_namespace.get(name, ())]
            answers = [(pod, term.means(pod.namespace, pod.labels)) for pod in near]
            found.append((term, pods, [(pod, bool(answer)) for pod, answer in answers if answer is not False]))
        return found

    def _add_reasons(self, found: dict[DumpedPod, list[PinReason]]) -> None:
        """Add reasons for the terms that no group represents exactly.

        The pods that have such a term, and those that it selects, stay on their node, or in their zone for zone terms.
        """
        for term, holders, meant in self._terms:
            if self._is_implied_by_group(term, holders, meant):
                continue
            where = "zones" if term.topology in ZONES else "nodes" if term.topology == HOSTNAME else term.topology
            said = f"{term.kind} on {where}"
            near = PinReason(said, stays=None if term.topology == HOSTNAME else term.topology)
            stuck = self._find_stranded(term, holders, meant) if near.stays else set()
            for pod in dict.fromkeys((*holders, *(pod for pod, _ in meant))):
                if pod in found:
                    found[pod].append(PinReason(CANNOT_RETURN.format(said)) if pod in stuck else near)

    def _find_stranded(self, term: PodTerm, holders: Sequence[DumpedPod], meant: Meant) -> set[DumpedPod]:
        """Return the pods that kube-scheduler would not put back into their domain once they are evicted."""

        def domain(pod: DumpedPod) -> str | None:
            return None if pod.node is None else self.dump.nodes[pod.node].labels.get(term.topology)

        counted = {pod for pod, _ in meant}
        count = Counter(domain(pod) for pod in counted)
        if term.kind == "anti-affinity":
            having = Counter(domain(pod) for pod in holders)
            return {
                pod
                for pod in {*counted, *holders}
                if domain(pod) is not None
                and (
                    (pod in counted and having[domain(pod)] > (pod in holders))
                    or (pod in holders and count[domain(pod)] > (pod in counted))
                )
            }
        if term.kind != "spread":
            return set()
        domains: dict[Placement, set[str]] = {}
        found = set()
        for pod in holders:
            own = domain(pod)
            if own is None:
                continue
            if pod.placement not in domains:
                may = (node for node in self.nodes if pod.placement.admits(node.labels, ()) is not False)
                domains[pod.placement] = {node.labels[term.topology] for node in may if term.topology in node.labels}
            itself = pod in counted
            # kube-scheduler counts without the evicted pod, and adds it to the domain that it would go to
            others = {at: count[at] - (itself and at == own) for at in {*domains[pod.placement], own}}
            fewest = 0 if len(domains[pod.placement]) < term.min_domains else min(others.values())
            if others[own] + itself - fewest > term.skew:
                found.add(pod)
        return found

    def _is_implied_by_group(self, term: PodTerm, holders: Sequence[DumpedPod], meant: Meant) -> bool:
        """Return whether a limit per node on a group of pods implies the term."""
        if term.topology != HOSTNAME or term.kind == "affinity":
            return False
        if not all(surely and pod in self._movable for pod, surely in meant):
            return False
        group = {pod for pod, _ in meant}
        alone = term.kind == "spread" or group <= set(holders)
        return alone and set(holders) <= group

    @cached_property
    def _movable(self) -> set[DumpedPod]:
        return set(self.movable)

    @cached_property
    def groups(self) -> list[PodGroup]:
        """Return the anti-affinity of pods to each other, host ports, and spreads over nodes.

        A spread compares nodes; a limit of `skew` pods on each node is stricter than the spread.
        """
        found = []
        for term, holders, meant in self._terms:
            sure = frozenset(pod for pod, surely in meant if surely and pod in self._movable)
            if term.topology != HOSTNAME:
                continue
            if term.kind == "anti-affinity":
                found.append(PodGroup(sure & set(holders), 1, hard=True))
            elif self._is_implied_by_group(term, holders, meant):
                found.append(PodGroup(sure, term.skew, hard=False))
        takers: dict[HostPort, set[DumpedPod]] = {}
        for pod in self.movable:
            for port in pod.ports:
                takers.setdefault(port, set()).add(pod)
        for port, pods in takers.items():  # an empty address conflicts with all others
            found.append(PodGroup(frozenset(pods | takers.get(replace(port, address=""), set())), 1, hard=True))
        return [group for group in dict.fromkeys(found) if len(group.pods) > group.most]


def _holds(room: Amounts, demand: Amounts) -> bool:
    return all(amount <= room.get(name, 0) for name, amount in demand.items())


def ends(pod: DumpedPod) -> bool:
    """Return whether a pod is terminating for good; a pod of a StatefulSet returns with the same name."""
    return pod.terminating and (pod.owner is None or pod.owner[0] != "StatefulSet")


def other_scheduler(pod: DumpedPod) -> bool:
    return pod.scheduler != SCHEDULER
