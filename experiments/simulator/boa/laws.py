"""The laws that every run of the renting world obeys, checked from what was recorded and not from the world's sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum

import numpy as np

from experiments.simulator.boa.parts import SECONDS, Job, Node
from instances.arrays import FloatArray
from instances.boa import BoaRenting
from instances.online import RuleBroken

Table = Mapping[str, FloatArray]
"""Stretches of jobs as arrays, see `RentingRecords`."""
TOLERANCE = 1e-6  # relative, of sums of floats; seconds for moments, as events so close are one


def check(data: BoaRenting, jobs: Sequence[Job], table: Table, nodes: Sequence[Node], bill: float, now: float) -> None:
    """Refuse a run that broke a law: RuleBroken says which one, and when."""
    for job in jobs:
        if job.end is None:
            raise RuleBroken(f"job {job.id} is not done at {now}")
    for node in nodes:
        if node.released_at == float("inf"):
            raise RuleBroken(f"node {node.id} is still rented at {now}")
    _work(jobs, table)
    _order(data, jobs, table)
    _capacity(data, table, nodes)
    _bill(data, nodes, bill, now)


def _work(jobs: Sequence[Job], table: Table) -> None:
    """Each job has done the work of each of its epochs, no more and no less."""
    begin = np.maximum(table["since"], table["active_from"])
    done = table["rate"] * np.maximum(0.0, table["until"] - begin)
    first = np.concatenate([[0], np.cumsum([len(job.sizes) for job in jobs])])
    found = np.bincount(first[table["job"].astype(int)] + table["epoch"].astype(int), weights=done, minlength=first[-1])
    asked = np.concatenate([job.sizes for job in jobs])
    rounding = TOLERANCE * (asked + table["rate"].max())  # moments that are one differ by as much
    for at in np.flatnonzero(~(np.abs(found - asked) <= rounding)):
        index = int(np.searchsorted(first, at, side="right")) - 1
        job, epoch = jobs[index], at - first[index]
        raise RuleBroken(
            f"job {job.id} has done {found[at]} s of work in epoch {epoch} by {job.end}, which has {asked[at]}"
        )


def _order(data: BoaRenting, jobs: Sequence[Job], table: Table) -> None:
    """A job does one thing at a time, none before it arrives, and every change of width costs its pause."""
    order = np.lexsort((table["since"], table["job"]))
    job = table["job"][order].astype(int)
    since, until, width = (table[name][order] for name in ("since", "until", "width"))
    active = table["active_from"][order]
    first = np.concatenate([[True], job[1:] != job[:-1]])
    before = np.concatenate([[0.0], until[:-1]])
    before[first] = [jobs[index].arrival for index in job[first]]
    for at in np.flatnonzero(since < before - TOLERANCE):
        raise RuleBroken(f"job {jobs[job[at]].id} is in two states at {since[at]}")
    changed = first | (width != np.concatenate([[0], width[:-1]])) | (since > before + TOLERANCE)
    pause = np.array([jobs[index].kind.pause for index in job])
    cold = np.array(
        [jobs[index].kind.pause if jobs[index].kind.cold is None else jobs[index].kind.cold for index in job]
    )
    least, most = np.minimum(pause, cold), np.maximum(pause, cold)
    wrong = changed & ~((active - since >= least - TOLERANCE) & (active - since <= most + TOLERANCE))
    for at in np.flatnonzero(wrong):
        raise RuleBroken(f"job {jobs[job[at]].id} is rescaled at {since[at]} for {active[at] - since[at]} s")


def _capacity(data: BoaRenting, table: Table, nodes: Sequence[Node]) -> None:
    """At no moment more GPUs are held than are there."""
    there = [node for node in nodes if node.marked_at >= node.ready_at]
    gpus = data.gpus_per_node
    times = np.concatenate([table["since"], table["until"], [n.ready_at for n in there], [n.marked_at for n in there]])
    change = np.concatenate(
        [table["width"], -table["width"], np.full(len(there), -gpus), np.full(len(there), gpus)]
    ).astype(float)
    moments, place = np.unique(times, return_inverse=True)
    over = np.cumsum(np.bincount(place, weights=change, minlength=len(moments)))
    for at in np.flatnonzero(over > 0):
        if at + 1 < len(moments) and moments[at + 1] - moments[at] <= TOLERANCE:
            continue  # moments so close are one
        raise RuleBroken(f"{over[at]:g} more GPUs are held at {moments[at]} than are there")


def _bill(data: BoaRenting, nodes: Sequence[Node], bill: float, now: float) -> None:
    """The bill is that of the nodes' lives: from the order to the mark, or the minimum, and the reclamation."""
    lives = []
    for node in nodes:
        end = max(node.marked_at, node.ordered_at + data.minimum_rental_seconds) + data.reclamation_seconds
        if abs(node.released_at - end) > TOLERANCE * max(1.0, end):
            raise RuleBroken(f"node {node.id} is billed until {node.released_at}, not {end}")
        lives.append(end - node.ordered_at)
    wanted = data.gpus_per_node * fsum(lives) / SECONDS
    if not abs(bill - wanted) <= TOLERANCE * max(1.0, bill):
        raise RuleBroken(f"the bill is {bill} GPU-hours at {now}, the nodes' lives cost {wanted}")
