"""Certificates of `node-placement`: integer duals of the pods, or weights of the resources of each node.

Let y_p be the duals of the pod entries and S the scale, integers >= 0. Let n_p be the number of pods of an entry, b_pm
the number now on node m, and B the sum of all b_pm. Let x_pm be the pods on node m after the moves. Their value is the
sum of y_p x_pm, plus S for each pod that stays, min(x_pm, b_pm) of an entry. Suppose that no pattern that fits on node
m has a value over mu_m. In a placement with z moves B - z pods stay and all n_p pods of each entry are placed, so

    S z >= D = sum of n_p y_p + S B - sum of mu_m.

So z is at least D / S, rounded up. If D > S B, the instance is infeasible, because at most B pods move. If no pod may
move, z is 0 and each node keeps its pods; then D > 0 proves that the instance is infeasible.

Weights alone prove that the instance is infeasible if the weighted capacity of all nodes is less than the weighted
demand of all pods (`instances.proofs.eva.totals`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd
from typing import Annotated

from pydantic import Field

from instances.errors import CheckFailed
from instances.fields import Frozen
from instances.kubernetes.placement import NodePlacement
from instances.proofs.certificate import NoCertificate, NoSolution, Proven, content_of
from instances.proofs.eva.best_pattern import STEPS, Best, Room, find_best_pattern
from instances.proofs.eva.certificate import Packing
from instances.proofs.eva.totals import Totals
from instances.validation import validate

Whole = Annotated[int, Field(strict=True, ge=0, lt=1 << 62)]


class DualsOfPods(Frozen):
    """`scale` S, the duals y of the `pods`, one an entry, and mu of the `nodes`."""

    scale: Whole
    pods: tuple[Whole, ...]
    nodes: tuple[Whole, ...]


class PlacementProof(Frozen):
    """The fewest moves that are proved, the `bound`, `None` where it is that there is no placement, and the proof.

    Either `duals` or, of no placement alone, `weights` of the resources, those of each node.
    """

    bound: Whole | None
    duals: DualsOfPods | None = None
    weights: tuple[tuple[Whole, ...], ...] | None = None


@dataclass(frozen=True)
class PlacedPods:
    """An instance in integers: `need` of a pod of each entry, `room` of each node, pods `now` by (node, entry)."""

    data: NodePlacement

    @cached_property
    def packing(self) -> Packing:
        return Packing(self.data.packing())

    @cached_property
    def need(self) -> Sequence[Sequence[int]]:
        return self.packing.demand[0] if self.data.pods else ()

    @cached_property
    def room(self) -> list[list[int]]:
        """Return the usable capacity of each node: rounded down to a multiple of the common divisor of the demands."""
        if not self.data.pods:
            return [[] for _ in self.data.nodes]
        unit = [gcd(*amounts) or 1 for amounts in zip(*self.need, strict=True)]
        return [[q // u * u for q, u in zip(room, unit, strict=True)] for room in self.packing.capacity]

    @cached_property
    def now(self) -> list[list[int]]:
        return [[node.pods.get(pod.name, 0) for pod in self.data.pods] for node in self.data.nodes]

    @property
    def pods_in_place(self) -> int:
        """Return B, the number of pods that are on a node."""
        return sum(map(sum, self.now))

    @cached_property
    def free(self) -> list[list[int]]:
        """Return the residual capacity of each node if no pod may move, otherwise its whole capacity."""
        if self.data.movable:
            return self.room
        return [
            [q - sum(n * d[r] for n, d in zip(now, self.need, strict=True)) for r, q in enumerate(room)]
            for room, now in zip(self.room, self.now, strict=True)
        ]

    @property
    def overfull(self) -> bool:
        """Return whether pods that may not move exceed the capacity of a node."""
        return any(amount < 0 for free in self.free for amount in free)

    def totals(self) -> Totals:
        """Return the capacities of all nodes and the demands of all pods, for a surrogate cover inequality."""
        return Totals([self.need], self.packing.capacity, [0] * len(self.room), [pod.count for pod in self.data.pods])

    def best(self, node: int, scale: int, duals: Sequence[int], target: int, steps: int = STEPS) -> Best:
        """Find the best pattern of a node with a value over `target`; see `find_best_pattern`."""
        groups: dict[tuple[int, tuple[int, ...]], int] = {}
        base = 0
        for here, pod, need, dual in zip(self.now[node], self.data.pods, self.need, duals, strict=True):
            staying, coming = (dual + scale, tuple(need)), (dual, tuple(need))
            if self.data.movable:
                groups[staying] = groups.get(staying, 0) + here
            else:
                base += here * (dual + scale)
            groups[coming] = groups.get(coming, 0) + pod.count - here
        room = Room([list(need) for _, need in groups], self.free[node], list(groups.values()))
        found = find_best_pattern(room, [value for value, _ in groups], max(0, target - base), steps)
        return Best(found.worth + base, found.pattern, found.complete) if base else found

    def value(self, duals: DualsOfPods) -> int:
        """Return D, the value of the duals."""
        value = sum(pod.count * dual for pod, dual in zip(self.data.pods, duals.pods, strict=True))
        return value + duals.scale * self.pods_in_place - sum(duals.nodes)

    def bound(self, duals: DualsOfPods) -> int | None:
        """Return the bound if no pattern has a value over the stated mu; `None` if the instance is infeasible."""
        value, most = self.value(duals), self.pods_in_place if self.data.movable else 0
        if value > duals.scale * most:
            return None
        return max(0, -(-value // duals.scale)) if duals.scale else 0


def prove_placement(data: NodePlacement, text: str) -> Proven:
    """Return the bound that the certificate `text` proves, or `NoSolution` if it proves infeasibility.

    Raises InputError, NoCertificate, or CheckFailed if the proof does not hold.
    """
    proof, placed = validate(PlacementProof, content_of(data, text), root=""), PlacedPods(data)
    if (proof.duals is None) == (proof.weights is None):
        raise CheckFailed("must have either duals or weights")
    bound = None
    if proof.duals is not None:
        bound = _bound_by_duals(placed, proof.duals)
    else:
        _see_weights(placed, proof.weights or ())
    if bound != proof.bound:
        claimed, found = (("no placement" if b is None else f"{b} moves") for b in (proof.bound, bound))
        raise CheckFailed(f"bound: {claimed} is claimed, the certificate proves {found}")
    how = "weights of resources" if proof.duals is None else "integer duals"
    return NoSolution(Fraction(placed.pods_in_place + 1), how) if bound is None else Proven(Fraction(bound), how)


def _bound_by_duals(placed: PlacedPods, duals: DualsOfPods) -> int | None:
    if len(duals.pods) != len(placed.data.pods) or len(duals.nodes) != len(placed.data.nodes):
        raise CheckFailed("duals: must be of each pod entry and each node")
    if placed.overfull:
        return None
    for node, most in enumerate(duals.nodes):
        found = placed.best(node, duals.scale, duals.pods, most)
        if found.pattern or found.worth > most:
            raise CheckFailed(f"duals.nodes[{node}]: what fits there can be worth {found.worth}, more than {most}")
        if not found.complete:
            raise NoCertificate(f"duals.nodes[{node}]: the search for the best content is too long")
    return placed.bound(duals)


def _see_weights(placed: PlacedPods, weights: Sequence[Sequence[int]]) -> None:
    """Raise CheckFailed unless the weighted capacity of all nodes is less than the weighted demand of all pods."""
    if [len(w) for w in weights] != [len(room) for room in placed.room] or not placed.data.pods:
        raise CheckFailed("weights: must be of each resource of each node")
    totals = placed.totals()
    held = sum(_dot(w, room) for w, room in zip(weights, totals.room, strict=True))
    least = (min(_dot(weights[m], d) for m in fits) for fits, d in zip(totals.fits, placed.need, strict=True))
    taken = sum(pod.count * amount for pod, amount in zip(placed.data.pods, least, strict=True))
    if held >= taken:
        raise CheckFailed(f"weights: all nodes have {held}, which is not less than {taken}")


def _dot(weights: Sequence[int], amounts: Sequence[int]) -> int:
    return sum(w * a for w, a in zip(weights, amounts, strict=True))
