"""Certificates of `node-placement`: prices of the pods in whole numbers, or weights of the resources of each node."""

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
from models.eva.totals import TypeTotals
from models.highs import SolveFailed
from models.kubernetes.contents import Contents

PARTS = 55_440  # of a move, which have small denominators
LARGEST = 1 << 40  # price of a pod
MARGINS = (0.0, 0.01, 0.1, 1.0, 4.0, 16.0)  # in moves
STEPS = 500_000  # of the search for the best content of one node


def whole_duals(placed: PlacedPods, arrays: PlacementArrays, duals: FloatArray) -> DualsOfPods:
    """Duals of the linear program over contents in whole numbers, with what no content of a node is worth more than.

    Raises NoCertificate where a search for that is too long.
    """
    scale = PARTS
    while duals.max(initial=0.0) * scale >= LARGEST:
        scale //= 2
    whole = [0] * len(placed.data.pods)
    for members, y in zip(arrays.packing.members, duals.tolist(), strict=True):
        for entry in members:
            whole[entry] = round(y * scale)
    worth = []
    for m, now in enumerate(placed.now):
        least = sum(n * (y + scale) for n, y in zip(now, whole, strict=True)) if not arrays.overfull[m] else 0
        for margin in MARGINS:  # the search ends sooner where it need not tell what is worth nearly the same apart
            best = placed.best(m, scale, whole, least + int(margin * scale), STEPS)
            if best.complete:
                break
            least = max(least, best.worth)
        else:
            raise NoCertificate("the search for the best content of a node is too long")
        worth.append(best.worth)
    return DualsOfPods(scale=scale, pods=tuple(whole), nodes=tuple(worth))


def certificate(data: NodePlacement, solution: Solution | None, bound: float, options: Options) -> Certificate:
    """A proof of `bound`, or of the best bound that the limits allow; without a solution, that there is no placement.

    Raises NoCertificate where there is none.
    """
    placed = PlacedPods(data)
    if solution is not None and (bound <= 0 or not data.pods):
        return _written(placed, PlacementProof(bound=0, duals=_nothing(placed)))
    if not data.pods:
        raise NoCertificate("without pods there is nothing to prove")
    arrays = PlacementArrays.of(data)
    if placed.overfull:
        return _written(placed, PlacementProof(bound=None, duals=_nothing(placed)))
    if solution is None and (weights := totals_short_of(arrays, options)) is not None:
        return _written(placed, PlacementProof(bound=None, weights=tuple(map(tuple, weights))))
    contents = Contents(arrays, options, Stopwatch(options.time_limit))
    if solution is not None:
        contents.add(np.arange(len(data.nodes)), arrays.placed(solution))
    found = []
    with suppress(SolveFailed):
        found = [contents.run().cover]
    proofs = []
    for duals in (contents.duals, *found):
        with suppress(NoCertificate):
            whole = whole_duals(placed, arrays, duals)
            proofs.append(PlacementProof(bound=placed.bound(whole), duals=whole))
    if not proofs:
        raise NoCertificate("the search for the best content of a node is too long")
    best = max(proofs, key=lambda proof: math.inf if proof.bound is None else proof.bound)
    if solution is None and best.bound is not None:
        raise NoCertificate(f"contents prove {best.bound} moves, and not that there is no placement")
    return _written(placed, best)


def totals_short_of(arrays: PlacementArrays, options: Options) -> list[list[int]] | None:
    """Return weights (M, R) of which all nodes have less than all pods take, `None` if the linear program finds none.

    - `arrays`: the cluster.
    - `options`: limits of the linear program.
    """
    one_each = np.ones(len(arrays.now), dtype=np.int64)
    totals = TypeTotals(arrays.packing)
    return totals.refuted(one_each, totals.shared(one_each, options))


def _nothing(placed: PlacedPods) -> DualsOfPods:
    return DualsOfPods(scale=0, pods=(0,) * len(placed.data.pods), nodes=(0,) * len(placed.data.nodes))


def _written(placed: PlacedPods, proof: PlacementProof) -> Certificate:
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
