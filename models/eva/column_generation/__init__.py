"""Column generation for Eva's packing where patterns are too many to list: an exact bound, a configuration, a proof.

`run` is the method, `relaxation` its linear master and pricing, `spending` what raises the bound beyond that, `integer`
and `filling` where configurations come from.
"""

from models.eva.column_generation.packing import Column, Configuration, Packing
from models.eva.column_generation.run import Outcome, column_generation

__all__ = ["Column", "Configuration", "Outcome", "Packing", "column_generation"]
