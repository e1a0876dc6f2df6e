"""Verify bounds of the Kubernetes problems: integer duals, resource weights, derivations over aggregated programs."""

from instances.proofs.kubernetes.certificate import prove_placement
from instances.proofs.kubernetes.totals_program import prove_consolidation

__all__ = ["prove_consolidation", "prove_placement"]
