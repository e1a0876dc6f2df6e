"""Write a plan as steps for a person: commands with timeouts, what to do if one fails, and the cost after each step.

The first step stops the tools that add or remove nodes, the last one starts them again. A drain has a timeout, and the
next step begins after the evicted pods are ready, so disruption budgets have recovered by then. If a budget stops a
drain before the next target is uncordoned, the drain ends at its timeout and is repeated after it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from math import ceil
from typing import Any

from experiments.kubernetes import tools
from experiments.kubernetes.tools import Instructions, Manager, Order, command
from instances.kubernetes.dump import DumpedNode
from instances.kubernetes.facts import Facts
from instances.kubernetes.measured import Aliases
from instances.kubernetes.offerings import Offering
from instances.kubernetes.pods import DumpedPod

DRAIN_S, ROUND_S, PART_S, READY_S = 600, 300, 120, 600
"""Seconds for a drain, for each further round under a disruption budget, for a part of a drain, and for ready pods."""
SETTLE_S = 30  # seconds in which kube-scheduler places the pods that fit
DRAIN = ("--ignore-daemonsets", "--delete-emptydir-data")


@dataclass(frozen=True)
class RunbookStep:
    """A step.

    - `title`: what it does.
    - `commands`: in order; each ends by itself.
    - `on_failure`: the commands to run instead of the rest of the step and of the plan, before the last step.
    - `notes`: what the commands do not do or assume.
    - `timeout_s`: the sum of the timeouts.
    - `usd_per_hour`: the cost afterwards, `None` if the step does not change it.
    """

    title: str
    commands: tuple[str, ...]
    on_failure: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    timeout_s: int = 0
    usd_per_hour: float | None = None

    def content(self) -> dict[str, Any]:
        """Return the step as plain data."""
        return asdict(self) | {name: list(getattr(self, name)) for name in ("commands", "on_failure", "notes")}


@dataclass
class Runbook:
    """The steps of a plan.

    - `steps`: as in the answer: nodes to rent, or a node to drain.
    - `cordoned`: the nodes that are cordoned first; `uncordoned`: those that are uncordoned at the end.
    - `offerings`: the offering for each name of a type.
    """

    facts: Facts
    aliases: Aliases
    offerings: Mapping[str, Offering]
    steps: Sequence[Mapping[str, Any]]
    cordoned: Sequence[str]
    uncordoned: Sequence[str]

    def make(self) -> list[RunbookStep]:
        """Return the steps in order; none if the plan has none."""
        if not self.steps:
            return []
        found = [self._switch_off()]
        if self.cordoned:
            names = command("kubectl", "cordon", *self.cordoned)
            give_up = (command("kubectl", "uncordon", *self.cordoned),)
            found.append(RunbookStep("Cordon the nodes that receive no pods", (names,), give_up))
        for i, step in enumerate(self.steps):
            left = [s["drain"] for s in self.steps[i:] if s["drain"] is not None]
            found.append(self._drain(i, step, left) if step["drain"] is not None else self._rent(i, step))
        return [*found, self._switch_on()]

    @cached_property
    def _new(self) -> dict[str, str]:
        """Return the variable of each new node by its name in the plan."""
        names: list[str] = []
        for step in self.steps:
            for kind, number in step["rent"].items():
                before = sum(name.rpartition("#")[0] == kind for name in names)
                names += [f"{kind}#{before + i + 1}" for i in range(number)]
        return {name: f"$NEW_{i}" for i, name in enumerate(names, 1)}

    def _place(self, name: str) -> str:
        return self._new.get(name, name)

    @cached_property
    def _nodes(self) -> dict[str, DumpedNode]:
        return {self.aliases.of("node", node.name): node for node in self.facts.nodes}

    def _pool(self, node: DumpedNode) -> tuple[Manager, str]:
        """Return the tool of a node and the name of its pool."""
        sets = self.facts.dump.machine_sets
        tool = tools.manager_of(node.labels, node.machine_set in sets)
        name = node.labels.get(tools.label_of(tool) or "") if tool != "machineset" else node.machine_set
        return tool, self.aliases.of("pool", name) if name else ""

    @cached_property
    def _pools(self) -> dict[tuple[Manager, str], list[DumpedNode]]:
        found: dict[tuple[Manager, str], list[DumpedNode]] = {}
        for node in self.facts.nodes:
            if node not in self.facts.control_plane:
                found.setdefault(self._pool(node), []).append(node)
        for name in self.facts.dump.node_pools:
            found.setdefault(("karpenter", self.aliases.of("pool", name)), [])
        return found

    # first and last

    def _find_declared(self, pool: str) -> Any:
        pools = self.facts.dump.node_pools
        return next((one for name, one in pools.items() if self.aliases.of("pool", name) == pool), None)

    def _scalers(self) -> Iterator[tuple[str, str, int]]:
        """Yield namespace, name and pods of each cluster autoscaler, as users see them."""
        for (namespace, name), pods in tools.find_autoscalers(self.facts.alive).items():
            hidden = self.aliases.hidden
            yield namespace, self.aliases.of("pods", f"{namespace}/{name}") if hidden else name, pods

    def _switch_off(self) -> RunbookStep:
        parts = [tools.switch_off(tool, pool, self._find_declared(pool)) for tool, pool in self._pools]
        parts += [tools.scale_autoscaler(namespace, name, 0) for namespace, name, _ in self._scalers()]
        parts = [part for part in parts if part.commands]
        title = "Stop the tools that add or remove nodes"
        if not parts:
            said = "The dump shows no such tool. If there is an autoscaler, stop it now."
            return RunbookStep(title, (), notes=(said,))
        return _step(title, parts, self._undo())

    def _undo(self) -> tuple[str, ...]:
        parts = [tools.switch_on(tool, pool, self._find_declared(pool)) for tool, pool in self._pools]
        return tuple(line for part in [*parts, *self._start_scalers()] for line in part.commands)

    def _start_scalers(self) -> list[Instructions]:
        return [tools.scale_autoscaler(*scaler) for scaler in self._scalers()]

    def _switch_on(self) -> RunbookStep:
        parts = [tools.switch_on(tool, pool, self._find_declared(pool)) for tool, pool in self._pools]
        parts += self._start_scalers()
        title = "Start the tools that add or remove nodes"
        last = [self._place(name) for name in self.uncordoned]
        if last:
            parts.insert(0, Instructions((command("kubectl", "uncordon", *last),)))
            title = "Uncordon the kept nodes, and start the tools that add or remove nodes"
        if not any(part.commands for part in parts):
            return RunbookStep(title, (), notes=("Start what the first step stopped.",))
        return _step(title, parts)

    # rent

    def _rent(self, i: int, step: Mapping[str, Any]) -> RunbookStep:
        """Return the step that rents nodes. If pods are directed, it cordons these and uncordons targets in turn."""
        parts, words = [], []
        for number, (kind_name, n) in enumerate(step["rent"].items(), 1):
            kind = self.offerings[kind_name]
            tool, pool = self._pool_of(kind)
            present = self._pools.get((tool, pool), []) if pool else []
            order = Order(
                kind=kind,
                number=n,
                present={node: self.aliases.of("node", node.name) for node in present},
                pool=pool,
                zone=None if kind.zone is None else self.aliases.of("zone", kind.zone),
                name=f"gapwise-rent-{i + 1}-{number}",
                hidden=self.aliases.hidden,
                machine_set=kind.pool.machine_set,
            )
            parts.append(tools.rent(tool, order))
            words.append(f"{n} x {kind_name}")
            if self._directs:
                parts.append(self._name_new(kind_name, n, order.selector(tool)))
        for place in step["onto"] or ():
            settle = Instructions((command("kubectl", "uncordon", self._place(place)), f"sleep {SETTLE_S}"))
            parts.append(settle)
        if step["onto"]:
            parts.append(Instructions((command("kubectl", "cordon", *map(self._place, step["onto"])),)))
        title = f"Rent {', '.join(words)}" if words else "Let pending pods start"
        undo = dict.fromkeys(line for part in parts for line in part.undo)
        left = [s["drain"] for s in self.steps[i:] if s["drain"] is not None]
        return _step(title, parts, (*undo, *self._give_up(i, left)), step["usd_per_hour"])

    def _give_up(self, i: int, left: Sequence[str]) -> tuple[str, ...]:
        """Return the command that uncordons all nodes that are left at step `i`."""
        rented = {f"{kind}#" for step in self.steps[:i] for kind in step["rent"]}
        open_again = [
            self._place(name)
            for name in self.uncordoned
            if name not in self._new or name[: name.rindex("#") + 1] in rented
        ]
        names = [*left, *(open_again if self._directs else ())]
        return (command("kubectl", "uncordon", *names),) if names else ()

    def _pool_of(self, kind: Offering) -> tuple[Manager, str]:
        """Return the tool and the pool of a new node."""
        if kind.pool.declared is not None:
            return "karpenter", self.aliases.of("pool", str(kind.pool.name))
        if kind.pool.labelled and kind.pool.nodes:
            return self._pool(kind.pool.nodes[0])
        return "hand", ""

    @property
    def _directs(self) -> bool:
        return any(step["onto"] for step in self.steps)

    def _name_new(self, kind: str, number: int, selector: str) -> Instructions:
        """Return the commands that keep the names of new nodes in variables, and cordon the nodes."""
        own = [place for name, place in self._new.items() if name.rpartition("#")[0] == kind][:number]
        newest = command(
            "kubectl", "get", "nodes", "-l", selector, "--sort-by=.metadata.creationTimestamp", "-o", "name"
        )
        lines = [f'{place[1:]}="$({newest} | tail -n {number} | sed -n {i}p)"' for i, place in enumerate(own, 1)]
        return Instructions((*lines, command("kubectl", "cordon", *own)))

    # drain

    def _drain(self, i: int, step: Mapping[str, Any], left: Sequence[str]) -> RunbookStep:
        """Return the step that drains a node, waits for its pods, and ends the node. `left`: nodes still to drain."""
        name, onto = step["drain"], [self._place(place) for place in step["onto"] or ()]
        node = self._nodes[name]
        pods = self._pods_of.get(node.name, [])
        notes, rounds = self._budget_notes(pods)
        seconds = DRAIN_S + ROUND_S * (rounds - 1)
        drain = command("kubectl", "drain", name, *DRAIN, f"--timeout={seconds}s")
        part = command("kubectl", "drain", name, *DRAIN, f"--timeout={PART_S}s")
        lines: list[str] = []
        for place in onto:
            lines.append(command("kubectl", "uncordon", place))
            if place != onto[-1]:
                lines += [f"{part} || true", f"sleep {SETTLE_S}"]
        waits = list(self._waits(pods))
        lines += [drain, *waits]
        if onto:
            lines.append(command("kubectl", "cordon", *onto))
        tool, pool = self._pool(node)
        ended = self._gone.setdefault((tool, pool), [])
        ended.append(name)
        sets, hidden = self.facts.dump.machine_sets, self.aliases.hidden
        own = sets.get(node.machine_set or "") if tool == "machineset" else None
        rest = len(self._pools.get((tool, pool), [])) + self._count_rented[tool, pool] - len(ended)
        end = tools.delete(tool, name, pool, None if hidden else node, rest, own)
        spent = seconds + (PART_S + SETTLE_S) * max(0, len(onto) - 1) + READY_S * len(waits) + end.seconds
        return RunbookStep(
            f"Drain {name}, wait for its pods, and end it",
            (*lines, *end.commands),
            self._give_up(i, left),
            tuple(note for note in (*notes, end.hint) if note),
            spent,
            step["usd_per_hour"],
        )

    @cached_property
    def _gone(self) -> dict[tuple[Manager, str], list[str]]:
        """Return the nodes that are already drained, by pool."""
        return {}

    @cached_property
    def _count_rented(self) -> Counter[tuple[Manager, str]]:
        found: Counter[tuple[Manager, str]] = Counter()
        for step in self.steps:
            for kind, number in step["rent"].items():
                found[self._pool_of(self.offerings[kind])] += number
        return found

    def _budget_notes(self, pods: Sequence[DumpedPod]) -> tuple[list[str], int]:
        """Return a note for each disruption budget that lets fewer pods go at a time, and the number of rounds."""
        notes, most = [], 1
        names = {budget: "/".join(key) for key, budget in (self.facts.dump.budgets or {}).items()}
        for budget, n in Counter(budget for pod in pods for budget in self.facts.budgets_of(pod)).items():
            if budget.allowed and n > budget.allowed:
                most = max(most, ceil(n / budget.allowed))
                called = self.aliases.of("budget", names[budget])
                notes.append(f"The disruption budget {called} lets {budget.allowed} of its {n} pods here go at a time.")
        return notes, most

    @cached_property
    def _pods_of(self) -> dict[str | None, list[DumpedPod]]:
        """Return the pods that a drain evicts, by node."""
        found: dict[str | None, list[DumpedPod]] = {}
        for pod in self.facts.movable:
            found.setdefault(pod.node, []).append(pod)
        return found

    @cached_property
    def _count(self) -> Counter[tuple[str, str]]:
        """Return the number of pods of each workload."""
        return Counter((pod.namespace, pod.workload) for pod in self.facts.alive)

    def _waits(self, pods: Sequence[DumpedPod]) -> Iterator[str]:
        """Yield a wait for each Deployment, StatefulSet and ReplicaSet of evicted pods."""
        alias, hidden = self.aliases.of, self.aliases.hidden
        seen = {(pod.namespace, pod.workload): pod.owner for pod in pods if pod.owner is not None}
        for (namespace, workload), (kind, owner) in seen.items():
            name = alias("pods", f"{namespace}/{workload}") if hidden else workload
            where = ("-n", alias("namespace", namespace), f"--timeout={READY_S}s")
            if kind == "ReplicaSet" and workload != owner:
                yield command("kubectl", "rollout", "status", f"deployment/{name}", *where)
            elif kind in ("ReplicaSet", "StatefulSet"):
                ready = f"--for=jsonpath={{.status.readyReplicas}}={self._count[namespace, workload]}"
                yield command("kubectl", "wait", f"{kind.lower()}/{name}", ready, *where)


def _step(
    title: str, parts: Sequence[Instructions], on_failure: tuple[str, ...] = (), usd_per_hour: float | None = None
) -> RunbookStep:
    """Join instructions to one step."""
    return RunbookStep(
        title,
        tuple(_drop_returns([line for part in parts for line in part.commands])),
        on_failure,
        tuple(dict.fromkeys(part.hint for part in parts if part.hint)),
        sum(part.seconds for part in parts),
        usd_per_hour,
    )


def _drop_returns(lines: Sequence[str]) -> Iterator[str]:
    """Yield the commands without those that set the limit of a NodePool and are undone by the next command."""
    kept: list[str] = []
    for line in lines:
        same = kept and kept[-1].split()[:4] == line.split()[:4] and tools.changes_limit(kept[-1], line)
        kept = kept[:-1] if same else [*kept, line]
    return iter(kept)
