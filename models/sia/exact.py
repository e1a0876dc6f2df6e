"""The fast exact method: a relaxation with cuts, fixing by reduced costs, and integer programs over what is left.

1. A good schedule (`greedy`, `improve`) and the bound of the linear relaxation with cuts (`relaxation`, `cuts`).
2. Starts whose reduced cost exceeds what is left between the two are excluded, and better schedules sought in the
   order of starts drawn from the relaxation.
3. The rows with a price make components of jobs; their optima add up to a bound (`conflicts`). The schedule that goes
   with it breaks capacity at some slots: these get rows, and so on, until nothing is broken, which proves it
   optimal, or until the bound reaches the best schedule.
"""

from __future__ import annotations

import numpy as np

from instances import Answer, Options, Report, Solution, Stopwatch
from instances.method import method
from instances.result import Termination, TracePoint
from instances.sia import SiaOracle
from models.incumbent import Incumbent
from models.sia.arrays import (
    MOST_STARTS,
    MOST_STEPS,
    IntArray,
    OracleArrays,
    coarse,
    narrowed,
    oracle_arrays,
    solution_of,
)
from models.sia.columns import Columns
from models.sia.conflicts import Component, Outcome, components, solve_component
from models.sia.direct import direct
from models.sia.greedy import pull_forward
from models.sia.improve import advance, improve, in_order
from models.sia.opening import least_objective, opening
from models.sia.relaxation import Relaxation
from models.sia.rows import Row, capacity_row, cover_row

PLAIN = Options()
MANY_STARTS = 1_000_000  # from which on it pays to look for a good schedule before anything is built
CLOSE_ENOUGH = 0.002  # of the relaxation's bound to its value, as a share of what is left to the schedule

# Cuts and search take turns.
CUTTING, SEARCHING = 0.5, 0.4  # shares of the time left that a turn of either may take
PATIENCE, GAIN = 5, 0.005  # in so many rounds of cuts the bound has to gain this share of what is left
WORTH_SEARCHING = 20  # slots left between schedule and bound
FIRST_TRIES, TRIES, BATCHES = 200, 500, 2  # of the first search and of later ones, for each job in a batch
MANY, FEW_SEARCHES = 8, 1  # searches in a row that find nothing better, which end it: with many candidates, with few
WORTH = 0.01  # share of what is left that a turn of both has to gain to be followed by another

# Integer programs.
MODERATE = 12_000  # candidate starts that HiGHS can be given
SHARE = 0.4  # of the time left, for one component
FEW = 500  # slots left between schedule and bound for which components are solved to the end at once
COARSE = 0.02  # or else to this share of what is left, at first
CLOSED = 0.99  # an absolute gap in slots that closes a whole-numbered problem
LEAST_NEW = 24  # rows that may be new after a round; more where there are many already


@method("exact")
def exact(data: SiaOracle, options: Options, report: Report, start: Solution | None = None) -> Answer:
    """The schedule of least delay that keeps every cut-off, or the best one found, with a valid bound.

    Without a time limit it ends with a proof. `start` is a feasible solution to improve on; besides it the schedule
    without sharing is at hand wherever it keeps the cut-offs, and is told before anything is built. With fairness in
    the objective, or where no schedule is at hand, the time-indexed model is given to HiGHS as a whole (`direct`).
    Of windows of more than MOST_STARTS starts in all no model is built: the answer is a good schedule, with a reason.
    Raises InputError for a `start` that breaks a constraint.
    """
    clock = Stopwatch(options.time_limit)
    found = opening(data, start)
    report(found, least_objective(data))
    arrays = oracle_arrays(data)
    plan = arrays.cutoff if arrays.feasible(arrays.cutoff) else None
    best = plan if found is None else arrays.starts_of(data, found)
    if data.fairness_weight or best is None:
        return direct(data, options, report, start)
    if arrays.starts > MANY_STARTS and plan is not None and arrays.horizon <= MOST_STEPS:
        arrays, best = _narrow(arrays, plan, best, clock)
        plan = arrays.cutoff if arrays.feasible(arrays.cutoff) else None
        report(solution_of(data, arrays, best), 0.0)
    if arrays.starts > MOST_STARTS:
        return direct(data, options, report, solution_of(data, arrays, best))
    proof = _Proof(data, arrays, options, report, clock, best, best if plan is None else plan)
    build_s = clock.cpu_s
    termination = proof.run()
    return Answer(
        solution=solution_of(data, arrays, proof.best),
        bound=float(proof.bound * arrays.slot),
        termination=termination,
        build_s=build_s,
        solve_s=clock.cpu_s - build_s,
        trace=tuple(proof.trace),
        info=proof.info,
    )


