"""Exact methods for BOA: Li, Berg, Mukhopadhyay, Harchol-Balter, "BOA Constrictor", and "How to Rent GPUs on a Budget".

The convex problems (1), (6) and (7), the mixed-integer problem with rescaling of Lemma 4.8, and the randomised policy.
"""

from typing import TYPE_CHECKING, Any

from models.boa.exact import exact, literal
from models.boa.randomised import randomised

if TYPE_CHECKING:
    from models.boa.rescaling.milp import build_literal

__all__ = ["build_literal", "exact", "literal", "randomised"]


def __getattr__(name: str) -> Any:
    if name == "build_literal":  # with Pyomo, which takes its time to import
        from models.boa.rescaling.milp import build_literal

        return build_literal
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
