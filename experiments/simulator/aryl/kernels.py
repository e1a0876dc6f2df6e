"""Compiled search for servers (numba): best fit of a job's workers, server by server."""

from __future__ import annotations

from instances.arrays import BoolArray, IntArray
from instances.compiled import compiled

NOBODY, BASE, FLEXIBLE = 0, 1, 2
"""Groups of loaned servers, by what they host."""


@compiled
def best_fit(
    free: IntArray,
    flexible: IntArray,
    group: IntArray,
    there: BoolArray,
    low: int,
    high: int,
    gpus: int,
    workers: int,
    want: int,
    shed: bool,
    found: IntArray,
    counts: IntArray,
) -> tuple[int, int]:
    """Servers for `workers` workers of `gpus` GPUs among those from `low` to `high`, and how many found room.

    A worker goes where the least is left. `want`: the group that it belongs to, NOBODY where there are no groups. With
    `shed` GPUs of flexible workers count as free. `found` and `counts` are filled, as far as the first number says.
    """
    taken = (~there[low:high]).copy()
    used, placed = 0, 0
    while placed < workers:
        best, least = -1, 1 << 60
        for s in range(low, high):
            if taken[s - low]:
                continue
            room = free[s] + flexible[s] if shed else free[s]
            if want != NOBODY and group[s] != NOBODY and group[s] != want and not (shed and group[s] == FLEXIBLE):
                continue
            if gpus <= room < least:
                best, least = s, room
        if best < 0:
            break
        taken[best - low] = True
        found[used] = best
        counts[used] = min(workers - placed, least // gpus)
        placed += counts[used]
        used += 1
    return used, placed
