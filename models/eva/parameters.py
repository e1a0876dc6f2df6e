"""The constants of Eva's exact method, for the objectives `cost` and `net-saving`."""

from __future__ import annotations

from dataclasses import dataclass, field

from models.eva.column_generation import ColumnGenerationParameters
from models.eva.saving.parameters import SavingParameters


@dataclass(frozen=True)
class ExactParameters:
    """The constants of the exact method, which change how fast a proof is found, never whether a bound is valid.

    - `covering_patterns`: feasible patterns of one type beyond which the objective `cost` is solved by column
      generation instead of a list of patterns.
    - `saving_patterns`: feasible patterns of one type beyond which `net-saving` is solved by column generation.
    - `entering_columns`: most columns that a round of sifting adds to the linear program.
    - `first_columns`: columns of the first integer program, which only has to find a good incumbent.
    - `column_generation`: the constants of column generation for the cost.
    - `saving`: the constants of column generation for the net saving.
    """

    covering_patterns: int = 8_000
    saving_patterns: int = 100_000
    entering_columns: int = 400
    first_columns: int = 600
    column_generation: ColumnGenerationParameters = field(default_factory=ColumnGenerationParameters)
    saving: SavingParameters = field(default_factory=SavingParameters)


DEFAULTS = ExactParameters()
