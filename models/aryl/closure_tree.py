"""Branch and bound over closures for the least union of k sets: bounds by maximum flow in whole numbers.

Let z be the jobs preempted and freed(z) the servers that they free. For every price p >= 0 of a server

    least |z| with freed(z) >= N   >=   p N + min over z of (|z| - p freed(z)),

and the minimum is a closure problem (Picard, 1976): with S servers in all it is F - p S, where F is the maximum flow
from groups of servers, each worth p a server, through the jobs on them, each of cost 1. The best price gives the linear
relaxation. It is found where the lines of a minimum cut that frees too few servers and of one that frees enough cross.
Prices and flows are whole numbers of units, so that every bound is exact.

A job preempted leaves the sets of its servers; a job kept takes its servers out. What is left of a job's cost once it
has paid for servers is its reduced cost, and so is what is left of the prices of its servers for keeping it.
"""

from __future__ import annotations

import numpy as np

from models.aryl.parameters import DEFAULTS, ClosureParameters
from models.aryl.server_groups import ServerGroups


class ClosureTree:
    """A branch and bound that can be interrupted, on jobs that free `need` servers.

    Compiled at first use, which takes seconds; later processes find it compiled.
    """

    def __init__(
        self, groups: ServerGroups, need: int, best: set[int], parameters: ClosureParameters = DEFAULTS.reclaim.closures
    ) -> None:
        from models.aryl.closure_kernels import FEWEST, NEED, PRICE, SAVED, UNIT, ClosureNetwork, TreeMemory

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

        def whole(size: int) -> np.ndarray:
            return np.zeros(size, dtype=np.int64)

        def flags(size: int) -> np.ndarray:
            return np.zeros(size, dtype=np.bool_)

        both = n_groups + n_jobs
        self.memory = TreeMemory(
            state=whole(7),
            fixed=np.full(n_jobs, -1, dtype=np.int8),
            best=flags(n_jobs),
            trail=whole(n_jobs),
            mark=whole(n_jobs + 1),
            branch=whole(n_jobs + 1),
            other=whole(n_jobs + 1),
            price=whole(n_jobs + 1),
            low=whole(n_jobs + 1),
            flow=whole(n_pairs),
            kept=whole(n_pairs),
            spare=whole(n_groups),
            room=whole(n_jobs),
            alive=flags(n_groups),
            level=whole(both),
            arc=whole(both),
            queue=whole(both),
            path=whole(both),
            on_level=whole(both + 2),
            left=flags(n_jobs),
            right=flags(n_jobs),
            reached=flags(n_jobs),
            flows=np.zeros((SAVED, n_pairs), dtype=np.int64),
            sides=np.zeros((SAVED, 2, n_jobs), dtype=np.bool_),
            gain=np.zeros((2, n_jobs)),
            tried=np.zeros((2, n_jobs), dtype=np.int64),
        )
        self.done = False
        self.memory.state[NEED] = need
        self.memory.state[FEWEST] = len(best)
        self.memory.state[PRICE] = UNIT * n_jobs // max(1, int(groups.count.sum()))
        self.memory.best[list(best)] = True

    def offer(self, jobs: set[int]) -> None:
        """Take `jobs` that free the servers, if they are fewer than the best."""
        from models.aryl.closure_kernels import FEWEST

        if len(jobs) < self.fewest:
            self.memory.state[FEWEST] = len(jobs)
            self.memory.best[:] = False
            self.memory.best[list(jobs)] = True

    @property
    def fewest(self) -> int:
        """How many jobs `best` are."""
        from models.aryl.closure_kernels import FEWEST

        return int(self.memory.state[FEWEST])

    @property
    def best(self) -> set[int]:
        """The fewest jobs known that free the servers."""
        return {int(j) for j in np.flatnonzero(self.memory.best)}

    @property
    def nodes(self) -> int:
        """Nodes so far."""
        from models.aryl.closure_kernels import NODES

        return int(self.memory.state[NODES])

    @property
    def bound(self) -> int:
        """The fewest jobs that the nodes left open allow; those of `best` where none is."""
        from models.aryl.closure_kernels import BOUND, DEPTH, UNIT

        s = self.memory
        if self.done:
            return self.fewest
        depth = int(s.state[DEPTH])
        waiting = s.low[:depth][s.other[:depth] >= 0]
        least = min([int(s.state[BOUND]), *(int(low) for low in waiting)])
        return min(self.fewest, -(-least // UNIT))

    def run(self, nodes: int) -> None:
        """Go on for `nodes` nodes, or until the tree is done."""
        from models.aryl.closure_kernels import BranchingRule, search

        p = self.parameters
        choice = BranchingRule(p.tries, p.rounds_tried, p.reliable, p.hope)
        self.done = self.done or bool(search(self.network, self.memory, nodes, p.rounds, choice))
