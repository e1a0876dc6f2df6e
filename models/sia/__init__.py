"""Exact models of SIA's anticipatory oracle (SIA, Appendix A, Figure 19): the literal one and a fast method."""

from models.sia.direct import direct
from models.sia.exact import exact
from models.sia.literal import build_literal, literal, literal_windows

__all__ = ["build_literal", "direct", "exact", "literal", "literal_windows"]
