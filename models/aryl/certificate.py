"""Certificates of Aryl's problems: a branch-and-bound tree over the whole program, written in VIPR."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from instances import Options, Solution, check
from instances.aryl import ArylElastic, ArylPlacement, ArylReclaim
from instances.proofs import Certificate, NoCertificate
from instances.proofs.aryl.certificate import knapsack_point, knapsack_program, reclaim_point, reclaim_program
from instances.proofs.aryl.event_intervals import EventProgram
from instances.proofs.aryl.filling_program import FillingProgram
from models.core.derivation import certify


def certificate(
    data: ArylElastic | ArylReclaim | ArylPlacement, solution: Solution | None, bound: float, options: Options
) -> Certificate:
    """Prove `bound`, or the best bound within the time limit. Raises NoCertificate if no bound is proven."""
    if isinstance(data, ArylReclaim):
        point = None if solution is None else reclaim_point(data, solution)
        return certify(data, reclaim_program(data), point, Fraction(bound), options)
    if isinstance(data, ArylPlacement):
        filling = FillingProgram(data)
        point = None if solution is None else filling.point(solution)
        jobs = frozenset(i for name, i in filling.place.items() if name.startswith(("on_", "missing_")))
        return certify(data, filling.program(), point, Fraction(bound), options, ahead=jobs)
    if data.objective == "mean-jct":
        return _certify_mean_jct(data, solution, bound, options)
    program = knapsack_program(data)
    point = None if solution is None else knapsack_point(data, solution)
    return certify(data, program, point, Fraction(bound), options)


def _certify_mean_jct(data: ArylElastic, solution: Solution | None, bound: float, options: Options) -> Certificate:
    """Certify by the event-interval program, restricted to schedules that are no worse than the `solution`."""
    objective = None if solution is None else check(data, solution).objective
    if solution is None or objective is None:
        raise NoCertificate("the proof of a mean JCT needs a feasible schedule")
    cutoff = Fraction(math.nextafter(objective, math.inf))  # the objective is a rounded number
    events = EventProgram(data, cutoff)
    program, point = events.program(), events.point(solution)
    start = point if all(row.holds(point) for row in program.rows) else None
    proof = certify(data, program, start, Fraction(bound), options, {"reach": str(cutoff)})
    return replace(proof, bound=min(proof.bound, cutoff))
