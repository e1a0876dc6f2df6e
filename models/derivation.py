"""The tree of a branch and bound written down as a VIPR derivation, and the certificate that it makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from instances import Answer, Options, ProblemData, Report, Solution, check
from instances.gaps import FLOOR, ahead
from instances.proofs import Certificate, Derived, NoCertificate, Program, Reason, Vipr, digest, write_vipr
from instances.proofs.certificate import VERSION, rounded
from models.branch_and_bound import BranchAndBound, Node, Tree, Vector

Certify = Callable[[Any, Solution | None, float, Options], Certificate]
SMALL_TASKS = 16  # of an instance that a proof in rational numbers may settle
SMALL_NODES = 1_000  # of such a proof
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
    if tree.bound is None:
        raise NoCertificate("the program has no point")
    proven, leaves = search.sign * tree.bound, sum(1 for _ in tree.leaves)
    value = None if point is None else program.value(point)
    file = Vipr(
        {"gapwise": str(VERSION), "problem": data.problem, "instance": digest(data), **header},
        program,
        proven if least else value,
        value if least else proven,
        () if point is None else (point,),
        derivation(search, tree),
    )
    how = f"branch and bound with rational duals, {leaves} {'leaf' if leaves == 1 else 'leaves'}"
    return Certificate("vipr", write_vipr(file), proven, how)


def settle_small(data: ProblemData, answer: Answer, options: Options, report: Report, certify: Certify) -> Answer:
    """Give a proof in rational numbers the last word on a small instance that a search by itself has left open.

    - `answer`: of the search, at whose objective the proof aims.
    - `options`: what is left of the limits; with one of effort nothing is done.
    - `report`: called with a better bound.
    - `certify`: makes the certificate of a bound.

    Return the answer with the bound that is proven, if that is better.
    """
    known = None if answer.solution is None else check(data, answer.solution).objective
    if answer.termination != "finished" or options.effort is not None or known is None or answer.bound is None:
        return answer
    if abs(known - answer.bound) <= options.gap * max(abs(known), FLOOR):
        return answer
    try:
        proven = rounded(certify(data, answer.solution, known, replace(options, effort=SMALL_NODES)).bound, data.sense)
    except NoCertificate:
        return answer
    if not ahead(answer.bound, proven, data.sense):
        return answer
    report(None, proven)
    closed = abs(known - proven) <= options.gap * max(abs(known), FLOOR)
    reason = None if closed else answer.reason
    return replace(answer, bound=proven, reason=reason, info={**answer.info, "settled_by": "rational duals"})


def derivation(search: BranchAndBound, tree: Tree) -> tuple[Derived, ...]:
    """The derivation of the bound of a tree: leaves from their duals, inner nodes from the two below them."""
    return _DerivationWriter(search).written(tree)


class _DerivationWriter:
    def __init__(self, search: BranchAndBound) -> None:
        self.search, self.lines = search, []  # type: tuple[BranchAndBound, list[Derived]]
        program = search.program
        self.first = len(program.rows)
        self.bound_rows = {
            (next(iter(row.coefficients)), row.direction == "G"): k
            for k, row in enumerate(program.rows[: program.bounds])
        }

    def written(self, tree: Tree) -> tuple[Derived, ...]:
        """The lines, children before their parents; a stack of its own, for a tree may be deep."""
        done: dict[int, int] = {}
        assumed: dict[int, tuple[int, int]] = {}
        path: dict[int, dict[tuple[int, bool], int]] = {0: dict(self.bound_rows)}
        stack = [(0, False)]
        while stack:
            place, below_done = stack.pop()
            node, bounds = tree.nodes[place], path[place]
            if not node.children:
                done[place] = self._leaf(node, bounds)
            elif not below_done:
                i, _, k = tree.nodes[node.children[0]].decisions[-1]
                under = self._add("L", Fraction(k), {i: Fraction(1)}, Reason("asm"))
                over = self._add("G", Fraction(k + 1), {i: Fraction(1)}, Reason("asm"))
                assumed[place] = under, over
                path[node.children[0]] = bounds | {(i, False): under}
                path[node.children[1]] = bounds | {(i, True): over}
                stack += [(place, True), (node.children[1], False), (node.children[0], False)]
            else:
                first, second = (done[child] for child in node.children)
                under, over = assumed[place]
                value = self._weaker(first, second)
                done[place] = self._bounded(value, Reason("uns", sides=(first, under, second, over)))
            if below_done or not node.children:
                del path[place]
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
        search, program, duals = self.search, self.search.program, node.proof or {}
        cost = {} if node.empty else search.cost
        sign = 1 if node.empty else search.sign
        multipliers = {program.bounds + k: sign * dual for k, dual in duals.items()}
        for i, r in search.reduced(duals, cost).items():
            multipliers[bounds[i, r > 0]] = sign * r
        if node.empty:
            low, high = search.box(node.decisions)
            right = search.proved(duals, {}, low, high)
            return self._bounded(None, Reason("lin", {k: a / right for k, a in multipliers.items()}))
        return self._bounded(node.bound, Reason("rnd" if search.whole else "lin", multipliers))

    def _weaker(self, first: int, second: int) -> Fraction | None:
        values = [self.lines[k - self.first] for k in (first, second)]
        real = [self.search.sign * line.right for line in values if line.coefficients is None]
        return min(real) if real else None
