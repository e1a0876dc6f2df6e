"""Policies with locality (sections 5.5 and 6.4): a job has all its GPUs on one server, and never moves.

Pools own whole servers, and a job's width is the size of a cell. Each pool has virtual servers ("on paper") in which
its jobs in order get cells as if nothing were shared. This is also FCFS with locality, the baseline. A virtual server
is bound to a server of the cluster while it is in use. If a job in order, within quota, has a cell on a virtual server,
it also has one in the cluster, unless an opportunistic job occupies it (HiveD's guarantee). The methods of
`sia-local-oracle` come last.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from heuristics.sia.baselines import service
from heuristics.sia.predictors import Perfect, Predictor, SlidingMaximum, windows_in_slots
from heuristics.sia.replay import AnyJob, run_events
from instances import InputError, Solution
from instances.method import ANY, method
from instances.sia import SiaLocalOracle, SiaOracle
from instances.sia.local_oracle import SERVER_GPUS, SIZES, Buddies, Cell
from instances.sia.online import PendingJob, PoolsView
from instances.sia.reservations import Placed, ServerJobs, backfill_servers

PlacedCells = dict[str, tuple[int, Cell]]
"""Start and cell of each job, by id."""
Clustered = SiaOracle | SiaLocalOracle


class Shared:
    """The cluster of policies with locality: queues, virtual servers of the pools, free cells, and servers on loan."""

    def __init__(self, data: Clustered) -> None:
        self.owned = {pool.name: pool.gpus // SERVER_GPUS for pool in data.pools}
        self.paper = {name: Buddies(servers) for name, servers in self.owned.items()}
        self.cluster = Buddies(sum(self.owned.values()))
        self.lent = Buddies(0)
        self.queues: dict[str, OrderedDict[str, AnyJob]] = {name: OrderedDict() for name in self.owned}
        self.started: list[tuple[AnyJob, Cell]] = []
        self._own: dict[str, Cell] = {}
        self._cells: dict[str, Cell] = {}
        self._jobs_in: dict[int, int] = {}  # number of jobs by server, for servers that are bound or on loan
        self._bound: dict[str, dict[int, int]] = {name: {} for name in self.owned}  # virtual server -> server
        self.loans: set[str] = set()

    def count_unused(self, pool: str) -> int:
        """Return the number of virtual servers that are not bound to a server of the cluster."""
        return self.owned[pool] - len(self._bound[pool])

    def start_in_order(self, pool: str) -> bool:
        """Start the next job of a pool in a cell of a virtual server, if possible, and return whether it started."""
        job = next(iter(self.queues[pool].values()), None)
        own = None if job is None else self.paper[pool].take(job.gpus)
        if job is None or own is None:
            return False
        bound = self._bound[pool]
        if own.server not in bound:
            whole = self.cluster.take(SERVER_GPUS)
            if whole is None:
                self.paper[pool].give_back(own)
                return False
            bound[own.server], self._jobs_in[whole.server] = whole.server, 0
        self._jobs_in[bound[own.server]] += 1
        self._own[job.id] = own
        self._start(job, Cell(bound[own.server], own.first, own.size))
        return True

    def start_anywhere(self, job: AnyJob, *, within_quota: bool) -> bool:
        """Start a job in any free cell, if possible, and return whether it started.

        - `within_quota`: whether the job also needs a cell on a virtual server.
        """
        if self.cluster.largest() < job.gpus:
            return False
        if within_quota:
            own = self.paper[job.pool].take(job.gpus)
            if own is None:
                return False
            self._own[job.id] = own
        cell = self.cluster.take(job.gpus, last=not within_quota)
        assert cell is not None
        self._start(job, cell)
        return True

    def start_on_loan(self, job: AnyJob, *, more: bool) -> bool:
        """Start a job on a server on loan, if possible, and return whether it started.

        - `more`: whether another whole server may be lent.
        """
        cell = self.lent.take(job.gpus)
        if cell is None and more:
            whole = self.cluster.take(SERVER_GPUS, last=True)
            if whole is None:
                return False
            self.lent.give_back(whole)
            self._jobs_in[whole.server] = 0
            cell = self.lent.take(job.gpus)
        if cell is None:
            return False
        self._jobs_in[cell.server] += 1
        self.loans.add(job.id)
        self._start(job, cell)
        return True

    def finish(self, job: PendingJob) -> None:
        """Free the cells of a job, on the virtual server and in the cluster."""
        cell, own = self._cells.pop(job.id), self._own.pop(job.id, None)
        if own is not None:
            self.paper[job.pool].give_back(own)
        if cell.server not in self._jobs_in:
            self.cluster.give_back(cell)
            return
        self._jobs_in[cell.server] -= 1
        loan = job.id in self.loans
        if loan:
            self.loans.remove(job.id)
            self.lent.give_back(cell)
        if self._jobs_in[cell.server] == 0:
            del self._jobs_in[cell.server]
            whole = Cell(cell.server, 0, SERVER_GPUS)
            if loan:
                self.lent.free[SERVER_GPUS].remove(whole)
            else:
                assert own is not None
                del self._bound[job.pool][own.server]
            self.cluster.give_back(whole)

    def _start(self, job: AnyJob, cell: Cell) -> None:
        del self.queues[job.pool][job.id]
        self._cells[job.id] = cell
        self.started.append((job, cell))


class LocalPolicy(Protocol):
    """A policy that starts jobs of `shared`, and returns the time of its next call, or `None`."""

    def decide(self, shared: Shared, view: PoolsView) -> float | None: ...


class LocalFcfs:
    """Each pool in order, in cells of its own servers, without sharing."""

    def decide(self, shared: Shared, view: PoolsView) -> float | None:
        for pool in shared.owned:
            while shared.start_in_order(pool):
                pass
        return None


class LocalHived:
    """HiveD*: each pool's own share in order, then the jobs that have waited longest in any free cells.

    Running jobs are not interrupted (section 6.1): an owner waits for cells that are lent out.
    """

    def decide(self, shared: Shared, view: PoolsView) -> float | None:
        others: list[AnyJob] = []
        for queue in shared.queues.values():
            while (job := next(iter(queue.values()), None)) and shared.start_anywhere(job, within_quota=True):
                pass
            others += queue.values()
        for job in sorted(others, key=lambda job: job.submit):
            shared.start_anywhere(job, within_quota=False)
        return None


class LocalSia:
    """SIA with cells: servers that no pool will need for a window go to jobs that end within the window.

    A pool may need at most the whole servers that it owns and does not use. It also needs at most as many servers as
    its pending jobs and its new load have GPUs, because every job needs at most one more server. Opportunistic jobs
    share servers among themselves only, taken from the other end of the cluster. They never share a server with a
    dedicated job, whose buddy cells stay free for its pool.
    """

    def __init__(self, predictor: Predictor, windows: Sequence[float]) -> None:
        self.predictor, self.windows = predictor, tuple(windows)
        self._class: dict[str, int] = {}

    def decide(self, shared: Shared, view: PoolsView) -> float | None:
        self.predictor.observe(view)
        for job in view.arrived:
            self._class[job.id] = self.predictor.duration_class(job, self.windows)
        started = True
        while started:
            for pool in shared.owned:
                while shared.start_in_order(pool):
                    pass
            started = self._start_on_spare(shared, view.now)
        waiting = any(shared.queues.values())
        return view.now + self.windows[0] if waiting and shared.cluster.whole + shared.lent.largest() else None

    def _start_on_spare(self, shared: Shared, now: float) -> bool:
        """Start one job on a server on loan, shortest window first, and return whether one started."""
        for k, window in enumerate(self.windows):
            kept = sum(self._reserve(shared, pool, now, window) for pool in shared.owned)
            if shared.cluster.whole < kept:
                continue  # even a job on a lent server would extend its loan
            more = shared.cluster.whole > kept
            widest = SERVER_GPUS if more else shared.lent.largest()
            for queue in sorted(shared.queues.values(), key=len):
                for job in queue.values():
                    if self._class[job.id] <= k and job.gpus <= widest and shared.start_on_loan(job, more=more):
                        return True
        return False

    def _reserve(self, shared: Shared, pool: str, now: float, window: float) -> float:
        pending = sum(job.gpus for job in shared.queues[pool].values())
        return min(pending + self.predictor.new_load(pool, now, window), shared.count_unused(pool))


def refuse_unfit(data: Clustered) -> None:
    """Raise InputError for pools that are not whole servers, and for jobs whose width is no cell size."""
    for i, pool in enumerate(data.pools):
        if pool.gpus % SERVER_GPUS:
            raise InputError(f"data.pools[{i}].gpus: must be a multiple of {SERVER_GPUS}, got {pool.gpus}")
    jobs: Sequence[AnyJob] = data.jobs
    for i, job in enumerate(jobs):
        if job.gpus not in SIZES:
            raise InputError(f"data.jobs[{i}].gpus: must be one of 1, 2, 4, 8, got {job.gpus}")


def replay_local(data: Clustered, policy: LocalPolicy) -> PlacedCells:
    """Return the start and the cell of each job under a policy.

    Raises InputError for data without cells, and RuleBroken if jobs wait forever.
    """
    refuse_unfit(data)
    shared = Shared(data)
    cells: dict[str, Cell] = {}

    def decide(view: PoolsView) -> tuple[list[str], float | None]:
        for job in view.finished:
            shared.finish(job)
        wake_at = policy.decide(shared, view)
        started = {job.id: cell for job, cell in shared.started}
        shared.started.clear()
        cells.update(started)
        return list(started), wake_at

    starts = run_events(data, shared.queues, decide, type(policy).__name__)
    return {name: (start, cells[name]) for name, start in starts.items()}


def keep_local_cutoffs(data: SiaLocalOracle, priority: Sequence[float]) -> Placed:
    """Return the start and the server of each job, by backfilling before reservations at the cut-offs.

    - `priority`: the job of minimum priority is tried first, on any server that has capacity until it ends.

    A reservation is at the cut-off, on the server of the job's cell in its own pool. The result is in the order of
    `data.jobs`. No job is late: Theorem 1 with locality.
    """
    first = min(job.submit for job in data.jobs)
    jobs = ServerJobs(
        np.array([job.submit - first for job in data.jobs], dtype=np.int64),
        np.array([job.duration for job in data.jobs], dtype=np.int64),
        np.array([job.gpus for job in data.jobs], dtype=np.int64),
        data.servers,
        SERVER_GPUS,
    )
    starts, servers = np.array(data.alone, dtype=np.int64).T
    placed = backfill_servers(jobs, Placed(starts - first, servers), priority)
    return Placed(placed.starts + first, placed.servers)


@method("heuristic", ANY, "fcfs")
def local_fcfs(data: SiaLocalOracle) -> Solution:
    """Serve each pool in order, in cells of its own servers, by buddy allocation, without sharing (section 5.5)."""
    return _solution(data, *zip(*data.alone, strict=True))


@method("heuristic", ANY, "sia-vc")
def local_sia_vc(data: SiaLocalOracle) -> Solution:
    """Run SIA_VC with locality: the earliest cut-off first, before reservations on servers (sections 5.1 and 5.5)."""
    return _plan(data, [float(cutoff) for cutoff in data.cutoffs])


@method("heuristic", ANY, "safe-ssf")
def local_safe_ssf(data: SiaLocalOracle) -> Solution:
    """Start jobs by increasing GPU time, before reservations on servers: safe shortest-first with locality."""
    return _plan(data, [service(job) for job in data.jobs])


@method("heuristic", ANY, "hived")
def local_hived(data: SiaLocalOracle) -> Solution:
    """Run HiveD* with cells and without preemption (section 6.4)."""
    return _replay(data, LocalHived())


@method("heuristic", ANY, "sia-perfect")
def local_sia_perfect(data: SiaLocalOracle) -> Solution:
    """Run SIA with cells and perfect coarse predictions (section 5.5)."""
    return _replay(data, LocalSia(Perfect(data.jobs), windows_in_slots(data.slot_minutes)))


@method("heuristic", ANY, "sia-sliding")
def local_sia_sliding(data: SiaLocalOracle) -> Solution:
    """Run SIA with cells and the sliding maximum as the estimate of new load (sections 5.4.1 and 5.5)."""
    return _replay(data, LocalSia(SlidingMaximum(), windows_in_slots(data.slot_minutes)))


def _plan(data: SiaLocalOracle, priority: Sequence[float]) -> Solution:
    placed = keep_local_cutoffs(data, priority)
    return _solution(data, placed.starts.tolist(), placed.servers.tolist())


def _replay(data: SiaLocalOracle, policy: LocalPolicy) -> Solution:
    placed = replay_local(data, policy)
    cells = [placed[job.id] for job in data.jobs]
    return _solution(data, [start for start, _ in cells], [cell.server for _, cell in cells])


def _solution(data: SiaLocalOracle, starts: Sequence[int], servers: Sequence[int]) -> Solution:
    names = [job.id for job in data.jobs]
    return {"starts": dict(zip(names, starts, strict=True)), "servers": dict(zip(names, servers, strict=True))}
