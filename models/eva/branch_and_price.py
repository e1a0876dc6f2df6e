"""The tree of branch-and-price: nodes, their exact bounds, and the leaves that prove the bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf

import numpy as np

from instances import Options, Stopwatch
from instances.eva.arrays import PackingArrays
from instances.result import Termination
from models.core.column_generation import Relaxed
from models.core.highs import OutOfTime, SolveFailed
from models.core.incumbent import Incumbent
from models.core.outcome import Outcome, ending
from models.core.tree import Node, Tree
from models.eva.branching import (
    PseudoCosts,
    UsedColumns,
    aggregates,
    find_placement_candidates,
    holdings,
    pairs,
    strong_branching,
)
from models.eva.configuration import (
    Configuration,
    configuration,
    dearest,
    groups,
    is_within_limits,
    missing,
    pack_alone,
    price,
    single_class_columns,
    trim,
)
from models.eva.covering import Patterns, solve_covering
from models.eva.dive import ColumnDive
from models.eva.node_program import NodeProgram, ProvenDuals
from models.eva.parameters import DEFAULTS, BranchAndPriceParameters
from models.eva.pricer import BranchDecision, Duals, Pricer, ProvenLeaf, SumsOfPrices, TreeProof
from models.eva.pricers import ListedPricer, SearchPricer
from models.eva.relaxation import TOO_DEAR, Bounded, Goal, NodeRelaxation

RESTART_GROWTH = 3  # factor on the node limit after each restart


PatternNode = Node[int, BranchDecision, Duals, Bounded]
"""A node: the duals `proof`, its own or those of its parent, prove its `bound`."""


def leaf(node: PatternNode, classes: int) -> ProvenLeaf:
    """Return a node as a leaf, with its own duals or those of its parent."""
    duals = node.proof or Duals(1, 0, (0,) * classes)
    rest = (0,) * (len(node.decisions) - len(duals.decisions))
    return ProvenLeaf(node.decisions, node.bound, replace(duals, decisions=(*duals.decisions, *rest)))


class BranchAndPrice:
    """The state of a solve: the incumbent, the linear program, and the tree, which may restart at the root."""

    def __init__(
        self,
        arrays: PackingArrays,
        pricer: Pricer,
        options: Options,
        incumbent: Incumbent[Configuration, int],
        clock: Stopwatch,
        parameters: BranchAndPriceParameters,
    ) -> None:
        self.arrays, self.pricer, self.options = arrays, pricer, options
        self.incumbent, self.clock, self.parameters = incumbent, clock, parameters
        self._dearest = dearest(arrays)
        self.sums = SumsOfPrices(arrays.price.tolist(), self.ceiling)
        self.program = NodeProgram(
            arrays, options, self.ceiling, clock, sure=not (parameters.proving or incumbent.bound)
        )
        self.relaxation = NodeRelaxation(
            self.program,
            pricer,
            parameters.columns_each_type,
            round_up=self.sums.round_up,
            lifts=not parameters.proving,
        )
        limits = ((limit.types, limit.most) for limit in arrays.limits)
        self.standing = tuple(BranchDecision("instances", types, "at most", most) for types, most in limits)
        self.costs = PseudoCosts()
        self.fixings: list[Duals] = []
        self.nodes = 0
        self.lp_value: float | None = None
        self._branching = parameters
        self._root: ProvenDuals | None = None
        self._earlier: TreeProof | None = None  # the best proof of the trees before the last restart
        self._restarts, self._limit = parameters.restarts, parameters.restart_nodes
        self._first: PatternNode = Node(0, self.standing)
        self._tree: Tree[int, BranchDecision, Duals, Bounded] = Tree(self, self._first, eager=False)

    @property
    def ceiling(self) -> int:
        """Return the cost of the incumbent; without one, more than the cost of any packing."""
        return self._dearest + 1 if self.incumbent.objective is None else self.incumbent.objective

    @property
    def enough(self) -> int:
        """Return the smallest bound at which a node needs no more work."""
        return self.ceiling - (0 if self.incumbent.objective is None else int(self.options.gap * self.ceiling))

    @property
    def over(self) -> bool:
        """Return whether the gap is closed or a limit is reached."""
        return self.incumbent.is_closed or self.clock.has_expired or self.has_used_nodes

    @property
    def has_used_nodes(self) -> bool:
        """Return whether the limit on nodes is reached."""
        return self.options.effort is not None and self.nodes >= self.options.effort

    def limit(self, clock: Stopwatch) -> None:
        """Use another clock from now on."""
        self.clock = clock

    @property
    def root(self) -> Duals | None:
        """Return the duals of the root, or `None` before it is solved."""
        return None if self._root is None else self._root.duals

    def offer(self, cover: Configuration) -> bool:
        """Offer a trimmed cover as incumbent; return whether it is the best packing so far."""
        packing = trim(self.arrays, cover)
        if not is_within_limits(self.arrays, packing):
            return False
        return self.incumbent.offer(price(self.arrays, packing), packing)

    @property
    def has_ended(self) -> bool:
        """Return whether no open node needs more work."""
        return self._tree.done

    def run(self, nodes: float = inf) -> None:
        """Solve the root and branch until the gap is closed, or a limit or a number of `nodes` is reached."""
        if self.incumbent.is_closed:  # a start of cost 0 leaves no goal for the root
            return
        if self._root is None:
            self._solve_root()

        def limit() -> Termination | None:
            most = min(nodes, self._limit if self._restarts else inf)
            return "time_limit" if self.over else "effort_limit" if self.nodes >= most else None

        while True:
            try:
                self._tree.run(limit, self._raise_bound)
            finally:
                self._raise_bound()
            if self._tree.done or self.over or self.nodes >= nodes or not self._restarts or self.nodes < self._limit:
                return
            self._restarts, self._limit = self._restarts - 1, self.nodes + RESTART_GROWTH * self._limit
            self._begin_anew()

    def _solve_root(self) -> None:
        self.program.add(single_class_columns(self.arrays))
        proven, relaxed = self._relax(self.standing)
        first, self._root = self._first, proven
        first.bound, first.proof, first.guess = self.sums.round_up(proven.bound), proven.duals, relaxed.value
        self.lp_value = relaxed.value
        self._raise_bound()
        if not (self.parameters.proving or self.over):
            self._dive(self.standing)
        self._shrink()

    def _begin_anew(self) -> None:
        """Restart the tree at the root.

        The sizes of search trees have heavy tails, and most trees are small (Gomes, Selman and Kautz, 1998).
        """
        self._earlier = self.proof()
        self._first = replace(self._first, state=None, children=())
        self._tree = Tree(self, self._first, eager=False)
        self.costs = PseudoCosts()
        self._branching = replace(
            self._branching,
            candidates_each_kind=2 * self._branching.candidates_each_kind,
            reliable=2 * self._branching.reliable,
        )

    def bound(self, node: PatternNode) -> None:
        """See `BranchingProblem`."""
        self.nodes += 1
        node.state = self.relaxation.run(node.decisions, Goal(self.enough), self.clock)
        bound, proven = self.sums.round_up(node.state.bound), node.state.proven
        if proven is not None and (bound > node.bound or node.proof is None):
            node.bound, node.proof = max(bound, node.bound), proven.duals
        if node.bound >= self.enough:
            node.state = None

    def branch(self, node: PatternNode) -> Sequence[PatternNode]:
        """See `BranchingProblem`: dive at some nodes, then branch on the first level that has candidates."""
        assert node.state is not None
        proven, relaxed, node.state = node.state.proven, node.state.relaxed, None
        assert proven is not None
        assert relaxed is not None
        columns = UsedColumns(self.program, relaxed.x)
        if relaxed.short <= TOO_DEAR:
            whole = {self.program.columns[i]: round(float(x)) for i, x in zip(columns.used, columns.x, strict=True)}
            if columns.whole and self._covers(whole) and self.offer(whole):
                self._shrink()
            elif not self.parameters.proving and self.nodes % self.parameters.dive_every == 0:
                self._dive(node.decisions)
                self.program.set(node.decisions)
                self.program.value()
        if node.bound >= self.enough:
            return []
        candidates = [
            c for c in aggregates(self.arrays, self.program, columns) if self.program.meets(c.aggregate, c.amount)
        ]
        if not candidates and self.pricer.holdings:
            candidates = holdings(self.arrays, columns)
        elif not candidates:
            candidates = find_placement_candidates(self.arrays, columns, np.arange(len(self.arrays.price)))
        if not candidates and self.pricer.pairs:
            candidates = pairs(self.arrays, columns)
        if not candidates:
            if isinstance(self.pricer, SearchPricer):  # gives patterns to the integer program
                kept = np.floor(columns.x + TOO_DEAR).astype(np.int64)
                left = np.maximum(self.arrays.count - kept @ columns.on_it.astype(np.int64), 0)
                self.program.add(self.pricer.finishing(proven.prices, left.tolist()))
            return []
        gap = max(1.0, self.ceiling - relaxed.value)
        choice = strong_branching(
            self.program, node.decisions, candidates, self.costs, relaxed.value, gap, self._branching
        )
        sides = zip(choice.candidate.children, choice.values, strict=True)
        return [node.child(decision, guess=value) for decision, value in sides]

    def _relax(self, decisions: tuple[BranchDecision, ...]) -> tuple[ProvenDuals, Relaxed]:
        """Solve the linear program under these decisions by column generation, at most until the bound suffices."""
        found = self.relaxation.run(decisions, Goal(self.enough), self.clock)
        assert found.proven is not None
        assert found.relaxed is not None
        return found.proven, found.relaxed

    def _covers(self, cover: Configuration) -> bool:
        return bool((missing(self.arrays, cover) <= 0).all())

    def _dive(self, decisions: tuple[BranchDecision, ...]) -> None:
        """Dive for a better packing."""
        dive = ColumnDive(self.relaxation, self.ceiling - 1, decisions, self.clock, tries=((0.0, False),))
        found = dive.run(self.parameters.discrepancies, self.parameters.discrepancies, self.parameters.dive_steps)
        if found is not None and self.offer(found):
            self._shrink()

    def _shrink(self) -> None:
        """Remove dominated patterns from the list, and those that the duals of the root exclude."""
        if self.parameters.proving or not isinstance(self.pricer, ListedPricer) or self._root is None:
            return
        duals, price = self._root.duals, self.arrays.price.tolist()
        worth = self.pricer.worth(self._root.prices)
        slack = duals.scale * (self.ceiling - 1) - duals.value
        limit = [0] * len(price)
        for d, y in zip(self.standing, duals.decisions, strict=True):
            for k in d.of:
                limit[k] += y
        least = np.nextafter([float(duals.scale * p + y - slack) for p, y in zip(price, limit, strict=True)], -np.inf)
        if duals not in self.fixings:
            self.fixings.append(duals)
        self.pricer.keep(worth >= least[self.pricer.kind])
        self.pricer.leave_out_replaceable()
        staying = self.pricer.staying()
        self.program.forbid(lambda column: column in staying)

    def proof(self) -> TreeProof:
        """Return the proof of the bound so far: the leaves of the present tree, or of an earlier, better one."""
        leaves = tuple(leaf(node, self.arrays.classes) for node in self._tree.leaves)
        present = TreeProof(self.ceiling, self.pricer.dominated, tuple(self.fixings), leaves)
        earlier = self._earlier
        return present if earlier is None or earlier.bound <= present.bound else earlier

    def _raise_bound(self) -> None:
        bound = self._tree.bound
        self.incumbent.raise_bound(self.ceiling if bound is None else min(self.ceiling, bound))


PART = 0.6  # share of the remaining time for the tree, and for an integer program that is the last or has no start
PROBE_SHARE = 0.1  # share of the remaining time for an integer program that another one may follow
PROBE_NODES = 100  # most nodes of such an integer program
MORE_NODES = 4  # factor on the nodes of the tree before the next integer program
LEAST_S = 1e-3  # smallest time limit of an integer program in seconds
Report = Callable[[Configuration | None, int | None], None]


def branch_and_price(
    arrays: PackingArrays,
    pricer: Pricer,
    options: Options = Options(),
    report: Report | None = None,
    start: Configuration | None = None,
    bound: int = 0,
    parameters: BranchAndPriceParameters = DEFAULTS.branch_and_price,
) -> Outcome[Configuration, TreeProof]:
    """Minimise the price of instances that hold all tasks by branch-and-price (Barnhart et al., 1998).

    - `arrays`: the instance.
    - `pricer`: exact pricing of its patterns.
    - `options`: limits, threads and the gap; the effort is a number of nodes.
    - `report`: called with each new packing and each better bound, in price units.
    - `start`: a packing to begin from; the outcome is never worse.
    - `bound`: a bound that is proved already. If it is larger than the bound of the best tree, the outcome has it.
    - `parameters`: the constants of the method.

    The outcome lacks a packing only if types have limits. Then a packing may not exist, or time may be too short.
    """
    clock = Stopwatch(options.time_limit)
    incumbent: Incumbent[Configuration, int] = Incumbent("minimize", clock, report, gap=options.gap, bound=bound)
    for packing in (start, None if arrays.has_limits else pack_alone(arrays)):
        if packing is not None:
            incumbent.offer(price(arrays, packing), packing)
    tree = BranchAndPrice(arrays, pricer, options, incumbent, clock, parameters)
    failure, nodes = None, float(parameters.program_nodes or inf)
    while failure is None:
        if parameters.program_nodes:
            tree.limit(Stopwatch(PART * clock.remaining_s))
        before, stuck = tree.nodes, False
        try:
            tree.run(nodes)
        except OutOfTime:
            stuck = tree.nodes == before
        except SolveFailed as error:
            failure = str(error)
        last = tree.has_ended or tree.has_used_nodes or stuck or failure is not None
        if not parameters.program_nodes or incumbent.is_closed or clock.has_expired:
            break
        _solve_over_columns(tree, options, clock, last)
        if last or incumbent.is_closed:
            break
        nodes *= MORE_NODES
    if incumbent.solution is None and not arrays.has_limits:
        raise RuntimeError("every task alone is a packing")
    termination, reason = ending(incumbent.is_closed, failure, clock.has_expired, options)
    if incumbent.solution is None and (incumbent.bound or 0) >= tree.ceiling:
        termination, reason = "infeasible", "the limits of instances leave tasks without a place"
    info = {
        "nodes": tree.nodes,
        "pricings": tree.relaxation.pricings,
        "columns": len(tree.program.columns),
        "lp_value": tree.lp_value,
    }
    return Outcome(
        incumbent.solution,
        incumbent.objective,
        incumbent.bound or 0,
        tuple(incumbent.trace),
        termination,
        reason,
        info,
        tree.proof(),
    )


def _solve_over_columns(tree: BranchAndPrice, options: Options, clock: Stopwatch, last: bool) -> None:
    """Solve an integer program over the columns of a tree and offer its packing; only the `last` one runs long."""
    known, program = tree.incumbent.solution, tree.program
    share = PART if last or known is None else PROBE_SHARE
    limits = replace(
        options,
        time_limit=None if options.time_limit is None else max(share * clock.remaining_s, LEAST_S),
        effort=options.effort if last else min(options.effort or PROBE_NODES, PROBE_NODES),
    )
    patterns = Patterns(program.kind, program.on_it.astype(np.int64))
    found = solve_covering(tree.arrays, patterns, limits, start=None if known is None else groups(known)).groups
    if found:
        tree.offer(configuration(found))
