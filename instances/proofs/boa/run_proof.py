"""The proof of a bound with real widths and rescaling times: a tree over where widths change, a price in every leaf."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from instances.boa.allocation import BoaAllocation
from instances.errors import CheckFailed
from instances.fields import Frozen, refuse
from instances.proofs.boa.rational import budget, price_of
from instances.proofs.boa.run_lengths import LENGTH, RunLengths
from instances.proofs.certificate import NoCertificate, Proven
from instances.validation import show

MOST = 5_000_000  # epochs of runs whose lengths are computed, over all prices
Place = Annotated[int, Field(strict=True, ge=0, le=10**9)]


class Decision(NamedTuple):
    """Whether a width changes before an `epoch` of a class, or whether that epoch is on GPU `type`."""

    job_class: int
    epoch: int
    type: int | None
    holds: bool

    def allows(self, kind: int, first: int, after: int) -> bool:
        """Whether a run of the class is one of a policy for which the decision is so."""
        if self.type is None:
            return not first < self.epoch < after if self.holds else self.epoch not in (first, after)
        return not first <= self.epoch < after or (kind == self.type) == self.holds


class RunBranch(Frozen):
    """What is decided at a node: the first child has it so, the second has not."""

    job_class: Place
    epoch: Place
    type: Place | None = None


class RunNode(Frozen):
    """An inner node with its `branch` and the places of its two `children`, or a leaf.

    A leaf has a `price` and the `bound` that it proves, or neither where no policy obeys its decisions.
    """

    branch: RunBranch | None = None
    children: tuple[Place, Place] | None = None
    price: str | None = None
    bound: str | None = None

    @model_validator(mode="after")
    def _inner_or_leaf(self) -> Self:
        if (self.branch is None) != (self.children is None):
            refuse("children", "must be given with a branch, and only then", self.children)
        if self.branch is not None and self.price is not None:
            refuse("price", "must not be given with a branch", self.price)
        if (self.price is None) != (self.bound is None):
            refuse("bound", "must be given with a price, and only then", self.bound)
        return self


class RunProof(Frozen):
    """`bound` is the least of the leaves of `nodes`, the root first."""

    kind: Literal["runs"]
    bound: str
    nodes: Annotated[tuple[RunNode, ...], Field(min_length=1)]


class RunBounds:
    """Lagrangians of the policies that obey decisions; lengths of runs are kept by price."""

    def __init__(self, data: BoaAllocation) -> None:
        self.data, self.budget = data, budget(data)
        self.types = range(len(data.gpu_types))
        entries = [n * (n + 1) * (n + 2) // 6 for n in (len(c.epochs) for c in data.classes)]
        self._each, self._spent = sum(entries) * len(self.types), 0
        self._lengths: dict[Fraction, list[RunLengths]] = {}
        self._known: dict[tuple[Fraction, int, int, int, int], int] = {}

    def at(self, price: Fraction, decisions: Sequence[Decision]) -> Fraction | None:
        """No more than the least of time + price * (cost - budget); `None` where no policy obeys the decisions.

        Raises NoCertificate where there are too many runs to go through.
        """
        if price not in self._lengths:
            self._spent += self._each
            if self._spent > MOST:
                raise NoCertificate(f"more than {MOST:,} epochs of runs to go through")
            self._lengths[price] = [RunLengths(self.data, i, price) for i in range(len(self.data.classes))]
        total = 0
        for i, c in enumerate(self.data.classes):
            own = [d for d in decisions if d.job_class == i]
            reached: list[int | None] = [0]
            for after in range(1, len(c.epochs) + 1):
                found = None
                for first in range(after):
                    before = reached[first]
                    for kind in self.types:
                        if before is None or not all(d.allows(kind, first, after) for d in own):
                            continue
                        length = before + self._least(price, i, kind, first, after)
                        found = length if found is None else min(found, length)
                reached.append(found)
            if reached[-1] is None:
                return None
            total += reached[-1]
        return max(Fraction(total, 1 << LENGTH) - price * self.budget, Fraction(0))

    def _least(self, price: Fraction, i: int, kind: int, first: int, after: int) -> int:
        key = price, i, kind, first, after
        if key not in self._known:
            self._known[key] = self._lengths[price][i].least(kind, first, after)
        return self._known[key]


def prove_runs(data: BoaAllocation, proof: RunProof) -> Proven:
    """What a proof proves. Raises InputError, NoCertificate, or CheckFailed where it does not hold."""
    bounds, least, leaves = RunBounds(data), [], 0
    seen: set[int] = set()
    left: list[tuple[int, tuple[Decision, ...]]] = [(0, ())]
    while left:
        place, decisions = left.pop()
        where = f"nodes[{place}]"
        if place in seen or place >= len(proof.nodes):
            raise CheckFailed(f"{where}: every node must be there, and be reached once")
        seen.add(place)
        node = proof.nodes[place]
        if node.branch is None or node.children is None:
            leaves += 1
            least += _leaf(bounds, node, decisions, where)
            continue
        b = node.branch
        _see_branch(data, b, where)
        for child, holds in zip(node.children, (True, False), strict=True):
            left.append((child, (*decisions, Decision(b.job_class, b.epoch, b.type, holds))))
    if len(seen) < len(proof.nodes):
        raise CheckFailed(f"nodes: {len(proof.nodes) - len(seen)} of them are not reached")
    bound, found = price_of(proof.bound, "bound"), min(least, default=None)
    if found != bound:
        proved = "nothing is" if found is None else f"{show(found)} is"
        raise CheckFailed(f"bound: {show(bound)} is claimed, {proved} proved")
    return Proven(bound, f"Lagrangians of runs, {leaves} {'leaf' if leaves == 1 else 'leaves'}")


def _leaf(bounds: RunBounds, node: RunNode, decisions: tuple[Decision, ...], where: str) -> list[Fraction]:
    """The bound of a leaf, nothing where it has no policy."""
    price = None if node.price is None else price_of(node.price, f"{where}.price")
    found = bounds.at(price or Fraction(0), decisions)
    if found is None and price is not None:
        raise CheckFailed(f"{where}: no policy is left, and a price is given")
    if found is not None and (price is None or node.bound is None):
        raise CheckFailed(f"{where}: there are policies left, and no price is given")
    if found is None or node.bound is None:
        return []
    if found != (stated := price_of(node.bound, f"{where}.bound")):
        raise CheckFailed(f"{where}: {show(stated)} is claimed, the price proves {show(found)}")
    return [found]


def _see_branch(data: BoaAllocation, branch: RunBranch, where: str) -> None:
    """See that a branch names a change of width within a class, or an epoch and a type that there are."""
    least = 1 if branch.type is None else 0
    if (
        branch.job_class >= len(data.classes)
        or not least <= branch.epoch < len(data.classes[branch.job_class].epochs)
        or (branch.type is not None and branch.type >= len(data.gpu_types))
    ):
        raise CheckFailed(f"{where}.branch: there is no such class, epoch or type")
