"""Branch and bound over closures for the minimum k-union problem, with bounds by maximum flow in integers.

Let z be the preempted jobs and freed(z) the servers that they free. For every price p >= 0 of a server,

    min |z| with freed(z) >= N   >=   p N + min over z of (|z| - p freed(z)).

The minimum on the right is a closure problem (Picard, 1976). With S servers it equals F - p S. F is the maximum flow
from the groups of servers, with p units for each server, through the jobs on them, each of capacity 1. The best price
gives the bound of the linear relaxation. It is at the crossing of two lines: that of a closure that frees too few
servers, and that of one that frees enough. Prices and flows are integers, so each bound is exact.

A preempted job leaves the sets of its servers; a kept job removes its servers. The residual capacity of a job is its
reduced cost of being preempted. The unused prices of its servers are its reduced cost of being kept.
"""

from __future__ import annotations

import numpy as np

from models.aryl.closure_kernels import (
    BOUND,
    DEPTH,
    MIN_JOBS,
    NEED,
    NODES,
    PRICE,
    SAVED,
    UNIT,
    BranchingRule,
    ClosureNetwork,
    TreeMemory,
    search,
)
from models.aryl.parameters import DEFAULTS, ClosureParameters
from models.aryl.server_groups import ServerGroups


class ClosureTree:
    """A resumable branch and bound for the minimum number of jobs that free `need` servers.

    - `groups`: the servers and their jobs.
    - `best`: jobs that free `need` servers.
    """

    def __init__(
        self, groups: ServerGroups, need: int, best: set[int], parameters: ClosureParameters = DEFAULTS.reclaim.closures
    ) -> None:
        self.parameters = parameters
        sizes = [len(jobs) for jobs in groups.jobs]
        job = np.array([j for jobs in groups.jobs for j in jobs], dtype=np.int64)
        n_groups, n_jobs, n_pairs = len(sizes), groups.n_jobs, len(job)
        self.network = ClosureNetwork(
            first=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            job=job,
            group=np.repeat(np.arange(n_groups), sizes).astype(np.int64),
            begin=np.concatenate([[0], np.cumsum(np.bincount(job, minlength=n_jobs))]).astype(np.int64),
            pair=np.argsort(job, kind="stable").astype(np.int64),
            servers=groups.count,
        )

        def integers(size: int) -> np.ndarray:
            return np.zeros(size, dtype=np.int64)

        def flags(size: int) -> np.ndarray:
            return np.zeros(size, dtype=np.bool_)

        vertices = n_groups + n_jobs
        self.memory = TreeMemory(
            state=integers(7),
            fixed=np.full(n_jobs, -1, dtype=np.int8),
            best=flags(n_jobs),
            trail=integers(n_jobs),
            mark=integers(n_jobs + 1),
            branch=integers(n_jobs + 1),
            other=integers(n_jobs + 1),
            price=integers(n_jobs + 1),
            low=integers(n_jobs + 1),
            flow=integers(n_pairs),
            best_flow=integers(n_pairs),
            spare=integers(n_groups),
            residual=integers(n_jobs),
            alive=flags(n_groups),
            level=integers(vertices),
            arc=integers(vertices),
            queue=integers(vertices),
            path=integers(vertices),
            on_level=integers(vertices + 2),
            left=flags(n_jobs),
            right=flags(n_jobs),
            reached=flags(n_jobs),
            flows=np.zeros((SAVED, n_pairs), dtype=np.int64),
            sides=np.zeros((SAVED, 2, n_jobs), dtype=np.bool_),
            gain=np.zeros((2, n_jobs)),
            tried=np.zeros((2, n_jobs), dtype=np.int64),
        )
        self.is_done = False
        self.memory.state[NEED] = need
        self.memory.state[MIN_JOBS] = len(best)
        self.memory.state[PRICE] = UNIT * n_jobs // max(1, int(groups.count.sum()))
        self.memory.best[list(best)] = True

    def offer(self, jobs: set[int]) -> None:
        """Use `jobs`, which free enough servers, as the incumbent if they are fewer."""
        if len(jobs) < self.min_jobs:
            self.memory.state[MIN_JOBS] = len(jobs)
            self.memory.best[:] = False
            self.memory.best[list(jobs)] = True

    @property
    def min_jobs(self) -> int:
        """Number of jobs of the incumbent."""
        return int(self.memory.state[MIN_JOBS])

    @property
    def best(self) -> set[int]:
        """Jobs of the incumbent."""
        return {int(j) for j in np.flatnonzero(self.memory.best)}

    @property
    def nodes(self) -> int:
        """Number of nodes so far."""
        return int(self.memory.state[NODES])

    @property
    def bound(self) -> int:
        """A lower bound on the number of jobs: the minimum over the open nodes and the incumbent."""
        s = self.memory
        if self.is_done:
            return self.min_jobs
        depth = int(s.state[DEPTH])
        open_bounds = s.low[:depth][s.other[:depth] >= 0]
        lowest = min([int(s.state[BOUND]), *(int(low) for low in open_bounds)])
        return min(self.min_jobs, -(-lowest // UNIT))

    def run(self, nodes: int) -> None:
        """Search `nodes` more nodes, or until the tree is complete."""
        p = self.parameters
        rule = BranchingRule(p.tries, p.trial_rounds, p.reliable, p.hope)
        self.is_done = self.is_done or bool(search(self.network, self.memory, nodes, p.rounds, rule))
