"""Cuts on the numbers of instances by type, after the bounds of Gilmore and Gomory (1961) and of Farley (1990)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TypeCut:
    """`sum_k value[k] X_k >= rhs` for the numbers X_k of instances of each type.

    For any duals pi >= 0, if no pattern of type k has a value of more than `value[k]`, then a configuration that holds
    all tasks has `rhs = sum_c n_c pi_c <= sum_k value[k] X_k`. With one type that is Farley's bound.
    """

    value: tuple[int, ...]
    rhs: int
