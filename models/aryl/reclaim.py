"""Which loaned servers go back: the fast exact method for the least union of k sets (Aryl, section 4).

Idle servers go first. The rest splits into the connected components of the graph of jobs and servers; small ones are
listed and combined by dynamic programming into one curve of jobs against servers, which stands beside the large ones
in a single integer program. Where that is not solved at its root, simulated annealing gives a start, and a spectral
bound helps where the linear one is weak.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from instances import Answer, Options, Report, Stopwatch
from instances.aryl import ArylReclaim
from instances.result import Termination
from models.aryl.annealing import anneal_jobs, anneal_union, greedy_union
from models.aryl.pools import Curve, Pool, combine, is_small, small_curve
from models.aryl.spectral import SMOOTHING, SpectralBound
from models.bounds import WHOLE, whole_bound
from models.highs import LinearModel, Solved, solve_arrays
from models.incumbent import Incumbent

FloatArray = NDArray[np.float64]
MOVES, FEW_MOVES = 250_000, 30_000  # of simulated annealing, each time
CLOSE = 1 - 2 * WHOLE  # the objective is a whole number: a bound this close to a solution proves it
HARD = 0.08  # relative gap of the linear bound from which the root of the tree will not close it
FEW_SERVERS, FEW_NODES = 100, 1_000  # a tree of so few servers may well be done before the spectral bound is
WEAK = 0.15  # relative gap from which the spectral bound is worth its time
LARGEST_SPECTRAL = 700  # jobs; an eigenvalue decomposition takes the cube of it
SPECTRAL_SHARE = 0.8  # of the time limit
ROOT: dict[str, object] = {"mip_max_nodes": 1, "mip_allow_restart": False}
SEARCH: dict[str, object] = {
    "mip_heuristic_effort": 0.0,  # annealing has done their work
    "mip_allow_restart": False,
    "mip_allow_cut_separation_at_nodes": False,
    "mip_pscost_minreliable": 2,
}


def solve_reclaim(data: ArylReclaim, options: Options, report: Report, start: Sequence[str] | None = None) -> Answer:
    """The servers whose return preempts the fewest jobs, proved, or the best ones and bound at the time limit.

    `start`: servers to begin from, `data.reclaim` of them.
    """
    with Stopwatch() as building:
        search = _Search(data, options, report, start)
    with Stopwatch() as solving:
        termination = search.run()
    return Answer(
        solution={"servers": search.servers()},
        bound=float(search.bound),
        termination=termination,
        reason={"time_limit": "time limit", "effort_limit": "effort limit"}.get(termination),
        build_s=building.cpu_s,
        solve_s=solving.cpu_s,
        trace=search.incumbent.trace,
        info=search.info,
    )


class _Search:
    """One solve: the pool, its curve of small components, the best set of jobs so far and the best bound."""

    def __init__(self, data: ArylReclaim, options: Options, report: Report, start: Sequence[str] | None) -> None:
        self.clock = Stopwatch(options.time_limit)
        self.data, self.options = data, options
        self.pool = Pool.of(data)
        self.need = max(0, data.reclaim - len(self.pool.idle))
        components = self.pool.components()
        small = [kinds for kinds in components if is_small(self.pool, kinds)]
        self.large = [g for kinds in components if not is_small(self.pool, kinds) for g in kinds]
        self.curve: Curve = combine([small_curve(self.pool, kinds) for kinds in small], self.need)
        self.sets = [jobs for g, jobs in enumerate(self.pool.jobs) for _ in self.pool.members[g]]

        def told(jobs: set[int] | None, bound: int | None) -> None:
            report(None if jobs is None else {"servers": self._servers(jobs)}, float(bound or 0))

        self.incumbent: Incumbent[set[int], int] = Incumbent("minimize", self.clock, told, bound=0)
        best = self._hit(greedy_union(self.sets, self.pool.n_jobs, self.need))
        self.info: dict[str, object] = {"components": len(components), "large_components": len(components) - len(small)}
        if start is not None:
            gone = set(start)
            hit = {j for j, job in enumerate(data.jobs) if gone.intersection(job.servers)}
            best = min(best, self._hit(self._chosen(hit)), key=len)
        self.incumbent.offer(len(best), best)

    @property
    def best(self) -> set[int]:
        """The jobs that the best solution preempts."""
        assert self.incumbent.solution is not None
        return self.incumbent.solution

    @property
    def bound(self) -> int:
        """How many jobs are preempted at least."""
        return self.incumbent.bound or 0

    def servers(self) -> list[str]:
        """The servers of the best solution."""
        return self._servers(self.best)

    def run(self) -> Termination:
        if not self.large:
            self._improve(set(self.curve.jobs(self.need)))
            self.incumbent.raise_bound(len(self.best))
            return "finished"
        solved = self._program(None)
        if self._gap() > 0:
            self._anneal_jobs(FEW_MOVES)
        if 0 < self._gap() <= HARD and not self.clock.expired:
            solved = self._program(ROOT)
        if self._gap() > 0 and not self.clock.expired:
            for _ in range(2):
                self._anneal_servers(MOVES)
                self._anneal_jobs(MOVES)
            if self._gap() > WEAK and len(self.sets) <= FEW_SERVERS:
                solved = self._program({**SEARCH, "mip_max_nodes": FEW_NODES})
            if self._gap() > WEAK and not self.clock.expired:
                self._spectral()
        if self._gap() > 0 and not self.clock.expired:
            solved = self._program(SEARCH)
        if self._gap() == 0:
            return "finished"
        return "time_limit" if self.clock.expired else solved.termination

    def _program(self, extra: dict[str, object] | None) -> Solved:
        """z_j: job j is preempted; x_g: share of the servers of kind g that go back; u_k: small components give k.

        A kind has x only if it hosts several jobs; the servers of a single job count with its z. Without `extra`
        HiGHS options it is the linear relaxation that is solved.
        """
        pool, jobs = self.pool, sorted(self.pool.preempted(self.large))
        column = {j: i for i, j in enumerate(jobs)}
        shared = [g for g in self.large if len(pool.jobs[g]) > 1]  # a server of one job goes with it
        n_z, n_x, n_u = len(jobs), len(shared), len(self.curve.least)
        alone = np.zeros(n_z)
        for g in self.large:
            if len(pool.jobs[g]) == 1:
                alone[column[pool.jobs[g][0]]] += len(pool.members[g])
        pairs = [(i, column[j]) for i, g in enumerate(shared) for j in pool.jobs[g]]
        kinds, hit = (np.array(part) for part in zip(*pairs, strict=True))
        rows = np.arange(len(pairs))
        freed_only_if_hit = sparse.coo_array(
            (np.repeat([1.0, -1.0], len(pairs)), (np.tile(rows, 2), np.concatenate([hit, n_z + kinds]))),
            shape=(len(pairs), n_z + n_x + n_u),
        )
        freed = np.concatenate([alone, pool.count[shared], np.arange(n_u)])
        one_u = np.concatenate([np.zeros(n_z + n_x), np.ones(n_u)])
        cost = np.concatenate([np.ones(n_z), np.zeros(n_x), self.curve.least])
        far = math.inf
        whole = np.concatenate([np.ones(n_z, bool), np.zeros(n_x, bool), np.ones(n_u, bool)])
        model = LinearModel(
            cost=cost,
            matrix=sparse.vstack([freed_only_if_hit, sparse.coo_array(np.stack([freed, one_u]))]),
            row_lower=np.concatenate([np.zeros(len(pairs)), [self.need, 1.0]]),
            row_upper=np.concatenate([np.full(len(pairs), far), [far, 1.0]]),
            upper=1.0,
            integer=whole & (extra is not None),
        )

        def jobs_of(x: FloatArray) -> set[int]:
            k = int(np.argmax(x[n_z + n_x :]))
            return {jobs[i] for i in np.flatnonzero(x[:n_z] > 0.5)} | set(self.curve.jobs(k))

        def watch(x: FloatArray | None, bound: float | None) -> None:
            if x is not None:
                self._improve(jobs_of(x))
            if bound is not None:
                self.incumbent.raise_bound(whole_bound(bound))

        left = None if self.options.time_limit is None else max(self.clock.remaining_s, 1e-3)
        solved = solve_arrays(
            model,
            replace(self.options, time_limit=left, gap=0.0),
            start=self._values(column, shared, alone, n_u),
            watch=watch,
            extra={"mip_abs_gap": CLOSE, **(extra or {})},
        )
        watch(solved.x if extra is not None else None, solved.bound)
        self.info["nodes"] = solved.info["nodes"]
        return solved

    def _values(self, column: dict[int, int], shared: Sequence[int], alone: FloatArray, n_u: int) -> FloatArray:
        """The best solution so far as values of the program's variables."""
        z = np.array([float(j in self.best) for j in column])
        x = np.array([float(self.best.issuperset(self.pool.jobs[g])) for g in shared])
        given = int(alone @ z + self.pool.count[list(shared)] @ x)
        u = np.zeros(n_u)
        u[min(max(0, self.need - given), n_u - 1)] = 1.0
        return np.concatenate([z, x, u])

    def _spectral(self) -> None:
        """Rule out numbers of jobs from below by the spectral bound, on all servers at once."""
        if self.pool.n_jobs > LARGEST_SPECTRAL:
            return
        limit = self.options.time_limit
        until = math.inf if limit is None else self.clock.wall_s + SPECTRAL_SHARE * self.clock.remaining_s
        spectral = SpectralBound(self.sets, self.pool.n_jobs, lambda: self.clock.wall_s > until)
        low, high = max(self.bound, 1), len(self.best)  # low is not ruled out yet, high is reached
        smoothing: Sequence[float] = SMOOTHING
        while low < high and self.clock.wall_s <= until:
            middle = (low + high) // 2
            if spectral.most_freed(middle, smoothing) < self.need:
                low = middle + 1
                self.incumbent.raise_bound(low)
            else:
                high = middle
            smoothing = SMOOTHING[-2:]
        self.info["spectral_bound"] = low

    def _anneal_servers(self, moves: int) -> None:
        start = self._chosen(self.best)
        self._improve(self._hit(anneal_union(self.sets, self.pool.n_jobs, start, self.options.seed, moves)))

    def _anneal_jobs(self, moves: int) -> None:
        pool = self.pool
        self._improve(
            anneal_jobs(pool.jobs, pool.count.tolist(), pool.n_jobs, self.best, self.need, self.options.seed, moves)
        )

    def _gap(self) -> float:
        """The relative gap between the best solution and the best bound."""
        return max(0, len(self.best) - self.bound) / max(1, len(self.best))

    def _hit(self, chosen: Sequence[int]) -> set[int]:
        return {j for s in chosen for j in self.sets[s]}

    def _chosen(self, jobs: set[int]) -> list[int]:
        return [s for s, on in enumerate(self.sets) if jobs.issuperset(on)][: self.need]

    def _improve(self, jobs: set[int]) -> None:
        jobs = self._hit(self._chosen(jobs))
        self.incumbent.offer(len(jobs), jobs)

    def _servers(self, jobs: set[int]) -> list[str]:
        return self.pool.servers(jobs, self.data.reclaim)
