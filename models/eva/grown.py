"""The trees that solve, grown once more towards a bound that is known, as what a certificate is written from.

Where tasks are packed one by one it is their linear program that proves most; where patterns are listed it is the tree
of branch-and-price, with nothing left out of its list. Neither looks for packings. What comes of it are decisions and
duals, which nobody believes: whoever writes them down prices them anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from instances import Options, Solution, Stopwatch
from instances.eva import EvaPacking, packing_arrays
from instances.eva.arrays import PackingArrays
from instances.fields import STEPS
from instances.proofs.eva.certificate import Branch, Packing
from models.eva.branch_and_price import BranchAndPriceParameters, list_patterns
from models.eva.branch_and_price.node_program import spent_on
from models.eva.branch_and_price.pricer import Pricer
from models.eva.branch_and_price.proof import Decision, Duals, Leaf
from models.eva.branch_and_price.tree import Tree
from models.eva.column_generation.start_duals import start_duals
from models.eva.columns import LARGEST
from models.eva.configuration import Column, Configuration, configuration
from models.eva.item_packing import ItemParameters, suits
from models.highs import SolveFailed
from models.incumbent import Incumbent

PROVING = BranchAndPriceParameters(proving=True, restart_nodes=50)
ITEMS = ItemParameters()


@dataclass
class Skeleton:
    """A node: the duals of entries and of decisions, limits first, or none; where it is branched on its children."""

    tasks: list[float] | None = None
    decisions: list[float] | None = None
    branch: Branch | None = None
    children: tuple[Skeleton, Skeleton] | None = None


@dataclass(frozen=True)
class Grown:
    """The `root` of what was grown, and the `columns` that it took: types, and tasks of each entry."""

    root: Skeleton
    columns: Iterable[tuple[int, list[int]]]


def grown(data: EvaPacking, packing: Packing, solution: Solution | None, target: int, options: Options) -> Grown | None:
    """What the method that suits the instance finds at `target` price units; `None` where it generates patterns.

    - `data`, `packing`: the instance, and the same in the whole numbers of a certificate.
    - `solution`: a packing, whose columns the linear program begins with.
    - `target`: the bound that is to be proved, in price units of `packing`.
    - `options`: limits, threads and seed.
    """
    if target <= 0:
        return None
    arrays = packing_arrays(data)
    known = {} if solution is None else configuration(arrays.groups(solution))
    if not arrays.limited and suits(arrays, ITEMS):
        return _of_items(arrays, packing, known, target, options)
    return _of_tree(_Writer(arrays, packing), list_patterns(arrays, PROVING), (), target, options)


class _Writer:
    """What is found of the arrays of an instance, by the entries and in the price units of a certificate."""

    def __init__(self, arrays: PackingArrays, packing: Packing) -> None:
        self.arrays, self.packing = arrays, packing
        self.unit = int(Fraction(packing.unit, STEPS) / arrays.price_unit)  # that of the arrays may be finer
        tasks = [sum(map(packing.count.__getitem__, entries)) for entries in arrays.members]
        self.share = [n / every for n, every in zip(arrays.count.tolist(), tasks, strict=True)]  # of the entries' tasks

    def column(self, column: Column) -> tuple[int, list[int]]:
        """A column by entries; those that are alike are one to whoever takes it."""
        held = [0] * len(self.packing.count)
        for c, n in column.pattern:
            held[self.arrays.members[c][0]] += n
        return column.type, held

    def tasks(self, cover: Iterable[float]) -> list[float]:
        """Duals of classes, in price units of the arrays, by entries: of the tasks of one the mean is as good."""
        found = [0.0] * len(self.packing.count)
        for share, entries, y in zip(self.share, self.arrays.members, cover, strict=True):
            for entry in entries:
                found[entry] += share * y / self.unit
        return found

    def node(self, duals: Duals, decisions: tuple[Decision, ...]) -> Skeleton:
        """A node with whole-number duals."""
        cover = [y / duals.scale for y in duals.cover]
        dear = [1 if d.kind == "spend" else self.unit for d in decisions]  # a price unit spent has its own price
        weighed = zip(duals.decisions, dear, strict=True)
        return Skeleton(self.tasks(cover), [y / duals.scale / unit for y, unit in weighed])

    def branch(self, side: Decision) -> tuple[Branch, bool] | None:
        """The branch that a decision is a side of, and whether it is the second one; `None` for what none counts."""
        arrays = self.arrays
        if side.kind == "placed":
            c, *families = side.of
            if self.share[c] < 1.0:
                return None
            kinds = np.flatnonzero(np.isin(arrays.family, families)).tolist()
            branch = Branch(kind="placed", of=tuple(kinds), tasks=arrays.members[c], amount=side.amount - 1)
            return branch, True
        if side.kind not in ("instances", "spend"):
            return None
        spent = side.kind == "spend"
        kinds = np.flatnonzero(spent_on(arrays, side.of)).tolist() if spent else [side.of[0]]
        unit = self.unit if spent else 1
        step = 0 if side.sense == "at most" else int(np.gcd.reduce(arrays.price[kinds])) if spent else 1
        branch = Branch(kind="spent" if spent else "instances", of=tuple(kinds), amount=(side.amount - step) // unit)
        return branch, side.sense == "at least"

    def skeleton(self, root: Duals, leaves: Iterable[Leaf]) -> Skeleton:
        """The tree of some leaves; below a branch that no certificate can hold its node is a leaf without duals."""
        limits = len(self.packing.limits)
        found = self.node(root, tuple(Decision("instances", ()) for _ in range(limits)))
        open_ = [(found, list(leaves), limits)]
        while open_:
            node, under, depth = open_.pop()
            if len(under) == 1 and len(under[0].decisions) == depth:
                proved = self.node(under[0].duals, under[0].decisions)
                node.tasks, node.decisions = proved.tasks, proved.decisions
                continue
            sides: dict[Decision, list[Leaf]] = {}
            for leaf in under:
                sides.setdefault(leaf.decisions[depth], []).append(leaf)
            # Of tasks placed, both sides are "at least": one that is on a single family names the branch.
            named = min(sides, key=lambda side: len(side.of))
            written = self.branch(named)
            if written is None:
                continue
            node.branch, second = written
            children = Skeleton(), Skeleton()
            for side, below in sides.items():
                open_.append((children[int((side is named) == second)], below, depth + 1))
            node.children = children
        return found


def _of_tree(
    writer: _Writer, pricer: Pricer | None, columns: Iterable[Column], target: int, options: Options
) -> Grown | None:
    arrays, clock = writer.arrays, Stopwatch(options.time_limit)
    if pricer is None:
        return None
    incumbent: Incumbent[Configuration, int] = Incumbent("minimize", clock, bound=0)
    incumbent.offer(target * writer.unit, {})  # what is to be proved is as good as a packing that is to be beaten
    tree = Tree(arrays, pricer, replace(options, gap=0.0), incumbent, clock, PROVING)
    tree.program.add(columns)
    with suppress(SolveFailed):  # the leaves prove what they prove
        tree.run()
    if tree.root is None:
        return None
    taken = (writer.column(column) for column in tree.program.columns)
    return Grown(writer.skeleton(tree.root, tree.proof().leaves), taken)


def _of_items(
    arrays: PackingArrays, packing: Packing, known: Configuration, target: int, options: Options
) -> Grown | None:
    from models.eva.item_packing.greedy import best_fit  # compiled at first use, which takes seconds
    from models.eva.item_packing.relaxation import Node, Relaxation
    from models.eva.item_packing.single_tasks import SingleTasks

    if max(int(arrays.capacity.max()), int(arrays.demand.max())) > LARGEST:
        return None
    clock, tasks = Stopwatch(options.time_limit), SingleTasks(arrays)
    writer, relaxation = _Writer(tasks.arrays, packing), Relaxation(tasks.arrays, options, ITEMS)
    for cover in [tasks.split(known), *best_fit(tasks.arrays)]:
        relaxation.master.add(cover)
    goal = target * writer.unit - 1
    try:
        bounded = relaxation.run(Node(), goal, clock, start_duals(tasks.arrays, options))
    except SolveFailed:
        return None
    if bounded.leaf is not None and bounded.bound > goal:
        return Grown(writer.node(bounded.leaf.duals, ()), ())
    left = options if options.time_limit is None else replace(options, time_limit=clock.remaining_s)
    return _of_tree(writer, relaxation.pricer, relaxation.master.columns, target, left)
