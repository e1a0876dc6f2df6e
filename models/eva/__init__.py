"""Exact methods for Eva's packing (Chang and Venkataraman, EuroSys'25, doi 10.1145/3689031.3717483).

The integer program of section 4.1 as it stands, and fast methods over patterns.
"""

from models.eva.exact import exact
from models.eva.literal import build_literal, literal, literal_names, read_literal

__all__ = ["build_literal", "exact", "literal", "literal_names", "read_literal"]
