"""Rounds of blocks of time, at first many and small ones, then fewer: a bound, fixing, and schedules in their order."""

from __future__ import annotations

from dataclasses import replace

from models.sia.blocks import Blocks, borders
from models.sia.columns import SCALE, ceiling
from models.sia.neighbourhood_search import improve, in_order
from models.sia.proof import Proof
from models.sia.relaxation import Relaxation


def solve_blocks(proof: Proof, relaxation: Relaxation) -> None:
    """Raise the bound by the gains of blocks, close columns, and offer schedules in the order of the blocks' starts."""
    p, arrays, priced = proof.parameters, proof.arrays, relaxation.priced
    if priced is None:
        return
    waiting = int((proof.best > arrays.submit).sum())
    count, rounds = min(p.most_blocks, waiting // p.block_jobs), 0
    while count > 1 and not proof.closed and proof.limit() is None and relaxation.exclude(proof.delay):
        rounds += 1
        first = borders(proof.columns.arrays, priced, proof.best, count)
        blocks = Blocks(proof.columns, priced, first, proof.best, p)
        most = max(1.0, p.block_reach * (proof.delay - priced.bound / SCALE) / len(first))
        starts, left = proof.best.astype(float), proof.clock.remaining_s
        for block in range(len(first)):
            limit = None
            if left != float("inf"):
                limit = max(0.1, proof.clock.remaining_s / (len(first) - block) * (1.0 if rounds > 1 else 0.6))
            nodes = min(p.block_nodes, proof.options.effort or p.block_nodes)
            found = blocks.solve(block, most, replace(proof.options, time_limit=limit, effort=nodes))
            if found is not None:
                mine = (blocks.home == block) & (found >= 0)
                starts[mine] = found[mine]
        proof.raise_bound(ceiling(blocks.bound))
        schedule = in_order(arrays, starts, p)
        if schedule is not None:
            seed = int(proof.rng.integers(2**31))
            proof.offer(improve(arrays, schedule, proof.clock, seed=seed, tries=p.first_tries, parameters=p))
        blocks.close(proof.delay)
        proof.info |= {"blocks": len(first), "block_rounds": rounds, "blocks_bound": blocks.bound / SCALE}
        count //= 2
