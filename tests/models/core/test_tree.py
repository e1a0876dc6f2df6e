"""Test that the shared search tree finds and proves optima of knapsacks within its limits."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from models.core.highs import OutOfTime, SolveFailed
from models.core.tree import Node, Tree

Bits = Node[int, int, str, int]


class Knapsack:
    """The greatest value within a capacity, as the least loss; each decision takes an item or leaves it."""

    def __init__(self, seed: int, items: int = 9) -> None:
        rng = np.random.default_rng(seed)
        self.value, self.weight = (rng.integers(1, 30, items).tolist() for _ in range(2))
        self.capacity = sum(self.weight) // 2
        self.best, self.bounded, self.fails = 0, 0, dict[int, SolveFailed]()

    @property
    def enough(self) -> int:
        return -self.best

    def bound(self, node: Bits) -> None:
        """Compute the linear relaxation in integers; the items are in order of value per weight."""
        self.bounded += 1
        if self.bounded in self.fails:
            raise self.fails.pop(self.bounded)
        node.proof = f"{node.decisions}"
        room = self.capacity - sum(w for w, taken in zip(self.weight, node.decisions, strict=False) if taken)
        if room < 0:
            node.empty = True
            return
        value = Fraction(sum(v for v, taken in zip(self.value, node.decisions, strict=False) if taken))
        self.best = max(self.best, int(value))
        left = range(len(node.decisions), len(self.value))
        for i in sorted(left, key=lambda i: Fraction(self.weight[i], self.value[i])):
            part = min(Fraction(1), Fraction(room, self.weight[i]))
            value, room = value + part * self.value[i], room - part * self.weight[i]
        node.bound = max(node.bound, -(value.numerator // value.denominator))
        node.state = len(node.decisions)

    def branch(self, node: Bits) -> Sequence[Bits]:
        return [] if node.state == len(self.value) else [node.child(1, guess=1.0), node.child(0)]

    def optimum(self) -> int:
        return max(
            sum(v for v, taken in zip(self.value, bits, strict=True) if taken)
            for bits in product((0, 1), repeat=len(self.value))
            if sum(w for w, taken in zip(self.weight, bits, strict=True) if taken) <= self.capacity
        )


def grown(problem: Knapsack, eager: bool, deep: bool) -> Tree[int, int, str, int]:
    return Tree(problem, Node(-sum(problem.value)), eager=eager, deep=deep)


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("eager", [False, True])
def test_every_order_ends_at_the_optimum_with_a_proof_in_its_leaves(eager: bool, deep: bool):
    for seed in range(12):
        problem = Knapsack(seed)
        tree, bounds = grown(problem, eager, deep), [-sum(problem.value)]
        while not tree.done:
            assert tree.expand()
            bounds.append(tree.bound)
        assert tree.run(lambda: None) == "finished"
        assert problem.best == problem.optimum() == -max(tree.bound, -problem.best)
        assert bounds == sorted(bounds)
        leaves = list(tree.leaves)
        covered = sum(2 ** (len(problem.value) - len(leaf.decisions)) for leaf in leaves)
        assert covered == 2 ** len(problem.value)
        for leaf in leaves:
            assert leaf.empty or leaf.bound >= -problem.best
        inner = [node for node in tree.nodes if node.children]
        assert all(tree.nodes[k].decisions[:-1] == node.decisions for node in inner for k in node.children)
        assert not any(node.state for node in inner)


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("last", [2, 3, 6, 7])
def test_a_node_stays_open_where_its_time_is_over_or_a_solve_fails(eager: bool, deep: bool, last: int):
    whole = Knapsack(3)
    grown(whole, eager, deep).run(lambda: None)
    problem = Knapsack(3)
    problem.fails = {last: OutOfTime("no time"), last + 2: SolveFailed("no optimum")}
    tree = grown(problem, eager, deep)
    assert tree.run(lambda: None) == "time_limit"
    assert tree.bound <= -whole.best
    with pytest.raises(SolveFailed):
        tree.run(lambda: None)
    assert tree.bound <= -whole.best
    assert tree.run(lambda: None) == "finished"
    assert problem.best == whole.best


def test_a_limit_ends_the_tree_and_a_leaf_that_is_not_branched_on_settles_it():
    problem = Knapsack(5)
    tree, nodes = grown(problem, True, False), [0]
    tree.run(lambda: "effort_limit" if nodes[0] >= 3 else None, lambda: nodes.append(nodes.pop() + 1))
    assert nodes == [3]
    assert not tree.is_settled
    problem.branch = lambda node: []
    while not tree.is_settled:
        assert tree.expand()
    assert tree.bound <= -problem.best


def test_where_nothing_is_left_there_is_no_bound():
    problem = Knapsack(1)
    problem.capacity = -1
    tree = grown(problem, True, False)
    assert (tree.bound, tree.run(lambda: None)) == (None, "finished")
