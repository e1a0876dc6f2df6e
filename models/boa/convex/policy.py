"""Policies of the convex problem: from shares, times and widths to a solution in JSON form that keeps the budget."""

from __future__ import annotations

from typing import Any

import numpy as np

from instances import Solution
from instances.arrays import FloatArray
from instances.boa import BoaAllocation, planned
from models.boa.convex.convex_dual import Choice, Mix
from models.boa.convex.curves import Curves, cost_at, width_at

ROUNDS = 400  # Widths move towards those of the cheap choice at most so often.
REPAIRS = 60  # Shares are repaired at most so often before the cheapest policy is taken.
SMALLEST = 1e-9  # A share below this counts as 0.


def widths(c: Curves, mix: Mix, keeps: float) -> FloatArray:
    """The widths (n,) of a mix on a single GPU type: where the two choices differ, the width of the mixed time.

    What rounding costs when a width is found from a time is paid for by moving towards the cheap choice.
    """
    k = mix.cheap.width.copy()
    mixed = np.flatnonzero(mix.dear.width != mix.cheap.width)
    for n in mixed:
        z = (mix.share * mix.dear.times[n] + (1 - mix.share) * mix.cheap.times[n]) / c.value[n]
        k[n] = min(max(width_at(c, int(n), z), mix.cheap.width[n]), mix.dear.width[n])
    rest = mix.cheap.cost - float(mix.cheap.costs[mixed].sum())
    for _ in range(ROUNDS):
        spent = rest + sum(cost_at(c, int(n), k[n]) for n in mixed)
        if spent <= keeps:
            return k
        k = k + min(1.0, 1.01 * (spent - keeps) / max(spent - mix.cheap.cost, spent * 1e-300)) * (mix.cheap.width - k)
    return mix.cheap.width.copy()


def by_class(data: BoaAllocation, values: FloatArray) -> dict[str, list[float]]:
    """Values of all epochs (n,) as lists by class."""
    ends = np.cumsum([len(c.epochs) for c in data.classes])[:-1]
    return {c.name: part.tolist() for c, part in zip(data.classes, np.split(values, ends), strict=True)}


def assignment(data: BoaAllocation, mix: Mix) -> Solution:
    """The mix as shares of the jobs of each epoch on (type, width)."""
    options = []
    for n in range(len(mix.cheap.width)):
        parts: dict[tuple[int, float], float] = {}
        for choice, share in ((mix.dear, mix.share), (mix.cheap, 1 - mix.share)):
            point = int(choice.type[n]), float(choice.width[n])
            parts[point] = parts.get(point, 0.0) + share
        total = sum(parts.values())
        options.append(
            [
                {"type": data.gpu_types[h].name, "width": k, "fraction": share / total}
                for (h, k), share in parts.items()
                if share > 0
            ]
        )
    rows = iter(options)
    return {"assignment": {c.name: [next(rows) for _ in c.epochs] for c in data.classes}}


def repaired(
    data: BoaAllocation, c: Curves, share: FloatArray, z: FloatArray, cheapest: Choice
) -> tuple[FloatArray, FloatArray]:
    """Shares and widths (N,) within the budget: a solver's last digits are paid for by mixing in the cheapest policy.

    - `data`, `c`: the instance, and the curves of the instance.
    - `share` (N,): share of the jobs of an epoch on each GPU type.
    - `z` (N,): time of a run, relative to width 1.
    - `cheapest`: the choice of least cost.
    """
    first, last = c.ends()
    z = np.clip(z, last, first)
    keeps, chosen = planned(data.budget), np.arange(c.epochs) * c.types + cheapest.type
    for _ in range(REPAIRS):
        used = np.flatnonzero(share > 0)
        width = np.ones(len(share))
        width[used] = [width_at(c, int(i), z[i]) for i in used]
        spent = sum(share[i] * cost_at(c, int(i), width[i]) for i in used)
        if spent <= keeps:
            return share, width
        part = min(1.0, 1.01 * (spent - keeps) / max(spent - cheapest.cost, spent - keeps))
        time = (1 - part) * share * z
        share = (1 - part) * share
        time[chosen] += part * cheapest.times / c.value[chosen]
        share[chosen] += part
        z = np.clip(np.divide(time, share, out=np.ones(len(share)), where=share > 0), last, first)
    share, width = np.zeros(len(share)), np.ones(len(share))
    share[chosen], width[chosen] = 1.0, cheapest.width
    return share, width


def policy(data: BoaAllocation, c: Curves, share: FloatArray, width: FloatArray) -> Solution:
    """The solution in JSON form with shares and widths (N,)."""
    if not data.heterogeneous:
        return {"widths": by_class(data, width)}
    rows = iter(np.stack([share, width], axis=-1).reshape(c.epochs, c.types, 2))
    names = [t.name for t in data.gpu_types]

    def options() -> list[dict[str, Any]]:
        return [
            {"type": name, "width": float(k), "fraction": float(p)}
            for name, (p, k) in zip(names, next(rows), strict=True)
            if p > 0
        ]

    return {"assignment": {job_class.name: [options() for _ in job_class.epochs] for job_class in data.classes}}
