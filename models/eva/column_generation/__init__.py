"""Column generation for Eva's packing, if patterns are too many to list: an exact bound and a configuration.

`search` is the method as a list of phases. `pricing` and `knapsack` price patterns. `greedy` and `ruin` find
configurations. The bound beyond the linear relaxation is in `models.eva.aggregate_bound`.
"""

from models.eva.column_generation.parameters import ColumnGenerationParameters
from models.eva.column_generation.search import column_generation

__all__ = ["ColumnGenerationParameters", "column_generation"]
