"""Certificates of BOA's allocation: the multipliers at which the exact method ends, and the bounds they prove."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from fractions import Fraction
from typing import Any

from instances import CheckFailed, Options, Solution, check
from instances.boa import BoaAllocation, compute_plan_limit, proven
from instances.proofs import Certificate, NoCertificate, digest
from instances.proofs.boa.certificate import lagrangian
from instances.proofs.boa.run_proof import RunProof
from instances.proofs.boa.unit_network import UnitNetwork, Units, fastest, shortest, unit_network
from instances.proofs.certificate import VERSION
from models.boa.convex_dual import ConvexDual, solve_convex
from models.boa.curves import curves
from models.boa.micp import prepare
from models.boa.run_branching import RunTree

BITS = 46  # bits of the objective and of the budget in units, at most, so that sums fit into 64 bits
SCALE_BITS = 10  # bits of the weight of a unit of time, which keep the rounding of the multiplier small
PRICE_BITS = 60  # binary places of the multiplier of a convex problem, more than a float has


def certificate(data: BoaAllocation, solution: Solution | None, bound: float, options: Options) -> Certificate:
    """Return a certificate of `bound`, or of the best bound that can be proven.

    - `solution`: the best known solution, whose time limits the search for the optimum in integer units.
    - `bound`: lower bound on the mean completion time, hours.
    - `options`: time limit.

    Raises NoCertificate if no bound can be proven.
    """
    if data.real:
        return _prove_runs(data, bound, options)
    objective = None if solution is None else check(data, solution).objective
    return _prove_convex(data) if data.convex else _prove_units(data, bound if objective is None else objective)


def _write(data: BoaAllocation, content: dict[str, Any], bound: Fraction, how: str) -> Certificate:
    head = {"gapwise_certificate": VERSION, "problem": data.problem, "instance": digest(data)}
    return Certificate("json", json.dumps(head | content, indent=1) + "\n", bound, how)


def _prove_convex(data: BoaAllocation) -> Certificate:
    """Return the Lagrangian bound at the better of the two multipliers between which the search ends."""
    mix = solve_convex(ConvexDual(curves(data)), data.budget)
    best = max((lagrangian(data, price), price) for price in map(_round_multiplier, {mix.over.mu, mix.within.mu}))
    content = {"kind": "lagrangian", "price": str(best[1]), "bound": str(best[0])}
    return _write(data, content, best[0], "Lagrangian at a rational price of the budget")


def _prove_runs(data: BoaAllocation, bound: float, options: Options) -> Certificate:
    """Return a tree of branching on width changes, grown until it proves `bound` or the time limit is reached."""
    tree = RunTree(data, bound, options)
    proof = RunProof(kind="runs", bound=str(tree.proved), nodes=tuple(tree.certificate_nodes()))
    how = f"Lagrangians of runs, {len(tree.leaves)} {'leaf' if len(tree.leaves) == 1 else 'leaves'}"
    return _write(data, proof.model_dump(exclude_none=True), tree.proved, how)


def _round_multiplier(price: float) -> Fraction:
    """Return a multiplier as a fraction with `PRICE_BITS` binary places, or more if it is small."""
    bits = PRICE_BITS + max(0, -math.frexp(price)[1])
    return Fraction(round(Fraction(price) * 2**bits), 2**bits)


def _prove_units(data: BoaAllocation, latest: float) -> Certificate:
    """Return the optimum in integer units if a search among policies up to `latest` hours finds it.

    Otherwise return the Lagrangian bound in integer units.
    """
    dual = prepare(data).dual
    dual.maximise(compute_plan_limit(data.budget))
    price = dual.best(data.budget)[0].mu
    network = _build_network(data, latest, price)
    units = network.units
    length = shortest(network)
    optimum = None
    with suppress(NoCertificate, CheckFailed):
        optimum = fastest(network, math.ceil(latest * (1 + 1e-12) * 2.0**units.time))
    is_closed = optimum is not None
    value = optimum if optimum is not None else max(0, -(-(length - units.price * network.budget) // units.scale))
    content = {
        "kind": "units",
        "time_bits": units.time,
        "cost_bits": units.cost,
        "scale": units.scale,
        "price": units.price,
        "shortest": length,
        "bound": value,
        "closed": is_closed,
    }
    how = "optimum in whole units" if is_closed else "Lagrangian in whole units"
    return _write(data, content, Fraction(value) / 2**units.time, how)


def _build_network(data: BoaAllocation, time: float, price: float) -> UnitNetwork:
    """Return the network in the finest units in which objectives of the size of `time` can be added exactly."""
    for bits in range(BITS, 0, -3):
        time_bits, cost_bits = bits - math.frexp(time)[1], bits - math.frexp(proven(data.budget))[1]
        weight = round(price * 2.0 ** (time_bits - cost_bits + SCALE_BITS))
        try:
            return unit_network(data, Units(time_bits, cost_bits, 2**SCALE_BITS, weight))
        except CheckFailed:
            continue
    raise NoCertificate("times and costs are too far apart for whole units")
