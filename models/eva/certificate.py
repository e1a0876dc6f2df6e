"""Certificates of Eva's packing: a tree over linear programs of patterns, with integer duals at each leaf.

For the net saving, the certificate is a VIPR proof of the program over all patterns with a positive saving. All that
follows is about the cost.

The tree of the solving method is grown again, towards a known bound. If tasks are packed one by one, the linear program
of the single tasks proves most. If patterns are listed, the tree is that of branch-and-price, and no pattern is removed
from its list. Neither searches for packings. The resulting decisions and duals are untrusted: each leaf is priced
again, by the same exact search as in `verify`. If this proves too little, or there is no such tree, the surrogate
relaxation is tried, because it needs no patterns. Finally, a tree is grown that prices by the exact search.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from instances import Options, Solution, Stopwatch
from instances.eva import EvaPacking, packing_arrays
from instances.eva.arrays import PackingArrays
from instances.fields import STEPS
from instances.proofs import Certificate, NoCertificate, digest
from instances.proofs.certificate import VERSION
from instances.proofs.eva.certificate import Branch, Leaf, Packing, PackingDecision, WrittenNode, describe_leaves
from instances.proofs.eva.saving_program import LimitedSavingProgram, saving_program
from models.core.column_generation import cheap_first
from models.core.derivation import certify
from models.core.highs import SolveFailed
from models.core.incumbent import Incumbent
from models.eva import pricer as solved
from models.eva.branch_and_price import BranchAndPrice
from models.eva.columns import LARGEST as LARGEST_AMOUNT
from models.eva.configuration import Column, Configuration, configuration
from models.eva.greedy import start_duals
from models.eva.node_program import NodeProgram, find_spend_types
from models.eva.parameters import BranchAndPriceParameters, ItemParameters
from models.eva.pricer import Pricer
from models.eva.pricers import BITS, MANY_STEPS, SearchPricer, list_patterns
from models.eva.relaxation import Goal, NodeRelaxation, limit_pricings
from models.eva.totals import proof_by_totals

LARGEST = 1 << 60  # limit on the dual value of all tasks, in units of the exact search, and on each dual
FINE = 1 << 20  # raising a scale up to this by one may prove far less, so lowered duals are tried as well
SHARE = 0.6  # share of the time for the tree of the solving method; the rest is for pricing it and for another tree
WHOLE = Fraction(1, 10**6)  # a dual at most this far below an integer is rounded up to it
PROVING = BranchAndPriceParameters(proving=True, restart_nodes=50, program_nodes=0)
ITEMS = ItemParameters()


def certificate(data: EvaPacking, solution: Solution | None, bound: float, options: Options) -> Certificate:
    """Return a proof of `bound`, or of the best bound within the limits. Raises NoCertificate if there is none."""
    if data.objective == "net-saving":
        saving = saving_program(data)
        point = None if solution is None else saving.point(solution)
        ahead = saving.numbers if isinstance(saving, LimitedSavingProgram) else frozenset[int]()
        return certify(data, saving.program(), point, Fraction(bound), options, ahead=ahead)
    clock = Stopwatch(options.time_limit)
    unit = Fraction(Packing(data).unit, STEPS)
    target = math.ceil(Fraction(bound) / unit - Fraction(1, 1000))
    cost = None if solution is None else _cost(data, solution)
    most = target if cost is None else max(target, math.ceil(cost / unit))  # HiGHS's bound may be slightly too low
    trees = [PricedTree(Packing(data), clock)]
    with suppress(NoCertificate):
        if trees[0].bound < target:
            trees.append(proven_tree(data, solution, target, grow_by_method, _share_time(options, clock, SHARE)))
    if trees[-1].bound >= target:
        return _write(data, trees[-1])
    totals = proof_by_totals(data, solution, target, most, _share_time(options, clock))
    if totals is not None and totals.bound >= target:
        return _certificate(data, totals.bound, Packing(data).unit, [{"totals": totals.model_dump()}])
    trees.append(proven_tree(data, solution, target, grow_by_search, _share_time(options, clock)))
    tree = max(trees, key=lambda tree: tree.bound)
    if totals is not None and totals.bound > tree.bound:
        return _certificate(data, totals.bound, Packing(data).unit, [{"totals": totals.model_dump()}])
    if tree.bound <= 0 < target and not clock.has_expired:
        raise NoCertificate("duals are too large for an exact search")
    return _write(data, tree)


def _share_time(options: Options, clock: Stopwatch, share: float = 1.0) -> Options:
    """Return the options with a share of the remaining time as their time limit."""
    return options if options.time_limit is None else replace(options, time_limit=max(share * clock.remaining_s, 1e-3))


def _cost(data: EvaPacking, solution: Solution) -> Fraction:
    arrays = packing_arrays(data)
    return arrays.cost(arrays.groups(solution)) * arrays.price_unit


def certificate_of(data: EvaPacking, arrays: PackingArrays, leaves: Sequence[solved.ProvenLeaf]) -> Certificate:
    """Return the certificate of the leaves of a tree over the classes of `arrays`, for any pricer."""
    tree = PricedTree(Packing(data), Stopwatch())
    tree.take(Grown(arrays, None, leaves))
    return _write(data, tree)


def _write(data: EvaPacking, tree: PricedTree) -> Certificate:
    return _certificate(data, tree.bound, tree.packing.unit, tree.to_json())


def _certificate(data: EvaPacking, bound: int, unit: int, nodes: list[dict[str, object]]) -> Certificate:
    content = {
        "gapwise_certificate": VERSION,
        "problem": data.problem,
        "instance": digest(data),
        "unit": unit,
        "bound": bound,
        "nodes": nodes,
    }
    how = describe_leaves([WrittenNode.model_validate(node) for node in nodes])
    return Certificate("json", json.dumps(content) + "\n", Fraction(bound * unit, STEPS), how)


def proven_tree(
    data: EvaPacking,
    solution: Solution | None,
    target: int,
    grow: Callable[[PackingArrays, Configuration, int, Options], Grown | None],
    options: Options,
) -> PricedTree:
    """Grow a tree towards the bound `target`, in price units, and price its leaves exactly.

    If no tree can be grown, the result is a root that proves nothing.

    - `solution`: a known packing; its patterns are the first columns.
    - `grow`: grows the tree from the classes, the known packing, the goal and the options.
    """
    packing, arrays, clock = Packing(data), packing_arrays(data), Stopwatch(options.time_limit)
    tree = PricedTree(packing, clock)
    goal = target * int(Fraction(packing.unit, STEPS) / arrays.price_unit)
    known = {} if solution is None else configuration(arrays.groups(solution))
    found = grow(arrays, known, goal, options)
    if found is not None:
        tree.take(found)
    return tree


@dataclass(frozen=True)
class Grown:
    """A grown tree: the duals of the root, if known, and the leaves, over the classes of `arrays`."""

    arrays: PackingArrays
    root: solved.Duals | None
    leaves: Sequence[solved.ProvenLeaf]


def grow_by_method(arrays: PackingArrays, known: Configuration, goal: int, options: Options) -> Grown | None:
    """Grow the tree of the method that suits the instance, towards the bound `goal` in price units.

    Return `None` if the patterns cannot be listed, or the root is not solved.
    """
    if not arrays.has_limits and ITEMS.suits(arrays):
        return _grow_item_tree(arrays, known, goal, options)
    pricer = list_patterns(arrays, PROVING)
    return None if pricer is None else _grow_tree(arrays, pricer, (), goal, options, Stopwatch(options.time_limit))


def grow_by_search(arrays: PackingArrays, known: Configuration, goal: int, options: Options) -> Grown | None:
    """Grow a tree that prices by the exact search, for any instance; return `None` if the root is not solved."""
    clock = Stopwatch(options.time_limit)
    return _grow_tree(arrays, SearchPricer(arrays, clock), known, goal, options, clock)


def _grow_tree(
    arrays: PackingArrays, pricer: Pricer, columns: Iterable[Column], goal: int, options: Options, clock: Stopwatch
) -> Grown | None:
    incumbent: Incumbent[Configuration, int] = Incumbent("minimize", clock, bound=0)
    incumbent.offer(goal, {})  # the bound to prove acts as the cost of an incumbent
    tree = BranchAndPrice(arrays, pricer, replace(options, gap=0.0), incumbent, clock, PROVING)
    tree.program.add(columns)
    with suppress(SolveFailed):  # the leaves so far still prove a bound
        tree.run()
    return None if tree.root is None else Grown(arrays, tree.root, tree.proof().leaves)


def _grow_item_tree(arrays: PackingArrays, known: Configuration, target: int, options: Options) -> Grown | None:
    from models.eva.item_pricer import ItemPricer
    from models.eva.single_tasks import (
        SingleTasks,
        best_fit,  # compiled at first use, which takes seconds
    )

    if max(int(arrays.capacity.max()), int(arrays.demand.max())) > LARGEST_AMOUNT:
        return None
    clock, tasks = Stopwatch(options.time_limit), SingleTasks(arrays)
    items, pricer = tasks.arrays, ItemPricer(tasks.arrays, ITEMS)
    program = NodeProgram(items, options, int(items.price.max()), clock)
    for cover in [tasks.split(known), *best_fit(items)]:
        program.add(cover)
    relaxation = NodeRelaxation(program, pricer, *(ITEMS.columns.columns_each_round,) * 2, limit_pricings(options))
    try:
        tries, start = cheap_first(ITEMS.columns.smoothing), start_duals(items, options)
        found = relaxation.run((), Goal(target, reach=True), clock, tries, start)
    except SolveFailed:
        return None
    if found.leaf is not None and found.bound >= target:
        return Grown(items, found.leaf.duals, (found.leaf,))
    return _grow_tree(items, pricer, program.columns, target, options, clock)


@dataclass
class _Duals:
    """Integer duals: their `scale`, those of the entries' `tasks`, and those of the `decisions`."""

    scale: int
    tasks: tuple[int, ...]
    decisions: tuple[int, ...]


