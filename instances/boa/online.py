"""BOA online: the view of a renter of nodes, the widths it answers, and the allocation problem behind them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from instances.boa.allocation import BoaAllocation, JobClass, least_budget, on_grid_from
from instances.fields import LARGEST
from instances.online import Decision
from instances.options import Solution


@dataclass(slots=True)
class RentingJobView:
    """An unfinished job, which belongs to the world and is kept up to date by it.

    `epoch` counts from 0. `width`: the GPUs that it holds, 0 in the queue. It makes no progress before `paused_until`
    (seconds), while it is rescaled; `rescalings` counts such pauses, that of the start included. `remaining_hours` is
    what policies believe to be left of it on one GPU, as of `seen_at`; since then it has made progress at `speed`.
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
        """What policies believe to be left of it at a moment, hours on one GPU."""
        since = self.seen_at if self.paused_until is None else max(self.seen_at, self.paused_until)
        return self.remaining_hours - self.speed * max(0.0, now - since) / 3600


@dataclass(slots=True)
class NodeState:
    """A rented node that is not marked for release: it is there from `ready_at` (seconds) on."""

    id: str
    ready_at: float


@dataclass(slots=True)
class RentingView:
    """A cloud of rented nodes at one moment, by ids, in read-only mappings. It belongs to the world.

    Parameters:

    - `now`: seconds.
    - `gpus_per_node`: GPUs of a node.
    - `jobs`: unfinished jobs in order of arrival.
    - `nodes`: what is rented, in the order in which it was.
    - `believed`: the allocation problem as it is believed to be now, one object until it is estimated anew.
    - `ready_gpus`: GPUs of the nodes that are there; all of them are alike to all jobs.
    - `arrived`, `progressed`, `finished`: jobs since the policy was last asked, by id: new ones, those that have begun
      another epoch, and those that have ended.
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
    """The width of every job from now on, and the nodes to have. A job that is not named stays as it is.

    Jobs that shrink come first. Then GPUs are given in the order of `widths` to the jobs they suffice for; the others
    keep what they hold until there are more nodes.
    """

    widths: Mapping[str, int] = field(default_factory=dict)
    nodes: int = 0


def believed(classes: Sequence[JobClass], budget: float, max_width: int | None = None) -> BoaAllocation:
    """The allocation problem of classes as they are estimated.

    A budget that the estimates say is too small is raised to the least that pays for them: a policy has to go on.
    """

    def problem(money: float) -> BoaAllocation:
        return BoaAllocation(budget=money, classes=tuple(classes), widths="integer", max_width=max_width)

    return problem(max(budget, on_grid_from(least_budget(problem(LARGEST)))))


def snapshot(view: RentingView) -> BoaAllocation | None:
    """The allocation problem as it is believed to be now, the same object until that changes; `None` without a job."""
    return view.believed if view.jobs else None


def decision(view: RentingView, solution: Solution | None) -> Widths:
    """The widths that `solution` gives to the classes of the jobs in their epochs, and as many nodes as they fill.

    Of a solution with several paths for a class each job follows one, drawn by its id for good. Jobs that hold GPUs
    come first, then those that wait, each in order of arrival. Without a solution all stays as it is.
    """
    if solution is None:
        return _with_nodes(view, {job.id: job.width for job in view.jobs.values()})
    holding: dict[str, int] = {}
    waiting: dict[str, int] = {}
    plan = solution.get("widths")
    for job in view.jobs.values():
        width = _on_path(solution, job) if plan is None else int(plan[job.job_class][job.epoch])
        (holding if job.width else waiting)[job.id] = width
    holding.update(waiting)
    return _with_nodes(view, holding)


def _with_nodes(view: RentingView, widths: Mapping[str, int]) -> Widths:
    return Widths(widths=widths, nodes=-(-sum(widths.values()) // view.gpus_per_node))


def _on_path(solution: Solution, job: RentingJobView) -> int:
    """The width on the path that the job's id draws."""
    paths = solution["paths"][job.job_class]
    left = drawn(job.id)
    for path in paths:
        left -= path["probability"]
        if left < 0:
            return int(path["widths"][job.epoch])
    return int(paths[-1]["widths"][job.epoch])  # probabilities add up to 1 but for rounding


def drawn(job: str) -> float:
    """A number in [0, 1) that a job's id decides, evenly spread over the ids."""
    return int.from_bytes(hashlib.sha256(job.encode()).digest()[:6]) / 2**48
