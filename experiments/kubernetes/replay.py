"""Replay a plan with kube-scheduler's default profile on a dump, in random orders of the evicted pods.

The replay does not know what a plan forbids itself. It evicts the pods of each drained node, and the port of
kube-scheduler places them. The labels, the ephemeral storage and the end of other nodes are unknown, so each order is
replayed in two readings if these differ: one in favour of the pods, and one against them.

In half of the orders pods are evicted one by one, and in the others all pods of a node at once. In half of the orders a
drained node is deleted at once, and in the others at the end of the plan.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from experiments.kubernetes.drains import WAITING, DrainPlan
from heuristics.kubernetes.kube_model import ClusterModel, KubeNode, PodKind
from heuristics.kubernetes.kube_scheduler import ClusterState, Layout, choose_node, preempt
from instances.kubernetes.dump import DumpedDaemon, DumpedNode
from instances.kubernetes.facts import Facts, ends, other_scheduler
from instances.kubernetes.measured import Aliases, MeasuredDump
from instances.kubernetes.offerings import Offering, label_new_node
from instances.kubernetes.pods import ZONES, DumpedPod
from instances.kubernetes.prices import Prices
from instances.kubernetes.readings import DumpReading
from instances.kubernetes.requirements import NODE_NAME, Taint

ORDERS, FEWEST_ORDERS = 40, 10  # of a replay; a plan with many evictions is replayed in fewer orders
PLACED = 20_000  # pods to place in all orders of one plan
UNKNOWN = "ephemeral-storage"
PLENTY = 2**60
OF_SYSTEM = 2**31 - 1  # priority of the pods of DaemonSets on new nodes: no other pod takes their place
MOST_LAYOUTS = 16  # layouts that are kept


class ReplayReading:
    """A dump in one reading, with the plan's types as further nodes. `pods`: those that use or wait for resources.

    `fixed`: pods that no drain evicts. `counted`: pods that must have a place at the end.
    """

    def __init__(self, facts: Facts, prices: Prices, plan: DumpReading, lenient: bool) -> None:
        self.facts, self.lenient = facts, lenient
        dump = facts.dump
        self.offers = [plan.offerings[kind.name] for kind in plan.data.instance_types]
        self.pods = [pod for pod in facts.alive if self._is_there(pod)]
        kinds = [PodKind.read(pod, facts.placement(pod), facts.drivers(pod)) for pod in self.pods]
        measured = MeasuredDump(facts, prices, Aliases(), sure=not lenient)
        daemons = [measured.find_daemons(kind) for kind in self.offers]
        of_daemons = [[_kind_of(daemon) for daemon in own] for own in daemons]
        different = list(dict.fromkeys([*kinds, *(kind for own in of_daemons for kind in own)]))
        number = {kind: k for k, kind in enumerate(different)}
        keys = self._find_keys(different)
        nodes = [KubeNode.read(n, dump.attachable.get(n.name, {}), self._taints(n)) for n in facts.nodes]
        resources = {name for kind in different for name, _ in kind.demand}
        nodes += [
            KubeNode(
                name=kind.offer.type,
                labels=label_new_node(kind, facts.nodes, keys),
                taints=kind.pool.taints,
                room={r: self._count_room(measured, kind, r) for r in resources},
            )
            for kind in self.offers
        ]
        services = [(namespace, selector) for (namespace, _), selector in dump.services.items()]
        self.model = ClusterModel(nodes, different, services, dump.namespaces, lenient=lenient)
        self.kinds = [number[kind] for kind in kinds]
        self.daemons = [[number[kind] for kind in own] for own in of_daemons]
        self.position = {node.name: m for m, node in enumerate(facts.nodes)}
        served = {pod for pods in plan.members.values() for pod in pods}
        self.fixed = {p for p, pod in enumerate(self.pods) if pod.is_of_daemon or pod.mirror or ends(pod)}
        self.counted = {p for p, pod in enumerate(self.pods) if pod.node is not None or pod in served}
        self.waiting = [p for p, pod in enumerate(self.pods) if pod.node is None]
        self.evicted = [0] * len(facts.nodes)
        for p, pod in enumerate(self.pods):
            if pod.node is not None and p not in self.fixed:
                self.evicted[self.position[pod.node]] += 1
        self._layouts: dict[tuple[int, ...], ClusterState] = {}
        self.least_priority = min((kind.priority for kind in different), default=0)

    def _is_there(self, pod: DumpedPod) -> bool:
        """Return whether a pod takes part: in a lenient reading, pods that end are gone."""
        if pod.node is None:
            return not (pod.gated or other_scheduler(pod) or pod.terminating)
        return not (self.lenient and ends(pod))

    def _taints(self, node: DumpedNode) -> Sequence[Taint]:
        """Return the taints of a node: in a lenient reading, temporary conditions are over."""
        return node.lasting_taints if self.lenient else node.taints

    def _find_keys(self, kinds: Iterable[PodKind]) -> list[str]:
        found = set(self.facts.keys) | {ZONES[0]}
        for kind in kinds:
            found |= {term.topology for term in kind.terms} | {term.topology for _, term in kind.wished_terms}
            found |= {rule.topology for rule in kind.spreads} | kind.placement.keys
            found |= {requirement.key for _, term in kind.preferred for requirement in term}
        return sorted(found - {NODE_NAME})

    def _count_room(self, measured: MeasuredDump, kind: Offering, r: str) -> int:
        strict = MeasuredDump(self.facts, measured.prices, measured.aliases, True).count_allocatable(kind, r)
        if not self.lenient:
            return strict
        alike = [node.room.get(r, 0) for node in self.facts.nodes if kind.offer.describes(node)]
        return max(strict, *alike) if alike else PLENTY if r == UNKNOWN and r not in kind.offer.room else strict

    def start(self, new: tuple[int, ...]) -> ClusterState:
        """Return today's cluster, with new nodes of these types that are still to come."""
        if new not in self._layouts:
            if len(self._layouts) >= MOST_LAYOUTS:
                self._layouts.clear()
            nodes = len(self.facts.nodes)
            layout = Layout(self.model, [*range(nodes), *(nodes + k for k in new)])
            kinds = [*self.kinds, *(kind for k in new for kind in self.daemons[k])]
            state = ClusterState.make_empty(layout, kinds)
            for p, pod in enumerate(self.pods):
                if pod.node is not None:
                    state.put(p, self.position[pod.node])
            state.present[nodes:] = False
            budgets = list((self.facts.dump.budgets or {}).values())
            state.budgets = [budget.allowed or 0 for budget in budgets]
            state.guards = self._guards
            self._layouts[new] = state
        return self._layouts[new].copy()

    @property
    def _guards(self) -> dict[int, list[int]]:
        """Return the disruption budgets of each pod by number."""
        number = {budget: b for b, budget in enumerate((self.facts.dump.budgets or {}).values())}
        found = {p: [number[budget] for budget in self.facts.budgets_of(pod)] for p, pod in enumerate(self.pods)}
        return {p: budgets for p, budgets in found.items() if budgets}


