"""The VIPR derivation of a branch-and-bound tree, and the certificate that contains it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from instances import Answer, Options, ProblemData, Report, Solution, check
from instances.gaps import FLOOR, ahead
from instances.proofs import Certificate, Derived, NoCertificate, Program, Reason, Vipr, digest, write_vipr
from instances.proofs.certificate import VERSION, round_bound
from models.core.branch_and_bound import BranchAndBound, Node, Tree, Vector

Certify = Callable[[Any, Solution | None, float, Options], Certificate]
SMALL_TASKS = 16  # tasks up to which a proof in rational numbers is tried
SMALL_NODES = 1_000  # node limit of this proof, so that it takes little time
SHORTFALL = Fraction(1, 10**10)  # relative distance by which a proof may miss a real bound, for rounding


def certify(
    data: ProblemData,
    program: Program,
    point: Mapping[int, Fraction] | None,
    bound: Fraction,
    options: Options,
    header: Mapping[str, str] = MappingProxyType({}),
    ahead: frozenset[int] = frozenset(),
) -> Certificate:
    """Return a certificate that the optimum of `program`, which is that of `data`, is no better than `bound`.

    If a limit ends the search first, the certificate proves less.

    - `point`: a solution that the certificate verifies as well.
    - `bound`: the bound to be proven. If the objective is real, the proof may miss it by `SHORTFALL` (relative).
    - `options`: limits of time and effort.
    - `header`: further fields of the file's header.
    - `ahead`: variables that are branched on before the others.

    Raises NoCertificate if the program is infeasible.
    """
    is_minimised = program.sense == "min"
    is_integral = all(i in program.integers and c.denominator == 1 for i, c in program.objective.items())
    slack = Fraction(0) if is_integral else abs(bound) * SHORTFALL
    search = BranchAndBound(program, bound - slack if is_minimised else bound + slack, options, ahead)
    tree = search.search()
    if tree.bound is None:
        raise NoCertificate("the program has no point")
    proven, leaves = search.sign * tree.bound, sum(1 for _ in tree.leaves)
    value = None if point is None else program.value(point)
    file = Vipr(
        {"gapwise": str(VERSION), "problem": data.problem, "instance": digest(data), **header},
        program,
        proven if is_minimised else value,
        value if is_minimised else proven,
        () if point is None else (point,),
        derivation(search, tree),
    )
    how = f"branch and bound with rational duals, {leaves} {'leaf' if leaves == 1 else 'leaves'}"
    return Certificate("vipr", write_vipr(file), proven, how)


def settle_small(data: ProblemData, answer: Answer, options: Options, report: Report, certify: Certify) -> Answer:
    """Try to close the gap of a small instance by a proof in rational numbers.

    - `answer`: the answer of a search that finished with an open gap; the proof aims at its objective.
    - `options`: the remaining limits. With an effort limit, the answer is returned unchanged.
    - `report`: called with a better bound.
    - `certify`: makes the certificate of a bound.

    Return the answer, with the proven bound if it is better.
    """
    objective = None if answer.solution is None else check(data, answer.solution).objective
    if answer.termination != "finished" or options.effort is not None or objective is None or answer.bound is None:
        return answer
    if abs(objective - answer.bound) <= options.gap * max(abs(objective), FLOOR):
        return answer
    try:
        proven = round_bound(
            certify(data, answer.solution, objective, replace(options, effort=SMALL_NODES)).bound, data.sense
        )
    except NoCertificate:
        return answer
    if not ahead(answer.bound, proven, data.sense):
        return answer
    report(None, proven)
    is_closed = abs(objective - proven) <= options.gap * max(abs(objective), FLOOR)
    reason = None if is_closed else answer.reason
    return replace(answer, bound=proven, reason=reason, info={**answer.info, "settled_by": "rational duals"})


def derivation(search: BranchAndBound, tree: Tree) -> tuple[Derived, ...]:
    """Return the derivation of the bound of a tree: leaves from their duals, inner nodes from their two children."""
    return _DerivationWriter(search).write(tree)


class _DerivationWriter:
    def __init__(self, search: BranchAndBound) -> None:
        self.search, self.lines = search, []  # type: tuple[BranchAndBound, list[Derived]]
        program = search.program
        self.first = len(program.rows)
        self.bound_rows = {
            (next(iter(row.coefficients)), row.direction == "G"): k
            for k, row in enumerate(program.rows[: program.bounds])
        }

    def write(self, tree: Tree) -> tuple[Derived, ...]:
        """Return the lines, children before parents, by an explicit stack because a tree may be deep."""
        done: dict[int, int] = {}
        assumed: dict[int, tuple[int, int]] = {}
        path: dict[int, dict[tuple[int, bool], int]] = {0: dict(self.bound_rows)}
        stack = [(0, False)]
        while stack:
            place, below_done = stack.pop()
            node, bounds = tree.nodes[place], path[place]
            if not node.children:
                done[place] = self._add_leaf(node, bounds)
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
                value = self._weaker_bound(first, second)
                done[place] = self._add_bound(value, Reason("uns", sides=(first, under, second, over)))
            if below_done or not node.children:
                del path[place]
        return tuple(self.lines)

    def _add(self, direction: str, right: Fraction, coefficients: Vector | None, reason: Reason) -> int:
        self.lines.append(Derived(f"d{len(self.lines)}", direction, right, coefficients, reason))  # type: ignore[arg-type]
        return self.first + len(self.lines) - 1

    def _add_bound(self, value: Fraction | None, reason: Reason) -> int:
        """Add a bound of the objective, or a contradiction if `value` is `None`."""
        if value is None:
            return self._add("G", Fraction(1), {}, reason)
        return self._add("G" if self.search.sign > 0 else "L", self.search.sign * value, None, reason)

    def _add_leaf(self, node: Node, bounds: Mapping[tuple[int, bool], int]) -> int:
        search, program, duals = self.search, self.search.program, node.proof or {}
        cost = {} if node.empty else search.cost
        sign = 1 if node.empty else search.sign
        multipliers = {program.bounds + k: sign * dual for k, dual in duals.items()}
        for i, r in search.compute_reduced_costs(duals, cost).items():
            multipliers[bounds[i, r > 0]] = sign * r
        if node.empty:
            low, high = search.box(node.decisions)
            right = search.compute_bound(duals, {}, low, high)
            return self._add_bound(None, Reason("lin", {k: a / right for k, a in multipliers.items()}))
        return self._add_bound(node.bound, Reason("rnd" if search.has_integer_objective else "lin", multipliers))

    def _weaker_bound(self, first: int, second: int) -> Fraction | None:
        values = [self.lines[k - self.first] for k in (first, second)]
        real = [self.search.sign * line.right for line in values if line.coefficients is None]
        return min(real) if real else None
