"""Verify bounds of SIA's problems: row multipliers in a tree over the starts of jobs, or a derivation."""

from instances.proofs.sia.certificate import (
    EXCLUDED,
    SCALE,
    Charges,
    Delays,
    PriceProof,
    Shape,
    proof_of,
    prove_local,
    prove_oracle,
)

__all__ = ["EXCLUDED", "SCALE", "Charges", "Delays", "PriceProof", "Shape", "proof_of", "prove_local", "prove_oracle"]
