"""What proves a bound of Aryl's problems: derivations over programs of their own."""

from instances.proofs.aryl.certificate import prove_elastic, prove_placement, prove_reclaim

__all__ = ["prove_elastic", "prove_placement", "prove_reclaim"]