@dataclass
class _Node:
    """A node with its best known duals, its own or those of its parent, and the bound that they prove."""

    decisions: tuple[PackingDecision, ...]
    duals: _Duals
    bound: int
    branch: Branch | None = None
    children: tuple[int, int] | None = None


class PricedTree:
    """A tree of decisions with integer duals that the exact search has priced; the root comes first.

    - `packing`: the problem as a certificate states it.
    - `clock`: limits the time of pricing.
    """

    def __init__(self, packing: Packing, clock: Stopwatch) -> None:
        self.packing, self.clock = packing, clock
        bits = max(packing.price).bit_length()
        self.start = max(1 << max(0, BITS - bits), min(FINE, LARGEST >> (bits + 3)))
        limits = packing.limits
        self.nodes = [_Node(limits, _Duals(1, (0,) * len(packing.count), (0,) * len(limits)), 0)]

    @property
    def bound(self) -> int:
        """Return the bound that the leaves prove together."""
        return min(node.bound for node in self.nodes if node.children is None)

    def take(self, found: Grown) -> None:
        """Price a grown tree. A node stays a leaf if a certificate cannot state its branch."""
        arrays, depth = found.arrays, len(self.packing.limits)
        if found.root is not None:
            limits = [solved.BranchDecision("instances", ())] * depth
            self._price(self.nodes[0], arrays, found.root, limits)
        left = [(self.nodes[0], list(found.leaves), depth)]
        while left:
            node, under, depth = left.pop()
            if len(under) == 1 and len(under[0].decisions) == depth:
                self._price(node, arrays, under[0].duals, under[0].decisions)
                continue
            sides: dict[solved.BranchDecision, list[solved.ProvenLeaf]] = {}
            for leaf in under:
                sides.setdefault(leaf.decisions[depth], []).append(leaf)
            # Both sides of a branch on placed tasks are "at least". The side on one type or family names the branch.
            named = next(side for side in sides if side.kind != "placed" or self._together(side.of[1:]))
            branch = self._branch(arrays, named)
            if branch is None:
                continue
            second = named.sense == "at least"
            children = self._split(node, branch)
            for side, below in sides.items():
                left.append((children[int((side is named) == second)], below, depth + 1))

    def _split(self, node: _Node, branch: Branch) -> list[_Node]:
        """Add the two children of a node, with the duals and the bound of the node."""
        node.branch, node.children = branch, (len(self.nodes), len(self.nodes) + 1)
        for side in self.packing.sides(branch):
            duals = replace(node.duals, decisions=(*node.duals.decisions, 0))
            self.nodes.append(_Node((*node.decisions, side), duals, node.bound))
        return self.nodes[-2:]

    def _unit(self, arrays: PackingArrays) -> int:
        """Return the number of price units of `arrays` per price unit of the certificate, which may be coarser."""
        return int(Fraction(self.packing.unit, STEPS) / arrays.price_unit)

    def _together(self, kinds: Sequence[int]) -> bool:
        """Return whether `kinds` is a single type, or all types of a family."""
        family = self.packing.family
        return len(kinds) == 1 or [*kinds] == [k for k, f in enumerate(family) if f == family[kinds[0]]]

    def _tasks(self, arrays: PackingArrays, entries: Sequence[int]) -> int:
        return sum(map(self.packing.count.__getitem__, entries))

    def _branch(self, arrays: PackingArrays, side: solved.BranchDecision) -> Branch | None:
        """Return the branch that has this decision as a side, or `None` if a certificate cannot state it."""
        if side.kind == "placed":
            c, *kinds = side.of
            if arrays.count[c] < self._tasks(arrays, arrays.members[c]):
                return None
            return Branch(kind="placed", of=tuple(kinds), tasks=arrays.members[c], amount=side.amount - 1)
        if side.kind not in ("instances", "spend"):
            return None
        spent = side.kind == "spend"
        kinds = np.flatnonzero(find_spend_types(arrays, side.of)).tolist() if spent else list(side.of)
        unit = self._unit(arrays) if spent else 1
        step = 0 if side.sense == "at most" else int(np.gcd.reduce(arrays.price[kinds])) if spent else 1
        return Branch(kind="spent" if spent else "instances", of=tuple(kinds), amount=(side.amount - step) // unit)

    def _price(
        self, node: _Node, arrays: PackingArrays, duals: solved.Duals, decisions: Sequence[solved.BranchDecision]
    ) -> None:
        """Make duals integral and feasible by the exact search, and keep them if they prove more."""
        packing, unit = self.packing, self._unit(arrays)
        cover = [Fraction(0)] * len(packing.count)
        for entries, n, y in zip(arrays.members, arrays.count.tolist(), duals.cover, strict=True):
            for entry in entries:  # the mean over the tasks of an entry proves as much
                cover[entry] += Fraction(n * y, self._tasks(arrays, entries) * duals.scale * unit)
        dear = [1 if d.kind == "spend" else unit for d in decisions]  # duals of spending have no unit of price
        decided = [Fraction(y, duals.scale * unit) for y, unit in zip(duals.decisions, dear, strict=True)]
        start = duals.scale * unit  # the duals stay as they are if they are small enough
        if start.bit_length() + max(packing.price).bit_length() > BITS + 3:
            start = self.start
        with suppress(NoCertificate):  # the node then keeps the duals that it has
            self._keep(node, start, cover, decided)

    def _keep(self, node: _Node, start: int, duals: Sequence[Fraction], decided: Sequence[Fraction]) -> None:
        packing = self.packing
        scale, unit, tasks, weighed, worth, mu = self._whole(node, start, duals, decided)
        share = Fraction(1)
        for k, price in enumerate(packing.price):
            target = max(0, scale * price - mu[k])
            best = packing.best(k, worth[k], target, MANY_STEPS)
            if not best.complete or self.clock.has_expired:
                return
            if price:
                share = max(share, Fraction(best.worth + mu[k], scale * price))
            elif best.worth + mu[k] > 0:  # the limit of a free type pays for the excess value
                i = next(i for i, (limit, _) in enumerate(weighed) if limit.of == (k,))
                weighed[i] = weighed[i][0], weighed[i][1] + best.worth + mu[k]
        raised = math.ceil(share * scale)
        ways = [(raised, tasks, weighed)]
        if raised > scale and scale <= FINE:  # raising a coarse scale by one may prove far less
            lowered = [math.floor(y / share / unit) * unit for y in tasks]
            ways.append((scale, lowered, [(d, _less(d, y / share, unit)) for d, y in weighed]))
        for scale, tasks, weighed in ways:
            value = packing.value(tasks, weighed)
            if value > scale * node.bound:  # otherwise no sum of prices above the bound is proved
                node.bound = packing.bound(scale, value)
                node.duals = _Duals(scale, tuple(tasks), tuple(y for _, y in weighed))

    def _whole(
        self, node: _Node, scale: int, duals: Sequence[Fraction], decided: Sequence[Fraction]
    ) -> tuple[int, int, list[int], list[tuple[PackingDecision, int]], list[list[int]], list[int]]:
        """Round duals to integers that the exact search can handle.

        Return the scale, the unit, and the duals of the tasks and of the decisions. Return as well, for each type, the
        values of the tasks and the change of its price. Values are rounded down to multiples of the unit.
        """
        packing, unit = self.packing, 1
        largest = float(max([Fraction(1), *duals, *decided]))
        while scale > FINE and largest * scale >= 2.0 ** (BITS + 1):
            scale //= 2
        while scale > 1 and largest * scale >= LARGEST:
            scale //= 2
        while True:
            tasks = [int(y * scale) // unit * unit for y in duals]
            whole = zip(node.decisions, (math.floor(y * scale + WHOLE) for y in decided), strict=True)
            weighed = [(d, y // unit * unit if d.kind == "placed" else y) for d, y in whole]
            worth, mu = packing.worths(tasks, weighed)
            if scale > 1 and max(map(abs, mu)) >= LARGEST:
                scale //= 2
                continue
            total = max(sum(n * v for n, v in zip(packing.count, values, strict=True)) for values in worth)
            most = max(max(values) for values in worth)
            if most < unit << (BITS + 1) and total < unit * LARGEST:
                return scale, unit, tasks, weighed, worth, mu
            unit *= 2

    def to_json(self) -> list[dict[str, object]]:
        """Return the nodes in JSON form, the root first.

        A branch is omitted if the leaves on one side do not use its decision: they prove the same bound without it.
        """
        kept: dict[int, int | None] = {}  # for each node, the child that replaces it, if any
        used: dict[int, set[int]] = {}  # for each node, the depths of the decisions that its leaves use
        for place in range(len(self.nodes) - 1, -1, -1):
            node = self.nodes[place]
            if node.children is None:
                used[place], kept[place] = {i for i, y in enumerate(node.duals.decisions) if y}, None
                continue
            depth = len(node.decisions)
            spare = [child for child in node.children if depth not in used[child]]
            kept[place] = spare[0] if spare else None
            used[place] = used[spare[0]] if spare else set().union(*(used[child] for child in node.children))
        found: list[dict[str, object]] = [{}]
        limits = tuple(range(len(self.packing.limits)))
        left = [(0, 0, limits)]  # index of the node, index in `found`, depths of the decisions
        while left:
            place, to, depths = left.pop()
            node = self.nodes[place]
            if (instead := kept[place]) is not None:
                left.append((instead, to, depths))
            elif node.branch is None or node.children is None:
                found[to] = {"leaf": self._leaf(node, depths).model_dump()}
            else:
                children = len(found), len(found) + 1
                found[to] = {"branch": node.branch.model_dump(), "children": children}
                found += [{}, {}]
                deeper = (*depths, len(node.decisions))
                left += [(child, at, deeper) for child, at in zip(node.children, children, strict=True)]
        return found

    def _leaf(self, node: _Node, depths: tuple[int, ...]) -> Leaf:
        weighed = [(node.decisions[i], node.duals.decisions[i]) for i in depths]
        value = self.packing.value(node.duals.tasks, weighed)
        return Leaf(
            scale=node.duals.scale,
            tasks=node.duals.tasks,
            decisions=tuple(y for _, y in weighed),
            types=tuple(self.packing.worths(node.duals.tasks, weighed)[1]),
            bound=str(Fraction(value, node.duals.scale)),
        )


def _less(decision: PackingDecision, dual: Fraction, unit: int) -> int:
    """Round the dual of a decision to an integer that increases the reduced value of no pattern."""
    if decision.kind == "placed":
        return math.floor(dual / unit) * unit
    return math.floor(dual) if decision.least else math.ceil(dual)
