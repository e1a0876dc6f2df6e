"""The result of verifying a certificate of infeasibility."""

from __future__ import annotations

from dataclasses import dataclass

from instances.proofs.certificate import Proven


@dataclass(frozen=True)
class NoSolution(Proven):
    """State that the instance is infeasible: the `bound` is beyond the objective of every possible solution."""
