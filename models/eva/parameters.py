"""The constants of Eva's exact method, for the objectives `cost` and `net-saving`."""

from __future__ import annotations

from dataclasses import dataclass, field

from models.eva.column_generation import ColumnGenerationParameters
from models.eva.item_packing import ItemParameters


@dataclass(frozen=True)
class ExactParameters:
    """The constants of the exact method, which change how fast a proof is found, never whether a bound is valid.

    - `covering_patterns`: feasible patterns of one type beyond which the objective `cost` is solved by column
      generation instead of a list of patterns.
    - `saving_patterns`: feasible patterns of one type beyond which `net-saving` is solved over patterns of few tasks.
    - `entering_columns`: most columns that a round of sifting adds to the linear program.
    - `first_columns`: columns of the first integer program, which only has to find a good incumbent.
    - `column_generation`: the constants of column generation.
    - `item_packing`: the constants of packing item by item.
    """

    covering_patterns: int = 8_000
    saving_patterns: int = 2_000_000
    entering_columns: int = 400
    first_columns: int = 600
    column_generation: ColumnGenerationParameters = field(default_factory=ColumnGenerationParameters)
    item_packing: ItemParameters = field(default_factory=ItemParameters)


DEFAULTS = ExactParameters()
