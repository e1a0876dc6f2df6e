"""Exact methods for BOA: Li, Berg, Mukhopadhyay, Harchol-Balter, "BOA Constrictor", and "How to Rent GPUs on a Budget".

They solve the convex problems (1), (6) and (7) and the mixed-integer problem with rescaling of Lemma 4.8. They also
compute the randomised policy, and a bound on every policy of the renting world.
"""

from models.boa.exact import exact
from models.boa.literal import build_literal, literal, literal_names, read_literal
from models.boa.policy_bound import PolicyBound, policy_bound
from models.boa.randomised import randomised

__all__ = [
    "PolicyBound",
    "build_literal",
    "exact",
    "literal",
    "literal_names",
    "policy_bound",
    "randomised",
    "read_literal",
]
