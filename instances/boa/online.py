"""Define BOA online: view, widths, the allocation problem of a moment, and the estimates of classes while jobs run."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from instances.boa.allocation import BoaAllocation, Epoch, JobClass, compute_min_budget, on_grid_from
from instances.boa.renting import HOUR, BoaRenting
from instances.boa.speedup import Points, Speedup
from instances.fields import LARGEST
from instances.online import Decision
from instances.options import Solution
from instances.renamed import find_old_names


@dataclass(slots=True)
class RentingJobView:
    """An unfinished job, which belongs to the world and is updated by it.

    - `epoch`: its index, from 0.
    - `width`: the GPUs that it holds, 0 in the queue.
    - `paused_until`: the end of its rescaling in seconds, before which it makes no progress.
    - `rescalings`: the number of such pauses, including that of the start.
    - `remaining_hours`: the estimated remaining work at `seen_at`, in hours on one GPU.
    - `speed`: the speed of its progress since `seen_at`.
    """

    id: str
    job_class: str
    arrival_seconds: float
    epoch: int
    remaining_hours: float
    width: int = 0
    paused_until: float | None = None
    rescalings: int = 0
    requested_gpus: int | None = None
    seen_at: float = 0.0
    speed: float = 0.0

    def remaining_at(self, now: float) -> float:
        """Return the estimated remaining work at a moment, in hours on one GPU."""
        since = self.seen_at if self.paused_until is None else max(self.seen_at, self.paused_until)
        return self.remaining_hours - self.speed * max(0.0, now - since) / 3600


@dataclass(slots=True)
class NodeState:
    """A rented node that is not marked for release; it is available from `ready_at` (seconds) on."""

    id: str
    ready_at: float


@dataclass(slots=True)
class RentingView:
    """A cloud of rented nodes at one moment, by ids, in read-only mappings. It belongs to the world.

    Parameters:

    - `now`: seconds.
    - `gpus_per_node`: GPUs of a node.
    - `jobs`: unfinished jobs in order of arrival.
    - `nodes`: rented nodes in the order of rental.
    - `believed`: the allocation problem with the present estimates, the same object until the next estimate.
    - `ready_gpus`: GPUs of the available nodes, which are interchangeable for all jobs.
    - `arrived`, `progressed`, `finished`: jobs since the last decision, by id: new ones, those in another epoch, and
      completed ones.
    """

    now: float
    gpus_per_node: int
    jobs: Mapping[str, RentingJobView]
    nodes: Mapping[str, NodeState]
    believed: BoaAllocation
    ready_gpus: int = 0
    arrived: Sequence[str] = ()
    progressed: Sequence[str] = ()
    finished: Sequence[str] = ()


@dataclass(frozen=True)
class Widths(Decision):
    """The new width of every job, and the number of nodes. A job that is not named does not change.

    Jobs that shrink come first. Then GPUs are assigned in the order of `widths` to the jobs they suffice for. All other
    jobs keep their GPUs until there are more nodes.
    """

    widths: Mapping[str, int] = field(default_factory=dict)
    nodes: int = 0


def build_estimated_allocation(
    classes: Sequence[JobClass], budget: float, max_width: int | None = None
) -> BoaAllocation:
    """Return the allocation problem of estimated classes.

    A budget that is too small for the estimates is raised to the minimum cost, because a policy must continue.
    """

    def problem(money: float) -> BoaAllocation:
        return BoaAllocation(budget=money, classes=tuple(classes), widths="integer", max_width=max_width)

    return problem(max(budget, on_grid_from(compute_min_budget(problem(LARGEST)))))


def snapshot(view: RentingView) -> BoaAllocation | None:
    """Return the allocation problem with the present estimates, one object until they change; `None` without a job."""
    return view.believed if view.jobs else None


def decision(view: RentingView, solution: Solution | None) -> Widths:
    """Return the widths of `solution` for the jobs by class and epoch, and the number of nodes that they need.

    If a solution has several paths for a class, the id of a job determines its path. Jobs that hold GPUs come first,
    then waiting jobs, both in order of arrival. Without a solution nothing changes.
    """
    if solution is None:
        return _add_nodes(view, {job.id: job.width for job in view.jobs.values()})
    holding: dict[str, int] = {}
    waiting: dict[str, int] = {}
    plan = solution.get("widths")
    for job in view.jobs.values():
        width = _find_step(solution, job) if plan is None else int(plan[job.job_class][job.epoch])
        (holding if job.width else waiting)[job.id] = width
    holding.update(waiting)
    return _add_nodes(view, holding)


def _add_nodes(view: RentingView, widths: Mapping[str, int]) -> Widths:
    return Widths(widths=widths, nodes=-(-sum(widths.values()) // view.gpus_per_node))


def _find_step(solution: Solution, job: RentingJobView) -> int:
    """Return the width on the path that the id of a job determines."""
    paths = solution["paths"][job.job_class]
    left = draw_uniform(job.id)
    for path in paths:
        left -= path["probability"]
        if left < 0:
            return int(path["widths"][job.epoch])
    return int(paths[-1]["widths"][job.epoch])  # probabilities add up to 1 except for rounding errors


def draw_uniform(job: str) -> float:
    """Return a number in [0, 1) that depends only on the id of a job, with a uniform distribution over ids."""
    return int.from_bytes(hashlib.sha256(job.encode()).digest()[:6]) / 2**48


@dataclass(frozen=True)
class EstimateParameters:
    """Parameters of the estimates.

    - `prior_hours`: the weight of the initial arrival rate, as hours of observation.
    - `widest`: the last width of the corrected table if the initial estimate is a formula.
    """

    prior_hours: float = 24.0
    widest: int = 64


class LearnedClasses:
    """Estimates from the last `window_seconds`, or from all time before.

    An arrival rate combines the counted jobs with `prior_hours` of the initial rate. A speedup at an observed width is
    known. Between observed widths, the initial speedups are multiplied by the ratio of truth to estimate, interpolated
    linearly in the width. Beyond the widest one its ratio applies.
    """

    def __init__(self, data: BoaRenting, parameters: EstimateParameters = EstimateParameters()) -> None:
        self._data, self.parameters = data, parameters
        self._arrivals: list[deque[float]] = [deque() for _ in data.classes]
        self._run: dict[tuple[int, int], dict[int, tuple[float, float]]] = {}

    def arrive(self, kind: int, now: float) -> None:
        """Record the arrival of a job of a class."""
        self._arrivals[kind].append(now)

    def run(self, kind: int, epoch: int, width: int, speed: float, now: float) -> None:
        """Record that jobs of a class run at a speed in an epoch at a width, last observed now."""
        self._run.setdefault((kind, epoch), {})[width] = speed, now

    def believed(self, now: float) -> BoaAllocation:
        """Return the allocation problem with the present estimates."""
        window = self._data.window_seconds
        since = now - window if window else 0.0
        classes = tuple(self._class(kind, now, max(0.0, since)) for kind in range(len(self._data.classes)))
        return build_estimated_allocation(classes, self._data.budget_gpus, self._data.max_width)

    def _class(self, kind: int, now: float, since: float) -> JobClass:
        belief, arrivals = self._data.classes[kind].believed, self._arrivals[kind]
        while arrivals and arrivals[0] < since:
            arrivals.popleft()
        prior = self.parameters.prior_hours
        rate = (belief.arrivals_per_hour * prior + len(arrivals)) / (prior + (now - since) / HOUR)
        epochs = tuple(self._epoch(kind, j, epoch, since) for j, epoch in enumerate(belief.epochs))
        return JobClass(
            name=belief.name,
            arrivals_per_hour=rate,
            weight=belief.weight,
            rescale_hours=belief.rescale_hours,
            epochs=epochs,
        )

    def _epoch(self, kind: int, place: int, belief: Epoch, since: float) -> Epoch:
        seen = {k: speed for k, (speed, at) in self._run.get((kind, place), {}).items() if at >= since and k > 1}
        if not seen:
            return belief
        table = belief.speedup.table
        width = np.arange(1, (table.gpus[-1] if table else self._data.max_width or self.parameters.widest) + 1)
        before = belief.speedup.at(width.astype(float)) if table is None else table.raw()
        known = sorted({1: 1.0, **seen}.items())
        at = np.array([k for k, _ in known])
        factor = np.interp(width, at, [speed / before[k - 1] for k, speed in known])
        points = Points(gpus=tuple(width.tolist()), speedup=tuple((before * factor).tolist()))
        return Epoch(size_hours=belief.size_hours, speedup=Speedup(table=points))


if not TYPE_CHECKING:  # names of the previous version
    __getattr__ = find_old_names(
        __name__,
        {
            "believed": "build_estimated_allocation",
        },
    )
