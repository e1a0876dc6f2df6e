"""The fast exact method for the minimum union of k sets: which loaned servers to return (Aryl, section 4).

The phases are those of docs/aryl-method.md. Idle servers are returned first.
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
from models.aryl.annealing import anneal_jobs, choose_greedily
from models.aryl.closure_tree import ClosureTree
from models.aryl.parameters import DEFAULTS, AnnealingParameters, ReclaimParameters
from models.aryl.server_groups import ServerGroups
from models.aryl.spectral import FINE, FINE_STEPS, SMOOTHING, SpectralBound
from models.core.highs import LinearModel, solve_arrays
from models.core.incumbent import Incumbent
from models.core.safe_bounds import whole_bound


def solve_reclaim(
    data: ArylReclaim,
    options: Options,
    report: Report,
    start: Sequence[str] | None = None,
    parameters: ReclaimParameters = DEFAULTS.reclaim,
) -> Answer:
    """Minimise the number of preempted jobs; return the best servers and a lower bound.

    - `start`: `data.reclaim` servers to begin from.
    """
    with Stopwatch() as building:
        search = _ReclaimSearch(data, options, report, start, parameters)
    with Stopwatch() as solving:
        termination = search.run()
    return Answer(
        solution={"servers": search.list_servers(search.best)},
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
    """A phase of the search. It runs if the relative gap is more than `above` and at most `up_to`.

    `run(until_s)` ends at that time of the search's clock; `share` is the phase's share of the remaining time.
    """

    name: str
    run: Callable[[float], None]
    above: float = 0.0
    up_to: float = math.inf
    share: float = 1.0


class _ReclaimSearch:
    """The groups of servers, the best set of jobs and the best bound of one instance."""

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
        self.groups = ServerGroups.from_data(data)
        self.need = max(0, data.reclaim - len(self.groups.idle))
        self.sets = [jobs for g, jobs in enumerate(self.groups.jobs) for _ in self.groups.members[g]]
        self.tree: ClosureTree | None = None
        self.termination: Termination = "finished"

        def report_incumbent(jobs: set[int] | None, bound: int | None) -> None:
            report(None if jobs is None else {"servers": self.list_servers(jobs)}, float(bound or 0))

        self.incumbent: Incumbent[set[int], int] = Incumbent("minimize", self.clock, report_incumbent, bound=0)
        best = self._unite(choose_greedily(self.sets, self.groups.n_jobs, self.need))
        self.info: dict[str, object] = {"nodes": 0}
        if start is not None:
            returned = set(start)
            hit = {j for j, job in enumerate(data.jobs) if returned.intersection(job.servers)}
            best = min(best, self._remove_unneeded(hit), key=len)
        self.incumbent.offer(len(best), best)

    @property
    def best(self) -> set[int]:
        """The jobs that the best solution preempts."""
        assert self.incumbent.solution is not None
        return self.incumbent.solution

    @property
    def bound(self) -> int:
        """The lower bound on the number of preempted jobs."""
        return self.incumbent.bound or 0

    @property
    def gap(self) -> float:
        """The relative gap between the best solution and the best bound."""
        return (len(self.best) - self.bound) / len(self.best) if self.best else 0.0

    def list_servers(self, jobs: set[int]) -> list[str]:
        """List the servers to return if `jobs` are preempted."""
        return self.groups.list_servers(jobs, self.data.reclaim)

    def run(self) -> Termination:
        """Run the phases until the gap is closed or the time limit is reached."""
        for phase in self.list_phases():
            if phase.above < self.gap <= phase.up_to:
                phase.run(self.clock.cpu_spent_s + phase.share * self.clock.remaining_s)
            if self.gap <= self.options.gap:
                return "finished"
            if self.clock.has_expired:
                return "time_limit"
        return self.termination

    def list_phases(self) -> tuple[_Phase, ...]:
        """List the phases of the search in their order."""
        p = self.parameters
        small_tree = math.inf if len(self.sets) <= p.few_servers else p.weak
        return (
            _Phase("linear relaxation", self._relax),
            _Phase("short annealing", lambda until_s: self._anneal_jobs(p.short)),
            _Phase("root of the tree", lambda until_s: self._branch(until_s, 1)),
            _Phase("long annealing", lambda until_s: self._anneal(p.long)),
            _Phase("small tree", lambda until_s: self._branch(until_s, p.few_nodes), up_to=small_tree),
            _Phase("spectral bound", self._bound_spectrally, above=p.open, share=p.spectral_share),
            _Phase("tree", lambda until_s: self._branch(until_s, None)),
        )

    def _relax(self, until_s: float) -> None:
        """Solve the linear relaxation of the integer program."""
        limit = None if until_s == math.inf else max(until_s - self.clock.cpu_spent_s, 1e-3)
        solved = solve_arrays(
            build_relaxation(self.groups, self.need), replace(self.options, time_limit=limit, gap=0.0)
        )
        if solved.bound is not None:
            self.incumbent.raise_bound(whole_bound(solved.bound))

    def _branch(self, until_s: float, nodes: int | None) -> None:
        """Continue the branch and bound up to `nodes` nodes in total, or until another limit is reached."""
        if self.tree is None:
            self.tree = ClosureTree(self.groups, self.need, self.best, self.parameters.closures)
        tree, effort = self.tree, self.options.effort
        max_nodes = min(n for n in (nodes, effort, math.inf) if n is not None)
        tree.offer(self.best)
        while (
            not tree.is_done
            and tree.nodes < max_nodes
            and self.clock.cpu_spent_s < until_s
            and self.gap > self.options.gap
        ):
            tree.run(1)
            if tree.min_jobs < len(self.best):
                self._improve(tree.best)
            self.incumbent.raise_bound(tree.bound)
        self.info["nodes"] = tree.nodes
        if effort is not None and tree.nodes >= effort and not tree.is_done:
            self.termination = "effort_limit"

    def _bound_spectrally(self, until_s: float) -> None:
        """Raise the bound by the spectral bound: search the largest number of jobs that cannot free enough servers."""
        if self.groups.n_jobs > self.parameters.spectral_jobs:
            return
        spectral = SpectralBound(self.sets, self.groups.n_jobs, lambda: self.clock.cpu_spent_s > until_s)
        low, high = max(self.bound, 1), len(self.best)  # `low` jobs are not refuted yet; `high` jobs cannot be
        smoothing: Sequence[float] = SMOOTHING
        jobs = (low + high) // 2
        while low < high and self.clock.cpu_spent_s <= until_s:
            freed = spectral.bound_freed(jobs, smoothing)
            if freed < self.need:
                low = jobs + 1
                self.incumbent.raise_bound(low)
            else:
                high = jobs
            if freed < math.inf:  # the servers freed per job depend little on the number of jobs
                jobs = math.ceil(jobs * self.need / max(freed, 1.0))
            jobs, smoothing = max(low, min(jobs, high - 1)), SMOOTHING[-2:]
        while low < len(self.best) and spectral.bound_freed(low, FINE, FINE_STEPS) < self.need:
            low += 1
            self.incumbent.raise_bound(low)
        self.info["spectral_bound"] = low

    def _anneal(self, parameters: AnnealingParameters) -> None:
        """Run the long annealing several times."""
        for _ in range(self.parameters.long_runs):
            if self.clock.has_expired:
                break
            self._anneal_jobs(parameters)

    def _anneal_jobs(self, parameters: AnnealingParameters) -> None:
        jobs, size, n = self.groups.jobs, self.groups.count.tolist(), self.groups.n_jobs
        self._improve(anneal_jobs(jobs, size, n, self.best, self.need, self.options.seed, parameters))

    def _improve(self, jobs: set[int]) -> None:
        jobs = self._remove_unneeded(jobs)
        self.incumbent.offer(len(jobs), jobs)

    def _unite(self, servers: Sequence[int]) -> set[int]:
        return {j for s in servers for j in self.sets[s]}

    def _remove_unneeded(self, jobs: set[int]) -> set[int]:
        """Return the jobs on the first `need` servers that `jobs` free."""
        return self._unite([s for s, on in enumerate(self.sets) if jobs.issuperset(on)][: self.need])


def build_relaxation(groups: ServerGroups, need: int) -> LinearModel:
    """Build the linear relaxation: minimise the jobs z such that they free `need` servers.

    A group with several jobs has a variable for the freed share of its servers. A group with one job is freed to the
    extent that this job is in z.
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
