"""Certificates of a Pareto front: the minimum number of preempted jobs, and the minimum loss at each point."""

from __future__ import annotations

from dataclasses import replace

from instances import Options
from instances.aryl import ArylReclaim
from instances.proofs import Certificate
from instances.proofs.aryl.certificate import reclaim_point
from instances.proofs.aryl.front import FrontProgram, exact_loss, minimise_jobs
from models.aryl.certificate import certificate
from models.aryl.front import Front
from models.core.derivation import certify


def front_certificates(data: ArylReclaim, front: Front, options: Options) -> tuple[Certificate, ...]:
    """Certify the minimum number of preempted jobs, then the GPU-hours of each point of a `front` of `data`.

    The certificate of a point covers all choices that preempt fewer jobs than the next point. `options` has the limits
    of each certificate. Raises NoCertificate if a proof is not found.
    """
    first = front.points[0]
    certificates = [certificate(minimise_jobs(data), first.solution, float(first.jobs), options)]
    for index, point in enumerate(front.points):
        max_jobs = front.points[index + 1].jobs - 1 if index + 1 < len(front.points) else None
        program = FrontProgram(data, max_jobs)
        proof = certify(
            program.data,
            program.program(),
            reclaim_point(program.data, point.solution),
            exact_loss(data, point.solution["servers"]) / program.unit,
            options,
        )
        certificates.append(replace(proof, bound=proof.bound * program.unit))
    return tuple(certificates)
