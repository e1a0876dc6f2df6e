"""Certificates of Aryl's problems: branch and bound over the whole program, written in VIPR."""

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
from models.derivation import certified


def certificate(
    data: ArylElastic | ArylReclaim | ArylPlacement, solution: Solution | None, bound: float, options: Options
) -> Certificate:
    """A proof of `bound`, or of the best bound that the time limit allows. Raises NoCertificate where there is none."""
    if isinstance(data, ArylReclaim):
        point = None if solution is None else reclaim_point(data, solution)
        return certified(data, reclaim_program(data), point, Fraction(bound), options)
    if isinstance(data, ArylPlacement):
        filling = FillingProgram(data)
        point = None if solution is None else filling.point(solution)
        jobs = frozenset(i for name, i in filling.place.items() if name.startswith(("on_", "missing_")))
        return certified(data, filling.program(), point, Fraction(bound), options, ahead=jobs)
    if data.objective == "mean-jct":
        return _mean_jct(data, solution, bound, options)
    program = knapsack_program(data)
    point = None if solution is None else knapsack_point(data, solution)
    return certified(data, program, point, Fraction(bound), options)


def _mean_jct(data: ArylElastic, solution: Solution | None, bound: float, options: Options) -> Certificate:
    """That of the event-interval program, for schedules that are no worse than the `solution`."""
    objective = None if solution is None else check(data, solution).objective
    if solution is None or objective is None:
        raise NoCertificate("the proof of a mean JCT begins from a schedule, and there is none")
    reach = Fraction(math.nextafter(objective, math.inf))  # The objective is a rounded number.
    events = EventProgram(data, reach)
    program, point = events.program(), events.point(solution)
    known = point if all(row.holds(point) for row in program.rows) else None
    found = certified(data, program, known, Fraction(bound), options, {"reach": str(reach)})
    return replace(found, bound=min(found.bound, reach))
