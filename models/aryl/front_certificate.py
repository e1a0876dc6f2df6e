"""Certificates of a front of a reclaiming: that nobody preempts fewer jobs, and what is lost with so many at most."""

from __future__ import annotations

from dataclasses import replace

from instances import Options
from instances.aryl import ArylReclaim
from instances.proofs import Certificate
from instances.proofs.aryl.certificate import reclaim_point
from instances.proofs.aryl.front import FrontProgram, by_jobs, exact_loss
from models.aryl.certificate import certificate
from models.aryl.front import Front
from models.derivation import certified


def front_certificates(data: ArylReclaim, front: Front, options: Options) -> tuple[Certificate, ...]:
    """The certificate of the fewest jobs, then of the GPU-hours of each point of a `front` of `data`.

    That of a point is of all choices that preempt fewer jobs than the next point. A time limit holds for each of them.
    Raises NoCertificate.
    """
    first = front.points[0]
    found = [certificate(by_jobs(data), first.solution, float(first.jobs), options)]
    for place, point in enumerate(front.points):
        most = front.points[place + 1].jobs - 1 if place + 1 < len(front.points) else None
        listed = FrontProgram(data, most)
        made = certified(
            listed.data,
            listed.program(),
            reclaim_point(listed.data, point.solution),
            exact_loss(data, point.solution["servers"]) / listed.unit,
            options,
        )
        found.append(replace(made, bound=made.bound * listed.unit))
    return tuple(found)
