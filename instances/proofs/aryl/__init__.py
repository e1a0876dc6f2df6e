"""Verify bounds of Aryl's problems: each problem has its own program and a derivation over it."""

from instances.proofs.aryl.certificate import prove_elastic, prove_placement, prove_reclaim

__all__ = ["prove_elastic", "prove_placement", "prove_reclaim"]
