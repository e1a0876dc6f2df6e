"""Certificates of `node-placement`: integer duals of the pods, or resource weights of each node."""

from __future__ import annotations

import json
import math
from contextlib import suppress

import numpy as np

from instances import Options, Solution, Stopwatch
from instances.arrays import FloatArray
from instances.kubernetes import NodePlacement, PlacementArrays
from instances.proofs import Certificate, digest
from instances.proofs.certificate import VERSION, NoCertificate
from instances.proofs.kubernetes.certificate import DualsOfPods, PlacedPods, PlacementProof, prove_placement
from models.core.highs import SolveFailed
from models.eva.type_totals import TypeTotals
from models.kubernetes.node_patterns import NodePatterns

DENOMINATOR = 55_440  # duals become multiples of 1/55440 move: all denominators up to 12 divide it
MAX_DUAL = 1 << 40  # keeps sums of scaled duals within 64 bits
MARGINS = (0.0, 0.01, 0.1, 1.0, 4.0, 16.0)  # moves by which the target of a search grows after it reaches its limit
STEPS = 500_000  # of each search for the best pattern of a node
TOO_LONG = "the search for the best pattern of a node reached its step limit"


def round_duals(placed: PlacedPods, arrays: PlacementArrays, duals: FloatArray) -> DualsOfPods:
    """Scale and round the duals (N,) of the pattern program, and bound the profit of the patterns of each node.

    Raises NoCertificate if the search for the best pattern of a node reaches its step limit.
    """
    scale = DENOMINATOR
    while duals.max(initial=0.0) * scale >= MAX_DUAL:
        scale //= 2
    rounded = [0] * len(placed.data.pods)
    for members, y in zip(arrays.packing.members, duals.tolist(), strict=True):
        for entry in members:
            rounded[entry] = round(y * scale)
    profits = []
    for m, now in enumerate(placed.now):
        target = sum(n * (y + scale) for n, y in zip(now, rounded, strict=True)) if not arrays.overfull[m] else 0
        for margin in MARGINS:  # a search with a larger target ends sooner, because it omits nearly optimal patterns
            best = placed.best(m, scale, rounded, target + int(margin * scale), STEPS)
            if best.complete:
                break
            target = max(target, best.worth)
        else:
            raise NoCertificate(TOO_LONG)
        profits.append(best.worth)
    return DualsOfPods(scale=scale, pods=tuple(rounded), nodes=tuple(profits))


def certificate(data: NodePlacement, solution: Solution | None, bound: float, options: Options) -> Certificate:
    """Prove `bound`, or the best bound within the limits; without a solution, prove that no placement exists.

    Raises NoCertificate if no proof is found.
    """
    placed = PlacedPods(data)
    no_duals = DualsOfPods(scale=0, pods=(0,) * len(data.pods), nodes=(0,) * len(data.nodes))
    if solution is not None and (bound <= 0 or not data.pods):
        return _write(placed, PlacementProof(bound=0, duals=no_duals))
    if not data.pods:
        raise NoCertificate("an instance without pods needs no proof")
    arrays = PlacementArrays.of(data)
    if placed.overfull:
        return _write(placed, PlacementProof(bound=None, duals=no_duals))
    if solution is None and (weights := find_surrogate_weights(arrays, options)) is not None:
        return _write(placed, PlacementProof(bound=None, weights=tuple(map(tuple, weights))))
    patterns = NodePatterns(arrays, options, Stopwatch(options.time_limit))
    if solution is not None:
        patterns.add(np.arange(len(data.nodes)), arrays.read_placed(solution))
    last_duals = []
    with suppress(SolveFailed):
        last_duals = [patterns.generate().cover]
    proofs = []
    for duals in (patterns.duals, *last_duals):
        with suppress(NoCertificate):
            rounded = round_duals(placed, arrays, duals)
            proofs.append(PlacementProof(bound=placed.bound(rounded), duals=rounded))
    if not proofs:
        raise NoCertificate(TOO_LONG)
    best = max(proofs, key=lambda proof: math.inf if proof.bound is None else proof.bound)
    if solution is None and best.bound is not None:
        raise NoCertificate(f"the duals prove {best.bound} moves, but not that no placement exists")
    return _write(placed, best)


def find_surrogate_weights(arrays: PlacementArrays, options: Options) -> list[list[int]] | None:
    """Find integer weights (M, R) by which the pods need more than all nodes provide.

    The weights are duals of the linear program that assigns pods fractionally to nodes (surrogate constraint, Glover,
    1968). Returns `None` if this linear program is feasible.

    - `arrays`: the cluster.
    - `options`: limits of the linear program.
    """
    one_each = np.ones(len(arrays.now), dtype=np.int64)
    totals = TypeTotals(arrays.packing)
    return totals.find_violated(one_each, totals.share_tasks(one_each, options))


def _write(placed: PlacedPods, proof: PlacementProof) -> Certificate:
    content = {
        "gapwise_certificate": VERSION,
        "problem": placed.data.problem,
        "instance": digest(placed.data),
        **proof.model_dump(mode="json", exclude_none=True),
        "bound": proof.bound,
    }
    text = json.dumps(content) + "\n"
    proven = prove_placement(placed.data, text)
    return Certificate("json", text, proven.bound, proven.how)
