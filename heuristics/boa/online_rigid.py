"""Policies without a plan: equal splits of a cluster, or requested widths in order of arrival or at once."""

from __future__ import annotations

from instances.boa import BoaRenting
from instances.boa.online import RentingView, Widths

UNLIMITED = 10**6  # GPUs of a class that neither a table nor the workload limits


class EqualSplit:
    """A cluster of the budget, split equally among the jobs at every arrival and completion."""

    def __init__(self, data: BoaRenting) -> None:
        self._nodes = count_nodes(data)
        self._gpus = self._nodes * data.gpus_per_node
        self._widest = max_widths(data)
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
    """A cluster of the budget; jobs begin in order of arrival at their requested width, without overtaking."""

    def __init__(self, data: BoaRenting) -> None:
        self._nodes = count_nodes(data)
        self._gpus = self._nodes * data.gpus_per_node
        self._requested = RequestedWidths(data)
        self._widths: dict[str, int] = {}
        self._ready = -1

    def decide(self, view: RentingView) -> Widths:
        if view.arrived or view.finished or view.ready_gpus != self._ready:
            self._widths, self._ready = {}, view.ready_gpus
            left = min(self._gpus, view.ready_gpus)
            for name, job in view.jobs.items():
                width = min(self._requested.width(name, view), self._gpus)
                left = left - width if width <= left or job.width else -1
                self._widths[name] = width if left >= 0 or job.width else 0
        return Widths(widths=self._widths, nodes=self._nodes)


class Requested:
    """Every job has its requested width from its arrival on, in the number of nodes that this takes."""

    def __init__(self, data: BoaRenting) -> None:
        self._requested = RequestedWidths(data)
        self._widths: dict[str, int] = {}

    def decide(self, view: RentingView) -> Widths:
        for name in view.finished:
            self._widths.pop(name, None)
        for name in view.arrived:
            self._widths[name] = self._requested.width(name, view)
        return Widths(widths=self._widths, nodes=-(-sum(self._widths.values()) // view.gpus_per_node))


class RequestedWidths:
    """The requested widths, limited to those that the jobs can run at; one GPU without a request."""

    def __init__(self, data: BoaRenting) -> None:
        self._widest = max_widths(data)

    def width(self, name: str, view: RentingView) -> int:
        """Return the width requested for a job."""
        job = view.jobs[name]
        return min(job.requested_gpus or 1, self._widest[job.job_class])


def count_nodes(data: BoaRenting) -> int:
    """Return the number of nodes of a fixed cluster: the budget, rounded to nodes."""
    return max(1, round(data.budget_gpus / data.gpus_per_node))


def max_widths(data: BoaRenting) -> dict[str, int]:
    """Return the last width at which every epoch of a class can run, by name."""
    widths = {}
    for c in data.classes:
        curves = [curve for e in c.epochs for curve in (e.speedup, e.believed_speedup) if curve is not None]
        ends = [curve.table.gpus[-1] for curve in curves if curve.table is not None]
        widths[c.name] = min([*ends, data.max_width or UNLIMITED])
    return widths
