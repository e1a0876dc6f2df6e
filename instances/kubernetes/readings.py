"""Convert a dump to two problems of `node-consolidation`: one for a bound, and one for a plan.

For the bound, unsupported constraints are dropped and amounts are rounded in favour of the cluster. So the result is an
upper limit of the savings. For the plan, a pod with an unsupported constraint stays on its node. So the plan violates
no constraint, and its savings are achievable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from instances.eva.constraints import Spread
from instances.kubernetes.dump import DumpedDaemon, DumpedNode
from instances.kubernetes.facts import (
    DO_NOT_DISRUPT,
    NO_CONTROLLER,
    NO_SCALE_DOWN,
    WAITED_FOR,
    Facts,
    PinReason,
    ends,
)
from instances.kubernetes.measured import Aliases, MeasuredDump
from instances.kubernetes.node_consolidation import ConsolidatedPod, Moves, NodeConsolidation, RentedType, RunningNode
from instances.kubernetes.offerings import ARCH, OLD, NodePool, Offering, offerings, pools_of
from instances.kubernetes.pods import DumpedPod
from instances.kubernetes.prices import PricedOffer, Prices
from instances.kubernetes.requirements import Answer3, Placement, Requirement

Purpose = Literal["bound", "plan"]
Tool = Literal["drain", "karpenter", "ca"]
"""The tool that moves pods: tools differ in the pods that they never move."""

SYSTEM = "kube-system", "kube-system without a disruption budget"
LOCAL = "local storage"
ARCHITECTURE = "architectures on which the workload does not run"
WISHES = "preferences and soft spreads"
FULL = "pending, no room today and nothing to rent"
TERMINATING, GATED, NOWHERE, NO_NODE = "terminating", "scheduling gate", "pending, fits nowhere", "node not in the dump"
PENDING = "pending, with {}"
CLOSED = "cordoned or not ready nodes"
NO_DAEMONS = "DaemonSets on new nodes, which are not in the dump"

LONGEST_NAME = 180  # characters, of the 200 that a name may have


@dataclass(frozen=True, eq=False)
class DumpReading:
    """The problem, and statistics on the constraints of the dump.

    - `pinned`: by reason, the number of pods that stay on their node or in their zone.
    - `dropped`: by reason, the number of pods with an ignored constraint or without a place.
    - `unpriced`: nodes whose price is unknown, by type, zone and capacity type.
    - `offerings`: the offering for each name of a type in the problem.
    - `members`: the pods of each entry.
    - `kept`: by reason, the number of nodes that are kept at any cost.
    - `pending`: the number of pending pods that get a place.
    - `not_rented`: types of the table that no pool may use.
    """

    data: NodeConsolidation
    pinned: Mapping[str, int]
    dropped: Mapping[str, int]
    unpriced: Mapping[tuple[str, str, str], int]
    offerings: Mapping[str, Offering]
    members: Mapping[str, Sequence[DumpedPod]]
    kept: Mapping[str, int]
    pending: int
    not_rented: Sequence[str]


@dataclass(frozen=True)
class Hold:
    """The effect of the reasons of a pod: it is `pinned`, restricted to nodes that satisfy `near`, or `left_out`."""

    pinned: bool = False
    near: tuple[Requirement, ...] = ()
    left_out: bool = False


@dataclass
class Reader:
    """Read a dump; all readings share the names in `aliases`.

    The plan and all rules use the same offerings. The bound serves the pending pods that the plan serves, so it is a
    bound on the cost of the plan.
    """

    facts: Facts
    prices: Prices
    aliases: Aliases = field(default_factory=Aliases)

    def read(
        self, purpose: Purpose, tool: Tool = "drain", free_of: Collection[str] = (), moves: Moves = "nodes"
    ) -> DumpReading:
        """Return the problem for a purpose and a tool that moves pods, without the reasons in `free_of`."""
        plan, made = self._plan
        if purpose == "bound":
            running = {offer.type for node in self.facts.nodes if (offer := self.prices.of(node)) is not None}
            prices = self.prices.keep_types(running | {kind.offer.type for kind in plan.kinds})
            reading = OneReading(self.facts, prices, self.aliases, False, tool, free_of, served=plan.served)
        elif tool == "drain" and not free_of and moves == made.data.moves:
            return made
        else:
            rented = () if free_of else plan.rented
            reading = OneReading(self.facts, self.prices, self.aliases, True, tool, free_of, rented, plan.kinds)
        return reading.build_reading(moves)

    @cached_property
    def _plan(self) -> tuple[OneReading, DumpReading]:
        reading = OneReading(self.facts, self.prices, self.aliases, True, "drain", ())
        return reading, reading.build_reading("nodes")


@dataclass
class OneReading(MeasuredDump):
    """A reading under construction.

    - `sure`: an unknown answer counts as forbidden.
    - `rented`, `kinds`: the offerings in use, and all possible ones, of an earlier reading.
    - `served`: the pending pods that get a place; `None` for all that fit somewhere.
    """

    tool: Tool
    free_of: Collection[str]
    rented: Sequence[Offering] = ()
    kinds: Sequence[Offering] = ()
    served: Collection[DumpedPod] | None = None
    pinned: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)

    def build_reading(self, moves: Moves) -> DumpReading:
        facts, alias = self.facts, self.aliases.of
        self.kinds = self.kinds or offerings(facts.nodes, self.prices, facts.keys, self.pools)
        held = {pod: self._count_hold(pod) for pod in self.placeable}
        there = {pod: self._find_places(pod, held[pod]) for pod in self.placeable if not held[pod].left_out}
        self.rented = kinds = self.rented or self._drop_dominated(there)
        names = dict(zip(kinds, self._names(kinds), strict=True))
        groups = [group for group in facts.groups if group.hard or self.sure]
        entries: dict[object, list[DumpedPod]] = {}
        pending: list[DumpedPod] = []
        for pod, (on, to) in there.items():
            to = frozenset(to) & frozenset(kinds)
            there[pod] = on, to
            if pod.node is None and self.served is None and not self._gets_place(pod, on, to):
                self.dropped[FULL if self._fits_somewhere(pod, on, to) else NOWHERE] += 1
                continue
            pending += [pod] * (pod.node is None)
            alike = (
                f"{pod.namespace}/{pod.workload}" if self.sure else "",
                *(self._need(pod, r) for r in self.resources),
                *(on, to, held[pod].pinned, pod.eviction_cost),
                *(i for i, group in enumerate(groups) if pod in group.pods),
            )
            entries.setdefault(alike, []).append(pod)
        called = _unique(alias("pods", f"{pods[0].namespace}/{pods[0].workload}") for pods in entries.values())
        members = dict(zip(called, entries.values(), strict=True))
        entry = {pod: name for name, pods in members.items() for pod in pods}
        self._count_what_is_not_heeded()
        data = NodeConsolidation(
            resources=tuple(self.names_with_units.values()),
            nodes=tuple(self._node(node, entry, names) for node in facts.nodes),
            instance_types=tuple(
                RentedType(
                    name=names[kind],
                    family=kind.offer.family,
                    capacity={self.names_with_units[r]: self.new_room[kind][r] for r in self.resources},
                    usd_per_hour=kind.offer.usd_per_hour,
                    max_new=kind.max_new,
                )
                for kind in kinds
            ),
            pods=tuple(
                ConsolidatedPod(
                    name=name,
                    count=len(pods),
                    demand={self.names_with_units[r]: self._need(pods[0], r) for r in self.resources},
                    allowed_nodes=self._find_some_nodes(there[pods[0]][0]),
                    allowed_types=_shorten_names(
                        [names[k] for k in kinds], [names[k] for k in kinds if k in there[pods[0]][1]]
                    ),
                    pinned=held[pods[0]].pinned,
                    eviction_cost=pods[0].eviction_cost,
                )
                for name, pods in members.items()
            ),
            spread=tuple(
                Spread(tasks=tuple(tasks), max_per_instance=group.most)
                for group in groups
                if (tasks := dict.fromkeys(entry[pod] for pod in entry if pod in group.pods))
            ),
            moves=moves,
        )
        offered = {names[kind]: kind for kind in kinds}
        self.served = pending if self.served is None else self.served
        return DumpReading(
            data=data,
            pinned=dict(self.pinned),
            dropped=dict(self.dropped),
            unpriced=self._find_unpriced(),
            offerings=offered,
            members=members,
            kept=dict(Counter(reason for node in facts.nodes if (reason := self._keeps(node)) is not None)),
            pending=len(pending),
            not_rented=self._find_unrented(),
        )

    @cached_property
    def placeable(self) -> list[DumpedPod]:
        """Return the pods that need a place; a bound includes pods of other schedulers with reserved capacity."""
        found = [pod for pod in self.facts.movable if pod.node is not None or self.served is None or pod in self.served]
        if not self.sure:
            found += [
                pod for pod, waited in self.facts.places_for_pending.items() if waited is not None and waited.fits
            ]
        return found

    def _keeps(self, node: DumpedNode) -> str | None:
        """Return why a node is kept. A bound may serve the pods of another scheduler elsewhere."""
        reason = self.facts.nodes_to_keep.get(node)
        if reason == WAITED_FOR and not self.sure:
            reason = None
        never = node.never_moved or any(pod.never_moved for pod in self.facts.fixtures[node.name])
        reason = reason or (DO_NOT_DISRUPT if never else None)
        return None if reason in self.free_of else reason

    def _find_unrented(self) -> list[str]:
        """Return the types of the user's table that may be rented and that no pool may have."""
        some = {kind.offer.type for kind in self.kinds}
        names = {node.name for node in self.facts.nodes}
        stated = (offer for offer in self.prices.offers if offer.size is None and offer.is_rented(names))
        return sorted({offer.type for offer in stated} - some)

    # reasons

    def _count_hold(self, pod: DumpedPod) -> Hold:
        """Count the reasons of a pod and return their effect. A pending pod has no node to stay on."""
        if pod not in self.facts.reasons:  # it waits for another scheduler, and has room today
            return Hold()
        pinned, near = False, []
        if (known := self._own_architectures(pod)) and ARCHITECTURE not in self.free_of:
            (self.pinned if self.sure else self.dropped)[ARCHITECTURE] += 1
            near += [Requirement(ARCH, "In", tuple(sorted(known)))] * self.sure
        own = [reason for reason in self.facts.reasons[pod] if reason.said not in self.free_of]
        own += [reason for reason in self._find_reasons_of_tool(pod) if reason.said not in self.free_of]
        for reason in own:
            if not reason.wish and not self.sure:
                self.dropped[reason.said] += 1
            elif pod.node is None:
                if not reason.wish:
                    self.dropped[PENDING.format(reason.said)] += 1
                    return Hold(left_out=True)
            else:
                self.pinned[reason.said] += 1
                value = None if reason.stays is None else self.facts.dump.nodes[pod.node].labels.get(reason.stays)
                if reason.stays is None or value is None:
                    pinned = True
                else:
                    near.append(Requirement(reason.stays, "In", (value,)))
        return Hold(pinned, tuple(near))

    def _find_reasons_of_tool(self, pod: DumpedPod) -> Iterator[PinReason]:
        """Yield the reasons for which the tool does not move a pod, such as a pod without a controller."""
        if pod.owner is None and pod.node is not None and self.tool != "karpenter":
            yield PinReason(NO_CONTROLLER)
        if self.tool == "ca" and pod.node is not None:
            if pod.namespace == SYSTEM[0] and not self.facts.budgets_of(pod):
                yield PinReason(SYSTEM[1])
            if pod.local_storage:
                yield PinReason(LOCAL)

    def _own_architectures(self, pod: DumpedPod) -> set[str]:
        """Return the architectures on which a workload runs if the pod might come to another one; else nothing.

        Nothing in a dump says for which architectures an image is. A pod that asks for one knows it.
        """
        known = self.facts.architectures.get((pod.namespace, pod.workload), set())
        placement = self.facts.placements[pod]
        if not known or self._several_architectures <= known or placement.keys & {ARCH, *OLD}:
            return set()
        on, to = self._admitting(placement)
        there = {node.labels.get(ARCH) for node in on} | {kind.labels.get(ARCH) for kind in to}
        return known if there - known - {None} else set()

    @cached_property
    def _several_architectures(self) -> set[str]:
        places = [*(node.labels for node in self.facts.nodes), *(kind.labels for kind in self.kinds)]
        return {arch for labels in places if (arch := labels.get(ARCH)) is not None}

    def _count_what_is_not_heeded(self) -> None:
        facts, pods = self.facts, self.facts.dump.pods.values()
        known = facts.dump.nodes
        running = [pod for pod in pods if pod.phase not in ("Succeeded", "Failed")]
        counts = {
            WISHES: sum(1 for pod in facts.movable if pod.wishes),
            TERMINATING: sum(1 for pod in facts.alive if ends(pod)),
            GATED: sum(1 for pod in running if pod.node is None and pod.gated),
            NO_NODE: sum(1 for pod in running if pod.node is not None and pod.node not in known),
        }
        if not self.sure:
            counts[CLOSED] = sum(1 for node in facts.nodes if not node.ready)
            counts["spread on nodes"] = sum(len(group.pods) for group in facts.groups if not group.hard)
            if facts.dump.daemons is None:
                counts[NO_DAEMONS] = len({(pod.namespace, pod.owner) for pod in self._daemon_pods})
        self.dropped.update({said: n for said, n in counts.items() if n})

    def _find_unpriced(self) -> dict[tuple[str, str, str], int]:
        found: Counter[tuple[str, str, str]] = Counter()
        for node in self.facts.nodes:
            if self.prices.of(node) is None:
                zone = "" if node.zone is None else self.aliases.of("zone", node.zone)
                found[node.type or "no type", zone, node.capacity_type] += 1
        return dict(found)

    # places

    @cached_property
    def new_room(self) -> dict[Offering, dict[str, float]]:
        """Return the capacity of each new node for pods, without the DaemonSets that would run on it."""
        return {kind: self._new_room(kind) for kind in self.kinds}

    @cached_property
    def pools(self) -> list[NodePool]:
        """Return the pools that may grow, without the control plane; for a bound, a single arbitrary pool.

        The labels of the arbitrary pool are unknown.
        """
        facts = self.facts
        if not self.sure:
            return [NodePool(None, ())]
        nodes = [node for node in facts.nodes if node not in facts.control_plane]
        return pools_of(nodes, facts.keys, facts.dump.node_pools, facts.dump.machine_sets)

    def _yes(self, answer: Answer3) -> bool:
        return answer is True if self.sure else answer is not False

    def _find_places(self, pod: DumpedPod, held: Hold) -> tuple[frozenset[DumpedNode], frozenset[Offering]]:
        """Return the nodes and the offerings where a pod may be."""
        placement = self.facts.placement(pod)
        if held.near:
            placement = placement.add_volume((held.near,))
        on, to = self._admitting(placement)
        to = self._keep_first_pools(pod, to)
        if pod.ports and pod not in self.facts.places_for_pending:
            on = frozenset(node for node in on if not _meet(pod, self.facts.fixtures[node.name]))
            to = frozenset(kind for kind in to if not _meet(pod, self.find_daemons(kind)))
        return on, to

    def _keep_first_pools(self, pod: DumpedPod, to: frozenset[Offering]) -> frozenset[Offering]:
        """Return the offers without those of NodePools that Karpenter tries later than another that has room."""
        if len({pool.declared.weight for pool in self.pools if pool.declared is not None}) < 2:
            return to
        needs = to, tuple(self._need(pod, r) for r in self.resources)
        if needs not in self._list_first_pools:
            self._list_first_pools[needs] = self._find_first_pools(pod, to)
        return self._list_first_pools[needs]

    @cached_property
    def _list_first_pools(self) -> dict[tuple[frozenset[Offering], tuple[float, ...]], frozenset[Offering]]:
        return {}

    def _find_first_pools(self, pod: DumpedPod, to: frozenset[Offering]) -> frozenset[Offering]:
        weights = {
            kind: kind.pool.declared.weight
            for kind in to
            if kind.pool.declared is not None
            and all(self._need(pod, r) <= self.new_room[kind][r] for r in self.resources)
        }
        most = max(weights.values(), default=0)
        return frozenset(kind for kind in to if weights.get(kind, most) == most)

    def _admitting(self, placement: Placement) -> tuple[frozenset[DumpedNode], frozenset[Offering]]:
        if placement not in self._is_known_offering:
            nodes = (n for n in self.facts.nodes if self._yes(placement.admits(n.labels, n.lasting_taints)))
            kinds = (kind for kind in self.kinds if self._yes(placement.admits(kind.labels, kind.pool.taints)))
            self._is_known_offering[placement] = frozenset(nodes), frozenset(kinds)
        return self._is_known_offering[placement]

    @cached_property
    def _is_known_offering(self) -> dict[Placement, tuple[frozenset[DumpedNode], frozenset[Offering]]]:
        return {}

    def _drop_dominated(
        self, there: Mapping[DumpedPod, tuple[frozenset[DumpedNode], frozenset[Offering]]]
    ) -> list[Offering]:
        """Return the offerings without dominated ones: another admits the same pods, is as large and costs no more.

        A plan keeps the types of running nodes, because the rules of a tool use them.
        """
        sets = list(dict.fromkeys(to for _, to in there.values()))
        takes = {kind: {i for i, to in enumerate(sets) if kind in to} for kind in self.kinds}

        def beaten(kind: Offering, by: Offering) -> bool:
            return (
                _takes_less(by, kind)
                and takes[kind] <= takes[by]
                and kind.offer.usd_per_hour >= by.offer.usd_per_hour
                and all(self.new_room[kind][r] <= self.new_room[by][r] for r in self.resources)
            )

        kept: list[Offering] = []
        for kind in sorted(self.kinds, key=lambda k: (k.offer.usd_per_hour, -len(takes[k]))):
            if takes[kind] and not any(beaten(kind, by) for by in kept):
                kept = [k for k in kept if not beaten(k, kind)] + [kind]
        price = {node: self.prices.of(node) for node in self.facts.nodes}
        stay = set(kept) | {
            kind
            for kind in self.kinds
            if takes[kind] and any((price[node], node.zone) == (kind.offer, kind.zone) for node in kind.pool.nodes)
        }
        return [kind for kind in self.kinds if kind in stay]

    def _fits(self, pod: DumpedPod, room: Mapping[str, float]) -> bool:
        return all(self._need(pod, r) <= room[r] for r in self.resources)

    def _fits_somewhere(self, pod: DumpedPod, on: Iterable[DumpedNode], to: Iterable[Offering]) -> bool:
        rooms = [*(self.room[node] for node in on if node.ready), *(self.new_room[kind] for kind in to)]
        return any(self._fits(pod, room) for room in rooms)

    def _gets_place(self, pod: DumpedPod, on: Iterable[DumpedNode], to: Collection[Offering]) -> bool:
        """Return whether a pending pod gets a place if no pod moves, next to the pending pods before it."""
        if any(kind.max_new is None and self._fits(pod, self.new_room[kind]) for kind in to):
            return True
        for node in self.facts.nodes:
            if node in on and node.ready and self._fits(pod, self._spare[node]):
                self._spare[node] = {r: left - self._need(pod, r) for r, left in self._spare[node].items()}
                return True
        for kind in self.rented:
            left = {key: self._limits.get(key, most) - taken for key, (most, taken) in kind.limits.items()}
            if kind in to and self._fits(pod, self.new_room[kind]) and min(left.values(), default=0) >= 0:
                self._limits |= left
                return True
        return False

    @cached_property
    def _spare(self) -> dict[DumpedNode, dict[str, float]]:
        """Return the residual capacity of each node today."""
        found = {node.name: dict(self.room[node]) for node in self.facts.nodes}
        for pod in self.facts.movable:
            if pod.node is not None:
                for r in self.resources:
                    found[pod.node][r] -= self._need(pod, r)
        return {node: found[node.name] for node in self.facts.nodes}

    @cached_property
    def _limits(self) -> dict[tuple[NodePool | PricedOffer, str], int]:
        """Return the rest of the limits of pools and rows after new nodes for pending pods."""
        return {}

    # names

    def _node(self, node: DumpedNode, entry: Mapping[DumpedPod, str], names: Mapping[Offering, str]) -> RunningNode:
        price = self.prices.of(node)
        on_it = [pod for pod in self.facts.movable if pod.node == node.name and pod in entry]
        reason = self._keeps(node)
        if reason in (DO_NOT_DISRUPT, NO_SCALE_DOWN):
            self.pinned[reason] += sum(1 for pod in on_it if not pod.never_moved)
        same = (
            name
            for kind, name in names.items()
            if kind.offer == price and kind.zone == node.zone and node in kind.pool.nodes
        )
        return RunningNode(
            name=self.aliases.of("node", node.name),
            capacity={self.names_with_units[r]: self.room[node][r] for r in self.resources},
            pods=dict(Counter(entry[pod] for pod in on_it)),
            type=next(same, node.type),
            usd_per_hour=None if price is None else price.usd_per_hour,
            keep=reason is not None,
            cordoned=self.sure and not node.ready,
        )

    def _find_some_nodes(self, on: Collection[DumpedNode]) -> tuple[str, ...] | None:
        name = {node: self.aliases.of("node", node.name) for node in self.facts.nodes}
        return _shorten_names(list(name.values()), [name[node] for node in self.facts.nodes if node in on])

    def _names(self, kinds: Sequence[Offering]) -> list[str]:
        """Return the name of each offering: its type, and its zone and pool if there are several."""
        zones, pools = {kind.zone for kind in kinds}, {kind.pool.name for kind in kinds}
        pools |= {pool.name for pool in self.pools if pool.labelled}
        found = []
        for kind in kinds:
            words = [kind.offer.type]
            if kind.zone is not None and len(zones) > 1:
                words.append(f"in {self.aliases.of('zone', kind.zone)}")
            if kind.pool.name is not None and len(pools) > 1:
                words.append(f"of {self.aliases.of('pool', kind.pool.name)}")
            found.append(" ".join(words))
        return found


def _meet(pod: DumpedPod, others: Iterable[DumpedPod | DumpedDaemon]) -> bool:
    return any(mine.meets(port) for other in others for port in other.ports for mine in pod.ports)


def _takes_less(one: Offering, other: Offering) -> bool:
    """Return whether one node takes no more of each limit than another, so that it can always replace it."""
    return all(taken <= other.limits.get(key, (0, 0))[1] for key, (_, taken) in one.limits.items())


def _shorten_names(all_names: Sequence[str], names: Sequence[str]) -> tuple[str, ...] | None:
    """Return names, or `None` if they are all names."""
    return None if len(names) == len(all_names) else tuple(names)


def _unique(names: Iterable[str]) -> list[str]:
    """Return names of at most `LONGEST_NAME` characters, with a number if one occurs again."""
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        short = name[:LONGEST_NAME]
        seen[short] += 1
        found.append(short if seen[short] == 1 else f"{short} ({seen[short]})")
    return found
