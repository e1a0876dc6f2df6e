"""Solutions of `boa-allocation` in JSON form."""

from __future__ import annotations

from collections.abc import Iterable

from instances import Solution
from instances.boa import BoaAllocation

Option = tuple[int, float, float]
"""GPU type, width, and fraction of the jobs."""


def build_solution(data: BoaAllocation, options: Iterable[Iterable[Option]]) -> Solution:
    """Return the solution in JSON form for the options of each epoch, in order of classes and epochs.

    With a single GPU type, each epoch has one option, whose width applies to all jobs.
    """
    rows, names = iter(options), [t.name for t in data.gpu_types]
    if not data.heterogeneous:
        return {"widths": {c.name: [k for _ in c.epochs for _, k, _ in next(rows)] for c in data.classes}}

    def write(row: Iterable[Option]) -> list[dict[str, object]]:
        return [{"type": names[h], "width": k, "fraction": p} for h, k, p in row if p > 0]

    return {"assignment": {c.name: [write(next(rows)) for _ in c.epochs] for c in data.classes}}
