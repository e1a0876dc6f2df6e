"""Certificates of `node-placement`: prices of the pods in whole numbers, or weights of the resources of each node."""

from __future__ import annotations

from instances.arrays import FloatArray
from instances.kubernetes import PlacementArrays
from instances.proofs.certificate import NoCertificate
from instances.proofs.kubernetes.certificate import DualsOfPods, PlacedPods

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
