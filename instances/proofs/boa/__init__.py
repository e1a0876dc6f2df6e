"""What proves a bound of `boa-allocation`: a price of the budget, and least costs of runs in rational numbers."""

from instances.proofs.boa.certificate import prove_allocation

__all__ = ["prove_allocation"]
