"""What a certificate of an instance without any solution proves."""

from __future__ import annotations

from dataclasses import dataclass

from instances.proofs.certificate import Proven


@dataclass(frozen=True)
class NoSolution(Proven):
    """That there is no solution: the `bound` is beyond the objective that any could have."""
