"""Column generation for Eva's packing where patterns are too many to list: an exact bound, a configuration, a proof.

`search` is the method as a list of phases. `generator` and `pricing` solve the linear relaxation, the bound beyond it
is `models.eva.aggregate_bound`; `greedy` and `ruin` give configurations.
"""

from models.eva.column_generation.parameters import ColumnGenerationParameters
from models.eva.column_generation.search import column_generation

__all__ = ["ColumnGenerationParameters", "column_generation"]
