"""Certificates of `node-placement`: whole-number duals of the pods, or weights of the resources of each node.

Let y_p be the duals of the pod entries and S the scale, whole numbers >= 0, n_p the pods of an entry, b_pm those that
are on node m now, B all of these. What node m holds in the end, x_pm, is worth the sum of y_p x_pm, and S for each pod
that stays, of an entry min(x_pm, b_pm). Where nothing that fits there is worth more than mu_m, a placement with z moves
has, for B - z pods stay and of every entry n_p are somewhere,

    S z >= D = sum of n_p y_p + S B - sum of mu_m.

So z is at least D / S, rounded up, and where D > S B there is no placement, for no more than B pods move. Where nothing
may move, z is 0, each node holds what is there and more, and D > 0 says that there is none.

Weights say by themselves that there is no placement, where all nodes have less than all pods take
(`instances.proofs.eva.totals`).
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
from instances.proofs.certificate import NoCertificate, Proven, content_of
from instances.proofs.empty import NoSolution
from instances.proofs.eva.best_pattern import STEPS, Best, Room, most_worth
from instances.proofs.eva.certificate import Packing
from instances.proofs.eva.totals import Totals
from instances.validation import validated

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
    """An instance in whole numbers: `need` of a pod of each entry, `room` of each node, `now` (node, entry)."""

    data: NodePlacement

    @cached_property
    def packing(self) -> Packing:
        return Packing(self.data.packing())

    @cached_property
    def need(self) -> Sequence[Sequence[int]]:
        return self.packing.demand[0] if self.data.pods else ()

    @cached_property
    def room(self) -> list[list[int]]:
        """What pods can take of each node: a multiple of what all of them take multiples of."""
        if not self.data.pods:
            return [[] for _ in self.data.nodes]
        unit = [gcd(*amounts) or 1 for amounts in zip(*self.need, strict=True)]
        return [[q // u * u for q, u in zip(room, unit, strict=True)] for room in self.packing.capacity]

    @cached_property
    def now(self) -> list[list[int]]:
        return [[node.pods.get(pod.name, 0) for pod in self.data.pods] for node in self.data.nodes]

    @property
    def in_place(self) -> int:
        """B, the pods that are on a node now."""
        return sum(map(sum, self.now))

    @cached_property
    def free(self) -> list[list[int]]:
        """What each node has for what it does not hold yet where nothing moves, or else all that it has."""
        if self.data.movable:
            return self.room
        return [
            [q - sum(n * d[r] for n, d in zip(now, self.need, strict=True)) for r, q in enumerate(room)]
            for room, now in zip(self.room, self.now, strict=True)
        ]

    @property
    def overfull(self) -> bool:
        """Whether a node holds more than fits there, of which nothing may move."""
        return any(amount < 0 for free in self.free for amount in free)

    def totals(self) -> Totals:
        """What all nodes can hold and all pods take."""
        return Totals([self.need], self.packing.capacity, [0] * len(self.room), [pod.count for pod in self.data.pods])

    def best(self, node: int, scale: int, duals: Sequence[int], target: int, steps: int = STEPS) -> Best:
        """The most that a node's content is worth, where that is over `target`; see `most_worth`."""
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
        found = most_worth(room, [value for value, _ in groups], max(0, target - base), steps)
        return Best(found.worth + base, found.pattern, found.complete) if base else found

    def value(self, duals: DualsOfPods) -> int:
        """D."""
        value = sum(pod.count * dual for pod, dual in zip(self.data.pods, duals.pods, strict=True))
        return value + duals.scale * self.in_place - sum(duals.nodes)

    def bound(self, duals: DualsOfPods) -> int | None:
        """What the duals prove if no content is worth more than they say; `None`: that there is no placement."""
        value, most = self.value(duals), self.in_place if self.data.movable else 0
        if value > duals.scale * most:
            return None
        return max(0, -(-value // duals.scale)) if duals.scale else 0


def prove_placement(data: NodePlacement, text: str) -> Proven:
    """What the certificate `text` proves, `NoSolution` where that is it.

    Raises InputError, NoCertificate, or CheckFailed where it does not hold.
    """
    proof, placed = validated(PlacementProof, content_of(data, text), root=""), PlacedPods(data)
    if (proof.duals is None) == (proof.weights is None):
        raise CheckFailed("must have either duals or weights")
    bound = None
    if proof.duals is not None:
        bound = _by_duals(placed, proof.duals)
    else:
        _see_weights(placed, proof.weights or ())
    if bound != proof.bound:
        claimed, found = (("no placement" if b is None else f"{b} moves") for b in (proof.bound, bound))
        raise CheckFailed(f"bound: {claimed} is claimed, the certificate proves {found}")
    how = "totals" if proof.duals is None else "whole-number duals"
    return NoSolution(Fraction(placed.in_place + 1), how) if bound is None else Proven(Fraction(bound), how)


def _by_duals(placed: PlacedPods, duals: DualsOfPods) -> int | None:
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
    """Raise CheckFailed where all nodes have, by the weights, what all pods take."""
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
