"""Print and write the Pareto front of a reclaim: preempted jobs against lost GPU-hours."""

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
from experiments.output.table import show_table
from experiments.output.terminal import err, line, print_rich
from experiments.session import Session
from instances import Instance, Options, Result
from instances.aryl import ArylReclaim
from instances.files import write_whole
from instances.text import shown
from models.aryl import Front, FrontPoint, pareto_front
from models.aryl.loss import compute_loss

COLUMNS = ("method", "preempted_jobs", "lost_gpu_hours", "bound_gpu_hours", "proven")


@dataclass(frozen=True)
class RulePoint:
    """The preempted jobs and lost GPU-hours of a heuristic's choice of servers."""

    method: str
    jobs: int
    gpu_hours: float

    def beside(self, front: Front) -> str:
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
        kept = session.options, session.format, session.folder, session.quiet
        solved = print_front(instance, results, *kept)
    return exit_status(results, store) if solved else UNSOLVED


def print_front(
    instance: Instance[Any], results: Sequence[Result], options: Options, style: str, folder: Path | None, quiet: bool
) -> bool:
    """Print the front and the losses of other `results`, and return whether the front has a point.

    `style`: `table`, `csv` or `json`. `folder`: receives `front.csv`, if given. Raises InputError if a job has no
    `gpu_hours`.
    """

    def show(point: FrontPoint) -> None:
        if not quiet:
            proven = "" if point.proven else ", not proven"
            err.print(f"{point.jobs} jobs, {float(point.gpu_hours):g} GPU-hours{proven}")

    front = pareto_front(instance.data, options, show)
    found = [(r.method, r.solution) for r in results if r.solved]
    rules = [_rule_point(instance.data, method, s["servers"]) for method, s in found if s is not None]
    if folder is not None:
        write_whole(folder / "front.csv", front_csv(front, rules).encode())
    if style == "csv":
        print(front_csv(front, rules), end="")
    elif style == "json":
        for row, point in zip(_rows(front, rules), (*front.points, *rules), strict=True):
            servers = {"servers": point.solution["servers"]} if isinstance(point, FrontPoint) else {}
            names = dict(zip(COLUMNS, row, strict=True))
            print(json.dumps({"instance": instance.name, "problem": instance.problem} | names | servers))
    else:
        _print_table(instance, front, rules)
    return bool(front.points)


def front_csv(front: Front, rules: Sequence[RulePoint]) -> str:
    """Return one line per point of the front, the fewest jobs first, then one line per heuristic."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(_rows(front, rules))
    return text.getvalue()


def _rows(front: Front, rules: Sequence[RulePoint]) -> list[tuple[str, int, float, float | None, bool | None]]:
    points = [("exact", p.jobs, float(p.gpu_hours), p.bound, p.proven) for p in front.points]
    return [*points, *((rule.method, rule.jobs, rule.gpu_hours, None, None) for rule in rules)]


def _rule_point(data: ArylReclaim, method: str, servers: Sequence[str]) -> RulePoint:
    hours, jobs = compute_loss(data.model_copy(update={"objective": "lost-gpu-hours"}), servers)
    return RulePoint(method, jobs, float(hours))


def _print_table(instance: Instance[Any], front: Front, rules: Sequence[RulePoint]) -> None:
    print_rich(f"{shown(instance.name)}: {instance.data.reclaim} servers go back")
    rows = []
    for point in front.points:
        proven = "yes" if point.proven else f"not below {point.bound:g}"
        rows.append([str(point.jobs), f"{float(point.gpu_hours):g}", proven, ""])
    for rule in rules:
        rows.append([str(rule.jobs), f"{rule.gpu_hours:g}", "", f"{rule.method}: {rule.beside(front)}"])
    numbers = ("preempted jobs", "lost GPU-hours", "proven")
    show_table([*((name, "number") for name in numbers), ("", "text")], rows)
    if not front.complete:
        print_rich("the front is not proven to be complete")
