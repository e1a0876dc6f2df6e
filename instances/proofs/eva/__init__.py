"""Verify bounds of Eva's problems: a tree with integer duals, or a derivation."""

from instances.proofs.eva.certificate import prove_packing
from instances.proofs.eva.round_program import prove_reconfiguration

__all__ = ["prove_packing", "prove_reconfiguration"]