def _kind_of(daemon: DumpedDaemon) -> PodKind:
    """Return the kind of a pod of a DaemonSet on a new node."""
    return PodKind(
        namespace=daemon.namespace,
        labels=(),
        owner=("DaemonSet", daemon.name),
        demand=tuple(sorted(daemon.demand.items())),
        scored=(daemon.demand.get("cpu", 0), daemon.demand.get("memory", 0)),
        placement=daemon.placement,
        volumes=(),
        attached=(),
        terms=(),
        wished_terms=(),
        spreads=(),
        preferred=(),
        ports=daemon.ports,
        images=(),
        priority=OF_SYSTEM,
        preempts=False,
        terminating=False,
    )


class PlanRun:
    """A plan that is being carried out in one order and one reading. `queue`: the pods without a place."""

    def __init__(self, reading: ReplayReading, plan: DrainPlan, seed: int, order: int) -> None:
        self.reading, self.plan, self.placed = reading, plan, 0
        self.draw = random.Random(f"{seed} {order}")
        self.one_by_one, self.at_once = order % 2 == 0, order // 2 % 2 == 0
        self.state = reading.start(plan.new)
        self.state.first = self.draw.randrange(max(1, len(reading.facts.nodes)))
        self.nodes, self.rented, self.gone = len(reading.facts.nodes), 0, list[int]()
        self.queue = list(reading.waiting)
        self.draw.shuffle(self.queue)
        self.was_open = self.state.open.copy()
        self.directs = bool(plan.open)
        if self.directs:
            self.state.open[:] = False
        else:
            self.state.open[list(plan.order)] = False

    def copy(self) -> PlanRun:
        """Return a copy that goes on by itself."""
        other = object.__new__(PlanRun)
        other.__dict__.update(self.__dict__)
        other.draw = random.Random()
        other.draw.setstate(self.draw.getstate())
        other.state, other.queue, other.gone = self.state.copy(), list(self.queue), list(self.gone)
        return other

    def begin(self) -> None:
        """Rent the nodes that come before the first drain, and place pending pods."""
        self.retry()
        for step in self.plan.steps:
            if step >= 0:
                break
            self.rent()
        if self.directs:
            self._direct(WAITING, ())

    def go(self) -> int:
        """Carry out the plan and return the number of pods without a place that must have one."""
        self.begin()
        for step in self.plan.steps[self.rented :]:
            if step < 0:
                self.rent()
            else:
                self.drain(step)
        return self.finish()

    def rent(self) -> None:
        """Add the next new node with its DaemonSets."""
        n, state, before = self.nodes + self.rented, self.state, len(self.reading.kinds)
        before += sum(len(self.reading.daemons[k]) for k in self.plan.new[: self.rented])
        state.set_present(n, True)
        for i in range(len(self.reading.daemons[self.plan.new[self.rented]])):
            state.put(before + i, n)
        self.rented += 1
        self.retry()

    def drain(self, m: int) -> None:
        """Evict the pods of a node and place those that its controllers create again."""
        state, fixed = self.state, self.reading.fixed
        state.open[m] = False
        pods = [p for p in sorted(state.pods[m]) if p not in fixed and p < len(self.reading.kinds)]
        self.draw.shuffle(pods)
        if self.directs:
            for p in pods:
                state.take(p, m)
            self._direct(m, pods)
        elif self.one_by_one:
            for p in pods:
                state.take(p, m)
                self.schedule([p])
        else:
            for p in pods:
                state.take(p, m)
            self.schedule(pods)
        self.gone.append(m)
        if self.at_once:
            self._delete(m)
            self.retry()

    def _direct(self, m: int, pods: Sequence[int]) -> None:
        """Uncordon the targets of a drain one after another, and cordon them again."""
        self.queue += pods
        targets = [p if p >= 0 else self.nodes + ~p for p in self.plan.open.get(m, ())]
        for n in targets:
            self.state.open[n] = True
            self.retry()
        self.state.open[targets] = False

    def _delete(self, m: int) -> None:
        for p in sorted(self.state.pods[m]):
            self.state.take(p, m)
        self.state.set_present(m, False)

    def keep(self, m: int) -> None:
        """Leave a node in the cluster that the plan would drain."""
        if not self.directs:
            self.state.open[m] = self.was_open[m]
            self.retry()

    def finish(self) -> int:
        """Delete the drained nodes, open all others, and return the number of pods without a place."""
        if self.directs:
            self.state.open[:] = self.was_open
            self.state.open[self.gone] = False
        for m in self.gone:
            if self.state.present[m]:
                self._delete(m)
        waiting = -1
        while self.queue and len(self.queue) != waiting:
            waiting = len(self.queue)
            self.retry()
        return sum(p in self.reading.counted for p in self.queue)

    def retry(self) -> None:
        """Try to place the pods without a place."""
        pods, self.queue = self.queue, []
        self.schedule(pods)

    def schedule(self, pods: Sequence[int]) -> None:
        """Place pods, those of the highest priority first; they may take the place of others, which then follow."""
        kinds, state = self.reading.model.kinds, self.state
        coming, failed = sorted(pods, key=lambda p: -kinds[state.kinds[p]].priority), set[int]()
        for p in coming:
            kind = state.kinds[p]
            n = None if kind in failed else choose_node(state, p, self.draw)
            self.placed += kind not in failed
            if n is None and kinds[kind].priority > self.reading.least_priority and kind not in failed:
                found = preempt(state, p)
                if found is not None:
                    n, victims = found
                    for victim in victims:
                        state.take(victim, n)
                        if victim not in self.reading.fixed:
                            coming.append(victim)
            if n is None:
                failed.add(kind)
                self.queue.append(p)
            else:
                state.put(p, n)


