"""Exact methods for BOA: Li, Berg, Mukhopadhyay, Harchol-Balter, "BOA Constrictor", and "How to Rent GPUs on a Budget".

The convex problems (1), (6) and (7), the mixed-integer problem with rescaling of Lemma 4.8, and the randomised policy.
"""

from models.boa.exact import exact
from models.boa.literal import build_literal, literal
from models.boa.randomised import randomised

__all__ = ["build_literal", "exact", "literal", "randomised"]
