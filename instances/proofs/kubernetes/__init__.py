"""What proves a bound of the Kubernetes problems: derivations over a program of totals."""

from instances.proofs.kubernetes.certificate import prove_consolidation

__all__ = ["prove_consolidation"]
