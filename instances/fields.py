"""Field types shared by every problem: names, counts and finite numbers, none of them coerced from another type.

Amounts, prices, rates, sizes and budgets lie on a grid of 1e-9 of their unit. They are put on it here, once, when a
file is read or an object is built; every layer sees those numbers, and compares them exactly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, NoReturn

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints
from pydantic_core import PydanticCustomError

from instances.measure import Measure

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


def steps(number: float) -> int:
    """A number of the grid as a whole number of its steps."""
    return round(Fraction(repr(number)) * STEPS)


Name = Annotated[str, StringConstraints(strict=True, min_length=1, max_length=200)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=-LARGEST, le=LARGEST)]
NonNegative = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0, le=LARGEST), AfterValidator(on_grid)]
Positive = Annotated[float, Field(strict=True, allow_inf_nan=False, gt=0, le=LARGEST), AfterValidator(on_grid)]
PositiveRatio = Annotated[float, Field(strict=True, allow_inf_nan=False, gt=0, le=LARGEST), AfterValidator(not_tiny)]
Share = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0, le=1)]
Count = Annotated[int, Field(strict=True, ge=0, le=LARGEST)]
PositiveCount = Annotated[int, Field(strict=True, ge=1, le=LARGEST)]

Sense = Literal["minimize", "maximize"]


class Frozen(BaseModel):
    """Immutable record: unknown fields are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


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
