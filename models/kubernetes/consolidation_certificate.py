"""Certificates of `node-consolidation`: a branch-and-bound tree over the aggregated relaxation, written in VIPR."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from instances import Options, Solution, Stopwatch
from instances.fields import STEPS
from instances.kubernetes import NodeConsolidation
from instances.proofs import Certificate, NoCertificate
from instances.proofs.kubernetes.totals_program import TotalsProgram
from models.core.derivation import certify

MAX_COEFFICIENT = 10**15  # HiGHS rejects larger coefficients
AGGREGATED_SHARE = 0.5  # of the time for the aggregated relaxation, the rest for the disaggregated one


def certificate(data: NodeConsolidation, solution: Solution | None, bound: float, options: Options) -> Certificate:
    """Prove `bound`, or the best bound within the time limit. Raises NoCertificate if no bound is proven."""
    clock = Stopwatch(options.time_limit)
    best: Certificate | None = None
    for by_node, share in ((False, AGGREGATED_SHARE), (True, 1.0)):
        totals = TotalsProgram(data, by_node=by_node)
        if max((abs(a) for row in totals.rows for a in row.coefficients.values()), default=0) >= MAX_COEFFICIENT:
            raise NoCertificate("the amounts differ too much for a linear program")
        target = math.ceil((Fraction(bound) * STEPS / totals.arrays.unit) - totals.constant - Fraction(1, 1000))
        limit = None if options.time_limit is None else max(share * clock.remaining_s, 1e-3)
        ahead = frozenset(i for name, i in totals.place.items() if name.startswith(("keep_", "rent_")))
        try:
            proof = certify(
                data, totals.program(), None, Fraction(target), replace(options, time_limit=limit), ahead=ahead
            )
        except NoCertificate:
            if best is None and by_node:
                raise
            continue
        proven = replace(proof, bound=totals.usd_per_hour(proof.bound))
        best = proven if best is None or proven.bound > best.bound else best
        if proof.bound >= target or clock.has_expired:
            break
    if best is None:
        raise NoCertificate("no aggregated relaxation was solved")
    return best
