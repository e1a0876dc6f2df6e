"""Certificates of `boa-allocation`: a multiplier of the budget, and the bound that it proves.

A convex problem has the Lagrangian bound at the multiplier. With integer widths, the bound is the Lagrangian bound in
integer units. If the gap is closed, it is the optimum in units, found by exact search. With real widths and rescaling
times, a tree contains Lagrangian bounds of runs.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal

from pydantic import Field

from instances.boa.allocation import BoaAllocation
from instances.errors import CheckFailed
from instances.fields import Frozen
from instances.proofs.boa.rational import bound_length, budget, exact, price_of, share
from instances.proofs.boa.run_proof import RunProof, prove_runs
from instances.proofs.boa.unit_network import Units, fastest, shortest, unit_network
from instances.proofs.certificate import Proven, content_of
from instances.validation import show, validate


class ConvexProof(Frozen):
    """`bound` is the Lagrangian at the `price`, hours for a unit of the budget."""

    kind: Literal["lagrangian"]
    price: str
    bound: str


class UnitProof(Frozen):
    """Whole widths, in units of 2^-`time_bits` hours and 2^-`cost_bits` of the budget's unit.

    `shortest`: the length of the classes' shortest paths, a unit of time weighing `scale` and one of cost `price`.
    `bound`: units of time; `closed`: whether that is the optimum in units, or the Lagrangian.
    """

    kind: Literal["units"]
    time_bits: Annotated[int, Field(strict=True, ge=0, le=200)]
    cost_bits: Annotated[int, Field(strict=True, ge=0, le=200)]
    scale: Annotated[int, Field(strict=True, ge=1, le=1 << 40)]
    price: Annotated[int, Field(strict=True, ge=0, le=1 << 60)]
    shortest: Annotated[int, Field(strict=True, ge=0, le=1 << 62)]
    bound: Annotated[int, Field(strict=True, ge=0, le=1 << 62)]
    closed: Annotated[bool, Field(strict=True)]


def prove_allocation(data: BoaAllocation, text: str) -> Proven:
    """Return the bound that the certificate `text` proves.

    Raises InputError, NoCertificate, or CheckFailed if the proof does not hold.
    """
    content = content_of(data, text)
    if data.real:
        return prove_runs(data, validate(RunProof, content, root=""))
    if data.convex:
        return _convex(data, validate(ConvexProof, content, root=""))
    return _units(data, validate(UnitProof, content, root=""))


def _convex(data: BoaAllocation, proof: ConvexProof) -> Proven:
    bound, price = price_of(proof.bound, "bound"), price_of(proof.price, "price")
    try:
        found = lagrangian(data, price)
    except ValueError as error:
        raise CheckFailed(f"price: {error}") from error
    if found != bound:
        raise CheckFailed(f"bound: {show(bound)} is claimed, the price proves {show(found)}")
    return Proven(bound, "Lagrangian at a rational price of the budget")


def _units(data: BoaAllocation, proof: UnitProof) -> Proven:
    units = Units(proof.time_bits, proof.cost_bits, proof.scale, proof.price)
    network = unit_network(data, units)
    length = shortest(network)
    if length != proof.shortest:
        raise CheckFailed(f"shortest: {proof.shortest} is claimed, the shortest paths have {length}")
    if proof.closed:
        found = fastest(network, proof.bound)
        how = "optimum in whole units, by search of the paths near the shortest"
    else:
        found = -(-(length - units.price * network.budget) // units.scale)
        how = "Lagrangian in whole units"
    if found != proof.bound:
        raise CheckFailed(f"bound: {proof.bound} units are claimed, {'more' if found is None else found} are proved")
    return Proven(Fraction(proof.bound) / 2**proof.time_bits, how)


def lagrangian(data: BoaAllocation, price: Fraction) -> Fraction:
    """Return a lower bound in hours on the minimum of time + price * (cost - budget) over all policies.

    Raises ValueError if the minimum is unbounded.
    """
    total = -price * budget(data)
    for c in data.classes:
        factor, arrivals = share(data, c), exact(c.arrivals_per_hour)
        for epoch in c.epochs:
            size = exact(epoch.size_hours)
            total += size * min(
                bound_length(
                    epoch.speedup.on(t.name),
                    factor,
                    price * arrivals * exact(t.price),
                    data.max_width,
                    data.widths == "integer",
                )
                for t in data.gpu_types
            )
    return max(total, Fraction(0))
