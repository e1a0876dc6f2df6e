"""The widest that a job of each class can run."""

from __future__ import annotations

from instances.boa import BoaRenting

UNLIMITED = 10**6  # GPUs, where neither a table nor the workload limits a class


def widest(data: BoaRenting) -> dict[str, int]:
    """The last width that every epoch of a class can run at, by name."""
    found = {}
    for c in data.classes:
        curves = [curve for e in c.epochs for curve in (e.speedup, e.believed_speedup) if curve is not None]
        ends = [curve.table.gpus[-1] for curve in curves if curve.table is not None]
        found[c.name] = min([*ends, data.max_width or UNLIMITED])
    return found
