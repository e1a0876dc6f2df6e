"""Verify bounds of `boa-allocation`: a multiplier of the budget and minimum costs of runs, in rational arithmetic."""

from instances.proofs.boa.certificate import prove_allocation

__all__ = ["prove_allocation"]
