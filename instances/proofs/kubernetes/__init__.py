"""What proves a bound of `node-placement`, or that there is no placement: whole-number duals, or totals."""

from instances.proofs.kubernetes.certificate import prove_placement

__all__ = ["prove_placement"]
