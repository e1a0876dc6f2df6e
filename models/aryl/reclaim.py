"""Which loaned servers go back: the fast exact method for the least union of k sets (Aryl, section 4).

Idle servers go first. If the bound of the linear relaxation does not prove the greedy choice, simulated annealing
improves the choice and a branch and bound over closures proves it. A spectral bound helps if the linear one is weak.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from instances import Answer, Options, Report, Stopwatch
from instances.aryl import ArylReclaim
from instances.result import Termination
from models.aryl.annealing import anneal_jobs, greedy_union
from models.aryl.closure_tree import ClosureTree
from models.aryl.parameters import DEFAULTS, AnnealingParameters, ReclaimParameters
from models.aryl.server_groups import ServerGroups
from models.aryl.spectral import FINE, FINE_STEPS, SMOOTHING, SpectralBound
from models.bounds import whole_bound
from models.highs import LinearModel, solve_arrays
from models.incumbent import Incumbent


def relaxation(groups: ServerGroups, need: int) -> LinearModel:
    """Return the linear relaxation: fewest jobs z, of which some free a share x of each group with several jobs.

    A group with one job is free as far as this job is in z.
    """
    shared = [g for g, jobs in enumerate(groups.jobs) if len(jobs) > 1]
    alone = np.zeros(groups.n_jobs)
    for jobs, servers in zip(groups.jobs, groups.count, strict=True):
        if len(jobs) == 1:
            alone[jobs[0]] += servers
    pairs = [(i, j) for i, g in enumerate(shared) for j in groups.jobs[g]]
    share, hit = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    rows = np.arange(len(hit))
    free_only_if_hit = sparse.coo_array(
        (np.repeat([1.0, -1.0], len(hit)), (np.tile(rows, 2), np.concatenate([hit, groups.n_jobs + share]))),
        shape=(len(hit), groups.n_jobs + len(shared)),
    )
    return LinearModel(
        cost=np.concatenate([np.ones(groups.n_jobs), np.zeros(len(shared))]),
        matrix=sparse.vstack([free_only_if_hit, np.concatenate([alone, groups.count[shared]])[None]]),
        row_lower=np.append(np.zeros(len(hit)), need),
        row_upper=math.inf,
        upper=1.0,
    )


def solve_reclaim(
    data: ArylReclaim,
    options: Options,
    report: Report,
    start: Sequence[str] | None = None,
    parameters: ReclaimParameters = DEFAULTS.reclaim,
) -> Answer:
    """The servers whose return preempts the fewest jobs, proved, or the best ones and bound at the time limit.

    - `start`: servers to begin from, `data.reclaim` of them.
    """
    with Stopwatch() as building:
        search = _ReclaimSearch(data, options, report, start, parameters)
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


@dataclass(frozen=True)
class _Phase:
    """A step of the search: done where the relative gap is more than `above` and at most `up_to`.

    `run(until_s)` ends at that time of the search's clock, which leaves the phases after it what `share` does not take.
    """

    name: str
    run: Callable[[float], None]
    above: float = 0.0
    up_to: float = math.inf
    share: float = 1.0


class _ReclaimSearch:
    """One solve: the groups of servers, the best set of jobs and the best bound."""

    def __init__(
        self,
        data: ArylReclaim,
        options: Options,
        report: Report,
        start: Sequence[str] | None,
        parameters: ReclaimParameters,
    ) -> None:
        self.clock = Stopwatch(options.time_limit)
        self.data, self.options, self.parameters = data, options, parameters
        self.groups = ServerGroups.of(data)
        self.need = max(0, data.reclaim - len(self.groups.idle))
        self.sets = [jobs for g, jobs in enumerate(self.groups.jobs) for _ in self.groups.members[g]]
        self.tree: ClosureTree | None = None
        self.termination: Termination = "finished"

        def reported(jobs: set[int] | None, bound: int | None) -> None:
            report(None if jobs is None else {"servers": self._servers(jobs)}, float(bound or 0))

        self.incumbent: Incumbent[set[int], int] = Incumbent("minimize", self.clock, reported, bound=0)
        best = self._hit(greedy_union(self.sets, self.groups.n_jobs, self.need))
        self.info: dict[str, object] = {"nodes": 0}
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

    @property
    def gap(self) -> float:
        """The relative gap between the best solution and the best bound."""
        return (len(self.best) - self.bound) / len(self.best) if self.best else 0.0

    def servers(self) -> list[str]:
        """The servers of the best solution."""
        return self._servers(self.best)

    def run(self) -> Termination:
        """Do one phase after the other until the gap is closed or time is out."""
        for phase in self.phases():
            if phase.above < self.gap <= phase.up_to:
                phase.run(self.clock.spent_s + phase.share * self.clock.remaining_s)
            if self.gap <= self.options.gap:
                return "finished"
            if self.clock.expired:
                return "time_limit"
        return self.termination

    def phases(self) -> tuple[_Phase, ...]:
        """The phases of the search, in order."""
        p = self.parameters
        small_tree = math.inf if len(self.sets) <= p.few_servers else p.weak
        return (
            _Phase("linear relaxation", self._relax),
            _Phase("short annealing", lambda until_s: self._anneal_jobs(p.short)),
            _Phase("root of the tree", lambda until_s: self._branch(until_s, 1)),
            _Phase("long annealing", lambda until_s: self._anneal(p.long)),
            _Phase("small tree", lambda until_s: self._branch(until_s, p.few_nodes), up_to=small_tree),
            _Phase("spectral bound", self._spectral, above=p.open, share=p.spectral_share),
            _Phase("tree", lambda until_s: self._branch(until_s, None)),
        )

    def _relax(self, until_s: float) -> None:
        """Solve the linear relaxation of the integer program."""
        left = None if until_s == math.inf else max(until_s - self.clock.spent_s, 1e-3)
        solved = solve_arrays(relaxation(self.groups, self.need), replace(self.options, time_limit=left, gap=0.0))
        if solved.bound is not None:
            self.incumbent.raise_bound(whole_bound(solved.bound))

    def _branch(self, until_s: float, nodes: int | None) -> None:
        """Go on with the branch and bound, up to `nodes` nodes in all, until it is done or time or effort is out."""
        if self.tree is None:
            self.tree = ClosureTree(self.groups, self.need, self.best, self.parameters.closures)
        tree, effort = self.tree, self.options.effort
        most = min(n for n in (nodes, effort, math.inf) if n is not None)
        tree.offer(self.best)
        while not tree.done and tree.nodes < most and self.clock.spent_s < until_s and self.gap > self.options.gap:
            tree.run(1)
            if tree.fewest < len(self.best):
                self._improve(tree.best)
            self.incumbent.raise_bound(tree.bound)
        self.info["nodes"] = tree.nodes
        if effort is not None and tree.nodes >= effort and not tree.done:
            self.termination = "effort_limit"

    def _spectral(self, until_s: float) -> None:
        """Rule out numbers of jobs from below by the spectral bound, on all servers at once."""
        if self.groups.n_jobs > self.parameters.spectral_jobs:
            return
        spectral = SpectralBound(self.sets, self.groups.n_jobs, lambda: self.clock.spent_s > until_s)
        low, high = max(self.bound, 1), len(self.best)  # Of `low` jobs nothing is known yet; `high` jobs do.
        smoothing: Sequence[float] = SMOOTHING
        jobs = (low + high) // 2
        while low < high and self.clock.spent_s <= until_s:
            freed = spectral.most_freed(jobs, smoothing)
            if freed < self.need:
                low = jobs + 1
                self.incumbent.raise_bound(low)
            else:
                high = jobs
            if freed < math.inf:  # The servers that a job frees hardly change with the number of jobs.
                jobs = math.ceil(jobs * self.need / max(freed, 1.0))
            jobs, smoothing = max(low, min(jobs, high - 1)), SMOOTHING[-2:]
        while low < len(self.best) and spectral.most_freed(low, FINE, FINE_STEPS) < self.need:
            low += 1
            self.incumbent.raise_bound(low)
        self.info["spectral_bound"] = low

    def _anneal(self, parameters: AnnealingParameters) -> None:
        """Swap jobs at length, more than once."""
        for _ in range(self.parameters.long_runs):
            if self.clock.expired:
                break
            self._anneal_jobs(parameters)

    def _anneal_jobs(self, parameters: AnnealingParameters) -> None:
        jobs, size, n = self.groups.jobs, self.groups.count.tolist(), self.groups.n_jobs
        self._improve(anneal_jobs(jobs, size, n, self.best, self.need, self.options.seed, parameters))

    def _hit(self, chosen: Sequence[int]) -> set[int]:
        return {j for s in chosen for j in self.sets[s]}

    def _chosen(self, jobs: set[int]) -> list[int]:
        return [s for s, on in enumerate(self.sets) if jobs.issuperset(on)][: self.need]

    def _improve(self, jobs: set[int]) -> None:
        jobs = self._hit(self._chosen(jobs))
        self.incumbent.offer(len(jobs), jobs)

    def _servers(self, jobs: set[int]) -> list[str]:
        return self.groups.servers(jobs, self.data.reclaim)
