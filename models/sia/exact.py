"""The fast exact method: relaxation, fixing by reduced costs, and integer programs over the slots in conflict.

1. A good schedule (`greedy`, `improve`) and the bound of the linear relaxation (`relaxation`).
2. Starts whose reduced cost exceeds what is left between the two are excluded.
3. Capacity rows at the slots with a price make components of jobs; their optima add up to a bound (`conflicts`).
   The schedule that goes with it breaks capacity at other slots: these get rows, and so on, until nothing is broken,
   which proves it optimal, or until the bound reaches the best schedule.
"""

from __future__ import annotations

import numpy as np

from instances import Answer, Options, Report, Result, Stopwatch, conclude, ignore
from instances.result import Termination, TracePoint
from instances.sia import SiaOracle
from models.sia.arrays import IntArray, oracle_arrays, solution_of
from models.sia.columns import SCALE, Columns
from models.sia.conflicts import Component, Outcome, components, solve_component
from models.sia.direct import direct
from models.sia.greedy import pull_forward
from models.sia.improve import improve
from models.sia.relaxation import relax

PLAIN = Options()
CLOSE_ENOUGH = 0.01  # of the relaxation's bound to its value, as a share of what is left to the schedule
SHARE = 0.4  # of the time left, for one component
COARSE = 0.02  # a component is first solved to this share of what is left between schedule and bound
FEW = 500  # slots left between schedule and bound for which components are solved to the end at once
CLOSED = 0.99  # an absolute gap in slots that closes a whole-numbered problem
MODERATE = 6_000  # candidate starts that the first components have together
LEAST_NEW = 24  # slots that may get rows after a round; more where there are many already
BATCHES = 4  # of search for a first schedule


def exact(data: SiaOracle, options: Options = PLAIN, report: Report = ignore) -> Result:
    """The schedule of least delay that keeps every cut-off, or the best one found, with a valid bound.

    Without a time limit it ends with a proof. With fairness in the objective, or with cut-offs that the pools could
    not keep by themselves, the time-indexed model is given to HiGHS as a whole (`direct`).
    """
    clock = Stopwatch(options.time_limit)
    arrays = oracle_arrays(data)
    if data.fairness_weight or not arrays.feasible(arrays.cutoff):
        return direct(data, options, report)
    proof = _Proof(data, options, report, clock)
    build_s = clock.cpu_s
    termination = proof.run()
    answer = Answer(
        solution=solution_of(data, arrays, proof.best),
        bound=float(proof.bound),
        termination=termination,
        build_s=build_s,
        solve_s=clock.cpu_s - build_s,
        trace=tuple(proof.trace),
        info=proof.info,
    )
    return conclude(data, "exact", answer, options, kind="exact")


