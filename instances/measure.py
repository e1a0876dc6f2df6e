"""A measure beside the objective: what users read, of which the objective is the part that can be optimised."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Measure:
    """The measure `name`, which is `scale` times the objective and of what `fixed`, which no solution can change.

    `part` names `scale` times the objective alone: mean completion time has the mean delay for a part, and running
    times for what is fixed. Where an optimum is near 0, a relative gap of the part tells nothing, one of all does.
    """

    name: str
    part: str
    scale: float
    fixed: float

    def of(self, objective: float) -> float:
        """The measure of a solution with this objective, or of a bound on objectives."""
        return self.scale * (objective + self.fixed)

    def part_of(self, objective: float) -> float:
        """The part of the measure that the objective is."""
        return self.scale * objective
