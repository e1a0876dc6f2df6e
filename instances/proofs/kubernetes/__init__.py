"""What proves a bound of the Kubernetes problems: whole-number duals or totals of pods, derivations over totals."""

from instances.proofs.kubernetes.certificate import prove_placement
from instances.proofs.kubernetes.consolidation import prove_consolidation

__all__ = ["prove_consolidation", "prove_placement"]
