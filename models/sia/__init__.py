"""Exact models of SIA's anticipatory oracle (SIA, Appendix A, Figure 19): the literal model and a fast method."""

from models.sia.exact import exact
from models.sia.literal import (
    build_literal,
    build_local_literal,
    literal,
    literal_names,
    literal_windows,
    local_literal,
    read_literal,
)
from models.sia.local_exact import local_exact
from models.sia.time_indexed import time_indexed

__all__ = [
    "build_literal",
    "build_local_literal",
    "exact",
    "literal",
    "literal_names",
    "literal_windows",
    "local_exact",
    "local_literal",
    "read_literal",
    "time_indexed",
]
