"""Branching of a proof: a tree over the starts of all jobs, and the schedules that its nodes offer."""

from __future__ import annotations

import numpy as np

from instances.arrays import IntArray
from instances.result import Termination
from models.sia.proof import OracleProof
from models.sia.relaxation import StartRelaxation
from models.sia.search import advance, in_order
from models.sia.start_tree import StartTree


def branch(proof: OracleProof, relaxation: StartRelaxation) -> Termination:
    """Grow a tree over the starts of all jobs until schedule and bound meet, or to a limit."""
    while relaxation.undecided() is None:
        if not relaxation.converge(proof.delay, proof.clock):
            return proof.limit() or "time_limit"
        _draw(proof, relaxation)
        if relaxation.undecided() is None and not relaxation.cover():
            break
    if proof.closed or (limit := proof.limit()) is not None:
        return "finished" if proof.closed else limit or "finished"
    relaxation.exclude(proof.delay)
    opened, kept = proof.columns.open.copy(), relaxation.kept
    tree = StartTree(relaxation, proof.delay, proof.parameters)
    grown = True
    while grown and not proof.closed and proof.limit() is None:
        proof.nodes += 1
        grown = tree.expand(proof.delay, proof.delay, proof.clock, lambda: _draw(proof, relaxation))
        proof.raise_bound(min(tree.proven, proof.delay))
        proof.info |= {"nodes": len(tree.nodes)}
    proof.columns.open = opened
    relaxation.restore(kept)
    return "finished" if proof.closed else proof.limit() or "finished"


def _draw(proof: OracleProof, relaxation: StartRelaxation) -> None:
    """Offer the schedule of a node's relaxation, if that is one, or one in the order of starts drawn from it."""
    drawn = relaxation.sample(proof.rng)
    starts: IntArray | None = drawn.astype(np.int64)
    if not proof.arrays.feasible(drawn.astype(np.int64)):
        starts = in_order(proof.arrays, drawn, proof.parameters)
    if starts is not None:
        proof.offer(advance(proof.arrays, starts, proof.clock))
