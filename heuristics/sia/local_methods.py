"""The policies with locality as methods of `sia-local-oracle`: data in, starts and servers out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from heuristics.sia.baselines import service
from heuristics.sia.local import LocalHived, LocalPolicy, LocalSia, replay_local
from heuristics.sia.predictors import Perfect, SlidingMaximum, windows_in_slots
from instances import Solution
from instances.method import ANY, method
from instances.sia import SiaLocalOracle
from instances.sia.local_oracle import SERVER_GPUS
from instances.sia.reservations import Placed, ServerJobs, backfill_servers


def keep_local_cutoffs(data: SiaLocalOracle, priority: Sequence[float]) -> Placed:
    """Start and server of each job, in the order of `data.jobs`, by backfilling ahead of reservations at the cut-offs.

    A reservation is at the cut-off, on the server of the job's cell in its own pool. The job of least `priority` is
    tried first, on any server that has room until it ends. No job is late: Theorem 1 with locality.
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
    """No sharing: each pool in order, in cells of its own servers, by buddy allocation (section 5.5)."""
    return _solution(data, *zip(*data.alone, strict=True))


@method("heuristic", ANY, "sia-vc")
def local_sia_vc(data: SiaLocalOracle) -> Solution:
    """SIA_VC with locality: the earliest cut-off first, ahead of reservations on servers (sections 5.1 and 5.5)."""
    return _planned(data, [float(cutoff) for cutoff in data.cutoffs])


@method("heuristic", ANY, "safe-ssf")
def local_safe_ssf(data: SiaLocalOracle) -> Solution:
    """Safe shortest-first with locality: least GPU time first, ahead of reservations on servers."""
    return _planned(data, [service(job) for job in data.jobs])


@method("heuristic", ANY, "hived")
def local_hived(data: SiaLocalOracle) -> Solution:
    """HiveD* with cells and without preemption (section 6.4)."""
    return _replayed(data, LocalHived())


@method("heuristic", ANY, "sia-perfect")
def local_sia_perfect(data: SiaLocalOracle) -> Solution:
    """SIA with cells and perfect coarse predictions (section 5.5)."""
    return _replayed(data, LocalSia(Perfect(data.jobs), windows_in_slots(data.slot_minutes)))


@method("heuristic", ANY, "sia-sliding")
def local_sia_sliding(data: SiaLocalOracle) -> Solution:
    """SIA with cells and the sliding maximum as the estimate of new load (sections 5.4.1 and 5.5)."""
    return _replayed(data, LocalSia(SlidingMaximum(), windows_in_slots(data.slot_minutes)))


def _planned(data: SiaLocalOracle, priority: Sequence[float]) -> Solution:
    placed = keep_local_cutoffs(data, priority)
    return _solution(data, placed.starts.tolist(), placed.servers.tolist())


def _replayed(data: SiaLocalOracle, policy: LocalPolicy) -> Solution:
    placed = replay_local(data, policy)
    found = [placed[job.id] for job in data.jobs]
    return _solution(data, [start for start, _ in found], [cell.server for _, cell in found])


def _solution(data: SiaLocalOracle, starts: Sequence[int], servers: Sequence[int]) -> Solution:
    names = [job.id for job in data.jobs]
    return {"starts": dict(zip(names, starts, strict=True)), "servers": dict(zip(names, servers, strict=True))}
