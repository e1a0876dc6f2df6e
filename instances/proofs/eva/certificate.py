"""Certificates of `eva-packing`: for `cost`, a tree of decisions with integer duals in each leaf.

For `net-saving`, the certificate is a VIPR file of the program in `saving_program.py`. The rest of this text is on
`cost`.

Let y_t be the duals of the tasks and d_i those of the decisions on the path to a leaf. Let S be the scale; these are
integers >= 0. Let C_k be the price of type k in price units and n_t the number of tasks. A decision bounds, over some
types, the number of instances, the price units spent, or the number of tasks of some entries. The value of a pattern is
the sum of y_t over its tasks, and of d_i over the tasks that decision i counts. Each decision "at least" on type k adds
d_i to mu_k, and each decision "at most" subtracts it. If the decision is on spending, this is d_i C_k. Suppose that no
pattern of any type k has a value over S C_k - mu_k. By linear programming duality, a packing of cost z that satisfies
the decisions has

    S z >= D = sum of n_t y_t + sum of d_i amount_i ("at least") - sum of d_i amount_i ("at most").

The bound of the leaf is the smallest sum of prices that is >= D / S. The bound of the tree is the minimum over its
leaves.

Alternatively, a leaf contains surrogate cover inequalities (`instances.proofs.eva.totals`), each with weights of the
resources of each type. The verifier computes the tables of minimum costs again and searches for instance mixes that
satisfy every cover and cost less than the bound. The leaf holds if there are none. Such a leaf uses only the decisions
on the number of instances of one type.

Types are the offers of `constraints`: running instances are separate types. Every leaf starts with a decision "at most"
for each type that has a limit, in order, and for each limit on several types. The decisions on its path follow.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from math import gcd
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from instances.errors import CheckFailed
from instances.eva.constraints import joint_limits, offers, own_resources
from instances.eva.packing import EvaPacking
from instances.fields import STEPS, Frozen
from instances.proofs.certificate import NoCertificate, Proven, content_of, walk_tree
from instances.proofs.derivation import proven_of
from instances.proofs.eva.packing_program import PackingAmounts
from instances.proofs.eva.saving_program import saving_program
from instances.proofs.eva.totals import Cover, Totals
from instances.proofs.vipr import read_vipr
from instances.validation import validate

if TYPE_CHECKING:
    from instances.proofs.eva.best_pattern import Best

STEPS_OF_SEARCH = 50_000_000  # of a search for instance mixes
STEPS_OF_PATTERN = 2_000_000  # of a search for the best pattern of one type in a cover
Kind = Literal["instances", "spent", "placed"]
Whole = Annotated[int, Field(strict=True, ge=0, lt=1 << 62)]


class Branch(Frozen):
    """A disjunction: what is counted on the types `of` is at most `amount`, or at least the next amount.

    `kind`: "instances", price units "spent", or tasks "placed", those of the entries `tasks`. Types by their places
    among the offers, which without limits and running instances are those in the instance, entries by theirs there.
    """

    kind: Kind
    of: tuple[Whole, ...]
    tasks: tuple[Whole, ...] = ()
    amount: Whole


class Leaf(Frozen):
    """Duals: `scale` S, `tasks` (one an entry), `decisions` (one a limit, then one each on the way from the root).

    `types`: mu of each type. `bound`: D / S, in price units, as p/q.
    """

    scale: Annotated[int, Field(strict=True, ge=1, lt=1 << 62)]
    tasks: tuple[Whole, ...]
    decisions: tuple[Whole, ...]
    types: tuple[Annotated[int, Field(strict=True, gt=-(1 << 62), lt=1 << 62)], ...]
    bound: Annotated[str, Field(pattern=r"^-?[0-9]{1,60}(/[1-9][0-9]{0,60})?$")]


class WrittenCover(Frozen):
    """A cover: `weights` of the resources, those of each type; its table is in parts of `divisor`.

    `tasks`: what a task of each entry counts at most; by default what the weights say. `searched`: the types, by their
    places, of which not the weights but the best pattern says what one can hold.
    """

    weights: tuple[tuple[Whole, ...], ...]
    divisor: Annotated[int, Field(strict=True, ge=1, lt=1 << 120)]
    tasks: tuple[Whole, ...] | None = None
    searched: tuple[Whole, ...] = ()


class TotalsLeaf(Frozen):
    """Totals: the `covers`, and the `bound` in price units."""

    covers: tuple[WrittenCover, ...]
    bound: Whole


class WrittenNode(Frozen):
    """A node has a `branch` and the places of its two `children`, or it is a leaf, of duals or of totals."""

    branch: Branch | None = None
    children: tuple[Whole, Whole] | None = None
    leaf: Leaf | None = None
    totals: TotalsLeaf | None = None


class PackingProof(Frozen):
    """The `bound`, price units of which one is `unit` steps of 1e-9 USD/h, and the `nodes`, the root first."""

    unit: Annotated[int, Field(strict=True, ge=1, lt=1 << 62)]
    bound: Whole
    nodes: Annotated[tuple[WrittenNode, ...], Field(min_length=1)]


@dataclass(frozen=True)
class PackingDecision:
    """One side of a branch: the count is at least `amount` if `least`, otherwise at most `amount`."""

    kind: Kind
    of: tuple[int, ...]
    tasks: tuple[int, ...]
    least: bool
    amount: int


class Packing:
    """An instance in integers: `price` (K), `family` (K), `count` of each entry, demands and capacities.

    `limits`: a decision for each type that has a limit, then one for each limit on several types.
    """

    def __init__(self, data: EvaPacking) -> None:
        offered, amounts = offers(data), PackingAmounts(data, own_resources(data))
        self.unit = gcd(*(offer.price for offer in offered)) or 1
        self.price = [offer.price // self.unit for offer in offered]
        alone = [((k,), offer.most) for k, offer in enumerate(offered) if offer.most is not None]
        joint = [(limit.types, limit.most) for limit in joint_limits(data, offered)]
        self.limits = tuple(PackingDecision("instances", of, (), False, most) for of, most in [*alone, *joint])
        self.family = [amounts.family[offer.type] for offer in offered]
        self.count, self.demand = [t.count for t in data.tasks], amounts.demand
        self.capacity = [list(amounts.capacity[offer.type]) for offer in offered]
        for r in range(len(self.capacity[0])):
            unit = gcd(*(d[r] for needs in self.demand for d in needs), *(q[r] for q in self.capacity)) or 1
            for needs in [*self.demand, self.capacity]:
                for of_one in needs:
                    of_one[r] //= unit

    @cached_property
    def totals(self) -> Totals:
        """Return the usable capacities of the types and the demands of the tasks."""
        return Totals(self.demand, self.capacity, self.family, self.count)

    def cover(self, written: WrittenCover) -> Cover:
        """Return the cover of a certificate. Raises NoCertificate if the search for a best pattern is too long."""
        values = self.totals.values(written.weights, written.tasks, written.searched)
        worth: dict[int, int] = {}
        for k in sorted(set(written.searched)):
            found = self.best(k, values, 0, STEPS_OF_PATTERN)
            if not found.complete:
                raise NoCertificate(f"the search for the best pattern of type {k} is too long")
            worth[k] = found.worth
        return self.totals.cover(written.weights, values, worth)

    def below_by_totals(
        self, covers: Sequence[WrittenCover], limit: int, decisions: Sequence[PackingDecision] | None = None
    ) -> int:
        """Return the cost of an instance mix that satisfies all covers and costs less than `limit`, otherwise `limit`.

        - `covers`: the surrogate cover inequalities.
        - `limit`: in price units.
        - `decisions`: the decisions that the mix satisfies; by default only the limits of the instance.

        Raises NoCertificate if the search is too long.
        """
        from instances.proofs.eva.multisets import LARGEST, Covers  # its compiler takes a while to load

        least, most = [0] * len(self.price), [None] * len(self.price)  # type: list[int], list[int | None]
        for decision in self.limits if decisions is None else decisions:
            if decision.kind != "instances" or len(decision.of) > 1:
                continue
            k, known = decision.of[0], most[decision.of[0]]
            if decision.least:
                least[k] = max(least[k], decision.amount)
            else:
                most[k] = decision.amount if known is None else min(known, decision.amount)
        further = [None if m is None else max(0, m - low) for m, low in zip(most, least, strict=True)]
        spent = sum(low * price for low, price in zip(least, self.price, strict=True))
        if spent >= limit:
            return limit
        if max(self.price) > LARGEST:
            raise NoCertificate("prices are too large for a search of multisets")
        gone, apart = self.totals.find_dominated(self.price, further)
        further = [0 if needless else m for needless, m in zip(gone, further, strict=True)]
        bounded = [-1 if m is None else min(m, LARGEST) for m in further]
        made = Covers(np.array(self.price, dtype=np.int64), np.array(bounded, dtype=np.int64), apart)
        for written in covers:
            cover = self.cover(written)
            held = sum(low * room for low, room in zip(least, cover.rooms, strict=True))
            made.add(replace(cover, amount=max(0, cover.amount - held)), written.divisor, further)
        return spent + made.below(limit - spent, STEPS_OF_SEARCH)

    @cached_property
    def _find_first_alike(self) -> list[list[int]]:
        """Return, for each family and entry, the first entry with the same demand."""
        first: dict[tuple[int, ...], int] = {}
        return [[first.setdefault((f, *d), t) for t, d in enumerate(needs)] for f, needs in enumerate(self.demand)]

    def sides(self, branch: Branch) -> tuple[PackingDecision, PackingDecision]:
        """Return the two decisions of a branch; every packing satisfies one. Raises CheckFailed if it is invalid."""
        for what, places, end in (("types", branch.of, len(self.price)), ("tasks", branch.tasks, len(self.count))):
            if len(set(places)) != len(places) or max(places, default=0) >= end:
                raise CheckFailed(f"a branch on the {what} {places[:5]}")
        if not branch.of or bool(branch.tasks) != (branch.kind == "placed"):
            raise CheckFailed("a branch must name types, and tasks where it is on those placed")
        kind, step = branch.kind, 1
        if kind == "placed":  # at most `amount` on these types means that the rest is on other types
            others = tuple(k for k in range(len(self.price)) if k not in branch.of)
            tasks = sum(self.count[t] for t in branch.tasks)
            few = PackingDecision(kind, others, branch.tasks, True, tasks - branch.amount)
        else:
            step = (gcd(*(self.price[k] for k in branch.of)) or 1) if kind == "spent" else 1
            few = PackingDecision(kind, branch.of, (), False, branch.amount)
        if branch.amount % step:
            raise CheckFailed(f"a branch on an amount of {branch.amount}, no multiple of {step}")
        whole = [k for k, f in enumerate(self.family) if f == self.family[branch.of[0]]]
        if kind == "placed" and len(branch.of) > 1 and sorted(branch.of) != whole:
            raise CheckFailed(f"a branch on tasks placed on {branch.of[:5]}, neither a type nor a family")
        return few, PackingDecision(kind, branch.of, branch.tasks, True, branch.amount + step)

    def worths(
        self, tasks: Sequence[int], decisions: Sequence[tuple[PackingDecision, int]]
    ) -> tuple[list[list[int]], list[int]]:
        """Return the value of a task of each entry on each type, and mu of each type."""
        value = [list(tasks) for _ in self.price]
        mu = [0] * len(self.price)
        for decision, dual in decisions:
            for k in decision.of:
                if decision.kind != "placed":
                    sign = dual if decision.least else -dual
                    mu[k] += sign * (self.price[k] if decision.kind == "spent" else 1)
                    continue
                for t in decision.tasks:
                    value[k][t] += dual
        return value, mu

    def value(self, tasks: Sequence[int], decisions: Sequence[tuple[PackingDecision, int]]) -> int:
        """Return D, the value of the duals."""
        total = sum(n * y for n, y in zip(self.count, tasks, strict=True))
        return total + sum((dual if d.least else -dual) * d.amount for d, dual in decisions)

    def bound(self, scale: int, value: int) -> int:
        """Return the smallest sum of prices that is at least `value` / `scale`."""
        prices, least = [price for price in self.price if price], -(-value // scale)
        return find_min_sum(prices, least) if prices else max(0, least)

    def best(self, k: int, value: Sequence[int], target: int, steps: int | None = None) -> Best:
        """Find the best pattern of type k, by entry, with a value over `target`, in at most `steps` search steps.

        The search merges interchangeable entries.
        """
        from instances.proofs.eva.best_pattern import (  # its compiler takes a while to load
            STEPS,
            Best,
            Room,
            find_best_pattern,
        )

        alike: dict[tuple[int, int], list[int]] = {}
        for t, key in enumerate(zip(value, self._find_first_alike[self.family[k]], strict=True)):
            alike.setdefault(key, []).append(t)
        groups = list(alike.values())
        room = Room(
            [self.demand[self.family[k]][g[0]] for g in groups],
            self.capacity[k],
            [sum(map(self.count.__getitem__, g)) for g in groups],
        )
        found = find_best_pattern(room, [value[g[0]] for g in groups], target, STEPS if steps is None else steps)
        if not found.pattern:
            return found
        pattern = [0] * len(value)
        for group, n in zip(groups, found.pattern, strict=True):
            for t in group:
                pattern[t] = min(n, self.count[t])
                n -= pattern[t]
        return Best(found.worth, pattern, found.complete)


def prove_packing(data: EvaPacking, text: str) -> Proven:
    """Return the bound that the certificate `text` proves.

    Raises InputError, NoCertificate, or CheckFailed if the proof does not hold.
    """
    if data.objective == "net-saving":
        return proven_of(data, saving_program(data).program(), read_vipr(text))
    proof, packing = validate(PackingProof, content_of(data, text), root=""), Packing(data)
    if proof.unit != packing.unit:
        raise CheckFailed(f"unit: {proof.unit} is claimed, prices are multiples of {packing.unit}")
    bounds = _leaves(packing, proof.nodes)
    if min(bounds) != proof.bound:
        raise CheckFailed(f"bound: {proof.bound} price units are claimed, the leaves prove {min(bounds)}")
    return Proven(Fraction(proof.bound * packing.unit, STEPS), describe_leaves(proof.nodes))


SURROGATE = "surrogate cover inequalities"


def describe_leaves(nodes: Sequence[WrittenNode]) -> str:
    """Return a short description of the leaves."""
    duals, totals = sum(node.leaf is not None for node in nodes), sum(node.totals is not None for node in nodes)
    if duals == 0 and len(nodes) == 1:
        return SURROGATE
    leaves = f"{duals} {'leaf' if duals == 1 else 'leaves'}"
    return f"tree with integer duals, {leaves}" + (f", {totals} of {SURROGATE}" if totals else "")


def _leaves(packing: Packing, nodes: Sequence[WrittenNode]) -> list[int]:
    """Return the bounds of the leaves; check that each node is reached once from the root."""
    bounds: list[int] = []

    def visit(
        place: int, node: WrittenNode, decisions: tuple[PackingDecision, ...]
    ) -> list[tuple[int, tuple[PackingDecision, ...]]]:
        inner = node.branch is not None or node.children is not None
        if node.leaf is not None and node.totals is None and not inner:
            bounds.append(_bound(packing, place, node.leaf, decisions))
        elif node.totals is not None and node.leaf is None and not inner:
            bounds.append(_bound_by_totals(packing, place, node.totals, decisions))
        elif node.leaf is None and node.totals is None and node.branch is not None and node.children is not None:
            sides = packing.sides(node.branch)
            return [(child, (*decisions, side)) for child, side in zip(node.children, sides, strict=True)]
        else:
            raise CheckFailed(f"nodes[{place}]: must be a leaf, or have a branch and children")
        return []

    walk_tree(nodes, packing.limits, visit)
    return bounds


def _bound_by_totals(packing: Packing, place: int, leaf: TotalsLeaf, decisions: Sequence[PackingDecision]) -> int:
    resources = len(packing.capacity[0])
    shapes = ([len(w) for w in cover.weights] for cover in leaf.covers)
    if any(shape != [resources] * len(packing.price) for shape in shapes):
        raise CheckFailed(f"nodes[{place}]: must have a weight for each type and resource")
    for cover in leaf.covers:
        if cover.tasks is not None and len(cover.tasks) != len(packing.count):
            raise CheckFailed(f"nodes[{place}]: must have a number for each entry where a cover has `tasks`")
        if any(k >= len(packing.price) for k in cover.searched):
            raise CheckFailed(f"nodes[{place}]: a type is searched that is not there")
    found = packing.below_by_totals(leaf.covers, leaf.bound, decisions)
    if found < leaf.bound:
        raise CheckFailed(f"nodes[{place}]: instances of {found} meet all totals, the bound is {leaf.bound}")
    return found


def _bound(packing: Packing, place: int, leaf: Leaf, decisions: Sequence[PackingDecision]) -> int:
    if len(leaf.tasks) != len(packing.count) or len(leaf.decisions) != len(decisions):
        raise CheckFailed(f"nodes[{place}]: must have a dual for each entry, each limit and each decision")
    weighed = list(zip(decisions, leaf.decisions, strict=True))
    value = packing.value(leaf.tasks, weighed)
    if Fraction(leaf.bound) != Fraction(value, leaf.scale):
        raise CheckFailed(f"nodes[{place}]: the duals prove {Fraction(value, leaf.scale)}, not {leaf.bound}")
    worth, mu = packing.worths(leaf.tasks, weighed)
    if tuple(mu) != leaf.types:
        raise CheckFailed(f"nodes[{place}]: the duals of the types are not those of the decisions")
    for k, price in enumerate(packing.price):
        target = leaf.scale * price - mu[k]
        found = None if target < 0 else packing.best(k, worth[k], target)
        if found is None or found.pattern:
            raise CheckFailed(f"nodes[{place}]: a pattern of type {k} is worth more than its price")
        if not found.complete:
            raise NoCertificate(f"nodes[{place}]: the search for the best pattern of type {k} is too long")
    return packing.bound(leaf.scale, value)


MOST = 200_000  # remainders by the lowest price


def find_min_sum(prices: Sequence[int], amount: int) -> int:
    """Return the smallest sum of `prices`, each used any number of times, that is at least `amount`.

    The smallest sum for each remainder modulo the lowest price is a shortest path. If there are more than `MOST`
    remainders, the function returns the amount itself, which is a valid lower bound.
    """
    if amount <= 0:
        return 0
    if min(prices) > MOST:
        return amount
    return _paths(tuple(sorted(set(prices)))).find_min_total(amount)


class _Paths:
    """The smallest sum for each remainder modulo the lowest price, computed up to the largest amount requested."""

    def __init__(self, prices: tuple[int, ...]) -> None:
        self.prices, self.low = prices, prices[0]
        self.reached = {0: 0}
        self.heap = [0]

    def find_min_total(self, amount: int) -> int:
        low, reached = self.low, self.reached
        while self.heap and self.heap[0] < amount:
            total = heapq.heappop(self.heap)
            if total > reached[total % low]:
                continue
            for price in self.prices:
                more = total + price
                if more < reached.get(more % low, more + 1):
                    reached[more % low] = more
                    heapq.heappush(self.heap, more)
        return min(
            total if total >= amount else total + -(-(amount - total) // low) * low for total in reached.values()
        )


@lru_cache(maxsize=8)
def _paths(prices: tuple[int, ...]) -> _Paths:
    """Return the cached paths of these prices, because a proof requests many amounts."""
    return _Paths(prices)
