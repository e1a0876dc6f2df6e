"""Certificates of Eva's packing: a tree over linear programs of patterns, each leaf with its duals in whole numbers.

That of a net saving is of the program of all patterns that save, in VIPR; the following is on the cost.

The tree is that of the method that solves, each of whose leaves is priced by the exact search that whoever verifies the
tree uses as well. What falls short, or where there is no such tree, is grown on here: patterns come by that search
(Gilmore and Gomory, 1961), and branching is on what is counted over types: instances, spending, tasks placed; of the
candidates the one whose children gain most in the linear program of the patterns so far (strong branching).
"""

from __future__ import annotations

import heapq
import json
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from instances import Options, Solution, Stopwatch
from instances.eva import EvaPacking
from instances.fields import STEPS
from instances.proofs import Certificate, NoCertificate, digest
from instances.proofs.eva.certificate import Branch, Decision, Leaf, Packing
from instances.proofs.eva.saving_program import LimitedSavingProgram, saving_program
from instances.proofs.header import VERSION
from models.derivation import certified
from models.eva.branching_program import WHOLE, BranchingProgram, Relaxed
from models.eva.grown import Grown, grown
from models.highs import OutOfTime, SolveFailed

BITS = 40  # what a task is worth has about so many bits at most, as a multiple of a unit, for the exact search to hold
LARGEST = 1 << 60  # what all tasks are worth, in such units, and every dual by itself
FINE = 1 << 20  # a scale up to this is not raised, which would cost too much: the duals are lowered
ROUNDS = 400  # of pricing in one node
FEW_STEPS, MANY_STEPS = 100_000, 20_000_000  # of a search for a pattern: for one that pays, and to see that none does
CLOSE = 1e-7  # reduced costs, as a share of the price, that are left to the scale
CANDIDATES = 6  # branches of each kind whose children are solved
SHARE = 0.6  # of the time limit is for the tree of the method that solves, the rest for pricing it and growing on
DEARER = 16  # factor by which what is left out becomes dearer where it is worth its price


def certificate(data: EvaPacking, solution: Solution | None, bound: float, options: Options) -> Certificate:
    """A proof of `bound`, or of the best bound that the limits allow. Raises NoCertificate where there is none."""
    if data.objective == "net-saving":
        saving = saving_program(data)
        point = None if solution is None else saving.point(solution)
        ahead = saving.numbers if isinstance(saving, LimitedSavingProgram) else frozenset[int]()
        return certified(data, saving.program(), point, Fraction(bound), options, ahead=ahead)
    tree = ProofTree(data, bound, options)
    limit = None if options.time_limit is None else SHARE * options.time_limit
    if (found := grown(data, tree.packing, solution, tree.target, replace(options, time_limit=limit))) is not None:
        tree.take(found)
    tree.grow()
    nodes = tree.written()
    leaves = sum("leaf" in node for node in nodes)
    content = {
        "gapwise_certificate": VERSION,
        "problem": data.problem,
        "instance": digest(data),
        "unit": tree.packing.unit,
        "bound": tree.bound,
        "nodes": nodes,
    }
    how = f"tree with whole-number duals, {leaves} {'leaf' if leaves == 1 else 'leaves'}"
    return Certificate("json", json.dumps(content) + "\n", tree.proven, how)


@dataclass
class _Duals:
    """Whole-number duals: `scale`, of the entries' `tasks` and of the `decisions`."""

    scale: int
    tasks: tuple[int, ...]
    decisions: tuple[int, ...]


@dataclass
class _Node:
    """A node with the best duals known, its own or those of its parent, and what they prove."""

    decisions: tuple[Decision, ...]
    duals: _Duals
    bound: int
    branch: Branch | None = None
    children: tuple[int, int] | None = None


