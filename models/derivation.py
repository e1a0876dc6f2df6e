"""The tree of a branch and bound written down as a VIPR derivation, and the certificate that it makes."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

from instances import Options, ProblemData
from instances.proofs import Certificate, Derived, Program, Reason, Vipr, digest, write_vipr
from instances.proofs.header import VERSION
from models.branch_and_bound import BranchAndBound, Node, Tree, Vector

SHORT = Fraction(1, 10**10)  # relative: what a proof may be short of the bound that it is to prove, where that is real


def certified(
    data: ProblemData,
    program: Program,
    point: Mapping[int, Fraction] | None,
    bound: Fraction,
    options: Options,
    header: Mapping[str, str] = MappingProxyType({}),
    ahead: frozenset[int] = frozenset(),
) -> Certificate:
    """A certificate that the optimum of `program`, which is that of `data`, is no better than `bound`.

    Where a limit ends the search first it proves less. A real `bound` is rounded: the proof may be short of it by
    `SHORT` (relative). `point`: a solution to be verified with it; `header`: what else the file says of the program;
    `ahead`: variables that are branched on before the others.
    """
    least = program.sense == "min"
    whole = all(i in program.integers and c.denominator == 1 for i, c in program.objective.items())
    room = Fraction(0) if whole else abs(bound) * SHORT
    search = BranchAndBound(program, bound - room if least else bound + room, options, ahead)
    tree = search.search()
    value = None if point is None else program.value(point)
    file = Vipr(
        {"gapwise": str(VERSION), "problem": data.problem, "instance": digest(data), **header},
        program,
        tree.bound if least else value,
        value if least else tree.bound,
        () if point is None else (point,),
        derivation(search, tree),
    )
    how = f"branch and bound with rational duals, {tree.leaves} {'leaf' if tree.leaves == 1 else 'leaves'}"
    return Certificate("vipr", write_vipr(file), tree.bound, how)


def derivation(search: BranchAndBound, tree: Tree) -> tuple[Derived, ...]:
    """The derivation of the bound of a tree: leaves from their duals, inner nodes from the two below them."""
    return _Writer(search).written(tree.root)


class _Writer:
    def __init__(self, search: BranchAndBound) -> None:
        self.search, self.lines = search, []  # type: tuple[BranchAndBound, list[Derived]]
        program = search.program
        self.first = len(program.rows)
        self.bound_rows = {
            (next(iter(row.coefficients)), row.direction == "G"): k
            for k, row in enumerate(program.rows[: program.bounds])
        }

    def written(self, root: Node) -> tuple[Derived, ...]:
        """The lines, children before their parents; a stack of its own, for a tree may be deep."""
        done: dict[int, int] = {}
        assumed: dict[int, tuple[int, int]] = {}
        path: dict[int, dict[tuple[int, bool], int]] = {id(root): dict(self.bound_rows)}
        stack = [(root, False)]
        while stack:
            node, below_done = stack.pop()
            bounds = path[id(node)]
            if node.children is None:
                done[id(node)] = self._leaf(node, bounds)
            elif not below_done:
                i, k = node.branch or (0, 0)
                under = self._add("L", Fraction(k), {i: Fraction(1)}, Reason("asm"))
                over = self._add("G", Fraction(k + 1), {i: Fraction(1)}, Reason("asm"))
                assumed[id(node)] = under, over
                path[id(node.children[0])] = bounds | {(i, False): under}
                path[id(node.children[1])] = bounds | {(i, True): over}
                stack += [(node, True), (node.children[1], False), (node.children[0], False)]
            else:
                first, second = (done[id(child)] for child in node.children)
                under, over = assumed[id(node)]
                value = self._weaker(first, second)
                done[id(node)] = self._bounded(value, Reason("uns", sides=(first, under, second, over)))
            del path[id(node)]
            if not below_done and node.children is not None:
                path[id(node)] = bounds
        return tuple(self.lines)

    def _add(self, direction: str, right: Fraction, coefficients: Vector | None, reason: Reason) -> int:
        self.lines.append(Derived(f"d{len(self.lines)}", direction, right, coefficients, reason))  # type: ignore[arg-type]
        return self.first + len(self.lines) - 1

    def _bounded(self, value: Fraction | None, reason: Reason) -> int:
        """A bound of the objective; `None`: a contradiction."""
        if value is None:
            return self._add("G", Fraction(1), {}, reason)
        return self._add("G" if self.search.sign > 0 else "L", self.search.sign * value, None, reason)

    def _leaf(self, node: Node, bounds: Mapping[tuple[int, bool], int]) -> int:
        search, program = self.search, self.search.program
        cost = {} if node.absurd else search.cost
        sign = 1 if node.absurd else search.sign
        multipliers = {program.bounds + k: sign * dual for k, dual in node.duals.items()}
        for i, r in search.reduced(node.duals, cost).items():
            multipliers[bounds[i, r > 0]] = sign * r
        if node.absurd:
            low, high = search.box(node.added)
            right = search.proved(node.duals, {}, low, high)
            return self._bounded(None, Reason("lin", {k: a / right for k, a in multipliers.items()}))
        return self._bounded(node.bound, Reason("rnd" if search.whole else "lin", multipliers))

    def _weaker(self, first: int, second: int) -> Fraction | None:
        values = [self.lines[k - self.first] for k in (first, second)]
        real = [self.search.sign * line.right for line in values if line.coefficients is None]
        return min(real) if real else None
