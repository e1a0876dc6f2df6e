"""What proves a bound of `eva-packing`: a tree with whole-number duals, or a derivation."""

from instances.proofs.eva.certificate import prove_packing

__all__ = ["prove_packing"]