class ProofTree:
    """A tree that proves a bound on the cost, as far as the limits allow: its nodes, the root first."""

    def __init__(self, data: EvaPacking, bound: float | Fraction, options: Options) -> None:
        self.packing, self.options = Packing(data), options
        self.target = self._units(bound)
        self.clock = Stopwatch(options.time_limit)
        self.program = BranchingProgram(self.packing, options, self.target)
        bits = max(self.packing.price).bit_length()
        self.start = max(1 << max(0, BITS - bits), min(FINE, LARGEST >> (bits + 3)))
        limits = self.packing.limits
        self.nodes = [_Node(limits, _Duals(1, (0,) * len(self.packing.count), (0,) * len(limits)), 0)]
        self._open = [(0, 0)]  # bounds and places of the nodes that are not branched on, a heap

    @property
    def bound(self) -> int:
        """What the leaves prove together."""
        return min(node.bound for node in self.nodes if node.children is None)

    @property
    def proven(self) -> Fraction:
        """The same in USD/h."""
        return Fraction(self.bound * self.packing.unit, STEPS)

    @property
    def done(self) -> bool:
        """Whether every leaf reaches the target, has nothing to branch on, or is left to a limit of effort."""
        return not self._open or self._open[0][0] >= self.target or self._spent

    def take(self, found: Grown) -> None:
        """Take over a tree: its leaves are priced, and those that fall short are left open, with its patterns."""
        left = [(0, found.root)]
        while left:
            place, part = left.pop()
            node = self.nodes[place]
            if part.tasks is not None and part.decisions is not None:
                with suppress(NoCertificate):  # of these duals; the leaf is grown on
                    self._price(node, part.tasks, part.decisions, MANY_STEPS)
            if part.branch is not None and part.children is not None:
                left += zip(self._split(node, part.branch), part.children, strict=True)
        self._open = [(node.bound, place) for place, node in enumerate(self.nodes) if node.children is None]
        heapq.heapify(self._open)
        if self.bound < self.target:
            for kind, pattern in found.columns:
                self.program.add(kind, pattern)

    def grow(self, nodes: float = math.inf) -> None:
        """Branch, worst bound first, from where it ended until there are so many nodes, it is done or its time ends."""
        while not self.done and not self.clock.expired and len(self.nodes) < nodes:
            place = heapq.heappop(self._open)[1]
            node = self.nodes[place]
            try:
                relaxed = self._relax(node)
                done = node.bound >= self.target or self.over
                branch = None if done else self._branch(node, relaxed)
            except OutOfTime:
                done = True
            except SolveFailed:  # as it would again: what the node proves stands
                continue
            if done:
                heapq.heappush(self._open, (node.bound, place))
                continue
            if branch is None:
                self._finish(node, relaxed)
                continue
            for child in self._split(node, branch):
                heapq.heappush(self._open, (node.bound, child))

    def _split(self, node: _Node, branch: Branch) -> tuple[int, int]:
        """Give a node its children, with what it proves; their places."""
        node.branch, node.children = branch, (len(self.nodes), len(self.nodes) + 1)
        for side in self.packing.sides(branch):
            duals = replace(node.duals, decisions=(*node.duals.decisions, 0))
            self.nodes.append(_Node((*node.decisions, side), duals, node.bound))
        return node.children

    def aim(self, bound: float | Fraction, seconds: float) -> None:
        """Grow towards another bound from now on, for so many seconds."""
        self.target, self.clock = self._units(bound), Stopwatch(seconds)

    def _units(self, bound: float | Fraction) -> int:
        return math.ceil(Fraction(bound) * STEPS / self.packing.unit - Fraction(1, 1000))

    @property
    def over(self) -> bool:
        """Whether a limit is reached."""
        return self.clock.expired or self._spent

    @property
    def _spent(self) -> bool:
        return self.options.effort is not None and len(self.nodes) > self.options.effort

    def _relax(self, node: _Node) -> Relaxed:
        """Solve the linear program of a node with patterns by pricing, and keep the best duals on the way."""
        self.program.set(node.decisions)
        steps = FEW_STEPS
        for _ in range(ROUNDS):
            relaxed = self.program.solve(self.clock.remaining_s)
            try:
                more, complete = self._price(node, relaxed.tasks, relaxed.decisions, steps)
            except NoCertificate:  # for these duals alone, where others have proved something
                if not node.bound:
                    raise
                break
            if node.bound >= self.target or self.clock.expired:
                break
            if more:
                continue
            if not complete and steps < MANY_STEPS:
                steps = MANY_STEPS
                continue
            if not relaxed.short or not self.program.raise_shortage(DEARER):
                break
        return relaxed

    def _finish(self, node: _Node, relaxed: Relaxed) -> None:
        """Price the patterns that a packing in whole numbers needs, for where only those are used in part.

        What the whole instances of the linear program leave of each class is put on the type for whose price it is
        worth most, again and again, and what would be on each other type is a pattern as well.
        """
        from instances.proofs.eva.best_pattern import Room, most_worth  # its compiler takes a while to load

        packing, program = self.packing, self.program
        scale, _, _, _, worth, mu = self._whole(node, relaxed.tasks, relaxed.decisions)
        left = np.array(program.count, dtype=object)
        for x, (_, held) in zip(relaxed.x.tolist(), program.columns, strict=True):
            left -= np.array(held, dtype=object) * math.floor(x + WHOLE)
        while (left > 0).any() and not self.clock.expired:
            best: tuple[Fraction, list[int]] | None = None
            for k, price in enumerate(packing.price):
                values = [max(1, worth[k][entries[0]]) for entries in program.classes]
                needs = [packing.demand[packing.family[k]][entries[0]] for entries in program.classes]
                room = Room(needs, packing.capacity[k], [max(0, n) for n in left.tolist()])
                found = most_worth(room, values, 0, FEW_STEPS)
                if found.pattern:
                    program.insert(k, tuple(found.pattern))
                    share = Fraction(found.worth, max(1, scale * price - mu[k]))
                    best = max(best or (share, found.pattern), (share, found.pattern))
            if best is None:
                return
            left -= np.array(best[1], dtype=object)

    def _price(self, node: _Node, duals: Sequence[float], decided: Sequence[float], steps: int) -> tuple[bool, bool]:
        """Make duals of the tasks and of the decisions whole and feasible, and keep them where they prove more.

        Whether pricing, by so many steps of search for each type, gave new patterns, and whether it was complete.
        """
        packing = self.packing
        scale, unit, tasks, weighed, worth, mu = self._whole(node, duals, decided)
        share, more, complete = Fraction(1), False, True
        for k, price in enumerate(packing.price):
            if self.clock.expired:
                return more, False
            target = max(0, scale * price - mu[k])
            best = packing.best(k, worth[k], target, steps)
            if best.pattern and best.worth - target > CLOSE * scale * price:
                more |= self.program.add(k, best.pattern)
            if price:
                share = max(share, Fraction(best.worth + mu[k], scale * price))
            elif best.worth > target:  # no more than the limit are worth too much
                i = next(i for i, (limit, _) in enumerate(weighed) if limit.of == (k,))
                weighed[i] = weighed[i][0], weighed[i][1] + best.worth - target
            complete &= best.complete
        raised = math.ceil(share * scale)
        if raised > scale and scale <= FINE:
            raised, tasks = scale, [math.floor(y / share / unit) * unit for y in tasks]
            weighed = [(d, _less(d, y / share, unit)) for d, y in weighed]
        value = packing.value(tasks, weighed)
        if complete and value > raised * node.bound:  # or else no sum of prices above the bound is proven
            node.bound = packing.bound(raised, value)
            node.duals = _Duals(raised, tuple(tasks), tuple(y for _, y in weighed))
        return more, complete

    def _whole(
        self, node: _Node, duals: Sequence[float], decided: Sequence[float]
    ) -> tuple[int, int, list[int], list[tuple[Decision, int]], list[list[int]], list[int]]:
        """Duals as whole numbers: scale and unit, of the tasks and of the decisions, and what follows for each type.

        What a task is worth is rounded down to a multiple of a unit that is as coarse as the exact search needs.
        """
        packing, scale, unit = self.packing, self.start, 1
        largest = max(1.0, *duals, *(abs(d) for d in decided))
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

    def _branch(self, node: _Node, relaxed: Relaxed) -> Branch | None:
        """The branch whose children gain most; `None` where everything that is counted is whole."""
        best: tuple[float, Branch] | None = None
        self.program.set(node.decisions)
        for branch in self.program.candidates(relaxed, CANDIDATES):
            gains = []
            for side in self.packing.sides(branch):
                self.program.set((*node.decisions, side))
                gains.append(max(self.program.solve(self.clock.remaining_s).value - relaxed.value, 1e-3))
            score = math.prod(min(gain, self.target) for gain in gains)
            if best is None or score > best[0]:
                best = score, branch
        return None if best is None else best[1]

    def written(self) -> list[dict[str, object]]:
        """The nodes in JSON form, the root first.

        A branch that the leaves on one of its sides make no use of is left out: they prove as much without it.
        """
        kept: dict[int, int | None] = {}  # of each node the child that stands for it, if one does
        used: dict[int, set[int]] = {}  # decisions, by depth, that the leaves under a node use
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
        left = [(0, 0, limits)]  # place, where it goes, depths of its decisions
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


def _less(decision: Decision, dual: Fraction, unit: int) -> int:
    """A whole dual of a decision that makes no pattern worth more than this one does."""
    if decision.kind == "placed":
        return math.floor(dual / unit) * unit
    return math.floor(dual) if decision.least else math.ceil(dual)
