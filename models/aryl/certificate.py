"""Certificates of Aryl's knapsack and reclaiming: branch and bound over the whole program, written in VIPR."""

from __future__ import annotations

from fractions import Fraction

from instances import Options, Solution
from instances.aryl import ArylElastic, ArylReclaim
from instances.aryl.certificate import knapsack_point, knapsack_program, reclaim_point, reclaim_program
from instances.certificates import Certificate
from models.derivation import certified


def certificate(
    data: ArylElastic | ArylReclaim, solution: Solution | None, bound: float, options: Options
) -> Certificate:
    """A proof of `bound`, or of the best bound that the time limit allows. Raises NoCertificate where there is none."""
    if isinstance(data, ArylReclaim):
        point = None if solution is None else reclaim_point(data, solution)
        return certified(data, reclaim_program(data), point, Fraction(bound), options)
    program = knapsack_program(data)
    point = None if solution is None else knapsack_point(data, solution)
    return certified(data, program, point, Fraction(bound), options)
