"""A front of a reclaiming as a file, with a certificate for each of its bounds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.output.folder import result_file
from experiments.output.terminal import err
from instances import CheckFailed, InputError, Instance, Options
from instances.aryl import ArylReclaim
from instances.files import write_whole
from instances.proofs import Certificate, NoCertificate
from instances.proofs.aryl.front import FrontProofs, StatedFront, StatedPoint, exact_loss
from instances.proofs.certificate import rounded
from models.aryl import Front, pareto_front
from models.aryl.front_certificate import front_certificates


def stated_front(instance: Instance[ArylReclaim], front: Front, proofs: Sequence[Certificate]) -> StatedFront:
    """The front with the bounds that its certificates prove."""
    lost = [exact_loss(instance.data, point.solution["servers"]) for point in front.points]
    fewest, *hours = (proof.bound for proof in proofs)
    points = tuple(
        StatedPoint(
            preempted_jobs=point.jobs,
            lost_gpu_hours=float(own),
            bound_gpu_hours=max(0.0, rounded(bound, "minimize")),
            servers=tuple(point.solution["servers"]),
        )
        for point, own, bound in zip(front.points, lost, hours, strict=True)
    )
    complete = fewest >= points[0].preempted_jobs and all(b >= own for b, own in zip(hours, lost, strict=True))
    return StatedFront(instance=instance.name, points=points, complete=complete)


def certify(instance: Instance[ArylReclaim], options: Options, folder: Path) -> None:
    """Write the front of `instance` and what proves it to `folder`; a line says where there is no certificate.

    The front is found once more for that.
    """
    front = pareto_front(instance.data, options)
    if not front.points:
        return
    try:
        proofs = front_certificates(instance.data, front, options)
    except NoCertificate as error:
        err.print(f"{instance.name} front: no certificate: {error}")
        return
    stated = stated_front(instance, front, proofs)
    try:
        verifier = FrontProofs(instance)
        for proof in proofs:
            verifier.add(proof.text)
        verifier.see(stated.model_dump(mode="json"))
    except (CheckFailed, InputError) as error:
        err.print(f"{instance.name} front: no certificate: the verifier refuses the certificate: {error}")
        return
    write_whole(folder / result_file(instance.name, "front"), (stated.model_dump_json(indent=1) + "\n").encode())
    names = ["fewest", *(f"{point.preempted_jobs}-jobs" for point in stated.points)]
    for name, proof in zip(names, proofs, strict=True):
        write_whole(folder / result_file(instance.name, "front", f"{name}.vipr"), proof.text.encode())
