"""Exact methods of `node-placement` (minimum moves) and of `node-consolidation` (minimum cost)."""

from models.kubernetes.consolidation import exact_consolidation
from models.kubernetes.consolidation_literal import (
    build_consolidation,
    consolidation_names,
    literal_consolidation,
    read_consolidation,
)
from models.kubernetes.exact import exact
from models.kubernetes.literal import build_literal, literal, literal_names, read_literal

__all__ = [
    "build_consolidation",
    "build_literal",
    "consolidation_names",
    "exact",
    "exact_consolidation",
    "literal",
    "literal_consolidation",
    "literal_names",
    "read_consolidation",
    "read_literal",
]
