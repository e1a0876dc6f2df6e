"""Field types shared by every problem: names, counts and finite numbers, none of them coerced from another type.

Amounts, prices, rates, sizes and budgets lie on a grid of 1e-9 of their unit. They are put on it here, once, when a
file is read or an object is built; every layer sees those numbers, and compares them exactly. Beside them the ranges
of what a generator may be asked for, and what a checker says of a solution.
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

LARGEST = 1e9  # numbers beyond this are a unit mistake, and would leave the range of exact 64-bit integers
STEPS = 10**9  # steps of the grid in one unit
DIGITS = 9  # the same as decimal places


def refuse(path: str, message: str, value: Any = None) -> NoReturn:
    """Raise a validation error at `path`, relative to the model being validated.

    The loader joins it to the path of that model: `data.tasks[3].demand: unknown resource, got "gpus"`.
    """
    context = {"path": path, "message": message, "value": value}
    raise PydanticCustomError("refused", "{path}: {message}", context)


def on_grid(number: float) -> float:
    """The number of the grid nearest to `number`.

    Raises a validation error where a number that is not 0 would become 0.
    """
    nearest = round(number, DIGITS)
    if nearest == 0 and number != 0:
        refuse("", f"must be 0 or at least 1e-{DIGITS}, the step of the grid", number)
    return nearest + 0.0  # no negative zero


def not_tiny(ratio: float) -> float:
    """`ratio`, which is on no grid. Raises a validation error where it is smaller than a step: its inverse is no number
    that anything is measured in."""
    if ratio * STEPS < 1:
        refuse("", f"must be at least 1e-{DIGITS}", ratio)
    return ratio


@lru_cache(maxsize=4096)
def steps(number: float) -> int:
    """A number of the grid as a whole number of its steps."""
    return round(Fraction(repr(number)) * STEPS)


def plain_scalar(value: Any) -> Any:
    """A scalar of numpy, or of pandas, which are numpy's, as the number or the text of Python that it is."""
    return value.item() if isinstance(value, np.generic) else value


def plain_mapping(value: Any) -> Any:
    """A column or a row of a table as a mapping from its names; anything else as it is."""
    return value.to_dict() if hasattr(value, "to_dict") else value


Plain = BeforeValidator(plain_scalar)
Name = Annotated[str, StringConstraints(strict=True, min_length=1, max_length=200), Plain]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=-LARGEST, le=LARGEST), Plain]
NonNegative = Annotated[
    float, Field(strict=True, allow_inf_nan=False, ge=0, le=LARGEST), AfterValidator(on_grid), Plain
]
Positive = Annotated[float, Field(strict=True, allow_inf_nan=False, gt=0, le=LARGEST), AfterValidator(on_grid), Plain]
PositiveRatio = Annotated[
    float, Field(strict=True, allow_inf_nan=False, gt=0, le=LARGEST), AfterValidator(not_tiny), Plain
]
Share = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0, le=1), Plain]
Count = Annotated[int, Field(strict=True, ge=0, le=LARGEST), Plain]
PositiveCount = Annotated[int, Field(strict=True, ge=1, le=LARGEST), Plain]

Sense = Literal["minimize", "maximize"]


class Frozen(BaseModel):
    """Immutable record: unknown fields are errors. What is wrong with its values is an InputError of one line."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    def __init__(self, /, **values: Any) -> None:
        with input_errors():
            super().__init__(**values)

    # Without the mark pydantic would call the constructor for each part of a record, and lose the path to it.
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
        """A copy with other fields, validated as a whole. Raises InputError.

        `model_copy` of pydantic validates nothing.
        """
        kept = {name: getattr(self, name) for name in self.model_fields_set}
        return type(self).model_validate(kept | changes)


class ProblemData(Frozen):
    """The `data` of an instance file. A subclass names its problem and says what its objective means."""

    problem: ClassVar[str]

    @property
    def sense(self) -> Sense:
        """Whether the objective is minimised or maximised."""
        return "minimize"

    @property
    def unit(self) -> str:
        """Unit of the objective."""
        raise NotImplementedError

    @property
    def measure(self) -> Measure | None:
        """A measure in which gaps are reported before those of the objective; `None`: the objective is what is read."""
        return None


def refuse_duplicates(path: str, names: Iterable[str]) -> None:
    """Raise where a name of `names`, the entries of the list at `path`, occurs twice."""
    for name, times in Counter(names).items():
        if times > 1:
            refuse(path, f"must be unique, occurs {times} times", name)


@dataclass(frozen=True)
class Measure:
    """The measure `name`, which is `scale` times the objective and of what `fixed`, which no solution can change.

    `part` names `scale` times the objective alone: mean completion time has the mean delay for a part, and running
    times for what is fixed. Where an optimum is near 0, a relative gap of the part says nothing, one of all does.
    """

    name: str
    part: str
    scale: float
    fixed: float

    def of(self, objective: float) -> float:
        """The measure of a solution with this objective, or of a bound on objectives."""
        return self.scale * (objective + self.fixed)

    def part_of(self, objective: float) -> float:
        """The part of the measure that the objective is."""
        return self.scale * objective


@dataclass(frozen=True)
class Verdict:
    """`objective` recomputed from the data alone, and the constraints the solution breaks (none: it is feasible)."""

    objective: float | None
    violations: tuple[str, ...] = ()


SEEDS = 2**31
LONGEST_DAYS = 3660.0  # ten years: what lies beyond is a unit mistake, and takes longer to draw than anyone waits
MOST_DRAWN = 1_000_000  # jobs


def refuse_seed(seed: int, name: str = "seed") -> None:
    """Raise InputError for what is no seed."""
    if not 0 <= seed < SEEDS:
        raise InputError(f"{name}: must be in [0, 2^31), got {seed}")


def refuse_outside(name: str, value: float, least: float, most: float = LARGEST) -> None:
    """Raise InputError for a number that is not from `least` to `most`, and for what is none."""
    if not least <= value <= most:
        wanted = f"<= {most:g}" if value > most else f">= {least:g}"
        raise InputError(f"{name}: must be a number {wanted}, got {value}")


def refuse_unless_positive(name: str, value: float, most: float = LARGEST) -> None:
    """Raise InputError for a number that is not above 0 and at most `most`, and for what is none."""
    if not 0 < value <= most:
        wanted = f"<= {most:g}" if value > most else "> 0"
        raise InputError(f"{name}: must be a number {wanted}, got {value}")


def refuse_too_many(name: str, expected: float) -> None:
    """Raise InputError where more jobs are to be expected than are drawn; before anything is."""
    if not expected <= MOST_DRAWN:
        raise InputError(f"{name}: some {expected:.3g} jobs would be drawn, and {MOST_DRAWN:,} are the most")
