"""Define the field types of all problems: names, counts and finite numbers, without coercion from other types.

Amounts, prices, rates, sizes and budgets are on a grid of 1e-9 of their unit. They are rounded to it once, when a file
is read or an object is built. Every layer uses these numbers and compares them exactly. This module also checks the
arguments of generators and defines the verdict of a checker.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal, NoReturn, Self

import numpy as np
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from pydantic_core import PydanticCustomError

from instances.errors import InputError
from instances.validation import input_errors

LARGEST = 1e9  # larger numbers indicate a wrong unit, and would leave the range of 64-bit integers
STEPS = 10**9  # steps of the grid in one unit
DIGITS = 9  # the same as decimal places


def refuse(path: str, message: str, value: Any = None) -> NoReturn:
    """Raise a validation error at `path`, relative to the model being validated.

    The loader joins it to the path of that model: `data.tasks[3].demand: unknown resource, got "gpus"`.
    """
    context = {"path": path, "message": message, "value": value}
    raise PydanticCustomError("refused", "{path}: {message}", context)


def on_grid(number: float) -> float:
    """Return the number of the grid nearest to `number`.

    Raises a validation error if a number other than 0 would become 0.
    """
    nearest = round(number, DIGITS)
    if nearest == 0 and number != 0:
        refuse("", f"must be 0 or at least 1e-{DIGITS}, the step of the grid", number)
    return nearest + 0.0  # no negative zero


def check_not_tiny(ratio: float) -> float:
    """Return `ratio`, which is not on the grid.

    Raises a validation error if it is below a step of the grid, because its inverse would be too large.
    """
    if ratio * STEPS < 1:
        refuse("", f"must be at least 1e-{DIGITS}", ratio)
    return ratio


@lru_cache(maxsize=4096)
def steps(number: float) -> int:
    """Return a number of the grid as an integer number of steps."""
    return round(Fraction(repr(number)) * STEPS)


def plain_scalar(value: Any) -> Any:
    """Convert a scalar of numpy or pandas to a number or text of Python."""
    return value.item() if isinstance(value, np.generic) else value


def plain_mapping(value: Any) -> Any:
    """Convert a column or a row of a table to a mapping from its names; return any other value unchanged."""
    return value.to_dict() if hasattr(value, "to_dict") else value


Plain = BeforeValidator(plain_scalar)
Name = Annotated[str, StringConstraints(strict=True, min_length=1, max_length=200), Plain]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=-LARGEST, le=LARGEST), Plain]
NonNegative = Annotated[
    float, Field(strict=True, allow_inf_nan=False, ge=0, le=LARGEST), AfterValidator(on_grid), Plain
]
Positive = Annotated[float, Field(strict=True, allow_inf_nan=False, gt=0, le=LARGEST), AfterValidator(on_grid), Plain]
PositiveRatio = Annotated[
    float, Field(strict=True, allow_inf_nan=False, gt=0, le=LARGEST), AfterValidator(check_not_tiny), Plain
]
Share = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0, le=1), Plain]
Count = Annotated[int, Field(strict=True, ge=0, le=LARGEST), Plain]
PositiveCount = Annotated[int, Field(strict=True, ge=1, le=LARGEST), Plain]

Sense = Literal["minimize", "maximize"]


class Frozen(BaseModel):
    """Immutable record: unknown fields are errors. An invalid value raises InputError with one line."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    def __init__(self, /, **values: Any) -> None:
        with input_errors():
            super().__init__(**values)

    # Without this mark pydantic calls the constructor for each nested record and loses the path to it.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @classmethod
    def model_validate(cls, obj: Any, **how: Any) -> Self:
        with input_errors():
            return super().model_validate(obj, **how)

    @classmethod
    def model_validate_json(cls, json_data: str | bytes | bytearray, **how: Any) -> Self:
        with input_errors():
            return super().model_validate_json(json_data, **how)

    def with_(self, **changes: Any) -> Self:
        """Return a copy with changed fields and validate all of it. Raises InputError.

        `model_copy` of pydantic does not validate.
        """
        kept = {name: getattr(self, name) for name in self.model_fields_set}
        return type(self).model_validate(kept | changes)


class ProblemData(Frozen):
    """The `data` of an instance file. A subclass names its problem and says what its objective means."""

    problem: ClassVar[str]

    @property
    def sense(self) -> Sense:
        """Return whether the objective is minimised or maximised."""
        return "minimize"

    @property
    def unit(self) -> str:
        """Return the unit of the objective."""
        raise NotImplementedError

    @property
    def measure(self) -> Measure | None:
        """Return the measure in which gaps are reported first; `None` if only the objective is of interest."""
        return None


def refuse_duplicates(path: str, names: Iterable[str]) -> None:
    """Raise a validation error if a name of `names`, the entries of the list at `path`, occurs twice."""
    for name, times in Counter(names).items():
        if times > 1:
            refuse(path, f"must be unique, occurs {times} times", name)


@dataclass(frozen=True)
class Measure:
    """The measure `name`: `scale` times the sum of the objective and of a constant `fixed`.

    `part` is the name of `scale` times the objective alone. For the mean completion time, the part is the mean delay,
    and the constant contains the running times. If the optimum is near 0, the relative gap of the part is meaningless,
    but that of the measure is not.
    """

    name: str
    part: str
    scale: float
    fixed: float

    def of(self, objective: float) -> float:
        """Return the measure of an objective or of a bound on it."""
        return self.scale * (objective + self.fixed)

    def part_of(self, objective: float) -> float:
        """Return the contribution of the objective to the measure."""
        return self.scale * objective


@dataclass(frozen=True)
class Verdict:
    """The `objective`, recomputed from the data alone, and the `violations` of constraints (empty if feasible)."""

    objective: float | None
    violations: tuple[str, ...] = ()


SEEDS = 2**31
LONGEST_DAYS = 3660.0  # ten years: more indicates a wrong unit, and would take too long to generate
MOST_DRAWN = 1_000_000  # jobs


def refuse_seed(seed: int, name: str = "seed") -> None:
    """Raise InputError if `seed` is out of range."""
    if not 0 <= seed < SEEDS:
        raise InputError(f"{name}: must be in [0, 2^31), got {seed}")


def refuse_outside(name: str, value: float, least: float, most: float = LARGEST) -> None:
    """Raise InputError if `value` is not between `least` and `most`, or is NaN."""
    if not least <= value <= most:
        wanted = f"<= {most:g}" if value > most else f">= {least:g}"
        raise InputError(f"{name}: must be a number {wanted}, got {value}")


def refuse_unless_positive(name: str, value: float, most: float = LARGEST) -> None:
    """Raise InputError if `value` is not positive and at most `most`, or is NaN."""
    if not 0 < value <= most:
        wanted = f"<= {most:g}" if value > most else "> 0"
        raise InputError(f"{name}: must be a number {wanted}, got {value}")


def refuse_too_many(name: str, expected: float) -> None:
    """Raise InputError if the expected number of jobs exceeds `MOST_DRAWN`, before any job is generated."""
    if not expected <= MOST_DRAWN:
        raise InputError(f"{name}: some {expected:.3g} jobs would be drawn, and {MOST_DRAWN:,} are the most")
