"""Column generation for Eva's packing where patterns are too many to list: an exact bound, a configuration, a proof.

`solve` is the method as a list of phases, `search` these phases. `generator`, `restricted_master` and `pricing` solve
the linear relaxation, `aggregate_bound` raises the bound beyond it, `integer_master` and `greedy` give
configurations.
"""

from models.eva.column_generation.outcome import Outcome
from models.eva.column_generation.parameters import ColumnGenerationParameters
from models.eva.column_generation.solve import column_generation

__all__ = ["ColumnGenerationParameters", "Outcome", "column_generation"]