@dataclass(frozen=True)
class Replayed:
    """How a plan went: the number of orders, and of those in which a pod that must have a place has none."""

    orders: int
    failed: int


class Replay:
    """Replays of plans of one reading of a dump. `work`: number of pods that were placed. `orders`: of one plan.

    The orders that failed last come first, so that a plan that fails is found soon.
    """

    def __init__(self, facts: Facts, prices: Prices, plan: DumpReading, seed: int) -> None:
        self.readings = [ReplayReading(facts, prices, plan, lenient=False)]
        lenient = ReplayReading(facts, prices, plan, lenient=True)
        if self.readings[0].model.has_unknown or self._differ(lenient):
            self.readings.append(lenient)
        self.seed, self.work, self.orders = seed, 0, ORDERS
        self.turn = [(order, r) for order in range(ORDERS) for r in range(len(self.readings))]
        self._known: dict[tuple[object, ...], Replayed] = {}

    def _differ(self, lenient: ReplayReading) -> bool:
        strict, other = self.readings[0].model, lenient.model
        taints = [[node.taints for node in model.nodes] for model in (strict, other)]
        return strict.kinds != other.kinds or taints[0] != taints[1] or bool((strict.room != other.room).any())

    def count_orders(self, plan: DrainPlan) -> int:
        """Return the number of orders in which a plan is replayed."""
        evicted = sum(self.readings[0].evicted[m] for m in plan.order)
        most = PLACED // max(1, evicted * len(self.readings))
        return min(self.orders, max(FEWEST_ORDERS, most))

    def run(self, plan: DrainPlan, order: int, r: int) -> PlanRun:
        """Return a run of a plan that has not begun."""
        return PlanRun(self.readings[r], plan, self.seed, order)

    def find_failing(self, plan: DrainPlan) -> tuple[int, int] | None:
        """Return an order and a reading in which a plan fails; `None` if it fails in none."""
        orders, known = self.count_orders(plan), self._known.get(_key(plan))
        if known is not None and known.orders >= orders and not known.failed:
            return None
        for i, (order, r) in enumerate(self.turn):
            if order < orders:
                run = self.run(plan, order, r)
                lost = run.go()
                self.work += run.placed
                if lost:
                    self.turn.insert(0, self.turn.pop(i))
                    return order, r
        self._known[_key(plan)] = Replayed(orders, 0)
        return None

    def replay(self, plan: DrainPlan) -> Replayed:
        """Replay a plan in all its orders."""
        orders, known = self.count_orders(plan), self._known.get(_key(plan))
        if known is not None and known.orders >= orders:
            return known
        failed = set[int]()
        for order, r in sorted(self.turn):
            if order < orders and order not in failed:
                run = self.run(plan, order, r)
                if run.go():
                    failed.add(order)
                self.work += run.placed
        self._known[_key(plan)] = Replayed(orders, len(failed))
        return self._known[_key(plan)]


def _key(plan: DrainPlan) -> tuple[object, ...]:
    return plan.steps, tuple(sorted(plan.open.items()))
