"""Policies that need no plan: a cluster split equally, jobs as wide as their users asked in order, or at once."""

from __future__ import annotations

from instances.boa import BoaRenting
from instances.boa.online import RentingView, Widths

UNLIMITED = 10**6  # GPUs, where neither a table nor the workload limits a class


class EqualSplit:
    """A cluster of the budget, split equally among the jobs at every arrival and completion."""

    def __init__(self, data: BoaRenting) -> None:
        self._nodes = nodes_for(data)
        self._gpus = self._nodes * data.gpus_per_node
        self._widest = widest(data)
        self._widths: dict[str, int] = {}

    def decide(self, view: RentingView) -> Widths:
        if view.arrived or view.finished:
            part, more = divmod(self._gpus, max(1, len(view.jobs)))
            self._widths = {
                name: min(part + (place < more), self._widest[job.job_class])
                for place, (name, job) in enumerate(view.jobs.items())
            }
        return Widths(widths=self._widths, nodes=self._nodes)


class Fifo:
    """A cluster of the budget; jobs begin in order of arrival, as wide as asked for, and none overtakes another."""

    def __init__(self, data: BoaRenting) -> None:
        self._nodes = nodes_for(data)
        self._gpus = self._nodes * data.gpus_per_node
        self._asked = Asked(data)
        self._widths: dict[str, int] = {}
        self._ready = -1

    def decide(self, view: RentingView) -> Widths:
        if view.arrived or view.finished or view.ready_gpus != self._ready:
            self._widths, self._ready = {}, view.ready_gpus
            left = min(self._gpus, view.ready_gpus)
            for name, job in view.jobs.items():
                width = min(self._asked.width(name, view), self._gpus)
                left = left - width if width <= left or job.width else -1
                self._widths[name] = width if left >= 0 or job.width else 0
        return Widths(widths=self._widths, nodes=self._nodes)


class Requested:
    """Every job is as wide as asked for from its arrival on, in as many nodes as that takes."""

    def __init__(self, data: BoaRenting) -> None:
        self._asked = Asked(data)
        self._widths: dict[str, int] = {}

    def decide(self, view: RentingView) -> Widths:
        for name in view.finished:
            self._widths.pop(name, None)
        for name in view.arrived:
            self._widths[name] = self._asked.width(name, view)
        return Widths(widths=self._widths, nodes=-(-sum(self._widths.values()) // view.gpus_per_node))


class Asked:
    """The widths that users asked for, within what their jobs can run on; one GPU where they said nothing."""

    def __init__(self, data: BoaRenting) -> None:
        self._widest = widest(data)

    def width(self, name: str, view: RentingView) -> int:
        """The width asked for a job."""
        job = view.jobs[name]
        return min(job.requested_gpus or 1, self._widest[job.job_class])


def nodes_for(data: BoaRenting) -> int:
    """The nodes of a cluster that is rented all the time: the budget, rounded to nodes."""
    return max(1, round(data.budget_gpus / data.gpus_per_node))


def widest(data: BoaRenting) -> dict[str, int]:
    """The last width that every epoch of a class can run at, by name."""
    found = {}
    for c in data.classes:
        curves = [curve for e in c.epochs for curve in (e.speedup, e.believed_speedup) if curve is not None]
        ends = [curve.table.gpus[-1] for curve in curves if curve.table is not None]
        found[c.name] = min([*ends, data.max_width or UNLIMITED])
    return found
