"""The Pareto front of a reclaim, preempted jobs against lost GPU-hours: printed, written, and certified."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.entry import UNSOLVED, exit_status
from experiments.harness.entry import Entry
from experiments.harness.run import Run, load_method
from experiments.output.folder import result_file
from experiments.output.table import show_table
from experiments.output.terminal import err, line, print_rich
from experiments.session import Session
from instances import CheckFailed, InputError, Instance, Options, Result
from instances.aryl import ArylReclaim
from instances.files import write_whole
from instances.proofs import Certificate, NoCertificate
from instances.proofs.aryl.front import FrontProofs, StatedFront, StatedPoint, exact_loss
from instances.proofs.certificate import round_bound
from instances.text import escape_text
from models.aryl import Front, FrontPoint, pareto_front
from models.aryl.front_certificate import front_certificates
from models.aryl.loss import compute_loss

COLUMNS = ("method", "preempted_jobs", "lost_gpu_hours", "bound_gpu_hours", "proven")


@dataclass(frozen=True)
class RulePoint:
    """The preempted jobs and lost GPU-hours of a heuristic's choice of servers."""

    method: str
    jobs: int
    gpu_hours: float

    def describe_neighbours(self, front: Front) -> str:
        """Describe the points of the front that are no worse in jobs, and no worse in GPU-hours."""
        fewer = [p for p in front.points if p.jobs <= self.jobs]
        as_few_hours = [p for p in front.points if float(p.gpu_hours) <= self.gpu_hours]
        hours = f"{float(min(p.gpu_hours for p in fewer)):g} GPU-hours with as few jobs" if fewer else ""
        jobs = f"{min(p.jobs for p in as_few_hours)} jobs with as few GPU-hours" if as_few_hours else ""
        return ", ".join(text for text in (hours, jobs) if text)


def front(
    instance: Instance[ArylReclaim],
    session: Session,
    method: Sequence[str] | None,
    choose: Callable[[Instance, Sequence[str]], list[Entry]],
) -> int:
    """Print the front and the heuristics, or the methods that `choose` finds by name; return the exit status."""
    entries = choose(instance, method or ["all"])
    if not method:
        entries = [entry for entry in entries if load_method(entry).kind == "heuristic"]
    with session.store() as store:
        results = session.outcomes([Run(instance, entry, session.options) for entry in entries], store, line)
        solved = print_front(instance, results, session)
    return exit_status(results, store) if solved else UNSOLVED


def print_front(instance: Instance[Any], results: Sequence[Result], session: Session) -> bool:
    """Print the front and the losses of other `results`, also to `front.csv` if the session has a folder.

    Return whether the front has a point. Raises InputError if a job has no `gpu_hours`.
    """

    def show(point: FrontPoint) -> None:
        if not session.quiet:
            proven = "" if point.proven else ", not proven"
            err.print(f"{point.jobs} jobs, {float(point.gpu_hours):g} GPU-hours{proven}")

    front = pareto_front(instance.data, session.options, show)
    found = [(r.method, r.solution) for r in results if r.solved]
    rules = [_rule_point(instance.data, method, s["servers"]) for method, s in found if s is not None]
    rows = _rows(front, rules)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([COLUMNS, *rows])
    if session.folder is not None:
        write_whole(session.folder / "front.csv", text.getvalue().encode())
    if session.format == "csv":
        print(text.getvalue(), end="")
    elif session.format == "json":
        for row, point in zip(rows, (*front.points, *rules), strict=True):
            servers = {"servers": point.solution["servers"]} if isinstance(point, FrontPoint) else {}
            names = dict(zip(COLUMNS, row, strict=True))
            print(json.dumps({"instance": instance.name, "problem": instance.problem} | names | servers))
    else:
        _print_table(instance, front, rules)
    return bool(front.points)


def _rows(front: Front, rules: Sequence[RulePoint]) -> list[tuple[str, int, float, float | None, bool | None]]:
    """Return one row per point of the front, the fewest jobs first, then one row per heuristic."""
    points = [("exact", p.jobs, float(p.gpu_hours), p.bound, p.proven) for p in front.points]
    return [*points, *((rule.method, rule.jobs, rule.gpu_hours, None, None) for rule in rules)]


def _rule_point(data: ArylReclaim, method: str, servers: Sequence[str]) -> RulePoint:
    hours, jobs = compute_loss(data.model_copy(update={"objective": "lost-gpu-hours"}), servers)
    return RulePoint(method, jobs, float(hours))


def _print_table(instance: Instance[Any], front: Front, rules: Sequence[RulePoint]) -> None:
    print_rich(f"{escape_text(instance.name)}: {instance.data.reclaim} servers go back")
    rows = []
    for point in front.points:
        proven = "yes" if point.proven else f"not below {point.bound:g}"
        rows.append([str(point.jobs), f"{float(point.gpu_hours):g}", proven, ""])
    for rule in rules:
        rows.append([str(rule.jobs), f"{rule.gpu_hours:g}", "", f"{rule.method}: {rule.describe_neighbours(front)}"])
    numbers = ("preempted jobs", "lost GPU-hours", "proven")
    show_table([*((name, "number") for name in numbers), ("", "text")], rows)
    if not front.complete:
        print_rich("the front is not proven to be complete")


def state_front(instance: Instance[ArylReclaim], front: Front, proofs: Sequence[Certificate]) -> StatedFront:
    """Return the front with the bounds that its certificates prove."""
    lost = [exact_loss(instance.data, point.solution["servers"]) for point in front.points]
    fewest, *hours = (proof.bound for proof in proofs)
    points = tuple(
        StatedPoint(
            preempted_jobs=point.jobs,
            lost_gpu_hours=float(own),
            bound_gpu_hours=max(0.0, round_bound(bound, "minimize")),
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
    stated = state_front(instance, front, proofs)
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
