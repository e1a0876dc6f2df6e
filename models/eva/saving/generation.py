"""Column generation: the linear program over all columns, solved over few, and a bound that holds for any duals."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from instances import Options, Stopwatch
from instances.arrays import FloatArray
from models.core.linear_program import LinearProgram
from models.eva.saving.columns import Columns, Duals, Master
from models.eva.saving.parameters import SavingParameters
from models.eva.saving.pricing import Pricer
from models.fine_units import coarse_unit
from models.highs import SolveFailed

CONVERGED = 1e-9  # A reduced net below this share of the dearest instance is none.


@dataclass(frozen=True)
class Generated:
    """What column generation ended with.

    - `columns`: all columns.
    - `x` (P,): the last solution of the linear program, over the first columns.
    - `duals`: those of the best bound, or of the last round where it converged; `at_duals`: what they prove.
    - `bound`: the best bound on what is saved, before the moves of all tasks.
    - `rounds`: rounds of pricing.
    - `converged`: whether no column of reduced net is left, up to rounding.
    """

    columns: Columns
    x: FloatArray
    duals: Duals
    at_duals: float
    bound: float
    rounds: int
    converged: bool


def generate(
    master: Master, pricer: Pricer, columns: Columns, options: Options, clock: Stopwatch, parameters: SavingParameters
) -> Generated:
    """Solve the linear program over all columns, or as far as the limits allow.

    - `columns`: columns to begin with, among them a solution.
    - `options`, `clock`: limits.
    """
    net = master.net(columns)
    model = master.model(columns, net, integer=False)
    unit = coarse_unit(model)
    coarse = replace(model, cost=np.asarray(model.cost) / unit)
    moves = len(master.arrays.spread)  # their z are the last variables
    program = LinearProgram(coarse, Options(threads=options.threads), {"presolve": "choose"}, short=moves)
    known, parts = set(columns.names), [columns]
    least = CONVERGED * float(master.arrays.new.max())
    nothing = Duals(np.zeros(0), np.zeros(0), np.zeros(0))
    best = Generated(columns, np.zeros(0), nothing, math.inf, math.inf, 0, False)
    most = parameters.rounds if options.effort is None else min(parameters.rounds, options.effort)
    rounds, nodes = 0, parameters.nodes
    for rounds in range(1, most + 1):
        if clock.expired:
            break
        try:
            optimum = program.solve(clock.remaining_s)
        except SolveFailed:  # or out of time
            break
        duals = master.priced(optimum.duals * unit)
        found = pricer.improving(duals, least, nodes)
        if math.isinf(found.bound):
            break
        fresh = found.columns.chosen(
            np.array([p for p, name in enumerate(found.columns.names) if name not in known], dtype=np.int64)
        )
        fresh_net = master.net(fresh)
        gains = pricer.reduced(fresh, fresh_net, duals) > least
        bound = master.bound(duals, found.bound + pricer.noise(duals), master.priced_instances)
        converged = found.complete and not gains.any()
        if bound < best.bound or converged:
            best = Generated(columns, optimum.x, duals, bound, min(bound, best.bound), rounds, converged)
        if not gains.any():
            if found.complete or nodes >= parameters.listing_nodes:
                break
            nodes = min(parameters.more_nodes * nodes, parameters.listing_nodes)
            continue
        fresh, fresh_net = fresh.chosen(np.flatnonzero(gains)), fresh_net[gains]
        known.update(fresh.names)
        parts.append(fresh)
        entries = sparse.csc_array(master.entries(fresh))
        program.add(fresh_net / unit, entries.indptr[:-1], entries.indices, entries.data)
    return replace(best, columns=Columns.joined(parts), rounds=rounds)
