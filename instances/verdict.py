"""What a checker says of a solution."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Verdict:
    """`objective` recomputed from the data alone, and the constraints the solution breaks (none: it is feasible)."""

    objective: float | None
    violations: tuple[str, ...] = ()
