"""Exact methods for pods on given nodes: all in place with the fewest moves, or that it cannot be."""

from models.kubernetes.exact import exact
from models.kubernetes.literal import build_literal, literal, literal_names, read_literal

__all__ = ["build_literal", "exact", "literal", "literal_names", "read_literal"]