def _narrow(arrays: OracleArrays, plan: IntArray, best: IntArray, clock: Stopwatch) -> tuple[OracleArrays, IntArray]:
    """The arrays with windows as long as all delays of a good schedule together, and that schedule in them."""
    found = min(best, _forward(arrays, plan, clock), key=arrays.delay)
    narrow = narrowed(arrays, arrays.delay(found))
    return narrow, narrow.submit + found - arrays.submit


def _forward(arrays: OracleArrays, plan: IntArray, clock: Stopwatch) -> IntArray:
    """A good schedule from a feasible `plan`."""
    orders = (arrays.duration * arrays.gpus).astype(float), arrays.duration.astype(float)
    found = min((pull_forward(arrays, plan, order, clock) for order in orders), key=arrays.delay)
    return advance(arrays, found, clock)


class _Proof:
    """The best schedule (J,), the best bound in steps, and what has been learnt of the components so far.

    `plan` is a feasible schedule that leaves jobs as much time as one can. Rows are those of `columns.arrays`, which
    may be coarser than `arrays`: a schedule that keeps them and is too wide all the same gets rows of its own.
    """

    def __init__(
        self,
        data: SiaOracle,
        arrays: OracleArrays,
        options: Options,
        report: Report,
        clock: Stopwatch,
        best: IntArray,
        plan: IntArray,
    ) -> None:
        self.arrays, self.options, self.clock, self.plan = arrays, options, clock, plan
        self.columns = Columns(coarse(arrays))

        def told(starts: IntArray | None, bound: int | None) -> None:
            report(None if starts is None else solution_of(data, arrays, starts), float((bound or 0) * arrays.slot))

        self.incumbent: Incumbent[IntArray, int] = Incumbent("minimize", clock, told, gap=options.gap, bound=0)
        self._offer(best)
        self.info: dict[str, float] = {}
        self._known: dict[Component, Outcome] = {}
        self._rng = np.random.default_rng(options.seed)
        self._rounds = self._turns = 0

    @property
    def best(self) -> IntArray:
        """The best schedule (J,)."""
        assert self.incumbent.solution is not None
        return self.incumbent.solution

    @property
    def delay(self) -> int:
        """Delay of the best schedule."""
        assert self.incumbent.objective is not None
        return self.incumbent.objective

    @property
    def bound(self) -> int:
        """The best bound, in steps."""
        return self.incumbent.bound or 0

    @property
    def done(self) -> bool:
        """Whether the gap asked for is closed."""
        return self.incumbent.closed

    @property
    def trace(self) -> list[TracePoint]:
        """The incumbent's trace, in slots."""
        slot = self.arrays.slot
        return [(t, float((v or 0) * slot), float((b or 0) * slot)) for t, v, b in self.incumbent.trace]

    def run(self) -> Termination:
        """Improve schedule and bound until they meet or the time is over."""
        self._start()
        gained = True
        while gained and not self.done and self._exclude():
            if (limit := self._limit()) is not None:
                return limit
            self._turns += 1
            before = self.delay - self.bound
            self._cut()
            if self.delay - self.bound >= WORTH_SEARCHING:
                self._search(MANY if self._size() > MODERATE else FEW_SEARCHES)
            gained = before - (self.delay - self.bound) > WORTH * before and self._size() > MODERATE
        return self._integer()

    def _limit(self) -> Termination | None:
        """The limit that is reached, of time or of effort: turns of cutting and searching, rounds of programs."""
        if self.clock.expired:
            return "time_limit"
        effort = self.options.effort
        return "effort_limit" if effort is not None and max(self._turns, self._rounds) >= effort else None

    def _integer(self) -> Termination:
        """Integer programs until schedule and bound meet or the time is over."""
        rows = self._relaxation.tight
        left = self.delay - self.bound
        tolerance = CLOSED if left < FEW else COARSE * left
        while not self.done and self._exclude():
            if (limit := self._limit()) is not None:
                return limit
            self._rounds += 1
            broken = self._round(rows, tolerance)
            if not broken:
                tolerance = max(CLOSED, tolerance / 4)
            rows = rows + broken[: max(LEAST_NEW, len(rows) // 4)]
            self.info |= {"rounds": self._rounds, "rows": len(rows)}
        return self._finish()

    def _size(self) -> int:
        """Candidate starts that the integer programs would have."""
        if not self._exclude():
            return 0
        return sum(part.size for part in components(self.columns, self._relaxation.tight)[0])

    def _finish(self) -> Termination:
        if not self.done:
            self.incumbent.raise_bound(self.delay)  # a job has no start left: no schedule is better
        return "finished"

    def _exclude(self) -> bool:
        """Close the columns that no better schedule can contain; whether each job has a start left."""
        self._relaxation.close(self.delay)
        return self.columns.every_job_open()

    def _start(self) -> None:
        """A schedule and the relaxation's bound."""
        arrays = self.arrays
        self._offer(_forward(arrays, self.plan, self.clock))
        self._relaxation = Relaxation(self.columns, self.best)
        self._relaxation.converge(self.delay, self.clock, CLOSE_ENOUGH)
        self.info |= {"relaxation": self._relaxation.value, "columns": len(self.columns.job)}
        self.incumbent.raise_bound(self._relaxation.bound)
        if self.delay - self.bound >= WORTH_SEARCHING:
            self._improve(self.best, self._searching(), FIRST_TRIES)

    def _searching(self) -> Stopwatch:
        return Stopwatch(SEARCHING * self.clock.remaining_s)

    def _improve(self, starts: IntArray, clock: Stopwatch, tries: int = TRIES) -> None:
        seed = int(self._rng.integers(2**31))
        self._offer(improve(self.arrays, starts, clock, seed=seed, tries=tries, batches=BATCHES, stop=self.bound))

    def _search(self, patience: int) -> None:
        """Improve schedules in the order of starts drawn from the relaxation, which knows better what should wait."""
        clock, stale = self._searching(), 0
        while stale < patience and not clock.expired and not self.done:
            before = self.delay
            starts = in_order(self.arrays, self._relaxation.sample(self._rng))
            if starts is not None:
                self._improve(starts, clock)
            stale = stale + 1 if self.delay == before else 0

    def _cut(self) -> None:
        """Rounds of cuts, as long as they are worth it."""
        clock = Stopwatch(CUTTING * self.clock.remaining_s)
        values: list[float] = []
        while self._relaxation.converge(self.delay, clock, CLOSE_ENOUGH):
            self.incumbent.raise_bound(self._relaxation.bound)
            values.append(self._relaxation.value)
            gained = values[-1] - values[-1 - PATIENCE] if len(values) > PATIENCE else float("inf")
            if gained < GAIN * (self.delay - values[-1]) or self.done:
                break
            if not self.columns.every_job_open() or not self._relaxation.cut():
                break
        self.incumbent.raise_bound(self._relaxation.bound)
        rounds = int(self.info.get("cut_rounds", 0)) + len(values)
        self.info |= {"relaxation_with_cuts": self._relaxation.value, "cut_rounds": rounds}

    def _round(self, rows: list[Row], tolerance: float) -> list[Row]:
        """Solve the components of `rows`; capacity rows that their schedule breaks, or that could tell them apart."""
        arrays = self.arrays
        parts, starts = components(self.columns, rows)
        tied = [j for part in parts for j in part.jobs]
        apart = arrays.delay(starts) - int((starts - arrays.submit)[tied].sum())
        bounds = [self._known[part].bound if part in self._known else _least(part, arrays.submit) for part in parts]
        starts[tied] = self.best[tied]
        for k in sorted(range(len(parts)), key=lambda k: parts[k].size):
            part = parts[k]
            cutoff = self.delay - 1 - apart - (sum(bounds) - bounds[k])
            outcome = self._solve(part, cutoff, tolerance)
            bounds[k] = max(bounds[k], outcome.bound)
            if bounds[k] > cutoff:  # the others' bounds leave too little for this one: no schedule is better
                self.incumbent.raise_bound(self.delay)
                return []
            if outcome.starts is not None:
                starts[list(part.jobs)] = outcome.starts
        self.incumbent.raise_bound(apart + sum(bounds))
        use = arrays.use(starts)
        if use.max() <= arrays.capacity:
            self._offer(starts)
        else:
            self._repair(starts)
        known = {row.key for row in rows}
        new = [capacity_row(self.columns.arrays, t) for t in _broken(use, arrays.capacity)]
        new = [row if row.key not in known else cover_row(arrays, starts, row.first) for row in new]
        return [row for row in new if row.key not in known]

    def _solve(self, part: Component, cutoff: int, tolerance: float) -> Outcome:
        known = self._known.get(part)
        if known is not None and (known.closed or known.tolerance <= tolerance):
            return known
        left = self.clock.remaining_s
        limit = None if left == float("inf") else max(0.1, min(left, max(10.0, SHARE * left)))
        options = Options(time_limit=limit, threads=self.options.threads, seed=self.options.seed)
        outcome = solve_component(self.columns, part, options, cutoff=cutoff, tolerance=tolerance)
        self._known[part] = outcome
        return outcome

    def _repair(self, starts: IntArray) -> None:
        """Schedules in the order of `starts`, which breaks capacity somewhere."""
        arrays, order = self.arrays, starts.astype(float)
        plans = (pull_forward(arrays, plan, order, self.clock) for plan in (self.best, self.plan))
        self._offer(advance(arrays, min(plans, key=arrays.delay), self.clock))

    def _offer(self, starts: IntArray) -> None:
        self.incumbent.offer(self.arrays.delay(starts), starts.copy())


def _least(part: Component, submit: IntArray) -> int:
    return sum(starts[0] - int(submit[j]) for j, starts in zip(part.jobs, part.candidates, strict=True))


def _broken(use: IntArray, capacity: int) -> list[int]:
    """Slots for new rows: first and last of each peak of `use` over `capacity`, and the last of each overfull stretch.

    The highest peaks first. A row at the last slot lets a job start right behind the peak.
    """
    over = np.flatnonzero(use > capacity)
    found: list[int] = []
    for stretch in np.split(over, np.flatnonzero(np.diff(over) > 1) + 1):
        if not len(stretch):
            continue
        level = np.concatenate([[0], use[stretch], [0]])
        rises, falls = np.flatnonzero(np.diff(level) > 0), np.flatnonzero(np.diff(level) < 0)
        for begin in rises:
            end = falls[np.searchsorted(falls, begin)]
            if not ((rises > begin) & (rises < end)).any():
                found += [int(stretch[begin]), int(stretch[end - 1])]
        found.append(int(stretch[-1]))
    return sorted(set(found), key=lambda t: (-use[t], t))
