"""Certificates of BOA's allocation: the prices that the fast method ends with, and what they prove."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from fractions import Fraction
from typing import Any

from instances import CheckFailed, Options, Solution, check
from instances.boa import BoaAllocation, planned, proven
from instances.proofs import Certificate, NoCertificate, digest
from instances.proofs.boa.certificate import lagrangian
from instances.proofs.boa.run_proof import RunProof
from instances.proofs.boa.unit_network import UnitNetwork, Units, fastest, shortest, unit_network
from instances.proofs.certificate import VERSION
from models.boa.convex.convex_dual import ConvexDual, solve_convex
from models.boa.convex.curves import curves
from models.boa.real_widths.branching import RunTree
from models.boa.rescaling.micp import prepare

BITS = 46  # the objective and the budget have about so many bits in units
SCALE = 10  # bits of the weight of a unit of time
PRICE = 60  # bits of the price of a convex problem behind its point


def certificate(data: BoaAllocation, solution: Solution | None, bound: float, options: Options) -> Certificate:
    """A proof of `bound`, or of the best bound that is in reach. Raises NoCertificate where there is none."""
    if data.real:
        return _runs(data, bound, options)
    objective = None if solution is None else check(data, solution).objective
    return _convex(data) if data.convex else _units(data, bound if objective is None else objective)


def _written(data: BoaAllocation, content: dict[str, Any], bound: Fraction, how: str) -> Certificate:
    head = {"gapwise_certificate": VERSION, "problem": data.problem, "instance": digest(data)}
    return Certificate("json", json.dumps(head | content, indent=1) + "\n", bound, how)


def _convex(data: BoaAllocation) -> Certificate:
    """The Lagrangian at the better price of the two that the search ends between."""
    mix = solve_convex(ConvexDual(curves(data)), data.budget)
    best = max((lagrangian(data, price), price) for price in map(_rounded, {mix.over.mu, mix.within.mu}))
    content = {"kind": "lagrangian", "price": str(best[1]), "bound": str(best[0])}
    return _written(data, content, best[0], "Lagrangian at a rational price of the budget")


def _runs(data: BoaAllocation, bound: float, options: Options) -> Certificate:
    """The tree over where the widths change, grown until it proves `bound` or time is out."""
    tree = RunTree(data, bound, options)
    proof = RunProof(kind="runs", bound=str(tree.proved), nodes=tuple(tree.stated()))
    how = f"Lagrangians of runs, {len(tree.leaves)} {'leaf' if len(tree.leaves) == 1 else 'leaves'}"
    return _written(data, proof.model_dump(exclude_none=True), tree.proved, how)


def _rounded(price: float) -> Fraction:
    """A price with `PRICE` bits behind the point, or as many as it needs to have some."""
    bits = PRICE + max(0, -math.frexp(price)[1])
    return Fraction(round(Fraction(price) * 2**bits), 2**bits)


def _units(data: BoaAllocation, latest: float) -> Certificate:
    """The optimum in units where it is found by search among policies up to `latest`, else the Lagrangian in units."""
    dual = prepare(data).dual
    dual.maximise(planned(data.budget))
    price = dual.best(data.budget)[0].mu
    network = _network(data, latest, price)
    units = network.units
    length = shortest(network)
    found = None
    with suppress(NoCertificate, CheckFailed):
        found = fastest(network, math.ceil(latest * (1 + 1e-12) * 2.0**units.time))
    closed = found is not None
    value = found if found is not None else max(0, -(-(length - units.price * network.budget) // units.scale))
    content = {
        "kind": "units",
        "time_bits": units.time,
        "cost_bits": units.cost,
        "scale": units.scale,
        "price": units.price,
        "shortest": length,
        "bound": value,
        "closed": closed,
    }
    how = "optimum in whole units" if closed else "Lagrangian in whole units"
    return _written(data, content, Fraction(value) / 2**units.time, how)


def _network(data: BoaAllocation, time: float, price: float) -> UnitNetwork:
    """The network in the finest units in which an objective of the size of `time` can be added up."""
    for bits in range(BITS, 0, -3):
        time_bits, cost_bits = bits - math.frexp(time)[1], bits - math.frexp(proven(data.budget))[1]
        weight = round(price * 2.0 ** (time_bits - cost_bits + SCALE))
        try:
            return unit_network(data, Units(time_bits, cost_bits, 2**SCALE, weight))
        except CheckFailed:
            continue
    raise NoCertificate("times and costs are too far apart for whole units")
