"""Certificates of all of SIA's problems: prices of rows, or else branch and bound over the program of starts.

Prices prove a delay without fairness and without locality, on pools of moderate size. With locality that delay is a
bound as well, mostly the best, so that it is proved first.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from instances import Options, Solution, Stopwatch
from instances.proofs import Certificate, NoCertificate, digest
from instances.proofs.sia.start_program import StartProgram
from instances.sia import SiaLocalOracle, SiaOracle
from models.derivation import certified
from models.sia.certificate import TooFarApart
from models.sia.certificate import certificate as by_prices

SHARE = 0.5  # of the time limit is for the delay without locality


def certificate(data: SiaOracle, solution: Solution | None, bound: float, options: Options) -> Certificate:
    """A proof of `bound`, or of the best bound within the limits. Raises NoCertificate where there is none."""
    if data.fairness_weight:
        return _by_starts(data, solution, bound, options)
    try:
        return by_prices(data, solution, bound, options)
    except TooFarApart:
        return _by_starts(data, solution, bound, options)


def local_certificate(data: SiaLocalOracle, solution: Solution | None, bound: float, options: Options) -> Certificate:
    """A proof of `bound`, or of the best bound within the limits. Raises NoCertificate where there is none."""
    clock, found = Stopwatch(options.time_limit), list[Certificate]()

    def left(share: float) -> Options:
        limit = None if options.time_limit is None else max(share * clock.remaining_s, 1e-3)
        return replace(options, time_limit=limit)

    why = NoCertificate("the time limit ended the proof")
    ways: tuple[Callable[[], Certificate], ...] = (
        lambda: _without_locality(data, solution, bound, left(SHARE)),
        lambda: _by_starts(data, solution, bound, left(1.0)),
    )
    for way in ways:
        if not any(proof.bound >= bound for proof in found) and not clock.expired:
            try:
                found.append(way())
            except NoCertificate as error:
                why = error
    if not found:
        raise why
    return max(found, key=lambda proof: proof.bound)


def _without_locality(data: SiaLocalOracle, solution: Solution | None, bound: float, options: Options) -> Certificate:
    """A proof of the delay where a job may have its GPUs anywhere."""
    proof = by_prices(data.without_locality, solution, bound, options)
    named = json.loads(proof.text) | {"problem": data.problem, "instance": digest(data)}
    return replace(proof, text=json.dumps(named) + "\n", how=f"{proof.how}, without locality")


def _by_starts(
    data: SiaOracle | SiaLocalOracle, solution: Solution | None, bound: float, options: Options
) -> Certificate:
    starts = StartProgram(data)
    program = starts.program()
    point = None if solution is None else starts.point(solution)
    proof = certified(data, program, point, Fraction(bound) / starts.slots, options)
    return replace(proof, bound=proof.bound * starts.slots)
