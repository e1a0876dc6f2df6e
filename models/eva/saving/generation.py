"""Column generation: the linear program over all patterns, solved over few, and a bound that holds for any duals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import highspy
import numpy as np

from instances import Options, Stopwatch
from instances.eva.arrays import FloatArray, IntArray, PackingArrays
from models.eva.saving.parameters import SavingParameters
from models.eva.saving.pricing import Pricer
from models.highs import LinearModel, add_columns, rerun, solver

CONVERGED = 1e-9  # A reduced net below this share of the dearest price is none.


@dataclass(frozen=True)
class Generated:
    """What column generation ended with.

    - `on_it` (P, N): the columns, patterns of two tasks and more.
    - `duals` (N,): the duals of the best bound, none below 0.
    - `bound`: a bound on the net saving, price units.
    - `rounds`: rounds of pricing.
    - `converged`: whether no pattern of reduced net is left, up to rounding.
    """

    on_it: IntArray
    duals: FloatArray
    bound: float
    rounds: int
    converged: bool


def generate(
    arrays: PackingArrays,
    pricer: Pricer,
    on_it: IntArray,
    options: Options,
    clock: Stopwatch,
    parameters: SavingParameters,
) -> Generated:
    """Solve the linear program over all patterns, or as far as the limits allow.

    - `arrays`: the instance.
    - `pricer`: finds patterns at duals.
    - `on_it` (P, N): patterns to begin with.
    - `options`, `clock`: limits.
    - `parameters`: constants of the method.
    """
    alone = np.eye(arrays.classes, dtype=np.int64)
    known = {row.tobytes() for row in on_it}
    h = solver(Options(threads=options.threads), {"parallel": "off"})
    net = np.concatenate([np.zeros(len(alone)), net_of(arrays, pricer, on_it)])
    rows = np.vstack([alone, on_it])
    h.passModel(LinearModel(net, rows.T, arrays.count, arrays.count, sense="maximize").lp())
    least = CONVERGED * float(arrays.price.max())
    best = Generated(on_it, arrays.reservation_price.astype(float), float(arrays.price_alone), 0, False)
    most = parameters.rounds if options.effort is None else min(parameters.rounds, options.effort)
    rounds, nodes = 0, parameters.nodes
    for rounds in range(1, most + 1):
        if clock.expired:
            break
        if rerun(h) != highspy.HighsModelStatus.kOptimal:
            raise RuntimeError(f"the linear program over patterns ended as {h.modelStatusToString(h.getModelStatus())}")
        duals = np.maximum(np.array(h.getSolution().row_dual), 0.0)
        found, complete = pricer.improving(duals, least, nodes)
        fresh = np.array([row for row in found.on_it if row.tobytes() not in known], dtype=np.int64)
        if math.isinf(found.bound):
            break
        bound = dual_bound(arrays, duals, found.bound + pricer.noise(duals))
        converged = complete and not len(fresh)
        if bound < best.bound or converged:
            best = Generated(on_it, duals, bound, rounds, converged)
        if not len(fresh):
            if complete or nodes >= parameters.listing_nodes:
                break
            nodes = min(parameters.more_nodes * nodes, parameters.listing_nodes)
            continue
        known.update(row.tobytes() for row in fresh)
        on_it = np.vstack([on_it, fresh])
        add_columns(h, net_of(arrays, pricer, fresh), fresh.T)
    return Generated(on_it, best.duals, best.bound, rounds, best.converged)


def dual_bound(arrays: PackingArrays, duals: FloatArray, reduced: float) -> float:
    """The bound of duals >= 0 on the net saving, where no pattern has a reduced net above `reduced`.

    A pattern of one task has a net of 0 at most and so none above 0. There are at most half as many others as tasks.
    """
    tasks = sum(arrays.count.tolist())
    held = sum((Fraction(float(d)) * n for d, n in zip(duals, arrays.count.tolist(), strict=True)), Fraction(0))
    return math.nextafter(float(held + (tasks // 2) * Fraction(max(0.0, reduced))), math.inf)


def net_of(arrays: PackingArrays, pricer: Pricer, on_it: IntArray) -> FloatArray:
    """The nets (P,) of patterns (P, N), each on the cheapest type that holds it, price units."""
    if not len(on_it):
        return np.zeros(0)
    return arrays.value(on_it) - arrays.price[pricer.kind_of(on_it)]