class _Proof:
    """The best schedule (J,), the best bound in slots, and what has been learnt of the components so far."""

    def __init__(self, data: SiaOracle, options: Options, report: Report, clock: Stopwatch) -> None:
        self.data, self.options, self.report, self.clock = data, options, report, clock
        self.arrays = oracle_arrays(data)
        self.columns = Columns(self.arrays)
        self.best = self.arrays.cutoff
        self.bound = 0
        self.trace: list[TracePoint] = []
        self.info: dict[str, float] = {}
        self._known: dict[Component, Outcome] = {}
        self._rounds = 0

    @property
    def delay(self) -> int:
        """Delay of the best schedule."""
        return self.arrays.delay(self.best)

    @property
    def done(self) -> bool:
        """Whether the gap asked for is closed."""
        return self.delay - self.bound <= self.options.gap * max(self.delay, 1e-9)

    def run(self) -> Termination:
        """Improve schedule and bound until they meet or the time is over."""
        self._start()
        if self.done or not self._exclude():
            return self._finish()
        slots = self._first_slots()
        left = self.delay - self.bound
        tolerance = CLOSED if left < FEW else COARSE * left
        while not self.done and self._exclude():
            if self.clock.expired:
                return "time_limit"
            self._rounds += 1
            broken = self._round(slots, tolerance)
            grown = np.union1d(slots, broken[: max(LEAST_NEW, len(slots) // 4)])
            if len(grown) == len(slots):
                tolerance = max(CLOSED, tolerance / 4)
            slots = grown
            self.info |= {"rounds": self._rounds, "slots_with_rows": len(slots)}
        return self._finish()

    def _finish(self) -> Termination:
        if not self.done:
            self._raise(self.delay)  # a job has no start left: no schedule is better
        return "finished"

    def _exclude(self) -> bool:
        """Close the columns that no better schedule can contain; whether each job has a start left."""
        bound, added = self._lagrangian
        self.columns.open &= bound + added <= (self.delay - 1) * SCALE
        return bool(np.logical_or.reduceat(self.columns.open, self.columns.offset[:-1]).all())

    def _start(self) -> None:
        """A schedule and the relaxation's bound."""
        arrays = self.arrays
        orders = (arrays.duration * arrays.gpus).astype(float), arrays.duration.astype(float)
        self._offer(min((pull_forward(arrays, arrays.cutoff, order) for order in orders), key=arrays.delay))
        relaxed = relax(self.columns, self.best, self.clock, close_enough=CLOSE_ENOUGH)
        self._prices, self._lagrangian = relaxed.prices, self.columns.lagrangian(relaxed.prices)
        self.info |= {"relaxation": relaxed.value, "relaxation_bound": relaxed.bound, "columns": len(self.columns.job)}
        self._raise(relaxed.bound)
        if not self.done:
            self._offer(improve(arrays, self.best, self.clock, seed=self.options.seed, batches=BATCHES))

    def _first_slots(self) -> IntArray:
        """Slots with a price and those that hold up a job of the best schedule, thinned out to a moderate size.

        Few rows and integer starts prove more in the same time than many rows.
        """
        delayed = self.best > self.arrays.submit
        weight = self._prices.copy()
        weight[(self.best - 1)[delayed]] += 1
        for apart in (0, 2, 5, 10, 20, 40):
            slots = _thin(weight, apart)
            size = sum(part.size for part in components(self.columns, slots)[0])
            if size <= MODERATE:
                break
        return slots

    def _round(self, slots: IntArray, tolerance: float) -> IntArray:
        """Solve the components at `slots`; the slots that their schedule breaks, or that could tell them apart."""
        arrays = self.arrays
        parts, starts = components(self.columns, slots)
        tied = [j for part in parts for j in part.jobs]
        apart = arrays.delay(starts) - int((starts - arrays.submit)[tied].sum())
        bounds = [self._known[part].bound if part in self._known else _least(part, arrays.submit) for part in parts]
        starts[tied] = self.best[tied]
        for k in sorted(range(len(parts)), key=lambda k: parts[k].size):
            part = parts[k]
            cutoff = self.delay - 1 - apart - (sum(bounds) - bounds[k])
            outcome = self._solve(part, cutoff, tolerance)
            bounds[k] = max(bounds[k], outcome.bound)
            if bounds[k] > cutoff:
                self._raise(self.delay)  # the others' bounds leave too little for this one: no schedule is better
                return np.zeros(0, dtype=np.int64)
            if outcome.starts is not None:
                starts[list(part.jobs)] = outcome.starts
        self._raise(min(self.delay, apart + sum(bounds)))
        use = arrays.use(starts)
        if use.max() <= arrays.capacity:
            self._offer(starts)
        else:
            self._repair(starts)
        return _broken(use, arrays.capacity, slots)

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
        found = min((pull_forward(arrays, plan, order) for plan in (self.best, arrays.cutoff)), key=arrays.delay)
        self._offer(improve(arrays, found, self.clock, seed=self.options.seed + self._rounds, batches=1))

    def _offer(self, starts: IntArray) -> None:
        if self.arrays.delay(starts) < self.delay or not self.trace:
            self.best = starts.copy()
            self._tell(True)

    def _raise(self, bound: int) -> None:
        if bound > self.bound:
            self.bound = bound
            self._tell(False)

    def _tell(self, schedule: bool) -> None:
        self.trace.append((self.clock.wall_s, float(self.delay), float(self.bound)))
        self.report(solution_of(self.data, self.arrays, self.best) if schedule else None, float(self.bound))


def _least(part: Component, submit: IntArray) -> int:
    return sum(starts[0] - int(submit[j]) for j, starts in zip(part.jobs, part.candidates, strict=True))


def _thin(weight: IntArray, apart: int) -> IntArray:
    """Slots with a weight, and of those within `apart` slots of one another only the one with the largest."""
    slots, kept, i = np.flatnonzero(weight), [], 0
    while i < len(slots):
        k = int(np.searchsorted(slots, slots[i] + apart, side="right"))
        kept.append(int(slots[i + int(np.argmax(weight[slots[i:k]]))]))
        i = k
    return np.array(kept, dtype=np.int64)


def _broken(use: IntArray, capacity: int, slots: IntArray) -> IntArray:
    """Slots for new rows: first and last of each peak of `use` over `capacity`, and the last of each overfull stretch.

    None of `slots`; the highest peaks first. A row at the last slot lets a job start right behind the peak.
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
    new = np.setdiff1d(np.array(found, dtype=np.int64), slots)
    return new[np.argsort(-use[new], kind="stable")]
