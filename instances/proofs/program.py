"""A mixed-integer linear program whose numbers are rational."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

Direction = Literal["E", "L", "G"]  # =, <=, >=
Coefficients = Mapping[int, Fraction]


@dataclass(frozen=True)
class Row:
    """coefficients x = <= >= right, by the `direction`; zero coefficients are left out."""

    name: str
    direction: Direction
    right: Fraction
    coefficients: Coefficients

    def holds(self, point: Mapping[int, Fraction]) -> bool:
        """Whether `point`, of which zeros may be left out, keeps the constraint."""
        value = sum((a * point.get(i, 0) for i, a in self.coefficients.items()), Fraction(0))
        if self.direction == "E":
            return value == self.right
        return value <= self.right if self.direction == "L" else value >= self.right


@dataclass(frozen=True)
class Program:
    """minimise (`min`) or maximise (`max`) `objective` x over the `rows`.

    The first `bounds` of these bound a variable each.

    `integers`: indices of the variables that take whole numbers only.
    """

    variables: tuple[str, ...]
    integers: frozenset[int]
    sense: Literal["min", "max"]
    objective: Coefficients
    rows: tuple[Row, ...]
    bounds: int

    def value(self, point: Mapping[int, Fraction]) -> Fraction:
        """The objective of a point."""
        return sum((c * point.get(i, 0) for i, c in self.objective.items()), Fraction(0))


def box(variables: Sequence[str], upper: Sequence[Fraction] | None = None) -> tuple[Row, ...]:
    """The bounds 0 <= x_i <= upper_i of every variable, in the order of the variables; all 1 where none are given."""
    low, one = Fraction(0), Fraction(1)
    rows = []
    for i, name in enumerate(variables):
        rows.append(Row(f"{name}_lower", "G", low, {i: one}))
        rows.append(Row(f"{name}_upper", "L", one if upper is None else upper[i], {i: one}))
    return tuple(rows)
