"""Certificates of `node-placement`: prices of the pods in whole numbers, or weights of the resources of each node."""

from __future__ import annotations

import math

from instances.kubernetes import PlacementArrays
from instances.proofs.certificate import NoCertificate
from instances.proofs.kubernetes.certificate import DualsOfPods, PlacedPods
from models.kubernetes.contents import Contents

BITS = 20  # of the price of a move
LARGEST = 1 << 40  # price of a pod
STEPS = 2_000_000  # of the search for the best content of one node


def whole_duals(placed: PlacedPods, arrays: PlacementArrays, contents: Contents) -> DualsOfPods:
    """The best duals of a linear program over contents in whole numbers, with what each node can be worth by them.

    Raises NoCertificate where a search for that is too long.
    """
    scale = 1 << BITS
    while contents.duals.max(initial=0.0) * scale >= LARGEST:
        scale //= 2
    duals = [0] * len(placed.data.pods)
    for members, y in zip(arrays.packing.members, contents.duals.tolist(), strict=True):
        for entry in members:
            duals[entry] = math.floor(y * scale)
    move = scale if contents.moving else 0
    worth = []
    for m, now in enumerate(placed.now):
        staying = sum(n * (y + move) for n, y in zip(now, duals, strict=True))
        best = placed.best(m, move, duals, 0 if arrays.overfull[m] else staying, STEPS)
        if not best.complete:
            raise NoCertificate("the search for the best content of a node is too long")
        worth.append(best.worth)
    return DualsOfPods(scale=move, pods=tuple(duals), nodes=tuple(worth))
