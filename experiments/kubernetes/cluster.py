"""The answer of `cluster`: today's cost of a dump's cluster, a bound on the savings, and a plan."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import floor
from pathlib import Path
from typing import Any

import numpy as np

from experiments.entry import FAILED, SAVING, UNSOLVED
from experiments.harness.entry import Entry
from experiments.harness.run import Run
from experiments.kubernetes.drains import WAITING, DrainPlan, count_evictions
from experiments.kubernetes.plan_file import PlanFile
from experiments.kubernetes.pool_table import show_pools, sum_up_pools
from experiments.kubernetes.question import ClusterQuestion, evictions_of, share_of, tool_of
from experiments.kubernetes.reach import RentalLimits, reachable, state_of
from experiments.kubernetes.repair import find_repeatable
from experiments.kubernetes.replay import Replay, Replayed
from experiments.kubernetes.since import compare, difference_lines, read_answer
from experiments.kubernetes.steps import Runbook, RunbookStep
from experiments.kubernetes.ticket import Ticket
from experiments.output.folder import files_first
from experiments.output.table import Kind, show_table
from experiments.output.terminal import line, out, percent, print_line, print_rich, text_of
from experiments.session import Session
from heuristics.kubernetes.kube_scheduler import VERSION
from instances import Instance, Options, Result, save
from instances.files import write_whole
from instances.gaps import agree
from instances.kubernetes.arrays import ClusterArrays, cluster_arrays
from instances.kubernetes.catalogue import find_prices
from instances.kubernetes.dump import read_dump
from instances.kubernetes.facts import WAITED_FOR, Facts
from instances.kubernetes.prices import Prices
from instances.kubernetes.readings import Aliases, DumpReading, Reader
from instances.text import count_noun, escape_text

HOURS = 730  # of a month, as clouds bill it
SHARES = (0.1, 0.25, 0.5)  # of the pods: the points of the frontier; another point has no limit
FREED = 0.4  # of the time limit, for the plan without a reason
SEARCHED = 4.0  # times the time limit, for a plan that can be carried out: large clusters need more than the bound
A_TENTH = 0.1
FEW = 12  # names of a line
REPLAYED = f"replayed with kube-scheduler's default profile, {VERSION}"
COUNTED = {"evictions": "evictions", "pending_again": "pending for a while", "pending_in_the_end": "pending at the end"}
Methods = Callable[[Instance[Any], Sequence[str]], list[Entry]]


def answer(asked: ClusterQuestion, session: Session, methods: Methods) -> int:
    """Print the answer, write what was asked for, and return the exit status."""
    found = solve(asked, session, methods)

    def write() -> None:
        if asked.plan is not None:
            write_whole(asked.plan, found.plan_file(asked.plan.suffix).encode())
        if session.folder is not None:
            found.write(session.folder)

    with files_first(write):
        found.print(session.format)
    return found.exit_status


def solve(asked: ClusterQuestion, session: Session, methods: Methods) -> ClusterAnswer:
    """All runs that the answer takes, and the answer. Raises InputError."""
    fail_above = None if asked.fail_above is None else share_of(asked.fail_above)
    earlier = None if asked.since is None else (asked.since, read_answer(asked.since))
    dump = read_dump(asked.dumps)
    prices = find_prices(asked.types, asked.prices, dump.nodes.values())
    reader = Reader(Facts(dump), prices, Aliases(asked.anonymous))
    bound, plan = reader.read("bound"), reader.read("plan")
    in_place = sum(n for node in plan.data.nodes for n in node.pods.values())
    most = evictions_of(asked.max_evictions, in_place)
    limits = [floor(share * in_place) for share in SHARES]
    points = [*sorted({k for k in limits if most is None or k < most}), most]
    problems: dict[tuple[str, Any], Instance[Any]] = {("bound", None): Instance.of(bound.data, "bound")}
    for k in points:
        data = plan.data if k is None else plan.data.with_(max_evictions=k)
        problems["plan", k] = Instance.of(data, "plan" if k == most else f"plan with {k} evictions")
    for reason in plan.pinned:
        free = reader.read("plan", free_of=[reason]).data
        data = free if most is None else free.with_(max_evictions=most)
        problems["free", reason] = Instance.of(data, f"plan without {reason}")
    exact = methods(problems["bound", None], ["exact"])[0]
    limit = session.options.time_limit
    shorter = replace(session.options, time_limit=None if limit is None else FREED * limit)
    runs = [
        Run(problem, exact, shorter if kind == "free" else session.options) for (kind, _), problem in problems.items()
    ]
    by_rule = {rule: reader.read("plan", tool_of(rule)) for rule in asked.rules}
    for rule, reading in by_rule.items():
        problem = Instance.of(reading.data, "cluster")
        runs.append(Run(problem, methods(problem, [rule])[0], session.options))
    with session.store() as store:
        results = session.outcomes(runs, store, line)
    by_key = dict(zip(problems, results, strict=False))
    found = ClusterAnswer(
        bound=bound,
        plan=plan,
        results=by_key,
        points=points,
        rules=dict(zip(asked.rules, results[len(problems) :], strict=True)),
        arrays=cluster_arrays(problems["plan", most].data),
        places=reader.aliases,
        facts=reader.facts,
        prices=prices,
        earlier=earlier,
        fail_above=fail_above,
        waited=Counter(None if waited is None else waited.fits for waited in reader.facts.places_for_pending.values()),
        same_problem={rule for rule, reading in by_rule.items() if reading.data == plan.data},
        replay=Replay(reader.facts, reader.prices, plan, session.options.seed),
    )
    found.carry_out(session.options)
    return found


@dataclass
class ClusterAnswer:
    """The results of all runs. `results`: bound, plans with each number of evictions, and plans without each reason.

    - `waited`: how many pending pods of other schedulers have room on a node today (true), could have the whole of a
      node (false), or fit on none (null).
    - `same_problem`: the rules that leave alone what the plan leaves alone, so that where they end is a plan, too.
    - `plans`: for each number of evictions the plan that kube-scheduler carries out, `plan_made` the last of them,
      and `went`: how it went. `possible`: those of which no order leaves a pod without a place.
    - `refused`: the cheapest plan of the search and how it went, if it failed in an order.
    - `earlier`: the file with an earlier answer, and that answer; `fail_above`: the saving that ends with a status.
    """

    bound: DumpReading
    plan: DumpReading
    results: Mapping[tuple[str, Any], Result]
    points: Sequence[int | None]
    rules: Mapping[str, Result]
    arrays: ClusterArrays
    places: Aliases
    replay: Replay
    facts: Facts
    prices: Prices
    waited: Mapping[bool | None, int] = field(default_factory=dict)
    same_problem: Collection[str] = ()
    plans: dict[int | None, DrainPlan] = field(default_factory=dict)
    plan_made: DrainPlan | None = field(default=None)
    went: Replayed | None = field(default=None)
    refused: tuple[DrainPlan, Replayed] | None = field(default=None)
    possible: set[int | None] = field(default_factory=set)
    earlier: tuple[Path, Mapping[str, Any]] | None = None
    fail_above: float | None = None

    def carry_out(self, options: Options) -> None:
        """Find plans that can be carried out: from the best plans, and from where the rules end.

        A plan with fewer evictions is one of those with more, so more evictions never give a worse plan.
        """
        ends = [result for result in self.rules.values() if result.solved]
        searched, trail = list[DrainPlan](), list[DrainPlan]()
        for k in self.points:
            if (own := self.results["plan", k]).solved:
                ends.append(own)
            if not any(self.results["plan", p].solved for p in self.points[: self.points.index(k) + 1]):
                continue
            arrays = replace(self.arrays, data=self.arrays.data.with_(max_evictions=k))
            searched.append(
                reachable(
                    arrays,
                    [state_of(arrays, result.solution) for result in ends],
                    options.seed,
                    bound=self._bound_of(k),
                    limits=self.limits,
                    known=searched,
                    time_limit=None if options.time_limit is None else SEARCHED * options.time_limit,
                    trail=trail,
                )
            )
            known, last = list(self.plans.values()), k == self.points[-1]
            found = find_repeatable(arrays, self.replay, [*searched, *trail], known, last)
            self.plans[k] = self.plan_made = found.plan
            self.went, self.refused = found.went, found.refused
            if not found.went.failed:
                self.possible.add(k)

    # figures

    @cached_property
    def limits(self) -> RentalLimits:
        """Return the remaining limits of pools and rows, and the share that a new node of each type takes."""
        kinds = [self.plan.offerings[kind.name] for kind in self.plan.data.instance_types]
        left = {key: most for kind in kinds for key, (most, _) in kind.limits.items()}
        takes = [[kind.limits.get(key, (0, 0))[1] for key in left] for kind in kinds]
        return RentalLimits(np.array(takes, dtype=object).reshape(len(kinds), len(left)), list(left.values()))

    def _list_known(self) -> Iterator[tuple[float, int]]:
        """Yield the bill and the evictions of each plan that is known and within the limits of NodePools."""
        ends = [self.results["plan", k] for k in self.points]
        ends += [result for rule, result in self.rules.items() if rule in self.same_problem]
        for result in ends:
            solution = result.solution if result.solved else None
            if solution is None or result.objective is None:
                continue
            if self.limits.allow(state_of(self.arrays, solution)[1]):
                yield result.objective, count_evictions(self.plan.data, solution)
        for plan in (self.plans[k] for k in self.possible):
            yield self.arrays.usd(plan.bill(self.arrays)), plan.evictions(self.arrays)

    def _find_min_bill(self, k: int | None) -> tuple[float, int] | None:
        """Return the minimum bill of all known plans with at most `k` evictions, and the evictions of that plan."""
        return min(((usd, n) for usd, n in self._list_known() if k is None or n <= k), default=None)

    def _bound_of(self, k: int | None) -> float | None:
        """Return the bound of a plan with `k` evictions: from its own run and from the bound of any plan."""
        known = [self.results["plan", k].bound, self.lower]
        return max((bound for bound in known if bound is not None), default=None)

    @property
    def proven(self) -> bool:
        """Whether no plan is better."""
        bound = self._bound_of(self.points[-1])
        return self.least is not None and bound is not None and agree(self.least, bound)

    @property
    def bill(self) -> float:
        """Today's cost of the nodes with a known price, USD/h."""
        return self.arrays.usd(int(self.arrays.held_price.sum()))

    @property
    def least(self) -> float | None:
        """The minimum bill of all known plans with the allowed evictions."""
        found = self._find_min_bill(self.points[-1])
        return None if found is None else found[0]

    @property
    def own(self) -> Result:
        """The result of the exact method with the evictions that are allowed."""
        return self.results["plan", self.points[-1]]

    @property
    def lower(self) -> float | None:
        """The lower bound on every bill, for any number of evictions."""
        return self.results["bound", None].bound

    @property
    def final_bill(self) -> float | None:
        """The bill at the end of the plan that can be carried out."""
        return None if self.plan_made is None else self.arrays.usd(self.plan_made.bill(self.arrays))

    @property
    def eviction_count(self) -> int | None:
        if self.plan_made is None:
            return None
        return int(self.arrays.on_node[list(self.plan_made.order)].sum())

    @property
    def exit_status(self) -> int:
        """Return 1 if a run ended in an error, 4 if the plan saves more than `fail_above`, 3 if a limit left no plan.

        If the price of a node is unknown, the status is 3, too.
        """
        if any(result.status == "error" for result in (*self.results.values(), *self.rules.values())):
            return FAILED
        if self.fail_above is not None and self.saving > self.fail_above:
            return SAVING
        return UNSOLVED if self.plan.unpriced or self.plan_made is None else 0

    @property
    def places_by_number(self) -> dict[int, str]:
        """The places of the plan by the numbers that it has for them: nodes by name, new ones by type and number."""
        data, new = self.plan.data, () if self.plan_made is None else self.plan_made.new
        names = {~i: f"{data.instance_types[k].name}#{new[: i + 1].count(k)}" for i, k in enumerate(new)}
        return dict(enumerate(node.name for node in data.nodes)) | names

    def steps(self) -> list[dict[str, Any]]:
        """Return the steps of the plan in order: rent nodes, or drain one; consecutive rentals are one step.

        `onto`: the places that are uncordoned in turn for the pods of the step; null where no other place is cordoned.
        """
        if self.plan_made is None:
            return []
        data, arrays, names = self.plan.data, self.arrays, self.places_by_number
        onto = {m: [names[p] for p in places] for m, places in self.plan_made.open.items()}
        bill, found = int(arrays.held_price.sum()), list[dict[str, Any]]()
        rents = {"drain": None, "onto": onto.get(WAITING), "evictions": 0}
        if WAITING in onto and not self.plan_made.new:
            found.append({"rent": {}, **rents, "usd_per_hour": self.bill})
        for step in self.plan_made.steps:
            if step >= 0:
                bill -= int(arrays.held_price[step])
                drain = {"drain": data.nodes[step].name, "onto": onto.get(step), "evictions": int(arrays.on_node[step])}
                found.append({"rent": {}, **drain})
            else:
                bill += int(arrays.price[~step])
                if not found or found[-1]["drain"] is not None:
                    found.append({"rent": {}, **rents})
                rent, name = found[-1]["rent"], data.instance_types[~step].name
                rent[name] = rent.get(name, 0) + 1
            found[-1]["usd_per_hour"] = arrays.usd(bill)
        return found

    def list_cordoned(self) -> list[str]:
        """Return the nodes that are cordoned first: those that are drained, and all others where pods are directed."""
        if self.plan_made is None or not self.plan_made.order:
            return []
        directed = bool(self.plan_made.open)
        return [
            node.name
            for m, node in enumerate(self.plan.data.nodes)
            if m in self.plan_made.order or (directed and not node.cordoned)
        ]

    def list_uncordoned(self) -> list[str]:
        """Return the nodes that are uncordoned at the end: if pods are directed, those that are kept and new ones."""
        if self.plan_made is None or not self.plan_made.open:
            return []
        drained = {self.places_by_number[m] for m in self.plan_made.order}
        new = [name for place, name in self.places_by_number.items() if place < 0]
        return [*(node for node in self.list_cordoned() if node not in drained), *new]

    def runbook(self) -> list[RunbookStep]:
        """Return the steps for a person, with commands."""
        open_again = self.list_uncordoned()
        book = Runbook(self.facts, self.places, self.plan.offerings, self.steps(), self.list_cordoned(), open_again)
        return book.make()

    def pools(self) -> list[dict[str, Any]]:
        """Return the nodes, requests and cost of each pool, today and after the plan."""
        nodes, plan = self.plan.data.nodes, self.plan_made
        kept = {node.name for m, node in enumerate(nodes) if plan is None or plan.kept[m]}
        types = self.plan.data.instance_types
        new = [self.plan.offerings[types[k].name] for k in (() if plan is None else plan.new)]
        return sum_up_pools(self.facts, self.prices, self.places, kept, new)

    def frontier(self) -> list[dict[str, Any]]:
        """Return the points of the frontier of bills and evictions, each proven or with its bound."""
        found = []
        for k in self.points:
            bound = self._bound_of(k)
            usd, evictions = self._find_min_bill(k) or (None, None)
            plan = self.plans.get(k)
            found.append(
                {
                    "max_evictions": k,
                    "evictions": evictions,
                    "usd_per_hour": usd,
                    "reachable_usd_per_hour": None if plan is None else self.arrays.usd(plan.bill(self.arrays)),
                    "bound_usd_per_hour": bound,
                    "proven": usd is not None and bound is not None and agree(usd, bound),
                }
            )
        return found

    def list_pinned(self) -> list[dict[str, Any]]:
        """Pods that stay by reason, and what the best plan would cost less without that reason."""
        found = []
        for reason, pods in self.plan.pinned.items():
            free = self.results["free", reason]
            saved = None
            if self.least is not None and free.objective is not None and free.solved:
                saved = self.least - free.objective if free.objective <= self.least else None  # else it was cut short
            proven = saved is not None and self.proven and free.status == "optimal"
            found.append({"reason": reason, "pods": pods, "usd_per_hour": saved, "proven": proven})
        return found

    def ends(self) -> list[dict[str, Any]]:
        """Return the final state of each rule; a pod that it evicts twice counts twice."""
        return [
            {
                "rule": rule,
                "usd_per_hour": result.objective,
                "evictions": result.info.get("evictions"),
                "pending_again": result.info.get("pending_again"),
                "pending_in_the_end": result.info.get("waiting"),
                "status": result.status,
                "reason": result.reason,
            }
            for rule, result in self.rules.items()
        ]

    def content(self) -> dict[str, Any]:
        """Return the whole answer as one object of plain types; unknown values are null."""
        plan, nodes = self.plan_made, self.plan.data.nodes
        unpriced = [
            {"type": kind, "zone": zone or None, "capacity_type": paid, "nodes": n}
            for (kind, zone, paid), n in self.plan.unpriced.items()
        ]
        counts = {"today": len(nodes), "kept": None, "drained": None, "rented": None}
        if plan is not None:
            counts |= {"kept": int(plan.kept.sum()), "drained": len(plan.order), "rented": len(plan.new)}
        found = {
            "bill_usd_per_hour": self.bill,
            "least_usd_per_hour": self.least,
            "bound_usd_per_hour": self.lower,
            "status": "optimal" if self.proven else self.own.status if self.least is None else "feasible",
            "reachable_usd_per_hour": self.final_bill,
            "pods": sum(pod.count for pod in self.plan.data.pods),
            "pending_pods": {
                "served": self.plan.pending,
                "other_scheduler": sum(self.waited.values()),
                "other_scheduler_with_room": self.waited.get(True, 0),
                "other_scheduler_without_node": self.waited.get(None, 0),
            },
            "kept_nodes": [{"reason": reason, "nodes": n} for reason, n in self.plan.kept.items()],
            "not_rented": list(self.plan.not_rented),
            "evictions": self.eviction_count,
            "orders_with_pending_pods": None if self.went is None else self.went.failed,
            "orders": None if self.went is None else self.went.orders,
            "scheduler": VERSION,
            "nodes": counts | {"unpriced": unpriced},
            "pools": self.pools(),
            "steps": self.steps(),
            "runbook": [step.content() for step in self.runbook()],
            "frontier": self.frontier(),
            "rules": self.ends(),
            "pinned": self.list_pinned(),
            "dropped": [{"reason": said, "pods": n} for said, n in self.bound.dropped.items()],
            "not_placed": [{"reason": said, "pods": n} for said, n in self.plan.dropped.items()],
        }
        return found if self.earlier is None else found | {"since": compare(self.earlier[1], found)}

    @property
    def saving(self) -> float:
        """Return the share of the bill that the plan saves."""
        return 0.0 if self.final_bill is None or not self.bill else (self.bill - self.final_bill) / self.bill

    # words

    def __str__(self) -> str:
        return text_of(self.show)

    def show(self) -> None:
        """Print the bills in a table, then what is kept, what to do, which pods stay where they are, and the pools."""
        show_table(*self.bill_table())
        out.print()
        for text in self.lines():
            print_rich(escape_text(text))
        pins = [
            (escape_text(p["reason"]), str(p["pods"]), "-" if p["usd_per_hour"] is None else f"{p['usd_per_hour']:.4f}")
            for p in self.list_pinned()
        ]
        if pins:
            out.print()
            show_table([("pods stay because of", "name"), ("pods", "number"), ("costs USD/h", "number")], pins)
        out.print()
        show_pools(self.pools())

    def bill_table(self) -> tuple[list[tuple[str, Kind]], list[list[str]]]:
        """Return the headings and the rows of the table of bills."""
        head: list[tuple[str, Kind]] = [("bill", "name"), ("USD/h", "number"), ("USD a month", "number")]
        head += [("saved", "number"), *((said, "number") for said in COUNTED.values()), ("", "note")]
        return head, list(self._bills())

    def _bills(self) -> Iterator[list[str]]:
        """Yield a row for each bill: today's, those of rules and plans, and the bound."""
        nodes, pods = len(self.plan.data.nodes), sum(pod.count for pod in self.plan.data.pods)
        yield self._bill_row("today", self.bill, f"{nodes} nodes with {pods} pods")
        for end in self.ends():
            note = "" if end["usd_per_hour"] is not None else f"no answer: {end['reason'] or end['status']}"
            yield self._bill_row(end["rule"], end["usd_per_hour"], note, [end[key] for key in COUNTED])
        if self.plan_made is not None and self.went is not None:
            note = f"in {self.went.failed} of {self.went.orders} random orders a pod finds no place ({REPLAYED})"
            yield self._bill_row("this plan", self.final_bill, note, [self.eviction_count])
        yield self._bill_row("best bill known", self.least, self._proof())
        unknown = "nothing was proven within the time limit"
        yield self._bill_row("lower bound", self.lower, unknown if self.lower is None else "proven for any plan")

    def _bill_row(self, name: str, usd: float | None, note: str, counts: Sequence[int | None] = ()) -> list[str]:
        """Return a row of the table of bills. A bill above today's is that of pending pods, which get nodes."""
        cells = ["-"] * 3
        if usd is not None:
            saved = percent((self.bill - usd) / self.bill, 1) if self.bill else "-"
            cells = [f"{usd:.4f}", f"{usd * HOURS:,.0f}", saved if name != "today" else "-"]
        numbers = ["-" if n is None else str(n) for n in (*counts, *[None] * (len(COUNTED) - len(counts)))]
        return [escape_text(name), *cells, *numbers, escape_text(note)]

    def _proof(self) -> str:
        """Say how far the best bill that is known is from the bound."""
        if self.least is None:
            return self.own.reason or self.own.status
        within = "" if self.points[-1] is None else f" with at most {self.points[-1]} evictions"
        bound = self._bound_of(self.points[-1])
        if self.proven or bound is None or not self.least:
            return f"{'proven' if self.proven else 'not proven'} optimal{within}"
        return f"within {percent((self.least - bound) / self.least)} of the optimum{within}"

    def lines(self) -> Iterator[str]:
        """Yield the lines below the table of bills."""
        for (kind, zone, paid), number in self.plan.unpriced.items():
            where = f" in {zone}" if zone else ""
            yield f"not counted, because no row of the table has a price: {number} x {kind}{where}, {paid}"
        if self.earlier is not None:
            yield from difference_lines(self.earlier[0], self.content()["since"])
        yield from self._describe_kept_and_pending()
        yield from self._plan()
        yield from self._tenth()
        for what, reading in (("the bound ignores", self.bound), ("not in the plan", self.plan)):
            if reading.dropped:
                yield f"{what}: {'; '.join(f'{reason}: {n}' for reason, n in reading.dropped.items())}"

    def _describe_kept_and_pending(self) -> Iterator[str]:
        """Say which nodes are kept, which types are not rented, and which pending pods get a place."""
        for reason, n in self.plan.kept.items():
            both = "the plan keeps" if reason == WAITED_FOR else "the plan and the bound keep"
            yield f"{reason}: {count_noun(n, 'node')}, which {both}"
        if n := self.plan.pending:
            yield (
                f"pending: {count_noun(n, 'pod')}, which the plan and the bound serve; today's bill does not, so "
                "without them more could be saved"
            )
        if n := sum(self.waited.values()):
            fits, none = self.waited.get(True, 0), self.waited.get(None, 0)
            yield (
                f"pending with another scheduler: {count_noun(n, 'pod')}; the plan reserves room on nodes that run for "
                f"{fits} of them, and the bound serves these, too; {none} fit on no node"
            )
        if n := len(self.plan.not_rented):
            yield (
                f"not rented: {count_noun(n, 'type')} of the table, because no pool shows the type and its "
                "architecture, and neither a NodePool nor the columns pool and arch allow it"
            )

    def _plan(self) -> Iterator[str]:
        """Say what to rent and which nodes to drain."""
        plan = self.plan_made
        if plan is None:
            yield f"no plan: {self.own.reason or self.own.status}"
        elif not plan.order and not plan.new:
            yield "no plan that kube-scheduler can carry out saves anything"
        yield from self._describe_refused()
        if plan is not None and plan.new:
            new = Counter(self.plan.data.instance_types[k].name for k in plan.new)
            yield "rent " + ", ".join(f"{n} x {name}" for name, n in new.items())
        if plan is not None and plan.order:
            drains = [step for step in self.steps() if step["drain"] is not None]
            names = [step["drain"] + (f" ({' then '.join(step['onto'])})" if step["onto"] else "") for step in drains]
            more = f", ... ({len(names)})" if len(names) > FEW else ""
            turns = "cordon all nodes, and drain, with those alone uncordoned in turn"
            what = turns if plan.open else "cordon and then drain"
            yield f"{what}, in this order, {', '.join(names[:FEW])}{more}"

    def _describe_refused(self) -> Iterator[str]:
        """Say how the cheapest plan of the search went if kube-scheduler does not carry it out in every order."""
        if self.refused is not None:
            plan, went = self.refused
            usd = self.arrays.usd(plan.bill(self.arrays))
            yield (
                f"a plan that ends at {usd:.4f} USD/h fails in {went.failed} of {went.orders} orders; this is the "
                "cheapest found that does not"
            )

    def _tenth(self) -> Iterator[str]:
        """Say which share of the maximum saving evicting a tenth of the pods gives."""
        k = floor(A_TENTH * int(self.arrays.on_node.sum()))
        part = self._find_min_bill(k) if k in self.points[:-1] else None
        if part is not None and self.least is not None and self.least < self.bill:
            share = percent((self.bill - part[0]) / (self.bill - self.least), 0)
            yield f"a tenth of the pods, {k} evictions, gets {share} of what the least bill saves"

    # files

    def ticket(self) -> Ticket:
        """Return the answer for a page of Markdown."""
        head, bills = self.bill_table()
        texts = [text for text, _ in head]
        return Ticket(self.saving, texts, bills, list(self.lines()), self.pools(), self.runbook())

    def plan_file(self, ending: str) -> str:
        """Return the plan as JSON, or as CSV with one row per step."""
        figures = {
            "bill_usd_per_hour": self.bill,
            "reachable_usd_per_hour": self.final_bill,
            "evictions": self.eviction_count,
        }
        new = [name for place, name in self.places_by_number.items() if place < 0]
        made = PlanFile(figures, self.steps(), self.runbook(), self.list_cordoned(), self.list_uncordoned(), new)
        return made.write_json() if ending == ".json" else made.write_csv()

    def write(self, folder: Path) -> None:
        """Write the answer, both problems in files for `solve`, and the picture to a folder."""
        write_whole(folder / "cluster.json", (json.dumps(self.content(), indent=1) + "\n").encode())
        save(Instance.of(self.bound.data, "bound", "a dump, read for a bound"), folder / "bound.json")
        save(Instance.of(self.plan.data, "plan", "a dump, read for a plan"), folder / "plan.json")
        from experiments.kubernetes.pictures import write_picture  # with matplotlib, where a picture is wanted

        write_picture(folder / "cluster", self.content())

    def print(self, form: str) -> None:
        """Print the answer on standard output."""
        if form == "json":
            print_line(json.dumps(self.content()))
        elif form == "csv":
            print(self.plan_file(".csv"), end="")
        elif form == "markdown":
            print(self.ticket(), end="")
        else:
            self.show()
